//! Instruction codes of the operations.

use super::operation::{Comparison, Operation, Rounding};
use crate::backend::cpu::kernels::Vectors;
use iced_x86::Code;

/// Returns the instruction of an operation. Returns `None` if the operation does not have a single fixed instruction.
pub(super) fn form(operation: Operation, vectors: Vectors) -> Option<Code> {
    use Operation::{
        Add, AddBits, And, Both, Compare, Divide, Either, ExclusiveOr, Least, Most, Multiply, Not,
        Or, Root, Scale, ShiftLeft, ShiftRight, Subtract, SubtractBits, Whole,
    };
    let (avx2, avx512) = match operation {
        Add(..) => (Code::VEX_Vaddpd_ymm_ymm_ymmm256, Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er),
        Subtract(..) => {
            (Code::VEX_Vsubpd_ymm_ymm_ymmm256, Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er)
        }
        Multiply(..) => {
            (Code::VEX_Vmulpd_ymm_ymm_ymmm256, Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er)
        }
        Divide(..) => {
            (Code::VEX_Vdivpd_ymm_ymm_ymmm256, Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er)
        }
        Least(..) => {
            (Code::VEX_Vminpd_ymm_ymm_ymmm256, Code::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae)
        }
        Most(..) => {
            (Code::VEX_Vmaxpd_ymm_ymm_ymmm256, Code::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae)
        }
        And(..) => (Code::VEX_Vpand_ymm_ymm_ymmm256, Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64),
        Or(..) => (Code::VEX_Vpor_ymm_ymm_ymmm256, Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64),
        ExclusiveOr(..) => {
            (Code::VEX_Vpxor_ymm_ymm_ymmm256, Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64)
        }
        AddBits(..) => (Code::VEX_Vpaddq_ymm_ymm_ymmm256, Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64),
        SubtractBits(..) => {
            (Code::VEX_Vpsubq_ymm_ymm_ymmm256, Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64)
        }
        Root(_) => (Code::VEX_Vsqrtpd_ymm_ymmm256, Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er),
        Whole(Rounding::Down | Rounding::Up, _) => (
            Code::VEX_Vroundpd_ymm_ymmm256_imm8,
            Code::EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae,
        ),
        ShiftLeft(..) => (Code::VEX_Vpsllq_ymm_ymm_imm8, Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8),
        ShiftRight(..) => {
            (Code::VEX_Vpsrlq_ymm_ymm_imm8, Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8)
        }
        Compare(Comparison::SameBits, ..) => {
            (Code::VEX_Vpcmpeqq_ymm_ymm_ymmm256, Code::EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64)
        }
        Compare(..) => {
            (Code::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae)
        }
        Both(..) => (Code::VEX_Vpand_ymm_ymm_ymmm256, Code::VEX_Kandb_kr_kr_kr),
        Either(..) => (Code::VEX_Vpor_ymm_ymm_ymmm256, Code::VEX_Korb_kr_kr_kr),
        Not(_) if vectors == Vectors::Avx512 => (Code::INVALID, Code::VEX_Knotb_kr_kr),
        Scale(..) if vectors == Vectors::Avx512 => {
            (Code::INVALID, Code::EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er)
        }
        _ => return None,
    };
    Some(match vectors {
        Vectors::Avx2 => avx2,
        Vectors::Avx512 => avx512,
    })
}

/// Instructions for fused multiply-add. They overwrite operand d; operand m may be in memory.
pub(super) struct FusedForms {
    /// d = s m + d
    pub(super) into_term: Code,
    /// d = s d + m
    pub(super) with_term_last: Code,
    /// d = d m + s
    pub(super) with_factor_last: Code,
}

/// Returns the three forms of a fused multiply-add. `negated`: the product is negated; `less`: the term is subtracted.
pub(super) fn fused_forms((negated, less): (bool, bool), vectors: Vectors) -> FusedForms {
    macro_rules! forms {
        ($into_term:ident, $with_term_last:ident, $with_factor_last:ident) => {
            FusedForms {
                into_term: Code::$into_term,
                with_term_last: Code::$with_term_last,
                with_factor_last: Code::$with_factor_last,
            }
        };
    }
    match (vectors, negated, less) {
        (Vectors::Avx2, false, false) => forms!(
            VEX_Vfmadd231pd_ymm_ymm_ymmm256,
            VEX_Vfmadd213pd_ymm_ymm_ymmm256,
            VEX_Vfmadd132pd_ymm_ymm_ymmm256
        ),
        (Vectors::Avx2, true, false) => forms!(
            VEX_Vfnmadd231pd_ymm_ymm_ymmm256,
            VEX_Vfnmadd213pd_ymm_ymm_ymmm256,
            VEX_Vfnmadd132pd_ymm_ymm_ymmm256
        ),
        (Vectors::Avx2, false, true) => forms!(
            VEX_Vfmsub231pd_ymm_ymm_ymmm256,
            VEX_Vfmsub213pd_ymm_ymm_ymmm256,
            VEX_Vfmsub132pd_ymm_ymm_ymmm256
        ),
        (Vectors::Avx2, true, true) => forms!(
            VEX_Vfnmsub231pd_ymm_ymm_ymmm256,
            VEX_Vfnmsub213pd_ymm_ymm_ymmm256,
            VEX_Vfnmsub132pd_ymm_ymm_ymmm256
        ),
        (Vectors::Avx512, false, false) => forms!(
            EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfmadd132pd_zmm_k1z_zmm_zmmm512b64_er
        ),
        (Vectors::Avx512, true, false) => forms!(
            EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfnmadd132pd_zmm_k1z_zmm_zmmm512b64_er
        ),
        (Vectors::Avx512, false, true) => forms!(
            EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfmsub132pd_zmm_k1z_zmm_zmmm512b64_er
        ),
        (Vectors::Avx512, true, true) => forms!(
            EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfnmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
            EVEX_Vfnmsub132pd_zmm_k1z_zmm_zmmm512b64_er
        ),
    }
}
