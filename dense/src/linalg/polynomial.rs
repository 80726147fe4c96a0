//! Polynomials through points, by least squares.

use crate::array::{Array, Vector};
use crate::operand::{check_len, named};
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::{Error, Shape};

impl<T: Field> Vector<T> {
    /// The coefficients of the polynomial of a degree that is nearest to some values at these
    /// abscissas, by least squares, from that of the highest power to the constant one. Values are
    /// a vector, or a matrix, each column of which has a polynomial of its own. NumPy's
    /// `polyfit(x, y, degree)`.
    ///
    /// By [`Array::lstsq`] of the powers of the abscissas, each divided by its norm: where these
    /// are dependent in the precision of the elements, as for fewer points than coefficients, the
    /// shortest solution.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<f64>::linspace(-1.0, 1.0, 9);
    /// let y = &x * &x * 3.0 - 2.0;
    /// let coefficients = x.polyfit(&y, 2)?;
    /// assert!((x.polyval(&coefficients) - y).norm_inf().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no abscissa, there are not as many values, these have neither one dimension nor
    /// two, or memory cannot hold the powers. If they are not finite, the error comes with the
    /// coefficients.
    #[doc(alias("polynomial", "least_squares"))]
    pub fn polyfit<const D: usize>(
        &self,
        y: &Array<T, D>,
        degree: usize,
    ) -> Result<Array<T, D>, Error> {
        const OP: &str = "polyfit";
        if self.is_empty() {
            return Err(Error::argument(OP, "at least one point", "none"));
        }
        let n = degree.saturating_add(1);
        check_len(OP, Shape::new(&[self.len(), n]))?;
        named(OP, || {
            let powers = self.powers(n)?;
            // By the largest elements first, so that no square of the norms is 0 or infinite.
            let largest = columns(powers.try_abs()?.try_max_axis(0)?)?;
            let scaled = powers.try_div(&largest.try_insert_axis(0)?)?;
            let norms = columns(scaled.try_norm2_axis(0)?)?;
            let scaled = scaled.try_div(&norms.try_insert_axis(0)?)?;
            let found = scaled.lstsq(y)?;
            let mut shape = [1; D];
            shape[0] = n;
            found
                .try_div(&norms.try_reshape(shape)?)?
                .try_div(&largest.try_reshape(shape)?)
        })
    }

    /// The matrix of powers, the highest first.
    fn powers(&self, n: usize) -> Result<Array<T, 2>, Error> {
        let one = || Self::try_ones([self.len()]);
        let mut powers = vec![self.runtime().enter(one)?];
        while powers.len() < n {
            let highest = &powers[powers.len() - 1];
            powers.push(highest.try_mul(self)?);
        }
        Self::try_stack(1, &powers.iter().rev().collect::<Vec<_>>())
    }
}

/// What columns are divided by: their sizes, and 1 of a column of zeros.
fn columns<T: Field>(sizes: Vector<T::Real>) -> Result<Vector<T>, Error> {
    let (zero, one) = (T::Real::from_f64(0.0), T::Real::from_f64(1.0));
    let is_zero = sizes.try_equal(zero)?;
    is_zero.try_select(one, &sizes)?.try_cast::<T>()
}
