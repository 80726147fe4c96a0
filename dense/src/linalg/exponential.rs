//! The exponential of a matrix: array code on products and one system of equations.

use super::order;
use crate::array::{Array, Vector};
use crate::pade::{DEGREE, DEGREES, Norms, coefficients, halvings_before_powers, powers_of_two};
use num_complex::Complex;
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::Error;

const OP: &str = "expm";

impl<T: Field> Array<T, 2> {
    /// The exponential I + A + A² / 2 + A³ / 6 + … of a square matrix: SciPy's `linalg.expm`. Of a
    /// large sparse matrix times a vector there is `expm_multiply`.
    ///
    /// By scaling and squaring, exp(A) = exp(A / 2^s)^(2^s) with Padé approximants (N. J. Higham,
    /// *The Scaling and Squaring Method for the Matrix Exponential Revisited*, 2005), and with no
    /// more squarings than the norms of powers ask for (A. H. Al-Mohy and N. J. Higham, *A New
    /// Scaling and Squaring Algorithm for the Matrix Exponential*, 2009, with bounds of the norms
    /// of the 8th and the 10th power in place of their estimates). In double precision, whatever
    /// the elements are.
    ///
    /// Takes two to six products of matrices, one more for each squaring, and a system with as many
    /// right-hand sides as the matrix has rows; waits for the norms by which it chooses.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// // The exponential of t (0 -1; 1 0) is the rotation by t.
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![0.0, -2.0, 2.0, 0.0])?;
    /// let rotation = a.expm()?.to_vec()?;
    /// assert!((rotation[0] - 2f64.cos()).abs() < 1e-14 && (rotation[2] - 2f64.sin()).abs() < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an element is infinite or not a number, or the exponential is
    /// larger than the elements can be.
    #[doc(alias = "exponential")]
    pub fn expm(&self) -> Result<Self, Error> {
        order(OP, self)?;
        if let Some((at, element)) = self.first_not_finite()? {
            let [row, column] = [at / self.shape()[1], at % self.shape()[1]];
            let found = format!("{element} in row {row}, column {column}");
            return Err(Error::argument(OP, "finite elements", found));
        }
        let exponential = self.runtime().enter(|| match T::IS_COMPLEX {
            true => exponential(&self.try_cast::<Complex<f64>>()?)?.try_cast::<T>(),
            false => exponential(&self.try_cast::<f64>()?)?.try_cast::<T>(),
        })?;
        match exponential.try_is_finite()?.try_all()?.get()? {
            true => Ok(exponential),
            false => {
                let expected = format!("a matrix whose exponential {} can hold", T::DTYPE);
                Err(Error::argument(
                    OP,
                    expected,
                    "one whose exponential overflows",
                ))
            }
        }
    }
}

/// The exponential of a matrix in double precision.
fn exponential<T: Field>(a: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
    if a.is_empty() {
        return Ok(a.clone());
    }
    // The factors of an upper triangle are triangles. Those of a lower one need not be, where rows
    // are exchanged, and what rounding leaves above the diagonal grows with each squaring.
    let is_triangle = |a: &Array<T, 2>| {
        let below = a.try_lower_triangle(-1)?.try_not_equal(T::ZERO)?;
        Ok::<_, Error>(!below.try_any()?.get()?)
    };
    let is_upper = is_triangle(a)?;
    if !is_upper && is_triangle(&a.t())? {
        return Ok(exponential(&a.t().contiguous()?)?.t());
    }
    let norm = norm1(a)?;
    if !norm.is_finite() {
        let expected = "a matrix whose 1-norm doubles can hold";
        return Err(Error::argument(OP, expected, "one whose 1-norm overflows"));
    }
    if let Some((degree, _)) = DEGREES.into_iter().find(|(_, most)| norm <= *most) {
        return quotient(approximant(degree, a)?);
    }
    let before = halvings_before_powers(norm);
    let powers = Powers::of(halved(a, before)?)?;
    let after = powers.halvings(before)?;
    let mut power = quotient(powers.halved(after)?.approximant()?)?;
    for left in (0..before + after).rev() {
        power = power.try_matmul(&power)?;
        // The diagonal of a triangle is known (Al-Mohy and Higham, code fragment 2.1).
        if is_upper {
            let diagonal = halved(a, left)?.try_diagonal(0)?.try_exp()?;
            power = power
                .try_upper_triangle(1)?
                .try_add(&diagonal.try_to_diagonal(0)?)?;
        }
    }
    Ok(power)
}

