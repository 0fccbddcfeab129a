//! Tests of sums over points that are uploaded in chunks: they agree with one pass over all points. One test device
//! runs uploads as late as possible, the other runs kernels as late as possible.

use super::passes::{bits, decay, difference, exponentials, parameters, squared};
use crate::backend::cpu::{Cpu, Prepared};
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::compiled_model::{CompiledModel, FitKernels, Variant};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_points::{DevicePoints, storages, weighting};
use crate::backend::cuda::driver::{Driver, DriverError};
use crate::backend::cuda::emulated::{Emulator, Settings, emulator_or_skip};
use crate::backend::cuda::evaluator::{Cuda, PointsAt, Share};
use crate::backend::cuda::memory::{Buffer, Pooled};
use crate::backend::cuda::passes::{Leaves, PassKind, Summed};
use crate::backend::cuda::source::{Arithmetic, FEW_PARAMETERS};
use crate::backend::cuda::streamed::{DeviceStream, DoubleBuffer, SLOTS};
use crate::backend::cuda::testing::deferred_driver::Deferred;
use crate::backend::cuda::testing::faulty_driver::{Faulty, Injected};
use crate::data::Data;
use crate::data::loss::{Estimator, Loss};
use crate::data::points::Points;
use crate::data::sigma::Sigma;
use crate::model::program::Program;
use crate::normal::{Normal, RFactor};
use crate::solver::evaluator::Evaluator;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// One compiler and one cache for all tests, which compile each kernel only once.
static SHARED: LazyLock<Option<(Arc<Emulator>, &'static Cache)>> =
    LazyLock::new(|| Some((emulator()?, Box::leak(Box::new(Cache::in_memory())))));

fn emulator() -> Option<Arc<Emulator>> {
    emulator_or_skip(Settings { multiprocessors: 2, ..Settings::default() })
}

/// Operations that a device delays as long as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lazy {
    Uploads,
    Kernels,
}

pub(super) const LAZY: [Lazy; 2] = [Lazy::Uploads, Lazy::Kernels];

/// A device with an injected fault, and its driver, which counts calls.
pub(super) struct Trial {
    pub(super) driver: Arc<Faulty<Arc<dyn Driver>>>,
    pub(super) device: Arc<Device>,
}

impl Trial {
    /// Returns `None` if there is no C++ compiler.
    pub(super) fn new(lazy: Lazy, injected: Injected, memory: usize) -> Option<Trial> {
        let (compiler, cache) = SHARED.as_ref()?;
        // A separate device, because fences of a concurrent test would run its uploads.
        let own = emulator()?;
        let inner: Arc<dyn Driver> = match lazy {
            Lazy::Uploads => own,
            Lazy::Kernels => Arc::new(Deferred::new(own)),
        };
        let driver = Arc::new(Faulty::new(inner, injected).with_memory(memory));
        let device = Arc::new(Device::new(driver.clone(), compiler.clone(), cache));
        Some(Trial { driver, device })
    }

    pub(super) fn sound(lazy: Lazy) -> Option<Trial> {
        Trial::new(lazy, Injected::Nothing, usize::MAX)
    }

    /// Checks that all memory is released after the device is dropped.
    pub(super) fn assert_clean(self) {
        let Trial { driver, device } = self;
        drop(device);
        driver.assert_clean();
    }
}

/// Arrays of a problem with a model of `n` parameters.
#[derive(Clone, Default)]
pub(super) struct Case {
    pub(super) n: usize,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) sigma: Option<Vec<f64>>,
    pub(super) constant_sigma: Option<f64>,
    pub(super) mask: Option<Vec<bool>>,
    pub(super) single: Option<(Vec<f32>, Vec<f32>)>,
    pub(super) counts: bool,
    pub(super) loss: Option<Loss>,
}

impl Case {
    pub(super) fn new(n: usize, points: usize) -> Case {
        let x: Vec<f64> = (0..points).map(|i| 5.0 * (i as f64 + 0.5) / points as f64).collect();
        let y = x.iter().map(|x| 2.0 * (-1.2 * x).exp() + 0.4 + 0.3 * (917.0 * x).sin()).collect();
        Case { n, x, y, ..Case::default() }
    }

