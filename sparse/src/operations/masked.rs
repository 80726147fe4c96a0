//! The product of two sparse matrices at the entries of a third one ([`crate::local::masked`]).
//!
//! Each rank computes the rows that it has of the mask: it fetches those rows of the left factor,
//! if they are spread in another way, and the rows of the right one that they meet.

use super::matmul::{Foreign, factors};
use crate::exchange::check_runtime;
use crate::formats::csr::Csr;
use crate::local::masked;
use crate::local::parallel::Threads;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

impl<T: Numeric> Csr<T> {
    /// The product `A B` at the entries of a mask alone, whose values do not matter: a matrix with
    /// the mask's structure. The whole product is never formed.
    ///
    /// Each element has the bits of the whole product's, a sum over ascending `k` with one fused
    /// multiply-add per term; where no term meets, it is 0. Looks at each term of the whole product
    /// once, and holds the values of the mask's entries, and on several ranks the rows of `B` that
    /// others own. Executes the window, and works on all threads.
    ///
    /// GraphBLAS calls it `mxm` with a structural mask; the algorithm is that of Milaković,
    /// Selvitopi, Nisa, Budimlić and Buluç, ICPP 2022.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// // How many triangles a graph has: paths of two edges whose ends are joined by a third.
    /// let all = Csr::new(4, 4, vec![0, 4, 8, 12, 16], [0, 1, 2, 3].repeat(4), vec![1.0; 16])?;
    /// let graph = all.filter(|row, column, _| row != column)?;
    /// let paths = graph.matmul_masked(&graph, &graph)?;
    /// assert_eq!(paths.nnz(), graph.nnz());
    /// assert_eq!(paths.values().sum().get()? / 6.0, 4.0);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes do not fit, the matrices are those of two runtimes, the computation of the
    /// values failed, or memory runs out.
    pub fn matmul_masked<U: Numeric>(&self, right: &Self, mask: &Csr<U>) -> Result<Self, Error> {
        if self.n_cols() != right.n_rows() {
            let expected = format!("a right factor with {} rows", self.n_cols());
            let found = format!("one with {}", right.n_rows());
            return Err(Error::argument("matmul_masked", expected, found));
        }
        let shape = (self.n_rows(), right.n_cols());
        if mask.shape() != shape {
            let expected = format!("a mask of {} by {}", shape.0, shape.1);
            let found = format!("one of {} by {}", mask.n_rows(), mask.n_cols());
            return Err(Error::argument("matmul_masked", expected, found));
        }
        check_runtime("matmul_masked", self.runtime(), mask.runtime())?;
        check_runtime("matmul_masked", self.runtime(), right.runtime())?;
        let factors = self.stores().into_iter().chain(right.stores());
        let reads: Vec<_> = factors.chain([mask.pos(), mask.crd()]).collect();
        let values = || self.values_at(right, mask);
        let runtime = self.runtime();
        let vals = runtime.eager_task("matmul_masked", &reads, values)?;
        Ok(mask.with_values_of(vals))
    }

    fn values_at<U: Numeric>(&self, right: &Self, mask: &Csr<U>) -> Result<Vector<T>, Error> {
        let runtime = self.runtime();
        let wanted = mask.own_structure()?;
        let held = self.rows_at(Some(wanted.partition), wanted.rows.clone())?;
        let (a, b) = (held.as_rows(), right.own_rows()?);
        let foreign = Foreign::find(runtime, (a, self.n_cols()), &b)?;
        let foreign_vals = Foreign::vals(runtime, &foreign, &b)?;
        let factors = factors(a, (&b, right.n_cols()), foreign.as_ref(), &foreign_vals);
        let (pos, crd) = (&wanted.pos[..], &wanted.crd[..]);
        let threads = (&Threads::of(runtime), runtime.config().isa);
        mask.values_by_filling(|vals| masked::fill(threads, factors, (pos, crd), vals))
    }
}
