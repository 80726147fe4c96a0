//! Maximum flows: Dinic (Algorithm for solution of a problem of maximum flow in networks with power
//! estimation, 1970).
//!
//! An edge carries what it can by its capacity, and what it carries can be taken back. Shares of
//! edges that can carry nothing more are exactly 0, so that rounding does not change how many
//! rounds there are.

use super::{Edges, NONE};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

/// A maximum flow.
pub(crate) struct Found<T> {
    /// What leaves the source.
    pub(crate) value: T,
    /// What each edge carries; of two opposite edges only one carries something.
    pub(crate) flows: Vec<T>,
    /// For each node whether the source still reaches it.
    pub(crate) reached: Vec<bool>,
}

/// The largest flow from a source to another node, where capacities are not negative. `O(n² m)` for
/// `n` nodes and `m` edges, in practice few passes over the edges.
pub(crate) fn maximum<T: Numeric + PartialOrd>(
    edges: Edges<'_>,
    capacities: &[T],
    (source, sink): (u32, u32),
) -> Result<Found<T>, Error> {
    let n = edges.n_nodes();
    let mut network = Network::new(edges, capacities)?;
    let mut levels = try_collect(repeat_n(NONE, n))?;
    let mut queue = try_collect(repeat_n(0, n))?;
    let mut next: Vec<usize> = try_collect(repeat_n(0, n))?;
    let mut path = Vec::new();
    let mut value = T::ZERO;
    loop {
        network.find_levels(source, &mut levels, &mut queue);
        if levels[sink as usize] == NONE {
            break;
        }
        next.fill(0);
        let mut node = source;
        loop {
            if node == sink {
                let (more, first) = network.augment(&path);
                value = value.plus(more);
                node = path[first].0;
                path.truncate(first);
                continue;
            }
            let step = network.step(node, &mut next[node as usize], &levels);
            if let Some((arc, other)) = step {
                path.push((node, arc));
                node = other;
            } else if let Some((before, _)) = path.pop() {
                node = before;
                next[node as usize] += 1;
            } else {
                break;
            }
        }
    }
    Ok(Found {
        value,
        flows: network.into_flows(capacities),
        reached: try_collect(levels.iter().map(|&level| level != NONE))?,
    })
}

/// An edge, in its direction or against it.
#[derive(Clone, Copy)]
enum Arc {
    Along(usize),
    Back(usize),
}

/// The edges of a graph, with what each can carry more and what it carries.
struct Network<'a, T> {
    edges: Edges<'a>,
    /// The edges that lead to each node, with the nodes that they come from.
    into_pos: Vec<usize>,
    into: Vec<(u32, usize)>,
    left: Vec<T>,
    carried: Vec<T>,
}

impl<'a, T: Numeric + PartialOrd> Network<'a, T> {
    fn new(edges: Edges<'a>, capacities: &[T]) -> Result<Self, Error> {
        let (n, m) = (edges.n_nodes(), capacities.len());
        let mut into_pos: Vec<usize> = try_collect(repeat_n(0, n + 1))?;
        for &other in edges.crd {
            into_pos[other as usize + 1] += 1;
        }
        for node in 0..n {
            into_pos[node + 1] += into_pos[node];
        }
        let mut ends: Vec<usize> = try_collect(into_pos.iter().copied())?;
        let mut into = try_collect(repeat_n((NONE, 0), m))?;
        for node in 0..n as u32 {
            for edge in edges.numbers_of(node) {
                let end = &mut ends[edges.crd[edge] as usize];
                into[*end] = (node, edge);
                *end += 1;
            }
        }
        Ok(Self {
            edges,
            into_pos,
            into,
            left: try_collect(capacities.iter().copied())?,
            carried: try_collect(repeat_n(T::ZERO, m))?,
        })
    }

