//! Eager operations: tasks that run where they are issued, which the runtime knows by name.
//!
//! Operations that make a structure work on the rows of each rank; what they make has
//! a size that they find ([`Runtime::eager_task`](sparsefuse_runtime::Runtime::eager_task)).
//! Their names are those of the field, in lower case, and stay: profiles are read by programs too.

use crate::formats::csr::Csr;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, StoreHandle};

/// Runs `work`, which reads these matrices, one at least, as an eager task of this name. Executes
/// the window; every rank must ask.
///
/// ```
/// use sparsefuse_sparse::{eager, gallery};
///
/// let a = gallery::poisson1d::<f64>(4)?;
/// let entries = eager("count", &[&a], || Ok(a.own_rows()?.as_rows().vals().len()))?;
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
pub fn eager<T: Numeric, R>(
    name: &'static str,
    matrices: &[&Csr<T>],
    work: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    matrices[0]
        .runtime()
        .eager_task(name, &stores(matrices), work)
}

/// The stores of some matrices; apart from [`eager`], which is compiled for every `work`.
fn stores<'a, T: Numeric>(matrices: &[&'a Csr<T>]) -> Vec<&'a StoreHandle> {
    matrices.iter().flat_map(|a| a.stores()).collect()
}
