//! What a checkpoint of a stream contains: what is known of the points, how the fit was opened, and the
//! answers of all passes. A fit that is told them again takes the same steps, to the bit.

use super::checkpoint::bytes::{Malformed, Reader, Writer};
use super::opening::Opening;
use crate::backend::stream::{Answer, FirstPass, Kept, Memo, Question, Sums, Unfinished};
use crate::data::estimator::Estimator;
use crate::data::loss::Loss;
use crate::data::overview::Overview;
use crate::data::points::Units;
use crate::data::sample::{Sample, SampleState};
use crate::data::summary::Summary;
use crate::data::survey::{Survey, WORDS, pieces_of};
use crate::normal::{Grouped, Normal, RFactor, pair};

/// What was read.
pub(crate) enum Contents {
    /// A first pass that was stopped.
    First(Box<FirstPass>),
    /// A fit after its first pass.
    Opened(Box<Opened>),
}

/// What a fit knows after its first pass.
pub(crate) struct Opened {
    pub(crate) overview: Overview,
    pub(crate) distinct: usize,
    pub(crate) opening: Opening,
    pub(crate) memo: Memo,
}

/// A first pass that was stopped, as bytes.
pub(crate) fn write_first(first: &FirstPass) -> Vec<u8> {
    let mut out = Writer::new();
    out.flag(false);
    first.survey.words().into_iter().for_each(|word| out.u64(word));
    let (columns, state) = first.sample.parts();
    [state.x, state.most].into_iter().for_each(|count| out.size(count));
    [state.seen, state.stretch, state.next, state.draws].into_iter().for_each(|n| out.u64(n));
    out.size(columns.len());
    columns.iter().for_each(|column| out.f64s(column));
    write_normals(&mut out, &first.sums);
    out.u64(first.next);
    out.into_bytes()
}

fn read_first(from: &mut Reader<'_>, free: usize) -> Result<FirstPass, Malformed> {
    let mut words = [0; WORDS];
    for word in &mut words {
        *word = from.u64()?;
    }
    let state = SampleState {
        x: from.size()?,
        most: from.size()?,
        seen: from.u64()?,
        stretch: from.u64()?,
        next: from.u64()?,
        draws: from.u64()?,
    };
    let mut columns = Vec::new();
    for _ in 0..from.size()? {
        columns.push(from.f64s()?);
    }
    let sample = Sample::of_parts(columns, state)
        .ok_or_else(|| from.out_of_range("size of the sample", state.most as u64))?;
    let (survey, sums) = (Survey::of_words(words), read_normals(from, free)?);
    let next = from.u64()?;
    check_pieces(from, sums.pieces(), next)?;
    Ok(FirstPass { survey, sample, sums, next })
}

/// Refuses sums that are not of all points before number `next`: a pass is stopped between chunks, which
/// are of whole pieces but for the last.
fn check_pieces(from: &Reader<'_>, pieces: u64, next: u64) -> Result<(), Malformed> {
    match pieces == pieces_of(next) {
        true => Ok(()),
        false => Err(from.out_of_range("number of pieces", pieces)),
    }
}

/// What is to be kept, as bytes.
pub(crate) fn write(kept: &Kept<'_>, opening: &Opening) -> Vec<u8> {
    let mut out = Writer::new();
    out.flag(true);
    write_overview(&mut out, kept.overview);
    out.size(kept.distinct);
    write_opening(&mut out, opening);
    out.size(kept.memo.answers.len());
    for (question, answer) in &kept.memo.answers {
        write_question(&mut out, question);
        match answer {
            Answer::Normal(normal) => {
                out.u8(0);
                write_normal(&mut out, normal);
            }
            Answer::Factor(factor) => {
                out.u8(1);
                write_factor(&mut out, factor);
            }
        }
    }
    out.option(kept.memo.unfinished.as_ref(), |out, unfinished| {
        write_question(out, &unfinished.question);
        out.u64(unfinished.next);
        match &unfinished.sums {
            Sums::Normal(sums) => {
                out.u8(0);
                write_normals(out, sums);
            }
            Sums::Factor(sums) => {
                let (total, group, pieces) = sums.parts();
                out.u8(1);
                out.u64(pieces);
                write_factor(out, total);
                write_factor(out, group);
            }
        }
    });
    out.into_bytes()
}

/// What such bytes say of a fit with this many free parameters.
pub(crate) fn read(bytes: &[u8], free: usize, estimator: Estimator) -> Result<Contents, Malformed> {
    let mut from = Reader::new(bytes);
    if !from.flag()? {
        let first = read_first(&mut from, free)?;
        from.finish()?;
        return Ok(Contents::First(Box::new(first)));
    }
    let overview = read_overview(&mut from, estimator)?;
    let distinct = from.size()?;
    let opening = read_opening(&mut from)?;
    let mut memo = Memo::default();
    for _ in 0..from.size()? {
        let question = read_question(&mut from)?;
        let answer = match from.flag()? {
            false => Answer::Normal(read_normal(&mut from, free)?),
            true => Answer::Factor(read_factor(&mut from, free)?),
        };
        memo.answers.push((question, answer));
    }
    memo.unfinished = from.option(|from| {
        let (question, next) = (read_question(from)?, from.u64()?);
        let (sums, pieces) = match from.flag()? {
            false => {
                let sums = read_normals(from, free)?;
                let pieces = sums.pieces();
                (Sums::Normal(sums), pieces)
            }
            true => {
                let pieces = from.u64()?;
                let parts = (read_factor(from, free)?, read_factor(from, free)?);
                (Sums::Factor(Grouped::from_parts(parts, pieces)), pieces)
            }
        };
        check_pieces(from, pieces, next)?;
        Ok(Unfinished { question, sums, next })
    })?;
    from.finish()?;
    Ok(Contents::Opened(Box::new(Opened { overview, distinct, opening, memo })))
}

