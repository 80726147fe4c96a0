//! Forests as words: the partial results of all reductions of a task, as one message.
//!
//! Each reduction has a header (what it does, the room it has, the trees that are there) and room
//! for as many trees as any range of tiles can have, so a message has the same length on every
//! rank, and says itself how it is joined. Joining is [`Forest::join`], exactly associative.

use sparsefuse_kernels::reduce::{Forest, Partial, Tree};
use sparsefuse_kernels::{DType, ReduceOp};

/// The words of a tree: level, node, and the value in three.
const TREE: usize = 5;
/// The words of a header: operation and type, room for trees, trees.
const HEADER: usize = 3;

/// What is reduced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    pub(crate) op: ReduceOp,
    /// The type of the elements.
    pub(crate) dtype: DType,
    /// The most trees that the forest of any range of tiles has.
    pub(crate) most_trees: usize,
}

/// The most maximal aligned subtrees that any range of so many tiles has: two for each level.
pub(crate) fn most_trees(tiles: usize) -> usize {
    2 * (usize::BITS - tiles.leading_zeros()) as usize
}

/// The words of some reductions.
pub(crate) fn len(subjects: impl Iterator<Item = Subject>) -> usize {
    subjects
        .map(|subject| HEADER + TREE * subject.most_trees)
        .sum()
}

/// The forests of some reductions as words.
pub(crate) fn to_words<'a>(forests: impl Iterator<Item = (Subject, &'a Forest)>) -> Vec<u64> {
    let mut words = Vec::new();
    for (subject, forest) in forests {
        let Subject {
            op,
            dtype,
            most_trees,
        } = subject;
        words.extend([op as u64 | (dtype as u64) << 32, most_trees as u64, 0]);
        let room = words.len();
        words.resize(room + TREE * most_trees, 0);
        write(forest, &mut words[room - HEADER..]);
    }
    words
}

/// The forests that some words are, in the order of the reductions.
pub(crate) fn from_words(mut words: &[u64]) -> Vec<Forest> {
    let mut forests = Vec::new();
    while !words.is_empty() {
        let (section, rest) = words.split_at(section_len(words));
        forests.push(read(section));
        words = rest;
    }
    forests
}

/// Joins the forests of neighbouring ranks, into those of the later one.
pub(super) fn join(mut earlier: &[u64], mut later: &mut [u64]) {
    while !later.is_empty() {
        let len = section_len(later);
        let (into, rest) = std::mem::take(&mut later).split_at_mut(len);
        let op = ReduceOp::ALL[into[0] as u32 as usize];
        let dtype = DType::ALL[(into[0] >> 32) as usize];
        let mut forest = read(&earlier[..len]);
        forest.join(op, dtype, &read(into));
        write(&forest, into);
        (earlier, later) = (&earlier[len..], rest);
    }
}

/// The words of the first reduction.
fn section_len(words: &[u64]) -> usize {
    words
        .get(1)
        .map_or(0, |&room| HEADER + TREE * room as usize)
}

fn read(section: &[u64]) -> Forest {
    let trees = section[HEADER..]
        .chunks_exact(TREE)
        .take(section[2] as usize);
    let tree = |words: &[u64]| Tree {
        level: words[0] as u32,
        node: words[1],
        value: Partial {
            bits: [words[2], words[3]],
            index: words[4],
        },
    };
    Forest::from_trees(trees.map(tree).collect())
}

/// Writes the trees of a forest behind a header, which learns their number.
fn write(forest: &Forest, section: &mut [u64]) {
    let trees = forest.trees();
    section[2] = trees.len() as u64;
    for (place, tree) in section[HEADER..].chunks_exact_mut(TREE).zip(trees) {
        let Partial { bits, index } = tree.value;
        place.copy_from_slice(&[u64::from(tree.level), tree.node, bits[0], bits[1], index]);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What the ranks of a test reduce: a sum that depends on its order, and a place.
    const SUBJECTS: [(ReduceOp, DType); 2] =
        [(ReduceOp::Sum, DType::F64), (ReduceOp::ArgMin, DType::F64)];

    /// The words of a range of `tiles` tiles.
    pub(in crate::comm) fn of_range(first: usize, last: usize, tiles: usize) -> Vec<u64> {
        let value = |tile: usize| Partial {
            bits: [(1.0 / (tile as f64 + 3.0)).to_bits(), 0],
            index: tile as u64,
        };
        let forests = SUBJECTS.map(|(op, dtype)| {
            let mut tiles: Vec<_> = (first..last).map(value).collect();
            Forest::of_tiles(op, dtype, first as u64, &mut tiles)
        });
        let most_trees = most_trees(tiles);
        let subjects = SUBJECTS.map(|(op, dtype)| Subject {
            op,
            dtype,
            most_trees,
        });
        to_words(subjects.into_iter().zip(&forests))
    }

    #[test]
    fn a_header_names_every_operation_and_type() {
        for (number, op) in ReduceOp::ALL.into_iter().enumerate() {
            assert_eq!(op as usize, number);
        }
        for (number, dtype) in DType::ALL.into_iter().enumerate() {
            assert_eq!(dtype as usize, number);
        }
    }

    #[test]
    fn ranks_joined_in_any_tree_give_the_forest_of_all_tiles() {
        const TILES: usize = 37;
        let joined = |earlier: &[u64], mut later: Vec<u64>| {
            join(earlier, &mut later);
            later
        };
        let whole = of_range(0, TILES, TILES);
        for i in 0..=TILES {
            for j in i..=TILES {
                let a = of_range(0, i, TILES);
                let b = of_range(i, j, TILES);
                let c = of_range(j, TILES, TILES);
                let left = joined(&joined(&a, b.clone()), c.clone());
                let right = joined(&a, joined(&b, c));
                assert_eq!(from_words(&left), from_words(&whole), "{i} {j}");
                assert_eq!(from_words(&right), from_words(&whole), "{i} {j}");
            }
        }
    }
}
