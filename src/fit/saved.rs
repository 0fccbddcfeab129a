//! The saved form of a fit: all its data, with numbers to the last bit.

use super::Fit;
use super::SetOfMany;
use super::block_matrix::{Block, BlockMatrix};
use super::covariance::{Covariance, Direction};
use super::priors::Prior;
use super::propagated::{Derived, Formula};
use super::stats::Stats;
use super::warning::Warning;
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Spread;
use crate::error::Result;
use crate::error::names::{check_distinct, check_shown, position};
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::{Model, Native};
use crate::model::program::Program;
use crate::model::saved::SavedProgram;
use crate::model::ties::{Tie, Ties};
use crate::saved::exact::{self, exact_as};
use crate::saved::{Number, Saved, check_index, move_fields, saved};
use crate::solver::bounds::Side;
use crate::solver::termination::Termination;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

saved! {
    /// The saved form of a fit.
    #[serde(rename = "Fit")]
    "fit": struct SavedFit of fit: Fit {
        /// `None` for a native model, of which only the number of variables is saved.
        model: Option<SavedProgram> = program_of(&fit.model),
        variables: usize = fit.model.columns(),
        names: Vec<String>,
        #[serde(with = "exact")] start: Vec<f64>,
        #[serde(with = "exact")] params: Vec<f64>,
        fixed: Vec<bool>,
        /// Names of tied parameters and their formulas.
        ties: Vec<(String, String)> = formulas_of(&fit.ties),
        #[serde(with = "exact")] derived: Vec<Derived>,
        #[serde(with = "exact")] bounds: Vec<(f64, f64)>,
        at_bound: Vec<Option<Side>>,
        covariance: SavedCovariance = fit.covariance.into(),
        loss: Loss,
        estimator: Estimator,
        spread: Spread,
        scaled: bool,
        #[serde(with = "exact")] cost: f64,
        #[serde(with = "exact")] row_unit: f64,
        #[serde(with = "exact")] cost_unit: f64,
        #[serde(with = "exact")] scatter: f64,
        points: usize,
        /// Absent in old documents.
        #[serde(default, with = "exact")] weight: Option<f64> = Some(fit.weight),
        #[serde(default, with = "exact")] deviance: Option<[f64; 2]>,
        #[serde(default)] priors: Vec<Prior>,
        omitted: usize,
        ignored: usize,
        termination: Termination,
        warnings: Vec<Warning>,
        stats: Stats,
        #[serde(default)] part: Option<SetOfMany>,
        #[serde(default)] components: Vec<SavedComponent> = components_of(&fit.components),
        #[serde(default)] formulas: Vec<SavedFormula> = fit.formulas.into_iter().map(Into::into).collect(),
    }
}

exact_as! {
    [] Derived as (String, Number, Number) => (
        |derived| (derived.name.clone(), Number(derived.value), Number(derived.std_error)),
        |(name, value, error)| Derived { name, value: value.0, std_error: error.0 }
    );
}

saved! {
    /// A term of a sum, with the positions of its variables and parameters among those of the sum.
    struct SavedComponent of component: ComponentModel {
        name: String,
        #[serde(with = "exact")] factor: f64,
        formula: SavedProgram = component.formula.0.into(),
        variables: Vec<usize> = component.columns,
        parameters: Vec<usize> = component.params,
    }
}

/// The program of a derived quantity, and the positions of its parameters.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SavedFormula(SavedProgram, Vec<usize>);

saved! {
    /// The saved form of a covariance.
    struct SavedCovariance of covariance: Covariance {
        #[serde(with = "exact")] errors: Vec<f64>,
        half: Matrix = Matrix::of(&covariance.half),
        unscaled: Matrix = Matrix::of(&covariance.unscaled),
        null: Matrix = Matrix::of(&covariance.null),
        #[serde(with = "exact")] units: Vec<f64>,
        rank: usize,
        #[serde(with = "exact")] condition: f64,
        weak: Vec<Direction>,
    }
}

/// A matrix by rows.
#[derive(Clone, Serialize, Deserialize)]
struct Matrix {
    rows: usize,
    columns: usize,
    #[serde(with = "exact")]
    values: Vec<f64>,
    /// Rows with additional columns of their own.
    #[serde(default)]
    blocks: Vec<SavedBlock>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedBlock {
    rows: Vec<usize>,
    columns: usize,
    #[serde(with = "exact")]
    values: Vec<f64>,
}

impl Fit {
    /// Returns the fit as JSON, with its model and with all numbers to the last bit. The fit that
    /// [`from_json`](Fit::from_json) reads from it predicts the same and prints the same report. JSON has no infinities
    /// and no NaN; they are the words `"inf"`, `"-inf"` and `"nan"`. `Fit` implements the traits of `serde`, so that
    /// other formats work, too.
    ///
    /// A native model is an ordinary function and cannot be saved. Its fit is saved without it: methods that need the
    /// model, such as [`predict`](Fit::predict), return [`SavedError::NoModel`](crate::error::SavedError::NoModel)
    /// until [`with_model`](Fit::with_model) restores it.
    ///
    /// # Errors
    /// None in practice: every fit can be written.
    #[inline]
    pub fn to_json(&self) -> Result<String> {
        self.write()
    }

