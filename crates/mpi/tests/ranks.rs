//! Tests of the examples on MPI ranks: the bits do not depend on the number of ranks or on ranks that die during a fit.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const POINTS: u64 = 4 * (1 << 20) + 12_345;

fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let folder = test.parent().and_then(Path::parent).expect("the folder of the build");
    folder.join("examples").join(name)
}

fn run(ranks: usize, arguments: &[&str]) -> Output {
    let points = POINTS.to_string();
    run_example("decay", ranks, &[&[&*points], arguments].concat())
}

fn run_example(name: &str, ranks: usize, arguments: &[&str]) -> Output {
    Command::new("mpirun")
        .args(["--oversubscribe", "-n", &ranks.to_string()])
        .arg(example(name))
        .args(arguments)
        // Required if tests run as root, for example in containers.
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .expect("mpirun")
}

/// Returns the line with the bits of parameters and errors that a job has printed.
fn bits(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("bits "));
    line.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr))).to_owned()
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_ranks() {
    let one = bits(&run(1, &[]));
    // Includes more ranks than groups.
    for ranks in [2, 3, 4, 7] {
        assert_eq!(bits(&run(ranks, &[])), one, "{ranks} ranks");
    }
}

#[test]
fn a_job_whose_rank_died_goes_on_with_other_ranks_to_the_same_bits() {
    let whole = bits(&run(1, &["--native"]));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    let checkpoint = ["--native", "--checkpoint", path.to_str().expect("a path")];
    let mut died = 0;
    for round in 0..20_u64 {
        // An evaluation calls a model with three parameters seven times per point.
        let mixed = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let calls = (1 + mixed % 25).to_string();
        let killed =
            run(2 + (round % 3) as usize, &[&checkpoint[..], &["--die-at", &calls]].concat());
        died += u32::from(!killed.status.success());
        let again = run(1 + (round % 4) as usize, &checkpoint);
        assert_eq!(bits(&again), whole, "round {round}, after {calls} calls for each point");
        assert!(!path.exists(), "round {round}");
    }
    assert!(died >= 12, "{died} of 20 jobs died");
}

/// Tests files that all ranks read and whose ends differ from the ends of the ranks' shares, and files of each rank.
#[test]
fn files_have_the_bits_of_one_stream_whoever_has_which() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let shared = path("shared");
    let one = bits(&run_example("files", 1, &[&shared]));
    let from_start = bits(&run_example("files", 1, &[&shared, "--from-start"]));
    let alone = run_example("files", 1, &[&shared, "--from-start", "--alone"]);
    assert_eq!(bits(&alone), from_start, "a stream");
    for ranks in [1, 2, 4, 5] {
        assert_eq!(bits(&run_example("files", ranks, &[&shared])), one, "{ranks} ranks");
        if ranks < 5 {
            let own = path(&format!("{ranks}/{{rank}}"));
            let found = bits(&run_example("files", ranks, &[&own]));
            assert_eq!(found, one, "{ranks} ranks with files of their own");
            let found = bits(&run_example("files", ranks, &[&own, "--from-start"]));
            assert_eq!(found, from_start, "{ranks} ranks with files of their own");
        }
    }
}

/// Returns the standard error of a job, which must have failed.
fn error(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    said
}

/// No rank waits for one that has given up. All ranks receive the error, but MPI ends the job when the first rank
/// prints it.
#[test]
fn what_is_wrong_with_the_files_of_a_rank_is_said_by_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("{rank}").to_str().expect("a path").to_owned();
    let whole = bits(&run_example("files", 3, &[&own]));
    let mut files: Vec<_> = std::fs::read_dir(folder.path().join("1"))
        .expect("the files of rank 1")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let file = files.last().expect("a file");
    let bytes = std::fs::read(file).expect("a file");
    // One point less: the part no longer consists of whole groups.
    std::fs::write(file, &bytes[..bytes.len() - 16]).expect("a file");
    let said = error(&run_example("files", 3, &[&own]));
    let words = "it holds 1048575 points, which are no whole groups of 1048576, and rank 2";
    assert!(said.contains("\"rank 1\"") && said.contains(words), "{said}");
    // Half a point.
    std::fs::write(file, &bytes[..bytes.len() - 8]).expect("a file");
    let said = error(&run_example("files", 3, &[&own]));
    assert!(said.contains("\"rank 1\"") && said.contains("its part: "), "{said}");
    // NaN.
    let bad = [&bytes[..bytes.len() - 8], &f64::NAN.to_le_bytes()].concat();
    std::fs::write(file, bad).expect("a file");
    let said = error(&run_example("files", 3, &[&own]));
    let words = ["points from number 2097152 on", "at index 3145727"];
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
    std::fs::write(file, &bytes).expect("a file");
    assert_eq!(bits(&run_example("files", 3, &[&own])), whole);
}

#[test]
fn a_point_that_is_no_number_is_an_error_on_every_rank() {
    let last = (POINTS - 5).to_string();
    for ranks in [2, 3, 4] {
        let output = run(ranks, &["--bad-at", &last]);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stdout);
        let at = format!("at index {last}");
        for rank in 0..ranks {
            let line = said.lines().find(|line| line.starts_with(&format!("rank {rank}: ")));
            let line =
                line.unwrap_or_else(|| panic!("rank {rank} of {ranks} said nothing: {said}"));
            assert!(line.contains(&at), "{line}");
            assert_eq!(line.contains("the fit failed at its leader: "), rank > 0, "{line}");
        }
    }
}

#[test]
fn a_batch_has_the_bits_of_one_process_on_any_number_of_ranks() {
    // Includes more ranks than portions, and ranks without fits.
    for spots in ["3000", "1", "0"] {
        let of = |ranks: usize, arguments: &[&str]| {
            let output = run_example("spots", ranks, &[&[spots], arguments].concat());
            let bits = bits(&output);
            bits.split(',').next().expect("bits").to_owned()
        };
        let alone = of(1, &["--alone"]);
        for ranks in [1, 2, 4] {
            assert_eq!(of(ranks, &[]), alone, "{spots} spots on {ranks} ranks");
        }
    }
}
