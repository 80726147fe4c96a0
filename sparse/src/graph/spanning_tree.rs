//! The minimum spanning tree.

use super::{all_rows, check_lengths, check_square, edges};
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::graph::spanning_tree;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// The edges of a minimum spanning tree, or of one of each component, with their values: of edges
/// that lead both ways those with the least sum of lengths that connect all nodes that the graph
/// connects. Kruskal (On the shortest spanning subtree of a graph and the traveling salesman
/// problem, 1956), of equal lengths first the edge that is stored first. `O(m log m)` for `m`
/// edges.
///
/// As SciPy's `minimum_spanning_tree`, but an edge of length 0 is one of the tree as any other.
///
/// ```
/// use sparsefuse_sparse::graph::minimum_spanning_tree;
/// use sparsefuse_sparse::Csr;
///
/// // A triangle with sides 1, 2, and 3.
/// let a = Csr::new(3, 3, vec![0, 2, 3, 3], vec![1, 2, 2], vec![1, 3, 2])?;
/// let tree = minimum_spanning_tree(&a)?;
/// assert_eq!(tree.to_dense()?.to_vec()?, [0, 1, 0, 0, 0, 2, 0, 0, 0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, a length is not a number, the computation of the values failed, or
/// memory runs out.
pub fn minimum_spanning_tree<T: Numeric + PartialOrd>(a: &Csr<T>) -> Result<Csr<T>, Error> {
    const OP: &str = "minimum_spanning_tree";
    check_square(OP, a)?;
    eager(OP, &[a], || {
        let kept = {
            let all = all_rows(a)?;
            let rows = all.as_rows();
            let is_number = |x: &T| x.partial_cmp(x).is_some();
            check_lengths(OP, rows, "lengths that are numbers", is_number)?;
            a.runtime()
                .agree(spanning_tree::kept(edges(rows), rows.vals))?
        };
        let first = a.own_rows()?.as_rows().pos()[0] as usize;
        a.with_picked(a.n_cols(), true, |number, _, column, _| {
            kept[first + number].then_some(column)
        })
    })
}
