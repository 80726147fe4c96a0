//! Triangular systems on the rows of one rank.
//!
//! Rows that depend on none of each other form a level (Anderson and Saad, *Solving sparse triangular
//! linear systems on parallel computers*, 1989); levels that are wide are worked on by all threads,
//! one after the other. The terms of a row are subtracted in one fixed order, that of the columns
//! from afar towards the diagonal; so the bits of a solution do not depend on threads, nor on
//! whether there are levels.

mod groups;
mod levels;
mod parts;
#[cfg(test)]
mod tests;

use self::groups::groups;
use self::levels::Levels;
use self::parts::{Parts, inverse, without_products};
use super::parallel::Threads;
use super::rows::{LocalRows, Rows, sort_by_column};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::cmp::Ordering;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const OP: &str = "triangular solve";

/// Rows of a level, on the average, from which on threads work on it together.
const WIDE: usize = 4096;

/// The order of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// From the first row to the last.
    Forward,
    /// From the last row to the first.
    Backward,
}

/// Which triangle of a matrix is meant; the other one is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// The entries below the diagonal.
    Lower,
    /// The entries above the diagonal.
    Upper,
}

impl Triangle {
    /// The order of a sweep in which each row follows those that it needs.
    pub(crate) fn sweep(self) -> Sweep {
        match self {
            Self::Lower => Sweep::Forward,
            Self::Upper => Sweep::Backward,
        }
    }
}

/// What stands on the diagonal of a triangular matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagonal {
    /// Ones, whatever is stored.
    Unit,
    /// What is stored, which must not be 0.
    Stored,
}

/// This rank's part of the solution of triangular systems with one matrix.
#[derive(Clone, Debug)]
pub(crate) struct LocalTriangle<T> {
    /// The rows of this rank.
    own: Range<usize>,
    triangle: Triangle,
    diagonal: Diagonal,
    levels: Option<Levels>,
    /// The lengths of groups of rows ([`groups()`]) in the order of a sweep without levels; empty where
    /// rows have little in common.
    groups: Arc<[u8]>,
    parts: Parts<T>,
}

/// The values of [`Parts`].
pub(crate) struct Values<T> {
    own: Vec<T>,
    outer: Vec<T>,
    inverse: Vec<T>,
}

/// Where a row of a triangle stands in the rows of a matrix.
struct FoundRow {
    /// All entries of the row.
    entries: Range<usize>,
    /// Where the triangle has the first ones in the order of the work, those of earlier ranks.
    outer: Range<usize>,
    /// How many of this rank follow.
    n_own: usize,
    /// The entry on the diagonal, if there is one.
    diagonal: Option<usize>,
}

impl<T: Field> LocalTriangle<T> {
    /// From the rows `own` of a matrix, with global columns; `needed` are the rows of earlier ranks
    /// that they depend on, ascending.
    pub(crate) fn new(
        (own, needed): (Range<usize>, &[u32]),
        rows: &LocalRows<T>,
        (triangle, diagonal): (Triangle, Diagonal),
    ) -> Result<Self, Error> {
        let parts = Parts::of_rows((own.clone(), needed), rows, (triangle, diagonal))?;
        Ok(Self {
            own,
            triangle,
            diagonal,
            levels: None,
            groups: Arc::default(),
            parts,
        })
    }

    /// From the triangle of the rows `own` without its diagonal, whose entries stand in the order of
    /// the sweep, with global columns; and the inverse of the diagonal, or ones.
    pub(crate) fn of_triangle(
        (own, needed): (Range<usize>, &[u32]),
        triangle: Triangle,
        rows: LocalRows<T>,
        inverse: Option<Vec<T>>,
    ) -> Result<Self, Error> {
        let diagonal = match inverse {
            Some(_) => Diagonal::Stored,
            None => Diagonal::Unit,
        };
        Ok(Self {
            parts: Parts::of_triangle((&own, needed), rows, inverse.unwrap_or_default())?,
            own,
            triangle,
            diagonal,
            levels: None,
            groups: Arc::default(),
        })
    }

    /// Another triangle of the same structure, given in the same way, in the order of this one.
    pub(crate) fn with_triangle(
        &self,
        needed: &[u32],
        rows: LocalRows<T>,
        inverse: Option<Vec<T>>,
    ) -> Result<Self, Error> {
        let own = (self.own.clone(), needed);
        let mut made = Self::of_triangle(own, self.triangle, rows, inverse)?;
        made.groups = Arc::clone(&self.groups);
        match &self.levels {
            Some(levels) => made.by_levels(levels.clone()),
            None => Ok(made),
        }
    }

