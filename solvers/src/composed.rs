//! Operators made of operators: sums, products, multiples, adjoints and transposes, as SciPy's
//! `aslinearoperator` has them.
//!
//! Nothing is multiplied before a vector is: an operator made of others applies them one after the
//! other, and what it does with their images is fused as any other arithmetic of vectors. It stands
//! wherever a method takes an operator.

use crate::nullspace::Nullspace;
use crate::operator::{LinearOperator, check_len};
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector, expect};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Asymmetry, by_columns};
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::rc::Rc;

/// An operator with which one can calculate: `&a + &b`, `&a - &b`, `-&a`, `2.0 * &a`, `&a * &b`,
/// its adjoint and its transpose, and products with vectors and matrices. A clone shares what it is
/// made of.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{MatrixFree, Operator, cg};
/// use sparsefuse_sparse::gallery;
///
/// // A matrix, a function that adds the mean of all elements, and 3 times the identity.
/// let n = 20;
/// let mean = MatrixFree::new(n, |x: &Vector<f64>| Ok(Vector::ones([n]) * x.mean()));
/// let laplacian = gallery::poisson1d::<f64>(n)?;
/// let a = Operator::new(&laplacian) + Operator::new(mean) + 3.0 * Operator::<f64>::identity(n);
/// let b = Vector::linspace(0.0, 1.0, n);
/// let x = cg(&a, &b)?.x;
/// assert!((&a * &x - &b).norm2().get()? < 1e-7);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// What a matrix is not needed for: `A⁻¹ B` without forming it.
///
/// ```
/// use sparsefuse_solvers::Operator;
/// use sparsefuse_solvers::eigen::{EigsOptions, eigs};
/// use sparsefuse_solvers::preconditioners::splu;
/// use sparsefuse_sparse::{Csr, gallery};
///
/// // Eigenvalues of A x = lambda M x, of which neither is symmetric.
/// let a = gallery::banded_varying::<f64>(40, 3)?;
/// let m = 2.0 * Csr::identity(40)?;
/// let inverse = splu(&m)?;
/// let found = eigs(&(Operator::new(&inverse) * Operator::new(&a)), 2, &EigsOptions::default())?;
/// let halves = eigs(&(&a / 2.0), 2, &EigsOptions::default())?;
/// assert!((found.values[0] - halves.values[0]).norm() < 1e-10);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// An operator that is a function has no adjoint unless it is given
/// ([`MatrixFree::with_adjoint`](crate::MatrixFree::with_adjoint)); to ask for that of a sum or a
/// product with such a one is an error where the adjoint is applied.
#[doc(alias = "aslinearoperator")]
pub struct Operator<'a, T>(Rc<Made<'a, T>>);

