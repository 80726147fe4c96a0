//! Which complete factorisation is made, which system is solved with it, which matrix is refused,
//! and what is read of the factors.

use sparsefuse_runtime::{Error, ErrorKind};

/// How a matrix is factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factorisation {
    /// L U with partial pivoting.
    Lu,
    /// L L^H of a Hermitian matrix.
    Cholesky,
}

impl Factorisation {
    /// What profiles call the factorisation.
    pub(super) fn factorisation(self) -> &'static str {
        match self {
            Self::Lu => "lu",
            Self::Cholesky => "cholesky",
        }
    }

    /// The function that makes it.
    pub(super) fn called(self) -> &'static str {
        match self {
            Self::Lu => "splu",
            Self::Cholesky => "spcholesky",
        }
    }

    /// What profiles call a solve.
    pub(super) fn solve(self) -> &'static str {
        match self {
            Self::Lu => "lu_solve",
            Self::Cholesky => "cholesky_solve",
        }
    }
}

/// Which system is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// With the matrix.
    Plain,
    /// With its conjugate transpose.
    Adjoint,
    /// With its transpose.
    Transpose,
}

impl System {
    /// The method that solves it.
    pub(super) fn called(self) -> &'static str {
        match self {
            Self::Plain => "solve",
            Self::Adjoint => "solve_adjoint",
            Self::Transpose => "solve_transpose",
        }
    }
}

/// The refusal of a matrix for a pivot of 0.
pub(super) fn singular(found: &str) -> Error {
    let (op, found) = (Factorisation::Lu.called(), found.to_owned());
    ErrorKind::Singular { op, found }.into()
}

/// The refusal of a matrix by Cholesky's factorisation, for the pivot of a row if that is known.
pub(super) fn indefinite(row: Option<usize>) -> Error {
    let found = match row {
        Some(row) => format!("one whose pivot in row {row} is not positive"),
        None => "one with a pivot that is not positive".to_owned(),
    };
    let op = Factorisation::Cholesky.called();
    ErrorKind::NotPositiveDefinite { op, found }.into()
}

/// Whether a matrix was refused for a pivot of 0; the same on every rank for what [`Direct`] says.
///
/// [`Direct`]: super::Direct
pub(crate) fn is_singular(error: &Error) -> bool {
    matches!(error.root(), ErrorKind::Singular { .. })
}

/// L of P A Pᵀ = L Lᴴ, row by row without entries that are 0, and the rows of A in the order P.
pub(super) struct Lower<T> {
    pub(super) pos: Vec<u64>,
    pub(super) crd: Vec<u32>,
    pub(super) vals: Vec<T>,
    pub(super) order: Vec<usize>,
}
