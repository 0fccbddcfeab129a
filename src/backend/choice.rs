//! Choice of the devices, and of the faster backend for a fit: time estimates for CPU and device from the work of a pass.

use super::cuda::driver::Properties;
use crate::model::op::Node;
use crate::model::program::Program;
use crate::setters::setters;

/// Cost model that [`Backend::Auto`](crate::Backend::Auto) uses to choose between CPU and device. The defaults are
/// measurements (see `docs/benchmarks.md`). For a very different machine, set measured values.
///
/// The unit of work is one addition. A division or root counts 3 units, an exponential or logarithm 12,
/// a sine 20, a power or an error function 40, a gamma function 100. For n free parameters, a row has k = n + 1
/// numbers. A pass sums up the k(k + 1)/2 products of pairs of them; each product counts 1 unit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// Time of one CPU thread per unit of work, in seconds. Default 5e-11: AVX-512 machine code takes 4e-11, AVX2
    /// machine code 7e-11, the interpreter 1e-10.
    pub cpu_unit_seconds: f64,
    /// Time for a launch including the wait for its result, in seconds. Default 10e-6, an estimate.
    pub launch_seconds: f64,
    /// Bandwidth from host memory to the device, in bytes per second. Default 12e9 (PCIe 4, pageable memory).
    pub upload_bytes_per_second: f64,
    /// Time to compile and load kernels that are not cached, in seconds. Default 0.5.
    pub compile_seconds: f64,
    /// Time to initialise a device before its first fit, in seconds. Default 0.3.
    pub startup_seconds: f64,
    /// Fraction of the peak rates that a device reaches. Default 0.5.
    pub device_efficiency: f64,
    /// Expected number of passes of a fit. Default 12, the median over the NIST problems.
    pub passes: f64,
    /// Number of points of a segment, the unit in which a fit is divided among several devices. The order in which the
    /// sums of segments are added depends on the segment numbers only. Default 2²⁴.
    pub segment_points: usize,
}

setters!(Costs {
    cpu_unit_seconds: f64,
    launch_seconds: f64,
    upload_bytes_per_second: f64,
    compile_seconds: f64,
    startup_seconds: f64,
    device_efficiency: f64,
    passes: f64,
    segment_points: usize,
});

impl Default for Costs {
    fn default() -> Self {
        Costs {
            cpu_unit_seconds: 5e-11,
            launch_seconds: 10e-6,
            upload_bytes_per_second: 12e9,
            compile_seconds: 0.5,
            startup_seconds: 0.3,
            device_efficiency: 0.5,
            passes: 12.0,
            segment_points: 1 << 24,
        }
    }
}

/// The work of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Workload {
    pub(crate) points: usize,
    /// Bytes of one point on a device.
    pub(crate) bytes_per_point: usize,
    /// Units of work per point.
    pub(crate) units: f64,
    /// True if the points are already on the device.
    pub(crate) uploaded: bool,
}

/// Returns the units of work of `program` per point, including the products of the columns. `per_point`: one bool per
/// node, true if the node is evaluated at each point.
pub(crate) fn units(program: &Program, per_point: &[bool]) -> f64 {
    let nodes = program.nodes.iter().zip(per_point).filter(|(_, each)| **each);
    let k = program.outputs.len() as f64;
    nodes.map(|(node, _)| unit(*node)).sum::<f64>() + 0.5 * k * (k + 1.0) + PER_POINT
}

/// Units of work to load a point and to weight its row.
const PER_POINT: f64 = 8.0;

fn unit(node: Node) -> f64 {
    match node {
        Node::Const(_) | Node::Column(_) | Node::Param(_) => 0.0,
        Node::Unary(op, _) => op.facts().cost,
        Node::Binary(op, ..) => op.facts().cost,
        Node::Select(..) => 1.0,
    }
}

impl Costs {
    /// Returns the number of points of a segment, at least 1.
    pub(crate) fn segment(&self) -> usize {
        self.segment_points.max(1)
    }

    /// Estimates the time of a fit on `threads` CPU threads, in seconds.
    pub(crate) fn on_cpu(&self, work: &Workload, threads: usize) -> f64 {
        let each = work.points as f64 * work.units * self.cpu_unit_seconds;
        self.passes * each / threads.max(1) as f64
    }

    /// Estimates the time of a fit on an initialised device with loaded kernels, in seconds.
    pub(crate) fn on_device(&self, work: &Workload, device: &Properties) -> f64 {
        let bytes = work.points as f64 * work.bytes_per_point as f64;
        let upload = if work.uploaded { 0.0 } else { bytes / self.upload_bytes_per_second };
        upload + self.passes * (self.launch_seconds + self.pass_on_device(work, device))
    }

