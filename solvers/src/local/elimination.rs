//! Incomplete elimination of the rows of one rank.
//!
//! Row by row (the IKJ variant; Saad, *Iterative Methods for Sparse Linear Systems*, 2nd edition,
//! Algorithm 10.4): what an elimination would put where nothing is stored is dropped. A row needs
//! the finished rows that its columns below the diagonal name.

use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve};
use sparsefuse_sparse::{LocalRows, Rows};
use std::ops::Range;
use std::sync::Arc;

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

impl<T: Field> Pivot<T> {
    /// The error of a pivot that cannot be divided by.
    pub(crate) fn error(&self, op: &'static str) -> Error {
        let expected = format!("a finite pivot other than 0 in row {}", self.row);
        Error::argument(op, expected, self.value.to_string())
    }
}

/// The error of a matrix whose entries are not where they were.
pub(crate) fn other_structure(op: &'static str) -> Error {
    Error::argument(op, "the structure that was factored before", "another")
}

/// A hash of the structure of rows: the words one after the other, mixed as in FNV-1a.
pub(crate) fn hash<T: Field>(rows: Rows<'_, T>) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(29);
    let first = rows.pos()[0];
    let positions = rows.pos().iter().map(|&position| position - first);
    let columns = rows.crd().iter().map(|&column| u64::from(column));
    positions.chain(columns).fold(PRIME, mix)
}

/// The values of rows where a structure has entries, 0 where only that has one; and how many entries
/// of the rows have no place in it. Fails where this rank has no memory for them.
pub(crate) fn spread<T: Field>(
    rows: Rows<'_, T>,
    structure: &LocalRows<bool>,
) -> Result<(LocalRows<T>, usize), Error> {
    let len = structure.crd.len();
    let mut spread = LocalRows::try_with_capacity(structure.pos.len(), len)?;
    spread.vals.resize(len, T::ZERO);
    let vals = &mut spread.vals;
    let mut left_out = 0;
    for (row, places) in structure.pos.windows(2).enumerate() {
        let (mut place, end) = (places[0] as usize, places[1] as usize);
        for (column, value) in rows.row(row) {
            while place < end && structure.crd[place] < column {
                place += 1;
            }
            if place < end && structure.crd[place] == column {
                vals[place] = value;
            } else {
                left_out += 1;
            }
        }
    }
    spread.pos.extend_from_slice(&structure.pos[1..]);
    spread.crd.extend_from_slice(&structure.crd);
    Ok((spread, left_out))
}

/// ILU(0) of a matrix that one rank holds: L and U in the same rows.
#[derive(Clone, Debug)]
pub(crate) struct LocalFactors<T> {
    structure: Arc<LocalStructure>,
    vals: Vec<T>,
}

/// Where the entries of a matrix that one rank holds are.
#[derive(Debug)]
struct LocalStructure {
    pos: Vec<u64>,
    crd: Vec<u32>,
    diagonal: Vec<usize>,
}

impl<T: Field> LocalFactors<T> {
    /// The factors, or the first pivot that cannot be divided by.
    pub(crate) fn new(
        op: &'static str,
        rows: LocalRows<T>,
    ) -> Result<Result<Self, Pivot<T>>, Error> {
        let diagonal = diagonals(op, 0..rows.pos.len() - 1, &rows)?;
        let LocalRows { pos, crd, vals } = rows;
        let structure = LocalStructure { pos, crd, diagonal };
        Self::eliminated(op, Arc::new(structure), vals)
    }

    /// The same for other values of the entries.
    pub(crate) fn with_values(
        &self,
        op: &'static str,
        vals: Vec<T>,
    ) -> Result<Result<Self, Pivot<T>>, Error> {
        Self::eliminated(op, Arc::clone(&self.structure), vals)
    }

