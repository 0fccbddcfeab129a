//! Test fixture for kernels on an emulated device: compiles a text, passes arguments and reads results.

use std::sync::Arc;

use super::{Emulator, Settings, emulator_or_skip};
use crate::backend::cuda::driver::Compiler;
use crate::backend::cuda::driver::{Address, Driver, DriverError, Geometry, Module, Queue};

/// Type of an argument or of an element of a buffer.
pub(crate) trait Plain: Copy {
    const BYTES: usize;
    fn put(self, bytes: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl Plain for $number {
            const BYTES: usize = size_of::<$number>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_ne_bytes());
            }
            fn take(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}

plain!(f32, f64, i32, u32, i64, u64);

impl Plain for Address {
    const BYTES: usize = 8;
    fn put(self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
    }
    fn take(bytes: &[u8]) -> Self {
        Address(u64::take(bytes))
    }
}

/// Returns the bytes of one argument. A structure is passed as the concatenated bytes of its members.
pub(crate) fn argument<T: Plain>(value: T) -> Vec<u8> {
    argument_of(&[value])
}

/// Returns the bytes of several values of one type.
pub(crate) fn argument_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    values.iter().for_each(|value| value.put(&mut bytes));
    bytes
}

/// A device with one module.
pub(crate) struct Bench {
    pub(crate) device: Arc<Emulator>,
    pub(crate) module: Module,
}

impl Bench {
    /// Returns `None` if there is no C++ compiler. Panics with the log if the text does not compile.
    pub(crate) fn new(source: &str) -> Option<Bench> {
        let device = emulator_or_skip(Settings::default())?;
        let image = match device.compile(source, device.properties().capability) {
            Ok(image) => image,
            Err(error) => panic!("{error:#?}"),
        };
        let module = device.load(&image.bytes).unwrap();
        Some(Bench { device, module })
    }

    /// Allocates a buffer with these values.
    pub(crate) fn put<T: Plain>(&self, values: &[T]) -> Address {
        let address = self.room::<T>(values.len());
        self.device.upload(address, &argument_of(values), Queue::Work).unwrap();
        address
    }

    /// Allocates a buffer for `count` values.
    pub(crate) fn room<T: Plain>(&self, count: usize) -> Address {
        self.device.allocate(count * T::BYTES).unwrap()
    }

    /// Returns the first `count` values of a buffer.
    pub(crate) fn take<T: Plain>(&self, address: Address, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * T::BYTES];
        self.device.download(address, &mut bytes, Queue::Work).unwrap();
        bytes.chunks(T::BYTES).map(T::take).collect()
    }

    pub(crate) fn launch(
        &self,
        kernel: &str,
        blocks: u32,
        threads: u32,
        arguments: &[Vec<u8>],
    ) -> Result<(), DriverError> {
        self.launch_blocks(kernel, blocks, threads, None, arguments)
    }

    /// Runs a kernel, but only the `chosen` blocks of the grid; all blocks if `None`.
    pub(crate) fn launch_blocks(
        &self,
        kernel: &str,
        blocks: u32,
        threads: u32,
        chosen: Option<&[u32]>,
        arguments: &[Vec<u8>],
    ) -> Result<(), DriverError> {
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let geometry = Geometry { blocks, threads };
        self.device.launch_blocks(self.module, kernel, geometry, chosen, &arguments)
    }
}
