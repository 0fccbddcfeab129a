//! Parsers of option values: pairs of names and values, ranges, losses, devices. Their error messages do not name
//! the option; the program puts it before the message.

use crate::words::did_you_mean;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use dualfit::device::Devices;
use dualfit::{Backend, CurveFit, Loss};

/// Lower and upper limit; ±∞ if a side is open.
pub(crate) type Range = (f64, f64);

/// Parsed value of an option, or an error message.
type Said<T> = Result<T, String>;

/// Pairs of a name and a value. An option can be given several times, each time with several pairs.
#[derive(Clone, Debug)]
pub(crate) struct Pairs<T>(Vec<(String, T)>);

impl<T: Clone> Pairs<T> {
    /// Returns the pairs of all occurrences of an option.
    pub(crate) fn of(given: &[Pairs<T>]) -> Vec<(String, T)> {
        given.iter().flat_map(|pairs| pairs.0.clone()).collect()
    }

    /// Returns the pairs whose names are in `keep`.
    pub(crate) fn only(given: &[Pairs<T>], keep: impl Fn(&str) -> bool) -> Vec<Pairs<T>> {
        vec![Pairs(Pairs::of(given).into_iter().filter(|(name, _)| keep(name)).collect())]
    }
}

/// Returns a parser of `name=value,name=value`. Commas within parentheses do not separate pairs. `example` is shown in
/// the error message.
pub(crate) fn pairs<T>(
    example: &'static str,
    read: fn(&str) -> Said<T>,
) -> impl Fn(&str) -> Said<Pairs<T>> + Clone {
    move |text| {
        let parts = parts(text).into_iter();
        parts.map(|part| assigned(part, example, read)).collect::<Said<_>>().map(Pairs)
    }
}

/// Returns a parser of one `name=formula`.
pub(crate) fn formula(example: &'static str) -> impl Fn(&str) -> Said<(String, String)> + Clone {
    move |text| assigned(text, example, |formula| Ok(formula.to_owned()))
}

/// Parses `c=0.1,d`: parameters that are fixed at the given value, or at their starting value.
pub(crate) fn fixed(text: &str) -> Said<Pairs<Option<f64>>> {
    let fixed = |part: &str| match part.contains('=') {
        true => assigned(part, "--fix c=0.1", |value| number(value).map(Some)),
        false => Ok((part.to_owned(), None)),
    };
    parts(text).into_iter().map(fixed).collect::<Said<_>>().map(Pairs)
}

fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let ends = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(ends).map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn assigned<T>(part: &str, example: &str, read: impl Fn(&str) -> Said<T>) -> Said<(String, T)> {
    match part.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), read(value)?))
        }
        _ => Err(format!("it is written {example}")),
    }
}

/// Parses a finite number or a formula without names: `ln(2)/3`.
pub(crate) fn number(text: &str) -> Said<f64> {
    let text = text.trim();
    match text.parse::<f64>().ok().or_else(|| constant(text)) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err("give a finite number".into()),
        None => Err(format!("\"{text}\" is not a number")),
    }
}

/// Evaluates a formula without parameters and variables; `None` if the text is not such a formula.
fn constant(text: &str) -> Option<f64> {
    let formula = CurveFit::parse(text, [""; 0]).ok()?;
    let program = formula.parameters().is_empty().then(|| formula.program().ok())??;
    Some(program.evaluate(&[], &[]))
}

/// Parses `0..1`, `0..` or `..1`.
pub(crate) fn range(text: &str) -> Said<Range> {
    let (low, high) = text.split_once("..").ok_or("a range is written 0..1, 0.. or ..1")?;
    let end = |text: &str, open: f64| match text.trim() {
        "" => Ok(open),
        text => number(text),
    };
    // Rust's syntax `0..=1` is accepted, too.
    let high = high.strip_prefix('=').unwrap_or(high);
    let (low, high) = (end(low, f64::NEG_INFINITY)?, end(high, f64::INFINITY)?);
    match low > high {
        true => Err(format!("{low} is above {high}; exchange them")),
        false => Ok((low, high)),
    }
}

/// Mean and standard deviation of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prior {
    pub(crate) mean: f64,
    pub(crate) sigma: f64,
}

