//! Multigrid: cycles through a hierarchy of ever smaller matrices, as solvers and preconditioners.
//!
//! What a smoother leaves of an error varies slowly, so a smaller system represents it; its error
//! in turn is smoothed and represented by a smaller one. A cycle costs little more than its work on
//! the finest level, and reduces the error by a factor that does not depend on the size.
//!
//! [`Multigrid::on_grid`] makes the hierarchy of a matrix on a structured grid,
//! [`Multigrid::aggregated`] that of any matrix that stems from an elliptic problem (smoothed
//! aggregation). Both give a [`Multigrid`], which solves by itself and preconditions any Krylov
//! method; with weighted Jacobi or Chebyshev or Gauss-Seidel steps, as many after the coarse
//! correction as before it, and V, W or VW cycles, it is symmetric, as conjugate gradients need.
//!
//! The cycle is array code and stays in the window; setup works on structures, in eager tasks.
//! Small levels are small stores, which every rank holds and computes as a whole instead of sending
//! messages about them. The bits of all results are the same on any number of threads and ranks.
//!
//! Trottenberg, Oosterlee and Schüller, *Multigrid* (2001); Briggs, Henson and McCormick, *A
//! Multigrid Tutorial*, 2nd edition (2000).

mod aggregation;
mod geometric;
mod options;

mod ends;
mod grid;
mod transfers;

mod galerkin;
mod stencil;

mod coarsest;
mod colors;
mod cycle;
mod gauss_jordan;
mod pseudo_inverse;
mod smoother;
mod square;

pub use aggregation::AggregationOptions;
pub use geometric::{CoarseOperator, Coarsening, Discretisation, GridOptions};
pub use grid::{Prolongation, Restriction};
pub use options::{CoarseSolver, Cycle, CycleOptions, Smoother};
pub use smoother::largest_eigenvalue;

use self::aggregation::AggregationSetup;
use self::cycle::Hierarchy;
use self::geometric::GridSetup;
use crate::krylov::richardson_with;
use crate::operator::{LinearOperator, check_finite, check_len};
use crate::powers::{near_one, times_power, vector_near_one};
use crate::preconditioners::{Preconditioner, check_update};
use crate::solution::{Options, Solution};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::Csr;

const OP: &str = "multigrid";

/// A hierarchy of matrices; applied to a vector, one cycle through it.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::multigrid::Multigrid;
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(40)?;
/// let b = Vector::ones([1600]);
/// let multigrid = Multigrid::on_grid(&a, &[40, 40])?;
/// let options = Options { preconditioner: Some(&multigrid), ..Options::default() };
/// let solution = cg_with(&a, &b, options)?;
/// assert!(solution.converged() && solution.iterations < 12);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Multigrid<T> {
    a: Csr<T>,
    /// The hierarchy is that of the matrix divided by this power of two.
    power: i32,
    hierarchy: Hierarchy<T>,
    setup: Setup<T>,
}

/// How a hierarchy was made.
#[derive(Clone, Debug)]
enum Setup<T> {
    Grid(GridSetup<T>),
    Aggregation(AggregationSetup<T>),
}

impl<T: Field> Setup<T> {
    /// For a matrix that was divided by a power of two.
    fn hierarchy(&mut self, a: &Csr<T>, power: i32) -> Result<Hierarchy<T>, Error> {
        match self {
            Self::Grid(setup) => setup.hierarchy(a, power),
            Self::Aggregation(setup) => setup.hierarchy(a),
        }
    }
}

impl<T: Field> Multigrid<T> {
    /// Geometric multigrid for a matrix on a row-major grid, with the default [`GridOptions`]: full
    /// weighting, linear interpolation, Galerkin operators, V(1,1) cycles with weighted Jacobi
    /// steps.
    ///
    /// # Errors
    ///
    /// As [`Multigrid::on_grid_with`].
    pub fn on_grid(a: &Csr<T>, sides: &[usize]) -> Result<Self, Error> {
        Self::on_grid_with(a, sides, &GridOptions::default())
    }

    /// Geometric multigrid for a matrix on a row-major grid of one to three sides, of any lengths.
    ///
    /// Setup costs about as much as a few products; Galerkin operators of matrices whose rows name
    /// compact neighbours only (a step along each axis at most) are made axis by axis, others by
    /// sparse products. All levels together hold about 1/3 as many rows as the matrix in two
    /// dimensions, 1/7 in three, with 9 and 27 entries a row; each has the matrices R and P beside
    /// its own.
    ///
    /// # Errors
    ///
    /// If the matrix is not square with a row for each point of the grid, an entry is infinite or
    /// not a number, an option is out of range, or the matrix of the last level is singular to
    /// rounding alone.
    pub fn on_grid_with(
        a: &Csr<T>,
        sides: &[usize],
        options: &GridOptions<T>,
    ) -> Result<Self, Error> {
        check(&options.cycle)?;
        check_finite(OP, a)?;
        let (near_one, power) = near_one(a)?;
        let setup = Setup::Grid(GridSetup::new(&near_one, sides, options)?);
        Self::made(a, (near_one, power), setup)
    }

    /// Smoothed aggregation with the default [`AggregationOptions`], for a scalar problem whose
    /// near-nullspace is that of constant vectors.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::multigrid::Multigrid;
    /// use sparsefuse_solvers::{Options, cg_with};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::diffusion2d::<f64>(40)?;
    /// let b = Vector::ones([1600]);
    /// let multigrid = Multigrid::aggregated(&a)?;
    /// let options = Options { preconditioner: Some(&multigrid), ..Options::default() };
    /// let solution = cg_with(&a, &b, options)?;
    /// assert!(solution.converged() && solution.iterations < 30);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Multigrid::aggregated_with`].
    pub fn aggregated(a: &Csr<T>) -> Result<Self, Error> {
        Self::aggregated_with(a, &[], &AggregationOptions::default())
    }

