//! Incomplete elimination of the rows of one rank.
//!
//! Row by row (the IKJ variant; Saad, *Iterative Methods for Sparse Linear Systems*, 2nd edition,
//! Algorithm 10.4): what an elimination would put where the pattern has no place is dropped. A row
//! needs the finished rows that its columns below the diagonal name.
//!
//! A row is worked on in a vector with an element for each column that the rank's rows span, so
//! that a multiple of another row is subtracted without a search. What is subtracted where the row
//! has no place is never read: a row begins with zeros in its places.

use super::pattern::{Pattern, Structure};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve, try_collect};
use sparsefuse_sparse::{LocalRows, Rows};
use std::iter::repeat_n;
use std::ops::Range;

/// How the entries of L follow from those of U.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// l_ik = a_ik / u_kk, of what is left of a_ik.
    General,
    /// l_ik = conj(u_ki) / u_kk: only the upper triangle is read, and pivots must be positive.
    Hermitian,
}

/// A pivot that ends an elimination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pivot<T> {
    /// The row, of all rows.
    pub(crate) row: usize,
    /// What is there.
    pub(crate) value: T,
}

/// Whether a value and its inverse are finite: not that of 0, nor of some subnormal numbers.
pub(crate) fn has_inverse<T: Field>(value: T) -> bool {
    let is_finite = |value: T| {
        let (re, im) = value.parts();
        re.is_finite() && im.is_finite()
    };
    is_finite(value) && is_finite(T::ONE.over(value))
}

impl<T: Field> Pivot<T> {
    /// The error of a pivot that cannot be divided by.
    pub(crate) fn error(&self, op: &'static str) -> Error {
        let (re, im) = self.value.parts();
        let is_number = self.value != T::ZERO && re.is_finite() && im.is_finite();
        let what = match is_number && !has_inverse(self.value) {
            true => "with an inverse",
            false => "other than 0",
        };
        let expected = format!("a finite pivot {what} in row {}", self.row);
        Error::argument(op, expected, self.value.to_string())
    }
}

/// L and U of the rows of one rank, in the order of a [`Pattern`].
#[derive(Clone, Debug)]
pub(crate) struct Factored<T> {
    /// L without its diagonal, which is one.
    pub(crate) lower: LocalRows<T>,
    /// U without its diagonal.
    pub(crate) upper: LocalRows<T>,
    /// The diagonal of U.
    pub(crate) pivots: Vec<T>,
    /// Its inverse.
    pub(crate) inverse: Vec<T>,
}

/// The memory of an elimination: factors without values, and the row that is being eliminated.
pub(crate) struct Memory<T> {
    factored: Factored<T>,
    /// The columns that the rows span, and an element for each.
    span: Range<usize>,
    row: Vec<T>,
    /// Of each row of U how many entries, counted from the first, are still to be mirrored in L.
    left: Vec<usize>,
}

impl<T: Field> Memory<T> {
    /// For the factors of rows on a pattern.
    pub(crate) fn new(first: usize, pattern: Pattern, rule: Rule) -> Result<Self, Error> {
        let span = pattern.span(first..first + pattern.n_rows());
        let row = try_collect(repeat_n(T::ZERO, span.len()))?;
        let Pattern { lower, upper } = pattern;
        let left = match rule {
            Rule::General => Vec::new(),
            Rule::Hermitian => lengths(&upper.pos)?,
        };
        let (n_rows, n_lower, n_upper) = (lower.pos.len() - 1, lower.crd.len(), upper.crd.len());
        let factored = Factored {
            lower: LocalRows {
                pos: lower.pos,
                crd: lower.crd,
                vals: reserve(n_lower)?,
            },
            upper: LocalRows {
                pos: upper.pos,
                crd: upper.crd,
                vals: reserve(n_upper)?,
            },
            pivots: reserve(n_rows)?,
            inverse: reserve(n_rows)?,
        };
        Ok(Self {
            factored,
            span,
            row,
            left,
        })
    }
}

