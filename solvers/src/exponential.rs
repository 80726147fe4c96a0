//! The exponential of a matrix times a vector, or a matrix, for one time or several.

use crate::operator::{check_finite, check_rhs, check_square};
use num_complex::Complex;
use sparsefuse_dense::{Array, Scalar, Vector};
use sparsefuse_kernels::{DType, Field, Numeric, Real};
use sparsefuse_runtime::{Error, reserve};
use sparsefuse_sparse::Csr;

const OP: &str = "expm_multiply";

/// Degrees of Taylor polynomials, and the largest norm of a matrix for which each has the precision
/// of doubles: table 3.1 of the paper, and what is between by the same analysis.
const DEGREES: [(u32, f64); 11] = [
    (5, 2.4e-3),
    (10, 1.4e-1),
    (15, 6.4e-1),
    (20, 1.4),
    (25, 2.4),
    (30, 3.5),
    (35, 4.7),
    (40, 6.0),
    (45, 7.2),
    (50, 8.5),
    (55, 9.9),
];

/// exp(t A) b of a vector or of the columns of a matrix, without forming the exponential: SciPy's
/// `expm_multiply`. The state after the time `t` of what obeys y' = A y, from `b` on;
/// [`expm_multiply_at`] has several times.
///
/// By the method of A. H. Al-Mohy and N. J. Higham, *Computing the Action of the Matrix
/// Exponential, with an Application to Exponential Integrators* (2011), without their estimates of
/// the norms of powers: Taylor polynomials of exp(t (A - mu I) / s), where mu is the mean of the
/// diagonal, applied `s` times and ended where a term no longer counts, of all columns together.
///
/// Takes about 6 products with the matrix for each unit of `t` times the 1-norm of A - mu I, at
/// least some ten, and holds five arrays like `b` and a matrix.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::expm_multiply;
/// use sparsefuse_sparse::gallery;
///
/// // Heat in a rod, with ends that are kept at 0: a sine dies away as exp(-lambda t).
/// let (n, t) = (50, 20.0);
/// let angle = std::f64::consts::PI / (n + 1) as f64;
/// let sine = Vector::from_fn([n], |[i]| ((i + 1) as f64 * angle).sin());
/// let a = gallery::poisson1d::<f64>(n)? * -1.0;
/// let y = expm_multiply(&a, &sine, t)?;
/// let lambda = 2.0 - 2.0 * angle.cos();
/// assert!((y - sine * (-lambda * t).exp()).norm_inf().get()? < 1e-13);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, `b` has another number of rows or is an array of neither one
/// dimension nor two, an entry of either is infinite or not a number, `t` is not a finite number,
/// or so large that it would take more than 2^31 steps.
pub fn expm_multiply<T: Field, const D: usize>(
    a: &Csr<T>,
    b: &Array<T, D>,
    t: f64,
) -> Result<Array<T, D>, Error> {
    a.runtime().enter(|| {
        check(a, b, &[t])?;
        Generator::new(a)?.advanced(b, t)
    })
}

/// exp(t A) b for several times `t`, one after the other: SciPy's `expm_multiply` of a time span.
/// Each result is advanced from the one before, as [`expm_multiply`] does, or from `b` where the
/// time before is farther from 0 or on its other side; so ascending times take together as many
/// products as the last one, and at least some ten each.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::expm_multiply_at;
/// use sparsefuse_sparse::Csr;
///
/// let halving = Csr::<f64>::identity(3)? * -2f64.ln();
/// let states = expm_multiply_at(&halving, &Vector::ones([3]), &[0.0, 1.0, 2.0])?;
/// let sums = states.iter().map(|state| Ok(state.sum().get()?));
/// let sums = sums.collect::<Result<Vec<f64>, sparsefuse_runtime::Error>>()?;
/// assert!(sums.iter().zip([3.0, 1.5, 0.75]).all(|(sum, known)| (sum - known).abs() < 1e-14));
/// let together = Vector::stack(0, &states.iter().collect::<Vec<_>>());
/// assert_eq!(together.shape(), [3, 3]);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`expm_multiply`].
pub fn expm_multiply_at<T: Field, const D: usize>(
    a: &Csr<T>,
    b: &Array<T, D>,
    times: &[f64],
) -> Result<Vec<Array<T, D>>, Error> {
    a.runtime().enter(|| {
        check(a, b, times)?;
        let generator = Generator::new(a)?;
        let (mut y, mut before) = (b.clone(), 0.0);
        let mut states = reserve(times.len())?;
        for &t in times {
            if t.abs() < f64::abs(before) || t * before < 0.0 {
                (y, before) = (b.clone(), 0.0);
            }
            y = generator.advanced(&y, t - before)?;
            before = t;
            states.push(y.clone());
        }
        Ok(states)
    })
}

fn check<T: Field, const D: usize>(
    a: &Csr<T>,
    b: &Array<T, D>,
    times: &[f64],
) -> Result<(), Error> {
    check_square(OP, a)?;
    check_finite(OP, a)?;
    if let Some(t) = times.iter().find(|t| !t.is_finite()) {
        return Err(Error::argument(OP, "a finite time", t.to_string()));
    }
    if !matches!(D, 1 | 2) {
        let found = format!("{D} dimensions");
        return Err(Error::argument(OP, "a vector or a matrix", found));
    }
    let mut expected = b.shape();
    expected[0] = a.n_rows();
    Error::check_shape(OP, &expected, &b.shape())?;
    check_rhs(OP, b)
}

