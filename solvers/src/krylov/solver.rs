//! A method as a solver that is called again and again.

use super::{Method, scaling};
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use crate::turns::{Steps, together};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use std::fmt;

/// A method with its operator and options, for many right-hand sides.
///
/// It holds no vectors between solves, but for [`Options::recycled`], and needs none: the memory
/// that a solve gives back stays in the runtime's pool, where the next one finds it, and the
/// runtime remembers what it made of each step of the method. So from the second solve on,
/// right-hand sides of the same length cost no analysis and no memory of the system, but for what
/// the solutions keep and the first appearance of a step.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{KrylovSolver, Method, Options};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let mut solver = KrylovSolver::new(Method::GMRES, &a, Options::default());
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

/// The most solves side by side: each holds its vectors, and what a block of rows takes of all of
/// them is to stay in the cache.
const MOST_TOGETHER: usize = 8;

/// About how many vectors a method holds.
const VECTORS: usize = 8;

/// Bytes of vectors that a core has at hand anyway.
const AT_HAND: usize = 1 << 20;

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
        self.method.solve(self.a, b, self.options.again())
    }

    /// Solves A x = b, beginning at `x0` in place of the initial guess of the options: a time step
    /// that begins at the state of the last one.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::{KrylovSolver, Method, Options};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson2d::<f64>(16)?;
    /// let mut solver = KrylovSolver::new(Method::Cg, &a, Options::default());
    /// let b = Vector::ones([256]);
    /// let first = solver.solve(&b)?.checked()?;
    /// let next = solver.solve_from(&(b * 1.001), &first.x)?.checked()?;
    /// assert!(next.iterations < first.iterations);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`KrylovSolver::solve`], and if the guess has another length than x.
    pub fn solve_from(&mut self, b: &Vector<T>, x0: &Vector<T>) -> Result<Solution<T>, Error> {
        let options = Options {
            x0: Some(x0),
            ..self.options.again()
        };
        self.method.solve(self.a, b, options)
    }

    /// Solves for several right-hand sides. The solutions have the bits that
    /// [`KrylovSolver::solve`] gives them.
    ///
    /// Up to eight are solved side by side where that pays: in each iteration one pass over the
    /// matrix and one reduction serve all of them, ghosts travel at the same time, and each solve
    /// holds its own vectors. That pays if a product reads more of the matrix
    /// ([`LinearOperator::bytes`]) than an iteration does of vectors, from about twelve entries a
    /// row on, unless they are those of a stencil: CG took 0.7 to 0.8 times as long on 13 entries a
    /// row, half as long on 41. It also pays for a few thousand rows, where most of an iteration is
    /// its tasks. Else the vectors of one solve find more room in the caches, and they are solved
    /// one after the other; so they are with a monitor or checkpoints, and with directions that
    /// each solve takes from the one before ([`Options::recycled`]).
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::{KrylovSolver, Method, Options};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson2d::<f64>(16)?;
    /// let rhs: Vec<_> = (0..4).map(|seed| Vector::random_normal([256], seed)).collect();
    /// let mut solver = KrylovSolver::new(Method::Cg, &a, Options::default());
    /// let solutions = solver.solve_many(&rhs)?;
    /// assert!(solutions.iter().all(|solution| solution.converged()));
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`KrylovSolver::solve`]; the first failure ends all solves.
    pub fn solve_many(&mut self, rhs: &[Vector<T>]) -> Result<Vec<Solution<T>>, Error> {
        let options = &self.options;
        let has_checkpoints = options.checkpoint.is_some() || options.resume.is_some();
        let recycles = options.recycled.is_some();
        let one_by_one = options.monitor.is_some() || has_checkpoints || recycles;
        let runtime = rhs.first().map(Vector::runtime);
        let one_by_one = match runtime.filter(|runtime| runtime.ranks() > 1) {
            None => one_by_one,
            // Perhaps some ranks have a monitor alone.
            Some(runtime) => runtime.all_gather(&[one_by_one])?.concat().contains(&true),
        };
        if one_by_one {
            return rhs.iter().map(|b| self.solve(b)).collect();
        }
        let steps = |b| -> Steps<'_, _> {
            let options = Options {
                monitor: None,
                ..*options
            };
            Box::pin(scaling::solve(self.method, self.a, b, options))
        };
        let mut solutions = Vec::with_capacity(rhs.len());
        while let Some(b) = rhs.get(solutions.len()) {
            let left = &rhs[solutions.len()..];
            // The first solve packs the matrix, if it is not packed yet.
            let count = self.side_by_side(b)?.min(left.len());
            solutions.extend(together(left[..count].iter().map(steps).collect())?);
        }
        Ok(solutions)
    }

    /// How many solves are worth to have side by side; the same on every rank.
    fn side_by_side(&self, b: &Vector<T>) -> Result<usize, Error> {
        let runtime = b.runtime();
        let vectors = VECTORS * b.len() * size_of::<T>();
        let of_operator = runtime.all_gather(&[self.a.bytes().unwrap_or(0) as u64])?;
        let of_operator = of_operator.iter().flatten().sum::<u64>() as usize;
        let is_at_hand = MOST_TOGETHER * vectors <= runtime.ranks() * AT_HAND;
        let is_worth = is_at_hand || 2 * of_operator >= 3 * vectors;
        Ok(if is_worth { MOST_TOGETHER } else { 1 })
    }

    /// Solves for each column of a matrix, as [`KrylovSolver::solve_many`].
    ///
    /// # Errors
    ///
    /// As [`KrylovSolver::solve_many`].
    pub fn solve_columns(&mut self, rhs: &Array<T, 2>) -> Result<Vec<Solution<T>>, Error> {
        let [_, n_columns] = rhs.shape();
        let column = |column| rhs.try_column(column)?.contiguous();
        let columns: Result<Vec<_>, Error> = (0..n_columns).map(column).collect();
        self.solve_many(&columns?)
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
