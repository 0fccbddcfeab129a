//! Tests of the derived quantities of library models against the curve itself, by bisection, differences and
//! quadrature.

use super::{
    decays, diode, dose, growth, physics, relaxation, resonances, saturation, thermal, tracers,
};
use crate::model::Expression;
use crate::models::leaf::Definition;

/// A library model with parameter values.
struct Curve {
    definition: &'static Definition,
    params: Vec<f64>,
}

fn evaluate(formula: &str, variables: &[&str], definition: &Definition, p: &[f64], x: f64) -> f64 {
    let formula = Expression::parse(formula, variables).unwrap();
    let place = |name: &String| definition.parameters.iter().position(|q| q.name == name).unwrap();
    let p: Vec<f64> = formula.parameters().iter().map(|name| p[place(name)]).collect();
    let x = [x];
    formula.evaluate(if variables.is_empty() { &[] } else { &x }, &p)
}

impl Curve {
    fn at(&self, x: f64) -> f64 {
        let definition = self.definition;
        evaluate(definition.formula, definition.variables, definition, &self.params, x)
    }

    fn derived(&self, name: &str) -> f64 {
        let known = self.definition.derived.iter().find(|(n, _)| *n == name);
        let (_, formula) = known.unwrap_or_else(|| panic!("{name} is not derived"));
        evaluate(formula, &[], self.definition, &self.params, 0.0)
    }

    /// Returns the derivative of order 1 or 2 by x, extrapolated from two step sizes.
    fn slope(&self, x: f64, order: i32) -> f64 {
        let difference = |h: f64| match order {
            1 => (self.at(x + h) - self.at(x - h)) / (2.0 * h),
            _ => (self.at(x + h) - 2.0 * self.at(x) + self.at(x - h)) / (h * h),
        };
        let h = 1e-3 * x.abs().max(1e-2);
        (4.0 * difference(h / 2.0) - difference(h)) / 3.0
    }

    /// Returns the x between `low` and `high` at which the curve has this value.
    fn reaches(&self, value: f64, low: f64, high: f64) -> f64 {
        root(|x| self.at(x) - value, low, high)
    }

    fn integral(&self, low: f64, high: f64) -> f64 {
        simpson(|x| self.at(x), low, high)
    }

    #[track_caller]
    fn says(&self, name: &str, expected: f64) {
        let found = self.derived(name);
        let tolerance = 1e-6 * expected.abs().max(1e-9);
        let model = self.definition.name;
        assert!((found - expected).abs() <= tolerance, "{model}: {name} {found}, not {expected}");
    }
}

fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let sign = f(low).signum();
    assert!(sign != f(high).signum(), "no root between {low} and {high}");
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        *(if f(middle).signum() == sign { &mut low } else { &mut high }) = middle;
    }
    low
}

fn simpson(f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    const HALF: usize = 20_000;
    let h = (high - low) / (2 * HALF) as f64;
    let weight = |i: usize| match i {
        0 | 40_000 => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=2 * HALF).map(|i| weight(i) * f(low + i as f64 * h)).sum::<f64>() * h / 3.0
}

fn curve(definition: &'static Definition, params: &[f64]) -> Curve {
    assert_eq!(definition.parameters.len(), params.len());
    Curve { definition, params: params.to_vec() }
}

#[test]
fn of_decays() {
    let one = curve(&decays::EXPONENTIAL, &[3.0, 0.7]);
    one.says("half_life", one.reaches(1.5, 0.0, 5.0));
    one.says("rate", -one.slope(1.0, 1) / one.at(1.0));
    one.says("area", one.integral(0.0, 30.0));
    let level = curve(&decays::EXPONENTIAL_OFFSET, &[-3.0, 0.7, 5.0]);
    level.says("half_life", level.reaches(3.5, 0.0, 5.0));
    level.says("rate", level.slope(1.0, 1) / (5.0 - level.at(1.0)));
    level.says("at_zero", level.at(0.0));
    let two = curve(&decays::BIEXPONENTIAL, &[3.0, 0.7, 2.0, 4.0]);
    two.says("at_zero", two.at(0.0));
    two.says("area", two.integral(0.0, 150.0));
    two.says("mean_decay", two.integral(0.0, 150.0) / two.at(0.0));
    let first = curve(&decays::BIEXPONENTIAL, &[3.0, 0.7, 0.0, 4.0]);
    two.says("fraction1", first.at(0.0) / two.at(0.0));
    two.says("half_life1", first.reaches(1.5, 0.0, 5.0));
    let second = curve(&decays::BIEXPONENTIAL, &[0.0, 0.7, 2.0, 4.0]);
    two.says("half_life2", second.reaches(1.0, 0.0, 5.0));
    let three = curve(&decays::TRIEXPONENTIAL, &[3.0, 0.7, 2.0, 4.0, 1.0, 9.0]);
    three.says("at_zero", three.at(0.0));
    three.says("area", three.integral(0.0, 300.0));
    let stretched = curve(&decays::STRETCHED_EXPONENTIAL, &[2.0, 1.5, 1.6]);
    stretched.says("half_life", stretched.reaches(1.0, 0.0, 5.0));
    stretched.says("mean_decay", stretched.integral(0.0, 30.0) / 2.0);
}

