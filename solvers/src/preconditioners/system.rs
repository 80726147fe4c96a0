//! Which complete factorisation is made, and which system is solved with it.

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
