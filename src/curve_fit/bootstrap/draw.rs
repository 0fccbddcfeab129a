//! Random draws of replicate data for the bootstrap.

use crate::data::Data;
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::sigma::Weights;
use crate::data::values::Values;
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::fit::Fit;
use crate::fit::priors::Prior;
use crate::fit::replicates::Resample;
use crate::threads;
use rand::RngExt;
use rand_distr::{Distribution, Poisson, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// The source of replicates: the used points, without gaps.
pub(super) struct Sampler<'a> {
    pub(super) given: &'a Points<'a>,
    /// Indices of the used points among the given points.
    pub(super) index: Vec<usize>,
    pub(super) points: PointSet,
    /// Centers of the drawn x: the x of the closest points of the curve. `None` if x is not drawn.
    around: Option<Vec<Vec<f64>>>,
    /// The curve at each point.
    curve: Vec<f64>,
    errors: Errors,
    /// The common standard deviation of all points, if given.
    constant: f64,
    /// Priors of parameters, with the centers of their drawn means.
    priors: Vec<Prior>,
}

/// Errors that are added to the curve.
enum Errors {
    /// No errors: whole points are drawn.
    Pairs,
    /// Residuals, in units of sigma.
    Residuals(Vec<f64>),
    /// Normal errors, in units of sigma.
    Normal(f64),
    /// Errors of counts.
    Counts,
}

/// Points of one fit, or of several fits one after the other; `sigma` and `x_sigma` may be empty.
#[derive(Clone, Default)]
pub(super) struct PointSet {
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) y: Vec<f64>,
    pub(super) sigma: Vec<f64>,
    pub(super) x_sigma: Vec<Vec<f64>>,
}

/// The data of consecutive refits with the same number of points.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) fits: usize,
    /// Points of each fit, one after the other. Arrays that all fits share are empty.
    pub(super) points: PointSet,
    /// Mask of each fit; empty if all points are used.
    pub(super) mask: Vec<bool>,
    /// Priors of each fit, one after the other.
    pub(super) priors: Vec<Prior>,
}

impl Drawn {
    /// Returns true if x differs from fit to fit.
    pub(super) fn has_own_x(&self) -> bool {
        !self.points.columns.is_empty()
    }

    /// Returns the points of all fits, or `shared` if the fits do not have their own x.
    pub(super) fn points_or<'p>(&'p self, shared: &'p PointSet) -> &'p PointSet {
        if self.has_own_x() { &self.points } else { shared }
    }
}

impl PointSet {
    fn arrays(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        let PointSet { columns, y, sigma, x_sigma } = self;
        columns.iter_mut().chain(x_sigma).chain([y, sigma])
    }

    /// Returns the points with these indices, which may be in any order and occur several times.
    fn picked(&self, index: &[usize]) -> PointSet {
        let mut picked = self.clone();
        for array in picked.arrays().filter(|array| !array.is_empty()) {
            *array = index.iter().map(|&i| array[i]).collect();
        }
        picked
    }
}