#[test]
fn of_growth() {
    let growth = curve(&growth::GROWTH, &[2.0, 0.3]);
    growth.says("doubling", growth.reaches(4.0, 0.0, 5.0));
    let power = curve(&growth::POWER_LAW, &[2.0, -1.3]);
    power.says("doubling_factor", power.at(6.0) / power.at(3.0));
    for definition in [&growth::LOGISTIC_GROWTH, &growth::GOMPERTZ] {
        let sigmoid = curve(definition, &[5.0, 1.3, 4.0]);
        let steepest = root(|x| sigmoid.slope(x, 2), 3.0, 5.0);
        sigmoid.says("max_slope", sigmoid.slope(steepest, 1));
        sigmoid.says("at_zero", sigmoid.at(0.0));
        assert!((steepest - 4.0).abs() < 1e-6);
    }
    let logistic = curve(&growth::LOGISTIC_GROWTH, &[5.0, 1.3, 4.0]);
    logistic.says("doubling", 2_f64.ln() * logistic.at(-20.0) / logistic.slope(-20.0, 1));
    let gompertz = curve(&growth::GOMPERTZ, &[5.0, 1.3, 4.0]);
    gompertz.says("lag", 4.0 - gompertz.at(4.0) / gompertz.slope(4.0, 1));
    let weibull = curve(&growth::WEIBULL, &[3.0, 2.0, 1.7]);
    weibull.says("half", weibull.reaches(1.5, 0.0, 5.0));
    weibull.says("mean", simpson(|x| 1.0 - weibull.at(x) / 3.0, 0.0, 30.0));
}

#[test]
fn of_doses() {
    let hill = curve(&dose::HILL, &[3.0, 0.2, 1.4]);
    hill.says("ec10", hill.reaches(0.3, 0.0, 5.0));
    hill.says("ec90", hill.reaches(2.7, 0.0, 5.0));
    hill.says("log10_ec50", hill.reaches(1.5, 0.0, 5.0).log10());
    hill.says("slope_at_ec50", hill.slope(0.2, 1));
    for sign in [1.0, -1.0] {
        let four = curve(&dose::LOGISTIC4, &[1.0, 4.0, 0.2, 1.4 * sign]);
        four.says("ec10", four.reaches(1.3, 0.0, 5.0));
        four.says("ec90", four.reaches(3.7, 0.0, 5.0));
        four.says("log10_ec50", four.reaches(2.5, 0.0, 5.0).log10());
        four.says("slope_at_ec50", four.slope(0.2, 1));
        four.says("span", (four.at(1e9) - four.at(0.0)) * sign);
        let log = curve(&dose::LOGISTIC4_LOG, &[1.0, 4.0, 0.2_f64.log10(), 1.4 * sign]);
        assert!((log.at(0.3) - four.at(10_f64.powf(0.3))).abs() < 1e-14);
        log.says("ec50", 10_f64.powf(log.reaches(2.5, -9.0, 9.0)));
        log.says("ec10", 10_f64.powf(log.reaches(1.3, -9.0, 9.0)));
        log.says("ec90", 10_f64.powf(log.reaches(3.7, -9.0, 9.0)));
        log.says("slope_at_ec50", log.slope(0.2_f64.log10(), 1));
        log.says("span", (log.at(30.0) - log.at(-30.0)) * sign);
        let five = curve(&dose::LOGISTIC5, &[1.0, 4.0, 0.2, 1.4 * sign, 0.6]);
        five.says("log10_ec50", five.reaches(2.5, 0.0, 5.0).log10());
        five.says("span", (five.at(1e15) - five.at(0.0)) * sign);
        let over_log = |u: f64| five.at(u.exp());
        let bend = |u: f64| over_log(u + 1e-3) - 2.0 * over_log(u) + over_log(u - 1e-3);
        five.says("inflection", root(bend, -4.0, 2.0).exp());
        let symmetric = curve(&dose::LOGISTIC5, &[1.0, 4.0, 0.2, 1.4 * sign, 1.0]);
        assert!((symmetric.at(0.7) - four.at(0.7)).abs() < 1e-14);
    }
}

