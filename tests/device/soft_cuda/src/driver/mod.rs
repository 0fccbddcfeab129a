//! Interface of the library: the functions of CUDA's driver API that `dualfit` uses.
//!
//! [`api`] has the exported functions, [`state`] the devices and handles, [`resources`] memory and modules, and
//! [`streams`] the queued work. Environment variables configure the driver: see [`options`].

mod api;
mod faults;
mod mutants;
mod options;
mod report;
mod resources;
mod state;
mod streams;
#[cfg(test)]
mod tests;

use faults::UNKNOWN;
use options::Options;
use state::{Driver, Needs};
use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Result of a call, or the code of its failure (a `CUresult`).
pub(crate) type Answer<T = ()> = Result<T, i32>;

/// The driver of this process.
static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| {
    let driver = match Options::from_environment() {
        Ok(options) => Driver::new(options),
        Err(text) => {
            say(&text);
            Driver::unusable()
        }
    };
    if driver.options.report.is_some() {
        report::write_at_exit();
    }
    Mutex::new(driver)
});

/// Runs one call: counts it, checks its requirements, and converts panics into an error code.
pub(crate) fn call(
    name: &'static str,
    needs: Needs,
    work: impl FnOnce(&mut Driver) -> Answer,
) -> i32 {
    with_driver(|driver| {
        let done = catch_unwind(AssertUnwindSafe(|| {
            driver.enter(name, needs)?;
            work(driver)
        }));
        let code = match done {
            Ok(answer) => answer.err().unwrap_or(0),
            Err(panic) => {
                let what = format!("a panic in {name}: {}", text_of(&*panic));
                say(&what);
                if let Ok(device) = driver.current_device() {
                    driver.lose(device, UNKNOWN, &what);
                }
                UNKNOWN
            }
        };
        if driver.options.trace {
            say(&format!("{name} -> {code}"));
        }
        code
    })
}

/// Runs one call on the device whose context is current.
pub(crate) fn call_on_device(
    name: &'static str,
    work: impl FnOnce(&mut Driver, usize) -> Answer,
) -> i32 {
    call(name, Needs::Context, |driver| {
        let device = driver.current_device()?;
        work(driver, device)
    })
}

/// Runs `work` with exclusive access to the driver.
fn with_driver<T>(work: impl FnOnce(&mut Driver) -> T) -> T {
    #[cfg(test)]
    if let Some(driver) = tests::instead() {
        return work(&mut driver.lock().unwrap_or_else(PoisonError::into_inner));
    }
    work(&mut DRIVER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Prints a line to stderr; errors are ignored.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "soft cuda: {text}");
}

/// Returns the message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}
