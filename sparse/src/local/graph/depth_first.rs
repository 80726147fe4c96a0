//! The depth-first order: from each node the first edge to a node that was not met yet is followed,
//! and only where there is none the search goes back.

use super::{Edges, NONE};
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::iter::repeat_n;

/// The nodes that a start reaches, in the order in which the search meets them, and the node from
/// which each was met, or [`NONE`]. Edges of `reversed` are tried behind those of `edges`. Linear
/// in nodes and edges.
pub(crate) fn order(
    edges: Edges<'_>,
    reversed: Option<Edges<'_>>,
    start: u32,
) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let n = edges.n_nodes();
    let mut met = reserve(n)?;
    let mut predecessors: Vec<u32> = try_collect(repeat_n(NONE, n))?;
    // The nodes on the way from the start, each with the edges of it that were tried.
    let mut way: Vec<(u32, usize)> = reserve(n)?;
    met.push(start);
    way.push((start, 0));
    // Until the end it is its own predecessor, so that no edge leads to it.
    predecessors[start as usize] = start;
    while let Some((node, tried)) = way.last_mut() {
        let node = *node;
        let behind = reversed.map_or(&[][..], |reversed| reversed.of(node));
        let mut all = edges.of(node).iter().chain(behind).skip(*tried);
        let is_new = |other: &&u32| {
            *tried += 1;
            predecessors[**other as usize] == NONE
        };
        match all.find(is_new) {
            Some(&other) => {
                predecessors[other as usize] = node;
                met.push(other);
                way.push((other, 0));
            }
            None => {
                way.pop();
            }
        }
    }
    predecessors[start as usize] = NONE;
    Ok((met, predecessors))
}
