//! The saved form of a fit: all its data, with numbers to the last bit.
//!
//! The saved form has a version. A field that a later version adds gets `#[serde(default)]` if old fits
//! do not need it; otherwise the version is raised. Lengths are checked on reading, and [`Program`] checks the
//! program, so that a damaged file is an error.

use super::Fit;
use super::block_matrix::{Block, BlockMatrix};
use super::covariance::{Covariance, Direction};
use super::marginal::SetOfMany;
use super::priors::Prior;
use super::propagated::{Derived, Formula};
use super::stats::Stats;
use super::warning::Warning;
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Spread;
use crate::error::names::{check_distinct, check_shown};
use crate::error::saved::SavedError;
use crate::error::{Error, Result};
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::exact::{Exact, exact, plain};
use crate::model::json::{read, write};
use crate::model::native::{Model, Native};
use crate::model::program::Program;
use crate::model::saved::{SavedProgram, check_index, check_version, expect};
use crate::model::ties::{Tie, Ties};
use crate::solver::bounds::Side;
use crate::solver::termination::Termination;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

const VERSION: u32 = 1;

/// The mirror of a fit.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename = "Fit")]
pub(crate) struct SavedFit {
    version: u32,
    /// Nothing for a native model, of which the number of variables is kept.
    model: Option<SavedProgram>,
    variables: usize,
    names: Vec<String>,
    start: Vec<Exact>,
    params: Vec<Exact>,
    fixed: Vec<bool>,
    ties: SavedTies,
    /// Names, values and errors of derived quantities.
    derived: Vec<(String, Exact, Exact)>,
    bounds: Vec<(Exact, Exact)>,
    at_bound: Vec<Option<Side>>,
    covariance: SavedCovariance,
    loss: Loss,
    estimator: Estimator,
    spread: Spread,
    scaled: bool,
    cost: Exact,
    row_unit: Exact,
    cost_unit: Exact,
    scatter: Exact,
    points: usize,
    /// Not there in documents of before.
    #[serde(default)]
    weight: Option<Exact>,
    #[serde(default)]
    deviance: Option<[Exact; 2]>,
    #[serde(default)]
    priors: Vec<Prior>,
    omitted: usize,
    ignored: usize,
    termination: Termination,
    warnings: Vec<Warning>,
    stats: Stats,
    #[serde(default)]
    part: Option<SetOfMany>,
    #[serde(default)]
    components: Vec<SavedComponent>,
    /// Of the derived quantities: programs, and the parameters that they are of.
    #[serde(default)]
    formulas: Vec<SavedFormula>,
}

/// A term of a sum, over those of the model's variables and parameters whose positions it has.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SavedComponent {
    name: String,
    factor: Exact,
    formula: SavedProgram,
    variables: Vec<usize>,
    parameters: Vec<usize>,
}

/// The program of a derived quantity, and the parameters that it is of.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SavedFormula(SavedProgram, Vec<usize>);

/// Names of tied parameters and the formulas that they follow.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SavedTies(Vec<(String, String)>);

#[derive(Clone, Serialize, Deserialize)]
struct SavedCovariance {
    errors: Vec<Exact>,
    half: Matrix,
    unscaled: Matrix,
    null: Matrix,
    units: Vec<Exact>,
    rank: usize,
    condition: Exact,
    weak: Vec<SavedDirection>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedDirection {
    parts: Vec<(usize, Exact)>,
    undetermined: bool,
}

/// A matrix by rows.
#[derive(Clone, Serialize, Deserialize)]
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<Exact>,
    /// Rows that have columns of their own beside these.
    #[serde(default)]
    blocks: Vec<SavedBlock>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedBlock {
    rows: Vec<usize>,
    columns: usize,
    values: Vec<Exact>,
}

impl Fit {
    /// The fit as JSON, with its model, all numbers to the last bit: what
    /// [`from_json`](Fit::from_json) makes of it predicts the same and prints the same report. JSON
    /// has no infinities and no NaN; they are the words `"inf"`, `"-inf"` and `"nan"`. `Fit` implements the
    /// traits of `serde`, so that other formats do as well.
    ///
    /// A native model is an ordinary function and cannot be saved. Its fit is saved without it:
    /// everything is there but what needs the model, as [`predict`](Fit::predict), which is
    /// [`SavedError::NoModel`](crate::error::SavedError::NoModel) until [`with_model`](Fit::with_model) gives it back.
    ///
    /// # Errors
    /// None in practice: every fit can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedFit::from(self.clone()), "fit")
    }

