//! Polynomials by their coefficients, from that of the highest power to the constant one: sums,
//! products, quotients, derivatives and integrals.

use crate::array::Vector;
use crate::convolve::Overlap;
use crate::operand::named;
use crate::twins::twins;
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::Error;

twins! {
    @ "If the vectors belong to two runtimes; of a product, if one has no coefficient.";
    [T: Numeric] Vector<T>;
    /// The coefficients of the sum of two polynomials, as many as the longer one has: NumPy's
    /// `polyadd`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (p, q) = (Vector::from_vec(vec![1, 2]), Vector::from_vec(vec![3, 0, 5]));
    /// assert_eq!(p.polyadd(&q).to_vec()?, [3, 1, 7]);
    /// assert_eq!(p.polysub(&q).to_vec()?, [-3, 1, -3]);
    /// assert_eq!(p.polymul(&q).to_vec()?, [3, 6, 5, 10]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    polyadd try_polyadd(&self, other: &Self) -> Self {
        let n = self.len().max(other.len());
        self.of_length(n)?.try_add(&other.of_length(n)?)
    }

    /// The coefficients of the difference: NumPy's `polysub`, as [`Vector::polyadd`].
    polysub try_polysub(&self, other: &Self) -> Self {
        let n = self.len().max(other.len());
        self.of_length(n)?.try_sub(&other.of_length(n)?)
    }

    /// The coefficients of the product: NumPy's `polymul`. The [convolution](Vector::convolve).
    polymul try_polymul(&self, other: &Self) -> Self { self.try_convolve(other, Overlap::Full) }

    /// The coefficients of a derivative, the first one for `times` 1; a single 0 of a polynomial of
    /// a lower degree. NumPy's `polyder`. Few tasks.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let p = Vector::from_vec(vec![1, 2, 3]);
    /// assert_eq!(p.polyder(1).to_vec()?, [2, 2]);
    /// assert_eq!(p.polyder(3).to_vec()?, [0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    polyder try_polyder(&self, times: usize) -> Self {
        let n = self.len();
        if times >= n {
            return self.runtime().enter(|| Self::try_zeros([1]));
        }
        let mut derivative = self.clone();
        for time in 0..times {
            let m = n - 1 - time;
            let powers = self.runtime().enter(|| powers(m))?;
            derivative = derivative.try_slice(..m)?.try_mul(&powers)?;
        }
        Ok(derivative)
    }
}

twins! {
    @ "If memory cannot hold the result.";
    [T: Field] Vector<T>;
    /// The coefficients of an integral, that of the integral for `times` 2, and so on, whose
    /// constants are 0: NumPy's `polyint`. Few tasks.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let p = Vector::from_vec(vec![6.0, 2.0, 5.0]);
    /// assert_eq!(p.polyint(1).to_vec()?, [2.0, 1.0, 5.0, 0.0]);
    /// assert_eq!(p.polyint(1).polyder(1).to_vec()?, p.to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    polyint try_polyint(&self, times: usize) -> Self {
        let mut integral = self.clone();
        for _ in 0..times {
            let (zero, powers) = self.runtime().enter(|| {
                Ok::<_, Error>((Self::try_zeros([1])?, powers(integral.len())?))
            })?;
            integral = Self::try_concatenate(0, &[&integral.try_div(&powers)?, &zero])?;
        }
        Ok(integral)
    }
}

impl<T: Field> Vector<T> {
    /// The coefficients of quotient and remainder of two polynomials, as many as the division
    /// leaves: `p = quotient * divisor + remainder`. NumPy's `polydiv`, which drops leading zeros
    /// of the remainder. Few tasks for each coefficient of the quotient.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let p = Vector::from_vec(vec![3.0, 5.0, 2.0]);
    /// let (quotient, remainder) = p.polydiv(&Vector::from_vec(vec![2.0, 1.0]))?;
    /// assert_eq!((quotient.to_vec()?, remainder.to_vec()?), (vec![1.5, 1.75], vec![0.25]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the divisor has no coefficient, or the vectors belong to two runtimes. A first
    /// coefficient of 0 of the divisor is divided by.
    pub fn polydiv(&self, divisor: &Self) -> Result<(Self, Self), Error> {
        const OP: &str = "polydiv";
        let (n, m) = (self.len(), divisor.len());
        if m == 0 {
            return Err(Error::argument(OP, "at least one coefficient", "none"));
        }
        if n < m {
            let zero = self.runtime().enter(|| Self::try_zeros([1]))?;
            return Ok((zero, self.clone()));
        }
        named(OP, || {
            let scale = divisor.try_slice(..1)?.try_recip()?;
            let mut rest = self.clone();
            let mut quotient = Vec::new();
            for k in 0..=n - m {
                let next = rest.try_slice(k..=k)?.try_mul(&scale)?;
                let part = rest
                    .try_slice(k..k + m)?
                    .try_sub(&divisor.try_mul(&next)?)?;
                rest.try_assign_slice(k..k + m, &part)?;
                quotient.push(next);
            }
            let quotient = Self::try_concatenate(0, &quotient.iter().collect::<Vec<_>>())?;
            let rest = match m {
                1 => self.runtime().enter(|| Self::try_zeros([1]))?,
                _ => rest.try_slice(n - m + 1..)?.contiguous()?,
            };
            Ok((quotient, rest))
        })
    }
}

impl<T: Numeric> Vector<T> {
    /// The same polynomial with this many coefficients, at least as many as it has.
    fn of_length(&self, n: usize) -> Result<Self, Error> {
        if self.len() == n {
            return Ok(self.clone());
        }
        let zeros = self.runtime().enter(|| Self::try_zeros([n - self.len()]))?;
        Self::try_concatenate(0, &[&zeros, self])
    }
}

/// `n`, `n - 1` … 1.
fn powers<T: Numeric>(n: usize) -> Result<Vector<T>, Error> {
    Vector::try_from_fn([n], |[i]| T::from_f64((n - i) as f64))
}
