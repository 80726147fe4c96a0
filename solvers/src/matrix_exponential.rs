//! The exponential of a sparse matrix: products and sums of sparse matrices, and one system of
//! equations with as many right-hand sides as it has columns.

use crate::operator::{check_finite, check_square};
use crate::powers::{times_power, times_power_of_entries};
use crate::preconditioners::splu;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_dense::pade::{DEGREE, DEGREES, Norms, coefficients, halvings_before_powers};
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;

const OP: &str = "expm";

/// The exponential I + A + A² / 2 + A³ / 6 + … of a sparse matrix, as a sparse matrix: SciPy's
/// `sparse.linalg.expm`. It has an entry wherever a path along the entries of A leads, so it pays
/// for block diagonal, triangular and other matrices with few such paths; to apply an exponential
/// to vectors, [`expm_multiply`](crate::expm_multiply()) needs much less. An entry that becomes 0
/// is not stored.
///
/// By scaling and squaring with Padé approximants, as `expm` of a dense array (N. J.
/// Higham, *The Scaling and Squaring Method for the Matrix Exponential Revisited*, 2005, and A. H.
/// Al-Mohy and N. J. Higham, *A New Scaling and Squaring Algorithm for the Matrix Exponential*,
/// 2009, with bounds of the norms of the 8th and the 10th power). In double precision, whatever the
/// elements are; each squaring may double what rounding has left, which shows beside elements that
/// are larger by many orders of magnitude. Takes two to six products of sparse matrices, one more
/// for each squaring, and [`splu`] with a sparse right-hand side: on ranks as that does, and with
/// other bits on another instruction set.
///
/// ```
/// use sparsefuse_solvers::expm;
/// use sparsefuse_sparse::Csr;
///
/// // [ 0 2 ], whose square is 0.
/// // [ 0 0 ]
/// let a = Csr::new(2, 2, vec![0, 1, 1], vec![1], vec![2.0])?;
/// assert_eq!(expm(&a)?.to_dense()?.to_vec()?, [1.0, 2.0, 0.0, 1.0]);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, an entry is infinite or not a number, the sum of absolute values of
/// a column overflows, the exponential is larger than the elements can be, memory runs out, or
/// without the feature `direct`.
pub fn expm<T: Field>(a: &Csr<T>) -> Result<Csr<T>, Error> {
    a.runtime().enter(|| {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        let exponential = match T::IS_COMPLEX {
            true => {
                let wide = |x: T| {
                    let (re, im) = x.parts();
                    Complex::new(re, im)
                };
                let power = exponential(&a.map_values(wide)?)?;
                power.map_values(|x| T::from_parts(x.re, x.im))?
            }
            false => {
                let power = exponential(&a.map_values(|x| x.parts().0)?)?;
                power.map_values(T::from_f64)?
            }
        };
        if exponential.first_not_finite()?.is_some() {
            let expected = format!("a matrix whose exponential {} can hold", T::DTYPE);
            let found = "one whose exponential overflows";
            return Err(Error::argument(OP, expected, found));
        }
        exponential.drop_small(T::Real::ZERO)
    })
}

/// The exponential of a matrix in double precision.
fn exponential<T: Field>(a: &Csr<T>) -> Result<Csr<T>, Error> {
    if a.n_rows() == 0 {
        return Ok(a.clone());
    }
    let (below, above) = a.bandwidth()?;
    // The factors of an upper triangle are triangles. Those of a lower one need not be, where rows
    // are exchanged, and what rounding leaves above the diagonal grows with each squaring.
    if above == 0 && below > 0 {
        return exponential(&a.transpose()?)?.transpose();
    }
    let is_triangle = below == 0;
    // Factors whose rows and columns have been reordered leave rounding below it.
    let triangle = |power: Csr<T>| match is_triangle {
        true => power.upper_triangle(0),
        false => Ok(power),
    };
    let norm = norm1(a)?;
    if !norm.is_finite() {
        let expected = "a matrix whose 1-norm doubles can hold";
        return Err(Error::argument(OP, expected, "one whose 1-norm overflows"));
    }
    if let Some((degree, _)) = DEGREES.into_iter().find(|(_, most)| norm <= *most) {
        return triangle(quotient(&approximant(degree, a)?)?);
    }
    let before = halvings_before_powers(norm);
    let powers = Powers::of(times_power_of_entries(a, -before))?;
    let after = powers.halvings(before)?;
    let mut power = triangle(quotient(&powers.halved(after).approximant()?)?)?;
    for left in (0..before + after).rev() {
        power = power.try_matmul(&power)?;
        // The diagonal of a triangle is known (Al-Mohy and Higham, code fragment 2.1).
        if is_triangle {
            let diagonal = times_power(&a.diagonal(0)?, -left).try_exp()?;
            power = power.with_diagonal(0, &diagonal)?;
        }
    }
    Ok(power)
}

