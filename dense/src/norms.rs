//! Norms of any order, powers of matrices, and correlations: array code over what there is.

use crate::array::Array;
use crate::scalar::Scalar;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::Error;

twins! {
    @ "If the order is NaN, or the array is empty and the order minus infinity.";
    [T: Field, const D: usize] Array<T, D>;
    /// The norm of order `p` of all elements, as of a vector: NumPy's
    /// `linalg.norm(x.ravel(), p)`. The `p`-th root of the sum of `|x|^p`; the largest absolute
    /// value for infinity, the smallest for minus infinity, the number of elements that are not 0
    /// for 0. Few tasks, which fuse to one pass; what is raised to a power may be out of range.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<f64>::from_vec(vec![3.0, 0.0, -4.0]);
    /// let norms = [1.0, 2.0, f64::INFINITY, 0.0].map(|p| x.norm_p(p).get());
    /// assert_eq!(norms.into_iter().collect::<Result<Vec<_>, _>>()?, [7.0, 5.0, 4.0, 2.0]);
    /// assert!((x.norm_p(3.0).get()?.powi(3) - 91.0).abs() < 1e-12);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "norm")]
    norm_p try_norm_p(&self, p: f64) -> Scalar<T::Real> {
        match order("norm_p", p)? {
            Order::Infinite => self.try_norm_inf(),
            Order::MinusInfinite => self.try_abs()?.try_min(),
            Order::Zero => self.try_not_equal(T::ZERO)?.try_count()?.try_cast(),
            Order::One => self.try_norm1(),
            Order::Two => self.try_norm2(),
            Order::Other => {
                let sum = self.try_abs()?.try_pow(T::Real::from_f64(p))?.try_sum()?;
                sum.try_pow(T::Real::from_f64(1.0 / p))
            }
        }
    }
}

/// The methods of arrays with `$more` dimensions whose results have one less.
macro_rules! norms {
    ($($more:literal -> $less:literal),*) => {$(
        twins! {
            @ "If there is no such axis, the order is NaN, or it is infinite, of either sign, and the \
               axis has length 0.";
            [T: Field] Array<T, $more>;
            /// The norms of order `p` along an axis, as `norm_p`: NumPy's
            /// `linalg.norm(a, p, axis)`.
            #[doc(alias = "norm")]
            norm_p_axis try_norm_p_axis(&self, axis: usize, p: f64) -> Array<T::Real, $less> {
                let order = order("norm_p_axis", p)?;
                check_axes::<$more>("norm_p_axis", [axis])?;
                match order {
                    Order::Infinite => self.try_abs()?.try_max_axis(axis),
                    Order::MinusInfinite => self.try_abs()?.try_min_axis(axis),
                    Order::Zero => {
                        let is_counted = self.try_not_equal(T::ZERO)?;
                        is_counted.try_cast::<T::Real>()?.try_sum_axis(axis)
                    }
                    Order::One => self.try_abs()?.try_sum_axis(axis),
                    Order::Two => self.try_norm2_axis(axis),
                    Order::Other => {
                        let powers = self.try_abs()?.try_pow(T::Real::from_f64(p))?;
                        powers.try_sum_axis(axis)?.try_pow(T::Real::from_f64(1.0 / p))
                    }
                }
            }
        }
    )*};
}

norms!(2 -> 1, 3 -> 2, 4 -> 3);

twins! {
    @ "If the matrix is not square.";
    [T: Numeric] Array<T, 2>;
    /// The matrix times itself, `n` factors; the identity for 0. NumPy's `linalg.matrix_power`, of
    /// which a negative power is that of the inverse: `a.inv()?.matrix_power(n)`. By squares: up to
    /// `2 log2(n)` products.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let fibonacci = Array::<i64, 2>::from_shape_vec([2, 2], vec![1, 1, 1, 0])?;
    /// assert_eq!(fibonacci.matrix_power(10).to_vec()?, [89, 55, 55, 34]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    matrix_power try_matrix_power(&self, n: u32) -> Self {
        let [rows, columns] = self.shape();
        if rows != columns {
            let found = format!("{rows} rows and {columns} columns");
            return Err(Error::argument("matrix_power", "a square matrix", found));
        }
        // As NumPy, of three factors from the left.
        if n == 3 {
            return self.try_matmul(self)?.try_matmul(self);
        }
        let (mut rest, mut square, mut power): (_, _, Option<Self>) = (n, self.clone(), None);
        loop {
            if rest % 2 == 1 {
                power = Some(match power {
                    None => square.clone(),
                    Some(power) => power.try_matmul(&square)?,
                });
            }
            rest /= 2;
            if rest == 0 {
                break;
            }
            square = square.try_matmul(&square)?;
        }
        match power {
            Some(power) => Ok(power),
            None => self.runtime().enter(|| Self::try_eye(rows)),
        }
    }
}

twins! {
    @ "If memory cannot hold the result.";
    [T: Real] Array<T, 2>;
    /// The correlation coefficients of variables, of which each row has one, between -1 and 1:
    /// NumPy's `corrcoef`. NaN for a variable that is constant. Those of two vectors are
    /// `Vector::stack(0, &[&x, &y]).corrcoef()`. Tasks as of [`Array::cov`], and few that fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let x = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 6.0, 4.0, 2.0])?;
    /// assert_eq!(x.corrcoef().to_vec()?, [1.0, -1.0, -1.0, 1.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "correlation")]
    corrcoef try_corrcoef(&self) -> Self {
        let cov = self.try_cov()?;
        let std = cov.try_diagonal(0)?.try_sqrt()?;
        let scaled = cov.try_div(&std.try_insert_axis(1)?)?.try_div(&std.try_insert_axis(0)?)?;
        scaled.try_clamp(T::from_f64(-1.0), T::ONE)
    }
}

/// Orders with formulas of their own.
#[derive(Clone, Copy)]
enum Order {
    Infinite,
    MinusInfinite,
    Zero,
    One,
    Two,
    Other,
}

fn order(op: &'static str, p: f64) -> Result<Order, Error> {
    Ok(match p {
        f64::INFINITY => Order::Infinite,
        f64::NEG_INFINITY => Order::MinusInfinite,
        0.0 => Order::Zero,
        1.0 => Order::One,
        2.0 => Order::Two,
        _ if p.is_nan() => return Err(Error::argument(op, "an order", p.to_string())),
        _ => Order::Other,
    })
}