fn write_overview(out: &mut Writer, overview: &Overview) {
    let Overview { used, omitted, ignored, units, summary, heaviest, absolute, darkest, .. } =
        *overview;
    [used, omitted, ignored].into_iter().for_each(|count| out.size(count));
    [units.y, units.weight, units.row].into_iter().for_each(|unit| out.f64(unit));
    summary.numbers().into_iter().for_each(|number| out.f64(number));
    out.f64(heaviest);
    out.flag(absolute);
    out.f64(darkest);
}

fn read_overview(from: &mut Reader<'_>, estimator: Estimator) -> Result<Overview, Malformed> {
    Ok(Overview {
        used: from.size()?,
        omitted: from.size()?,
        ignored: from.size()?,
        units: Units { y: from.f64()?, weight: from.f64()?, row: from.f64()? },
        summary: Summary::of_numbers([from.f64()?, from.f64()?, from.f64()?, from.f64()?]),
        heaviest: from.f64()?,
        estimator,
        absolute: from.flag()?,
        darkest: from.f64()?,
    })
}

fn write_opening(out: &mut Writer, opening: &Opening) {
    out.option(opening.candidate.as_ref(), |out, params| out.f64s(params));
    out.u64(opening.stretch);
    out.size(opening.inside.len());
    opening.inside.iter().for_each(|&j| out.size(j));
    out.size(opening.points);
    out.text(&opening.reason);
}

fn read_opening(from: &mut Reader<'_>) -> Result<Opening, Malformed> {
    let (candidate, stretch) = (from.option(Reader::f64s)?, from.u64()?);
    let mut inside = Vec::new();
    for _ in 0..from.size()? {
        inside.push(from.size()?);
    }
    let (points, reason) = (from.size()?, from.text()?.to_owned());
    Ok(Opening { candidate, stretch, inside, points, reason })
}

fn write_question(out: &mut Writer, question: &Question) {
    let (kind, scale) = match question.loss {
        Loss::Linear => (0, 0.0),
        Loss::SoftL1 { scale } => (1, scale),
        Loss::Huber { scale } => (2, scale),
        Loss::Cauchy { scale } => (3, scale),
        Loss::Arctan { scale } => (4, scale),
        Loss::Tukey { scale } => (5, scale),
    };
    out.u8(kind);
    out.f64(scale);
    out.f64(question.most_weight);
    out.f64s(&question.params);
    out.f64s(&question.columns);
}

fn read_question(from: &mut Reader<'_>) -> Result<Question, Malformed> {
    let (kind, scale) = (from.u8()?, from.f64()?);
    let loss = match kind {
        0 => Loss::Linear,
        1 => Loss::SoftL1 { scale },
        2 => Loss::Huber { scale },
        3 => Loss::Cauchy { scale },
        4 => Loss::Arctan { scale },
        5 => Loss::Tukey { scale },
        _ => return Err(from.out_of_range("loss", u64::from(kind))),
    };
    let most_weight = from.f64()?;
    Ok(Question { loss, most_weight, params: from.f64s()?, columns: from.f64s()? })
}

fn write_normal(out: &mut Writer, normal: &Normal) {
    out.f64s(&normal.products);
    out.f64(normal.cost);
}

fn read_normal(from: &mut Reader<'_>, free: usize) -> Result<Normal, Malformed> {
    let products = numbers(from, pair(0, free + 1))?;
    Ok(Normal { n: free, products, cost: from.f64()? })
}

fn write_normals(out: &mut Writer, sums: &Grouped<Normal>) {
    let (total, group, pieces) = sums.parts();
    out.u64(pieces);
    write_normal(out, total);
    write_normal(out, group);
}

fn read_normals(from: &mut Reader<'_>, free: usize) -> Result<Grouped<Normal>, Malformed> {
    let pieces = from.u64()?;
    let parts = (read_normal(from, free)?, read_normal(from, free)?);
    Ok(Grouped::from_parts(parts, pieces))
}

fn write_factor(out: &mut Writer, factor: &RFactor) {
    out.f64s(&factor.r);
    out.f64(factor.weight);
}

fn read_factor(from: &mut Reader<'_>, free: usize) -> Result<RFactor, Malformed> {
    let r = numbers(from, (free + 1) * (free + 1))?;
    Ok(RFactor { n: free, r, weight: from.f64()? })
}

/// An array of a length that is known.
fn numbers(from: &mut Reader<'_>, count: usize) -> Result<Vec<f64>, Malformed> {
    let numbers = from.f64s()?;
    match numbers.len() == count {
        true => Ok(numbers),
        false => Err(from.out_of_range("number of sums", numbers.len() as u64)),
    }
}
