//! Singular values and vectors of an operator of any shape, a few of the largest or of the
//! smallest.
//!
//! They are found as eigenvalues of A'A or A A', whichever is smaller, by Lanczos's method
//! ([`eigsh`]): each product is one with the operator and one with its adjoint. The singular value
//! decomposition of the images of the vectors that are found gives both sides, and singular values
//! with more digits than the roots of the eigenvalues. SciPy's `svds` does the same by default.

use super::block::{Products, norms, residuals, sums_of_multiples, without};
use super::gram_schmidt::{orthogonalise, start};
use super::small_svd::{SmallSvd, small_svd};
use super::{EigshOptions, eigsh, scale};
use crate::operator::LinearOperator;
use crate::powers::times_power_of;
use crate::solution::StopReason;
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, Runtime};

const OP: &str = "svds";

/// The seed of vectors that no image gives.
const SEED: u64 = 0x5eed_0f5d;

/// Singular values and their vectors: A `right[i]` = `values[i]` `left[i]`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Singular<T> {
    /// The singular values, in descending order: as many as were asked for, converged or not.
    pub values: Vec<f64>,
    /// The left singular vectors, as long as the operator has rows.
    pub left: Vec<Vector<T>>,
    /// The right singular vectors, as long as the operator has columns.
    pub right: Vec<Vector<T>>,
    /// What is left of A v = s u and A'u = s v: the norm of the one that does not hold by
    /// construction.
    pub residuals: Vec<f64>,
    /// How many have converged.
    pub n_converged: usize,
    /// Restarts of Lanczos's method.
    pub iterations: usize,
    /// Products with the operator, and as many with its adjoint, before the residuals were
    /// computed.
    pub products: usize,
    /// Why the method stopped.
    pub reason: StopReason,
}

impl<T> Singular<T> {
    /// Whether all singular values that were asked for have converged.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.reason == StopReason::Converged
    }
}

impl<T: Field> Singular<T> {
    /// The left singular vectors as the columns of a matrix: SciPy's `u`.
    ///
    /// # Errors
    ///
    /// If there are no vectors.
    pub fn left_columns(&self) -> Result<Array<T, 2>, Error> {
        super::columns(&self.left)
    }

    /// The right singular vectors as the columns of a matrix: the adjoint of SciPy's `vh`.
    ///
    /// ```
    /// use sparsefuse_solvers::eigen::{EigshOptions, svds};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::random_array::<f64>((60, 40), 0.1, 1)?;
    /// let svd = svds(&a, 2, &EigshOptions::default())?;
    /// // As `a @ vh.T` in SciPy: the rows of A by two numbers each.
    /// let reduced = &a * &svd.right_columns()?;
    /// assert_eq!(reduced.shape(), svd.left_columns()?.shape());
    /// # Ok::<(), sparsefuse_solvers::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no vectors.
    pub fn right_columns(&self) -> Result<Array<T, 2>, Error> {
        super::columns(&self.right)
    }
}

/// `k` singular values and vectors of an operator with an adjoint: the largest, or with
/// [`Which::Smallest`](super::Which::Smallest) the smallest. SciPy's `svds`.
///
/// ```
/// use sparsefuse_solvers::eigen::{EigshOptions, svds};
/// use sparsefuse_sparse::{Csr, Triplets};
///
/// let mut triplets = Triplets::new(3, 4)?;
/// for (row, value) in [3.0, -5.0, 1.0].into_iter().enumerate() {
///     triplets.push(row, row + 1, value)?;
/// }
/// let a = Csr::from_triplets(&triplets)?;
/// let svd = svds(&a, 2, &EigshOptions::default())?;
/// assert!((svd.values[0] - 5.0).abs() < 1e-14 && (svd.values[1] - 3.0).abs() < 1e-14);
/// let image = &a * &svd.right[0];
/// assert!((image - &svd.left[0] * svd.values[0]).norm2().get()? < 1e-14);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// The options are those of [`eigsh`] for the squares of the singular values. Squares halve the
/// digits of what is small: a singular value of less than 1e-8 of the largest one (1e-4 in single
/// precision) is known to that accuracy only, and where it is 0 its vector on the other side is any
/// that is orthogonal to the others.
///
/// A step costs a product with the operator and one with the adjoint, which a
/// [`Csr`](sparsefuse_sparse::Csr) makes once and keeps, and what a step of [`eigsh`] costs, with
/// vectors of the shorter side.
///
/// # Errors
///
/// If `k` is 0 or not below the smaller of the numbers of rows and columns, the operator has no
/// adjoint or fails, or the options do not fit. Not to converge is no error.
pub fn svds<T: Field>(
    a: &dyn LinearOperator<T>,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Singular<T>, Error> {
    let (n_rows, n_columns) = a.shape();
    let most = n_rows.min(n_columns);
    if k == 0 || k >= most {
        let expected = "k from 1, below the number of rows and that of columns";
        let found = format!("{k} of a matrix of {n_rows} rows and {n_columns} columns");
        return Err(Error::argument(OP, expected, found));
    }
    if options.mass.is_some() {
        let expected = "options without a mass matrix";
        return Err(Error::argument(OP, expected, "one"));
    }
    let power = scale::power_of(OP, a)?;
    let gram = Gram {
        a: &scale::divided(a, power),
        is_tall: n_rows >= n_columns,
    };
    let found = eigsh(&gram, k, options).map_err(|error| error.of_operation(OP))?;
    let (values, near, far) = gram.both_sides(&found.vectors)?;
    let back: Result<Vec<_>, Error> = far.iter().map(|x| gram.back(x)).collect();
    let residuals = norms(&residuals(&values, &back?, &near))?;
    let good = gram.count_good(&values, &residuals, options.tol)?;
    let (left, right) = match gram.is_tall {
        true => (far, near),
        false => (near, far),
    };
    let multiplied = |numbers: Vec<f64>| -> Vec<f64> {
        numbers
            .into_iter()
            .map(|number| times_power_of(number, power))
            .collect()
    };
    let values = multiplied(values);
    let is_finite = values.iter().all(|value| value.is_finite());
    Ok(Singular {
        left,
        right,
        residuals: multiplied(residuals),
        n_converged: if is_finite {
            found.n_converged.min(good)
        } else {
            0
        },
        iterations: found.iterations,
        products: found.products,
        reason: match (is_finite, found.reason) {
            (false, _) => StopReason::NotFinite,
            (true, StopReason::Converged) if good < k => StopReason::Stagnation,
            (true, reason) => reason,
        },
        values,
    })
}

/// A'A of a tall operator, else A A'.
struct Gram<'a, T> {
    a: &'a dyn LinearOperator<T>,
    is_tall: bool,
}

