//! What is transposed.

use crate::local::rows::Rows;
use std::ops::Range;

/// A transposition of all rows of a matrix, of which some columns are wanted.
#[derive(Clone)]
pub(crate) struct Turn<'a, T> {
    pub(crate) rows: Rows<'a, T>,
    pub(crate) n_cols: usize,
    pub(crate) wanted: Range<usize>,
}
