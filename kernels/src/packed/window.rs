//! Windows: up to 256 neighbouring rows without a common pattern, by nodes.
//!
//! A **node** is up to four neighbouring rows with equal columns, as the rows of several unknowns
//! at one point of a mesh are, or those of a matrix of dense blocks (PETSc calls them *inodes*,
//! nodes with identical patterns). Their columns are stored once, and each element of `x` that is
//! read serves all of their rows.

use super::strips::Strip;
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
}

impl Window {
    /// Writes the columns to `target`, which begins with the first of them. A row's entries have
    /// their columns at `crd` from `start_of(row)` on, the row counted from the window's first.
    pub(super) fn fill(
        &self,
        nodes: NodesOf<'_>,
        crd: &[u32],
        start_of: impl Fn(usize) -> usize,
        target: &mut [u8],
    ) {
        match self.width {
            Width::U8 => self.fill_as(nodes, crd, start_of, target, |distance| [distance as u8]),
            Width::U16 => self.fill_as(nodes, crd, start_of, target, |distance| {
                (distance as u16).to_ne_bytes()
            }),
            Width::U32 | Width::Ghosts => {
                self.fill_as(nodes, crd, start_of, target, u32::to_ne_bytes);
            }
        }
    }

    fn fill_as<const SIZE: usize>(
        &self,
        nodes: NodesOf<'_>,
        crd: &[u32],
        start_of: impl Fn(usize) -> usize,
        target: &mut [u8],
        store: impl Fn(u32) -> [u8; SIZE],
    ) {
        let (target, _) = target.as_chunks_mut::<SIZE>();
        let mut at = 0;
        nodes.for_each_column_strip(start_of, |of_node, strip| {
            if of_node == 0 {
                strip.interleave(crd, &mut target[at..], |column| store(column - self.base));
                at += strip.len();
            }
        });
    }

    /// The inverse of [`Self::fill`]: writes the columns of each row to `crd`.
    pub(super) fn unpack(
        &self,
        nodes: NodesOf<'_>,
        columns: &[u8],
        start_of: impl Fn(usize) -> usize,
        crd: &mut [u32],
    ) {
        match self.width {
            Width::U8 => self.unpack_as(nodes, columns, start_of, crd, |[byte]| byte.into()),
            Width::U16 => self.unpack_as(nodes, columns, start_of, crd, |bytes| {
                u16::from_ne_bytes(bytes).into()
            }),
            Width::U32 | Width::Ghosts => {
                self.unpack_as(nodes, columns, start_of, crd, u32::from_ne_bytes);
            }
        }
    }

    fn unpack_as<const SIZE: usize>(
        &self,
        nodes: NodesOf<'_>,
        columns: &[u8],
        start_of: impl Fn(usize) -> usize,
        crd: &mut [u32],
        load: impl Fn([u8; SIZE]) -> u32,
    ) {
        let (columns, _) = columns.as_chunks::<SIZE>();
        // Where this strip begins, and where it ends.
        let (mut at, mut end) = (0, 0);
        nodes.for_each_column_strip(start_of, |of_node, strip| {
            if of_node == 0 {
                (at, end) = (end, end + strip.len());
            }
            strip.separate(&columns[at..end], crd, |bytes| self.base + load(bytes));
        });
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
            let from_high = u64::from(u8::MAX - height);
            from_high << 40 | u64::from(u32::MAX - length) << 8 | u64::from(row)
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

    /// Visits the columns in the order in which they are stored, as strips: of each group first the
    /// entries that all of its nodes have, then the rest of each node. A strip is visited once for
    /// each row of a node, with its number among these: all of them have the same columns.
    /// `start_of` says where a row's entries begin, the row counted from the first of the window.
    pub(super) fn for_each_column_strip(
        self,
        start_of: impl Fn(usize) -> usize,
        mut visit: impl FnMut(usize, &Strip),
    ) {
        self.for_each_strip_of_nodes(|nodes, height, entries| {
            for of_node in 0..height {
                let starts = nodes.iter().map(|&row| {
                    let row = usize::from(row) + of_node;
                    start_of(row) + entries.start
                });
                visit(of_node, &Strip::new(entries.len(), starts));
            }
        });
    }

    /// Visits the entries in the order in which their values are stored: as the columns, but with
    /// all rows of the nodes, first the first row of each, then the second ones, and so on.
    pub(super) fn for_each_strip(
        self,
        start_of: impl Fn(usize) -> usize,
        mut visit: impl FnMut(&Strip),
    ) {
        self.for_each_strip_of_nodes(|nodes, height, entries| {
            let starts = (0..height)
                .flat_map(|of_node| nodes.iter().map(move |&row| usize::from(row) + of_node));
            let starts = starts.map(|row| start_of(row) + entries.start);
            visit(&Strip::new(entries.len(), starts));
        });
    }

    /// Neighbouring nodes, their height, and the numbers of entries that lie side by side.
    fn for_each_strip_of_nodes(self, mut visit: impl FnMut(&[u8], usize, Range<usize>)) {
        for group in self.groups() {
            let common = group.common_length();
            if common > 0 {
                visit(group.rows, group.height, 0..common);
            }
            for (row, &length) in group.rows.iter().zip(group.lengths) {
                let rest = common..length as usize;
                if !rest.is_empty() {
                    visit(std::slice::from_ref(row), group.height, rest);
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
