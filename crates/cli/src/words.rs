//! Names that were meant: the nearest of those that there are, and lists that stay short.

pub(crate) use dualfit::shared::nearest;

/// ` (did you mean "time"?)`, or nothing.
pub(crate) fn did_you_mean<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(asked, known).map_or_else(String::new, |name| format!(" (did you mean \"{name}\"?)"))
}

/// The names with commas between them, the first twenty if there are more.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let names: Vec<&str> = names.into_iter().collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(MOST)].join(", "))
}

/// `1 point`, `2 points`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
