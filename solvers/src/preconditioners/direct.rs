//! Sparse direct solves.
//!
//! Every rank gathers the whole matrix and factors it, so that all have the same bits on any number
//! of threads and ranks. Meant for matrices that fit on one rank: coarse levels, references, and
//! what no iteration solves. Without the feature `direct` they fail and say so.

use super::complete::Complete;
use super::right_side::RightSide;
use super::system::{Factorisation, System, indefinite, singular};
use super::{Preconditioner, check_square, check_update};
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, ErrorKind, Exchange, HostArgs, Runtime, try_collect};
use sparsefuse_sparse::{Csr, LocalRows, RowLayout, by_columns, eager};
use std::fmt;
use std::sync::Arc;

/// Solves A x = b by sparse LU: `splu(a)?.solve(b)`, for a vector or the columns of a matrix, dense
/// or sparse.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::spsolve;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(8)?;
/// let x = spsolve(&a, &(&a * &Vector::ones([64])))?;
/// assert!(x.to_vec()?.iter().all(|x| (x - 1.0).abs() < 1e-12));
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`splu`] and [`Direct::solve`], and if an element of b is infinite or not a number.
pub fn spsolve<T: Field, B: RightSide<T>>(a: &Csr<T>, b: &B) -> Result<B::Solution, Error> {
    const OP: &str = "spsolve";
    let factors = Direct::new(OP, a, Factorisation::Lu)?;
    a.runtime().enter(|| b.check_is_finite(OP))?;
    let solved = factors.solve(b);
    solved.map_err(|error| error.of_operation(OP))
}

/// The LU factorisation of a square matrix, with an order that keeps fill low (COLAMD) and partial
/// pivoting; of a matrix with few diagonals beside its main one, as a tridiagonal one, within its
/// band (`gbtrf` of LAPACK), in the order that it has. Rows and columns are brought near each other
/// in size before, by powers of two (Curtis and Reid, 1972), so that few digits are lost where they
/// are in unlike units. Every rank gathers and factors the whole matrix: more ranks take no less
/// time, nor memory on each.
///
/// # Errors
///
/// If the matrix is not square or is singular, an entry is infinite or not a number, memory runs
/// out, or the computation of the values failed.
pub fn splu<T: Field>(a: &Csr<T>) -> Result<Direct<T>, Error> {
    Direct::new(Factorisation::Lu.called(), a, Factorisation::Lu)
}

/// The Cholesky factorisation of a Hermitian positive definite matrix, in an order that keeps fill
/// low (AMD). Only the upper triangle is read. On ranks as [`splu`]. The refusal of a matrix that
/// is not positive definite names the row whose pivot is not positive, in the order of elimination:
/// the rows eliminated before, with this one, have a submatrix that is not.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::spcholesky;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(8)?;
/// let factors = spcholesky(&a)?;
/// let x = factors.solve(&(&a * &Vector::ones([64])))?;
/// assert!(x.to_vec()?.iter().all(|x| (x - 1.0).abs() < 1e-12));
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square or not positive definite, an entry is infinite or not a number,
/// memory runs out, or the computation of the values failed.
pub fn spcholesky<T: Field>(a: &Csr<T>) -> Result<Direct<T>, Error> {
    let method = Factorisation::Cholesky;
    Direct::new(method.called(), a, method)
}

/// A complete factorisation: z = A^-1 r up to rounding. Made by [`splu`] or [`spcholesky`].
///
/// By faer, with one thread and in double precision, whatever the element type: supernodal where
/// that pays (Davis, *Direct Methods for Sparse Linear Systems*, 2006, chapters 4 and 6). Its bits
/// depend on the instruction set of the machine, and on nothing else. `splu` takes the band as
/// dense where an elimination in it takes at most 700 multiplications for each entry of the matrix
/// and the factors have at most 40 numbers: with b diagonals on either side those are 2 b² and 3 b
/// for each row.
/// Every rank holds the factors, and in a solve the whole right-hand side; an application is a pass
/// over the factors. New values keep the order and the symbolic factorisation: an update is 1.3
/// times as fast as a fresh start by LU, 1.6 times by Cholesky (`diffusion2d:300`, one core of an
/// x86-64 server).
#[derive(Clone)]
pub struct Direct<T> {
    layout: RowLayout,
    method: Factorisation,
    factors: Arc<Complete<T>>,
}