    pub(super) fn weighted(mut self) -> Case {
        self.sigma = Some(self.x.iter().map(|x| 0.4 + 0.3 * x).collect());
        self
    }

    /// Converts the points to f32.
    pub(super) fn single(mut self) -> Case {
        let narrow = |values: &[f64]| values.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        self.single = Some((narrow(&self.x), narrow(&self.y)));
        self
    }

    /// Returns the points from `start` to `end`, validated separately.
    pub(super) fn points(&self, start: usize, end: usize) -> Points<'_> {
        let range = start..end;
        let data = match &self.single {
            Some((x, y)) => Data::new(&x[range.clone()], &y[range.clone()]),
            None => Data::new(&self.x[range.clone()], &self.y[range.clone()]),
        };
        let mut data = data.expect("data");
        if let Some(sigma) = &self.sigma {
            data = data.sigma(Sigma::Absolute(&sigma[range.clone()])).expect("sigma");
        }
        if let Some(sigma) = self.constant_sigma {
            data = data.sigma(Sigma::Constant(sigma)).expect("sigma");
        }
        if let Some(mask) = &self.mask {
            data = data.mask(&mask[range]).expect("a mask");
        }
        let mut points = Points::validate(&data).expect("points");
        if self.counts {
            points.count_events().expect("counts");
        }
        points
    }

    pub(super) fn all(&self) -> Points<'_> {
        self.points(0, self.x.len())
    }

    fn loss(&self) -> Loss {
        self.loss.unwrap_or(Loss::Linear)
    }

    fn scale(&self) -> f64 {
        match self.counts {
            true => self.all().darkest(),
            false => self.loss().scale().unwrap_or(1.0),
        }
    }

    fn program(&self) -> Program {
        if self.n == 3 { decay() } else { exponentials(self.n) }
    }

    pub(super) fn at(&self) -> (Vec<f64>, Vec<f64>) {
        parameters(self.n)
    }

    pub(super) fn kernels(&self, device: &Arc<Device>) -> Result<FitKernels, DriverError> {
        let printed = CompiledModel::new(self.program().into());
        let estimator = if self.counts { Estimator::Poisson } else { Estimator::LeastSquares };
        let rule = (self.loss(), estimator);
        let (storages, arithmetic) = (storages(&self.all()), Arithmetic::Double);
        let weights = weighting(&self.all());
        let loaded = printed.kernels(device, &Variant { storages, weights, rule, arithmetic });
        loaded.map(|(kernels, _)| kernels).map_err(|error| match error {
            crate::backend::cuda::device::LoadError::Driver(error) => error,
            error => panic!("{error:?}"),
        })
    }

    pub(super) fn streamed(
        &self,
        device: &Arc<Device>,
        capacity: usize,
    ) -> Result<DeviceStream, DriverError> {
        let kernels = self.kernels(device)?;
        DeviceStream::new(kernels, &self.all(), capacity, self.scale(), (self.n, self.n))
    }

    /// Returns the sums over all points in chunks. `chunks`: numbers of points of consecutive chunks, used cyclically.
    pub(super) fn sums(
        &self,
        streamed: &mut DeviceStream,
        chunks: &[usize],
    ) -> Result<Sums, DriverError> {
        let (params, columns) = self.at();
        let mut normal = Normal::zero(self.n);
        streamed.begin(PassKind::Normal, &params, &columns)?;
        self.add_all(streamed, chunks, &mut normal)?;
        let mut factor = RFactor::zero(self.n);
        if self.n <= FEW_PARAMETERS {
            streamed.begin(PassKind::Factor, &params, &columns)?;
            self.add_all(streamed, chunks, &mut factor)?;
        }
        Ok(Sums::new(normal, factor))
    }

    fn add_all<S: Summed>(
        &self,
        streamed: &mut DeviceStream,
        chunks: &[usize],
        sum: &mut S,
    ) -> Result<(), DriverError> {
        let mut start = 0;
        for &chunk in chunks.iter().cycle() {
            let end = self.x.len().min(start + chunk);
            streamed.add(&self.points(start, end), sum)?;
            start = end;
            if start == self.x.len() {
                break;
            }
        }
        streamed.finish(sum)
    }

    /// Returns the sums of one evaluator of all points.
    fn evaluated(
        &self,
        mut normal: impl FnMut(&[f64], &[f64], &mut Normal),
        mut factor: impl FnMut(&[f64], &[f64], &mut RFactor),
    ) -> Sums {
        let (params, columns) = self.at();
        let (mut n, mut f) = (Normal::zero(self.n), RFactor::zero(self.n));
        normal(&params, &columns, &mut n);
        if self.n <= FEW_PARAMETERS {
            factor(&params, &columns, &mut f);
        }
        Sums::new(n, f)
    }

    fn on_cpu(&self) -> Sums {
        let free: Vec<usize> = (0..self.n).collect();
        let program = self.program();
        let (prepared, points) = (Prepared::traced(program.clone().into(), &free), self.all());
        let params = self.at().0;
        let cpu = || Cpu::new(&prepared, &points, self.loss(), &params);
        self.evaluated(
            |p, c, out| cpu().normal(p, c, out).expect("normal equations"),
            |p, c, out| cpu().factor(p, c, out).expect("a factor"),
        )
    }

    /// Returns the sums on a device with resident points, or in chunks of `capacity` points.
    fn on_device(&self, device: &Arc<Device>, capacity: Option<usize>) -> Sums {
        self.by_launches(device, capacity, usize::MAX)
    }

    /// As [`on_device`](Case::on_device), with launches of at most `most` points.
    fn by_launches(&self, device: &Arc<Device>, capacity: Option<usize>, most: usize) -> Sums {
        self.by_shares(device, (capacity, most), usize::MAX, &[0, self.x.len()])
    }

    /// As [`by_launches`](Case::by_launches), for shares of the points between `cuts`, in segments of the given number
    /// of points.
    pub(super) fn by_shares(
        &self,
        device: &Arc<Device>,
        (capacity, most): (Option<usize>, usize),
        segment: usize,
        cuts: &[usize],
    ) -> Sums {
        let points = self.all();
        let (scale, sizes) = ((self.scale(), segment.min(points.len())), (self.n, self.n));
        let share = |range: Range<usize>| {
            let place = match capacity {
                None => {
                    let part = (range.clone(), segment);
                    let there = DevicePoints::of(&device.driver, &points, part, usize::MAX);
                    PointsAt::Whole(Arc::new(there.expect("room")))
                }
                Some(capacity) => {
                    let rooms = DoubleBuffer::of(&device.driver, &points, capacity).expect("rooms");
                    PointsAt::Chunks(Box::new(rooms))
                }
            };
            let mut kernels = self.kernels(device).expect("kernels");
            kernels.most_points = most;
            Share::new(kernels, (0, range), place, scale, sizes).expect("a share")
        };
        let shares = cuts.windows(2).map(|ends| share(ends[0]..ends[1])).collect();
        let alone = |_, _, error: &DriverError| panic!("{error}");
        let segments = (segment, Leaves::SEGMENTS);
        let cuda = RefCell::new(Cuda::new(shares, &points, segments, Box::new(alone)));
        self.evaluated(
            |p, c, out| cuda.borrow_mut().pass(p, c, out).expect("normal equations"),
            |p, c, out| cuda.borrow_mut().pass(p, c, out).expect("a factor"),
        )
    }
}

