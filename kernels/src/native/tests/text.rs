//! What is printed, and what is worth it.

use super::super::worth::worth;
use super::*;
use crate::ir::{ArgId, BinaryOp, Inst, ReduceOp};

/// The C of the one loop of a kernel.
fn c(kernel: &Kernel, splats: &[u32]) -> String {
    streaming_c(kernel, splats, &[])
}

/// The same, where arrays are stored past the caches.
fn streaming_c(kernel: &Kernel, splats: &[u32], streamed: &[ArgId]) -> String {
    let known = (splats, streamed);
    let printed = print::print(kernel, &kernel.loops[0], known, Isa::Avx512, "f");
    printed.map_or_else(|refusal| refusal.to_string(), |printed| printed.text)
}

#[test]
fn prints_values_stores_and_lanes() {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let norm = build.arg(DType::F64, ArgKind::Reduction);
    let a = build.param(DType::F64);
    let x = build.load(x);
    let scaled = build.binary(BinaryOp::Mul, a, x);
    build.unary(UnaryOp::Exp, scaled);
    let root = build.unary(UnaryOp::Sqrt, scaled);
    build.store(y, root);
    build.reduce(ReduceOp::Sum, norm, root);
    let expected = "\
u64 f(u8 *const *arrays, const u8 *uniforms, u8 *lanes, u64 start, u64 first, u64 rows, u64 lines, const i64 *steps) {
    for (u64 line = 0; line < lines; line++) {
    const u64 row = first + line * rows;
    f64 *const a0 = (f64 *)FROM(ARRAY0) + OFFSET0 + STEP0 * (i64)first;
    const f64 s0 = *(const f64 *)(uniforms + 256 * SPLAT0);
    f64 *const a1 = (f64 *)FROM(ARRAY1) + OFFSET1 + STEP1 * (i64)first;
    f64 *const l0 = (f64 *)(lanes + 0);
    u64 at = 0;
#ifdef LINED
    u64 end = 0;
    end = end < rows ? end : rows;
    for (;;) {
    if (end - at >= 8) {
        const u32 N = 8, F = at % 16;
        ROWS
        for (u32 k = 0; k < N; k++) {
            const f64 v1 = a0[STEP0 * (i64)(at + k)];
            const f64 v2 = s0 * v1;
            const f64 v4 = sqrt_f64(v2);
            a1[STEP1 * (i64)(at + k)] = v4;
            l0[F + k] = l0[F + k] + v4;
        }
        at += 8;
    }
";
    let end = "\
    if (end == rows) break;
#endif
    for (; at + 16 <= rows; at += 16) {
        const u32 N = 16, F = 0;
        ROWS
        for (u32 k = 0; k < N; k++) {
            const f64 v1 = a0[STEP0 * (i64)(at + k)];
            const f64 v2 = s0 * v1;
            const f64 v4 = sqrt_f64(v2);
            a1[STEP1 * (i64)(at + k)] = v4;
            l0[F + k] = l0[F + k] + v4;
        }
    }
#ifdef LINED
    end = rows;
    }
#endif
    if (at < rows) return line * rows + at;
    }
    return lines * rows;
}
";
    let text = c(&build.finish(), &[0]);
    assert!(text.starts_with(expected) && text.ends_with(end), "{text}");
}

#[test]
fn complex_numbers_are_pairs() {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::ComplexF64, ArgKind::Array));
    let is_small = build.arg(DType::Bool, ArgKind::Array);
    let a = build.param(DType::ComplexF64);
    let [x, is_small] = [x, is_small].map(|arg| build.load(arg));
    let product = build.binary(BinaryOp::Mul, a, x);
    let size = build.unary(UnaryOp::Abs, product);
    let widened = build.push(Inst::Cast(DType::ComplexF64, size));
    let chosen = build.push(Inst::Select(is_small, widened, x));
    build.store(y, chosen);
    let expected = "
            const complex_f64 v1 = a0[STEP0 * (i64)(at + k)];
            const _Bool v2 = r1[k] != 0;
            const complex_f64 v3 = mul_complex_f64(s0, v1);
            const f64 v4 = abs_complex_f64(v3);
            const complex_f64 v5 = MAKE(complex_f64, v4, 0);
            const complex_f64 v6 = select_complex_f64(v2, v5, v1);
            a2[STEP2 * (i64)(at + k)] = v6;
";
    let text = c(&build.finish(), &[0]);
    assert!(text.contains(expected), "{text}");

    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::ComplexF64, ArgKind::Array));
    let x = build.load(x);
    let exp = build.unary(UnaryOp::Exp, x);
    build.store(y, exp);
    assert_eq!(c(&build.finish(), &[]), "there is no C for `exp` of cf64");
}

