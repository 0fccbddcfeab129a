//! Joint fits: one fit of several sets of points whose models share parameters.

mod bad_sets;
mod evaluator;
pub(crate) mod joint_fit;
mod layout;
mod places;
mod request;
mod sample;
#[cfg(feature = "json")]
mod saved;
mod sets;
mod source;
mod start;

use super::CurveFit;
use crate::data::Data;
use crate::data::batch::BatchData;
use crate::data::start::Start;
use crate::error::Result;
use crate::fit::engine::Spent;
use crate::host::Instant;
use crate::observe::span;
use crate::setters::ends;
use bad_sets::{BadSets, refused};
use joint_fit::JointFit;
use layout::{JointLayout, JointSetting, Models};
use std::ops::RangeBounds;
use std::sync::Arc;

/// A joint fit (global fit) of several sets of points. Some parameters have one value for all sets; the other
/// parameters have one value per set.
///
/// Each pass evaluates every set with its own model and parameters and adds the sums. Therefore a set takes no more
/// time than in a separate fit. The sets may differ in length, x and weights. The cost is the sum of the costs
/// of the sets; therefore data on different scales need a sigma.
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
    settings: Vec<JointSetting>,
    leave_out: bool,
}

impl GlobalFit {
    /// Creates a joint fit with this model and its settings for every set. Each set has its own parameters, named
    /// `name_1`, `name_2`, … by the number of the set, except for [shared](GlobalFit::share) parameters.
    pub fn new(curve: &CurveFit) -> GlobalFit {
        let models = Models::Same { curve: Arc::new(curve.clone()), shared: Vec::new() };
        GlobalFit { models, settings: Vec::new(), leave_out: false }
    }

