//! Several shortest paths from one node to another.

use super::{Direction, all_rows, check_lengths, check_node, check_square, with_lengths};
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::graph::{dijkstra, k_shortest};
use crate::local::rows::Rows;
use sparsefuse_kernels::Real;
use sparsefuse_runtime::{Error, try_collect};

/// A path from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The sum of the lengths of its edges, from the first one on.
    pub length: f64,
    /// Its nodes, both ends among them.
    pub nodes: Vec<usize>,
}

/// The `count` shortest paths from one node to another, the shortest first, of which none has a
/// node twice; all of them if there are fewer. Paths are different that have other nodes; of the
/// same length, those with smaller node numbers come first among those that are found, and of
/// paths whose lengths differ by rounding alone, either may be found first.
///
/// Yen (Finding the K shortest loopless paths in a network, 1971), with the partition of Lawler
/// (1972) and A* for the detours: one search for each node of each path, which looks at little
/// beside the path that it finds, `O((n + m) log m)` at most. Lengths are summed in double
/// precision. In an undirected graph an edge has the smaller length of its two directions.
///
/// ```
/// use sparsefuse_sparse::Csr;
/// use sparsefuse_sparse::graph::{Direction, k_shortest_paths};
///
/// // 0 -> 1 of length 1, 0 -> 2 of length 2, 1 -> 3 of length 1, 2 -> 0 and 2 -> 3 of 2 and 3.
/// let (crd, lengths) = (vec![1, 2, 3, 0, 3], vec![1.0, 2.0, 1.0, 2.0, 3.0]);
/// let a = Csr::new(4, 4, vec![0, 2, 3, 5, 5], crd, lengths)?;
/// let paths = k_shortest_paths(&a, 0, 3, 5, Direction::AlongEdges)?;
/// assert_eq!(paths.len(), 2);
/// assert_eq!((paths[0].length, &paths[0].nodes), (2.0, &vec![0, 1, 3]));
/// assert_eq!((paths[1].length, &paths[1].nodes), (5.0, &vec![0, 2, 3]));
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, there is no such node, a length is negative or not finite, the
/// computation of the values failed, or memory runs out.
#[doc(alias = "yen")]
pub fn k_shortest_paths<T: Real>(
    a: &Csr<T>,
    source: usize,
    sink: usize,
    count: usize,
    direction: Direction,
) -> Result<Vec<Path>, Error> {
    const OP: &str = "k_shortest_paths";
    check_square(OP, a)?;
    check_node(OP, a, source)?;
    check_node(OP, a, sink)?;
    eager(OP, &[a], || {
        let (rows, reversed) = (all_rows(a)?, all_rows(&a.transpose()?)?);
        let (rows, reversed) = (rows.as_rows(), reversed.as_rows());
        let expected = "lengths that are finite and not negative";
        let is_length = |x: f64| x.is_finite() && x >= 0.0;
        check_lengths(OP, rows, expected, |x| is_length(x.to_f64()))?;
        let lengths = |rows: Rows<'_, T>| try_collect(rows.vals.iter().map(|x| x.to_f64()));
        let found = lengths(rows).and_then(|of_rows| {
            let of_reversed = lengths(reversed)?;
            let graph = with_lengths(rows, &of_rows);
            let reversed = with_lengths(reversed, &of_reversed);
            let (backwards, forwards, both) = match direction {
                Direction::AlongEdges => (reversed, None, None),
                Direction::Both => (reversed, Some(graph), Some(reversed)),
            };
            let ends = (source as u32, sink as u32);
            let (to_sink, _) = dijkstra::distances(backwards, forwards, ends.1)?;
            k_shortest::paths((graph, both), &to_sink, ends, count)
        });
        let found = a.runtime().agree(found)?;
        let path = |path: k_shortest::Path| Path {
            length: path.length(),
            nodes: path.nodes.iter().map(|&node| node as usize).collect(),
        };
        Ok(found.into_iter().map(path).collect())
    })
}
