//! Which nodes are strongly connected.
//!
//! A node is a block of neighbouring rows that belong together, such as the displacements of a
//! point. Two nodes are strongly connected if the norm of the block between them is not small
//! compared with those on the diagonal:
//!
//! ```text
//! |A_IJ|^2 >= theta^2 |A_II| |A_JJ|
//! ```
//!
//! Vaněk, Mandel and Brezina, *Algebraic multigrid by smoothed aggregation for second and fourth
//! order elliptic problems* (1996).

use super::halo::Halo;
use crate::multigrid::square::square;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Shape, reserve};
use sparsefuse_sparse::{Csr, Ghosts, LocalRows, OwnRows, Rows, Threads, distinct, parallel};
use std::ops::Range;

/// Nodes that one thread looks at at a time.
const PART: usize = 1 << 14;

/// The strong connections of this rank's nodes.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) halo: Halo,
    /// Positions in `neighbours`, one more than nodes.
    pos: Vec<usize>,
    /// The places of the neighbours of each node, in ascending order of their numbers; a node is
    /// none of its own.
    neighbours: Vec<u32>,
}

impl Graph {
    /// The neighbours of a node of this rank, by its number among them.
    #[inline]
    pub(super) fn neighbours(&self, number: usize) -> &[u32] {
        &self.neighbours[self.pos[number]..self.pos[number + 1]]
    }
}

/// The rows of this rank's nodes, and those that it has by default, read where they lie or fetched.
pub(super) struct NodeRows<T> {
    own: OwnRows<T>,
    fetched: Option<LocalRows<T>>,
    /// The first of these rows.
    pub(super) first_row: usize,
    /// Rows of a node.
    pub(super) block: usize,
    pub(super) nodes: Range<usize>,
}

impl<T: Field> NodeRows<T> {
    /// The rows of a matrix whose nodes have `block` rows each. A node belongs to the rank that
    /// has its first row.
    pub(super) fn new(a: &Csr<T>, block: usize) -> Result<Self, Error> {
        let own = a.own_rows()?;
        let rows = own.rows();
        let nodes = rows.start.div_ceil(block)..rows.end.div_ceil(block);
        let runtime = a.runtime();
        let (default, wanted) = runtime.default_rows(Shape::new(&[a.n_rows()]));
        let is_there = block == 1 && default == own.partition();
        let (first_row, fetched) = if is_there || own.is_replicated() {
            (rows.start, None)
        } else {
            let start = wanted.start.min(nodes.start * block);
            let end = wanted.end.max(nodes.end * block);
            let ghosts = Ghosts::of_range(runtime, own.partition(), start..end)?;
            (start, Some(ghosts.fetch_rows(own.as_rows())?))
        };
        Ok(Self {
            own,
            fetched,
            first_row,
            block,
            nodes,
        })
    }

