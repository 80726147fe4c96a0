//! What is measured, and what the project wants to show by it.

/// Columns of the dense matrix of [`Kind::Spmm`].
pub(crate) const SPMM_COLUMNS: usize = 32;

/// The residual, relative to the right-hand side, with which a solve ends.
pub(crate) const RESIDUAL: f64 = 1e-8;

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
    /// Restarted after 30 iterations, as the next.
    Gmres,
    Fgmres,
    /// The 4 smallest eigenvalues, a fixed number of iterations from the same vectors.
    Lobpcg,
    /// A A.
    Multiply,
    /// A X, with a dense X of 32 columns.
    Spmm,
    Transpose,
    /// As many triplets as the matrix has entries, made a matrix: each is put at one of the
    /// matrix's places near its own.
    Triplets,
    /// The same, each at any of its places.
    TripletsScattered,
    /// From the matrix to a solution with a residual of 1e-8; of ours with geometric multigrid.
    Gmg,
    /// The same; of ours with algebraic multigrid.
    Amg,
    BlackScholes,
    Combination,
    Jacobi,
}

/// The project's own target: at least so many times as fast as the fastest of these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) against: &'static [&'static str],
    /// On all cores.
    pub(crate) at_least: f64,
    /// On one core.
    pub(crate) at_least_alone: f64,
}

impl Target {
    /// The ratio on so many cores.
    pub(crate) fn on(&self, threads: usize) -> f64 {
        match threads {
            1 => self.at_least_alone,
            _ => self.at_least,
        }
    }
}

const PRODUCTS: &[&str] = &["MKL", "PETSc SELL", "PETSc AIJ", "Eigen"];
const PRODUCTS_AND_LOOP: &[&str] = &["MKL", "PETSc SELL", "PETSc AIJ", "Eigen", "plain loops"];
/// The vectors of [`Kind::Lobpcg`].
pub(crate) const LOBPCG_VECTORS: usize = 4;

const PETSC: &[&str] = &["PETSc SELL", "PETSc AIJ"];
const ARRAYS: &[&str] = &["numexpr", "numba", "JAX"];
const STRUCTURES: &[&str] = &["SciPy", "MKL", "PETSc AIJ", "Eigen", "sprs", "faer"];
const ALGEBRAIC: &[&str] = &[
    "PETSc gamg",
    "PETSc BoomerAMG",
    "AMGCL SA",
    "AMGCL RS",
    "PyAMG SA",
    "PyAMG RS",
];
const MULTIGRID: &[&str] = &[
    "PETSc mg, SSOR",
    "PETSc mg, Gauss-Seidel",
    "PETSc mg, Chebyshev",
    "PETSc gamg",
    "PETSc BoomerAMG",
    "AMGCL SA",
    "AMGCL RS",
    "PyAMG SA",
    "PyAMG RS",
];

/// A slice of targets, `of!(PETSC => 2.0, MKL => 1.2)`.
macro_rules! of {
    ($($against:expr => $at_least:expr),*) => {
        &[$(Target { against: $against, at_least: $at_least, at_least_alone: $at_least }),*]
    };
}

/// At least 1.2 times as fast on all cores, and no slower on one.
const OF_STRUCTURES: &[Target] = &[Target {
    against: STRUCTURES,
    at_least: 1.2,
    at_least_alone: 1.0,
}];

const fn spmv(on: &'static str, targets: &'static [Target]) -> Work {
    solve(Kind::Spmv, on, 1, targets)
}