    /// The same in the order of levels, if these are wide enough for several threads.
    pub(crate) fn by_wide_levels(self) -> Result<Self, Error> {
        let most = self.n_rows() / WIDE;
        match Levels::of(&self.parts.own, self.triangle, most)? {
            Some(levels) => self.by_levels(levels),
            None => Ok(self),
        }
    }

    /// The same with groups of rows that have nearly all of their columns in common.
    pub(crate) fn by_groups(mut self) -> Result<Self, Error> {
        if self.levels.is_none() {
            self.groups = groups(&self.parts.own, self.triangle)?.into();
        }
        Ok(self)
    }

    fn by_levels(mut self, levels: Levels) -> Result<Self, Error> {
        self.parts = self.parts.sorted_by(&levels)?;
        self.levels = Some(levels);
        Ok(self)
    }

    /// The bytes that a solve reads.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.bytes()
    }

    /// Takes new values.
    pub(crate) fn set_values(&mut self, values: Values<T>) {
        self.parts.own.vals = values.own;
        self.parts.outer.vals = values.outer;
        self.parts.inverse = values.inverse;
    }

    /// Whether rows have this triangle's entries on its side of the diagonal, no others, and a
    /// diagonal if this has one.
    pub(crate) fn is_of(&self, needed: &[u32], rows: Rows<'_, T>) -> bool {
        let has_diagonal = |diagonal: Option<usize>| match self.diagonal {
            Diagonal::Unit => true,
            Diagonal::Stored => diagonal.is_some(),
        };
        let is_same = |place| {
            let found = self.find_row(needed, rows, place);
            found.is_some_and(|found| has_diagonal(found.diagonal))
        };
        rows.len() == self.own.len() && (0..rows.len()).all(is_same)
    }

    /// The values of rows of the structure that the solve was made for, in the order of the work.
    pub(crate) fn values_of(
        &self,
        needed: &[u32],
        rows: &LocalRows<T>,
    ) -> Result<Values<T>, Error> {
        let own = self.own.clone();
        if rows.pos.len() != own.len() + 1 {
            let expected = format!("{} rows", own.len());
            let found = rows.pos.len().saturating_sub(1).to_string();
            return Err(Error::argument(OP, expected, found));
        }
        let mut values = Values {
            own: reserve(self.parts.own.vals.len())?,
            outer: try_collect(repeat_n(T::ZERO, self.parts.outer.vals.len()))?,
            inverse: reserve(self.parts.inverse.len())?,
        };
        // Of the rows that have no inverse the first is named, whatever the order of the work.
        let mut failed: Option<(usize, Error)> = None;
        for place in 0..own.len() {
            let row = self.row_at(place);
            let refuse = || {
                let expected = "the structure that the solve was made for";
                Error::argument(OP, expected, "another")
            };
            let found = self
                .take_row(needed, (rows, place), &mut values)
                .ok_or_else(refuse)?;
            if self.diagonal == Diagonal::Unit {
                continue;
            }
            match inverse(own.start + row, found) {
                Ok(inverse) => values.inverse.push(inverse),
                Err(error) if failed.as_ref().is_none_or(|&(before, _)| row < before) => {
                    failed = Some((row, error));
                }
                Err(_) => {}
            }
        }
        failed.map_or(Ok(values), |(_, error)| Err(error))
    }

    /// Which of this rank's rows comes at a place of the work.
    fn row_at(&self, place: usize) -> usize {
        let levels = self.levels.as_ref();
        levels.map_or(place, |levels| levels.order[place] as usize)
    }

    /// Takes the values of the row at a place, and returns its diagonal entry if there is one;
    /// `None` if its structure is another.
    fn take_row(
        &self,
        needed: &[u32],
        (rows, place): (&LocalRows<T>, usize),
        values: &mut Values<T>,
    ) -> Option<Option<T>> {
        let rows = rows.as_rows();
        let found = self.find_row(needed, rows, place)?;
        let n_outer = found.outer.len();
        for (k, at) in found.outer.enumerate() {
            values.outer[at] = rows.vals[self.entry(&found.entries, k)];
        }
        for k in n_outer..n_outer + found.n_own {
            values.own.push(rows.vals[self.entry(&found.entries, k)]);
        }
        Some(found.diagonal.map(|diagonal| rows.vals[diagonal]))
    }

    /// Of the entries of a row in the order of the work, the one with a number.
    #[inline(always)]
    fn entry(&self, entries: &Range<usize>, number: usize) -> usize {
        match self.triangle {
            Triangle::Lower => entries.start + number,
            Triangle::Upper => entries.end - 1 - number,
        }
    }

    /// Where the row at a place stands in rows; `None` if its structure is another.
    fn find_row(&self, needed: &[u32], rows: Rows<'_, T>, place: usize) -> Option<FoundRow> {
        let (row, first) = (self.row_at(place), self.own.start);
        let Parts { own, outer, .. } = &self.parts;
        let entries = rows.entries(row);
        let own_places = own.pos[place] as usize..own.pos[place + 1] as usize;
        let outer_places = match self.parts.outer_rows.binary_search(&(row as u32)) {
            Ok(number) => outer.pos[number] as usize..outer.pos[number + 1] as usize,
            Err(_) => 0..0,
        };
        let (n_outer, n_own) = (outer_places.len(), own_places.len());
        if entries.len() < n_outer + n_own {
            return None;
        }
        let column = |k: usize| rows.crd[self.entry(&entries, k)];
        let is_outer = |(k, at): (usize, usize)| column(k) == needed[outer.crd[at] as usize];
        let is_own = |(k, at): (usize, usize)| {
            column(k) as usize == first + self.row_at(own.crd[at] as usize)
        };
        if !(outer_places.clone().enumerate().all(is_outer)
            && (n_outer..).zip(own_places).all(is_own))
        {
            return None;
        }
        let mut diagonal = None;
        if n_outer + n_own < entries.len() {
            // The entry between the triangles.
            let next = self.entry(&entries, n_outer + n_own);
            match ((rows.crd[next] as usize).cmp(&(first + row)), self.triangle) {
                (Ordering::Equal, _) => diagonal = Some(next),
                (Ordering::Greater, Triangle::Lower) | (Ordering::Less, Triangle::Upper) => {}
                (Ordering::Less, Triangle::Lower) | (Ordering::Greater, Triangle::Upper) => {
                    return None;
                }
            }
        }
        Some(FoundRow {
            entries,
            outer: outer_places,
            n_own,
            diagonal,
        })
    }

    /// The triangle of this rank's rows with its diagonal, with global columns.
    pub(crate) fn rows(&self, needed: &[u32]) -> LocalRows<T> {
        let Parts {
            own,
            outer,
            inverse,
            ..
        } = &self.parts;
        let first = self.own.start as u32;
        let natural: Vec<u32> = (0..own.pos.len() as u32 - 1).collect();
        let row_at = self
            .levels
            .as_ref()
            .map_or(&natural, |levels| &levels.order);
        let mut place_of = vec![0; natural.len()];
        for (place, &row) in row_at.iter().enumerate() {
            place_of[row as usize] = place;
        }
        let mut outer_rows = self.parts.outer_rows.iter().enumerate().peekable();
        let mut rows = LocalRows::with_capacity(natural.len(), own.crd.len() + natural.len());
        for (row, &place) in place_of.iter().enumerate() {
            let diagonal = inverse
                .get(place)
                .map_or(T::ONE, |&inverse| T::ONE / inverse);
            let mut entries = vec![(first + row as u32, diagonal)];
            for k in own.pos[place] as usize..own.pos[place + 1] as usize {
                entries.push((first + row_at[own.crd[k] as usize], own.vals[k]));
            }
            if let Some((number, _)) = outer_rows.next_if(|&(_, &other)| other as usize == row) {
                for k in outer.pos[number] as usize..outer.pos[number + 1] as usize {
                    entries.push((needed[outer.crd[k] as usize], outer.vals[k]));
                }
            }
            sort_by_column(&mut entries);
            entries
                .iter()
                .for_each(|&(column, value)| rows.push(column, value));
            rows.end_row();
        }
        rows
    }

    /// The number of rows of this rank.
    pub(crate) fn n_rows(&self) -> usize {
        self.parts.own.pos.len() - 1
    }

    /// Solves in place, with the elements of the needed rows.
    pub(crate) fn solve(&self, threads: &Threads, outer: &[T], x: &mut [T]) {
        let parts = &self.parts;
        for (number, &row) in parts.outer_rows.iter().enumerate() {
            x[row as usize] = without_products(&parts.outer, number, outer, x[row as usize]);
        }
        match (&self.levels, self.triangle) {
            (Some(levels), _) => parts.sweep_levels(threads, levels, x),
            (None, triangle) if !self.groups.is_empty() => {
                parts.sweep_groups(&self.groups, triangle, x);
            }
            (None, Triangle::Lower) => (0..x.len()).for_each(|row| parts.solve_row(row, x)),
            (None, Triangle::Upper) => (0..x.len()).rev().for_each(|row| parts.solve_row(row, x)),
        }
    }
}
