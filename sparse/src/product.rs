//! The product of a sparse matrix and a vector.
//!
//! One task: `equal(y, pos)`, `image(pos -> crd)`, `image(pos -> vals)`, `image(crd -> x)`. Each
//! element of `y` is summed over ascending columns with one fused multiply-add per entry, on every
//! number of ranks and threads. It moves, per row, 8 bytes of positions and an element of `y`, and
//! per entry 4 bytes of columns and an element of the values, plus `x` once; from the second
//! product on it reads the packed form of the matrix, which is never larger.

use crate::csr::Csr;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{ArgKind, DType, Inst, KernelBuilder, Numeric};
use sparsefuse_runtime::{Access, Body, BodyArg, Error, Privilege, Shape, TaskArg};
use std::ops::Mul;
use std::sync::{Arc, OnceLock};

impl<T: Numeric> Csr<T> {
    /// The product with a vector, `y[i] = sum(a[i, j] * x[j])`.
    ///
    /// # Errors
    ///
    /// If the vector has another length than the matrix has columns.
    pub fn try_dot(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        if x.len() != self.n_cols() {
            let expected = Shape::new(&[self.n_cols()]);
            return Err(Error::shape("spmv", expected, Shape::new(&[x.len()])));
        }
        let x = x.contiguous()?;
        let y = self
            .runtime()
            .new_store(Shape::new(&[self.n_rows()]), T::DTYPE);
        let args: [TaskArg<'_>; 5] = [
            (&y).into(),
            self.pos().into(),
            self.crd().into(),
            self.values().arg(),
            x.arg(),
        ];
        self.runtime().submit(body(T::DTYPE), &args, &[])?;
        Vector::from_store(y, None)
    }

    /// The product with a vector.
    ///
    /// # Panics
    ///
    /// Where [`Csr::try_dot`] returns an error.
    #[must_use]
    #[track_caller]
    pub fn dot(&self, x: &Vector<T>) -> Vector<T> {
        match self.try_dot(x) {
            Ok(product) => product,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T: Numeric> Mul<&Vector<T>> for &Csr<T> {
    type Output = Vector<T>;

    #[track_caller]
    fn mul(self, x: &Vector<T>) -> Vector<T> {
        self.dot(x)
    }
}

/// The body of the product for an element type, built once.
fn body(dtype: DType) -> &'static Arc<Body> {
    static BODIES: [OnceLock<Arc<Body>>; DType::ALL.len()] =
        [const { OnceLock::new() }; DType::ALL.len()];
    BODIES[dtype as usize].get_or_init(|| {
        let mut build = KernelBuilder::new();
        let y = build.arg(dtype, ArgKind::Array);
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let entries = build.arg(dtype, ArgKind::Entries);
        let x = build.arg(dtype, ArgKind::Gather);
        let sum = build.push(Inst::RowSum {
            structure,
            entries,
            x,
        });
        build.store(y, sum);
        let read = |access, kernel_arg| BodyArg {
            privilege: Privilege::Read,
            access,
            kernel_arg,
        };
        let args = vec![
            BodyArg {
                privilege: Privilege::Write,
                access: Access::Rows,
                kernel_arg: Some(y),
            },
            read(Access::Pos, None),
            read(Access::Entries, Some(structure)),
            read(Access::Entries, Some(entries)),
            read(Access::Columns, Some(x)),
        ];
        Body::with_args("spmv", build.finish(), args)
    })
}
