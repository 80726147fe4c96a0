//! Inner products of rows of dense matrices at the entries of a sparse one
//! ([`crate::local::sampled`]).
//!
//! Each rank computes its entries, with the rows of the left matrix that are its own and those of
//! the right one that its columns name, which it fetches where other ranks have them.

use super::beside::{rows_at_columns, rows_of};
use crate::exchange::check_runtime;
use crate::formats::csr::Csr;
use crate::local::sampled::Sampled;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

impl<T: Numeric> Csr<T> {
    /// The sampled product of two dense matrices (SDDMM): `s[i, j] * sum(x[i, k] * y[j, k])` at
    /// each stored entry `s[i, j]`, a matrix with this one's structure. The product `X Yᵀ` is never
    /// formed; nothing is conjugated.
    ///
    /// Each sum is that of 16 lanes by `k` modulo 16, over ascending `k` with one fused
    /// multiply-add per term, which are then added in pairs; the same bits on any number of ranks
    /// and threads. Moves, per entry, 4 bytes of columns, two elements, and a row of `y`, mostly
    /// from the caches; on several ranks each fetches the rows of `y` that its columns name.
    /// Executes the window, and works on all threads.
    ///
    /// The name is the field's: Nisa, Sukumaran-Rajam, Kurt, Hong, Sadayappan, "Sampled dense
    /// matrix multiplication for high-performance machine learning", HiPC 2018.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let s = Csr::new(2, 2, vec![0, 1, 3], vec![1, 0, 1], vec![1.0, 1.0, 0.5])?;
    /// let x = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let y = Array::from_shape_vec([2, 3], vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0])?;
    /// assert_eq!(s.sddmm(&x, &y)?.values().to_vec()?, [6.0, 4.0, 7.5]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `x` has another number of rows than this matrix, `y` another one than this matrix has
    /// columns, or their rows differ in length; if they are another runtime's, the computation of
    /// values failed, or memory runs out.
    pub fn sddmm(&self, x: &Array<T, 2>, y: &Array<T, 2>) -> Result<Self, Error> {
        let [n_rows, width] = x.shape();
        Error::check_shape("sddmm", &[self.n_rows(), width], &[n_rows, width])?;
        Error::check_shape("sddmm", &[self.n_cols(), width], &y.shape())?;
        for array in [x, y] {
            check_runtime("sddmm", self.runtime(), array.runtime())?;
        }
        let reads: Vec<_> = self
            .stores()
            .into_iter()
            .chain([x.store(), y.store()])
            .collect();
        self.runtime()
            .eager_task("sddmm", &reads, || self.sampled(x, y))
    }

    fn sampled(&self, x: &Array<T, 2>, y: &Array<T, 2>) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let (runtime, width) = (self.runtime(), x.shape()[1]);
        let (x, y) = (x.contiguous()?, y.contiguous()?);
        let (x, y) = (runtime.agree(x.local())?, runtime.agree(y.local())?);
        let left = rows_of(runtime, &own, &x, width)?;
        let (right, numbers) = rows_at_columns(self, &own, &y, width)?;
        let isa = runtime.config().isa;
        self.with_entries(&own, |rows, part, vals| {
            isa.run(Sampled {
                rows,
                part,
                numbers: &numbers,
                left: &left,
                right: &right,
                width,
                vals,
            });
        })
    }
}
