//! Machine code for a program: one loop over the points, whose intermediate results stay in registers.
//!
//! The interpreter stays the reference. Functions are recorded from the text that it is compiled from
//! ([`crate::math`]), and sums have the same eight lanes in the same order, so that the bits are the same. What is
//! not known here, or refuses its points (huge angles), is left to it. Code is made for programs that are used often
//! enough to pay for it, and where pages may be executable; they are never writable as well.

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
mod operation;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod recorder;
mod request;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod routine;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod steps;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod writer;

use super::code::Code;
use super::kernels::Vectors;
#[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
use absent::Routines;
pub(super) use request::{Outputs, Rows, Same, Table, Weighted, in_a_row};
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
use routine::Routines;
use std::ops::Deref;

/// A program's code, and machine code that does the same.
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
    /// Whether machine code is worth making for a program that is evaluated at so many points more.
    pub(super) fn is_worthwhile(&self, points: usize) -> bool {
        self.routines.are_worthwhile(points)
    }

    /// Adds the products of the first points of `rows` to their sums, eight lanes each, for each piece of them, and returns how
    /// many points these are: 0 where the interpreter has to do it.
    pub(super) fn add_sums(
        &self,
        vectors: Option<Vectors>,
        rows: &Rows<'_>,
        table: &mut Table,
        sums: &mut [f64],
    ) -> usize {
        vectors.map_or(0, |vectors| self.routines.add_sums(&self.code, vectors, rows, table, sums))
    }

    /// Writes what the steps compute of the outputs at some points, in the order of `Code::computed`. False where the
    /// interpreter has to do it.
    pub(super) fn write_outputs(
        &self,
        vectors: Option<Vectors>,
        same: Same<'_>,
        table: &mut Table,
        arrays: &Outputs<'_>,
    ) -> bool {
        vectors.is_some_and(|v| self.routines.write_outputs(&self.code, v, same, table, arrays))
    }

    /// As if the program had been used a lot.
    #[cfg(test)]
    pub(super) fn be_worthwhile(&self) {
        self.routines.be_worthwhile();
    }

    /// Routines that were made.
    #[cfg(all(test, feature = "jit", target_arch = "x86_64"))]
    pub(super) fn routines(&self) -> usize {
        self.routines.count()
    }
}
