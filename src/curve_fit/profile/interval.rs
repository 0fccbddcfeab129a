//! Where a profile reaches a level.

use super::{Profile, neville};

/// Why an interval ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfileEnd {
    /// The profile reaches the level there.
    Found,
    /// The parameter's bound comes first; the end is the bound.
    Bound,
    /// The profile flattens out below the level: what it gains becomes less and less over ever longer
    /// steps. The data set no limit on this side, and the end is −∞ or ∞.
    Open,
    /// Refits failed before the level was reached: the model is not finite there, or they did not
    /// converge. The end is NaN.
    Failed,
}

/// The interval of a parameter by its profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileInterval {
    /// The lower end; −∞ if it is open, NaN if refits failed.
    pub lower: f64,
    /// The upper end; ∞ if it is open, NaN if refits failed.
    pub upper: f64,
    /// What the lower end is.
    pub lower_end: ProfileEnd,
    /// What the upper end is.
    pub upper_end: ProfileEnd,
}

impl Profile {
    /// The first value on a side where the excess is `excess`.
    pub(super) fn end(&self, excess: f64, above: bool) -> (f64, ProfileEnd) {
        let outwards: Vec<usize> = match above {
            true => (self.best..self.nodes.len()).collect(),
            false => (0..=self.best).rev().collect(),
        };
        let crossing = outwards.windows(2).find(|pair| self.nodes[pair[1]].excess >= excess);
        if let Some(&[inner, outer]) = crossing {
            return (self.between(inner, outer, excess), ProfileEnd::Found);
        }
        let last = outwards.last().map_or(f64::NAN, |&i| self.nodes[i].value);
        let open = if above { f64::INFINITY } else { f64::NEG_INFINITY };
        match self.ends[usize::from(above)] {
            ProfileEnd::Bound => (last, ProfileEnd::Bound),
            ProfileEnd::Open => (open, ProfileEnd::Open),
            ProfileEnd::Found | ProfileEnd::Failed => (f64::NAN, ProfileEnd::Failed),
        }
    }

    /// Between two neighbouring nodes, by bisection of what is interpolated there.
    fn between(&self, inner: usize, outer: usize, excess: f64) -> f64 {
        let (mut inside, mut outside) = (self.nodes[inner].value, self.nodes[outer].value);
        let local = neville::between(&self.nodes, self.best, inner.min(outer));
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
}
