//! What is read of texts, and what is said of those that are not understood.

use super::{PtxError, parse};
use crate::program::{
    Address, Arithmetic, Form, Instruction, Module, Operand, Operation, Part, Place, Relation,
    Rounding, Scope, Shuffle, Space, Special, Type,
};

const HEAD: &str = ".version 7.5\n.target sm_75\n.address_size 64\n";

/// A module of every kind of line.
const TEXT: &str = r#"
// A remark, /* and another. */
.global .align 8 .f64 HALF = 0d3FE0000000000000;
.const .align 4 .b8 TABLE[6] = {1, 2, 255, -1};
.shared .align 8 .b8 part[40];
.func (.param .b64 func_retval0) twice(.param .b64 twice_param_0, .param .align 4 .b8 twice_param_1[12]);
.visible .entry kernel(
    .param .u32 kernel_param_0,
    .param .u64 kernel_param_1
)
.maxntid 128, 2, 1
.minnctapersm 2
{
    .local .align 8 .b8 __local_depot0[24];
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .f64 %fd<4>;
    .reg .b64 %rd<5>, %SPL;
    .shared .align 4 .u32 last;
    .loc 1 2 3
    mov.u64 %SPL, __local_depot0;
    ld.param.u64 %rd1, [kernel_param_1+0];
    mov.u32 %r1, %tid.x;
    setp.lt.and.s32 %p1|%p2, %r1, -7, !%p1;
    @!%p1 bra $L__BB0_2;
    fma.rn.f64 %fd1, %fd2, 0d4000000000000000, %fd3;
    .pragma "nounroll";
    {
    .reg .b32 temp;
    mov.b64 {temp, _}, %rd1;
    }
    {
    .param .b64 param0;
    st.param.f64 [param0+0], %fd1;
    .param .align 4 .b8 param1[12];
    st.param.b32 [param1+8], %r1;
    .param .b64 retval0;
    call.uni (retval0), twice, (param0, param1);
    ld.param.f64 %fd2, [retval0+0];
    }
$L__BB0_2:
    ld.global.nc.v2.f64 {%fd1, %fd2}, [%rd1+-16];
    st.shared.u32 [last], 3;
    mov.u32 %r2, part+8;
    shfl.sync.bfly.b32 %r3|%p1, %r2, 16, 31, -1;
    bar.warp.sync %r3;
    bar.sync 0;
    membar.gl;
    cvt.rzi.s32.f64 %r4, %fd1;
    mad.lo.cc.u32 %r5, %r4, 3, %r5;
    red.global.add.f64 [%rd1], %fd1;
    cvta.to.global.u64 %rd2, %rd1;
    exit;
}
.func (.param .b64 func_retval0) twice(.param .b64 twice_param_0, .param .align 4 .b8 twice_param_1[12])
{
    .reg .f64 %fd<2>;
    ld.param.f64 %fd1, [twice_param_0];
    add.f64 %fd1, %fd1, %fd1;
    st.param.f64 [func_retval0+0], %fd1;
    ret;
}
"#;

fn read() -> Module {
    parse(&format!("{HEAD}{TEXT}")).unwrap()
}

/// The instructions of the kernel but for their lines.
fn code() -> Vec<(Option<(u32, bool)>, Operation)> {
    let without_line = |one: &Instruction| (one.guard, one.operation.clone());
    read().functions[1].code.iter().map(without_line).collect()
}

#[test]
fn variables_have_places_and_contents() {
    let module = read();
    let found: Vec<_> = module.variables.iter().map(|v| (&v.name[..], v.space, v.bytes)).collect();
    let expected = [
        ("HALF", Space::Global, 8),
        ("TABLE", Space::Constant, 6),
        ("part", Space::Shared, 40),
        ("kernel/last", Space::Shared, 4),
    ];
    assert_eq!(found, expected);
    assert_eq!(module.variables[0].contents, 0.5_f64.to_le_bytes());
    assert_eq!(module.variables[1].contents, [1, 2, 255, 255]);
    assert_eq!((module.variables[3].offset, module.shared_bytes), (48, 52));
}

#[test]
fn functions_have_frames() {
    let module = read();
    let [twice, kernel] = &module.functions[..] else { panic!("{module:?}") };
    assert_eq!((module.kernel("kernel"), module.kernel("twice")), (Some(1), None));
    assert_eq!((kernel.most_threads, kernel.local_bytes), (Some(256), 24));
    let place = |offset, bytes| Place { offset, bytes };
    assert_eq!(kernel.parameters, [place(0, 4), place(8, 8)]);
    assert_eq!(twice.parameters, [place(0, 8), place(8, 12)]);
    assert_eq!((twice.result, twice.frame_bytes), (Some(place(32, 8)), 40));
    // Behind its own parameters come those of its call.
    assert_eq!(kernel.frame_bytes, 56);
    let call = Operation::Call { function: 0, arguments: vec![16, 32], result: Some(48) };
    assert!(code().contains(&(None, call)));
    assert_eq!(twice.code.last().unwrap().operation, Operation::Return);
}

