//! The table of operations on one value and on two: everything about an operation but what it
//! computes.
//!
//! A row says how the operation is called, on which types it is defined, what it costs, what
//! becomes of it in folding, what it is in C, which block loops there are of it, and which method
//! of arrays stands for it. What it computes is the function of the same name in [`crate::ops`], a
//! method of the trait that stands at the head of its group.
//!
//! The tables are macros that hand all rows to another macro: here to those that define the
//! operations and answer questions about them, elsewhere to those that make a function, a loop or a
//! method of each row. So a new operation is a row, and what it computes.

use crate::element::DType;

/// Hands the operations on one value to a macro: for each group the types and the trait, for each
/// row a sentence, the operation, its function, and
///
/// - the type of the result: that of the operand (`Same`) or of its parts (`Real`);
/// - the types on which it is the identity;
/// - whether twice the operation is the identity;
/// - what a row of a block costs, in quarters of a cycle of AVX-512 (the table of [`crate::math`]);
/// - its C: a sign in front (`Prefix`), the function of `math.c` with its name and the type
///   (`Call`, or `Angle` where that holds up to a bound), the operand itself, or 0;
/// - its block loops, by the macro of `blocks/loops/table.rs` that lists their types;
/// - its method of arrays and scalars, and the one that returns an error.
#[doc(hidden)]
#[macro_export]
macro_rules! unary_operations {
    ($with:ident) => { $with! {
            //              result same on      undone  cost  C             loops        method
        Numeric: NumericOps {
            /// `-x`; whole numbers wrap, unsigned ones too.
            Neg    neg    { Same | Nothing    | true  | 1   | Prefix("-") | wrapping   | - }
            /// The absolute value, real for complex numbers; whole numbers wrap.
            Abs    abs    { Real | Unsigned   | false | 1   | Call        | magnitudes | abs/try_abs }
            /// -1, 0 or 1 by the sign, of -0 and NaN these; `x / |x|`, or 0, for complex numbers.
            Sign   sign   { Same | Nothing    | false | 1   | Call        | numeric    | sign/try_sign }
            /// The complex conjugate; real numbers stay as they are.
            Conj   conj   { Same | NotComplex | true  | 1   | Operand     | complex    | conj/try_conj }
            /// The real part.
            Re     re     { Real | NotComplex | false | 1   | Operand     | complex    | re/try_re }
            /// The imaginary part; 0 for real numbers.
            Im     im     { Real | Nothing    | false | 1   | Zero        | wrapping   | im/try_im }
        }
        Floats: FloatOps {
            /// The square root.
            Sqrt   sqrt   { Same | Nothing    | false | 8   | Call        | floats     | sqrt/try_sqrt }
            /// `e` to the power of the value.
            Exp    exp    { Same | Nothing    | false | 10  | Call        | blocks     | exp/try_exp }
            /// The natural logarithm.
            Log    log    { Same | Nothing    | false | 14  | Call        | floats     | ln/try_ln }
            /// The sine.
            Sin    sin    { Same | Nothing    | false | 14  | Angle       | blocks     | sin/try_sin }
            /// The cosine.
            Cos    cos    { Same | Nothing    | false | 14  | Angle       | blocks     | cos/try_cos }
            /// The hyperbolic tangent.
            Tanh   tanh   { Same | Nothing    | false | 24  | Call        | floats     | tanh/try_tanh }
        }
        Reals: RealOps {
            /// The error function.
            Erf    erf    { Same | Nothing    | false | 24  | Call        | reals      | erf/try_erf }
            /// The cube root, negative for negative values.
            Cbrt   cbrt   { Same | Nothing    | false | 16  | Call        | reals      | cbrt/try_cbrt }
            /// The hyperbolic sine.
            Sinh   sinh   { Same | Nothing    | false | 24  | Call        | rare_reals | sinh/try_sinh }
            /// The hyperbolic cosine.
            Cosh   cosh   { Same | Nothing    | false | 24  | Call        | rare_reals | cosh/try_cosh }
            /// `e^x - 1`, accurate for small `x`; NumPy's `expm1`.
            Expm1  expm1  { Same | Nothing    | false | 24  | Call        | rare_reals | exp_m1/try_exp_m1 }
            /// The natural logarithm of `1 + x`, accurate for small `x`; NumPy's `log1p`.
            Log1p  log1p  { Same | Nothing    | false | 24  | Call        | rare_reals | ln_1p/try_ln_1p }
            /// The base-2 logarithm.
            Log2   log2   { Same | Nothing    | false | 24  | Call        | rare_reals | log2/try_log2 }
            /// The base-10 logarithm.
            Log10  log10  { Same | Nothing    | false | 24  | Call        | rare_reals | log10/try_log10 }
            /// The logarithm of the absolute value of the gamma function.
            Lgamma lgamma { Same | Nothing    | false | 140 | Call        | rare_reals | lgamma/try_lgamma }
        }
        Ordered: OrderedOps {
            /// The largest whole number that is not above the value.
            Floor  floor  { Same | Integers   | false | 1   | Call        | reals      | floor/try_floor }
            /// The smallest whole number that is not below the value.
            Ceil   ceil   { Same | Integers   | false | 1   | Call        | reals      | ceil/try_ceil }
            /// The nearest whole number, of two the even one; NumPy's `round` and `rint`.
            Round  round  { Same | Integers   | false | 1   | Call        | reals      | round/try_round }
        }
        Logical: LogicOps {
            /// Logical not.
            Not    not    { Same | Nothing    | true  | 1   | Prefix("!") | logical    | - }
        }
    } };
}

