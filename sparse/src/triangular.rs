//! The solution of sparse triangular systems.
//!
//! A sweep through the rows, each of which needs those that its columns name. Rows that depend on
//! none of each other form a level (Anderson and Saad, *Solving sparse triangular linear systems on
//! parallel computers*, 1989); levels that are wide are worked on by all threads, one after the
//! other. The ranks follow one another, see [`Chain`]. The terms of a row are subtracted in one
//! fixed order, that of the columns from afar towards the diagonal; so the bits of a solution
//! depend neither on threads nor on ranks, nor on whether there are levels.

use crate::assemble::{LocalRows, sort_by_column};
use crate::chain::{Chain, Sweep};
use crate::csr::Csr;
use crate::layout::RowLayout;
use crate::parallel;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime, Shape};
use std::cmp::Ordering;
use std::ops::Range;

const OP: &str = "triangular solve";

/// Rows of a level, on the average, from which on threads work on it together.
const WIDE: usize = 4096;

/// Rows of a level that a thread takes at once.
const CHUNK: usize = 1024;

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

/// The solution of triangular systems with one matrix: its triangle, and the order of the work.
///
/// A solve reads the triangle once, 8 bytes of positions, 4 for each column and the values, and
/// reads and writes the vector: about as much as a product with the same triangle. Holds a copy of
/// the triangle and the inverse of the diagonal.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::{Csr, Diagonal, Triangle, TriangularSolve};
///
/// // [ 2 9 ]   The 9 is not read.
/// // [ 1 4 ]
/// let a = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 9.0, 1.0, 4.0])?;
/// let lower = TriangularSolve::new(&a, Triangle::Lower, Diagonal::Stored)?;
/// let x = lower.solve(&Vector::from_vec(vec![4.0, 10.0]))?;
/// assert_eq!(x.to_vec()?, [2.0, 2.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TriangularSolve<T> {
    layout: RowLayout,
    triangle: Triangle,
    diagonal: Diagonal,
    chain: Chain,
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
    /// Their entries there; columns are numbers in [`Chain::needed`].
    outer: LocalRows<T>,
    /// What each row is multiplied by in the end; empty where the diagonal is one.
    inverse: Vec<T>,
}

/// The values of [`Parts`].
struct Values<T> {
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

impl<T: Field> Csr<T> {
    /// Solves L x = b with the lower triangle L of this matrix, diagonal included. A
    /// [`TriangularSolve`] keeps what many solves share.
    ///
    /// # Errors
    ///
    /// As [`TriangularSolve::new`] and [`TriangularSolve::solve`].
    pub fn solve_lower(&self, b: &Vector<T>) -> Result<Vector<T>, Error> {
        TriangularSolve::new(self, Triangle::Lower, Diagonal::Stored)?.solve(b)
    }

    /// Solves U x = b with the upper triangle U of this matrix, diagonal included.
    ///
    /// # Errors
    ///
    /// As [`TriangularSolve::new`] and [`TriangularSolve::solve`].
    pub fn solve_upper(&self, b: &Vector<T>) -> Result<Vector<T>, Error> {
        TriangularSolve::new(self, Triangle::Upper, Diagonal::Stored)?.solve(b)
    }
}

impl<T: Field> TriangularSolve<T> {
    /// The solution of systems with a triangle of a square matrix. Executes the window; every rank
    /// must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, a diagonal entry that is to be read is 0 or not stored, or the
    /// computation of the values failed.
    pub fn new(a: &Csr<T>, triangle: Triangle, diagonal: Diagonal) -> Result<Self, Error> {
        let (n_rows, n_cols) = a.shape();
        if n_rows != n_cols {
            let found = Shape::new(&[n_rows, n_cols]);
            return Err(Error::shape(OP, Shape::new(&[n_rows, n_rows]), found));
        }
        let (_, rows) = a.local_rows()?;
        Self::of_rows(&RowLayout::of(a)?, &rows, triangle, diagonal)
    }

