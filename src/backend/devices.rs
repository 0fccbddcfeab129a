//! Selection of the CUDA devices of a machine.

/// CUDA devices of the machine, by their numbers, counted from 0 as the driver does. It converts from a number or from
/// a list of numbers.
///
/// ```
/// use dualfit::Backend;
/// use dualfit::device::Devices;
/// assert_eq!(Backend::cuda(1), Backend::Cuda(Devices::One(1)));
/// assert_eq!(Backend::cuda([0, 2]), Backend::Cuda(Devices::Several(0b101)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Devices {
    /// All devices.
    All,
    /// The device with this number.
    One(usize),
    /// The devices whose bits are set; the lowest bit is device 0. In a list, numbers beyond 63 count as 63.
    Several(u64),
}

impl From<usize> for Devices {
    fn from(number: usize) -> Devices {
        Devices::One(number)
    }
}

impl From<&[usize]> for Devices {
    fn from(numbers: &[usize]) -> Devices {
        match numbers {
            [number] => Devices::One(*number),
            _ => Devices::Several(numbers.iter().fold(0, |bits, &n| bits | 1 << n.min(63))),
        }
    }
}

impl<const N: usize> From<[usize; N]> for Devices {
    fn from(numbers: [usize; N]) -> Devices {
        Devices::from(&numbers[..])
    }
}

impl Devices {
    /// Returns the device numbers in ascending order; `count` is the number of devices of the machine.
    pub(crate) fn numbers(self, count: usize) -> Vec<usize> {
        match self {
            Devices::All => (0..count).collect(),
            Devices::One(number) => vec![number],
            Devices::Several(bits) => (0..64).filter(|n| bits >> n & 1 == 1).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Devices;

    #[test]
    fn lists_are_numbers_in_ascending_order() {
        let numbers = |devices: Devices| devices.numbers(3);
        assert_eq!(numbers(Devices::All), [0, 1, 2]);
        assert_eq!(numbers(7.into()), [7]);
        assert_eq!(numbers([70].into()), [70]);
        assert_eq!(numbers([3, 0, 3].into()), [0, 3]);
        assert_eq!(numbers([64, 1].into()), [1, 63]);
        assert_eq!(numbers([0_usize; 0].into()), [0_usize; 0]);
    }
}
