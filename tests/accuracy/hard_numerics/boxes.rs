//! Minima in boxes: where a fit says that it has converged, no parameter may be able to lower the cost.

use dualfit::{CurveFit, Data, Var};

/// Numbers in [0, 1) from Knuth's generator, the same in every run.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 2f64.powi(53)
    }
}

/// The largest cosine between the residuals and a partial along which the cost falls inside the box:
/// 0 at a minimum (Karush, Kuhn and Tucker).
fn descent(x: &[f64], y: &[f64], p: &[f64], bounds: &[(f64, f64)]) -> f64 {
    let (mut gradient, mut square, mut residuals) = ([0.0; 4], [0.0; 4], 0.0);
    for (x, y) in x.iter().zip(y) {
        let (e, f) = ((-p[1] * x).exp(), (-p[3] * x).exp());
        let partials = [e, -p[0] * x * e, f, -p[2] * x * f];
        let r = p[0] * e + p[2] * f - y;
        residuals += r * r;
        for k in 0..4 {
            gradient[k] += partials[k] * r;
            square[k] += partials[k] * partials[k];
        }
    }
    let along = |k: usize| {
        let cosine: f64 = gradient[k] / (square[k] * residuals).sqrt();
        let (lower, upper) = bounds[k];
        if p[k] == lower {
            -cosine
        } else if p[k] == upper {
            cosine
        } else {
            cosine.abs()
        }
    };
    (0..4).map(along).fold(0.0, f64::max)
}

#[test]
fn two_decays_in_boxes_end_where_nothing_falls() {
    // Boxes with and without the truth inside, a quarter of the starts on each bound.
    let mut u = Uniform(12345);
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let model = |x: Var, [a, b, c, d]: [Var; 4]| a * (-b * x).exp() + c * (-d * x).exp();
    let (mut converged, mut cases) = (0, 0);
    for case in 0..2000 {
        let truth = [
            1.0 + 3.0 * u.next(),
            0.2 + 2.0 * u.next(),
            3.0 * u.next() - 1.0,
            0.1 + 4.0 * u.next(),
        ];
        let value = |x: f64| truth[0] * (-truth[1] * x).exp() + truth[2] * (-truth[3] * x).exp();
        let y: Vec<f64> = x.iter().map(|&x| value(x) + 0.05 * (u.next() - 0.5)).collect();
        let (mut bounds, mut start) = (Vec::new(), Vec::new());
        for t in truth {
            let lower = t - 1.5 * u.next() + 0.4;
            let upper = lower + 2.0 * u.next() + 1e-3;
            bounds.push((lower, upper));
            start.push(match (4.0 * u.next()) as u32 {
                0 => lower,
                1 => upper,
                _ => lower + u.next() * (upper - lower),
            });
        }
        let fitter = CurveFit::new(model).bounds(bounds.clone());
        let fit = fitter.fit(Data::new(&x, &y).unwrap(), &start).unwrap();
        let rest = descent(&x, &y, fit.params(), &bounds);
        // ftol = 1e-10 is a cosine of 1e-5. Two decays of one rate are one: there only the cost says that nothing is left to win.
        let singular = fit.condition() > 1e7;
        assert!(rest < 1e-5, "case {case}, cosine {rest:.1e}: {fit}");
        assert!(fit.converged() || singular, "case {case}: {fit}");
        converged += usize::from(fit.converged());
        cases += 1;
    }
    assert!(converged > 19 * cases / 20, "{converged} of {cases}");
}
