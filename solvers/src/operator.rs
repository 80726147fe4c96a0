//! Linear operators: what a Krylov method needs of a matrix.

use crate::nullspace::Nullspace;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Element, Field, Real};
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Asymmetry, Bsr, Coo, Csc, Csr, Dia};
use std::rc::Rc;
use std::sync::Arc;

/// Something that maps vectors to vectors: a matrix, a matrix-free operator, a preconditioner; or a
/// reference to one, a `Box`, an `Rc` or an `Arc` of one.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{LinearOperator, MatrixFree, cg};
/// use sparsefuse_sparse::gallery;
///
/// let operators: [Box<dyn LinearOperator<f64>>; 2] = [
///     Box::new(gallery::poisson1d::<f64>(10)?),
///     Box::new(MatrixFree::new(10, |x: &Vector<f64>| Ok(x * 2.0))),
/// ];
/// for a in &operators {
///     assert!(cg(a, &Vector::ones([10]))?.converged());
/// }
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
pub trait LinearOperator<T> {
    /// The number of rows and of columns.
    fn shape(&self) -> (usize, usize);

    /// The image of a vector.
    ///
    /// # Errors
    ///
    /// If the vector's length is not the number of columns, or the operator fails: on all ranks or
    /// on none ([`Runtime::agree`](sparsefuse_runtime::Runtime::agree) sees to that).
    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error>;

    /// The image of a vector under the adjoint, the conjugate transpose, which maps the other way.
    /// The methods that need it say so: `bicg`, `lsqr`, `lsmr`. Matrices have it, functions where
    /// it is given ([`MatrixFree::with_adjoint`](crate::MatrixFree::with_adjoint)), and of the
    /// preconditioners all but `Sor`, `AdditiveSchwarz` and `Multigrid`.
    ///
    /// # Errors
    ///
    /// If the vector's length is not the number of rows, or the operator fails; always, if the
    /// adjoint was not given.
    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let _ = x;
        let (n_rows, n_cols) = self.shape();
        Err(Error::argument(
            "apply_adjoint",
            "an operator with an adjoint",
            format!("one of shape ({n_rows}, {n_cols}) without"),
        ))
    }

    /// The bytes that an application reads on this rank beside the vector, such as those of a
    /// matrix; `None` where that is not known, or not yet. Only speed depends on it:
    /// [`KrylovSolver::solve_many`](crate::KrylovSolver::solve_many) asks.
    fn bytes(&self) -> Option<usize> {
        None
    }

    /// Whether every application to a vector of a shape issues the same tasks, on the same arrays
    /// beside the vector, and asks for no value: then methods issue the first iterations only, and
    /// have the others done again ([`Rounds`](sparsefuse_runtime::Rounds)). An operator that counts
    /// its applications, or changes from one to the next, says no, which is what this does unless
    /// it is overridden.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// The largest absolute value of an entry, where that is known: solvers scale systems far from
    /// 1, so that no square becomes 0 or infinite. `None` makes them apply the operator once more,
    /// to a random vector.
    ///
    /// # Errors
    ///
    /// If the entries could not be computed, or one is infinite or not a number.
    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        Ok(None)
    }

    /// b - A x with its leading digits also where A x nearly cancels b, as if computed in twice the
    /// precision; `None` where the operator cannot say. Solvers ask where a residual is so small
    /// that it may be rounding, before they claim to have converged.
    ///
    /// # Errors
    ///
    /// If the lengths of the vectors are not the numbers of rows and columns, or the operator
    /// fails.
    fn precise_residual(&self, b: &Vector<T>, x: &Vector<T>) -> Result<Option<Vector<T>>, Error> {
        let _ = (b, x);
        Ok(None)
    }

    /// Two entries by which the operator is seen not to be symmetric (Hermitian), if a look at some
    /// of them finds such: methods for symmetric matrices refuse it then.
    ///
    /// # Errors
    ///
    /// If the entries could not be computed.
    fn asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
        Ok(None)
    }

    /// The runtime that its vectors belong to; `None` where that is not known, as of a function.
    /// Two runtimes never mix: solvers refuse a preconditioner of another one than the
    /// right-hand side's, [`Preconditioner::update`](crate::Preconditioner::update) such a matrix.
    fn runtime(&self) -> Option<&Runtime> {
        None
    }

    /// What this operator and its adjoint map to 0, if that was given: solvers look for the
    /// solution orthogonal to it. See [`WithNullspace`](crate::WithNullspace).
    fn nullspace(&self) -> Option<&Nullspace<T>> {
        None
    }
}

