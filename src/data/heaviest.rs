//! The largest weights of the points, for fits in which a few points outweigh all others.

use super::points::Points;

impl Points<'_> {
    /// Returns Σ w²y² over the used points. w is the [weight](Points::weight), limited to `most`: row unit / sigma, or
    /// the row unit if sigma is not known. The row unit is the power of two that multiplies all weighted residuals.
    pub(crate) fn square_of_limited(&self, most: f64) -> f64 {
        self.kept().map(|i| (self.weight(i).min(most) * self.y.at(i)).powi(2)).sum()
    }

    /// Returns the sum of [`square_of_limited`](Self::square_of_limited) for each piece of `piece` points, in order.
    pub(crate) fn squares_of_limited(&self, most: f64, piece: usize) -> impl Iterator<Item = f64> {
        let of = move |i: usize| (self.weight(i).min(most) * self.y.at(i)).powi(2);
        (0..self.len().div_ceil(piece)).map(move |c| {
            let range = c * piece..self.len().min((c + 1) * piece);
            range.filter(|&i| self.counts(i)).map(of).sum()
        })
    }

    /// Returns the `count` largest weights, multiplied by the row unit, in descending order; all weights if there are
    /// fewer. Returns an empty vector if `count` weights are at least `level` times the largest, or if x has errors.
    pub(crate) fn heaviest(&self, count: usize, level: f64) -> Vec<f64> {
        let row = self.units.row;
        if !self.x_sigma.is_exact() {
            // The weight of a point depends on the parameters.
            return Vec::new();
        }
        let Some(sigma) = self.sigmas() else {
            return if level <= 1.0 {
                Vec::new()
            } else {
                vec![self.weight(0); count.min(self.used)]
            };
        };
        let weights = || self.kept().map(|i| row / sigma[i]);
        let least = level * row * self.largest_weight;
        if weights().filter(|&w| w >= least).take(count).count() == count {
            return Vec::new();
        }
        let keep_largest = |of: &mut Vec<f64>| {
            if of.len() > count {
                let surplus = of.len() - count;
                of.select_nth_unstable_by(surplus, f64::total_cmp);
                of.drain(..surplus);
            }
        };
        let mut largest = Vec::with_capacity(self.used.min(2 * count.max(8)));
        for weight in weights() {
            if largest.len() >= 2 * count.max(8) {
                keep_largest(&mut largest);
            }
            largest.push(weight);
        }
        keep_largest(&mut largest);
        largest.sort_by(f64::total_cmp);
        largest.reverse();
        largest
    }
}
