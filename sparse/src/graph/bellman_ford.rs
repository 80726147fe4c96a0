//! Shortest paths along edges whose lengths may be negative.

use super::{Direction, ShortestPaths, paths_from};
use crate::formats::csr::Csr;
use crate::local::graph::bellman_ford as passes;
use sparsefuse_kernels::Real;
use sparsefuse_runtime::Error;

/// Shortest paths from some sources, as [`shortest_paths`](super::shortest_paths), where lengths
/// may be negative: Bellman (On a routing problem, 1958) and Ford, the sources on all threads. `O(n
/// m)` for each source, of `n` nodes and `m` edges, less where shortest paths have few edges;
/// distances are summed in double precision. Of paths whose lengths differ by rounding alone,
/// either may be found, and a cycle whose length is negative by no more than the rounding of its
/// sums counts as one of length 0.
///
/// ```
/// use sparsefuse_sparse::Csr;
/// use sparsefuse_sparse::graph::{Direction, bellman_ford};
///
/// // 0 -> 1 of length 4, 0 -> 2 of length 1, 1 -> 2 of length -5.
/// let a = Csr::new(3, 3, vec![0, 2, 3, 3], vec![1, 2, 2], vec![4.0, 1.0, -5.0])?;
/// let paths = bellman_ford(&a, &[0], Direction::AlongEdges)?;
/// assert_eq!(paths.distances[0], [0.0, 4.0, -1.0]);
/// assert_eq!(paths.path(0, 2), Some(vec![0, 1, 2]));
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If a source reaches a cycle of negative length, which an undirected edge of negative length is
/// already; if the matrix is not square, there is no such source, a length is not finite, the
/// computation of the values failed, or memory runs out.
pub fn bellman_ford<T: Real>(
    a: &Csr<T>,
    sources: &[usize],
    direction: Direction,
) -> Result<ShortestPaths, Error> {
    const OP: &str = "bellman_ford";
    let lengths = ("lengths that are finite", f64::is_finite);
    paths_from(
        (OP, a, direction),
        sources,
        lengths,
        |graph, reversed, source| {
            passes::distances(graph, reversed, source)?.map_err(|node| {
                let found = format!("one on the way from node {source} to node {node}");
                Error::argument(OP, "no cycle of negative length", found)
            })
        },
    )
}
