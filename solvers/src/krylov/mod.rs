//! Krylov methods, written as they stand in the textbook: one operation a line; and [`Method`],
//! which of them, as a value with a name.

mod bicg;
mod bicgstab;
mod cg;
mod cgs;
mod fgmres;
mod gcrotmk;
mod gmres;
mod lgmres;
mod lsmr;
mod lsqr;
mod minres;
mod pipelined_cg;
mod qmr;
mod residual;
mod richardson;
mod single_reduction_cg;
mod tfqmr;

pub(crate) mod scaling;
mod solver;

mod arnoldi;
mod iterations;
mod least_squares;
mod orthogonality;
mod projected;
mod recycling;
pub(crate) mod scalars;
mod stopping;
mod validation;

pub use bicg::{bicg, bicg_with};
pub use bicgstab::{bicgstab, bicgstab_with};
pub use cg::{cg, cg_with};
pub use cgs::{cgs, cgs_with};
pub use fgmres::{fgmres, fgmres_with};
pub use gcrotmk::{gcrotmk, gcrotmk_with};
pub use gmres::{gmres, gmres_with};
pub use lgmres::{lgmres, lgmres_with};
pub use lsmr::{lsmr, lsmr_with};
pub use lsqr::{lsqr, lsqr_with};
pub use minres::{minres, minres_with};
pub use pipelined_cg::{pipelined_cg, pipelined_cg_with};
pub use qmr::{qmr, qmr_with};
pub use richardson::{richardson, richardson_with};
pub use single_reduction_cg::{single_reduction_cg, single_reduction_cg_with};
pub use solver::KrylovSolver;
pub use tfqmr::{tfqmr, tfqmr_with};

use self::least_squares::LeastSquares;
use self::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::powers::times_power_of;
use crate::solution::{Options, Rhs, Side, Solution};
use crate::turns::{Steps, alone};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use std::fmt;

/// A Krylov method, with the options that it alone has.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Method, Options, Side};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(10)?;
/// let options = Options { rtol: 1e-10, ..Options::default() };
/// let gmres = Method::Gmres { restart: 50, side: Side::Left };
/// assert!(gmres.solve(&a, &Vector::ones([100]), options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// [`cg()`](crate::cg()): positive (or negative) definite matrices.
    Cg,
    /// [`single_reduction_cg()`](crate::single_reduction_cg()): the same with one reduction.
    SingleReductionCg,
    /// [`pipelined_cg()`](crate::pipelined_cg()): the same, and the reduction overlaps.
    PipelinedCg,
    /// [`minres()`](crate::minres()): symmetric and Hermitian matrices.
    Minres,
    /// [`gmres()`](crate::gmres()): square matrices. See [`Method::GMRES`].
    Gmres {
        /// The vectors that it orthogonalises against before it starts again from the residual,
        /// at least 1.
        restart: usize,
        /// On which side of the matrix the preconditioner stands.
        side: Side,
    },
    /// [`fgmres()`](crate::fgmres()): the same, with a preconditioner that may change.
    Fgmres {
        /// As that of `Gmres`.
        restart: usize,
    },
    /// [`lgmres()`](crate::lgmres()): the same, augmented by corrections of earlier cycles.
    Lgmres {
        /// The products of a cycle, at least 1.
        restart: usize,
        /// The corrections that a cycle is augmented by.
        kept: usize,
    },
    /// [`gcrotmk()`](crate::gcrotmk()): the same, orthogonal to what earlier cycles have done.
    Gcrotmk {
        /// m, the products of a cycle, at least 1; more of them while there are less than k
        /// directions.
        restart: usize,
        /// k, the directions that are kept.
        kept: usize,
    },
    /// [`bicg()`](crate::bicg()): square matrices with an adjoint.
    Bicg,
    /// [`qmr()`](crate::qmr()): square matrices with an adjoint.
    Qmr,
    /// [`cgs()`](crate::cgs()): square matrices.
    Cgs,
    /// [`bicgstab()`](crate::bicgstab()): square matrices.
    Bicgstab,
    /// [`tfqmr()`](crate::tfqmr()): square matrices.
    Tfqmr,
    /// [`richardson()`](crate::richardson()): whatever the preconditioner nearly solves.
    Richardson,
    /// [`lsqr()`](crate::lsqr()): matrices of any shape, with an adjoint.
    Lsqr {
        /// lambda, where ‖b - A x‖² + lambda² ‖x‖² is minimised.
        damping: f64,
    },
    /// [`lsmr()`](crate::lsmr()): the same.
    Lsmr {
        /// As that of `Lsqr`.
        damping: f64,
    },
}

