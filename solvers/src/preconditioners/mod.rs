//! Preconditioners: operators that approximate the inverse of a matrix and cost little.
//!
//! Each is a [`LinearOperator`] whose `apply` is z = M^-1 r, made from a [`Csr`] and a small struct
//! of options, and takes new values of the same structure without working on the structure again.
//! All that say nothing else give the same bits on any number of threads and ranks. All but
//! [`Jacobi`], which waits for no value, refuse a matrix with an entry that is infinite or not a
//! number.

use crate::operator::{LinearOperator, check_same_runtime};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;

mod block_jacobi;
mod jacobi;

mod chebyshev;
mod polynomial;
mod sor;

mod direct;
mod schwarz;

mod ic0;
mod ilu0;
mod iluk;
mod ilut;

mod color_sweep;
mod coloring;
#[cfg_attr(not(feature = "direct"), path = "no_complete.rs")]
mod complete;
mod elimination;
mod estimate;
mod factors;
mod right_side;
mod system;
mod upper_rows;

pub(crate) use chebyshev::Interval;

pub use block_jacobi::BlockJacobi;
pub use chebyshev::{Chebyshev, ChebyshevOptions};
pub use direct::{Direct, spcholesky, splu, spsolve};
pub use estimate::estimate_largest_eigenvalue;
pub use ic0::Ic0;
pub use ilu0::Ilu0;
pub use iluk::Iluk;
pub use ilut::{Ilut, IlutOptions};
pub use jacobi::Jacobi;
pub use polynomial::{Polynomial, PolynomialOptions};
pub use right_side::RightSide;
pub use schwarz::{AdditiveSchwarz, BlockSolve, SchwarzOptions};
pub use sor::{Sor, SorOptions, SorOrder, SorSweep};

pub(crate) use complete::HAS_FACTORS;
pub(crate) use system::is_singular;

/// An operator that approximates the inverse of a matrix: `apply` is z = M^-1 r.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::{Jacobi, Preconditioner};
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(8)?;
/// let b = Vector::ones([64]);
/// let mut m = Jacobi::new(&a)?;
/// // Twice the matrix has twice the diagonal.
/// m.update(&a.scale(2.0))?;
/// let options = Options {
///     preconditioner: Some(&m),
///     ..Options::default()
/// };
/// assert!(cg_with(&a, &b, options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
pub trait Preconditioner<T>: LinearOperator<T> {
    /// Takes the values of a matrix with the structure of the one it was made from; a matrix of the
    /// same shape and another structure is refused, or a fresh start. The result is that of a fresh
    /// start, to the bit, where the preconditioner does not say otherwise. Every rank must ask;
    /// where one fails, all do and nothing has changed.
    ///
    /// # Errors
    ///
    /// If the structure differs, the matrix belongs to another runtime, or the new values cannot be
    /// factored, as those that are infinite or not a number.
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error>;
}

/// Refuses matrices that are not square.
fn check_square<T: Numeric>(op: &'static str, a: &Csr<T>) -> Result<(), Error> {
    Error::check_shape(op, &[a.n_rows(), a.n_rows()], &[a.n_rows(), a.n_cols()])
}

/// Refuses what no update takes: a matrix of another shape, or of another runtime.
pub(crate) fn check_update<T: Numeric>(
    op: &'static str,
    known: &impl LinearOperator<T>,
    a: &Csr<T>,
) -> Result<(), Error> {
    let expected = <[usize; 2]>::from(known.shape());
    Error::check_shape(op, &expected, &[a.n_rows(), a.n_cols()])?;
    let expected = "a matrix of the runtime of the preconditioner";
    check_same_runtime(op, expected, a.runtime(), known.runtime())
}

/// Whether what was made for one matrix fits another: its entries are at the same places, and its
/// rows on the same ranks. Every rank must ask.
fn is_like<T: Numeric>(a: &Csr<T>, other: &Csr<T>) -> Result<bool, Error> {
    Ok(a.row_partition()? == other.row_partition()? && a.has_structure_of(other)?)
}