impl<'a> Sampler<'a> {
    /// Creates the source of replicates for a fit.
    ///
    /// # Errors
    /// [`UncertaintyError::NoBootstrap`] if the method does not apply to the fit; the errors of [`Fit::diagnostics`].
    pub(super) fn new(
        fit: &Fit,
        data: &Data<'_>,
        given: &'a Points<'_>,
        resample: Resample,
    ) -> Result<Sampler<'a>> {
        let index: Vec<usize> = given.kept().collect();
        let pick = |values: &Values<'_>| values.picked(&index);
        let exact = given.x_sigma.is_exact();
        let columns: Vec<Vec<f64>> = given.columns.iter().map(pick).collect();
        let errors_of = |c: usize| index.iter().map(|&i| given.x_sigma.at(c, i)).collect();
        let points = PointSet {
            y: pick(&given.y),
            sigma: match given.sigma {
                Weights::Each { sigma, .. } => index.iter().map(|&i| sigma[i]).collect(),
                _ => Vec::new(),
            },
            x_sigma: if exact { Vec::new() } else { (0..columns.len()).map(errors_of).collect() },
            columns,
        };
        let errors = Errors::new(fit, data, &index, resample)?;
        let around = match errors {
            Errors::Normal(_) if !exact => {
                let closest = fit.closest(data)?;
                Some(closest.iter().map(|x| pick(&Values::F64(x))).collect())
            }
            _ => None,
        };
        let at = around.as_ref().unwrap_or(&points.columns);
        let at: Vec<Values<'_>> = at.iter().map(|x| Values::F64(x)).collect();
        fit.check_model()?;
        let curve = fit.linearised(&fit.model, &at, index.len(), |_, value, _| value)?;
        let mean = |prior: &Prior| match errors {
            Errors::Pairs => prior.mean,
            _ => fit.params[prior.param],
        };
        let priors = fit.priors.iter().map(|prior| Prior { mean: mean(prior), ..*prior }).collect();
        let constant = if let Weights::Constant(sigma) = given.sigma { sigma } else { 1.0 };
        Ok(Sampler { given, index, points, around, curve, errors, constant, priors })
    }

    /// Returns the number of points of each fit.
    pub(super) fn len(&self) -> usize {
        self.points.y.len()
    }

    /// Returns the bytes of the data of one fit, counted twice because drawn data are copied.
    pub(super) fn bytes(&self) -> usize {
        let PointSet { columns, sigma, x_sigma, .. } = &self.points;
        let columns = columns.len() + x_sigma.len() + usize::from(!sigma.is_empty());
        2 * self.len() * (1 + if self.has_own_x() { columns } else { 0 }) * size_of::<f64>()
    }

    /// Returns true if x differs from fit to fit.
    fn has_own_x(&self) -> bool {
        self.around.is_some() || matches!(self.errors, Errors::Pairs)
    }

    /// Returns true if the drawn errors of y are symmetric, so that errors of the parameters have no skewness to first
    /// order.
    pub(super) fn is_normal(&self) -> bool {
        matches!(self.errors, Errors::Normal(_))
    }

    /// Returns true if jackknife fits, each without some of the points, determine the skewness of the errors of the
    /// parameters.
    pub(super) fn has_jackknife(&self) -> bool {
        !self.is_normal() && self.given.correlation.is_none()
    }

    /// Draws the data of one fit from each stream of random numbers.
    pub(super) fn drawn(&self, streams: &[Xoshiro256PlusPlus]) -> Drawn {
        let each = threads::map(streams, |random| self.draw(random.clone()));
        let mut drawn = Drawn { fits: each.len(), ..Drawn::default() };
        for (mut points, priors) in each {
            drawn.priors.extend(priors);
            if drawn.points.y.is_empty() {
                drawn.points = points;
                continue;
            }
            let both = drawn.points.arrays().zip(points.arrays());
            both.for_each(|(all, own)| all.append(own));
        }
        drawn
    }

    /// Returns, for each of these groups of points, the data without this group. Point i belongs to group i modulo
    /// `groups`.
    pub(super) fn without(&self, these: Range<usize>, groups: usize) -> Drawn {
        let n = self.len();
        let keeps = |group| (0..n).map(move |i| i % groups != group);
        Drawn {
            fits: these.len(),
            points: PointSet { y: self.points.y.repeat(these.len()), ..PointSet::default() },
            mask: these.clone().flat_map(keeps).collect(),
            priors: these.flat_map(|_| self.priors.clone()).collect(),
        }
    }

    fn draw(&self, mut random: Xoshiro256PlusPlus) -> (PointSet, Vec<Prior>) {
        let n = self.len();
        let random = &mut random;
        let mut points = PointSet::default();
        match &self.errors {
            Errors::Pairs => {
                let index: Vec<usize> = (0..n).map(|_| random.random_range(0..n)).collect();
                points = self.points.picked(&index);
            }
            Errors::Residuals(pool) => {
                let error = |_| pool[random.random_range(0..pool.len())];
                points.y = self.about_curve((0..n).map(error).collect());
            }
            Errors::Normal(scale) => {
                let errors = (0..n).map(|_| scale * normal(random)).collect();
                points.y = self.about_curve(errors);
                if let Some(around) = &self.around {
                    points.columns = around.clone();
                    let all = points.columns.iter_mut().zip(&self.points.x_sigma);
                    for (x, sigma) in all.flat_map(|(x, sigma)| x.iter_mut().zip(sigma)) {
                        *x += sigma * scale * normal(random);
                    }
                    points.sigma.clone_from(&self.points.sigma);
                    points.x_sigma.clone_from(&self.points.x_sigma);
                }
            }
            Errors::Counts => {
                // An expectation of 0 yields a count of 0.
                let count = |&f: &f64| Poisson::new(f).map_or(f, |counts| counts.sample(random));
                points.y = self.curve.iter().map(count).collect();
            }
        }
        let own =
            |prior: &Prior| Prior { mean: prior.mean + prior.sigma * normal(random), ..*prior };
        (points, self.priors.iter().map(own).collect())
    }

    /// Returns the curve plus these errors, which are in units of sigma or, for correlated data, of the factor of the
    /// covariance.
    fn about_curve(&self, mut errors: Vec<f64>) -> Vec<f64> {
        if let Some(correlation) = &self.given.correlation {
            correlation.colour(&mut errors);
        }
        errors.iter_mut().zip(&self.points.sigma).for_each(|(e, sigma)| *e *= sigma);
        errors.iter_mut().zip(&self.curve).for_each(|(e, f)| *e = f + *e * self.constant);
        errors
    }
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    StandardNormal.sample(random)
}

