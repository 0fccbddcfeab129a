//! A second implementation of the cost of a case: costs, residuals and partials in 106 bits,
//! without code of the crate.

use crate::converged::dd::Dd;
use crate::converged::models::{Kind, Tie};
use dualfit::Loss;

/// An expectation below which rows of counts are scaled by this one.
const DARKEST: f64 = 1e-60;

/// A cost as a function of the free parameters: all but the last, if that is tied.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    pub(crate) tie: Option<Tie>,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// One over sigma, of each point.
    pub(crate) weights: Vec<Dd>,
    pub(crate) aim: Aim,
    /// Of each free parameter.
    pub(crate) bounds: Vec<(f64, f64)>,
}

/// Kind of cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Aim {
    Squares(Loss),
    Counts,
}

/// The problem at some parameters. Rows are scaled so that the gradient is the sum over `pull * row *
/// slopes`, and the Gauss-Newton matrix that over `pull * slopes * slopesᵀ`.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) cost: Dd,
    /// Weighted residuals; (f − y)/√f of counts.
    pub(crate) rows: Vec<Dd>,
    /// Weight of each row, between 0 and 1.
    pub(crate) pull: Vec<f64>,
    /// n × m, row-major, in the units of the rows.
    pub(crate) slopes: Vec<Dd>,
    /// By how much rounding in 53 bits may change each row.
    pub(crate) rounding: Vec<f64>,
}

impl Problem {
    pub(crate) fn free(&self) -> usize {
        self.kind.params() - usize::from(self.tie.is_some())
    }

    /// The cost; infinite where it has none.
    pub(crate) fn cost(&self, q: &[Dd]) -> Dd {
        self.look(q, None)
    }

    pub(crate) fn see(&self, q: &[Dd]) -> Seen {
        let n = self.x.len();
        let mut seen = Seen {
            cost: Dd::ZERO,
            rows: Vec::with_capacity(n),
            pull: Vec::with_capacity(n),
            slopes: Vec::with_capacity(n * self.free()),
            rounding: Vec::with_capacity(n),
        };
        seen.cost = self.look(q, Some(&mut seen));
        seen
    }

    fn look(&self, q: &[Dd], mut into: Option<&mut Seen>) -> Dd {
        let m = self.free();
        let mut p = q.to_vec();
        let mut chain = [Dd::ZERO; 2];
        if let Some(tie) = self.tie {
            let (value, slopes) = tie.value(q[0], q[1]);
            p.push(value);
            chain = slopes;
        }
        let mut slopes = [Dd::ZERO; 4];
        let mut cost = Dd::ZERO;
        for i in 0..self.x.len() {
            let f = self.kind.value(self.x[i], &p, &mut slopes);
            if self.tie.is_some() {
                let last = slopes[m];
                slopes[0] += last * chain[0];
                slopes[1] += last * chain[1];
            }
            let y = Dd::from(self.y[i]);
            let (part, row, unit, pull) = match self.aim {
                Aim::Squares(loss) => {
                    let row = (f - y) * self.weights[i];
                    let (part, pull) = lost(loss, row);
                    (part, row, self.weights[i], pull)
                }
                Aim::Counts => {
                    let Some(part) = half_deviance(f, y) else {
                        return Dd::from(f64::INFINITY);
                    };
                    let unit = Dd::ONE / Dd::from(f.f64().max(DARKEST).sqrt());
                    (part, (f - y) * unit, unit, 1.0)
                }
            };
            cost += part;
            if let Some(seen) = into.as_deref_mut() {
                let moved = |(q, slope): (&Dd, &Dd)| (*q * *slope).f64().abs();
                let parts: f64 = q.iter().zip(&slopes).map(moved).sum();
                let size = f.f64().abs() + self.y[i].abs() + parts;
                seen.rounding.push(f64::EPSILON * size * unit.f64());
                seen.rows.push(row);
                seen.pull.push(pull);
                seen.slopes.extend(slopes[..m].iter().map(|&slope| slope * unit));
            }
        }
        if cost.is_finite() { cost } else { Dd::from(f64::INFINITY) }
    }

    /// Within the bounds.
    pub(crate) fn clamp(&self, q: &mut [Dd]) {
        for (q, &(lower, upper)) in q.iter_mut().zip(&self.bounds) {
            if *q < Dd::from(lower) {
                *q = Dd::from(lower);
            }
            if *q > Dd::from(upper) {
                *q = Dd::from(upper);
            }
        }
    }

