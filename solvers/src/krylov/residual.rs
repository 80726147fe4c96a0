//! True residuals, and whether they are more than rounding.
//!
//! b - A x is rounded with each product, by up to the precision times |A| |x|. Where the matrix is
//! nearly singular, x is large beside b, and this rounding may be larger than the tolerance that a
//! residual is compared with. Then it is computed in twice the precision, if the operator can
//! ([`LinearOperator::precise_residual`]).

use crate::operator::LinearOperator;
use crate::solution::StopReason;
use crate::turns::{norm_of, root};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// Rounding that is estimated to be below this part of the tolerance is not looked at. The estimate
/// is of one product a row; rows have some, whose rounding mostly cancels.
const PART_OF_TOLERANCE: f64 = 1.0 / 64.0;

/// The residual of an x that is claimed to be a solution.
pub(super) struct TrueResidual<T> {
    /// ‖b - A x‖.
    pub(super) norm: f64,
    /// b - A x, where it was computed in twice the precision.
    precise: Option<Vector<T>>,
}

impl<T: Field> TrueResidual<T> {
    /// That of x, to be compared with a tolerance.
    pub(super) async fn of(
        a: &dyn LinearOperator<T>,
        (b, x): (&Vector<T>, &Vector<T>),
        tolerance: f64,
    ) -> Result<Self, Error> {
        // Of the residual itself nothing is stored, since no handle holds it.
        let squares = b.try_sub(&a.apply(x)?)?.sum_of_squares();
        let of_x = x.sum_of_squares();
        let norm = root(&squares).await?;
        let mut precise = None;
        if norm <= tolerance
            && let Some(largest) = a.largest_entry()?
        {
            let unit = 0.5 * T::Real::EPSILON.to_f64();
            let rounding = unit * largest * root(&of_x).await?;
            if rounding > PART_OF_TOLERANCE * tolerance {
                precise = a.precise_residual(b, x)?;
            }
        }
        let norm = match &precise {
            Some(residual) => norm_of(residual).await?,
            None => norm,
        };
        Ok(Self { norm, precise })
    }

    /// b - A x itself.
    pub(super) fn vector(
        self,
        a: &dyn LinearOperator<T>,
        (b, x): (&Vector<T>, &Vector<T>),
    ) -> Result<Vector<T>, Error> {
        match self.precise {
            Some(residual) => Ok(residual),
            None => b.try_sub(&a.apply(x)?),
        }
    }

    /// What a norm below the tolerance means. Without twice the precision each element of A x is
    /// rounded, to that of b in the end, so a residual below this rounding may be one of this size:
    /// a tolerance below it cannot be certified.
    pub(super) fn certified(&self, tolerance: f64, rhs_norm: f64) -> StopReason {
        let rounding = 0.5 * T::Real::EPSILON.to_f64() * rhs_norm;
        match self.precise.is_none() && tolerance < rounding {
            true => StopReason::Stagnation,
            false => StopReason::Converged,
        }
    }
    /// Why a method stopped with this x, where its recurrence says so. A residual below the
    /// tolerance is a solution whatever the recurrence has it to be.
    pub(super) fn reason(&self, said: StopReason, tolerance: f64, rhs_norm: f64) -> StopReason {
        let stays = matches!(
            said,
            StopReason::Stopped | StopReason::NotFinite | StopReason::NotFiniteInput(_)
        );
        let is_solution =
            self.norm <= tolerance && self.certified(tolerance, rhs_norm) == StopReason::Converged;
        match is_solution && !stays {
            true => StopReason::Converged,
            false => said,
        }
    }
}
