//! The points of a fit as plain numbers, for those who look for a start.

use super::points::Points;

/// Points at most. Where a fit has more, every k-th is taken: a start needs no more.
const MOST: usize = 1 << 16;

/// Points that count, finite and in the order of the data; of a large fit every k-th.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// One column per independent variable, one value per point in each.
    pub columns: Vec<Vec<f64>>,
    /// The response, one value per point.
    pub y: Vec<f64>,
    /// The range of x in which the center of a peak or a step is looked for.
    pub(crate) center: (f64, f64),
    /// The range of its amplitude; a peak is looked for on the sides of 0 that it has.
    pub(crate) amplitude: (f64, f64),
}

impl Observations {
    /// The observations of validated data.
    pub(crate) fn of(points: &Points<'_>) -> Observations {
        let stride = points.used.div_ceil(MOST).max(1);
        let index: Vec<usize> = points.kept().step_by(stride).collect();
        let pick = |values: &super::values::Values<'_>| {
            let mut out = vec![0.0; index.len()];
            values.pick(&index, &mut out);
            out
        };
        Observations::new(points.columns.iter().map(pick).collect(), pick(&points.y))
    }

    pub(crate) fn new(columns: Vec<Vec<f64>>, y: Vec<f64>) -> Observations {
        let any = (f64::NEG_INFINITY, f64::INFINITY);
        Observations { columns, y, center: any, amplitude: any }
    }

    /// The first independent variable, one value per point.
    pub fn x(&self) -> &[f64] {
        self.columns.first().map_or(&[], Vec::as_slice)
    }

    /// The same points with another response.
    #[must_use]
    pub fn with_response(&self, y: Vec<f64>) -> Observations {
        Observations { columns: self.columns.clone(), y, ..*self }
    }
}
