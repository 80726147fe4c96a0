//! Graphs: a square matrix whose stored entries `a[i, j]` are edges from node `i` to node `j`,
//! zeros that are stored among them.
//!
//! As `scipy.sparse.csgraph`. These algorithms are sequential: every rank of several collects the
//! whole matrix and computes the same, so every rank must ask, and all get the same result. For
//! undirected graphs the matrix is transposed too, which takes as much memory again.
//!
//! ```
//! use sparsefuse_sparse::{Csr, gallery, graph};
//!
//! let a = gallery::poisson1d::<f64>(5)?; // a path of five nodes
//! let order = graph::breadth_first(&a, 2, graph::Direction::AlongEdges)?.order;
//! assert_eq!(order, [2, 1, 3, 0, 4]);
//! # Ok::<(), sparsefuse_sparse::Error>(())
//! ```

mod bellman_ford;
mod depth_first;
mod flow;
mod k_shortest;
mod laplacian;
mod matching;
mod spanning_tree;

pub use bellman_ford::bellman_ford;
pub use depth_first::{DepthFirst, depth_first};
pub use flow::{Flow, maximum_flow};
pub use k_shortest::{Path, k_shortest_paths};
pub use laplacian::{Degree, laplacian, normalized_laplacian};
pub use matching::{maximum_matching, minimum_weight_matching, structural_rank};
pub use spanning_tree::minimum_spanning_tree;

use crate::exchange::own_rows::HeldRows;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::graph::dijkstra::{self, Lengths};
use crate::local::graph::{Edges, NONE, breadth_first as search, components, cuthill_mckee};
use crate::local::parallel::{self, Threads};
use crate::local::rows::Rows;
use sparsefuse_kernels::{Numeric, Real};
use sparsefuse_runtime::{Error, try_collect};
use std::iter::successors;

/// In which direction edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the row of an entry to its column alone.
    AlongEdges,
    /// In both directions: the graph is undirected.
    Both,
}

/// What connects the nodes of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Edges, whatever their direction.
    Weak,
    /// A path along the edges from each node to each other one.
    Strong,
}

/// The components of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Components {
    /// How many they are.
    pub count: usize,
    /// The number of the component of each node. Components are numbered in the order of their
    /// first nodes.
    pub labels: Vec<u32>,
}

/// The connected components of a graph. Almost linear in nodes and edges.
///
/// ```
/// use sparsefuse_sparse::graph::{Connection, connected_components};
/// use sparsefuse_sparse::Csr;
///
/// // 0 -> 1 -> 0, 1 -> 2, and 3 alone.
/// let a = Csr::new(4, 4, vec![0, 1, 3, 3, 3], vec![1, 0, 2], vec![1.0; 3])?;
/// assert_eq!(connected_components(&a, Connection::Weak)?.labels, [0, 0, 0, 1]);
/// assert_eq!(connected_components(&a, Connection::Strong)?.labels, [0, 0, 1, 2]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, the computation of its values failed, or memory runs out.
pub fn connected_components<T: Numeric>(
    a: &Csr<T>,
    connection: Connection,
) -> Result<Components, Error> {
    const OP: &str = "connected_components";
    check_square(OP, a)?;
    eager(OP, &[a], || {
        let rows = all_rows(a)?;
        let found = match connection {
            Connection::Weak => components::weak(edges(rows.as_rows())),
            Connection::Strong => components::strong(edges(rows.as_rows())),
        };
        let (count, labels) = a.runtime().agree(found)?;
        Ok(Components { count, labels })
    })
}

/// A breadth-first search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreadthFirst {
    /// The nodes that the start reaches, itself first, in the order in which they are found.
    pub order: Vec<usize>,
    predecessors: Vec<u32>,
}

impl BreadthFirst {
    /// The node from which a node was found; `None` for the start and for nodes that it does not
    /// reach, or that there are not.
    #[must_use]
    pub fn predecessor(&self, node: usize) -> Option<usize> {
        predecessor(&self.predecessors, node)
    }
}

/// The nodes that `start` reaches, by the number of edges on the way; those that a node leads to in
/// the order of their numbers, in an undirected graph behind them those that lead to it. Linear in
/// nodes and edges.
///
/// # Errors
///
/// If the matrix is not square, there is no such node, the computation of the values failed, or
/// memory runs out.
#[doc(alias = "breadth_first_order")]
pub fn breadth_first<T: Numeric>(
    a: &Csr<T>,
    start: usize,
    direction: Direction,
) -> Result<BreadthFirst, Error> {
    const OP: &str = "breadth_first";
    check_square(OP, a)?;
    check_node(OP, a, start)?;
    eager(OP, &[a], || {
        let (rows, reversed) = both(a, direction)?;
        let reversed = reversed.as_ref().map(|rows| edges(rows.as_rows()));
        let found = search::order(edges(rows.as_rows()), reversed, start as u32);
        let (order, predecessors) = a.runtime().agree(found)?;
        let order = try_collect(order.iter().map(|&node| node as usize));
        Ok(BreadthFirst {
            order: a.runtime().agree(order)?,
            predecessors,
        })
    })
}

