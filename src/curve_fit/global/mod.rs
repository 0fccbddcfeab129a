//! One fit of several sets of points whose models share parameters.

mod evaluator;
pub(crate) mod joint_fit;
mod layout;
#[cfg(feature = "serde")]
mod saved;
mod start;
mod supply;

use super::parameters::told_of_ties;
use super::start::CompleteStart;
use super::{CurveFit, Ready, ends};
use crate::backend::cpu::Prepared;
use crate::data::Data;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::{Error, GlobalError, Result};
use crate::fit::engine::{Request, Spent};
use crate::fit::execution::Execution;
use crate::fit::supply::InMemory;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::observe::span;
use joint_fit::{JointFit, SetView};
use layout::{Asked, JointLayout, SetMember};
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::Instant;
use supply::{JointSet, JointSupply};

/// A fit of several sets of points at once, in which some parameters have one value for all sets and
/// the others one value for each: a global fit.
///
/// Each pass adds up the sums of every set with that set's own model and parameters, so that a set
/// costs what it would cost alone. The sets may differ in length, in their x and in their weights;
/// the cost is the sum of theirs, so data on different scales need their sigma said.
///
/// ```
/// use dualfit::{CurveFit, Data, GlobalFit};
/// let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
/// let decay = |a: f64| -> Vec<f64> { x.iter().map(|x| a * (-0.7 * x).exp()).collect() };
/// let (first, second) = (decay(2.0), decay(5.0));
///
/// let model = CurveFit::new(|x, [a, rate]| a * (-rate * x).exp()).names(["amplitude", "rate"]);
/// let joint = GlobalFit::new(&model).share(["rate"]);
/// let fit = joint.fit([Data::new(&x, &first)?, Data::new(&x, &second)?], [1.0, 1.0, 1.0])?;
/// assert_eq!(fit.fit().names(), ["amplitude_1", "rate", "amplitude_2"]);
/// assert!((fit.fit().param("rate").unwrap() - 0.7).abs() < 1e-9);
/// let second = fit.set(1).unwrap(); // the fit as the second set sees it
/// assert!((second.param("amplitude").unwrap() - 5.0).abs() < 1e-9);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GlobalFit {
    models: Models,
    said: Vec<Said>,
}

#[derive(Clone, Debug)]
enum Models {
    /// The same for every set, with the names of the parameters that the sets share.
    Same { curve: Arc<CurveFit>, shared: Vec<String> },
    /// One for each set, in which equal names mean the same parameter.
    Each(Vec<Arc<CurveFit>>),
}

/// What was said of a parameter of the joint fit.
#[derive(Clone, Debug)]
enum Said {
    Bound(String, (f64, f64)),
    Fixed(String),
}

impl GlobalFit {
    /// The model of every set, with all that was said of it. Its parameters are each set's own, called
    /// `name_1`, `name_2`, … after the sets, but for those that are [shared](GlobalFit::share).
    pub fn new(curve: &CurveFit) -> GlobalFit {
        let models = Models::Same { curve: Arc::new(curve.clone()), shared: Vec::new() };
        GlobalFit { models, said: Vec::new() }
    }

    /// A model for each set, in order. Parameters of the same name are the same parameter.
    ///
    /// Options, backend and observer are those of the first; loss and estimator must be alike. Where
    /// bounds differ, both hold; a parameter that one model fixes is fixed in all.
    pub fn of<'c>(curves: impl IntoIterator<Item = &'c CurveFit>) -> GlobalFit {
        let models =
            Models::Each(curves.into_iter().map(|curve| Arc::new(curve.clone())).collect());
        GlobalFit { models, said: Vec::new() }
    }

    /// The parameters that have one value for all sets. Of models given one by one, those of equal
    /// names are shared anyway.
    #[must_use]
    pub fn share<S: AsRef<str>>(mut self, names: impl AsRef<[S]>) -> GlobalFit {
        if let Models::Same { shared, .. } = &mut self.models {
            shared.extend(names.as_ref().iter().map(|name| name.as_ref().to_owned()));
        }
        self
    }

    /// Keeps a parameter of the joint fit, as `rate` or `amplitude_2`, within a range. See
    /// [`CurveFit::bound`].
    #[must_use]
    pub fn bound(mut self, name: &str, range: impl RangeBounds<f64>) -> GlobalFit {
        self.said.push(Said::Bound(name.to_owned(), ends(&range)));
        self
    }

    /// Keeps a parameter of the joint fit, as `rate` or `amplitude_2`, at its start.
    #[must_use]
    pub fn fix(mut self, name: &str) -> GlobalFit {
        self.said.push(Said::Fixed(name.to_owned()));
        self
    }

    /// The parameters' names for `sets` sets of points, in order of appearance: those of the first set,
    /// then those that the second one adds, and so on.
    ///
    /// # Errors
    /// As [`fit`](GlobalFit::fit), for what does not depend on the points.
    pub fn parameters(&self, sets: usize) -> Result<Vec<String>> {
        Ok(JointLayout::new(self, sets)?.names)
    }

    /// Fits all sets from `start`: one value per parameter of the joint fit, in the order of
    /// [`parameters`](GlobalFit::parameters); or values by name, where a model's own name, as
    /// `amplitude`, speaks for all sets and `amplitude_2` for one; or [`Start::Guess`]. What is not
    /// given is found for each set as by [`CurveFit::fit`]; a shared parameter begins at the median of
    /// what the sets found.
    ///
    /// # Errors
    /// [`Error::Global`], which names the set, for what is wrong with one of them or differs between
    /// them; else as [`CurveFit::fit`].
    pub fn fit<'d>(
        &self,
        data: impl IntoIterator<Item: Into<Data<'d>>>,
        start: impl Into<Start>,
    ) -> Result<JointFit> {
        let begun = Instant::now();
        let data: Vec<Data<'d>> = data.into_iter().map(Into::into).collect();
        let _span = span!(INFO, "global_fit", sets = data.len());
        let layout = JointLayout::new(self, data.len())?;
        let start = start.into();
        layout.check_start(&start)?;
        let points = layout.validate(&data)?;
        let validating = begun.elapsed();
        let start = layout.found(&start, &points)?;
        let spent = Spent { validating, finding: start.took };
        layout.request(&points, start, spent)
    }
}