/// The number of entries of each row.
fn lengths(pos: &[u64]) -> Result<Vec<usize>, Error> {
    try_collect(pos.windows(2).map(|pair| (pair[1] - pair[0]) as usize))
}

impl<T: Field> Factored<T> {
    /// No rows, with memory for as many and for about as many entries in each of L and U.
    pub(crate) fn with_capacity(rows: usize, entries: usize) -> Result<Self, Error> {
        Ok(Self {
            lower: LocalRows::try_with_capacity(rows, entries)?,
            upper: LocalRows::try_with_capacity(rows, entries)?,
            pivots: reserve(rows)?,
            inverse: reserve(rows)?,
        })
    }

    /// A copy of the pattern.
    pub(crate) fn pattern(&self) -> Result<Pattern, Error> {
        Ok(Pattern {
            lower: Structure::copied(&self.lower.pos, &self.lower.crd)?,
            upper: Structure::copied(&self.upper.pos, &self.upper.crd)?,
        })
    }

    /// The bytes of both factors.
    pub(crate) fn bytes(&self) -> usize {
        self.lower.bytes() + self.upper.bytes() + 2 * size_of_val(&self.inverse[..])
    }

    /// Zeros where an elimination has ended before.
    fn pad(&mut self) {
        let Self { lower, upper, .. } = self;
        lower.vals.resize(lower.crd.len(), T::ZERO);
        upper.vals.resize(upper.crd.len(), T::ZERO);
        for of_rows in [&mut self.pivots, &mut self.inverse] {
            of_rows.resize(upper.pos.len() - 1, T::ZERO);
        }
    }
}

/// The finished rows of earlier ranks that a rank needs.
pub(crate) struct Earlier<T> {
    /// U without its diagonal, in descending columns.
    upper: LocalRows<T>,
    /// The inverse of U's diagonal.
    inverse: Vec<T>,
    /// As in [`Memory`].
    left: Vec<usize>,
}

impl<T: Field> Earlier<T> {
    pub(crate) fn new(upper: LocalRows<T>, inverse: Vec<T>) -> Result<Self, Error> {
        Ok(Self {
            left: lengths(&upper.pos)?,
            upper,
            inverse,
        })
    }

    /// Those of a rank that needs none.
    pub(crate) fn none() -> Self {
        Self {
            upper: LocalRows::with_capacity(0, 0),
            inverse: Vec::new(),
            left: Vec::new(),
        }
    }
}

/// What the rows of a rank are eliminated with.
pub(crate) struct Work<'a, T> {
    pub(crate) op: &'static str,
    pub(crate) rule: Rule,
    /// The first row of this rank.
    pub(crate) first: usize,
    /// The rows of earlier ranks that are needed, ascending.
    pub(crate) needed: &'a [u32],
    pub(crate) earlier: Earlier<T>,
    /// What diagonal entries are multiplied by.
    pub(crate) scale: Option<T>,
}

/// A finished row of U, without its diagonal.
#[derive(Clone, Copy)]
struct PivotRow<'a, T> {
    columns: &'a [u32],
    values: &'a [T],
    inverse: T,
}

