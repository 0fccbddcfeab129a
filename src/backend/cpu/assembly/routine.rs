//! Routines (machine code) of a program: their generation, as soon as the program is used often enough, and their
//! calls.

use super::function::{Operations, assemble};
use super::operation::without_dead;
use super::recorder::record;
use super::rounds::TURNS;
use super::steps::{self, Purpose};
use super::writer::{Layout, Spread};
use crate::backend::cpu::assembly::request::{Elements, Outputs, Rows, Same, Shared, Table};
use crate::backend::cpu::code::Code;
use crate::backend::cpu::gram::LANES;
use crate::backend::cpu::kernels::Vectors;
use crate::data::validate_stream::PIECE;
use crate::data::values::{Storage, Values};
use crate::normal::pair;
use memmap2::{Mmap, MmapMut};
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Evaluated points per core after which machine code is generated: for this number of points, machine code saves at
/// least the time of its generation. The first number is for the first routine of a process, which also builds the
/// assembler's tables; the second is for later routines.
const ON_EACH_CORE: [usize; 2] = [1 << 17, 1 << 16];
/// True if machine code was generated in this process.
static HAS_MADE: AtomicBool = AtomicBool::new(false);
/// Maximum number of steps of a program for which machine code is generated: generation for longer programs is slow.
const MOST_STEPS: usize = 4096;
/// Maximum number of arrays of a routine.
const ARRAYS: usize = 64;
/// Maximum number of columns, residual included, whose products are summed in the same loop.
const FEW_COLUMNS: usize = 16;
/// Number of combinations of [`Vectors`] and [`Spread`].
const KINDS: usize = 4;

/// Argument of a routine. The offsets in `function` depend on this layout.
#[repr(C)]
struct Frame {
    /// Number of points, a multiple of 8.
    end: usize,
    /// Number of points before the first block with a point that only the interpreter can evaluate (a huge angle, or a
    /// product of Cauchy's costs that overflows); `end` if there is no such point. Written by the routine.
    done: usize,
    uniforms: *const f64,
    /// Buffer for the sums of a block.
    sums: *mut f64,
    /// Totals of the pieces, one set after the other. The sums of a block are added to the totals of its piece.
    totals: *mut f64,
    /// Buffer for the rows of a round.
    rows: *mut f64,
    arrays: [MaybeUninit<*const u8>; ARRAYS],
}

impl Frame {
    fn new(end: usize, uniforms: *const f64, arrays: impl Iterator<Item = *const u8>) -> Frame {
        let none = std::ptr::null_mut();
        let room = [MaybeUninit::uninit(); ARRAYS];
        let mut frame =
            Frame { end, done: 0, uniforms, sums: none, totals: none, rows: none, arrays: room };
        frame.arrays.iter_mut().zip(arrays).for_each(|(room, array)| _ = room.write(array));
        frame
    }
}

/// Buffer for the rows of a round: left and right factors of all products, and one number for the cost.
#[repr(C, align(64))]
struct RoundRows([MaybeUninit<[f64; LANES]>; TURNS * (2 * FEW_COLUMNS + 1)]);

/// Routines that are generated at their first use; `None` for those that cannot be generated.
type MadeOnce = Box<[OnceLock<Option<Routine>>]>;

/// Routines of a program, generated as soon as the program is used often enough.
#[derive(Debug, Default)]
pub(super) struct Routines {
    /// Number of points at which the program was evaluated.
    points: AtomicUsize,
    /// For each combination of number types, one entry for each combination of vectors, spread and purpose.
    made: [OnceLock<MadeOnce>; Elements::COUNT],
}

impl Routines {
    /// Adds `points` to the number of evaluations. Returns true if the program was evaluated often enough to generate
    /// machine code.
    pub(super) fn are_worthwhile(&self, points: usize) -> bool {
        let enough = worthwhile();
        let seen = self.points.load(Ordering::Relaxed);
        seen >= enough || {
            let seen = self.points.fetch_add(points, Ordering::Relaxed);
            seen.saturating_add(points) >= enough
        }
    }

