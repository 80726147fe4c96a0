//! Windows: up to 256 neighbouring rows without a common pattern, by nodes.
//!
//! A **node** is up to four neighbouring rows with equal columns, as the rows of several unknowns
//! at one point of a mesh are, or those of a matrix of dense blocks (PETSc calls them *inodes*,
//! nodes with identical patterns). Their columns are stored once, and each element of `x` that is
//! read serves all of their rows.

use super::{GROUP, extend};
use std::collections::TryReserveError;
use std::ops::Range;

/// The most rows of a node.
pub(super) const HIGHEST: usize = 4;

/// Rows without a common pattern; their columns lie side by side in groups of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The first of its nodes in [`Nodes`], and their number.
    pub(super) first_node: u32,
    pub(super) n_nodes: u32,
    /// How many of them have more than one row.
    pub(super) n_higher: u32,
    /// The number of rows.
    pub(crate) len: u32,
    pub(crate) width: Width,
    /// The column that distances are counted from.
    pub(crate) base: u32,
    /// Where its columns begin.
    pub(crate) columns: usize,
}

/// How the columns of a window are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    U8,
    U16,
    U32,
    /// Four bytes, some of them ghosts.
    Ghosts,
}

impl Width {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::Ghosts => 4,
        }
    }

    pub(super) fn read(self, bytes: &[u8]) -> u32 {
        match *bytes {
            [byte] => u32::from(byte),
            [a, b] => u32::from(u16::from_ne_bytes([a, b])),
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
            _ => unreachable!("columns are stored in 1, 2 or 4 bytes"),
        }
    }

    pub(super) fn write(self, distance: u32, target: &mut [u8]) {
        match self {
            Self::U8 => target.copy_from_slice(&(distance as u8).to_ne_bytes()),
            Self::U16 => target.copy_from_slice(&(distance as u16).to_ne_bytes()),
            Self::U32 | Self::Ghosts => target.copy_from_slice(&distance.to_ne_bytes()),
        }
    }
}

/// The nodes of all windows of a part: those of a window from high to low, those of one height from
/// long to short.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// The first row of each, as a distance from the window's first one.
    rows: Vec<u8>,
    /// The numbers of their rows.
    heights: Vec<u8>,
    /// The numbers of entries of each of their rows.
    lengths: Vec<u32>,
}

/// The nodes of one window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodesOf<'a> {
    rows: &'a [u8],
    heights: &'a [u8],
    lengths: &'a [u32],
    n_higher: usize,
}

/// Nodes of one row, from long to short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleRows<'a> {
    pub(crate) rows: &'a [u8],
    /// The numbers of their entries.
    pub(crate) lengths: &'a [u32],
}

/// Neighbouring nodes of one height: [`side_by_side`] of them, or what is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    /// The first row of each.
    pub(crate) rows: &'a [u8],
    pub(crate) height: usize,
    /// The lengths of their rows, the longest first.
    pub(crate) lengths: &'a [u32],
}

impl Nodes {
    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.len() + self.heights.len() + size_of_val(&*self.lengths)
    }

    /// Adds the nodes of a window: first row, height and length of each, in any order.
    /// Returns how many of them have more than one row.
    pub(super) fn add(&mut self, mut nodes: Vec<(u8, u8, u32)>) -> Result<usize, TryReserveError> {
        nodes.sort_unstable_by_key(|&(row, height, length)| {
            (u8::MAX - height, u32::MAX - length, row)
        });
        extend(&mut self.rows, nodes.iter().map(|node| node.0))?;
        extend(&mut self.heights, nodes.iter().map(|node| node.1))?;
        extend(&mut self.lengths, nodes.iter().map(|node| node.2))?;
        Ok(nodes.partition_point(|&(_, height, _)| height > 1))
    }

    #[inline]
    pub(super) fn of(&self, window: &Window) -> NodesOf<'_> {
        let first = window.first_node as usize;
        let range = first..first + window.n_nodes as usize;
        NodesOf {
            rows: &self.rows[range.clone()],
            heights: &self.heights[range.clone()],
            lengths: &self.lengths[range],
            n_higher: window.n_higher as usize,
        }
    }
}