    /// Reads the fit that [`to_json`](Fit::to_json) wrote.
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) for text that is not such a fit, an unknown version, arrays of wrong
    /// lengths, or a damaged program.
    #[inline]
    pub fn from_json(text: &str) -> Result<Fit> {
        Fit::read(text)
    }
}

impl SavedFit {
    fn checked(self) -> Result<Fit> {
        let p = self.names.len();
        check_distinct(&self.names)?;
        let model = model_of(self.model, self.variables, p)?;
        Fit::expect("start", self.start.len(), p)?;
        Fit::expect("params", self.params.len(), p)?;
        Fit::expect("fixed", self.fixed.len(), p)?;
        Fit::expect("bounds", self.bounds.len(), p)?;
        Fit::expect("at_bound", self.at_bound.len(), p)?;
        if let Some(prior) = self.priors.iter().find(|prior| prior.param >= p) {
            Fit::expect("the parameter of a prior", prior.param, p)?;
        }
        let ties = Arc::new(ties_of(self.ties, &self.names)?);
        check_shown(self.names.iter().chain(self.derived.iter().map(|derived| &derived.name)))?;
        check_shown(self.components.iter().map(|component| &component.name))?;
        let component = |component: SavedComponent| component.checked(model.columns(), p);
        let components =
            self.components.into_iter().map(component).collect::<Result<Arc<[_]>>>()?;
        if !self.formulas.is_empty() {
            Fit::expect("formulas", self.formulas.len(), self.derived.len())?;
        }
        let formula = |formula: SavedFormula| formula.checked::<Fit>(p);
        let formulas = self.formulas.into_iter().map(formula).collect::<Result<_>>()?;
        let least_squares = self.loss == Loss::Linear;
        let unknown = if least_squares { self.points as f64 } else { f64::NAN };
        Ok(move_fields!(Fit {
            model,
            ties,
            covariance: self.covariance.checked(p, self.part)?,
            weight: self.weight.unwrap_or(unknown),
            components,
            formulas,
        } from self {
            names, start, params, fixed, derived, bounds, at_bound, loss, estimator, spread, scaled, cost, row_unit,
            cost_unit, scatter, points, deviance, priors, omitted, ignored, termination, warnings, stats, part
        }))
    }
}

/// Returns the program of a model; `None` for a native model.
pub(crate) fn program_of(model: &Model) -> Option<SavedProgram> {
    match model {
        Model::Traced(program) => Some(SavedProgram::from(Program::clone(program))),
        Model::Native(_) => None,
    }
}

/// Restores a model of `p` parameters. Without a program, it is a placeholder of `variables` variables.
pub(crate) fn model_of(program: Option<SavedProgram>, variables: usize, p: usize) -> Result<Model> {
    let Some(program) = program else {
        return Ok(Model::Native(Native::lost(variables, p)));
    };
    let program = Program::try_from(program)?;
    Fit::expect("parameters of the program", program.params.len(), p)?;
    Ok(Model::Traced(Arc::new(program)))
}

/// Returns the saved form of the terms of a sum.
pub(crate) fn components_of(components: &[ComponentModel]) -> Vec<SavedComponent> {
    components.iter().cloned().map(SavedComponent::from).collect()
}

impl From<Formula> for SavedFormula {
    fn from(Formula { expression, places }: Formula) -> SavedFormula {
        SavedFormula(expression.0.into(), places)
    }
}

/// Returns the programs of named expressions.
pub(crate) fn programs_of(named: Vec<(String, Expression)>) -> Vec<(String, SavedProgram)> {
    named.into_iter().map(|(name, expression)| (name, expression.0.into())).collect()
}

/// Restores named expressions.
///
/// # Errors
/// Returns an error for a damaged program, or for a parameter that is not in `names`, with the `remedy`.
pub(crate) fn expressions_of(
    saved: Vec<(String, SavedProgram)>,
    names: &[String],
    remedy: &str,
) -> Result<Vec<(String, Expression)>> {
    let expression = |(name, program): (String, SavedProgram)| {
        let expression = Expression(program.try_into()?);
        for parameter in expression.parameters() {
            position(names, parameter, remedy)?;
        }
        Ok((name, expression))
    };
    saved.into_iter().map(expression).collect()
}

impl SavedFormula {
    /// Checks a formula of a saved fit or batch, the type `T`, with `p` parameters.
    pub(crate) fn checked<T: Saved>(self, p: usize) -> Result<Formula> {
        let SavedFormula(program, places) = self;
        let program = Program::try_from(program)?;
        T::expect("parameters of a formula", places.len(), program.params.len())?;
        let place = format_args!("a formula of the saved {}", T::KIND);
        places.iter().try_for_each(|&k| check_index(place, "parameter", k, p))?;
        Ok(Formula { expression: Expression(program), places })
    }
}