/// Products with the cost, and the R factor.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub(super) normal: Vec<f64>,
    pub(super) factor: Vec<f64>,
}

impl Sums {
    fn new(mut normal: Normal, factor: RFactor) -> Sums {
        normal.products.push(normal.cost);
        Sums { normal: normal.products, factor: factor.r }
    }

    pub(super) fn bits(&self) -> [Vec<u64>; 2] {
        [bits(&self.normal), bits(&self.factor)]
    }

    #[track_caller]
    pub(super) fn assert_close(&self, other: &Sums, n: usize, bound: f64, what: &str) {
        let error = difference(&self.normal, &other.normal, n + 1);
        assert!(error <= bound, "{what}: normal equations differ by {error:e}");
        let squares = [&self.factor, &other.factor].map(|r| squared(r, n + 1));
        let error = difference(&squares[0], &squares[1], n + 1);
        assert!(error <= 10.0 * bound, "{what}: factors differ by {error:e}");
    }
}

/// Checks that chunks of any sizes give the sums of one pass, on the device and on the CPU.
fn agrees(case: &Case, chunkings: &[&[usize]]) {
    for lazy in LAZY {
        let Some(trial) = Trial::sound(lazy) else { return };
        let (whole, cpu) = (case.on_device(&trial.device, None), case.on_cpu());
        let mut streamed = case.streamed(&trial.device, 1024).expect("a stream");
        assert_eq!(streamed.capacity(), 1024);
        for chunks in chunkings {
            let found = case.sums(&mut streamed, chunks).expect("sums");
            let what = format!("{lazy:?} {} parameters, chunks of {chunks:?}", case.n);
            found.assert_close(&whole, case.n, 1e-12, &what);
            found.assert_close(&cpu, case.n, 1e-12, &what);
        }
        assert!(streamed.bytes() <= trial.driver.peak_bytes());
        drop(streamed);
        trial.assert_clean();
    }
}