    fn eliminated(
        op: &'static str,
        structure: Arc<LocalStructure>,
        mut vals: Vec<T>,
    ) -> Result<Result<Self, Pivot<T>>, Error> {
        let work = Work {
            first: 0,
            needed: &[],
            outer: &LocalRows::with_capacity(0, 0),
            pos: &structure.pos,
            crd: &structure.crd,
            diagonal: &structure.diagonal,
            rule: Rule::General,
        };
        let found = work.eliminate(op, &mut vals)?;
        Ok(found.map_or(Ok(Self { structure, vals }), Err))
    }

    /// x := U^-1 L^-1 x.
    pub(crate) fn solve(&self, x: &mut [T]) {
        let LocalStructure { pos, crd, diagonal } = &*self.structure;
        let vals = &self.vals;
        let without = |entries: Range<usize>, value: T, x: &[T]| {
            entries.fold(value, |rest, k| rest - vals[k] * x[crd[k] as usize])
        };
        for row in 0..x.len() {
            x[row] = without(pos[row] as usize..diagonal[row], x[row], x);
        }
        for row in (0..x.len()).rev() {
            let above = diagonal[row] + 1..pos[row + 1] as usize;
            x[row] = without(above, x[row], x) / vals[diagonal[row]];
        }
    }
}

/// A row has no entry on the diagonal, and gets none.
pub(crate) fn no_diagonal(op: &'static str, row: usize) -> Error {
    Error::argument(op, format!("a diagonal entry in row {row}"), "none")
}

/// Where the diagonal entry of each row is.
pub(crate) fn diagonals<T: Field>(
    op: &'static str,
    own: Range<usize>,
    rows: &LocalRows<T>,
) -> Result<Vec<usize>, Error> {
    let place = |(number, row): (usize, usize)| {
        let entries = rows.pos[number] as usize..rows.pos[number + 1] as usize;
        match rows.crd[entries.clone()].binary_search(&(row as u32)) {
            Ok(place) => Ok(entries.start + place),
            Err(_) => Err(no_diagonal(op, row)),
        }
    };
    let mut places = reserve(own.len())?;
    for row in own.enumerate() {
        places.push(place(row)?);
    }
    Ok(places)
}

/// What the rows of this rank are eliminated with.
pub(crate) struct Work<'a, T> {
    /// The first row of this rank.
    pub(crate) first: usize,
    pub(crate) needed: &'a [u32],
    /// The needed rows from their diagonal on.
    pub(crate) outer: &'a LocalRows<T>,
    pub(crate) pos: &'a [u64],
    pub(crate) crd: &'a [u32],
    pub(crate) diagonal: &'a [usize],
    pub(crate) rule: Rule,
}

impl<T: Field> Work<'_, T> {
    /// Puts L, without its ones, and U in the place of the values; or finds the first pivot that
    /// cannot be divided by.
    pub(crate) fn eliminate(
        &self,
        op: &'static str,
        vals: &mut [T],
    ) -> Result<Option<Pivot<T>>, Error> {
        for (number, &diagonal) in self.diagonal.iter().enumerate() {
            let entries = self.pos[number] as usize..self.pos[number + 1] as usize;
            let (before, row) = vals.split_at_mut(entries.start);
            let row = &mut row[..entries.len()];
            let columns = &self.crd[entries.clone()];
            let below = diagonal - entries.start;
            for k in 0..below {
                let (pivot_columns, pivot_row) = self.pivot_row(columns[k], before);
                let inverse = T::ONE / pivot_row[0];
                let from = match self.rule {
                    Rule::General => {
                        row[k] = row[k] * inverse;
                        k + 1
                    }
                    Rule::Hermitian => {
                        let column = columns[below];
                        let Ok(mirror) = pivot_columns.binary_search(&column) else {
                            return Err(unsymmetric(op, column, columns[k]));
                        };
                        row[k] = pivot_row[mirror].conjugate() * inverse;
                        below
                    }
                };
                let factor = row[k];
                let pivot = (&pivot_columns[1..], &pivot_row[1..]);
                subtract_multiple(factor, pivot, (&columns[from..], &mut row[from..]));
            }
            if let Rule::Hermitian = self.rule {
                row[below] = T::from_parts(row[below].parts().0, 0.0);
            }
            if !self.is_pivot(row[below]) {
                let row_number = self.first + number;
                return Ok(Some(Pivot {
                    row: row_number,
                    value: row[below],
                }));
            }
        }
        Ok(None)
    }

    /// A finished row from its diagonal on.
    #[inline(always)]
    fn pivot_row<'a>(&'a self, column: u32, before: &'a [T]) -> (&'a [u32], &'a [T]) {
        if column as usize >= self.first {
            let row = column as usize - self.first;
            let entries = self.diagonal[row]..self.pos[row + 1] as usize;
            return (&self.crd[entries.clone()], &before[entries]);
        }
        let row = self.needed.partition_point(|&needed| needed < column);
        let entries: Range<usize> = self.outer.pos[row] as usize..self.outer.pos[row + 1] as usize;
        (&self.outer.crd[entries.clone()], &self.outer.vals[entries])
    }

    fn is_pivot(&self, value: T) -> bool {
        let (re, im) = value.parts();
        let is_invertible = match self.rule {
            Rule::General => value != T::ZERO,
            Rule::Hermitian => re > 0.0,
        };
        is_invertible && re.is_finite() && im.is_finite()
    }
}

