//! Incomplete LU factorisation with levels of fill.

use super::elimination::{Elimination, other_structure, with_rows_in};
use super::factors::{Factors, applies_factors};
use super::upper_rows::UpperRows;
use super::{Preconditioner, check_square, check_update};
use crate::local::elimination::Rule;
use crate::local::pattern::{Pattern, no_diagonal};
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime, try_collect};
use sparsefuse_sparse::{Csr, RowLayout, Rows, eager};
use std::iter::repeat_n;

const OP: &str = "ilu(k)";
/// What profiles call the factorisation.
const TASK: &str = "iluk";

/// ILU(k): z = U^-1 L^-1 r, where L and U also have entries that come of at most k generations of
/// fill.
///
/// The level of an entry of the matrix is 0; fill in (i, j) through row p has level
/// lev(i, p) + lev(p, j) + 1, and the least of all p counts (Saad, *Iterative Methods for Sparse
/// Linear Systems*, 2nd edition, Algorithm 10.6). k = 0 is [`Ilu0`](super::Ilu0). The structure is
/// found once; new values cost a factorisation on it, also those of a matrix of another structure
/// whose entries all have a place in it. Holds the entries of L and U, their columns once
/// more, and the inverse of U's diagonal; an application costs about as much as two products with
/// as many entries.
///
/// On several ranks it is the factorisation of one: the ranks factor, and solve, one after the
/// other. While the structure is found a rank holds that of U of all ranks before it.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{LinearOperator, preconditioners::Iluk};
/// use sparsefuse_sparse::gallery;
///
/// // With enough levels the factorisation is complete.
/// let a = gallery::poisson2d::<f64>(4)?;
/// let m = Iluk::new(&a, 8)?;
/// let z = m.apply(&(&a * &Vector::ones([16])))?;
/// assert!(z.to_vec()?.iter().all(|z| (z - 1.0).abs() < 1e-12));
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Iluk<T> {
    pattern: Pattern,
    elimination: Elimination,
    factors: Factors<T>,
}

impl<T: Field> Iluk<T> {
    /// The factorisation of a square matrix with fill up to level `k`. Executes the window; every
    /// rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, a diagonal entry is
    /// neither stored nor filled, a pivot is 0 or not finite, or the computation of the values
    /// failed.
    pub fn new(a: &Csr<T>, k: usize) -> Result<Self, Error> {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        eager(TASK, &[a], || Self::factored(a, k))
    }

    fn factored(a: &Csr<T>, k: usize) -> Result<Self, Error> {
        let layout = a.row_layout()?;
        let own = a.own_rows()?;
        let rows = own.as_rows();
        let pattern = filled(&layout, rows, u32::try_from(k).unwrap_or(u32::MAX))?;
        let elimination = Elimination::new(OP, &layout, &pattern, Rule::General)?;
        let copy = layout.runtime().agree(pattern.try_copy())?;
        let factored = elimination.run_to_end(rows, copy)?;
        Ok(Self {
            factors: Factors::new(&layout, factored)?,
            pattern,
            elimination,
        })
    }

    /// The entries of L and U on this rank, the ones of L's diagonal not counted.
    #[must_use]
    pub fn local_entries(&self) -> usize {
        self.pattern.n_entries()
    }

    /// A copy of the pattern, refused if rows have entries elsewhere.
    fn pattern_of(&self, rows: Rows<'_, T>) -> Result<Pattern, Error> {
        match self.pattern.covers(self.elimination.layout().rows(), rows) {
            true => self.pattern.try_copy(),
            false => Err(other_structure(OP)),
        }
    }
}

applies_factors!(Iluk solve_adjoint);

impl<T: Field> Preconditioner<T> for Iluk<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        eager(TASK, &[a], || {
            let layout = self.elimination.layout();
            let factored = with_rows_in(layout, a, |rows| {
                let pattern = layout.runtime().agree(self.pattern_of(rows))?;
                self.elimination.run_to_end(rows, pattern)
            })?;
            self.factors.update(factored)
        })
    }
}

/// The pattern with fill: the symbolic phase, row by row.
fn filled<T: Field>(layout: &RowLayout, rows: Rows<'_, T>, k: u32) -> Result<Pattern, Error> {
    let mut upper = match UpperRows::<u32>::receive(layout) {
        Ok(upper) => upper,
        Err(cause) => return layout.runtime().agree(Err(cause)),
    };
    let pattern = filled_after(&mut upper, layout, rows, k);
    // Ranks behind one that has no memory go on with rows that are empty, and then fail too.
    upper.end_rows(layout.rows().end);
    let forwarded = upper.forward(layout);
    layout
        .runtime()
        .agree(pattern.and_then(|pattern| forwarded.map(|()| pattern)))
}

