//! The larger or the smaller of an element and of what is brought to it.

use super::task::{Largest, Smallest};
use crate::array::Array;
use crate::indices::{Index, Lines};
use crate::operand::{ArrayOperand, expect};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Access, Error};

/// Each method with its twin, NumPy's name, the rule, and the lines of its example and its task.
macro_rules! extremes {
    ($($name:ident $try:ident $numpy:literal $larger:literal $rule:ident $example:literal;)*) => {
        impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {$(
            #[doc = concat!("Makes the elements at flat, row-major indices the ", $larger)]
            #[doc = concat!("of themselves and the values: NumPy's `", $numpy, ".at`.")]
            /// What is not a number stays, or takes the place of a number. As [`Array::add_at`]
            /// otherwise.
            ///
            /// ```
            /// use sparsefuse_dense::Vector;
            ///
            /// let mut x = Vector::from_vec(vec![1, 5, 3]);
            /// let indices = Vector::from_vec(vec![0, 1, 0, -1]);
            #[doc = concat!("x.", stringify!($name), "(&indices, &Vector::from_vec(vec![4, 4, 2, 2]));")]
            #[doc = concat!("assert_eq!(x.to_vec()?, ", $example, ");")]
            /// # Ok::<(), sparsefuse_dense::Error>(())
            /// ```
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`Array::", stringify!($try), "`] returns.")]
            #[track_caller]
            pub fn $name<I: Index, const E: usize>(
                &mut self,
                indices: &Array<I, E>,
                values: impl ArrayOperand<T, E>,
            ) {
                expect(self.$try(indices, values));
            }

            #[doc = concat!("As [`Array::", stringify!($name), "`].")]
            ///
            /// # Errors
            ///
            /// As [`Array::try_put`].
            pub fn $try<I: Index, const E: usize>(
                &mut self,
                indices: &Array<I, E>,
                values: impl ArrayOperand<T, E>,
            ) -> Result<(), Error> {
                let lines = Lines::flat(stringify!($name), self.len(), indices.len());
                let places = (lines, indices, Access::Held);
                *self = self.scattered(places, values.source(), indices.arg().shape(), $rule)?;
                Ok(())
            }
        )*}
    };
}

extremes! {
    maximum_at try_maximum_at "maximum" "larger" Largest "[4, 5, 3]";
    minimum_at try_minimum_at "minimum" "smaller" Smallest "[1, 4, 2]";
}