/// A matrix of which exponentials are applied: A = mean I + a.
struct Generator<T: Field> {
    mean: Complex<f64>,
    a: Csr<T>,
    norm: f64,
}

impl<T: Field> Generator<T> {
    fn new(a: &Csr<T>) -> Result<Self, Error> {
        let n = a.n_rows();
        let (re, im) = a.diagonal(0)?.sum().get()?.parts();
        let mean = Complex::new(re, im) / n.max(1) as f64;
        // What is subtracted is a number of the type.
        let (re, im) = T::from_parts(mean.re, mean.im).parts();
        let mean = Complex::new(re, im);
        let identity = Csr::identity(n)?;
        let a = a.linear_combination(T::ONE, &identity, T::from_parts(-mean.re, -mean.im))?;
        let norm = a.norm1().get()?.to_f64();
        Ok(Self { mean, a, norm })
    }

    /// exp(t A) y.
    fn advanced<const D: usize>(&self, y: &Array<T, D>, t: f64) -> Result<Array<T, D>, Error> {
        if y.is_empty() || t == 0.0 {
            return Ok(y.clone());
        }
        let (degree, steps) = degree_and_steps(t.abs() * self.norm)?;
        let step = t / f64::from(steps);
        let (growth, times) = growth::<T>(self.mean * step)?;
        let mut y = y.clone();
        for _ in 0..steps {
            y = taylor(&self.a, &y, step, degree)?;
            for _ in 0..times {
                y *= growth;
            }
        }
        Ok(y)
    }
}

/// What a vector is multiplied by, and how often, so that this is exp(x) times it: the factor is in
/// the range of the type where exp(x) is not, which the elements may make up for.
fn growth<T: Field>(x: Complex<f64>) -> Result<(T, u32), Error> {
    let largest = match T::DTYPE.real() {
        DType::F32 => 80.0,
        _ => 700.0,
    };
    // Four such factors bring all that is not 0 out of the range.
    let times = (x.re.abs() / largest).ceil().clamp(1.0, 4.0);
    let part = Complex::new((x.re / times).clamp(-largest, largest), x.im / times);
    // A scalar's exponential has the same bits on every machine.
    let part = Scalar::new(part).exp().get()?;
    Ok((T::from_parts(part.re, part.im), times as u32))
}

/// The sum of the first terms of exp(step A) y.
fn taylor<T: Field, const D: usize>(
    a: &Csr<T>,
    y: &Array<T, D>,
    step: f64,
    degree: u32,
) -> Result<Array<T, D>, Error> {
    let tolerance = T::Real::from_f64(T::Real::EPSILON.to_f64() / 2.0);
    let mut sum = y.clone();
    let mut term = y.clone();
    let mut before: Option<Vector<T::Real>> = None;
    for j in 1..=degree {
        term = product(a, &term)? * T::from_f64(step / f64::from(j));
        sum = &sum + &term;
        let (last, of_sum) = (norms_of_columns(&term)?, norms_of_columns(&sum)?);
        if let Some(before) = before {
            let is_small = (&before + &last).try_less_equal(of_sum * tolerance)?;
            if is_small.try_all()?.get()? {
                break;
            }
        }
        before = Some(last);
    }
    Ok(sum)
}

/// The largest absolute value of each column; a vector is one.
fn norms_of_columns<T: Field, const D: usize>(x: &Array<T, D>) -> Result<Vector<T::Real>, Error> {
    match x.shape()[..] {
        [_] => Vector::zeros([1]).try_add(x.norm_inf()),
        [m, n] => x.try_reshape([m, n])?.try_abs()?.try_max_axis(0),
        _ => unreachable!("other numbers of dimensions are refused before"),
    }
}

/// The product with a vector or a matrix.
fn product<T: Field, const D: usize>(a: &Csr<T>, x: &Array<T, D>) -> Result<Array<T, D>, Error> {
    match x.shape()[..] {
        [n] => a.try_matvec(&x.try_reshape([n])?)?.try_reshape(x.shape()),
        [m, n] => a
            .try_matmul(&x.try_reshape([m, n])?)?
            .try_reshape(x.shape()),
        _ => unreachable!("other numbers of dimensions are refused before"),
    }
}

/// The degree of the polynomial and the number of steps that take the fewest products, for a matrix
/// of this norm.
fn degree_and_steps(norm: f64) -> Result<(u32, u32), Error> {
    let steps = |most: f64| (norm / most).ceil().max(1.0);
    let products = |&(degree, most): &(u32, f64)| f64::from(degree) * steps(most);
    let fewest = DEGREES
        .into_iter()
        .min_by(|one, other| products(one).total_cmp(&products(other)));
    let (degree, most) = fewest.unwrap_or(DEGREES[0]);
    let steps = steps(most);
    if norm.is_finite() && steps <= f64::from(1u32 << 31) {
        return Ok((degree, steps as u32));
    }
    let expected = "a time of at most 2^31 steps";
    let found = format!("a norm of {norm:e} of the matrix times the time");
    Err(Error::argument(OP, expected, found))
}
