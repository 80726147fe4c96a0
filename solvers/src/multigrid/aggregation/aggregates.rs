//! Aggregates: disjoint sets of strongly connected nodes, of which each becomes a node of the next
//! level.
//!
//! The roots are what the greedy algorithm finds that looks at the nodes in the order of their
//! numbers: a node becomes a root if no earlier one within a distance of two is. On grids that
//! gives regular aggregates, which converge faster than those of any random order. Then each node
//! joins the root beside it, of which there is at most one, and the others the neighbour to which
//! they are connected most strongly.
//!
//! Vaněk, Mandel and Brezina, *Algebraic multigrid by smoothed aggregation for second and fourth
//! order elliptic problems* (1996). A rank decides its nodes in one pass, in sequence, as far as it
//! knows of the earlier ones, and then tells the others; so the roots are a function of the graph
//! alone, and are found in as many rounds as there are ranks that have to wait for each other.

use super::strength::{Graph, NodeRows};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

/// The aggregate of a node that has none, since it is strongly connected to no other: the smoother
/// solves for it.
pub(super) const NONE: u32 = u32::MAX;

/// The state of a node that is no root and will be none: more than all others, and odd.
const OUT: u64 = u64::MAX;

/// Which aggregate the nodes belong to.
#[derive(Clone, Debug)]
pub(super) struct Aggregates {
    /// The number of aggregates of all ranks.
    pub(super) count: usize,
    /// The first whose root is a node of this rank, and how many such there are.
    pub(super) first: usize,
    pub(super) own: usize,
    /// The aggregate of each of this rank's nodes.
    pub(super) of_nodes: Vec<u32>,
}

impl Aggregates {
    /// The aggregates of the graph of these rows.
    pub(super) fn new<T: Field>(graph: &Graph, rows: &NodeRows<T>) -> Result<Self, Error> {
        let halo = &graph.halo;
        let places = halo.places();
        let states = roots(graph)?;
        let is_root = |number: usize| is_root(states[places.start + number]);
        let n_own = halo.own().len();
        let own = (0..n_own).filter(|&number| is_root(number)).count();
        let (count, first) = halo.sum(own)?;
        // Roots, then the nodes beside them.
        let mut of_roots = halo.runtime().agree(try_collect(repeat_n(NONE, n_own)))?;
        let roots = (0..n_own).filter(|&number| is_root(number));
        for (number, aggregate) in roots.zip(first as u32..) {
            of_roots[number] = aggregate;
        }
        let of_roots = halo.spread(of_roots)?;
        let beside = halo.map_own(|number| {
            let own = of_roots[places.start + number];
            let others = graph.neighbours(number).iter();
            let mut others = others.map(|&place| of_roots[place as usize]);
            match own {
                NONE => others.find(|&other| other != NONE).unwrap_or(NONE),
                own => own,
            }
        })?;
        let beside = halo.spread(beside)?;
        let of_nodes = halo.map_own(|number| {
            let own = beside[places.start + number];
            if own != NONE {
                return own;
            }
            let neighbours = graph.neighbours(number);
            if neighbours.is_empty() {
                return NONE;
            }
            let mut best = (f64::NEG_INFINITY, NONE);
            rows.for_each_block(number, |node, strength| {
                let place = halo.place(node);
                let other = beside[place];
                let is_better = other != NONE && strength > best.0;
                if is_better && neighbours.contains(&(place as u32)) {
                    best = (strength, other);
                }
            });
            best.1
        })?;
        Ok(Self {
            count,
            first,
            own,
            of_nodes,
        })
    }
}

/// The states of all places, of which none is open any more.
fn roots(graph: &Graph) -> Result<Vec<u64>, Error> {
    let halo = &graph.halo;
    let own = halo.own();
    let places = halo.places();
    let begin = |number: usize| match graph.neighbours(number) {
        [] => OUT,
        _ => open(own.start + number),
    };
    let mut states = halo.spread(halo.map_own(begin)?)?;
    loop {
        // For nodes of other ranks, whose neighbours are known there alone.
        let firsts = match halo.is_replicated() {
            true => Vec::new(),
            false => halo.spread(halo.map_own(|number| first(graph, number, &states))?)?,
        };
        let mut n_open = 0;
        for number in 0..own.len() {
            let place = places.start + number;
            if is_open(states[place]) {
                states[place] = match first_within_two(graph, number, &states, &firsts) {
                    first if first == states[place] => root(own.start + number),
                    first if is_root(first) => OUT,
                    _ => states[place],
                };
                n_open += usize::from(is_open(states[place]));
            }
        }
        halo.refresh(&mut states)?;
        if halo.sum(n_open)?.0 == 0 {
            return Ok(states);
        }
    }
}

/// The least state of a node of this rank and its neighbours: that of the first of them that is a
/// root or may become one.
#[inline]
fn first(graph: &Graph, number: usize, states: &[u64]) -> u64 {
    let own = states[graph.halo.places().start + number];
    let others = graph.neighbours(number).iter();
    others.fold(own, |first, &place| first.min(states[place as usize]))
}

/// The same within a distance of two, or that of an earlier root there, which decides alone.
/// `firsts` is [`first`] of the nodes of other ranks.
#[inline]
fn first_within_two(graph: &Graph, number: usize, states: &[u64], firsts: &[u64]) -> u64 {
    let places = graph.halo.places();
    let mut least = first(graph, number, states);
    for &place in graph.neighbours(number) {
        if is_root(least) {
            return least;
        }
        let place = place as usize;
        least = least.min(match places.contains(&place) {
            true => first(graph, place - places.start, states),
            false => firsts[place],
        });
    }
    least
}

/// The state of a node that may become a root: more than that of all earlier ones.
fn open(node: usize) -> u64 {
    2 * node as u64 + 1
}

/// The state of a root.
fn root(node: usize) -> u64 {
    2 * node as u64
}

fn is_open(state: u64) -> bool {
    state != OUT && state % 2 == 1
}

fn is_root(state: u64) -> bool {
    state.is_multiple_of(2)
}
