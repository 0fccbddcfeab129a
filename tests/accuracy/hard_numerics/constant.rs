//! Rows of equal values, as of saturated or dark pixels: the amplitude is 0, and the shape of the term is undetermined.
//! Rounding, which leaves an amplitude of a few units in the last place, must not change this.

use dualfit::{BatchData, CurveFit, Data};

/// Models of an amplitude, a shape and an offset, and their starts.
const MODELS: [(&str, &[f64]); 4] = [
    ("height*exp(-rate*x) + offset", &[100.0, 1.0, 10.0]),
    ("height*exp(-rate*x) + offset", &[1.0, 1.0, 1.0]),
    ("height*exp(-0.5*((x - center)/width)^2) + offset", &[100.0, 2.0, 0.5, 10.0]),
    ("height/(1 + ((x - center)/width)^2) + offset", &[100.0, 2.0, 0.5, 10.0]),
];

#[test]
fn the_shape_of_what_is_not_there_is_undetermined() {
    for points in [12, 20, 225, 2000] {
        let x: Vec<f64> = (0..points).map(|i| 0.1 + 3.9 * i as f64 / (points - 1) as f64).collect();
        for (formula, start) in MODELS {
            let curve = CurveFit::parse(formula, ["x"]).unwrap();
            for value in [65_535.0, 4096.0, 7.0, 0.1, 1e-3, 0.0] {
                let what = format!("{formula}, {points} times {value}");
                let y = vec![value; points];
                let fit = curve.fit(Data::new(&x, &y).unwrap(), start).unwrap();
                assert!(fit.converged(), "{what}: {fit}");
                let shape = &fit.names()[1..fit.names().len() - 1];
                assert_eq!(fit.undetermined(), shape, "{what}: {fit}");
                assert!(
                    (fit.param("offset").unwrap() - value).abs() <= 1e-13 * value + 1e-150,
                    "{what}: {fit}"
                );

                let stack = y.repeat(3);
                let batch =
                    curve.fit_batch(BatchData::shared([&x], &stack).unwrap(), start).unwrap();
                for row in batch.iter() {
                    assert_eq!(row.params(), fit.params(), "{what}: {batch}");
                    assert_eq!(row.std_errors(), fit.std_errors(), "{what}: {batch}");
                }
            }
        }
    }
}

#[test]
fn an_amplitude_that_may_not_be_zero_stays() {
    let x: Vec<f64> = (0..20).map(|i| 0.2 * f64::from(i)).collect();
    let curve = CurveFit::parse(MODELS[0].0, ["x"]).unwrap().bound("height", 1.0..);
    let fit = curve.fit(Data::new(&x, &[4096.0; 20]).unwrap(), [100.0, 1.0, 10.0]).unwrap();
    assert!(fit.param("height").unwrap() >= 1.0, "{fit}");
}

#[test]
fn what_is_small_beside_an_offset_is_found() {
    // 1e-10 of the offset: far above rounding, and known from exact values.
    let x: Vec<f64> = (0..200).map(|i| 0.02 * f64::from(i)).collect();
    let y: Vec<f64> =
        x.iter().map(|x| 1.0 + 1e-10 * (-0.5 * ((x - 2.0) / 0.5).powi(2)).exp()).collect();
    let curve = CurveFit::parse(MODELS[2].0, ["x"]).unwrap();
    let fit = curve.fit(Data::new(&x, &y).unwrap(), [2e-10, 1.8, 0.6, 1.0]).unwrap();
    assert!(fit.converged() && fit.undetermined().is_empty(), "{fit}");
    assert!((fit.param("center").unwrap() - 2.0).abs() < 1e-5, "{fit}");
}
