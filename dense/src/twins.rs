//! Methods and constructors that panic, each with its twin `try_` that returns the error.

/// The panicking method for each method `try_` that is given; what follows the first word is the
/// type. `constructors` are made from numbers alone, `methods` have no operands that may not fit.
macro_rules! twins {
    (constructors $($rest:tt)*) => {
        $crate::twins::twins! { @ "If memory cannot hold the shape."; $($rest)* }
    };
    (methods $($rest:tt)*) => {
        $crate::twins::twins! {
            @ "As all functions of one value: see the [rules](crate#rules)."; $($rest)*
        }
    };
    (
        @ $errors:literal; [$($generic:tt)*] $type:ty;
        $(
            $(#[$doc:meta])*
            $name:ident $try:ident($(&$this:ident $(,)?)? $($arg:ident: $of:ty),*) -> $output:ty
                $body:block
        )*
    ) => {
        impl<$($generic)*> $type {
            $(
                $(#[$doc])*
                ///
                /// # Panics
                ///
                #[doc = concat!("With the error that [`Self::", stringify!($try), "`] returns.")]
                #[must_use]
                #[track_caller]
                pub fn $name($(&$this,)? $($arg: $of),*) -> $output {
                    $crate::operand::expect(Self::$try($($this,)? $($arg),*))
                }

                #[doc = concat!("As [`Self::", stringify!($name), "`].")]
                ///
                /// # Errors
                ///
                #[doc = $errors]
                pub fn $try($(&$this,)? $($arg: $of),*) -> Result<$output, $crate::Error> {
                    $crate::operand::named(stringify!($name), || $body)
                }
            )*
        }
    };
}
pub(crate) use twins;