/// Hands the operations on two values of one type to a macro: as [`unary_operations`], but
///
/// - the type of the result is that of the operands (`Same`) or `bool`;
/// - which number as the right operand, or as either, leaves the other one as it is for all its
///   values (1 for complex numbers does not);
/// - C has a sign between them (`Sign`) or a function (`Call`), some for floats only
///   (`FloatSign`, `FloatCall`);
/// - loops that are `exchanged` are those of the operation with the operands exchanged.
#[doc(hidden)]
#[macro_export]
macro_rules! binary_operations {
    ($with:ident) => { $with! {
            //        result neutral           cost C                loops        method
        Numeric: NumericOps {
            /// The sum; whole numbers wrap.
            Add add { Same | Both(MinusZero) | 1  | Sign("+")      | wrapping   | - }
            /// The difference; whole numbers wrap.
            Sub sub { Same | Right(Zero)     | 1  | Sign("-")      | wrapping   | - }
            /// The product; whole numbers wrap.
            Mul mul { Same | Both(One)       | 1  | Sign("*")      | wrapping   | - }
            /// The quotient; of whole numbers it is truncated towards 0, and `x / 0` is 0.
            Div div { Same | Right(One)      | 8  | FloatSign("/") | quotients  | - }
            /// A power; whole numbers wrap, to negative powers are 0 (but 1 for 1, ±1 for -1).
            Pow pow { Same | Nothing         | 60 | FloatCall      | powers     | pow/try_pow }
        }
        Ordered: OrderedOps {
            /// The remainder with the sign of the divisor, as NumPy's `mod`; 0 for whole `x mod 0`.
            Rem rem { Same | Nothing         | 8  | Missing        | remainders | - }
            /// The quotient, rounded down, as NumPy's `//`; 0 for whole `x / 0`.
            FloorDiv floor_div { Same | Nothing | 8 | Missing      | remainders | floor_div/try_floor_div }
            /// The smaller of two values; NaN if either is NaN.
            Min min { Same | Nothing         | 1  | Call           | ordered    | minimum/try_minimum }
            /// The larger of two values; NaN if either is NaN.
            Max max { Same | Nothing         | 1  | Call           | ordered    | maximum/try_maximum }
        }
        Reals: PlaneOps {
            /// The angle of the point of height `self` and abscissa `other`, from -pi to pi.
            Atan2 atan2 { Same | Nothing     | 32 | Call           | reals      | atan2/try_atan2 }
            /// The square root of the sum of both squares, without overflow on the way.
            Hypot hypot { Same | Nothing     | 12 | Call           | reals      | hypot/try_hypot }
        }
        All: PartialEq {
            /// Whether the value equals `other`.
            Eq  eq  { Bool | Nothing         | 1  | Sign("==")     | any        | equal/try_equal }
            /// Whether the value differs from `other`.
            Ne  ne  { Bool | Nothing         | 1  | Sign("!=")     | any        | not_equal/try_not_equal }
        }
        NotComplex: PartialOrd {
            /// Whether the value is below `other`.
            Lt  lt  { Bool | Nothing         | 1  | Sign("<")      | comparable | less/try_less }
            /// Whether the value is below `other` or equal to it.
            Le  le  { Bool | Nothing         | 1  | Sign("<=")     | comparable | less_equal/try_less_equal }
            /// Whether the value is above `other`.
            Gt  gt  { Bool | Nothing         | 1  | Sign(">")      | exchanged  | greater/try_greater }
            /// Whether the value is above `other` or equal to it.
            Ge  ge  { Bool | Nothing         | 1  | Sign(">=")     | exchanged  | greater_equal/try_greater_equal }
        }
        Bits: BitOps {
            /// Logical and, of whole numbers bit by bit.
            And and { Same | Both(True)      | 1  | Sign("&")      | bits       | - }
            /// Logical or, of whole numbers bit by bit.
            Or  or  { Same | Both(Zero)      | 1  | Sign("|")      | bits       | - }
            /// Logical exclusive or, of whole numbers bit by bit.
            Xor xor { Same | Both(Zero)      | 1  | Sign("^")      | bits       | - }
        }
    } };
}

