//! Quadratic models of several fits, one fit per SIMD lane. They are computed from the normal equations in the same way
//! as [`LinearModel`](crate::solver::linear_model::LinearModel) for one fit.

use super::pair;

/// Number of fits that are computed together, one per lane.
pub(crate) const ABREAST: usize = 8;

/// One number per fit.
pub(crate) type Lanes = [f64; ABREAST];

/// Quadratic models of [`ABREAST`] fits of n free parameters. Triangles are packed by columns, see [`pair`].
#[derive(Default)]
pub(crate) struct ModelsAbreast {
    /// ‖Jⱼ‖
    pub(crate) norms: Vec<Lanes>,
    /// Triangular factor of J.
    pub(crate) r: Vec<Lanes>,
    /// Qᵀr
    pub(crate) z: Vec<Lanes>,
    /// Gauss-Newton step, −R⁻¹z.
    pub(crate) step: Vec<Lanes>,
    /// Smallest squared pivot of the normal matrix scaled to a unit diagonal; 0 if there is no factor.
    pub(crate) least_pivot: Lanes,
}

impl ModelsAbreast {
    /// Computes the models from the packed products of the columns of [J r].
    #[inline(always)]
    pub(crate) fn set(&mut self, products: &[Lanes], n: usize) {
        let ModelsAbreast { norms, r, z, step, least_pivot } = self;
        for (numbers, count) in [(&mut *norms, n), (r, pair(0, n)), (z, n), (step, n)] {
            numbers.resize(count, [0.0; ABREAST]);
        }
        let noise = n as f64 * f64::EPSILON;
        *least_pivot = [1.0; ABREAST];
        for j in 0..n {
            norms[j] = each([products[pair(j, j)]], |[square]| square.sqrt());
            let (done, column) = r.split_at_mut(pair(0, j));
            for i in 0..=j {
                let scaled = [products[pair(i, j)], norms[i], norms[j]];
                let mut rest = each(scaled, |[product, a, b]| product / (a * b));
                if i < j {
                    let before = &done[pair(0, i)..];
                    for l in 0..i {
                        rest = each([rest, before[l], column[l]], |[rest, a, b]| rest - a * b);
                    }
                    column[i] = each([rest, before[i]], |[rest, pivot]| rest / pivot);
                } else {
                    let diagonal = rest;
                    for above in &column[..j] {
                        rest = each([rest, *above], |[rest, a]| rest - a * a);
                    }
                    // A NaN pivot counts as noise.
                    *least_pivot = each([*least_pivot, rest, diagonal], |[least, pivot, whole]| {
                        let sound = if pivot > noise * whole { pivot } else { 0.0 };
                        if sound < least { sound } else { least }
                    });
                    column[j] = each([rest], |[pivot]| pivot.sqrt());
                }
            }
            let mut rest = each([products[pair(j, n)], norms[j]], |[g, norm]| g / norm);
            for l in 0..j {
                rest = each([rest, column[l], z[l]], |[rest, a, b]| rest - a * b);
            }
            z[j] = each([rest, column[j]], |[rest, pivot]| rest / pivot);
        }
        step.copy_from_slice(z);
        for j in (0..n).rev() {
            let column = &mut r[pair(0, j)..][..=j];
            let x = each([step[j], column[j]], |[rest, pivot]| rest / pivot);
            for i in 0..j {
                step[i] = each([step[i], x, column[i]], |[rest, x, factor]| rest - x * factor);
            }
            step[j] = each([x, norms[j]], |[x, norm]| -x / norm);
            for number in column {
                *number = each([*number, norms[j]], |[number, norm]| number * norm);
            }
        }
    }
}

/// Computes one number per fit from N numbers of the same fit.
#[inline(always)]
fn each<const N: usize>(of: [Lanes; N], make: impl Fn([f64; N]) -> f64) -> Lanes {
    std::array::from_fn(|lane| make(std::array::from_fn(|k| of[k][lane])))
}
