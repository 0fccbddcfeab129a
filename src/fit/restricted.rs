//! A fit as one who knows only some of its parameters sees it.

use super::Fit;
use super::covariance::{Covariance, Direction};
use crate::model::native::Model;
use std::sync::Arc;

impl Fit {
    /// The parameters at the positions `keep`, called `names`, as those of `model`. Statistics stay.
    pub(crate) fn restricted(&self, model: Model, names: &[String], keep: &[usize]) -> Fit {
        Fit {
            model,
            names: names.to_vec(),
            start: chosen(&self.start, keep),
            params: chosen(&self.params, keep),
            fixed: chosen(&self.fixed, keep),
            bounds: chosen(&self.bounds, keep),
            at_bound: chosen(&self.at_bound, keep),
            covariance: self.covariance.restricted(keep),
            ties: Arc::default(),
            derived: Vec::new(),
            ..self.clone()
        }
    }
}

impl Covariance {
    /// Of the parameters at the positions `keep`; rank and condition stay those of all.
    fn restricted(&self, keep: &[usize]) -> Covariance {
        let direction = |direction: &Direction| {
            let own =
                |&(k, change): &(usize, f64)| Some((keep.iter().position(|&i| i == k)?, change));
            let parts: Vec<(usize, f64)> = direction.parts.iter().filter_map(own).collect();
            let undetermined = direction.undetermined;
            (!parts.is_empty()).then_some(Direction { parts, undetermined })
        };
        Covariance {
            matrix: self.matrix.select_rows(keep).select_columns(keep),
            correlation: self.correlation.select_rows(keep).select_columns(keep),
            errors: chosen(&self.errors, keep),
            half: self.half.select_rows(keep),
            unscaled: self.unscaled.select_rows(keep),
            null: self.null.select_rows(keep),
            units: chosen(&self.units, keep),
            rank: self.rank,
            condition: self.condition,
            weak: self.weak.iter().filter_map(direction).collect(),
        }
    }
}

fn chosen<T: Clone>(all: &[T], keep: &[usize]) -> Vec<T> {
    keep.iter().map(|&i| all[i].clone()).collect()
}
