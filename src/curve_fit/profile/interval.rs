//! Nodes of a profile, and ends of its intervals: values of the parameter at which the profile reaches a level, by
//! Neville's interpolation between the nodes.

/// Result of the fit with one parameter held.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct ProfileNode {
    /// Value at which the parameter was held.
    #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
    pub(super) value: f64,
    /// (S − Ŝ)/s²: S is twice the cost, Ŝ its minimum, and s² the unit that makes S comparable with χ².
    #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
    pub(super) excess: f64,
    /// Values of all parameters.
    #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
    pub(super) params: Vec<f64>,
}

impl ProfileNode {
    pub(super) fn tau(&self) -> f64 {
        self.excess.max(0.0).sqrt()
    }
}

/// Kind of an end of a profile interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ProfileEnd {
    /// The profile reaches the level at this end.
    Found,
    /// The profile does not reach the level within the parameter's bound; the end is the bound.
    Bound,
    /// The profile flattens out below the level: its increase per step becomes smaller although the steps grow. The
    /// data do not limit the parameter on this side, and the end is −∞ or ∞.
    Open,
    /// Refits failed before the level was reached, because the model was not finite or refits did not converge. The end
    /// is NaN.
    Failed,
}

/// Profile-likelihood confidence interval of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileInterval {
    /// The lower end; −∞ if it is open, NaN if refits failed.
    pub lower: f64,
    /// The upper end; ∞ if it is open, NaN if refits failed.
    pub upper: f64,
    /// Kind of the lower end.
    pub lower_end: ProfileEnd,
    /// Kind of the upper end.
    pub upper_end: ProfileEnd,
}

/// Returns the first value, above or below the best value, at which a profile reaches `excess`. `best`: index of the
/// best value; `end`: kind of the end of the whole profile on this side.
pub(super) fn interval_end(
    (nodes, best): (&[ProfileNode], usize),
    end: ProfileEnd,
    excess: f64,
    above: bool,
) -> (f64, ProfileEnd) {
    let outwards: Vec<usize> = match above {
        true => (best..nodes.len()).collect(),
        false => (0..=best).rev().collect(),
    };
    let crossing = outwards.windows(2).find(|pair| nodes[pair[1]].excess >= excess);
    if let Some(&[inner, outer]) = crossing {
        return (between((nodes, best), inner, outer, excess), ProfileEnd::Found);
    }
    let last = outwards.last().map_or(f64::NAN, |&i| nodes[i].value);
    let open = if above { f64::INFINITY } else { f64::NEG_INFINITY };
    match end {
        ProfileEnd::Bound => (last, ProfileEnd::Bound),
        ProfileEnd::Open => (open, ProfileEnd::Open),
        ProfileEnd::Found | ProfileEnd::Failed => (f64::NAN, ProfileEnd::Failed),
    }
}