impl<T: Field> Direct<T> {
    fn new(op: &'static str, a: &Csr<T>, method: Factorisation) -> Result<Self, Error> {
        check_square(op, a)?;
        check_finite(op, a)?;
        let layout = a.row_layout()?;
        let factors = eager(method.factorisation(), &[a], || {
            let rows = gather(a)?;
            agree(layout.runtime(), op, Complete::new(method, &rows))
        })?;
        Ok(Self {
            layout,
            method,
            factors: Arc::new(factors),
        })
    }

    /// The solution for a right-hand side, or for each column of a dense matrix, by a host task
    /// whose failure is told where the solution is read; or for each column of a sparse matrix, in
    /// which case the solution is sparse too, and computed when this returns, 32 columns at a time.
    ///
    /// The threads of a rank share the columns, eight at a time, or one where factors are
    /// supernodal; each has the bits that it has alone.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_solvers::preconditioners::splu;
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// let inverse = splu(&a)?.solve(&Array::eye(4))?;
    /// assert!((&a * &inverse - Array::eye(4)).norm2().get()? < 1e-14);
    /// let sparse = splu(&a)?.solve(&Csr::identity(4)?)?;
    /// assert_eq!(sparse.to_dense()?.to_vec()?, inverse.to_vec()?);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `b` has another number of rows than the matrix, or is an array of neither one dimension
    /// nor two; if it is sparse, also if memory runs out or a computation failed.
    pub fn solve<B: RightSide<T>>(&self, b: &B) -> Result<B::Solution, Error> {
        self.solve_right_side(b, System::Plain)
    }

    /// The solution of the system with the transpose, `Aᵀ x = b`, as [`Direct::solve`].
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::preconditioners::splu;
    /// use sparsefuse_sparse::Csr;
    ///
    /// // [ 2 1 ]
    /// // [ 0 4 ]
    /// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, 4.0])?;
    /// let x = splu(&a)?.solve_transpose(&Vector::from_vec(vec![2.0, 9.0]))?;
    /// assert_eq!(x.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Direct::solve`].
    pub fn solve_transpose<B: RightSide<T>>(&self, b: &B) -> Result<B::Solution, Error> {
        self.solve_right_side(b, System::Transpose)
    }

    /// The solution of the system with the conjugate transpose, `Aᴴ x = b`, as [`Direct::solve`].
    ///
    /// # Errors
    ///
    /// As [`Direct::solve`].
    pub fn solve_adjoint<B: RightSide<T>>(&self, b: &B) -> Result<B::Solution, Error> {
        self.solve_right_side(b, System::Adjoint)
    }

    /// The solution for a complex right-hand side, of a real matrix: a vector, or the columns of a
    /// matrix. As [`Direct::solve`], by a solve for each part.
    ///
    /// ```
    /// use num_complex::Complex;
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::preconditioners::splu;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = 2.0 * Csr::identity(1)?;
    /// let x = splu(&a)?.solve_complex(&Vector::from_vec(vec![Complex::new(4.0, 6.0)]))?;
    /// assert_eq!(x.to_vec()?, [Complex::new(2.0, 3.0)]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `b` has another number of rows than the matrix, or neither one dimension nor two.
    pub fn solve_complex<const D: usize>(
        &self,
        b: &Array<T::Complex, D>,
    ) -> Result<Array<T::Complex, D>, Error> {
        let n = self.layout.n_rows();
        by_columns(("solve_complex", n, n), b, |b: &Vector<T::Complex>| {
            self.solve_parts(b)
        })
    }

