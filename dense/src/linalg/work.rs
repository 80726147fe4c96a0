//! What faer does: from elements, row by row, to elements, row by row.

use faer::linalg::solvers::{Eigen, LltError, Solve};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::traits::ComplexField;
use faer::{Mat, MatRef, Par, Side};
use num_complex::Complex;
use sparsefuse_kernels::{Element, Field};
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::marker::PhantomData;
use std::ops::MulAssign;

/// What is made of a matrix, or of two.
#[derive(Clone, Copy, Debug)]
pub(super) enum Method {
    /// The solutions of `a x = b`.
    Solve,
    /// The solutions of `a x = b`, of a matrix with zeros above its diagonal.
    SolveLower,
    /// The same, of one with zeros below its diagonal.
    SolveUpper,
    /// The solutions of `a a^H x = b`, of a matrix with zeros above its diagonal.
    SolveCholesky,
    /// The rows of `u`, and below its diagonal those of `l`; then the places of these rows in the
    /// matrix.
    Lu,
    /// The solutions of `a x = b`, where the first matrix is what [`Method::Lu`] has made of `a`.
    SolveLu,
    /// The inverse.
    Inverse,
    /// The determinant.
    Determinant,
    /// Its sign, or what it is over its absolute value, and the logarithm of that.
    LogDeterminant,
    /// The lower triangular factor of a Hermitian positive definite matrix.
    Cholesky,
    /// The rows of `q`, then the columns of `r`.
    Qr,
    /// The rows of the left singular vectors, the conjugates of those of the right ones, and the
    /// singular values, in descending order.
    Svd,
    /// The singular values.
    SingularValues,
    /// Of a Hermitian matrix: the rows of the eigenvectors, and the eigenvalues, in ascending
    /// order.
    Eigh,
    /// Its eigenvalues.
    Eigvalsh,
    /// The rows of the eigenvectors, of length 1, and the eigenvalues.
    Eig,
    /// The eigenvalues.
    Eigvals,
}

impl Method {
    /// From which row on what is made is multiplied by a power of a number that the first matrix,
    /// of this shape, is multiplied by, and this power: singular values and eigenvalues grow with
    /// it, inverses shrink, vectors stay.
    fn scaled_rows(self, [n_rows, n_columns]: [usize; 2]) -> Option<(usize, i32)> {
        match self {
            Self::SingularValues | Self::Eigvalsh | Self::Eigvals => Some((0, 1)),
            Self::Eigh | Self::Eig | Self::Qr => Some((n_rows, 1)),
            Self::Svd => Some((n_rows + n_columns, 1)),
            Self::Solve | Self::Inverse => Some((0, -1)),
            Self::SolveLower
            | Self::SolveUpper
            | Self::SolveCholesky
            | Self::Lu
            | Self::SolveLu
            | Self::Determinant
            | Self::LogDeterminant
            | Self::Cholesky => None,
        }
    }
}

/// A method under the name that errors have, for elements `T`, which makes elements `M`.
#[derive(Debug)]
pub(super) struct Work<T, M> {
    pub(super) op: &'static str,
    method: Method,
    /// How faer's numbers become elements.
    narrow: fn(Complex<f64>) -> M,
    elements: PhantomData<fn() -> T>,
}

impl<T: Field, M: Field> Work<T, M> {
    pub(super) fn new(op: &'static str, method: Method) -> Self {
        Self {
            op,
            method,
            narrow: |number| M::from_parts(number.re, number.im),
            elements: PhantomData,
        }
    }
}

impl<T: Field, M: Element> Work<T, M> {
    /// Elements of matrices and their shapes in, elements of what is made out.
    pub(super) fn run(&self, inputs: &[(&[T], [usize; 2])]) -> Result<Vec<M>, Error> {
        match T::IS_COMPLEX {
            true => self.run_as::<Complex<f64>>(inputs),
            false => self.run_as::<f64>(inputs),
        }
    }