/// How an operator is made.
enum Made<'a, T> {
    Given(Box<dyn LinearOperator<T> + 'a>),
    Identity(usize),
    Sum(Operator<'a, T>, Operator<'a, T>),
    Product(Operator<'a, T>, Operator<'a, T>),
    Multiple(T, Operator<'a, T>),
    Adjoint(Operator<'a, T>),
    /// Of another one, by way of its adjoint.
    Conjugate(Operator<'a, T>),
}

impl<'a, T: Field> Operator<'a, T> {
    /// An operator, or a reference to one, with which one can calculate.
    pub fn new(a: impl LinearOperator<T> + 'a) -> Self {
        Self::made(Made::Given(Box::new(a)))
    }

    /// The operator that maps each vector of length `n` to itself.
    #[must_use]
    pub fn identity(n: usize) -> Self {
        Self::made(Made::Identity(n))
    }

    /// The sum of two operators, as the operator `+`.
    ///
    /// # Errors
    ///
    /// If their shapes differ.
    pub fn try_add(&self, other: &Self) -> Result<Self, Error> {
        let ((m, n), (n_rows, n_cols)) = (self.shape(), other.shape());
        Error::check_shape("operator sum", &[m, n], &[n_rows, n_cols])?;
        Ok(Self::made(Made::Sum(self.clone(), other.clone())))
    }

    /// The difference of two operators, as the operator `-`.
    ///
    /// # Errors
    ///
    /// If their shapes differ.
    pub fn try_sub(&self, other: &Self) -> Result<Self, Error> {
        self.try_add(&other.scale(-T::ONE))
    }

    /// The product of two operators, as the operator `*`: the other one is applied first.
    ///
    /// # Errors
    ///
    /// If the other one has another number of rows than this one has columns.
    pub fn try_mul(&self, other: &Self) -> Result<Self, Error> {
        let (inner, (n_rows, n_cols)) = (self.shape().1, other.shape());
        Error::check_shape("operator product", &[inner, n_cols], &[n_rows, n_cols])?;
        Ok(Self::made(Made::Product(self.clone(), other.clone())))
    }

    /// A number times the operator, as `2.0 * &a`, for numbers of any type.
    #[must_use]
    pub fn scale(&self, factor: T) -> Self {
        Self::made(Made::Multiple(factor, self.clone()))
    }

    /// The adjoint: the conjugate transpose, SciPy's `a.H`.
    ///
    /// ```
    /// use sparsefuse_solvers::{Operator, LinearOperator, lsqr};
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(1, 2, vec![0, 2], vec![0, 1], vec![3.0, 4.0])?;
    /// let a = Operator::new(&a);
    /// let normal = a.adjoint() * &a;
    /// assert_eq!(normal.shape(), (2, 2));
    /// assert_eq!((&normal * &Vector::ones([2])).to_vec()?, [21.0, 28.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    #[must_use]
    pub fn adjoint(&self) -> Self {
        Self::made(Made::Adjoint(self.clone()))
    }

    /// The transpose, SciPy's `a.T`: of a complex operator by its adjoint and conjugates of the
    /// vectors.
    #[must_use]
    pub fn transpose(&self) -> Self {
        match T::IS_COMPLEX {
            false => self.adjoint(),
            true => Self::made(Made::Conjugate(self.adjoint())),
        }
    }

    /// The image of a vector, or of each column of a matrix, as `&a * &x`.
    ///
    /// # Errors
    ///
    /// If the vector's length is not the number of columns, the array has neither one dimension nor
    /// two, or an operator fails.
    pub fn try_apply<const D: usize>(&self, x: &Array<T, D>) -> Result<Array<T, D>, Error> {
        let (n_rows, n_cols) = self.shape();
        by_columns(("operator", n_rows, n_cols), x, |x| self.apply(x))
    }

    fn made(made: Made<'a, T>) -> Self {
        Self(Rc::new(made))
    }
}

impl<T: Field> LinearOperator<T> for Operator<'_, T> {
    fn shape(&self) -> (usize, usize) {
        match &*self.0 {
            Made::Given(a) => a.shape(),
            Made::Identity(n) => (*n, *n),
            Made::Sum(a, _) | Made::Multiple(_, a) | Made::Conjugate(a) => a.shape(),
            Made::Product(a, b) => (a.shape().0, b.shape().1),
            Made::Adjoint(a) => {
                let (n_rows, n_cols) = a.shape();
                (n_cols, n_rows)
            }
        }
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        match &*self.0 {
            Made::Given(a) => a.apply(x),
            Made::Identity(n) => check_len("operator", *n, x).map(|()| x.clone()),
            Made::Sum(a, b) => a.apply(x)?.try_add(&b.apply(x)?),
            Made::Product(a, b) => a.apply(&b.apply(x)?),
            Made::Multiple(factor, a) => Ok(a.apply(x)? * *factor),
            Made::Adjoint(a) => a.apply_adjoint(x),
            Made::Conjugate(a) => a.apply(&x.try_conj()?)?.try_conj(),
        }
    }

    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        match &*self.0 {
            Made::Given(a) => a.apply_adjoint(x),
            Made::Identity(_) => self.apply(x),
            Made::Sum(a, b) => a.apply_adjoint(x)?.try_add(&b.apply_adjoint(x)?),
            Made::Product(a, b) => b.apply_adjoint(&a.apply_adjoint(x)?),
            Made::Multiple(factor, a) => Ok(a.apply_adjoint(x)? * factor.conjugate()),
            Made::Adjoint(a) => a.apply(x),
            Made::Conjugate(a) => a.apply_adjoint(&x.try_conj()?)?.try_conj(),
        }
    }

    fn bytes(&self) -> Option<usize> {
        match &*self.0 {
            Made::Given(a) => a.bytes(),
            Made::Identity(_) => Some(0),
            Made::Sum(a, b) | Made::Product(a, b) => Some(a.bytes()? + b.bytes()?),
            Made::Multiple(_, a) | Made::Adjoint(a) | Made::Conjugate(a) => a.bytes(),
        }
    }

    fn is_repeatable(&self) -> bool {
        match &*self.0 {
            Made::Given(a) => a.is_repeatable(),
            Made::Identity(_) => true,
            Made::Sum(a, b) | Made::Product(a, b) => a.is_repeatable() && b.is_repeatable(),
            Made::Multiple(_, a) | Made::Adjoint(a) | Made::Conjugate(a) => a.is_repeatable(),
        }
    }

    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        match &*self.0 {
            Made::Given(a) => a.largest_entry(),
            Made::Identity(_) => Ok(Some(1.0)),
            Made::Adjoint(a) | Made::Conjugate(a) => a.largest_entry(),
            // A multiple may be out of range where the operator is not.
            Made::Sum(..) | Made::Product(..) | Made::Multiple(..) => Ok(None),
        }
    }

    fn precise_residual(&self, b: &Vector<T>, x: &Vector<T>) -> Result<Option<Vector<T>>, Error> {
        match &*self.0 {
            Made::Given(a) => a.precise_residual(b, x),
            _ => Ok(None),
        }
    }

    fn asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
        match &*self.0 {
            Made::Given(a) => a.asymmetry(),
            _ => Ok(None),
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        match &*self.0 {
            Made::Given(a) => a.runtime(),
            Made::Identity(_) => None,
            Made::Sum(a, b) | Made::Product(a, b) => a.runtime().or_else(|| b.runtime()),
            Made::Multiple(_, a) | Made::Adjoint(a) | Made::Conjugate(a) => a.runtime(),
        }
    }

    fn nullspace(&self) -> Option<&Nullspace<T>> {
        match &*self.0 {
            Made::Given(a) => a.nullspace(),
            // What the operator and its adjoint map to 0, multiples of them do too.
            Made::Multiple(_, a) | Made::Adjoint(a) => a.nullspace(),
            _ => None,
        }
    }
}

