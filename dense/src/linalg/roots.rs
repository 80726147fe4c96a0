//! Roots of polynomials, as eigenvalues.

use crate::array::{Array, Vector};
use crate::operand::named;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

impl<T: Field> Vector<T> {
    /// The roots of the polynomial with these coefficients, from that of the highest power to the
    /// constant one, in no order, each as often as it is one: NumPy's `roots`. Those of the
    /// companion matrix's [eigenvalues](Array::eigvals); a constant has none. Leading zeros are
    /// left out, and zeros at the end are roots 0, so this waits for the coefficients.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let p = Vector::<f64>::from_vec(vec![0.0, 1.0, -3.0, 2.0, 0.0]);
    /// let distance = p.roots()?.re().sort() - Vector::<f64>::arange(3);
    /// assert!(distance.norm_inf().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the coefficients failed. If they are not finite, the error comes with
    /// the roots.
    pub fn roots(&self) -> Result<Vector<T::Complex>, Error> {
        const OP: &str = "roots";
        let coefficients = self.to_vec()?;
        let is_there = |x: &T| *x != T::ZERO;
        let first = coefficients.iter().position(is_there);
        let last = coefficients.iter().rposition(is_there);
        let runtime = self.runtime();
        let (Some(first), Some(last)) = (first, last) else {
            return runtime.enter(|| Vector::try_zeros([0]));
        };
        let (n, zeros) = (last - first, coefficients.len() - 1 - last);
        named(OP, || {
            let zeros = runtime.enter(|| Vector::try_zeros([zeros]))?;
            if n == 0 {
                return Ok(zeros);
            }
            let element = |[row, column]: [usize; 2]| match row {
                0 => -coefficients[first + 1 + column].over(coefficients[first]),
                _ if row == column + 1 => T::ONE,
                _ => T::ZERO,
            };
            let companion = runtime.enter(|| Array::try_from_fn([n, n], element))?;
            Vector::try_concatenate(0, &[&companion.eigvals()?, &zeros])
        })
    }
}
