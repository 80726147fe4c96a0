//! The products of a sparse matrix with a vector and with a dense matrix.
//!
//! One task: `equal(y, pos)`, `image(pos -> crd)`, `image(pos -> vals)`, `image(crd -> x)`. Each
//! element of `y` is summed over ascending columns with one fused multiply-add per entry, on every
//! number of ranks and threads. It moves, per row, 8 bytes of positions and an element of `y`, and
//! per entry 4 bytes of columns and an element of the values, plus `x` once; from the second
//! product with a vector on it reads the packed form of the matrix, which is never larger.

use crate::csr::Csr;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{ArgKind, DType, Inst, KernelBuilder, Numeric};
use sparsefuse_runtime::{Access, Body, BodyArg, Error, Privilege, Shape, TaskArg};
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
        self.product(x, Shape::new(&[self.n_rows()]))
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

    /// The product with a dense matrix, `y[i, j] = sum(a[i, k] * x[k, j])`: column by column the
    /// bits of [`Csr::try_dot`]. One task, which reads this matrix once for up to 32 columns.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, -1.0, 3.0])?;
    /// let x = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 10.0, 20.0, 30.0])?;
    /// assert_eq!((&a * &x).to_vec()?, [-8.0, -16.0, -24.0, 30.0, 60.0, 90.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the dense matrix has another number of rows than this one has columns.
    pub fn try_matmul(&self, x: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
        let [rows, columns] = x.shape();
        if rows != self.n_cols() {
            let expected = Shape::new(&[self.n_cols(), columns]);
            return Err(Error::shape("spmm", expected, Shape::new(&[rows, columns])));
        }
        self.product(x, Shape::new(&[self.n_rows(), columns]))
    }

    /// The product with an array whose rows are as many as this matrix has columns.
    fn product<const D: usize>(&self, x: &Array<T, D>, shape: Shape) -> Result<Array<T, D>, Error> {
        let x = x.contiguous()?;
        let y = self.runtime().new_store(shape, T::DTYPE);
        let args: [TaskArg<'_>; 5] = [
            (&y).into(),
            self.pos().into(),
            self.crd().into(),
            self.values().arg(),
            x.arg(),
        ];
        self.runtime().submit(body(T::DTYPE), &args, &[])?;
        Array::from_store(y, None)
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
