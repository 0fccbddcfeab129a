//! Bounds of a curve's second derivatives.

/// Maximum deviation from the tangent, relative to the values, that counts as a rounding error. Without this limit,
/// rounding would yield large second derivatives between two points that almost coincide.
const ROUNDING: f64 = 1e-9;

/// Ranges of the observed second derivatives, extended to contain 0, in the order of `Program::with_slopes`.
#[derive(Default)]
pub(super) struct Bends {
    ranges: Vec<(f64, f64)>,
}

impl Bends {
    /// Resets the ranges, for `k` inexact variables (independent variables with errors).
    pub(super) fn clear(&mut self, k: usize) {
        self.ranges.clear();
        self.ranges.resize(k * (k + 1) / 2, (0.0, 0.0));
    }

    /// Extends the ranges to include the finite second derivatives at one point.
    pub(super) fn learn(&mut self, seconds: impl Iterator<Item = f64>) {
        for ((least, largest), second) in self.ranges.iter_mut().zip(seconds) {
            if second.is_finite() {
                *least = least.min(second);
                *largest = largest.max(second);
            }
        }
    }

    /// Extends the range of a curve of one variable to include its second derivatives between neighbouring points. They
    /// follow from the values and slopes at `x`: f(b) − f(a) − f'(a)(b − a) is (b − a)²/2 times f'' at a position
    /// between a and b (mean value theorem). This detects a step or a peak between points.
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

    /// Returns two upper bounds of the curvature of f/σ along any direction, in units of the errors of x. The first
    /// bound is for curvature downwards (`turn` = −1) or upwards (`turn` = 1), the second for both. `sigma`: errors of
    /// x at a point; `weight`: 1/σ of the point.
    pub(super) fn curvatures(&self, sigma: &[f64], weight: f64, turn: f64) -> (f64, f64) {
        // Gershgorin's theorem: every eigenvalue is at most the largest sum of a diagonal element and the magnitudes of
        // the other elements of its row.
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

/// Returns the position of ∂²f/∂xₐ∂x_b, a ≤ b, among the second derivatives with respect to k variables.
fn position(a: usize, b: usize, k: usize) -> usize {
    a * k - a * (a + 1) / 2 + b
}