impl<T: Field> Work<'_, T> {
    /// The factors of rows; or those up to the first pivot that cannot be divided by, and zeros.
    pub(crate) fn eliminate(
        mut self,
        rows: Rows<'_, T>,
        memory: Memory<T>,
    ) -> (Factored<T>, Result<Option<Pivot<T>>, Error>) {
        let Memory {
            mut factored,
            span,
            mut row,
            left,
        } = memory;
        let row = Row {
            first: span.start,
            values: &mut row,
        };
        let found = match self.rule {
            Rule::General => Ok(self.general(rows, row, &mut factored)),
            Rule::Hermitian => {
                let left = [left, std::mem::take(&mut self.earlier.left)];
                self.hermitian(rows, row, left, &mut factored)
            }
        };
        factored.pad();
        (factored, found)
    }

    fn general(
        &self,
        rows: Rows<'_, T>,
        mut row: Row<'_, T>,
        factored: &mut Factored<T>,
    ) -> Option<Pivot<T>> {
        for number in 0..rows.len() {
            let Factored {
                lower,
                upper,
                pivots,
                inverse,
            } = &mut *factored;
            let below = &lower.crd[lower.pos[number] as usize..lower.pos[number + 1] as usize];
            let above = &upper.crd[upper.pos[number] as usize..upper.pos[number + 1] as usize];
            row.clear(below);
            self.load(rows, number, above, &mut row);
            let diagonal = (self.first + number) as u32;
            for (place, &column) in below.iter().enumerate() {
                let (_, pivot) = self.pivot_row(column, upper, inverse);
                let factor = *row.at(column) * pivot.inverse;
                lower.vals.push(factor);
                let behind = below[place + 1..].iter().chain([&diagonal]).chain(above);
                row.subtract(factor, (pivot.columns, pivot.values), behind);
            }
            upper
                .vals
                .extend(above.iter().map(|&column| *row.at(column)));
            let value = *row.at(diagonal);
            if let Some(pivot) = self.push_pivot(value, pivots, inverse) {
                return Some(pivot);
            }
        }
        None
    }

    /// As [`Work::general`], of a row only what stands from the diagonal on. The entry of a
    /// finished row that mirrors that of L, behind which nothing is subtracted, is found where the
    /// last row that needed it stopped: rows come in ascending order.
    fn hermitian(
        &self,
        rows: Rows<'_, T>,
        mut row: Row<'_, T>,
        [mut left, mut earlier_left]: [Vec<usize>; 2],
        factored: &mut Factored<T>,
    ) -> Result<Option<Pivot<T>>, Error> {
        for number in 0..rows.len() {
            let Factored {
                lower,
                upper,
                pivots,
                inverse,
            } = &mut *factored;
            let below = &lower.crd[lower.pos[number] as usize..lower.pos[number + 1] as usize];
            let above = &upper.crd[upper.pos[number] as usize..upper.pos[number + 1] as usize];
            let diagonal = (self.first + number) as u32;
            self.load(rows, number, above, &mut row);
            for &column in below {
                let (place, pivot) = self.pivot_row(column, upper, inverse);
                let left = match column as usize >= self.first {
                    true => &mut left[place],
                    false => &mut earlier_left[place],
                };
                while *left > 0 && pivot.columns[*left - 1] < diagonal {
                    *left -= 1;
                }
                if *left == 0 || pivot.columns[*left - 1] != diagonal {
                    return Err(unsymmetric(self.op, diagonal, column));
                }
                let factor = pivot.values[*left - 1].conjugate() * pivot.inverse;
                lower.vals.push(factor);
                let pivot = (&pivot.columns[..*left], &pivot.values[..*left]);
                row.subtract(factor, pivot, [&diagonal].into_iter().chain(above));
            }
            upper
                .vals
                .extend(above.iter().map(|&column| *row.at(column)));
            let value = T::from_parts(row.at(diagonal).parts().0, 0.0);
            if let Some(pivot) = self.push_pivot(value, pivots, inverse) {
                return Ok(Some(pivot));
            }
        }
        Ok(None)
    }

    /// Puts the values of a row in its places from the diagonal on, and in others below it.
    #[inline(always)]
    fn load(&self, rows: Rows<'_, T>, number: usize, above: &[u32], row: &mut Row<'_, T>) {
        let diagonal = (self.first + number) as u32;
        row.clear(above);
        *row.at(diagonal) = T::ZERO;
        row.fill(rows.columns(number), rows.values(number));
        if let Some(scale) = self.scale {
            let value = row.at(diagonal);
            *value *= scale;
        }
    }

    /// A finished row, and its number among those of this rank or of the needed ones.
    #[inline(always)]
    fn pivot_row<'a>(
        &'a self,
        column: u32,
        upper: &'a LocalRows<T>,
        inverse: &'a [T],
    ) -> (usize, PivotRow<'a, T>) {
        let (row, upper, inverse) = match (column as usize).checked_sub(self.first) {
            Some(row) => (row, upper, inverse),
            None => {
                let row = self.needed.partition_point(|&needed| needed < column);
                (row, &self.earlier.upper, &self.earlier.inverse[..])
            }
        };
        let ends = &upper.pos[row..row + 2];
        let entries = ends[0] as usize..ends[1] as usize;
        let pivot = PivotRow {
            columns: &upper.crd[entries.clone()],
            values: &upper.vals[entries],
            inverse: inverse[row],
        };
        (row, pivot)
    }

    /// Takes the pivot of a row, or returns it if it cannot be divided by.
    #[inline(always)]
    fn push_pivot(&self, value: T, pivots: &mut Vec<T>, inverse: &mut Vec<T>) -> Option<Pivot<T>> {
        if !self.is_pivot(value) {
            let row = self.first + pivots.len();
            return Some(Pivot { row, value });
        }
        pivots.push(value);
        inverse.push(T::ONE.over(value));
        None
    }

    fn is_pivot(&self, value: T) -> bool {
        let is_allowed = match self.rule {
            Rule::General => true,
            Rule::Hermitian => value.parts().0 > 0.0,
        };
        is_allowed && has_inverse(value)
    }
}

