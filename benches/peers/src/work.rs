//! What is measured, and what the project wants to show by it.

/// One piece of work, done by every competitor that can.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    /// The matrix by name, or the number of elements.
    pub(crate) on: &'static str,
    /// Iterations of one solve, 1 where the work has none.
    pub(crate) iterations: usize,
    pub(crate) targets: &'static [Target],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Spmv,
    Cg,
    Cgs,
    Bicgstab,
    BlackScholes,
    Combination,
    Jacobi,
}

/// The project's own target: at least so many times as fast as the fastest of these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) against: &'static [&'static str],
    pub(crate) at_least: f64,
}

const PRODUCTS: &[&str] = &["MKL", "PETSc SELL", "PETSc AIJ", "Eigen"];
const PRODUCTS_AND_LOOP: &[&str] = &["MKL", "PETSc SELL", "PETSc AIJ", "Eigen", "plain loops"];
const PETSC: &[&str] = &["PETSc SELL", "PETSc AIJ"];
const ARRAYS: &[&str] = &["numexpr", "numba", "JAX"];

/// A slice of targets, `of!(PETSC 2.0, MKL 1.2)`.
macro_rules! of {
    ($($against:expr => $at_least:expr),*) => {
        &[$(Target { against: $against, at_least: $at_least }),*]
    };
}

const fn spmv(on: &'static str, targets: &'static [Target]) -> Work {
    solve(Kind::Spmv, on, 1, targets)
}

const fn solve(
    kind: Kind,
    on: &'static str,
    iterations: usize,
    targets: &'static [Target],
) -> Work {
    Work {
        kind,
        on,
        iterations,
        targets,
    }
}

/// Everything, in the order of the report.
pub(crate) const ALL: &[Work] = &[
    spmv("poisson2d:2048", of!(PRODUCTS => 2.5)),
    spmv("poisson3d:128", of!(PRODUCTS => 2.5)),
    spmv("banded:4000000,11", of!(PRODUCTS => 2.5)),
    spmv("diffusion2d:2048", of!(PRODUCTS => 1.2)),
    spmv("diffusion3d:128", of!(PRODUCTS => 1.2)),
    spmv("banded_varying:4000000,11", of!(PRODUCTS => 1.2)),
    spmv("rmat:20,16", of!(PRODUCTS_AND_LOOP => 1.15)),
    solve(Kind::Cg, "poisson2d:32", 60, of!(&["plain loops"] => 1.0)),
    solve(
        Kind::Cg,
        "poisson2d:128",
        200,
        of!(PETSC => 2.0, &["MKL"] => 1.2),
    ),
    solve(
        Kind::Cg,
        "poisson2d:512",
        60,
        of!(PETSC => 3.0, &["MKL"] => 1.2),
    ),
    solve(
        Kind::Cg,
        "poisson2d:1024",
        30,
        of!(PETSC => 3.0, &["MKL"] => 1.2),
    ),
    solve(
        Kind::Cg,
        "poisson2d:2048",
        15,
        of!(PETSC => 1.6, &["MKL"] => 1.2),
    ),
    solve(Kind::Cgs, "poisson2d:128", 60, of!(PETSC => 2.0)),
    solve(Kind::Cgs, "poisson2d:512", 30, of!(PETSC => 3.0)),
    solve(Kind::Cgs, "poisson2d:1024", 15, of!(PETSC => 3.0)),
    solve(Kind::Cgs, "poisson2d:2048", 8, of!(PETSC => 1.6)),
    solve(Kind::Bicgstab, "poisson2d:128", 60, of!(PETSC => 2.0)),
    solve(Kind::Bicgstab, "poisson2d:512", 30, of!(PETSC => 3.0)),
    solve(Kind::Bicgstab, "poisson2d:1024", 15, of!(PETSC => 3.0)),
    solve(Kind::Bicgstab, "poisson2d:2048", 8, of!(PETSC => 1.6)),
    solve(Kind::Cg, "diffusion2d:128", 200, of!(&["MKL"] => 1.2)),
    solve(
        Kind::Cg,
        "diffusion2d:512",
        60,
        of!(PETSC => 1.4, &["MKL"] => 1.2),
    ),
    solve(
        Kind::Cg,
        "diffusion2d:1024",
        30,
        of!(PETSC => 1.4, &["MKL"] => 1.2),
    ),
    solve(
        Kind::Cg,
        "diffusion2d:2048",
        15,
        of!(PETSC => 1.2, &["MKL"] => 1.2),
    ),
    solve(Kind::Cgs, "diffusion2d:1024", 15, of!()),
    solve(Kind::Bicgstab, "diffusion2d:1024", 15, of!()),
    solve(
        Kind::BlackScholes,
        "10000000",
        1,
        of!(ARRAYS => 3.0, &["NumPy"] => 8.0),
    ),
    solve(Kind::Combination, "10000000", 1, of!(ARRAYS => 1.2)),
    solve(Kind::Jacobi, "4000", 20, of!(&["NumPy", "JAX"] => 1.0)),
];

