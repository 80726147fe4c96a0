//! Products of two matrices.
//!
//! A product is a host task. Each rank makes the rows of the result that it has, and its threads
//! share them; the loops are those of [`sparsefuse_kernels::matmul`]. Each element is the sum of
//! chains of fused multiply-adds, in ascending order of the inner index, so its bits depend on
//! nothing else.

use crate::array::{Array, Vector};
use crate::operand::check_len;
use crate::twins::twins;
use sparsefuse_kernels::matmul::{self, Matrix};
use sparsefuse_kernels::{DType, Isa, Numeric};
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, View, reserve};

/// The arguments of the task.
const A: usize = 0;
const B: usize = 1;
const MADE: usize = 2;

twins! {
    [T: Numeric] Array<T, 2>;
    /// The product of two matrices, NumPy's `a @ b`. One task, which is not fused; for `m` by `k`
    /// times `k` by `n` it takes `2 * m * n * k` floating-point operations, of `f64` and `f32`
    /// about as fast as with OpenBLAS.
    ///
    /// Element `(i, j)` is `a[i, 0] * b[0, j]` plus the products that follow, in this order and
    /// each by one fused multiply-add, from zero; of more than 12,288 products each 12,288 are
    /// summed from zero, and then these sums. On one rank, transposes and slices are read where
    /// they are, without a copy, and of `x.t().matmul(&x)` half is computed if elements are real;
    /// on several ranks, each makes its rows of the result, from its rows of this matrix and all of
    /// `other`.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(a.matmul(&a.t()).to_vec()?, [14.0, 32.0, 32.0, 77.0]);
    ///
    /// let error = a.try_matmul(&a).unwrap_err();
    /// assert_eq!(error.to_string(), "matmul: expected a shape of (3, 3), found (2, 3)");
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("@", "gemm"))]
    @ "If `other` has not as many rows as this matrix has columns, memory cannot hold the result, \
        or the matrices belong to two runtimes."
    matmul try_matmul(&self, other: &Self) -> Self {
        const OP: &str = "matmul";
        let ([n_rows, depth], [b_rows, n_columns]) = (self.shape(), other.shape());
        Error::check_shape(OP, &[depth, n_columns], &[b_rows, n_columns])?;
        let shape = Shape::new(&[n_rows, n_columns]);
        check_len(OP, shape)?;
        let runtime = self.runtime();
        let config = runtime.config();
        // Ranks hold whole rows of stores, which are those of the matrix only if it is no view.
        let here = |matrix: &Self| match runtime.ranks() {
            1 => Ok(matrix.clone()),
            _ => matrix.contiguous(),
        };
        let (a, b) = (here(self)?, here(other)?);
        let product = Product {
            a: Placed::of(&a),
            b: Placed::of(&b),
            isa: config.isa,
            parallel_threshold: config.parallel_threshold,
            is_symmetric: runtime.ranks() == 1 && is_symmetric(&a, &b),
        };
        let reads = [(a.store(), Access::Held), (b.store(), Access::Whole)];
        let function = move |args: &mut HostArgs<'_>| product.run::<T>(args);
        Array::made_by(OP, runtime, shape, &reads, function)
    }
}

twins! {
    [T: Numeric] Vector<T>;
    /// The vector, as a row, times a matrix: NumPy's `x @ a`, which is [`Array::matvec`] of the
    /// transposed matrix.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// let x = Vector::from_vec(vec![1.0, 10.0]);
    /// assert_eq!(x.matmul(&a).to_vec()?, [31.0, 42.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("@", "vecmat"))]
    @ "If the vector has not as many elements as the matrix has rows."
    matmul try_matmul(&self, matrix: &Array<T, 2>) -> Self {
        Error::check_shape("matmul", &matrix.shape()[..1], &self.shape())?;
        matrix.t().try_matvec(self)
    }
}

/// What the function of the task knows.
#[derive(Clone, Copy)]
struct Product {
    a: Placed,
    b: Placed,
    isa: Isa,
    /// Products of elements below which a rank's own thread is alone.
    parallel_threshold: usize,
    /// Whether elements behind the diagonal are those before it.
    is_symmetric: bool,
}

