//! What a fit of several sets found.

use crate::data::sigma::Spread;
use crate::fit::Fit;
use crate::fit::marginal::Seen;
use crate::fit::significant::significant;
use crate::fit::table::ParameterTable;
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use std::fmt;
use std::sync::Arc;

/// The result of a [`GlobalFit`](crate::GlobalFit), whether it converged or not.
///
/// `Display` prints the report of the joint fit and each set's chi-square.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "super::saved::SavedJointFit", into = "super::saved::SavedJointFit")
)]
pub struct JointFit {
    pub(super) fit: Fit,
    pub(super) chi_squares: Vec<f64>,
    pub(super) views: Vec<SetView>,
}

/// One set's model and where its parameters are.
#[derive(Clone, Debug)]
pub(super) struct SetView {
    /// With the formulas of tied parameters in their places.
    pub(super) model: Model,
    pub(super) ties: Arc<Ties>,
    pub(super) components: Arc<[ComponentModel]>,
    pub(super) names: Vec<String>,
    pub(super) params: Vec<usize>,
    pub(super) derived: Vec<(String, Expression)>,
    /// Points that count.
    pub(super) points: usize,
    pub(super) spread: Spread,
}

impl JointFit {
    /// The fit of all sets together, with all parameters. Its model has the set, counted from 1, as
    /// first independent variable. What the sets' models derive it derives for each, as `fwhm_1` and
    /// `fwhm_2`, or once, as `fwhm`, where all parameters of the formula are shared. R² compares with the scatter of each set about its own mean.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// Number of sets.
    pub fn sets(&self) -> usize {
        self.views.len()
    }

    /// The fit as set `index`, counted from 0, sees it: its own model and parameters, under the model's
    /// own names, with their covariance, their ties, and what its model derives from them. It predicts, has
    /// bands and judges residuals for that set. [`rank`](Fit::rank), [`condition`](Fit::condition) and
    /// [`estimated`](Fit::estimated) are those of its own parameters. Points, chi-square, degrees of freedom
    /// and what is made of them are those of the joint fit, since no degrees of freedom belong to a set; the
    /// report says so.
    pub fn set(&self, index: usize) -> Option<Fit> {
        let SetView { model, ties, components, names, params, points, spread, .. } =
            self.views.get(index)?;
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

    /// For each set the sum of its squared weighted residuals, or of their loss; together they are the
    /// joint fit's [`chi_square`](Fit::chi_square).
    pub fn chi_squares(&self) -> &[f64] {
        &self.chi_squares
    }

    /// The parameters of all sets as a table, as [`Fit::table`] makes it; that of one set is its view's.
    pub fn table(&self) -> ParameterTable {
        self.fit.table()
    }

    /// Whether the fit converged; see [`Fit::converged`].
    pub fn converged(&self) -> bool {
        self.fit.converged()
    }
}

impl fmt::Display for JointFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.fit)?;
        writeln!(f)?;
        write!(f, "chi-square by set")?;
        for (set, chi_square) in self.chi_squares.iter().enumerate() {
            write!(f, "\n  {:<3} {:>12}", set + 1, significant(*chi_square, 6))?;
        }
        Ok(())
    }
}
