//! What can be wrong with the layout of an array.

/// An array whose numbers do not lie side by side, in order. Data are borrowed, so they cannot be read
/// from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an array of shape {shape:?} has strides {strides:?}, but data must lie side by side in memory; give `array.as_standard_layout()` instead, which copies it if need be"
)]
pub struct LayoutError {
    /// Numbers along each axis.
    pub shape: Vec<usize>,
    /// Steps from one number to the next along each axis.
    pub strides: Vec<isize>,
}
