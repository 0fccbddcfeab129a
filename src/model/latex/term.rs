//! Sums of products, printed with as few parentheses as possible.

use super::symbol::power_of_ten;
use crate::math::order::sort_few;
use std::f64::consts::{E, LN_2, LN_10, PI, SQRT_2};

/// Form of a text, which determines its parentheses. The variants are in the order in which factors are written.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum TermForm {
    /// A number in digits.
    Number,
    /// A named number.
    Constant,
    /// The parameter with this index: a letter, or a word in upright letters.
    Parameter(u32),
    /// A root or logarithm of a number.
    Root,
    /// The independent variable with this index.
    Column(u32),
    /// The name of a named expression.
    Part,
    /// A power with a non-integer exponent.
    Power,
    /// A sum of several terms.
    Sum,
    /// A function call or a root, which needs no parentheses.
    Call,
    /// A text without a delimiter at its end: a comparison or cases.
    Open,
    /// Conditions joined by "and" or "or".
    Condition,
}

#[derive(Clone, Debug, PartialEq)]
struct Factor {
    base: String,
    form: TermForm,
    /// The exponent, not 0. A factor with a negative exponent is in the denominator.
    power: i32,
}

/// A product of factors, and its sign.
#[derive(Clone, Debug, Default)]
struct Term {
    negative: bool,
    factors: Vec<Factor>,
    /// True if the term differs between points.
    varies: bool,
}

/// A sum of terms, usually one.
#[derive(Clone, Debug)]
pub(super) struct Sum(Vec<Term>);

/// Number of trailing factors that are searched for an equal base.
const LOOKED_AT: usize = 16;
/// Minimum length, in characters, of a function that is written next to a fraction instead of in the numerator.
const WIDE: usize = 60;

impl Sum {
    pub(super) fn number(value: f64) -> Sum {
        let factor = |(base, power): (String, i32)| {
            let form = match base.as_bytes() {
                [b'0'..=b'9', ..] => TermForm::Number,
                [b'\\', b's' | b'l', ..] => TermForm::Root,
                _ => TermForm::Constant,
            };
            Factor { base, form, power }
        };
        let factors = written(value.abs()).into_iter().map(factor).collect();
        Sum(vec![Term { negative: value < 0.0, factors, varies: false }])
    }

    pub(super) fn atom(base: String, form: TermForm) -> Sum {
        Sum(vec![Term::atom(base, form)])
    }

    /// Sets whether a single term differs between points; the terms of a sum are already marked.
    pub(super) fn varying(mut self, varies: bool) -> Sum {
        if let [term] = self.0.as_mut_slice() {
            term.varies = varies;
        }
        self
    }

    pub(super) fn varies(&self) -> bool {
        self.0.iter().any(|term| term.varies)
    }

    /// Returns the approximate length in characters.
    pub(super) fn length(&self) -> usize {
        let factors = self.0.iter().flat_map(|term| &term.factors);
        factors.map(|factor| 6 + factor.base.len()).sum()
    }

    pub(super) fn negated(self) -> Sum {
        let term = self.into_term();
        Sum(vec![Term { negative: !term.negative, ..term }])
    }

    pub(super) fn plus(mut self, other: Sum) -> Sum {
        self.0.extend(other.0);
        self
    }

    pub(super) fn minus(mut self, other: Sum) -> Sum {
        self.0.extend(other.0.into_iter().map(|term| Term { negative: !term.negative, ..term }));
        self
    }

    pub(super) fn times(self, other: Sum) -> Sum {
        let (mut product, other) = (self.into_term(), other.into_term());
        product.negative ^= other.negative;
        other.factors.into_iter().for_each(|factor| gather(&mut product.factors, factor));
        Sum(vec![product])
    }

    pub(super) fn over(self, other: Sum) -> Sum {
        let mut other = other.into_term();
        other.factors.iter_mut().for_each(|factor| factor.power = factor.power.saturating_neg());
        self.times(Sum(vec![other]))
    }

    pub(super) fn power(self, exponent: &Sum) -> Sum {
        let base = self.into_term();
        if let Some(raised) = exponent.integer().and_then(|n| base.raised(n)) {
            return Sum(vec![raised]);
        }
        let (base, exponent) = (Sum(vec![base]), exponent.text());
        if exponent == "\\frac{1}{2}" {
            return Sum::atom(format!("\\sqrt{{{}}}", base.text()), TermForm::Call);
        }
        let base = match base.single() {
            Some(factor) => factor.text(false, true),
            None => base.in_parentheses(),
        };
        Sum::atom(format!("{base}^{{{exponent}}}"), TermForm::Power)
    }