impl<'a> NodesOf<'a> {
    /// The nodes of several rows.
    #[inline(always)]
    pub(crate) fn higher(self) -> Self {
        Self {
            rows: &self.rows[..self.n_higher],
            heights: &self.heights[..self.n_higher],
            lengths: &self.lengths[..self.n_higher],
            ..self
        }
    }

    /// The others, which are stored behind those.
    #[inline(always)]
    pub(crate) fn single(self) -> SingleRows<'a> {
        SingleRows {
            rows: &self.rows[self.n_higher..],
            lengths: &self.lengths[self.n_higher..],
        }
    }

    /// The groups in the order in which they are stored, and behind those of a height what is left.
    #[inline(always)]
    pub(crate) fn groups(self) -> impl Iterator<Item = Group<'a>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let height = usize::from(*self.heights.get(at)?);
            let end = self.heights.len().min(at + side_by_side(height));
            let of_height = self.heights[at..end].iter();
            let n = of_height
                .take_while(|&&of| usize::from(of) == height)
                .count();
            let nodes = at..at + n;
            at += n;
            Some(Group {
                rows: &self.rows[nodes.clone()],
                height,
                lengths: &self.lengths[nodes],
            })
        })
    }

    /// The number of entries.
    pub(super) fn entries(self) -> usize {
        let nodes = self.heights.iter().zip(self.lengths);
        nodes
            .map(|(&height, &length)| usize::from(height) * length as usize)
            .sum()
    }

    /// The rows of nodes with more than one.
    pub(super) fn rows_of_several(self) -> usize {
        let heights = self.heights.iter().filter(|&&height| height > 1);
        heights.map(|&height| usize::from(height)).sum()
    }

    /// The number of columns that are stored.
    pub(super) fn columns(self) -> usize {
        self.lengths.iter().map(|&length| length as usize).sum()
    }

    /// Visits the columns in the order in which they are stored: the rows within the window that
    /// have it, and the number of its entry within these rows. For each group, those that all of
    /// its nodes have, side by side; then the rest of each node.
    pub(super) fn for_each_column(self, mut visit: impl FnMut(Range<usize>, usize)) {
        for group in self.groups() {
            let common = group.common_length();
            let rows_of = |row: u8| usize::from(row)..usize::from(row) + group.height;
            for k in 0..common {
                group.rows.iter().for_each(|&row| visit(rows_of(row), k));
            }
            for (&row, &length) in group.rows.iter().zip(group.lengths) {
                (common..length as usize).for_each(|k| visit(rows_of(row), k));
            }
        }
    }

    /// Visits the entries in the order in which their values are stored: the row within the window,
    /// and the number of the entry within the row. As [`Self::for_each_column`], but for each
    /// column of a group the first rows of its nodes, then the second ones, and so on.
    pub(super) fn for_each_entry(self, mut visit: impl FnMut(usize, usize)) {
        for group in self.groups() {
            let common = group.common_length();
            for k in 0..common {
                for of_node in 0..group.height {
                    for &row in group.rows {
                        visit(usize::from(row) + of_node, k);
                    }
                }
            }
            for (&row, &length) in group.rows.iter().zip(group.lengths) {
                for k in common..length as usize {
                    (0..group.height).for_each(|of_node| visit(usize::from(row) + of_node, k));
                }
            }
        }
    }
}

impl Group<'_> {
    /// The entries of a row that lie side by side with those of the other nodes: none where fewer
    /// nodes are left.
    #[inline(always)]
    pub(crate) fn common_length(&self) -> usize {
        if self.lengths.len() == side_by_side(self.height) {
            self.lengths[self.lengths.len() - 1] as usize
        } else {
            0
        }
    }
}

/// The nodes of a group: eight, or half as many of those with more than two rows, which are enough
/// independent sums and leave few nodes over.
#[inline(always)]
pub(crate) const fn side_by_side(height: usize) -> usize {
    if height > 2 { GROUP / 2 } else { GROUP }
}