impl Errors {
    fn new(fit: &Fit, data: &Data<'_>, index: &[usize], resample: Resample) -> Result<Errors> {
        let refuse = |reason, remedy| Err(UncertaintyError::NoBootstrap { reason, remedy }.into());
        let scale = match fit.scaled {
            false => 1.0,
            true => match fit.residual_std_error().filter(|s| s.is_finite()) {
                Some(scale) => scale,
                None if resample == Resample::Pairs => 1.0,
                None => {
                    let remedy = "measure more points, or say their errors with an absolute sigma";
                    return refuse("no degree of freedom measures the scatter", remedy);
                }
            },
        };
        let (counts, errors_in_x) = (fit.estimator == Estimator::Poisson, !data.x_sigma.is_exact());
        match resample {
            Resample::Pairs if matches!(data.sigma, Weights::Covariance { .. }) => {
                let remedy = "draw residuals, or errors (Resample::Parametric)";
                refuse("points with correlated errors cannot be drawn one by one", remedy)
            }
            Resample::Pairs if index.len() <= fit.estimated() && fit.priors.is_empty() => {
                let remedy = "draw errors (Resample::Parametric), or measure more points";
                refuse("there are no more points than parameters", remedy)
            }
            Resample::Pairs => Ok(Errors::Pairs),
            Resample::Parametric if counts => Ok(Errors::Counts),
            Resample::Parametric if fit.scaled && fit.loss.scale().is_some() => {
                let remedy = "draw residuals or points, or say the errors with an absolute sigma";
                refuse("under a robust loss the scatter is not that of normal errors", remedy)
            }
            Resample::Parametric => Ok(Errors::Normal(scale)),
            Resample::Residuals if counts => {
                let remedy = "draw counts (Resample::Parametric) or points (Resample::Pairs)";
                refuse("residuals of counts are not counts", remedy)
            }
            Resample::Residuals if errors_in_x => {
                let remedy = "draw errors (Resample::Parametric) or points (Resample::Pairs)";
                refuse("a distance from the curve is no error of y alone", remedy)
            }
            Resample::Residuals => {
                let standardized = fit.diagnostics(data)?.standardized;
                let mut pool: Vec<f64> = index.iter().map(|&i| standardized[i]).collect();
                // The curve passes through points of leverage 1. Therefore their residuals contain no information.
                pool.retain(|r| r.is_finite());
                let n = index.len() as f64;
                // With a robust loss, the leverage of single points is not defined; the mean leverage of least squares
                // is used.
                let lost = match fit.loss.scale() {
                    Some(_) => (n / (n - fit.fitted_rank() as f64)).sqrt(),
                    None => 1.0,
                };
                let mean = pool.iter().sum::<f64>() / pool.len() as f64;
                pool.iter_mut().for_each(|r| *r = (*r - mean) * lost * scale);
                match pool.len() < 2 || pool.iter().any(|r| !r.is_finite()) {
                    true => refuse(
                        "no residuals are left to be drawn",
                        "draw errors (Resample::Parametric)",
                    ),
                    false => Ok(Errors::Residuals(pool)),
                }
            }
        }
    }
}