/// Shortest paths from some sources to all nodes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShortestPaths {
    /// For each source the distance of every node, infinite where there is no path.
    pub distances: Vec<Vec<f64>>,
    predecessors: Vec<Vec<u32>>,
}

impl ShortestPaths {
    /// The node before a node on the shortest path from the source with this number; `None` for the
    /// source and for nodes that it does not reach, or that there are not.
    #[must_use]
    pub fn predecessor(&self, source: usize, node: usize) -> Option<usize> {
        predecessor(self.predecessors.get(source)?, node)
    }

    /// The nodes of the shortest path from the source with this number to a node, both among them;
    /// `None` where there is no path, or no such node.
    #[must_use]
    pub fn path(&self, source: usize, node: usize) -> Option<Vec<usize>> {
        self.distances
            .get(source)?
            .get(node)
            .filter(|distance| distance.is_finite())?;
        let before = |&node: &usize| self.predecessor(source, node);
        let way = successors(Some(node), before);
        let mut path: Vec<usize> = way.take(self.distances[source].len()).collect();
        path.reverse();
        Some(path)
    }
}

/// Shortest paths from some sources, where the values of the entries are the lengths of the edges:
/// Dijkstra (A note on two problems in connexion with graphs, 1959), the sources on all threads.
/// `O((n + m) log m)` for each source, of `n` nodes and `m` edges; distances are summed in double
/// precision. In an undirected graph an edge has the smaller length of its two directions. Lengths
/// that are negative are for [`bellman_ford()`].
///
/// ```
/// use sparsefuse_sparse::Csr;
/// use sparsefuse_sparse::graph::{Direction, shortest_paths};
///
/// // 0 -> 1 of length 1, 1 -> 2 of length 2, 0 -> 2 of length 5.
/// let a = Csr::new(3, 3, vec![0, 2, 3, 3], vec![1, 2, 2], vec![1.0, 5.0, 2.0])?;
/// let paths = shortest_paths(&a, &[0, 2], Direction::AlongEdges)?;
/// assert_eq!(paths.distances[0], [0.0, 1.0, 3.0]);
/// assert_eq!(paths.path(0, 2), Some(vec![0, 1, 2]));
/// assert_eq!(paths.path(1, 0), None);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, there is no such source, a length is negative or not finite, the
/// computation of the values failed, or memory runs out.
#[doc(alias = "dijkstra")]
#[doc(alias = "shortest_path")]
pub fn shortest_paths<T: Real>(
    a: &Csr<T>,
    sources: &[usize],
    direction: Direction,
) -> Result<ShortestPaths, Error> {
    const OP: &str = "shortest_paths";
    let expected = "lengths that are finite and not negative";
    let is_length = |x: f64| x.is_finite() && x >= 0.0;
    paths_from(
        (OP, a, direction),
        sources,
        (expected, is_length),
        dijkstra::distances,
    )
}

