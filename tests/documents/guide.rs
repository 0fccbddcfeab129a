//! The guide is whole: every page is in its index and in the library, its links lead somewhere in both, and its table of
//! models is the library.

use crate::root;
use dualfit::models::{self, Model};
use std::fs;
use std::path::{Path, PathBuf};

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The pages without the index, by file name.
fn pages() -> Vec<String> {
    let entries = fs::read_dir(root().join("docs/guide")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "README.md");
    names.sort();
    names
}

/// Bounds as they are written in the table; the smallest normal number is a strict 0.
fn range((lower, upper): (f64, f64)) -> String {
    match (lower, upper) {
        (f64::NEG_INFINITY, f64::INFINITY) => String::new(),
        (f64::MIN_POSITIVE, f64::INFINITY) => " > 0".to_owned(),
        (_, f64::INFINITY) => format!(" ≥ {lower}"),
        _ => format!(" {lower} to {upper}"),
    }
}

/// The model's line in the table.
fn row(name: &str, model: &Model) -> String {
    let formula = model.formula().unwrap();
    let bounds = model.bounds();
    let parameters = model.parameters();
    let parameters: Vec<String> = parameters
        .iter()
        .zip(bounds)
        .map(|(p, bounds)| format!("`{p}`{}", range(bounds)))
        .collect();
    let derived: Vec<String> =
        model.derived().iter().map(|(name, formula)| format!("`{name}` = `{formula}`")).collect();
    format!("| `{name}` | `{formula}` | {} | {} |", parameters.join(", "), derived.join(", "))
}

#[test]
fn the_table_of_models_is_the_library() {
    let page = read("docs/guide/models.md");
    let mut rows: Vec<String> = models::names()
        .into_iter()
        .map(|name| row(name, &models::by_name(name).unwrap()))
        .collect();
    rows.push(row("polynomial", &models::polynomial(3, "").unwrap()));
    let missing: Vec<&str> =
        rows.iter().map(String::as_str).filter(|row| !page.lines().any(|l| l == *row)).collect();
    assert!(missing.is_empty(), "docs/guide/models.md lacks\n{}", missing.join("\n"));
    let listed =
        page.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 5);
    let unknown: Vec<&str> = listed.filter(|line| !rows.iter().any(|row| row == line)).collect();
    assert!(
        unknown.is_empty(),
        "docs/guide/models.md has, beyond the library,\n{}",
        unknown.join("\n")
    );
}

#[test]
fn every_page_is_in_the_index_and_in_the_library() {
    let (index, library) = (read("docs/guide/README.md"), read("src/guide.rs"));
    for page in pages() {
        assert!(index.contains(&format!("][{page}]")), "docs/guide/README.md lacks {page}");
        let name = page.trim_end_matches(".md");
        let module = format!("    {name}: \"../docs/guide/{page}\";");
        assert!(library.contains(&module), "src/guide.rs lacks {module}");
    }
}

/// The variants of a public enum, from its file.
fn variants(file: &str, name: &str) -> Vec<String> {
    let text = read(file);
    let body = text.split(&format!("pub enum {name} {{\n")).nth(1).expect(name);
    let lines = body.lines().take_while(|line| *line != "}");
    let named = lines.filter_map(|line| line.strip_prefix("    "));
    let starts = named.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    starts.map(|line| line.trim_end_matches([',', '{', ' ']).to_owned()).collect()
}

#[test]
fn every_reason_to_stop_and_every_warning_is_explained() {
    let page = read("docs/guide/not_converging.md");
    let mut all = variants("src/solver/termination.rs", "Termination");
    all.extend(variants("src/fit/warning.rs", "Warning"));
    assert!(all.len() > 20);
    let missing: Vec<&String> = all.iter().filter(|name| !page.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/guide/not_converging.md does not speak of {missing:?}");
}

/// GitHub's anchor of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The pages of the module `guide`, by path.
fn pages_of_the_library() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        pages().iter().map(|page| Path::new("docs/guide").join(page)).collect();
    all.extend(
        ["docs/guide/README.md", "docs/mathematics.md", "docs/benchmarks.md"].map(PathBuf::from),
    );
    all
}

/// Labels and targets of the link definitions in a text.
fn definitions(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let label = line.strip_prefix('[').and_then(|line| line.split_once(']'));
        let target = label.and_then(|(label, rest)| Some((label, rest.strip_prefix(": ")?)));
        found.extend(target);
    }
    found
}

#[test]
fn links_lead_somewhere() {
    for path in pages_of_the_library() {
        let text = read(&path);
        let inline = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let defined = definitions(&text);
        for link in inline.chain(defined.iter().map(|(_, target)| *target)) {
            if link.starts_with("http") {
                continue;
            }
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                _ => path.parent().unwrap().join(file),
            };
            assert!(root().join(&target).exists(), "{}: no {link}", path.display());
            if !fragment.is_empty() {
                let there = read(&target);
                let headings = there.lines().filter(|line| line.starts_with('#'));
                let found = headings.map(anchor).any(|anchor| anchor == fragment);
                assert!(found, "{}: no heading for {link}", path.display());
            }
        }
    }
}

