//! Tests of the parser with small texts.

mod refusals;

use super::parse;
use crate::program::{
    Address, Arithmetic, Atomic, Combination, Function, Module, Operand, Operation, Part, Place,
    Property, Relation, Rounding, Scope, Shuffle, Space, Special, Type, Vote,
};

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// Declarations of every test kernel: `%p0` is register 0, `%rs0` 10, `%r0` 20, `%rd0` 30, `%f0` 40, `%fd0` 50.
const REGISTERS: &str = ".reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<10>; .reg .b64 %rd<10>; \
     .reg .f32 %f<10>; .reg .f64 %fd<10>;\n";

/// Returns the text of a module whose only kernel has the body `body`.
fn kernel(body: &str) -> String {
    format!("{HEAD}.visible .entry k(.param .u64 k_0)\n{{\n{REGISTERS}{body}\n}}\n")
}

/// Reads a valid text.
fn read(text: &str) -> Module {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the first function of a text.
fn function(text: &str) -> Function {
    read(text).functions.remove(0)
}

/// Returns the operations of a body, without the return at its end.
fn code(body: &str) -> Vec<Operation> {
    let function = function(&kernel(body));
    let mut all: Vec<Operation> = function.code.into_iter().map(|one| one.operation).collect();
    assert_eq!(all.pop(), Some(Operation::Return));
    all
}

/// Returns the only operation of a body.
fn one(body: &str) -> Operation {
    let mut all = code(body);
    assert_eq!(all.len(), 1, "{body}: {all:?}");
    all.remove(0)
}

fn r(number: u32) -> Operand {
    Operand::Register(number)
}

#[test]
fn declarations_of_a_module() {
    let text = format!(
        "// a comment\n/* another\n*/{HEAD}.file 1 \"/a//b.cu\", 1, 2\n\
         .global .align 4 .u32 a = 3;\n.visible .global .align 2 .s16 b[3] = {{-1, 2U}};\n\
         .const .align 8 .f64 c = 0d3FF0000000000000;\n.global .align 1 .u8 d;\n\
         .shared .align 1 .u8 e;\n.shared .align 8 .b8 f[24];\n\
         .extern .shared .align 16 .b8 g[];\n.weak .global .f32 h[] = {{0f3F800000, 0F40000000}};\n\
         .section .debug_str {{ .b8 1,2 $L: .b32 x }}\n"
    );
    let module = read(&text);
    let seen: Vec<_> =
        module.variables.iter().map(|v| (v.name.as_str(), v.space, v.offset, v.bytes)).collect();
    assert_eq!(
        seen,
        [
            ("a", Space::Global, 0, 4),
            ("b", Space::Global, 0, 6),
            ("c", Space::Constant, 0, 8),
            ("d", Space::Global, 0, 1),
            ("e", Space::Shared, 0, 1),
            ("f", Space::Shared, 16, 24),
            ("g", Space::Shared, 48, 0),
            ("h", Space::Global, 0, 8),
        ]
    );
    assert_eq!(module.shared_bytes, 48);
    assert_eq!(module.variables[0].contents, [3, 0, 0, 0]);
    assert_eq!(module.variables[1].contents, [255, 255, 2, 0]);
    assert_eq!(module.variables[2].contents, 1.0_f64.to_le_bytes());
    assert_eq!(module.variables[7].contents, [0, 0, 128, 63, 0, 0, 0, 64]);
}

#[test]
fn a_header() {
    let text = format!(
        "{HEAD}.entry k(.param .u8 a, .param .align 8 .b8 b[12], .param .u64 .ptr .align 1 c)\n\
         .maxntid 8, 4, 1\n.minnctapersm 2\n.maxnreg 64\n{{ .local .align 8 .b8 depot[64];\n\
         .reg .b64 %x, %y; mov.u64 %x, depot; ld.local.f32 %z, [depot+4]; }}"
    );
    let text = text.replace(".reg .b64", ".reg .f32 %z; .reg .b64");
    let k = function(&text);
    assert!(k.is_kernel);
    assert_eq!(k.most_threads, Some(32));
    let places = [(0, 1), (8, 12), (24, 8)].map(|(offset, bytes)| Place { offset, bytes });
    assert_eq!(k.parameters, places);
    assert_eq!((k.frame_bytes, k.local_bytes, k.registers, k.result), (32, 64, 3, None));
    let from = Operand::Local(0);
    assert_eq!(k.code[0].operation, Operation::Move { of: Type::U64, to: 1, from });
    let address = Address { base: from, offset: 4 };
    let load = Operation::Load { space: Space::Local, of: Type::F32, to: vec![0], address };
    assert_eq!(k.code[1].operation, load);
    assert_eq!(read(&kernel("ret;")).kernel("k"), Some(0));
}

/// A function that calls two others, which are declared first and defined last.
const CALLS: &str = "
.func (.param .b64 r) f(.param .b32 a, .param .align 8 .b8 b[16]);
.func g() .noreturn;
.func (.param .b64 result) h(.param .b64 x) {
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [x];
    { // callseq
    .reg .b32 temp_param_reg;
    .param .b32 param0;
    st.param.b32 [param0+0], 7;
    .param .align 8 .b8 param1[16];
    st.param.b64 [param1+8], %rd1;
    .param .b64 retval0;
    call.uni (retval0),
    f,
    (
    param0,
    param1
    );
    ld.param.b64 %rd2, [retval0+0];
    }
    { .reg .b64 temp; .param .b32 param0; .param .b64 param1; call.uni g, (); }
    call g;
    st.param.b64 [result+0], %rd2;
    ret;
}
.func (.param .b64 r) f(.param .b32 a, .param .align 8 .b8 b[16]) { ret; }
.func g() .noreturn { trap; exit; }
";

#[test]
fn calls() {
    let module = read(&format!("{HEAD}{CALLS}"));
    let h = &module.functions[2];
    assert_eq!(h.parameters, [Place { offset: 0, bytes: 8 }]);
    assert_eq!(h.result, Some(Place { offset: 16, bytes: 8 }));
    let call = Operation::Call { function: 0, arguments: vec![32, 48], result: Some(64) };
    assert_eq!(h.code[3].operation, call);
    assert_eq!(h.code[3].line, 17);
    let empty = Operation::Call { function: 1, arguments: vec![], result: None };
    assert_eq!((&h.code[5].operation, &h.code[6].operation), (&empty, &empty));
    // The second `param0` and `param1` reuse the places of the first.
    assert_eq!(h.frame_bytes, 72);
    let at = |place, offset| Address { base: Operand::Constant(place), offset };
    let store = |of, value, address| Operation::Store {
        space: Space::Parameter,
        of,
        from: vec![value],
        address,
    };
    assert_eq!(h.code[1].operation, store(Type::B32, Operand::Constant(7), at(32, 0)));
    assert_eq!(h.code[2].operation, store(Type::B64, r(4), at(48, 8)));
    assert_eq!(h.code[7].operation, store(Type::B64, r(5), at(16, 0)));
    assert_eq!(module.functions[1].code.len(), 2);
}

#[test]
fn labels_guards_and_scopes() {
    let k = function(&kernel(
        "L: @%p1 bra M;\n@!%p2 bra.uni L;\n{ .reg .b32 %r<2>; mov.u32 %r1, %r0; bra L; L: }\n\
         mov.u32 %r1, %r9;\nM:",
    ));
    let target = |at: usize| match k.code[at].operation {
        Operation::Branch { target } => target,
        ref other => panic!("{other:?}"),
    };
    assert_eq!((target(0), target(1), target(3)), (5, 0, 4));
    assert_eq!((k.code[0].guard, k.code[1].guard), (Some((1, false)), Some((2, true))));
    assert_eq!(k.code[2].operation, Operation::Move { of: Type::U32, to: 61, from: r(60) });
    assert_eq!(k.code[4].operation, Operation::Move { of: Type::U32, to: 21, from: r(29) });
    assert_eq!(k.code[5].operation, Operation::Return);
    assert_eq!((k.code[0].line, k.code[4].line, k.registers), (7, 10, 62));
    // The parser adds a second return, because the label is after the first.
    assert_eq!(code("bra E; ret; E:").len(), 2);
}

#[test]
fn constants_have_the_bits_of_their_type() {
    let value = |text: &str| match one(text) {
        Operation::Move { from: Operand::Constant(bits), .. } => bits,
        other => panic!("{other:?}"),
    };
    assert_eq!(value("mov.u32 %r1, -1;"), 0xFFFF_FFFF);
    assert_eq!(value("mov.u16 %rs1, -2;"), 0xFFFE);
    assert_eq!(value("mov.b64 %rd1, -9223372036854775808;"), 1 << 63);
    assert_eq!(value("mov.b32 %r1, 0x7fU;"), 127);
    assert_eq!(value("mov.b32 %r1, 010;"), 8);
    assert_eq!(value("mov.f64 %fd1, 0dBFF0000000000000;"), (-1.0_f64).to_bits());
    assert_eq!(value("mov.f32 %f1, 0f3F800000;"), 0x3F80_0000);
    assert_eq!(value("mov.b64 %rd1, 0d4000000000000000;"), 1 << 62);
    assert_eq!(value("mov.pred %p1, -1;"), 1);
}

#[test]
fn moves() {
    let special = |name: &str| match one(&format!("mov.u32 %r1, {name};")) {
        Operation::Move { from: Operand::Special(special), .. } => special,
        other => panic!("{other:?}"),
    };
    assert_eq!(special("%tid.x"), Special::Thread);
    assert_eq!(special("%nctaid.x"), Special::Blocks);
    assert_eq!(special("%tid.z"), Special::Zero);
    assert_eq!(special("%ntid.y"), Special::One);
    assert_eq!(special("%clock"), Special::Clock);
    let pack = Operation::Pack {
        of: Type::B64,
        to: 31,
        from: vec![r(21), Operand::Constant(0xFFFF_FFFF)],
    };
    assert_eq!(one("mov.b64 %rd1, {%r1, -1};"), pack);
    let unpack = Operation::Unpack { of: Type::B64, to: vec![None, Some(22)], from: r(51) };
    assert_eq!(one("mov.b64 {_, %r2}, %fd1;"), unpack);
    let four = vec![Some(11), None, Some(13), Some(14)];
    let unpack = Operation::Unpack { of: Type::B64, to: four, from: r(31) };
    assert_eq!(one("mov.b64 {%rs1, _, %rs3, %rs4}, %rd1;"), unpack);
    let text = format!(
        ".global .u64 v[4];{}",
        kernel(".shared .f64 s; mov.u64 %rd1, v+8; mov.b64 %rd2, s;")
    );
    let module = read(&text);
    assert_eq!(module.variables[1].name, "s");
    let moved = |to, from| Operation::Move { of: Type::U64, to, from };
    assert_eq!(module.functions[0].code[0].operation, moved(31, Operand::Variable(0, 8)));
}

#[test]
fn memory() {
    let at = |base, offset| Address { base, offset };
    let load =
        |space, of, to: &[u32], address| Operation::Load { space, of, to: to.to_vec(), address };
    let found = one("ld.global.nc.v2.f64 {%fd1, %fd2}, [%rd1+-16];");
    assert_eq!(found, load(Space::Global, Type::F64, &[51, 52], at(r(31), -16)));
    let found = one("ld.volatile.shared.u32 %r1, [64];");
    assert_eq!(found, load(Space::Shared, Type::U32, &[21], at(Operand::Constant(64), 0)));
    assert_eq!(one("ld.b8 %rs1, [%rd1];"), load(Space::Generic, Type::B8, &[11], at(r(31), 0)));
    let found = one("ld.param.u32 %r1, [k_0+4];");
    assert_eq!(found, load(Space::Parameter, Type::U32, &[21], at(Operand::Constant(0), 4)));
    let store = Operation::Store {
        space: Space::Global,
        of: Type::F32,
        from: vec![r(41), Operand::Constant(0)],
        address: at(r(31), 8),
    };
    assert_eq!(one("st.global.v2.f32 [%rd1+8], {%f1, 0f00000000};"), store);
    // The sign is extended to the whole of a wider register.
    let found = code("@%p1 ld.param.s8 %rs1, [k_0];");
    assert_eq!(found[0], load(Space::Parameter, Type::S8, &[11], at(Operand::Constant(0), 0)));
    let Operation::Convert { into: Type::S16, of: Type::S8, to: 11, .. } = found[1] else {
        panic!("{found:?}")
    };
    let atomic = |kind, space, of, to, operand, second| Operation::Atomic {
        kind,
        space,
        of,
        to,
        address: at(r(31), 0),
        operand,
        second,
    };
    let found = one("atom.global.add.u32 %r1, [%rd1], 1;");
    assert_eq!(
        found,
        atomic(Atomic::Add, Space::Global, Type::U32, Some(21), Operand::Constant(1), None)
    );
    let found = one("atom.relaxed.gpu.cas.b64 %rd2, [%rd1], %rd3, %rd4;");
    assert_eq!(
        found,
        atomic(Atomic::CompareAndSwap, Space::Generic, Type::B64, Some(32), r(33), Some(r(34)))
    );
    let found = one("red.shared.add.f64 [%rd1], %fd1;");
    assert_eq!(found, atomic(Atomic::Add, Space::Shared, Type::F64, None, r(51), None));
    let to = Operation::ToGeneric { space: Space::Shared, to: 31, from: r(32) };
    assert_eq!(one("cvta.shared.u64 %rd1, %rd2;"), to);
    let from = Operation::FromGeneric { space: Space::Global, to: 31, from: r(32) };
    assert_eq!(one("cvta.to.global.u64 %rd1, %rd2;"), from);
}

#[test]
fn arithmetic() {
    let read = |text: &str| match one(text) {
        Operation::Arithmetic { kind, of, to, from, form } => (kind, of, to, from, form),
        other => panic!("{other:?}"),
    };
    let (kind, of, to, from, form) = read("fma.rm.ftz.sat.f32 %f1, %f2, 0f40000000, %f3;");
    assert_eq!((kind, of, to), (Arithmetic::MultiplyAdd, Type::F32, 41));
    assert_eq!(from, [r(42), Operand::Constant(0x4000_0000), r(43)]);
    assert_eq!((form.rounding, form.flush, form.saturate), (Rounding::Down, true, true));
    let (_, of, to, from, form) = read("mad.wide.s32 %rd1, %r1, -1, -1;");
    assert_eq!((of, to, form.part), (Type::S32, 31, Part::Wide));
    assert_eq!(from, [r(21), Operand::Constant(0xFFFF_FFFF), Operand::Constant(u64::MAX)]);
    assert_eq!(read("mul.hi.u64 %rd1, %rd2, %rd3;").4.part, Part::High);
    assert_eq!(read("mul.rn.f64 %fd1, %fd2, %fd3;").4.part, Part::Low);
    let form = read("madc.hi.cc.u32 %r1, %r2, %r3, %r4;").4;
    assert_eq!((form.part, form.carry_in, form.carry_out), (Part::High, true, true));
    let form = read("sub.cc.u32 %r1, %r2, %r3;").4;
    assert_eq!((form.carry_in, form.carry_out), (false, true));
    let form = read("subc.u32 _, %r2, %r3;").4;
    assert_eq!((form.carry_in, form.carry_out), (true, false));
    assert_eq!(read("add.u32 _, %r2, %r3;").2, 60);
    assert!(read("rcp.approx.ftz.f64 %fd1, %fd2;").4.approximate);
    assert!(read("div.full.f32 %f1, %f2, %f3;").4.approximate);
    assert!(read("ex2.approx.ftz.f32 %f1, %f2;").4.flush);
    assert_eq!(read("add.rz.f32 %f1, %f2, %f3;").4.rounding, Rounding::TowardZero);
    assert_eq!(read("popc.b64 %r1, %rd1;").0, Arithmetic::CountOnes);
    assert_eq!(read("bfind.shiftamt.s32 %r1, %r2;").4.part, Part::High);
    assert_eq!(read("shl.b64 %rd1, %rd2, %r1;").3, [r(32), r(21)]);
    assert_eq!(read("bfi.b64 %rd1, %rd2, %rd3, 32, 8;").3[2..], [32, 8].map(Operand::Constant));
    let (kind, ..) = read("shf.l.wrap.b32 %r1, %r2, %r3, %r4;");
    assert_eq!(kind, Arithmetic::FunnelLeft { clamp: false });
    let (kind, ..) = read("shf.r.clamp.b32 %r1, %r2, %r3, 32;");
    assert_eq!(kind, Arithmetic::FunnelRight { clamp: true });
    assert_eq!(read("lop3.b32 %r1, %r2, %r3, %r4, 0x96;").3[3], Operand::Constant(0x96));
    assert_eq!(read("selp.f64 %fd1, %fd2, 0d0000000000000000, %p1;").3[2], r(1));
    assert_eq!(read("testp.notanumber.f64 %p1, %fd1;").0, Arithmetic::Test(Property::NotANumber));
    assert_eq!(read("not.pred %p1, %p2;").1, Type::Pred);
    for name in ["and", "or", "xor"] {
        assert_eq!(read(&format!("{name}.b16 %rs1, %rs2, 1;")).1, Type::B16);
    }
    for text in ["sqrt.rn.f64 %fd1, %fd2;", "rsqrt.approx.f64 %fd1, %fd2;", "neg.s64 %rd1, %rd2;"] {
        assert_eq!(read(text).3, [r(if text.contains("s64") { 32 } else { 52 })]);
    }
    assert_eq!(read("prmt.b32 %r1, %r2, 0, 0x3340;").0, Arithmetic::PermuteBytes);
    assert_eq!(read("copysign.f64 %fd1, %fd2, %fd3;").0, Arithmetic::CopySign);
}

#[test]
fn comparisons_and_conversions() {
    let combination = Combination { with: Arithmetic::And, predicate: r(3), negated: true };
    let compare = Operation::Compare {
        relation: Relation::Less,
        of: Type::F64,
        to: 1,
        opposite: Some(2),
        left: r(51),
        right: r(52),
        combination: Some(combination),
        flush: false,
    };
    assert_eq!(one("setp.lt.and.f64 %p1|%p2, %fd1, %fd2, !%p3;"), compare);
    let relation = |text: &str| match one(text) {
        Operation::Compare { relation, flush, .. } => (relation, flush),
        other => panic!("{other:?}"),
    };
    assert_eq!(relation("setp.hs.u32 %p1, %r1, 4;"), (Relation::GreaterEqual, false));
    assert_eq!(relation("setp.neu.ftz.f32 %p1, %f1, %f2;"), (Relation::NotEqualUnordered, true));
    assert_eq!(relation("setp.nan.f64 %p1|_, %fd1, %fd1;"), (Relation::Unordered, false));
    assert_eq!(relation("setp.eq.b64 %p1, %rd1, %rd2;"), (Relation::Equal, false));
    let convert = |text: &str| match one(text) {
        Operation::Convert { into, of, rounding, to_integral, saturate, .. } => {
            (into, of, rounding, to_integral, saturate)
        }
        other => panic!("{other:?}"),
    };
    let nearest = Some(Rounding::Nearest);
    assert_eq!(convert("cvt.rni.s32.f64 %r1, %fd1;"), (Type::S32, Type::F64, nearest, true, false));
    assert_eq!(convert("cvt.rn.f64.s32 %fd1, %r1;"), (Type::F64, Type::S32, nearest, false, false));
    assert_eq!(convert("cvt.sat.f32.f32 %f1, %f2;"), (Type::F32, Type::F32, None, false, true));
    assert_eq!(convert("cvt.s32.s8 %r1, %rs1;"), (Type::S32, Type::S8, None, false, false));
    let truncated = (Type::F64, Type::F64, Some(Rounding::TowardZero), true, false);
    assert_eq!(convert("cvt.rzi.f64.f64 %fd1, %fd2;"), truncated);
}

#[test]
fn what_lanes_and_threads_do_together() {
    assert_eq!(one("bar.sync 0;"), Operation::Barrier);
    assert_eq!(one("barrier.sync.aligned 0;"), Operation::Barrier);
    assert_eq!(
        one("bar.warp.sync -1;"),
        Operation::WarpBarrier { lanes: Operand::Constant(0xFFFF_FFFF) }
    );
    assert_eq!(one("membar.gl;"), Operation::Fence { scope: Scope::Device });
    assert_eq!(one("fence.acq_rel.sys;"), Operation::Fence { scope: Scope::System });
    assert_eq!(one("fence.sc.cta;"), Operation::Fence { scope: Scope::Block });
    assert_eq!(one("activemask.b32 %r1;"), Operation::ActiveLanes { to: 21 });
    assert_eq!(one("trap;"), Operation::Trap);
    let shuffle = Operation::Shuffle {
        kind: Shuffle::Butterfly,
        to: 21,
        in_range: Some(1),
        value: r(22),
        lane: Operand::Constant(16),
        clamp: Operand::Constant(31),
        lanes: r(23),
    };
    assert_eq!(one("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, %r3;"), shuffle);
    let vote =
        |kind, to, negated| Operation::Vote { kind, to, predicate: r(2), negated, lanes: r(21) };
    assert_eq!(one("vote.sync.any.pred %p1, !%p2, %r1;"), vote(Vote::Any, 1, true));
    assert_eq!(one("vote.sync.ballot.b32 %r2, %p2, %r1;"), vote(Vote::Ballot, 22, false));
    let matrix = one(
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1,%fd2},{%fd3},{%fd3},{%fd1,%fd2};",
    );
    let Operation::Matrix { to: [first, second], left, right, sums } = matrix else { panic!() };
    assert_eq!((second, left, right), (first + 1, r(first + 2), r(first + 2)));
    assert_eq!(sums, [r(first), r(second)]);
}
