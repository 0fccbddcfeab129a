//! Backgrounds of peaks: a constant, a straight line and a parabola.

use crate::models::definition::define;
use crate::models::estimate::{mean, polynomial_fit};

define! {
    /// A constant.
    constant CONSTANT ["x"] Background
    formula "c"
    parameters { c: any "the value" }
    derived {}
    estimate |points| vec![mean(&points.y)]
}

define! {
    /// A straight line.
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
    /// A parabola.
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
