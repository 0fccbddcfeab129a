//! Plots of fits for papers, as SVG and PNG: data with curve, bands and residuals ([`FitPlot`]), several fits in one chart
//! ([`SetsPlot`]), maps of the results of a batch ([`MapPlot`]), confidence regions of two parameters ([`ContourPlot`]) and the profile of one parameter
//! ([`ProfilePlot`]).
//!
//! ```
//! use dualfit::{CurveFit, Data};
//! use dualfit_plot::FitPlot;
//! let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
//! let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
//! let data = Data::new(&x, &y)?;
//! let fit = CurveFit::new(|x, [a, b]| a * (-b * x).exp()).fit(&data, [1.0, 1.0])?;
//! let plot = FitPlot::new(&fit, &data).x_label("time / s").band(0.95).residuals(true);
//! assert!(plot.to_svg()?.starts_with("<svg "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate contains its font, so that the pictures do not depend on the fonts of the machine. Labels may contain
//! superscript digits, as in `field / V m⁻¹`.

mod axis;
mod canvas;
mod chart;
mod contour;
mod error;
mod fit;
mod legend;
mod map;
mod profile;
mod sets;
mod settings;

pub use contour::ContourPlot;
pub use error::{PlotError, Result};
pub use fit::FitPlot;
pub use map::MapPlot;
pub use profile::ProfilePlot;
pub use sets::SetsPlot;

/// The guide's page about figures, whose code the tests run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/figures.md")]
struct Figures;

/// The README's code is compiled and run by the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
