//! Which backend a fit is likely to end on sooner: an estimate of both, from the work of a pass.

use super::cuda::driver::Properties;
use crate::model::op::Node;
use crate::model::program::Program;
use crate::setters::setters;

/// What [`Backend::Auto`](crate::Backend::Auto) reckons with. The defaults are measurements (see
/// `docs/benchmarks.md`); a machine that is much unlike can be described by its own.
///
/// Work is counted in units of one addition: a division or root is 3, an exponential or logarithm 12,
/// a sine 20, a power or an error function 40, a gamma function 100, and each of the k(k + 1)/2
/// products of k = n + 1 columns that a pass sums up is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// Seconds of one CPU thread for one unit of work. Default 5e-11: machine code of AVX-512 takes 4e-11, of AVX2 7e-11, the
    /// interpreter 1e-10.
    pub cpu_unit_seconds: f64,
    /// Seconds for a launch and for waiting for its result. Default 10e-6, an estimate.
    pub launch_seconds: f64,
    /// Bytes per second from host memory to the device. Default 12e9 (PCIe 4, pageable memory).
    pub upload_bytes_per_second: f64,
    /// Seconds until kernels that are nowhere cached are compiled and loaded. Default 0.5.
    pub compile_seconds: f64,
    /// Seconds until a device that no fit has used yet is ready. Default 0.3.
    pub startup_seconds: f64,
    /// The part of its peak rates that a device reaches. Default 0.5.
    pub device_efficiency: f64,
    /// Passes that a fit is expected to take. Default 12, the median over NIST's problems.
    pub passes: f64,
    /// Points that a device sums up at once, a segment; fits of several are divided among devices by segments. The sums of
    /// segments are added up in an order that their numbers determine alone. Default 2²⁴.
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
    /// Units of work at one point.
    pub(crate) units: f64,
    /// Whether the points are on the device already.
    pub(crate) uploaded: bool,
}

/// Units of work of `program` at a point, with the products of its outputs' partials.
pub(crate) fn units(program: &Program, per_point: &[bool]) -> f64 {
    let nodes = program.nodes.iter().zip(per_point).filter(|(_, each)| **each);
    let k = program.outputs.len() as f64;
    nodes.map(|(node, _)| unit(*node)).sum::<f64>() + 0.5 * k * (k + 1.0) + PER_POINT
}

/// Loading a point, weighing its row.
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
    /// Points of a segment, one at least.
    pub(crate) fn segment(&self) -> usize {
        self.segment_points.max(1)
    }

    /// Seconds of a fit on this many CPU threads.
    pub(crate) fn on_cpu(&self, work: &Workload, threads: usize) -> f64 {
        let each = work.points as f64 * work.units * self.cpu_unit_seconds;
        self.passes * each / threads.max(1) as f64
    }

    /// Seconds of a fit on a device that is ready, with its kernels.
    pub(crate) fn on_device(&self, work: &Workload, device: &Properties) -> f64 {
        let points = work.points as f64;
        let bytes = points * work.bytes_per_point as f64;
        let arithmetic = points * work.units / f64_rate(device);
        let pass = arithmetic.max(bytes / device.memory_bytes_per_second) / self.device_efficiency;
        let upload = if work.uploaded { 0.0 } else { bytes / self.upload_bytes_per_second };
        upload + self.passes * (self.launch_seconds + pass)
    }
}

/// Seconds of one CPU thread for what a fit takes beside its points: its step takes so many units for
/// each evaluation, and so many more for every cube of its parameters.
const STEP_UNITS: (f64, f64) = (6000.0, 60.0);
/// Cycles of the step on a device, where it is bound by the latency of what follows one another: for each
/// evaluation, and for each square of its parameters; and fits that a multiprocessor has at once.
const STEP_CYCLES: (f64, f64) = (30_000.0, 3_000.0);
const FITS_AT_ONCE: f64 = 24.0;
/// Seconds that the sums of a launch may take where the system ends kernels after about two.
const SECONDS_OF_LAUNCH: f64 = 0.05;
/// Points that any launch may have.
const LEAST_OF_LAUNCH: usize = 1 << 16;

impl Costs {
    /// Seconds of a batch of fits with so many free parameters on this many CPU threads.
    pub(crate) fn batch_on_cpu(
        &self,
        work: &Workload,
        (fits, free): (usize, usize),
        threads: usize,
    ) -> f64 {
        let step = STEP_UNITS.0 + STEP_UNITS.1 * (free as f64).powi(3);
        let steps = self.passes * fits as f64 * step * self.cpu_unit_seconds;
        self.on_cpu(work, threads) + steps / threads.max(1) as f64
    }

    /// Seconds of a batch on a device that is ready, with its kernel.
    pub(crate) fn batch_on_device(
        &self,
        work: &Workload,
        (fits, free): (usize, usize),
        device: &Properties,
    ) -> f64 {
        let cycles = STEP_CYCLES.0 + STEP_CYCLES.1 * (free as f64).powi(2);
        let at_once = f64::from(device.multiprocessors.max(1)) * FITS_AT_ONCE;
        let rounds = (fits as f64 / at_once).ceil();
        self.on_device(work, device) + self.passes * rounds * cycles / device.clock_hertz
    }

    /// Fits that a launch of a batch has at most, so that it takes about so many seconds. Those that the device
    /// has at once take as long as some of them.
    pub(crate) fn fits_of_launch(
        &self,
        work: &Workload,
        (fits, free): (usize, usize),
        device: &Properties,
        seconds: f64,
    ) -> usize {
        let there = Workload { uploaded: true, ..*work };
        let whole = self.batch_on_device(&there, (fits, free), device);
        let at_once = f64::from(device.multiprocessors.max(1)) * FITS_AT_ONCE;
        (fits as f64 * seconds / whole).max(at_once) as usize
    }

    /// Points of a launch at most, with so many units of work each, where the system ends kernels that take long: so many
    /// that a factor, which takes several times as long as sums, is done in time, too.
    pub(crate) fn points_of_launch(&self, units: f64, device: &Properties) -> usize {
        if !device.has_time_limit {
            return usize::MAX;
        }
        let rate = self.device_efficiency * f64_rate(device);
        ((SECONDS_OF_LAUNCH * rate / units) as usize).max(LEAST_OF_LAUNCH)
    }

    /// Seconds until the kernel of a batch is compiled: it holds the passes and the solver.
    pub(crate) fn batch_compile_seconds(&self) -> f64 {
        3.0 * self.compile_seconds
    }
}

/// Double-precision multiply-adds per second of a device.
fn f64_rate(device: &Properties) -> f64 {
    f64::from(device.multiprocessors) * device.clock_hertz * f64_lanes(device.capability)
}

/// Double-precision multiply-adds per clock of one multiprocessor (CUDA C++ Programming Guide, table
/// of arithmetic throughput): a sixty-fourth of single precision on all but the computing cards.
pub(crate) fn f64_lanes(capability: (u32, u32)) -> f64 {
    match capability {
        (6, 0) | (7, 0) | (7, 2) | (8, 0) => 32.0,
        (9, 0) | (10, 0) => 64.0,
        (6, _) => 4.0,
        _ => 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Costs, Properties, Workload};

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

    /// Two seconds are what Windows allows.
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
    fn spots(fits: usize) -> (Workload, (usize, usize)) {
        let work =
            Workload { points: 225 * fits, bytes_per_point: 2, units: 65.0, uploaded: false };
        (work, (fits, 5))
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
        // Portions of a million spots that are expected to take a tenth of a second, and half of one.
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
        // What the device has at once is not divided, however much each fit takes.
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
