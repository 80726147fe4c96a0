//! Incomplete Cholesky factorisation without fill.

use super::elimination::{Elimination, rows_in};
use super::factors::Factors;
use super::{Preconditioner, check_square, check_update};
use crate::local::elimination::Rule;
use crate::operator::LinearOperator;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Csr, LocalRows, RowLayout, eager};

const OP: &str = "ic(0)";
/// What profiles call the factorisation.
const TASK: &str = "ic0";

/// The first shift of the diagonal, relative to it; each further one is twice as large.
const FIRST_SHIFT: f64 = 1e-3;

/// How many shifts are tried: the last one makes the diagonal of any scaled matrix dominate.
const SHIFTS: i32 = 24;

/// IC(0): z = M^-1 r with M = L D L^H, where L has entries where the lower triangle of the matrix
/// has, and M equals the matrix there.
///
/// Meijerink and van der Vorst (1977); Golub and Van Loan, *Matrix Computations*, 4th edition,
/// section 11.5.8. For Hermitian matrices of symmetric structure, of which the upper triangle is
/// read. Where a pivot is not positive, the factorisation is tried again with A + alpha diag(A),
/// alpha = 0.001, 0.002, 0.004, … (Manteuffel, 1980); [`Ic0::shift`] tells the alpha that it took.
/// With a positive diagonal some alpha is large enough.
///
/// Holds L and D L^H, so that both sweeps go through rows: a copy of the matrix and the inverse of
/// D. An application costs about as much as two products. On several ranks it is the factorisation
/// of one: the ranks follow one another.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Options, cg_with, preconditioners::Ic0};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let b = Vector::ones([256]);
/// let m = Ic0::new(&a)?;
/// assert_eq!(m.shift(), 0.0);
/// let options = Options {
///     preconditioner: Some(&m),
///     ..Options::default()
/// };
/// assert!(cg_with(&a, &b, options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ic0<T> {
    elimination: Elimination,
    layout: RowLayout,
    factors: Factors<T>,
    shift: f64,
}

impl<T: Field> Ic0<T> {
    /// The factorisation of a Hermitian matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square or not of symmetric structure, a diagonal entry is not stored or
    /// not positive, or the computation of the values failed.
    pub fn new(a: &Csr<T>) -> Result<Self, Error> {
        check_square(OP, a)?;
        eager(TASK, &[a], || Self::factored(a))
    }

    fn factored(a: &Csr<T>) -> Result<Self, Error> {
        let layout = a.row_layout()?;
        let (_, mut rows) = a.local_rows()?;
        let elimination = Elimination::new(OP, &layout, &rows, Rule::Hermitian)?;
        let shift = factor(&elimination, &mut rows, || Ok(a.local_rows()?.1))?;
        Ok(Self {
            elimination,
            factors: Factors::of_rows(&layout, &rows)?,
            layout,
            shift,
        })
    }

    /// The alpha of A + alpha diag(A) that has been factored: 0 where no shift was needed.
    #[must_use]
    pub fn shift(&self) -> f64 {
        self.shift
    }
}

/// Puts the factors in the place of the rows, with the smallest shift that gives positive pivots, and
/// returns that; `again` gives the rows anew.
fn factor<T: Field>(
    elimination: &Elimination,
    rows: &mut LocalRows<T>,
    again: impl Fn() -> Result<LocalRows<T>, Error>,
) -> Result<f64, Error> {
    let Some(first) = elimination.run(rows)? else {
        return Ok(0.0);
    };
    let layout = elimination.layout();
    *rows = again()?;
    layout.runtime().agree(check_diagonal(layout, rows))?;
    for shift in (0..SHIFTS).map(|k| FIRST_SHIFT * 2f64.powi(k)) {
        scale_diagonal(layout, rows, 1.0 + shift);
        if elimination.run(rows)?.is_none() {
            return Ok(shift);
        }
        *rows = again()?;
    }
    Err(first.error(OP))
}

/// Refuses a diagonal that no shift makes positive; all its entries are stored.
fn check_diagonal<T: Field>(layout: &RowLayout, rows: &LocalRows<T>) -> Result<(), Error> {
    for (row, place) in diagonal_places(layout, rows) {
        let value = rows.vals[place];
        if !(value.parts().0 > 0.0) {
            let expected = format!("a positive diagonal entry in row {row}");
            return Err(Error::argument(OP, expected, value.to_string()));
        }
    }
    Ok(())
}

fn scale_diagonal<T: Field>(layout: &RowLayout, rows: &mut LocalRows<T>, factor: f64) {
    for (_, place) in diagonal_places(layout, rows).collect::<Vec<_>>() {
        rows.vals[place] = rows.vals[place] * T::from_f64(factor);
    }
}

/// The rows that have a diagonal entry, and its place.
fn diagonal_places<T>(
    layout: &RowLayout,
    rows: &LocalRows<T>,
) -> impl Iterator<Item = (usize, usize)> {
    layout.rows().enumerate().filter_map(|(number, row)| {
        let entries = rows.pos[number] as usize..rows.pos[number + 1] as usize;
        let place = rows.crd[entries.clone()].binary_search(&(row as u32));
        Some((row, entries.start + place.ok()?))
    })
}

impl<T: Field> LinearOperator<T> for Ic0<T> {
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
        // M is Hermitian.
        self.factors.solve(r)
    }
}

impl<T: Field> Preconditioner<T> for Ic0<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        eager(TASK, &[a], || {
            let again = || rows_in(&self.layout, a);
            let mut rows = again()?;
            let shift = factor(&self.elimination, &mut rows, again)?;
            self.factors.update_rows(&rows)?;
            self.shift = shift;
            Ok(())
        })
    }
}
