//! Sums of products, and how they are written with no more parentheses than they need.

use super::number;

/// What a text is, which decides where it needs parentheses; in the order in which factors are written.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Form {
    /// Digits.
    Number,
    /// A number with a name.
    Constant,
    /// A letter, or a word in upright letters: a parameter by its position.
    Parameter(u32),
    /// A root or logarithm of a number.
    Root,
    /// An independent variable by its column.
    Column(u32),
    /// A name given to an expression.
    Part,
    /// A sum, product or fraction.
    Compound,
    /// Something that has its own fences: a function, a root.
    Call,
    /// Something without an end of its own: a comparison, cases.
    Open,
    /// Conditions joined by and, or.
    Condition,
}

#[derive(Clone, Debug, PartialEq)]
enum Exponent {
    Integer(u32),
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Factor {
    base: String,
    form: Form,
    /// Whether it differs between points.
    varies: bool,
    exponent: Exponent,
}

#[derive(Clone, Debug, Default)]
struct Term {
    negative: bool,
    over: Vec<Factor>,
    under: Vec<Factor>,
}

/// A sum of products.
#[derive(Clone, Debug)]
pub(super) struct Algebra {
    terms: Vec<Term>,
}

/// How many of the last factors an equal one is looked for among.
const LOOKED_AT: usize = 16;
/// Characters from which on a function stands beside a fraction, not in it.
const WIDE: usize = 60;

impl Algebra {
    pub(super) fn number(value: f64) -> Algebra {
        let number::Written { over, under } = number::written(value.abs());
        let factors = |texts: Vec<String>| {
            let form = |text: &str| match text.as_bytes() {
                [b'0'..=b'9', ..] => Form::Number,
                [b'\\', b's' | b'l', ..] => Form::Root,
                _ => Form::Constant,
            };
            texts.into_iter().map(|t| Factor::plain(t.clone(), form(&t), false)).collect()
        };
        let negative = value < 0.0;
        Algebra { terms: vec![Term { negative, over: factors(over), under: factors(under) }] }
    }

    pub(super) fn atom(text: String, form: Form, varies: bool) -> Algebra {
        let over = vec![Factor::plain(text, form, varies)];
        Algebra { terms: vec![Term { over, ..Term::default() }] }
    }

    /// Characters that it takes, about.
    pub(super) fn length(&self) -> usize {
        let factors = |factors: &[Factor]| factors.iter().map(|f| 3 + f.base.len()).sum::<usize>();
        self.terms.iter().map(|t| 3 + factors(&t.over) + factors(&t.under)).sum()
    }

    pub(super) fn negated(self) -> Algebra {
        let mut term = self.into_term();
        term.negative = !term.negative;
        Algebra { terms: vec![term] }
    }

    pub(super) fn plus(mut self, other: Algebra) -> Algebra {
        self.terms.extend(other.terms);
        self
    }

    pub(super) fn minus(mut self, other: Algebra) -> Algebra {
        let changed = other.terms.into_iter().map(|t| Term { negative: !t.negative, ..t });
        self.terms.extend(changed);
        self
    }

    pub(super) fn times(self, other: Algebra) -> Algebra {
        let (mut a, b) = (self.into_term(), other.into_term());
        a.negative ^= b.negative;
        b.over.into_iter().for_each(|f| gather(&mut a.over, f));
        b.under.into_iter().for_each(|f| gather(&mut a.under, f));
        Algebra { terms: vec![a] }
    }

    pub(super) fn over(self, other: Algebra) -> Algebra {
        let Term { negative, over, under } = other.into_term();
        self.times(Algebra { terms: vec![Term { negative, over: under, under: over }] })
    }