    /// Estimates the time of a pass over resident points by all multiprocessors, without its launch, in seconds.
    fn pass_on_device(&self, work: &Workload, device: &Properties) -> f64 {
        let points = work.points as f64;
        let arithmetic = points * work.units / f64_rate(device);
        let bytes = points * work.bytes_per_point as f64;
        arithmetic.max(bytes / device.memory_bytes_per_second) / self.device_efficiency
    }
}

/// Work of the solver on the CPU for the step of one pass, without the work on the points: (c, d) stands for c + d n³
/// units with n free parameters.
const STEP_UNITS: (f64, f64) = (6000.0, 60.0);
/// Clock cycles of a step on a device per evaluation: constant part and factor of the square of the number of free
/// parameters. The latency of dependent instructions limits the step.
const STEP_CYCLES: (f64, f64) = (30_000.0, 3_000.0);
/// Fits that a multiprocessor runs concurrently.
const FITS_AT_ONCE: f64 = 24.0;
/// Maximum number of double-precision multiply-adds per clock of a warp that has a multiprocessor for itself, because
/// its instructions wait for earlier ones. An estimate.
const LANES_OF_WARP: f64 = 8.0;
/// Minimum time of a pass of one warp over a fit of a batch, in launches, from which the fits of a batch may run one by
/// one. For less, the work of the host for each fit takes as long as is gained.
const LAUNCHES_OF_LONG_PASS: f64 = 100.0;
/// Maximum time of the sums of a launch, in seconds, if the system terminates kernels after about two seconds.
const SECONDS_OF_LAUNCH: f64 = 0.05;
/// Minimum number of points of a launch under a time limit.
const LEAST_OF_LAUNCH: usize = 1 << 16;

/// The size of a batch, without its number of points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchSize {
    pub(crate) fits: usize,
    /// Number of free parameters of each fit.
    pub(crate) free: usize,
    /// Number of points of the longest fit.
    pub(crate) longest: usize,
}

impl Costs {
    /// Estimates the time of a batch on `threads` CPU threads, in seconds.
    pub(crate) fn batch_on_cpu(&self, work: &Workload, size: BatchSize, threads: usize) -> f64 {
        let step = STEP_UNITS.0 + STEP_UNITS.1 * (size.free as f64).powi(3);
        let steps = self.passes * size.fits as f64 * step * self.cpu_unit_seconds;
        self.on_cpu(work, threads) + steps / threads.max(1) as f64
    }

    /// Estimates the time of a batch on an initialised device with a loaded kernel, in seconds. One warp computes a fit
    /// of many points; therefore the kernel takes at least the time of its longest fit.
    pub(crate) fn batch_on_device(
        &self,
        work: &Workload,
        size: BatchSize,
        device: &Properties,
    ) -> f64 {
        let cycles = STEP_CYCLES.0 + STEP_CYCLES.1 * (size.free as f64).powi(2);
        let at_once = f64::from(device.multiprocessors.max(1)) * FITS_AT_ONCE;
        let rounds = (size.fits as f64 / at_once).ceil();
        let longest = self.pass_of_warp(work, size, device);
        let idle = (longest - self.pass_on_device(work, device)).max(0.0);
        let each = idle + rounds * cycles / device.clock_hertz;
        self.on_device(work, device) + self.passes * each
    }

    /// Estimates the time of a pass of one warp over the longest fit of a batch, in seconds.
    fn pass_of_warp(&self, work: &Workload, size: BatchSize, device: &Properties) -> f64 {
        let lanes = f64_lanes(device.capability).min(LANES_OF_WARP);
        let rate = self.device_efficiency * lanes * device.clock_hertz;
        size.longest as f64 * work.units / rate
    }

    /// Estimates the time of the fits of a batch one by one, each as a single fit on an initialised device with loaded
    /// kernels, in seconds. Each fit is uploaded.
    pub(crate) fn singly_on_device(
        &self,
        work: &Workload,
        size: BatchSize,
        device: &Properties,
    ) -> f64 {
        let launches = self.passes * size.fits.saturating_sub(1) as f64 * self.launch_seconds;
        self.on_device(&Workload { uploaded: false, ..*work }, device) + launches
    }

