//! Shortest paths along edges whose lengths may be negative.

use super::{
    Direction, ShortestPaths, both, check_lengths, check_node, check_square, with_lengths,
};
use crate::exchange::own_rows::HeldRows;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::graph::bellman_ford as passes;
use crate::local::parallel::{self, Threads};
use crate::local::rows::Rows;
use sparsefuse_kernels::Real;
use sparsefuse_runtime::{Error, try_collect};

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
    check_square(OP, a)?;
    sources
        .iter()
        .try_for_each(|&source| check_node(OP, a, source))?;
    eager(OP, &[a], || {
        let (rows, reversed) = both(a, direction)?;
        let rows = rows.as_rows();
        let reversed = reversed.as_ref().map(HeldRows::as_rows);
        check_lengths(OP, rows, "lengths that are finite", |x| {
            x.to_f64().is_finite()
        })?;
        let runtime = a.runtime();
        let lengths = |rows: Rows<'_, T>| try_collect(rows.vals.iter().map(|x| x.to_f64()));
        let of_rows = runtime.agree(lengths(rows))?;
        let of_reversed = runtime.agree(reversed.map(lengths).transpose())?;
        let graph = with_lengths(rows, &of_rows);
        let reversed = reversed.zip(of_reversed.as_ref());
        let reversed = reversed.map(|(rows, lengths)| with_lengths(rows, lengths));
        let of_source = |&source: &usize| {
            let found = passes::distances(graph, reversed, source as u32)?;
            found.map_err(|node| {
                let found = format!("one on the way from node {source} to node {node}");
                Error::argument(OP, "no cycle of negative length", found)
            })
        };
        let found = parallel::map(&Threads::of(runtime), sources, of_source);
        let found: Result<Vec<_>, Error> = found.into_iter().collect();
        let (distances, predecessors) = runtime.agree(found)?.into_iter().unzip();
        Ok(ShortestPaths {
            distances,
            predecessors,
        })
    })
}
