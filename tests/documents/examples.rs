//! The numbered lessons in `examples/` are short, run without errors, and find the truth. The report
//! in the README is the output of the first lesson, and the lessons draw the pictures of the guide.
//! The other examples are tools, which run on any machine.
//!
//! `cargo test` builds the examples and puts them beside this test's own folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LESSONS: [&str; 18] = [
    "01_curve_fit",
    "02_uncertainties",
    "03_bounds_and_losses",
    "04_two_variables_and_text",
    "05_spots",
    "06_relaxation_map",
    "07_stream",
    "08_interrupt_and_resume",
    "09_figures",
    "10_peaks",
    "11_global_fit",
    "12_intervals",
    "13_ode",
    "14_errors_in_x",
    "15_convolution",
    "16_arrow_batches",
    "17_lifetime_image",
    "18_titrations",
];

/// Lessons that need features of their package: a Parquet file and a bar, figures, record batches.
const WITH_FEATURES: [&str; 3] = ["07_stream", "09_figures", "16_arrow_batches"];

/// Returns true if the tests' command built the lesson. `--all-features` builds all lessons; it also enables `progress` of
/// this crate.
fn is_built(lesson: &str) -> bool {
    cfg!(feature = "progress") || !WITH_FEATURES.contains(&lesson)
}

/// Lessons that simulate an instrument and draw, and what they draw.
const DRAWN: [(&str, &[&str]); 3] = [
    ("05_spots", &["spots_before.png", "spots_after.png"]),
    ("06_relaxation_map", &["relaxation_echo.png", "relaxation_map.png"]),
    ("17_lifetime_image", &["lifetimes_alone.png", "lifetimes_joint.png", "lifetimes_truth.png"]),
];

/// Programs to use, not to learn from.
const TOOLS: [&str; 2] = ["devices", "trace_picture"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Output of the lesson.
fn run(lesson: &str) -> String {
    let pictures = tempfile::tempdir().expect("a folder for pictures");
    run_with(lesson, pictures.path(), &[])
}

/// Output of the example with these environment variables; it draws into `pictures`.
fn run_with(lesson: &str, pictures: &Path, variables: &[(&str, &str)]) -> String {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("this test lies in `deps` of the target folder");
    let program = target.join("examples").join(format!("{lesson}{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(&program);
    let output =
        command.arg(pictures).envs(variables.iter().copied()).output().unwrap_or_else(|e| {
            panic!("{}: {e}; `cargo test` and `cargo build --examples` build it", program.display())
        });
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert!(output.status.success(), "{lesson} failed: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{lesson}");
    text(&output.stdout)
}

/// The lines that do not tell of the machine: all but the last two of each report, and the times
/// of a batch or a stream.
fn reproducible(text: &str) -> Vec<&str> {
    let computation = |line: &&str| {
        line.starts_with("CPU (")
            || line.starts_with("  (prepare ")
            || line.contains(" s on the CPU (")
            || line.ends_with(" fits per second")
            || line.contains("; reading ")
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
    let listed = LESSONS.iter().chain(&TOOLS).map(|name| format!("{name}.rs"));
    // What some lessons draw with; the tables of the program's page.
    let others = ["picture", "data"].map(str::to_owned);
    let mut listed: Vec<String> = listed.chain(others).collect();
    listed.sort();
    assert_eq!(found, listed);
}

#[test]
fn lessons_are_numbered_and_short() {
    for lesson in LESSONS {
        let text = fs::read_to_string(folder().join(format!("{lesson}.rs"))).expect(lesson);
        let number: usize = lesson[..2].parse().expect("a number");
        assert!(text.starts_with(&format!("//! Lesson {number}: ")), "{lesson} has no header");
        let lines = text.lines().count();
        let draws = DRAWN.iter().any(|(name, _)| *name == lesson);
        let most = if draws { 190 } else { 90 };
        assert!(lines < most, "{lesson} has {lines} lines");
    }
}

#[test]
fn every_lesson_runs_prints_the_same_each_time_and_ends_with_the_truth() {
    for lesson in LESSONS.into_iter().filter(|lesson| is_built(lesson)) {
        let (first, second) = (run(lesson), run(lesson));
        assert_eq!(reproducible(&first), reproducible(&second), "{lesson}");
        assert!(!first.contains("NaN\n") && first.contains("converged"), "{lesson}:\n{first}");
        let end = &first[first.trim_end().rfind("\n\n").expect("paragraphs")..];
        let known = ["truth", "certified", "published"].iter().any(|word| end.contains(word));
        assert!(known, "{lesson} ends with {end}");
    }
}

#[test]
fn the_readme_shows_the_report_of_the_first_lesson() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).expect("README.md");
    let shown = readme.split("```text\n").nth(1).expect("a block of text in README.md");
    let shown = shown.split("```").next().expect("its end");
    assert!(shown.lines().count() >= 15, "README.md shows less of the report");
    assert!(run(LESSONS[0]).starts_with(shown), "README.md shows another report");
}

/// Outputs shown in the guide equal the outputs of the lessons, line by line.
#[test]
fn the_guide_shows_what_the_lessons_print() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide");
    let mut shown = Vec::new();
    for page in fs::read_dir(guide).expect("docs/guide") {
        let text = fs::read_to_string(page.expect("a page").path()).expect("a page");
        let blocks = text.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
        shown.extend(blocks.map(|block| block.trim_end().to_owned()));
    }
    assert!(!shown.is_empty());
    let whole = |text: String| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let built = LESSONS.into_iter().filter(|lesson| is_built(lesson));
    let said: Vec<String> = built.map(|lesson| whole(run(lesson))).collect();
    for block in shown {
        assert!(said.iter().any(|text| text.contains(&block)), "no lesson prints\n{block}");
    }
}

/// Levels of two pictures may differ by a little where another platform's logarithm rounds otherwise.
#[test]
fn the_pictures_shown_are_those_that_the_lessons_draw() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/guide/lessons.md")).expect("a page");
    for (lesson, names) in DRAWN {
        let drawn = tempfile::tempdir().expect("a folder for pictures");
        run_with(lesson, drawn.path(), &[]);
        for name in names {
            assert!(page.contains(&format!("][../pictures/{name}]")), "no page shows {name}");
            let shown = root.join("docs/pictures").join(name);
            let bytes = fs::metadata(&shown).expect(name).len();
            assert!(bytes < 200_000, "{name} has {bytes} bytes");
            let read = |path: PathBuf| image::open(path).expect(name).to_rgb8();
            let (shown, drawn) = (read(shown), read(drawn.path().join(name)));
            assert_eq!(shown.dimensions(), drawn.dimensions(), "{name}");
            let apart: u64 =
                shown.iter().zip(drawn.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            let mean = apart as f64 / shown.len() as f64;
            assert!(mean < 1.0, "{name} is not what {lesson} draws: levels differ by {mean}");
        }
    }
}

/// Positions may differ by a little where another platform's logarithm rounds otherwise.
#[cfg(feature = "progress")]
#[test]
fn the_figure_shown_is_that_of_the_ninth_lesson() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let drawn = tempfile::tempdir().expect("a folder for pictures");
    run_with("09_figures", drawn.path(), &[]);
    let read = |folder: &Path| fs::read_to_string(folder.join("figure.svg")).expect("figure.svg");
    let (shown, drawn) = (read(&root.join("docs/pictures")), read(drawn.path()));
    let numeric = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let words = |text: &str| text.replace(numeric, "");
    assert_eq!(words(&shown), words(&drawn));
    let numbers = |text: &str| -> Vec<f64> {
        text.split(|c| !numeric(c)).filter_map(|number| number.parse().ok()).collect()
    };
    let (shown, drawn) = (numbers(&shown), numbers(&drawn));
    assert_eq!(shown.len(), drawn.len());
    assert!(shown.iter().zip(&drawn).all(|(a, b)| (a - b).abs() < 0.5));
}