    /// The rows, from `first_row` on.
    pub(super) fn as_rows(&self) -> Rows<'_, T> {
        match &self.fetched {
            None => self.own.as_rows(),
            Some(rows) => rows.as_rows(),
        }
    }

    /// The entries of some nodes of this rank, by their numbers among them.
    fn entries(&self, nodes: Range<usize>) -> usize {
        let rows = self.as_rows();
        let before = |node: usize| {
            rows.entries_before((self.nodes.start + node) * self.block - self.first_row)
        };
        before(nodes.end) - before(nodes.start)
    }

    /// Places for the nodes that these rows name.
    fn halo(&self, a: &Csr<T>) -> Result<Halo, Error> {
        let runtime = a.runtime();
        let block = self.block;
        let n_nodes = a.n_rows() / block;
        let partition = match runtime.cuts(self.own.partition()) {
            None => self.own.partition(),
            Some(cuts) => {
                let cuts: Vec<usize> = cuts.iter().map(|cut| cut.div_ceil(block)).collect();
                runtime.partition_at(&cuts)?
            }
        };
        Halo::new(runtime, partition, n_nodes, || {
            let columns = self.as_rows().crd().iter();
            distinct(columns.map(|&column| column / block as u32), n_nodes)
        })
    }

    /// Calls `visit` with each node that a node of this rank has a block with, ascending, and the
    /// square of the block's Frobenius norm.
    #[inline]
    pub(super) fn for_each_block(&self, number: usize, mut visit: impl FnMut(usize, f64)) {
        let rows = self.as_rows();
        let first = (self.nodes.start + number) * self.block - self.first_row;
        if self.block == 1 {
            for (&column, &value) in rows.columns(first).iter().zip(rows.values(first)) {
                visit(column as usize, square(value));
            }
            return;
        }
        let mut blocks: Vec<(usize, f64)> = Vec::new();
        for row in first..first + self.block {
            for (&column, &value) in rows.columns(row).iter().zip(rows.values(row)) {
                blocks.push((column as usize / self.block, square(value)));
            }
        }
        sort_by_node(&mut blocks);
        for blocks in blocks.chunk_by(|a, b| a.0 == b.0) {
            visit(blocks[0].0, blocks.iter().map(|(_, square)| square).sum());
        }
    }

    /// The squares of the norms of the
    /// diagonal blocks of all places.
    fn diagonal(&self, halo: &Halo) -> Result<Vec<f64>, Error> {
        halo.spread(halo.map_own(|number| {
            let mut diagonal = 0.0;
            self.for_each_block(number, |node, square| {
                if node == self.nodes.start + number {
                    diagonal = square;
                }
            });
            diagonal
        })?)
    }
}

/// Sorts the squares of entries by the node that they belong to. A function of its own, because
/// sorting is long, and would be compiled for every `visit` of [`NodeRows::for_each_block`].
fn sort_by_node(blocks: &mut [(usize, f64)]) {
    blocks.sort_by_key(|&(node, _)| node);
}

/// The strong connections of the nodes of this rank.
pub(super) fn graph<T: Field>(a: &Csr<T>, rows: &NodeRows<T>, theta: f64) -> Result<Graph, Error> {
    let halo = rows.halo(a)?;
    // Everything is strong: nothing to compare with.
    let diagonal = match theta > 0.0 {
        true => rows.diagonal(&halo)?,
        false => Vec::new(),
    };
    let runtime = halo.runtime().clone();
    let (pos, neighbours) = runtime.agree(strong(rows, &halo, theta, &diagonal))?;
    Ok(Graph {
        halo,
        pos,
        neighbours,
    })
}

/// The positions and the places of the neighbours of a graph.
fn strong<T: Field>(
    rows: &NodeRows<T>,
    halo: &Halo,
    theta: f64,
    diagonal: &[f64],
) -> Result<(Vec<usize>, Vec<u32>), Error> {
    let places = halo.places();
    let parts = parallel::chunks(rows.nodes.len(), PART);
    let made = parallel::map(&Threads::of(halo.runtime()), parts, |part| {
        let mut counts = reserve(part.len())?;
        // No more than entries.
        let mut neighbours = reserve(rows.entries(part.clone()))?;
        for number in part {
            let before = neighbours.len();
            let own = rows.nodes.start + number;
            rows.for_each_block(number, |node, square| {
                if node == own || square == 0.0 {
                    return;
                }
                let place = halo.place(node);
                let is_strong = theta == 0.0
                    || square >= limit(theta, diagonal[places.start + number], diagonal[place]);
                if is_strong {
                    neighbours.push(place as u32);
                }
            });
            counts.push(neighbours.len() - before);
        }
        Ok((counts, neighbours))
    });
    let made = made.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let mut pos = reserve(rows.nodes.len() + 1)?;
    pos.push(0);
    let mut end = 0;
    for count in made.iter().flat_map(|(counts, _)| counts) {
        end += count;
        pos.push(end);
    }
    let mut neighbours = reserve(end)?;
    made.iter()
        .for_each(|(_, part)| neighbours.extend_from_slice(part));
    Ok((pos, neighbours))
}

/// What the square of the norm of a strong block is at least, from those of the diagonal blocks.
#[inline]
fn limit(theta: f64, left: f64, right: f64) -> f64 {
    theta * theta * left.sqrt() * right.sqrt()
}