    /// Creates a joint fit with one model for each set, in order. Parameters of the same name are the same parameter.
    ///
    /// Options, backend and observer are taken from the first model; loss and estimator must be equal in all models. If
    /// bounds of a parameter differ, both apply. A parameter that is fixed in one model is fixed in all models.
    pub fn of<'c>(curves: impl IntoIterator<Item = &'c CurveFit>) -> GlobalFit {
        let models =
            Models::Each(curves.into_iter().map(|curve| Arc::new(curve.clone())).collect());
        GlobalFit { models, settings: Vec::new(), leave_out: false }
    }

    /// Sets the shared parameters, which have one value for all sets. If each set has its own model, parameters with
    /// equal names are always shared.
    #[must_use]
    pub fn share<S: AsRef<str>>(mut self, names: impl AsRef<[S]>) -> GlobalFit {
        if let Models::Same { shared, .. } = &mut self.models {
            shared.extend(names.as_ref().iter().map(|name| name.as_ref().to_owned()));
        }
        self
    }

    /// Keeps a parameter of the joint fit, such as `rate` or `amplitude_2`, within a range. See
    /// [`CurveFit::bound`].
    #[must_use]
    pub fn bound(mut self, name: &str, range: impl RangeBounds<f64>) -> GlobalFit {
        self.settings.push(JointSetting::Bound(name.to_owned(), ends(&range)));
        self
    }

    /// Keeps a parameter of the joint fit, such as `rate` or `amplitude_2`, at its starting value.
    #[must_use]
    pub fn fix(mut self, name: &str) -> GlobalFit {
        self.settings.push(JointSetting::Fixed(name.to_owned()));
        self
    }

    /// If true, sets that cannot be fitted are left out: sets with invalid values or without used points, sets for
    /// which no start is found, and sets whose model has no finite value at the start. Their own parameters are NaN,
    /// and [`JointFit::left_out`] returns the reasons. By default, such sets cause an error that lists them.
    #[must_use]
    pub fn leave_out_bad_sets(mut self, leave_out: bool) -> GlobalFit {
        self.leave_out = leave_out;
        self
    }

    /// Returns the parameters' names for `sets` sets of points, in order of appearance: all names of the first set,
    /// then the additional names of the second set, and so on.
    ///
    /// # Errors
    /// The errors of [`fit`](GlobalFit::fit) that do not depend on the points.
    pub fn parameters(&self, sets: usize) -> Result<Vec<String>> {
        Ok(JointLayout::new(&self.models, &self.settings, sets, &BadSets::new())?.names)
    }

    /// Fits all sets from `start`. This is one of:
    ///
    /// - one value per parameter of the joint fit, in the order of [`parameters`](GlobalFit::parameters);
    /// - values by name: a name of the model, such as `amplitude`, applies to all sets, and `amplitude_2` to set 2;
    /// - [`Start::Guess`].
    ///
    /// Missing values are computed in the same way as in [`CurveFit::fit`]. If shared parameters must be searched for, one
    /// search fits up to eight sets together (more if these do not have all shared parameters). Then a solve or a search
    /// for each set finds its own parameters. If no search is needed, the starting value of a shared parameter is the
    /// median over the sets.
    ///
    /// # Errors
    /// [`Error::Global`](crate::Error::Global), which lists the sets, for errors in some sets or differences between
    /// sets; otherwise the errors of [`CurveFit::fit`].
    pub fn fit<'d>(
        &self,
        data: impl IntoIterator<Item: Into<Data<'d>>>,
        start: impl Into<Start>,
    ) -> Result<JointFit> {
        let begun = Instant::now();
        let data: Vec<Data<'d>> = data.into_iter().map(Into::into).collect();
        let _span = span!(INFO, "global_fit", sets = data.len());
        let start = start.into();
        let mut left_out = BadSets::new();
        loop {
            let layout = JointLayout::new(&self.models, &self.settings, data.len(), &left_out)?;
            layout.check_start(&start)?;
            layout.check_columns(&data)?;
            let found = layout.points(&data).and_then(|sets| {
                let validating = begun.elapsed();
                let start = layout.found(&start, &sets)?;
                if self.leave_out {
                    layout.check_values(&sets, &start.values)?;
                }
                Ok((sets, start, validating))
            });
            let bad = match found {
                Ok((sets, start, validating)) => {
                    let spent = Spent { validating, ..start.spent() };
                    return layout.request(&sets, start, spent, &left_out);
                }
                Err(bad) => bad,
            };
            left_out.extend(bad);
            if !self.leave_out || left_out.len() == data.len() {
                return Err(refused(left_out, data.len()));
            }
        }
    }

    /// Performs [`fit`](GlobalFit::fit) with the fits of a batch as sets. Samples may be of any type; the batch defines
    /// x, errors and mask of each set. Sets with few points are evaluated in lanes.
    ///
    /// ```
    /// use dualfit::{BatchData, CurveFit, GlobalFit};
    /// let t: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    /// let decay = |a: f64| t.iter().map(move |t| a * (-0.7 * t).exp());
    /// let mut stack: Vec<f64> = [2.0, 5.0, 3.0].into_iter().flat_map(decay).collect();
    /// stack[40 + 7] = f64::NAN;
    ///
    /// let curve = CurveFit::parse("amplitude*exp(-rate*t)", ["t"])?;
    /// let joint = GlobalFit::new(&curve).share(["rate"]).leave_out_bad_sets(true);
    /// let fit = joint.over(&BatchData::shared(&t, &stack)?, [("rate", 1.0)])?;
    /// assert!((fit.fit().param("rate").unwrap() - 0.7).abs() < 1e-9);
    /// let (set, why) = fit.left_out().next().unwrap();
    /// assert_eq!(set, 1); // the second one
    /// assert!(why.starts_with("`y` is NaN at index 7"), "{why}");
    /// assert!(fit.fit().param("amplitude_2").unwrap().is_nan());
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`fit`](GlobalFit::fit); [`Error::BatchLayout`](crate::Error::BatchLayout) if the assignment of
    /// samples to fits is missing.
    pub fn over(&self, batch: &BatchData<'_>, start: impl Into<Start>) -> Result<JointFit> {
        self.fit(batch.each()?, start)
    }
}
