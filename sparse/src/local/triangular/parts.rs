//! The triangle of one rank's rows in the order of the work, and the work on each row.
//!
//! The terms of a row are subtracted in the order in which its entries stand here, whatever rows are
//! worked on beside it.

use super::groups::{LARGEST, in_sweep};
use super::levels::Levels;
use super::{Diagonal, OP, Triangle};
use crate::local::parallel::{self, Threads};
use crate::local::rows::LocalRows;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::array;
use std::iter::repeat_n;
use std::ops::Range;

/// Rows of a level that a thread takes in one turn.
const CHUNK: usize = 1024;

/// The triangle of this rank's rows, without its diagonal. Columns of a row stand in the order of
/// the sweep, from afar to the diagonal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parts<T> {
    /// Entries in columns of this rank, counted from its first row; with levels, in their order.
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

    #[inline(always)]
    pub(super) fn solve_row(&self, row: usize, x: &mut [T]) {
        let rest = without_products(&self.own, row, x, x[row]);
        x[row] = self.scaled(row, rest);
    }

    pub(super) fn sweep_groups(&self, groups: &[u8], triangle: Triangle, x: &mut [T]) {
        let mut place = 0;
        for &rows in groups {
            match rows {
                1 => self.solve_group::<1>(place, triangle, x),
                2 => self.solve_group::<2>(place, triangle, x),
                3 => self.solve_group::<3>(place, triangle, x),
                _ => self.solve_group::<{ LARGEST as usize }>(place, triangle, x),
            }
            place += rows as usize;
        }
    }

    /// The rows of a group, beginning with the one at a place of the sweep: each reads an element of
    /// `x` where the first does, and then needs those before it. The terms of a row keep their order.
    #[inline(always)]
    fn solve_group<const N: usize>(&self, place: usize, triangle: Triangle, x: &mut [T]) {
        let LocalRows { pos, crd, vals } = &self.own;
        let rows: [usize; N] = array::from_fn(|k| in_sweep(triangle, x.len(), place + k));
        let begin = rows.map(|row| pos[row] as usize);
        let columns = &crd[begin[0]..pos[rows[0] + 1] as usize];
        let entries = begin.map(|begin| &vals[begin..][..columns.len()]);
        let mut rest = rows.map(|row| x[row]);
        for (k, &column) in columns.iter().enumerate() {
            let element = x[column as usize];
            for (rest, entries) in rest.iter_mut().zip(&entries) {
                *rest = *rest - entries[k] * element;
            }
        }
        for (k, &row) in rows.iter().enumerate() {
            let within = &vals[begin[k] + columns.len()..][..k];
            let own = within.iter().zip(&rest[..k]);
            let own = own.fold(rest[k], |rest, (&entry, &element)| rest - entry * element);
            rest[k] = self.scaled(row, own);
            x[row] = rest[k];
        }
    }

    #[inline(always)]
    fn scaled(&self, row: usize, rest: T) -> T {
        match self.inverse.get(row) {
            Some(&inverse) => rest * inverse,
            None => rest,
        }
    }

    pub(super) fn sweep_levels(&self, threads: &Threads, levels: &Levels, x: &mut [T]) {
        let mut sorted: Vec<T> = levels.order.iter().map(|&row| x[row as usize]).collect();
        for places in &levels.bounds {
            let (done, rest) = sorted.split_at_mut(places.start);
            let level = &mut rest[..places.len()];
            let solve = |(chunk, part): (usize, &mut [T])| {
                let first = places.start + chunk * CHUNK;
                for (place, value) in (first..).zip(part) {
                    let rest = without_products(&self.own, place, done, *value);
                    *value = self.scaled(place, rest);
                }
            };
            let chunks = level.chunks_mut(CHUNK).enumerate();
            if places.len() >= 2 * CHUNK {
                parallel::each(threads, chunks, solve);
            } else {
                chunks.for_each(solve);
            }
        }
        for (&row, value) in levels.order.iter().zip(sorted) {
            x[row as usize] = value;
        }
    }

    /// The same rows in the order of their levels, with columns that are places in it.
    pub(super) fn sorted_by(self, levels: &Levels) -> Result<Self, Error> {
        let mut place_of = try_collect(repeat_n(0u32, levels.order.len()))?;
        for (place, &row) in levels.order.iter().enumerate() {
            place_of[row as usize] = place as u32;
        }
        let mut own = LocalRows::try_with_capacity(levels.order.len(), self.own.crd.len())?;
        for &row in &levels.order {
            let entries = self.own.pos[row as usize]..self.own.pos[row as usize + 1];
            for k in entries.start as usize..entries.end as usize {
                own.push(place_of[self.own.crd[k] as usize], self.own.vals[k]);
            }
            own.end_row();
        }
        let inverse = if self.inverse.is_empty() {
            Vec::new()
        } else {
            let of_row = |&row: &u32| self.inverse[row as usize];
            try_collect(levels.order.iter().map(of_row))?
        };
        Ok(Self {
            own,
            inverse,
            ..self
        })
    }
}

/// The inverse of a diagonal entry, if it is there and has one.
pub(super) fn inverse<T: Field>(row: usize, found: Option<T>) -> Result<T, Error> {
    match found {
        Some(value) if value != T::ZERO => Ok(T::ONE / value),
        _ => {
            let expected = format!("a diagonal entry other than 0 in row {row}");
            let found = found.map_or("none".to_owned(), |value| value.to_string());
            Err(Error::argument(OP, expected, found))
        }
    }
}
