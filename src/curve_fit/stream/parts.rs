//! Distributed fits. Requests and replies are byte strings that any transport can carry.

use super::part_on_device::PartOnDevice;
use super::part_points::PartPoints;
use super::stream_fit::PointsAsked;
use crate::backend::Backend;
use crate::backend::cpu::{Prepared, Scratch};
use crate::backend::stream::{
    Ask, Elsewhere, Envelope, Evaluated, FirstPass, GROUP_POINTS, Holder, Question, Refusal, Reply,
    Request, Said, Terms, read_envelope, read_reply, to_bytes,
};
use crate::curve_fit::{CurveFit, Ready};
use crate::data::Data;
use crate::data::points::{Given, Points};
use crate::data::sample::{LEAST_SAMPLE, Sample};
use crate::data::sigma::Weights;
use crate::data::start::Start;
use crate::data::stream::Stream;
use crate::data::summary::Overview;
use crate::data::validate_stream::{Survey, pieces_of};
use crate::error::source::SourceError;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::stream::checkpoint::{Difference, Identity};
use crate::host::Instant;
use crate::observe::span;
use crate::solver::observe::Patience;
use crate::solver::outcome::Fault;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Maximum number of points of the sample from which starting values are computed.
const SAMPLE: usize = 1 << 13;

/// A part of the points of a distributed fit, with the model. It processes the requests of the leader and stores no
/// state of the fit.
///
/// The result is bit-identical for any number of parts, if all parts are computed on the CPU, or all on equal devices.
///
/// ```
/// use dualfit::parts::{Part, merge};
/// use dualfit::{CurveFit, Data};
/// let x: Vec<f64> = (0..1_500_000).map(|i| 4e-6 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5).collect();
/// let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
/// // On each process: its points, and the number of the first of them.
/// let cut = Part::GROUP as usize;
/// let mut left = Part::new(&decay, Data::new(&x[..cut], &y[..cut])?, 0)?;
/// let mut right = Part::new(&decay, Data::new(&x[cut..], &y[cut..])?, cut as u64)?;
/// // On the leader: the transport of requests to all parts, and of their replies.
/// let ask = |question: &[u8]| {
///     merge(&left.answer(question)?, &right.answer(question)?).map_err(std::io::Error::other)
/// };
/// let fit = decay.fit_parts(ask, [1.0, 1.0, 0.0])?;
/// assert!((fit.params()[1] - 1.3).abs() < 1e-9);
/// # Ok::<(), dualfit::Error>(())
/// ```
pub struct Part<'a> {
    curve: CurveFit,
    points: PartPoints<'a>,
    first: u64,
    on_device: Option<PartOnDevice>,
    scratch: Scratch,
    /// Identity of the model, computed on first use.
    identity: OnceLock<Identity>,
}

impl<'a> Part<'a> {
    /// Number of points in a group. Every part begins at a multiple of this number, and every part except the last ends
    /// at a multiple. Therefore results are bit-identical for any division of the points into parts.
    pub const GROUP: u64 = GROUP_POINTS;

