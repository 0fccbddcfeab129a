//! Setter methods for structs of options. These structs may get more fields, therefore callers cannot create them by
//! struct literals.

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
