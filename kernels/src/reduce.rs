//! The order of summation, which is part of the meaning of a reduction.
//!
//! The elements of an array, in row-major order, are divided into *tiles*, by its shape alone
//! ([`Tiles`](crate::tiles::Tiles)): a vector into `tile_len` neighbours each, counted from 0; an
//! array whose innermost lines are longer than that into as many neighbours of a line; else
//! trailing dimensions are merged to a cell while that has at most `tile_len` elements, and a tile
//! has as many neighbouring cells along the next dimension as divide `tile_len` and fit it: a power
//! of two, since it is one by default.
//!
//! Within a tile there are 16 lanes: element `i` of the tile goes to lane `i % 16`, ascending
//! within a lane, each lane starting from the operation's identity. The lanes of a tile are then
//! joined pairwise: lane `l` with `l + 8`, then with `l + 4`, `l + 2`, `l + 1`. The tiles of a line
//! are joined by a binary tree whose shape depends on their number alone: node `k` of level `v`
//! covers the tiles `k * 2^v .. (k + 1) * 2^v`, and a node whose right half lies beyond the end is
//! its left half. The results of lines are joined by such trees along each dimension outside of
//! them, from the innermost to dimension 0.
//!
//! A tile that cannot change whether any or all elements are true, or where an extremum is, may
//! have the identity for its result, since these joins are exact and do not depend on their order.
//!
//! A range along the last tree is therefore represented by its maximal aligned subtrees
//! ([`Forest`]), at most two per level, and joining neighbouring ranges is exactly associative: the
//! result has the same bits however the tiles are divided among threads and ranks.

use crate::element::{DType, Element, Value};
use crate::ir::ReduceOp;
use crate::ops::{BitOps, NumericOps, OrderedOps};
use crate::scalar::{self, with_type};
use num_complex::Complex;

/// The number of lanes of a tile.
pub const LANES: usize = 16;

/// The reduction of some rows: an element, and for `ArgMin` and `ArgMax` the row it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The bits of the element, as [`Value::bits`].
    pub bits: [u64; 2],
    /// The global row of the element (`ArgMin`, `ArgMax`), else 0; `u64::MAX` for no row yet.
    pub index: u64,
}

/// The reduction of no rows: 0, 1, +inf or the largest, -inf or the smallest, false, true.
#[must_use]
pub fn identity(op: ReduceOp, dtype: DType) -> Partial {
    let value = match op {
        ReduceOp::Sum => scalar::from_f64(dtype, 0.0),
        ReduceOp::Prod => scalar::from_f64(dtype, 1.0),
        ReduceOp::Min | ReduceOp::ArgMin => largest(dtype),
        ReduceOp::Max | ReduceOp::ArgMax => smallest(dtype),
        ReduceOp::Any => false.to_value(),
        ReduceOp::All => true.to_value(),
    };
    let index = match op {
        ReduceOp::ArgMin | ReduceOp::ArgMax => u64::MAX,
        ReduceOp::Sum
        | ReduceOp::Prod
        | ReduceOp::Min
        | ReduceOp::Max
        | ReduceOp::Any
        | ReduceOp::All => 0,
    };
    Partial {
        bits: value.bits(),
        index,
    }
}

fn largest(dtype: DType) -> Value {
    match dtype {
        DType::F32 => f32::INFINITY.to_value(),
        DType::I32 => i32::MAX.to_value(),
        DType::I64 => i64::MAX.to_value(),
        DType::U32 => u32::MAX.to_value(),
        DType::U64 => u64::MAX.to_value(),
        DType::Bool => true.to_value(),
        DType::F64 | DType::ComplexF32 | DType::ComplexF64 => f64::INFINITY.to_value(),
    }
}

fn smallest(dtype: DType) -> Value {
    match dtype {
        DType::F32 => f32::NEG_INFINITY.to_value(),
        DType::I32 => i32::MIN.to_value(),
        DType::I64 => i64::MIN.to_value(),
        DType::U32 => u32::MIN.to_value(),
        DType::U64 => u64::MIN.to_value(),
        DType::Bool => false.to_value(),
        DType::F64 | DType::ComplexF32 | DType::ComplexF64 => f64::NEG_INFINITY.to_value(),
    }
}