    /// Creates a part from points in memory. `first` is the number of its first point among all points, a multiple of
    /// [`GROUP`](Part::GROUP). [`CurveFit::backend`] selects the hardware; on a device, the points stay in device
    /// memory between requests.
    ///
    /// # Errors
    /// [`Error::Source`] if `first` is not such a multiple; [`Error::ModelKind`] for a covariance matrix, for errors in
    /// x, or for a `native_arrays` model. These are supported only if all points are in one process.
    pub fn new(curve: &CurveFit, data: impl Into<Data<'a>>, first: u64) -> Result<Part<'a>> {
        let data = data.into();
        let remedy = "fit them where they are together, by fit";
        if !data.x_sigma.is_exact() {
            return Err(Error::ModelKind { what: "a part of points whose x has errors", remedy });
        }
        if let Weights::Covariance { .. } = data.sigma {
            return Err(Error::ModelKind { what: "a part of correlated points", remedy });
        }
        Part::of(curve, first, || Ok(PartPoints::Memory(data)))
    }

    /// Creates a part from points of a source, such as files. The points are read again for each request, within
    /// [`Stream::memory_limit`]. This function reads them once to count them. Replies are identical to the replies of a
    /// part with the same points in memory; a fit may have parts of both kinds. The leader sets the sample and the
    /// checkpoint.
    ///
    /// ```
    /// use dualfit::parts::Part;
    /// use dualfit::source::FnSource;
    /// use dualfit::{CurveFit, Stream};
    /// let source = FnSource::new(100_000, |i| {
    ///     let x = 4e-5 * i as f64;
    ///     (x, 2.5 * (-1.3 * x).exp() + 0.5)
    /// });
    /// let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    /// let mut part = Part::stream(&decay, Stream::new(source).memory_limit(4 << 20), 0)?;
    /// let fit = decay.fit_parts(|question: &[u8]| part.answer(question), [1.0, 1.0, 0.0])?;
    /// assert!((fit.params()[1] - 1.3).abs() < 1e-9);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`new`](Part::new); the errors of [`fit_stream`](CurveFit::fit_stream) for the source;
    /// [`Error::NotOnDevice`] if a device is required; [`Error::Source`] for a stream with a checkpoint or without a
    /// sample, which are settings of [`Parts`].
    pub fn stream(curve: &CurveFit, stream: impl Into<Stream<'a>>, first: u64) -> Result<Part<'a>> {
        let stream = stream.into();
        if let Backend::Cuda(_) = curve.backend {
            let (what, remedy) =
                ("a part of points from a source", "use Backend::Cpu or Backend::Auto");
            return Err(Error::NotOnDevice { what, remedy });
        }
        let of_leader = match (&stream.checkpoint, stream.subsample) {
            (Some(_), _) => {
                Some("it has a checkpoint, which is the leader's: say it to Parts::checkpoint")
            }
            (None, false) => {
                Some("it is to have no sample, which is the leader's: say it to Parts::subsample")
            }
            (None, true) => None,
        };
        if let Some(message) = of_leader {
            return Err(SourceError::new("the stream of a part", message).into());
        }
        Part::of(curve, first, || PartPoints::of(stream, curve.estimator))
    }

    fn of(
        curve: &CurveFit,
        first: u64,
        points: impl FnOnce() -> Result<PartPoints<'a>>,
    ) -> Result<Part<'a>> {
        check_first(first, 0)?;
        let remedy = "fit them where they are together, by fit";
        curve.refuse_all_at_once("a part of the points", remedy)?;
        let (points, scratch, identity) = (points()?, Scratch::default(), OnceLock::new());
        check_first(first, points.len())?;
        Ok(Part { curve: curve.clone(), points, first, on_device: None, scratch, identity })
    }

    /// Returns the part with `first` as the number of its first point among all points. Use this function if the number
    /// is known only after all parts have counted their points.
    ///
    /// # Errors
    /// [`Error::Source`] for a number that is not a multiple of [`GROUP`](Part::GROUP).
    pub fn numbered_from(mut self, first: u64) -> Result<Part<'a>> {
        check_first(first, self.points.len())?;
        self.first = first;
        self.on_device = None;
        Ok(self)
    }

    /// Returns the number of points of the part.
    pub fn n_points(&self) -> u64 {
        self.points.len()
    }

    /// Processes a request from the leader and returns the reply. Errors in the points are part of the reply; the
    /// leader reports them.
    ///
    /// # Errors
    /// `InvalidData` if the bytes are not a request.
    pub fn answer(&mut self, question: &[u8]) -> io::Result<Vec<u8>> {
        let asked = read_envelope(question).map_err(|why| invalid("no question", &why))?;
        let said = self.said(asked).unwrap_or_else(|error| {
            let why = format!("points from number {} on: {error}", self.first);
            Said::Refused(Refusal::Points(why))
        });
        let end = self.first + self.points.len();
        to_bytes(&Reply::new(self.first..end, said)).map_err(|why| invalid("no answer", &why))
    }

    fn said(&mut self, asked: Envelope) -> Result<Said> {
        let free = self.curve.free_positions();
        let ready = self.curve.ready(&free)?.clone();
        let own = self.identity.get_or_init(|| self.curve.shared_identity(&ready.model, &free));
        let leaders: Vec<(&str, &str)> =
            asked.model.iter().map(|(name, value)| (&**name, &**value)).collect();
        if let Some(Difference { field, found, expected }) = own.compare(&leaders) {
            let (first, leader, part) = (self.first, found, expected);
            return Ok(Said::Refused(Refusal::Model { first, field, leader, part }));
        }
        let Part { curve, points, first, on_device, scratch, .. } = self;
        let (first, ready) = (*first, &*ready);
        let mut answering = Answering { curve, points, first, ready, on_device, scratch };
        answering.to(asked.request, free.len())
    }
}

/// Checks the number of the first point of a part.
///
/// # Errors
/// Returns an error if a part of `points` points cannot begin with point number `first`.
fn check_first(first: u64, points: u64) -> Result<()> {
    let message = match first.checked_add(points) {
        _ if !first.is_multiple_of(GROUP_POINTS) => {
            format!("{first} is no multiple of {GROUP_POINTS}, at which parts begin")
        }
        None => format!("{points} points from number {first} on have no numbers below 2^64"),
        Some(_) => return Ok(()),
    };
    Err(SourceError::new("the part", message).into())
}

