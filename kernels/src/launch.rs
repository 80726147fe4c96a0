//! What a kernel needs besides its text: where the data of this piece lies.
//!
//! A [`Launch`] binds each argument to an [`Operand`] and each domain to an [`Extent`].
//! The ways to run a kernel (`reference`, `blocks`) all take the same launch, so they can be
//! compared with each other.

use crate::element::Value;
use crate::packed::{PackedStructure, PackedValues, end_of_advance};
use crate::reduce::Partial;
use crate::tiles::Tiles;
use std::ops::Range;

/// The rows of one domain that this piece holds: flat, row-major indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The global index of the first row; the first one of a tile where the loop reduces.
    pub start: u64,
    /// The number of rows.
    pub len: u64,
    /// The tiles of the domain, by which rows are joined where the loop reduces.
    pub tiles: Tiles,
}

/// How the flat index of a row becomes an address: `data + sum(index[d] * strides[d])`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of dimensions in use.
    pub rank: u8,
    /// The lengths of the dimensions (of this piece).
    pub dims: [usize; 4],
    /// The distance, in elements, between neighbours along each dimension; 0 repeats an element.
    pub strides: [isize; 4],
}

impl Layout {
    /// A run of `len` neighbouring elements.
    #[must_use]
    pub const fn contiguous(len: usize) -> Self {
        Self {
            rank: 1,
            dims: [len, 1, 1, 1],
            strides: [1, 0, 0, 0],
        }
    }

    /// Whether the flat index is the distance from `data`.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.is_even(1)
    }

    /// Whether each row is this many elements behind the one before it.
    #[must_use]
    pub(crate) fn is_even(&self, step: isize) -> bool {
        let mut expected = step;
        for d in (0..self.rank as usize).rev() {
            if self.dims[d] != 1 && self.strides[d] != expected {
                return false;
            }
            expected *= self.dims[d] as isize;
        }
        true
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.dims[..self.rank as usize].iter().product()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The distance, in elements, of the element with this flat index from `data`.
    #[must_use]
    pub fn offset(&self, mut flat: usize) -> isize {
        let mut offset = 0;
        for d in (0..self.rank as usize).rev() {
            offset += (flat % self.dims[d]) as isize * self.strides[d];
            flat /= self.dims[d];
        }
        offset
    }
}

/// The data of one argument. Pointers are valid for the run; see [`crate::blocks`] for who
/// promises that.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// For `Array`: the element of local row 0 and the way to the others.
    Array {
        /// The element of local row 0.
        data: *mut u8,
        /// The way to the others.
        layout: Layout,
    },
    /// For `Scalar`.
    Scalar {
        /// The element.
        data: *mut u8,
    },
    /// For `Reduction`: one slot per tile that the extent touches, written by the run.
    Reduction {
        /// The slot of the first tile of the extent.
        partials: *mut Partial,
    },
    /// For `Gather`: index `i` is `own[i]` if `i < own_len`, else `ghosts[i - own_len]`; of a
    /// matrix, `width` elements each.
    Gather {
        /// Elements, or rows, this rank owns.
        own: *const u8,
        /// How many.
        own_len: usize,
        /// Copies of those that other ranks own.
        ghosts: *const u8,
        /// The elements of a row of a matrix, which is that of the domain; 1 for a vector.
        width: usize,
    },
    /// For `Entries`: the entry of the first position of the structure.
    Entries {
        /// The entry at `pos[0]`.
        data: *const u8,
    },
    /// For `Entries`, in place of them: the matrix in packed form. The product does not read the
    /// `Structure` operand then.
    Packed(Packed),
    /// For `Entries`, in place of them, on a device: the matrix in slices. The product does not
    /// read the `Structure` operand then.
    Sliced(Sliced),
    /// For `Structure`.
    Structure(Structure),
    /// For `DenseRows`.
    DenseRows {
        /// Element 0 of local row 0.
        data: *const u8,
        /// The way to element 0 of the other rows.
        layout: Layout,
        /// Elements of a row.
        columns: usize,
        /// The distance, in elements, between columns.
        column_stride: isize,
    },
}

/// The structure of the rows of a sparse matrix on one piece.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// `rows + 1` positions that never decrease; row `i` has the entries
    /// `pos[i] - pos[0] .. pos[i + 1] - pos[0]` of `crd` and of the entries.
    pub pos: *const u64,
    /// Local column indices: each is a valid index of the `Gather` operand it is used with.
    pub crd: *const u32,
    /// The number of rows.
    pub rows: usize,
    /// The number of entries.
    pub entries: usize,
    /// Whether every row has one entry; `false` where that is not known.
    pub singles: bool,
    /// How many rows before its own, and how many behind it, a row's columns may lie, in rows that
    /// name no ghosts; the largest number where that is not known.
    pub below: usize,
    /// See `below`.
    pub above: usize,
}

impl Operand {
    /// The first `len` elements of a `Gather` operand, where they lie side by side.
    pub(crate) fn side_by_side(&self, len: usize) -> Option<*const u8> {
        match *self {
            Self::Gather {
                own,
                own_len,
                ghosts,
                ..
            } if len <= own_len || ghosts.is_null() => Some(own),
            _ => None,
        }
    }
}

impl Structure {
    /// The largest distances of a row's columns from the row, before it and behind it, among
    /// these rows.
    #[must_use]
    pub fn reach(rows: Range<usize>, pos: &[u64], crd: &[u32]) -> (usize, usize) {
        let (mut below, mut above) = (0, 0);
        let mut row = rows.start;
        while row < rows.end {
            let entries = (pos[row] - pos[0]) as usize..(pos[row + 1] - pos[0]) as usize;
            for &column in &crd[entries] {
                below = below.max(row.saturating_sub(column as usize));
                above = above.max((column as usize).saturating_sub(row));
            }
            // Rows whose columns go along with them reach as far as this one.
            row = end_of_advance(pos, crd, row + 1..rows.end, (1, 1));
        }
        (below, above)
    }
}

/// A piece of a sparse matrix in packed form: see [`crate::packed`].
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    /// Where the rows have their entries.
    pub structure: *const PackedStructure,
    /// Which forms the rows have, for the values of the moment.
    pub values: *const PackedValues,
    /// What [`PackedStructure::fill_columns`] has filled.
    pub columns: *const u8,
    /// What [`PackedValues::fill`] has filled.
    pub data: *const u8,
}

/// A piece of a sparse matrix in the order of [`Slices`](crate::device::Slices), in memory of a
/// device.
#[derive(Clone, Copy, Debug)]
pub struct Sliced {
    /// Where the slices lie, two words each.
    pub slices: *const u64,
    /// Where the rows have their entries.
    pub rows: *const u64,
    /// Their columns.
    pub columns: *const u32,
    /// The entries.
    pub values: *const u8,
    /// For each slice whether all rows have the same values.
    pub uniform: *const u32,
}

/// All bindings of one run of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// One for each domain number that the kernel's loops name.
    pub domains: &'a [Extent],
    /// One for each argument.
    pub operands: &'a [Operand],
    /// One for each parameter.
    pub params: &'a [Value],
    /// The length of a tile of a vector: the order of summation along the rows of a dense matrix.
    pub tile_len: usize,
}