#[test]
fn sums_of_chunks_are_those_of_one_pass() {
    for n in [1, 3, 8, 9, 16, 32, 33, 40] {
        let case = Case::new(n, 2600);
        agrees(&case, &[&[2600], &[100, 1, 333], &[1024], &[1025, 7]]);
    }
}

/// Covers short launches over resident points, as on systems that terminate long kernels. The number of launches is
/// close to the number of slots for sums; the last launch is as long as the others or shorter.
#[test]
fn sums_of_short_launches_are_those_of_one() {
    for (n, points) in [(1, 5 * SLOTS), (3, 700), (9, 1000), (40, 300)] {
        for most in [5, points / SLOTS, points / (SLOTS - 1), points - 1, points, points + 1] {
            let Some(trial) = Trial::sound(LAZY[0]) else { return };
            let case = Case::new(n, points).weighted();
            let whole = case.on_device(&trial.device, None);
            let parts = case.by_launches(&trial.device, None, most);
            let what = format!("{n} parameters, launches of {most} of {points} points");
            parts.assert_close(&whole, n, 1e-12, &what);
            assert!(most < points || parts.bits() == whole.bits(), "{what}");
        }
    }
}

/// Covers more chunks than slots for sums.
#[test]
fn chunks_of_seven_points_have_the_sums_of_one_pass() {
    agrees(&Case::new(3, 700).weighted(), &[&[7], &[1], &[6, 1, 13]]);
}

/// Covers numbers of chunks close to the number of slots for sums.
#[test]
fn every_chunk_counts_at_every_border_of_the_slots() {
    for chunks in [SLOTS - 1, SLOTS, SLOTS + 1, 2 * SLOTS - 1, 2 * SLOTS, 2 * SLOTS + 1] {
        agrees(&Case::new(3, 5 * chunks), &[&[5]]);
    }
}

