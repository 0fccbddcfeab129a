//! Fits of points that others hold: the bits do not depend on who holds what, and nothing that travels does harm.

use dualfit::error::PartsError;
use dualfit::parts::{Part, Parts, merge};
use dualfit::source::{RangeSource, SliceSource};
use dualfit::{
    Backend, CancelToken, CurveFit, Data, Error, Estimator, Fit, Loss, Missing, Sigma, Stream,
    Termination,
};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) const GROUP: usize = Part::GROUP as usize;
pub(super) const START: [f64; 3] = [2.0, 1.0, 0.3];

pub(super) fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

/// Without pattern, within ±0.5, the same in every run.
pub(super) fn noise(i: usize) -> f64 {
    let mixed = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64
        / (1_u64 << 53) as f64
        - 0.5
}

pub(super) fn points(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 4.0 * i as f64 / n as f64).collect();
    let y = x.iter().enumerate().map(|(i, x)| 2.5 * (-1.3 * x).exp() + 0.5 + 0.2 * noise(i));
    let y = y.collect();
    (x, y)
}

/// Everything that a user could see of a fit, as bits.
pub(super) fn bits(fit: &Fit) -> Vec<u64> {
    let numbers = [fit.params(), &fit.std_errors(), &[fit.cost()]].concat();
    numbers.into_iter().map(f64::to_bits).collect()
}

/// The parts of `data` that begin at these groups.
fn parts_of<'a>(
    curve: &CurveFit,
    n: usize,
    groups: &[usize],
    part: impl Fn(std::ops::Range<usize>) -> Data<'a>,
) -> Vec<Part<'a>> {
    let ends = groups[1..].iter().map(|g| g * GROUP).chain([n]);
    let ranges = groups.iter().map(|g| g * GROUP).zip(ends);
    ranges
        .map(|(begin, end)| Part::new(curve, part(begin..end), begin as u64).expect("a part"))
        .collect()
}

/// The replies of all parts, merged from the left, from the right, or in pairs.
fn all(parts: &mut [Part<'_>], question: &[u8], way: usize) -> io::Result<Vec<u8>> {
    let mut answers: Vec<Vec<u8>> =
        parts.iter_mut().map(|part| part.answer(question)).collect::<io::Result<_>>()?;
    while answers.len() > 1 {
        let at = [0, answers.len() - 2, answers.len() / 2 - 1][way % 3];
        let right = answers.remove(at + 1);
        answers[at] = merge(&answers[at], &right)?;
    }
    Ok(answers.swap_remove(0))
}

#[test]
fn uneven_parts_have_the_bits_of_one() {
    let n = 16 * GROUP - 12_345;
    let (x, y) = points(n);
    let (x, y): (Vec<f32>, Vec<f32>) =
        (x.iter().map(|&v| v as f32).collect(), y.iter().map(|&v| v as f32).collect());
    let curve = decay();
    let groups: [&[usize]; 5] =
        [&[0], &[0, 5], &[0, 1, 13], &[0, 7, 8, 15], &(0..16).collect::<Vec<_>>()];
    let mut seen: Option<Vec<u64>> = None;
    for (way, groups) in groups.into_iter().enumerate() {
        let data = |range: std::ops::Range<usize>| Data::new(&x[range.clone()], &y[range]).unwrap();
        let mut parts = parts_of(&curve, n, groups, data);
        let fit = curve.fit_parts(|q: &[u8]| all(&mut parts, q, way), START).unwrap();
        assert!(fit.converged(), "{fit}");
        let expected = seen.get_or_insert_with(|| bits(&fit));
        assert_eq!(&bits(&fit), expected, "{} parts", groups.len());
    }
    // The sample of a stream is of another size.
    let data = |range: std::ops::Range<usize>| Data::new(&x[range.clone()], &y[range]).unwrap();
    let mut parts = parts_of(&curve, n, &[0, 3, 10], data);
    let ask = Parts::new(|q: &[u8]| all(&mut parts, q, 1)).subsample(false);
    let fit = curve.fit_parts(ask, START).unwrap();
    let stream = Stream::new(SliceSource::new(&x, &y).unwrap()).subsample(false);
    let expected = curve.fit_stream(stream.chunk_points(40_000), START).unwrap();
    assert_eq!(bits(&fit), bits(&expected), "a stream");
}

/// The arrays of [`Case`]s.
pub(super) struct Arrays {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Vec<f64>,
    /// Deviations of points that outweigh all others, the last the most.
    heavy: Vec<f64>,
    counts: Vec<f64>,
    holes: Vec<f64>,
    huge: Vec<f64>,
}

/// Settings of a fit.
#[derive(Clone)]
pub(super) struct Case<'a> {
    pub(super) what: &'static str,
    pub(super) curve: CurveFit,
    pub(super) start: [f64; 3],
    x: &'a [f64],
    y: &'a [f64],
    said: Sigma<'static>,
    sigma: &'a [f64],
}