/// The number that follows `before` in what a lesson prints.
fn number(text: &str, before: &str) -> f64 {
    let after = text.split(before).nth(1).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    after.split_whitespace().next().expect("a number").parse().expect("a number")
}

#[test]
fn spots_are_found_to_within_their_error_bars() {
    let said = run("05_spots");
    let (error, bound) = (number(&said, "error bar "), number(&said, "Cramér-Rao bound "));
    assert!((error / bound - 1.0).abs() < 0.03, "{said}");
    // Of normal errors 68.27 and 95.45 %; unseen neighbours may cost a little.
    assert!((number(&said, "one error bar of ") - 68.27).abs() < 2.5, "{said}");
    assert!((number(&said, "two of ") - 95.45).abs() < 1.5, "{said}");
}

#[test]
fn relaxation_times_are_those_of_the_gels() {
    let said = run("06_relaxation_map");
    let vials: Vec<Vec<f64>> = said
        .lines()
        .filter(|line| line.starts_with("vial ") || line.starts_with("bath "))
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    assert_eq!(vials.len(), 8, "{said}");
    for row in vials {
        let [.., _pixels, median, _error, scatter, bar, truth] = row[..] else { panic!("{said}") };
        assert!((median / truth - 1.0).abs() < 0.01, "{said}");
        assert!((scatter / bar - 1.0).abs() < 0.15, "{said}");
    }
}

/// The numbers of the only line that begins so.
fn numbers(text: &str, start: &str) -> Vec<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(start));
    let line = lines.next().unwrap_or_else(|| panic!("no line {start:?} in {text}"));
    assert!(lines.next().is_none(), "{start:?} begins two lines of {text}");
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn shared_lifetimes_make_amplitudes_sharp() {
    let said = run("17_lifetime_image");
    for name in ["tau_free  ", "tau_bound  "] {
        let [scatter, _, found, error, truth] = numbers(&said, name)[..] else { panic!("{said}") };
        assert!((found - truth).abs() < 3.0 * error && error < 0.01 * scatter, "{said}");
    }
    for name in ["free ", "bound "] {
        let row = |how: &str| numbers(&said, &format!("{name:<8}{how} "));
        let [alone, ..] = row("alone")[..] else { panic!("{said}") };
        let [scatter, bar, within] = row("together")[..] else { panic!("{said}") };
        assert!(scatter < 0.7 * alone && (scatter / bar - 1.0).abs() < 0.05, "{said}");
        // Of normal errors 68.27 %, of 10,000 pixels with a scatter of 0.47; counts are few.
        assert!((within - 68.27).abs() < 1.5, "{said}");
    }
}

