//! Shortest paths along edges whose lengths may be negative: Bellman (On a routing problem, 1958)
//! and Ford (Network flow theory, 1956).

use super::NONE;
use super::dijkstra::Lengths;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

/// By how much of the largest term on the way a sum of lengths must be less than another one:
/// cycles of length 0 have sums that differ from 0 by rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The distance of each node from a source, infinite where there is no path, and the node before it
/// on a shortest path, or [`NONE`]; or a node on the way to which the length has no lower bound,
/// because a cycle of negative length leads to it. `O(n m)` for `n` nodes and `m` edges, less where
/// shortest paths have few edges.
#[expect(
    clippy::type_complexity,
    reason = "the error of memory, and the node of a cycle"
)]
pub(crate) fn distances(
    graph: Lengths<'_>,
    reversed: Option<Lengths<'_>>,
    source: u32,
) -> Result<Result<(Vec<f64>, Vec<u32>), u32>, Error> {
    let n = graph.edges.n_nodes();
    let mut distances = try_collect(repeat_n(f64::INFINITY, n))?;
    let mut predecessors = try_collect(repeat_n(NONE, n))?;
    distances[source as usize] = 0.0;
    // The largest sum or length on the way to each node, whose rounding is in its distance.
    let mut largest: Vec<f64> = try_collect(repeat_n(0.0, n))?;
    let mut last = source;
    // After as many passes as there are nodes, no path without a cycle is left.
    for _ in 0..n {
        let mut changed = None;
        for node in 0..n as u32 {
            if distances[node as usize] == f64::INFINITY {
                continue;
            }
            let mut relax = |(other, length): (u32, f64)| {
                let (near, far) = (distances[node as usize], distances[other as usize]);
                let longer = near + length;
                let terms = largest[node as usize].max(length.abs()).max(longer.abs());
                if is_shorter(longer, far, terms) {
                    distances[other as usize] = longer;
                    largest[other as usize] = terms;
                    predecessors[other as usize] = node;
                    changed = Some(other);
                }
            };
            graph.of(node).for_each(&mut relax);
            if let Some(reversed) = reversed {
                reversed.of(node).for_each(&mut relax);
            }
        }
        match changed {
            None => return Ok(Ok((distances, predecessors))),
            Some(node) => last = node,
        }
    }
    Ok(Err(last))
}

/// Whether a distance is less than another one by more than rounding.
fn is_shorter(distance: f64, other: f64, terms: f64) -> bool {
    distance < other && (other.is_infinite() || other - distance > ROUNDING * terms)
}
