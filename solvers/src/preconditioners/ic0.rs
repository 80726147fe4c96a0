//! Incomplete Cholesky factorisation without fill.

use super::elimination::{Elimination, pattern_again, pattern_of, with_rows_in};
use super::factors::{Factors, applies_factors};
use super::{Preconditioner, check_square, check_update};
use crate::local::elimination::{Factored, Rule};
use crate::local::pattern::Pattern;
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Csr, RowLayout, Rows, eager};

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
/// With a positive diagonal some alpha is large enough, up to 8389 where no entry is larger than
/// the root of the product of the diagonal entries in its row and column, as those of a definite
/// matrix.
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
    factors: Factors<T>,
    shift: f64,
}

impl<T: Field> Ic0<T> {
    /// The factorisation of a Hermitian matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square or not of symmetric structure, an entry is infinite or not a
    /// number, a diagonal entry is not stored or not positive, no alpha gives positive pivots, or
    /// the computation of the values failed.
    pub fn new(a: &Csr<T>) -> Result<Self, Error> {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        eager(TASK, &[a], || Self::factored(a))
    }

    fn factored(a: &Csr<T>) -> Result<Self, Error> {
        let layout = a.row_layout()?;
        let own = a.own_rows()?;
        let pattern = pattern_of(OP, &layout, own.as_rows())?;
        check_symmetric(&layout, &pattern)?;
        let elimination = Elimination::new(OP, &layout, &pattern, Rule::Hermitian)?;
        let (factored, shift) = factor(&elimination, own.as_rows(), pattern)?;
        Ok(Self {
            elimination,
            factors: Factors::new(&layout, factored)?,
            shift,
        })
    }

    /// The alpha of A + alpha diag(A) that has been factored: 0 where no shift was needed.
    #[must_use]
    pub fn shift(&self) -> f64 {
        self.shift
    }
}

/// Refuses a matrix that has more entries above the diagonal than below: for each of those the
/// elimination finds its mirror.
fn check_symmetric(layout: &RowLayout, pattern: &Pattern) -> Result<(), Error> {
    let mine = [&pattern.lower, &pattern.upper].map(|of| of.crd.len() as u64);
    let all = layout.runtime().all_gather(&mine)?;
    let sum = |part: usize| all.iter().map(|of_rank| of_rank[part]).sum::<u64>();
    let (lower, upper) = (sum(0), sum(1));
    if upper <= lower {
        return Ok(());
    }
    let expected = "a symmetric structure, with as many entries below the diagonal as above it";
    let more = upper - lower;
    let found = format!("{more} more above it, each without one at its mirrored place");
    Err(Error::argument(OP, expected, found))
}

/// The factors with the smallest shift that gives positive pivots, and that shift.
fn factor<T: Field>(
    elimination: &Elimination,
    rows: Rows<'_, T>,
    pattern: Pattern,
) -> Result<(Factored<T>, f64), Error> {
    if let Ok(factored) = elimination.run(rows, pattern, None)? {
        return Ok((factored, 0.0));
    }
    let layout = elimination.layout();
    layout.runtime().agree(check_diagonal(layout, rows))?;
    for shift in (0..SHIFTS).map(|k| FIRST_SHIFT * 2f64.powi(k)) {
        let pattern = pattern_of(OP, layout, rows)?;
        let scale = T::from_f64(1.0 + shift);
        if let Ok(factored) = elimination.run(rows, pattern, Some(scale))? {
            return Ok((factored, shift));
        }
    }
    let most = FIRST_SHIFT * 2f64.powi(SHIFTS - 1);
    let expected = format!("positive pivots of A + alpha diag(A) for some alpha up to {most:.0}");
    let found = "one that is not, for each: entries far larger than the diagonal, or out of range";
    Err(Error::argument(OP, expected, found))
}

/// Refuses a diagonal that no shift makes positive; all its entries are stored.
fn check_diagonal<T: Field>(layout: &RowLayout, rows: Rows<'_, T>) -> Result<(), Error> {
    for (number, row) in layout.rows().enumerate() {
        let Ok(place) = rows.columns(number).binary_search(&(row as u32)) else {
            continue;
        };
        let value = rows.values(number)[place];
        if !(value.parts().0 > 0.0) {
            let expected = format!("a positive diagonal entry in row {row}");
            // A tiny number has hundreds of digits.
            let found = match value.to_string() {
                text if text.len() <= 40 => text,
                _ => format!("{:e}", value.parts().0),
            };
            return Err(Error::argument(OP, expected, found));
        }
    }
    Ok(())
}

// M is Hermitian.
applies_factors!(Ic0 solve);

impl<T: Field> Preconditioner<T> for Ic0<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        eager(TASK, &[a], || {
            let Self {
                elimination,
                factors,
                ..
            } = self;
            self.shift = with_rows_in(elimination.layout(), a, |rows| {
                let pattern = pattern_again(OP, elimination.layout(), factors, rows)?;
                let (factored, shift) = factor(elimination, rows, pattern)?;
                factors.update(factored)?;
                Ok(shift)
            })?;
            Ok(())
        })
    }
}