/// Rows from which on half of a symmetric product is made: it has tiles that are left out.
const SYMMETRIC: usize = 16;

/// Factors of an element, for each thread, from which on half of a symmetric product is sooner made
/// than all of it.
const LEAST_DEPTH: usize = 64;

/// Whether a product is that of a matrix and its transpose: then the factors of two opposite
/// elements are the same, in the same order. Only products of complex numbers are rounded otherwise
/// if they are exchanged.
fn is_symmetric<T: Numeric>(a: &Array<T, 2>, b: &Array<T, 2>) -> bool {
    let is_real = !matches!(T::DTYPE, DType::ComplexF32 | DType::ComplexF64);
    let ([n_rows, _], of_a, of_b) = (a.shape(), Placed::of(a), Placed::of(b));
    is_real && n_rows >= SYMMETRIC && a.store().ptr_eq(b.store()) && of_a == of_b.transposed()
}

/// Copies the elements before the diagonal of a square matrix to those behind it.
fn mirror<T: Copy>(made: &mut [T], n: usize) {
    const BLOCK: usize = 32;
    for first in (0..n).step_by(BLOCK) {
        for i in 0..n {
            for j in first..i.min(first + BLOCK) {
                made[j * n + i] = made[i * n + j];
            }
        }
    }
}

/// Where a matrix lies among the elements of its store.
#[derive(Clone, Copy, PartialEq)]
struct Placed {
    first: usize,
    strides: [isize; 2],
    shape: [usize; 2],
}

impl Placed {
    fn of<T: Numeric>(matrix: &Array<T, 2>) -> Self {
        let whole = || View::identity(matrix.store().shape());
        let (first, strides) = matrix.view().map_or_else(whole, |view| **view).strides();
        Self {
            first,
            strides: [strides[0], strides[1]],
            shape: matrix.shape(),
        }
    }

    fn transposed(mut self) -> Self {
        self.strides.reverse();
        self.shape.reverse();
        self
    }

    fn among<T>(self, elements: &[T]) -> Matrix<'_, T> {
        Matrix {
            elements,
            first: self.first,
            strides: self.strides,
            shape: self.shape,
        }
    }
}

impl Product {
    fn run<T: Numeric>(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let made = args.write::<T>(MADE)?;
        let (depth, n_columns) = (self.a.shape[1], self.b.shape[1]);
        let held;
        let a = match args.ranks() {
            1 => self.a.among(args.read(A)?),
            _ => {
                held = args.read_between::<T>(A, depth, args.cuts(MADE))?;
                let n_rows = made.len().checked_div(n_columns).unwrap_or(0);
                Matrix::of_rows(&held, [n_rows, depth])
            }
        };
        let b = self.b.among(args.read(B)?);
        let n_rows = made.len().checked_div(n_columns).unwrap_or(0);
        let work = made.len().saturating_mul(depth);
        let parts = if work < self.parallel_threshold {
            1
        } else {
            args.threads().min(n_rows.max(1))
        };
        // The elements of the other half are copied by one thread.
        let is_symmetric = self.is_symmetric && depth >= LEAST_DEPTH * parts;
        // Of half of a product, later rows have more elements.
        let first_row = |part: usize| match is_symmetric {
            false => n_rows * part / parts,
            true => (n_rows * n_rows * part / parts).isqrt(),
        };
        let ends: Vec<usize> = (1..=parts)
            .map(|part| first_row(part) * n_columns)
            .collect();
        args.in_parts_to(made, &ends, |part, made| {
            let first = first_row(part);
            let n_rows = made.len().checked_div(n_columns).unwrap_or(0);
            let len = matmul::workspace::<T>(self.isa, [n_rows, n_columns, depth]);
            let mut workspace = reserve(len)?;
            workspace.resize(len, T::ZERO);
            let a = a.rows(first, n_rows);
            match is_symmetric {
                false => matmul::product(self.isa, a, b, made, &mut workspace),
                true => matmul::to_diagonal(self.isa, (a, first), b, made, &mut workspace),
            }
            Ok(())
        })?;
        if is_symmetric {
            mirror(made, n_rows);
        }
        Ok(())
    }
}
