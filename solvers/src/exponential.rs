//! The exponential of a matrix times a vector.

use crate::operator::{check_finite, check_rhs, check_square};
use num_complex::Complex;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{DType, Field, Real};
use sparsefuse_runtime::Error;
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

/// exp(t A) b, without forming the exponential: SciPy's `expm_multiply`. The state after the time
/// `t` of what obeys y' = A y, from `b` on.
///
/// By the method of A. H. Al-Mohy and N. J. Higham, *Computing the Action of the Matrix
/// Exponential, with an Application to Exponential Integrators* (2011), without their estimates of
/// the norms of powers: Taylor polynomials of exp(t (A - mu I) / s), where mu is the mean of the
/// diagonal, applied `s` times and ended where a term no longer counts.
///
/// Takes about 6 products with the matrix for each unit of `t` times the 1-norm of A - mu I, at
/// least some ten, and holds five vectors and a matrix.
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
/// If the matrix is not square, `b` has another length, an entry of either is infinite or not a
/// number, `t` is not a finite number, or so large that it would take more than 2^31 steps.
pub fn expm_multiply<T: Field>(a: &Csr<T>, b: &Vector<T>, t: f64) -> Result<Vector<T>, Error> {
    a.runtime().enter(|| {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        let n = a.n_rows();
        if !t.is_finite() {
            return Err(Error::argument(OP, "a finite time", t.to_string()));
        }
        Error::check_shape(OP, &[n], &b.shape())?;
        check_rhs(OP, b)?;
        if n == 0 {
            return Ok(b.clone());
        }
        let (re, im) = a.diagonal()?.sum().get()?.parts();
        let mean = Complex::new(re, im) / n as f64;
        // What is subtracted is a number of the type.
        let (re, im) = T::from_parts(mean.re, mean.im).parts();
        let mean = Complex::new(re, im);
        let identity = Csr::identity(n)?;
        let a = a.linear_combination(T::ONE, &identity, T::from_parts(-mean.re, -mean.im))?;
        let norm = t.abs() * a.norm1().get()?.to_f64();
        let (degree, steps) = degree_and_steps(norm)?;
        let step = t / f64::from(steps);
        let (growth, times) = growth::<T>(mean * step)?;
        let mut y = b.clone();
        for _ in 0..steps {
            y = taylor(&a, &y, step, degree)?;
            for _ in 0..times {
                y *= growth;
            }
        }
        Ok(y)
    })
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
fn taylor<T: Field>(a: &Csr<T>, y: &Vector<T>, step: f64, degree: u32) -> Result<Vector<T>, Error> {
    let tolerance = T::Real::EPSILON.to_f64() / 2.0;
    let mut sum = y.clone();
    let mut term = y.clone();
    let mut before = f64::INFINITY;
    for j in 1..=degree {
        term = a.try_matvec(&term)? * T::from_f64(step / f64::from(j));
        sum = &sum + &term;
        let (of_term, of_sum) = (term.norm_inf(), sum.norm_inf());
        let (last, of_sum) = (of_term.get()?.to_f64(), of_sum.get()?.to_f64());
        if before + last <= tolerance * of_sum {
            break;
        }
        before = last;
    }
    Ok(sum)
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