/// A part during the computation of one reply.
struct Answering<'p, 'a> {
    curve: &'p CurveFit,
    points: &'p mut PartPoints<'a>,
    /// The number of the first point.
    first: u64,
    ready: &'p Ready,
    on_device: &'p mut Option<PartOnDevice>,
    scratch: &'p mut Scratch,
}

impl Answering<'_, '_> {
    fn to(&mut self, request: Request, free: usize) -> Result<Said> {
        match request {
            Request::Held => Ok(Said::Held(self.points.held(self.first))),
            Request::Look { terms, at_start, most } => {
                if at_start {
                    self.fits(&terms.start)?;
                }
                self.look(&terms, at_start, most)
            }
            Request::LookAgain { units } => {
                let mut survey = Survey::new(pieces_of(self.first));
                let mut look_again = |given: Given<'_>, _: u64| {
                    survey.add_again(given, units);
                    Ok(ControlFlow::Continue(()))
                };
                self.points.each_run(&mut look_again).map_err(error_of)?;
                survey.close();
                Ok(Said::LookAgain(Box::new(survey)))
            }
            Request::Ask { overview, terms, question } => {
                self.fits(&terms.start)?;
                question.params().map_or(Ok(()), |params| self.fits(params))?;
                if question.columns().is_some_and(|columns| columns.len() != free) {
                    let message = "the leader has another number of free parameters";
                    return Err(SourceError::new("the part", message).into());
                }
                self.ask(&overview, &terms, &question, free)
            }
        }
    }

    /// Checks the number of parameters in a request.
    ///
    /// # Errors
    /// Returns an error if the model of the leader has a different number of parameters.
    fn fits(&self, params: &[f64]) -> Result<()> {
        let width = self.curve.names.len();
        match params.len() == width {
            true => Ok(()),
            false => {
                let message = format!("the leader has {} parameters, not {width}", params.len());
                Err(SourceError::new("the part", message).into())
            }
        }
    }

    /// Computes the reply to the first request: validation, sample and, if requested, sums at the starting point.
    fn look(&mut self, terms: &Terms, at_start: bool, most: u64) -> Result<Said> {
        let Answering { curve, points, first, ready, scratch, .. } = self;
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(SAMPLE);
        let sample = Sample::new(points.columns(), points.has_sigma(), most);
        let mut look = FirstPass::new(sample, at_start, *first);
        let evaluated = on_terms(&ready.prepared, terms);
        let mut add = |given: Given<'_>, behind: u64| {
            look.add(&evaluated, scratch, (given, *first + behind), curve.estimator)?;
            Ok(ControlFlow::Continue(()))
        };
        points.each_run(&mut add).map_err(error_of)?;
        look.close();
        Ok(Said::Look(Box::new(look)))
    }

    /// Computes the reply to a request for sums: one pass over the points, or the sums from a device.
    fn ask(
        &mut self,
        overview: &Overview,
        terms: &Terms,
        question: &Question,
        free: usize,
    ) -> Result<Said> {
        let Answering { curve, points, first, ready, on_device, scratch } = self;
        if let Some(all) = points.in_memory() {
            let of_points = (all, overview, *first);
            let asked = (terms, question);
            let found = PartOnDevice::answer(on_device, (curve, ready), of_points, asked)?;
            if let Some(mut answer) = found {
                answer.close();
                return Ok(Said::Answer(answer));
            }
        }
        let mut answer = question.unanswered(free, pieces_of(*first));
        let evaluated = on_terms(&ready.prepared, terms);
        let mut add = |given: Given<'_>, behind: u64| {
            let (points, first) = (Points::part(given, overview), *first + behind);
            evaluated
                .on(scratch, &points, |cpu| answer.add(question, cpu, first))
                .map_err(|fault| fault.at_offset(first))?;
            Ok(match answer.is_complete() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        };
        points.each_run(&mut add).map_err(error_of)?;
        answer.close();
        Ok(Said::Answer(answer))
    }
}

/// Returns the model, ready for evaluation, with the loss, the weight limit and the starting point in these terms.
fn on_terms<'t>(model: &'t Prepared, terms: &'t Terms) -> Evaluated<'t> {
    let Terms { loss, most_weight, ref start } = *terms;
    let patience = Patience { until: None, stopper: None };
    Evaluated { model, loss, most_weight, start, patience }
}

/// Returns the error for a fault.
fn error_of(fault: Fault) -> Error {
    match fault {
        Fault::Points(error) => error,
        Fault::Panicked { message, point, .. } => {
            let place = point.map_or(String::new(), |(index, _)| format!(" at point {index}"));
            SourceError::new("the part", format!("the model panicked{place}: {message}")).into()
        }
        Fault::Device(error) => SourceError::new("the part", error.to_string()).into(),
        Fault::Stopped(_) => SourceError::new("the part", "it was stopped").into(),
    }
}

