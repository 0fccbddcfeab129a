//! Collections of fitting problems in `tests/data/searches`: formulas with true parameters and the points at which they are
//! measured.

use dualfit::{CurveFit, Data, Fit, Start};
use rand::RngExt;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::fmt;
use std::time::Instant;

/// Standard deviations of the noise, relative to that of y.
const NOISE: [f64; 2] = [0.01, 0.1];

pub(crate) struct Collection {
    models: Vec<Value>,
}

/// Result of one fit without a start.
pub(crate) struct Verdict {
    pub(crate) problem: String,
    pub(crate) solved: bool,
    pub(crate) warned: bool,
    pub(crate) milliseconds: f64,
    /// Cost over that of the fit from the true parameters.
    pub(crate) ratio: f64,
    pub(crate) detail: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { problem, solved, warned, milliseconds, ratio, detail } = self;
        let state = match (solved, warned) {
            (true, _) => "solved",
            (false, true) => "warned",
            (false, false) => "WRONG",
        };
        write!(f, "{state:6} {problem}: cost ratio {ratio:.6}, {milliseconds:.1} ms, {detail}")
    }
}

/// One experiment: columns and the response without noise.
pub(crate) struct Experiment {
    pub(crate) truth: Vec<f64>,
    pub(crate) columns: Vec<Vec<f64>>,
    pub(crate) exact: Vec<f64>,
}

impl Collection {
    pub(crate) fn read(name: &str) -> Collection {
        // At run time first: a test may run on another machine than the one that built it.
        let root = std::env::var("CARGO_MANIFEST_DIR");
        let root = root.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
        let path = format!("{root}/tests/data/searches/{name}.json");
        let text = std::fs::read_to_string(path).unwrap();
        let Value::Array(models) = serde_json::from_str(&text).unwrap() else { panic!("no list") };
        Collection { models }
    }

    /// The parameters and the search of every `step`-th model's first experiment, as bits.
    pub(crate) fn bits(&self, step: usize) -> Vec<(Vec<u64>, String)> {
        let models = self.models.iter().enumerate().step_by(step);
        let fitted = models.map(|(m, model)| {
            let (curve, set) = (curve(model), &model["sets"][0]);
            let experiment = experiment(&curve, set, m as u64);
            let data = Data::new(experiment.columns.iter().collect::<Vec<_>>(), &experiment.exact);
            let fit = curve.fit(data.unwrap(), Start::Guess).unwrap();
            let bits = fit.params().iter().map(|value| value.to_bits()).collect();
            (bits, format!("{:?}", fit.start_search()))
        });
        fitted.collect()
    }

    /// Fits every experiment without a start.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (m, model) in self.models.iter().enumerate() {
            let name = model["name"].as_str().unwrap();
            let curve = curve(model);
            for (s, set) in model["sets"].as_array().unwrap().iter().enumerate() {
                let experiment = experiment(&curve, set, (100 * m + s) as u64);
                for noise in NOISE {
                    let problem = format!("{name} [{s}] {} %", 100.0 * noise);
                    verdicts.push(verdict(problem, &curve, &experiment, noise));
                }
            }
        }
        verdicts
    }
}

/// Returns true if a fit says by its termination or a warning that its numbers need care.
pub(crate) fn is_warned(fit: &Fit) -> bool {
    !fit.converged() || !fit.warnings().is_empty()
}

fn curve(model: &Value) -> CurveFit {
    let columns: Vec<&str> =
        model["x"].as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect();
    CurveFit::parse(model["formula"].as_str().unwrap(), &columns[..])
        .unwrap_or_else(|e| panic!("{}: {e}", model["name"]))
}

fn experiment(curve: &CurveFit, set: &Value, seed: u64) -> Experiment {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let truth: Vec<f64> = curve
        .parameters()
        .iter()
        .map(|name| set["params"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {set}")))
        .collect();
    let points = set["points"].as_u64().unwrap() as usize;
    let axes = set["x"].as_array().unwrap();
    let block = axes
        .iter()
        .filter_map(|axis| axis["values"].as_array().map(|values| points.div_ceil(values.len())))
        .min()
        .unwrap_or(points);
    let column = |axis: &Value| -> Vec<f64> {
        if let Some(values) = axis["values"].as_array() {
            let length = points.div_ceil(values.len());
            return (0..points).map(|i| values[i / length].as_f64().unwrap()).collect();
        }
        let (from, to) = (axis["from"].as_f64().unwrap(), axis["to"].as_f64().unwrap());
        let length = if axis["within"].as_bool() == Some(true) { block } else { points };
        let at = |i: usize| (i % length) as f64 / (length.max(2) - 1) as f64;
        match axis["spacing"].as_str().unwrap() {
            "linear" => (0..points).map(|i| from + (to - from) * at(i)).collect(),
            "log" => (0..points).map(|i| from * (to / from).powf(at(i))).collect(),
            "random" => (0..points).map(|_| from + (to - from) * random.random::<f64>()).collect(),
            other => panic!("{other}"),
        }
    };
    let columns: Vec<Vec<f64>> = axes.iter().map(column).collect();
    let program = curve.program().unwrap();
    let exact = (0..points)
        .map(|i| {
            let x: Vec<f64> = columns.iter().map(|column| column[i]).collect();
            program.evaluate(&x, &truth)
        })
        .collect();
    Experiment { truth, columns, exact }
}

fn verdict(problem: String, curve: &CurveFit, experiment: &Experiment, noise: f64) -> Verdict {
    let Experiment { truth, columns, exact } = experiment;
    let n = exact.len() as f64;
    let mean = exact.iter().sum::<f64>() / n;
    let scatter = (exact.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
    let mut random = Xoshiro256PlusPlus::seed_from_u64((1e6 * noise) as u64 + exact.len() as u64);
    let y: Vec<f64> = exact
        .iter()
        .map(|y| {
            let normal: f64 = StandardNormal.sample(&mut random);
            y + noise * scatter * normal
        })
        .collect();
    let data = || Data::new(columns.iter().collect::<Vec<_>>(), &y).unwrap();
    let from_truth = curve.fit(data(), truth).unwrap_or_else(|e| panic!("{problem}: {e}"));
    let begun = Instant::now();
    let found = curve.fit(data(), Start::Guess);
    let milliseconds = 1e3 * begun.elapsed().as_secs_f64();
    match found {
        Err(error) => Verdict {
            problem,
            solved: false,
            warned: true,
            milliseconds,
            ratio: f64::INFINITY,
            detail: error.to_string(),
        },
        Ok(fit) => {
            let ratio = fit.cost() / from_truth.cost();
            let solved = ratio <= 1.0 + 1e-5;
            let search = fit.start_search().map(|s| format!("{s:?}")).unwrap_or_default();
            let warned = is_warned(&fit);
            Verdict {
                problem,
                solved,
                warned,
                milliseconds,
                ratio,
                detail: format!(
                    "{search} {:?} truth {:?} found {:?}",
                    fit.termination(),
                    truth,
                    fit.params()
                ),
            }
        }
    }
}
