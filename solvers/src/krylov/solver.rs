//! Which method: as a value with a name, and as a solver that is called again and again.

use super::{
    bicg_with, bicgstab_with, cg_with, cgs_with, fgmres_with, gmres_with, lsmr_with, lsqr_with,
    minres_with, pipelined_cg_with, richardson_with, single_reduction_cg_with, tfqmr_with,
};
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use std::fmt;

/// A Krylov method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Method {
    /// [`cg()`](crate::cg()): positive definite matrices.
    Cg,
    /// [`single_reduction_cg()`](crate::single_reduction_cg()): the same with one reduction.
    SingleReductionCg,
    /// [`pipelined_cg()`](crate::pipelined_cg()): the same, and the reduction overlaps.
    PipelinedCg,
    /// [`minres()`](crate::minres()): symmetric and Hermitian matrices.
    Minres,
    /// [`gmres()`](crate::gmres()): square matrices.
    Gmres,
    /// [`fgmres()`](crate::fgmres()): the same, with a preconditioner that may change.
    Fgmres,
    /// [`bicg()`](crate::bicg()): square matrices with an adjoint.
    Bicg,
    /// [`cgs()`](crate::cgs()): square matrices.
    Cgs,
    /// [`bicgstab()`](crate::bicgstab()): square matrices.
    Bicgstab,
    /// [`tfqmr()`](crate::tfqmr()): square matrices.
    Tfqmr,
    /// [`richardson()`](crate::richardson()): whatever the preconditioner nearly solves.
    Richardson,
    /// [`lsqr()`](crate::lsqr()): matrices of any shape, with an adjoint.
    Lsqr,
    /// [`lsmr()`](crate::lsmr()): the same.
    Lsmr,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Cg,
        Self::SingleReductionCg,
        Self::PipelinedCg,
        Self::Minres,
        Self::Gmres,
        Self::Fgmres,
        Self::Bicg,
        Self::Cgs,
        Self::Bicgstab,
        Self::Tfqmr,
        Self::Richardson,
        Self::Lsqr,
        Self::Lsmr,
    ];

    /// The name of its function, and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cg => "cg",
            Self::SingleReductionCg => "single_reduction_cg",
            Self::PipelinedCg => "pipelined_cg",
            Self::Minres => "minres",
            Self::Gmres => "gmres",
            Self::Fgmres => "fgmres",
            Self::Bicg => "bicg",
            Self::Cgs => "cgs",
            Self::Bicgstab => "bicgstab",
            Self::Tfqmr => "tfqmr",
            Self::Richardson => "richardson",
            Self::Lsqr => "lsqr",
            Self::Lsmr => "lsmr",
        }
    }

    /// The inverse of [`Method::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether the matrix must be positive definite.
    #[must_use]
    pub const fn is_for_definite(self) -> bool {
        matches!(self, Self::Cg | Self::SingleReductionCg | Self::PipelinedCg)
    }

    /// Whether it solves least-squares problems, with matrices of any shape.
    #[must_use]
    pub const fn is_least_squares(self) -> bool {
        matches!(self, Self::Lsqr | Self::Lsmr)
    }

    /// Whether it can save its state, and go on from one: [`Options::checkpoint`].
    #[must_use]
    pub const fn has_checkpoints(self) -> bool {
        matches!(self, Self::Cg | Self::Cgs | Self::Bicgstab)
    }

    /// Whether it applies the adjoints of the operator and of the preconditioner too.
    #[must_use]
    pub const fn needs_adjoint(self) -> bool {
        matches!(self, Self::Bicg | Self::Lsqr | Self::Lsmr)
    }

    /// Solves A x = b by this method.
    ///
    /// # Errors
    ///
    /// As its function.
    pub fn solve<T: Field>(
        self,
        a: &dyn LinearOperator<T>,
        b: &Vector<T>,
        options: Options<'_, T>,
    ) -> Result<Solution<T>, Error> {
        match self {
            Self::Cg => cg_with(a, b, options),
            Self::SingleReductionCg => single_reduction_cg_with(a, b, options),
            Self::PipelinedCg => pipelined_cg_with(a, b, options),
            Self::Minres => minres_with(a, b, options),
            Self::Gmres => gmres_with(a, b, options),
            Self::Fgmres => fgmres_with(a, b, options),
            Self::Bicg => bicg_with(a, b, options),
            Self::Cgs => cgs_with(a, b, options),
            Self::Bicgstab => bicgstab_with(a, b, options),
            Self::Tfqmr => tfqmr_with(a, b, options),
            Self::Richardson => richardson_with(a, b, options),
            Self::Lsqr => lsqr_with(a, b, options),
            Self::Lsmr => lsmr_with(a, b, options),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A method with its operator and options, for many right-hand sides.
///
/// It holds no vectors between solves, and needs none: the memory that a solve gives back stays in
/// the runtime's pool, where the next one finds it, and the runtime remembers what it made of each
/// step of the method. So from the second solve on, right-hand sides of the same length cost no
/// analysis and no memory of the system, but for what the solutions keep and the first appearance
/// of a step.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{KrylovSolver, Method, Options};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let mut solver = KrylovSolver::new(Method::Gmres, &a, Options::default());
/// for seed in 0..3 {
///     let solution = solver.solve(&Vector::random_normal([256], seed))?;
///     assert!(solution.converged());
/// }
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
pub struct KrylovSolver<'a, T> {
    method: Method,
    a: &'a dyn LinearOperator<T>,
    options: Options<'a, T>,
}

impl<'a, T: Field> KrylovSolver<'a, T> {
    /// A solver by this method. Every solve has these options; its monitor sees all of them, one
    /// after the other.
    pub fn new(method: Method, a: &'a dyn LinearOperator<T>, options: Options<'a, T>) -> Self {
        Self { method, a, options }
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// Solves A x = b.
    ///
    /// # Errors
    ///
    /// As the method's function.
    pub fn solve(&mut self, b: &Vector<T>) -> Result<Solution<T>, Error> {
        let options = Options {
            rtol: self.options.rtol,
            atol: self.options.atol,
            max_iter: self.options.max_iter,
            x0: self.options.x0,
            preconditioner: self.options.preconditioner,
            side: self.options.side,
            restart_length: self.options.restart_length,
            damping: self.options.damping,
            monitor: match &mut self.options.monitor {
                Some(monitor) => Some(&mut **monitor),
                None => None,
            },
            checkpoint: self.options.checkpoint,
            restart: self.options.restart,
        };
        self.method.solve(self.a, b, options)
    }

    /// Solves for several right-hand sides, one after the other.
    ///
    /// # Errors
    ///
    /// As [`KrylovSolver::solve`], at the first that fails.
    pub fn solve_many(&mut self, rhs: &[Vector<T>]) -> Result<Vec<Solution<T>>, Error> {
        rhs.iter().map(|b| self.solve(b)).collect()
    }

    /// Solves for each column of a matrix, one after the other.
    ///
    /// # Errors
    ///
    /// As [`KrylovSolver::solve`], at the first that fails.
    pub fn solve_columns(&mut self, rhs: &Array<T, 2>) -> Result<Vec<Solution<T>>, Error> {
        let [_, n_columns] = rhs.shape();
        (0..n_columns)
            .map(|column| self.solve(&rhs.try_column(column)?.contiguous()?))
            .collect()
    }
}

impl<T> fmt::Debug for KrylovSolver<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KrylovSolver")
            .field("method", &self.method)
            .field("shape", &self.a.shape())
            .field("options", &self.options)
            .finish()
    }
}
