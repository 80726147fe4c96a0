//! Sums and norms: products with a vector of ones and reductions of the values, so lazy, fused and
//! in the runtime's order of summation; sums of rows of matrices with far more columns than entries
//! are made when they are asked for. What goes by columns is one pass over the entries where a rank
//! has them all ([`ColumnSums`]), and else goes through the transpose, which has the same order.

use super::expect;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::column_sums::ColumnSums;
use num_complex::Complex;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{DType, Field, Numeric};
use sparsefuse_runtime::{Error, Shape};

/// Methods that panic, each with its twin `try_` that returns the error.
macro_rules! twins {
    (
        $bound:ident $(+ $more:ident)*;
        $(
            $(#[$doc:meta])*
            $name:ident $try:ident(&$this:ident $(, $arg:ident: $of:ty)?) -> $output:ty;
            $(#[$errors:meta])*
            $body:block
        )*
    ) => {
        impl<T: $bound $(+ $more)*> Csr<T> {
            $(
                $(#[$doc])*
                ///
                /// # Panics
                ///
                #[doc = concat!("With the error that [`Self::", stringify!($try), "`] returns.")]
                #[must_use]
                #[track_caller]
                pub fn $name(&$this $(, $arg: $of)?) -> $output {
                    expect($this.$try($($arg)?))
                }

                #[doc = concat!("As [`Self::", stringify!($name), "`].")]
                ///
                /// # Errors
                ///
                $(#[$errors])*
                pub fn $try(&$this $(, $arg: $of)?) -> Result<$output, Error> $body
            )*
        }
    };
}
pub(super) use twins;

twins! {
    Numeric;
    /// The sums along an axis, as [`Array::sum_axis`](sparsefuse_dense::Array::sum_axis): 1 for
    /// those of the rows, by one product with a vector, or, of a matrix with four times as many
    /// columns as entries and rows, by one pass over the entries, which executes the window; 0 for
    /// those of the columns, over ascending
    /// rows, by one pass over the entries, which executes the window; where ranks have some rows
    /// each, by one transpose more. Those of `f32` are added in double precision, which takes one
    /// task and as many entries in `f64` for a while: a sum goes over one element after the other,
    /// and 2^24 times 1 in single precision would be the last sum that grows.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// assert_eq!(a.sum_axis(1).to_vec()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    sum_axis try_sum_axis(&self, axis: usize) -> Vector<T>;
    /// If there is no such axis; along axis 0 as [`Csr::transpose`]; where the window is executed,
    /// if the computation of the values failed.
    {
        match T::DTYPE {
            DType::F32 => self.sums_by::<f64>(axis),
            DType::ComplexF32 => self.sums_by::<Complex<f64>>(axis),
            _ => self.sums(axis),
        }
    }

    /// The absolute values of the entries. One task.
    abs try_abs(&self) -> Csr<T::Magnitude>;
    /// If nothing has written the values.
    { Ok(self.with_values_of(self.values().try_abs()?)) }
}

twins! {
    Field;
    /// The 1-norm of the operator: the largest sum of absolute values of a column, SciPy's
    /// `norm(a, 1)`. [`Csr::sum_axis`] and one reduction. (`norm1` of an array sums all elements.)
    norm1 try_norm1(&self) -> Scalar<T::Real>;
    /// As [`Csr::transpose`].
    { self.try_abs()?.try_sum_axis(0)?.try_norm_inf() }

    /// The infinity norm of the operator: the largest sum of absolute values of a row, SciPy's
    /// `norm(a, inf)`. [`Csr::sum_axis`] and one reduction. (`norm_inf` of an array is its
    /// largest absolute value.)
    norm_inf try_norm_inf(&self) -> Scalar<T::Real>;
    /// As [`Csr::try_sum_axis`].
    { self.try_abs()?.try_sum_axis(1)?.try_norm_inf() }

    /// The Frobenius norm: the square root of the sum of the squares of all values. One reduction.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![3.0, -4.0])?;
    /// assert_eq!(a.norm_frobenius().get()?, 5.0);
    /// assert_eq!(a.norm_max().get()?, 4.0);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    norm_frobenius try_norm_frobenius(&self) -> Scalar<T::Real>;
    /// If nothing has written the values.
    { self.values().try_norm2() }

    /// The largest absolute value of an entry; 0 if there is none. One reduction.
    norm_max try_norm_max(&self) -> Scalar<T::Real>;
    /// If nothing has written the values.
    { self.values().try_norm_inf() }
}

impl<T: Numeric> Csr<T> {
    /// The sums along an axis, added in another type.
    fn sums_by<U: Numeric>(&self, axis: usize) -> Result<Vector<T>, Error> {
        let wide = self.with_values_of(self.values().try_cast::<U>()?);
        wide.sums(axis)?.try_cast()
    }

    fn sums(&self, axis: usize) -> Result<Vector<T>, Error> {
        match axis {
            0 => self.column_sums(),
            // More columns than a product would read: the rows alone are gone through.
            1 if self.n_cols() / 4 > self.nnz() + self.n_rows() => self.row_sums(),
            1 => {
                let ones = self.runtime().enter(|| Vector::try_ones([self.n_cols()]));
                self.try_matvec(&ones?)
            }
            _ => Err(Error::argument("sum_axis", "axis 0 or 1", axis.to_string())),
        }
    }

    /// The sums of the rows, with the bits of a product with ones.
    fn row_sums(&self) -> Result<Vector<T>, Error> {
        eager("sum_axis", &[self], || {
            self.of_each_row(&self.own_rows()?, |rows, row| {
                let values = rows.values(row).iter();
                values.fold(T::ZERO, |sum, &value| value.times_plus(T::ONE, sum))
            })
        })
    }

    /// The sums of the columns.
    fn column_sums(&self) -> Result<Vector<T>, Error> {
        eager("sum_axis", &[self], || {
            let own = self.own_rows()?;
            if !own.is_replicated() {
                return self.transpose()?.sums(1);
            }
            let (rows, runtime) = (own.as_rows(), self.runtime());
            let shape = Shape::new(&[self.n_cols()]);
            let (partition, columns) = runtime.default_rows(shape);
            let sums = runtime.store_by_filling(shape, partition, |sums| {
                runtime.config().isa.run(ColumnSums {
                    crd: rows.crd,
                    vals: rows.vals,
                    first: columns.start as u32,
                    sums,
                });
                Ok(())
            });
            Vector::from_store(runtime.agree(sums)?, None)
        })
    }
}
