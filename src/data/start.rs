//! The starting point that the caller supplies.

/// The starting point of a fit: values of all parameters, values of some parameters by name, or no values.
///
/// Arrays, slices and vectors of numbers, one per parameter in the model's order, convert into it, as do arrays, slices
/// and vectors of pairs of a name and a number. Missing values are computed in this order:
///
/// 1. a parameter with equal bounds is set to their common value;
/// 2. the model's [`guess`](crate::CurveFit::guess), if it has one, is called; a value outside the bounds is
///    moved to the nearest bound. If no nonlinear parameter is given, the guess of a sum of several library models is
///    only one candidate of the search below (in a batch, for 24 of the fits);
/// 3. linear parameters, which are recognised from the program and the data, are computed by linear least squares
///    within the bounds, with the other parameters at their starts;
/// 4. a search finds the other parameters: values are drawn from ranges that follow from their units and the data,
///    the best candidates are fitted, and the best result is the start.
///    [`Fit::start_search`](crate::Fit::start_search) reports its reliability;
///    [`CurveFit::search`](crate::CurveFit::search) sets options.
///
/// If linear parameters were computed in this way and the fit does not converge, the nonlinear parameters alone are
/// fitted from their starts (variable projection), and the fit is repeated from the result. These further fits are
/// omitted if [`Options`](crate::Options) limit evaluations or time.
///
/// ```
/// use dualfit::{CurveFit, Data, Start};
/// let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 40.0 * (-0.7 * x).exp() + 3.0).collect();
/// let decay = CurveFit::parse("a*exp(-b*x) + c", ["x"])?;
/// let data = Data::new(&x, &y)?;
///
/// let complete = decay.fit(&data, [30.0, 1.0, 0.0])?;
/// let by_name = decay.fit(&data, [("b", 1.0)])?; // a and c: one linear solve
/// assert!((by_name.params()[0] - complete.params()[0]).abs() < 1e-9);
/// let searched = decay.fit(data, Start::Guess)?; // b, too, is found
/// assert!((searched.params()[1] - complete.params()[1]).abs() < 1e-9);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// One value per parameter, in the model's order.
    Values(Vec<f64>),
    /// Values of some parameters, by name.
    Named(Vec<(String, f64)>),
    /// No values: all values are computed.
    Guess,
}

impl From<Vec<f64>> for Start {
    fn from(values: Vec<f64>) -> Start {
        Start::Values(values)
    }
}

impl From<&Vec<f64>> for Start {
    fn from(values: &Vec<f64>) -> Start {
        Start::Values(values.clone())
    }
}

impl From<&[f64]> for Start {
    fn from(values: &[f64]) -> Start {
        Start::Values(values.to_vec())
    }
}

impl<const N: usize> From<[f64; N]> for Start {
    fn from(values: [f64; N]) -> Start {
        Start::Values(values.to_vec())
    }
}

impl<const N: usize> From<&[f64; N]> for Start {
    fn from(values: &[f64; N]) -> Start {
        Start::Values(values.to_vec())
    }
}

impl From<Vec<(String, f64)>> for Start {
    fn from(pairs: Vec<(String, f64)>) -> Start {
        Start::Named(pairs)
    }
}

impl From<&[(&str, f64)]> for Start {
    fn from(pairs: &[(&str, f64)]) -> Start {
        Start::Named(pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect())
    }
}

impl From<Vec<(&str, f64)>> for Start {
    fn from(pairs: Vec<(&str, f64)>) -> Start {
        pairs.as_slice().into()
    }
}

impl<const N: usize> From<[(&str, f64); N]> for Start {
    fn from(pairs: [(&str, f64); N]) -> Start {
        pairs.as_slice().into()
    }
}

impl<const N: usize> From<&[(&str, f64); N]> for Start {
    fn from(pairs: &[(&str, f64); N]) -> Start {
        pairs.as_slice().into()
    }
}