    /// Returns true if the fits of a batch should run one by one as single fits, by all multiprocessors, instead of each
    /// in a warp of the kernel for batches: if a pass of a warp over the longest fit takes long, and single fits are
    /// faster or the system would terminate the kernel.
    pub(crate) fn is_better_singly(
        &self,
        work: &Workload,
        size: BatchSize,
        device: &Properties,
    ) -> bool {
        let pass = self.pass_of_warp(work, size, device);
        let is_terminated = device.has_time_limit && self.passes * pass > SECONDS_OF_LAUNCH;
        let singly = self.singly_on_device(work, size, device);
        pass >= LAUNCHES_OF_LONG_PASS * self.launch_seconds
            && (is_terminated || singly < self.batch_on_device(work, size, device))
    }

    /// Returns the maximum number of fits of a launch that takes about `seconds`. It is at least the number of fits
    /// that the device runs concurrently, because fewer fits do not take less time.
    pub(crate) fn fits_of_launch(
        &self,
        work: &Workload,
        size: BatchSize,
        device: &Properties,
        seconds: f64,
    ) -> usize {
        let there = Workload { uploaded: true, ..*work };
        let whole = self.batch_on_device(&there, size, device);
        let at_once = f64::from(device.multiprocessors.max(1)) * FITS_AT_ONCE;
        (size.fits as f64 * seconds / whole).max(at_once) as usize
    }

    /// Returns the maximum number of points of a launch, with `units` units of work per point, if the system terminates
    /// long kernels. An R factor takes several times the time of the sums and also stays within the limit.
    pub(crate) fn points_of_launch(&self, units: f64, device: &Properties) -> usize {
        if !device.has_time_limit {
            return usize::MAX;
        }
        let rate = self.device_efficiency * f64_rate(device);
        ((SECONDS_OF_LAUNCH * rate / units) as usize).max(LEAST_OF_LAUNCH)
    }

    /// Estimates the time to compile the kernel of a batch, which contains the passes and the solver, in seconds.
    pub(crate) fn batch_compile_seconds(&self) -> f64 {
        3.0 * self.compile_seconds
    }
}

/// Returns the double-precision multiply-adds per second of a device.
fn f64_rate(device: &Properties) -> f64 {
    f64::from(device.multiprocessors) * device.clock_hertz * f64_lanes(device.capability)
}

/// Returns the double-precision multiply-adds per clock of one multiprocessor (CUDA C++ Programming Guide, table
/// of arithmetic throughput). Of supported devices that are not listed, consumer cards have 2, a sixty-fourth of the
/// single-precision rate, as does compute capability 10.3. For later devices 2 is an estimate that favours the CPU.
pub(crate) fn f64_lanes(capability: (u32, u32)) -> f64 {
    match capability {
        (7, 0) | (7, 2) | (8, 0) => 32.0,
        (9, 0) | (10, 0) => 64.0,
        _ => 2.0,
    }
}

