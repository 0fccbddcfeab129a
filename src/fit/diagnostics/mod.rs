//! Diagnostics of residuals: influential points, outliers, and patterns in their sequence.

pub(crate) mod sequence;

use super::Fit;
use super::covariance::norm;
use crate::data::Data;
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::math::bits::ascending;
use sequence::{RunsTest, durbin_watson, median_size, moments, runs_test};

/// Minimum leverage at which a residual carries no information, because the curve passes through the point.
const FULL: f64 = 1.0 - 1e-10;
/// Ratio of the standard deviation of normal errors to their median absolute value, 1/Φ⁻¹(3/4).
const NORMAL_MAD: f64 = 1.482_602_218_505_602;

/// Diagnostics of the residuals of a fit. Arrays have one value per given point; NaN at points that were
/// masked, missing or without weight.
///
/// Definitions: Cook and Weisberg, Residuals and Influence in Regression, 1982, sections 2.2 and 3.1. J is the weighted
/// Jacobian, hᵢ the diagonal of J(JᵀJ)⁻¹Jᵀ, rᵢ the weighted residual, s the residual standard error, or 1 if sigma is
/// absolute or y are counts, and k the [`rank`](Fit::rank).
///
/// For counts, rᵢ is Pearson's residual (y − f)/√f. For correlated data, rᵢ is an entry of L⁻¹(y − f), which belongs to
/// a combination of points. If x has errors, rᵢ is the distance from the curve ([`Data::x_sigma`]). Under a robust loss
/// leverages are not defined: `standardized` is r/s, and quantities that need hᵢ are NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// y − f, observation minus model, in the units of y.
    pub residuals: Vec<f64>,
    /// Internally studentised residuals rᵢ/(s√(1 − hᵢ)): variance 1 if the model is right. NaN if hᵢ is 1.
    pub standardized: Vec<f64>,
    /// Externally studentised residuals, with s from a fit without the point. They follow Student's t with one degree
    /// of freedom less than the fit. If errors are absolute they equal `standardized`.
    pub studentized: Vec<f64>,
    /// Leverages hᵢ, from 0 to 1: the derivative of the fitted value at a point with respect to y there. The sum is k.
    pub leverage: Vec<f64>,
    /// Cook's distance tᵢ² hᵢ/((1 − hᵢ)k), with the standardised residual tᵢ: the change of all fitted values if the
    /// point is left out. Values above 1 are large.
    pub cooks_distance: Vec<f64>,
    /// Used points in the order in which sequences are tested: sorted by x if there is one column, else as given.
    pub order: Vec<usize>,
    /// Test whether the signs of the residuals in this order change as often as random signs.
    pub runs: RunsTest,
    /// Durbin and Watson's Σ(rᵢ − rᵢ₋₁)²/Σrᵢ² in this order: about 2 for independent residuals, towards 0
    /// if neighbours are similar, towards 4 if their signs alternate.
    pub durbin_watson: f64,
    /// Skewness of the standardised residuals, 0 for normal errors, with a standard error of about √(6/n).
    pub skewness: f64,
    /// Robust standard deviation of rᵢ, 1.4826 median|rᵢ|: it changes little even if nearly half of the points are
    /// outliers. Its unit is the unit of y if sigma is unknown, else the given sigma. The recommended `scale` of a
    /// robust [`Loss`](crate::Loss) is 1.345 times this value for Huber, 4.685 times for Tukey.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, Loss};
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let mut y: Vec<f64> = x.iter().map(|x| 2.0 * x + 0.1 * (90.0 * x).sin()).collect();
    /// # y[20] += 30.0;
    /// let line = CurveFit::new(|x, [a, b]| a * x + b);
    /// let first = line.clone().loss(Loss::SoftL1 { scale: 1e-3 }).fit(Data::new(&x, &y)?, [1.0, 0.0])?;
    /// let sigma = first.diagnostics(Data::new(&x, &y)?)?.robust_scale;
    /// assert!((0.05..0.15).contains(&sigma));
    /// let fit = line.loss(Loss::Tukey { scale: 4.685 * sigma }).fit(Data::new(&x, &y)?, first.params())?;
    /// assert!((fit.params()[0] - 2.0).abs() < 0.05);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub robust_scale: f64,
    /// Excess kurtosis of the standardised residuals, 0 for normal errors, with a standard error of about
    /// √(24/n).
    pub excess_kurtosis: f64,
}

