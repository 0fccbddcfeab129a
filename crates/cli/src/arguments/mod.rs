//! Arguments of the command line.
//!
//! Options that name columns are kept as text. They are resolved when the table is known, so that an error message
//! fits in one line and lists the existing names.

pub(crate) mod words;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dualfit::source::{CsvOptions, DateOrder, Delimiter, Thousands};
use dualfit::{Backend, Loss, SearchWhen};
use std::path::PathBuf;
use words::{Pairs, Range, formula, number, one_of, pairs, range};

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
const OF_ONE_FIT: [&str; 8] =
    ["multi_start", "interval", "profile", "band", "components", "plot", "save", "residuals"];

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
        /// A model, or several put together: gaussian, "gaussian(g_) + linear(bg_)".
        model: Option<String>,
    },
    /// Lists the CUDA devices, or says what is missing.
    Devices {
        /// Measures how fast data move to each device and through its memory; takes about a second.
        #[arg(long)]
        bandwidth: bool,
    },
    /// Measures fits of a decay on this machine, on the CPU and on a device if there is one.
    Bench {
        /// Numbers of points.
        #[arg(long, value_delimiter = ',', default_values_t = [1_000, 100_000, 1_000_000], value_name = "N,...")]
        points: Vec<usize>,
        /// Fits of each size; the fastest and the median are told.
        #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
        repeat: u32,
    },
    /// Prints the completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the manual page, or that of a command.
    Man {
        /// The command: fit, batch, models, devices, bench, completions.
        command: Option<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct FitArguments {
    /// The table: CSV, TSV, text, NPY, Parquet or Arrow; `-` is text on standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// The response, a column by name or number from 1 [default: the second].
    #[arg(long, value_name = "COLUMN", help_heading = "Columns and points")]
    pub(crate) y: Option<String>,
    /// Fits each group of rows by itself: those with the same value in a column, such as the number of a run. x and y
    /// are then the first columns beside it, unless something else is said.
    #[arg(long, value_name = "COLUMN", help_heading = "Columns and points", conflicts_with_all = OF_ONE_FIT)]
    pub(crate) by: Option<String>,
    /// Fits all groups together: these parameters have one value for all of them.
    #[arg(
        long,
        requires = "by",
        value_delimiter = ',',
        value_name = "NAME,...",
        help_heading = "The fit"
    )]
    pub(crate) share: Vec<String>,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    /// Starts N fits more, from points spread over the bounds, and reports the best; every free
    /// parameter needs both bounds.
    #[arg(long, value_name = "N", help_heading = "The fit")]
    pub(crate) multi_start: Option<usize>,
    /// Prints one JSON document instead of the report; numbers that are not finite are null.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Writes the results of all groups to a file: .csv or .json.
    #[arg(long, requires = "by", value_name = "FILE", help_heading = "Results")]
    pub(crate) out: Option<PathBuf>,
    /// Adds confidence intervals of the parameters, of a probability such as 0.95, from their standard
    /// errors.
    #[arg(long, value_name = "LEVEL", help_heading = "Results")]
    pub(crate) interval: Option<f64>,
    /// Takes the intervals, of 0.95 unless --interval says otherwise, from profiles of the likelihood: right also where
    /// errors are lopsided.
    #[arg(long, help_heading = "Results")]
    pub(crate) profile: bool,
    /// Adds the curve's confidence band, of a probability such as 0.95, to the picture and the
    /// residuals.
    #[arg(long, value_name = "LEVEL", help_heading = "Results")]
    pub(crate) band: Option<f64>,
    /// Adds each model of a sum by itself, each peak and what they stand on, to the picture and the residuals.
    #[arg(long, help_heading = "Results")]
    pub(crate) components: bool,
    /// Draws the points, the curve and the residuals: .svg or .png.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) plot: Option<PathBuf>,
    /// Draws the picture's horizontal axis logarithmically.
    #[arg(long, requires = "plot", help_heading = "Results")]
    pub(crate) log_x: bool,
    /// Draws the picture's vertical axis logarithmically.
    #[arg(long, requires = "plot", help_heading = "Results")]
    pub(crate) log_y: bool,
    /// Writes the fit as JSON for programs in Rust, which read it with `Fit::from_json`.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) save: Option<PathBuf>,
    /// Writes the fitted points with the model's value and the residual (y minus that), as CSV; here as
    /// with the others `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) residuals: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BatchArguments {
    /// One table of which several columns are fitted, or several tables.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// The responses: columns by name or number, `*` and `?` standing for any letters [default: of one
    /// table all columns but x and sigma, of several the second column of each].
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMN,...",
        help_heading = "Columns and points"
    )]
    pub(crate) y: Vec<String>,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    /// Prints one JSON document instead of the table.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Writes the results to a file: .csv or .json.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) out: Option<PathBuf>,
}

