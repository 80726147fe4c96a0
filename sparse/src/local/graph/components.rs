//! Connected components, weak and strong. Components are numbered in the order of their first
//! nodes.

use super::{Edges, NONE};
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::iter::repeat_n;

/// The number of components, and the component of each node.
type Labels = (usize, Vec<u32>);

/// The components whose nodes are connected by edges of either direction: sets that are joined by
/// their smallest nodes (Tarjan, Efficiency of a good but not linear set union algorithm, 1975,
/// with halved paths). Almost linear in the edges.
pub(crate) fn weak(edges: Edges<'_>) -> Result<Labels, Error> {
    // A node that is before each in its set; the first of a set is its own.
    let mut before: Vec<u32> = try_collect(0..edges.n_nodes() as u32)?;
    for node in 0..edges.n_nodes() as u32 {
        for &other in edges.of(node) {
            let (a, b) = (first_of(&mut before, node), first_of(&mut before, other));
            before[a.max(b) as usize] = a.min(b);
        }
    }
    let mut count = 0;
    for node in 0..before.len() {
        let first = before[node] as usize;
        // Nodes before this one have their labels already.
        before[node] = match first == node {
            true => {
                count += 1;
                count - 1
            }
            false => before[first],
        };
    }
    Ok((count as usize, before))
}

/// The first node of the set of a node.
pub(super) fn first_of(before: &mut [u32], mut node: u32) -> u32 {
    while before[node as usize] != node {
        let next = before[before[node as usize] as usize];
        before[node as usize] = next;
        node = next;
    }
    node
}

/// The components whose nodes reach each other along the edges: one search in depth with the stack
/// of Tarjan, Depth-first search and linear graph algorithms, 1972, without recursion. Linear in
/// nodes and edges.
pub(crate) fn strong(edges: Edges<'_>) -> Result<Labels, Error> {
    let mut search = Search::new(edges)?;
    for node in 0..edges.n_nodes() as u32 {
        if search.numbers[node as usize] == NONE {
            search.run(node);
        }
    }
    renumbered(search.components)
}

struct Search<'a> {
    edges: Edges<'a>,
    /// When each node was found.
    numbers: Vec<u32>,
    /// The smallest number that a node of its component is known to reach.
    reached: Vec<u32>,
    components: Vec<u32>,
    /// Nodes that were found and have no component yet.
    open: Vec<u32>,
    /// The way from the start, with the number of the next edge of each node.
    way: Vec<(u32, u64)>,
    n_found: u32,
    n_components: u32,
}

impl<'a> Search<'a> {
    fn new(edges: Edges<'a>) -> Result<Self, Error> {
        let n = edges.n_nodes();
        Ok(Self {
            edges,
            numbers: try_collect(repeat_n(NONE, n))?,
            reached: try_collect(repeat_n(NONE, n))?,
            components: try_collect(repeat_n(NONE, n))?,
            // Each node is on them once.
            open: reserve(n)?,
            way: reserve(n)?,
            n_found: 0,
            n_components: 0,
        })
    }

    /// Finds all nodes that a node reaches and gives them components.
    fn run(&mut self, start: u32) {
        self.enter(start);
        while let Some((node, edge)) = self.way.last_mut() {
            let node = *node;
            if *edge == self.edges.pos[node as usize + 1] {
                self.way.pop();
                self.leave(node);
                continue;
            }
            let next = self.edges.crd[*edge as usize];
            *edge += 1;
            if self.numbers[next as usize] == NONE {
                self.enter(next);
            } else if self.components[next as usize] == NONE {
                let number = self.numbers[next as usize];
                let reached = &mut self.reached[node as usize];
                *reached = number.min(*reached);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.numbers[node as usize] = self.n_found;
        self.reached[node as usize] = self.n_found;
        self.n_found += 1;
        self.open.push(node);
        self.way.push((node, self.edges.pos[node as usize]));
    }

    /// Ends the search from a node: if it reaches none before it, the nodes found since are a
    /// component.
    fn leave(&mut self, node: u32) {
        let reached = self.reached[node as usize];
        if reached == self.numbers[node as usize] {
            while let Some(member) = self.open.pop() {
                self.components[member as usize] = self.n_components;
                if member == node {
                    break;
                }
            }
            self.n_components += 1;
        }
        if let Some(&(parent, _)) = self.way.last() {
            let of_parent = &mut self.reached[parent as usize];
            *of_parent = reached.min(*of_parent);
        }
    }
}

/// The same components, numbered in the order of their first nodes.
fn renumbered(mut components: Vec<u32>) -> Result<Labels, Error> {
    let mut numbers = try_collect(repeat_n(NONE, components.len()))?;
    let mut count = 0;
    for component in &mut components {
        let number = &mut numbers[*component as usize];
        if *number == NONE {
            *number = count;
            count += 1;
        }
        *component = *number;
    }
    Ok((count as usize, components))
}
