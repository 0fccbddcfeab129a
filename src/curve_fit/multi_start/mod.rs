//! Multi-start fits: options, ranges of the starts, and the entry point.

pub(crate) mod evolution;
pub(crate) mod sampling;

use super::CurveFit;
use super::search::natural_ranges;
use super::search::ranges::Range;
use crate::data::Data;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::names::position;
use crate::error::{Error, Result};
use crate::fit::engine::{Request, Spent};
use crate::fit::multi_start::Optima;
use crate::fit::multi_start::run::from_all;
use crate::host::Instant;
use crate::math;
use crate::observe::span;
use crate::setters::ends;
use crate::solver::observe::{Event, Observe, Observer};
use sampling::{MOST_DIMENSIONS, MOST_POINTS, Sampling, points};
use std::ops::{ControlFlow, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Options of [`CurveFit::multi_start`]: number and ranges of the starts.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiStart {
    starts: usize,
    seed: u64,
    sampling: Sampling,
    ranges: Vec<StartRange>,
    given: Vec<Vec<f64>>,
}

/// A range set by the caller; an open end is the parameter's bound.
#[derive(Clone, Debug, PartialEq)]
struct StartRange {
    name: String,
    lower: f64,
    upper: f64,
    logarithmic: bool,
}

/// The validated request.
struct Plan {
    given: Vec<Vec<f64>>,
    /// Positions of the free parameters, and the ranges of their starts, if starts are drawn.
    ranges: Vec<(usize, DrawnFrom)>,
}

/// The range from which the starts of a parameter are drawn.
enum DrawnFrom {
    /// The range set by the caller, or the bounds.
    Asked(StartRange),
    /// The natural range of the parameter, derived from its unit, inside a range or bounds that are not finite.
    Natural(Range),
}

impl DrawnFrom {
    /// Returns the quantile `u` of the range.
    fn at(&self, u: f64) -> f64 {
        match self {
            DrawnFrom::Asked(range) => range.at(u),
            DrawnFrom::Natural(range) => range.at(u),
        }
    }
}

impl MultiStart {
    /// Creates the options with a number of drawn starts, at most 65,536, in addition to the given starts. A power of
    /// two is best for [`Sampling::Sobol`]. With 0, only the given starts are used, and ranges are not needed.
    #[must_use]
    pub fn new(starts: usize) -> MultiStart {
        let (sampling, ranges, given) = (Sampling::default(), Vec::new(), Vec::new());
        MultiStart { starts, seed: 0, sampling, ranges, given }
    }

    /// Sets the seed of the starts, 0 by default. The same seed produces the same starts on every machine.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> MultiStart {
        self.seed = seed;
        self
    }

    /// Sets the method of drawing starts; [`Sampling::Sobol`] by default.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> MultiStart {
        self.sampling = sampling;
        self
    }

    /// Draws the starts of a parameter evenly from a range inside its bounds, such as `0.0..=1.0`; an open end, as in
    /// `..5.0`, is replaced by the bound. The range limits only the starts; a fit can leave it. The last range set for
    /// a parameter is used; ranges of fixed parameters are ignored.
    #[must_use]
    pub fn range(self, name: &str, range: impl RangeBounds<f64>) -> MultiStart {
        self.draw(name, range, false)
    }

    /// Draws the starts like [`range`](MultiStart::range), but evenly in the logarithm. It suits positive parameters of
    /// unknown order of magnitude.
    #[must_use]
    pub fn log_range(self, name: &str, range: impl RangeBounds<f64>) -> MultiStart {
        self.draw(name, range, true)
    }

    /// Adds a start, one value per parameter.
    #[must_use]
    pub fn also_from(mut self, start: impl AsRef<[f64]>) -> MultiStart {
        self.given.push(start.as_ref().to_vec());
        self
    }

    fn draw(mut self, name: &str, range: impl RangeBounds<f64>, logarithmic: bool) -> MultiStart {
        let (lower, upper) = ends(&range);
        self.ranges.retain(|range| range.name != name);
        self.ranges.push(StartRange { name: name.to_owned(), lower, upper, logarithmic });
        self
    }
}

