//! The numbered lessons in `examples/` are short, run to their ends, and end with the truth; the report
//! in the README is the one that the first prints. What is no lesson is a tool, which runs everywhere.
//!
//! `cargo test` builds the examples and puts them beside this test's own folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LESSONS: [&str; 6] = [
    "01_curve_fit",
    "02_uncertainties",
    "03_bounds_and_losses",
    "04_two_variables_and_text",
    "05_spots",
    "06_relaxation_map",
];

/// What several lessons share.
const SHARED: [&str; 1] = ["picture"];

/// Programs to use, not to learn from.
const TOOLS: [&str; 1] = ["devices"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Where lessons put their pictures.
fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures")
}

/// What the lesson prints.
fn run(lesson: &str) -> String {
    run_with(lesson, &[])
}

/// What the example prints where these environment variables are set.
fn run_with(lesson: &str, variables: &[(&str, &str)]) -> String {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("this test lies in `deps` of the target folder");
    let program = target.join("examples").join(format!("{lesson}{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(&program)
        .arg(pictures())
        .envs(variables.iter().copied())
        .output()
        .unwrap_or_else(|e| {
            panic!("{}: {e}; `cargo test` and `cargo build --examples` build it", program.display())
        });
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert!(output.status.success(), "{lesson} failed: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{lesson}");
    text(&output.stdout)
}

/// The lines that do not tell of the machine: of a report all but the last two, of a batch all but the
/// first and how many there are in a second.
fn reproducible(text: &str) -> Vec<&str> {
    let computation = |line: &&str| {
        line.starts_with("CPU (")
            || line.starts_with("  (prepare ")
            || line.contains(" on the CPU (")
            || line.ends_with("fits per second")
    };
    text.lines().map(str::trim_end).filter(|line| !computation(line)).collect()
}

#[test]
fn every_lesson_and_every_tool_is_listed_here() {
    let entries = fs::read_dir(folder()).expect("the folder of examples");
    let mut found: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let programs = LESSONS.iter().chain(&TOOLS).map(|name| format!("{name}.rs"));
    let mut listed: Vec<String> = programs.chain(SHARED.map(str::to_owned)).collect();
    listed.sort();
    assert_eq!(found, listed);
}

#[test]
fn lessons_are_numbered_and_short() {
    for (i, lesson) in LESSONS.into_iter().enumerate() {
        let text = fs::read_to_string(folder().join(format!("{lesson}.rs"))).expect(lesson);
        assert!(text.starts_with(&format!("//! Lesson {}: ", i + 1)), "{lesson} has no header");
        let lines = text.lines().count();
        // The last two are whole applications.
        let most = if i < 4 { 60 } else { 200 };
        assert!(lines < most, "{lesson} has {lines} lines");
    }
}

#[test]
fn every_lesson_runs_prints_the_same_each_time_and_ends_with_the_truth() {
    for lesson in LESSONS {
        let (first, second) = (run(lesson), run(lesson));
        assert_eq!(reproducible(&first), reproducible(&second), "{lesson}");
        assert!(!first.contains("NaN\n") && first.contains("converged"), "{lesson}:\n{first}");
        let end = &first[first.trim_end().rfind("\n\n").expect("paragraphs")..];
        assert!(end.contains("truth") || end.contains("certified"), "{lesson} ends with {end}");
    }
}

/// Pictures with something in them: many colours, and more than one in every quarter.
#[test]
fn lessons_draw_their_pictures() {
    for (lesson, names) in [
        ("05_spots", ["spots_before.png", "spots_after.png"]),
        ("06_relaxation_map", ["relaxation_echo.png", "relaxation_map.png"]),
    ] {
        run(lesson);
        for name in names {
            let picture = image::open(pictures().join(name)).expect(name).to_rgb8();
            let (width, height) = picture.dimensions();
            assert!(width > 600 && height > 600, "{name} has {width} × {height} pixels");
            for (left, top) in [(0, 0), (width / 2, 0), (0, height / 2), (width / 2, height / 2)] {
                let part = image::imageops::crop_imm(&picture, left, top, width / 2, height / 2);
                let mut colors: Vec<_> = part.to_image().pixels().copied().collect();
                colors.sort_by_key(|c| c.0);
                colors.dedup();
                assert!(colors.len() > 50, "{name} has {} colours in a quarter", colors.len());
            }
        }
    }
}

#[test]
fn the_readme_shows_the_report_of_the_first_lesson() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).expect("README.md");
    let shown = readme.split("```text\n").nth(1).expect("a block of text in README.md");
    // The lines after the statistics tell of the machine and of the last digits.
    let statistics = |text: &str| text.split("\nCPU (").next().map(str::to_owned);
    assert_eq!(statistics(shown), statistics(&run(LESSONS[0])), "README.md shows another report");
}

#[test]
fn tools_say_what_they_are() {
    for tool in TOOLS {
        let text = fs::read_to_string(folder().join(format!("{tool}.rs"))).expect(tool);
        assert!(text.starts_with("//! A tool: "), "{tool} has no header");
    }
}

/// There is a device or there is none; where there is none, the tool says what was looked for and what
/// to do about it.
#[test]
fn the_devices_are_listed_or_it_is_explained_why_there_are_none() {
    let said = run("devices");
    match dualfit::devices() {
        Ok(devices) => {
            assert!(devices.iter().all(|device| said.contains(&device.name)), "{said}");
            assert!(said.contains("capability") && said.contains("GiB"), "{said}");
        }
        Err(error) => {
            assert_eq!(said, format!("No CUDA device: fits run on the CPU.\n{error}\n"));
            assert!(said.contains("CUDA is not available: ") && said.contains("; "), "{said}");
        }
    }
    let forced = run_with("devices", &[("DUALFIT_FORCE_CPU", "1")]);
    assert!(forced.contains("DUALFIT_FORCE_CPU is set"), "{forced}");
}
