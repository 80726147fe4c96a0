//! How far from the main diagonal entries are.

use crate::formats::csr::Csr;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

impl<T: Numeric> Csr<T> {
    /// The numbers of diagonals below and above the main one up to which there are entries, zeros
    /// that are stored among them: SciPy's `spbandwidth`. Both are 0 of a matrix without entries.
    /// Looks at two entries of each row, and at no value; every rank must ask.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// assert_eq!(gallery::poisson2d::<f64>(5)?.bandwidth()?, (5, 5));
    /// assert_eq!(Csr::<f64>::eye_at(3, 7, 2)?.bandwidth()?, (0, 2));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the columns could not be brought to this rank.
    #[doc(alias = "spbandwidth")]
    pub fn bandwidth(&self) -> Result<(usize, usize), Error> {
        let own = self.own_structure()?;
        let mut mine = [0, 0];
        for (row, ends) in own.rows.clone().zip(own.pos.windows(2)) {
            let first = own.pos[0];
            let columns = &own.crd[(ends[0] - first) as usize..(ends[1] - first) as usize];
            if let (Some(&least), Some(&most)) = (columns.first(), columns.last()) {
                let [below, above]: &mut [u64; 2] = &mut mine;
                *below = (*below).max((row as u64).saturating_sub(u64::from(least)));
                *above = (*above).max(u64::from(most).saturating_sub(row as u64));
            }
        }
        let all = self.runtime().all_gather(&mine)?;
        let largest = |side: usize| all.iter().map(|of_rank| of_rank[side]).max().unwrap_or(0);
        Ok((largest(0) as usize, largest(1) as usize))
    }
}
