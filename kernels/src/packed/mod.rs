//! Packed pieces: the form of a sparse matrix that the product kernels read.
//!
//! A piece is packed in two steps, because values change more often than structures.
//! [`PackedStructure::plan`] looks at the columns once, [`PackedValues::plan`] at the values. Both
//! say how many bytes they need and fill memory of the caller, in parallel.
//!
//! Rows take one of four forms:
//!
//! - a **stencil**: neighbouring rows with equal offsets (column minus row) and equal values, which
//!   are stored once;
//! - **diagonals**: neighbouring rows with equal offsets and values of their own, eight rows side
//!   by side: the bytes of the DIA format, as one stream;
//! - a **paced run**: neighbouring rows whose columns advance by two each row or by one every
//!   second row, as those of restrictions and interpolations; stencils where their values are
//!   equal;
//! - a **window** of up to 256 other rows, the longest first, eight side by side and without
//!   padding; columns are distances from the window's first one, in 1, 2 or 4 bytes, and stored
//!   once for up to four neighbouring rows with equal columns (a *node*, `window.rs`).
//!
//! Where all values of a matrix outside its stencils are among 256, and too many for the L2 cache,
//! they are stored as one byte each, the number of the value in a dictionary.
//!
//! Runs of eight rows are worth a descriptor, by bytes and by time; who packs compares the bytes of
//! the whole with those of the plain form.
//!
//! The order of the entries within a row is kept, so a product has the bits of the plain form; and
//! as nothing is padded, no element of `x` has an effect but those that the row's entries name.

mod advance;
mod forms;
mod paced;
mod plan;
mod rows;
mod strips;
mod structure;
#[cfg(test)]
mod tests;
mod values;
mod window;
mod words;

pub(crate) use self::advance::end_of_advance;
pub use self::rows::PlainRows;
pub use self::structure::PackedStructure;
pub(crate) use self::structure::{COLUMN_SLACK, Pace, Paced, Pattern};
pub use self::values::PackedValues;
pub(crate) use self::values::{Form, Segment, ValuesPart};
pub(crate) use self::window::{Group, NodesOf, SingleRows, Width, Window, side_by_side};
pub use self::words::Words;

use crate::element::{DType, Element};
use crate::workers::Workers;
use std::collections::TryReserveError;
use std::sync::Mutex;

/// Rows of a part: parts are packed independently of each other, by different threads.
pub(crate) const PART: usize = 1 << 16;
/// The most rows of a window; blocks that begin and end at its multiples are the fastest.
pub(crate) const WINDOW: usize = 256;
/// Rows that lie side by side in memory.
pub(crate) const GROUP: usize = 8;

/// Whether products of matrices with such entries have packed kernels.
#[must_use]
pub const fn is_packable(dtype: DType) -> bool {
    match dtype {
        DType::F32 | DType::F64 | DType::ComplexF32 | DType::ComplexF64 => true,
        DType::I32 | DType::I64 | DType::U32 | DType::U64 | DType::Bool => false,
    }
}

/// How a matrix would be packed; `None` for elements that no packed product reads, and without
/// memory to find out. The columns of
/// `rows` are looked at once, and so are the values.
#[must_use]
pub fn summary<T: Element>(
    rows: PlainRows<'_>,
    values: &[T],
    workers: &Workers,
) -> Option<Summary> {
    let words = Words::of_slice(values)?;
    let structure = PackedStructure::plan(rows, workers).ok()?;
    let values = PackedValues::plan(&structure, rows, words, workers).ok()?;
    Some(values.summary(&structure))
}

/// Adds an item where there is memory for it.
fn push<T>(items: &mut Vec<T>, item: T) -> Result<(), TryReserveError> {
    items.try_reserve(1)?;
    items.push(item);
    Ok(())
}

/// Adds items where there is memory for them.
fn extend<T>(
    items: &mut Vec<T>,
    new: impl ExactSizeIterator<Item = T>,
) -> Result<(), TryReserveError> {
    items.try_reserve(new.len())?;
    items.extend(new);
    Ok(())
}

/// Neighbouring stretches of `target`, of these lengths, for the threads that fill them.
fn split<T>(mut target: &mut [T], lens: impl Iterator<Item = usize>) -> Vec<Mutex<&mut [T]>> {
    let mut stretches = Vec::new();
    for len in lens {
        let (own, others) = target.split_at_mut(len);
        stretches.push(Mutex::new(own));
        target = others;
    }
    stretches
}

/// How the rows and entries of a piece are packed, and what that takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows that are part of a stencil, of diagonals, of windows, of paced runs.
    pub rows: [usize; 4],
    /// Their entries.
    pub entries: [usize; 4],
    /// Rows of windows whose columns are stored once for several neighbouring rows.
    pub in_nodes: usize,
    /// The number of values in the dictionary; 0 without one.
    pub dictionary: usize,
    /// The bytes that a product reads of the matrix.
    pub bytes: usize,
}