#[test]
fn of_saturation() {
    let enzyme = curve(&saturation::MICHAELIS_MENTEN, &[3.0, 0.4]);
    enzyme.says("initial_slope", enzyme.slope(0.0, 1));
    enzyme.says("x90", enzyme.reaches(2.7, 0.0, 50.0));
    let surface = curve(&saturation::LANGMUIR, &[3.0, 2.5]);
    surface.says("initial_slope", surface.slope(0.0, 1));
    surface.says("half", surface.reaches(1.5, 0.0, 50.0));
    let uneven = curve(&saturation::FREUNDLICH, &[3.0, 2.5]);
    uneven.says("exponent", (uneven.at(20.0) / uneven.at(10.0)).log2());
}

#[test]
fn of_relaxation() {
    let inversion = curve(&relaxation::INVERSION_RECOVERY, &[3.0, 1.9, 0.8]);
    inversion.says("null_time", inversion.reaches(0.0, 0.0, 5.0));
    inversion.says("rate", inversion.slope(0.5, 1) / (3.0 - inversion.at(0.5)));
    inversion.says("at_zero", inversion.at(0.0));
    inversion.says("efficiency", (3.0 - inversion.at(0.0)) / 6.0);
    let magnitude = curve(&relaxation::INVERSION_RECOVERY_MAGNITUDE, &[3.0, 1.9, 0.8]);
    magnitude.says("null_time", inversion.derived("null_time"));
    magnitude.says("rate", inversion.derived("rate"));
    magnitude.says("efficiency", inversion.derived("efficiency"));
    assert!((magnitude.at(0.1) + inversion.at(0.1)).abs() < 1e-15);
    assert!((magnitude.at(2.0) - inversion.at(2.0)).abs() < 1e-15);
    let saturation = curve(&relaxation::SATURATION_RECOVERY, &[3.0, 0.8]);
    saturation.says("half_time", saturation.reaches(1.5, 0.0, 5.0));
    saturation.says("initial_slope", saturation.slope(0.0, 1));
    saturation.says("rate", saturation.slope(0.5, 1) / (3.0 - saturation.at(0.5)));
    let angle = curve(&relaxation::VARIABLE_FLIP_ANGLE, &[3.0, 40.0]);
    angle.says("ernst_angle", root(|x| angle.slope(x, 1), 0.05, 1.0));
    angle.says("rate", 1.0 / 40.0);
}