/// The paths that `distances` finds from each source, on all threads, of the edges and in an
/// undirected graph those of the other direction. `is_length` says what lengths are refused.
fn paths_from<T: Real>(
    (op, a, direction): (&'static str, &Csr<T>, Direction),
    sources: &[usize],
    (expected, is_length): (&'static str, impl Fn(f64) -> bool),
    distances: impl Fn(Lengths<'_>, Option<Lengths<'_>>, u32) -> Result<(Vec<f64>, Vec<u32>), Error>
    + Sync,
) -> Result<ShortestPaths, Error> {
    check_square(op, a)?;
    sources
        .iter()
        .try_for_each(|&source| check_node(op, a, source))?;
    eager(op, &[a], || {
        let (rows, reversed) = both(a, direction)?;
        let rows = rows.as_rows();
        let reversed = reversed.as_ref().map(HeldRows::as_rows);
        check_lengths(op, rows, expected, |x| is_length(x.to_f64()))?;
        let runtime = a.runtime();
        let lengths = |rows: Rows<'_, T>| try_collect(rows.vals.iter().map(|x| x.to_f64()));
        let of_rows = runtime.agree(lengths(rows))?;
        let of_reversed = runtime.agree(reversed.map(lengths).transpose())?;
        let graph = with_lengths(rows, &of_rows);
        let reversed = reversed.zip(of_reversed.as_ref());
        let reversed = reversed.map(|(rows, lengths)| with_lengths(rows, lengths));
        let of_source = |&source: &usize| distances(graph, reversed, source as u32);
        let found = parallel::map(&Threads::of(runtime), sources, of_source);
        let found: Result<Vec<_>, Error> = found.into_iter().collect();
        let (distances, predecessors) = runtime.agree(found)?.into_iter().unzip();
        Ok(ShortestPaths {
            distances,
            predecessors,
        })
    })
}

/// The order of rows and columns, first that of the new row 0, by which the entries come near the
/// diagonal: the reverse order of Cuthill and McKee (Reducing the bandwidth of sparse symmetric
/// matrices, 1969) on the entries of `A + Aᵀ`, from a node of the lowest degree of each component.
/// `O(m log d)` for `m` entries and rows of up to `d` entries.
///
/// ```
/// use sparsefuse_sparse::{gallery, graph};
///
/// let a = gallery::poisson1d::<f64>(5)?;
/// let shuffled = [3, 0, 4, 1, 2];
/// let b = a.select_rows(&shuffled)?.select_columns(&shuffled)?;
/// let order = graph::reverse_cuthill_mckee(&b)?;
/// let c = b.select_rows(&order)?.select_columns(&order)?;
/// assert_eq!(c.to_dia()?.offsets(), [-1, 0, 1]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, the computation of its values failed, or memory runs out.
pub fn reverse_cuthill_mckee<T: Numeric>(a: &Csr<T>) -> Result<Vec<usize>, Error> {
    const OP: &str = "reverse_cuthill_mckee";
    check_square(OP, a)?;
    eager(OP, &[a], || {
        // Values that cancel are stored, so the entries of both are there.
        let rows = all_rows(&a.try_add(&a.transpose()?)?)?;
        let order = cuthill_mckee::reverse(edges(rows.as_rows()));
        let order = order.and_then(|order| try_collect(order.iter().map(|&node| node as usize)));
        a.runtime().agree(order)
    })
}

fn edges<T>(rows: Rows<'_, T>) -> Edges<'_> {
    Edges {
        pos: rows.pos,
        crd: rows.crd,
    }
}

fn with_lengths<'a, T>(rows: Rows<'a, T>, lengths: &'a [f64]) -> Lengths<'a> {
    Lengths {
        edges: edges(rows),
        lengths,
    }
}

/// All rows: where they lie if this rank has them, else a copy.
fn all_rows<T: Numeric>(a: &Csr<T>) -> Result<HeldRows<T>, Error> {
    let own = a.own_rows()?;
    match own.is_replicated() {
        true => {
            let all = own.rows();
            Ok(HeldRows::Own(own, all))
        }
        false => Ok(HeldRows::Fetched(a.to_rows()?)),
    }
}

/// All rows, and those of the transpose if edges are followed in both directions.
fn both<T: Numeric>(
    a: &Csr<T>,
    direction: Direction,
) -> Result<(HeldRows<T>, Option<HeldRows<T>>), Error> {
    let reversed = match direction {
        Direction::AlongEdges => None,
        Direction::Both => Some(all_rows(&a.transpose()?)?),
    };
    Ok((all_rows(a)?, reversed))
}

fn predecessor(predecessors: &[u32], node: usize) -> Option<usize> {
    let predecessor = *predecessors.get(node)?;
    (predecessor != NONE).then_some(predecessor as usize)
}

fn check_square<T: Numeric>(op: &'static str, a: &Csr<T>) -> Result<(), Error> {
    let (n_rows, n_cols) = a.shape();
    match n_rows == n_cols {
        true => Ok(()),
        false => {
            let found = format!("{n_rows} by {n_cols}");
            Err(Error::argument(op, "a square matrix", found))
        }
    }
}

fn check_node<T: Numeric>(op: &'static str, a: &Csr<T>, node: usize) -> Result<(), Error> {
    match node < a.n_rows() {
        true => Ok(()),
        false => {
            let expected = format!("nodes below {}", a.n_rows());
            Err(Error::argument(op, expected, node.to_string()))
        }
    }
}

/// Refuses lengths that are not as expected.
fn check_lengths<T: Numeric>(
    op: &'static str,
    rows: Rows<'_, T>,
    expected: &'static str,
    is_good: impl Fn(&T) -> bool,
) -> Result<(), Error> {
    let Some(entry) = rows.vals.iter().position(|length| !is_good(length)) else {
        return Ok(());
    };
    let row = rows.pos.partition_point(|&end| end <= entry as u64) - 1;
    let (value, column) = (rows.vals[entry], rows.crd[entry]);
    let found = format!("{value} in row {row}, column {column}");
    Err(Error::argument(op, expected, found))
}
