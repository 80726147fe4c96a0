//! Cross products of vectors in space.

use crate::array::Array;
use crate::join::along;
use crate::operand::named;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

twins! {
    [T: Numeric, const D: usize] Array<T, D>;
    /// The cross products of vectors of three elements, which lie along the last axis of both
    /// arrays; the other axes broadcast. NumPy's `cross`. Four tasks for each element of a product,
    /// which fuse, and one more.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let (x, y) = (Vector::from_vec(vec![1, 0, 0]), Vector::from_vec(vec![0, 1, 0]));
    /// assert_eq!(x.cross(&y).to_vec()?, [0, 0, 1]);
    ///
    /// let rows = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(rows.cross(&x.insert_axis(0)).to_vec()?, [0, 3, -2, 0, 6, -5]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If the last axis of an array has not three elements, the shapes do not broadcast to a \
        common one, or the arrays belong to two runtimes."
    cross try_cross(&self, other: &Self) -> Self {
        const OP: &str = "cross";
        let last = D.saturating_sub(1);
        check_axes::<D>(OP, [last])?;
        let lens = [self, other].map(|array| array.shape()[last]);
        if let Some(len) = lens.into_iter().find(|&len| len != 3) {
            let expected = "3 elements along the last axis";
            return Err(Error::argument(OP, expected, len.to_string()));
        }
        let product = |i: usize, j: usize| {
            let [of_self, of_other] = [(self, i), (other, j)]
                .map(|(array, k)| array.try_slice(along::<D>(last, k..k + 1)));
            of_self?.try_mul(&of_other?)
        };
        let element = |i: usize, j: usize| product(i, j)?.try_sub(&product(j, i)?);
        named(OP, || {
            let elements = [element(1, 2)?, element(2, 0)?, element(0, 1)?];
            Self::try_concatenate(last, &elements.each_ref())
        })
    }
}
