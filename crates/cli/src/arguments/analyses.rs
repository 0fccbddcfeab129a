//! Options for what follows from a fit: predictions at new x, the bootstrap, and contours.

use clap::{Args, ValueEnum};
use dualfit::result::Resample;
use std::path::PathBuf;

/// Options for predictions at new x.
#[derive(Args, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct AtArguments {
    /// Predicts the curve at new x, with standard errors, confidence intervals and intervals of new observations; the
    /// probability is that of --interval or 0.95. Numbers such as 0,5,10, for two variables 1:2,3:4, or a table with
    /// columns of x. Points outside the data are marked.
    #[arg(long, value_name = "X,...|FILE", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// Standard deviation of new observations, if those of the fitted points differ or are only relative.
    #[arg(long, requires = "at", value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) at_sigma: Option<f64>,
    /// Writes the predictions as CSV.
    #[arg(long, requires = "at", value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,
}

/// Options for the bootstrap.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct BootstrapArguments {
    /// Repeats the fit on N drawn sets of data; reports standard errors, biases and percentile intervals. Standard
    /// errors need about 200 refits, intervals of 95 % about 2000; the probability is that of --interval or 0.95.
    #[arg(long, value_name = "N")]
    pub(crate) bootstrap: Option<usize>,
    /// Kind of draws of the bootstrap.
    #[arg(
        long,
        requires = "bootstrap",
        value_name = "WHAT",
        value_enum,
        default_value = "residuals"
    )]
    pub(crate) resample: Drawn,
}

/// Options for contours.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct ContourArguments {
    /// Computes joint confidence regions of two parameters from the likelihood, with the probabilities 0.6827 and 0.95,
    /// or that of --interval.
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    pub(crate) contour: Vec<String>,
    /// Plots the regions into a file: .svg or .png.
    #[arg(long, requires = "contour", value_name = "FILE")]
    pub(crate) contour_plot: Option<PathBuf>,
}

/// Kind of draws of a bootstrap.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Drawn {
    /// Residuals of the fit: the errors have one distribution in units of sigma, which need not be normal.
    Residuals,
    /// Normal errors with the given or estimated sigma; counts with --poisson.
    Parametric,
    /// Whole points: the errors may differ in an unknown way. Needs many more points than parameters.
    Pairs,
}

impl Drawn {
    pub(crate) fn kind(self) -> Resample {
        match self {
            Drawn::Residuals => Resample::Residuals,
            Drawn::Parametric => Resample::Parametric,
            Drawn::Pairs => Resample::Pairs,
        }
    }

    /// Returns the value of the option.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Drawn::Residuals => "residuals",
            Drawn::Parametric => "parametric",
            Drawn::Pairs => "pairs",
        }
    }

    /// Returns the noun for the drawn things.
    pub(crate) fn drawn(self) -> &'static str {
        match self {
            Drawn::Residuals => "residuals",
            Drawn::Parametric => "errors",
            Drawn::Pairs => "points",
        }
    }
}