    /// Returns a call of `function` with this sum as its argument.
    pub(super) fn called(&self, function: &str) -> Sum {
        Sum::atom(format!("{function}{}", parentheses(&self.text(), true)), TermForm::Call)
    }

    pub(super) fn in_parentheses(&self) -> String {
        parentheses(&self.text(), false)
    }

    pub(super) fn is_compound_condition(&self) -> bool {
        self.single().is_some_and(|factor| factor.form == TermForm::Condition)
    }

    /// Prints the sum. Terms that differ between points come first, then other terms, then numbers, each group in the
    /// order of the program. Exception: 1 or 1/n precedes terms that differ between points, as in 1 + x. The first term
    /// is positive if any term is positive.
    pub(super) fn text(&self) -> String {
        if let Some(factor) = self.single() {
            return factor.base.clone();
        }
        let mut terms: Vec<&Term> = self.0.iter().collect();
        let varies = self.varies();
        let place = |term: &&Term| match (term.is_number(), term.varies) {
            (true, _) if varies && !term.negative && term.part(true).is_empty() => 0,
            (false, true) => 1,
            (false, false) => 2,
            (true, _) => 3,
        };
        sort_few(&mut terms, |a, b| place(a).cmp(&place(b)));
        if let Some(first) = terms.iter().position(|term| !term.negative) {
            terms[..=first].rotate_right(1);
        }
        let mut text = String::new();
        for term in terms {
            text += match (text.is_empty(), term.negative) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text += &term.product();
        }
        text
    }

    /// Returns the factor if the sum is a single positive factor to the power 1.
    fn single(&self) -> Option<&Factor> {
        let [Term { negative: false, factors, .. }] = self.0.as_slice() else { return None };
        match factors.as_slice() {
            [factor] if factor.power == 1 => Some(factor),
            _ => None,
        }
    }

    /// Returns the value of the sum if it is a nonzero integer.
    fn integer(&self) -> Option<i32> {
        let [Term { negative, factors, .. }] = self.0.as_slice() else { return None };
        let magnitude: i32 = match factors.as_slice() {
            [] => 1,
            [Factor { base, power: 1, .. }] => base.parse().ok()?,
            _ => 0,
        };
        Some(if *negative { -magnitude } else { magnitude }).filter(|n| *n != 0)
    }

    /// Returns the only term; several terms become one factor.
    fn into_term(mut self) -> Term {
        match self.0.len() {
            1 => self.0.pop().unwrap_or_default(),
            _ => Term::atom(self.text(), TermForm::Sum),
        }
    }
}

impl Term {
    fn atom(base: String, form: TermForm) -> Term {
        Term { factors: vec![Factor { base, form, power: 1 }], ..Term::default() }
    }

    fn is_number(&self) -> bool {
        self.factors.iter().all(|factor| factor.form == TermForm::Number && factor.power.abs() == 1)
    }

    /// Raises the term to an integer power, factor by factor.
    fn raised(&self, n: i32) -> Option<Term> {
        let raise = |factor: &Factor| {
            Some(Factor { power: factor.power.checked_mul(n)?, ..factor.clone() })
        };
        let factors = self.factors.iter().map(raise).collect::<Option<_>>()?;
        Some(Term { negative: self.negative && n % 2 != 0, factors, varies: self.varies })
    }

    /// Returns the factors of the numerator (`above`) or of the denominator.
    fn part(&self, above: bool) -> Vec<&Factor> {
        self.factors.iter().filter(|factor| (factor.power > 0) == above).collect()
    }

    /// Prints the factors without the sign, as part of a sum.
    fn product(&self) -> String {
        let (over, under) = (self.part(true), self.part(false));
        if under.is_empty() {
            return product(&over, false);
        }
        let (beside, within): (Vec<_>, Vec<_>) = over.into_iter().partition(|f| f.is_large());
        let fraction = format!("\\frac{{{}}}{{{}}}", product(&within, true), product(&under, true));
        match beside.is_empty() {
            true => fraction,
            false => format!("{fraction} {}", product(&beside, false)),
        }
    }
}

impl Factor {
    /// Prints the factor. `alone`: true if it is the only factor; `raised`: true if an exponent follows.
    fn text(&self, alone: bool, raised: bool) -> String {
        let power = self.power.abs();
        let raised = raised || power != 1;
        let fenced = match self.form {
            TermForm::Number => !raised || !self.base.contains(' '),
            TermForm::Power => !raised,
            TermForm::Sum | TermForm::Open | TermForm::Condition => alone && !raised,
            _ => true,
        };
        let base = if fenced { self.base.clone() } else { parentheses(&self.base, false) };
        if power == 1 { base } else { format!("{base}^{{{power}}}") }
    }

