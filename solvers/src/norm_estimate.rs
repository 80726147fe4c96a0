//! Estimates of norms of operators whose entries are not there to be looked at.

use crate::operator::{LinearOperator, check_square};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::{Error, Runtime};

const OP: &str = "norm1_estimate";

/// The most columns that are looked at.
const COLUMNS: usize = 4;

/// An estimate of the 1-norm of a square operator, its largest sum of absolute values in a column,
/// from below: SciPy's `onenormest`. Nearly always within a factor of 3, and most often exact, as
/// that of a column is. Where entries are at hand, `a.norm1()` of a matrix is exact and faster.
///
/// By the method of W. W. Hager and N. J. Higham (*FORTRAN Codes for Estimating the One-Norm of a
/// Real or Complex Matrix, with Applications to Condition Estimation*, 1988), as LAPACK's `lacn2`,
/// where SciPy has a block method with random vectors. Infinite, or not a number, where an image
/// is. Takes two to six products with the operator,
/// up to four with its adjoint, and waits for each.
///
/// With complete factors it estimates condition numbers:
///
/// ```
/// use sparsefuse_solvers::norm1_estimate;
/// use sparsefuse_solvers::preconditioners::splu;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson1d::<f64>(9)?;
/// let condition = a.norm1().get()? * norm1_estimate(&splu(&a)?)?;
/// assert!((condition - 50.0).abs() < 1e-12);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If the operator is not square, has no adjoint, or fails.
#[doc(alias = "onenormest")]
pub fn norm1_estimate<T: Field>(a: &dyn LinearOperator<T>) -> Result<T::Real, Error> {
    check_square(OP, a)?;
    let n = a.shape().0;
    if n == 0 {
        return Ok(T::Real::ZERO);
    }
    let runtime = a.runtime().cloned().unwrap_or_else(Runtime::current);
    runtime.enter(|| {
        let mut x = Vector::full([n], T::from_f64(1.0 / n as f64));
        let mut estimate = T::Real::ZERO;
        let mut looked_at = None;
        for round in 0..=COLUMNS {
            let y = a.apply(&x)?;
            let of_x = y.abs().sum().get()?;
            if !of_x.to_f64().is_finite() {
                return Ok(of_x);
            }
            if looked_at.is_some() && of_x <= estimate {
                break;
            }
            estimate = of_x;
            if round == COLUMNS {
                break;
            }
            let signs = y.equal(T::ZERO).select(T::ONE, y.sign());
            let z = a.apply_adjoint(&signs)?.abs();
            let (column, largest) = (z.argmax().get()?, z.max());
            let column = column as usize;
            let before = looked_at.map(|before: usize| z.slice(before..before + 1).max().get());
            if before.transpose()? == Some(largest.get()?) {
                break;
            }
            looked_at = Some(column);
            x = Vector::from_fn([n], |[i]| if i == column { T::ONE } else { T::ZERO });
        }
        // Columns whose entries cancel in all of the above.
        let span = (n.max(2) - 1) as f64;
        let alternating = Vector::from_fn([n], |[i]| {
            // Of 1-norm 1, so that no image is larger than the norm.
            let size = (1.0 + i as f64 / span) * 2.0 / (3.0 * n as f64);
            T::from_f64(if i % 2 == 0 { size } else { -size })
        });
        let other = a.apply(&alternating)?.abs().sum().get()?;
        Ok(if other > estimate { other } else { estimate })
    })
}
