//! Library of models, grouped by kind.

pub(crate) mod background;
pub(crate) mod decays;
pub(crate) mod diode;
pub(crate) mod dose;
pub(crate) mod growth;
#[cfg(test)]
mod hostile;
pub(crate) mod peaks;
pub(crate) mod physics;
#[cfg(test)]
mod relations;
pub(crate) mod relaxation;
pub(crate) mod resonances;
pub(crate) mod saturation;
pub(crate) mod skewed_peaks;
pub(crate) mod spline;
pub(crate) mod steps;
pub(crate) mod surfaces;
pub(crate) mod thermal;
pub(crate) mod tracers;
pub(crate) mod waves;

use super::model::Model;
use crate::error::quote::{nearest, visible};
use crate::error::{ModelError, Result};
use crate::models::leaf::Definition;

/// All definitions, in the order of [`names`].
pub(crate) static ALL: &[&Definition] = &[
    &background::CONSTANT,
    &background::LINEAR,
    &background::QUADRATIC,
    &peaks::GAUSSIAN,
    &peaks::LORENTZIAN,
    &peaks::VOIGT,
    &peaks::PSEUDO_VOIGT,
    &peaks::PEARSON7,
    &peaks::MOFFAT,
    &peaks::STUDENTS_T,
    &skewed_peaks::EXPONENTIAL_GAUSSIAN,
    &skewed_peaks::SKEWED_GAUSSIAN,
    &skewed_peaks::SKEWED_VOIGT,
    &skewed_peaks::PEARSON4,
    &skewed_peaks::LOGNORMAL,
    &skewed_peaks::SPLIT_LORENTZIAN,
    &skewed_peaks::DONIACH,
    &resonances::BREIT_WIGNER,
    &resonances::DAMPED_OSCILLATOR,
    &resonances::DAMPED_HARMONIC_OSCILLATOR,
    &waves::SINE,
    &waves::DAMPED_SINE,
    &steps::STEP_LINEAR,
    &steps::STEP_ERF,
    &steps::STEP_LOGISTIC,
    &steps::STEP_ATAN,
    &steps::RECTANGLE_LINEAR,
    &steps::RECTANGLE_ERF,
    &steps::RECTANGLE_LOGISTIC,
    &steps::RECTANGLE_ATAN,
    &surfaces::GAUSSIAN2D,
    &surfaces::GAUSSIAN2D_ELLIPTIC,
    &surfaces::GAUSSIAN2D_ROTATED,
    &decays::EXPONENTIAL,
    &decays::EXPONENTIAL_OFFSET,
    &decays::BIEXPONENTIAL,
    &decays::TRIEXPONENTIAL,
    &decays::STRETCHED_EXPONENTIAL,
    &growth::GROWTH,
    &growth::POWER_LAW,
    &growth::LOGISTIC_GROWTH,
    &growth::GOMPERTZ,
    &growth::WEIBULL,
    &saturation::MICHAELIS_MENTEN,
    &saturation::LANGMUIR,
    &saturation::FREUNDLICH,
    &dose::HILL,
    &dose::LOGISTIC4,
    &dose::LOGISTIC4_LOG,
    &dose::LOGISTIC5,
    &relaxation::INVERSION_RECOVERY,
    &relaxation::INVERSION_RECOVERY_MAGNITUDE,
    &relaxation::SATURATION_RECOVERY,
    &relaxation::VARIABLE_FLIP_ANGLE,
    &physics::ARRHENIUS,
    &physics::PLANCK,
    &thermal::FERMI_DIRAC,
    &thermal::BOSE_EINSTEIN,
    &physics::LENNARD_JONES,
    &physics::MORSE,
    &tracers::IVIM,
    &tracers::FCS_DIFFUSION,
    &tracers::BET,
    &diode::DIODE,
    &diode::DIODE_SERIES_RESISTANCE,
];

/// Returns the names of all models that [`by_name`] and [`parse`](super::parse()) accept. The list does not include
/// `polynomial`, which needs a degree, and `spline`, which needs knots.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|definition| definition.name).collect()
}

/// Returns a model of the library, without a prefix.
///
/// # Errors
/// Returns [`Error::Model`](crate::Error::Model) with the most similar name if there is no such model.
pub fn by_name(name: &str) -> Result<Model> {
    match ALL.iter().find(|definition| definition.name == name) {
        Some(definition) => Ok(Model::defined(definition, "")),
        None => {
            Err(ModelError::Unknown { name: clipped(name), nearest: nearest(name, names()) }.into())
        }
    }
}

fn clipped(name: &str) -> String {
    visible(name).chars().take(40).collect()
}
