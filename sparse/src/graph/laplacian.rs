//! The Laplacian of a graph: degrees on the diagonal, and the negative edges.

use super::check_square;
use crate::formats::csr::Csr;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Numeric, Real};
use sparsefuse_runtime::Error;

/// Which edges a node's degree is the sum of; the same in a graph whose edges lead both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Degree {
    /// Those that lead to it: the sums of the columns.
    In,
    /// Those that lead away from it: the sums of the rows.
    Out,
}

/// The Laplacian `D - A` of a graph, where `D` has the degrees of the nodes, the sums of the values
/// of their edges, on its diagonal. Edges from a node to itself do not count, and all diagonal
/// elements are stored. As SciPy's `laplacian`, which takes the degree [`Degree::In`].
///
/// The work of one sum along an axis ([`Csr::sum_axis`]) and of [`Csr::with_diagonal`] twice, which
/// every rank does for its rows.
///
/// ```
/// use sparsefuse_sparse::graph::{Degree, laplacian};
/// use sparsefuse_sparse::Csr;
///
/// // A path 0 - 1 - 2.
/// let a = Csr::new(3, 3, vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![1.0; 4])?;
/// let l = laplacian(&a, Degree::In)?;
/// assert_eq!(l.to_dense()?.to_vec()?, [1.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 1.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, the computation of its values failed, or memory runs out.
pub fn laplacian<T: Numeric>(a: &Csr<T>, degree: Degree) -> Result<Csr<T>, Error> {
    let degrees = degrees("laplacian", a, degree)?;
    a.try_neg()?.with_diagonal(0, &degrees)
}

/// The normalized Laplacian `1 - D^(-1/2) A D^(-1/2)` of a graph, with `D` as in [`laplacian`]: 1
/// on the diagonal, 0 for a node without edges. As SciPy's `laplacian(a, normed=True)`. NaN where a
/// degree is negative.
///
/// ```
/// use sparsefuse_sparse::graph::{Degree, normalized_laplacian};
/// use sparsefuse_sparse::Csr;
///
/// // An edge 0 - 1 of value 4, and node 2 alone.
/// let a = Csr::new(3, 3, vec![0, 1, 2, 2], vec![1, 0], vec![4.0; 2])?;
/// let l = normalized_laplacian(&a, Degree::In)?;
/// assert_eq!(l.to_dense()?.to_vec()?, [1.0, -1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// As [`laplacian`].
pub fn normalized_laplacian<T: Real>(a: &Csr<T>, degree: Degree) -> Result<Csr<T>, Error> {
    let degrees = degrees("normalized_laplacian", a, degree)?;
    let is_connected = degrees.try_not_equal(T::ZERO)?;
    let factors = is_connected.try_select(degrees.try_sqrt()?.try_recip()?, T::ONE)?;
    let scaled = a.try_neg()?.scale_rows(&factors)?.scale_columns(&factors)?;
    scaled.with_diagonal(0, &is_connected.try_cast::<T>()?)
}

/// The sums of the edges of each node, without those to itself.
fn degrees<T: Numeric>(op: &'static str, a: &Csr<T>, degree: Degree) -> Result<Vector<T>, Error> {
    check_square(op, a)?;
    let axis = match degree {
        Degree::In => 0,
        Degree::Out => 1,
    };
    let zeros = a.runtime().enter(|| Vector::try_zeros([a.n_rows()]));
    a.with_diagonal(0, &zeros?)?.try_sum_axis(axis)
}
