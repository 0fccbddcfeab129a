//! Runs generated models on the host: one library has many models, each in its own namespace with its own kernel.

use super::cxx::{self, Built};
use crate::backend::cuda::source::{Spec, Storage, model_unit};
use std::ffi::c_void;

/// Number of independent variables of every tested model.
pub(super) const COLUMNS: usize = 2;

/// The structure `Data` of the kernels, as `DataLayout` in interface/structures.rs declares it.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawData {
    x: [*const c_void; COLUMNS],
    y: *const c_void,
    weight: *const f64,
    constant_weight: f64,
    loss_scale: f64,
    points: i64,
}

type Kernel = unsafe extern "C" fn(RawData, *const f64, *mut f64);

/// A library of compiled generated models.
pub(super) struct Trial {
    pub(super) built: Built,
}

impl Trial {
    /// Compiles the models of `specs` after the text `functions`, which declares the CUDA functions that they
    /// use. `model_only` precedes each model after the prelude, and `undo` follows the model.
    pub(super) fn build(
        specs: &[Spec<'_>],
        functions: &str,
        model_only: &str,
        undo: &str,
    ) -> Option<Trial> {
        let mut source = format!("{functions}\n{}", include_str!("single_thread.h"));
        for (n, spec) in specs.iter().enumerate() {
            let unit = model_unit(spec);
            let (prelude, model) = unit.split_once("#line 1 \"model\"\n").expect("a model");
            let kernel = include_str!("trial.cuh").replace("TRIAL", &format!("trial_{n}"));
            source += &format!("namespace m{n} {{\n{prelude}\n{model_only}\n{model}\n");
            source += &format!("{undo}\n{kernel}\n}}\n");
        }
        Some(Trial { built: cxx::build(&source)? })
    }

    /// Returns all outputs of model `n` at the points with columns `x`, stored as in `spec`.
    pub(super) fn outputs(
        &self,
        n: usize,
        spec: &Spec<'_>,
        x: &[Vec<f64>; COLUMNS],
        params: &[f64],
    ) -> Vec<Vec<f64>> {
        assert_eq!(spec.columns.len(), COLUMNS);
        assert_eq!(spec.program.params.len(), params.len());
        let single = x.each_ref().map(|c| c.iter().map(|&v| v as f32).collect::<Vec<f32>>());
        let column = |c: usize| match spec.columns[c] {
            Storage::F32 => single[c].as_ptr().cast(),
            _ => x[c].as_ptr().cast(),
        };
        let points = x[0].len();
        let data = RawData {
            x: std::array::from_fn(column),
            y: std::ptr::null(),
            weight: std::ptr::null(),
            constant_weight: 1.0,
            loss_scale: 1.0,
            points: points as i64,
        };
        let mut outputs = vec![f64::NAN; points * (spec.free + 1)];
        // SAFETY: the kernel was compiled from a text with the interface `Kernel`; columns, parameters
        // and outputs have the lengths that it reads and writes, and it reads nothing else.
        unsafe {
            let name = format!("trial_{n}");
            let kernel = self.built.library.get::<Kernel>(name.as_bytes()).expect("a kernel");
            kernel(data, params.as_ptr(), outputs.as_mut_ptr());
        }
        outputs.chunks(spec.free + 1).map(<[f64]>::to_vec).collect()
    }
}
