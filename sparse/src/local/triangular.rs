//! Triangular systems on the rows of one rank.
//!
//! Rows that depend on none of each other form a level (Anderson and Saad, *Solving sparse triangular
//! linear systems on parallel computers*, 1989); levels that are wide are worked on by all threads,
//! one after the other. The terms of a row are subtracted in one fixed order, that of the columns
//! from afar towards the diagonal; so the bits of a solution do not depend on threads, nor on
//! whether there are levels.

use super::parallel::{self, Threads};
use super::rows::{LocalRows, sort_by_column};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::cmp::Ordering;
use std::iter::repeat_n;
use std::ops::Range;

pub(crate) const OP: &str = "triangular solve";

/// Rows of a level, on the average, from which on threads work on it together.
const WIDE: usize = 4096;

/// Rows of a level that a thread takes at once.
const CHUNK: usize = 1024;

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
    parts: Parts<T>,
}

/// The triangle of this rank's rows, without its diagonal. Columns of a row stand in the order of
/// the sweep, from afar to the diagonal.
#[derive(Clone, Debug, PartialEq)]
struct Parts<T> {
    /// Entries in columns of this rank, counted from its first row; with levels, in their order.
    own: LocalRows<T>,
    /// The rows that need others of earlier ranks, counted from the first.
    outer_rows: Vec<u32>,
    /// Their entries there; columns count the rows that earlier ranks send.
    outer: LocalRows<T>,
    /// What each row is multiplied by in the end; empty where the diagonal is one.
    inverse: Vec<T>,
}

/// The values of [`Parts`].
pub(crate) struct Values<T> {
    own: Vec<T>,
    outer: Vec<T>,
    inverse: Vec<T>,
}

/// The rows of this rank by levels.
#[derive(Clone, Debug)]
struct Levels {
    /// The row at each place.
    order: Vec<u32>,
    /// The places of each level.
    bounds: Vec<Range<usize>>,
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
            parts,
        })
    }

    /// The same in the order of levels, if these are wide enough for several threads.
    pub(crate) fn by_wide_levels(self) -> Result<Self, Error> {
        let levels = Levels::of(&self.parts.own, self.triangle)?;
        match levels.are_wide(WIDE) {
            true => self.by_levels(levels),
            false => Ok(self),
        }
    }

    fn by_levels(mut self, levels: Levels) -> Result<Self, Error> {
        self.parts = levels.sort(self.parts)?;
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
        let (row, first) = (self.row_at(place), self.own.start);
        let Parts { own, outer, .. } = &self.parts;
        let entries = rows.pos[row] as usize..rows.pos[row + 1] as usize;
        let own_places = own.pos[place] as usize..own.pos[place + 1] as usize;
        let outer_places = match self.parts.outer_rows.binary_search(&(row as u32)) {
            Ok(number) => outer.pos[number] as usize..outer.pos[number + 1] as usize,
            Err(_) => 0..0,
        };
        if entries.len() < own_places.len() + outer_places.len() {
            return None;
        }
        // The entries in the order of the work, and the one between the triangles.
        let entry = |k: usize| match self.triangle {
            Triangle::Lower => entries.start + k,
            Triangle::Upper => entries.end - 1 - k,
        };
        let n_outer = outer_places.len();
        for (k, at) in outer_places.enumerate() {
            let column = needed[outer.crd[at] as usize];
            if rows.crd[entry(k)] != column {
                return None;
            }
            values.outer[at] = rows.vals[entry(k)];
        }
        let n_taken = n_outer + own_places.len();
        for (k, at) in (n_outer..).zip(own_places) {
            if rows.crd[entry(k)] as usize != first + self.row_at(own.crd[at] as usize) {
                return None;
            }
            values.own.push(rows.vals[entry(k)]);
        }
        if n_taken == entries.len() {
            return Some(None);
        }
        let next = entry(n_taken);
        match ((rows.crd[next] as usize).cmp(&(first + row)), self.triangle) {
            (Ordering::Equal, _) => Some(Some(rows.vals[next])),
            (Ordering::Greater, Triangle::Lower) | (Ordering::Less, Triangle::Upper) => Some(None),
            (Ordering::Less, Triangle::Lower) | (Ordering::Greater, Triangle::Upper) => None,
        }
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
            (None, Triangle::Lower) => (0..x.len()).for_each(|row| parts.solve_row(row, x)),
            (None, Triangle::Upper) => (0..x.len()).rev().for_each(|row| parts.solve_row(row, x)),
        }
    }
}