    /// Smoothed aggregation, for symmetric (or Hermitian) positive definite matrices that stem from
    /// elliptic problems.
    ///
    /// The near-nullspace are vectors that A maps to almost nothing and that smoothing therefore
    /// hardly damps, such as the rigid body modes of elasticity; none stands for the constants of
    /// each unknown of a block. Each level has as many rows as there are aggregates and vectors,
    /// multiplied: for the Poisson problem in two dimensions a sixth, then a ninth of the level
    /// above.
    ///
    /// [`update`](Preconditioner::update) keeps the prolongators and computes the products R A P
    /// again, which leaves the hierarchy a good one as long as A changes little.
    ///
    /// Vaněk, Mandel and Brezina (1996), whose aggregates are found one after the other. Setup
    /// costs about as much as fifty products with A.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, a vector is not finite or
    /// has another length, an option is out of range, or the matrix of the last level is singular
    /// to rounding alone.
    pub fn aggregated_with(
        a: &Csr<T>,
        near_nullspace: &[Vector<T>],
        options: &AggregationOptions,
    ) -> Result<Self, Error> {
        check(&options.cycle)?;
        check_finite(OP, a)?;
        let (near_one, power) = near_one(a)?;
        for vector in near_nullspace {
            if let Some((at, element)) = vector.first_not_finite()? {
                let found = format!("{element} in element {at}");
                return Err(Error::argument(
                    OP,
                    "vectors near the nullspace that are finite",
                    found,
                ));
            }
        }
        let scaled: Result<Vec<_>, Error> = near_nullspace.iter().map(vector_near_one).collect();
        let setup = AggregationSetup::new(&near_one, &scaled?, options)?;
        Self::made(a, (near_one, power), Setup::Aggregation(setup))
    }

    fn made(
        a: &Csr<T>,
        (near_one, power): (Csr<T>, i32),
        mut setup: Setup<T>,
    ) -> Result<Self, Error> {
        let hierarchy = setup.hierarchy(&near_one, power)?;
        hierarchy.expect_products();
        Ok(Self {
            a: a.clone(),
            power,
            hierarchy,
            setup,
        })
    }

    /// Rows and entries of the matrices of all levels, the finest first.
    pub fn levels(&self) -> impl Iterator<Item = (usize, usize)> {
        let matrices = self.hierarchy.levels.iter().map(|level| &level.a);
        let all = matrices.chain(std::iter::once(&self.hierarchy.last));
        all.map(|a| (a.n_rows(), a.nnz()))
    }

    /// The entries of all levels' matrices together, divided by those of the finest one.
    #[must_use]
    pub fn operator_complexity(&self) -> f64 {
        let all: usize = self.levels().map(|(_, nnz)| nnz).sum();
        all as f64 / self.a.nnz().max(1) as f64
    }

    /// Solves A x = b by cycles: x += M^-1 (b - A x). A preconditioner among the options is left
    /// out: the cycle is one.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::{Options, multigrid::Multigrid};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(1000)?;
    /// let b = &a * &Vector::ones([1000]);
    /// let multigrid = Multigrid::on_grid(&a, &[1000])?;
    /// let solution = multigrid.solve(&b, Options::default())?;
    /// assert!(solution.converged() && solution.iterations < 20);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes do not fit; not converging is no error but a
    /// [`StopReason`](crate::StopReason).
    pub fn solve<'a>(
        &'a self,
        b: &Vector<T>,
        options: Options<'a, T>,
    ) -> Result<Solution<T>, Error> {
        let options = Options {
            preconditioner: Some(self),
            ..options
        };
        richardson_with(&self.a, b, options)
    }
}

impl<T: Field> LinearOperator<T> for Multigrid<T> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.a.runtime())
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    /// One cycle for A x = r from x = 0.
    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        check_len(OP, self.a.n_rows(), r)?;
        Ok(times_power(&self.hierarchy.cycle(r)?, -self.power))
    }
}

impl<T: Field> Preconditioner<T> for Multigrid<T> {
    /// Makes the matrices of all levels again, with the transfers and structures that are there;
    /// on a grid, transfers are made again where the boundary is at another distance.
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        if !a.has_structure_of(&self.a)? {
            let expected = "the structure of the matrix that the hierarchy was made for";
            return Err(Error::argument("update", expected, "another one"));
        }
        check_finite(OP, a)?;
        let (near_one, power) = near_one(a)?;
        let mut setup = self.setup.clone();
        self.hierarchy = setup.hierarchy(&near_one, power)?;
        self.hierarchy.expect_products();
        (self.setup, self.a, self.power) = (setup, a.clone(), power);
        Ok(())
    }
}

fn check(options: &CycleOptions) -> Result<(), Error> {
    let refuse = |expected: &str, found: String| Err(Error::argument(OP, expected, found));
    if options.pre == 0 {
        return refuse(
            "a step or more before the coarse correction",
            "none".to_owned(),
        );
    }
    if options.max_levels == 0 {
        return refuse("a level or more", "none".to_owned());
    }
    match options.smoother {
        Smoother::Jacobi { omega: Some(omega) } if !(omega > 0.0 && omega.is_finite()) => {
            refuse("omega above 0", omega.to_string())
        }
        Smoother::Chebyshev { ratio } if !(ratio > 1.0 && ratio.is_finite()) => {
            refuse("a ratio of Chebyshev's interval above 1", ratio.to_string())
        }
        Smoother::Jacobi { .. } | Smoother::Chebyshev { .. } | Smoother::GaussSeidel => Ok(()),
    }
}
