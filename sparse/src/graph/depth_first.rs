//! The depth-first search.

use super::{Direction, both, check_node, check_square, edges, predecessor};
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::graph::depth_first as search;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, try_collect};

/// A depth-first search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DepthFirst {
    /// The nodes that the start reaches, itself first, in the order in which they are met.
    pub order: Vec<usize>,
    predecessors: Vec<u32>,
}

impl DepthFirst {
    /// The node from which a node was met; `None` for the start and for nodes that it does not
    /// reach, or that there are not.
    #[must_use]
    pub fn predecessor(&self, node: usize) -> Option<usize> {
        predecessor(&self.predecessors, node)
    }
}

/// The nodes that `start` reaches, where from each node the search goes on to the first one that it
/// has not met yet, in the order of their numbers, in an undirected graph behind them those that
/// lead to it; and goes back where there is none. Linear in nodes and edges.
///
/// ```
/// use sparsefuse_sparse::graph::{Direction, depth_first};
/// use sparsefuse_sparse::Csr;
///
/// // 0 -> 1, 0 -> 2, 1 -> 3.
/// let a = Csr::new(4, 4, vec![0, 2, 3, 3, 3], vec![1, 2, 3], vec![1.0; 3])?;
/// let found = depth_first(&a, 0, Direction::AlongEdges)?;
/// assert_eq!(found.order, [0, 1, 3, 2]);
/// assert_eq!(found.predecessor(3), Some(1));
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, there is no such node, the computation of the values failed, or
/// memory runs out.
#[doc(alias = "depth_first_order")]
pub fn depth_first<T: Numeric>(
    a: &Csr<T>,
    start: usize,
    direction: Direction,
) -> Result<DepthFirst, Error> {
    const OP: &str = "depth_first";
    check_square(OP, a)?;
    check_node(OP, a, start)?;
    eager(OP, &[a], || {
        let (rows, reversed) = both(a, direction)?;
        let reversed = reversed.as_ref().map(|rows| edges(rows.as_rows()));
        let found = search::order(edges(rows.as_rows()), reversed, start as u32);
        let (order, predecessors) = a.runtime().agree(found)?;
        let order = try_collect(order.iter().map(|&node| node as usize));
        Ok(DepthFirst {
            order: a.runtime().agree(order)?,
            predecessors,
        })
    })
}
