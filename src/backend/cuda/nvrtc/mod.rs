//! NVRTC, the compiler of the CUDA toolkit as a library. It is found and called without cudarc, because cudarc
//! panics if the library is missing and does not search Python wheels.
//!
//! If there are several NVRTC libraries, the first suitable one is used: it supports the device's architecture, and
//! the driver can load its kernels. CUDA 13 does not support compute capabilities below 7.5. Each release supports the
//! devices of its time. A driver loads kernels of its own major version of CUDA or of earlier ones.

mod api;
mod search;

use crate::backend::cuda::driver::{CompileError, Compiler, Image};
use crate::error::no_cuda::NoCuda;
use crate::threads::lock;
use api::{NvrtcApi, Target, Version};
use search::{Candidates, candidates};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Options of every compilation in addition to the architecture. With `-v` the log contains registers and spills.
const OPTIONS: [&str; 2] = ["--std=c++17", "-Xptxas=-v"];

/// Option that adds line information for profilers and debuggers to portable code.
const LINES: &str = "-lineinfo";

/// An opened NVRTC library with its version and its supported architectures.
#[derive(Debug)]
pub(crate) struct Nvrtc {
    api: NvrtcApi,
    /// Major and minor version.
    pub(crate) version: Version,
    /// Supported compute capabilities, ascending.
    architectures: Vec<Version>,
}

impl Nvrtc {
    /// Finds the NVRTC for a device of this capability whose driver supports this version of CUDA. The
    /// result is kept for the life of the process.
    pub(crate) fn find(capability: Version, driver: Version) -> Result<Arc<Nvrtc>, NoCuda> {
        type Found = HashMap<(Version, Version), Result<Arc<Nvrtc>, NoCuda>>;
        static FOUND: Mutex<Option<Found>> = Mutex::new(None);
        let mut found = lock(&FOUND);
        let known = found.get_or_insert_default().entry((capability, driver));
        known.or_insert_with(|| choose(candidates(), capability, driver).map(Arc::new)).clone()
    }

    /// Opens the library at this path, or with this name in the loader's search path.
    pub(crate) fn open(file: &Path) -> Result<Nvrtc, String> {
        let api = NvrtcApi::open(file)?;
        let version = api.version()?;
        let mut architectures = api.architectures()?;
        architectures.sort_unstable();
        Ok(Nvrtc { api, version, architectures })
    }

    /// Returns true if this NVRTC generates machine code for this architecture.
    #[cfg(test)]
    pub(crate) fn knows(&self, capability: Version) -> bool {
        self.architectures.binary_search(&capability).is_ok()
    }

    fn target(&self, capability: Version) -> Option<Target> {
        match self.architectures.binary_search(&capability) {
            Ok(_) => Some(Target::Machine(capability)),
            Err(0) => None,
            Err(above) => Some(Target::Portable(self.architectures[above - 1])),
        }
    }

    /// Returns true if a driver loads the output of this NVRTC: machine code of its own major version or an earlier
    /// one; portable code of its own version or an earlier one.
    fn suits(&self, target: Target, driver: Version) -> bool {
        match target {
            Target::Machine(_) => self.version.0 <= driver.0,
            Target::Portable(_) => self.version <= driver,
        }
    }
}

fn choose(list: Candidates, capability: Version, driver: Version) -> Result<Nvrtc, NoCuda> {
    let mut searched = list.searched;
    let mut portable: Option<(Version, Nvrtc)> = None;
    let mut too_new: Option<NoCuda> = None;
    for file in list.files {
        let nvrtc = match Nvrtc::open(&file) {
            Ok(nvrtc) => nvrtc,
            // A name that the loader does not find is expected; an existing file that fails is reported.
            Err(why) => {
                if file.is_absolute() {
                    searched.push(format!("{}: {why}", file.display()));
                }
                continue;
            }
        };
        match nvrtc.target(capability) {
            Some(target) if !nvrtc.suits(target, driver) => {
                too_new.get_or_insert(NoCuda::NvrtcTooNew { nvrtc: nvrtc.version, driver });
            }
            Some(Target::Machine(_)) => return Ok(nvrtc),
            Some(Target::Portable(known)) => {
                if portable.as_ref().is_none_or(|(best, _)| known > *best) {
                    portable = Some((known, nvrtc));
                }
            }
            None => searched.push(format!(
                "{}: NVRTC {}.{} has dropped devices of compute capability {}.{}",
                file.display(),
                nvrtc.version.0,
                nvrtc.version.1,
                capability.0,
                capability.1
            )),
        }
    }
    match portable {
        Some((_, nvrtc)) => Ok(nvrtc),
        None => Err(too_new.unwrap_or(NoCuda::NvrtcNotFound { searched, driver })),
    }
}

impl Compiler for Nvrtc {
    /// Returns the version and the options, because the image depends on both.
    fn identity(&self) -> String {
        let (major, minor) = self.version;
        format!("NVRTC {major}.{minor} {} {LINES}", OPTIONS.join(" "))
    }

    fn compile(&self, source: &str, capability: (u32, u32)) -> Result<Image, CompileError> {
        let target = self.target(capability).ok_or_else(|| CompileError::UnknownArchitecture {
            capability,
            identity: self.identity(),
        })?;
        let architecture = match target {
            Target::Machine((major, minor)) => format!("sm_{major}{minor}"),
            Target::Portable((major, minor)) => format!("compute_{major}{minor}"),
        };
        let architecture = format!("--gpu-architecture={architecture}");
        let lines = matches!(target, Target::Portable(_)).then_some(LINES);
        let options: Vec<&str> =
            OPTIONS.into_iter().chain(lines).chain([architecture.as_str()]).collect();
        self.api.compile(source, &options, target)
    }
}

#[cfg(test)]
pub(crate) mod tests;