    /// The way of a node with this number, and where it leads: first its edges, then those that
    /// lead to it.
    fn arc(&self, node: u32, number: usize) -> Option<(Arc, u32)> {
        let own = self.edges.numbers_of(node);
        if let Some(edge) = own.clone().nth(number) {
            return Some((Arc::Along(edge), self.edges.crd[edge]));
        }
        let node = node as usize;
        let into = &self.into[self.into_pos[node]..self.into_pos[node + 1]];
        let &(other, edge) = into.get(number - own.len())?;
        Some((Arc::Back(edge), other))
    }

    /// What a way can still take.
    fn room(&mut self, arc: Arc) -> &mut T {
        match arc {
            Arc::Along(edge) => &mut self.left[edge],
            Arc::Back(edge) => &mut self.carried[edge],
        }
    }

    fn is_open(&self, arc: Arc) -> bool {
        match arc {
            Arc::Along(edge) => self.left[edge] > T::ZERO,
            Arc::Back(edge) => self.carried[edge] > T::ZERO,
        }
    }

    /// For each node by how many ways the source reaches it, or [`NONE`].
    fn find_levels(&self, source: u32, levels: &mut [u32], queue: &mut [u32]) {
        levels.fill(NONE);
        levels[source as usize] = 0;
        queue[0] = source;
        let (mut first, mut end) = (0, 1);
        while first < end {
            let node = queue[first];
            first += 1;
            let mut number = 0;
            while let Some((arc, other)) = self.arc(node, number) {
                number += 1;
                if levels[other as usize] == NONE && self.is_open(arc) {
                    levels[other as usize] = levels[node as usize] + 1;
                    queue[end] = other;
                    end += 1;
                }
            }
        }
    }

    /// The first way from this number on that leads to the next level.
    fn step(&self, node: u32, number: &mut usize, levels: &[u32]) -> Option<(Arc, u32)> {
        while let Some((arc, other)) = self.arc(node, *number) {
            if levels[other as usize] == levels[node as usize] + 1 && self.is_open(arc) {
                return Some((arc, other));
            }
            *number += 1;
        }
        None
    }

    /// Sends as much along a path as it can take; how much that is, and the first way of the path
    /// that can take no more.
    fn augment(&mut self, path: &[(u32, Arc)]) -> (T, usize) {
        let (mut least, mut first) = (*self.room(path[0].1), 0);
        for (number, &(_, arc)) in path.iter().enumerate() {
            let room = *self.room(arc);
            if room < least {
                (least, first) = (room, number);
            }
        }
        for &(_, arc) in path {
            let opposite = match arc {
                Arc::Along(edge) => Arc::Back(edge),
                Arc::Back(edge) => Arc::Along(edge),
            };
            let (room, taken) = (*self.room(arc), *self.room(opposite));
            *self.room(arc) = room.minus(least);
            *self.room(opposite) = taken.plus(least);
        }
        (least, first)
    }

    /// What each edge carries, less what an opposite one does: its capacity less what is left of
    /// it, since sums of what was sent round in another way.
    fn into_flows(mut self, capacities: &[T]) -> Vec<T> {
        for (edge, carried) in self.carried.iter_mut().enumerate() {
            let used = capacities[edge].minus(self.left[edge]);
            *carried = if used < T::ZERO { T::ZERO } else { used };
        }
        for node in 0..self.edges.n_nodes() as u32 {
            for edge in self.edges.numbers_of(node) {
                let other = self.edges.crd[edge];
                let Ok(place) = self.edges.of(other).binary_search(&node) else {
                    continue;
                };
                let opposite = self.edges.numbers_of(other).start + place;
                let both = match self.carried[edge] < self.carried[opposite] {
                    true => self.carried[edge],
                    false => self.carried[opposite],
                };
                self.carried[edge] = self.carried[edge].minus(both);
                if opposite != edge {
                    self.carried[opposite] = self.carried[opposite].minus(both);
                }
            }
        }
        self.carried
    }
}
