//! NIST's StRD nonlinear regression problems, read from `tests/data/nist`.
//!
//! `tests/data/README.md` has the format and where the figures come from.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use std::fs;
use std::path::Path;

/// One problem. Per parameter, in the order of `parameters`: `start1`, `start2`, `certified`, `sd`.
#[derive(Debug, Clone)]
pub struct Problem {
    pub name: String,
    /// NIST's own rating: `lower`, `average` or `higher`.
    pub difficulty: String,
    /// Right-hand side in `+ - * / ^`, `exp`, `sin`, `cos`, `atan` and `pi`, with `^` above unary minus.
    pub model: String,
    /// Names of the parameters: b1, b2, … A parser may meet them in another order (ENSO, MGH17).
    pub parameters: Vec<String>,
    /// Names of the predictors in `model`: x, or x1 and x2.
    pub variables: Vec<String>,
    /// One column per variable, `n` points each.
    pub predictors: Vec<Vec<f64>>,
    /// The response, `n` points, already transformed: Nelson's model is for the logarithm.
    pub y: Vec<f64>,
    pub start1: Vec<f64>,
    pub start2: Vec<f64>,
    pub certified: Vec<f64>,
    /// Certified standard deviations of the parameters.
    pub sd: Vec<f64>,
    /// Certified residual sum of squares.
    pub rss: f64,
    /// Certified residual standard deviation, sqrt(rss / dof).
    pub residual_sd: f64,
    /// Degrees of freedom, n - p.
    pub dof: usize,
    pub n: usize,
}

/// All 27 problems, by name.
pub fn problems() -> Vec<Problem> {
    // Read at run time first: a test may run on another machine than the one that built it.
    let root = std::env::var("CARGO_MANIFEST_DIR");
    let root = root.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let folder = &Path::new(&root).join("tests/data/nist");
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    paths.sort();
    let problems: Vec<Problem> = paths.iter().map(|path| read(path)).collect();
    assert_eq!(problems.len(), 27, "problems in {}", folder.display());
    problems
}

/// Digits to which `q` agrees with the certified `c`: the log relative error, from 0 to the certificate's 11.
pub fn digits(q: f64, c: f64) -> f64 {
    if q == c {
        return 11.0;
    }
    let digits = -((q - c).abs() / c.abs()).log10();
    if digits.is_nan() { 0.0 } else { digits.clamp(0.0, 11.0) }
}

fn read(path: &Path) -> Problem {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (head, data) = text.split_once("\ndata\n").expect("a data line");
    let field = |key: &str| {
        let mut values = head.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        values.next().unwrap_or_else(|| panic!("{}: no {key}", path.display()))
    };
    let number = |text: &str| -> f64 {
        text.parse().unwrap_or_else(|_| panic!("{}: {text} is no number", path.display()))
    };
    let count = |key: &str| field(key).parse::<usize>().expect(key);

    let table: Vec<Vec<&str>> = head
        .lines()
        .filter_map(|line| line.strip_prefix("parameter "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let column = |j: usize| -> Vec<f64> { table.iter().map(|row| number(row[j])).collect() };

    let k = count("predictors");
    let mut predictors = vec![Vec::new(); k];
    let mut y = Vec::new();
    for line in data.lines() {
        let row: Vec<f64> = line.split_whitespace().map(number).collect();
        assert_eq!(row.len(), k + 1, "{}: {line}", path.display());
        for (column, value) in predictors.iter_mut().zip(&row) {
            column.push(*value);
        }
        y.push(row[k]);
    }
    match field("transform") {
        "none" => {}
        "ln" => y.iter_mut().for_each(|v| *v = v.ln()),
        other => panic!("{}: transform {other}", path.display()),
    }
    let n = count("n");
    assert_eq!(y.len(), n, "{}: rows", path.display());

    Problem {
        name: field("name").to_string(),
        difficulty: field("difficulty").to_string(),
        model: field("model").to_string(),
        parameters: table.iter().map(|row| row[0].to_string()).collect(),
        variables: if k == 1 {
            vec!["x".to_string()]
        } else {
            (1..=k).map(|i| format!("x{i}")).collect()
        },
        predictors,
        y,
        start1: column(1),
        start2: column(2),
        certified: column(3),
        sd: column(4),
        rss: number(field("rss")),
        residual_sd: number(field("residual_sd")),
        dof: count("dof"),
        n,
    }
}