    /// The fit that [`to_json`](Fit::to_json) wrote.
    ///
    /// # Errors
    /// [`Error::Saved`] for text that is no such fit, a version that is not known, arrays of wrong
    /// lengths, or a damaged program.
    pub fn from_json(text: &str) -> Result<Fit> {
        read::<SavedFit>(text, "fit", VERSION)?.try_into()
    }
}

impl From<Fit> for SavedFit {
    fn from(fit: Fit) -> SavedFit {
        let components = fit.components.iter().map(SavedComponent::of).collect();
        let c = &fit.covariance;
        let weak = c.weak.iter().map(|direction| SavedDirection {
            parts: direction.parts.iter().map(|&(i, change)| (i, Exact(change))).collect(),
            undetermined: direction.undetermined,
        });
        let covariance = SavedCovariance {
            errors: exact(&c.errors),
            half: Matrix::of(&c.half),
            unscaled: Matrix::of(&c.unscaled),
            null: Matrix::of(&c.null),
            units: exact(&c.units),
            rank: c.rank,
            condition: Exact(c.condition),
            weak: weak.collect(),
        };
        let derived = fit.derived.into_iter();
        let derived = derived.map(|d| (d.name, Exact(d.value), Exact(d.std_error)));
        SavedFit {
            version: VERSION,
            model: program_of(&fit.model),
            variables: fit.model.columns(),
            names: fit.names,
            start: exact(&fit.start),
            params: exact(&fit.params),
            fixed: fit.fixed,
            ties: SavedTies::of(&fit.ties),
            derived: derived.collect(),
            bounds: fit.bounds.iter().map(|&(low, high)| (Exact(low), Exact(high))).collect(),
            at_bound: fit.at_bound,
            covariance,
            loss: fit.loss,
            estimator: fit.estimator,
            spread: fit.spread,
            scaled: fit.scaled,
            cost: Exact(fit.cost),
            row_unit: Exact(fit.row_unit),
            cost_unit: Exact(fit.cost_unit),
            scatter: Exact(fit.scatter),
            points: fit.points,
            priors: fit.priors.clone(),
            weight: Some(Exact(fit.weight)),
            deviance: fit.deviance.map(|moments| moments.map(Exact)),
            omitted: fit.omitted,
            ignored: fit.ignored,
            termination: fit.termination,
            warnings: fit.warnings,
            stats: fit.stats,
            part: fit.part,
            components,
            formulas: fit.formulas.into_iter().map(SavedFormula::from).collect(),
        }
    }
}

impl TryFrom<SavedFit> for Fit {
    type Error = Error;
    fn try_from(saved: SavedFit) -> Result<Fit> {
        check_version("fit", saved.version, VERSION)?;
        let p = saved.names.len();
        check_distinct(&saved.names)?;
        let model = model_of(saved.model, saved.variables, p)?;
        expect("fit", "start", saved.start.len(), p)?;
        expect("fit", "params", saved.params.len(), p)?;
        expect("fit", "fixed", saved.fixed.len(), p)?;
        expect("fit", "bounds", saved.bounds.len(), p)?;
        expect("fit", "at_bound", saved.at_bound.len(), p)?;
        if let Some(prior) = saved.priors.iter().find(|prior| prior.param >= p) {
            expect("fit", "the parameter of a prior", prior.param, p)?;
        }
        let ties = saved.ties.checked(&saved.names)?;
        check_shown(saved.names.iter().chain(saved.derived.iter().map(|(name, ..)| name)))?;
        check_shown(saved.components.iter().map(|component| &component.name))?;
        let component = |component: SavedComponent| component.checked(model.columns(), p);
        let components =
            saved.components.into_iter().map(component).collect::<Result<Arc<[_]>>>()?;
        let derived = |(name, value, error): (String, Exact, Exact)| Derived {
            name,
            value: value.0,
            std_error: error.0,
        };
        let formula = |formula: SavedFormula| formula.checked("fit", p);
        if !saved.formulas.is_empty() {
            expect("fit", "formulas", saved.formulas.len(), saved.derived.len())?;
        }
        let least_squares = saved.loss == Loss::Linear;
        let unknown = if least_squares { saved.points as f64 } else { f64::NAN };
        Ok(Fit {
            derived: saved.derived.into_iter().map(derived).collect(),
            formulas: saved.formulas.into_iter().map(formula).collect::<Result<_>>()?,
            model,
            names: saved.names,
            start: plain(&saved.start),
            params: plain(&saved.params),
            fixed: saved.fixed,
            ties: Arc::new(ties),
            bounds: saved.bounds.iter().map(|(low, high)| (low.0, high.0)).collect(),
            at_bound: saved.at_bound,
            covariance: saved.covariance.checked(p, saved.part)?,
            loss: saved.loss,
            estimator: saved.estimator,
            spread: saved.spread,
            scaled: saved.scaled,
            cost: saved.cost.0,
            row_unit: saved.row_unit.0,
            cost_unit: saved.cost_unit.0,
            scatter: saved.scatter.0,
            points: saved.points,
            priors: saved.priors,
            weight: saved.weight.map_or(unknown, |weight| weight.0),
            deviance: saved.deviance.map(|moments| moments.map(|moment| moment.0)),
            omitted: saved.omitted,
            ignored: saved.ignored,
            termination: saved.termination,
            warnings: saved.warnings,
            stats: saved.stats,
            part: saved.part,
            components,
        })
    }
}

