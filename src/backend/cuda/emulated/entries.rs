//! Search for the kernels in a source text: functions that are declared `extern "C" __global__`.

/// A kernel and its launch bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Argument of `__launch_bounds__`, `0` without one.
    pub(super) bound: String,
}

/// Beginning of every kernel.
pub(super) const MARK: &str = "extern \"C\" __global__";
const BOUNDS: &str = "__launch_bounds__";

/// Returns the kernels of `source` in their order; comments are ignored.
pub(super) fn entries(source: &str) -> Vec<Entry> {
    let text = without_comments(source);
    text.split(MARK).skip(1).filter_map(entry).collect()
}

/// Reads `void __launch_bounds__(128) name(`, the bounds anywhere before the name or not at all.
fn entry(mut text: &str) -> Option<Entry> {
    let mut bound = "0".to_owned();
    loop {
        text = text.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        if word.is_empty() {
            return None;
        }
        text = rest.trim_start();
        if word == BOUNDS {
            let end = closing(text)?;
            bound = text[1..end].to_owned();
            text = &text[end + 1..];
        } else if text.starts_with('(') {
            return Some(Entry { name: word.to_owned(), bound });
        }
    }
}

/// Returns the position of the bracket that closes the first bracket of `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return (at > 0).then_some(at);
        }
    }
    None
}

fn without_comments(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find('/') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else {
            text.push('/');
            1
        };
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

#[test]
fn kernels_are_found_with_their_bounds() {
    let text = r#"
        // extern "C" __global__ void no(int)
        /* extern "C" __global__ void neither() */
        extern "C" __global__ void plain(int a) { a / 2; }
        extern "C" __global__ void __launch_bounds__(THREADS) bounded(Data data);
        extern "C" __global__ __launch_bounds__((2 + 2) * 32, 4) void both (
            const double* x);
    "#;
    let found: Vec<(String, String)> =
        entries(text).into_iter().map(|e| (e.name, e.bound)).collect();
    let expected = [("plain", "0"), ("bounded", "THREADS"), ("both", "(2 + 2) * 32, 4")];
    assert_eq!(found, expected.map(|(n, b)| (n.to_owned(), b.to_owned())));
}
