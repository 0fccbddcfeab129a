//! The table of features in `docs/features.md`: each cell names a test that exists, or a reason.

use crate::root;
use std::collections::BTreeSet;
use std::fs;

/// Number of columns of the table, the name of the capability included.
const COLUMNS: usize = 11;

/// Returns the lines of the page from the heading `from` to the next heading.
fn section<'p>(page: &'p str, from: &str) -> impl Iterator<Item = &'p str> {
    let lines = page.lines().skip_while(move |line| *line != from).skip(1);
    lines.take_while(|line| !line.starts_with('#'))
}

/// Returns the numbers or letters and the texts of a list with items such as `- **3** text`.
fn items<'p>(page: &'p str, heading: &str) -> Vec<(&'p str, &'p str)> {
    let item = |line: &'p str| line.strip_prefix("- **")?.split_once("** ");
    section(page, heading).filter_map(item).collect()
}

#[test]
fn every_cell_of_the_table_names_a_test_or_a_reason() {
    let page = fs::read_to_string(root().join("docs/features.md")).unwrap();
    let (tests, reasons) = (items(&page, "## Tests"), items(&page, "## Reasons"));
    let known: BTreeSet<&str> = tests.iter().chain(&reasons).map(|(mark, _)| *mark).collect();
    assert_eq!(known.len(), tests.len() + reasons.len(), "a mark stands for two things");
    let table = section(&page, "# Features and their tests").filter(|line| line.starts_with('|'));
    let (mut used, mut rows) = (BTreeSet::new(), 0);
    for line in table.skip(2) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), COLUMNS, "{line}");
        rows += 1;
        for mark in cells[1..].iter().flat_map(|cell| cell.split(", ")) {
            assert!(known.contains(mark), "{mark:?} stands for nothing: {line}");
            used.insert(mark);
        }
    }
    assert!(rows > 30, "the table has {rows} rows");
    let idle: Vec<&&str> = known.difference(&used).collect();
    assert!(idle.is_empty(), "in no cell: {idle:?}");
}

#[test]
fn every_named_test_exists() {
    let page = fs::read_to_string(root().join("docs/features.md")).unwrap();
    for (mark, text) in items(&page, "## Tests") {
        let (path, rest) = text.strip_prefix('[').and_then(|t| t.split_once("](../")).unwrap();
        let (target, function) = rest.split_once(')').unwrap();
        assert_eq!(path, target, "{mark}");
        let place = root().join(path);
        assert!(place.exists(), "{mark}: {path}");
        let Some(name) = function.trim().strip_prefix('`').and_then(|name| name.strip_suffix('`'))
        else {
            assert!(function.is_empty(), "{mark}: {function}");
            continue;
        };
        let code = fs::read_to_string(place).unwrap();
        let heads = [format!("fn {name}("), format!("def {name}(")];
        assert!(heads.iter().any(|head| code.contains(head)), "{mark}: {path} has no {name}");
    }
    let others = section(&page, "## Other features").filter(|line| line.starts_with("| "));
    for path in others.skip(1).flat_map(|line| line.split('`').skip(1).step_by(2)) {
        let is_path = path.contains('/');
        assert!(!is_path || root().join(path).exists(), "{path}");
    }
}