    #[cfg(test)]
    pub(super) fn be_worthwhile(&self) {
        self.points.store(usize::MAX, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        let is_made = |made: &&OnceLock<Option<Routine>>| matches!(made.get(), Some(Some(_)));
        let made = self.made.iter().filter_map(OnceLock::get);
        made.map(|made| made.iter().filter(is_made).count()).sum()
    }

    fn made(
        &self,
        elements: Elements,
        vectors: Vectors,
        spread: Spread,
        purpose: Purpose,
    ) -> &OnceLock<Option<Routine>> {
        let kind = vectors as usize + 2 * spread as usize;
        let none = || (0..KINDS * Purpose::COUNT).map(|_| OnceLock::new()).collect();
        &self.made[elements.index()].get_or_init(none)[Purpose::COUNT * kind + purpose.index()]
    }
}

/// Returns the number of evaluated points after which machine code is generated. `DUALFIT_JIT=0` disables machine code,
/// and `DUALFIT_JIT=1` requests its generation at the first use.
fn worthwhile() -> usize {
    static POINTS: OnceLock<[usize; 2]> = OnceLock::new();
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let points = POINTS.get_or_init(|| match std::env::var("DUALFIT_JIT").as_deref() {
        Ok("0") => [usize::MAX; 2],
        Ok("1") => [0; 2],
        _ => ON_EACH_CORE.map(|points| points * cores()),
    });
    points[usize::from(HAS_MADE.load(Ordering::Relaxed))]
}

/// Signature of the generated function.
type Entry = unsafe extern "sysv64" fn(*mut Frame);

/// Machine code.
#[derive(Debug)]
struct Routine {
    pages: Mmap,
    entry: usize,
}

impl Routine {
    /// Generates a routine. Returns `None` if a step of the program is not supported, a limit of this module is
    /// exceeded, or memory cannot be made executable.
    fn new(
        code: &Code,
        elements: Elements,
        vectors: Vectors,
        spread: Spread,
        purpose: Purpose,
    ) -> Option<Routine> {
        let sums = purpose.sums(code.outputs.len());
        let flags = purpose.flags(code.columns);
        let more = if purpose == Purpose::Outputs { code.computed.len() } else { 3 };
        let arrays = code.columns + more;
        let too_many = code.outputs.len() > FEW_COLUMNS && sums > 0;
        if arrays > ARRAYS || too_many || code.steps.len() > MOST_STEPS {
            return None;
        }
        let mut is_known = None;
        let scales = vectors == Vectors::Avx512;
        let of_points = record(scales, || is_known = steps::write(code, purpose));
        is_known?;
        let of_product =
            steps::of_product(code, purpose, |write| without_dead(&record(scales, write)));
        let machine = assemble(
            Operations { of_points: without_dead(&of_points), of_product },
            Layout { vectors, spread, columns: code.columns, elements, flags, arrays, sums },
        )?;
        let mut pages = MmapMut::map_anon(machine.bytes.len()).ok()?;
        pages.copy_from_slice(&machine.bytes);
        HAS_MADE.store(true, Ordering::Relaxed);
        Some(Routine { pages: pages.make_exec().ok()?, entry: machine.entry })
    }

    /// Calls the routine and returns the number of processed points. If a point was refused, only the points of the
    /// blocks before it count.
    ///
    /// # Safety
    /// The processor must support the vectors of the routine. The frame must point to arrays of `end` numbers of the
    /// routine's types, and to as many sums and uniform numbers as the routine uses.
    unsafe fn call(&self, frame: &mut Frame) -> usize {
        // SAFETY: the pages contain the assembled function, and `entry` is the offset of its first instruction.
        let entry: Entry = unsafe { std::mem::transmute(self.pages.as_ptr().add(self.entry)) };
        // SAFETY: guaranteed by the caller.
        unsafe { entry(frame) };
        frame.done
    }
}

impl Rows<'_> {
    fn purpose(&self) -> Purpose {
        let Rows { weighted, estimate, has_flags, .. } = *self;
        Purpose::Sums { weighted, estimate, has_flags }
    }
}

impl Same<'_> {
    fn spread(&self) -> Spread {
        match self {
            Same::OfOne(..) => Spread::Once,
            Same::ByLane(_) => Spread::ByLane,
        }
    }

    /// Returns the address of the uniform numbers in the layout of the routine. Numbers of fits in lanes already have
    /// this layout; the numbers of a single fit are copied to `table`.
    fn lie(&self, code: &Code, vectors: Vectors, table: &mut Table) -> *const f64 {
        let (numbers, shared) = match *self {
            Same::ByLane(numbers) => return numbers.as_ptr().cast(),
            Same::OfOne(numbers, shared) => (numbers, shared),
        };
        // AVX-512 instructions broadcast a number from memory; AVX2 needs four copies.
        let copies = match vectors {
            Vectors::Avx2 => 4,
            Vectors::Avx512 => 1,
        };
        table.resize((numbers.len() + Shared::COUNT) * copies, 0.0);
        for &uniform in &code.read {
            table[uniform * copies..][..copies].fill(numbers[uniform]);
        }
        let places = table[numbers.len() * copies..].chunks_mut(copies);
        places.zip(shared.numbers()).for_each(|(place, number)| place.fill(number));
        table.as_ptr()
    }
}

impl Routines {
    fn routine(
        &self,
        code: &Code,
        elements: Elements,
        vectors: Vectors,
        spread: Spread,
        purpose: Purpose,
    ) -> Option<&Routine> {
        let made = self.made(elements, vectors, spread, purpose);
        made.get_or_init(|| Routine::new(code, elements, vectors, spread, purpose)).as_ref()
    }

