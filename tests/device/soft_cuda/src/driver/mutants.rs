//! Every mistake of [`mutant`](crate::mutant) is tried at launches that come to its place, until one of them shows it: by
//! an access that nothing orders, by an error of the device, an end that does not come, or other numbers in memory.
//!
//! A launch is made once as it is. Then it is made again for each mistake at the instructions that it has come to and
//! whose place no launch has shown a mistake at yet, always from the memory that it began with. So the programs that
//! launch run once, and the places that none of them comes to are known.

use crate::machine::memory::Memory;
use crate::machine::{self, Fault, Loaded, Report, Settings, TIMEOUT, Trial};
use crate::mutant::{Mistake, Mutant};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// What became of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No launch has come to its place.
    NotReached,
    /// Launches have come there and went as without it.
    NotFound,
    Race,
    Error,
    NoEnd,
    OtherNumbers,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fate::NotReached => "not-reached",
            Fate::NotFound => "not-found",
            Fate::Race => "race",
            Fate::Error => "error",
            Fate::NoEnd => "no-end",
            Fate::OtherNumbers => "other-numbers",
        })
    }
}

/// A kernel, the place in its sources, and what is wrong there.
type Key = (String, String, Mistake);

/// All mistakes of the modules that were loaded.
#[derive(Debug, Default)]
pub(crate) struct Mutants {
    fates: BTreeMap<Key, Fate>,
}

/// A kernel as it is launched.
pub(crate) struct Launch<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) kernel: usize,
    pub(crate) grid: (u32, u32),
    pub(crate) arguments: &'a [Vec<u8>],
}

impl Launch<'_> {
    /// # Errors
    /// As [`machine::launch`].
    pub(crate) fn make(&self, memory: &mut Memory, settings: &Settings) -> Result<Report, Fault> {
        let Launch { loaded, kernel, grid: (blocks, threads), arguments } = *self;
        machine::launch(loaded, kernel, blocks, threads, arguments, memory, settings)
    }
}

impl Mutants {
    /// Has the places of a module's kernels known.
    pub(crate) fn expect(&mut self, loaded: &Loaded) {
        let module = &loaded.module;
        for (kernel, function) in module.functions.iter().enumerate() {
            for site in module.sites(kernel).into_iter().filter(|_| function.is_kernel) {
                let operation = &module.functions[site.0].code[site.1].operation;
                for mistake in operation.mistakes(u32::MAX) {
                    let key = (function.name.clone(), module.place(site), mistake);
                    self.fates.entry(key).or_insert(Fate::NotReached);
                }
            }
        }
    }

    /// Makes a launch, and tries all mistakes at it that were not found before.
    ///
    /// # Errors
    /// Those of the launch without a mistake.
    pub(crate) fn try_all(
        &mut self,
        launch: &Launch<'_>,
        memory: &mut Memory,
        settings: &Settings,
    ) -> Result<Report, Fault> {
        let before = memory.contents();
        let plain = Settings { finds_races: true, notes_sites: true, ..*settings };
        let report = launch.make(memory, &plain)?;
        // Where it is wrong as it is, every mistake would seem to show.
        if !report.races.is_empty() {
            return Ok(report);
        }
        let after = memory.contents();
        let module = &launch.loaded.module;
        for (&site, &named) in &report.sites {
            let operation = &module.functions[site.0].code[site.1].operation;
            for mistake in operation.mistakes(named) {
                let kernel = module.functions[launch.kernel].name.clone();
                let key = (kernel, module.place(site), mistake);
                let fate = self.fates.entry(key).or_insert(Fate::NotReached);
                if !matches!(fate, Fate::NotReached | Fate::NotFound) {
                    continue;
                }
                memory.restore(&before);
                let mutant = Mutant { site, mistake };
                let trial = Some(Trial { mutant, most: 2 * report.issued + 10_000 });
                let settings = Settings { finds_races: true, trial, ..*settings };
                *fate = match launch.make(memory, &settings) {
                    Err(fault) if fault.code == TIMEOUT => Fate::NoEnd,
                    Err(_) => Fate::Error,
                    Ok(report) if !report.races.is_empty() => Fate::Race,
                    Ok(_) if memory.contents() != after => Fate::OtherNumbers,
                    Ok(_) => Fate::NotFound,
                };
            }
        }
        memory.restore(&after);
        Ok(report)
    }

    /// `mutant KERNEL PLACE MISTAKE FATE`, each on a line.
    pub(crate) fn lines(&self) -> String {
        let mut text = String::new();
        for ((kernel, place, mistake), fate) in &self.fates {
            let _ = writeln!(text, "mutant {kernel} {place} {mistake} {fate}");
        }
        text
    }
}