impl<T: Field> LinearOperator<T> for Csr<T> {
    fn shape(&self) -> (usize, usize) {
        Self::shape(self)
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.try_matvec(x)
    }

    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.try_rmatvec_again(x)
    }

    fn bytes(&self) -> Option<usize> {
        self.bytes_of_product()
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        check_finite("largest entry", self)?;
        self.kept_norm_max().map(Some)
    }

    fn precise_residual(&self, b: &Vector<T>, x: &Vector<T>) -> Result<Option<Vector<T>>, Error> {
        Self::precise_residual(self, b, x).map(Some)
    }

    fn asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
        self.sampled_asymmetry()
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(Self::runtime(self))
    }
}

/// A matrix in column format, by way of its rows, which the first product makes and keeps.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::cg;
/// use sparsefuse_sparse::gallery;
///
/// let columns = gallery::poisson1d::<f64>(10)?.to_csc()?;
/// assert!(cg(&columns, &Vector::ones([10]))?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
impl<T: Field> LinearOperator<T> for Csc<T> {
    fn shape(&self) -> (usize, usize) {
        Self::shape(self)
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.try_matvec(x)
    }

    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.try_rmatvec(x)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        match self.transpose().kept_norm_max()? {
            largest if largest.is_finite() => Ok(Some(largest)),
            // The rows say where the entry is that is not.
            _ => self.to_csr()?.largest_entry(),
        }
    }

    fn precise_residual(&self, b: &Vector<T>, x: &Vector<T>) -> Result<Option<Vector<T>>, Error> {
        self.to_csr()?.precise_residual(b, x).map(Some)
    }

    fn asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
        let found = self.transpose().sampled_asymmetry()?;
        Ok(found.map(|of_transpose| Asymmetry {
            row: of_transpose.column,
            column: of_transpose.row,
            ..of_transpose
        }))
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.transpose().runtime())
    }
}

/// Formats whose row format is made at the first product and kept, and the bytes of a product.
macro_rules! by_way_of_rows {
    ($($matrix:ident: $bytes:expr;)*) => {$(
        /// By way of the matrix's rows, which the first product makes and keeps.
        impl<T: Field> LinearOperator<T> for $matrix<T> {
            fn shape(&self) -> (usize, usize) {
                Self::shape(self)
            }

            fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
                self.try_matvec(x)
            }

            fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
                self.to_csr()?.apply_adjoint(x)
            }

            fn bytes(&self) -> Option<usize> {
                $bytes(self)
            }

            fn is_repeatable(&self) -> bool {
                true
            }

            fn largest_entry(&self) -> Result<Option<f64>, Error> {
                self.to_csr()?.largest_entry()
            }

            fn precise_residual(
                &self,
                b: &Vector<T>,
                x: &Vector<T>,
            ) -> Result<Option<Vector<T>>, Error> {
                self.to_csr()?.precise_residual(b, x).map(Some)
            }

            fn asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
                self.to_csr()?.asymmetry()
            }

            fn runtime(&self) -> Option<&Runtime> {
                Some(Self::runtime(self))
            }
        }
    )*};
}

by_way_of_rows! {
    Coo: |_: &Self| None;
    Dia: Self::bytes_of_product;
    Bsr: Self::bytes_of_product;
}

/// A dense matrix; its adjoint is a view.
///
/// ```
/// use sparsefuse_dense::{Array, Vector};
/// use sparsefuse_solvers::lsqr;
///
/// // The line through four points: intercept 1, slope 2.
/// let a = Array::from_fn([4, 2], |[i, j]| if j == 0 { 1.0 } else { i as f64 });
/// let b = Vector::from_vec(vec![1.0, 3.0, 5.0, 7.0]);
/// let line = lsqr(&a, &b)?.checked()?.x.to_vec()?;
/// assert!((line[0] - 1.0).abs() < 1e-6 && (line[1] - 2.0).abs() < 1e-6);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
impl<T: Field> LinearOperator<T> for Array<T, 2> {
    fn shape(&self) -> (usize, usize) {
        Self::shape(self).into()
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.try_matvec(x)
    }

    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        match T::IS_COMPLEX {
            false => self.t().try_matvec(x),
            // The conjugate of the matrix would be another one, as large.
            true => self.t().try_matvec(&x.try_conj()?)?.try_conj(),
        }
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.len() * size_of::<T>())
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        let largest = self.try_norm_inf()?.get()?.to_f64();
        if largest.is_finite() {
            return Ok(Some(largest));
        }
        // The absolute value of a complex number may overflow where its parts do not.
        let half = (self * T::from_f64(0.5)).try_norm_inf()?.get()?.to_f64();
        if half.is_finite() {
            return Ok(Some((2.0 * half).min(f64::MAX)));
        }
        let expected = "entries that are finite";
        Err(Error::argument(
            "largest entry",
            expected,
            largest.to_string(),
        ))
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(Self::runtime(self))
    }
}

