//! Mutation testing of launches. Each mistake of [`mutant`](crate::mutant) is tried in the launches that execute its
//! instruction, until one launch detects it: by a data race, an error of the device, a launch that does not terminate,
//! or different values in memory.
//!
//! A launch first runs without a mistake. Then it is repeated from the same initial memory, once for each mistake that
//! concerns an executed instruction and is not detected yet. Therefore each program under test runs only once, and the
//! report lists the instructions that no launch executes.

use crate::machine::memory::Memory;
use crate::machine::{self, Fault, Loaded, Report, Settings, TIMEOUT, Trial};
use crate::mutant::{Mistake, Mutant, Site};
use crate::program::Module;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// Outcome of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No launch has executed the instruction.
    NotReached,
    /// Launches have executed the instruction, with the same outcome as without the mistake.
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

/// Kernel, place in its sources, and mistake.
type Key = (String, String, Mistake);

/// All mistakes of the loaded modules, with their outcomes.
#[derive(Debug, Default)]
pub(crate) struct Mutants {
    /// If true, each instruction of each module is a place of its own.
    each: bool,
    fates: BTreeMap<Key, Fate>,
}

/// Launch of a kernel.
pub(crate) struct Launch<'a> {
    /// The handle of the module.
    pub(crate) module: u64,
    pub(crate) loaded: &'a Loaded,
    pub(crate) kernel: usize,
    pub(crate) grid: (u32, u32),
    pub(crate) arguments: &'a [Vec<u8>],
}

impl Launch<'_> {
    /// # Errors
    /// As [`machine::launch`].
    pub(crate) fn make(&self, memory: &mut Memory, settings: &Settings) -> Result<Report, Fault> {
        let Launch { loaded, kernel, grid: (blocks, threads), arguments, .. } = *self;
        machine::launch(loaded, kernel, blocks, threads, arguments, memory, settings)
    }
}

impl Mutants {
    /// Creates an empty record. `each`: if true, mistakes are counted per instruction of each module, otherwise per
    /// source line.
    pub(crate) fn new(each: bool) -> Mutants {
        Mutants { each, fates: BTreeMap::new() }
    }

    /// Registers all mistakes of a module's kernels as not reached. `handle`: the handle of the module.
    pub(crate) fn expect(&mut self, handle: u64, loaded: &Loaded) {
        let module = &loaded.module;
        for (kernel, function) in module.functions.iter().enumerate() {
            for site in module.sites(kernel).into_iter().filter(|_| function.is_kernel) {
                let operation = &module.functions[site.0].code[site.1].operation;
                for mistake in operation.mistakes(u32::MAX) {
                    let key = self.key(handle, module, kernel, site, mistake);
                    self.fates.entry(key).or_insert(Fate::NotReached);
                }
            }
        }
    }

    fn key(
        &self,
        handle: u64,
        module: &Module,
        kernel: usize,
        site: Site,
        mistake: Mistake,
    ) -> Key {
        let mut place = module.place(site);
        if self.each {
            let _ = write!(place, "@{handle:x}.{}.{}", site.0, site.1);
        }
        (module.functions[kernel].name.clone(), place, mistake)
    }

    /// Runs a launch, and repeats it with each mistake that was not detected before.
    ///
    /// # Errors
    /// If the launch without a mistake fails.
    pub(crate) fn try_all(
        &mut self,
        launch: &Launch<'_>,
        memory: &mut Memory,
        settings: &Settings,
    ) -> Result<Report, Fault> {
        let before = memory.contents();
        let plain = Settings { finds_races: true, notes_sites: true, ..*settings };
        let report = launch.make(memory, &plain)?;
        // If the correct launch has races, every mistake would seem to be detected.
        if !report.races.is_empty() {
            return Ok(report);
        }
        let after = memory.contents();
        let module = &launch.loaded.module;
        for (&site, &named) in &report.sites {
            let operation = &module.functions[site.0].code[site.1].operation;
            for mistake in operation.mistakes(named) {
                let key = self.key(launch.module, module, launch.kernel, site, mistake);
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

    /// Returns the lines of the report, each `mutant KERNEL PLACE MISTAKE FATE`.
    pub(crate) fn lines(&self) -> String {
        let mut text = String::new();
        for ((kernel, place, mistake), fate) in &self.fates {
            let _ = writeln!(text, "mutant {kernel} {place} {mistake} {fate}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::parse;

    /// A kernel in which each thread reads the value of another one, with one unnecessary and one unreachable barrier.
    const TEXT: &str = ".version 7.5
        .target sm_75
        .address_size 64
        .entry k(.param .u64 to) {
        .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
        .shared .align 4 .b8 part[256];
        ld.param.u64 %rd1, [to];
        mov.u32 %r1, %tid.x;
        shl.b32 %r2, %r1, 2;
        mov.u32 %r3, part;
        add.s32 %r4, %r3, %r2;
        st.shared.u32 [%r4], %r1;
        bar.sync 0;
        xor.b32 %r5, %r2, 128;
        add.s32 %r5, %r3, %r5;
        ld.shared.u32 %r6, [%r5];
        setp.lt.u32 %p1, %r1, 7;
        vote.sync.any.pred %p1, %p1, -1;
        @%p1 add.s32 %r6, %r6, 100;
        bar.sync 0;
        shfl.sync.bfly.b32 %r6, %r6, 1, 31, -1;
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r6;
        setp.ne.s32 %p1, %r1, 99;
        @%p1 bra done;
        bar.warp.sync -1;
        done: ret; }";

    #[test]
    fn each_mistake_has_its_fate_and_leaves_no_trace() {
        let mut memory = Memory::default();
        let loaded = Loaded::new(parse(TEXT).unwrap(), &mut memory);
        let at = memory.allocate(256, 0);
        let arguments = [at.to_le_bytes().to_vec()];
        let launch =
            Launch { module: 1, loaded: &loaded, kernel: 0, grid: (1, 64), arguments: &arguments };
        let mut mutants = Mutants::new(false);
        mutants.expect(1, &loaded);
        for seed in 0..3 {
            let settings = Settings { seed, ..Settings::default() };
            let report = mutants.try_all(&launch, &mut memory, &settings).unwrap();
            assert_eq!(report.races, [""; 0]);
        }
        let expected = "mutant k k_line_13 absent race
mutant k k_line_18 fewer error
mutant k k_line_18 alone other-numbers
mutant k k_line_20 absent not-found
mutant k k_line_21 fewer error
mutant k k_line_21 alone error
mutant k k_line_27 absent not-reached
mutant k k_line_27 fewer not-reached
";
        assert_eq!(mutants.lines(), expected);
        let mut first = [0; 4];
        memory.read(at, &mut first).unwrap();
        assert_eq!(u32::from_le_bytes(first), 33 + 100, "of thread 1, from thread 33");
        let mut each = Mutants::new(true);
        each.expect(7, &loaded);
        assert!(each.lines().contains("mutant k k_line_13@7.0."), "{}", each.lines());
    }
}
