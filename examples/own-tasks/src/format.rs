//! 5. A sparse format with its own product: the diagonal apart, as in modified sparse rows (MSR).

use sparsefuse::kernels::{ArgKind, BinaryOp, Inst, KernelBuilder};
use sparsefuse::prelude::*;
use sparsefuse::runtime::{Access, Body, BodyArg, Shape};
use std::sync::{Arc, OnceLock};

/// A square matrix as its diagonal, and the other entries by rows.
///
/// A Jacobi sweep, or a shift of the diagonal, needs no look at the entries.
pub(crate) struct Msr {
    diagonal: Vector<f64>,
    others: Csr<f64>,
}

impl Msr {
    pub(crate) fn new(a: &Csr<f64>) -> Result<Self, Error> {
        if a.n_rows() != a.n_cols() {
            let found = format!("one of shape {:?}", a.shape());
            return Err(Error::argument("Msr::new", "a square matrix", found));
        }
        Ok(Self {
            diagonal: a.diagonal(0)?,
            others: a.filter(|row, column, _| row != column)?,
        })
    }

    /// The matrix plus `shift` on its diagonal; the other entries are shared.
    pub(crate) fn shifted(&self, shift: f64) -> Self {
        Self {
            diagonal: &self.diagonal + shift,
            others: self.others.clone(),
        }
    }

    /// The product with a vector: `y[i] = sum(a[i, j] x[j]) + d[i] x[i]`, one task.
    pub(crate) fn matvec(&self, x: &Vector<f64>) -> Result<Vector<f64>, Error> {
        let n = self.diagonal.len();
        if x.len() != n {
            let (expected, found) = (Shape::new(&[n]), Shape::new(&[x.len()]));
            return Err(Error::shape("Msr::matvec", expected, found));
        }
        // What is gathered from is a whole store; of a view this makes one.
        let x = x.contiguous()?;
        let runtime = x.runtime();
        let y = runtime.new_store(Shape::new(&[n]), DType::F64);
        let args = [
            (&y).into(),
            self.others.pos().into(),
            self.others.crd().into(),
            self.others.values().arg(),
            x.arg(),
            self.diagonal.arg(),
            x.arg(),
        ];
        runtime.submit(body(), &args, &[])?;
        Vector::from_store(y, None)
    }
}

/// The body of the product. Its structure says where it runs: where the rows of the matrix are.
/// What it reads of `x` at the columns, and other ranks hold, travels.
fn body() -> &'static Arc<Body> {
    static BODY: OnceLock<Arc<Body>> = OnceLock::new();
    BODY.get_or_init(|| {
        let mut build = KernelBuilder::new();
        let y = build.arg(DType::F64, ArgKind::Array);
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let entries = build.arg(DType::F64, ArgKind::Entries);
        let x = build.arg(DType::F64, ArgKind::Gather);
        let [diagonal, own] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
        let sum = build.push(Inst::RowSum {
            structure,
            entries,
            x,
        });
        let (factor, element) = (build.load(diagonal), build.load(own));
        let product = build.binary(BinaryOp::Mul, factor, element);
        let result = build.binary(BinaryOp::Add, sum, product);
        build.store(y, result);

        let args = vec![
            BodyArg::write(y),
            BodyArg::read(Access::Ranges, None),
            BodyArg::read(Access::Within { ranges: 1 }, structure),
            BodyArg::read(Access::Within { ranges: 1 }, entries),
            BodyArg::read(Access::At { indices: 2 }, x),
            BodyArg::read(Access::Rows, diagonal),
            BodyArg::read(Access::Rows, own),
        ];
        Body::with_args("msr_product", build.finish(), args)
    })
}

/// So that Krylov methods take it.
impl LinearOperator<f64> for Msr {
    fn shape(&self) -> (usize, usize) {
        self.others.shape()
    }

    fn apply(&self, x: &Vector<f64>) -> Result<Vector<f64>, Error> {
        self.matvec(x)
    }
}

pub(crate) fn show() -> Result<String, Error> {
    let a = Msr::new(&gallery::poisson2d(32)?)?.shifted(0.5);
    let solution = cg(&a, &Vector::ones([32 * 32]))?;
    Ok(format!(
        "conjugate gradients: {} iterations",
        solution.iterations
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everywhere::everywhere;

    #[test]
    fn the_product_is_that_of_the_sum() -> Result<(), Error> {
        let found = everywhere(|| {
            let a = gallery::poisson2d::<f64>(7)?;
            let x = Vector::random_uniform([49], 5);
            let y = Msr::new(&a)?.shifted(1.5).matvec(&x)?;
            Ok((y.to_vec()?, (&a * &x + &x * 1.5).to_vec()?))
        })?;
        for (y, expected) in found.0.iter().zip(&found.1) {
            assert!((y - expected).abs() < 1e-14, "{y} and {expected}");
        }
        Ok(())
    }

    #[test]
    fn a_solve_is_the_same_on_all_ranks() -> Result<(), Error> {
        let found = everywhere(|| {
            let a = Msr::new(&gallery::poisson2d::<f64>(7)?)?;
            let solution = cg(&a, &Vector::ones([49]))?;
            assert!(solution.converged());
            solution.x.to_vec()
        })?;
        let expected = cg(&gallery::poisson2d::<f64>(7)?, &Vector::ones([49]))?;
        for (x, expected) in found.iter().zip(expected.x.to_vec()?) {
            assert!((x - expected).abs() < 1e-4, "{x} and {expected}");
        }
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_an_error() -> Result<(), Error> {
        let a = Msr::new(&gallery::poisson1d::<f64>(5)?)?;
        let error = a
            .matvec(&Vector::ones([4]))
            .err()
            .map(|error| error.to_string());
        let expected = "Msr::matvec: expected a shape of (5), found (4)";
        assert_eq!(error.as_deref(), Some(expected));
        Ok(())
    }
}