    fn run_as<W: Number>(&self, inputs: &[(&[T], [usize; 2])]) -> Result<Vec<M>, Error> {
        let mut matrices = Vec::with_capacity(inputs.len());
        for (elements, shape) in inputs {
            matrices.push((self.widened::<W>(elements, shape[1])?, *shape));
        }
        // The rows that are multiplied again, and the exponent of 2 by which.
        let scaled = matrices.first_mut().and_then(|(elements, shape)| {
            let (first, power) = self.method.scaled_rows(*shape)?;
            match scale::<W>(elements) {
                0 => None,
                exponent => Some((first, power * exponent)),
            }
        });
        let mut seen = matrices.iter().map(|(elements, [n_rows, n_columns])| {
            MatRef::from_row_major_slice(elements, *n_rows, *n_columns)
        });
        let (Some(a), b) = (seen.next(), seen.next()) else {
            return Err(Error::argument(self.op, "a matrix", "none"));
        };
        let made = make(self.op, self.method, a, b)?;
        let rows = (0..made.n_rows())
            .flat_map(|row| (0..made.n_columns()).map(move |column| (row, column)));
        let mut elements = reserve(made.n_rows() * made.n_columns())?;
        elements.extend(rows.map(|(row, column)| {
            let number = made.at(row, column);
            (self.narrow)(match scaled {
                Some((first, exponent)) if row >= first => times_power(number, exponent),
                _ => number,
            })
        }));
        Ok(elements)
    }

    /// The elements as faer's numbers; none may be infinite or NaN, which no method survives.
    fn widened<W: Number>(&self, elements: &[T], n_columns: usize) -> Result<Vec<W>, Error> {
        let is_finite = |x: &T| {
            let (re, im) = x.parts();
            re.is_finite() && im.is_finite()
        };
        if let Some(at) = elements.iter().position(|x| !is_finite(x)) {
            let [row, column] = [at / n_columns, at % n_columns];
            let found = format!("{} in row {row}, column {column}", elements[at]);
            return Err(Error::argument(self.op, "finite elements", found));
        }
        try_collect(elements.iter().map(|x| W::of_parts(x.parts())))
    }
}

/// Divides elements by the power of two that brings the largest near 1, and gives its exponent. Of
/// others squares become 0 or infinite, and faer compares some with numbers that do not depend on
/// the matrix: eigenvectors of a matrix with elements of 1e-15 were no eigenvectors.
fn scale<W: Number>(elements: &mut [W]) -> i32 {
    let sizes = elements.iter().map(|x| {
        let Complex { re, im } = x.complex();
        re.abs().max(im.abs())
    });
    let largest = sizes.fold(0.0, f64::max);
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    if largest == 0.0 || exponent == 0 {
        return 0;
    }
    for x in elements {
        let Complex { re, im } = times_power(x.complex(), -exponent);
        *x = W::of_parts((re, im));
    }
    exponent
}

/// A number times a power of two, which may itself be out of range.
fn times_power(x: Complex<f64>, power: i32) -> Complex<f64> {
    let half = power / 2;
    x * 2f64.powi(half) * 2f64.powi(power - half)
}

/// The numbers that faer computes with.
trait Number: ComplexField<Real = f64> + Copy + MulAssign {
    fn of_parts(parts: (f64, f64)) -> Self;
    fn complex(self) -> Complex<f64>;
    fn eigen(a: MatRef<'_, Self>) -> Result<Eigen<f64>, faer::linalg::evd::EvdError>;
}

impl Number for f64 {
    fn of_parts((re, _): (f64, f64)) -> Self {
        re
    }
    fn complex(self) -> Complex<f64> {
        Complex::from(self)
    }
    fn eigen(a: MatRef<'_, Self>) -> Result<Eigen<f64>, faer::linalg::evd::EvdError> {
        Eigen::new_from_real(a)
    }
}

impl Number for Complex<f64> {
    fn of_parts((re, im): (f64, f64)) -> Self {
        Complex::new(re, im)
    }
    fn complex(self) -> Complex<f64> {
        self
    }
    fn eigen(a: MatRef<'_, Self>) -> Result<Eigen<f64>, faer::linalg::evd::EvdError> {
        Eigen::new(a)
    }
}

/// What a method has made.
enum Made<W> {
    Matrix(Mat<W>),
    /// Eigenvalues of a matrix that is not Hermitian may be complex where it is real.
    Complex(Mat<Complex<f64>>),
}

impl<W: Number> Made<W> {
    fn n_rows(&self) -> usize {
        match self {
            Self::Matrix(made) => made.nrows(),
            Self::Complex(made) => made.nrows(),
        }
    }