#[test]
fn points_of_every_kind_go_through_in_chunks() {
    let chunkings: &[&[usize]] = &[&[2500], &[100, 1, 333], &[1024]];
    let case = Case::new(3, 2500);
    agrees(&case.clone().weighted(), chunkings);
    agrees(&Case { constant_sigma: Some(0.4), ..case.clone() }, chunkings);
    let mask: Vec<bool> = (0..2500).map(|i| i % 7 != 3 && !(400..900).contains(&i)).collect();
    // The mask must leave some points of every chunk.
    let large: &[&[usize]] = &[&[2500], &[1024], &[1400, 1100]];
    agrees(&Case { mask: Some(mask.clone()), ..case.clone() }, large);
    agrees(&Case { mask: Some(mask), ..case.clone().weighted() }, large);
    for loss in [Loss::Cauchy { scale: 0.2 }, Loss::Huber { scale: 0.2 }] {
        let robust = Case { loss: Some(loss), ..case.clone() };
        agrees(&robust, chunkings);
        agrees(&Case { loss: Some(loss), ..Case::new(40, 2500) }.weighted(), chunkings);
    }
    agrees(&case.clone().single(), chunkings);
    let y = case.y.iter().enumerate().map(|(i, y)| (10.0 * y).abs().round() + (i % 3) as f64);
    agrees(&Case { y: y.collect(), counts: true, ..case.clone() }, chunkings);
}

/// Covers every delay, chunks from a stream and chunks of points in memory.
#[test]
fn equal_chunks_give_equal_bits() {
    for (n, chunk) in [(3, 1024), (3, 1500), (9, 1024), (40, 1024)] {
        let case = Case::new(n, 20 * chunk + 17).weighted();
        let mut seen: Vec<[Vec<u64>; 2]> = Vec::new();
        for lazy in LAZY {
            let Some(trial) = Trial::sound(lazy) else { return };
            seen.push(case.on_device(&trial.device, Some(chunk)).bits());
            let mut streamed = case.streamed(&trial.device, chunk).expect("a stream");
            for chunks in [chunk, case.x.len()] {
                seen.push(case.sums(&mut streamed, &[chunks]).expect("sums").bits());
            }
        }
        assert!(seen.iter().all(|bits| *bits == seen[0]), "{n} parameters, chunks of {chunk}");
    }
}

/// Pending work of another fit may still use memory that the fit has released, unless the pool fences it.
#[test]
fn memory_of_a_pool_is_not_overwritten_by_its_last_user() {
    let case = Case::new(3, 3000);
    let Some((emulator, cache)) = SHARED.as_ref() else { return };
    for (injected, is_right) in
        [(Injected::Nothing, true), (Injected::Unfenced { fence: 0 }, false)]
    {
        let trial = Trial::new(Lazy::Kernels, injected, usize::MAX).expect("an emulator");
        let pooled: Arc<dyn Driver> = Arc::new(Pooled::new(trial.driver.clone()));
        let device = Arc::new(Device::new(pooled.clone(), emulator.clone(), cache));
        let whole = case.on_device(&device, None);
        let room = || Buffer::of::<f64>(&pooled, 1024).expect("room");
        let used: [Buffer; 4] = std::array::from_fn(|_| room());
        used.iter().for_each(|buffer| buffer.clear().expect("a device"));
        drop(used);
        let mut streamed = case.streamed(&device, 1024).expect("a stream");
        let found = case.sums(&mut streamed, &[900]).expect("sums");
        match is_right {
            true => found.assert_close(&whole, 3, 1e-12, "on used memory"),
            false => assert!(trial.driver.has_fired() && found.normal != whole.normal),
        }
        drop((streamed, device, pooled));
        trial.assert_clean();
    }
}

/// An abandoned pass leaves a queued kernel and a pending upload.
#[test]
fn a_pass_that_is_given_up_does_not_harm_the_next() {
    let case = Case::new(3, 3000);
    let (params, columns) = case.at();
    for lazy in LAZY {
        let Some(trial) = Trial::sound(lazy) else { return };
        let whole = case.on_device(&trial.device, None);
        let mut streamed = case.streamed(&trial.device, 1024).expect("a stream");
        for points in [3000, 900, 1100] {
            let mut given_up = Normal::zero(3);
            streamed.begin(PassKind::Normal, &params, &columns).expect("a beginning");
            streamed.add(&case.points(0, points), &mut given_up).expect("room");
            let found = case.sums(&mut streamed, &[900]).expect("sums");
            found.assert_close(&whole, 3, 1e-12, &format!("{lazy:?}"));
        }
        drop(streamed);
        trial.assert_clean();
    }
}