#[test]
fn a_loop_with_angles_leaves_large_ones_to_the_steps() {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F32, ArgKind::Array));
    let x = build.load(x);
    let sine = build.unary(UnaryOp::Sin, x);
    build.store(y, sine);
    let expected = "
        const u32 N = 16, F = 0;
        u64 large = 0;
        f32 b1[16];
        ROWS
        for (u32 k = 0; k < N; k++) {
            const f32 v0 = a0[STEP0 * (i64)(at + k)];
            large |= is_large(v0);
            const f32 v1 = sin_f32(v0);
            b1[k] = v1;
        }
        if (large) return line * rows + at;
        ROWS
        for (u32 k = 0; k < N; k++) {
            a1[STEP1 * (i64)(at + k)] = b1[k];
        }
    }
";
    let text = c(&build.finish(), &[]);
    assert!(text.contains(expected), "{text}");
}

#[test]
fn what_is_streamed_is_copied_chunk_by_chunk() {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F32, ArgKind::Array));
    let loaded = build.load(x);
    let root = build.unary(UnaryOp::Sqrt, loaded);
    build.store(y, root);
    let expected = "
        const u32 N = 16, F = 0;
        LINES f32 ca1[16];
        ROWS
        for (u32 k = 0; k < N; k++) {
            const f32 v0 = a0[STEP0 * (i64)(at + k)];
            const f32 v1 = sqrt_f32(v0);
            ca1[k] = v1;
        }
        stream(a1 + at, ca1, N * sizeof *ca1);
    }
";
    let text = streaming_c(&build.finish(), &[], &[y]);
    assert!(text.contains(expected), "{text}");
}

/// GCC computes row by row where conditions on the exponent are the same for all rows.
#[test]
fn an_exponent_that_is_a_number_is_read_for_each_row() {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let a = build.param(DType::F64);
    let x = build.load(x);
    let power = build.binary(BinaryOp::Pow, x, a);
    build.store(y, power);
    let text = c(&build.finish(), &[0]);
    let splat = "const f64 *const e0 = (const f64 *)(uniforms + 256 * SPLAT0);";
    assert!(text.contains(splat), "{text}");
    assert!(text.contains("= pow_f64(v1, e0[k]);"), "{text}");
}

#[test]
fn refuses_with_a_reason() {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::I64, ArgKind::Array));
    let x = build.load(x);
    let quotient = build.binary(BinaryOp::Div, x, x);
    build.store(y, quotient);
    assert_eq!(c(&build.finish(), &[]), "there is no C for `div` of i64");
}

/// A kernel of `f64` arrays with this body, for `n_arrays` loads; all operations are additions.
fn additions(n_arrays: usize, n: usize) -> Kernel {
    let mut build = KernelBuilder::new();
    let arrays: Vec<_> = (0..=n_arrays)
        .map(|_| build.arg(DType::F64, ArgKind::Array))
        .collect();
    let loads: Vec<_> = arrays[1..].iter().map(|&arg| build.load(arg)).collect();
    let mut value = loads[0];
    for i in 0..n {
        value = build.push(Inst::Binary(BinaryOp::Add, value, loads[i % n_arrays]));
    }
    build.store(arrays[0], value);
    build.finish()
}

#[test]
fn arithmetic_and_steps_decide_what_is_worth_it() {
    let of = |kernel: &Kernel, isa| worth(kernel, &kernel.loops[0], isa);
    let isa = Isa::Avx512;
    assert_eq!(of(&additions(2, 2), isa), None);
    assert_eq!(of(&additions(2, 3), isa), Some(Worth::Memory(24)));
    assert_eq!(of(&additions(2, 30), isa), Some(Worth::Arithmetic(30)));
    // Views of one array are read from memory once, and what is written there is one more.
    let mut views = additions(4, 3);
    for view in &mut views.args[1..] {
        view.memory = 1;
    }
    assert_eq!(of(&additions(4, 3), isa), Some(Worth::Memory(40)));
    assert_eq!(of(&views, isa), Some(Worth::Memory(16)));
    let long = of(&long_kernel(), isa);
    assert!(matches!(long, Some(Worth::Arithmetic(_))));
    // A quotient of complex numbers takes longer in blocks than they take from memory, a sum does
    // not.
    for (op, is_long) in [(BinaryOp::Div, true), (BinaryOp::Add, false)] {
        let mut build = KernelBuilder::new();
        let [x, y] = [(); 2].map(|()| build.arg(DType::ComplexF64, ArgKind::Array));
        let value = build.load(x);
        let value = build.binary(op, value, value);
        build.store(y, value);
        let found = of(&build.finish(), isa);
        assert_eq!(matches!(found, Some(Worth::Arithmetic(_))), is_long);
    }
    if cfg!(target_arch = "x86_64") {
        assert_eq!(of(&long_kernel(), Isa::Baseline), None);
    }
}
