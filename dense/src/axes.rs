//! Reductions along an axis, and arrays with one dimension less or more.
//!
//! The number of dimensions is part of an array's type, so the methods that change it are written
//! once and made for each number.

use crate::array::{Array, Vector};
use crate::bodies::{self, Operation};
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Element, Field, Numeric, ReduceOp};
use sparsefuse_runtime::{Error, Shape, TaskArg};

/// Methods of arrays with `$more` dimensions whose results have one less: name, its twin that
/// returns the error, the bound of the elements, the type of the result's, and how the twin
/// computes it from `$array` and the `$axis`.
macro_rules! along_an_axis {
    (
        [$($more:literal -> $less:literal),*]
        $(
            $(#[$doc:meta])*
            $name:ident $try:ident [$($bound:tt)*] -> $of:ty: |$array:ident, $axis:ident| $body:block
        )*
    ) => {
        along_an_axis! { @ [$($more -> $less),*] {$(
            $(#[$doc])*
            $name $try [$($bound)*] -> $of: |$array, $axis| $body
        )*} }
    };
    (@ [] $methods:tt) => {};
    (@ [$more:literal -> $less:literal $(, $($rest:tt)*)?] {$(
        $(#[$doc:meta])*
        $name:ident $try:ident [$($bound:tt)*] -> $of:ty: |$array:ident, $axis:ident| $body:block
    )*}) => {
        $(
            $crate::twins::twins! {
                @ "If there is no such axis; of a smallest or largest element also if the axis has \
                    length 0.";
                [T: $($bound)*] Array<T, $more>;
                $(#[$doc])*
                $name $try(&self, axis: usize) -> Array<$of, $less> {
                    let ($array, $axis) = (self, axis);
                    $body
                }
            }
        )*
        along_an_axis! { @ [$($($rest)*)?] {$(
            $(#[$doc])*
            $name $try [$($bound)*] -> $of: |$array, $axis| $body
        )*} }
    };
}
pub(crate) use along_an_axis;

along_an_axis! {
    [2 -> 1, 3 -> 2, 4 -> 3]
    /// The sums along an axis, which the result does not have: of a matrix those of its columns for
    /// `axis` 0, of its rows for `axis` 1. One task, which reads each element once and adds in the
    /// order of a sum of all elements, by the index along the axis. Where ranks hold rows, an axis
    /// other than 0 moves nothing; along axis 0 of a matrix of up to 256 columns only partial
    /// results travel, else all of the array.
    ///
    /// The axis is kept, with length 1, by `insert_axis`:
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 2, 2], vec![1, 2, 3, 4, 5, 6, 7, 8])?;
    /// let sums = a.sum_axis(1);
    /// assert_eq!((sums.shape(), sums.to_vec()?), ([2, 2], vec![4, 6, 12, 14]));
    /// assert_eq!((&a - sums.insert_axis(1)).shape(), [2, 2, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("sum", "keepdims", "row_sums"))]
    sum_axis try_sum_axis [Numeric] -> T: |array, axis| {
        array.reduce_axis("sum_axis", ReduceOp::Sum, axis)
    }

    /// The products along an axis, as [`Self::sum_axis`].
    #[doc(alias = "prod")]
    prod_axis try_prod_axis [Numeric] -> T: |array, axis| {
        array.reduce_axis("prod_axis", ReduceOp::Prod, axis)
    }

    /// The mean along an axis, as [`Self::sum_axis`]; NaN where there is nothing to take the mean
    /// of. One task, and one for the division, which fuses with it.
    #[doc(alias = "mean")]
    mean_axis try_mean_axis [Field] -> T: |array, axis| {
        let sum = array.reduce_axis("mean_axis", ReduceOp::Sum, axis)?;
        sum.try_div(T::from_f64(array.shape()[axis] as f64))
    }

    /// The variance along an axis: the mean of the squared distances from the mean (NumPy's `var`
    /// with `ddof` 0), real of complex numbers. The array is read twice.
    #[doc(alias = "var")]
    var_axis try_var_axis [Field] -> T::Real: |array, axis| {
        let mean = array.try_mean_axis(axis)?.try_insert_axis(axis)?;
        array.try_sub(&mean)?.try_abs()?.try_square()?.try_mean_axis(axis)
    }

    /// The standard deviation along an axis: the square root of [`Self::var_axis`].
    #[doc(alias = "std")]
    std_axis try_std_axis [Field] -> T::Real: |array, axis| { array.try_var_axis(axis)?.try_sqrt() }

    /// The largest along an axis, as [`Self::sum_axis`]; NaN where there is one.
    #[doc(alias("max", "amax"))]
    max_axis try_max_axis [Numeric + PartialOrd] -> T: |array, axis| {
        array.reduce_axis("max_axis", ReduceOp::Max, axis)
    }

    /// The smallest along an axis, as [`Self::sum_axis`]; NaN where there is one.
    #[doc(alias("min", "amin"))]
    min_axis try_min_axis [Numeric + PartialOrd] -> T: |array, axis| {
        array.reduce_axis("min_axis", ReduceOp::Min, axis)
    }
}

/// The methods of arrays with `$more` dimensions that lead to one with `$less` and back, and what
/// is counted along an axis.
macro_rules! dimensions {
    ($($more:literal -> $less:literal),*) => {$(
        impl<T: Element> Array<T, $more> {
            pub(crate) fn reduce_axis(
                &self,
                op: &'static str,
                reduction: ReduceOp,
                axis: usize,
            ) -> Result<Array<T, $less>, Error> {
                check_axes::<$more>(op, [axis])?;
                let rows = self.try_move_axis(axis, $less)?;
                let shape = rows.shape();
                let is_order = matches!(reduction, ReduceOp::Min | ReduceOp::Max);
                if is_order && shape[$less] == 0 {
                    let expected = "an axis with elements to compare";
                    return Err(Error::argument(op, expected, "one of length 0"));
                }
                let outer: [usize; $less] = std::array::from_fn(|d| shape[d]);
                if let Some(reduced) = rows.reduce_over_ranks(reduction, None)? {
                    return reduced.try_reshape(outer);
                }
                let shape = Shape::new(&outer);
                let store = self.runtime().new_store(shape, T::DTYPE);
                let body = bodies::body(Operation::RowReduce(reduction), T::DTYPE);
                let args = [rows.arg(), TaskArg::from(&store)];
                self.runtime().submit(body, &args, &[])?;
                Ok(Array::wrap(store, None))
            }
        }

        twins! {
            [T: Element] Array<T, $more>;
            /// The elements at one index of an axis, which the result does not have. A view.
            #[doc(alias("squeeze", "select"))]
            @ "If there is no such axis or index."
            index_axis try_index_axis(&self, axis: usize, index: usize) -> Array<T, $less> {
                self.seen(|view| view.index(axis, index))
            }
        }

        twins! {
            @ "If there is no such axis.";
            [] Array<bool, $more>;
            /// Whether any element along an axis is true, as `sum_axis`.
            #[doc(alias = "any")]
            any_axis try_any_axis(&self, axis: usize) -> Array<bool, $less> {
                self.reduce_axis("any_axis", ReduceOp::Any, axis)
            }

            /// Whether all elements along an axis are true, as `sum_axis`.
            #[doc(alias = "all")]
            all_axis try_all_axis(&self, axis: usize) -> Array<bool, $less> {
                self.reduce_axis("all_axis", ReduceOp::All, axis)
            }
        }

        twins! {
            [T: Element] Array<T, $less>;
            /// The array with a new axis of length 1 before axis `axis`, or behind all if there are
            /// as many: a vector as a matrix with one row for 0, with one column for 1. A view.
            #[doc(alias("expand_dims", "newaxis"))]
            @ "If `axis` is beyond the number of dimensions."
            insert_axis try_insert_axis(&self, axis: usize) -> Array<T, $more> {
                self.seen(|view| view.insert_axis(axis))
            }
        }
    )*};
}

dimensions!(2 -> 1, 3 -> 2, 4 -> 3);

twins! {
    [T: Element] Array<T, 2>;
    /// Row `row` as a vector.
    @ "If the row does not exist."
    row try_row(&self, row: usize) -> Vector<T> { self.try_index_axis(0, row) }

    /// Column `column` as a vector.
    @ "If the column does not exist."
    column try_column(&self, column: usize) -> Vector<T> { self.try_index_axis(1, column) }
}
