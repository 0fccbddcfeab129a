//! The routines of a program: made when they are worth it, and called.

use super::function::assemble;
use super::operation::without_dead;
use super::recorder::record;
use super::request::{Outputs, Rows, Same, Table, Weighted};
use super::steps::{self, Purpose};
use super::writer::{Layout, Spread};
use crate::backend::cpu::code::Code;
use crate::backend::cpu::gram::LANES;
use crate::backend::cpu::kernels::Vectors;
use crate::data::validate_stream::PIECE;
use crate::normal::pair;
use memmap2::{Mmap, MmapMut};
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Points on each core after which machine code is made: it then takes no longer than what it has not saved so far. For the
/// first time in a process, when the assembler's tables are made as well, and later.
const ON_EACH_CORE: [usize; 2] = [1 << 17, 1 << 16];
/// Whether machine code was made in this process.
static HAS_MADE: AtomicBool = AtomicBool::new(false);
/// Steps beyond which none is made: it would take long.
const MOST_STEPS: usize = 4096;
/// Arrays that a routine may have.
const ARRAYS: usize = 64;
/// Columns, the residual's too, up to which their products are added up in the same loop.
const FEW_COLUMNS: usize = 7;
/// Sets of vectors and of ways in which uniform numbers lie.
const KINDS: usize = 4;

/// What a routine reads, in the layout that `function` knows.
#[repr(C)]
struct Frame {
    /// Points, in bytes of their numbers: a multiple of 64.
    end: usize,
    /// Those up to the end of the last block without a point that was refused. Written by the routine.
    done: usize,
    uniforms: *const f64,
    /// Room for the sums of a block.
    sums: *mut f64,
    /// To which the sums of blocks are added: those of a piece, followed by those of the next.
    totals: *mut f64,
    arrays: [MaybeUninit<*const f64>; ARRAYS],
}

impl Frame {
    fn new(points: usize, uniforms: *const f64, arrays: impl Iterator<Item = *const f64>) -> Frame {
        let (end, none) = (points * size_of::<f64>(), std::ptr::null_mut());
        let room = [MaybeUninit::uninit(); ARRAYS];
        let mut frame = Frame { end, done: 0, uniforms, sums: none, totals: none, arrays: room };
        frame.arrays.iter_mut().zip(arrays).for_each(|(room, array)| _ = room.write(array));
        frame
    }
}

/// The routines of a program, made when they are worth it.
#[derive(Debug, Default)]
pub(super) struct Routines {
    /// Points at which the program was evaluated.
    points: AtomicUsize,
    /// For each set of vectors, spread and purpose.
    made: OnceLock<Box<[OnceLock<Option<Routine>>; KINDS * Purpose::COUNT]>>,
}

impl Routines {
    /// Whether code is worth making for a program that is evaluated at so many points more.
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
        self.made.get().map_or(0, |made| made.iter().filter(is_made).count())
    }

    fn made(
        &self,
        vectors: Vectors,
        spread: Spread,
        purpose: Purpose,
    ) -> &OnceLock<Option<Routine>> {
        let kind = vectors as usize + 2 * spread as usize;
        &self.made.get_or_init(Box::default)[Purpose::COUNT * kind + purpose.index()]
    }
}

/// Points of a program after which machine code is made. `DUALFIT_JIT=0` is never, and `DUALFIT_JIT=1` at once.
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

/// A function of a [`Frame`].
type Entry = unsafe extern "sysv64" fn(*mut Frame);

/// Machine code.
#[derive(Debug)]
struct Routine {
    pages: Mmap,
    entry: usize,
}

impl Routine {
    /// `None` where a step of the program is not known here, or memory cannot be made executable.
    fn new(code: &Code, vectors: Vectors, spread: Spread, purpose: Purpose) -> Option<Routine> {
        let (more, sums) = match purpose {
            Purpose::Outputs => (code.computed.len(), 0),
            Purpose::Sums(_) => (2, pair(0, code.outputs.len())),
        };
        let arrays = code.columns + more;
        let too_many = code.outputs.len() > FEW_COLUMNS && sums > 0;
        if arrays > ARRAYS || too_many || code.steps.len() > MOST_STEPS {
            return None;
        }
        let mut is_known = None;
        let operations =
            record(vectors == Vectors::Avx512, || is_known = steps::write(code, purpose));
        is_known?;
        let operations = without_dead(&operations);
        let machine = assemble(&operations, Layout { vectors, spread, arrays, sums })?;
        let mut pages = MmapMut::map_anon(machine.bytes.len()).ok()?;
        pages.copy_from_slice(&machine.bytes);
        HAS_MADE.store(true, Ordering::Relaxed);
        Some(Routine { pages: pages.make_exec().ok()?, entry: machine.entry })
    }