impl Arrays {
    pub(super) fn new(n: usize) -> Arrays {
        let (x, y) = points(n);
        let mut holes = y.clone();
        (0..n).step_by(1001).for_each(|i| holes[i] = f64::NAN);
        Arrays {
            sigma: x.iter().map(|x| 0.05 + 0.03 * x).collect(),
            heavy: (0..n).map(|i| if i % 500_000 == 7 { 1e-17 / i as f64 } else { 0.1 }).collect(),
            counts: y.iter().map(|y| (20.0 * y.max(0.0)).floor()).collect(),
            huge: y.iter().map(|y| 1e200 * y).collect(),
            holes,
            x,
            y,
        }
    }

    pub(super) fn cases(&self) -> Vec<Case<'_>> {
        let Arrays { x, y, sigma, heavy, counts, holes, huge } = self;
        let plain = Case {
            what: "plain",
            curve: decay(),
            start: START,
            x,
            y,
            said: Sigma::Unknown,
            sigma: &[],
        };
        let case = |what, curve| Case { what, curve, ..plain.clone() };
        let weighed = |what, said, sigma| Case { said, sigma, ..case(what, decay()) };
        let counting = decay().estimator(Estimator::Poisson);
        vec![
            plain.clone(),
            weighed("absolute", Sigma::AbsoluteColumn, &sigma[..]),
            weighed("relative", Sigma::RelativeColumn, sigma),
            weighed("constant", Sigma::Constant(0.2), &[]),
            weighed("heavy", Sigma::AbsoluteColumn, heavy),
            case("robust", decay().loss(Loss::Huber { scale: 0.1 })),
            case("Tukey", decay().loss(Loss::Tukey { scale: 0.3 })),
            Case { start: [2.0, 1.5, 0.3], ..case("bounds", decay().bound("p1", 1.4..2.0)) },
            Case { start: [2.0, 1.0, 0.5], ..case("fixed", decay().fix("p2")) },
            Case { y: counts, start: [40.0, 1.0, 8.0], ..case("counts", counting) },
            Case { y: holes, ..case("holes", decay()) },
            Case { y: huge, start: [2e200, 1.0, 3e199], ..case("huge", decay()) },
        ]
    }
}

impl<'a> Case<'a> {
    fn missing(&self) -> Missing {
        if self.what == "holes" { Missing::Omit } else { Missing::Error }
    }

    pub(super) fn data(&self, range: std::ops::Range<usize>) -> Data<'a> {
        let data = Data::new(&self.x[range.clone()], &self.y[range.clone()]).unwrap();
        let data = data.missing(self.missing());
        match self.said {
            Sigma::AbsoluteColumn => data.sigma(Sigma::Absolute(&self.sigma[range])).unwrap(),
            Sigma::RelativeColumn => data.sigma(Sigma::Relative(&self.sigma[range])).unwrap(),
            other => data.sigma(other).unwrap(),
        }
    }

    pub(super) fn stream(&self, range: std::ops::Range<usize>) -> Stream<'a> {
        let source = SliceSource::new(self.x, self.y).unwrap();
        let source = if self.sigma.is_empty() { source } else { source.sigma(self.sigma).unwrap() };
        let source = RangeSource::new(source, range.start as u64..range.end as u64);
        Stream::new(source).sigma(self.said).unwrap().missing(self.missing())
    }
}