    /// Implements [`Assembled::can_add_sums`](super::Assembled::can_add_sums).
    pub(super) fn can_add_sums(&self, code: &Code, vectors: Vectors, rows: &Rows<'_>) -> bool {
        self.routine(code, Elements::default(), vectors, rows.same.spread(), rows.purpose())
            .is_some()
    }

    /// Implements [`Assembled::add_sums`](super::Assembled::add_sums).
    pub(super) fn add_sums(
        &self,
        code: &Code,
        vectors: Vectors,
        rows: &Rows<'_>,
        table: &mut Table,
        sums: &mut [f64],
    ) -> usize {
        let points = rows.arrays.iter().map(|array| array.len()).min().unwrap_or(0) / LANES * LANES;
        let flags = usize::from(rows.has_flags);
        let numbers = code.columns + 1 + usize::from(rows.weighted.has_array());
        let purpose = rows.purpose();
        let each = LANES * purpose.sums(code.outputs.len());
        let has_uniforms = match rows.same {
            Same::OfOne(..) => true,
            Same::ByLane(numbers) => numbers.len() == code.constants.len() + Shared::COUNT,
        };
        let is_complete = has_uniforms
            && rows.arrays.len() == numbers + flags
            && rows.arrays[numbers..].iter().all(|array| array.storage() == Storage::U8)
            && sums.len() == each * points.div_ceil(PIECE);
        if points == 0 || !is_complete {
            return 0;
        }
        let spread = rows.same.spread();
        let Some(elements) = Elements::of(&rows.arrays[..numbers], code.columns) else { return 0 };
        let routine = self.routine(code, elements, vectors, spread, purpose);
        let Some(routine) = routine else { return 0 };
        let uniforms = rows.same.lie(code, vectors, table);
        // Products and costs.
        let mut of_block = [MaybeUninit::<f64>::uninit(); LANES * (pair(0, FEW_COLUMNS) + 1)];
        let mut frame = Frame::new(points, uniforms, rows.arrays.iter().map(Values::address));
        let mut rows = RoundRows([MaybeUninit::uninit(); _]);
        (frame.sums, frame.totals) = (of_block.as_mut_ptr().cast(), sums.as_mut_ptr());
        frame.rows = rows.0.as_mut_ptr().cast();
        // SAFETY: `vectors` comes from `Kernels::vectors`, so that the processor supports them. Each array has at least
        // the number of points in the frame, and the numbers of arrays, sums and uniform numbers match the program.
        unsafe { routine.call(&mut frame) }
    }

    /// Implements [`Assembled::write_outputs`](super::Assembled::write_outputs).
    pub(super) fn write_outputs(
        &self,
        code: &Code,
        vectors: Vectors,
        same: Same<'_>,
        table: &mut Table,
        &Outputs { columns, outputs, points }: &Outputs<'_>,
    ) -> bool {
        let is_complete = columns.len() == code.columns
            && columns.iter().all(|column| column.len() >= points)
            && outputs.len() == code.computed.len();
        if points == 0 || !is_complete {
            return false;
        }
        let (spread, purpose) = (same.spread(), Purpose::Outputs);
        let routine = self.routine(code, Elements::default(), vectors, spread, purpose);
        let Some(routine) = routine else { return false };
        let uniforms = same.lie(code, vectors, table);
        let call = |columns: &mut dyn Iterator<Item = *const f64>, first: usize, points: usize| {
            let outputs = outputs.iter().map(|output| output.wrapping_add(first).cast_const());
            let arrays = columns.chain(outputs).map(<*const f64>::cast);
            let mut frame = Frame::new(points, uniforms, arrays);
            // SAFETY: as in `add_sums`; the length of each output is a multiple of eight points.
            unsafe { routine.call(&mut frame) == points }
        };
        let whole = points / LANES * LANES;
        if whole > 0 && !call(&mut columns.iter().map(|column| column.as_ptr()), 0, whole) {
            return false;
        }
        if whole == points {
            return true;
        }
        // The remaining points, padded to eight with copies of the last point.
        let filled = |column: &&[f64]| std::array::from_fn(|i| column[(whole + i).min(points - 1)]);
        let mut few = [[0.0; LANES]; 2];
        let many: Vec<[f64; LANES]>;
        let rests = if columns.len() <= few.len() {
            few.iter_mut().zip(columns).for_each(|(rest, column)| *rest = filled(column));
            &few[..columns.len()]
        } else {
            many = columns.iter().map(filled).collect();
            &many
        };
        call(&mut rests.iter().map(|rest| rest.as_ptr()), whole, LANES)
    }
}