/// A relative link leads nowhere among the pages that rustdoc makes. Each is a reference there, called as its target, and
/// `src/guide_links.md` says what the target is in the library.
#[test]
fn links_of_the_guide_lead_somewhere_in_the_library_too() {
    let links = read("src/guide_links.md");
    let known = definitions(&links);
    let mut used = Vec::new();
    for path in pages_of_the_library() {
        let text = read(&path);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_fine = link.starts_with("http") || link.starts_with('#');
            assert!(is_fine, "{}: write [text][{link}] and define it", path.display());
        }
        for (label, target) in definitions(&text) {
            assert_eq!(label, target, "{}", path.display());
            assert!(text.contains(&format!("][{label}]")), "{}: {label} is unused", path.display());
            let there = known.iter().find(|(known, _)| *known == label);
            let (_, there) = there.unwrap_or_else(|| panic!("src/guide_links.md lacks {label}"));
            if there.starts_with("crate::guide::") {
                let page = label.rsplit('/').next().unwrap().replacen(".md", "", 1);
                assert_eq!(*there, format!("crate::guide::{page}"));
            }
            used.push(label.to_owned());
        }
    }
    let unused: Vec<_> =
        known.iter().filter(|(label, _)| !used.iter().any(|u| u == label)).collect();
    assert!(unused.is_empty(), "src/guide_links.md has, beyond the pages, {unused:?}");
}

/// Registries show the README without the files beside it: its links lead to pages of the published guide that there are.
#[test]
fn links_of_the_readme_lead_into_the_guide() {
    let text = read("README.md");
    let mut pages = 0;
    for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        if link.starts_with("docs/pictures/") {
            assert!(root().join(link).exists(), "no {link}");
            continue;
        }
        let page = link.strip_prefix("https://docs.rs/dualfit/latest/dualfit/guide/");
        let page = page.unwrap_or_else(|| panic!("{link} leads nowhere where the README is shown"));
        let (page, fragment) = page.split_once('#').unwrap_or((page, ""));
        let file = match page.trim_end_matches('/') {
            "" => "docs/guide/README.md".to_owned(),
            name @ ("mathematics" | "benchmarks") => format!("docs/{name}.md"),
            name => format!("docs/guide/{name}.md"),
        };
        let there = read(&file);
        let headings = there.lines().filter(|line| line.starts_with('#')).map(anchor);
        assert!(fragment.is_empty() || headings.into_iter().any(|a| a == fragment), "no {link}");
        pages += 1;
    }
    assert!(pages >= 10, "only {pages} links");
    assert!(text.lines().count() <= 235, "the README is to be read at once");
}

/// The package contains each picture and lesson that the published guide shows.
#[test]
fn what_the_published_guide_shows_is_published() {
    let manifest = read("Cargo.toml");
    let links = read("src/guide_links.md");
    let files = links.lines().filter_map(|line| line.split_once("/latest/source/"));
    for (_, file) in files.filter(|(_, file)| !file.ends_with('/')) {
        let folder = file.rsplit_once('/').unwrap().0;
        let extension = file.rsplit_once('.').unwrap().1;
        let taken = manifest.contains(&format!("\"/{file}\""))
            || manifest.contains(&format!("\"/{folder}/*.{extension}\""));
        assert!(taken && root().join(file).exists(), "{file} is not published");
    }
}

/// Files and folders of this project in backticks: those that pages for developers send their reader to.
#[test]
fn pages_for_developers_name_files_that_exist() {
    let mut named = 0;
    let pages = [
        "CONTRIBUTING.md",
        "docs/calls.md",
        "docs/design.md",
        "docs/features.md",
        "docs/how_a_fit_works.md",
    ];
    for page in pages {
        let text = read(page);
        // Source files, relative to `src` or to the root.
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c)));
        for path in words
            .filter(|word| word.contains('/') && word.ends_with(".rs") && !word.contains("NAME"))
        {
            let is_there = root().join(path).exists() || root().join("src").join(path).exists();
            assert!(is_there, "{page}: no {path}");
            named += 1;
        }
        for path in text.split('`').skip(1).step_by(2) {
            let folders =
                ["src/", "tests/", "kernels/", "docs/", "examples/", "crates/", "benches/"];
            let is_path = folders.iter().any(|folder| path.starts_with(folder))
                && path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
                && !path.contains("NAME");
            if is_path {
                named += 1;
                assert!(root().join(path).exists(), "{page}: no {path}");
            }
        }
    }
    assert!(named > 60, "only {named} paths were recognised");
}
