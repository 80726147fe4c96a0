//! Aggregates: disjoint sets of strongly connected nodes, of which each becomes a node of the next
//! level.
//!
//! The roots are a maximal set of nodes of which no two are within a distance of two, found in
//! rounds: a node becomes a root if its key is the largest within that distance, and is out if a
//! root is. The keys are hashes of the nodes' numbers, so the set is a function of the graph
//! alone, on any number of ranks and threads. Then each node joins the root beside it, of which
//! there is at most one, and the others the neighbour to which they are connected most strongly.
//!
//! Bell, Dalton and Olson, *Exposing fine-grained parallelism in algebraic multigrid methods*
//! (2012). A round looks at each connection twice, until all nodes near it are decided; few rounds
//! are needed.

use super::halo::Halo;
use super::strength::{Graph, NodeRows};
use sparsefuse_kernels::{Field, random};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::parallel;

/// Nodes that one thread looks at at a time.
const PART: usize = 1 << 14;

/// The aggregate of a node that has none, since it is strongly connected to no other: the smoother
/// solves for it.
pub(super) const NONE: u32 = u32::MAX;

/// The keys of nodes that are decided; all others lie between.
const OUT: u64 = 0;
const ROOT: u64 = u64::MAX;

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
        let keys = roots(graph)?;
        let is_root = |number: usize| keys[places.start + number] == ROOT;
        let n_own = halo.own().len();
        let own = (0..n_own).filter(|&number| is_root(number)).count();
        let (count, first) = halo.sum(own)?;
        // Roots, then the nodes beside them.
        let mut of_roots = vec![NONE; n_own];
        let roots = (0..n_own).filter(|&number| is_root(number));
        for (number, aggregate) in roots.zip(first as u32..) {
            of_roots[number] = aggregate;
        }
        let of_roots = halo.spread(of_roots)?;
        let beside = map_nodes(halo, |number| {
            let own = of_roots[places.start + number];
            let others = graph.neighbours(number).iter();
            let mut others = others.map(|&place| of_roots[place as usize]);
            match own {
                NONE => others.find(|&other| other != NONE).unwrap_or(NONE),
                own => own,
            }
        });
        let beside = halo.spread(beside)?;
        let of_nodes = map_nodes(halo, |number| {
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
        });
        Ok(Self {
            count,
            first,
            own,
            of_nodes,
        })
    }
}

/// What `of` makes of each of this rank's nodes.
fn map_nodes<R: Copy + Send>(halo: &Halo, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let parts = parallel::chunks(halo.own().len(), PART);
    let parts = parallel::map(halo.runtime(), parts, |part| {
        part.map(&of).collect::<Vec<R>>()
    });
    parts.concat()
}

/// [`ROOT`] for the roots, [`OUT`] for all others, by place.
fn roots(graph: &Graph) -> Result<Vec<u64>, Error> {
    let halo = &graph.halo;
    let places = halo.places();
    let first = halo.own().start;
    let key = |number: usize| match graph.neighbours(number) {
        [] => OUT,
        _ => key(first + number),
    };
    let mut keys = halo.spread(map_nodes(halo, key))?;
    // The largest key of each node and its neighbours.
    let mut nearby = vec![OUT + 1; keys.len()];
    let mut rounds = 0;
    loop {
        let is_first = rounds == 0;
        update(halo, &mut nearby, |number, old| {
            // Where all neighbours were out, or one was a root, it stays so.
            if !is_first && (old == OUT || old == ROOT) {
                return old;
            }
            let others = graph.neighbours(number).iter();
            let own = keys[places.start + number];
            others.fold(own, |largest, &place| largest.max(keys[place as usize]))
        })?;
        update(halo, &mut keys, |number, own| {
            if own == OUT || own == ROOT {
                return own;
            }
            let others = graph.neighbours(number).iter();
            let largest = others.fold(nearby[places.start + number], |largest, &place| {
                largest.max(nearby[place as usize])
            });
            match largest {
                ROOT => OUT,
                _ if largest == own => ROOT,
                _ => own,
            }
        })?;
        rounds += 1;
        let is_open = |&key: &u64| key != OUT && key != ROOT;
        let open = keys[places.clone()]
            .iter()
            .filter(|key| is_open(key))
            .count();
        if halo.sum(open)?.0 == 0 {
            return Ok(keys);
        }
    }
}

/// Replaces the value of each of this rank's nodes, by its number among them, and gets those of the
/// others.
fn update(
    halo: &Halo,
    values: &mut Vec<u64>,
    change: impl Fn(usize, u64) -> u64 + Sync,
) -> Result<(), Error> {
    let places = halo.places();
    let parts = parallel::chunks(places.len(), PART);
    let lens: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
    let targets = parallel::split(&mut values[places], lens);
    let work = parts.into_iter().zip(targets).collect();
    parallel::each(halo.runtime(), work, |(part, target)| {
        for (number, value) in part.zip(target) {
            *value = change(number, *value);
        }
    });
    halo.refresh(values)
}

/// Between [`OUT`] and [`ROOT`], and different for each node: a hash, then the number.
fn key(node: usize) -> u64 {
    const SEED: u64 = 0xa99e;
    let hash = random::bits(SEED, node as u64) >> 33;
    (hash + 1) << 32 | node as u64
}
