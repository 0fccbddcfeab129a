//! Library of common models: formulas with documented parameters and an initial guess from the data.
//!
//! Each function creates a [`Model`]. Its argument is a prefix for the names of the parameters and may be empty.
//! Models are combined with `+ - * /` and [`of`](Model::of), and converted to a [`CurveFit`](crate::CurveFit):
//!
//! ```
//! use dualfit::{CurveFit, models};
//! let model = models::gaussian("g1_") + models::gaussian("g2_") + models::linear("bg_");
//! assert_eq!(model.to_string(), "gaussian(g1_) + gaussian(g2_) + linear(bg_)");
//! let curve = CurveFit::from(model);
//! assert_eq!(curve.parameters()[3], "g2_amplitude");
//! ```
//!
//! If a sum contains the same model several times, the initial guess orders these terms from left to right, unless
//! starts, bounds or ties require another order: with `fit(data, [("g1_center", 9.5)])` the first peak starts there and
//! the second elsewhere.
//!
//! [`parse`] reads the same composites from text; [`names`] lists the models.
//!
//! **Widths** are greater than 0: their lower bound is the smallest normal number. Therefore no formula
//! divides by 0. The `amplitude` of a peak whose shape is a probability density is its **area**.

mod assemble;
mod curve;
pub(crate) mod estimate;
pub(crate) mod leaf;
pub(crate) mod library;
mod model;
mod parse;
mod start;
mod terms;

pub use crate::models::library::background::polynomial;
pub use library::background::{constant, linear, quadratic};
pub use library::decays::{
    biexponential, exponential, exponential_offset, stretched_exponential, triexponential,
};
pub use library::diode::{diode, diode_series_resistance};
pub use library::dose::{hill, logistic4, logistic4_log, logistic5};
pub use library::growth::{gompertz, growth, logistic_growth, power_law, weibull};
pub use library::peaks::{gaussian, lorentzian, moffat, pearson7, pseudo_voigt, students_t, voigt};
pub use library::physics::{arrhenius, lennard_jones, morse, planck};
pub use library::relaxation::{
    inversion_recovery, inversion_recovery_magnitude, saturation_recovery, variable_flip_angle,
};
pub use library::resonances::{breit_wigner, damped_harmonic_oscillator, damped_oscillator};
pub use library::saturation::{freundlich, langmuir, michaelis_menten};
pub use library::skewed_peaks::{
    doniach, exponential_gaussian, lognormal, pearson4, skewed_gaussian, skewed_voigt,
    split_lorentzian,
};
pub use library::spline::spline;
pub use library::steps::{
    rectangle_atan, rectangle_erf, rectangle_linear, rectangle_logistic, step_atan, step_erf,
    step_linear, step_logistic,
};
pub use library::surfaces::{gaussian2d, gaussian2d_elliptic, gaussian2d_rotated};
pub use library::thermal::{bose_einstein, fermi_dirac};
pub use library::tracers::{bet, fcs_diffusion, ivim};
pub use library::waves::{damped_sine, sine};
pub use library::{by_name, names};
pub use model::Model;
pub use parse::parse;