/// A reference to an operator, a `Box`, an `Rc` and an `Arc` of one are operators.
macro_rules! pointers {
    ($($pointer:ty)*) => {$(
        impl<T, L: LinearOperator<T> + ?Sized> LinearOperator<T> for $pointer {
            fn shape(&self) -> (usize, usize) {
                (**self).shape()
            }

            fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
                (**self).apply(x)
            }

            fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
                (**self).apply_adjoint(x)
            }

            fn bytes(&self) -> Option<usize> {
                (**self).bytes()
            }

            fn is_repeatable(&self) -> bool {
                (**self).is_repeatable()
            }

            fn largest_entry(&self) -> Result<Option<f64>, Error> {
                (**self).largest_entry()
            }

            fn precise_residual(
                &self,
                b: &Vector<T>,
                x: &Vector<T>,
            ) -> Result<Option<Vector<T>>, Error> {
                (**self).precise_residual(b, x)
            }

            fn asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
                (**self).asymmetry()
            }

            fn runtime(&self) -> Option<&Runtime> {
                (**self).runtime()
            }

            fn nullspace(&self) -> Option<&Nullspace<T>> {
                (**self).nullspace()
            }
        }
    )*};
}

pointers!(&L Box<L> Rc<L> Arc<L>);

/// Whether a vector has this many elements.
pub(crate) fn check_len<T: Field>(op: &'static str, n: usize, x: &Vector<T>) -> Result<(), Error> {
    Error::check_shape(op, &[n], &x.shape())
}

/// Refuses what belongs to another runtime than this one, where that is known; `expected` says what
/// and whose.
pub(crate) fn check_same_runtime(
    op: &'static str,
    expected: &'static str,
    runtime: &Runtime,
    found: Option<&Runtime>,
) -> Result<(), Error> {
    if found.is_none_or(|found| found.is(runtime)) {
        return Ok(());
    }
    Err(Error::argument(op, expected, "one of another runtime"))
}

/// Refuses entries that are infinite or not a number, of which a set-up would make what is not a
/// preconditioner. The largest entry, which solvers ask for too, is kept with the matrix.
pub(crate) fn check_finite<T: Field>(op: &'static str, a: &Csr<T>) -> Result<(), Error> {
    a.first_not_finite()?.map_or(Ok(()), |entry| {
        let expected = "entries that are finite";
        Err(Error::argument(op, expected, entry.to_string()))
    })
}

/// Whether all elements of a right-hand side are finite; waits for it.
pub(crate) fn check_rhs<T: Field, const D: usize>(
    op: &'static str,
    b: &Array<T, D>,
) -> Result<(), Error> {
    b.first_not_finite()?.map_or(Ok(()), |(at, element)| {
        let expected = "a right-hand side that is finite";
        Err(Error::argument(
            op,
            expected,
            format!("{element} in element {at}"),
        ))
    })
}

/// Whether the operator maps vectors to vectors of the same length.
pub(crate) fn check_square<T>(op: &'static str, a: &dyn LinearOperator<T>) -> Result<(), Error> {
    let (n_rows, n_cols) = a.shape();
    Error::check_shape(op, &[n_rows, n_rows], &[n_rows, n_cols])
}

/// Whether an image belongs to the runtime of its vector, without which nothing can be computed of
/// the two.
pub(crate) fn check_runtime<T: Element, const D: usize>(
    op: &'static str,
    x: &Array<T, D>,
    image: &Array<T, D>,
) -> Result<(), Error> {
    if x.runtime().is(image.runtime()) {
        return Ok(());
    }
    let expected = "an operator whose images belong to the runtime of its vectors";
    Err(Error::argument(op, expected, "an image of another runtime"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_sparse::gallery;

    #[test]
    fn every_format_and_pointer_is_the_same_operator() -> Result<(), Error> {
        let a = gallery::banded_varying::<f64>(50, 3)?;
        let x = Vector::random_uniform([50], 1);
        let expected = [a.apply(&x)?.to_vec()?, a.apply_adjoint(&x)?.to_vec()?];
        let operators: [Box<dyn LinearOperator<f64> + '_>; 8] = [
            Box::new(a.to_csc()?),
            Box::new(a.to_coo()?),
            Box::new(a.to_dia()?),
            Box::new(a.to_bsr((5, 2))?),
            Box::new(&a),
            Box::new(Box::new(a.clone())),
            Box::new(Rc::new(a.clone())),
            Box::new(Arc::new(a.clone())),
        ];
        for operator in &operators {
            let images = [
                operator.apply(&x)?.to_vec()?,
                operator.apply_adjoint(&x)?.to_vec()?,
            ];
            assert_eq!(images, expected);
            assert_eq!(operator.shape(), (50, 50));
            assert_eq!(operator.largest_entry()?, a.largest_entry()?);
            assert!(
                operator
                    .runtime()
                    .is_some_and(|runtime| runtime.is(a.runtime()))
            );
        }
        Ok(())
    }
}