#[test]
fn instructions_are_what_they_say() {
    let code = code();
    let has =
        |operation: Operation| assert!(code.contains(&(None, operation.clone())), "{operation:?}");
    let [p1, p2, r1] = [1, 2, 4];
    let (fd1, rd1) = (13, 17);
    has(Operation::Move { of: Type::U64, to: 21, from: Operand::Local(0) });
    has(Operation::Move { of: Type::U32, to: r1, from: Operand::Special(Special::Thread) });
    let Some((_, Operation::Compare { relation, left, right, opposite, combination, .. })) =
        code.iter().find(|(_, one)| matches!(one, Operation::Compare { .. }))
    else {
        panic!("{code:?}")
    };
    assert_eq!((*relation, *opposite), (Relation::Less, Some(p2)));
    assert_eq!((*left, *right), (Operand::Register(r1), Operand::Constant(0xffff_fff9)));
    let combination = combination.unwrap();
    assert_eq!((combination.with, combination.negated), (Arithmetic::And, true));
    assert_eq!(combination.predicate, Operand::Register(p1));
    let branch = code.iter().find(|(guard, _)| guard.is_some()).unwrap();
    let Operation::Branch { target } = branch.1 else { panic!("{branch:?}") };
    assert_eq!(branch.0, Some((p1, true)));
    assert!(matches!(code[target].1, Operation::Load { .. }));
    let form = Form {
        part: Part::Low,
        carry_in: false,
        carry_out: false,
        saturate: false,
        flush: false,
        approximate: false,
        rounding: Rounding::Nearest,
    };
    let two = Operand::Constant(2.0_f64.to_bits());
    let [fd2, fd3] = [fd1 + 1, fd1 + 2].map(Operand::Register);
    let (kind, of) = (Arithmetic::MultiplyAdd, Type::F64);
    has(Operation::Arithmetic { kind, of, to: fd1, from: vec![fd2, two, fd3], form });
    let (form, r4, r5) = (Form { carry_out: true, ..form }, 7, 8);
    let from = vec![Operand::Register(r4), Operand::Constant(3), Operand::Register(r5)];
    has(Operation::Arithmetic { kind, of: Type::U32, to: r5, from, form });
    let temp = 22;
    let from = Operand::Register(rd1);
    has(Operation::Unpack { of: Type::B64, to: vec![Some(temp), None], from });
    let address = Address { base: Operand::Register(rd1), offset: -16 };
    has(Operation::Load { space: Space::Global, of: Type::F64, to: vec![fd1, fd1 + 1], address });
    let (space, of) = (Space::Shared, Type::U32);
    let address = Address { base: Operand::Variable(3, 0), offset: 0 };
    has(Operation::Store { space, of, from: vec![Operand::Constant(3)], address });
    has(Operation::Move { of, to: 5, from: Operand::Variable(2, 8) });
    has(Operation::Shuffle {
        kind: Shuffle::Butterfly,
        to: 6,
        in_range: Some(p1),
        value: Operand::Register(5),
        lane: Operand::Constant(16),
        clamp: Operand::Constant(31),
        lanes: Operand::Constant(0xffff_ffff),
    });
    has(Operation::WarpBarrier { lanes: Operand::Register(6) });
    has(Operation::Barrier);
    has(Operation::Fence { scope: Scope::Device });
    has(Operation::Convert {
        into: Type::S32,
        of: Type::F64,
        to: 7,
        from: Operand::Register(fd1),
        rounding: Some(Rounding::TowardZero),
        to_integral: true,
        saturate: false,
        flush: false,
    });
    has(Operation::FromGeneric { space: Space::Global, to: rd1 + 1, from });
}

#[test]
fn what_is_not_understood_is_named_with_its_line() {
    let said = |line: &str| {
        let body = format!(".reg .b32 %r<3>;\n.reg .pred %p;\n{line}\nret;");
        parse(&format!("{HEAD}.entry k(.param .u32 k_0)\n{{\n{body}\n}}")).unwrap_err()
    };
    let error = |what: &str| PtxError { line: 8, what: what.into() };
    assert_eq!(said("frob.b32 %r1, %r2;"), error("`frob.b32` is not known here"));
    assert_eq!(said("add.s32 %r1, %r2;"), error("`,` is expected, not `;`"));
    assert_eq!(said("add.s32 %r1, %r2, %q;"), error("`%q` is not known here"));
    assert_eq!(said("add.s32 %q, %r2, 1;"), error("there is no register `%q`"));
    assert_eq!(said("mov.u32 %r1, 12x;"), error("`12x` is no number"));
    assert_eq!(said("bra.uni nowhere;"), error("there is no label nowhere"));
    assert_eq!(said("bar.sync 1;"), error("`0` is expected, not `1`"));
    assert_eq!(said("ld.param.u32 %r1, [other];"), error("there is no such parameter"));
    assert_eq!(said("call other;"), error("there is no function other"));
    assert_eq!(said("mov.b32 {%r1, %r2, %r1}, %r2;"), error("a value of B32 has not 3 parts"));
    assert!(said("prmt.b32.f4e %r1, %r1, %r1, %r1;").what.contains("prmt.b32.f4e"));
    let missing = parse(&format!("{HEAD}.func twice;")).unwrap_err();
    assert!(missing.what.contains("function twice has no body"), "{missing}");
}

#[test]
fn texts_that_end_early_are_errors() {
    let text = format!("{HEAD}{}", TEXT.trim_end());
    for end in (HEAD.len()..text.len()).step_by(7) {
        // Up to there it may be a whole module of fewer functions.
        let _ = parse(&text[..end]);
    }
    assert!(parse(&text[..text.len() - 1]).is_err());
    for hostile in [
        ".shared .b8 x[99999999999999999999];",
        ".global .b8 x[1073741824][1073741824][1073741824];",
        ".entry k(.param .b8 x[4294967295]) { }",
        ".entry k() { .reg .b32 %r<4294967295>; }",
        ".entry k() { .local .align 3 .b8 x[4]; }",
        ".global .b8 x[1] = {1, 2, 3};",
        ".entry k() { {{{{ } } }",
        "é",
    ] {
        assert!(parse(hostile).is_err(), "{hostile}");
    }
}