    /// The factor of a Cholesky factorisation and its order, which name the lower triangular matrix
    /// L with A = L Lᴴ once the rows and columns of A are taken in that order:
    /// `a.select_rows(&order)?.select_columns(&order)?`. Every rank has the factor; the copy is
    /// spread over them as any other matrix.
    ///
    /// It gives the logarithm of the determinant, and vectors of normal distribution whose
    /// covariance is A or its inverse:
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::preconditioners::spcholesky;
    /// use sparsefuse_sparse::{Diagonal, Triangle, TriangularSolve, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(9)?; // of determinant 10
    /// let (l, order) = spcholesky(&a)?.cholesky_factor()?;
    /// let log_det = l.diagonal(0)?.ln().sum().get()? * 2.0;
    /// assert!((log_det - 10f64.ln()).abs() < 1e-14);
    ///
    /// let of_precision_a = TriangularSolve::new(&l.transpose()?, Triangle::Upper, Diagonal::Stored)?
    ///     .solve(&Vector::random_normal([9], 1))?;
    /// let places = Vector::from_vec(order.iter().map(|&row| row as i64).collect());
    /// let mut sample = Vector::zeros([9]);
    /// sample.put(&places, &of_precision_a);
    /// # let z = Vector::<f64>::random_normal([9], 1);
    /// # assert!((sample.dot(&(&a * &sample)).get()? - z.dot(&z).get()?).abs() < 1e-12);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the factors are those of [`splu`], which faer keeps to itself, or memory runs out.
    #[doc(alias = "logdet")]
    pub fn cholesky_factor(&self) -> Result<(Csr<T>, Vec<usize>), Error> {
        let (n, runtime) = (self.layout.n_rows(), self.layout.runtime());
        let Some(lower) = runtime.agree(self.factors.lower())? else {
            let found = "those of an LU factorisation";
            let expected = "factors by Cholesky";
            return Err(Error::argument("cholesky_factor", expected, found));
        };
        let l = runtime.enter(|| Csr::new(n, n, lower.pos, lower.crd, lower.vals))?;
        Ok((l, lower.order))
    }

    fn solve_right_side<B: RightSide<T>>(
        &self,
        b: &B,
        system: System,
    ) -> Result<B::Solution, Error> {
        let vector = |b: &Vector<T>| self.solve_system(system.called(), b, system);
        let matrix = |b: &Array<T, 2>| self.solve_columns(b, system);
        b.solved((system.called(), self.layout.n_rows()), (&vector, &matrix))
    }

    /// The solutions for the columns of a matrix that has some: one host task.
    fn solve_columns(&self, b: &Array<T, 2>, system: System) -> Result<Array<T, 2>, Error> {
        let factors = Arc::clone(&self.factors);
        let n_columns = b.shape()[1];
        let solve = move |args: &HostArgs<'_>, b: &[T], x: &mut [T]| {
            let x = (x, args.rows());
            factors.solve_columns((b, n_columns), system, x, args)
        };
        self.layout.columns_of_whole(self.method.solve(), b, solve)
    }

    fn solve_system(
        &self,
        op: &'static str,
        b: &Vector<T>,
        system: System,
    ) -> Result<Vector<T>, Error> {
        Error::check_shape(op, &[self.layout.n_rows()], &b.shape())?;
        let factors = Arc::clone(&self.factors);
        self.layout
            .of_whole(self.method.solve(), b, 0, move |b, rows, x| {
                x.copy_from_slice(&factors.solve(b, system)?[rows]);
                Ok(())
            })
    }

    /// The solution for a vector of complex numbers, for both parts of them.
    fn solve_parts(&self, b: &Vector<T::Complex>) -> Result<Vector<T::Complex>, Error> {
        let factors = Arc::clone(&self.factors);
        self.layout
            .of_whole(self.method.solve(), b, 0, move |b, rows, x| {
                if T::IS_COMPLEX {
                    let same = |b: &T::Complex| T::from_parts(b.parts().0, b.parts().1);
                    let made = factors.solve(&try_collect(b.iter().map(same))?, System::Plain)?;
                    for (x, made) in x.iter_mut().zip(&made[rows]) {
                        *x = T::Complex::from_parts(made.parts().0, made.parts().1);
                    }
                    return Ok(());
                }
                let solve = |part: &dyn Fn(&T::Complex) -> f64| {
                    let b = try_collect(b.iter().map(|b| T::from_f64(part(b))))?;
                    factors.solve(&b, System::Plain)
                };
                let (re, im) = (solve(&|b| b.parts().0)?, solve(&|b| b.parts().1)?);
                let parts = re[rows.clone()].iter().zip(&im[rows]);
                for (x, (re, im)) in x.iter_mut().zip(parts) {
                    *x = T::Complex::from_parts(re.parts().0, im.parts().0);
                }
                Ok(())
            })
    }
}