impl<T> Clone for Operator<'_, T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Field> fmt::Debug for Operator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, n_cols) = self.shape();
        write!(f, "Operator({n_rows} by {n_cols})")
    }
}

/// `+`, `-` and `*` of two operators, owned or borrowed.
macro_rules! of_two {
    ($($trait:ident $method:ident $try:ident;)*) => {$(
        of_two!(@impl $trait $method $try: Operator<'a, T>, Operator<'a, T>);
        of_two!(@impl $trait $method $try: Operator<'a, T>, &Operator<'a, T>);
        of_two!(@impl $trait $method $try: &Operator<'a, T>, Operator<'a, T>);
        of_two!(@impl $trait $method $try: &Operator<'a, T>, &Operator<'a, T>);
    )*};
    (@impl $trait:ident $method:ident $try:ident: $left:ty, $right:ty) => {
        /// # Panics
        ///
        #[doc = concat!("Where [`Operator::", stringify!($try), "`] returns an error.")]
        impl<'a, T: Field> $trait<$right> for $left {
            type Output = Operator<'a, T>;

            #[track_caller]
            fn $method(self, right: $right) -> Operator<'a, T> {
                let right: &Operator<'a, T> = &right;
                expect(self.$try(right))
            }
        }
    };
}

of_two! {
    Add add try_add;
    Sub sub try_sub;
    Mul mul try_mul;
}

/// What has an operator, owned or borrowed, on its left: a sign, a vector or a matrix.
macro_rules! on_the_left {
    ($($operator:ty)*) => {$(
        impl<'a, T: Field> Neg for $operator {
            type Output = Operator<'a, T>;

            fn neg(self) -> Operator<'a, T> {
                self.scale(-T::ONE)
            }
        }

        on_the_left!(@impl $operator, Array<T, D>);
        on_the_left!(@impl $operator, &Array<T, D>);
    )*};
    (@impl $operator:ty, $right:ty) => {
        /// # Panics
        ///
        /// Where [`Operator::try_apply`] returns an error.
        impl<'a, T: Field, const D: usize> Mul<$right> for $operator {
            type Output = Array<T, D>;

            #[track_caller]
            fn mul(self, x: $right) -> Array<T, D> {
                let x: &Array<T, D> = &x;
                expect(self.try_apply(x))
            }
        }
    };
}

on_the_left!(Operator<'a, T> &Operator<'a, T>);

/// Plain numbers on either side of an operator.
macro_rules! numbers {
    ($($number:ty)*) => {$(
        numbers!(@impl $number: Operator<'a, $number>);
        numbers!(@impl $number: &Operator<'a, $number>);
    )*};
    (@impl $number:ty: $operator:ty) => {
        impl<'a> Mul<$operator> for $number {
            type Output = Operator<'a, $number>;

            fn mul(self, a: $operator) -> Operator<'a, $number> {
                a.scale(self)
            }
        }

        impl<'a> Mul<$number> for $operator {
            type Output = Operator<'a, $number>;

            fn mul(self, factor: $number) -> Operator<'a, $number> {
                self.scale(factor)
            }
        }
    };
}

numbers!(f32 f64 Complex<f32> Complex<f64>);