impl CurveFit {
    /// Fits the model to `data` from `start`, from the added starts and from drawn starts. Returns the best fit, the
    /// distinct optima and the result of every start. It is intended for a cost with several minima (sums of peaks,
    /// exponentials or oscillations), and for problems without a known good start.
    ///
    /// `start` is the first of the starts, and fixed parameters keep its values. Missing values are computed as in
    /// [`fit`](CurveFit::fit). The starts of a free parameter are drawn from the interval between its bounds, or from a
    /// [`range`](MultiStart::range) inside the bounds. If this interval is not finite, a finite part of it is derived
    /// from the unit of the parameter, as in the search for starts of [`fit`](CurveFit::fit).
    ///
    /// Each start leads to a [`fit`](CurveFit::fit) with all settings of the model: bounds, loss,
    /// [`Options`](crate::Options) and their limits. A fit that does not converge, or whose model has no finite value
    /// at the start, is counted and does not affect the other fits. Data are validated once, the model is prepared
    /// once, and the covariance is computed only for the best fit. For the covariance at another optimum, fit from its
    /// parameters.
    ///
    /// The backend is selected as for a single fit. Small fits run in parallel on all cores. Large fits, and fits on a
    /// device, run one after another; points are uploaded to a device only once. On the CPU, the result is
    /// bit-identical for any number of threads.
    ///
    /// An observer is called for all starts, from several threads at the same time. If it breaks, no further fit
    /// begins, running fits stop at their next step, and the result contains the finished fits.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, MultiStart};
    /// let x: Vec<f64> = (0..80).map(|i| 0.1 * f64::from(i)).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 2.0 * (5.3 * x + 0.4).sin() + 0.1 * (31.0 * x).cos()).collect();
    /// let wave = CurveFit::new(|x, [a, frequency, phase]| a * (frequency * x + phase).sin())
    ///     .names(["amplitude", "frequency", "phase"])
    ///     .bounds([(0.0, 10.0), (0.0, 10.0), (-3.2, 3.2)]);
    /// let data = Data::new(&x, &y)?;
    /// // From a start with a wrong frequency the fit ends in a poor local minimum.
    /// assert!(wave.fit(&data, [1.0, 2.0, 0.0])?.r_squared().unwrap() < 0.1);
    ///
    /// let optima = wave.multi_start(data, [1.0, 2.0, 0.0], &MultiStart::new(64).seed(7))?;
    /// println!("{optima}"); // the optima, their costs, and how many starts reached each
    /// assert!((optima.best().param("frequency").unwrap() - 5.3).abs() < 0.01);
    /// assert!(optima.distinct().len() > 1);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of [`fit`](CurveFit::fit) that do not depend on the start; the error of the fit from `start` if all fits
    /// fail; [`Error::RangeOfStarts`] for a range that is reversed or outside the bounds; [`Error::UnknownParameter`]
    /// for a range of an unknown parameter; [`Error::SobolDimensions`] for more than 256 free parameters;
    /// [`Error::BadOption`] for more than 65,536 drawn starts.
    pub fn multi_start<'a>(
        &self,
        data: impl Into<Data<'a>>,
        start: impl Into<Start>,
        starts: &MultiStart,
    ) -> Result<Optima> {
        let data = data.into();
        let _span = span!(INFO, "multi_start", points = data.y.len(), starts = starts.starts);
        let begun = Instant::now();
        let start = start.into();
        self.accepts(data.columns.len(), &start)?;
        let mut plan = self.plan(starts)?;
        let points = self.validate(&data)?;
        let (request, stop) = self.request_of_many(&points, &start, &mut plan, begun)?;
        let all = self.starts(&request.start, starts, &plan)?;
        from_all(request, all, &stop)
    }

    /// Completes the ranges of the plan. Returns the request for fits from many starts, of which `start` is the first,
    /// and a flag that is set when the observer breaks.
    fn request_of_many<'p>(
        &'p self,
        points: &'p Points<'_>,
        start: &Start,
        plan: &mut Plan,
        begun: Instant,
    ) -> Result<(Request<'p>, Arc<AtomicBool>)> {
        self.close(plan, points)?;
        let validating = begun.elapsed();
        let start = self.found(start, points)?;
        let spent = Spent { validating, ..start.spent() };
        let mut request = self.request(points, start, None, spent)?;
        let stop = Arc::new(AtomicBool::new(false));
        if let Some(observer) = request.spec.observer.take() {
            request.spec.observer = Some(Arc::new(Stopping { observer, stop: stop.clone() }));
        }
        Ok((request, stop))
    }

    /// Validates the request without the data.
    fn plan(&self, asked: &MultiStart) -> Result<Plan> {
        for StartRange { name, .. } in &asked.ranges {
            position(&self.names, name, "correct the name of the range")?;
        }
        let given = asked.given.iter().map(|given| self.checked_start(given));
        let given = given.collect::<Result<Vec<_>>>()?;
        let (name, value) = ("starts", asked.starts as f64);
        if asked.starts > MOST_POINTS {
            return Err(Error::BadOption { name, value, requirement: "at most 65536" });
        }
        if asked.starts == 0 {
            return Ok(Plan { given, ranges: Vec::new() });
        }
        let free = self.free_positions();
        if asked.sampling == Sampling::Sobol && free.len() > MOST_DIMENSIONS {
            return Err(Error::SobolDimensions { parameters: free.len(), most: MOST_DIMENSIONS });
        }
        let ranges = free.iter().map(|&i| Ok((i, DrawnFrom::Asked(self.asked_range(i, asked)?))));
        Ok(Plan { given, ranges: ranges.collect::<Result<_>>()? })
    }

    /// Replaces ranges that are not finite on both sides by the natural ranges inside them.
    fn close(&self, plan: &mut Plan, points: &Points<'_>) -> Result<()> {
        let mut bounds = self.bounds.clone();
        let mut open = Vec::new();
        for (i, from) in &plan.ranges {
            if let DrawnFrom::Asked(StartRange { lower, upper, .. }) = from
                && !(lower.is_finite() && upper.is_finite())
            {
                bounds[*i] = (*lower, *upper);
                open.push(*i);
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        let natural = natural_ranges(self, &open, &bounds, points)?;
        let places = plan.ranges.iter_mut().filter(|(i, _)| open.contains(i));
        places.zip(natural).for_each(|((_, from), natural)| *from = DrawnFrom::Natural(natural));
        Ok(())
    }

    /// Returns all starts: first the given starts, then the drawn starts.
    fn starts(&self, first: &[f64], asked: &MultiStart, plan: &Plan) -> Result<Vec<Vec<f64>>> {
        let mut starts = vec![first.to_vec()];
        for given in &plan.given {
            let value = |(i, &value)| if self.fixed[i] { first[i] } else { value };
            starts.push(given.iter().enumerate().map(value).collect());
        }
        if asked.starts == 0 {
            return Ok(starts);
        }
        for point in points(asked.sampling, asked.starts, plan.ranges.len(), asked.seed) {
            let mut start = first.to_vec();
            for ((i, range), u) in plan.ranges.iter().zip(point) {
                start[*i] = range.at(u);
            }
            starts.push(self.completed(start)?);
        }
        Ok(starts)
    }

    /// Returns the range of parameter `i` set by the caller, with open ends replaced by the bounds.
    fn asked_range(&self, i: usize, asked: &MultiStart) -> Result<StartRange> {
        let (name, (lower, upper)) = (&self.names[i], self.bounds[i]);
        let bounds = StartRange { name: name.clone(), lower, upper, logarithmic: false };
        let mut range = asked.ranges.iter().find(|r| r.name == *name).unwrap_or(&bounds).clone();
        if range.lower == f64::NEG_INFINITY {
            range.lower = lower;
        }
        if range.upper == f64::INFINITY {
            range.upper = upper;
        }
        let fault = if !(range.lower < f64::INFINITY && range.upper > f64::NEG_INFINITY) {
            "it has no finite value; give its ends numbers or leave them open".to_owned()
        } else if range.lower > range.upper {
            "the ends are reversed; exchange them".to_owned()
        } else if range.lower < lower || range.upper > upper {
            format!("it must lie in the bounds [{lower}, {upper}]; narrow it")
        } else if range.logarithmic && range.lower <= 0.0 {
            "a logarithmic range must be positive; use a range that is not".to_owned()
        } else {
            return Ok(range);
        };
        let StartRange { name, lower, upper, .. } = range;
        Err(Error::RangeOfStarts { name, lower, upper, fault })
    }
}

impl StartRange {
    /// Returns the quantile `u` of the range.
    fn at(&self, u: f64) -> f64 {
        let StartRange { lower, upper, .. } = *self;
        let between = |lower: f64, upper: f64| lower * (1.0 - u) + upper * u;
        let value = match self.logarithmic {
            false => between(lower, upper),
            true => math::exp(between(math::ln(lower), math::ln(upper))),
        };
        value.clamp(lower, upper)
    }
}

/// The observer of all fits. When it breaks, `stop` is set, which stops all fits.
struct Stopping {
    observer: Arc<Observer>,
    stop: Arc<AtomicBool>,
}

impl Observe for Stopping {
    fn tell(&self, event: &Event<'_>) -> ControlFlow<()> {
        if !self.stop.load(Relaxed) && self.observer.tell(event).is_continue() {
            return ControlFlow::Continue(());
        }
        self.stop.store(true, Relaxed);
        ControlFlow::Break(())
    }

    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }
}
