//! Expected normal equations of a fit with errors in x: the average over points that scatter about the curve.
//!
//! Each point of a sample is replaced by the closest point of the curve, and then displaced along x and y by √variance
//! times its errors. The average over normal displacements uses the cubature rule of Stroud and Secrest (Math. Comp.
//! 17, 1963), which is exact for polynomials of degree 5. The nodes of the rule for D displacements are the point
//! itself, 2D points on the axes and 2D(D − 1) points between the axes.

use super::Cpu;
use super::in_row_units;
use crate::data::Data;
use crate::data::points::Points;
use crate::data::sigma::Sigma;
use crate::data::values::Values;
use crate::data::x_sigma::XSigma;
use crate::normal::Normal;
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::Fault;

/// Sample of points of the curve: columns of x, values, and the errors of both.
#[derive(Default)]
struct Sample {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    sigma: Vec<f64>,
    x_sigma: Vec<Vec<f64>>,
}

impl Cpu<'_> {
    /// Implements [`Evaluator::expected_normal`].
    pub(super) fn expected_of_sample(
        &mut self,
        (params, variance): (&[f64], f64),
        columns: &[f64],
        out: &mut Normal,
    ) -> Result<(), Fault> {
        out.products.fill(0.0);
        if self.points.x_sigma.is_exact() {
            return Ok(());
        }
        let sample = self.sample_of_curve(params)?;
        let (count, deviation) = (sample.y.len(), variance.sqrt());
        if count == 0 || deviation == 0.0 {
            return Ok(());
        }
        let unit = self.points.units.row;
        let loss = in_row_units(self.loss, 1.0 / unit);
        let mut of_node = Normal::zero(out.n);
        for (weight, node) in nodes(sample.x_sigma.len() + 1) {
            let moved = |(values, errors): (&Vec<f64>, &Vec<f64>), by: f64| -> Vec<f64> {
                values.iter().zip(errors).map(|(v, e)| v + deviation * by * e).collect()
            };
            let x = sample.x.iter().zip(&sample.x_sigma).zip(&node);
            let x: Vec<Vec<f64>> = x.map(|(column, by)| moved(column, *by)).collect();
            let y = moved((&sample.y, &sample.sigma), node[x.len()]);
            let points = sample.displaced(&x, &y).map_err(Fault::Points)?;
            let mut cpu = Cpu::new(self.model, &points, loss, params);
            if self.alone {
                cpu = cpu.on_one_thread();
            }
            cpu.normal(params, columns, &mut of_node)?;
            let part = unit / points.units.row;
            let factor = weight * part * part * self.points.used as f64 / count as f64;
            let products = out.products.iter_mut().zip(&of_node.products);
            products.for_each(|(sum, product)| *sum += factor * product);
        }
        Ok(())
    }

    /// Returns the closest points of the curve to the points of the sample.
    fn sample_of_curve(&mut self, params: &[f64]) -> Result<Sample, Fault> {
        let variables = self.points.columns.len();
        let mut sample = Sample {
            x: vec![Vec::new(); variables],
            x_sigma: vec![Vec::new(); variables],
            ..Sample::default()
        };
        let mut picks = Vec::new();
        self.pick(&mut picks);
        let points = self.points;
        for &i in &picks {
            sample.sigma.push(points.units.row / points.weight(i));
            for (c, errors) in sample.x_sigma.iter_mut().enumerate() {
                errors.push(points.x_sigma.at(c, i));
            }
        }
        // If x has errors, the inputs of a block are the closest points.
        let done = self.values_of_blocks(params, &picks, |values, points| {
            sample.y.extend(values);
            for (x, column) in sample.x.iter_mut().zip(points.inputs.columns) {
                x.extend((0..values.len()).map(|i| column.at(i)));
            }
        });
        done.map(|()| sample)
    }
}

impl Sample {
    /// Returns the sample with other values of x and y.
    fn displaced<'s>(
        &'s self,
        x: &'s [Vec<f64>],
        y: &'s [f64],
    ) -> crate::error::Result<Points<'s>> {
        let columns: Vec<&[f64]> = x.iter().map(Vec::as_slice).collect();
        let errors = self.x_sigma.iter().map(|errors| Values::F64(errors)).collect();
        let data = Data::new(columns, y)?.sigma(Sigma::Absolute(&self.sigma))?;
        Points::validate(&Data { x_sigma: XSigma::of(errors), infinite_x: true, ..data })
    }
}

/// Returns the weights and nodes of the cubature rule for `dimensions` displacements, in standard deviations.
fn nodes(dimensions: usize) -> Vec<(f64, Vec<f64>)> {
    let d = dimensions as f64;
    let mut nodes = vec![(2.0 / (d + 2.0), vec![0.0; dimensions])];
    let (far, near) = ((d + 2.0).sqrt(), (0.5 * (d + 2.0)).sqrt());
    let (axis, between) = ((4.0 - d) / (2.0 * (d + 2.0).powi(2)), (d + 2.0).powi(-2));
    for i in 0..dimensions {
        for side in [1.0, -1.0] {
            let mut node = vec![0.0; dimensions];
            node[i] = side * far;
            nodes.push((axis, node));
            for j in 0..i {
                for other in [1.0, -1.0] {
                    let mut node = vec![0.0; dimensions];
                    (node[i], node[j]) = (side * near, other * near);
                    nodes.push((between, node));
                }
            }
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::nodes;

    /// Tests the moments of independent standard normal variables: 1, 0, 1, 0, 3, 0 for the orders 0 to 5.
    #[test]
    fn moments_up_to_order_5_are_exact() {
        let moment = [1.0, 0.0, 1.0, 0.0, 3.0, 0.0];
        for dimensions in 1..5 {
            let all = nodes(dimensions);
            for a in 0..6 {
                for b in 0..6 - a {
                    let (first, last) = (a as i32, b as i32);
                    let term = |(weight, node): &(f64, Vec<f64>)| {
                        weight * node[0].powi(first) * node[dimensions - 1].powi(last)
                    };
                    let found: f64 = all.iter().map(term).sum();
                    let expected =
                        if dimensions == 1 { moment[a + b] } else { moment[a] * moment[b] };
                    assert!((found - expected).abs() < 1e-12, "{dimensions}: {a} {b}: {found}");
                }
            }
        }
    }
}