/// Joins two partial results of elements of type `dtype`, the rows of `a` before those of `b`.
#[must_use]
pub fn join(op: ReduceOp, dtype: DType, a: Partial, b: Partial) -> Partial {
    let value = |partial: Partial| Value::from_bits(dtype, partial.bits);
    let binary = |name| Partial {
        bits: scalar::binary(name, value(a), value(b)).bits(),
        index: 0,
    };
    use crate::ir::BinaryOp::{Add, And, Max, Min, Mul, Or};
    match op {
        ReduceOp::Sum => binary(Add),
        ReduceOp::Prod => binary(Mul),
        ReduceOp::Min => binary(Min),
        ReduceOp::Max => binary(Max),
        ReduceOp::Any => binary(Or),
        ReduceOp::All => binary(And),
        ReduceOp::ArgMin | ReduceOp::ArgMax => {
            if is_better(op, value(b), b.index, value(a), a.index) {
                b
            } else {
                a
            }
        }
    }
}

/// Whether element `a` of row `i` wins over element `b` of row `j` (`ArgMin`, `ArgMax`): a total
/// order, so that the winner does not depend on the order of the comparisons.
fn is_better(op: ReduceOp, a: Value, i: u64, b: Value, j: u64) -> bool {
    if i == u64::MAX || j == u64::MAX {
        return i < j;
    }
    let is_nan = |x: Value| scalar::is_nan(x);
    match (is_nan(a), is_nan(b)) {
        (true, false) => true,
        (false, true) => false,
        (true, true) => i < j,
        (false, false) => {
            let strictly = match op {
                ReduceOp::ArgMax => scalar::less(b, a),
                _ => scalar::less(a, b),
            };
            strictly || (!scalar::less(a, b) && !scalar::less(b, a) && i < j)
        }
    }
}

/// Joins the 16 lanes of a tile.
#[must_use]
pub fn join_lanes(op: ReduceOp, dtype: DType, mut lanes: [Partial; LANES]) -> Partial {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = join(op, dtype, lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// A range of tiles as its maximal aligned subtrees, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Forest {
    trees: Vec<Tree>,
}

/// The tiles of a block ([`blocks`]); a power of two.
const BLOCK: usize = 128;

/// Those of neighbouring tiles, the first of which has the number `first`, that are whole blocks:
/// the leaves of an aligned subtree. Threads may join them ([`join_block`]) before
/// [`Forest::set_blocks`] goes through what is left.
#[must_use]
pub fn blocks(first: u64, tiles: &mut [Partial]) -> impl ExactSizeIterator<Item = &mut [Partial]> {
    let head = before_blocks(first, tiles.len());
    tiles[head..].chunks_exact_mut(BLOCK)
}

/// The tiles before the first block.
fn before_blocks(first: u64, n_tiles: usize) -> usize {
    let head = first.next_multiple_of(BLOCK as u64) - first;
    n_tiles.min(head as usize)
}

/// Joins the tiles of a block, into the first one.
pub fn join_block(op: ReduceOp, dtype: DType, mut block: &mut [Partial]) {
    while block.len() > 1 {
        join_pairs(op, dtype, block);
        let half = block.len() / 2;
        block = &mut block[..half];
    }
}

/// One aligned subtree of the tree over tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The subtree covers `2^level` tiles (fewer at the end of the domain).
    pub level: u32,
    /// The number of the subtree within its level.
    pub node: u64,
    /// Its value.
    pub value: Partial,
}

impl Forest {
    /// The forest of neighbouring tiles, the first of which has the number `first`. The tiles lend
    /// their memory to the nodes above them.
    #[must_use]
    pub fn of_tiles(op: ReduceOp, dtype: DType, first: u64, tiles: &mut [Partial]) -> Self {
        let mut forest = Self::default();
        forest.set_tiles(op, dtype, first, tiles);
        forest
    }

    /// Makes this the forest of neighbouring tiles, as [`Forest::of_tiles`].
    pub fn set_tiles(&mut self, op: ReduceOp, dtype: DType, first: u64, tiles: &mut [Partial]) {
        self.trees.clear();
        if let [tile] = *tiles {
            // As below, for the many small arrays of one tile.
            return self.trees.push(Tree {
                level: 0,
                node: first,
                value: tile,
            });
        }
        let (mut nodes, mut first, mut level) = (tiles, first, 0);
        // The trees that end before the nodes of this level; those after it follow them.
        let mut n_before = 0;
        while !nodes.is_empty() {
            let tree = |node, value| Tree { level, node, value };
            if first % 2 == 1 {
                self.trees.insert(n_before, tree(first, nodes[0]));
                n_before += 1;
                nodes = &mut nodes[1..];
                first += 1;
            }
            if nodes.len() % 2 == 1 {
                let last = nodes.len() - 1;
                let node = first + last as u64;
                self.trees.insert(n_before, tree(node, nodes[last]));
                nodes = &mut nodes[..last];
            }
            join_pairs(op, dtype, nodes);
            let n_pairs = nodes.len() / 2;
            nodes = &mut nodes[..n_pairs];
            first /= 2;
            level += 1;
        }
    }

