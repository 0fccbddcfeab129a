//! Lesson 13: a fit of differential equations: hares and lynxes.
//!
//! The numbers of pelts that trappers sold to the Hudson Bay Company oscillated for decades. The equations of Lotka and
//! Volterra explain this: hares breed, lynxes eat them and then breed. The solution has no closed form. Therefore the
//! native model is called for all points at once and integrates from each point to the next.

use dualfit::{CurveFit, Data, Sigma};
use std::error::Error;

/// Thousands of pelts from 1900 to 1920 (E. Odum, Fundamentals of Ecology, 1953, after D. MacLulich, 1937).
const HARES: [f64; 21] = [
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5,
    11.2, 7.6, 14.6, 16.2, 24.7,
];
const LYNXES: [f64; 21] = [
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7,
    15.8, 9.7, 10.1, 8.6,
];

/// Returns the derivatives per year; `p`: births of hares, deaths of hares per lynx, births of lynxes per hare, deaths
/// of lynxes.
fn slope([hares, lynxes]: [f64; 2], p: &[f64]) -> [f64; 2] {
    [(p[0] - p[1] * lynxes) * hares, (p[2] * hares - p[3]) * lynxes]
}

/// Computes one step of the classical Runge-Kutta method.
fn step(at: [f64; 2], h: f64, p: &[f64]) -> [f64; 2] {
    let ahead = |k: [f64; 2], h: f64| [at[0] + h * k[0], at[1] + h * k[1]];
    let k1 = slope(at, p);
    let k2 = slope(ahead(k1, h / 2.0), p);
    let k3 = slope(ahead(k2, h / 2.0), p);
    let k4 = slope(ahead(k3, h), p);
    std::array::from_fn(|i| at[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

/// Computes logarithms of the populations. Columns `x`: the year, and the animal: 0 for hares, 1 for lynxes.
fn populations(x: &[&[f64]], p: &[f64], out: &mut [f64]) {
    const STEPS: usize = 50;
    let (years, animals) = (x[0], x[1]);
    let mut order: Vec<usize> = (0..years.len()).collect();
    order.sort_by(|&i, &j| years[i].total_cmp(&years[j]));
    let (mut year, mut now) = (1900.0, [p[4], p[5]]);
    for i in order {
        let h = (years[i] - year) / STEPS as f64;
        if h > 0.0 {
            (0..STEPS).for_each(|_| now = step(now, h, p));
        }
        year = years[i];
        out[i] = now[animals[i] as usize].ln();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let years: Vec<f64> = (0..42).map(|i| 1900.0 + f64::from(i % 21)).collect();
    let animals: Vec<f64> = (0..42).map(|i| f64::from(i / 21)).collect();
    // The errors of these counts are proportional to the counts, so the errors of the logarithms are equal.
    let logarithms: Vec<f64> = HARES.iter().chain(&LYNXES).map(|n| n.ln()).collect();
    let data = Data::new([&years, &animals], &logarithms)?.sigma(Sigma::Unknown)?;

    let names =
        ["hare_births", "hare_deaths", "lynx_births", "lynx_deaths", "hares_1900", "lynxes_1900"];
    let mut model = CurveFit::native_arrays_multivariate(2, 6, populations).names(names);
    for name in names {
        model = model.bound(name, 0.0..);
    }
    let model = model.derive("period", "2*pi/sqrt(hare_births*lynx_deaths)");
    let fit = model.fit(data, [0.5, 0.03, 0.03, 0.8, 30.0, 4.0])?;
    println!("{fit}\n");

    println!("year   hares  curve   lynxes  curve");
    let curve = fit.predict([&years, &animals])?;
    for i in (0..21).step_by(2) {
        let (hares, lynxes) = (curve[i].exp(), curve[21 + i].exp());
        let year = years[i];
        println!("{year}  {:>6.1} {hares:>6.1}   {:>6.1} {lynxes:>6.1}", HARES[i], LYNXES[i]);
    }
    // B. Carpenter, Predator-prey population dynamics, Stan case studies, 2018: posterior means.
    println!("\npublished rates: 0.55, 0.028, 0.024, 0.80");
    Ok(())
}
