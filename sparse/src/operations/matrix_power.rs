//! Powers of a square matrix.

use crate::formats::csr::Csr;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape};

impl<T: Numeric> Csr<T> {
    /// The product of this many copies of a square matrix, the identity for 0: SciPy's
    /// `matrix_power(a, n)` and `a**n`. By repeated squaring, at most `2 log2(n)` products.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// assert_eq!(a.matrix_power(3)?.to_rows()?, (&a * (&a * &a)).to_rows()?);
    /// assert_eq!(a.matrix_power(0)?.diagonal(0)?.to_vec()?, [1.0; 3]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the computation of the values failed, or memory runs out.
    pub fn matrix_power(&self, n: u32) -> Result<Self, Error> {
        let (n_rows, n_cols) = self.shape();
        if n_rows != n_cols {
            let expected = Shape::new(&[n_rows, n_rows]);
            let found = Shape::new(&[n_rows, n_cols]);
            return Err(Error::shape("matrix_power", expected, found));
        }
        match n {
            0 => self.runtime().enter(|| Self::identity(n_rows)),
            1 => Ok(self.clone()),
            _ => {
                let root = self.matrix_power(n / 2)?;
                let square = root.try_matmul(&root)?;
                match n % 2 {
                    0 => Ok(square),
                    _ => self.try_matmul(&square),
                }
            }
        }
    }
}