/// The functions of one value that are methods, in groups of as many types, for the macro
/// `unary_methods` of the module: the bounds of the types, and the sentence, method, the one that
/// returns an error, operation and result's type ([`output_type`]) of each.
#[doc(hidden)]
#[macro_export]
macro_rules! all_unary_methods {
    ($($types:ident: $trait:ident {$(
        #[$doc:meta]
        $op:ident $function:ident {
            $output:ident | $same_on:ident | $undone:literal | $cost:literal
            | $form:ident $(($sign:literal))? | $loops:ident | $($method:ident/$try:ident)? $(-)?
        }
    )*})*) => {
        $($crate::with_bounds!(unary_methods! $types $($(#[$doc] $method $try $op $output;)?)*);)*
    };
}

/// As [`all_unary_methods`], the functions of two values for `binary_methods`.
#[doc(hidden)]
#[macro_export]
macro_rules! all_binary_methods {
    ($($types:ident: $trait:ident {$(
        #[$doc:meta]
        $op:ident $function:ident {
            $output:ident | $neutral:ident $(($number:ident))? | $cost:literal
            | $form:ident $(($sign:literal))? | $loops:ident | $($method:ident/$try:ident)? $(-)?
        }
    )*})*) => {
        $($crate::with_bounds!(binary_methods! $types $($(#[$doc] $method $try $op $output;)?)*);)*
    };
}

/// What elements must be for the operations on some types.
#[doc(hidden)]
#[macro_export]
macro_rules! with_bounds {
    ($methods:ident! Numeric $($rows:tt)*) => { $methods! { T: Numeric; $($rows)* } };
    ($methods:ident! Floats $($rows:tt)*) => { $methods! { T: Field; $($rows)* } };
    ($methods:ident! Reals $($rows:tt)*) => { $methods! { T: Real; $($rows)* } };
    ($methods:ident! Ordered $($rows:tt)*) => { $methods! { T: Numeric, PartialOrd; $($rows)* } };
    ($methods:ident! All $($rows:tt)*) => { $methods! { T: Element; $($rows)* } };
    ($methods:ident! NotComplex $($rows:tt)*) => { $methods! { T: Element, PartialOrd; $($rows)* } };
    // These are operators.
    ($methods:ident! Bits) => {};
    ($methods:ident! Logical) => {};
}

/// The type of a result.
#[doc(hidden)]
#[macro_export]
macro_rules! output_type {
    ($T:ident Same) => {
        $T
    };
    ($T:ident Real) => {
        $T::Magnitude
    };
    ($T:ident Bool) => {
        bool
    };
}

/// Some of the element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    Nothing,
    All,
    /// All but `bool`.
    Numeric,
    /// Numbers that are not complex.
    Ordered,
    /// Real and complex floating-point numbers.
    Floats,
    Reals,
    Integers,
    Unsigned,
    /// All but complex numbers.
    NotComplex,
    /// Integers and `bool`.
    Bits,
    /// `bool`.
    Logical,
}

impl Types {
    pub(crate) const fn has(self, dtype: DType) -> bool {
        let is_bool = matches!(dtype, DType::Bool);
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::Numeric => !is_bool,
            Self::Ordered => !is_bool && !dtype.is_complex(),
            Self::Floats => dtype.is_real_float() || dtype.is_complex(),
            Self::Reals => dtype.is_real_float(),
            Self::Integers => dtype.is_integer(),
            Self::Unsigned => matches!(dtype, DType::U32 | DType::U64),
            Self::NotComplex => !dtype.is_complex(),
            Self::Bits => dtype.is_integer() || is_bool,
            Self::Logical => is_bool,
        }
    }
}

/// The type of a result.
#[derive(Clone, Copy, Debug)]
enum Output {
    /// That of the operands.
    Same,
    /// That of their parts.
    Real,
    Bool,
}

impl Output {
    const fn of(self, types: Types, operand: DType) -> Option<DType> {
        match self {
            _ if !types.has(operand) => None,
            Self::Same => Some(operand),
            Self::Real => Some(operand.real()),
            Self::Bool => Some(DType::Bool),
        }
    }
}

/// The C of an operation on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryForm {
    /// A sign in front of the operand.
    Prefix(&'static str),
    /// A function.
    Call,
    /// A function of angles up to a bound.
    Angle,
    /// The operand itself.
    Operand,
    Zero,
}

/// The C of an operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryForm {
    /// A sign between the operands.
    Sign(&'static str),
    FloatSign(&'static str),
    /// A function.
    Call,
    FloatCall,
    Missing,
}

/// A number that leaves the other operand as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neutral {
    Nothing,
    /// As the right operand.
    Right(Number),
    /// As either operand.
    Both(Number),
}

/// A number of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Zero,
    /// 0 with a sign where there is one: `x + 0` is not `x` for -0.
    MinusZero,
    One,
    /// `true`; of other types no number.
    True,
}

macro_rules! define_unary {
    ($($types:ident: $trait:ident {$(
        #[$doc:meta]
        $op:ident $function:ident {
            $output:ident | $same_on:ident | $undone:literal | $cost:literal
            | $form:ident $(($sign:literal))? | $loops:ident | $($method:ident/$try:ident)? $(-)?
        }
    )*})*) => {
        /// Operations on one value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum UnaryOp {$($(
            #[$doc]
            $op,
        )*)*}

        impl UnaryOp {
            /// All unary operations.
            pub const ALL: [Self; [$($(stringify!($op)),*),*].len()] = [$($(Self::$op),*),*];

            /// The name in the text form.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {$($(
                    Self::$op => stringify!($function),
                )*)*}
            }

            /// The types on which the operation is defined.
            pub(crate) const fn types(self) -> Types {
                match self {$($(
                    Self::$op => Types::$types,
                )*)*}
            }

            /// The type of the result for an operand of this type; `None` where the operation is
            /// not defined.
            #[must_use]
            pub const fn output(self, operand: DType) -> Option<DType> {
                let output = match self {$($(
                    Self::$op => Output::$output,
                )*)*};
                output.of(self.types(), operand)
            }

            /// Whether the result is the operand for all values of this type.
            pub(crate) const fn is_identity_on(self, operand: DType) -> bool {
                let types = match self {$($(
                    Self::$op => Types::$same_on,
                )*)*};
                types.has(operand)
            }

            /// Whether the operation undoes itself.
            pub(crate) const fn undoes_itself(self) -> bool {
                match self {$($(
                    Self::$op => $undone,
                )*)*}
            }

            /// What it costs a row in blocks, in quarters of a cycle of AVX-512.
            pub(crate) const fn cost(self) -> u64 {
                match self {$($(
                    Self::$op => $cost,
                )*)*}
            }

            /// Its C.
            pub(crate) const fn form(self) -> UnaryForm {
                match self {$($(
                    Self::$op => UnaryForm::$form $(($sign))?,
                )*)*}
            }
        }
    };
}

