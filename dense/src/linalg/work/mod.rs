//! What faer does: from elements, row by row, to elements, row by row.

mod eigen;
mod factors;
mod far;
mod inverse_iteration;
mod number;
mod serial;
mod spectrum;
mod systems;

use faer::MatRef;
use num_complex::Complex;
use number::{Made, Number, exponent, times_power};
use sparsefuse_kernels::{Element, Field};
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::marker::PhantomData;

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
    /// Whether it looks at what is on and below the diagonal of its matrix alone.
    fn sees_lower_triangle(self) -> bool {
        matches!(self, Self::Cholesky | Self::Eigh | Self::Eigvalsh)
    }

    /// From which row on what is made is multiplied by a power of a number that the first matrix,
    /// of this shape, is multiplied by, and this power: singular values and eigenvalues grow with
    /// it, inverses shrink, vectors stay.
    fn scaled_rows(self, [n_rows, n_columns]: [usize; 2]) -> Option<(usize, i32)> {
        match self {
            Self::SingularValues | Self::Eigvalsh | Self::Eigvals => Some((0, 1)),
            Self::Eigh | Self::Eig | Self::Qr => Some((n_rows, 1)),
            Self::Svd => Some((n_rows + n_columns, 1)),
            // These take numbers far from 1 as they are.
            Self::Solve
            | Self::Inverse
            | Self::SolveLower
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

    /// The elements as faer's numbers; none may be infinite or NaN, which no method survives. Those
    /// that a method does not look at are 0.
    fn widened<W: Number>(&self, elements: &[T], n_columns: usize) -> Result<Vec<W>, Error> {
        let place = |at: usize| [at / n_columns, at % n_columns];
        let sees_all = !self.method.sees_lower_triangle();
        let is_seen = |at: usize| {
            sees_all || {
                let [row, column] = place(at);
                column <= row
            }
        };
        let is_bad = |(at, x): (usize, &T)| {
            let (re, im) = x.parts();
            !(re.is_finite() && im.is_finite()) && is_seen(at)
        };
        if let Some(at) = elements.iter().enumerate().position(is_bad) {
            let [row, column] = place(at);
            let found = format!("{} in row {row}, column {column}", elements[at]);
            return Err(Error::argument(self.op, "finite elements", found));
        }
        try_collect(elements.iter().enumerate().map(|(at, x)| {
            W::of_parts(match is_seen(at) {
                // Of a Hermitian matrix.
                true if !sees_all && place(at)[0] == place(at)[1] => (x.parts().0, 0.0),
                true => x.parts(),
                false => (0.0, 0.0),
            })
        }))
    }
}

/// Divides elements by the power of two that brings the largest near 1, and gives its exponent. Of
/// others squares become 0 or infinite, and faer compares some with numbers that do not depend on
/// the matrix: eigenvectors of a matrix with elements of 1e-15 were no eigenvectors.
fn scale<W: Number>(elements: &mut [W]) -> i32 {
    let nonzero = elements.iter().filter(|x| x.complex() != Complex::ZERO);
    let exponent = nonzero.map(|x| exponent(x.complex())).max().unwrap_or(0);
    if exponent == 0 {
        return 0;
    }
    for x in elements {
        let Complex { re, im } = times_power(x.complex(), -exponent);
        *x = W::of_parts((re, im));
    }
    exponent
}

fn make<W: Number>(
    op: &'static str,
    method: Method,
    a: MatRef<'_, W>,
    b: Option<MatRef<'_, W>>,
) -> Result<Made<W>, Error> {
    let b = b.unwrap_or_else(|| a.subcols(0, 0));
    Ok(Made::Matrix(match method {
        Method::Solve => systems::solve(op, a, b)?,
        Method::SolveLower => systems::solve_lower(op, a, b)?,
        Method::SolveUpper => systems::solve_upper(op, a, b)?,
        Method::SolveCholesky => systems::solve_cholesky(op, a, b)?,
        Method::Lu => systems::lu(op, a)?,
        Method::SolveLu => systems::solve_lu(a, b),
        Method::Inverse => systems::inverse(op, a)?,
        Method::Determinant => systems::determinant(a),
        Method::LogDeterminant => systems::log_determinant(a),
        Method::Cholesky => systems::cholesky(op, a)?,
        Method::Qr => factors::qr(a),
        Method::Svd => factors::svd(op, a)?,
        Method::SingularValues => factors::singular_values(op, a)?,
        Method::Eigh => eigen::eigh(op, a)?,
        Method::Eigvalsh => eigen::eigvalsh(op, a)?,
        Method::Eig => return Ok(Made::Complex(eigen::eig(op, a)?)),
        Method::Eigvals => return Ok(Made::Complex(eigen::eigvals(op, a)?)),
    }))
}

fn no_convergence(op: &'static str) -> Error {
    let found = "an iteration that does not converge";
    Error::argument(
        op,
        "a matrix that has its values within the limit of iterations",
        found,
    )
}
