//! Operations that run at once, as tasks that the runtime knows by name.
//!
//! Operations that make a structure, and sweeps, work on the rows of each rank; what they make has
//! a size that they find ([`Runtime::task_at_once`](sparsefuse_runtime::Runtime::task_at_once)).
//! Their names are those of the field, in lower case, and stay: profiles are read by programs too.

use crate::formats::csr::Csr;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, StoreHandle};

/// Runs `work`, which reads these matrices, one at least, as a task at once of this name. Executes
/// the window; every rank must ask.
///
/// ```
/// use sparsefuse_sparse::{at_once, gallery};
///
/// let a = gallery::poisson1d::<f64>(4)?;
/// let entries = at_once("count", &[&a], || Ok(a.own_rows()?.as_rows().vals().len()))?;
/// assert_eq!(entries, 10);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// Those of `work`; if the matrices are those of two runtimes; or if the ranks have run different
/// programs, where that is checked.
///
/// # Panics
///
/// Without a matrix.
pub fn at_once<T: Numeric, R>(
    name: &'static str,
    matrices: &[&Csr<T>],
    work: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    matrices[0]
        .runtime()
        .task_at_once(name, &stores(matrices), work)
}

/// The stores of some matrices; apart from [`at_once`], which is compiled for every `work`.
fn stores<'a, T: Numeric>(matrices: &[&'a Csr<T>]) -> Vec<&'a StoreHandle> {
    matrices.iter().flat_map(|a| a.stores()).collect()
}
