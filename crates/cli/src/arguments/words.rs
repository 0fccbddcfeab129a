//! Options of the form name=value, and what stands behind the sign.

use crate::refusal::{Outcome, Refusal};
use crate::words::did_you_mean;
use dualfit::{Backend, CurveFit, Loss};

/// A range; ±∞ where an end is open.
pub(crate) type Range = (f64, f64);

/// Parts that commas separate which stand in no parentheses, of an option that may be given several times.
pub(crate) fn parts(given: &[String]) -> impl Iterator<Item = &str> {
    given.iter().flat_map(|text| cut(text)).map(str::trim).filter(|part| !part.is_empty())
}

fn cut(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let ends = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(ends).collect()
}

/// `name=value`. `option` and `example` are for the message.
pub(crate) fn assignment<'a>(
    part: &'a str,
    option: &str,
    example: &str,
) -> Outcome<(&'a str, &'a str)> {
    match part.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim(), value.trim()))
        }
        _ => Err(Refusal::usage(format!("{option} {part}: it is written {option} {example}"))),
    }
}

/// A finite number, or a formula of numbers: `ln(2)/3`.
pub(crate) fn number(text: &str, option: &str, part: &str) -> Outcome<f64> {
    let text = text.trim();
    match text.parse::<f64>().ok().or_else(|| constant(text)) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err(Refusal::usage(format!("{option} {part}: give a finite number"))),
        None => Err(Refusal::usage(format!("{option} {part}: \"{text}\" is no number"))),
    }
}

/// The value of a formula without any name in it.
fn constant(text: &str) -> Option<f64> {
    let formula = CurveFit::parse(text, [""; 0]).ok()?;
    let program = formula.parameters().is_empty().then(|| formula.program().ok())??;
    Some(program.evaluate(&[], &[]))
}

/// `0..1`, `0..` or `..1`.
pub(crate) fn range(text: &str, option: &str, part: &str) -> Outcome<Range> {
    let Some((low, high)) = text.split_once("..") else {
        let message = format!("{option} {part}: a range is written 0..1, 0.. or ..1");
        return Err(Refusal::usage(message));
    };
    let end = |text: &str, open: f64| match text.trim() {
        "" => Ok(open),
        text => number(text, option, part),
    };
    // Rust's own way of writing it is no mistake.
    let high = high.strip_prefix('=').unwrap_or(high);
    let (low, high) = (end(low, f64::NEG_INFINITY)?, end(high, f64::INFINITY)?);
    if low > high {
        let message = format!("{option} {part}: {low} is above {high}; exchange them");
        return Err(Refusal::usage(message));
    }
    Ok((low, high))
}

/// A loss of a scale.
type Scaled = fn(f64) -> Loss;

const LOSSES: [(&str, Scaled); 5] = [
    ("huber", |scale| Loss::Huber { scale }),
    ("soft-l1", |scale| Loss::SoftL1 { scale }),
    ("cauchy", |scale| Loss::Cauchy { scale }),
    ("arctan", |scale| Loss::Arctan { scale }),
    ("tukey", |scale| Loss::Tukey { scale }),
];

/// `huber:1.5`.
pub(crate) fn loss(text: &str) -> Outcome<Loss> {
    let refused = |why: String| Err(Refusal::usage(format!("--loss {text}: {why}")));
    let (name, scale) = text.split_once(':').unwrap_or((text, ""));
    let named = name.trim().to_lowercase().replace('_', "-");
    let Some((_, loss)) = LOSSES.iter().find(|(name, _)| *name == named) else {
        let names = LOSSES.map(|(name, _)| name);
        let near = did_you_mean(&named, names);
        return refused(format!("there is no such loss{near}; there are {}", names.join(", ")));
    };
    if scale.trim().is_empty() {
        return refused(format!(
            "say beyond which residual a point is an outlier, in sigmas or in the units of y: {named}:1.5"
        ));
    }
    match number(scale, "--loss", text)? {
        scale if scale <= 0.0 => refused("the scale must be positive".into()),
        scale => Ok(loss(scale)),
    }
}

/// `auto`, `cpu`, or a device's number.
pub(crate) fn backend(text: &str) -> Outcome<Backend> {
    match text {
        "auto" => Ok(Backend::Auto),
        "cpu" => Ok(Backend::Cpu),
        _ => text.parse().map(Backend::Cuda).map_err(|_| {
            let remedy = "it is auto, cpu, or the number of a device that `dualfit devices` lists";
            Refusal::usage(format!("--device {text}: {remedy}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{loss, number, parts, range};
    use dualfit::Loss;

    #[test]
    fn ranges_may_be_open() {
        let read = |text| range(text, "--bound", text).ok();
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
        let read = |text| number(text, "--start", text).ok();
        assert_eq!(read("-1.5e3"), Some(-1500.0));
        assert_eq!(read("2*pi/8"), Some(std::f64::consts::FRAC_PI_4));
        assert_eq!(read("max(1, 2)^2"), Some(4.0));
        for wrong in ["two", "2*a", "1/0", "nan", "", "1 2"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let given = ["a=1,b=atan2(1, (2)),c=0..1".to_owned(), "d=2".into()];
        let all: Vec<&str> = parts(&given).collect();
        assert_eq!(all, ["a=1", "b=atan2(1, (2))", "c=0..1", "d=2"]);
    }

    #[test]
    fn losses_go_by_their_usual_names() {
        assert_eq!(loss("Soft_L1:2").ok(), Some(Loss::SoftL1 { scale: 2.0 }));
        for wrong in ["huber", "huber:0", "huber:x", "hubert:1", ""] {
            assert!(loss(wrong).is_err(), "{wrong}");
        }
    }
}