/// Returns the names of tied parameters with their formulas.
pub(crate) fn formulas_of(ties: &Ties) -> Vec<(String, String)> {
    ties.said().map(|tie| (tie.name.clone(), tie.text.clone())).collect()
}

/// Parses the formulas of tied parameters and orders the ties. `names`: all parameters.
pub(crate) fn ties_of(formulas: Vec<(String, String)>, names: &[String]) -> Result<Ties> {
    let tie = |(name, text): (String, String)| -> Result<Tie> {
        let expression = Expression::parse(&text, &[])?;
        Ok(Tie { name, text, expression })
    };
    Ties::among(names, &formulas.into_iter().map(tie).collect::<Result<Vec<Tie>>>()?)
}

impl SavedComponent {
    /// Checks the components of a sum with this number of variables and parameters.
    pub(crate) fn checked(self, variables: usize, parameters: usize) -> Result<ComponentModel> {
        let SavedComponent { name, factor, formula, variables: columns, parameters: params } = self;
        let formula = Program::try_from(formula)?;
        Fit::expect("variables of a component", columns.len(), formula.columns.len())?;
        Fit::expect("parameters of a component", params.len(), formula.params.len())?;
        let place = format_args!("the component `{name}` of the saved fit");
        columns.iter().try_for_each(|&k| check_index(place, "variable", k, variables))?;
        params.iter().try_for_each(|&k| check_index(place, "parameter", k, parameters))?;
        let formula = Expression(formula);
        Ok(ComponentModel { name, factor, formula, columns, params })
    }
}

impl SavedCovariance {
    /// Checks the covariance of `p` parameters. If `part` is given, they are the parameters of one set of a joint fit,
    /// and the columns of the matrices belong to directions of all parameters of the joint fit.
    fn checked(self, p: usize, part: Option<SetOfMany>) -> Result<Covariance> {
        Fit::expect("errors", self.errors.len(), p)?;
        Fit::expect("units", self.units.len(), p)?;
        let undetermined = if part.is_some() { 0 } else { self.null.width() };
        let own = self.rank.saturating_add(undetermined);
        Fit::expect("directions of the covariance", own.max(p), p)?;
        // The matrices of one set have only the columns in which its rows have entries; their number can differ from
        // `rank`.
        let determined = self.half.width();
        if part.is_none() {
            Fit::expect("columns of `half`", determined, self.rank)?;
        }
        Fit::expect("columns of `unscaled`", self.unscaled.width(), determined)?;
        let half = self.half.checked("half", p)?;
        let unscaled = self.unscaled.checked("unscaled", p)?;
        let null = self.null.checked("null", p)?;
        for &(index, _) in self.weak.iter().flat_map(|direction| &direction.parts) {
            check_index("a weak direction of the saved fit", "parameter", index, p)?;
        }
        let matrices = OnceLock::new();
        Ok(move_fields!(Covariance { half, unscaled, null, matrices, } from self {
            errors, units, rank, condition, weak
        }))
    }
}

fn by_rows(matrix: &DMatrix<f64>) -> Vec<f64> {
    matrix.transpose().as_slice().to_vec()
}

/// Checks the length of `values` and returns the matrix.
fn from_rows(
    rows: usize,
    columns: usize,
    values: &[f64],
    what: &'static str,
) -> Result<DMatrix<f64>> {
    Fit::expect(what, values.len(), rows.saturating_mul(columns))?;
    Ok(DMatrix::from_row_slice(rows, columns, values))
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

    /// Returns the number of columns, including those of blocks.
    fn width(&self) -> usize {
        let own = self.blocks.iter().map(|block| block.columns);
        own.fold(self.columns, usize::saturating_add)
    }

    /// Checks the matrix `what`, which must have this number of `rows`.
    fn checked(self, what: &'static str, rows: usize) -> Result<BlockMatrix> {
        Fit::expect(what, self.rows, rows)?;
        let common = from_rows(rows, self.columns, &self.values, what)?;
        let mut taken = vec![false; rows];
        let block = |SavedBlock { rows: own, columns, values }: SavedBlock| -> Result<Block> {
            for &k in &own {
                check_index("a block of the saved fit", "parameter", k, rows)?;
                if std::mem::replace(&mut taken[k], true) {
                    let message = format!("parameter {k} is in two blocks of `{what}`");
                    return Err(Fit::malformed(message));
                }
            }
            // The number of columns (directions) is at most the number of rows (parameters) of the block.
            if columns > own.len() {
                let rows = own.len();
                let message = format!("a block of `{what}` has {columns} columns in {rows} rows");
                return Err(Fit::malformed(message));
            }
            let values = from_rows(own.len(), columns, &values, what)?;
            Ok(Block { rows: own, values })
        };
        let blocks = self.blocks.into_iter().map(block).collect::<Result<_>>()?;
        Ok(BlockMatrix::of(common, blocks))
    }
}