impl<T: Field> LinearOperator<T> for Direct<T> {
    fn shape(&self) -> (usize, usize) {
        (self.layout.n_rows(), self.layout.n_rows())
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.layout.runtime())
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.solve_system("apply", r, System::Plain)
    }

    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.solve_system("apply_adjoint", r, System::Adjoint)
    }
}

impl<T: Field> Preconditioner<T> for Direct<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        const OP: &str = "update";
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        let factors = eager(self.method.factorisation(), &[a], || {
            let rows = gather(a)?;
            agree(self.layout.runtime(), OP, self.factors.with_rows(&rows))
        })?;
        self.factors = Arc::new(factors);
        Ok(())
    }
}

impl<T> fmt::Debug for Direct<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.layout.n_rows();
        write!(f, "Direct({n} by {n})")
    }
}

/// The factors, if every rank has them. That a matrix is singular, or not positive definite, by
/// which callers decide what to do, is each rank's own finding: of the failure of another rank only
/// the text is told. Ranks on other machines, with other instruction sets, may have found another
/// pivot.
fn agree<T>(
    runtime: &Runtime,
    op: &'static str,
    factors: Result<Complete<T>, Error>,
) -> Result<Complete<T>, Error> {
    let factors = factors.map_err(|error| error.of_operation(op));
    if runtime.ranks() == 1 {
        return factors;
    }
    let factors = runtime.agree(match factors {
        Err(error) if own_finding(&error) != 0 => Ok(Err(error)),
        factors => factors.map(Ok),
    })?;
    let mine = factors.as_ref().err().map_or(0, own_finding);
    let found = runtime.all_gather(&[mine])?;
    match (found.iter().flatten().max(), factors) {
        (Some(1), Ok(_)) => Err(singular("one with a pivot of 0").of_operation(op)),
        (Some(2), Ok(_)) => Err(indefinite(None).of_operation(op)),
        (_, factors) => factors,
    }
}

/// A number for each kind of failure that every rank finds on its own; 0 for others.
fn own_finding(error: &Error) -> u64 {
    match error.kind() {
        ErrorKind::Singular { .. } => 1,
        ErrorKind::NotPositiveDefinite { .. } => 2,
        _ => 0,
    }
}

/// All rows of a matrix, on every rank.
fn gather<T: Field>(a: &Csr<T>) -> Result<LocalRows<T>, Error> {
    let (runtime, n_rows) = (a.runtime(), a.n_rows());
    let Some(cuts) = runtime.cuts(a.row_partition()?) else {
        return Ok(a.local_rows()?.1);
    };
    let rows = Exchange::to_ranges(runtime.rank(), &cuts, |_| 0..n_rows)?;
    a.own_rows()?.as_rows().exchange(runtime, &rows)
}