const fn structure(kind: Kind, on: &'static str) -> Work {
    solve(kind, on, 1, OF_STRUCTURES)
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
    solve(Kind::Gmres, "poisson2d:32", 60, of!(PETSC => 1.0)),
    solve(Kind::Gmres, "poisson2d:128", 60, of!(PETSC => 1.5)),
    solve(Kind::Gmres, "poisson2d:512", 60, of!(PETSC => 1.5)),
    solve(Kind::Gmres, "poisson2d:1024", 30, of!(PETSC => 1.5)),
    solve(Kind::Gmres, "poisson2d:2048", 30, of!(PETSC => 1.5)),
    solve(Kind::Gmres, "diffusion2d:1024", 30, of!(PETSC => 1.5)),
    solve(Kind::Fgmres, "poisson2d:128", 60, of!(PETSC => 1.5)),
    solve(Kind::Fgmres, "poisson2d:1024", 30, of!(PETSC => 1.5)),
    solve(Kind::Cg, "494_bus.mtx", 300, of!(PETSC => 1.0)),
    solve(Kind::Cg, "1138_bus.mtx", 300, of!(PETSC => 1.0)),
    solve(Kind::Cg, "beam_tet_dof2475.mtx", 300, of!(PETSC => 1.0)),
    solve(Kind::Cg, "bcsstk16.mtx", 100, of!(PETSC => 1.0)),
    solve(Kind::Bicgstab, "cryg2500.mtx", 100, of!(PETSC => 1.0)),
    solve(Kind::Gmres, "rajat01.mtx", 90, of!(PETSC => 1.0)),
    solve(Kind::Gmres, "4elt.mtx", 90, of!(PETSC => 1.0)),
    solve(Kind::Lobpcg, "poisson2d:128", 40, of!(&["SciPy"] => 1.5)),
    solve(Kind::Lobpcg, "poisson2d:512", 20, of!(&["SciPy"] => 1.5)),
    solve(Kind::Lobpcg, "poisson2d:1024", 10, of!(&["SciPy"] => 1.5)),
    structure(Kind::Multiply, "poisson2d:2048"),
    structure(Kind::Spmm, "poisson2d:2048"),
    structure(Kind::Transpose, "poisson2d:2048"),
    structure(Kind::Transpose, "rmat:20,16"),
    structure(Kind::Triplets, "poisson2d:2048"),
    structure(Kind::TripletsScattered, "poisson2d:2048"),
    solve(Kind::Gmg, "poisson2d:1024", 1, of!(MULTIGRID => 3.0)),
    solve(
        Kind::Amg,
        "poisson2d:1024",
        1,
        of!(MULTIGRID => 1.3, ALGEBRAIC => 1.3),
    ),
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

    /// The same on a smaller matrix, where a single time of it would take long.
    pub(crate) fn quick(self) -> Self {
        let on = match (self.kind, self.on) {
            (Kind::Gmg | Kind::Amg, _) => "poisson2d:256",
            (Kind::Transpose, "rmat:20,16") => "rmat:16,16",
            _ if self.makes_matrix() => "poisson2d:512",
            (_, on) => on,
        };
        Self { on, ..self }
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
            Kind::Multiply | Kind::Spmm => "product",
            Kind::Transpose => "transpose",
            Kind::Triplets | Kind::TripletsScattered => "matrix",
            Kind::Gmg | Kind::Amg => "setup and solve",
            Kind::BlackScholes | Kind::Combination => "pass",
            Kind::Cg
            | Kind::Cgs
            | Kind::Bicgstab
            | Kind::Gmres
            | Kind::Fgmres
            | Kind::Lobpcg
            | Kind::Jacobi => "iteration",
        }
    }

    /// The least bytes that a unit moves for a program that holds the matrix in compressed rows
    /// (4-byte positions and columns) and, in a solver, has one loop for each vector operation.
    /// `None` where that says little, since much else than streams of memory takes the time.
    pub(crate) fn plain_bytes(&self, (rows, entries): (usize, usize)) -> Option<u64> {
        let matrix = 12 * entries + 4 * (rows + 1);
        let bytes = match self.kind {
            Kind::Spmv => matrix + 16 * rows,
            // A product; p'q, two updates, r'r, p = r + beta p.
            Kind::Cg => matrix + (16 + 16 + 24 + 24 + 8 + 24) * rows,
            // Two products; two inner products, six updates, a norm.
            Kind::Cgs => 2 * (matrix + 16 * rows) + (2 * 16 + 6 * 24 + 8) * rows,
            // Two products; four inner products, six updates, a norm.
            Kind::Bicgstab => 2 * (matrix + 16 * rows) + (4 * 16 + 6 * 24 + 8) * rows,
            // A product; the basis is read for the inner products and for the update, 15.5
            // vectors of it in the mean of a cycle.
            Kind::Gmres | Kind::Fgmres => matrix + 16 * rows + 2 * 31 * 8 / 2 * rows + 40 * rows,
            // X is read, and what is made of it written.
            Kind::Spmm => matrix + 16 * rows * SPMM_COLUMNS,
            Kind::Transpose => 2 * matrix,
            Kind::Multiply
            | Kind::Triplets
            | Kind::TripletsScattered
            | Kind::Gmg
            | Kind::Amg
            | Kind::Lobpcg => return None,
            Kind::BlackScholes => 40 * rows,
            Kind::Combination => 24 * rows,
            Kind::Jacobi => 8 * rows * rows + 32 * rows,
        };
        Some(bytes as u64)
    }

    /// Bytes that a competitor is likely to need for a matrix in a file of this size: libraries
    /// copy, convert and keep what they converted.
    pub(crate) fn memory(&self, file: u64, rows: usize) -> u64 {
        let dense = match self.kind {
            // X, and what is made of it.
            Kind::Spmm => 16 * rows * SPMM_COLUMNS,
            _ => 0,
        };
        4 * file + dense as u64
    }

    /// How far results may be from those of the others: products and elementwise work differ in
    /// the last bits only, solvers a little more, after the few iterations that are compared.
    pub(crate) fn tolerance(&self) -> f64 {
        match self.kind {
            Kind::Spmv | Kind::BlackScholes | Kind::Combination | Kind::Jacobi => 1e-11,
            Kind::Multiply | Kind::Spmm | Kind::Transpose => 1e-11,
            Kind::Triplets | Kind::TripletsScattered => 1e-11,
            Kind::Cg => 1e-9,
            // Solutions with different residuals of at most 1e-8, which is checked besides.
            Kind::Gmg | Kind::Amg => 1e-6,
            Kind::Cgs | Kind::Bicgstab | Kind::Gmres | Kind::Fgmres => 1e-7,
            // Eigenvalues on their way, from bases that differ in rounding.
            Kind::Lobpcg => 1e-4,
        }
    }

    /// Whether its result is a matrix, made anew each time.
    pub(crate) fn makes_matrix(&self) -> bool {
        matches!(
            self.kind,
            Kind::Multiply
                | Kind::Spmm
                | Kind::Transpose
                | Kind::Triplets
                | Kind::TripletsScattered
        )
    }

    /// Whether it ends with a residual of [`RESIDUAL`] and not after so many iterations.
    pub(crate) fn is_solved(&self) -> bool {
        matches!(self.kind, Kind::Gmg | Kind::Amg)
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
            Self::Gmres => "gmres",
            Self::Fgmres => "fgmres",
            Self::Lobpcg => "lobpcg",
            Self::Multiply => "multiply",
            Self::Spmm => "spmm",
            Self::Transpose => "transpose",
            Self::Triplets => "triplets",
            Self::TripletsScattered => "triplets-scattered",
            Self::Gmg => "gmg",
            Self::Amg => "amg",
            Self::BlackScholes => "black-scholes",
            Self::Combination => "combination",
            Self::Jacobi => "jacobi",
        }
    }
}
