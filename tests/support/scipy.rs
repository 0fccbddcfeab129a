//! Fits recorded from SciPy's `curve_fit`, read from `tests/data/scipy/curve_fit.txt`.
//!
//! `tests/data/README.md` has the format. Every case has two results: SciPy's, and the exact minimum of
//! the same problem, from which SciPy's is `Scipy::distance` away.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use std::collections::HashMap;
use std::fs;

/// One recorded fit. Matrices are row-major.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: String,
    /// Subject of the case: plain, sigma, matrix, bounds, loss or scale.
    pub group: String,
    /// decay, gaussian_peak, damped_sine, gaussian_2d, michaelis_menten or four_pl.
    pub model: String,
    /// The model as an expression in x (or x1 and x2); parameters first appear in the order of `parameters`.
    pub text: String,
    pub parameters: Vec<String>,
    /// One column per variable, n points each.
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
    pub errors: Errors,
    /// Per parameter; -inf and inf where there is none.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub loss: Loss,
    pub start: Vec<f64>,
    pub scipy: Scipy,
    pub exact: Exact,
}

/// Sigma of y. `absolute` is SciPy's `absolute_sigma`.
#[derive(Debug, Clone, PartialEq)]
pub enum Errors {
    Unknown,
    /// One standard deviation per point.
    Sigma {
        values: Vec<f64>,
        absolute: bool,
    },
    /// The covariance of y, n × n.
    Matrix {
        values: Vec<f64>,
        absolute: bool,
    },
}

/// The loss; `f_scale` is SciPy's, in units of whitened residuals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    Linear,
    SoftL1 {
        f_scale: f64,
    },
    Huber {
        f_scale: f64,
    },
    Cauchy {
        f_scale: f64,
    },
    Arctan {
        f_scale: f64,
    },
    /// rho(z) = (1 - (1 - z)³) / 3 below 1, 1/3 above.
    Tukey {
        f_scale: f64,
    },
}

/// Position of a parameter at the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Free,
    Lower,
    Upper,
}

/// Result of SciPy.
#[derive(Debug, Clone)]
pub struct Scipy {
    /// lm or trf.
    pub method: String,
    pub popt: Vec<f64>,
    /// p × p. From the Jacobian of all parameters, those at a bound included.
    pub pcov: Vec<f64>,
    /// Half the sum of squared whitened residuals, through the loss; chi-square is twice that.
    pub cost: f64,
    /// Relative distance from `Exact` of popt, of the cost, and of pcov in units of the standard errors.
    pub distance: [f64; 3],
}

/// The minimum of the same problem, found in 60-digit arithmetic and rounded to f64.
#[derive(Debug, Clone)]
pub struct Exact {
    pub optimum: Vec<f64>,
    pub cost: f64,
    /// p × p, by SciPy's formula.
    pub covariance: Vec<f64>,
    /// Per parameter.
    pub at_bound: Vec<Side>,
    /// Only where a parameter is at a bound.
    pub free: Option<FreeCovariance>,
}

/// Covariances k × k of the k parameters that are not at a bound, those at one held fixed.
///
/// The two differ in the degrees of freedom of the reduced chi-square, and not at all if sigma is absolute.
#[derive(Debug, Clone)]
pub struct FreeCovariance {
    /// chi-square / (n - k).
    pub by_n_minus_free: Vec<f64>,
    /// chi-square / (n - p).
    pub by_n_minus_p: Vec<f64>,
}

/// All recorded fits, in the order of the file.
pub fn cases() -> Vec<Case> {
    // As for NIST's problems, read at run time first.
    let root = std::env::var("CARGO_MANIFEST_DIR");
    let root = root.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let path = format!("{root}/tests/data/scipy/curve_fit.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut cases = Vec::new();
    let mut block = Block::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "end" => cases.push(std::mem::take(&mut block).case()),
            "x" => block.x.push(numbers(value)),
            _ => {
                if key == "case" {
                    block = Block::default(); // drops the file's own header
                }
                block.fields.insert(key, value);
            }
        }
    }
    assert!(!cases.is_empty(), "{path} has no cases");
    cases
}

/// The lines of one case, by their first word.
#[derive(Default)]
struct Block<'a> {
    x: Vec<Vec<f64>>,
    fields: HashMap<&'a str, &'a str>,
}