    fn n_columns(&self) -> usize {
        match self {
            Self::Matrix(made) => made.ncols(),
            Self::Complex(made) => made.ncols(),
        }
    }

    fn at(&self, row: usize, column: usize) -> Complex<f64> {
        match self {
            Self::Matrix(made) => made[(row, column)].complex(),
            Self::Complex(made) => made[(row, column)],
        }
    }
}

fn make<W: Number>(
    op: &'static str,
    method: Method,
    a: MatRef<'_, W>,
    b: Option<MatRef<'_, W>>,
) -> Result<Made<W>, Error> {
    let n = a.nrows();
    let from_real = |x: f64| W::of_parts((x, 0.0));
    let right_sides = || b.map_or_else(Mat::new, |b| b.to_owned());
    Ok(Made::Matrix(match method {
        Method::Solve => {
            let factors = a.partial_piv_lu();
            check_pivots(op, factors.U())?;
            match b {
                Some(b) => factors.solve(b),
                None => Mat::new(),
            }
        }
        Method::SolveLower => {
            check_pivots(op, a)?;
            let mut x = right_sides();
            solve_lower_triangular_in_place(a, x.as_mut(), Par::Seq);
            x
        }
        Method::SolveUpper => {
            check_pivots(op, a)?;
            let mut x = right_sides();
            solve_upper_triangular_in_place(a, x.as_mut(), Par::Seq);
            x
        }
        Method::SolveCholesky => {
            check_pivots(op, a)?;
            let mut x = right_sides();
            solve_lower_triangular_in_place(a, x.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(a.adjoint(), x.as_mut(), Par::Seq);
            x
        }
        Method::Lu => {
            let factors = a.partial_piv_lu();
            let (lower, upper) = (factors.L(), factors.U());
            check_pivots(op, upper)?;
            let (places, _) = factors.P().arrays();
            Mat::from_fn(n + 1, n, |row, column| match () {
                () if row == n => from_real(places[column] as f64),
                () if row > column => lower[(row, column)],
                () => upper[(row, column)],
            })
        }
        Method::SolveLu => {
            let (factors, places) = a.split_at_row(n - 1);
            // Whole numbers below the order, which a single holds exactly too.
            let place = |row: usize| places[(0, row)].complex().re as usize;
            let mut x = b.map_or_else(Mat::new, |b| {
                Mat::from_fn(n - 1, b.ncols(), |row, column| b[(place(row), column)])
            });
            solve_unit_lower_triangular_in_place(factors, x.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(factors, x.as_mut(), Par::Seq);
            x
        }
        Method::Inverse => {
            let factors = a.partial_piv_lu();
            check_pivots(op, factors.U())?;
            factors.solve(Mat::<W>::identity(n, n))
        }
        Method::Determinant => {
            let factors = a.partial_piv_lu();
            let odd = is_odd(factors.P().arrays().0);
            let mut determinant = from_real(if odd { -1.0 } else { 1.0 });
            for pivot in (0..n).map(|row| factors.U()[(row, row)]) {
                if pivot.complex() == Complex::ZERO {
                    // Behind such a pivot faer's are not numbers.
                    determinant = from_real(0.0);
                    break;
                }
                determinant *= pivot;
            }
            Mat::from_fn(1, 1, |_, _| determinant)
        }
        Method::LogDeterminant => {
            let factors = a.partial_piv_lu();
            let odd = is_odd(factors.P().arrays().0);
            let (mut sign, mut log) = (Complex::from(if odd { -1.0 } else { 1.0 }), 0.0);
            let upper = factors.U();
            for row in 0..n {
                let pivot = upper[(row, row)].complex();
                let size = pivot.norm();
                log += size.ln();
                if size == 0.0 {
                    // Behind such a pivot faer's are not numbers.
                    sign = Complex::ZERO;
                    break;
                }
                sign *= pivot / size;
            }
            let made = [W::of_parts((sign.re, sign.im)), from_real(log)];
            Mat::from_fn(1, 2, |_, column| made[column])
        }
        Method::Cholesky => {
            let factors = a
                .llt(Side::Lower)
                .map_err(|LltError::NonPositivePivot { index }| {
                    let found = format!("one whose first {} rows and columns are not", index + 1);
                    Error::argument(op, "a positive definite matrix", found)
                })?;
            let lower = factors.L();
            let zero = from_real(0.0);
            Mat::from_fn(n, n, |row, column| {
                if row < column {
                    zero
                } else {
                    lower[(row, column)]
                }
            })
        }
        Method::Qr => {
            let factors = a.qr();
            let (q, r) = (factors.compute_thin_Q(), factors.thin_R());
            let zero = from_real(0.0);
            Mat::from_fn(n + a.ncols(), r.nrows(), |row, column| {
                match row.checked_sub(n) {
                    None => q[(row, column)],
                    Some(of_r) if of_r < column => zero,
                    Some(of_r) => r[(column, of_r)],
                }
            })
        }
        Method::Svd => {
            let factors = a.thin_svd().map_err(|_| no_convergence(op))?;
            let (u, v, s) = (factors.U(), factors.V(), factors.S());
            Mat::from_fn(n + a.ncols() + 1, s.dim(), |row, column| {
                match row.checked_sub(n) {
                    None => u[(row, column)],
                    Some(of_v) if of_v < a.ncols() => {
                        let number = v[(of_v, column)].complex();
                        W::of_parts((number.re, -number.im))
                    }
                    Some(_) => s[column],
                }
            })
        }
        Method::SingularValues => {
            let values = a.singular_values().map_err(|_| no_convergence(op))?;
            Mat::from_fn(values.len(), 1, |row, _| from_real(values[row]))
        }
        Method::Eigh => {
            let factors = a
                .self_adjoint_eigen(Side::Lower)
                .map_err(|_| no_convergence(op))?;
            let (vectors, values) = (factors.U(), factors.S());
            let at = |row, column| {
                if row < n {
                    vectors[(row, column)]
                } else {
                    values[column]
                }
            };
            Mat::from_fn(n + 1, n, at)
        }
        Method::Eigvalsh => {
            let values = a
                .self_adjoint_eigenvalues(Side::Lower)
                .map_err(|_| no_convergence(op))?;
            Mat::from_fn(n, 1, |row, _| from_real(values[row]))
        }
        Method::Eig => {
            let factors = W::eigen(a).map_err(|_| no_convergence(op))?;
            let (vectors, values) = (factors.U(), factors.S());
            let lengths: Vec<f64> = (0..n).map(|column| vectors.col(column).norm_l2()).collect();
            return Ok(Made::Complex(Mat::from_fn(n + 1, n, |row, column| {
                if row < n {
                    vectors[(row, column)] / lengths[column]
                } else {
                    values[column]
                }
            })));
        }
        Method::Eigvals => {
            let values = a.eigenvalues().map_err(|_| no_convergence(op))?;
            return Ok(Made::Complex(Mat::from_fn(n, 1, |row, _| values[row])));
        }
    }))
}

/// Whether a permutation is one of an odd number of exchanges.
fn is_odd(places: &[usize]) -> bool {
    let mut is_seen = vec![false; places.len()];
    let mut is_odd = false;
    for first in 0..places.len() {
        let mut at = places[first];
        // A cycle of k places is k - 1 exchanges.
        while !std::mem::replace(&mut is_seen[at], true) && at != first {
            is_odd = !is_odd;
            at = places[at];
        }
    }
    is_odd
}

/// Refuses a matrix with a pivot of 0: it has no inverse.
fn check_pivots<W: Number>(op: &'static str, upper: MatRef<'_, W>) -> Result<(), Error> {
    let is_zero = |row: &usize| upper[(*row, *row)].complex() == Complex::ZERO;
    match (0..upper.nrows()).find(is_zero) {
        None => Ok(()),
        Some(row) => {
            let found = format!("a singular one: pivot {row} is 0");
            Err(Error::argument(op, "a matrix that is not singular", found))
        }
    }
}

fn no_convergence(op: &'static str) -> Error {
    let found = "an iteration that does not converge";
    Error::argument(
        op,
        "a matrix that has its values within the limit of iterations",
        found,
    )
}