    /// Returns how many points were done, of whole blocks if one was refused.
    ///
    /// # Safety
    /// The processor has the vectors that the routine was made for, and what the frame points to is as it was made
    /// for: arrays of `end` bytes, sums and uniform numbers.
    unsafe fn call(&self, frame: &mut Frame) -> usize {
        // SAFETY: the pages hold the function that was assembled, from its first instruction on.
        let entry: Entry = unsafe { std::mem::transmute(self.pages.as_ptr().add(self.entry)) };
        // SAFETY: by the caller.
        unsafe { entry(frame) };
        frame.done / size_of::<f64>()
    }
}

impl Same<'_> {
    fn spread(&self) -> Spread {
        match self {
            Same::OfOne(..) => Spread::Once,
            Same::ByLane(_) => Spread::ByLane,
        }
    }

    /// Where they lie.
    fn lie(&self, code: &Code, vectors: Vectors, table: &mut Table) -> *const f64 {
        let (numbers, shared) = match *self {
            Same::ByLane(numbers) => return numbers.as_ptr().cast(),
            Same::OfOne(numbers, shared) => (numbers, shared),
        };
        // Of a vector of eight the processor spreads a number itself.
        let copies = match vectors {
            Vectors::Avx2 => 4,
            Vectors::Avx512 => 1,
        };
        table.resize((numbers.len() + 1) * copies, 0.0);
        for &uniform in &code.read {
            table[uniform * copies..][..copies].fill(numbers[uniform]);
        }
        table[numbers.len() * copies..].fill(shared);
        table.as_ptr()
    }
}

impl Routines {
    fn routine(
        &self,
        code: &Code,
        vectors: Vectors,
        spread: Spread,
        purpose: Purpose,
    ) -> Option<&Routine> {
        let made = self.made(vectors, spread, purpose);
        made.get_or_init(|| Routine::new(code, vectors, spread, purpose)).as_ref()
    }

    /// See [`Assembled::add_sums`](super::Assembled::add_sums).
    pub(super) fn add_sums(
        &self,
        code: &Code,
        vectors: Vectors,
        rows: &Rows<'_>,
        table: &mut Table,
        sums: &mut [f64],
    ) -> usize {
        let points = rows.arrays.iter().map(|array| array.len()).min().unwrap_or(0) / LANES * LANES;
        let wanted = match rows.weighted {
            Weighted::Not | Weighted::Alike => code.columns + 1,
            Weighted::Each | Weighted::BySigma => code.columns + 2,
        };
        let each = LANES * pair(0, code.outputs.len());
        let is_complete =
            rows.arrays.len() == wanted && sums.len() == each * points.div_ceil(PIECE);
        if points == 0 || !is_complete {
            return 0;
        }
        let (spread, purpose) = (rows.same.spread(), Purpose::Sums(rows.weighted));
        let Some(routine) = self.routine(code, vectors, spread, purpose) else { return 0 };
        let uniforms = rows.same.lie(code, vectors, table);
        let mut of_block = [MaybeUninit::<f64>::uninit(); LANES * pair(0, FEW_COLUMNS)];
        let mut frame = Frame::new(points, uniforms, rows.arrays.iter().map(|a| a.as_ptr()));
        (frame.sums, frame.totals) = (of_block.as_mut_ptr().cast(), sums.as_mut_ptr());
        // SAFETY: a `Kernels` names vectors that the processor has; the arrays have as many numbers as the frame says,
        // and there are as many of them, and of sums and uniform numbers, as the program asks for.
        unsafe { routine.call(&mut frame) }
    }

    /// See [`Assembled::write_outputs`](super::Assembled::write_outputs).
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
        let Some(routine) = self.routine(code, vectors, spread, purpose) else { return false };
        let uniforms = same.lie(code, vectors, table);
        let call = |columns: &mut dyn Iterator<Item = *const f64>, first: usize, points: usize| {
            let outputs = outputs.iter().map(|output| output.wrapping_add(first).cast_const());
            let mut frame = Frame::new(points, uniforms, columns.chain(outputs));
            // SAFETY: as in `add_sums`; the outputs have room for a multiple of eight points.
            unsafe { routine.call(&mut frame) == points }
        };
        let whole = points / LANES * LANES;
        if whole > 0 && !call(&mut columns.iter().map(|column| column.as_ptr()), 0, whole) {
            return false;
        }
        if whole == points {
            return true;
        }
        // The last points, filled up with the very last.
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