fn unsymmetric(op: &'static str, row: u32, column: u32) -> Error {
    let expected = format!("a symmetric structure, with an entry in row {column}, column {row}");
    let found = format!("one in row {row}, column {column} only");
    Error::argument(op, expected, found)
}

/// Entries of a finished row from which on it may be better to look up those that are needed.
const MANY: usize = 256;
/// Entries that are subtracted in the time in which one is looked up.
const LOOK_UP: usize = 16;

/// The row that is being eliminated.
struct Row<'a, T> {
    /// The first column.
    first: usize,
    values: &'a mut [T],
}

impl<T: Field> Row<'_, T> {
    /// The element of a column that the row spans.
    #[inline(always)]
    fn at(&mut self, column: u32) -> &mut T {
        &mut self.values[column as usize - self.first]
    }

    #[inline(always)]
    fn clear(&mut self, columns: &[u32]) {
        for &column in columns {
            *self.at(column) = T::ZERO;
        }
    }

    /// Takes values, but for those of columns that no row has a place for.
    #[inline(always)]
    fn fill(&mut self, columns: &[u32], values: &[T]) {
        for (&column, &value) in columns.iter().zip(values) {
            let place = (column as usize).wrapping_sub(self.first);
            if let Some(element) = self.values.get_mut(place) {
                *element = value;
            }
        }
    }

    /// Subtracts a multiple of a finished row, in columns that descend. What lies behind its own
    /// column in this row is in the columns `behind`: where they are few, they are looked up, so
    /// that a row with a great many entries costs no more than the rows that need it have.
    #[inline(always)]
    fn subtract<'c>(
        &mut self,
        factor: T,
        (columns, values): (&[u32], &[T]),
        behind: impl Iterator<Item = &'c u32> + Clone,
    ) {
        if columns.len() < MANY || columns.len() / LOOK_UP < behind.clone().count() {
            return self.subtract_multiple(factor, columns, values);
        }
        for &column in behind {
            if let Ok(place) = columns.binary_search_by(|other| column.cmp(other)) {
                *self.at(column) -= factor * values[place];
            }
        }
    }

    /// Subtracts a multiple of another row, which may have entries that this rank's rows do not
    /// span if it is one of an earlier rank.
    #[inline(always)]
    fn subtract_multiple(&mut self, factor: T, columns: &[u32], values: &[T]) {
        for (&column, &value) in columns.iter().zip(values) {
            let place = (column as usize).wrapping_sub(self.first);
            if let Some(element) = self.values.get_mut(place) {
                *element -= factor * value;
            }
        }
    }
}
