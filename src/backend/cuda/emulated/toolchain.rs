//! The C++ compiler of the emulation. It is searched once and compiles each text once per process.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::{fmt, fs};

use tempfile::TempDir;

use super::entries::{Entry, MARK, entries};
use crate::backend::cuda::driver::{CompileError, Image};

/// The files in `kernels/host`, under the names of their `#include` lines.
const HEADERS: [(&str, &str); 6] = [
    ("cuda_on_cpu.h", include_str!("../../../../kernels/host/cuda_on_cpu.h")),
    ("block.h", include_str!("../../../../kernels/host/block.h")),
    ("fibre.h", include_str!("../../../../kernels/host/fibre.h")),
    ("erfcx.h", include_str!("../../../../kernels/host/erfcx.h")),
    ("intrinsics.h", include_str!("../../../../kernels/host/intrinsics.h")),
    ("launch.h", include_str!("../../../../kernels/host/launch.h")),
];

/// Options of the compiler. Some warnings that NVRTC does not report are errors here, because each of them is a
/// mistake in a kernel. Contraction is off; therefore the emulation yields the same bits on every processor.
const FLAGS: [&str; 17] = [
    "-std=c++17",
    "-O1",
    "-g1",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-U_FORTIFY_SOURCE",
    "-fstack-clash-protection",
    "-Wall",
    "-Wextra",
    "-Wno-unused-function",
    "-Wno-unknown-pragmas",
    "-Wno-unused-parameter",
    "-Werror=return-type",
    "-Werror=uninitialized",
    "-Werror=vla",
];

/// Sanitizers of the kernels. Null pointers and divisions by zero raise signals without them.
const SANITIZERS: [&str; 4] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize=null,integer-divide-by-zero",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
];

/// Options that emulate a card with different rounding: operations are contracted (an expensive optimisation for GCC)
/// if the processor has fused operations, and functions have errors of a unit in the last place. A suite for all
/// devices must pass with these options.
const OTHERWISE: [&str; 3] =
    ["-ffp-contract=fast", "-fexpensive-optimizations", "-DCUDA_ON_CPU_ROUNDS_OTHERWISE"];

/// Static shared memory of a block that every device has.
const SHARED_BYTES: u64 = 48 << 10;

/// Reason why kernels cannot be emulated on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoToolchain {
    /// No working C++ compiler.
    NoCompiler { looked_for: Vec<OsString> },
    /// There is no folder for the compiled files.
    NoFolder { reason: String },
}

impl fmt::Display for NoToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoToolchain::NoCompiler { looked_for } => {
                let names: Vec<_> = looked_for.iter().map(|name| name.to_string_lossy()).collect();
                write!(f, "no C++ compiler: looked for {}", names.join(", "))
            }
            NoToolchain::NoFolder { reason } => {
                write!(f, "no folder for the emulation's libraries: {reason}")
            }
        }
    }
}

/// A working compiler and a folder for its files.
pub(crate) struct Toolchain {
    program: OsString,
    pub(super) version: String,
    folder: TempDir,
    sanitized: bool,
    rounds_otherwise: bool,
    made: Mutex<HashMap<String, Made>>,
}

static FOUND: OnceLock<Result<Toolchain, NoToolchain>> = OnceLock::new();

/// Removes the folder at exit, because statics are not dropped.
extern "C" fn remove_folder() {
    if let Some(Ok(toolchain)) = FOUND.get() {
        let _ = fs::remove_dir_all(toolchain.folder.path());
    }
}

/// Image of one text, or the error of its compilation; a text is compiled only once.
type Made = Arc<OnceLock<Result<Image, CompileError>>>;