/// Two matrices U and V, odd and even in A, of which (V - U)^-1 (V + U) approximates the
/// exponential of A.
type Approximant<T> = (Csr<T>, Csr<T>);

fn quotient<T: Field>((u, v): &Approximant<T>) -> Result<Csr<T>, Error> {
    splu(&v.try_sub(u)?)?.solve(&v.try_add(u)?)
}

/// Of a degree, from the even powers of A.
fn approximant<T: Field>(degree: usize, a: &Csr<T>) -> Result<Approximant<T>, Error> {
    let b = coefficients(degree);
    let square = a.try_matmul(a)?;
    let mut power = Csr::identity(a.n_rows())?;
    let mut u = power.try_scale(T::from_f64(b[1]))?;
    let mut v = power.try_scale(T::from_f64(b[0]))?;
    for k in 1..=degree / 2 {
        power = match k {
            1 => square.clone(),
            _ => power.try_matmul(&square)?,
        };
        u = u.linear_combination(T::ONE, &power, T::from_f64(b[2 * k + 1]))?;
        v = v.linear_combination(T::ONE, &power, T::from_f64(b[2 * k]))?;
    }
    Ok((a.try_matmul(&u)?, v))
}

/// A matrix and its 2nd, 4th and 6th power.
struct Powers<T: Field> {
    a: Csr<T>,
    a2: Csr<T>,
    a4: Csr<T>,
    a6: Csr<T>,
}

impl<T: Field> Powers<T> {
    fn of(a: Csr<T>) -> Result<Self, Error> {
        let a2 = a.try_matmul(&a)?;
        let a4 = a2.try_matmul(&a2)?;
        let a6 = a4.try_matmul(&a2)?;
        Ok(Self { a, a2, a4, a6 })
    }

    /// How often the matrix has to be halved, after it has been halved `before`.
    fn halvings(&self, before: i32) -> Result<i32, Error> {
        let powers = [norm1(&self.a2)?, norm1(&self.a4)?, norm1(&self.a6)?];
        let norm = norm1(&self.a)?;
        let absolute = self.a.map_values(|x| x.magnitude().to_f64() / norm)?;
        let absolute = absolute.transpose()?;
        let mut sums = Vector::<f64>::ones([self.a.n_rows()]);
        for _ in 0..=2 * DEGREE {
            sums = absolute.try_matvec(&sums)?;
        }
        let norms = Norms {
            norm,
            powers,
            absolute: sums.try_max()?.get()?,
        };
        Ok(norms.halvings(before))
    }

    /// The powers of the matrix divided by 2^count.
    fn halved(&self, count: i32) -> Self {
        Self {
            a: times_power_of_entries(&self.a, -count),
            a2: times_power_of_entries(&self.a2, -2 * count),
            a4: times_power_of_entries(&self.a4, -4 * count),
            a6: times_power_of_entries(&self.a6, -6 * count),
        }
    }

    /// Of degree 13, with three more products.
    fn approximant(&self) -> Result<Approximant<T>, Error> {
        let b = coefficients(DEGREE);
        let identity = Csr::identity(self.a.n_rows())?;
        let plus = |sum: Csr<T>, power: &Csr<T>, j: usize| {
            sum.linear_combination(T::ONE, power, T::from_f64(b[j]))
        };
        let sum = |first: usize| {
            let high = self.a2.try_scale(T::from_f64(b[first + 8]))?;
            let high = plus(high, &self.a4, first + 10)?;
            let high = plus(high, &self.a6, first + 12)?;
            let low = identity.try_scale(T::from_f64(b[first]))?;
            let low = plus(low, &self.a2, first + 2)?;
            let low = plus(low, &self.a4, first + 4)?;
            let low = plus(low, &self.a6, first + 6)?;
            self.a6.try_matmul(&high)?.try_add(&low)
        };
        Ok((self.a.try_matmul(&sum(1)?)?, sum(0)?))
    }
}

/// The largest sum of the absolute values of a column.
fn norm1<T: Field>(a: &Csr<T>) -> Result<f64, Error> {
    Ok(a.norm1().get()?.to_f64())
}
