//! What is minimised: which parameters move, where they begin, what limits them.

/// The parameters of one fit. All arrays have one value per parameter of the model, fixed or free.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Which free parameters are known not to occur in the model.
    pub(crate) unused: Vec<bool>,
    /// Positions of the free parameters, ascending.
    pub(crate) free: Vec<usize>,
    pub(crate) start: Vec<f64>,
    /// Lower and upper bounds, ±∞ where there are none.
    pub(crate) bounds: Vec<(f64, f64)>,
    /// The sum of squares that rounding alone leaves: a fit this good is exact.
    pub(crate) rounding: f64,
    /// The sum of squares of the weighted response, in row units.
    pub(crate) square: f64,
    /// Number of points that count.
    pub(crate) points: usize,
    /// The factor from costs in row units to costs in the units of the data.
    pub(crate) cost_unit: f64,
}