    /// The same from rows that every rank gives itself: those of the layout, with global columns.
    ///
    /// # Errors
    ///
    /// If a diagonal entry that is to be read is 0 or not stored.
    pub fn of_rows(
        layout: &RowLayout,
        rows: &LocalRows<T>,
        triangle: Triangle,
        diagonal: Diagonal,
    ) -> Result<Self, Error> {
        let runtime = layout.runtime();
        let setup = || {
            let setup = Self::set_up(layout, rows, triangle, diagonal)?;
            runtime.count_moved(rows.bytes() + setup.parts.bytes());
            Ok(setup)
        };
        runtime.task_at_once("triangular_setup", &[], setup)
    }

    fn set_up(
        layout: &RowLayout,
        rows: &LocalRows<T>,
        triangle: Triangle,
        diagonal: Diagonal,
    ) -> Result<Self, Error> {
        let sweep = match triangle {
            Triangle::Lower => Sweep::Forward,
            Triangle::Upper => Sweep::Backward,
        };
        let chain = Chain::new(layout, sweep, &rows.crd)?;
        let parts = Parts::of_rows(layout, &chain, rows, triangle, diagonal);
        let mut parts = layout.runtime().agree(parts)?;
        let is_threaded = layout.runtime().config().threads > 1;
        let levels = is_threaded.then(|| Levels::of(&parts.own, triangle));
        let levels = levels.filter(|levels| levels.are_wide(WIDE));
        if let Some(levels) = &levels {
            parts = levels.sort(parts);
        }
        Ok(Self {
            layout: layout.clone(),
            triangle,
            diagonal,
            chain,
            levels,
            parts,
        })
    }

    /// Takes new values of the same structure; the order of the work stays.
    ///
    /// # Errors
    ///
    /// If the structure differs, or a diagonal entry that is to be read is 0; then nothing has
    /// changed.
    pub fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        let (_, rows) = a.local_rows()?;
        self.update_rows(&rows)
    }

    /// The same with rows that every rank gives itself.
    ///
    /// # Errors
    ///
    /// As [`TriangularSolve::update`].
    pub fn update_rows(&mut self, rows: &LocalRows<T>) -> Result<(), Error> {
        let runtime = self.layout.runtime();
        let values = runtime.task_at_once("triangular_update", &[], || {
            runtime.count_moved(rows.bytes() + self.parts.bytes());
            runtime.agree(self.values_of(rows))
        })?;
        self.parts.own.vals = values.own;
        self.parts.outer.vals = values.outer;
        self.parts.inverse = values.inverse;
        Ok(())
    }