    pub(super) fn power(self, exponent: Algebra) -> Algebra {
        match exponent.integer() {
            Some((negative, n)) => {
                let Term { negative: sign, mut over, mut under } = self.into_term();
                let all = over.iter_mut().chain(&mut under);
                all.for_each(|factor| factor.raise(n));
                let term = Term { negative: sign && n % 2 == 1, over, under };
                let whole = Algebra { terms: vec![term] };
                if negative { Algebra::number(1.0).over(whole) } else { whole }
            }
            None if exponent.text() == "\\frac{1}{2}" => {
                Algebra::atom(format!("\\sqrt{{{}}}", self.text()), Form::Call, self.varies())
            }
            None => {
                let mut factor = self.into_factor();
                factor.varies |= exponent.varies();
                factor.exponent = Exponent::Text(exponent.text());
                Algebra { terms: vec![Term { over: vec![factor], ..Term::default() }] }
            }
        }
    }

    /// The function of this that is written `function`.
    pub(super) fn called(&self, function: &str) -> Algebra {
        let text = format!("{function}{}", parentheses(&self.text(), true));
        Algebra::atom(text, Form::Call, self.varies())
    }

    pub(super) fn in_parentheses(&self) -> String {
        parentheses(&self.text(), false)
    }

    pub(super) fn is_compound_condition(&self) -> bool {
        self.single().is_some_and(|factor| factor.form == Form::Condition)
    }

    /// Whether it differs between points.
    pub(super) fn varies(&self) -> bool {
        self.terms.iter().any(Term::varies)
    }

