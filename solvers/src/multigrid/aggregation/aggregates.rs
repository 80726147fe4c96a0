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
//! alone, and are found in as many rounds as there are ranks that have to wait for each other. In a
//! round only the nodes at the boundary travel, and a rank that hears nothing new does nothing; one
//! that does looks only at nodes that wait for no open node of its own.

use super::halo::Boundary;
use super::strength::{Graph, NodeRows};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve, try_collect};
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

/// The states of all places, of which none of this rank's is open any more.
fn roots(graph: &Graph) -> Result<Vec<u64>, Error> {
    let mut search = Search::new(graph)?;
    loop {
        // What others have decided since is all that changes what is known here.
        if search.hear()? {
            search.decide();
        }
        if graph.halo.sum(search.open.len())?.0 == 0 {
            return Ok(search.states);
        }
    }
}

/// The search for roots, as far as it has come.
struct Search<'a> {
    graph: &'a Graph,
    /// What ranks know of each other, where they have different nodes.
    boundary: Option<Boundary>,
    states: Vec<u64>,
    /// [`first`] of the nodes of other ranks, whose neighbours are known there alone.
    firsts: Vec<u64>,
    /// [`first`] of this rank's nodes that others know of.
    own_firsts: Vec<u64>,
    /// The nodes of this rank that are open, ascending.
    open: Vec<Open>,
    /// Whether nodes of this rank have been decided since the others heard of them.
    has_decided: bool,
}

/// An open node of this rank.
#[derive(Clone, Copy)]
struct Open {
    /// Its number among this rank's nodes.
    number: u32,
    /// The number of the earlier open node that it waits for, or [`OTHERS`].
    awaits: u32,
}

/// In place of the number of a node: what is awaited is news of other ranks.
const OTHERS: u32 = u32::MAX;

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Result<Self, Error> {
        let halo = &graph.halo;
        let begin = |number: usize| match graph.neighbours(number) {
            [] => OUT,
            _ => open(halo.own().start + number),
        };
        let states = halo.spread(halo.map_own(begin)?)?;
        let boundary = halo.boundary()?;
        let lists = || {
            let is_open = |number: &usize| is_open(states[halo.places().start + number]);
            let numbers = || (0..halo.own().len()).filter(is_open);
            let mut open = reserve(numbers().count())?;
            open.extend(numbers().map(|number| Open {
                number: number as u32,
                awaits: OTHERS,
            }));
            let firsts = match &boundary {
                Some(_) => try_collect(repeat_n(OUT, halo.own().len()))?,
                None => Vec::new(),
            };
            Ok((open, firsts))
        };
        let (open, own_firsts) = halo.runtime().agree(lists())?;
        Ok(Self {
            graph,
            boundary,
            states,
            firsts: Vec::new(),
            own_firsts,
            open,
            has_decided: true,
        })
    }

    /// Hears what other ranks have decided, and whether that is anything. Every rank must ask.
    fn hear(&mut self) -> Result<bool, Error> {
        let Some(boundary) = &self.boundary else {
            return Ok(true);
        };
        let places = self.graph.halo.places();
        let is_first_time = self.firsts.is_empty();
        let mut is_news = is_first_time;
        for (number, state) in boundary
            .fetch(&self.states[places])?
            .into_iter()
            .enumerate()
        {
            let known = &mut self.states[boundary.place(number)];
            is_news |= *known != state;
            *known = state;
        }
        if is_news || self.has_decided {
            for &number in &boundary.told {
                self.own_firsts[number] = first(self.graph, number, &self.states);
            }
            self.has_decided = false;
        }
        let firsts = boundary.fetch(&self.own_firsts)?;
        is_news |= firsts != self.firsts;
        self.firsts = firsts;
        Ok(is_news)
    }

    /// Decides nodes of this rank, in sequence, as far as is known.
    fn decide(&mut self) {
        let before = self.open.len();
        let Self {
            graph,
            boundary,
            states,
            firsts,
            open,
            ..
        } = self;
        let (own, places) = (graph.halo.own(), graph.halo.places());
        let of_other = |place: usize| {
            let boundary = boundary.as_ref().expect("another rank has the node");
            firsts[boundary.number(place)]
        };
        open.retain_mut(|node| {
            // Nothing else that is decided meanwhile could decide this one.
            if node.awaits != OTHERS && is_open(states[places.start + node.awaits as usize]) {
                return true;
            }
            let number = node.number as usize;
            let place = places.start + number;
            let first = first_within_two(graph, number, states, of_other);
            if first == states[place] {
                states[place] = root(own.start + number);
                return false;
            }
            if is_root(first) {
                states[place] = OUT;
                return false;
            }
            let awaited = (first / 2) as usize;
            let is_own = own.contains(&awaited);
            // Other ranks may have to hear, and tell, that one of this rank has been decided.
            node.awaits = match is_own && is_open(states[places.start + awaited - own.start]) {
                true => (awaited - own.start) as u32,
                false => OTHERS,
            };
            true
        });
        self.has_decided |= self.open.len() != before;
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
/// `of_other` is [`first`] of the node of another rank at a place.
#[inline]
fn first_within_two(
    graph: &Graph,
    number: usize,
    states: &[u64],
    of_other: impl Fn(usize) -> u64,
) -> u64 {
    let places = graph.halo.places();
    let mut least = first(graph, number, states);
    for &place in graph.neighbours(number) {
        if is_root(least) {
            return least;
        }
        let place = place as usize;
        least = least.min(match places.contains(&place) {
            true => first(graph, place - places.start, states),
            false => of_other(place),
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
