//! The triangle of one rank's rows, the entries of each in the order in which they are subtracted.

use super::{Diagonal, OP, Triangle};
use crate::local::rows::LocalRows;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve};
use std::ops::Range;

/// The triangle of this rank's rows, without its diagonal. Columns of a row stand in the order of
/// the sweep, from afar to the diagonal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parts<T> {
    /// Entries in columns of this rank, counted from its first row.
    pub(super) own: LocalRows<T>,
    /// The rows that need others of earlier ranks, counted from the first.
    pub(super) outer_rows: Vec<u32>,
    /// Their entries there; columns count the rows that earlier ranks send.
    pub(super) outer: LocalRows<T>,
    /// What each row is multiplied by in the end; empty where the diagonal is one.
    pub(super) inverse: Vec<T>,
}

/// `value` without the products of a row's entries and the elements they name.
#[inline(always)]
pub(super) fn without_products<T: Field>(rows: &LocalRows<T>, row: usize, x: &[T], value: T) -> T {
    let entries = rows.pos[row] as usize..rows.pos[row + 1] as usize;
    let entries = rows.crd[entries.clone()].iter().zip(&rows.vals[entries]);
    entries.fold(value, |rest, (&column, &entry)| {
        rest - entry * x[column as usize]
    })
}

impl<T: Field> Parts<T> {
    pub(super) fn bytes(&self) -> usize {
        let outer = self.outer.bytes() + size_of_val(&self.outer_rows[..]);
        self.own.bytes() + outer + size_of_val(&self.inverse[..])
    }

    pub(super) fn of_rows(
        (own, needed): (Range<usize>, &[u32]),
        rows: &LocalRows<T>,
        (triangle, diagonal): (Triangle, Diagonal),
    ) -> Result<Self, Error> {
        let mut parts = Self {
            own: LocalRows::try_with_capacity(own.len(), rows.crd.len() / 2)?,
            outer_rows: Vec::new(),
            outer: LocalRows::with_capacity(0, 0),
            inverse: match diagonal {
                Diagonal::Stored => reserve(own.len())?,
                Diagonal::Unit => Vec::new(),
            },
        };
        for (number, row) in own.clone().enumerate() {
            let entries = rows.pos[number] as usize..rows.pos[number + 1] as usize;
            let columns = &rows.crd[entries.clone()];
            let below = entries.start + columns.partition_point(|&column| (column as usize) < row);
            let has_diagonal = below < entries.end && rows.crd[below] as usize == row;
            if diagonal == Diagonal::Stored {
                let found = has_diagonal.then(|| rows.vals[below]);
                parts.inverse.push(inverse(row, found)?);
            }
            // Columns ascend, so those of earlier ranks stand at the far end.
            let split = |entries: &Range<usize>, cut: usize| {
                let columns = &rows.crd[entries.clone()];
                entries.start + columns.partition_point(|&column| (column as usize) < cut)
            };
            match triangle {
                Triangle::Lower => {
                    let entries = entries.start..below;
                    let first = split(&entries, own.start);
                    parts.push_outer(needed, rows, entries.start..first)?;
                    parts.push_own(own.start, rows, first..entries.end)?;
                }
                Triangle::Upper => {
                    let entries = below + usize::from(has_diagonal)..entries.end;
                    let end = split(&entries, own.end);
                    parts.push_outer(needed, rows, (end..entries.end).rev())?;
                    parts.push_own(own.start, rows, (entries.start..end).rev())?;
                }
            }
        }
        Ok(parts)
    }

    pub(super) fn of_triangle(
        (own, needed): (&Range<usize>, &[u32]),
        rows: LocalRows<T>,
        inverse: Vec<T>,
    ) -> Result<Self, Error> {
        let is_whole = own.start == 0 && needed.is_empty();
        let room = if is_whole { 0 } else { own.len() };
        let mut parts = Self {
            own: LocalRows::try_with_capacity(room, 0)?,
            outer_rows: Vec::new(),
            outer: LocalRows::with_capacity(0, 0),
            inverse,
        };
        if is_whole {
            parts.own = rows;
            return Ok(parts);
        }
        for number in 0..own.len() {
            let entries = rows.pos[number] as usize..rows.pos[number + 1] as usize;
            let columns = rows.crd[entries.clone()].iter();
            let outside = columns.take_while(|&&column| !own.contains(&(column as usize)));
            let first_own = entries.start + outside.count();
            parts.push_outer(needed, &rows, entries.start..first_own)?;
            parts.push_own(own.start, &rows, first_own..entries.end)?;
        }
        Ok(parts)
    }

    /// Appends the entries of a row in columns of earlier ranks, in the order of the sweep.
    #[inline(always)]
    fn push_outer(
        &mut self,
        needed: &[u32],
        rows: &LocalRows<T>,
        entries: impl ExactSizeIterator<Item = usize>,
    ) -> Result<(), Error> {
        if entries.len() == 0 {
            return Ok(());
        }
        self.outer.try_reserve(entries.len())?;
        for k in entries {
            let number = needed.partition_point(|&row| row < rows.crd[k]);
            self.outer.push(number as u32, rows.vals[k]);
        }
        self.outer.end_row();
        self.outer_rows.push(self.own.pos.len() as u32 - 1);
        Ok(())
    }

    /// Ends a row with its entries in columns of this rank, in the order of the sweep.
    #[inline(always)]
    fn push_own(
        &mut self,
        first: usize,
        rows: &LocalRows<T>,
        entries: impl ExactSizeIterator<Item = usize>,
    ) -> Result<(), Error> {
        self.own.try_reserve(entries.len())?;
        for k in entries {
            self.own.push(rows.crd[k] - first as u32, rows.vals[k]);
        }
        self.own.end_row();
        Ok(())
    }
}

/// The inverse of a diagonal entry, if it is there and has one.
pub(super) fn inverse<T: Field>(row: usize, found: Option<T>) -> Result<T, Error> {
    let is_finite = |value: T| {
        let (re, im) = value.parts();
        re.is_finite() && im.is_finite()
    };
    // A subnormal number has none; what is no number itself is passed on.
    let inverse = found.map(|value| (T::ONE.over(value), !is_finite(value)));
    match inverse {
        Some((inverse, is_passed_on)) if is_passed_on || is_finite(inverse) => Ok(inverse),
        _ => {
            let what = match found {
                Some(value) if value != T::ZERO => "with an inverse",
                _ => "other than 0",
            };
            let expected = format!("a diagonal entry {what} in row {row}");
            let found = found.map_or("none".to_owned(), |value| value.to_string());
            Err(Error::argument(OP, expected, found))
        }
    }
}