macro_rules! define_binary {
    ($($types:ident: $trait:ident {$(
        #[$doc:meta]
        $op:ident $function:ident {
            $output:ident | $neutral:ident $(($number:ident))? | $cost:literal
            | $form:ident $(($sign:literal))? | $loops:ident | $($method:ident/$try:ident)? $(-)?
        }
    )*})*) => {
        /// Operations on two values of the same type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum BinaryOp {$($(
            #[$doc]
            $op,
        )*)*}

        impl BinaryOp {
            /// All binary operations.
            pub const ALL: [Self; [$($(stringify!($op)),*),*].len()] = [$($(Self::$op),*),*];

            /// The name in the text form.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {$($(
                    Self::$op => stringify!($function),
                )*)*}
            }

            /// The type of the result for two operands of this type; `None` where the operation is
            /// not defined.
            #[must_use]
            pub const fn output(self, operand: DType) -> Option<DType> {
                match self {$($(
                    Self::$op => Output::$output.of(Types::$types, operand),
                )*)*}
            }

            /// Which number leaves the other operand as it is.
            pub(crate) const fn neutral(self) -> Neutral {
                match self {$($(
                    Self::$op => Neutral::$neutral $((Number::$number))?,
                )*)*}
            }

            /// What it costs a row in blocks, in quarters of a cycle of AVX-512.
            pub(crate) const fn cost(self) -> u64 {
                match self {$($(
                    Self::$op => $cost,
                )*)*}
            }

            /// Its C.
            pub(crate) const fn form(self) -> BinaryForm {
                match self {$($(
                    Self::$op => BinaryForm::$form $(($sign))?,
                )*)*}
            }
        }
    };
}

unary_operations!(define_unary);
binary_operations!(define_binary);