/// `value` without the products of a row's entries and the elements they name.
#[inline(always)]
fn without_products<T: Field>(rows: &LocalRows<T>, row: usize, x: &[T], value: T) -> T {
    let entries = rows.pos[row] as usize..rows.pos[row + 1] as usize;
    let entries = rows.crd[entries.clone()].iter().zip(&rows.vals[entries]);
    entries.fold(value, |rest, (&column, &entry)| {
        rest - entry * x[column as usize]
    })
}

impl<T: Field> Parts<T> {
    fn bytes(&self) -> usize {
        let outer = self.outer.bytes() + size_of_val(&self.outer_rows[..]);
        self.own.bytes() + outer + size_of_val(&self.inverse[..])
    }

    fn of_rows(
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

    /// Appends the entries of a row in columns of earlier ranks, in the order of the sweep.
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
    fn solve_row(&self, row: usize, x: &mut [T]) {
        let rest = without_products(&self.own, row, x, x[row]);
        x[row] = self.scaled(row, rest);
    }

    #[inline(always)]
    fn scaled(&self, row: usize, rest: T) -> T {
        match self.inverse.get(row) {
            Some(&inverse) => rest * inverse,
            None => rest,
        }
    }

    fn sweep_levels(&self, threads: &Threads, levels: &Levels, x: &mut [T]) {
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
}

/// The inverse of a diagonal entry, if it is there and has one.
fn inverse<T: Field>(row: usize, found: Option<T>) -> Result<T, Error> {
    match found {
        Some(value) if value != T::ZERO => Ok(T::ONE / value),
        _ => {
            let expected = format!("a diagonal entry other than 0 in row {row}");
            let found = found.map_or("none".to_owned(), |value| value.to_string());
            Err(Error::argument(OP, expected, found))
        }
    }
}

impl Levels {
    /// The levels of rows of which each names those that it needs; a stable counting sort.
    fn of<T>(own: &LocalRows<T>, triangle: Triangle) -> Result<Self, Error> {
        let n_rows = own.pos.len() - 1;
        let mut level_of = try_collect(repeat_n(0u32, n_rows))?;
        let mut counts: Vec<usize> = Vec::new();
        let mut visit = |row: usize| {
            let columns = &own.crd[own.pos[row] as usize..own.pos[row + 1] as usize];
            let needed = columns.iter().map(|&column| level_of[column as usize] + 1);
            let level = needed.max().unwrap_or(0);
            level_of[row] = level;
            if counts.len() <= level as usize {
                counts.push(0);
            }
            counts[level as usize] += 1;
        };
        match triangle {
            Triangle::Lower => (0..n_rows).for_each(&mut visit),
            Triangle::Upper => (0..n_rows).rev().for_each(&mut visit),
        }
        let mut end = 0;
        let bounds: Vec<Range<usize>> = counts
            .iter()
            .map(|count| {
                end += count;
                end - count..end
            })
            .collect();
        let mut next: Vec<usize> = bounds.iter().map(|places| places.start).collect();
        let mut order = try_collect(repeat_n(0u32, n_rows))?;
        for (row, &level) in level_of.iter().enumerate() {
            order[next[level as usize]] = row as u32;
            next[level as usize] += 1;
        }
        Ok(Self { order, bounds })
    }

    /// Whether levels have at least `rows` rows on average.
    fn are_wide(&self, rows: usize) -> bool {
        self.order.len() >= rows * self.bounds.len().max(1)
    }

    /// The same rows in the order of their levels, with columns that are places in it.
    fn sort<T: Field>(&self, parts: Parts<T>) -> Result<Parts<T>, Error> {
        let mut place_of = try_collect(repeat_n(0u32, self.order.len()))?;
        for (place, &row) in self.order.iter().enumerate() {
            place_of[row as usize] = place as u32;
        }
        let mut own = LocalRows::try_with_capacity(self.order.len(), parts.own.crd.len())?;
        for &row in &self.order {
            let entries = parts.own.pos[row as usize]..parts.own.pos[row as usize + 1];
            for k in entries.start as usize..entries.end as usize {
                own.push(place_of[parts.own.crd[k] as usize], parts.own.vals[k]);
            }
            own.end_row();
        }
        let inverse = if parts.inverse.is_empty() {
            Vec::new()
        } else {
            let of_row = |&row: &u32| parts.inverse[row as usize];
            try_collect(self.order.iter().map(of_row))?
        };
        Ok(Parts {
            own,
            inverse,
            ..parts
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The five-point stencil on a square of `n` points a side, and a right-hand side.
    fn grid(n: usize) -> (LocalRows<f64>, Vec<f64>) {
        let mut rows = LocalRows::with_capacity(n * n, 5 * n * n);
        for row in 0..n * n {
            let (i, j) = (row / n, row % n);
            let neighbours = [
                (i > 0).then(|| row - n),
                (j > 0).then(|| row - 1),
                Some(row),
                (j + 1 < n).then(|| row + 1),
                (i + 1 < n).then(|| row + n),
            ];
            for column in neighbours.into_iter().flatten() {
                let value = if column == row { 4.0 } else { -1.0 };
                rows.push(column as u32, value);
            }
            rows.end_row();
        }
        let b = (0..n * n).map(|row| (row as f64).sin()).collect();
        (rows, b)
    }

    fn triangle_of(rows: &LocalRows<f64>, triangle: Triangle) -> LocalTriangle<f64> {
        let own = (0..rows.pos.len() - 1, &[][..]);
        LocalTriangle::new(own, rows, (triangle, Diagonal::Stored)).unwrap()
    }

    #[test]
    fn levels_do_not_change_bits() {
        const N: usize = 70;
        let (mut rows, b) = grid(N);
        let one = Threads::new(1);
        let solved = |part: &LocalTriangle<f64>| {
            let mut x = b.clone();
            part.solve(&one, &[], &mut x);
            x
        };
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let part = triangle_of(&rows, triangle);
            let plain = solved(&part);
            let levels = Levels::of(&part.parts.own, triangle).unwrap();
            assert_eq!(levels.bounds.len(), 2 * N - 1);
            let mut by_levels = part.by_levels(levels).unwrap();
            assert!(solved(&by_levels) == plain);
            assert_eq!(by_levels.rows(&[]).pos.len(), rows.pos.len());

            rows.vals.iter_mut().for_each(|value| *value *= 0.5);
            let values = by_levels.values_of(&[], &rows).unwrap();
            by_levels.set_values(values);
            rows.vals.iter_mut().for_each(|value| *value *= 2.0);
            assert!(
                solved(&by_levels)
                    .iter()
                    .zip(&plain)
                    .all(|(x, y)| *x == 2.0 * y)
            );
        }
    }

    #[test]
    fn threads_share_wide_levels() {
        const N: usize = 5000;
        // Each row of the second half needs one of the first half.
        let mut rows = LocalRows::with_capacity(2 * N, 0);
        for row in 0..2 * N {
            if row >= N {
                rows.push((row * 7 % N) as u32, 0.1 * row as f64);
            }
            rows.push(row as u32, 3.0);
            rows.end_row();
        }
        let plain = triangle_of(&rows, Triangle::Lower);
        let by_levels = plain.clone().by_wide_levels().unwrap();
        assert_eq!(
            by_levels.levels.as_ref().map(|levels| levels.bounds.len()),
            Some(2)
        );
        let b: Vec<f64> = (0..2 * N).map(|row| (row as f64).cos()).collect();
        let mut expected = b.clone();
        plain.solve(&Threads::new(1), &[], &mut expected);
        for threads in [1, 2, 3] {
            let mut x = b.clone();
            by_levels.solve(&Threads::new(threads), &[], &mut x);
            assert!(x == expected, "{threads} threads");
        }
    }
}
