//! What stands in front of printed loops: C types, and the mathematics, which device kernels share:
//! the polynomials and constants of the Rust functions, `math.c` and `complex.c`; behind them the
//! functions of reals for `f32`, through `f64`.

use crate::ir::UnaryOp;
use crate::math::constants::{NUMBERS, POLYNOMIALS};
use crate::operations::Types;
use std::fmt::Write as _;

/// The types, in the names that Rust has for them, and how functions and loops are marked: the
/// rows of a loop are independent, which compilers cannot see, and GCC would unroll the rows of a
/// short one before it looks for SIMD code. Nor may GCC thread jumps: where a selection decides a
/// later one, as in `min(max(x, low), high)`, it makes paths of them, and then no SIMD code; nor
/// look for what is known on one of two paths, as the logarithm of an absolute value that is
/// infinite, for which it chooses between truth values, of which vectors of AVX-512 have none.
/// Clang refuses the options of these names, so they are a pragma.
const TYPES: &str = r#"
#ifndef __clang__
#pragma GCC optimize("no-thread-jumps", "no-tree-pre")
#endif
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;
#define FN static inline __attribute__((always_inline))
#ifdef __clang__
#define ROWS _Pragma("clang loop vectorize(assume_safety)")
#else
#define ROWS _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#endif
"#;

/// Stores past the caches, which C has no word for. Elsewhere, and where memory is not aligned for
/// it, they are plain stores.
const STREAM: &str = r#"
#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX2__)
#define VECTOR 32
#endif
#define LINES __attribute__((aligned(64)))
#ifdef VECTOR
typedef i64 vector __attribute__((vector_size(VECTOR), may_alias));
#if defined(__clang__)
#define PUT(to, value) __builtin_nontemporal_store(value, to)
#elif VECTOR == 64
#define PUT(to, value) __builtin_ia32_movntdq512(to, value)
#else
#define PUT(to, value) __builtin_ia32_movntdq256(to, value)
#endif
#endif
FN void stream(void *to, const void *from, u64 bytes) {
#ifdef VECTOR
    if ((u64)to % VECTOR == 0 && bytes % VECTOR == 0) {
        for (u64 at = 0; at < bytes; at += VECTOR)
            PUT((vector *)((u8 *)to + at), *(const vector *)((const u8 *)from + at));
        return;
    }
#endif
    __builtin_memcpy(to, from, bytes);
}
"#;

/// The text in front of the loops.
pub(super) fn prelude() -> String {
    String::from(TYPES) + STREAM + &mathematics()
}

/// The functions of [`crate::ops`] and [`crate::math`], as C11 for GCC and Clang and as C++17 for
/// NVRTC. The types (`f64`, `u64`, ...) and `FN` stand in front of it.
pub(crate) fn mathematics() -> String {
    let mut text = String::from(include_str!("compilers.c"));
    for (name, value) in NUMBERS {
        let _ = writeln!(text, "#define {name} {value:e}");
    }
    for (name, coefficients) in POLYNOMIALS {
        polynomial(&mut text, name, coefficients);
    }
    text.push_str(include_str!("math.c"));
    text.push_str(include_str!("complex.c"));
    let functions = UnaryOp::ALL
        .into_iter()
        .filter(|op| op.types() == Types::Reals);
    for name in functions.map(UnaryOp::name) {
        let _ = writeln!(
            text,
            "FN f32 {name}_f32(f32 a) {{ return (f32){name}_f64(a); }}"
        );
    }
    text
}

/// The operations of `arithmetic::polynomial`, one a line.
fn polynomial(text: &mut String, name: &str, coefficients: &[f64]) {
    let n = coefficients.len();
    let _ = writeln!(text, "FN f64 poly_{name}(f64 x) {{");
    let _ = writeln!(text, "    f64 square = x * x;");
    for (i, c) in coefficients.iter().enumerate().rev() {
        let _ = match i + 2 < n {
            true => writeln!(text, "    f64 p{i} = FUSED_f64(p{}, square, {c:e});", i + 2),
            false => writeln!(text, "    f64 p{i} = {c:e};"),
        };
    }
    let _ = writeln!(text, "    return FUSED_f64(p1, x, p0);\n}}");
}
