//! Diodes: current as a function of the voltage.

use crate::data::points::Observations;
use crate::models::estimate::projection::{SearchAxis, search};
use crate::models::estimate::sketch::Sketch;
use crate::models::estimate::tame;
use crate::models::model::define;

define! {
    /// Current of a diode as a function of its voltage (Shockley, 1949): `i0·(exp(x/nvt) − 1)`.
    diode DIODE ["x"] Curve
    formula "i0*expm1(x/nvt)"
    parameters {
        i0: positive "the saturation current",
        nvt: width "the ideality factor times the thermal voltage, in units of x",
    }
    derived {
        ideality_300k = "nvt/0.025851999786435536" "the ideality factor at 300 K, for x in V",
        conductance_at_zero = "i0/nvt" "the slope at x = 0",
    }
    estimate |points| {
        let [i0, nvt] = shockley(&Sketch::of(points, 256));
        tame([i0, nvt])
    }
}

define! {
    /// Current of a diode in series with a resistor: the solution i of `i = i0·(exp((x − i·rs)/nvt) − 1)`
    /// (Banwell and Jayakumar, Electron. Lett. 36 (2000) 291). Use `diode` if there is no resistance.
    diode_series_resistance DIODE_SERIES_RESISTANCE ["x"] Curve
    formula "nvt/rs*wright_omega(ln(i0*rs/nvt) + (x + i0*rs)/nvt) - i0"
    parameters {
        i0: width "the saturation current",
        nvt: width "the ideality factor times the thermal voltage, in units of x",
        rs: width "the resistance in series",
    }
    derived {
        ideality_300k = "nvt/0.025851999786435536" "the ideality factor at 300 K, for x in V",
        conductance_at_zero = "1/(nvt/i0 + rs)" "the slope at x = 0",
    }
    estimate resisted
}

/// Returns i0, which is positive in this law, and nvt.
fn shockley(sketch: &Sketch) -> [f64; 2] {
    let ((_, high), width) = (sketch.ends(), sketch.width());
    let voltages = SearchAxis::logarithmic(width / 300.0, width * 30.0, 90);
    let found = search(sketch, [voltages], 1, |&[nvt], x, out| {
        // Scaled to about 1 at the highest voltage.
        out[0] = (x / nvt).exp_m1() * (-high.max(0.0) / nvt).exp();
    });
    let [nvt] = found.at;
    let i0 = found.factors[0].abs() * (-high.max(0.0) / nvt).exp() * sketch.y_unit;
    [i0.max(f64::MIN_POSITIVE), nvt * sketch.x_unit]
}

/// Returns i0, nvt and rs. For a given i0 the voltage `nvt*ln(1 + i/i0) + rs*i` is linear in nvt and rs. Only points
/// with more than 0.1 of the largest current are used, because noise of the current affects their voltage least.
fn resisted(points: &Observations) -> Vec<f64> {
    let sketch = Sketch::of(points, 256);
    let mut turned = Sketch { x_unit: sketch.y_unit, y_unit: sketch.x_unit, ..sketch.clone() };
    let largest = sketch.y.iter().fold(0.0, |m: f64, &i| m.max(i));
    let loud = |&(_, i): &(f64, f64)| i > 0.1 * largest;
    let pairs = sketch.x.iter().copied().zip(sketch.y.iter().copied()).filter(loud);
    (turned.y, turned.x) = pairs.unzip();
    let currents = SearchAxis::logarithmic(1e-40, 1.0, 200);
    let found = search(&turned, [currents], 2, |&[i0], i, out| {
        out.copy_from_slice(&[(i / i0).ln_1p(), i]);
    });
    let ohm = turned.y_unit / turned.x_unit;
    let ([i0], [nvt, rs]) = (found.at, [found.factors[0] * turned.y_unit, found.factors[1] * ohm]);
    if nvt > 0.0 && rs > 0.0 {
        return tame([i0 * turned.x_unit, nvt, rs]);
    }
    // The data show no resistance: start with a small one, because the fit cannot improve a resistance of 0.
    let [i0, nvt] = shockley(&sketch);
    tame([i0, nvt, 1e-2 * ohm])
}