/// Returns the value between two adjacent nodes at which the profile reaches `excess`, by bisection of the
/// interpolation.
fn between((nodes, best): (&[ProfileNode], usize), inner: usize, outer: usize, excess: f64) -> f64 {
    let (mut inside, mut outside) = (nodes[inner].value, nodes[outer].value);
    let local = excess_between(nodes, best, inner.min(outer));
    for _ in 0..200 {
        let middle = 0.5 * inside + 0.5 * outside;
        if middle == inside || middle == outside {
            break;
        }
        if local(middle) < excess {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    0.5 * inside + 0.5 * outside
}

/// Number of nodes of an interpolation polynomial: three on each side.
const NODES: usize = 6;
const FORMS: [Interpolated; 3] =
    [Interpolated::Ratio, Interpolated::Excess, Interpolated::Logarithms];

/// The interpolated quantity, with d the distance from the best value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interpolated {
    /// The excess divided by d², which is constant for a linear model. The relative accuracy of its interpolation is
    /// the same at all distances from the best value.
    Ratio,
    /// The excess itself, which is smooth at a bound, where its square root has a kink.
    Excess,
    /// The logarithm of the excess as a function of ln d, on one side of the best value. It is smooth on plateaus,
    /// where each step doubles d.
    Logarithms,
}

/// Adjacent nodes in one of the forms of [`Interpolated`].
struct Local {
    form: Interpolated,
    center: f64,
    side: f64,
    /// Unit of the distances.
    unit: f64,
    nodes: Vec<(f64, f64)>,
}

/// Returns the excess as a function of the parameter between the nodes `left` and `left + 1`, interpolated by the
/// polynomial through the surrounding nodes (Neville's scheme). The form with the smallest error at these two nodes
/// (see [`missed`]) is used. `best`: index of the best value.
pub(super) fn excess_between(
    nodes: &[ProfileNode],
    best: usize,
    left: usize,
) -> impl Fn(f64) -> f64 {
    let known = |form: Interpolated| {
        let local = around(nodes, best, left, left, None, form)?;
        Some((missed(nodes, best, left, form), local))
    };
    let local = FORMS.into_iter().filter_map(known).min_by(|a, b| a.0.total_cmp(&b.0));
    move |x| local.as_ref().map_or(f64::NAN, |(_, local)| local.at(x))
}

/// Returns the smallest error, among the three forms, of the interpolation of the nodes `left` and `left + 1` from
/// their neighbours.
pub(super) fn interpolation_error(nodes: &[ProfileNode], best: usize, left: usize) -> f64 {
    let each = FORMS.into_iter().map(|form| missed(nodes, best, left, form));
    each.fold(f64::INFINITY, f64::min)
}

/// Returns the larger error of the interpolation of the nodes `left` and `left + 1` from their neighbours, in this
/// form. It is ∞ if the form cannot be computed. The outermost nodes have neighbours on one side only and are not
/// tested; the best node needs no test.
fn missed(nodes: &[ProfileNode], best: usize, left: usize, form: Interpolated) -> f64 {
    let inner = |i: &usize| *i != best && *i > 0 && *i + 1 < nodes.len();
    let miss = |i: usize| {
        let local = around(nodes, best, left, i - 1, Some(i), form);
        local.map_or(f64::INFINITY, |local| (local.at(nodes[i].value) - nodes[i].excess).abs())
    };
    let worst = [left, left + 1].into_iter().filter(inner).map(miss).reduce(f64::max);
    worst.filter(|miss| !miss.is_nan()).unwrap_or(f64::INFINITY)
}

/// Returns up to [`NODES`] nodes around the interval between `place` and the node after it. The node `without` is left
/// out. `left`: first node of the interval for which the interpolation is used; it determines the side and the unit.
/// `None` if fewer than two nodes remain, if `form` is not defined in the interval, or if a number is not finite.
fn around(
    nodes: &[ProfileNode],
    best: usize,
    left: usize,
    place: usize,
    without: Option<usize>,
    form: Interpolated,
) -> Option<Local> {
    let kept: Vec<usize> = match form {
        Interpolated::Excess => (0..nodes.len()).filter(|&i| Some(i) != without).collect(),
        Interpolated::Ratio => {
            (0..nodes.len()).filter(|&i| Some(i) != without && i != best).collect()
        }
        Interpolated::Logarithms if left >= best => {
            (best + 1..nodes.len()).filter(|&i| Some(i) != without).collect()
        }
        Interpolated::Logarithms => (0..best).filter(|&i| Some(i) != without).collect(),
    };
    let outside = form == Interpolated::Logarithms && (left == best || left + 1 == best);
    if kept.len() < 2 || outside {
        return None;
    }
    let position = kept.iter().position(|&i| i >= place).unwrap_or(0);
    let first = (position + 1).saturating_sub(NODES / 2).min(kept.len().saturating_sub(NODES));
    let center = nodes[best].value;
    let distance = |i: usize| (nodes[i].value - center).abs();
    let unit = distance(left).max(distance(left + 1));
    let side = if left >= best { 1.0 } else { -1.0 };
    let mut local = Local { form, center, side, unit, nodes: Vec::with_capacity(NODES) };
    for &i in kept.iter().skip(first).take(NODES) {
        let ProfileNode { value, excess, .. } = nodes[i];
        let x = local.place(value);
        let z = match form {
            Interpolated::Ratio => excess / (x * x),
            Interpolated::Excess => excess,
            Interpolated::Logarithms => excess.ln(),
        };
        if !(x.is_finite() && z.is_finite()) {
            return None;
        }
        local.nodes.push((x, z));
    }
    Some(local)
}

impl Local {
    fn place(&self, value: f64) -> f64 {
        let distance = (value - self.center) / self.unit;
        match self.form {
            Interpolated::Logarithms => (self.side * distance).ln(),
            Interpolated::Ratio | Interpolated::Excess => distance,
        }
    }

    /// Returns the excess at a value of the parameter.
    fn at(&self, value: f64) -> f64 {
        let x = self.place(value);
        let z = self.polynomial(x);
        match self.form {
            Interpolated::Ratio => z * x * x,
            Interpolated::Excess => z,
            Interpolated::Logarithms => z.exp(),
        }
    }

    fn polynomial(&self, x: f64) -> f64 {
        let mut values: Vec<f64> = self.nodes.iter().map(|node| node.1).collect();
        let places = &self.nodes;
        for order in 1..values.len() {
            for i in 0..values.len() - order {
                let (a, b) = (places[i].0, places[i + order].0);
                let part = (x - a) / (b - a);
                values[i] = values[i] * (1.0 - part) + values[i + 1] * part;
            }
        }
        values.first().copied().unwrap_or(f64::NAN)
    }
}
