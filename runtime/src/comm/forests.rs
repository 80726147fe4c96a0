//! Forests as words: the partial results of all reductions of a task, as one message.
//!
//! Each reduction has a header (what it does, the room it has, the trees that are there) and room
//! for as many trees as any range of tiles can have, so a message has the same length on every
//! rank, and says itself how it is joined. Joining is [`Forest::join`], exactly associative.
//!
//! A rank that has nothing for one of the reductions says so in place of its trees, and one of
//! which any task that was fused with them has failed marks its message; what is joined has the
//! lowest rank of the one, and the mark.

use sparsefuse_kernels::reduce::{Forest, Partial, Tree};
use sparsefuse_kernels::{DType, ReduceOp};

/// The words of a tree: level, node, and the value in three.
const TREE: usize = 5;
/// The words of a header: operation and type, room for trees, trees.
const HEADER: usize = 3;
/// In the first word of a header: a rank has failed in something.
const MARK: u64 = 1 << 63;
/// In the place of the number of trees: a rank has none, and this is its number.
const FAILED: u64 = 1 << 63;

/// What is reduced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    pub(crate) op: ReduceOp,
    /// The type of the elements.
    pub(crate) dtype: DType,
    /// The most trees that the forest of any range of tiles has.
    pub(crate) most_trees: usize,
}

/// The most maximal aligned subtrees that any range of this many tiles has: two for each level.
pub(crate) fn most_trees(tiles: usize) -> usize {
    2 * (usize::BITS - tiles.leading_zeros()) as usize
}

/// The words of some reductions.
pub(crate) fn len(subjects: impl Iterator<Item = Subject>) -> usize {
    subjects
        .map(|subject| HEADER + TREE * subject.most_trees)
        .sum()
}

/// What a rank gives to a reduction: its forest, or its number if it has none.
pub(crate) type Share<F> = Result<F, usize>;

/// The shares of some reductions as words, marked if this rank has failed in something.
pub(crate) fn to_words<'a>(
    shares: impl Iterator<Item = (Subject, Share<&'a Forest>)>,
    has_failed: bool,
) -> Vec<u64> {
    let mark = if has_failed { MARK } else { 0 };
    let mut words = Vec::new();
    for (subject, share) in shares {
        let Subject {
            op,
            dtype,
            most_trees,
        } = subject;
        let kind = op as u64 | (dtype as u64) << 32;
        words.extend([kind | mark, most_trees as u64, 0]);
        let room = words.len();
        words.resize(room + TREE * most_trees, 0);
        match share {
            Ok(forest) => write(forest, &mut words[room - HEADER..]),
            Err(rank) => words[room - 1] = FAILED | rank as u64,
        }
    }
    words
}

/// The shares that some words are, in the order of the reductions.
pub(crate) fn from_words(mut words: &[u64]) -> Vec<Share<Forest>> {
    let mut shares = Vec::new();
    while !words.is_empty() {
        let (section, rest) = words.split_at(section_len(words));
        shares.push(match failed(section) {
            None => Ok(read(section)),
            Some(rank) => Err(rank),
        });
        words = rest;
    }
    shares
}

/// Whether a rank has marked its message.
pub(crate) fn is_marked(words: &[u64]) -> bool {
    words.first().is_some_and(|word| word & MARK != 0)
}

/// The lowest rank that has nothing for a reduction.
fn failed(section: &[u64]) -> Option<usize> {
    (section[2] & FAILED != 0).then_some((section[2] & !FAILED) as usize)
}

