//! Incomplete LU factorisation with levels of fill.

use super::elimination::{Elimination, rows_in};
use super::factors::Factors;
use super::upper_rows::UpperRows;
use super::{Preconditioner, check_square, check_update};
use crate::local::elimination::{Rule, no_diagonal, other_structure, spread};
use crate::operator::LinearOperator;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Csr, LocalRows, RowLayout, Rows, eager};

const OP: &str = "ilu(k)";
/// What profiles call the factorisation.
const TASK: &str = "iluk";

/// ILU(k): z = U^-1 L^-1 r, where L and U also have entries that come of at most k generations of
/// fill.
///
/// The level of an entry of the matrix is 0; fill in (i, j) through row p has level
/// lev(i, p) + lev(p, j) + 1, and the least of all p counts (Saad, *Iterative Methods for Sparse
/// Linear Systems*, 2nd edition, Algorithm 10.6). k = 0 is [`Ilu0`](super::Ilu0). The structure is
/// found once; new values cost a factorisation on it. Holds the entries of L and U and the inverse
/// of U's diagonal; an application costs about as much as two products with as many entries.
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
    layout: RowLayout,
    /// The structure of L and U in the same rows.
    structure: LocalRows<bool>,
    elimination: Elimination,
    factors: Factors<T>,
}

impl<T: Field> Iluk<T> {
    /// The factorisation of a square matrix with fill up to level `k`. Executes the window; every
    /// rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, a diagonal entry is neither stored nor filled, a pivot is 0 or
    /// not finite, or the computation of the values failed.
    pub fn new(a: &Csr<T>, k: usize) -> Result<Self, Error> {
        check_square(OP, a)?;
        eager(TASK, &[a], || Self::factored(a, k))
    }

    fn factored(a: &Csr<T>, k: usize) -> Result<Self, Error> {
        let layout = a.row_layout()?;
        let own = a.own_rows()?;
        let rows = own.as_rows();
        let structure = filled(&layout, rows, u32::try_from(k).unwrap_or(u32::MAX))?;
        let (mut rows, _) = layout.runtime().agree(spread(rows, &structure))?;
        let elimination = Elimination::new(OP, &layout, &rows, Rule::General)?;
        elimination.run_to_end(&mut rows)?;
        Ok(Self {
            factors: Factors::of_rows(&layout, &rows)?,
            layout,
            structure,
            elimination,
        })
    }

    /// The entries of L and U on this rank, the ones of L's diagonal not counted.
    #[must_use]
    pub fn local_entries(&self) -> usize {
        self.structure.crd.len()
    }

    /// The rows with zeros where only L and U have entries; refused if they have entries elsewhere.
    fn with_fill(&self, rows: Rows<'_, T>) -> Result<LocalRows<T>, Error> {
        if rows.pos().len() == self.structure.pos.len() {
            let (filled, left_out) = spread(rows, &self.structure)?;
            if left_out == 0 {
                return Ok(filled);
            }
        }
        Err(other_structure(OP))
    }
}

impl<T: Field> LinearOperator<T> for Iluk<T> {
    fn shape(&self) -> (usize, usize) {
        (self.factors.n_rows(), self.factors.n_rows())
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.layout.runtime())
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.factors.solve(r)
    }

    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.factors.solve_adjoint(r)
    }
}

impl<T: Field> Preconditioner<T> for Iluk<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        eager(TASK, &[a], || {
            let rows = rows_in(&self.layout, a)?;
            let mut rows = self
                .layout
                .runtime()
                .agree(self.with_fill(rows.as_rows()))?;
            self.elimination.run_to_end(&mut rows)?;
            self.factors.update_rows(&rows)
        })
    }
}

/// The structure with fill: the symbolic phase, row by row.
fn filled<T: Field>(
    layout: &RowLayout,
    rows: Rows<'_, T>,
    k: u32,
) -> Result<LocalRows<bool>, Error> {
    let mut upper = UpperRows::<u32>::receive(layout)?;
    let structure = filled_after(&mut upper, layout, rows, k);
    // Ranks behind one that has no memory go on with rows that are empty, and then fail too.
    upper.end_rows(layout.rows().end);
    upper.hand_on(layout)?;
    layout.runtime().agree(structure)
}

/// The rows of this rank behind those that are finished.
fn filled_after<T: Field>(
    upper: &mut UpperRows<u32>,
    layout: &RowLayout,
    rows: Rows<'_, T>,
    k: u32,
) -> Result<LocalRows<bool>, Error> {
    let mut structure = LocalRows::try_with_capacity(rows.len(), rows.crd().len())?;
    let mut merged = Vec::new();
    for (number, row) in layout.rows().enumerate() {
        let columns = rows.columns(number).iter();
        let mut found: Vec<(u32, u32)> = columns.map(|&column| (column, 0)).collect();
        let mut place = 0;
        while let Some(&(column, level)) = found.get(place) {
            if column as usize >= row {
                break;
            }
            place += 1;
            let (columns, levels) = upper.row(column as usize);
            let through = level.saturating_add(1);
            let fill = columns.iter().zip(levels);
            let fill = fill.map(|(&column, &level)| (column, level.saturating_add(through)));
            merge(
                &found[place..],
                fill.filter(|&(_, level)| level <= k),
                &mut merged,
            );
            found.truncate(place);
            found.append(&mut merged);
        }
        let first = found.get(place).map(|&(column, _)| column as usize);
        if first != Some(row) {
            // Known now, and not after the structure of all rows.
            return Err(no_diagonal(OP, row));
        }
        structure.try_reserve(found.len())?;
        upper.try_reserve(found.len())?;
        for &(column, level) in &found {
            structure.push(column, true);
            if column as usize > row {
                upper.push(column, level);
            }
        }
        structure.end_row();
        upper.end_row();
    }
    Ok(structure)
}

/// Columns of two rows with their levels, ascending; where both have one, the lower level.
fn merge(row: &[(u32, u32)], fill: impl Iterator<Item = (u32, u32)>, merged: &mut Vec<(u32, u32)>) {
    let mut row = row.iter().copied().peekable();
    for (column, level) in fill {
        while let Some(entry) = row.next_if(|&(own, _)| own < column) {
            merged.push(entry);
        }
        let own = row.next_if(|&(own, _)| own == column);
        let own_level = own.map_or(level, |(_, own_level)| own_level);
        merged.push((column, level.min(own_level)));
    }
    merged.extend(row);
}
