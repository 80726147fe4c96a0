//! The inverse of the diagonal blocks.

use super::{Preconditioner, check_shape, check_square};
use crate::operator::LinearOperator;
use rayon::prelude::*;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, Ghosts, LocalRows, RowLayout};
use std::ops::Range;

const OP: &str = "block jacobi";

/// Block Jacobi: z = M^-1 r, where M has the diagonal blocks of the matrix.
///
/// Blocks of equal size, counted from row 0 (the last may be smaller), inverted by elimination with
/// partial pivoting (Golub and Van Loan, *Matrix Computations*, 4th edition, sections 3.4 and
/// 10.1.1). The inverse is held as a sparse matrix with dense blocks, `size` entries a row; an
/// application is a product with it, which fuses and runs on all threads and ranks. Blocks do not
/// depend on the ranks: one that spans several is inverted by each of them.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::BlockJacobi;
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// // Lines of the grid.
/// let m = BlockJacobi::new(&a, 16)?;
/// let options = Options { preconditioner: Some(&m), ..Options::default() };
/// assert!(cg_with(&a, &Vector::ones([256]), options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockJacobi<T> {
    size: usize,
    inverse: Csr<T>,
}

impl<T: Field> BlockJacobi<T> {
    /// The inverse of the blocks of a square matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the size is 0, a block is singular (the error names a row of
    /// it), or the computation of the values failed.
    pub fn new(a: &Csr<T>, size: usize) -> Result<Self, Error> {
        check_square(OP, a)?;
        if size == 0 {
            return Err(Error::argument(OP, "blocks of at least one row", "0"));
        }
        let size = size.min(a.n_rows().max(1));
        let layout = RowLayout::of(a)?;
        let own = layout.rows();
        let span = if own.is_empty() {
            own.clone()
        } else {
            own.start / size * size..own.end.next_multiple_of(size).min(a.n_rows())
        };
        let needed = Ghosts::new(
            layout.runtime(),
            layout.partition(),
            (span.start as u32..span.end as u32).collect(),
        )?;
        let (_, rows) = a.local_rows()?;
        let rows = needed.fetch_rows(&rows)?;
        let inverse = layout.runtime().agree(inverse(&own, &span, size, &rows))?;
        Ok(Self {
            size,
            inverse: layout.matrix(a.n_cols(), inverse)?,
        })
    }
}

/// The rows `own` of the inverse, from the rows of all blocks that they lie in.
fn inverse<T: Field>(
    own: &Range<usize>,
    span: &Range<usize>,
    size: usize,
    rows: &LocalRows<T>,
) -> Result<LocalRows<T>, Error> {
    let starts: Vec<usize> = span.clone().step_by(size).collect();
    let invert = |&start: &usize| {
        let block = start..(start + size).min(span.end);
        let len = block.len();
        let mut dense = vec![T::ZERO; len * len];
        for row in block.clone() {
            let number = row - span.start;
            for k in rows.pos[number] as usize..rows.pos[number + 1] as usize {
                let column = rows.crd[k] as usize;
                if block.contains(&column) {
                    dense[(row - start) * len + column - start] = rows.vals[k];
                }
            }
        }
        inverse_of_block(dense, len).map_err(|column| {
            let found = format!("a pivot of 0 in row {}", start + column);
            Error::argument(OP, "nonsingular blocks", found)
        })
    };
    let inverses: Vec<Result<Vec<T>, Error>> = starts.par_iter().map(invert).collect();
    let mut local = LocalRows::with_capacity(own.len(), own.len() * size);
    for (&start, inverse) in starts.iter().zip(inverses) {
        let inverse = inverse?;
        let len = (start + size).min(span.end) - start;
        for row in own.start.max(start)..own.end.min(start + len) {
            for (k, &value) in inverse[(row - start) * len..][..len].iter().enumerate() {
                local.push((start + k) as u32, value);
            }
            local.end_row();
        }
    }
    Ok(local)
}

/// The inverse of a dense matrix, row-major, by Gauss and Jordan's elimination with partial
/// pivoting; or the column in which there is no pivot.
fn inverse_of_block<T: Field>(mut a: Vec<T>, n: usize) -> Result<Vec<T>, usize> {
    let mut inverse = vec![T::ZERO; n * n];
    (0..n).for_each(|k| inverse[k * n + k] = T::ONE);
    for k in 0..n {
        let mut pivot = k;
        for row in k + 1..n {
            if a[row * n + k].magnitude().to_f64() > a[pivot * n + k].magnitude().to_f64() {
                pivot = row;
            }
        }
        if !(a[pivot * n + k].magnitude().to_f64() > 0.0) {
            return Err(k);
        }
        for column in 0..n {
            a.swap(k * n + column, pivot * n + column);
            inverse.swap(k * n + column, pivot * n + column);
        }
        let scale = T::ONE / a[k * n + k];
        for column in 0..n {
            a[k * n + column] = a[k * n + column] * scale;
            inverse[k * n + column] = inverse[k * n + column] * scale;
        }
        for row in (0..n).filter(|&row| row != k) {
            let factor = a[row * n + k];
            if factor != T::ZERO {
                for column in 0..n {
                    a[row * n + column] = a[row * n + column] - factor * a[k * n + column];
                    inverse[row * n + column] =
                        inverse[row * n + column] - factor * inverse[k * n + column];
                }
            }
        }
    }
    Ok(inverse)
}

impl<T: Field> LinearOperator<T> for BlockJacobi<T> {
    fn shape(&self) -> (usize, usize) {
        self.inverse.shape()
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.inverse.try_dot(r)
    }

    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.inverse.apply_adjoint(r)
    }
}

impl<T: Field> Preconditioner<T> for BlockJacobi<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_shape(OP, self.shape(), a)?;
        *self = Self::new(a, self.size)?;
        Ok(())
    }
}
