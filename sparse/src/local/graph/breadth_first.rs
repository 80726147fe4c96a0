//! The breadth-first order: nodes by the number of edges from a start, those at the same distance
//! in the order in which the search finds them.

use super::{Edges, NONE};
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::iter::repeat_n;

/// The nodes that a start reaches, in the order of the search, and the node from which each was
/// found, or [`NONE`]. Edges of `reversed` are tried behind those of `edges`. Linear in nodes and
/// edges.
pub(crate) fn order(
    edges: Edges<'_>,
    reversed: Option<Edges<'_>>,
    start: u32,
) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let n = edges.n_nodes();
    let mut found = reserve(n)?;
    let mut predecessors: Vec<u32> = try_collect(repeat_n(NONE, n))?;
    found.push(start);
    // Until the end it is its own predecessor, so that no edge leads to it.
    predecessors[start as usize] = start;
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        next += 1;
        let behind = reversed.map_or(&[][..], |reversed| reversed.of(node));
        for &other in edges.of(node).iter().chain(behind) {
            if predecessors[other as usize] == NONE {
                predecessors[other as usize] = node;
                found.push(other);
            }
        }
    }
    predecessors[start as usize] = NONE;
    Ok((found, predecessors))
}
