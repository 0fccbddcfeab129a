//! Texts that are wrong: each gives an error with its line, and none a panic.

use super::super::{PtxError, parse};
use super::{CALLS, kernel};

/// The error of a body.
fn refused(body: &str) -> PtxError {
    parse(&kernel(body)).expect_err(body)
}

#[test]
fn errors_say_where_and_what() {
    let error = refused("ret;\n\nfoo.bar %r1,\n %r2;");
    assert_eq!(error.line, 9);
    assert_eq!(error.to_string(), "line 9: the instruction is not understood: `foo.bar %r1, %r2`");
    let error = refused("add.odd.s32 %r1, %r2, %r3;");
    assert_eq!((error.line, error.what.contains("`.odd`")), (7, true));
    assert_eq!(refused("ret;\nbra L;").to_string(), "line 8: there is no label `L`");
    let all = "mul24.lo.u32 %r1, %r2, %r3; | set.eq.u32.s32 %r1, %r2, %r3; | slct.f32.s32 %f1, %f2, %f3, %r1;
        | bar.sync 1; | bar.sync 0, 32; | bar.warp.sync; | mov.u32 %r1, %r99; | mov.u32 %r1, %r01; | mov.u32 %r1, %rd1;
        | mov.f32 %f1, 0d3FF0000000000000; | mov.f64 %fd1, 1.5; | mov.f64 %fd1, 0d3FF; | mov.u32 %r1, 4294967296999999999999;
        | ld.param.u64 %rd1, [k_0+4]; | ld.param.u64 %rd1, [k_0+-8]; | ld.global.f64 %fd1, [k_0]; | ld.global.v2.f64 %fd1, [%rd1];
        | ld.f32 %fd1, [%rd1]; | st.const.u32 [%rd1], 1; | ld.acquire.gpu.u32 %r1, [%rd1]; | mul.s32 %r1, %r2, %r3;
        | mul.wide.s64 %rd1, %rd2, %rd3; | fma.f64 %fd1, %fd2, %fd3, %fd4; | max.NaN.f64 %fd1, %fd2, %fd3; | add.f16 %rs1, %rs2, %rs3;
        | prmt.b32.f4e %r1, %r2, %r3, 0; | lop3.b32 %r1, %r2, %r3, %r4, %r5; | call nobody; | call k, (k_0); | @%r1 ret;
        | mov.b64 %rd1, {%r1, %r2, %r3}; | atom.add.gpu.acquire.u32 %r1, [%rd1], 1; | red.cas.b32 [%rd1], 1, 2; | vote.any.pred %p1, %p2;
        | mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1}, {%fd2}, {%fd3}, {%fd1}; | mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f32 {%fd1, %fd2}, {%fd2}, {%fd3}, {%fd1, %fd2};
        | mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd2}, {%fd3}, {%fd1, %fd2}; | cvt.f64.s32 %fd1, %r1; | cvt.s32.f64 %r1, %fd1; | setp.lo.s32 %p1, %r1, 2; | L: L: ret; | .reg .b32 %r<2>; | .reg .f16 %h;
        | .pragma nounroll; | .callprototype _; | p: .callprototype () _ (); | { ret; | } | mov.u32 %r1, %warpid; | brx.idx %r1, t; | ret";
    for body in all.split(" | ") {
        let error = refused(body);
        assert!(error.line >= 6 && !error.what.is_empty(), "{body}: {error}");
    }
    let items = ".func f(); | .global .u32 a[1] = {1, 2}; | .global .u32 a[]; | .extern .global .u32 a; | .global .align 3 .u32 a;
        | .global .u64 a = name; | .global .u32 a; .global .u32 a; | .global .pred a; | .alias a, b; | .func f(.reg .b32 a) { }
        | .entry f() { } .entry f() { } | /* | \" | é | .global .b8 a[9999999999]; | .global .b64 a[1000][1000][1000];
        | .address_size 32 | .section x { | .func f() { .local .u8 a[]; } | .entry f() { .reg .b32 %r<99999999>; }
        | .entry f() .maxntid 99999999, 99999999 { }";
    for item in items.split(" | ") {
        assert_eq!(
            parse(&format!("\n\n{item}")).map_err(|error| error.line >= 3),
            Err(true),
            "{item}"
        );
    }
    assert!(parse(&kernel(&"{".repeat(100_000))).is_err());
}

#[test]
fn broken_texts_do_not_panic() {
    let body = "@!%p1 ld.global.v2.f64 {%fd1, %fd2}, [%rd1+-16]; L: mov.b64 %rd1, {%r1, -1}; bra L;\n\
        setp.lt.and.f64 %p1|_, %fd1, 0d3FF0000000000000, !%p3; shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;";
    let text = format!("{}{CALLS}.const .align 8 .b8 t[4] = {{1, 2}};", kernel(body));
    assert!(parse(&text).is_ok());
    for end in 0..text.len() {
        let _ = parse(&text[..end]);
        let _ = parse(&text[end..]);
        for other in ["{", "}", ";", "-", "9", "_", ".", "\"", "/*", ":", "[", "é", "\0"] {
            let _ = parse(&format!("{}{other}{}", &text[..end], &text[end + 1..]));
        }
    }
}