/// Parses `0.5+-0.02`, `0.5+/-0.02` or `0.5±0.02`.
pub(crate) fn prior(text: &str) -> Said<Prior> {
    let parts = ["±", "+/-", "+-"].into_iter().find_map(|sign| text.split_once(sign));
    let (mean, sigma) = parts.ok_or("a prior is written 0.5+-0.02, mean and standard deviation")?;
    match (number(mean)?, number(sigma)?) {
        (_, sigma) if sigma <= 0.0 => Err(format!(
            "the standard deviation is {sigma}; it must be positive; to hold the parameter, use --fix"
        )),
        (mean, sigma) => Ok(Prior { mean, sigma }),
    }
}

/// Parses `huber:1.5`.
pub(crate) fn loss(text: &str) -> Said<Loss> {
    let (name, scale) = text.split_once(':').unwrap_or((text, ""));
    let named = name.trim().to_lowercase().replace('_', "-");
    let names = Loss::robust(1.0).map(|loss| loss.name().to_lowercase().replace(' ', "-"));
    let Some(which) = names.iter().position(|name| *name == named) else {
        let near = did_you_mean(&named, names.iter().map(String::as_str));
        return Err(format!("there is no such loss{near}; there are {}", names.join(", ")));
    };
    if scale.trim().is_empty() {
        return Err(format!(
            "say beyond which residual a point is an outlier, in sigmas or in the units of y: {named}:1.5"
        ));
    }
    match number(scale)? {
        scale if scale <= 0.0 => Err("the scale must be positive".into()),
        scale => Ok(Loss::robust(scale)[which]),
    }
}

/// Parses `auto`, `cpu`, `cuda` for all devices, or device numbers.
pub(crate) fn backend(text: &str) -> Said<Backend> {
    match text {
        "auto" => Ok(Backend::Auto),
        "cpu" => Ok(Backend::Cpu),
        "cuda" => Ok(Backend::cuda(Devices::All)),
        _ => {
            let numbers = text.split(',').map(|number| number.trim().parse());
            let numbers: Result<Vec<usize>, _> = numbers.collect();
            numbers.map(|numbers| Backend::cuda(&numbers[..])).map_err(|_| {
                "it is auto, cpu, cuda for all devices, or numbers that `dualfit devices` lists: 0,1"
                    .into()
            })
        }
    }
}

/// Returns a parser of a choice between `words`.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let parser = PossibleValuesParser::new(words.map(|(word, _)| word));
    parser.try_map(move |said| {
        words.into_iter().find(|(word, _)| *word == said).map(|(_, value)| value).ok_or("unknown")
    })
}

#[cfg(test)]
mod tests {
    use super::{Prior, loss, number, pairs, prior, range};
    use dualfit::Loss;

    #[test]
    fn ranges_may_be_open() {
        let read = |text| range(text).ok();
        assert_eq!(read("0..1"), Some((0.0, 1.0)));
        assert_eq!(read("-1e-3..=2.5"), Some((-1e-3, 2.5)));
        assert_eq!(read(".5.."), Some((0.5, f64::INFINITY)));
        assert_eq!(read("..-2"), Some((f64::NEG_INFINITY, -2.0)));
        for wrong in ["1", "2..1", "a..b", "nan..1", "0-1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_may_be_formulas() {
        let read = |text| number(text).ok();
        assert_eq!(read("-1.5e3"), Some(-1500.0));
        assert_eq!(read("2*pi/8"), Some(std::f64::consts::FRAC_PI_4));
        assert_eq!(read("max(1, 2)^2"), Some(4.0));
        for wrong in ["two", "2*a", "1/0", "nan", "", "1 2"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let given = pairs("", number)("a=1, b=atan2(0, (2)),c=-2,").unwrap().0;
        assert_eq!(given, [("a", 1.0), ("b", 0.0), ("c", -2.0)].map(|(n, v)| (n.into(), v)));
    }

    #[test]
    fn priors_have_three_signs() {
        for text in ["-0.5+-2e-2", "-0.5 ± 1/50", "-0.5+/-0.02"] {
            assert_eq!(prior(text).ok(), Some(Prior { mean: -0.5, sigma: 0.02 }), "{text}");
        }
        for wrong in ["1", "1+-0", "1+--1", "1+-inf", "nan+-1", "+-1"] {
            assert!(prior(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn losses_go_by_their_usual_names() {
        assert_eq!(loss("Soft_L1:2").ok(), Some(Loss::SoftL1 { scale: 2.0 }));
        for wrong in ["huber", "huber:0", "huber:x", "hubert:1", ""] {
            assert!(loss(wrong).is_err(), "{wrong}");
        }
    }
}
