//! Arguments of the command line.
//!
//! Options that name columns are kept as text. They are resolved when the table is known, so that an error message
//! fits in one line and lists the existing names.

pub(crate) mod analyses;
pub(crate) mod words;

use analyses::{AtArguments, BootstrapArguments, ContourArguments};
use clap::{Args, Parser, Subcommand, ValueEnum};
use dualfit::{Backend, Loss, SearchWhen};
use dualfit_io::{CsvOptions, DateOrder, Delimiter, Thousands};
use std::path::PathBuf;
use words::{Pairs, Prior, Range, formula, number, one_of, pairs, prior, range};

const DELIMITERS: [(&str, Delimiter); 4] = [
    ("comma", Delimiter::Comma),
    ("semicolon", Delimiter::Semicolon),
    ("tab", Delimiter::Tab),
    ("space", Delimiter::Whitespace),
];

const THOUSANDS: [(&str, Thousands); 4] = [
    ("comma", Thousands::Comma),
    ("point", Thousands::Point),
    ("space", Thousands::Space),
    ("apostrophe", Thousands::Apostrophe),
];

const DATE_ORDERS: [(&str, DateOrder); 2] =
    [("day-first", DateOrder::DayFirst), ("month-first", DateOrder::MonthFirst)];

/// Options of a single fit, not allowed with `--by`.
const OF_ONE_FIT: [&str; 11] = [
    "covariance",
    "multi_start",
    "evolution",
    "seed",
    "compare",
    "contour",
    "profile",
    "components",
    "save",
    "residuals",
    "bootstrap",
];

/// Meaning of the exit codes, for `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  the fit converged; of a batch, all fits
  1  the fit was made and did not converge; of a batch, at least one fit
  2  the request makes no sense: an option, the model, a column, a number
  3  a file cannot be read or written, or holds no table";

pub(crate) const FIT_EXAMPLES: &str = "\
Examples:
  dualfit fit decay.csv --model \"a*exp(-b*x) + c\" --start b=0.5
  dualfit fit decay.csv --x time --y signal --sigma error -m \"a*exp(-time/tau)\" -s tau=3
  dualfit fit spectrum.csv --model \"gaussian(g_) + linear(bg_)\" --interval 0.95
  dualfit fit decay.csv -m \"a*exp(-t/tau)\" --sigma 0.1 --at 5,10
  dualfit fit runs.csv --by run --model \"a*exp(-k*x)\" --start k=0.1 --share k
  sensor | dualfit fit - --model \"slope*x + offset\" --json";

pub(crate) const BATCH_EXAMPLES: &str = "\
Examples:
  dualfit batch plate.csv --x time --y 'well*' -m \"a*exp(-k*x) + c\" -s k=0.1
  dualfit batch run*.csv --model \"slope*x + offset\" --out results.csv";

