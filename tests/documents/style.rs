//! The English of comments and pages: words and beginnings of sentences that readers had to read twice are errors.

use crate::{files, root};
use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Directories and files whose comments or text are checked.
const CHECKED: [&str; 9] =
    ["README.md", "benches", "crates", "docs", "examples", "kernels", "python", "src", "tests"];
/// Directories that are skipped: build results, also those of the documentation site.
const SKIPPED: [&str; 4] = ["target", "pages", "tasks", "generated"];

/// Beginnings of doc comments that are clauses instead of nouns or verbs.
const BEGINNINGS: &str = r"^(What|Whether|Those|Where|How|Who|Whoever|Whatever)\b";
/// Words and phrases that the glossary or plain English replaces.
const WORDS: [&str; 19] = [
    "(is|are|was|were|be|been) (said|told|asked|held) (of|to|by)",
    "(is|are|was|were|be) told",
    "what (is|was|are|were|has|had)",
    "abreast",
    "(goes|go|went) by",
    "(comes|come|came) to",
    "hand(s|ed|ing)? over",
    "mend(s|ed)?",
    "whoever",
    "whatever",
    "so many",
    "at hand",
    "(goes|go|went) on",
    "had better",
    "worth",
    "rooms?",
    "twice as (long|many|much|large|fast)",
    "once more",
    "(ask(s|ed|ing)?|answer(s|ed|ing)?)",
];

/// The patterns of the rules.
struct Rules {
    beginnings: Regex,
    words: Regex,
    /// Names in backticks, which the words do not apply to.
    code: Regex,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).unwrap();
    let words = format!(r"(?i)\b({})\b", WORDS.join("|"));
    Rules { beginnings: regex(BEGINNINGS), words: regex(&words), code: regex("`[^`]*`") }
});

/// The checked files.
fn checked() -> impl Iterator<Item = PathBuf> {
    let extensions = ["rs", "cu", "cuh", "h", "py", "md"];
    CHECKED.iter().flat_map(move |path| files(&root().join(path), &extensions, &SKIPPED))
}

/// The text of a comment line, and its marker.
fn comment(line: &str, is_python: bool) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    let markers: &[&'static str] = if is_python { &["#"] } else { &["///", "//!", "//"] };
    markers.iter().find_map(|marker| Some((*marker, line.strip_prefix(marker)?.trim_start())))
}

/// Lines of a file that break a rule, as `path:line: text`.
fn violations(path: &Path, text: &str) -> Vec<String> {
    let has = |extension: &str| path.extension().is_some_and(|own| own == extension);
    let (is_page, is_python) = (has("md"), has("py"));
    let (mut previous, mut in_example) = (None, false);
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let read = if is_page { Some(("", line)) } else { comment(line, is_python) };
        let Some((marker, text)) = read else {
            (previous, in_example) = (None, false);
            continue;
        };
        let is_first = previous != Some(marker);
        previous = Some(marker);
        if text.starts_with("```") {
            in_example = !in_example;
            continue;
        }
        let is_doc = ["///", "//!"].contains(&marker);
        if in_example && (is_doc || is_page) {
            continue;
        }
        let is_clause = is_first && is_doc && RULES.beginnings.is_match(text);
        if is_clause || RULES.words.is_match(&RULES.code.replace_all(text, "")) {
            found.push(format!("{}:{}: {text}", path.display(), i + 1));
        }
    }
    found
}

/// Every file keeps the rules.
#[test]
fn comments_and_pages_are_plain_english() {
    let (mut count, mut broken) = (0, Vec::new());
    for file in checked() {
        count += 1;
        let path = file.strip_prefix(root()).unwrap();
        broken.extend(violations(path, &fs::read_to_string(&file).unwrap()));
    }
    assert!(count > 800, "only {count} files were found");
    assert!(broken.is_empty(), "see docs/glossary.md and CONTRIBUTING.md:\n{}", broken.join("\n"));
}

#[test]
fn rules_find_clauses_and_words() {
    let broken = "/// What a pass is asked.\nfn f() {}\n/// Returns x.\n// Whoever has points, mends them.\n";
    assert_eq!(violations(Path::new("a.rs"), broken).len(), 2);
    let kept = "/// Returns `Ask`.\n///\n/// What follows.\n/// ```\n/// let whatever = 1;\n/// ```\nlet so_many = 1;\n";
    assert_eq!(violations(Path::new("a.rs"), kept).len(), 0);
    assert_eq!(violations(Path::new("a.md"), "A fit goes on.\n```text\nworth\n```\n").len(), 1);
    assert_eq!(violations(Path::new("a.py"), "# It is told.\nask = 1\n").len(), 1);
}
