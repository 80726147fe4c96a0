//! Residuals in twice the precision ([`crate::local::residual`]).

use super::beside::{rows_at_columns, rows_of};
use crate::exchange::check_runtime;
use crate::formats::csr::Csr;
use crate::local::parallel::{self, Threads};
use crate::local::residual::Residual;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Shape, StoreHandle};
use std::ops::Range;

impl<T: Field> Csr<T> {
    /// b - A x, as if computed in twice the precision of `f64` and then rounded: where A x nearly
    /// cancels b, `b - &a * &x` is little more than rounding, of up to the precision times |A| |x|,
    /// and this still has the residual's leading digits. So it says whether x solves a system that
    /// is nearly singular, and makes iterative refinement (Wilkinson, 1963) what it is meant to be.
    ///
    /// Each element is a compensated sum (Ogita, Rump, Oishi, "Accurate sum and dot product", SIAM
    /// J. Sci. Comput. 26, 2005) in the stored order, with the same bits on any number of ranks and
    /// threads. Reads the matrix in its own form, not packed; executes the window, and works on all
    /// threads.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let third = 1.0 / 3.0;
    /// let a = Csr::new(1, 1, vec![0, 1], vec![0], vec![3.0])?;
    /// let (b, x) = (Vector::from_vec(vec![1.0]), Vector::from_vec(vec![third]));
    /// assert_eq!((&b - &a * &x).to_vec()?, [0.0]);
    /// assert_eq!(a.precise_residual(&b, &x)?.to_vec()?, [2.0f64.powi(-54)]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the lengths of `b` and `x` are not the numbers of rows and columns, they are another
    /// runtime's, the computation of something failed, or memory runs out.
    pub fn precise_residual(&self, b: &Vector<T>, x: &Vector<T>) -> Result<Vector<T>, Error> {
        const OP: &str = "precise_residual";
        for (expected, vector) in [(self.n_rows(), b), (self.n_cols(), x)] {
            check_runtime(OP, self.runtime(), vector.runtime())?;
            Error::check_shape(OP, &[expected], &vector.shape())?;
        }
        let vectors = [b.store(), x.store()];
        let reads: Vec<_> = self.stores().into_iter().chain(vectors).collect();
        let store = self
            .runtime()
            .eager_task(OP, &reads, || self.residual_of(b, x))?;
        Vector::from_store(store, None)
    }

    fn residual_of(&self, b: &Vector<T>, x: &Vector<T>) -> Result<StoreHandle, Error> {
        let own = self.own_rows()?;
        let runtime = self.runtime();
        let (b, x) = (b.contiguous()?, x.contiguous()?);
        let (b, x) = (runtime.agree(b.local())?, runtime.agree(x.local())?);
        let b = rows_of(runtime, &own, &b, 1)?;
        let (x, places) = rows_at_columns(self, &own, &x, 1)?;
        let (rows, isa) = (own.as_rows(), runtime.config().isa);
        let shape = Shape::new(&[self.n_rows()]);
        let store = runtime.store_by_filling(shape, own.partition, |residual| {
            let parts = parallel::parts(rows.pos);
            let targets = parallel::split(residual, parts.iter().map(Range::len));
            let work = parts.iter().cloned().zip(targets);
            parallel::each(&Threads::of(runtime), work, |(part, residual)| {
                isa.run(Residual {
                    rows,
                    part,
                    places: &places,
                    x: &x,
                    b: &b,
                    residual,
                });
            });
            Ok(())
        });
        runtime.agree(store)
    }
}
