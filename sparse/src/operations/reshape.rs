//! The same elements in other places: another shape, and another diagonal.

use crate::assembly;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::formats::simple::rows_of_diagonal;
use crate::local::merge::Terms;
use crate::local::triplets::Triplets;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, reserve, try_collect};

impl<T: Numeric> Csr<T> {
    /// The elements, row by row, as a matrix of another shape: element `k` of all is in row `k /
    /// n_cols`. On several ranks the entries are sent to the owners of their new rows. Linear in
    /// rows and entries; executes the window.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// let b = a.reshape(2, 8)?;
    /// assert_eq!((b.get(0, 5)?, b.get(1, 7)?, b.nnz()), (2.0, 2.0, a.nnz()));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the new matrix has another number of elements, or more than `u32::MAX` rows or columns;
    /// if the computation of the values failed, or memory runs out.
    pub fn reshape(&self, n_rows: usize, n_cols: usize) -> Result<Self, Error> {
        let elements = |(n_rows, n_cols): (usize, usize)| n_rows as u128 * n_cols as u128;
        if elements((n_rows, n_cols)) != elements(self.shape()) {
            let expected = format!("a shape of {} elements", elements(self.shape()));
            let found = format!("{n_rows} by {n_cols}");
            return Err(Error::argument("reshape", expected, found));
        }
        assembly::check_shape("reshape", n_rows, n_cols)?;
        eager("reshape", &[self], || self.in_shape(n_rows, n_cols))
    }

    fn in_shape(&self, n_rows: usize, n_cols: usize) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let (from, runtime) = (own.as_rows(), self.runtime());
        let make = || {
            let n = from.vals().len();
            let (mut rows, mut cols) = (reserve(n)?, reserve(n)?);
            for (number, row) in own.rows().enumerate() {
                for &column in from.columns(number) {
                    let element = row as u64 * self.n_cols() as u64 + u64::from(column);
                    rows.push((element / n_cols as u64) as u32);
                    cols.push((element % n_cols as u64) as u32);
                }
            }
            let vals = try_collect(from.vals().iter().copied())?;
            Ok(Triplets::from_checked_parts(
                n_rows, n_cols, rows, cols, vals,
            ))
        };
        let triplets = runtime.agree(make())?;
        runtime.enter(|| match own.is_replicated() {
            true => Self::from_whole_triplets(triplets),
            false => Self::from_distributed_triplets(triplets),
        })
    }

    /// The matrix with other values on a diagonal: `a[i, i + offset]`, above the main one for
    /// positive offsets, below for negative ones. All of them are stored, zeros too. Cost as of a
    /// sum; as SciPy's `setdiag`, which changes the matrix.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let b = a.with_diagonal(1, &Vector::from_vec(vec![5.0, 6.0]))?;
    /// assert_eq!(b.to_dense()?.to_vec()?, [2.0, 5.0, 0.0, -1.0, 2.0, 6.0, 0.0, -1.0, 2.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are more or fewer values than the diagonal has elements, or they are another
    /// runtime's; if the computation of the values failed, or memory runs out.
    #[doc(alias = "setdiag")]
    #[doc(alias = "set_diagonal")]
    pub fn with_diagonal(&self, offset: isize, values: &Vector<T>) -> Result<Self, Error> {
        const OP: &str = "with_diagonal";
        let elements = rows_of_diagonal(self.shape(), offset).len();
        Error::check_shape(OP, &[elements], &values.shape())?;
        let diagonal = self.runtime().enter(|| {
            let zeros = Self::on_diagonal(self.shape(), offset, T::ZERO);
            zeros?.with_values(values.clone())
        });
        let diagonal = diagonal.map_err(|error| error.of_operation(OP))?;
        let terms = Terms {
            both: |_, on_diagonal| on_diagonal,
            left: |value| value,
            right: |on_diagonal| on_diagonal,
        };
        self.joined(OP, &diagonal, |_, on_diagonal| on_diagonal.clone(), terms)
    }
}