/// Fits curves to tables: nonlinear least squares with exact derivatives and honest error bars.
#[derive(Debug, Parser)]
#[command(name = "dualfit", version, propagate_version = true, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fits a model to the points of one table.
    #[command(after_help = FIT_EXAMPLES, after_long_help = format!("{FIT_EXAMPLES}\n\n{EXIT_CODES}"))]
    Fit(Box<FitArguments>),
    /// Fits a model to many columns of a table, or to many tables.
    #[command(after_help = BATCH_EXAMPLES, after_long_help = format!("{BATCH_EXAMPLES}\n\n{EXIT_CODES}"))]
    Batch(Box<BatchArguments>),
    /// Lists the models of the library, or shows one.
    Models {
        /// A model or a composite of models: gaussian, "gaussian(g_) + linear(bg_)".
        model: Option<String>,
    },
    /// Lists the CUDA devices, or shows why there are none.
    Devices {
        /// Measures the bandwidth of transfers to each device and of its memory; takes about a second.
        #[arg(long)]
        bandwidth: bool,
    },
    /// Measures the time of fits of a decay on this machine, on the CPU and, if available, on a device.
    Bench {
        /// Numbers of points.
        #[arg(long, value_delimiter = ',', default_values_t = [1_000, 100_000, 1_000_000], value_name = "N,...")]
        points: Vec<usize>,
        /// Number of fits of each size; the fastest time and the median are shown.
        #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
        repeat: u32,
    },
    /// Prints the completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the manual page of the program or of a command.
    Man {
        /// The command: fit, batch, models, devices, bench, completions.
        command: Option<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct FitArguments {
    /// The table: CSV, TSV, text, NPY, Parquet or Arrow; `-` reads text from standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// The response, a column by name or number from 1 [default: the second].
    #[arg(long, value_name = "COLUMN", help_heading = "Columns and points")]
    pub(crate) y: Option<String>,
    /// Fits each group of rows by itself. A group has the same value in this column, for example the number of a run.
    /// By default, x and y are then the first two other columns.
    #[arg(long, value_name = "COLUMN", help_heading = "Columns and points", conflicts_with_all = OF_ONE_FIT)]
    pub(crate) by: Option<String>,
    /// Fits all groups together; these parameters have the same value in all groups.
    #[arg(
        long,
        requires = "by",
        value_delimiter = ',',
        value_name = "NAME,...",
        help_heading = "The fit"
    )]
    pub(crate) share: Vec<String>,
    /// The covariance matrix of y, for errors that are not independent: a table with a row and a column for each row of
    /// the points' table, without names, in the units of y squared.
    #[arg(
        long,
        group = "errors_of_y",
        conflicts_with = "x_sigma",
        value_name = "FILE",
        help_heading = "Columns and points"
    )]
    pub(crate) covariance: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    /// Runs N more fits from starting points drawn within the bounds, or from natural ranges for parameters without
    /// bounds, and reports the best fit.
    #[arg(long, value_name = "N", help_heading = "The fit")]
    pub(crate) multi_start: Option<usize>,
    /// Searches for the best fit by differential evolution within the bounds, or within natural ranges for parameters
    /// without bounds.
    #[arg(long, conflicts_with = "multi_start", help_heading = "The fit")]
    pub(crate) evolution: bool,
    /// Seed of --multi-start, --evolution and --bootstrap; the same seed draws the same numbers on every machine.
    #[arg(long, value_name = "N", help_heading = "The fit")]
    pub(crate) seed: Option<u64>,
    /// Fits another model to the same points and reports Akaike weights, and tests of models that contain each other.
    /// Can be given several times. Options for parameters apply to all models that have them.
    #[arg(long, value_name = "MODEL", help_heading = "The fit")]
    pub(crate) compare: Vec<String>,
    /// Prints a JSON document instead of the report; numbers that are not finite are null.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Writes the results of all groups to a file: .csv or .json.
    #[arg(long, requires = "by", value_name = "FILE", help_heading = "Results")]
    pub(crate) out: Option<PathBuf>,
    /// Adds confidence intervals of the parameters with a probability such as 0.95, from their standard errors.
    #[arg(long, value_name = "LEVEL", help_heading = "Results")]
    pub(crate) interval: Option<f64>,
    /// Computes the intervals from profiles of the likelihood, which are correct for asymmetric errors, too; the
    /// probability is that of --interval or 0.95.
    #[arg(long, help_heading = "Results")]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) bootstrap: BootstrapArguments,
    #[command(flatten)]
    pub(crate) contour: ContourArguments,
    #[command(flatten)]
    pub(crate) at: AtArguments,
    /// Adds the confidence band of the curve with a probability such as 0.95 to the plot and the residuals.
    #[arg(long, value_name = "LEVEL", help_heading = "Results")]
    pub(crate) band: Option<f64>,
    /// Adds each term of a sum, for example each peak and the background, to the plot and the residuals.
    #[arg(long, help_heading = "Results")]
    pub(crate) components: bool,
    /// Plots the points, the curve and the residuals into a file: .svg or .png.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) plot: Option<PathBuf>,
    /// Makes the horizontal axis of the plot logarithmic.
    #[arg(long, requires = "plot", help_heading = "Results")]
    pub(crate) log_x: bool,
    /// Makes the vertical axis of the plot logarithmic.
    #[arg(long, requires = "plot", help_heading = "Results")]
    pub(crate) log_y: bool,
    /// Writes the fit as JSON for Rust programs, which read it with `Fit::from_json`.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) save: Option<PathBuf>,
    /// Writes the fitted points with the value of the model and the residual (y minus model) as CSV. For all output
    /// files, `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) residuals: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BatchArguments {
    /// One table with several columns to fit, or several tables.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// The responses, columns by name or number; `*` and `?` are wildcards [default: for one table, all columns except
    /// x and sigma; for several tables, the second column of each].
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMN,...",
        help_heading = "Columns and points"
    )]
    pub(crate) y: Vec<String>,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    /// Prints a JSON document instead of the table.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Writes the results to a file: .csv or .json.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) out: Option<PathBuf>,
}

