//! Methods and constructors that panic, each with its twin `try_` that returns the error.

/// The panicking method for each method `try_` that is given; what stands in brackets are the
/// parameters of the type, which follows. A text after `@` says when a method fails: before the
/// brackets for all of them, before a name for that one. In place of the former, `constructors` are
/// made from numbers alone, `methods` have no operands that may not fit.
macro_rules! twins {
    (constructors $($rest:tt)*) => {
        $crate::twins::twins! { @ "If memory cannot hold the shape."; $($rest)* }
    };
    (methods $($rest:tt)*) => {
        $crate::twins::twins! {
            @ "As all functions of one value: see the [rules](crate#rules)."; $($rest)*
        }
    };
    ([$($generic:tt)*] $($rest:tt)*) => {
        $crate::twins::twins! { @ ""; [$($generic)*] $($rest)* }
    };
    (
        @ $common:literal; [$($generic:tt)*] $type:ty;
        $(
            $(#[$doc:meta])*
            $(@ $errors:literal)?
            $name:ident $try:ident($(&$this:ident $(,)?)? $($arg:ident: $of:ty),* $(,)?)
                -> $output:ty $body:block
        )*
    ) => {
        impl<$($generic)*> $type {
            $(
                $(#[$doc])*
                ///
                /// # Panics
                ///
                #[doc = concat!($common, $($errors,)? " [`Self::", stringify!($try), "`]")]
                /// returns the error.
                #[must_use]
                #[track_caller]
                pub fn $name($(&$this,)? $($arg: $of),*) -> $output {
                    $crate::operand::expect(Self::$try($($this,)? $($arg),*))
                }

                #[doc = concat!("As [`Self::", stringify!($name), "`].")]
                ///
                /// # Errors
                ///
                #[doc = concat!($common $(, $errors)?)]
                pub fn $try($(&$this,)? $($arg: $of),*) -> Result<$output, $crate::Error> {
                    $crate::operand::named(stringify!($name), || $body)
                }
            )*
        }
    };
}
pub(crate) use twins;