    /// Ratio of the largest weight to the smallest.
    pub(crate) fn spread(&self) -> f64 {
        let weights = || self.weights.iter().map(|w| w.f64());
        weights().fold(0.0, f64::max) / weights().fold(f64::INFINITY, f64::min)
    }
}

impl Seen {
    pub(crate) fn gradient(&self, m: usize) -> Vec<Dd> {
        let mut gradient = vec![Dd::ZERO; m];
        for (i, (&row, &pull)) in self.rows.iter().zip(&self.pull).enumerate() {
            let force = row * Dd::from(pull);
            for (sum, &slope) in gradient.iter_mut().zip(&self.slopes[i * m..]) {
                *sum += force * slope;
            }
        }
        gradient
    }
}

/// ½ C² ρ((r/C)²) and ρ' of a residual.
fn lost(loss: Loss, r: Dd) -> (Dd, f64) {
    let half = Dd::from(0.5);
    let Some(scale) = loss.scale() else { return (half * r.squared(), 1.0) };
    let scale = Dd::from(scale);
    let z = (r / scale).squared();
    let s = z.f64();
    let one = Dd::ONE;
    let (rho, pull) = match loss {
        Loss::Linear => (z, 1.0),
        Loss::SoftL1 { .. } => {
            let root = (one + z).sqrt();
            ((z + z) / (one + root), 1.0 / root.f64())
        }
        Loss::Huber { .. } if s <= 1.0 => (z, 1.0),
        Loss::Huber { .. } => (z.sqrt() + z.sqrt() - one, 1.0 / s.sqrt()),
        Loss::Cauchy { .. } => ((one + z).ln(), 1.0 / (1.0 + s)),
        Loss::Arctan { .. } => (z.atan(), 1.0 / (1.0 + s * s)),
        Loss::Tukey { .. } if s < 1.0 => {
            let rest = one - z;
            ((one - rest.squared() * rest) / Dd::from(3.0), (1.0 - s) * (1.0 - s))
        }
        Loss::Tukey { .. } => (one / Dd::from(3.0), 0.0),
        other => panic!("a new loss: {other:?}"),
    };
    (half * scale.squared() * rho, pull)
}

/// f − y + y ln(y/f), where that is.
fn half_deviance(f: Dd, y: Dd) -> Option<Dd> {
    match (f > Dd::ZERO, y > Dd::ZERO) {
        (true, true) => Some(f - y + y * (y / f).ln()),
        (_, false) if f >= Dd::ZERO => Some(f),
        _ => None,
    }
}

#[test]
fn partials_are_those_of_differences() {
    use crate::converged::models::KINDS;
    let h = Dd::from(1e-12);
    for kind in KINDS {
        let p: Vec<Dd> = [1.3, 0.7, 2.1, 0.4][..kind.params()].iter().map(|&v| v.into()).collect();
        let (mut slopes, mut none) = ([Dd::ZERO; 4], [Dd::ZERO; 4]);
        for x in [0.0, 0.3, 1.7, 4.0] {
            kind.value(x, &p, &mut slopes);
            for j in 0..p.len() {
                let at = |step: Dd, none: &mut [Dd]| {
                    let mut q = p.clone();
                    q[j] += step;
                    kind.value(x, &q, none)
                };
                let slope = (at(h, &mut none) - at(-h, &mut none)) / (h + h);
                let apart = (slope - slopes[j]).abs().f64();
                assert!(apart <= 1e-15 * (1.0 + slope.abs().f64()), "{kind:?} {x} {j} {apart:e}");
            }
        }
    }
}

#[test]
fn the_pull_of_a_loss_is_its_slope() {
    let (h, scale) = (Dd::from(1e-12), 0.7);
    for loss in [Loss::Linear].into_iter().chain(Loss::robust(scale)) {
        for r in [1e-3, 0.3, 0.69, 0.71, 2.0, 50.0] {
            let r = Dd::from(r);
            let slope = (lost(loss, r + h).0 - lost(loss, r - h).0) / (h + h);
            let pull = (r * Dd::from(lost(loss, r).1)).f64();
            assert!((slope.f64() - pull).abs() <= 1e-13 * (1.0 + pull), "{loss:?} {r:?}");
        }
    }
}
