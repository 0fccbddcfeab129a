//! Names as mathematical symbols: `sigma` as σ, `k_cat` with a subscript, `amplitude` upright.

use std::collections::HashSet;

const GREEK: [&str; 24] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi",
    "psi", "omega",
];
/// Greek capitals that LaTeX has as commands; the others look like Latin letters.
const CAPITALS: [&str; 10] =
    ["Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"];
/// The Greek letters as characters, α to ω without the final sigma.
const CHARACTERS: &str = "αβγδεζηθικλμνξοπρστυφχψω";

/// Returns one symbol per name, all different.
pub(crate) fn symbols(names: &[&str]) -> Vec<String> {
    let mut seen = HashSet::new();
    let written: Vec<String> = names.iter().map(|name| symbol(name)).collect();
    let twice: HashSet<&String> = written.iter().filter(|s| !seen.insert(*s)).collect();
    let literal = |name: &str| format!("\\mathrm{{{}}}", escaped(name));
    let pairs = names.iter().zip(&written);
    pairs.map(|(name, s)| if twice.contains(s) { literal(name) } else { s.clone() }).collect()
}

/// Converts a name to a symbol; underscores separate its parts. One part is the symbol, and the others are its
/// subscript. The symbol is the first part if this part is a single letter and not all others are Greek (`k_cat`), or
/// if the last part is a number (`run_2`). Otherwise the symbol is the last part (`g1_center`).
fn symbol(name: &str) -> String {
    let parts: Vec<&str> = name.split('_').filter(|part| !part.is_empty()).collect();
    let (stem, below): (&str, Vec<&str>) = match parts.as_slice() {
        [] => return format!("\\mathrm{{{}}}", escaped(name)),
        [only] => (only, Vec::new()),
        [first, rest @ ..] if is_letter(first) && !rest.iter().all(|part| is_greek(part)) => {
            (first, rest.to_vec())
        }
        [stem @ .., last] if last.chars().all(|c| c.is_ascii_digit()) => {
            let (first, rest) = stem.split_first().unwrap_or((last, &[]));
            (first, rest.iter().copied().chain([*last]).collect())
        }
        [rest @ .., last] => (last, rest.to_vec()),
    };
    let (letters, digits) = split_digits(stem);
    let base = word(letters);
    let below: Vec<String> =
        [digits].into_iter().filter(|d| !d.is_empty()).chain(below).map(subscript).collect();
    match below.is_empty() {
        true => base,
        false => format!("{base}_{{{}}}", below.join(",")),
    }
}

fn is_greek(part: &str) -> bool {
    let letters = split_digits(part).0;
    GREEK.contains(&letters) || CAPITALS.contains(&letters) || greek_character(letters).is_some()
}

fn is_letter(part: &str) -> bool {
    part.chars().count() == 1 || is_greek(part)
}

/// Splits a name into its stem and the digits at its end.
fn split_digits(part: &str) -> (&str, &str) {
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.is_empty() { (part, "") } else { part.split_at(letters.len()) }
}

fn greek_character(text: &str) -> Option<&'static str> {
    let mut characters = text.chars();
    let (first, None) = (characters.next()?, characters.next()) else { return None };
    let at = CHARACTERS.chars().position(|c| c == first)?;
    GREEK.get(at).copied()
}

fn word(text: &str) -> String {
    match greek_character(text).unwrap_or(text) {
        "omicron" => "o".into(),
        greek if GREEK.contains(&greek) || CAPITALS.contains(&greek) => format!("\\{greek}"),
        letter if letter.len() == 1 && letter.chars().all(|c| c.is_ascii_alphabetic()) => {
            letter.into()
        }
        word => format!("\\mathrm{{{}}}", escaped(word)),
    }
}

fn subscript(part: &str) -> String {
    match part.chars().all(|c| c.is_ascii_digit()) {
        true => part.to_owned(),
        false => word(part),
    }
}

/// Escapes the characters that are special in LaTeX.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '_' | '&' | '%' | '$' | '#' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out += "\\backslash{}",
            '~' => out += "\\sim{}",
            '^' => out += "\\hat{}",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Converts the exponent of a printed number to a power of ten.
pub(crate) fn power_of_ten(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{digits} \\times 10^{{{exponent}}}"),
        None => text.replace("inf", "\\infty").replace("NaN", "\\mathrm{NaN}"),
    }
}
