//! Machine code for a program: one loop over the points, whose intermediate results stay in registers.
//!
//! The interpreter is the reference. Functions are recorded from the same source ([`crate::math`]) that is compiled
//! into the interpreter, and sums have the same eight lanes in the same order. Therefore the results are identical to
//! the bit. The interpreter evaluates programs that are not supported here, and points that the machine code refuses
//! (huge angles, and products of Cauchy's costs that overflow). Machine code is generated only for programs that are used often enough, and only if pages may be
//! executable. Pages are never writable and executable at the same time.

#[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
mod absent;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod allocation;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod codes;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod function;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod instructions;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod interleave;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod loops;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod operation;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod recorder;
mod request;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod rounds;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod routine;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod steps;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod writer;

use super::code::Code;
use super::kernels::Vectors;
pub(super) use crate::backend::cpu::assembly::request::{
    Estimate, Outputs, Rows, Same, Shared, Table, Weighted, in_a_row,
};
#[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
use absent::Routines;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
use routine::Routines;
use std::ops::Deref;

/// Code of a program for the interpreter, and equivalent machine code.
#[derive(Debug)]
pub(super) struct Assembled {
    code: Code,
    routines: Routines,
}

impl From<Code> for Assembled {
    fn from(code: Code) -> Assembled {
        Assembled { code, routines: Routines::default() }
    }
}

impl Deref for Assembled {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

impl Assembled {
    /// Adds `points` to the number of evaluations. Returns true if the program was evaluated often enough to generate
    /// machine code.
    pub(super) fn is_worthwhile(&self, points: usize) -> bool {
        self.routines.are_worthwhile(points)
    }

    /// Adds the products of the leading points of `rows`, and their costs, to `sums`, which have eight lanes per sum and
    /// one set of sums per piece. Returns the number of these points: 0 if the interpreter has to evaluate all points.
    pub(super) fn add_sums(
        &self,
        vectors: Option<Vectors>,
        rows: &Rows<'_>,
        table: &mut Table,
        sums: &mut [f64],
    ) -> usize {
        vectors.map_or(0, |vectors| self.routines.add_sums(&self.code, vectors, rows, table, sums))
    }

    /// Returns true if there is machine code for sums of such rows.
    pub(super) fn can_add_sums(&self, vectors: Option<Vectors>, rows: &Rows<'_>) -> bool {
        vectors.is_some_and(|vectors| self.routines.can_add_sums(&self.code, vectors, rows))
    }

    /// Writes the outputs that steps compute, in the order of `Code::computed`. Returns false if the interpreter has to
    /// compute the outputs.
    pub(super) fn write_outputs(
        &self,
        vectors: Option<Vectors>,
        same: Same<'_>,
        table: &mut Table,
        arrays: &Outputs<'_>,
    ) -> bool {
        vectors.is_some_and(|v| self.routines.write_outputs(&self.code, v, same, table, arrays))
    }

    /// Marks the program as used often enough.
    #[cfg(test)]
    pub(super) fn be_worthwhile(&self) {
        self.routines.be_worthwhile();
    }

    /// Returns the number of generated routines.
    #[cfg(all(test, feature = "jit", target_arch = "x86_64"))]
    pub(super) fn routines(&self) -> usize {
        self.routines.count()
    }
}
