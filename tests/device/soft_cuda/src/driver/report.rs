//! What is left when the process ends, and how often each function was called.
//!
//! Things of a context count as left when the context is released while they are there, though that frees them. On a
//! device that is lost nothing counts but its context: every call that would give something back fails there.

use super::state::{Driver, Object};
use super::{DRIVER, say};
use std::ffi::c_int;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::catch_unwind;
use std::sync::PoisonError;

/// What belongs to a context.
const KINDS: [&str; 5] =
    ["streams", "events", "modules", "device_allocations", "page_locked_allocations"];

/// Races are printed up to this number of them.
const MOST_RACES: u64 = 60;

/// How many of each of [`KINDS`].
pub(crate) type Left = [u64; KINDS.len()];

/// The sum of two counts.
pub(crate) fn sum(mut left: Left, more: Left) -> Left {
    left.iter_mut().zip(more).for_each(|(left, more)| *left += more);
    left
}

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> c_int;
}

/// Has the report written when the process ends.
pub(crate) fn write_at_exit() {
    // SAFETY: the handler takes nothing, lets no panic out, and stays where it is: the C library calls it before this
    // library is taken out of memory.
    let failed = unsafe { atexit(at_exit) } != 0;
    if failed {
        say("there will be no report");
    }
}

/// Writes the report of the process's driver.
extern "C" fn at_exit() {
    let _ = catch_unwind(|| DRIVER.lock().unwrap_or_else(PoisonError::into_inner).write_report());
}

impl Driver {
    /// What is left of a device's context.
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

    /// Notes what a launch found, and prints it.
    pub(crate) fn note_races(&mut self, races: &[String]) {
        for race in races {
            self.races += 1;
            if self.races <= MOST_RACES {
                say(&format!("a race: {race}"));
            }
        }
    }

    /// `process ID`, `call FUNCTION COUNT`, `left KIND COUNT`, `races COUNT`, `clock KERNEL FUNCTION WHAT COUNT` and
    /// `mutant KERNEL PLACE MISTAKE FATE`, each on a line.
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

    /// Appends the report to its file, in one piece.
    fn write_report(&self) {
        let Some(path) = &self.options.report else { return };
        let file = OpenOptions::new().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(self.report().as_bytes())) {
            say(&format!("no report in {}: {error}", path.display()));
        }
    }
}
