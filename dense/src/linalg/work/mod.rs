//! What faer does: from elements, row by row, to elements, row by row.

mod conversion;
mod eigen;
mod factors;
mod far;
mod inverse_iteration;
mod number;
mod serial;
mod spectrum;
mod systems;
mod tall;

use conversion::{Elements, Made, Rows, Seen};
use faer::MatRef;
use num_complex::Complex;
use number::Number;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
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
    /// The rows of `r` of two matrices beside each other, which are longer than wide.
    Triangle,
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
    /// What it looks at of its matrix.
    fn seen(self) -> Seen {
        match self {
            Self::Cholesky | Self::Eigh | Self::Eigvalsh => Seen::LowerTriangle,
            _ => Seen::All,
        }
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
            | Self::Triangle
            | Self::Cholesky => None,
        }
    }
}

/// A method under the name that errors have, for elements `T`, which makes elements `M`.
#[derive(Debug)]
pub(super) struct Work<T, M> {
    pub(super) op: &'static str,
    method: Method,
    elements: PhantomData<fn(T) -> M>,
}

impl<T: Field, M: Field> Work<T, M> {
    pub(super) fn new(op: &'static str, method: Method) -> Self {
        Self {
            op,
            method,
            elements: PhantomData,
        }
    }

    /// Elements of matrices and their shapes in, elements of what is made out.
    pub(super) fn run(&self, inputs: &[(&[T], [usize; 2])], made: &mut [M]) -> Result<(), Error> {
        match (self.method, T::IS_COMPLEX) {
            (Method::Triangle, true) => tall::triangle::<Complex<f64>, T, M>(self.op, inputs, made),
            (Method::Triangle, false) => tall::triangle::<f64, T, M>(self.op, inputs, made),
            (_, true) => self.run_as::<Complex<f64>>(inputs, made),
            (_, false) => self.run_as::<f64>(inputs, made),
        }
    }

    /// Divides the first matrix by the power of two that brings its largest number near 1, if what
    /// is made of it can be multiplied again. Of others squares become 0 or infinite, and faer
    /// compares some with numbers that do not depend on the matrix: eigenvectors of a matrix with
    /// elements of 1e-15 were no eigenvectors.
    fn run_as<W: Number>(
        &self,
        inputs: &[(&[T], [usize; 2])],
        made: &mut [M],
    ) -> Result<(), Error> {
        let mut scaled = None;
        let mut matrices = Vec::with_capacity(inputs.len());
        for (number, &(elements, shape)) in inputs.iter().enumerate() {
            let input = Elements {
                elements,
                shape,
                seen: self.method.seen(),
            };
            let exponent = input.largest_exponent(self.op)?;
            let mut power = 0;
            if let (0, Some((first, of_made))) = (number, self.method.scaled_rows(shape)) {
                power = -exponent;
                scaled = Some((first, of_made * exponent));
            }
            matrices.push((input.columns::<W>(power)?, shape));
        }
        let mut seen = (matrices.iter()).map(|(numbers, [rows, columns])| {
            MatRef::from_column_major_slice(numbers, *rows, *columns)
        });
        let (Some(a), b) = (seen.next(), seen.next()) else {
            return Err(Error::argument(self.op, "a matrix", "none"));
        };
        make(self.op, self.method, a, b)?.write(scaled, made);
        Ok(())
    }
}

fn make<W: Number>(
    op: &'static str,
    method: Method,
    a: MatRef<'_, W>,
    b: Option<MatRef<'_, W>>,
) -> Result<Made<W>, Error> {
    let b = b.unwrap_or_else(|| a.subcols(0, 0));
    Ok(Made::Numbers(match method {
        Method::Solve => vec![Rows::Of(systems::solve(op, a, b)?)],
        Method::SolveLower => vec![Rows::Of(systems::solve_lower(op, a, b)?)],
        Method::SolveUpper => vec![Rows::Of(systems::solve_upper(op, a, b)?)],
        Method::SolveCholesky => vec![Rows::Of(systems::solve_cholesky(op, a, b)?)],
        Method::Lu => systems::lu(op, a)?,
        Method::SolveLu => vec![Rows::Of(systems::solve_lu(a, b))],
        Method::Inverse => vec![Rows::Of(systems::inverse(op, a)?)],
        Method::Determinant => vec![Rows::Of(systems::determinant(a))],
        Method::LogDeterminant => vec![Rows::Of(systems::log_determinant(a))],
        Method::Cholesky => vec![Rows::Of(systems::cholesky(op, a)?)],
        Method::Qr => factors::qr(a),
        // Made without its columns one after the other: see `tall`.
        Method::Triangle => vec![Rows::Of(serial::triangle(a))],
        Method::Svd => factors::svd(op, a)?,
        Method::SingularValues => vec![Rows::Of(factors::singular_values(op, a)?)],
        Method::Eigh => eigen::eigh(op, a)?,
        Method::Eigvalsh => vec![Rows::Of(eigen::eigvalsh(op, a)?)],
        Method::Eig => return Ok(Made::Complex(eigen::eig(op, a)?)),
        Method::Eigvals => return Ok(Made::Complex(vec![Rows::Of(eigen::eigvals(op, a)?)])),
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
