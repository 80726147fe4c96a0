//! The bodies of tasks of which small programs on the runtime are made, on `f64`; each is built
//! once.

use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Inst, KernelBuilder, ReduceOp};
use sparsefuse_runtime::{Access, Body, BodyArg, Privilege};
use std::sync::{Arc, LazyLock};

use ArgKind::{Array, Reduction, Scalar};

/// A kernel that is not finished, and its arguments, one of each kind.
fn build<const N: usize>(kinds: [ArgKind; N]) -> (KernelBuilder, [u32; N]) {
    let mut build = KernelBuilder::new();
    let args = kinds.map(|kind| build.arg(DType::F64, kind));
    (build, args)
}

/// `z = a x + y`, with a parameter `a`.
#[must_use]
pub fn axpy() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let (mut build, [x, y, z]) = build([Array, Array, Array]);
        let a = build.param(DType::F64);
        let (x, y) = (build.load(x), build.load(y));
        let ax = build.binary(BinaryOp::Mul, a, x);
        let sum = build.binary(BinaryOp::Add, ax, y);
        build.store(z, sum);
        Body::new("axpy", build.finish())
    });
    &BODY
}

/// `s = sum(x y)`.
#[must_use]
pub fn dot() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let (mut build, [x, y, s]) = build([Array, Array, Reduction]);
        let (x, y) = (build.load(x), build.load(y));
        let xy = build.binary(BinaryOp::Mul, x, y);
        build.reduce(ReduceOp::Sum, s, xy);
        Body::new("dot", build.finish())
    });
    &BODY
}

/// `s = sum(x)`.
#[must_use]
pub fn sum() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let (mut build, [x, s]) = build([Array, Reduction]);
        let x = build.load(x);
        build.reduce(ReduceOp::Sum, s, x);
        Body::new("sum", build.finish())
    });
    &BODY
}

/// `c = a / b` of scalars.
#[must_use]
pub fn ratio() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let (mut build, [a, b, c]) = build([Scalar, Scalar, Scalar]);
        let (a, b) = (build.load_scalar(a), build.load_scalar(b));
        let ratio = build.binary(BinaryOp::Div, a, b);
        build.store_scalar(c, ratio);
        Body::new("ratio", build.finish())
    });
    &BODY
}

/// `y = s x`, with a scalar `s`.
#[must_use]
pub fn scale() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let (mut build, [s, x, y]) = build([Scalar, Array, Array]);
        let (s, x) = (build.load_scalar(s), build.load(x));
        let sx = build.binary(BinaryOp::Mul, s, x);
        build.store(y, sx);
        Body::new("scale", build.finish())
    });
    &BODY
}

/// `y = x`.
#[must_use]
pub fn copy() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let (mut build, [x, y]) = build([Array, Array]);
        let x = build.load(x);
        build.store(y, x);
        Body::new("copy", build.finish())
    });
    &BODY
}

/// `y = A x` of a matrix by rows. Arguments: `y`, the positions of the rows, columns, values, `x`.
#[must_use]
pub fn spmv() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let mut build = KernelBuilder::new();
        let y = build.arg(DType::F64, Array);
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let entries = build.arg(DType::F64, ArgKind::Entries);
        let x = build.arg(DType::F64, ArgKind::Gather);
        let sum = build.push(Inst::RowSum {
            structure,
            entries,
            x,
        });
        build.store(y, sum);
        let arg = |privilege, access, kernel_arg| BodyArg {
            privilege,
            access,
            kernel_arg,
        };
        let args = vec![
            arg(Privilege::Write, Access::Rows, Some(y)),
            arg(Privilege::Read, Access::Ranges, None),
            arg(
                Privilege::Read,
                Access::Within { ranges: 1 },
                Some(structure),
            ),
            arg(Privilege::Read, Access::Within { ranges: 1 }, Some(entries)),
            arg(Privilege::Read, Access::At { indices: 2 }, Some(x)),
        ];
        Body::with_args("spmv", build.finish(), args)
    });
    &BODY
}
