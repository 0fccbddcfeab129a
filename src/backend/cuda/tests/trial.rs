//! Generated models, executed: many in one library, each in a namespace with a kernel of its own.

use super::cxx::{self, Built};
use crate::backend::cuda::source::{Spec, Storage, model_unit};
use std::ffi::c_void;

/// Independent variables of every model tried.
pub(super) const COLUMNS: usize = 2;

/// `struct Data` of kernels/prelude.cuh.
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

/// Generated models, compiled.
pub(super) struct Trial {
    pub(super) built: Built,
}

impl Trial {
    /// Compiles the models of `specs` after the text `functions`, which declares what of CUDA's
    /// mathematics they use; `model_only` stands before each model and after the prelude, `undo` behind.
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

    /// All outputs of model `n` at the points whose columns are `x`, stored as `spec` says.
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
        // SAFETY: the kernel was compiled from the text whose interface `Kernel` is; columns, parameters
        // and outputs have the lengths that it reads and writes, and it reads nothing else.
        unsafe {
            let name = format!("trial_{n}");
            let kernel = self.built.library.get::<Kernel>(name.as_bytes()).expect("a kernel");
            kernel(data, params.as_ptr(), outputs.as_mut_ptr());
        }
        outputs.chunks(spec.free + 1).map(<[f64]>::to_vec).collect()
    }
}
