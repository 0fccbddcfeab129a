//! Scatter of the points under a robust loss.

use serde::{Deserialize, Serialize};

/// Sums over the points under a robust loss ρ(z) of the residual r, with z = (r/C)² and the scale C of the loss.
/// ψ = ρ'r is the influence of the residual, and ψ' = ρ' + 2zρ'' its derivative by r. A row is the row of the
/// Jacobian and the residual of one point, weighted; its unit (row unit) is a power of two by which weighted residuals
/// are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Influence {
    /// Sum of ρ', the weight of a point.
    pub(crate) weight: f64,
    /// Sum of ψ², in row units squared.
    pub(crate) squares: f64,
    /// Sum of ψ'.
    pub(crate) slopes: f64,
    /// Sum of ψ'².
    pub(crate) slope_squares: f64,
    /// Sum of s², where s is the factor by which the loss multiplies the row of a point. s² = ψ' if ψ' is positive;
    /// otherwise s² is 2⁻⁵².
    pub(crate) row_squares: f64,
}

impl Influence {
    /// Number of sums.
    pub(crate) const SUMS: usize = 5;

    /// Value for unknown sums.
    pub(crate) const UNKNOWN: Influence = Influence::of([f64::NAN; Influence::SUMS]);

    pub(crate) const fn of(sums: [f64; Influence::SUMS]) -> Influence {
        let [weight, squares, slopes, slope_squares, row_squares] = sums;
        Influence { weight, squares, slopes, slope_squares, row_squares }
    }

    /// Returns the sums without a loss.
    pub(crate) fn of_squares(points: usize, squares: f64) -> Influence {
        let n = points as f64;
        Influence::of([n, squares, n, n, n])
    }

    pub(crate) fn sums(&self) -> [f64; Influence::SUMS] {
        [self.weight, self.squares, self.slopes, self.slope_squares, self.row_squares]
    }

    /// Adds the sums of other points. `unit`: row unit of `self` divided by the row unit of `other`.
    pub(crate) fn add(&mut self, other: &Influence, unit: f64) {
        self.weight += other.weight;
        self.squares += other.squares * unit * unit;
        self.slopes += other.slopes;
        self.slope_squares += other.slope_squares;
        self.row_squares += other.row_squares;
    }

    /// Returns the scale of the cost, multiplied by the square of the row unit: twice the increase of the cost, divided
    /// by this scale, is compared with χ². `points`: number n of points; `rank`: number p of directions that the points
    /// determine. The scale is NaN without a degree of freedom, or if the mean ψ̄' of ψ' is not positive.
    ///
    /// The scale is K·Σψ²/(n − p)/ψ̄' with K = 1 + p/n·var ψ'/ψ̄'² (Huber, Robust Statistics, 1981, section 7.6; for
    /// tests Schrader and Hettmansperger, Biometrika 67, 1980). Without a loss it is the sum of squares over n − p.
    pub(crate) fn scale(&self, points: usize, rank: usize) -> f64 {
        let (n, degrees) = (points as f64, points.saturating_sub(rank) as f64);
        let slope = self.slopes / n;
        let variance = (self.slope_squares / n / (slope * slope) - 1.0).max(0.0);
        match slope > 0.0 && degrees > 0.0 {
            true => (1.0 + rank as f64 / n * variance) * (self.squares / degrees) / slope,
            false => f64::NAN,
        }
    }

    /// Returns the standard deviation of a row. The covariance is the square of this number times (JᵀWJ)⁻¹, where W
    /// contains the squared factors of rows. The mean of the squared factors differs from ψ̄' if some ψ' are negative.
    pub(crate) fn row_error(&self, points: usize, rank: usize) -> f64 {
        (self.scale(points, rank) * (self.row_squares / self.slopes)).sqrt()
    }

    /// Returns the standard deviation of a row if the errors of y are known and independent: the larger of `unit` and
    /// [`row_error`](Influence::row_error). `unit`: known standard deviation of the errors of y, in row units. For
    /// normal errors of that size the expected estimate does not exceed `unit`, because |ψ(r)| ≤ |r| and thus
    /// E ψ² ≤ E rψ = E ψ' by Stein's lemma. Outliers increase the estimate.
    pub(crate) fn row_error_from(&self, unit: f64, points: usize, rank: usize) -> f64 {
        at_least(unit, self.row_error(points, rank), points, rank)
    }

    /// Returns [`scale`](Influence::scale) for known errors of y; see [`row_error_from`](Influence::row_error_from).
    pub(crate) fn scale_from(&self, unit: f64, points: usize, rank: usize) -> f64 {
        at_least(unit * unit, self.scale(points, rank), points, rank)
    }
}

/// Returns the larger of two numbers, or the known number if no degree of freedom remains for the estimate.
fn at_least(known: f64, estimated: f64, points: usize, rank: usize) -> f64 {
    if points <= rank || estimated < known { known } else { estimated }
}

#[cfg(test)]
mod tests {
    use super::Influence;

    /// Tests least squares: there ψ = r and ψ' = 1, so that the scale is the sum of squares over n − p.
    #[test]
    fn without_a_loss_it_is_the_scatter_of_the_residuals() {
        let squares = Influence::of_squares(20, 45.0);
        assert_eq!(squares.row_error(20, 5), 3.0f64.sqrt());
        assert_eq!(squares.scale(20, 5), 3.0);
    }

    #[test]
    fn what_cannot_be_known_is_no_number() {
        let good = [20.0, 45.0, 15.0, 14.0, 15.0];
        assert!(Influence::of(good).row_error(20, 3).is_finite());
        assert!(Influence::of(good).row_error(20, 20).is_nan());
        for slopes in [0.0, -3.0, f64::NAN] {
            let sums = Influence { slopes, ..Influence::of(good) };
            assert!(sums.row_error(20, 3).is_nan(), "{slopes}");
        }
    }

    /// Tests that known errors are a lower limit, and the only estimate without a degree of freedom.
    #[test]
    fn known_errors_grow_with_the_pull_of_outliers() {
        let sums = Influence::of([20.0, 45.0, 15.0, 14.0, 15.0]);
        let found = sums.row_error(20, 3);
        assert!(found > 1.0, "{found}");
        assert_eq!(sums.row_error_from(1.0, 20, 3), found);
        assert_eq!(sums.row_error_from(8.0, 20, 3), 8.0);
        assert_eq!(sums.scale_from(8.0, 20, 3), 64.0);
        assert_eq!(sums.row_error_from(1.0, 3, 3), 1.0);
        // If ψ̄' is negative, the standard deviation of a row is unknown, even if the errors of y are known.
        let away = Influence { slopes: -3.0, ..sums };
        assert!(away.row_error_from(1.0, 20, 3).is_nan());
    }

    /// Tests that sets with different row units have the same sums after conversion.
    #[test]
    fn units_of_rows_do_not_matter() {
        let (one, two) = ([9.0, 4.0, 8.0, 8.0, 8.5], [7.0, 6.0, 5.0, 5.5, 6.0]);
        let mut plain = Influence::of(one);
        plain.add(&Influence::of(two), 1.0);
        let mut other = Influence::of(one);
        other.add(&Influence { squares: 6.0 / 64.0, ..Influence::of(two) }, 8.0);
        assert_eq!(plain, other);
    }
}