/// Selection of CUDA devices by their numbers, which count from 0 in the order of the driver. A number or a list of
/// numbers converts to this type.
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
    /// The devices whose bits are set; the lowest bit is device 0. In the conversion of a list, numbers above 63 count
    /// as 63.
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
    use super::{BatchSize, Costs, Properties, Workload};

    fn device(capability: (u32, u32)) -> Properties {
        Properties {
            ordinal: 0,
            name: "a device".into(),
            capability,
            multiprocessors: 132,
            clock_hertz: 1.7e9,
            memory_bytes_per_second: 4e12,
            driver_version: (13, 0),
            has_time_limit: false,
        }
    }

    /// A three-parameter decay has about 37 units and 16 bytes a point.
    fn work(points: usize) -> Workload {
        Workload { points, bytes_per_point: 16, units: 37.0, uploaded: false }
    }

    /// Windows terminates kernels after two seconds.
    #[test]
    fn launches_are_short_where_the_system_ends_long_ones() {
        let costs = Costs::default();
        let limited = |capability| Properties { has_time_limit: true, ..device(capability) };
        assert_eq!(costs.points_of_launch(37.0, &device((8, 9))), usize::MAX);
        for units in [37.0, 400.0, 10_000.0] {
            let points = costs.points_of_launch(units, &limited((8, 9)));
            let there = Workload { units, uploaded: true, ..work(points) };
            let seconds = costs.on_device(&there, &limited((8, 9))) / costs.passes;
            assert!(points >= 1 << 16 && seconds < 0.1, "{units}: {points}, {seconds}");
        }
    }

    #[test]
    fn small_fits_belong_on_the_cpu_and_large_ones_on_a_computing_card() {
        let costs = Costs::default();
        let faster =
            |n: usize| costs.on_device(&work(n), &device((9, 0))) < costs.on_cpu(&work(n), 2);
        assert!(!faster(1_000) && faster(1_000_000));
    }

    #[test]
    fn a_consumer_card_is_slowed_by_its_double_precision() {
        let costs = Costs::default();
        let heavy = Workload { units: 1000.0, ..work(10_000_000) };
        let computing = costs.on_device(&heavy, &device((9, 0)));
        let consumer = costs.on_device(&heavy, &device((8, 9)));
        assert!(consumer > 5.0 * computing, "{consumer} against {computing}");
    }

    /// 10,000 spots of 15 by 15 pixels in u16, five parameters: about 65 units for a pixel.
    fn spots(fits: usize) -> (Workload, BatchSize) {
        let work =
            Workload { points: 225 * fits, bytes_per_point: 2, units: 65.0, uploaded: false };
        (work, BatchSize { fits, free: 5, longest: 225 })
    }

    /// Returns true if a batch of `fits` decays with `points` points each runs one by one.
    fn is_singly(fits: usize, points: usize, device: &Properties) -> bool {
        let size = BatchSize { fits, free: 3, longest: points };
        Costs::default().is_better_singly(&work(fits * points), size, device)
    }

    #[test]
    fn few_fits_of_very_many_points_run_one_by_one() {
        for capability in [(9, 0), (8, 9)] {
            let device = device(capability);
            assert!(is_singly(1, 1_000_000, &device) && is_singly(10, 100_000_000, &device));
            assert!(!is_singly(1, 10_000, &device) && !is_singly(10_000, 225, &device));
            assert!(!is_singly(10_000, 1_000_000, &device));
            // Windows terminates the kernel, although it is as fast.
            let limited = Properties { has_time_limit: true, ..device };
            assert!(is_singly(10_000, 1_000_000, &limited) && !is_singly(10_000, 225, &limited));
        }
    }

    /// Nearly all multiprocessors are idle while one warp computes the longest fit.
    #[test]
    fn a_batch_takes_at_least_the_time_of_its_longest_fit() {
        let (costs, device) = (Costs::default(), device((9, 0)));
        let size = |longest| BatchSize { fits: 1000, free: 3, longest };
        let seconds = |longest| costs.batch_on_device(&work(100_000_000), size(longest), &device);
        assert!(seconds(99_000_000) > 10.0 * seconds(100_000));
        assert!(costs.singly_on_device(&work(100_000_000), size(99_000_000), &device) < 1.0);
    }

    #[test]
    fn large_batches_belong_on_a_computing_card_and_small_ones_on_the_cpu() {
        let costs = Costs::default();
        let first = costs.startup_seconds + costs.batch_compile_seconds();
        let seconds = |fits: usize, first: f64| {
            let (work, size) = spots(fits);
            let there = first + costs.batch_on_device(&work, size, &device((9, 0)));
            (there, costs.batch_on_cpu(&work, size, 2))
        };
        let faster = |fits: usize, first: f64| {
            let (there, here) = seconds(fits, first);
            there < here
        };
        assert!(!faster(10, 0.0) && faster(10_000, 0.0), "{:?}", seconds(10_000, 0.0));
        assert!(!faster(10_000, first) && faster(1_000_000, first));
    }

    #[test]
    fn launches_have_fits_by_their_work() {
        let (costs, device) = (Costs::default(), device((8, 9)));
        let seconds = |fits: usize| {
            let (work, size) = spots(fits);
            costs.batch_on_device(&Workload { uploaded: true, ..work }, size, &device)
        };
        // Launches of a million spots, limited to 0.1 s and to 0.5 s.
        let (work, size) = spots(1_000_000);
        assert!(seconds(1_000_000) > 1.0);
        for limit in [0.1, 0.5] {
            let fits = costs.fits_of_launch(&work, size, &device, limit);
            assert!(
                (0.8..1.2).contains(&(seconds(fits) / limit)),
                "{fits} fits: {}",
                seconds(fits)
            );
        }
        // A launch has at least the fits that the device runs concurrently, for any work per fit.
        let heavy = Workload { units: 1e9, ..work };
        assert_eq!(costs.fits_of_launch(&heavy, size, &device, 0.1), 132 * 24);
        for passes in [0.0, f64::INFINITY, f64::NAN] {
            let costs = Costs { passes, ..costs };
            assert!(costs.fits_of_launch(&work, size, &device, 0.1) >= 132 * 24);
        }
    }

    #[test]
    fn data_that_are_there_need_no_upload() {
        let costs = Costs::default();
        let there = Workload { uploaded: true, ..work(10_000_000) };
        let saved = costs.on_device(&work(10_000_000), &device((9, 0)))
            - costs.on_device(&there, &device((9, 0)));
        assert!((saved - 160e6 / costs.upload_bytes_per_second).abs() < 1e-12);
    }
}

#[cfg(test)]
mod devices_tests {
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
