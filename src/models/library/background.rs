//! Backgrounds of peaks: a constant, a straight line, a parabola and polynomials of any degree.

use crate::error::{ModelError, Result};
use crate::model::Expression;
use crate::models::Model;
use crate::models::estimate::{mean, polynomial_fit};
use crate::models::leaf::{Leaf, ModelKind};
use crate::models::model::define;
use std::sync::Arc;

define! {
    /// Constant.
    constant CONSTANT ["x"] Background
    formula "c"
    parameters { c: any "the value" }
    derived {}
    estimate |points| vec![mean(&points.y)]
}

define! {
    /// Straight line.
    linear LINEAR ["x"] Background
    formula "slope*x + intercept"
    parameters {
        slope: any "the change of y per unit of x",
        intercept: any "the value at x = 0",
    }
    derived {}
    estimate |points| polynomial_fit(points, 1).into_iter().rev().collect()
}

define! {
    /// Parabola.
    quadratic QUADRATIC ["x"] Background
    formula "a*x^2 + b*x + c"
    parameters {
        a: any "the coefficient of x²",
        b: any "the coefficient of x",
        c: any "the value at x = 0",
    }
    derived {}
    estimate |points| polynomial_fit(points, 2).into_iter().rev().collect()
}

/// Maximum degree. Double precision does not distinguish higher powers on any range of x.
const HIGHEST: usize = 50;

/// Creates a polynomial `c0 + c1*x + c2*x^2 + …` of degree `degree`.
///
/// The parameters are the coefficients `c0`, `c1`, … of the powers of x; `prefix` precedes their names.
///
/// # Errors
/// Returns [`Error::Model`](crate::Error::Model) for a degree above 50.
pub fn polynomial(degree: usize, prefix: impl AsRef<str>) -> Result<Model> {
    if degree > HIGHEST {
        let what = format!("a polynomial of degree {degree}");
        return Err(ModelError::TooLarge { what, most: HIGHEST }.into());
    }
    let term = |power: usize| match power {
        0 => "c0".to_owned(),
        1 => "c1*x".to_owned(),
        _ => format!("c{power}*x^{power}"),
    };
    let formula = (0..=degree).map(term).collect::<Vec<_>>().join(" + ");
    let mut leaf = Leaf::of(Expression::parse(&formula, &["x"])?, &formula);
    leaf.name = "polynomial".to_owned();
    leaf.argument = Some(degree.to_string());
    leaf.prefix = prefix.as_ref().to_owned();
    leaf.kind = ModelKind::Background;
    leaf.estimate = Some(Arc::new(move |points| polynomial_fit(points, degree)));
    Ok(Model::leaf(leaf))
}