    /// What differs between points comes first, then the rest, numbers last, each in the order of the
    /// program; but it is 1 + x. No sum begins with a minus if it can be helped.
    pub(super) fn text(&self) -> String {
        let mut terms: Vec<&Term> = self.terms.iter().collect();
        let varies = self.varies();
        terms.sort_by_key(|term| match (term.is_number(), term.varies()) {
            (true, _) if varies && !term.negative && term.over.is_empty() => 0,
            (false, true) => 1,
            (false, false) => 2,
            (true, _) => 3,
        });
        if let Some(first) = terms.iter().position(|term| !term.negative) {
            terms[..=first].rotate_right(1);
        }
        let mut text = String::new();
        for (i, term) in terms.iter().enumerate() {
            text += match (i, term.negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            term.write(self.terms.len() == 1 && !term.negative, &mut text);
        }
        text
    }

    /// The only factor, if there is nothing else.
    fn single(&self) -> Option<&Factor> {
        match self.terms.as_slice() {
            [Term { negative: false, over, under }] if under.is_empty() => match over.as_slice() {
                [factor] => Some(factor),
                _ => None,
            },
            _ => None,
        }
    }

    /// A whole number as sign and magnitude.
    fn integer(&self) -> Option<(bool, u32)> {
        match self.terms.as_slice() {
            [Term { negative, over, under }] if under.is_empty() => match over.as_slice() {
                [] => Some((*negative, 1)),
                [f] if f.exponent == Exponent::Integer(1) => {
                    Some((*negative, f.base.parse().ok()?))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn into_term(mut self) -> Term {
        match self.terms.len() {
            1 => self.terms.pop().unwrap_or_default(),
            _ => {
                let varies = self.varies();
                let over = vec![Factor::plain(self.text(), Form::Compound, varies)];
                Term { over, ..Term::default() }
            }
        }
    }

    /// As one factor without an exponent.
    fn into_factor(self) -> Factor {
        match self.single() {
            Some(factor) if factor.exponent == Exponent::Integer(1) => factor.clone(),
            _ => Factor::plain(self.text(), Form::Compound, self.varies()),
        }
    }
}

impl Factor {
    fn plain(base: String, form: Form, varies: bool) -> Factor {
        Factor { base, form, varies, exponent: Exponent::Integer(1) }
    }

    fn raise(&mut self, n: u32) {
        if let Exponent::Integer(e) = self.exponent
            && let Some(product) = e.checked_mul(n)
        {
            self.exponent = Exponent::Integer(product);
        } else {
            let base = self.text(false);
            let exponent = Exponent::Integer(n);
            *self = Factor { base, form: Form::Compound, varies: self.varies, exponent };
        }
    }

    /// `alone`: nothing stands beside it.
    fn text(&self, alone: bool) -> String {
        let exponent = match &self.exponent {
            Exponent::Integer(1) => None,
            Exponent::Integer(n) => Some(n.to_string()),
            Exponent::Text(text) => Some(text.clone()),
        };
        let fenced = match self.form {
            Form::Number => exponent.is_none() || !self.base.contains(' '),
            Form::Compound | Form::Open | Form::Condition => alone && exponent.is_none(),
            _ => true,
        };
        let base = if fenced { self.base.clone() } else { parentheses(&self.base, false) };
        exponent.map_or_else(|| base.clone(), |exponent| format!("{base}^{{{exponent}}}"))
    }

    /// Where it is written: powers of a number among functions.
    fn place(&self) -> Form {
        match self.form {
            Form::Number if !self.is_number() => Form::Call,
            form => form,
        }
    }

    fn is_number(&self) -> bool {
        self.form == Form::Number && self.exponent == Exponent::Integer(1)
    }

    /// Whether it is too tall or wide to stand in a numerator.
    fn is_large(&self) -> bool {
        self.form == Form::Call && (self.base.contains("\\frac") || self.base.len() > WIDE)
    }
}

impl Term {
    fn varies(&self) -> bool {
        self.over.iter().chain(&self.under).any(|factor| factor.varies)
    }

    fn is_number(&self) -> bool {
        self.over.iter().chain(&self.under).all(Factor::is_number)
    }

    /// `alone`: nothing stands beside it.
    fn write(&self, alone: bool, text: &mut String) {
        if self.under.is_empty() {
            *text += &product(self.over.iter(), alone);
            return;
        }
        let within = self.over.iter().filter(|f| !f.is_large());
        let beside: Vec<&Factor> = self.over.iter().filter(|f| f.is_large()).collect();
        let (over, under) = (product(within, true), product(self.under.iter(), true));
        *text += &format!("\\frac{{{over}}}{{{under}}}");
        if !beside.is_empty() {
            text.push(' ');
            *text += &product(beside.into_iter(), false);
        }
    }
}

/// The factors side by side; 1 if there are none.
fn product<'a>(factors: impl Iterator<Item = &'a Factor> + Clone, alone: bool) -> String {
    let alone = alone && factors.clone().count() == 1;
    let mut text = String::new();
    let mut word = false;
    for factor in factors {
        let next = factor.text(alone);
        let is_word = next.starts_with("\\mathrm");
        if !text.is_empty() {
            text += match next.starts_with(|c: char| c.is_ascii_digit()) {
                true => " \\cdot ",
                // Upright words side by side would run together.
                false if word || (is_word && !text.ends_with([' ', '}', ')'])) => " \\, ",
                false => " ",
            };
        }
        word = is_word;
        text += &next;
    }
    if text.is_empty() { "1".into() } else { text }
}

/// Puts a factor among others, equal bases together.
fn gather(factors: &mut Vec<Factor>, factor: Factor) {
    let alike = |f: &&mut Factor| f.base == factor.base && f.form == factor.form;
    let from = factors.len().saturating_sub(LOOKED_AT);
    if factor.form != Form::Number
        && let Exponent::Integer(n) = factor.exponent
        && let Some(known) = factors[from..].iter_mut().find(alike)
        && let Exponent::Integer(m) = known.exponent
        && let Some(sum) = m.checked_add(n)
    {
        known.exponent = Exponent::Integer(sum);
        return;
    }
    let after = factors.iter().rev().take_while(|f| f.place() > factor.place()).count();
    factors.insert(factors.len() - after, factor);
}

/// The text in parentheses that are as tall as it is; `call`: they follow the name of a function.
pub(super) fn parentheses(text: &str, call: bool) -> String {
    let tall = ["\\frac", "\\sqrt", "\\begin", "\\left"].iter().any(|tall| text.contains(tall));
    match (tall, call) {
        (false, _) => format!("({text})"),
        (true, true) => format!("\\!\\left({text}\\right)"),
        (true, false) => format!("\\left({text}\\right)"),
    }
}