impl Method {
    /// `Gmres` that restarts after 30 vectors, with the preconditioner on the right.
    pub const GMRES: Self = Self::Gmres {
        restart: 30,
        side: Side::Right,
    };
    /// `Fgmres` that restarts after 30 vectors.
    pub const FGMRES: Self = Self::Fgmres { restart: 30 };
    /// `Lgmres` with cycles of 30 products and the last 3 corrections.
    pub const LGMRES: Self = Self::Lgmres {
        restart: 30,
        kept: 3,
    };
    /// `Gcrotmk` with cycles of 20 products beside 20 directions.
    pub const GCROTMK: Self = Self::Gcrotmk {
        restart: 20,
        kept: 20,
    };
    /// `Lsqr` without damping.
    pub const LSQR: Self = Self::Lsqr { damping: 0.0 };
    /// `Lsmr` without damping.
    pub const LSMR: Self = Self::Lsmr { damping: 0.0 };

    /// All of them, with these options.
    pub const ALL: [Self; 16] = [
        Self::Cg,
        Self::SingleReductionCg,
        Self::PipelinedCg,
        Self::Minres,
        Self::GMRES,
        Self::FGMRES,
        Self::LGMRES,
        Self::GCROTMK,
        Self::Bicg,
        Self::Qmr,
        Self::Cgs,
        Self::Bicgstab,
        Self::Tfqmr,
        Self::Richardson,
        Self::LSQR,
        Self::LSMR,
    ];