impl Work {
    /// The name under which `--only` and the report know it.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.kind.word(), self.on)
    }

    /// How many times as fast as PETSc the project wants to be with as many MPI processes.
    pub(crate) fn target_on_processes(&self) -> Option<f64> {
        match (self.kind, self.on) {
            (Kind::Cg | Kind::Cgs | Kind::Bicgstab, "poisson2d:512" | "poisson2d:1024") => {
                Some(2.5)
            }
            (Kind::Cg | Kind::Cgs | Kind::Bicgstab, "poisson2d:2048") => Some(1.5),
            (Kind::Cg | Kind::Cgs | Kind::Bicgstab, "diffusion2d:1024") => Some(1.2),
            _ => None,
        }
    }

    /// What a unit of it is.
    pub(crate) fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Spmv => "product",
            Kind::BlackScholes | Kind::Combination => "pass",
            Kind::Cg | Kind::Cgs | Kind::Bicgstab | Kind::Jacobi => "iteration",
        }
    }

    /// The least bytes that a unit moves for a program that holds the matrix in compressed rows
    /// (4-byte positions and columns) and, in a solver, has one loop for each vector operation.
    pub(crate) fn plain_bytes(&self, (rows, entries): (usize, usize)) -> u64 {
        let matrix = 12 * entries + 4 * (rows + 1);
        let bytes = match self.kind {
            Kind::Spmv => matrix + 16 * rows,
            // A product; p'q, two updates, r'r, p = r + beta p.
            Kind::Cg => matrix + (16 + 16 + 24 + 24 + 8 + 24) * rows,
            // Two products; two inner products, six updates, a norm.
            Kind::Cgs => 2 * (matrix + 16 * rows) + (2 * 16 + 6 * 24 + 8) * rows,
            // Two products; four inner products, six updates, a norm.
            Kind::Bicgstab => 2 * (matrix + 16 * rows) + (4 * 16 + 6 * 24 + 8) * rows,
            Kind::BlackScholes => 40 * rows,
            Kind::Combination => 24 * rows,
            Kind::Jacobi => 8 * rows * rows + 32 * rows,
        };
        bytes as u64
    }

    /// How far results may be from those of the others: products and elementwise work differ in
    /// the last bits only, solvers a little more, after the few iterations that are compared.
    pub(crate) fn tolerance(&self) -> f64 {
        match self.kind {
            Kind::Spmv | Kind::BlackScholes | Kind::Combination | Kind::Jacobi => 1e-11,
            Kind::Cg => 1e-9,
            Kind::Cgs | Kind::Bicgstab => 1e-7,
        }
    }

    /// Whether its input is a number of elements and no matrix file.
    pub(crate) fn is_dense(&self) -> bool {
        matches!(
            self.kind,
            Kind::BlackScholes | Kind::Combination | Kind::Jacobi
        )
    }
}

impl Kind {
    /// The word of the command line of every competitor.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Spmv => "spmv",
            Self::Cg => "cg",
            Self::Cgs => "cgs",
            Self::Bicgstab => "bicgstab",
            Self::BlackScholes => "black-scholes",
            Self::Combination => "combination",
            Self::Jacobi => "jacobi",
        }
    }
}