impl<T: Field> Gram<'_, T> {
    /// To the longer side.
    fn there(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        match self.is_tall {
            true => self.a.apply(x),
            false => self.a.apply_adjoint(x),
        }
    }

    /// To the shorter side.
    fn back(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        match self.is_tall {
            true => self.a.apply_adjoint(x),
            false => self.a.apply(x),
        }
    }

    /// How many pairs have a residual that is small beside the norm of A. Where values are nothing
    /// beside that norm their squares, which Lanczos's method sees, are rounding, and the vectors
    /// of the longer side are any.
    fn count_good(&self, values: &[f64], residuals: &[f64], tol: f64) -> Result<usize, Error> {
        let part = tol.max(T::Real::EPSILON.to_f64().sqrt());
        let count = |norm: f64| {
            let small = residuals
                .iter()
                .filter(|&&residual| residual <= part * norm);
            small.count()
        };
        let largest = values.iter().chain(residuals).copied();
        let largest = largest.fold(0.0, f64::max);
        if count(largest) == residuals.len() {
            return Ok(residuals.len());
        }
        // The norm of A is at least that of an image.
        let x = start::<T>(OP, self, None)?;
        let image = norms(&[self.there(&x)?])?[0];
        Ok(count(largest.max(image)))
    }

    /// The singular values of the operator on the space of some orthonormal vectors, in descending
    /// order, with the vectors on both sides: those of R, where Q R are the images. Where rounding
    /// is all that is left of an image beside the others, a vector of Q is any that is orthogonal
    /// to those.
    fn both_sides(&self, found: &[Vector<T>]) -> Result<Sides<T>, Error> {
        let images = found.iter().map(|x| self.there(x));
        let images = images.collect::<Result<Vec<_>, Error>>()?;
        let lengths = norms(&images)?;
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
        let longest = order.first().map_or(0.0, |&first| lengths[first]);
        let rounding = 4.0 * longest * T::Real::EPSILON.to_f64();
        let mut far: Vec<Vector<T>> = Vec::with_capacity(order.len());
        let mut columns = Vec::with_capacity(order.len());
        for (place, &i) in order.iter().enumerate() {
            let (rest, norm, mut column) = match far.is_empty() {
                true => (images[i].clone(), lengths[i], Vec::new()),
                false => {
                    let found = orthogonalise(&far, 0, images[i].clone(), None)?;
                    (found.rest, found.norm, found.products)
                }
            };
            column.resize(order.len(), Complex::ZERO);
            far.push(match !(norm <= rounding) {
                true => {
                    column[place] = Complex::from(norm);
                    rest / T::from_f64(norm)
                }
                false => orthogonal(&images[i], &far)?,
            });
            columns.push(column);
        }
        let SmallSvd {
            values,
            left,
            right,
        } = small_svd(columns);
        let near: Vec<Vector<T>> = order.iter().map(|&i| found[i].clone()).collect();
        let near = sums_of_multiples(&near, &right)?;
        Ok((values, near, sums_of_multiples(&far, &left)?))
    }
}

/// Singular values, and the vectors on the shorter side and on the longer one.
type Sides<T> = (Vec<f64>, Vec<Vector<T>>, Vec<Vector<T>>);

/// A vector of length 1, as long as another one, that is orthogonal to some.
fn orthogonal<T: Field>(like: &Vector<T>, others: &[Vector<T>]) -> Result<Vector<T>, Error> {
    let random = || Vector::random_uniform([like.len()], SEED + others.len() as u64);
    let mut x: Vector<T> = like.runtime().enter(random);
    // Twice, since the first pass leaves the rounding of what it takes away.
    for _ in 0..2 {
        if let [coefficients] = &Products::of(others, std::slice::from_ref(&x))?.read()?[..] {
            x = without(&x, others, coefficients);
        }
    }
    let length = norms(std::slice::from_ref(&x))?[0];
    Ok(x / T::from_f64(length))
}

impl<T: Field> LinearOperator<T> for Gram<'_, T> {
    fn shape(&self) -> (usize, usize) {
        let (n_rows, n_columns) = self.a.shape();
        let n = n_rows.min(n_columns);
        (n, n)
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.back(&self.there(x)?)
    }

    fn is_repeatable(&self) -> bool {
        self.a.is_repeatable()
    }

    fn runtime(&self) -> Option<&Runtime> {
        self.a.runtime()
    }
}
