//! Names that a text keeps for numbers.

/// What to say besides where `name` is taken for a parameter that the model does not have: in a formula
/// it may be a constant.
pub(crate) fn taken_name(name: &str) -> &'static str {
    match name {
        "e" => "; in a text `e` is the number 2.718…: rename the parameter",
        "pi" => "; in a text `pi` is the number 3.141…: rename the parameter",
        _ => "",
    }
}