    /// The values of rows of the structure that the solve was made for, in the order of the work.
    fn values_of(&self, rows: &LocalRows<T>) -> Result<Values<T>, Error> {
        let own = self.layout.rows();
        if rows.pos.len() != own.len() + 1 {
            let expected = format!("{} rows", own.len());
            let found = rows.pos.len().saturating_sub(1).to_string();
            return Err(Error::argument(OP, expected, found));
        }
        let mut values = Values {
            own: Vec::with_capacity(self.parts.own.vals.len()),
            outer: vec![T::ZERO; self.parts.outer.vals.len()],
            inverse: Vec::with_capacity(self.parts.inverse.len()),
        };
        // Of the rows that have no inverse the first is named, whatever the order of the work.
        let mut failed: Option<(usize, Error)> = None;
        for place in 0..own.len() {
            let row = self.row_at(place);
            let refuse = || {
                let expected = "the structure that the solve was made for";
                Error::argument(OP, expected, "another")
            };
            let found = self.take_row(rows, place, &mut values).ok_or_else(refuse)?;
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
        rows: &LocalRows<T>,
        place: usize,
        values: &mut Values<T>,
    ) -> Option<Option<T>> {
        let (row, first) = (self.row_at(place), self.layout.rows().start);
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
            let column = self.chain.needed()[outer.crd[at] as usize];
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

    /// How the rows are spread over the ranks.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The solution for a right-hand side. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the length differs from the number of rows, the computation of `b` failed, or memory runs
    /// out.
    pub fn solve(&self, b: &Vector<T>) -> Result<Vector<T>, Error> {
        if b.len() != self.layout.n_rows() {
            let expected = Shape::new(&[self.layout.n_rows()]);
            return Err(Error::shape(OP, expected, Shape::new(&[b.len()])));
        }
        self.layout
            .sweep("triangular_solve", b, |x| self.solve_part(x))
    }

    /// The solution of systems with the conjugate transpose. Copies the triangle column by column;
    /// every rank must ask.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::{Csr, Diagonal, Triangle, TriangularSolve};
    ///
    /// // [ 2 0 ]
    /// // [ 1 4 ]
    /// let a = Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
    /// let lower = TriangularSolve::new(&a, Triangle::Lower, Diagonal::Stored)?;
    /// let x = lower.adjoint()?.solve(&Vector::from_vec(vec![4.0, 4.0]))?;
    /// assert_eq!(x.to_vec()?, [1.5, 1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory runs out, or another rank failed.
    pub fn adjoint(&self) -> Result<Self, Error> {
        let rows = self.rows();
        let adjoint = self.layout.matrix(self.layout.n_rows(), rows)?.adjoint()?;
        let triangle = match self.triangle {
            Triangle::Lower => Triangle::Upper,
            Triangle::Upper => Triangle::Lower,
        };
        Self::new(&adjoint, triangle, self.diagonal)
    }

    /// The triangle of this rank's rows with its diagonal, with global columns.
    fn rows(&self) -> LocalRows<T> {
        let Parts {
            own,
            outer,
            inverse,
            ..
        } = &self.parts;
        let first = self.layout.rows().start as u32;
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
                    entries.push((self.chain.needed()[outer.crd[k] as usize], outer.vals[k]));
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

    /// The same in place, on this rank's elements of the right-hand side. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If an earlier rank has left.
    ///
    /// # Panics
    ///
    /// If `x` has not as many elements as this rank has rows.
    pub fn solve_part(&self, x: &mut [T]) -> Result<(), Error> {
        assert_eq!(x.len(), self.layout.rows().len(), "one element a row");
        let parts = &self.parts;
        let runtime = self.layout.runtime();
        runtime.count_moved(parts.bytes());
        let outer = self.chain.receive::<T>()?;
        for (number, &row) in parts.outer_rows.iter().enumerate() {
            x[row as usize] = without_products(&parts.outer, number, &outer, x[row as usize]);
        }
        match (&self.levels, self.triangle) {
            (Some(levels), _) => parts.sweep_levels(runtime, levels, x),
            (None, Triangle::Lower) => (0..x.len()).for_each(|row| parts.solve_row(row, x)),
            (None, Triangle::Upper) => (0..x.len()).rev().for_each(|row| parts.solve_row(row, x)),
        }
        self.chain.hand_on(x)
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
        layout: &RowLayout,
        chain: &Chain,
        rows: &LocalRows<T>,
        triangle: Triangle,
        diagonal: Diagonal,
    ) -> Result<Self, Error> {
        let own = layout.rows();
        let mut parts = Self {
            own: LocalRows::try_with_capacity(own.len(), rows.crd.len() / 2)?,
            outer_rows: Vec::new(),
            outer: LocalRows::with_capacity(0, 0),
            inverse: Vec::new(),
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
                    parts.push_outer(chain, rows, entries.start..first);
                    parts.push_own(own.start, rows, first..entries.end);
                }
                Triangle::Upper => {
                    let entries = below + usize::from(has_diagonal)..entries.end;
                    let end = split(&entries, own.end);
                    parts.push_outer(chain, rows, (end..entries.end).rev());
                    parts.push_own(own.start, rows, (entries.start..end).rev());
                }
            }
        }
        Ok(parts)
    }

    /// Appends the entries of a row in columns of earlier ranks, in the order of the sweep.
    fn push_outer(
        &mut self,
        chain: &Chain,
        rows: &LocalRows<T>,
        entries: impl ExactSizeIterator<Item = usize>,
    ) {
        if entries.len() == 0 {
            return;
        }
        for k in entries {
            let number = chain.needed().partition_point(|&row| row < rows.crd[k]);
            self.outer.push(number as u32, rows.vals[k]);
        }
        self.outer.end_row();
        self.outer_rows.push(self.own.pos.len() as u32 - 1);
    }

    /// Ends a row with its entries in columns of this rank, in the order of the sweep.
    fn push_own(
        &mut self,
        first: usize,
        rows: &LocalRows<T>,
        entries: impl Iterator<Item = usize>,
    ) {
        for k in entries {
            self.own.push(rows.crd[k] - first as u32, rows.vals[k]);
        }
        self.own.end_row();
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

    fn sweep_levels(&self, runtime: &Runtime, levels: &Levels, x: &mut [T]) {
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
                parallel::each(runtime, chunks, solve);
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
    fn of<T>(own: &LocalRows<T>, triangle: Triangle) -> Self {
        let n_rows = own.pos.len() - 1;
        let mut level_of = vec![0u32; n_rows];
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
        let mut order = vec![0u32; n_rows];
        for (row, &level) in level_of.iter().enumerate() {
            order[next[level as usize]] = row as u32;
            next[level as usize] += 1;
        }
        Self { order, bounds }
    }

    /// Whether levels have so many rows on the average.
    fn are_wide(&self, rows: usize) -> bool {
        self.order.len() >= rows * self.bounds.len().max(1)
    }

    /// The same rows in the order of their levels, with columns that are places in it.
    fn sort<T: Field>(&self, parts: Parts<T>) -> Parts<T> {
        let mut place_of = vec![0u32; self.order.len()];
        for (place, &row) in self.order.iter().enumerate() {
            place_of[row as usize] = place as u32;
        }
        let mut own = LocalRows::with_capacity(self.order.len(), parts.own.crd.len());
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
            self.order.iter().map(of_row).collect()
        };
        Parts {
            own,
            inverse,
            ..parts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use sparsefuse_runtime::{Config, Runtime};

    /// Rows by levels, whether that pays or not.
    fn by_levels(mut solve: TriangularSolve<f64>) -> TriangularSolve<f64> {
        assert!(solve.levels.is_none(), "one thread needs no levels");
        let levels = Levels::of(&solve.parts.own, solve.triangle);
        solve.parts = levels.sort(solve.parts);
        solve.levels = Some(levels);
        solve
    }

    #[test]
    fn levels_do_not_change_bits() -> Result<(), Error> {
        let config = Config {
            threads: 1,
            ..Config::default()
        };
        Runtime::new(config)?.enter(|| {
            let a = gallery::poisson2d::<f64>(70)?;
            let b = Vector::<f64>::random_uniform([4900], 3);
            for triangle in [Triangle::Lower, Triangle::Upper] {
                let solve = TriangularSolve::new(&a, triangle, Diagonal::Stored)?;
                let plain = solve.solve(&b)?.to_vec()?;
                let mut levels = by_levels(solve);
                let expected = 2 * 70 - 1;
                assert_eq!(
                    levels.levels.as_ref().map(|l| l.bounds.len()),
                    Some(expected)
                );
                assert_eq!(levels.solve(&b)?.to_vec()?, plain);
                levels.update(&a.scale(0.5))?;
                let doubled: Vec<f64> = plain.iter().map(|x| 2.0 * x).collect();
                assert_eq!(levels.solve(&b)?.to_vec()?, doubled);
            }
            Ok(())
        })
    }

    #[test]
    fn threads_share_wide_levels() -> Result<(), Error> {
        const N: usize = 5000;
        // Each row of the second half needs one of the first half.
        let solve = |threads| {
            let config = Config {
                threads,
                ..Config::default()
            };
            Runtime::new(config)?.enter(|| {
                let a = Csr::from_rows(2 * N, 2 * N, |rows| {
                    let mut local = LocalRows::with_capacity(rows.len(), 0);
                    for row in rows {
                        if row >= N {
                            local.push((row * 7 % N) as u32, 0.1 * row as f64);
                        }
                        local.push(row as u32, 3.0);
                        local.end_row();
                    }
                    local
                })?;
                let b = Vector::<f64>::random_uniform([2 * N], 3);
                let solve = TriangularSolve::new(&a, Triangle::Lower, Diagonal::Stored)?;
                let n_levels = solve.levels.as_ref().map(|levels| levels.bounds.len());
                Ok::<_, Error>((n_levels, solve.solve(&b)?.to_vec()?))
            })
        };
        let (one, two) = (solve(1)?, solve(2)?);
        assert_eq!((one.0, two.0), (None, Some(2)));
        assert!(one.1 == two.1);
        Ok(())
    }
}