    /// The name of its function, and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cg => "cg",
            Self::SingleReductionCg => "single_reduction_cg",
            Self::PipelinedCg => "pipelined_cg",
            Self::Minres => "minres",
            Self::Gmres { .. } => "gmres",
            Self::Fgmres { .. } => "fgmres",
            Self::Lgmres { .. } => "lgmres",
            Self::Gcrotmk { .. } => "gcrotmk",
            Self::Bicg => "bicg",
            Self::Qmr => "qmr",
            Self::Cgs => "cgs",
            Self::Bicgstab => "bicgstab",
            Self::Tfqmr => "tfqmr",
            Self::Richardson => "richardson",
            Self::Lsqr { .. } => "lsqr",
            Self::Lsmr { .. } => "lsmr",
        }
    }

    /// The one of [`Method::ALL`] that has this [`Method::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether the matrix must be positive or negative definite.
    #[must_use]
    pub const fn is_for_definite(self) -> bool {
        matches!(self, Self::Cg | Self::SingleReductionCg | Self::PipelinedCg)
    }

    /// Whether the matrix must be symmetric (Hermitian).
    #[must_use]
    pub const fn needs_hermitian(self) -> bool {
        self.is_for_definite() || matches!(self, Self::Minres)
    }

    /// Refuses an operator that the method is not for, as [`Method::solve`] does: to ask before a
    /// preconditioner is made. Looks at a sample of the entries where all of them would take long,
    /// and keeps the answer with the matrix; every rank must ask.
    ///
    /// ```
    /// use sparsefuse_solvers::Method;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// assert!(Method::Cg.check_operator(&a).is_err());
    /// assert!(Method::Bicgstab.check_operator(&a).is_ok());
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the method is for symmetric (Hermitian) matrices and this is not one, or its values could
    /// not be computed.
    pub fn check_operator<T: Field>(self, a: &dyn LinearOperator<T>) -> Result<(), Error> {
        let pair = match self.needs_hermitian() {
            true => a.asymmetry()?,
            false => None,
        };
        let kind = match T::IS_COMPLEX {
            true => "Hermitian",
            false => "symmetric",
        };
        pair.map_or(Ok(()), |pair| {
            let expected = format!("a {kind} matrix");
            Err(Error::argument(self.name(), expected, pair.to_string()))
        })
    }

    /// Whether it solves least-squares problems, with matrices of any shape.
    #[must_use]
    pub const fn is_least_squares(self) -> bool {
        matches!(self, Self::Lsqr { .. } | Self::Lsmr { .. })
    }

    /// Whether it can save its state, and go on from one: [`Options::checkpoint`].
    #[must_use]
    pub const fn has_checkpoints(self) -> bool {
        self.saved_vectors() > 0
    }

    /// Whether it keeps directions from one solve to the next: [`Options::recycled`].
    #[must_use]
    pub const fn recycles(self) -> bool {
        matches!(self, Self::Lgmres { .. } | Self::Gcrotmk { .. })
    }

    /// How many vectors its checkpoints hold beside x and its residual.
    const fn saved_vectors(self) -> usize {
        match self {
            Self::Cg => 1,
            Self::Bicgstab => 2,
            Self::Cgs => 3,
            _ => 0,
        }
    }

    /// lambda, where ‖b - A x‖² + lambda² ‖x‖² is minimised.
    const fn damping(self) -> f64 {
        match self {
            Self::Lsqr { damping } | Self::Lsmr { damping } => damping,
            _ => 0.0,
        }
    }

    /// The same method for a system whose matrix is multiplied by 2^power.
    fn scaled(self, power: i32) -> Self {
        let damping = times_power_of(self.damping(), power);
        match self {
            Self::Lsqr { .. } => Self::Lsqr { damping },
            Self::Lsmr { .. } => Self::Lsmr { damping },
            undamped => undamped,
        }
    }

    /// Whether its residuals rise far before they fall: nothing bounds those of `Bicg`, and `Cgs`
    /// squares the polynomial that makes them.
    const fn has_peaks(self) -> bool {
        matches!(self, Self::Bicg | Self::Cgs)
    }

    /// Whether it applies the adjoints of the operator and of the preconditioner too.
    #[must_use]
    pub const fn needs_adjoint(self) -> bool {
        matches!(self, Self::Bicg | Self::Qmr) || self.is_least_squares()
    }

    /// Solves A x = b by this method.
    ///
    /// # Errors
    ///
    /// As its function; also if an entry of the matrix is infinite or not a number. A right-hand
    /// side or an initial guess that is gives a [`StopReason`](crate::StopReason).
    pub fn solve<T: Field>(
        self,
        a: &dyn LinearOperator<T>,
        b: &Vector<T>,
        options: Options<'_, T>,
    ) -> Result<Solution<T>, Error> {
        alone(scaling::solve(self, a, b, options))
    }

    /// The method itself, at the scale of the system, as something that has its turns.
    pub(crate) fn steps<'s, 'o: 's, T: Field>(
        self,
        a: &'s dyn LinearOperator<T>,
        b: Rhs<'s, T>,
        options: Options<'o, T>,
    ) -> Steps<'s, Solution<T>> {
        match self {
            Self::Cg => Box::pin(Stopping::solve(self, a, b, options, cg::iterate)),
            Self::SingleReductionCg => Box::pin(Stopping::solve(
                self,
                a,
                b,
                options,
                single_reduction_cg::iterate,
            )),
            Self::PipelinedCg => {
                Box::pin(Stopping::solve(self, a, b, options, pipelined_cg::iterate))
            }
            Self::Minres => Box::pin(Stopping::solve(self, a, b, options, minres::iterate)),
            Self::Gmres { restart, side } => {
                let iterate = async move |stopping: &mut _, x: &mut _, r| {
                    gmres::iterate((restart, side), stopping, x, r).await
                };
                Box::pin(Stopping::solve(self, a, b, options, iterate))
            }
            Self::Fgmres { restart } => {
                let iterate = async move |stopping: &mut _, x: &mut _, r| {
                    fgmres::iterate(restart, stopping, x, r).await
                };
                Box::pin(Stopping::solve(self, a, b, options, iterate))
            }
            Self::Lgmres { restart, kept } => {
                let iterate = async move |stopping: &mut _, x: &mut _, r| {
                    lgmres::iterate((restart, kept), stopping, x, r).await
                };
                Box::pin(Stopping::solve(self, a, b, options, iterate))
            }
            Self::Gcrotmk { restart, kept } => {
                let iterate = async move |stopping: &mut _, x: &mut _, r| {
                    gcrotmk::iterate((restart, kept), stopping, x, r).await
                };
                Box::pin(Stopping::solve(self, a, b, options, iterate))
            }
            Self::Bicg => Box::pin(Stopping::solve(self, a, b, options, bicg::iterate)),
            Self::Qmr => Box::pin(Stopping::solve(self, a, b, options, qmr::iterate)),
            Self::Cgs => Box::pin(Stopping::solve(self, a, b, options, cgs::iterate)),
            Self::Bicgstab => Box::pin(Stopping::solve(self, a, b, options, bicgstab::iterate)),
            Self::Tfqmr => Box::pin(Stopping::solve(self, a, b, options, tfqmr::iterate)),
            Self::Richardson => Box::pin(Stopping::solve(self, a, b, options, richardson::iterate)),
            Self::Lsqr { .. } => Box::pin(LeastSquares::solve(self, a, b, options, lsqr::iterate)),
            Self::Lsmr { .. } => Box::pin(LeastSquares::solve(self, a, b, options, lsmr::iterate)),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
