//! Ends of profiles against bisection over direct fits that hold the parameter.

use dualfit::result::ProfileEnd;
use dualfit::{CurveFit, Data, Fit, Options, Profile};

/// Relative to the end's distance from the best value.
const ACCURACY: f64 = 1e-6;

/// The level whose quantile of Student's t with 4 degrees of freedom is `t`: the distribution in closed
/// form (Abramowitz and Stegun 26.7.4).
fn level(t: f64) -> f64 {
    let angle = (0.5 * t).atan();
    angle.sin() * (1.0 + 0.5 * angle.cos().powi(2))
}

fn tight() -> Options {
    Options::default().ftol(1e-15).xtol(1e-13)
}

struct Case<'a> {
    curve: CurveFit,
    x: &'a [f64],
    y: &'a [f64],
    fit: Fit,
}

impl<'a> Case<'a> {
    fn new(curve: CurveFit, x: &'a [f64], y: &'a [f64], start: &[f64]) -> Case<'a> {
        let curve = curve.options(tight());
        let fit = curve.fit(Data::new(x, y).unwrap(), start).unwrap();
        // The levels of this test are those of 4 degrees of freedom.
        assert!(fit.converged() && fit.names().len() + 4 == x.len(), "{fit}");
        Case { curve, x, y, fit }
    }

    fn data(&self) -> Data<'a> {
        Data::new(self.x, self.y).unwrap()
    }

    fn profile(&self, name: &str) -> Profile {
        self.curve.profile(&self.fit, self.data(), name).unwrap()
    }

    /// τ with the parameter held, from the fit that came before it.
    fn tau(&self, name: &str, value: f64, scatter: f64, from: &mut Vec<f64>) -> f64 {
        let which = self.fit.names().iter().position(|n| n == name).unwrap();
        let mut start = from.clone();
        start[which] = value;
        let held = self.curve.clone().fix(name).fit(self.data(), &start).unwrap();
        from.clone_from(&held.params().to_vec());
        (2.0 * (held.cost() - self.fit.cost()) / scatter).max(0.0).sqrt()
    }

    /// Value at which τ is `t`, between the best value and `far`.
    fn end(&self, name: &str, t: f64, far: f64, freedom: f64) -> f64 {
        let scatter = 2.0 * self.fit.cost() / freedom;
        let (mut inside, mut outside) = (self.fit.param(name).unwrap(), far);
        let mut from = self.fit.params().to_vec();
        for _ in 0..55 {
            let middle = 0.5 * (inside + outside);
            match self.tau(name, middle, scatter, &mut from) < t {
                true => inside = middle,
                false => outside = middle,
            }
        }
        0.5 * (inside + outside)
    }

    fn check(&self, name: &str, t: f64, far: [f64; 2]) {
        let found = self.profile(name).interval(level(t)).unwrap();
        let best = self.fit.param(name).unwrap();
        let sides = [(found.lower, found.lower_end), (found.upper, found.upper_end)];
        for ((end, kind), far) in sides.into_iter().zip(far) {
            if far.is_nan() {
                continue;
            }
            assert_eq!(kind, ProfileEnd::Found, "{name} to τ = {t}: {found:?}");
            let exact = self.end(name, t, far, 4.0);
            let wrong = (end - exact).abs() / (exact - best).abs();
            assert!(wrong < ACCURACY, "{name} to τ = {t}: {end} instead of {exact}, {wrong:e}");
        }
    }
}

const DAYS: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
const DEMAND: [f64; 6] = [8.3, 10.3, 19.0, 16.0, 15.6, 19.8];

/// Biochemical oxygen demand (Bates and Watts 1988, A1.4).
fn demand() -> Case<'static> {
    let curve = CurveFit::parse("limit*(1 - exp(-rate*t))", ["t"]).unwrap();
    Case::new(curve, &DAYS, &DEMAND, &[20.0, 0.5])
}

#[test]
fn ends_below_a_plateau_are_exact() {
    let case = demand();
    assert!((level(2.776_445_105_197_799) - 0.95).abs() < 1e-12);
    // The rate's plateau is at τ = 3.5356, the limit's at 4.113.
    for t in [0.05, 0.3, 1.0, 2.0, 2.776_445_105_197_799, 3.3, 3.5, 3.53] {
        case.check("rate", t, [-0.5, 20.0]);
        case.check("limit", t, [6.0, 3e3]);
    }
    case.check("limit", 4.08, [6.0, 3e3]);
    case.check("rate", 8.0, [-0.5, f64::NAN]);
}

#[test]
fn few_refits_go_to_a_plateau() {
    let profile = demand().profile("rate");
    let found = profile.interval(0.99).unwrap();
    assert_eq!((found.upper, found.upper_end), (f64::INFINITY, ProfileEnd::Open));
    let flat = profile.taus().iter().filter(|&&tau| tau > 3.5).count();
    assert!(flat < 25 && profile.values().len() < 85, "{flat} of {}", profile.values().len());
    assert!(profile.values().last().is_some_and(|&last| last < 50.0));
}

#[test]
fn ends_beside_bounds_are_exact() {
    let x = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    let y = [3.52, 1.98, 1.27, 0.83, 0.69, 0.49, 0.54];
    let curve = CurveFit::parse("a*exp(-k*x) + c", ["x"]).unwrap();
    let free = Case::new(curve.clone(), &x, &y, &[3.0, 0.7, 0.5]);
    let c = free.fit.param("c").unwrap();
    for t in [0.2, 1.0, 2.776_445_105_197_799, 6.0] {
        free.check("k", t, [0.2, 3.0]);
        // Another parameter reaches its bound on the way.
        let near = curve.clone().bound("c", c - 0.02..);
        Case::new(near, &x, &y, &[3.0, 0.7, 0.5]).check("k", t, [0.2, 3.0]);
    }
    // The best value is itself on a bound: the cost rises from there with a slope.
    let held = curve.bound("c", c + 0.1..).options(tight());
    let data = || Data::new(&x, &y).unwrap();
    let fit = held.fit(data(), [3.0, 0.7, 1.0]).unwrap();
    assert_eq!(fit.at_bound().len(), 1);
    let freedom = fit.degrees_of_freedom() as f64;
    let case = Case { curve: held, x: &x, y: &y, fit };
    // With 5 degrees of freedom (26.7.3).
    let level = |t: f64| {
        let angle = (t / freedom.sqrt()).atan();
        let (sin, cos) = angle.sin_cos();
        (angle + sin * (cos + 2.0 / 3.0 * cos.powi(3))) / std::f64::consts::FRAC_PI_2
    };
    assert!(freedom == 5.0 && (level(2.570_581_835_636_314) - 0.95).abs() < 1e-12);
    for t in [0.1, 0.5, 2.570_581_835_636_314, 5.0] {
        let found = case.profile("c").interval(level(t)).unwrap();
        let best = case.fit.param("c").unwrap();
        assert_eq!((found.lower, found.lower_end), (best, ProfileEnd::Bound));
        let exact = case.end("c", t, best + 3.0, freedom);
        let wrong = (found.upper - exact).abs() / (exact - best);
        assert!(wrong < ACCURACY, "c to τ = {t}: {} instead of {exact}, {wrong:e}", found.upper);
    }
}