impl Toolchain {
    /// Returns the toolchain of this process; its folder is removed when the process ends.
    pub(crate) fn shared() -> Result<&'static Toolchain, NoToolchain> {
        let named = std::env::var_os("CXX").into_iter();
        let usual = ["g++", "clang++", "c++"].map(OsString::from);
        let found = FOUND.get_or_init(|| {
            // SAFETY: a plain function that does not unwind.
            unsafe { libc::atexit(remove_folder) };
            Toolchain::find(named.chain(usual).collect())
        });
        found.as_ref().map_err(Clone::clone)
    }

    /// Returns the first of these programs that works as a compiler.
    pub(super) fn find(looked_for: Vec<OsString>) -> Result<Toolchain, NoToolchain> {
        let Some((program, version)) =
            looked_for.iter().find_map(|program| Some((program.clone(), version_of(program)?)))
        else {
            return Err(NoToolchain::NoCompiler { looked_for });
        };
        let no_folder = |e: std::io::Error| NoToolchain::NoFolder { reason: e.to_string() };
        let folder = tempfile::Builder::new().prefix("dualfit-emulation-").tempdir();
        let folder = folder.map_err(no_folder)?;
        for (name, text) in HEADERS {
            fs::write(folder.path().join(name), text).map_err(no_folder)?;
        }
        let sanitized = std::env::var_os("DUALFIT_SANITIZE").is_some_and(|v| v == "1");
        let rounds_otherwise = std::env::var_os("DUALFIT_ROUNDING").is_some_and(|v| v == "other");
        let made = Mutex::default();
        let toolchain = Toolchain { program, version, folder, sanitized, rounds_otherwise, made };
        toolchain.precompile();
        Ok(toolchain)
    }

    /// Precompiles the header. GCC finds the result next to the header and compiles a unit in half the time
    /// (0.17 s instead of 0.33 s). If the compiler does not find it or fails here, it reads the header itself.
    fn precompile(&self) {
        let header = self.folder.path().join(HEADERS[0].0);
        let _ = self.command().args(["-x", "c++-header"]).arg(header).output();
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(FLAGS);
        if self.sanitized {
            command.args(SANITIZERS);
        }
        if self.rounds_otherwise {
            command.args(OTHERWISE);
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("fma") {
                command.arg("-mfma");
            }
        }
        command
    }

    /// Compiles a text, or returns the result of its first compilation.
    pub(super) fn compile(&self, source: &str) -> Result<Image, CompileError> {
        let (made, number) = {
            let mut all = self.made.lock().unwrap();
            let number = all.len();
            (all.entry(source.to_owned()).or_default().clone(), number)
        };
        made.get_or_init(|| self.build(source, number)).clone()
    }

    fn build(&self, source: &str, number: usize) -> Result<Image, CompileError> {
        let entries = entries(source);
        if entries.is_empty() {
            let log = "no `extern \"C\" __global__` in the text".into();
            return Err(CompileError::Refused { log });
        }
        let name = format!("unit{number}");
        let (bytes, log) = self.library(&name, source, &entries)?;
        self.check_shared(&name, source, &entries)?;
        Ok(Image { bytes, log })
    }

    /// Returns an error if the shared memory of a kernel is too large, as `ptxas` does. The section of a library
    /// contains the shared variables of all its kernels; therefore each kernel is checked alone only if the section
    /// is too large.
    fn check_shared(
        &self,
        name: &str,
        source: &str,
        entries: &[Entry],
    ) -> Result<(), CompileError> {
        if self.shared_bytes(name)? <= SHARED_BYTES {
            return Ok(());
        }
        // Without C linkage the compiler removes unreferenced kernels of an unnamed namespace.
        let source = source.replace(MARK, "__global__");
        for entry in entries {
            let alone = format!("{name}-{}", entry.name);
            self.library(&alone, &source, std::slice::from_ref(entry))?;
            let used = self.shared_bytes(&alone)?;
            if used > SHARED_BYTES {
                let log = format!(
                    "entry `{}` uses too much shared data ({used} bytes, {SHARED_BYTES} max)",
                    entry.name
                );
                return Err(CompileError::Refused { log });
            }
        }
        Ok(())
    }

    fn shared_bytes(&self, name: &str) -> Result<u64, CompileError> {
        let unavailable =
            |e: libloading::Error| CompileError::Unavailable { reason: e.to_string() };
        // SAFETY: the library was built here from headers whose initialisers do nothing, and the
        // symbol has this type in launch.h.
        unsafe {
            let library = libloading::Library::new(self.folder.path().join(format!("{name}.so")))
                .map_err(unavailable)?;
            let bytes = library
                .get::<unsafe extern "C" fn() -> u64>(b"cuda_on_cpu__shared_bytes")
                .map_err(unavailable)?;
            Ok(bytes())
        }
    }

    /// Builds `name.so` with these kernels. Returns its bytes and the output of the compiler.
    fn library(
        &self,
        name: &str,
        source: &str,
        entries: &[Entry],
    ) -> Result<(Vec<u8>, String), CompileError> {
        let unavailable =
            |e: std::io::Error| CompileError::Unavailable { reason: format!("{name}: {e}") };
        let unit = self.folder.path().join(format!("{name}.cpp"));
        let library = self.folder.path().join(format!("{name}.so"));
        let mut text = format!(
            "#include \"cuda_on_cpu.h\"\nnamespace {{\n#line 1 \"unit.cu\"\n{source}\n}}\n#line 1 \"entries\"\n"
        );
        for Entry { name, bound } in entries {
            text += &format!("CUDA_ON_CPU_KERNEL({name}, (cuda_on_cpu::first_of({bound})))\n");
        }
        fs::write(&unit, text).map_err(unavailable)?;
        let output = self.command().arg("-o").arg(&library).arg(&unit).output();
        let output = output.map_err(unavailable)?;
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(CompileError::Refused { log });
        }
        Ok((fs::read(&library).map_err(unavailable)?, log))
    }

    /// Writes a copy of a library to a file. Each loaded copy has its own state.
    pub(super) fn copy(&self, image: &[u8], number: u64) -> std::io::Result<PathBuf> {
        let path = self.folder.path().join(format!("module{number}.so"));
        fs::write(&path, image)?;
        Ok(path)
    }
}

fn version_of(program: &OsString) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}
