//! Complex vectors of real operators, as real and imaginary parts: their images are products with
//! real vectors.

use super::block::norms;
use crate::krylov::scalars::element;
use crate::operator::LinearOperator;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// A vector.
pub(super) struct Parts<T> {
    /// All of it, where the operator or the vector is what the elements are: complex or real. Else
    /// the real part.
    pub(super) real: Vector<T>,
    /// The imaginary part of a complex vector of a real operator.
    pub(super) imaginary: Option<Vector<T>>,
}

impl<T: Field> Parts<T> {
    /// The conjugate, or the vector as it is.
    pub(super) fn conjugate_if(self, is_other: bool) -> Self {
        match is_other {
            true => Self {
                imaginary: self.imaginary.map(|imaginary| -imaginary),
                ..self
            },
            false => self,
        }
    }

    /// The vector times a number.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let factor = T::from_f64(factor);
        Self {
            real: &self.real * factor,
            imaginary: self.imaginary.as_ref().map(|part| part * factor),
        }
    }

    /// A x - lambda x.
    pub(super) fn residual(
        &self,
        a: &dyn LinearOperator<T>,
        lambda: Complex<f64>,
    ) -> Result<Self, Error> {
        let image = a.apply(&self.real)?;
        let Some(imaginary) = &self.imaginary else {
            return Ok(Self {
                real: image - &self.real * element::<T>(lambda),
                imaginary: None,
            });
        };
        let (re, im) = (T::from_f64(lambda.re), T::from_f64(lambda.im));
        let other = a.apply(imaginary)?;
        Ok(Self {
            real: image - &self.real * re + imaginary * im,
            imaginary: Some(other - imaginary * re - &self.real * im),
        })
    }

    /// The vector with complex elements.
    pub(super) fn joined(&self) -> Vector<T::Complex> {
        let real = self.real.cast::<T::Complex>();
        match &self.imaginary {
            None => real,
            Some(part) => real + part.cast::<T::Complex>() * T::Complex::from_parts(0.0, 1.0),
        }
    }
}

/// The lengths of some vectors.
pub(super) fn lengths<T: Field>(vectors: &[Parts<T>]) -> Result<Vec<f64>, Error> {
    let of_one = |x: &Parts<T>| [Some(x.real.clone()), x.imaginary.clone()];
    let parts: Vec<Vector<T>> = vectors.iter().flat_map(of_one).flatten().collect();
    let mut norms = norms(&parts)?.into_iter();
    let mut next = || norms.next().unwrap_or_default();
    let length = |x: &Parts<T>| match x.imaginary {
        None => next(),
        Some(_) => {
            let (real, imaginary) = (next(), next());
            (real * real + imaginary * imaginary).sqrt()
        }
    };
    Ok(vectors.iter().map(length).collect())
}
