//! Who competes, in what, and how each is started.

use crate::tools::Tools;
use crate::work::{Kind, Work};
use std::path::Path;
use std::process::Command;

/// One who does the work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Competitor {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    /// The last word of its command line.
    variant: &'static str,
    kinds: &'static [Kind],
    /// Works that are left to one core, since it has no threads for them. Not so those that make
    /// matrices and those of multigrid: who has no threads may still be the fastest there.
    serial: &'static [Kind],
}

/// What is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// This program once more.
    Rust,
    /// This program as several processes.
    RustMpi,
    Petsc,
    Mkl,
    Eigen,
    Amgcl,
    /// `benches/python/peer.py`, which needs this package.
    Python(&'static str),
}

const SPMV: &[Kind] = &[Kind::Spmv];
const KRYLOV: &[Kind] = &[
    Kind::Cg,
    Kind::Cgs,
    Kind::Bicgstab,
    Kind::Gmres,
    Kind::Fgmres,
];
const SPARSE: &[Kind] = &[
    Kind::Spmv,
    Kind::Cg,
    Kind::Cgs,
    Kind::Bicgstab,
    Kind::Gmres,
    Kind::Fgmres,
];
const SCIPY: &[Kind] = &[
    Kind::Spmv,
    Kind::Cg,
    Kind::Cgs,
    Kind::Bicgstab,
    Kind::Gmres,
    Kind::Lobpcg,
    Kind::Multiply,
    Kind::Spmm,
    Kind::Transpose,
    Kind::Triplets,
    Kind::TripletsScattered,
];
const SCIPY_ALONE: &[Kind] = &[
    Kind::Spmv,
    Kind::Cg,
    Kind::Cgs,
    Kind::Bicgstab,
    Kind::Gmres,
];
const SPARSE_AND_STRUCTURES: &[Kind] = &[
    Kind::Spmv,
    Kind::Cg,
    Kind::Cgs,
    Kind::Bicgstab,
    Kind::Gmres,
    Kind::Fgmres,
    Kind::Multiply,
    Kind::Spmm,
    Kind::Transpose,
    Kind::Triplets,
    Kind::TripletsScattered,
];
const SPMV_AND_STRUCTURES: &[Kind] = &[
    Kind::Spmv,
    Kind::Multiply,
    Kind::Spmm,
    Kind::Transpose,
    Kind::Triplets,
    Kind::TripletsScattered,
];
const MULTIGRID: &[Kind] = &[Kind::Gmg, Kind::Amg];
const ARRAYS: &[Kind] = &[Kind::BlackScholes, Kind::Combination];
const DENSE: &[Kind] = &[Kind::BlackScholes, Kind::Combination, Kind::Jacobi];

const fn competitor(
    name: &'static str,
    program: Program,
    variant: &'static str,
    kinds: &'static [Kind],
    serial: &'static [Kind],
) -> Competitor {
    Competitor {
        name,
        program,
        variant,
        kinds,
        serial,
    }
}

/// The name of the one whom the bench is about.
pub(crate) const OURS: &str = "sparsefuse";

/// The same with an MPI process for each core instead of threads.
pub(crate) const OURS_MPI: &str = "sparsefuse, MPI";

/// sparsefuse, and those of the others whose name contains one of these; all if there are none.
pub(crate) fn chosen(against: &[String]) -> Result<Vec<&'static Competitor>, String> {
    let is_named = |competitor: &Competitor, name: &String| {
        let name = name.to_lowercase();
        !competitor.is_ours() && competitor.name.to_lowercase().contains(&name)
    };
    let unknown = against.iter().find(|name| {
        let mut all = ALL.iter();
        !all.any(|competitor| is_named(competitor, name))
    });
    if let Some(unknown) = unknown {
        let names: Vec<&str> = ALL.iter().map(|competitor| competitor.name).collect();
        return Err(format!(
            "no competitor is called {unknown}; there are: {}",
            names.join("; ")
        ));
    }
    let is_chosen = |competitor: &&Competitor| {
        let mut names = against.iter();
        against.is_empty() || competitor.is_ours() || names.any(|name| is_named(competitor, name))
    };
    Ok(ALL.iter().filter(is_chosen).collect())
}

/// Whether this is one of the two.
pub(crate) fn is_ours(name: &str) -> bool {
    name == OURS || name == OURS_MPI
}