/// Joins the forests of neighbouring ranks, into those of the later one. Fails, and leaves them, if
/// they are not those of the same reductions.
pub(super) fn join(mut earlier: &[u64], mut later: &mut [u64]) -> bool {
    if !are_alike(earlier, later) {
        return false;
    }
    while !later.is_empty() {
        let len = section_len(later);
        let (into, rest) = std::mem::take(&mut later).split_at_mut(len);
        let op = ReduceOp::ALL[into[0] as u32 as usize];
        let dtype = DType::ALL[((into[0] & !MARK) >> 32) as usize];
        let other = &earlier[..len];
        match (failed(other), failed(into)) {
            (None, None) => {
                let mut forest = read(other);
                forest.join(op, dtype, &read(into));
                write(&forest, into);
            }
            (None, Some(_)) => {}
            // The ranks of what is earlier are lower ones.
            (Some(_), _) => into[2] = other[2],
        }
        into[0] |= other[0] & MARK;
        (earlier, later) = (&earlier[len..], rest);
    }
    true
}

/// Whether some words are about these reductions.
pub(crate) fn are_about(words: &[u64], subjects: impl Iterator<Item = Subject>) -> bool {
    let none = Forest::default();
    let shares = subjects.map(|subject| (subject, Ok(&none)));
    are_alike(&to_words(shares, false), words)
}

/// Whether two messages are about the same reductions, the first of which is one of this module.
fn are_alike(mut words: &[u64], mut other: &[u64]) -> bool {
    while !words.is_empty() && words.len() == other.len() {
        let len = section_len(words);
        let trees = |section: &[u64]| failed(section).map_or(section[2], |_| 0);
        let is_alike = len <= words.len()
            && words[0] & !MARK == other[0] & !MARK
            && words[1] == other[1]
            && trees(words).max(trees(other)) <= words[1];
        if !is_alike {
            return false;
        }
        (words, other) = (&words[len..], &other[len..]);
    }
    words.is_empty() && other.is_empty()
}

/// The words of the first reduction.
fn section_len(words: &[u64]) -> usize {
    // The words of reductions that do not fit are no length.
    let len = |room: &u64| (*room as usize).saturating_mul(TREE).saturating_add(HEADER);
    words.get(1).map_or(0, len)
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
        to_words(subjects.into_iter().zip(forests.iter().map(Ok)), false)
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

    /// A rank has nothing for the first reduction, another one for none: in any tree the failure is
    /// that of the lowest rank, and the reduction that all have something for is there.
    #[test]
    fn a_reduction_that_a_rank_lacks_fails_alone() {
        let whole = from_words(&of_range(0, 3, 3));
        let lacks = |rank: usize, both: bool| {
            let mut words = of_range(rank, rank + 1, 3);
            words[0] |= MARK;
            words[2] = FAILED | rank as u64;
            if both {
                let len = section_len(&words);
                words[len + 2] = FAILED | rank as u64;
            }
            words
        };
        let joined = |earlier: &[u64], mut later: Vec<u64>| {
            assert!(join(earlier, &mut later));
            later
        };
        let (a, b, c) = (of_range(0, 1, 3), lacks(1, false), lacks(2, false));
        let left = joined(&joined(&a, b.clone()), c.clone());
        let right = joined(&a, joined(&b, c));
        assert!(is_marked(&left) && is_marked(&right) && !is_marked(&a));
        for words in [left, right] {
            assert_eq!(from_words(&words), [Err(1), whole[1].clone()]);
        }
        let both = joined(&joined(&a, b), lacks(2, true));
        assert_eq!(from_words(&both), [Err(1), Err(2)]);
    }

    #[test]
    fn messages_about_other_things_are_not_joined() {
        let one = of_range(0, 3, 3);
        let mut other_kind = one.clone();
        other_kind[0] = ReduceOp::Max as u64;
        let mut too_many = one.clone();
        too_many[2] = 1000;
        for other in [
            vec![],
            vec![1],
            vec![u64::MAX; one.len()],
            other_kind,
            too_many,
        ] {
            let mut later = other.clone();
            assert!(!join(&one, &mut later), "{other:?}");
            assert_eq!(later, other);
        }
    }

    #[test]
    fn ranks_joined_in_any_tree_give_the_forest_of_all_tiles() {
        const TILES: usize = 37;
        let joined = |earlier: &[u64], mut later: Vec<u64>| {
            assert!(join(earlier, &mut later));
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
