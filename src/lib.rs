//! Sparse linear algebra on a runtime that fuses operations.
//!
//! A program is plain array code, one operation a line. Each operation issues a task; the runtime
//! fuses neighbouring tasks and runs them on threads and ranks.
//!
//! ```
//! use sparsefuse::prelude::*;
//!
//! let a = gallery::poisson2d::<f64>(64)?;
//! let b = &a * &Vector::ones([64 * 64]);
//! let solution = cg(&a, &b)?;
//! assert!(solution.converged());
//! # Ok::<(), sparsefuse::Error>(())
//! ```
//!
//! Where to begin: [`prelude`] has what most programs use; [`dense::Array`] is NumPy's array,
//! [`sparse::Csr`] SciPy's matrix, [`solvers`] has the methods and [`gallery`](sparse::gallery)
//! matrices to try them on. Examples in this documentation name the crate that a type is from
//! (`sparsefuse_dense::Array`); `use sparsefuse::prelude::*` has it too.
//!
//! Guides are in the folder `docs` of the project: `scipy.md` (the names of SciPy and NumPy, and
//! what differs), `choosing.md` (methods and preconditioners, also from PETSc), `ode.md`,
//! `clusters.md`, `gpu.md`, `own-tasks.md` (operations and formats of your own).
//!
//! # Features
//!
//! All of these but `cuda` and `mpi` are on by default.
//!
//! - `program`: the command line program. A library has no use for it.
//! - `direct`: sparse direct solves, by faer: `splu`, `spcholesky`, `spsolve`, and what is made of
//!   them (`eigsh_near`, `eigs_near`, mass matrices of `eigsh`, `expm` of sparse matrices, `Bdf`
//!   with a Jacobian that is given or small). Without it these compile and return an error.
//! - `linalg`: dense systems, factorisations and eigenvalues (`solve`, `svd`, `eigh`), by faer.
//! - `fft`: Fourier and cosine transforms, by rustfft.
//! - `interop`: conversions from and to `ndarray` and `sprs`.
//! - `cuda`: GPUs; `mpi`: ranks that are processes.
//!
//! The same program runs on several ranks: processes that `mpiexec` or `srun` starts, with the
//! feature `mpi` (see [`runtime::Processes`] and [`runtime::Runtime::of_processes`] for more than
//! the default), or threads of one process ([`runtime::run_ranks`]). Long solves can be
//! checkpointed and resumed ([`solvers::Checkpoint`]); matrices and vectors come from Matrix Market
//! files ([`sparse::matrix_market`], [`sparse::Csr::read`]) or SciPy's ([`sparse::Csr::load_npz`])
//! and go to them.

pub use sparsefuse_dense as dense;
pub use sparsefuse_kernels as kernels;
pub use sparsefuse_runtime as runtime;
pub use sparsefuse_solvers as solvers;
pub use sparsefuse_sparse as sparse;

/// Complex numbers, as the element types of this library: `sparsefuse::num_complex::Complex`.
pub use num_complex;
#[doc(inline)]
pub use sparsefuse_dense::{Array, Scalar, Vector};
#[doc(inline)]
pub use sparsefuse_runtime::{Config, Error, ErrorKind, Runtime};
#[doc(inline)]
pub use sparsefuse_sparse::{Bsr, Coo, Csc, Csr, Dia, Triplets};

/// What most programs use.
pub mod prelude {
    pub use num_complex::{self, Complex};
    #[cfg(feature = "fft")]
    pub use sparsefuse_dense::FftNorm;
    #[cfg(feature = "linalg")]
    pub use sparsefuse_dense::MatrixNorm;
    pub use sparsefuse_dense::{
        Array, Element, Field, Numeric, Overlap, Padding, Real, Scalar, TextInput, TextOutput,
        Vector, einsum, einsum_all, map_all, map2, map3, npz_names, repeat, save_npz, step,
    };
    pub use sparsefuse_kernels::DType;
    pub use sparsefuse_runtime::{
        Config, Error, ErrorKind, Processes, Runtime, TaskSpace, run_ranks,
    };
    pub use sparsefuse_solvers::multigrid::Multigrid;
    pub use sparsefuse_solvers::preconditioners::{spcholesky, splu, spsolve};
    pub use sparsefuse_solvers::{
        Checkpoint, Jacobi, KrylovSolver, LinearOperator, MatrixFree, MatrixFreeWithAdjoint,
        Method, Nullspace, Operator, Options, Preconditioner, Recycled, Side, Solution, StopReason,
        WithNullspace, bicg, bicg_with, bicgstab, bicgstab_with, cg, cg_with, cgs, cgs_with, eigen,
        expm, expm_multiply, expm_multiply_at, fgmres, fgmres_with, gcrotmk, gcrotmk_with, gmres,
        gmres_with, lgmres, lgmres_with, lsmr, lsmr_with, lsqr, lsqr_with, minres, minres_with,
        multigrid, norm1_estimate, ode, pipelined_cg, pipelined_cg_with, preconditioners, qmr,
        qmr_with, richardson, richardson_with, single_reduction_cg, single_reduction_cg_with,
        tfqmr, tfqmr_with,
    };
    pub use sparsefuse_sparse::{
        Bsr, Coo, Csc, Csr, Dia, Diagonal, Triangle, TriangularSolve, Triplets, gallery, graph,
        matrix_market,
    };
}

/// The examples of docs/scipy.md, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/scipy.md")]
struct FromScipy;

/// The examples of docs/ode.md, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/ode.md")]
struct Ode;

/// The examples of docs/own-tasks.md, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/own-tasks.md")]
struct OwnTasks;

/// The examples of docs/task-spaces.md, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/task-spaces.md")]
struct TaskSpaces;

/// The examples of README.md, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
