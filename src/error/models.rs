//! What can be wrong with a model that was put together from models of the library.

/// Why a composite model makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Two parts of a composite have a parameter, or a derived quantity, of the same name.
    #[error(
        "the name `{name}` belongs to both {first} and {second}; tell them apart by prefixes: {first}(\"a_\") and {second}(\"b_\")"
    )]
    SharedName {
        /// The parameter or derived quantity.
        name: String,
        /// The first model that has it.
        first: String,
        /// The other model that has it.
        second: String,
    },
    /// With its prefix a parameter has no name that a formula may contain.
    #[error(
        "the parameter `{name}` of {model} has no valid name; use prefixes of letters, digits and _, a letter first, that do not make it a variable, `pi` or `e`"
    )]
    BadName {
        /// The name with its prefix.
        name: String,
        /// The model.
        model: String,
    },
    /// There is no model of that name.
    #[error(
        "there is no model `{name}`{}; models::names() lists those that there are",
        likely(nearest)
    )]
    Unknown {
        /// The name asked for.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<&'static str>,
    },
    /// Only a model of one variable can take the value of another in its place.
    #[error(
        "{outer} has {variables} independent variables; only a model of one can be nested by `of`"
    )]
    NotNestable {
        /// The outer model.
        outer: String,
        /// Its independent variables.
        variables: usize,
    },
    /// A number of a composite is NaN or infinite.
    #[error("a model is combined with the number {value}; give a finite number")]
    NotFinite {
        /// The number.
        value: f64,
    },
    /// Models nested in each other too often, or a formula that would be too long to be read.
    #[error("the composite's formula would be {what}; at most {most} are possible")]
    TooLarge {
        /// What it would be, with the number.
        what: String,
        /// What is possible.
        most: usize,
    },
}

fn likely(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
