//! Counts on every device.

use super::*;

/// Counts, also where none were counted.
pub fn counts(place: Place<'_>) {
    let t: Vec<f64> = (0..400).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = t
        .iter()
        .enumerate()
        .map(|(i, t)| (6.0 * (-0.2 * t).exp() + 0.5 + 2.0 * noise(i)).max(0.0).round())
        .collect();
    let model = || decay().estimator(Estimator::Poisson);
    let data = Data::new(&t, &y).unwrap();
    compare("counts", &model(), &data, &[4.0, 0.3, 1.0], place);
    let many: Vec<f64> = y.iter().map(|y| 1e6 * (y + 1.0)).collect();
    compare("many counts", &model(), &Data::new(&t, &many).unwrap(), &[4e6, 0.3, 1e6], place);
    let peaks = CurveFit::dynamic(10, |x, p| {
        (0..3).fold(p[9].powi(2), |sum, g| {
            sum + p[3 * g] * (-((x - p[3 * g + 1]) / p[3 * g + 2]).powi(2)).exp()
        })
    });
    let truth = [30.0, 8.0, 2.0, 20.0, 20.0, 3.0, 40.0, 32.0, 2.5, 1.5];
    let program = peaks.program().unwrap();
    let expected = |i: usize| program.evaluate(&[t[i]], &truth);
    let z: Vec<f64> = (0..t.len())
        .map(|i| (expected(i) + noise(i) * expected(i).sqrt()).max(0.0).round())
        .collect();
    let start: Vec<f64> =
        truth.iter().enumerate().map(|(k, p)| p * (1.0 + 0.05 * noise(k))).collect();
    let peaks = peaks.estimator(Estimator::Poisson);
    compare("ten parameters", &peaks, &Data::new(&t, &z).unwrap(), &start, place);
    // A rate that starts at 0, and a count of a million times its expectation.
    let bounded = model().bounds([(0.0, 1e6), (0.0, 100.0), (0.0, 1e6)]);
    compare("a dark start", &bounded, &data, &[4.0, 0.3, 0.0], place);
    let mut outlying = y.clone();
    outlying[200] = 1e9;
    let outlying = Data::new(&t, &outlying).unwrap();
    let level = CurveFit::new(|x, [a]| a + 0.0 * x).estimator(Estimator::Poisson);
    compare("an outlier", &level, &outlying, &[0.5], place);
    recorded_deviances(place);
    let error = |model: CurveFit| model.fit(data.clone(), [1.0, 0.1, -2.0]).unwrap_err();
    let (cpu, device) = (error(model().backend(Backend::Cpu)), error(place(model())));
    assert!(matches!(cpu, Error::ModelNotPositiveAtStart { .. }), "{cpu}");
    assert_eq!(cpu, device);
}

/// Half deviances of single points against mpmath, at the start of fits that go no further.
fn recorded_deviances(place: Place<'_>) {
    let options = Options::default().max_evaluations(1);
    let unit = CurveFit::new(|x, [a]| a * x).estimator(Estimator::Poisson).options(options);
    let unit = place(unit);
    let table = include_str!("../data/poisson_deviance.csv");
    let lines: Vec<_> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() > 300);
    for line in lines {
        let numbers: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        let [f, y, half] = numbers[..] else { panic!("{line}") };
        let fit = unit.fit(Data::new(&[f], &[y]).unwrap(), [1.0]).unwrap();
        assert_eq!(fit.params(), [1.0], "{line}");
        assert_eq!(fit.stats().processor, Processor::Cuda, "{}", fit.stats());
        // A deviance is a difference of terms of up to ten times its size, and a card's logarithm is off by an ulp.
        assert!((fit.cost() - half).abs() <= 2e-14 * half, "{line}: {:e}", fit.cost());
    }
}