/// Merges the replies of two adjacent parts; the points of `left` precede those of `right`. The merged reply of all
/// parts is bit-identical for any number of parts and any order of merging adjacent replies.
///
/// # Errors
/// `InvalidData` if the bytes are not replies, the replies belong to different requests, or the parts are not
/// adjacent.
pub fn merge(left: &[u8], right: &[u8]) -> io::Result<Vec<u8>> {
    let read = |bytes| read_reply(bytes).map_err(|why| invalid("no answer", &why));
    let both = read(left)?.followed_by(read(right)?);
    let both = both.map_err(|why| invalid("answers that do not go together", &why))?;
    to_bytes(&both).map_err(|why| invalid("no answer", &why))
}

fn invalid(what: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {why}"))
}

/// The parts of a distributed fit, with the transport and options, for
/// [`CurveFit::fit_parts`](crate::CurveFit::fit_parts).
pub struct Parts<'a> {
    ask: Box<Ask<'a>>,
    subsample: bool,
    checkpoint: Option<PathBuf>,
    required: bool,
}

impl<'a> Parts<'a> {
    /// Creates the parts from a transport. `ask` sends a request to every [`Part`] and returns the reply that results
    /// from [`merge`] of all replies in the order of the points.
    pub fn new(ask: impl FnMut(&[u8]) -> io::Result<Vec<u8>> + Send + 'a) -> Parts<'a> {
        Parts { ask: Box::new(ask), subsample: true, checkpoint: None, required: true }
    }

    /// Has the effect of [`Stream::subsample`](crate::Stream::subsample), for the sample of all parts together.
    #[must_use]
    pub fn subsample(mut self, subsample: bool) -> Self {
        self.subsample = subsample;
        self
    }

    /// Saves a checkpoint on the leader, like [`Stream::checkpoint`](crate::Stream::checkpoint). A resumed fit may have
    /// another division of the same points into parts.
    #[must_use]
    pub fn checkpoint(mut self, path: impl AsRef<Path>) -> Self {
        self.checkpoint = Some(path.as_ref().to_owned());
        self
    }

    /// Has the effect of [`Stream::checkpoint_required`](crate::Stream::checkpoint_required).
    #[must_use]
    pub fn checkpoint_required(mut self, required: bool) -> Self {
        self.required = required;
        self
    }
}

impl<'a, F: FnMut(&[u8]) -> io::Result<Vec<u8>> + Send + 'a> From<F> for Parts<'a> {
    fn from(ask: F) -> Parts<'a> {
        Parts::new(ask)
    }
}

impl CurveFit {
    /// Fits the model to points that are distributed over several [`Part`]s. `parts` is a closure that transports
    /// requests, or [`Parts`] with options. The calling process is the leader: it alone stores the state of the fit,
    /// checks the token and the time limit, calls the observer and writes the checkpoint.
    ///
    /// The result equals the result of [`fit_stream`](CurveFit::fit_stream) for the same points. It is bit-identical
    /// for any number of parts and any order of merging.
    ///
    /// # Errors
    /// The errors of [`fit_stream`](CurveFit::fit_stream); [`Error::Parts`](crate::Error::Parts) for a part with
    /// another model or other fixed parameters; [`Error::Source`](crate::Error::Source) for other errors of a part, for
    /// errors of `ask`, and for bytes that are not a reply.
    pub fn fit_parts<'a>(
        &self,
        parts: impl Into<Parts<'a>>,
        start: impl Into<Start>,
    ) -> Result<Fit> {
        let _span = span!(INFO, "parts");
        let begun = Instant::now();
        let (parts, start) = (parts.into(), start.into());
        self.refuse_all_at_once("fit_parts", "no part has all points; use fit")?;
        let free = self.free_positions();
        let ready = self.ready(&free)?;
        let Identity(model) = self.shared_identity(&ready.model, &free);
        let model = model.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (elsewhere, held) = Elsewhere::new(parts.ask, model).map_err(error_of)?;
        self.accepts(held.columns as usize, &start)?;
        let points = PointsAsked {
            shape: elsewhere.shape.clone(),
            holder: Holder::Elsewhere(elsewhere),
            said: held.points(),
            subsample: parts.subsample,
            checkpoint: parts.checkpoint,
            required: parts.required,
        };
        let sample = if parts.subsample { SAMPLE } else { LEAST_SAMPLE };
        self.fit_held(ready, points, sample, start, begun)
    }
}
