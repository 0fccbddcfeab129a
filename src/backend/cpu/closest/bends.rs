//! Bounds of a curve's second derivatives.

/// A deviation from the tangent by this part of the values may be rounding: points may almost coincide.
const ROUNDING: f64 = 1e-9;

/// The least and the largest second derivatives that were seen, in the order of `Program::with_slopes`, and 0.
#[derive(Default)]
pub(super) struct Bends {
    ranges: Vec<(f64, f64)>,
}

impl Bends {
    /// Forgets what was seen, for `k` inexact variables.
    pub(super) fn clear(&mut self, k: usize) {
        self.ranges.clear();
        self.ranges.resize(k * (k + 1) / 2, (0.0, 0.0));
    }

    /// Takes the second derivatives at one place into account, as far as they are finite.
    pub(super) fn learn(&mut self, seconds: impl Iterator<Item = f64>) {
        for ((least, largest), second) in self.ranges.iter_mut().zip(seconds) {
            if second.is_finite() {
                *least = least.min(second);
                *largest = largest.max(second);
            }
        }
    }

    /// Takes into account how curves of one variable bend between neighbouring points, by the values and slopes at
    /// their `x`: by the mean value theorem f(b) − f(a) − f'(a)(b − a) is (b − a)²/2 times f'' of a place between. So a step
    /// or a peak between points is known of.
    pub(super) fn learn_between(&mut self, x: &[f64], tangents: &[(f64, f64)]) {
        let bend = |from: usize, to: usize| {
            let ((value, slope), ahead, step) = (tangents[from], tangents[to].0, x[to] - x[from]);
            let rise = ahead - value - slope * step;
            let is_rounding = rise.abs() <= ROUNDING * (value.abs() + ahead.abs());
            if is_rounding { 0.0 } else { 2.0 * rise / (step * step) }
        };
        for i in 1..x.len() {
            self.learn([bend(i - 1, i)].into_iter());
            self.learn([bend(i, i - 1)].into_iter());
        }
    }

    /// Bounds of the curvature of f/σ in any direction, in units of the errors of x: of bends that `turn` downwards (−1) or
    /// upwards (1), and of all bends. `sigma`: the errors of x of a point; `weight`: its 1/σ.
    pub(super) fn curvatures(&self, sigma: &[f64], weight: f64, turn: f64) -> (f64, f64) {
        // No eigenvalue is beyond the largest diagonal element plus the others of its row (Gershgorin).
        let (mut turned, mut any) = (0.0f64, 0.0f64);
        for a in 0..sigma.len() {
            let (mut row_turned, mut row) = (0.0, 0.0);
            for b in 0..sigma.len() {
                let (least, largest) = self.ranges[position(a.min(b), a.max(b), sigma.len())];
                let (down, up) = (-least * sigma[a] * sigma[b], largest * sigma[a] * sigma[b]);
                row += down.max(up);
                row_turned += match a == b {
                    true if turn < 0.0 => down,
                    true => up,
                    false => down.max(up),
                };
            }
            turned = turned.max(row_turned);
            any = any.max(row);
        }
        (turned * weight, any * weight)
    }
}

/// Where ∂²f/∂xₐ∂x_b, a ≤ b, is among the second derivatives by k variables.
fn position(a: usize, b: usize, k: usize) -> usize {
    a * k - a * (a + 1) / 2 + b
}
