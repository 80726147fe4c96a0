//! Triangular systems on the rows of one rank.
//!
//! A row needs those that its columns name, so a sweep goes through the rows in order. Threads
//! share it in sections of neighbouring rows, each of which waits where it needs another one
//! ([`Plan`]). The terms of a row are subtracted in one fixed order, that of the columns from afar
//! towards the diagonal; so the bits of a solution do not depend on threads.

mod groups;
mod parts;
mod sections;
mod sweep;
#[cfg(test)]
mod tests;

use self::groups::groups;
use self::parts::{Parts, inverse, without_products};
use self::sections::Plan;
use super::rows::{LocalRows, Rows, sort_by_column};
use sparsefuse_kernels::{Field, Workers};
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::cmp::Ordering;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const OP: &str = "triangular solve";

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
    /// The lengths of groups of rows ([`groups()`]) in the order of the sweep; empty where rows
    /// have little in common.
    groups: Arc<[u8]>,
    /// How threads share the sweep, if they do.
    plan: Option<Arc<Plan>>,
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
            groups: Arc::default(),
            plan: None,
            parts,
        })
    }

    /// From the triangle of the rows `own` without its diagonal, whose entries stand in the order
    /// of the sweep, with global columns; and the inverse of the diagonal, or ones.
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
            groups: Arc::default(),
            plan: None,
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
        let made = Self::of_triangle(own, self.triangle, rows, inverse)?;
        let (LocalRows { pos, crd, .. }, before) = (&made.parts.own, &self.parts.own);
        // The plan is that of these columns, or threads would not wait for each other.
        if (pos, crd) != (&before.pos, &before.crd) {
            return Ok(made);
        }
        Ok(Self {
            groups: Arc::clone(&self.groups),
            plan: self.plan.clone(),
            ..made
        })
    }

    /// The same with groups of rows that have nearly all of their columns in common, and a plan for
    /// this many threads.
    pub(crate) fn for_threads(mut self, threads: usize) -> Result<Self, Error> {
        let Parts { own, .. } = &self.parts;
        self.groups = groups(own, self.triangle)?.into();
        let plan = Plan::of(own, self.triangle, &self.groups, threads)?;
        self.plan = plan.map(Arc::new);
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
        let is_same = |row| {
            let found = self.find_row(needed, rows, row);
            found.is_some_and(|found| has_diagonal(found.diagonal))
        };
        rows.len() == self.own.len() && (0..rows.len()).all(is_same)
    }

    /// The values of rows of the structure that the solve was made for, in the order of the work.
    pub(crate) fn values_of(&self, needed: &[u32], rows: Rows<'_, T>) -> Result<Values<T>, Error> {
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
        for row in 0..own.len() {
            let refuse = || {
                let expected = "the structure that the solve was made for";
                Error::argument(OP, expected, "another")
            };
            let found = self
                .take_row(needed, (rows, row), &mut values)
                .ok_or_else(refuse)?;
            if self.diagonal == Diagonal::Unit {
                continue;
            }
            values.inverse.push(inverse(own.start + row, found)?);
        }
        Ok(values)
    }

    /// Takes the values of a row, and returns its diagonal entry if there is one; `None` if its
    /// structure is another.
    fn take_row(
        &self,
        needed: &[u32],
        (rows, row): (Rows<'_, T>, usize),
        values: &mut Values<T>,
    ) -> Option<Option<T>> {
        let found = self.find_row(needed, rows, row)?;
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

    /// Where a row stands in rows; `None` if its structure is another.
    fn find_row(&self, needed: &[u32], rows: Rows<'_, T>, row: usize) -> Option<FoundRow> {
        let first = self.own.start;
        let Parts { own, outer, .. } = &self.parts;
        let entries = rows.entries(row);
        let own_places = own.pos[row] as usize..own.pos[row + 1] as usize;
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
        let is_own = |(k, at): (usize, usize)| column(k) as usize == first + own.crd[at] as usize;
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
        let n_rows = self.n_rows();
        let mut outer_rows = self.parts.outer_rows.iter().enumerate().peekable();
        let mut rows = LocalRows::with_capacity(n_rows, own.crd.len() + n_rows);
        for row in 0..n_rows {
            let diagonal = inverse
                .get(row)
                .map_or(T::ONE, |&inverse| T::ONE.over(inverse));
            let mut entries = vec![(first + row as u32, diagonal)];
            for k in own.pos[row] as usize..own.pos[row + 1] as usize {
                entries.push((first + own.crd[k], own.vals[k]));
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

    /// Solves in place, with the elements of the needed rows; the workers are asked for where the
    /// sweep has a plan for them.
    pub(crate) fn solve<'w>(
        &self,
        workers: impl FnOnce() -> &'w Workers,
        outer: &[T],
        x: &mut [T],
    ) {
        let parts = &self.parts;
        for (number, &row) in parts.outer_rows.iter().enumerate() {
            x[row as usize] = without_products(&parts.outer, number, outer, x[row as usize]);
        }
        match &self.plan {
            Some(plan) => {
                parts.sweep_sections(workers(), (plan, self.triangle, &self.groups), x);
            }
            None => parts.sweep(self.triangle, &self.groups, x),
        }
    }
}
