//! Substitute for machine code on other processors, or without the feature `jit`.

use crate::backend::cpu::assembly::request::{Outputs, Rows, Same, Table};
use crate::backend::cpu::code::Code;
use crate::backend::cpu::kernels::Vectors;

#[derive(Debug, Default)]
pub(super) struct Routines {}

impl Routines {
    pub(super) fn are_worthwhile(&self, _points: usize) -> bool {
        false
    }

    #[cfg(test)]
    pub(super) fn be_worthwhile(&self) {}

    pub(super) fn can_add_sums(&self, _code: &Code, _vectors: Vectors, _rows: &Rows<'_>) -> bool {
        false
    }

    pub(super) fn add_sums(
        &self,
        _code: &Code,
        _vectors: Vectors,
        _rows: &Rows<'_>,
        _table: &mut Table,
        _sums: &mut [f64],
    ) -> usize {
        0
    }

    pub(super) fn write_outputs(
        &self,
        _code: &Code,
        _vectors: Vectors,
        _same: Same<'_>,
        _table: &mut Table,
        _arrays: &Outputs<'_>,
    ) -> bool {
        false
    }
}