#[test]
fn one_binding_constant_is_told_from_two() {
    let said = run("18_titrations");
    let [kd, error] = numbers(&said, "one Kd for all ")[..] else { panic!("{said}") };
    let truth = number(&said, "truth: Kd ");
    assert!((kd - truth).abs() < 2.0 * error, "{said}");
    assert!(number(&said, "by a factor of ") > f64::sqrt(20.0), "{said}");
    let [rise, _, p] = numbers(&said, "of one protein ")[..] else { panic!("{said}") };
    assert!((rise - 19.0).abs() < 2.0 * f64::sqrt(38.0) && p > 0.05, "{said}");
    let [rise, of_mutant, _] = numbers(&said, "the last a mutant ")[..] else { panic!("{said}") };
    assert!(of_mutant > 0.5 * rise && said.contains(" < 0.001"), "{said}");
}

#[test]
fn a_fit_that_was_stopped_goes_on_to_the_same_bits() {
    let said = run("08_interrupt_and_resume");
    assert!(said.contains("the same bits as without a stop: true"), "{said}");
    assert!(said.contains("from the checkpoint 1\n"), "{said}");
}

#[test]
fn tools_say_what_they_are() {
    for tool in TOOLS {
        let text = fs::read_to_string(folder().join(format!("{tool}.rs"))).expect(tool);
        assert!(text.starts_with("//! A tool: "), "{tool} has no header");
    }
}

/// Without a device, the tool prints the libraries that it searched for and the remedy.
#[test]
fn the_devices_are_listed_or_it_is_explained_why_there_are_none() {
    let said = run("devices");
    match dualfit::device::devices() {
        Ok(devices) => {
            assert!(devices.iter().all(|device| said.contains(&device.name)), "{said}");
            assert!(said.contains("capability") && said.contains("GiB"), "{said}");
        }
        Err(error) => {
            assert_eq!(said, format!("No CUDA device: fits run on the CPU.\n{error}\n"));
            assert!(said.contains("CUDA is not available: ") && said.contains("; "), "{said}");
        }
    }
    let forced = run_with("devices", &folder(), &[("DUALFIT_FORCE_CPU", "1")]);
    assert!(forced.contains("DUALFIT_FORCE_CPU is set"), "{forced}");
}

/// Two threads, one with a span inside another, as a picture with a lane for each, blocks where the spans
/// are, and nothing where there are none.
#[test]
fn a_trace_becomes_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let event = |ph: &str, name: &str, tid: u64, ts: f64| {
        format!(r#"{{"ph":"{ph}","name":"{name}","tid":{tid},"ts":{ts},"pid":1}}"#)
    };
    let events = [
        event("B", "fit", 0, 1000.0),
        event("B", "pass", 0, 2000.0),
        event("B", "pieces", 1, 2000.0),
        event("E", "pieces", 1, 3000.0),
        event("E", "pass", 0, 4000.0),
        // An end of which the beginning was not seen, and a beginning without an end.
        event("E", "lost", 1, 4000.0),
        event("B", "pieces", 1, 5000.0),
        event("E", "fit", 0, 9000.0),
    ];
    let trace = folder.path().join("trace.json");
    fs::write(&trace, format!("[{}]", events.join(","))).expect("a trace");
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("this test lies in `deps` of the target folder");
    let tool = target.join("examples/trace_picture");
    let draw =
        |trace: &Path, to: &Path| Command::new(&tool).args([trace, to]).output().expect("the tool");
    let to = folder.path().join("trace.png");
    let said = draw(&trace, &to);
    assert!(said.status.success(), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stdout).contains("shows 4 spans"));
    let picture = image::open(&to).expect("a picture").to_rgb8();
    // 16 pixels of margin, 196 to a millisecond; rows of 22 under the name of each lane.
    let at = |milliseconds: f64, row: u32| {
        *picture.get_pixel((16.0 + 196.0 * milliseconds) as u32, 16 + 22 * row + 18)
    };
    let white = image::Rgb([255; 3]);
    let [fit, pass, piece] = [at(4.5, 1), at(2.5, 2), at(1.5, 4)];
    assert!(fit != white && pass != white && piece != white && fit != pass && pass != piece);
    assert_eq!([at(7.9, 1), at(1.1, 2), at(7.9, 4)], [fit, pass, piece]);
    assert_eq!([at(0.5, 2), at(3.5, 2), at(0.5, 4), at(3.5, 4)], [white; 4]);
    fs::write(&trace, "no trace").expect("a file");
    assert!(!draw(&trace, &to).status.success());
}
