//! Methods that set the fields of a struct of options, which may have more fields one day and so cannot be
//! written out by callers.

/// One method per field, of its name: `Options::default().ftol(1e-8).max_evaluations(50)`. An `Option` takes
/// the value itself, too.
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
