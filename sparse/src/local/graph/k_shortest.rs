//! The shortest paths from one node to another, several of them and none with a node twice: Yen
//! (Finding the K shortest loopless paths in a network, 1971), by the partition of Lawler (A
//! procedure for computing the K best solutions, 1972).
//!
//! A set of paths has all those that begin with the same nodes, the root, and go on from the last
//! of them, the spur, to none of some nodes. The sets are disjoint, each with its shortest path.
//! The shortest of all is taken out, and the rest of its set is split: at each node of the path
//! from the spur on, into those that part from the path there. So no path is found twice.
//!
//! A set's shortest path is found by A* (Hart, Nilsson, Raphael, 1968) with the distances to the
//! sink in the whole graph, so that a search looks at little beside the path that it finds.

use super::NONE;
use super::dijkstra::Lengths;
use sparsefuse_runtime::{Error, try_collect};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};
use std::iter::repeat_n;

/// A path, and the set that it is the shortest of.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) nodes: Vec<u32>,
    /// The distance of each node from the source along the path, summed from there.
    sums: Vec<f64>,
    /// The place of the spur among the nodes.
    spur: usize,
    /// Where the paths of the set do not go from the spur, ascending.
    excluded: Vec<u32>,
}

impl Path {
    pub(crate) fn length(&self) -> f64 {
        self.sums[self.sums.len() - 1]
    }
}

/// The shorter first; of the same length, by the numbers of the nodes.
impl Ord for Path {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.length().total_cmp(&other.length());
        by_length.then_with(|| self.nodes.cmp(&other.nodes))
    }
}

impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Path {}

/// The `count` shortest paths, or all if there are fewer; `to_sink` has the distance from each node
/// to the sink. `reversed` are the edges of the other direction, if they are followed too.
pub(crate) fn paths(
    graph: (Lengths<'_>, Option<Lengths<'_>>),
    to_sink: &[f64],
    (source, sink): (u32, u32),
    count: usize,
) -> Result<Vec<Path>, Error> {
    let n = to_sink.len();
    let mut search = Search {
        graph,
        to_sink,
        sink,
        distances: try_collect(repeat_n(f64::INFINITY, n))?,
        predecessors: try_collect(repeat_n(NONE, n))?,
        touched: Vec::new(),
        is_on_root: try_collect(repeat_n(false, n))?,
    };
    let mut found: Vec<Path> = Vec::new();
    let mut shortest = BTreeSet::new();
    if count > 0 {
        shortest.extend(search.detour((&[source], &[0.0]), Vec::new(), f64::INFINITY));
    }
    while let Some(path) = shortest.pop_first() {
        // How many are wanted beside this one: what lies behind them in the order is not.
        let wanted = count - found.len() - 1;
        let ends = path.nodes.len() - 1;
        for (place, &spur) in path.nodes[..ends].iter().enumerate() {
            search.is_on_root[spur as usize] = true;
            if place < path.spur || wanted == 0 {
                continue;
            }
            let mut excluded = match place == path.spur {
                true => path.excluded.clone(),
                false => Vec::new(),
            };
            let next = path.nodes[place + 1];
            excluded.insert(excluded.partition_point(|&node| node < next), next);
            let longest = shortest.last().filter(|_| shortest.len() >= wanted);
            let limit = longest.map_or(f64::INFINITY, Path::length);
            let root = (&path.nodes[..=place], &path.sums[..=place]);
            shortest.extend(search.detour(root, excluded, limit));
            if shortest.len() > wanted {
                shortest.pop_last();
            }
        }
        for &node in &path.nodes[..ends] {
            search.is_on_root[node as usize] = false;
        }
        found.push(path);
    }
    Ok(found)
}

/// What all searches share; between them all nodes are untouched.
struct Search<'a> {
    graph: (Lengths<'a>, Option<Lengths<'a>>),
    to_sink: &'a [f64],
    sink: u32,
    /// From the source by way of the root.
    distances: Vec<f64>,
    predecessors: Vec<u32>,
    /// The nodes whose distance is finite.
    touched: Vec<u32>,
    is_on_root: Vec<bool>,
}

impl Search<'_> {
    /// The shortest path of a set whose root is marked, with the distances along that, unless the
    /// set has none of up to this length.
    fn detour(
        &mut self,
        (root, sums): (&[u32], &[f64]),
        excluded: Vec<u32>,
        limit: f64,
    ) -> Option<Path> {
        let place = root.len() - 1;
        let spur = root[place];
        let is_found = self.reaches_sink((spur, sums[place]), &excluded, limit);
        let path = is_found.then(|| {
            let before = |&node: &u32| Some(self.predecessors[node as usize]);
            let way = std::iter::successors(Some(self.sink), before);
            let mut behind: Vec<u32> = way.take_while(|&node| node != spur).collect();
            behind.reverse();
            let distances = behind.iter().map(|&node| self.distances[node as usize]);
            let sums = sums.iter().copied().chain(distances).collect();
            Path {
                nodes: [root, &behind].concat(),
                sums,
                spur: place,
                excluded,
            }
        });
        for node in self.touched.drain(..) {
            self.distances[node as usize] = f64::INFINITY;
        }
        path
    }

    /// Finds distances and predecessors from the spur, at this distance, up to the sink, by paths
    /// of up to this length.
    fn reaches_sink(&mut self, (spur, distance): (u32, f64), excluded: &[u32], limit: f64) -> bool {
        let Self {
            graph: (graph, reversed),
            to_sink,
            sink,
            distances,
            predecessors,
            touched,
            is_on_root,
        } = self;
        if spur == *sink {
            return true;
        }
        let far = |node: u32, distance: f64| distance + to_sink[node as usize];
        distances[spur as usize] = distance;
        touched.push(spur);
        // By the least length of a path through the node, whose bits order it, then the node.
        let mut heap = BinaryHeap::from([Reverse((far(spur, distance).to_bits(), spur))]);
        while let Some(Reverse((bits, node))) = heap.pop() {
            let distance = distances[node as usize];
            if node == *sink {
                return true;
            }
            if f64::from_bits(bits) > far(node, distance) {
                continue;
            }
            let mut relax = |(other, length): (u32, f64)| {
                let longer = distance + length;
                let is_open = !is_on_root[other as usize]
                    && to_sink[other as usize].is_finite()
                    && far(other, longer) <= limit
                    && !(node == spur && excluded.binary_search(&other).is_ok());
                if is_open && longer < distances[other as usize] {
                    if distances[other as usize] == f64::INFINITY {
                        touched.push(other);
                    }
                    distances[other as usize] = longer;
                    predecessors[other as usize] = node;
                    heap.push(Reverse((far(other, longer).to_bits(), other)));
                }
            };
            graph.of(node).for_each(&mut relax);
            if let Some(reversed) = reversed {
                reversed.of(node).for_each(&mut relax);
            }
        }
        false
    }
}
