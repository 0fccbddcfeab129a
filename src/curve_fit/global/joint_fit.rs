//! Result of a joint fit.

use crate::data::sigma::Spread;
use crate::error::quote::significant;
use crate::fit::Fit;
use crate::fit::marginal::Seen;
use crate::fit::propagated::{Formula, Propagated};
use crate::fit::report::MOST_ROWS;
use crate::fit::table::ParameterTable;
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The result of a [`GlobalFit`](crate::GlobalFit), whether it converged or not.
///
/// `Display` prints the report of the joint fit and the chi-square of each set.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "json",
    serde(try_from = "super::saved::SavedJointFit", into = "super::saved::SavedJointFit")
)]
pub struct JointFit {
    pub(super) fit: Fit,
    pub(super) chi_squares: Vec<f64>,
    pub(super) views: Vec<SetView>,
    /// Index of each set that was left out, with the reason.
    pub(super) left_out: BTreeMap<usize, String>,
}

/// Model of one set and the positions of its parameters in the joint fit.
#[derive(Clone, Debug)]
pub(super) struct SetView {
    /// Model in which tied parameters are replaced by their formulas.
    pub(super) model: Model,
    pub(super) ties: Arc<Ties>,
    pub(super) components: Arc<[ComponentModel]>,
    pub(super) names: Vec<String>,
    pub(super) params: Vec<usize>,
    pub(super) derived: Vec<(String, Expression)>,
    /// Number of points that have weight.
    pub(super) points: usize,
    pub(super) spread: Spread,
}

impl JointFit {
    /// Returns the fit of all sets together, with all parameters. The first independent variable of its model is the
    /// number of the set, counted from 1. Derived quantities of the sets' models appear once per set, as `fwhm_1` and
    /// `fwhm_2`. If all parameters of the formula are shared, the quantity appears only once, as `fwhm`. R² is relative
    /// to the scatter of each set about its own mean.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// Returns the sets that were [left out](crate::GlobalFit::leave_out_bad_sets), counted from 0, with the reasons.
    pub fn left_out(&self) -> impl Iterator<Item = (usize, &str)> {
        self.left_out.iter().map(|(&set, why)| (set, why.as_str()))
    }

    /// Returns the number of sets, including sets that were left out.
    pub fn sets(&self) -> usize {
        self.views.len()
    }

    /// Returns the fit of set `index`, counted from 0: its model, its parameters with the names of the model, and their
    /// covariance, ties and derived quantities. Predictions, bands and tests of residuals apply to this set.
    /// [`rank`](Fit::rank), [`condition`](Fit::condition) and [`estimated`](Fit::estimated) refer to the parameters of
    /// the set. Points, chi-square, degrees of freedom and statistics that depend on them refer to the joint fit,
    /// because degrees of freedom cannot be assigned to a set; the report states this. Returns `None` for a set that
    /// does not exist or was left out.
    pub fn set(&self, index: usize) -> Option<Fit> {
        let SetView { model, ties, components, names, params, points, spread, .. } =
            self.views.get(index).filter(|_| !self.left_out.contains_key(&index))?;
        let (set, sets) = (index + 1, self.views.len());
        let (points, spread) = (*points, *spread);
        let mut fit = self.fit.restricted(&Seen {
            model,
            ties,
            components,
            names,
            params,
            set,
            sets,
            points,
            spread,
        });
        fit.derive(&self.views[index].derived).ok()?;
        Some(fit)
    }

    /// Returns one value per set of the parameter or derived quantity that is called `name` in the models of the sets.
    /// The value is NaN for a set whose model has no such name and for a set that was left out. Returns `None` if no
    /// model has this name.
    ///
    /// ```
    /// # use dualfit::{CurveFit, Data, GlobalFit};
    /// # let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    /// # let decay = |a: f64| -> Vec<f64> { x.iter().map(|x| a * (-0.7 * x).exp()).collect() };
    /// # let (first, second) = (decay(2.0), decay(5.0));
    /// # let curve = CurveFit::parse("amplitude*exp(-rate*x)", ["x"])?;
    /// # let joint = GlobalFit::new(&curve).share(["rate"]);
    /// let fit = joint.fit([Data::new(&x, &first)?, Data::new(&x, &second)?], [("rate", 1.0)])?;
    /// let amplitudes = fit.param("amplitude").unwrap();
    /// assert!((amplitudes[1] - 5.0).abs() < 1e-9);
    /// assert_eq!(fit.std_error("rate").unwrap().len(), 2);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn param(&self, name: &str) -> Option<Vec<f64>> {
        Some(self.quantity(name)?.into_iter().map(|found| found.value).collect())
    }

    /// Returns one standard error per set of a parameter or derived quantity, in the same form as
    /// [`param`](JointFit::param).
    pub fn std_error(&self, name: &str) -> Option<Vec<f64>> {
        Some(self.quantity(name)?.into_iter().map(|found| found.std_error).collect())
    }

    /// Returns value and standard error per set of a parameter or derived quantity, in the same form as
    /// [`param`](JointFit::param). In the joint fit, quantities that differ between sets are named `name_1`, `name_2`,
    /// …
    pub fn quantity(&self, name: &str) -> Option<Vec<Propagated>> {
        let (params, covariance) = (&self.fit.params, &self.fit.covariance);
        let of_set = |view: &SetView| -> Option<Propagated> {
            if let Some(i) = view.names.iter().position(|own| own == name) {
                let k = view.params[i];
                return Some(Propagated { value: params[k], std_error: covariance.errors[k] });
            }
            let (_, formula) = view.derived.iter().find(|(own, _)| own == name)?;
            let Formula { expression, places } = Formula::of(formula, &view.names).ok()?;
            let places = places.into_iter().map(|i| view.params[i]).collect();
            Some(Formula { expression, places }.propagated(params, covariance))
        };
        let found: Vec<_> = self.views.iter().map(of_set).collect();
        let unknown = Propagated { value: f64::NAN, std_error: f64::NAN };
        found.iter().any(Option::is_some).then(|| {
            let each = found.into_iter().enumerate();
            each.map(|(set, found)| match self.left_out.contains_key(&set) {
                true => unknown,
                false => found.unwrap_or(unknown),
            })
            .collect()
        })
    }

    /// Returns the sum of squared weighted residuals, or of their losses, of each set. The total is the
    /// [`chi_square`](Fit::chi_square) of the joint fit.
    pub fn chi_squares(&self) -> &[f64] {
        &self.chi_squares
    }

    /// Returns the parameters of all sets as a table, in the form of [`Fit::table`]. For the table of one set, use
    /// [`set`](JointFit::set).
    pub fn table(&self) -> ParameterTable {
        self.fit.table()
    }

    /// Returns true if the fit converged; see [`Fit::converged`].
    pub fn converged(&self) -> bool {
        self.fit.converged()
    }
}

impl fmt::Display for JointFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.fit)?;
        writeln!(f)?;
        write!(f, "chi-square by set")?;
        for (set, chi_square) in self.chi_squares.iter().enumerate().take(MOST_ROWS) {
            write!(f, "\n  {:<3} {:>12}", set + 1, significant(*chi_square, 6))?;
        }
        if self.sets() > MOST_ROWS {
            write!(f, "\nand {} more sets", self.sets() - MOST_ROWS)?;
        }
        for (set, why) in self.left_out().take(MOST_ROWS) {
            write!(f, "\nset {} is left out: {why}", set + 1)?;
        }
        if self.left_out.len() > MOST_ROWS {
            write!(f, "\nand {} more are left out", self.left_out.len() - MOST_ROWS)?;
        }
        Ok(())
    }
}