    /// Makes this the forest of neighbouring tiles, as [`Forest::of_tiles`], of which the
    /// [`blocks`] have been joined.
    pub fn set_blocks(&mut self, op: ReduceOp, dtype: DType, first: u64, tiles: &mut [Partial]) {
        let (head, rest) = tiles.split_at_mut(before_blocks(first, tiles.len()));
        self.set_tiles(op, dtype, first, head);
        let first = first + head.len() as u64;
        let (blocks, tail) = rest.as_chunks::<BLOCK>();
        for (node, block) in (first / BLOCK as u64..).zip(blocks) {
            let (level, value) = (BLOCK.ilog2(), block[0]);
            self.push(op, dtype, Tree { level, node, value });
        }
        for (node, &value) in (first + (blocks.len() * BLOCK) as u64..).zip(tail) {
            let level = 0;
            self.push(op, dtype, Tree { level, node, value });
        }
    }

    /// A forest from its subtrees, as [`Forest::trees`] gave them.
    #[must_use]
    pub fn from_trees(trees: Vec<Tree>) -> Self {
        Self { trees }
    }

    /// The subtrees, ascending.
    #[must_use]
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Appends the neighbouring range `next`, which begins where this one ends.
    pub fn join(&mut self, op: ReduceOp, dtype: DType, next: &Self) {
        for &tree in &next.trees {
            self.push(op, dtype, tree);
        }
    }

    fn push(&mut self, op: ReduceOp, dtype: DType, mut tree: Tree) {
        while let Some(&last) = self.trees.last() {
            let are_siblings =
                last.level == tree.level && last.node % 2 == 0 && last.node + 1 == tree.node;
            if !are_siblings {
                break;
            }
            self.trees.pop();
            tree = Tree {
                level: tree.level + 1,
                node: tree.node / 2,
                value: join(op, dtype, last.value, tree.value),
            };
        }
        self.trees.push(tree);
    }

    /// The value of the whole domain, when the forest covers all of its tiles; the identity when
    /// there are none.
    #[must_use]
    pub fn finish(&self, op: ReduceOp, dtype: DType) -> Partial {
        // Beyond the end there is nothing, so the remaining trees join from the right.
        let mut trees = self.trees.iter().rev();
        match trees.next() {
            None => identity(op, dtype),
            Some(last) => trees.fold(last.value, |right, tree| join(op, dtype, tree.value, right)),
        }
    }
}

/// Joins neighbours: element `i` becomes the join of `2 i` and `2 i + 1`. The type is known inside
/// the loop, since there are a thousand tiles for a million rows.
fn join_pairs(op: ReduceOp, dtype: DType, nodes: &mut [Partial]) {
    let undefined = || -> ! { panic!("the verifier admits no `{}` of {dtype}", op.name()) };
    match op {
        ReduceOp::Sum => {
            with_type!(Numeric dtype, T => pairwise(nodes, of_elements(T::add)), else undefined())
        }
        ReduceOp::Prod => {
            with_type!(Numeric dtype, T => pairwise(nodes, of_elements(T::mul)), else undefined())
        }
        ReduceOp::Min => {
            with_type!(Ordered dtype, T => pairwise(nodes, of_elements(<T as OrderedOps>::min)), else undefined())
        }
        ReduceOp::Max => {
            with_type!(Ordered dtype, T => pairwise(nodes, of_elements(<T as OrderedOps>::max)), else undefined())
        }
        ReduceOp::Any => pairwise(nodes, of_elements(bool::or)),
        ReduceOp::All => pairwise(nodes, of_elements(bool::and)),
        ReduceOp::ArgMin | ReduceOp::ArgMax => pairwise(nodes, |a, b| match b.index {
            // Most tiles have nothing that is better than what was before
            // (`blocks/loops/tiled.rs`).
            u64::MAX => a,
            _ => join(op, dtype, a, b),
        }),
    }
}

fn pairwise(nodes: &mut [Partial], join: impl Fn(Partial, Partial) -> Partial) {
    for i in 0..nodes.len() / 2 {
        nodes[i] = join(nodes[2 * i], nodes[2 * i + 1]);
    }
}

/// The join of results by that of their elements.
#[inline]
fn of_elements<T: Element>(join: impl Fn(T, T) -> T) -> impl Fn(Partial, Partial) -> Partial {
    move |a, b| Partial {
        bits: join(T::from_bits(a.bits), T::from_bits(b.bits)).to_bits(),
        index: 0,
    }
}

