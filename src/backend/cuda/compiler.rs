//! The seam to a compiler of kernels: NVRTC, or in tests the compiler of the emulation.

/// Turns a translation unit into what a driver loads.
pub(crate) trait Compiler: Send + Sync {
    /// Name and version: images of one compiler are not those of another.
    fn identity(&self) -> String;

    /// Compiles `source` for a device of this compute capability.
    fn compile(&self, source: &str, capability: (u32, u32)) -> Result<Image, CompileError>;
}

/// A compiled translation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// What the compiler said, registers and spills among it; empty if it came from a cache.
    pub(crate) log: String,
}

/// Why there is no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompileError {
    /// The compiler refused the source.
    Refused { log: String },
    /// The compiler does not know the device.
    UnknownArchitecture { capability: (u32, u32), identity: String },
    /// There is no compiler, or it failed otherwise.
    Unavailable { reason: String },
}