fn unsymmetric(op: &'static str, row: u32, column: u32) -> Error {
    let expected = format!("a symmetric structure, with an entry in row {column}, column {row}");
    let found = format!("one in row {row}, column {column} only");
    Error::argument(op, expected, found)
}

/// Subtracts a multiple of a sparse row from another, where that has entries; columns ascend.
#[inline(always)]
fn subtract_multiple<T: Field>(
    factor: T,
    (pivot_columns, pivot_row): (&[u32], &[T]),
    (columns, row): (&[u32], &mut [T]),
) {
    let mut place = 0;
    for (&column, &value) in pivot_columns.iter().zip(pivot_row) {
        while place < columns.len() && columns[place] < column {
            place += 1;
        }
        if place == columns.len() {
            return;
        }
        if columns[place] == column {
            row[place] = row[place] - factor * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A banded matrix of order `n` that dominates its diagonal, row by row without zeros.
    fn band(n: usize, reach: usize) -> LocalRows<f64> {
        let mut rows = LocalRows::with_capacity(n, 0);
        for row in 0..n {
            for column in row.saturating_sub(reach)..n.min(row + reach + 1) {
                let value = match column == row {
                    true => 4.0 * reach as f64,
                    false => -1.0 - ((row * 7 + column * 3) % 5) as f64 / 8.0,
                };
                rows.push(column as u32, value);
            }
            rows.end_row();
        }
        rows
    }

    /// A band without gaps has no fill, so its incomplete factors are exact.
    #[test]
    fn the_factors_of_a_band_solve_it() -> Result<(), Error> {
        let rows = band(40, 3);
        let x: Vec<f64> = (0..40).map(|row| 1.0 + (row % 7) as f64).collect();
        let view = rows.as_rows();
        let product = |row| {
            view.row(row)
                .map(|(column, value)| value * x[column as usize])
        };
        let mut b: Vec<f64> = (0..40).map(|row| product(row).sum()).collect();
        let factors = LocalFactors::new("test", rows.clone())?;
        let factors = factors.map_err(|pivot| pivot.error("test"))?;
        factors.solve(&mut b);
        assert!(b.iter().zip(&x).all(|(found, x)| (found - x).abs() < 1e-12));
        Ok(())
    }

    #[test]
    fn the_first_pivot_that_is_0_is_found() -> Result<(), Error> {
        let mut rows = band(5, 1);
        let (diagonal, above) = (diagonals("test", 0..5, &rows)?, rows.pos[3] as usize);
        for k in [diagonal[3], above] {
            rows.vals[k] = 0.0;
        }
        let found = LocalFactors::new("test", rows)?.err();
        assert_eq!(found, Some(Pivot { row: 3, value: 0.0 }));
        Ok(())
    }
}
