//! Pictures of fits for papers, as SVG and PNG: the data with their curve, bands and residuals
//! ([`FitPlot`]), maps of what a batch found ([`MapPlot`]), regions of two parameters ([`ContourPlot`]) and the
//! profile of one ([`ProfilePlot`]).
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
//! Letters come with the crate, so that nothing depends on the fonts of the machine. Labels may have
//! raised digits, as in `field / V m⁻¹`.

mod axis;
mod canvas;
mod chart;
mod contour;
mod error;
mod fit;
mod legend;
mod map;
mod profile;

pub use contour::ContourPlot;
pub use error::{PlotError, Result};
pub use fit::FitPlot;
pub use map::MapPlot;
pub use profile::ProfilePlot;

/// The guide's page about figures, whose code the tests run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/figures.md")]
struct Figures;

/// The README's code is compiled and run by the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
