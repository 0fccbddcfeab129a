//! Report at the end of the process: resources that were not released, and calls of each function.
//!
//! Resources that exist when their context is released count as left, although the release frees them. On a lost device
//! only the context counts, because there every call that would free a resource fails.

use super::state::{Driver, Object};
use super::{DRIVER, say};
use std::ffi::c_int;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::catch_unwind;
use std::sync::PoisonError;

/// Kinds of resources of a context.
const KINDS: [&str; 5] =
    ["streams", "events", "modules", "device_allocations", "page_locked_allocations"];

/// Maximum number of races that are printed.
const MOST_RACES: u64 = 60;

/// Number of resources of each of [`KINDS`].
pub(crate) type Left = [u64; KINDS.len()];

/// Adds two counts.
pub(crate) fn sum(mut left: Left, more: Left) -> Left {
    left.iter_mut().zip(more).for_each(|(left, more)| *left += more);
    left
}

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> c_int;
}

/// Registers the report to be written when the process ends.
pub(crate) fn write_at_exit() {
    // SAFETY: the handler takes no arguments and does not unwind. The C library calls it before this library is
    // unloaded.
    let failed = unsafe { atexit(at_exit) } != 0;
    if failed {
        say("there will be no report");
    }
}

/// Writes the report of the driver of this process.
extern "C" fn at_exit() {
    let _ = catch_unwind(|| DRIVER.lock().unwrap_or_else(PoisonError::into_inner).write_report());
}

impl Driver {
    /// Returns the numbers of resources that a device's context still has.
    pub(crate) fn left_on(&self, device: usize) -> Left {
        let of = &self.devices[device];
        if of.lost.is_some() {
            return Left::default();
        }
        let count = |is_one: fn(&Object) -> bool| {
            let all = self.objects.values();
            all.filter(|(on, object)| *on == device && is_one(object)).count() as u64
        };
        [
            count(|object| matches!(object, Object::Stream)),
            count(|object| matches!(object, Object::Event(_))),
            count(|object| matches!(object, Object::Module { .. })),
            of.allocations.len() as u64,
            of.page_locked.len() as u64,
        ]
    }

    /// Counts the races of a launch, and prints them.
    pub(crate) fn note_races(&mut self, races: &[String]) {
        for race in races {
            self.races += 1;
            if self.races <= MOST_RACES {
                say(&format!("a race: {race}"));
            }
        }
    }

    /// Returns the report. Its lines are `process ID`, `call FUNCTION COUNT`, `left KIND COUNT`, `races COUNT`,
    /// `clock KERNEL FUNCTION WHAT COUNT` and `mutant KERNEL PLACE MISTAKE FATE`.
    pub(crate) fn report(&self) -> String {
        let mut text = format!("process {}\n", std::process::id());
        for (name, count) in &self.calls.of_each {
            let _ = writeln!(text, "call {name} {count}");
        }
        let contexts: u64 = self.devices.iter().map(|device| device.retained).sum();
        let _ = writeln!(text, "left contexts {contexts}");
        let now = (0..self.devices.len()).map(|device| self.left_on(device));
        let left = now.fold(self.left_behind, sum);
        for (kind, count) in KINDS.iter().zip(left) {
            let _ = writeln!(text, "left {kind} {count}");
        }
        let _ = writeln!(text, "races {}", self.races);
        self.clocks.iter().for_each(|(kernel, clock)| text += &clock.lines(kernel));
        text += &self.mutants.lines();
        text
    }

    /// Appends the report to its file, in a single write.
    fn write_report(&self) {
        let Some(path) = &self.options.report else { return };
        let file = OpenOptions::new().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(self.report().as_bytes())) {
            say(&format!("no report in {}: {error}", path.display()));
        }
    }
}