impl JointLayout {
    fn validate<'a>(&self, data: &'a [Data<'_>]) -> Result<Vec<Points<'a>>> {
        let each = self.members.iter().zip(data).enumerate();
        each.map(|(set, (member, data))| {
            let fits = member.model()?.expect_columns(data.columns.len());
            fits.and_then(|()| member.curve.validate(data)).map_err(in_set(set))
        })
        .collect()
    }

    fn request(
        &self,
        points: &[Points<'_>],
        start: CompleteStart,
        spent: Spent,
    ) -> Result<JointFit> {
        let begun = Instant::now();
        let first = &self.members[0].curve;
        let whole = layout::overview_of(points)?;
        let priors = layout::priors_of_all(&self.members);
        for (set, member) in self.members.iter().enumerate() {
            member.curve.check_priors(whole.absolute).map_err(in_set(set))?;
        }
        if whole.used + priors.len() < self.free.len() && !first.underdetermined {
            let parameters = self.free.len();
            return Err(Error::TooFewPoints { points: whole.used, parameters });
        }
        let ready = self.members.iter().enumerate().map(|(set, member)| {
            let free = member.curve.free_positions();
            member.curve.ready(&free).map_err(in_set(set))
        });
        let ready = ready.collect::<Result<Vec<_>>>()?;
        let models: Vec<&Model> = ready.iter().map(|ready| &ready.model).collect();
        let unused = self.unused(&models)?;
        let ties: Vec<(&Ties, &[usize])> = self
            .members
            .iter()
            .zip(&ready)
            .map(|(member, ready)| (&*ready.ties, member.params.as_slice()))
            .collect();
        let ties = Arc::new(Ties::joined(&ties, &self.names)?);
        let CompleteStart { values: mut start, solved: linear, .. } = start;
        ties.complete(&mut start);
        let each = ready.iter().zip(points).enumerate();
        let each =
            each.map(|(set, (ready, points))| ready.prepared(&points.x_sigma).map_err(in_set(set)));
        let each = each.collect::<Result<Vec<_>>>()?;
        let executions = self.members.iter().zip(&ready).zip(points).enumerate();
        let executions = executions.map(|(set, ((member, ready), points))| {
            let CurveFit { loss, precision, .. } = *member.curve;
            let wanted = member.curve.wanted(None);
            let printed = ready.printed.as_ref();
            Execution::of(&wanted, (loss, precision), printed, points).map_err(in_set(set))
        });
        let executions = executions.collect::<Result<Vec<_>>>()?;
        let mut place = vec![usize::MAX; self.names.len()];
        self.free.iter().enumerate().for_each(|(j, &k)| place[k] = j);
        let sets = self.members.iter().zip(&each).zip(points).zip(&executions);
        let sets: Vec<JointSet<'_>> = sets
            .map(|(((member, prepared), points), execution)| JointSet {
                supply: InMemory::new(points, execution),
                prepared,
                params: &member.params,
                free: member.free(&place),
                start: member.params.iter().map(|&k| start[k]).collect(),
                factor: whole.units.row / points.units.row,
            })
            .collect();
        let supply = JointSupply { sets, shape: self.shape.clone() };
        let model = layout::joint_model(&self.members, &models, &self.names)?;
        let prepared = match &model {
            Model::Traced(program) => Prepared::traced(program.clone(), &self.free),
            Model::Native(native) => Prepared::native(native, &self.free, &self.bounds),
        };
        let scales = layout::scales_of_all(&self.members, self.names.len());
        let prepare_time = begun.elapsed();
        let watch = first.watch().map(|observer| told_of_ties(observer, &ties));
        let request = Request {
            model: &model,
            prepared: &prepared,
            supply: &supply,
            points: whole,
            names: &self.names,
            start,
            bounds: &self.bounds,
            fixed: place.iter().map(|&j| j == usize::MAX).collect(),
            ties,
            components: Arc::default(),
            derived: &[],
            priors: &priors,
            unused,
            loss: first.loss,
            options: &first.options,
            observer: watch.as_deref(),
            starts_refined: false,
            linear,
            scales: &scales,
            on_one_thread: false,
            prepare_time,
            spent,
        };
        let mut fit = request.fit()?;
        for Asked { name, formula, places } in layout::derived_of_all(&self.members, &self.names) {
            fit.derive_at(name, formula, &places);
        }
        let view = |((member, ready), points): ((&SetMember, &Arc<Ready>), &Points<'_>)| SetView {
            model: ready.model.clone(),
            ties: ready.ties.clone(),
            components: member.curve.components.clone(),
            names: member.curve.names.clone(),
            params: member.params.clone(),
            derived: member.curve.derived.clone(),
            points: points.used,
            spread: points.spread(),
        };
        let views = self.members.iter().zip(&ready).zip(points).map(view).collect();
        let chi_squares = supply.chi_squares(&fit.params, first.loss)?;
        Ok(JointFit { fit, chi_squares, views })
    }
}

/// The error of a set, by its position.
fn in_set(set: usize) -> impl Fn(Error) -> Error {
    move |error| GlobalError::InSet { set: set + 1, error: Box::new(error) }.into()
}