/// The element that a reduction of elements of type `dtype` writes to its argument.
#[must_use]
pub fn result(op: ReduceOp, dtype: DType, partial: Partial) -> Value {
    match op {
        ReduceOp::ArgMin | ReduceOp::ArgMax => (partial.index as i64).to_value(),
        ReduceOp::Sum
        | ReduceOp::Prod
        | ReduceOp::Min
        | ReduceOp::Max
        | ReduceOp::Any
        | ReduceOp::All => Value::from_bits(dtype, partial.bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles(dtype: DType, n: usize) -> Vec<Partial> {
        let value =
            |i: usize| 1.0 / (1.0 + i as f64) * if i.is_multiple_of(3) { -1.0e8 } else { 1.0 };
        (0..n)
            .map(|i| Partial {
                bits: scalar::from_f64(dtype, value(i)).bits(),
                index: 0,
            })
            .collect()
    }

    /// The tree as the module's text defines it, without forests.
    fn whole(
        (op, dtype): (ReduceOp, DType),
        tiles: &[Partial],
        level: u32,
        node: usize,
    ) -> Option<Partial> {
        if level == 0 {
            return tiles.get(node).copied();
        }
        let left = whole((op, dtype), tiles, level - 1, 2 * node)?;
        Some(match whole((op, dtype), tiles, level - 1, 2 * node + 1) {
            Some(right) => join(op, dtype, left, right),
            None => left,
        })
    }

    #[test]
    fn any_cut_into_ranges_gives_the_bits_of_the_whole() {
        let sums = [
            DType::F32,
            DType::F64,
            DType::ComplexF32,
            DType::ComplexF64,
            DType::I32,
        ];
        let others = [(ReduceOp::Prod, DType::F64), (ReduceOp::Max, DType::F32)];
        let sums = sums.map(|dtype| (ReduceOp::Sum, dtype));
        for (op, dtype) in sums.into_iter().chain(others) {
            for n in 0..40 {
                check_cuts(op, dtype, n);
            }
        }
    }

    fn check_cuts(op: ReduceOp, dtype: DType, n: usize) {
        let tiles = tiles(dtype, n);
        let expected = whole((op, dtype), &tiles, 6, 0).unwrap_or(identity(op, dtype));
        for a in 0..=n {
            for b in a..=n {
                let part = |range: std::ops::Range<usize>| {
                    let mut own = tiles[range.clone()].to_vec();
                    Forest::of_tiles(op, dtype, range.start as u64, &mut own)
                };
                let mut forest = part(0..a);
                let mut tail = part(a..b);
                tail.join(op, dtype, &part(b..n));
                assert_eq!(tail, part(a..n), "the subtrees are the largest there are");
                forest.join(op, dtype, &tail);
                assert_eq!(
                    forest.finish(op, dtype),
                    expected,
                    "{op:?} of {n} tiles of {dtype}, cut at {a} and {b}"
                );
            }
        }
    }

    #[test]
    fn blocks_that_threads_have_joined_give_the_same_forest() {
        for (op, dtype) in [(ReduceOp::Sum, DType::F64), (ReduceOp::Max, DType::F32)] {
            for (first, n) in [
                (0, 0),
                (0, 127),
                (0, 128),
                (0, 1000),
                (1, 127),
                (5, 700),
                (127, 1),
                (128, 256),
                (200, 1111),
            ] {
                let tiles = tiles(dtype, n);
                let expected = Forest::of_tiles(op, dtype, first, &mut tiles.clone());
                let mut joined = tiles;
                blocks(first, &mut joined).for_each(|block| join_block(op, dtype, block));
                let mut forest = Forest::default();
                forest.set_blocks(op, dtype, first, &mut joined);
                assert_eq!(forest, expected, "{n} tiles from {first} on");
            }
        }
    }

    #[test]
    fn argmin_takes_the_first_and_prefers_nan() {
        let (op, dtype) = (ReduceOp::ArgMin, DType::F64);
        let partial = |x: f64, index| Partial {
            bits: x.to_value().bits(),
            index,
        };
        let best = |a, b| join(op, dtype, a, b).index;
        assert_eq!(best(partial(1.0, 3), partial(1.0, 2)), 2);
        assert_eq!(best(partial(1.0, 3), partial(0.5, 9)), 9);
        assert_eq!(best(partial(f64::INFINITY, 0), identity(op, dtype)), 0);
        assert_eq!(best(partial(-1.0, 0), partial(f64::NAN, 7)), 7);
        assert_eq!(best(partial(-0.0, 4), partial(0.0, 1)), 1);
    }
}