impl Block<'_> {
    fn text(&self, key: &str) -> String {
        self.fields
            .get(key)
            .unwrap_or_else(|| panic!("no {key} in {:?}", self.fields.get("case")))
            .to_string()
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        numbers(&self.text(key))
    }

    fn optional(&self, key: &str) -> Option<Vec<f64>> {
        self.fields.get(key).map(|text| numbers(text))
    }

    fn case(self) -> Case {
        let parameters: Vec<String> =
            self.text("parameters").split(' ').map(String::from).collect();
        let p = parameters.len();
        let at_bound = match self.fields.get("at_bound") {
            None => vec![Side::Free; p],
            Some(sides) => sides.split(' ').map(side).collect(),
        };
        let case = Case {
            name: self.text("case"),
            group: self.text("group"),
            model: self.text("model"),
            text: self.text("text"),
            y: self.numbers("y"),
            errors: self.errors(),
            lower: self.optional("lower").unwrap_or(vec![f64::NEG_INFINITY; p]),
            upper: self.optional("upper").unwrap_or(vec![f64::INFINITY; p]),
            loss: self.fields.get("loss").map_or(Loss::Linear, |text| loss(text)),
            start: self.numbers("start"),
            scipy: Scipy {
                method: self.text("scipy_method"),
                popt: self.numbers("scipy_popt"),
                pcov: self.numbers("scipy_pcov"),
                cost: self.numbers("scipy_cost")[0],
                distance: self.numbers("scipy_distance").try_into().expect("three distances"),
            },
            exact: Exact {
                optimum: self.numbers("optimum"),
                cost: self.numbers("cost")[0],
                covariance: self.numbers("covariance"),
                at_bound,
                free: self.optional("covariance_free_by_n_minus_free").map(|by_n_minus_free| {
                    FreeCovariance {
                        by_n_minus_free,
                        by_n_minus_p: self.numbers("covariance_free_by_n_minus_p"),
                    }
                }),
            },
            parameters,
            x: self.x,
        };
        case.check();
        case
    }

    fn errors(&self) -> Errors {
        let read = |text: &str| {
            let (scaling, values) = text.split_once(' ').expect("a scaling and values");
            assert!(["absolute", "relative"].contains(&scaling), "sigma {scaling}");
            (numbers(values), scaling == "absolute")
        };
        if let Some(text) = self.fields.get("sigma") {
            let (values, absolute) = read(text);
            Errors::Sigma { values, absolute }
        } else if let Some(text) = self.fields.get("sigma_matrix") {
            let (values, absolute) = read(text);
            Errors::Matrix { values, absolute }
        } else {
            Errors::Unknown
        }
    }
}

impl Case {
    /// Lengths agree, so that a file cut short fails here and not in a fit.
    fn check(&self) {
        let (n, p) = (self.y.len(), self.parameters.len());
        let errors = match &self.errors {
            Errors::Unknown => n,
            Errors::Sigma { values, .. } => values.len(),
            Errors::Matrix { values, .. } => values.len() / n,
        };
        let columns =
            [&self.start, &self.lower, &self.upper, &self.scipy.popt, &self.exact.optimum];
        let ok = self.x.iter().all(|x| x.len() == n)
            && errors == n
            && columns.iter().all(|column| column.len() == p)
            && self.exact.at_bound.len() == p
            && [&self.scipy.pcov, &self.exact.covariance]
                .iter()
                .all(|matrix| matrix.len() == p * p);
        assert!(ok, "{}: lengths disagree", self.name);
    }
}

fn numbers(text: &str) -> Vec<f64> {
    text.split(' ').map(|v| v.parse().unwrap_or_else(|_| panic!("{v} is no number"))).collect()
}

fn side(text: &str) -> Side {
    match text {
        "free" => Side::Free,
        "lower" => Side::Lower,
        "upper" => Side::Upper,
        other => panic!("at_bound {other}"),
    }
}

fn loss(text: &str) -> Loss {
    let (name, scale) = text.split_once(' ').expect("a loss and its scale");
    let f_scale = numbers(scale)[0];
    match name {
        "soft_l1" => Loss::SoftL1 { f_scale },
        "huber" => Loss::Huber { f_scale },
        "cauchy" => Loss::Cauchy { f_scale },
        "arctan" => Loss::Arctan { f_scale },
        "tukey" => Loss::Tukey { f_scale },
        other => panic!("loss {other}"),
    }
}