/// The same question by parts and by a stream, which sees what a fit in memory sees.
#[test]
fn all_that_a_fit_can_ask_has_the_same_answer() {
    let n = 2 * GROUP + 777;
    for (way, case) in Arrays::new(n).cases().into_iter().enumerate() {
        let Case { what, curve, start, .. } = &case;
        let (start, data) = (*start, |range| case.data(range));
        // With a start from a sample, too.
        let sampled = [&[0][..], &[0, 1], &[0, 1, 2]].map(|groups| {
            let mut parts = parts_of(curve, n, groups, data);
            bits(&curve.fit_parts(|q: &[u8]| all(&mut parts, q, way), start).unwrap())
        });
        assert!(sampled.iter().all(|bits| *bits == sampled[0]), "{what}, from a sample");
        let mut parts = parts_of(curve, n, &[0, 1, 2], data);
        let ask = |q: &[u8]| all(&mut parts, q, way);
        let fit = curve.fit_parts(Parts::new(ask).subsample(false), start).unwrap();
        let expected = curve.fit_stream(case.stream(0..n).subsample(false), start).unwrap();
        assert_eq!(fit.termination(), expected.termination(), "{what}");
        assert_eq!(bits(&fit), bits(&expected), "{what}: {fit}\n{expected}");
        assert_eq!(fit.warnings(), expected.warnings(), "{what}");
        let memory = curve.clone().backend(Backend::Cpu).subsample(false);
        let memory = memory.fit(data(0..n), start).unwrap();
        assert_eq!(bits(&fit), bits(&memory), "{what}, in memory: {fit}\n{memory}");
    }
}

#[test]
fn what_is_wrong_at_a_part_is_said_by_the_leader() {
    let (x, mut y) = points(1000);
    let curve = decay();
    let fit = |curve: &CurveFit, other: &CurveFit, y: &[f64]| {
        let mut part = Part::new(other, Data::new(&x, y).unwrap(), 0).unwrap();
        curve.fit_parts(move |q: &[u8]| part.answer(q), START).map(|fit| fit.converged())
    };
    assert!(fit(&curve, &curve, &y).unwrap());
    let line = CurveFit::new(|x, [a, b, c]| a * x + b + c);
    let difference = |other: &CurveFit| match fit(&curve, other, &y) {
        Err(Error::Parts(PartsError::AnotherModel { first: 0, field, leader, part })) => {
            (field, leader, part)
        }
        other => panic!("{other:?}"),
    };
    let differs = |field: &str, leader: &str, part: &str| {
        (field.to_owned(), leader.to_owned(), part.to_owned())
    };
    assert_eq!(difference(&line), differs("model", "v4 = -p1", "v4 = x * p0"));
    let doubled = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c * 2.0);
    assert_eq!(difference(&doubled).0, "model");
    let fewer = CurveFit::new(|x, [a, b]| a * (-b * x).exp());
    assert_eq!(difference(&fewer), differs("parameters", "p0, p1, p2", "p0, p1"));
    let fixed = differs("free parameters", "p0, p1, p2", "p0, p2");
    assert_eq!(difference(&curve.clone().fix("p1")), fixed);
    y[567] = f64::NAN;
    let refused = fit(&curve, &curve, &y).unwrap_err().to_string();
    assert!(refused.contains("567"), "{refused}");
    let panics = CurveFit::native(3, |x: f64, p: &[f64]| {
        assert!(x < 3.0, "beyond");
        p[0] * (-p[1] * x).exp() + p[2]
    });
    let (_, y) = points(1000);
    let refused = fit(&panics, &panics, &y).unwrap_err().to_string();
    assert!(refused.contains("beyond"), "{refused}");
    let data = Data::new(&x, &y).unwrap();
    assert!(Part::new(&curve, data.clone(), 17).is_err());
    // A part that is missing, and two that are no neighbours.
    let mut late = Part::new(&curve, data.clone(), Part::GROUP).unwrap();
    let refused = curve.fit_parts(|q: &[u8]| late.answer(q), START).unwrap_err().to_string();
    assert!(refused.contains("missing"), "{refused}");
    let mut early = Part::new(&curve, data, 0).unwrap();
    let both = |q: &[u8]| merge(&early.answer(q)?, &late.answer(q)?);
    let refused = curve.fit_parts(both, START).unwrap_err().to_string();
    assert!(refused.contains("followed by"), "{refused}");
}

