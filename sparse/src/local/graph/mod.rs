//! Algorithms on graphs: nodes are the rows of a square matrix, and an entry `a[i, j]` is an edge
//! from `i` to `j`.

pub(crate) mod bellman_ford;
pub(crate) mod breadth_first;
pub(crate) mod components;
pub(crate) mod cuthill_mckee;
pub(crate) mod depth_first;
pub(crate) mod dijkstra;
pub(crate) mod flow;
pub(crate) mod k_shortest;
pub(crate) mod matching;
pub(crate) mod spanning_tree;

use std::ops::Range;

/// No node: there are fewer.
pub(crate) const NONE: u32 = u32::MAX;

/// The edges of a graph: the positions and columns of its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges<'a> {
    pub(crate) pos: &'a [u64],
    pub(crate) crd: &'a [u32],
}

impl<'a> Edges<'a> {
    /// The number of nodes.
    pub(crate) fn n_nodes(&self) -> usize {
        self.pos.len() - 1
    }

    /// Which edges are those of a node.
    pub(crate) fn numbers_of(&self, node: u32) -> Range<usize> {
        let node = node as usize;
        self.pos[node] as usize..self.pos[node + 1] as usize
    }

    /// The nodes that the edges of a node lead to, ascending.
    pub(crate) fn of(&self, node: u32) -> &'a [u32] {
        &self.crd[self.numbers_of(node)]
    }
}
