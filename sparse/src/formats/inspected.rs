//! What was found out of the values of a matrix, kept with it.

use std::fmt;
use std::sync::OnceLock;

/// Two entries that would be each other's conjugates in a symmetric (Hermitian) matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asymmetry {
    /// The row of the first entry, and the column of the other one.
    pub row: usize,
    /// The column of the first entry, and the row of the other one.
    pub column: usize,
    /// Real and imaginary part of the entry in `row`.
    pub value: (f64, f64),
    /// Real and imaginary part of the entry in `column`; 0 where none is stored.
    pub mirror: (f64, f64),
}

impl fmt::Display for Asymmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |(re, im): (f64, f64)| match im == 0.0 {
            true => format!("{re:e}"),
            false => format!("{re:e}{im:+e}i"),
        };
        let (row, column) = (self.row, self.column);
        let (value, mirror) = (show(self.value), show(self.mirror));
        if row == column {
            return write!(f, "{value} on the diagonal, in row {row}");
        }
        write!(
            f,
            "{value} in row {row}, column {column} and {mirror} in row {column}, column {row}"
        )
    }
}

/// An entry that is infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotFinite {
    /// The row of the entry.
    pub row: usize,
    /// The column of the entry.
    pub column: usize,
    /// The entry; of a complex one the part that is not finite.
    pub value: f64,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in row {}, column {}",
            self.value, self.row, self.column
        )
    }
}

/// What was found once, kept with a matrix and its clones.
#[derive(Debug, Default)]
pub(crate) struct Inspected {
    pub(crate) norm_max: OnceLock<f64>,
    pub(crate) sample: OnceLock<Option<Asymmetry>>,
}
