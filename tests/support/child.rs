//! A test that runs itself again as a process of its own.

use std::process::{Child, Command, Stdio};

/// The variable that tells a test that it is such a process; it holds what that is to know.
const TASK: &str = "STREAM_TEST_TASK";

/// The task of this process, if the test of this name started it.
pub(crate) fn task(test: &str) -> Option<String> {
    let task = std::env::var(TASK).ok()?;
    let (name, rest) = task.split_once(' ')?;
    (name == test).then(|| rest.to_owned())
}

/// Starts the test of this name, which finds `task` to be its own. What it prints is kept from the others.
pub(crate) fn start(test: &str, task: &str) -> Child {
    start_with(test, task, &[])
}

/// As [`start`], with further variables of its environment.
pub(crate) fn start_with(test: &str, task: &str, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(TASK, format!("{test} {task}"))
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for its end, which must be a good one.
pub(crate) fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