    /// Returns true if the factor is too tall or too wide for a numerator.
    fn is_large(&self) -> bool {
        self.form == TermForm::Call && (self.base.contains("\\frac") || self.base.len() > WIDE)
    }
}

/// Prints the product of the factors; 1 if there are none. `alone`: no other factor follows.
fn product(factors: &[&Factor], alone: bool) -> String {
    let alone = alone && factors.len() == 1;
    let mut text = String::new();
    let mut word = false;
    for factor in factors {
        let next = factor.text(alone, false);
        let is_word = next.starts_with("\\mathrm");
        if !text.is_empty() {
            text += match next.starts_with(|c: char| c.is_ascii_digit()) {
                true => " \\cdot ",
                // Without space, adjacent upright words would look like one word.
                false if word || (is_word && !text.ends_with([' ', '}', ')'])) => " \\, ",
                false => " ",
            };
        }
        word = is_word;
        text += &next;
    }
    if text.is_empty() { "1".into() } else { text }
}

/// Multiplies by a factor: adds the exponents if the base exists, else inserts the factor in order.
fn gather(factors: &mut Vec<Factor>, factor: Factor) {
    let alike = |f: &&mut Factor| {
        (&f.base, f.form, f.power > 0) == (&factor.base, factor.form, factor.power > 0)
    };
    let from = factors.len().saturating_sub(LOOKED_AT);
    if factor.form != TermForm::Number
        && let Some(known) = factors[from..].iter_mut().find(alike)
        && let Some(sum) = known.power.checked_add(factor.power)
    {
        known.power = sum;
        return;
    }
    let after = factors.iter().rev().take_while(|f| f.form > factor.form).count();
    factors.insert(factors.len() - after, factor);
}

/// Encloses the text in parentheses of matching height. `call`: true if they follow the name of a function.
pub(super) fn parentheses(text: &str, call: bool) -> String {
    let tall = ["\\frac", "\\sqrt", "\\begin", "\\left"].iter().any(|tall| text.contains(tall));
    match (tall, call) {
        (false, _) => format!("({text})"),
        (true, true) => format!("\\!\\left({text}\\right)"),
        (true, false) => format!("\\left({text}\\right)"),
    }
}

/// Numbers with a symbol; constant folding produces such numbers.
const NAMED: [(f64, &str); 11] = [
    (PI, "\\pi"),
    (E, "e"),
    (LN_2, "\\ln(2)"),
    (LN_10, "\\ln(10)"),
    (2.506_628_274_631_000_2, "\\sqrt{2 \\pi}"),
    (1.772_453_850_905_516, "\\sqrt{\\pi}"),
    (SQRT_2, "\\sqrt{2}"),
    (1.732_050_807_568_877_2, "\\sqrt{3}"),
    (1.177_410_022_515_474_7, "\\sqrt{2 \\ln(2)}"),
    (0.832_554_611_157_697_8, "\\sqrt{\\ln(2)}"),
    (3.0, "3"),
];
const FACTORS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 180.0, 16.0];
/// Relative error of a constant after a few operations.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Writes a non-negative number in conventional form, as factors with exponent 1 or −1: 2 and π for
/// 6.283185307179586.
fn written(value: f64) -> Vec<(String, i32)> {
    let plain = decimal(value);
    if value == 1.0 {
        return Vec::new();
    }
    if !value.is_finite() || plain.len() < 12 {
        // Reciprocals of powers of two.
        let half = (1..=6).map(|k| f64::from(1u32 << k)).find(|d| value * d == 1.0);
        return vec![half.map_or((plain, 1), |d| (decimal(d), -1))];
    }
    for (named, text) in NAMED {
        for factor in FACTORS {
            let is = |&(of_factor, of_named): &(i32, i32)| {
                let number = factor.powi(of_factor) * named.powi(of_named);
                (value / number - 1.0).abs() <= ROUNDING
            };
            let powers = [(1, 1), (-1, 1), (1, -1), (-1, -1)];
            if let Some((of_factor, of_named)) = powers.into_iter().find(is) {
                let mut both = vec![(decimal(factor), of_factor), (text.into(), of_named)];
                both.retain(|(text, _)| text != "1");
                return both;
            }
        }
    }
    vec![(plain, 1)]
}

/// Returns the shortest decimal of the number, with a power of ten if the number is very small or large.
fn decimal(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-4..1e6).contains(&value);
    let text = if is_plain { value.to_string() } else { format!("{value:e}") };
    let text = power_of_ten(&text);
    text.strip_prefix("1 \\times ").map_or(text.clone(), str::to_owned)
}