/// Two matrices U and V, odd and even in A, of which (V - U)^-1 (V + U) approximates the
/// exponential of A.
type Approximant<T> = (Array<T, 2>, Array<T, 2>);

fn quotient<T: Field>((u, v): Approximant<T>) -> Result<Array<T, 2>, Error> {
    v.try_sub(&u)?.solve(&v.try_add(&u)?)
}

/// Of a degree, from the even powers of A.
fn approximant<T: Field>(degree: usize, a: &Array<T, 2>) -> Result<Approximant<T>, Error> {
    let b = coefficients(degree);
    let square = a.try_matmul(a)?;
    let mut power = Array::eye(a.shape()[0]);
    let mut u = power.try_mul(T::from_f64(b[1]))?;
    let mut v = power.try_mul(T::from_f64(b[0]))?;
    for k in 1..=degree / 2 {
        power = if k == 1 {
            square.clone()
        } else {
            power.try_matmul(&square)?
        };
        u = u.try_add(&power.try_mul(T::from_f64(b[2 * k + 1]))?)?;
        v = v.try_add(&power.try_mul(T::from_f64(b[2 * k]))?)?;
    }
    Ok((a.try_matmul(&u)?, v))
}

/// A matrix and its 2nd, 4th and 6th power.
struct Powers<T: Field> {
    a: Array<T, 2>,
    a2: Array<T, 2>,
    a4: Array<T, 2>,
    a6: Array<T, 2>,
}

impl<T: Field> Powers<T> {
    fn of(a: Array<T, 2>) -> Result<Self, Error> {
        let a2 = a.try_matmul(&a)?;
        let a4 = a2.try_matmul(&a2)?;
        let a6 = a4.try_matmul(&a2)?;
        Ok(Self { a, a2, a4, a6 })
    }

    /// How often the matrix has to be halved, after it has been halved `before`.
    fn halvings(&self, before: i32) -> Result<i32, Error> {
        let powers = [norm1(&self.a2)?, norm1(&self.a4)?, norm1(&self.a6)?];
        let norm = norm1(&self.a)?;
        let absolute = self
            .a
            .try_abs()?
            .try_mul(T::Real::from_f64(1.0 / norm))?
            .t();
        let mut sums = Vector::<T::Real>::ones([self.a.shape()[0]]);
        for _ in 0..=2 * DEGREE {
            sums = absolute.try_matvec(&sums)?;
        }
        let norms = Norms {
            norm,
            powers,
            absolute: sums.try_max()?.get()?.to_f64(),
        };
        Ok(norms.halvings(before))
    }

    /// The powers of the matrix divided by 2^count.
    fn halved(&self, count: i32) -> Result<Self, Error> {
        Ok(Self {
            a: halved(&self.a, count)?,
            a2: halved(&self.a2, 2 * count)?,
            a4: halved(&self.a4, 4 * count)?,
            a6: halved(&self.a6, 6 * count)?,
        })
    }

    /// Of degree 13, with three more products.
    fn approximant(&self) -> Result<Approximant<T>, Error> {
        let b = coefficients(DEGREE);
        let identity = Array::eye(self.a.shape()[0]);
        let sum = |first: usize| {
            let high =
                self.combined([0.0, b[first + 8], b[first + 10], b[first + 12]], &identity)?;
            let low = self.combined(
                [b[first], b[first + 2], b[first + 4], b[first + 6]],
                &identity,
            )?;
            self.a6.try_matmul(&high)?.try_add(&low)
        };
        Ok((self.a.try_matmul(&sum(1)?)?, sum(0)?))
    }

    /// A sum of multiples of the identity and the even powers.
    fn combined(&self, factors: [f64; 4], identity: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
        let powers = [identity, &self.a2, &self.a4, &self.a6];
        let mut terms = powers.into_iter().zip(factors);
        let multiple = |(power, factor): (&Array<T, 2>, f64)| power.try_mul(T::from_f64(factor));
        let first = terms.next().map(multiple).expect("there are four");
        terms.try_fold(first?, |sum, term| sum.try_add(&multiple(term)?))
    }
}

/// A matrix divided by 2^count.
fn halved<T: Field>(a: &Array<T, 2>, count: i32) -> Result<Array<T, 2>, Error> {
    let mut halved = a.clone();
    for factor in powers_of_two(-count) {
        halved = halved.try_mul(T::from_f64(factor))?;
    }
    Ok(halved)
}

/// The largest sum of the absolute values of a column.
fn norm1<T: Field>(a: &Array<T, 2>) -> Result<f64, Error> {
    Ok(a.try_abs()?.try_sum_axis(0)?.try_max()?.get()?.to_f64())
}