/// A transport that fails at any request loses nothing: with a checkpoint, other parts continue to the same bits.
#[test]
fn any_question_may_fail_and_the_next_run_goes_on() {
    let n = GROUP + 5000;
    let (x, y) = points(n);
    let curve = decay();
    let data = |range: std::ops::Range<usize>| Data::new(&x[range.clone()], &y[range]).unwrap();
    let asked = AtomicUsize::new(0);
    let mut one = parts_of(&curve, n, &[0], data);
    let counted = |q: &[u8]| {
        asked.fetch_add(1, Ordering::Relaxed);
        all(&mut one, q, 0)
    };
    let expected = curve.fit_parts(counted, START).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    for failing in 0..asked.into_inner() {
        let (mut one, mut two) =
            (parts_of(&curve, n, &[0], data), parts_of(&curve, n, &[0, 1], data));
        let mut number = 0;
        let fails = |q: &[u8]| {
            number += 1;
            if number > failing {
                return Err(io::Error::other("a rank was killed"));
            }
            all(&mut two, q, 1)
        };
        let error = curve.fit_parts(Parts::new(fails).checkpoint(&path), START).unwrap_err();
        assert!(matches!(error, Error::Source(_)), "{error}");
        assert!(error.to_string().contains("a rank was killed"), "{error}");
        let mut questions = 0;
        let again = |q: &[u8]| {
            questions += 1;
            all(&mut one, q, 2)
        };
        let fit = curve.fit_parts(Parts::new(again).checkpoint(&path), START).unwrap();
        assert_eq!(bits(&fit), bits(&expected), "after question {failing}");
        assert!(!path.exists());
    }
}

#[test]
fn a_token_stops_between_questions() {
    let (x, y) = points(5000);
    let token = CancelToken::new();
    let curve = decay().cancel_token(token.clone());
    let mut part = Part::new(&decay(), Data::new(&x, &y).unwrap(), 0).unwrap();
    let mut questions = 0;
    let ask = |q: &[u8]| {
        questions += 1;
        if questions == 4 {
            token.cancel();
        }
        part.answer(q)
    };
    match curve.fit_parts(ask, START) {
        Ok(fit) => assert_eq!(fit.termination(), Termination::Stopped, "{fit}"),
        Err(error) => assert!(matches!(error, Error::StoppedInFirstPass), "{error}"),
    }
}

/// Bytes from anywhere are an error, and no panic, nor memory without end.
#[test]
fn bytes_from_anywhere_do_no_harm() {
    let (x, y) = points(300);
    let curve = decay();
    let part = || Part::new(&curve, Data::new(&x, &y).unwrap(), 0).unwrap();
    let (mut questions, mut answers) = (Vec::new(), Vec::new());
    let mut sound = part();
    let ask = |q: &[u8]| {
        let answer = sound.answer(q)?;
        questions.push(q.to_vec());
        answers.push(answer.clone());
        Ok(answer)
    };
    curve.fit_parts(ask, START).unwrap();
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    let mut victim = part();
    let (mut refused, mut understood) = (0, 0);
    for round in 0..100_000 {
        let list = if round % 2 == 0 { &questions } else { &answers };
        let mut bytes = list[next(list.len())].clone();
        for _ in 0..=next(3) {
            match next(4) {
                0 => bytes.truncate(next(bytes.len() + 1)),
                1 => bytes.extend((0..next(9)).map(|_| 0xff)),
                _ if bytes.is_empty() => {}
                2 => {
                    let at = next(bytes.len());
                    bytes[at] = [0, 0xff, 0x80, 1, next(256) as u8][next(5)];
                }
                _ => {
                    let at = next(bytes.len());
                    bytes[at] ^= 1 << next(8);
                }
            }
        }
        let outcome = match round % 2 {
            0 => victim.answer(&bytes).map(drop),
            _ => merge(&bytes, &answers[next(answers.len())]).map(drop),
        };
        match outcome {
            Ok(()) => understood += 1,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                refused += 1;
            }
        }
    }
    assert!(refused > 50_000 && understood > 100, "{refused} {understood}");
    // To the leader, at each of its questions.
    for round in 0..400 {
        let (at, mut count) = (next(answers.len()), 0);
        let mut part = part();
        let ask = |q: &[u8]| {
            let mut answer = part.answer(q)?;
            count += 1;
            if count == at + 1 {
                let place = next(answer.len());
                answer[place] ^= 1 << next(8);
            }
            Ok(answer)
        };
        match curve.fit_parts(ask, START) {
            // Numbers that are others are not known to be.
            Ok(_) => {}
            Err(Error::Source(_) | Error::SourceChanged(_)) => {}
            Err(other) => println!("round {round}: {other}"),
        }
    }
}