/// The saved form of a model; `None` for a native one.
pub(crate) fn program_of(model: &Model) -> Option<SavedProgram> {
    match model {
        Model::Traced(program) => Some(SavedProgram::from(Program::clone(program))),
        Model::Native(_) => None,
    }
}

/// The saved model of `p` parameters; for a native one a placeholder of `variables` variables.
pub(crate) fn model_of(program: Option<SavedProgram>, variables: usize, p: usize) -> Result<Model> {
    let Some(program) = program else {
        return Ok(Model::Native(Native::lost(variables, p)));
    };
    let program = Program::try_from(program)?;
    expect("fit", "parameters of the program", program.params.len(), p)?;
    Ok(Model::Traced(Arc::new(program)))
}

impl From<Formula> for SavedFormula {
    fn from(Formula { expression, places }: Formula) -> SavedFormula {
        SavedFormula(expression.program().clone().into(), places)
    }
}

impl SavedFormula {
    /// Over `p` parameters of `what`, a fit or a batch.
    pub(crate) fn checked(self, what: &'static str, p: usize) -> Result<Formula> {
        let SavedFormula(program, places) = self;
        let program = Program::try_from(program)?;
        expect(what, "parameters of a formula", places.len(), program.params.len())?;
        let place = format!("a formula of the saved {what}");
        places.iter().try_for_each(|&k| check_index(&place, "parameter", k, p))?;
        Ok(Formula { expression: Expression::of_program(program), places })
    }
}

impl SavedTies {
    pub(crate) fn of(ties: &Ties) -> SavedTies {
        SavedTies(ties.said().map(|tie| (tie.name.clone(), tie.text.clone())).collect())
    }

    /// Of the parameters `names`.
    pub(crate) fn checked(self, names: &[String]) -> Result<Ties> {
        let tie = |(name, text): (String, String)| -> Result<Tie> {
            let expression = Expression::parse(&text, &[])?;
            Ok(Tie { name, text, expression })
        };
        let ties = self.0.into_iter().map(tie).collect::<Result<Vec<Tie>>>()?;
        Ties::among(names, &ties)
    }
}

impl SavedComponent {
    pub(crate) fn of(component: &ComponentModel) -> SavedComponent {
        SavedComponent {
            name: component.name.clone(),
            factor: Exact(component.factor),
            formula: component.formula.program().clone().into(),
            variables: component.columns.clone(),
            parameters: component.params.clone(),
        }
    }

    /// Checks the components of a sum with this number of variables and parameters.
    pub(crate) fn checked(self, columns: usize, params: usize) -> Result<ComponentModel> {
        let SavedComponent { name, factor, formula, variables, parameters } = self;
        let formula = Program::try_from(formula)?;
        expect("fit", "variables of a component", variables.len(), formula.columns.len())?;
        expect("fit", "parameters of a component", parameters.len(), formula.params.len())?;
        let place = format!("the component `{name}` of the saved fit");
        let below = |what, places: &[usize], count| {
            places.iter().try_for_each(|&index| check_index(&place, what, index, count))
        };
        below("variable", &variables, columns)?;
        below("parameter", &parameters, params)?;
        let formula = Expression::of_program(formula);
        Ok(ComponentModel {
            name,
            factor: factor.0,
            formula,
            columns: variables,
            params: parameters,
        })
    }
}

