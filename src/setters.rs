//! Setter methods for structs of options. These structs may get more fields, therefore callers cannot create them by
//! struct literals.

use std::ops::{Bound, RangeBounds};

/// Defines one method per field, with the field's name: `Options::default().ftol(1e-8).max_evaluations(50)`. For an
/// `Option`, the method also accepts the plain value.
macro_rules! setters {
    ($type:ident { $($field:ident: $kind:ty),+ $(,)? }) => {
        impl $type {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: impl Into<$kind>) -> $type {
                    self.$field = $field.into();
                    self
                }
            )+
        }
    };
}

pub(crate) use setters;

/// Returns the ends of a range; excluded ends count as included, and unbounded ends are ±∞.
pub(crate) fn ends(range: &impl RangeBounds<f64>) -> (f64, f64) {
    let end = |bound: Bound<&f64>, open: f64| match bound {
        Bound::Included(&v) | Bound::Excluded(&v) => v,
        Bound::Unbounded => open,
    };
    (end(range.start_bound(), f64::NEG_INFINITY), end(range.end_bound(), f64::INFINITY))
}
