//! Reductions along several axes: one after the other, the last axis first.

use crate::array::Array;
use crate::operand::named;
use crate::views::check_axes;
use sparsefuse_kernels::{Element, Field, Numeric, ReduceOp};
use sparsefuse_runtime::Error;

/// An array that can lose `K` of its axes: an array with fewer dimensions is left.
///
/// Implemented by this crate only, for arrays of three and four dimensions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lose {K} axes",
    label = "expected two axes of an array of three dimensions, two or three of one of four",
    note = "along all axes there are `sum`, `mean`, `max` and others, along one `sum_axis` and others"
)]
pub trait Without<const K: usize>: Reduced<K> {}

mod private {
    use sparsefuse_kernels::ReduceOp;
    use sparsefuse_runtime::Error;

    pub trait Reduced<const K: usize>: Sized {
        /// What is left.
        type Left;

        fn reduced(&self, op: ReduceOp, descending: [usize; K]) -> Result<Self::Left, Error>;
    }

    pub trait Means<const K: usize>: Reduced<K> {
        fn mean(&self, descending: [usize; K]) -> Result<Self::Left, Error>;
    }
}
use private::{Means, Reduced};

macro_rules! without {
    ($($dims:literal - $k:literal -> $left:literal: [$($number:literal)*];)*) => {$(
        impl<T: Element> Without<$k> for Array<T, $dims> {}

        impl<T: Element> Reduced<$k> for Array<T, $dims> {
            type Left = Array<T, $left>;

            fn reduced(&self, op: ReduceOp, axes: [usize; $k]) -> Result<Self::Left, Error> {
                let left = self;
                $(let left = left.reduce_axis(op.name(), op, axes[$number])?;)*
                Ok(left)
            }
        }

        impl<T: Field> Means<$k> for Array<T, $dims> {
            fn mean(&self, axes: [usize; $k]) -> Result<Self::Left, Error> {
                let count: usize = axes.iter().map(|&axis| self.shape()[axis]).product();
                self.reduced(ReduceOp::Sum, axes)?.try_div(T::from_f64(count as f64))
            }
        }
    )*};
}

without! {
    3 - 2 -> 1: [0 1];
    4 - 2 -> 2: [0 1];
    4 - 3 -> 1: [0 1 2];
}

/// The axes from the last one on, each of which may stand there once.
fn descending<const D: usize, const K: usize>(
    op: &'static str,
    mut axes: [usize; K],
) -> Result<[usize; K], Error> {
    check_axes::<D>(op, axes)?;
    axes.sort_unstable_by(|a, b| b.cmp(a));
    match axes.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::argument(
            op,
            "each axis once",
            format!("axis {} twice", pair[0]),
        )),
        None => Ok(axes),
    }
}

/// The methods, by what the elements have to be.
macro_rules! methods {
    ($(
        $(#[$doc:meta])*
        $name:ident $try:ident [$($bound:tt)*] $(($means:ident))?: |$array:ident, $axes:ident| $body:block
    )*) => {$(
        impl<T: $($bound)*, const D: usize> Array<T, D> {
            $(#[$doc])*
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`Array::", stringify!($try), "`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn $name<const K: usize>(&self, axes: [usize; K]) -> <Self as Reduced<K>>::Left
            where
                Self: Without<K> $(+ $means<K>)?,
            {
                crate::operand::expect(self.$try(axes))
            }

            #[doc = concat!("As [`Array::", stringify!($name), "`].")]
            ///
            /// # Errors
            ///
            /// If there is no such axis, or one stands there twice; of a smallest or largest
            /// element also if an axis has length 0.
            pub fn $try<const K: usize>(
                &self,
                axes: [usize; K],
            ) -> Result<<Self as Reduced<K>>::Left, Error>
            where
                Self: Without<K> $(+ $means<K>)?,
            {
                const OP: &str = stringify!($name);
                let ($array, $axes) = (self, descending::<D, K>(OP, axes)?);
                named(OP, || $body)
            }
        }
    )*};
}

methods! {
    /// The sums along several axes, which the result does not have: NumPy's `sum(axis=(0, 1))`. A
    /// task for each axis, from the last one on, as [`Array::sum_axis`].
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 2, 2], vec![1, 2, 3, 4, 5, 6, 7, 8])?;
    /// assert_eq!(a.sum_axes([0, 1]).to_vec()?, [16, 20]);
    /// assert_eq!(a.max_axes([0, 2]).to_vec()?, [6, 8]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "sum")]
    sum_axes try_sum_axes [Numeric]: |array, axes| { array.reduced(ReduceOp::Sum, axes) }

    /// The products along several axes, as [`Array::sum_axes`].
    #[doc(alias = "prod")]
    prod_axes try_prod_axes [Numeric]: |array, axes| { array.reduced(ReduceOp::Prod, axes) }

    /// The means along several axes, as [`Array::sum_axes`]; NaN where there is nothing to take the
    /// mean of.
    #[doc(alias = "mean")]
    mean_axes try_mean_axes [Field] (Means): |array, axes| { Means::mean(array, axes) }

    /// The largest along several axes, as [`Array::sum_axes`]; NaN where there is one.
    #[doc(alias("max", "amax"))]
    max_axes try_max_axes [Numeric + PartialOrd]: |array, axes| {
        array.reduced(ReduceOp::Max, axes)
    }

    /// The smallest along several axes, as [`Array::sum_axes`]; NaN where there is one.
    #[doc(alias("min", "amin"))]
    min_axes try_min_axes [Numeric + PartialOrd]: |array, axes| {
        array.reduced(ReduceOp::Min, axes)
    }
}