impl SavedCovariance {
    /// Of `p` parameters: all of the fit, or a `part` of them, in directions of all.
    fn checked(self, p: usize, part: Option<SetOfMany>) -> Result<Covariance> {
        expect("fit", "errors", self.errors.len(), p)?;
        expect("fit", "units", self.units.len(), p)?;
        let undetermined = if part.is_some() { 0 } else { self.null.width() };
        let own = self.rank.saturating_add(undetermined);
        expect("fit", "directions of the covariance", own.max(p), p)?;
        // A part has the columns in which its rows have entries.
        let determined = self.half.width();
        if part.is_none() {
            expect("fit", "columns of `half`", determined, self.rank)?;
        }
        expect("fit", "columns of `unscaled`", self.unscaled.width(), determined)?;
        let direction = |saved: SavedDirection| -> Result<Direction> {
            for &(index, _) in &saved.parts {
                check_index("a weak direction of the saved fit", "parameter", index, p)?;
            }
            let parts = saved.parts.iter().map(|(i, change)| (*i, change.0)).collect();
            Ok(Direction { parts, undetermined: saved.undetermined })
        };
        Ok(Covariance {
            errors: plain(&self.errors),
            half: self.half.checked("half", p)?,
            unscaled: self.unscaled.checked("unscaled", p)?,
            null: self.null.checked("null", p)?,
            units: plain(&self.units),
            rank: self.rank,
            condition: self.condition.0,
            weak: self.weak.into_iter().map(direction).collect::<Result<_>>()?,
            matrices: OnceLock::new(),
        })
    }
}

fn by_rows(matrix: &DMatrix<f64>) -> Vec<Exact> {
    exact(matrix.transpose().as_slice())
}

/// A matrix with this number of `rows`.
fn from_rows(
    rows: usize,
    columns: usize,
    values: &[Exact],
    what: &'static str,
) -> Result<DMatrix<f64>> {
    expect("fit", what, values.len(), rows.saturating_mul(columns))?;
    Ok(DMatrix::from_row_slice(rows, columns, &plain(values)))
}

impl Matrix {
    fn of(matrix: &BlockMatrix) -> Matrix {
        let (rows, columns) = matrix.common.shape();
        let block = |block: &Block| SavedBlock {
            rows: block.rows.clone(),
            columns: block.values.ncols(),
            values: by_rows(&block.values),
        };
        let blocks = matrix.blocks.iter().map(block).collect();
        Matrix { rows, columns, values: by_rows(&matrix.common), blocks }
    }

    /// Columns, those of blocks included.
    fn width(&self) -> usize {
        let own = self.blocks.iter().map(|block| block.columns);
        own.fold(self.columns, usize::saturating_add)
    }

    fn checked(self, what: &'static str, rows: usize) -> Result<BlockMatrix> {
        expect("fit", what, self.rows, rows)?;
        let common = from_rows(rows, self.columns, &self.values, what)?;
        let mut taken = vec![false; rows];
        let block = |block: SavedBlock| -> Result<Block> {
            for &k in &block.rows {
                check_index("a block of the saved fit", "parameter", k, rows)?;
                if std::mem::replace(&mut taken[k], true) {
                    let message = format!("parameter {k} is in two blocks of `{what}`");
                    return Err(SavedError::Malformed { what: "fit", message }.into());
                }
            }
            // Own parameters leave no more directions than there are of them.
            if block.columns > block.rows.len() {
                let (columns, rows) = (block.columns, block.rows.len());
                let message = format!("a block of `{what}` has {columns} columns in {rows} rows");
                return Err(SavedError::Malformed { what: "fit", message }.into());
            }
            let values = from_rows(block.rows.len(), block.columns, &block.values, what)?;
            Ok(Block { rows: block.rows, values })
        };
        let blocks = self.blocks.into_iter().map(block).collect::<Result<_>>()?;
        Ok(BlockMatrix::of(common, blocks))
    }
}