impl Fit {
    /// Computes diagnostics of the model and of single points from the residuals at the fitted `data`.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// let mut y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.01 * (90.0 * x).sin()).collect();
    /// y[20] += 0.2;
    /// let fit = dualfit::curve_fit(|x, [a, b]| a * (-b * x).exp(), &x, &y, [1.0, 1.0])?;
    /// let found = fit.diagnostics(dualfit::Data::new(&x, &y)?)?;
    /// assert!(found.studentized[20].abs() > 10.0);
    /// assert!((found.leverage.iter().sum::<f64>() - 2.0).abs() < 1e-9);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UncertaintyError::OtherFit`] if the number of used points differs from the fit,
    /// and the errors of [`predict`](Fit::predict), and of [`CurveFit::fit`](crate::CurveFit::fit) for the data.
    pub fn diagnostics<'a>(&self, data: impl Into<Data<'a>>) -> Result<Diagnostics> {
        self.check_model()?;
        let data = data.into();
        self.model.expect_columns(data.columns.len())?;
        let mut points = Points::validate(&data)?;
        if self.estimator == Estimator::Poisson {
            points.count_events()?;
        }
        let fitted = self.part.map_or(self.points, |part| part.points);
        if points.used != fitted {
            let (found, expected) = (fitted.to_string(), points.used.to_string());
            let what = "the number of points that count";
            return Err(UncertaintyError::OtherFit { what, found, expected }.into());
        }
        let rows = self.rows(&points)?;
        Ok(self.judged(&points, &rows))
    }

    /// Computes the residual, the weighted residual and the leverage of every point.
    fn rows(&self, points: &Points<'_>) -> Result<Vec<(f64, f64, f64)>> {
        let unscaled = &self.covariance.unscaled;
        // The row unit (power of two that multiplies weighted residuals) can differ between a set and its joint fit.
        let factor = self.row_unit / points.units.row;
        if let Some(closest) = self.closest_of(points)? {
            let fitted = self.predict(points.columns.to_vec())?;
            let columns: Vec<Values<'_>> = closest.x.iter().map(|x| Values::F64(x)).collect();
            return self.linearised(&self.model, &columns, points.len(), |i, _, gradient| {
                let root = factor * closest.factor[i] * norm(&unscaled.along(gradient));
                (points.y.at(i) - fitted[i], -factor * closest.distance[i], root * root)
            });
        }
        let Some(correlation) = &points.correlation else {
            return self.linearised(
                &self.model,
                &points.columns,
                points.len(),
                |i, value, gradient| {
                    let residual = points.y.at(i) - value;
                    let weight = match self.estimator {
                        Estimator::Poisson => 1.0 / value.sqrt(),
                        Estimator::LeastSquares => factor * points.weight(i),
                    };
                    let root = weight * norm(&unscaled.along(gradient));
                    (residual, residual * weight, root * root)
                },
            );
        };
        // For correlated data, each row of L⁻¹J depends on all points.
        let unit = self.row_unit;
        let all =
            self.linearised(&self.model, &points.columns, points.len(), |i, value, gradient| {
                let residual = points.y.at(i) - value;
                let along = unscaled.along(gradient).into_iter().map(|v| v * unit);
                (residual, along.collect::<Vec<f64>>())
            })?;
        let whitened = |of: &dyn Fn(usize) -> f64| {
            let mut column: Vec<f64> = correlation.index.iter().map(|&i| of(i)).collect();
            correlation.whiten(&mut column);
            column
        };
        let residuals = whitened(&|i| all[i].0 * unit);
        let mut leverage = vec![0.0; residuals.len()];
        for c in 0..unscaled.ncols() {
            let column = whitened(&|i| all[i].1[c]);
            leverage.iter_mut().zip(column).for_each(|(h, v)| *h += v * v);
        }
        let mut rows: Vec<(f64, f64, f64)> =
            all.iter().map(|(residual, _)| (*residual, f64::NAN, f64::NAN)).collect();
        for (place, &i) in correlation.index.iter().enumerate() {
            rows[i] = (rows[i].0, residuals[place], leverage[place]);
        }
        Ok(rows)
    }

    fn judged(&self, points: &Points<'_>, rows: &[(f64, f64, f64)]) -> Diagnostics {
        let n = points.len();
        let nan = || vec![f64::NAN; n];
        let (mut residuals, mut standardized, mut studentized) = (nan(), nan(), nan());
        let (mut leverage, mut cooks_distance, mut weighted) = (nan(), nan(), nan());
        let dof = self.degrees_of_freedom() as f64;
        let scale = if self.scaled { (2.0 * self.cost / dof).sqrt() } else { self.row_unit };
        let robust = self.loss.scale().is_some();
        let mut order: Vec<usize> = points.kept().collect();
        for &i in &order {
            let (residual, row, h) = rows[i];
            (residuals[i], weighted[i]) = (residual, row);
            if robust {
                standardized[i] = row / scale;
                continue;
            }
            leverage[i] = h.min(1.0);
            if h >= FULL {
                continue;
            }
            let t = row / (scale * (1.0 - h).sqrt());
            standardized[i] = t;
            studentized[i] = match self.scaled {
                true => t * ((dof - 1.0) / (dof - t * t)).sqrt(),
                false => t,
            };
            cooks_distance[i] = t * t * h / ((1.0 - h) * self.fitted_rank() as f64);
        }
        if let [column] = &points.columns[..] {
            let x: Vec<f64> = order.iter().map(|&i| column.at(i)).collect();
            order = ascending(&x).into_iter().map(|place| order[place]).collect();
        }
        let sequence: Vec<f64> = order.iter().map(|&i| weighted[i]).collect();
        let judged: Vec<f64> = standardized.iter().copied().filter(|t| t.is_finite()).collect();
        let (skewness, excess_kurtosis) = moments(&judged);
        Diagnostics {
            residuals,
            standardized,
            studentized,
            leverage,
            cooks_distance,
            runs: runs_test(&sequence),
            durbin_watson: durbin_watson(&sequence),
            order,
            robust_scale: NORMAL_MAD * median_size(&sequence) / self.row_unit,
            skewness,
            excess_kurtosis,
        }
    }
}