/// The model and how it is fitted.
#[derive(Args, Debug)]
#[command(next_help_heading = "The fit")]
pub(crate) struct ModelArguments {
    /// The model: a formula over the column's name or `x`, such as "a*exp(-b*x)+c", or models of the
    /// library that `dualfit models` lists, such as gaussian or "gaussian(g_) + linear(bg_)".
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Where parameters start: a=2,b=0.5, or formulas of numbers, w=2*pi/12. Those in which the model is
    /// linear need no start.
    #[arg(short, long, value_name = "NAME=VALUE,...", value_parser = pairs("--start a=2,b=0.5", number))]
    pub(crate) start: Vec<Pairs<f64>>,
    /// Keeps parameters within ranges: b=0..1, b=0.. or b=..1.
    #[arg(short, long, value_name = "NAME=LOW..HIGH,...", value_parser = pairs("--bound b=0..1", range))]
    pub(crate) bound: Vec<Pairs<Range>>,
    /// Keeps parameters at values: c=0.1, or c alone for its start.
    #[arg(long, value_name = "NAME=VALUE,...", value_parser = words::fixed)]
    pub(crate) fix: Vec<Pairs<Option<f64>>>,
    /// Ties a parameter to others: "s2=2*s1". May be given several times.
    #[arg(long, value_name = "NAME=FORMULA", value_parser = formula("--tie \"s2=2*s1\""))]
    pub(crate) tie: Vec<(String, String)>,
    /// Reports a quantity that follows from the parameters: "half_life=ln(2)/k". May be given several
    /// times.
    #[arg(long, value_name = "NAME=FORMULA", value_parser = formula("--derive \"half_life=ln(2)/k\""))]
    pub(crate) derive: Vec<(String, String)>,
    /// A robust loss and the residual beyond which a point counts as an outlier, in sigmas or in the
    /// units of y: huber:1.5, soft-l1, cauchy, arctan or tukey.
    #[arg(long, value_name = "LOSS:SCALE", value_parser = words::loss)]
    pub(crate) loss: Option<Loss>,
    /// y are counts: maximises the Poisson likelihood instead of least squares.
    #[arg(long)]
    pub(crate) poisson: bool,
    /// When the start is searched for: if a parameter has none; also if the data reject the fit from the given one; always.
    #[arg(long, value_name = "WHEN", value_enum, default_value = "needed")]
    pub(crate) search: Search,
    /// Evaluations of the model after which a fit stops [default: 500 for each free parameter].
    #[arg(long, value_name = "N")]
    pub(crate) max_evaluations: Option<usize>,
    /// Where points are evaluated: auto, cpu, cuda for all CUDA devices, or their numbers, as 0 or 0,1.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = words::backend)]
    pub(crate) device: Backend,
}

/// When the start of a fit is searched for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Search {
    /// A parameter without a start is an error.
    Never,
    /// If a parameter has no start, or a model's own guess leads to a fit that the data reject.
    Needed,
    /// Also if the fit from the given start does not converge or the data reject it.
    Rejected,
    /// For every fit; the one with the lower cost counts.
    Always,
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

/// Which columns and rows are used, and how a text table is written.
#[derive(Args, Debug)]
#[command(next_help_heading = "Columns and points")]
pub(crate) struct TableArguments {
    /// The independent variables, columns by name or number from 1 [default: the first].
    #[arg(long, value_name = "COLUMN,...")]
    pub(crate) x: Option<String>,
    /// The standard deviations of y, a column by name or number from 1.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sigma: Option<String>,
    /// Sigmas are right up to a common factor, which the scatter about the fit decides.
    #[arg(long, requires = "sigma")]
    pub(crate) relative: bool,
    /// Leaves out rows in which a value is missing: empty, NA, nan, or infinite.
    #[arg(long)]
    pub(crate) skip_missing: bool,
    /// Fits only the rows in which a column is within a range: x=0..10, time=5.. or 3=..1.
    #[arg(long, value_name = "COLUMN=LOW..HIGH", value_parser = pairs("--range x=0..10", range))]
    pub(crate) range: Vec<Pairs<Range>>,
    /// What separates the fields of a text table [default: found out].
    #[arg(long, value_parser = one_of(DELIMITERS), value_name = "WHICH")]
    delimiter: Option<Delimiter>,
    /// Decimals are written with a comma: 12,5 [default: found out where one reading is possible].
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// What sets the thousands apart in numbers: 1,234.5 or 1.234,5.
    #[arg(long, value_parser = one_of(THOUSANDS), value_name = "WHICH")]
    thousands: Option<Thousands>,
    /// How dates are written that are not as 2026-02-13: 13.02.2026 or 02/13/2026.
    #[arg(long, value_parser = one_of(DATE_ORDERS), value_name = "WHICH")]
    date_order: Option<DateOrder>,
    /// Lines of a text that are passed over before its table [default: found out].
    #[arg(long, value_name = "N")]
    pub(crate) skip_rows: Option<usize>,
    /// Rows above the numbers: the names, below them units and remarks; 0 for none [default: found
    /// out].
    #[arg(long, value_name = "N")]
    pub(crate) header_rows: Option<usize>,
}

impl TableArguments {
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
