//! Skewness of errors from fits without some of the points.

/// Source of the skewness of the errors of a quantity, or of all parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Jackknife {
    /// They are not, to first order, as those of y.
    Symmetric,
    /// The values of fits without each of some groups of points; of all parameters row-major.
    LeftOut(Vec<f64>),
    /// Points that are not independent cannot be left out one by one.
    Correlated,
    /// A fit without some of the points did not converge, or was stopped.
    Failed,
}

/// A sixth of the skewness of the influence of points, from values without them; 0 where they have none.
pub(super) fn acceleration(without: &[f64]) -> f64 {
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let influence = || without.iter().map(|value| mean - value);
    let largest = influence().fold(0.0, |m: f64, l| m.max(l.abs()));
    let power = |k| influence().map(|l| (l / largest).powi(k)).sum::<f64>();
    match largest > 0.0 {
        true => power(3) / (6.0 * power(2).powf(1.5)),
        false => 0.0,
    }
}
