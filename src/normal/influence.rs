//! Scatter of the points under a robust loss.

use serde::{Deserialize, Serialize};

/// Sums over the points under a robust loss, with the influence ψ = ρ'r of a residual r and its derivative
/// ψ' = ρ' + 2zρ''.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Influence {
    /// Sum of ρ', the weight of a point.
    pub(crate) weight: f64,
    /// Sum of ψ², in squares of row units.
    pub(crate) squares: f64,
    /// Sum of ψ'.
    pub(crate) slopes: f64,
    /// Sum of ψ'².
    pub(crate) slope_squares: f64,
    /// Sum of the squared factors of rows; a squared factor is ψ' where that is positive.
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

    /// Adds the sums of other points, whose row unit is `unit` times the unit of these.
    pub(crate) fn add(&mut self, other: &Influence, unit: f64) {
        self.weight += other.weight;
        self.squares += other.squares * unit * unit;
        self.slopes += other.slopes;
        self.slope_squares += other.slope_squares;
        self.row_squares += other.row_squares;
    }

    /// Returns the divisor of twice the increase of the cost for comparison with χ², in squares of row units, for
    /// `points` points of which a fit determines `rank` directions. NaN if it is undefined: without a
    /// degree of freedom, or if ψ̄' ≤ 0.
    ///
    /// It is K·Σψ²/(n − p)/ψ̄' with K = 1 + p/n·var ψ'/ψ̄'² (Huber, Robust Statistics, 1981, section 7.6; for tests
    /// Schrader and Hettmansperger, Biometrika 67, 1980). Without a loss it is the sum of squares over n − p.
    pub(crate) fn scale(&self, points: usize, rank: usize) -> f64 {
        let (n, degrees) = (points as f64, points.saturating_sub(rank) as f64);
        let slope = self.slopes / n;
        let variance = (self.slope_squares / n / (slope * slope) - 1.0).max(0.0);
        match slope > 0.0 && degrees > 0.0 {
            true => (1.0 + rank as f64 / n * variance) * (self.squares / degrees) / slope,
            false => f64::NAN,
        }
    }

    /// Returns the standard deviation of a row. The covariance is its square times (JᵀWJ)⁻¹ with the squared
    /// factors of rows in W; their mean differs from ψ̄' if some ψ' are negative.
    pub(crate) fn row_error(&self, points: usize, rank: usize) -> f64 {
        (self.scale(points, rank) * (self.row_squares / self.slopes)).sqrt()
    }

    /// Returns [`row_error`](Influence::row_error) for known and independent errors of y: at least `unit`, their
    /// standard deviation in row units. For normal errors of that size the expected estimate does not exceed `unit`,
    /// because |ψ(r)| ≤ |r| and thus E ψ² ≤ E rψ = E ψ' by Stein's lemma. Outliers make it exceed `unit`.
    pub(crate) fn row_error_from(&self, unit: f64, points: usize, rank: usize) -> f64 {
        at_least(unit, self.row_error(points, rank), points, rank)
    }

    /// Returns [`scale`](Influence::scale) for known errors of y; see [`row_error_from`](Influence::row_error_from).
    pub(crate) fn scale_from(&self, unit: f64, points: usize, rank: usize) -> f64 {
        at_least(unit * unit, self.scale(points, rank), points, rank)
    }
}

/// Returns the larger of two numbers, or the known one if no degree of freedom remains to estimate the other.
fn at_least(known: f64, estimated: f64, points: usize, rank: usize) -> f64 {
    if points <= rank || estimated < known { known } else { estimated }
}

#[cfg(test)]
mod tests {
    use super::Influence;

    /// For least squares, ψ = r and ψ' = 1 for any number of parameters.
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

    /// Known errors are a lower limit, and the only estimate without a degree of freedom.
    #[test]
    fn known_errors_grow_with_the_pull_of_outliers() {
        let sums = Influence::of([20.0, 45.0, 15.0, 14.0, 15.0]);
        let found = sums.row_error(20, 3);
        assert!(found > 1.0, "{found}");
        assert_eq!(sums.row_error_from(1.0, 20, 3), found);
        assert_eq!(sums.row_error_from(8.0, 20, 3), 8.0);
        assert_eq!(sums.scale_from(8.0, 20, 3), 64.0);
        assert_eq!(sums.row_error_from(1.0, 3, 3), 1.0);
        // If ψ̄' is negative, the errors cannot be estimated, even if the errors of y are known.
        let away = Influence { slopes: -3.0, ..sums };
        assert!(away.row_error_from(1.0, 20, 3).is_nan());
    }

    /// Sets with different row units give the same sums after conversion.
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