/// All of them, in the order of a round.
pub(crate) const ALL: &[Competitor] = &[
    competitor(OURS, Program::Rust, "sparsefuse", EVERYTHING, &[]),
    competitor(OURS_MPI, Program::RustMpi, "sparsefuse-mpi", KRYLOV, &[]),
    competitor(
        "plain loops",
        Program::Rust,
        "plain",
        &[Kind::Spmv, Kind::Cg],
        &[Kind::Cg],
    ),
    competitor(
        "PETSc AIJ",
        Program::Petsc,
        "aij",
        SPARSE_AND_STRUCTURES,
        &[],
    ),
    competitor("PETSc SELL", Program::Petsc, "sell", SPARSE, &[]),
    competitor(
        "MKL",
        Program::Mkl,
        "mkl",
        &[
            Kind::Spmv,
            Kind::Cg,
            Kind::Cgs,
            Kind::Bicgstab,
            Kind::Multiply,
            Kind::Spmm,
            Kind::Transpose,
        ],
        &[],
    ),
    competitor(
        "Eigen",
        Program::Eigen,
        "eigen",
        &[
            Kind::Spmv,
            Kind::Cg,
            Kind::Bicgstab,
            Kind::Multiply,
            Kind::Spmm,
            Kind::Transpose,
            Kind::Triplets,
            Kind::TripletsScattered,
        ],
        &[],
    ),
    competitor(
        "SciPy",
        Program::Python("scipy"),
        "scipy",
        SCIPY,
        SCIPY_ALONE,
    ),
    competitor("sprs", Program::Rust, "sprs", SPMV_AND_STRUCTURES, SPMV),
    competitor("faer", Program::Rust, "faer", SPMV_AND_STRUCTURES, &[]),
    competitor("nalgebra-sparse", Program::Rust, "nalgebra", SPMV, SPMV),
    competitor("kryst", Program::Rust, "kryst", SPARSE, &[]),
    competitor("PETSc mg, SSOR", Program::Petsc, "mg-ssor", MULTIGRID, &[]),
    competitor(
        "PETSc mg, Gauss-Seidel",
        Program::Petsc,
        "mg-gs",
        MULTIGRID,
        &[],
    ),
    competitor(
        "PETSc mg, Chebyshev",
        Program::Petsc,
        "mg-chebyshev",
        MULTIGRID,
        &[],
    ),
    competitor("PETSc gamg", Program::Petsc, "gamg", MULTIGRID, &[]),
    competitor(
        "PETSc BoomerAMG",
        Program::Petsc,
        "boomeramg",
        MULTIGRID,
        &[],
    ),
    competitor("AMGCL SA", Program::Amgcl, "sa", MULTIGRID, &[]),
    competitor("AMGCL RS", Program::Amgcl, "rs", MULTIGRID, &[]),
    competitor(
        "PyAMG SA",
        Program::Python("pyamg"),
        "pyamg-sa",
        MULTIGRID,
        &[],
    ),
    competitor(
        "PyAMG RS",
        Program::Python("pyamg"),
        "pyamg-rs",
        MULTIGRID,
        &[],
    ),
    competitor("NumPy", Program::Python("numpy"), "numpy", DENSE, ARRAYS),
    competitor(
        "numexpr",
        Program::Python("numexpr"),
        "numexpr",
        ARRAYS,
        &[],
    ),
    competitor("numba", Program::Python("numba"), "numba", ARRAYS, &[]),
    competitor("JAX", Program::Python("jax"), "jax", DENSE, &[]),
];

const EVERYTHING: &[Kind] = &[
    Kind::Spmv,
    Kind::Cg,
    Kind::Cgs,
    Kind::Bicgstab,
    Kind::Gmres,
    Kind::Fgmres,
    Kind::Lobpcg,
    Kind::Multiply,
    Kind::Spmm,
    Kind::Transpose,
    Kind::Triplets,
    Kind::TripletsScattered,
    Kind::Gmg,
    Kind::Amg,
    Kind::BlackScholes,
    Kind::Combination,
    Kind::Jacobi,
];

/// The setting that makes the C library ask for huge pages. sparsefuse asks for its own.
const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

impl Competitor {
    /// Whether it takes part in this work.
    pub(crate) fn does(&self, work: &Work) -> bool {
        self.kinds.contains(&work.kind)
    }

    /// Whether more than one thread would not help it.
    pub(crate) fn is_serial(&self, work: &Work) -> bool {
        self.serial.contains(&work.kind)
    }

    pub(crate) fn is_ours(&self) -> bool {
        is_ours(self.name)
    }

    /// The command that does `work` on the matrix in `input`.
    pub(crate) fn command(
        &self,
        tools: &Tools,
        work: &Work,
        input: &Path,
        threads: usize,
    ) -> Command {
        let mut words: Vec<String> = Vec::new();
        if threads == 1 && tools.can_pin {
            words.extend(["taskset", "-c", "0"].map(str::to_owned));
        }
        if matches!(self.program, Program::Petsc | Program::RustMpi) {
            words.extend(tools.mpiexec(threads));
        }
        words.push(tools.path(self.program).to_string_lossy().into_owned());
        match self.program {
            Program::Rust | Program::RustMpi => words.push("worker".to_owned()),
            Program::Python(_) => words.push(tools.script.to_string_lossy().into_owned()),
            Program::Petsc | Program::Mkl | Program::Eigen | Program::Amgcl => {}
        }
        words.push(work.kind.word().to_owned());
        words.push(input.to_string_lossy().into_owned());
        words.push(threads.to_string());
        words.push(work.iterations.to_string());
        words.push(self.variant.to_owned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if !self.is_ours() {
            command.env(HUGE_PAGES.0, HUGE_PAGES.1);
        }
        command
            .env("OMP_NUM_THREADS", threads.to_string())
            .env("RAYON_NUM_THREADS", threads.to_string());
        command
    }
}
