//! Incomplete LU factorisation without fill.

use super::elimination::{Elimination, pattern_again, pattern_of, with_rows_in};
use super::factors::{Factors, applies_factors};
use super::{Preconditioner, check_square, check_update};
use crate::local::elimination::Rule;
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Csr, eager};

const OP: &str = "ilu(0)";
/// What profiles call the factorisation.
const TASK: &str = "ilu0";

/// ILU(0): z = U^-1 L^-1 r, where L and U have entries where the matrix has, and L U equals it
/// there.
///
/// Meijerink and van der Vorst (1977); Saad, *Iterative Methods for Sparse Linear Systems*, 2nd
/// edition, Algorithm 10.4. For M-matrices it exists; where a pivot becomes 0 or a diagonal entry
/// is not stored, there is an error that says so. The factorisation costs, for each entry below the
/// diagonal, a pass over two rows; an application about as much as two products. Holds a copy of
/// the matrix, split in two, and the inverse of U's diagonal.
///
/// On several ranks it is the factorisation of one: the ranks factor, and solve, one after the
/// other.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Options, bicgstab_with, preconditioners::Ilu0};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let b = Vector::ones([256]);
/// let m = Ilu0::new(&a)?;
/// let options = Options {
///     preconditioner: Some(&m),
///     ..Options::default()
/// };
/// assert!(bicgstab_with(&a, &b, options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ilu0<T> {
    elimination: Elimination,
    factors: Factors<T>,
}

impl<T: Field> Ilu0<T> {
    /// The factorisation of a square matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, a diagonal entry is not
    /// stored, a pivot is 0 or not finite, or the computation of the values failed.
    pub fn new(a: &Csr<T>) -> Result<Self, Error> {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        eager(TASK, &[a], || Self::factored(a))
    }

    fn factored(a: &Csr<T>) -> Result<Self, Error> {
        let layout = a.row_layout()?;
        let own = a.own_rows()?;
        let pattern = pattern_of(OP, &layout, own.as_rows())?;
        let elimination = Elimination::new(OP, &layout, &pattern, Rule::General)?;
        let factored = elimination.run_to_end(own.as_rows(), pattern)?;
        Ok(Self {
            elimination,
            factors: Factors::new(&layout, factored)?,
        })
    }
}

applies_factors!(Ilu0 solve_adjoint);

impl<T: Field> Preconditioner<T> for Ilu0<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        eager(TASK, &[a], || {
            let Self {
                elimination,
                factors,
            } = self;
            with_rows_in(elimination.layout(), a, |rows| {
                let pattern = pattern_again(OP, elimination.layout(), factors, rows)?;
                factors.update(elimination.run_to_end(rows, pattern)?)
            })
        })
    }
}