/// The rows of this rank behind those that are finished. Of these, `upper` has the entries of
/// levels below `k`, which are all that can fill in.
fn filled_after<T: Field>(
    upper: &mut UpperRows<u32>,
    layout: &RowLayout,
    rows: Rows<'_, T>,
    k: u32,
) -> Result<Pattern, Error> {
    let mut pattern = Pattern::with_capacity(rows.len(), rows.crd().len())?;
    let mut work = Filling::new(layout.n_rows(), k)?;
    for (number, row) in layout.rows().enumerate() {
        work.begin(rows.columns(number));
        work.fill(row, upper);
        work.finish(row, &mut pattern, upper)?;
    }
    Ok(pattern)
}

/// A row while its fill is found: a list of its columns that ascends, with their levels.
struct Filling {
    /// The highest level.
    k: u32,
    /// The level of each column; `NONE` where the row has no entry.
    levels: Vec<u32>,
    /// The column behind each in the list, and at the end the first one.
    next: Vec<u32>,
    /// The columns of the row that is finished.
    columns: Vec<u32>,
}

/// No level.
const NONE: u32 = u32::MAX;

impl Filling {
    fn new(n_cols: usize, k: u32) -> Result<Self, Error> {
        Ok(Self {
            // Levels never come to as much: there are fewer columns.
            k: k.min(NONE - 1),
            levels: try_collect(repeat_n(NONE, n_cols))?,
            next: try_collect(repeat_n(0, n_cols + 1))?,
            columns: Vec::new(),
        })
    }

    /// Where the list ends, and begins.
    fn end(&self) -> u32 {
        self.levels.len() as u32
    }

    /// The entries of the matrix, all of level 0.
    fn begin(&mut self, columns: &[u32]) {
        let mut last = self.end();
        for &column in columns {
            self.next[last as usize] = column;
            self.levels[column as usize] = 0;
            last = column;
        }
        let end = self.end();
        self.next[last as usize] = end;
    }

    /// Fill through all rows below the diagonal, which come in ascending order.
    fn fill(&mut self, row: usize, upper: &UpperRows<u32>) {
        let mut pivot = self.next[self.levels.len()];
        while (pivot as usize) < row {
            let level = self.levels[pivot as usize];
            if level < self.k {
                let (columns, levels) = upper.row(pivot as usize);
                self.fill_through(pivot, level + 1, columns, levels);
            }
            pivot = self.next[pivot as usize];
        }
    }

    fn fill_through(&mut self, pivot: u32, through: u32, columns: &[u32], levels: &[u32]) {
        let mut before = pivot;
        for (&column, &level) in columns.iter().zip(levels) {
            let level = level.saturating_add(through);
            if level > self.k {
                continue;
            }
            let own = &mut self.levels[column as usize];
            if *own == NONE {
                let mut behind = self.next[before as usize];
                while behind < column {
                    (before, behind) = (behind, self.next[behind as usize]);
                }
                self.next[before as usize] = column;
                self.next[column as usize] = behind;
            }
            *own = level.min(*own);
            before = column;
        }
    }

    /// Appends the row to the pattern, and leaves it empty.
    fn finish(
        &mut self,
        row: usize,
        pattern: &mut Pattern,
        upper: &mut UpperRows<u32>,
    ) -> Result<(), Error> {
        self.columns.clear();
        let mut column = self.next[self.levels.len()];
        while column != self.end() {
            self.columns.push(column);
            column = self.next[column as usize];
        }
        let below = self
            .columns
            .partition_point(|&column| (column as usize) < row);
        if self.columns.get(below) != Some(&(row as u32)) {
            // Known now, and not after the structure of all rows.
            return Err(no_diagonal(OP, row));
        }
        let (below, above) = (&self.columns[..below], &self.columns[below + 1..]);
        pattern.lower.push_row(below.iter().copied())?;
        pattern.upper.push_row(above.iter().rev().copied())?;
        upper.try_reserve(above.len())?;
        for &column in above {
            let level = self.levels[column as usize];
            if level < self.k {
                upper.push(column, level);
            }
        }
        upper.end_row();
        for &column in &self.columns {
            self.levels[column as usize] = NONE;
        }
        Ok(())
    }
}