#[test]
fn of_physics() {
    let rate = curve(&physics::ARRHENIUS, &[1e6, 5e4]);
    rate.says("rate_298", rate.at(298.15));
    rate.says("ln_amplitude", rate.at(1e12).ln());
    // k = 1.380649e-23 J/K, e = 1.602176634e-19 C: both exact since 2019.
    let activation = rate.slope(300.0, 1) / rate.at(300.0) * 300.0 * 300.0;
    rate.says("energy_ev", activation * 1.380649e-23 / 1.602176634e-19);
    let body = curve(&physics::PLANCK, &[0.9, 5000.0]);
    body.says("peak_wavelength", root(|x| body.slope(x, 1), 0.3, 2.0));
    // Integral over all wavelengths and the half-space; the radiance is the same in all directions.
    let reach = |u: f64| body.at(u.exp()) * u.exp();
    body.says("exitance", std::f64::consts::PI * simpson(reach, 0.02_f64.ln(), 3000_f64.ln()));
    let pair = curve(&physics::LENNARD_JONES, &[0.5, 3.4]);
    let minimum = root(|x| pair.slope(x, 1), 3.5, 5.0);
    pair.says("distance", minimum);
    pair.says("stiffness", pair.slope(minimum, 2));
    assert!((pair.at(minimum) + 0.5).abs() < 1e-12 && pair.at(3.4).abs() < 1e-12);
    let bond = curve(&physics::MORSE, &[4.5, 0.74, 0.52]);
    bond.says("zero", bond.reaches(0.0, 0.1, 0.7));
    bond.says("stiffness", bond.slope(0.74, 2));
    assert!((bond.at(0.74) + 4.5).abs() < 1e-12);
    let diode = curve(&diode::DIODE, &[1e-9, 0.03]);
    diode.says("conductance_at_zero", diode.slope(0.0, 1));
    // k·300 K/e.
    diode.says("ideality_300k", 0.03 / (1.380649e-23 * 300.0 / 1.602176634e-19));
    let (i0, nvt, rs) = (1e-9, 0.03, 20.0);
    let resisted = curve(&diode::DIODE_SERIES_RESISTANCE, &[i0, nvt, rs]);
    resisted.says("conductance_at_zero", resisted.slope(0.0, 1));
    resisted.says("ideality_300k", diode.derived("ideality_300k"));
    // The diode equation, solved for the voltage.
    for x in [-0.2, 0.0, 0.1, 0.4, 0.7, 2.0] {
        let current = resisted.at(x);
        let voltage = nvt * (current / i0).ln_1p() + rs * current;
        assert!((voltage - x).abs() < 1e-6, "{voltage} at {x}");
    }
}

#[test]
fn of_tracers() {
    let tissue = curve(&tracers::IVIM, &[2.0, 0.3, 0.8, 9.0]);
    tissue.says("initial_slope", tissue.slope(0.0, 1));
    let still = curve(&tracers::IVIM, &[2.0, 0.3, 0.0, 9.0]);
    tissue.says("perfusion", -still.slope(0.0, 1) / still.at(0.0));
    let focus = curve(&tracers::FCS_DIFFUSION, &[4.0, 0.3, 5.0]);
    focus.says("at_zero", focus.at(0.0));
    let layers = curve(&tracers::BET, &[3.0, 80.0]);
    layers.says("completed", layers.reaches(3.0, 0.01, 0.5));
}

#[test]
fn of_thermal_equilibrium() {
    // Boltzmann constant divided by the elementary charge.
    let kelvin = 1.380649e-23 / 1.602176634e-19;
    let edge = curve(&thermal::FERMI_DIRAC, &[3.0, 5.0, 0.025]);
    edge.says("fall", edge.reaches(0.3, 4.0, 6.0) - edge.reaches(2.7, 4.0, 6.0));
    edge.says("temperature_ev", 0.025 / kelvin);
    let modes = curve(&thermal::BOSE_EINSTEIN, &[3.0, 5.0, 0.025]);
    modes.says("temperature_ev", 0.025 / kelvin);
    // Bose-Einstein statistics: (n + 1)/n = exp((x − center)/kT).
    let more = |x: f64| modes.at(x) + 3.0;
    assert!((more(5.1) / modes.at(5.1) - (0.1_f64 / 0.025).exp()).abs() < 1e-10);

    let phonon = curve(&resonances::DAMPED_HARMONIC_OSCILLATOR, &[2.0, 5.0, 0.8, 3.0]);
    phonon.says("balance", phonon.at(5.0) / phonon.at(-5.0));
    // Without the thermal factor, the model is the response of an oscillator, x/((Ω² − x²)² + (Ωx/Q)²).
    let (undamped, quality) = (phonon.derived("undamped"), phonon.derived("quality"));
    let response = |x: f64| {
        let width = undamped * x / quality;
        x / ((undamped * undamped - x * x).powi(2) + width * width)
    };
    let bare = |x: f64| phonon.at(x) * (1.0 - (-x / 3.0).exp());
    for x in [-7.0, -0.3, 0.2, 4.0, 11.0] {
        let ratio = bare(x) / response(x) * response(5.0) / bare(5.0);
        assert!((ratio - 1.0).abs() < 1e-12, "{ratio} at {x}");
    }
    assert!((phonon.at(1e-9) - phonon.at(0.0)).abs() < 1e-9);
}