/// Options for the model and its fit.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The fit")]
pub(crate) struct ModelArguments {
    /// The model: a formula of `x` or of the name of the column, such as "a*exp(-b*x)+c", or models of the library
    /// (see `dualfit models`), such as gaussian or "gaussian(g_) + linear(bg_)".
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Starting values of parameters: a=2,b=0.5; also arithmetic expressions, w=2*pi/12. Linear parameters need no
    /// starting value.
    #[arg(short, long, value_name = "NAME=VALUE,...", value_parser = pairs("--start a=2,b=0.5", number))]
    pub(crate) start: Vec<Pairs<f64>>,
    /// Bounds of parameters: b=0..1, b=0.. or b=..1.
    #[arg(short, long, value_name = "NAME=LOW..HIGH,...", value_parser = pairs("--bound b=0..1", range))]
    pub(crate) bound: Vec<Pairs<Range>>,
    /// Fixes parameters: c=0.1, or c alone to fix it at its starting value.
    #[arg(long, value_name = "NAME=VALUE,...", value_parser = words::fixed)]
    pub(crate) fix: Vec<Pairs<Option<f64>>>,
    /// Priors of parameters, mean and standard deviation of an earlier measurement: k=0.5+-0.02. They are weighed
    /// against the points and need --sigma, or --poisson.
    #[arg(long, value_name = "NAME=MEAN+-SD,...", value_parser = pairs("--prior k=0.5+-0.02", prior))]
    pub(crate) prior: Vec<Pairs<Prior>>,
    /// Ties a parameter to others: "s2=2*s1". Can be given several times.
    #[arg(long, value_name = "NAME=FORMULA", value_parser = formula("--tie \"s2=2*s1\""))]
    pub(crate) tie: Vec<(String, String)>,
    /// Reports a quantity derived from the parameters: "half_life=ln(2)/k". Can be given several times.
    #[arg(long, value_name = "NAME=FORMULA", value_parser = formula("--derive \"half_life=ln(2)/k\""))]
    pub(crate) derive: Vec<(String, String)>,
    /// A robust loss with its scale, the residual beyond which a point counts as an outlier, in sigmas or in units of
    /// y: huber:1.5, soft-l1, cauchy, arctan or tukey.
    #[arg(long, value_name = "LOSS:SCALE", value_parser = words::loss)]
    pub(crate) loss: Option<Loss>,
    /// Maximises the Poisson likelihood instead of least squares; y are counts.
    #[arg(long)]
    pub(crate) poisson: bool,
    /// When to search for a starting point.
    #[arg(long, value_name = "WHEN", value_enum, default_value = "needed")]
    pub(crate) search: Search,
    /// Maximum number of evaluations of the model per fit [default: 500 for each free parameter].
    #[arg(long, value_name = "N")]
    pub(crate) max_evaluations: Option<usize>,
    /// Hardware that evaluates the points: auto, cpu, cuda for all CUDA devices, or device numbers such as 0 or 0,1.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = words::backend)]
    pub(crate) device: Backend,
}

/// Condition for the search for a start.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Search {
    /// Never; a parameter without a starting value is an error.
    Never,
    /// If a parameter has no starting value, or if the data reject the fit from the initial guess of the model.
    Needed,
    /// Also if the fit from the given starting point does not converge or the data reject it.
    Rejected,
    /// For every fit; the result with the lower cost is used.
    Always,
}

