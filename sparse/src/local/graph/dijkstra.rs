//! Shortest paths from one node, by Dijkstra (A note on two problems in connexion with graphs,
//! 1959) with a binary heap.

use super::{Edges, NONE};
use sparsefuse_runtime::{Error, try_collect};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::repeat_n;

/// The edges of a graph with their lengths, which are finite and not negative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths<'a> {
    pub(crate) edges: Edges<'a>,
    pub(crate) lengths: &'a [f64],
}

impl Lengths<'_> {
    pub(super) fn of(&self, node: u32) -> impl Iterator<Item = (u32, f64)> {
        let others = self.edges.of(node);
        let lengths = &self.lengths[self.edges.numbers_of(node)];
        others.iter().copied().zip(lengths.iter().copied())
    }
}

/// The distance of each node from a source, infinite where there is no path, and the node before it
/// on a shortest path, or [`NONE`]. Of several shortest paths it is the one that is found first,
/// nodes at the same distance in the order of their numbers. `O((n + m) log m)` for `n` nodes and
/// `m` edges.
pub(crate) fn distances(
    graph: Lengths<'_>,
    reversed: Option<Lengths<'_>>,
    source: u32,
) -> Result<(Vec<f64>, Vec<u32>), Error> {
    let n = graph.edges.n_nodes();
    let mut distances = try_collect(repeat_n(f64::INFINITY, n))?;
    let mut predecessors = try_collect(repeat_n(NONE, n))?;
    distances[source as usize] = 0.0;
    // Floats that are not negative are ordered as their bits.
    let mut heap = BinaryHeap::from([Reverse((0u64, source))]);
    while let Some(Reverse((bits, node))) = heap.pop() {
        let distance = f64::from_bits(bits);
        if distance > distances[node as usize] {
            continue;
        }
        let mut relax = |(other, length): (u32, f64)| {
            let longer = distance + length;
            if longer < distances[other as usize] {
                distances[other as usize] = longer;
                predecessors[other as usize] = node;
                heap.push(Reverse((longer.to_bits(), other)));
            }
        };
        graph.of(node).for_each(&mut relax);
        if let Some(reversed) = reversed {
            reversed.of(node).for_each(&mut relax);
        }
    }
    Ok((distances, predecessors))
}