impl ModelArguments {
    /// Returns the options for another model: `text`, with the settings of the parameters whose names are in `keep`.
    pub(crate) fn of_model(&self, text: &str, keep: impl Fn(&str) -> bool) -> ModelArguments {
        let mut own = self.clone();
        own.model = text.to_owned();
        own.start = Pairs::only(&self.start, &keep);
        own.bound = Pairs::only(&self.bound, &keep);
        own.fix = Pairs::only(&self.fix, &keep);
        own.prior = Pairs::only(&self.prior, &keep);
        own.tie.retain(|(name, _)| keep(name));
        own
    }
}

impl Search {
    pub(crate) fn when(self) -> SearchWhen {
        match self {
            Search::Never => SearchWhen::Never,
            Search::Needed => SearchWhen::Needed,
            Search::Rejected => SearchWhen::Rejected,
            Search::Always => SearchWhen::Always,
        }
    }
}

/// Options for the columns and rows, and for the format of text tables.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Columns and points")]
pub(crate) struct TableArguments {
    /// The independent variables, columns by name or number from 1 [default: the first].
    #[arg(long, value_name = "COLUMN,...")]
    pub(crate) x: Option<String>,
    /// The standard deviations of y: a column by name or number from 1, or one number for all points, with a decimal
    /// point or an exponent: `--sigma 3` is column 3, `--sigma 3.0` a constant.
    #[arg(
        long,
        group = "errors_of_y",
        value_name = "COLUMN|NUMBER",
        allow_negative_numbers = true
    )]
    pub(crate) sigma: Option<String>,
    /// The standard deviations of x, one for each independent variable: columns or numbers as for --sigma; 0.0 if a
    /// variable is exact. The fit minimises distances from the curve in units of the errors of x and y.
    #[arg(
        long,
        requires = "sigma",
        value_name = "COLUMN|NUMBER,...",
        allow_negative_numbers = true
    )]
    pub(crate) x_sigma: Option<String>,
    /// Treats sigmas as relative: their common factor is estimated from the scatter of the residuals.
    #[arg(long, requires = "errors_of_y")]
    pub(crate) relative: bool,
    /// Skips rows with a missing value: empty, NA, nan, or infinite.
    #[arg(long)]
    pub(crate) skip_missing: bool,
    /// Fits only the rows with the value of a column in a range: x=0..10, time=5.. or 3=..1.
    #[arg(long, value_name = "COLUMN=LOW..HIGH", value_parser = pairs("--range x=0..10", range))]
    pub(crate) range: Vec<Pairs<Range>>,
    /// Separator of the fields of a text table [default: detected].
    #[arg(long, value_parser = one_of(DELIMITERS), value_name = "WHICH")]
    delimiter: Option<Delimiter>,
    /// Reads numbers with a decimal comma: 12,5 [default: detected if unambiguous].
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// Separator of thousands in numbers: 1,234.5 or 1.234,5.
    #[arg(long, value_parser = one_of(THOUSANDS), value_name = "WHICH")]
    thousands: Option<Thousands>,
    /// Order of day and month in dates other than 2026-02-13: 13.02.2026 or 02/13/2026.
    #[arg(long, value_parser = one_of(DATE_ORDERS), value_name = "WHICH")]
    date_order: Option<DateOrder>,
    /// Number of lines of a text to skip before its table [default: detected].
    #[arg(long, value_name = "N")]
    pub(crate) skip_rows: Option<usize>,
    /// Number of rows above the numbers: names, then units and remarks; 0 if there are none [default: detected].
    #[arg(long, value_name = "N")]
    pub(crate) header_rows: Option<usize>,
}

impl TableArguments {
    /// Returns the options for another table: those of the dialect, without the rows above the numbers.
    pub(crate) fn of_another_table(&self) -> TableArguments {
        TableArguments { skip_rows: None, header_rows: None, ..self.clone() }
    }

    /// Format of text tables from the given options; the rest is detected.
    pub(crate) fn text(&self) -> CsvOptions {
        CsvOptions::detected()
            .delimiter(self.delimiter)
            .thousands(self.thousands)
            .date_order(self.date_order)
            .decimal_comma(self.decimal_comma.then_some(true))
            .skip_rows(self.skip_rows)
            .header_rows(self.header_rows)
    }
}
