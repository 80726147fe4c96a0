//! Kernels written as arithmetic: a [`Symbol`] stands for a value that a kernel will have.
//!
//! Each operation on a symbol appends an instruction to the kernel of its [`Symbols`], in the order
//! in which the program writes them. Types of elements are those of Rust, so what compiles
//! verifies. The methods of symbols are those of the table of operations.

use super::{ArgId, ArgKind, BinaryOp, Inst, Kernel, KernelBuilder, ReduceOp, UnaryOp, ValueId};
use crate::element::{Element, Field, Numeric, Real, Value};
use crate::{all_binary_methods, all_unary_methods, output_type};
use crate::{binary_operations, unary_operations};
use num_complex::Complex;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops;

/// A kernel with one loop that is being written with symbols.
///
/// Arguments are numbered in the order in which they are added.
///
/// ```
/// use sparsefuse_kernels::{Symbol, Symbols};
///
/// let symbols = Symbols::new();
/// let x: Symbol<'_, f64> = symbols.array();
/// symbols.store(x.less(0.0).select(-x, 2.0 * x.sqrt()));
/// let kernel = symbols.finish();
/// assert_eq!(kernel.args.len(), 2);
/// assert!(kernel.to_string().contains("%6 = mul %5 %4"));
/// ```
#[derive(Debug, Default)]
pub struct Symbols {
    build: RefCell<KernelBuilder>,
}

/// A value of a kernel, with elements of type `T`: what a closure computes with in the place of an
/// element.
///
/// Operators and methods take symbols and plain numbers, operators also have numbers on their left.
/// They are those of arrays, with the same names and the same bits. A symbol is a number of an
/// instruction, and is copied as such.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'b, T> {
    build: &'b RefCell<KernelBuilder>,
    value: ValueId,
    element: PhantomData<T>,
    /// Invariant in the lifetime: symbols of one closure do not pass for those of another.
    closure: PhantomData<fn(&'b ()) -> &'b ()>,
}

/// What may stand beside a symbol: another one of the same kernel, or a plain number.
///
/// Implemented by this crate only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside symbols of elements of type `{T}`",
    label = "expected a symbol or a number of type `{T}`",
    note = "symbols have one element type; `cast::<{T}>()` converts one"
)]
pub trait Term<'b, T>: sealed::Sealed + Copy {
    #[doc(hidden)]
    fn symbol(self, build: &'b RefCell<KernelBuilder>) -> Symbol<'b, T>;
}

mod sealed {
    pub trait Sealed {}
}

impl Symbols {
    /// A kernel without arguments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an argument that is an array ([`ArgKind::Array`]): its element in the row.
    pub fn array<T: Element>(&self) -> Symbol<'_, T> {
        let arg = self.build.borrow_mut().arg(T::DTYPE, ArgKind::Array);
        push(&self.build, Inst::Load(arg))
    }

    /// Adds an argument that is a single element ([`ArgKind::Scalar`]).
    pub fn scalar<T: Element>(&self) -> Symbol<'_, T> {
        let arg = self.build.borrow_mut().arg(T::DTYPE, ArgKind::Scalar);
        push(&self.build, Inst::LoadScalar(arg))
    }

    /// Adds a parameter: a number that comes with each task.
    pub fn param<T: Element>(&self) -> Symbol<'_, T> {
        let value = self.build.borrow_mut().param(T::DTYPE);
        symbol(&self.build, value)
    }

    /// A constant.
    pub fn number<T: Element>(&self, number: T) -> Symbol<'_, T> {
        number.symbol(&self.build)
    }

    /// The number of the row, counted from 0 over all pieces.
    pub fn index(&self) -> Symbol<'_, i64> {
        push(&self.build, Inst::Index)
    }

    /// Adds an argument that is an array, and writes its element.
    ///
    /// # Panics
    ///
    /// If the symbol is one of another kernel.
    pub fn store<'b, T: Element>(&'b self, value: impl Term<'b, T>) -> ArgId {
        let value = value.symbol(&self.build).value;
        let mut build = self.build.borrow_mut();
        let arg = build.arg(T::DTYPE, ArgKind::Array);
        build.store(arg, value);
        arg
    }

    /// Adds an argument that is a single element, the result of a reduction
    /// ([`ArgKind::Reduction`]), and reduces the values of all rows into it.
    ///
    /// # Panics
    ///
    /// If the reduction is not defined on these elements, or the symbol is one of another kernel.
    pub fn reduce<'b, T: Element>(&'b self, op: ReduceOp, value: impl Term<'b, T>) -> ArgId {
        let value = value.symbol(&self.build).value;
        let Some(output) = op.output(T::DTYPE) else {
            panic!("there is no {} of elements of type {}", op.name(), T::DTYPE);
        };
        let mut build = self.build.borrow_mut();
        let arg = build.arg(output, ArgKind::Reduction);
        build.reduce(op, arg, value);
        arg
    }

    /// The kernel.
    #[must_use]
    pub fn finish(self) -> Kernel {
        self.build.into_inner().finish()
    }

    /// The kernel with a parameter for each constant, after those that it has, and the constants:
    /// so kernels that differ in numbers alone are one.
    #[must_use]
    pub fn finish_with_numbers(self) -> (Kernel, Vec<Value>) {
        let mut kernel = self.finish();
        let mut numbers = Vec::new();
        for inst in &mut kernel.loops[0].body {
            if let Inst::Const(number) = *inst {
                *inst = Inst::Param(kernel.params.len() as u32);
                kernel.params.push(number.dtype());
                numbers.push(number);
            }
        }
        (kernel, numbers)
    }
}

fn push<T>(build: &RefCell<KernelBuilder>, inst: Inst) -> Symbol<'_, T> {
    let value = build.borrow_mut().push(inst);
    symbol(build, value)
}

fn symbol<T>(build: &RefCell<KernelBuilder>, value: ValueId) -> Symbol<'_, T> {
    Symbol {
        build,
        value,
        element: PhantomData,
        closure: PhantomData,
    }
}

impl<'b, T> Symbol<'b, T> {
    fn unary<U>(self, op: UnaryOp) -> Symbol<'b, U> {
        push(self.build, Inst::Unary(op, self.value))
    }

    fn binary<U>(self, op: BinaryOp, other: impl Term<'b, T>) -> Symbol<'b, U> {
        let other = other.symbol(self.build);
        push(self.build, Inst::Binary(op, self.value, other.value))
    }
}

impl<T> sealed::Sealed for Symbol<'_, T> {}
impl<T: Element> sealed::Sealed for T {}

impl<'b, T: Element> Term<'b, T> for Symbol<'b, T> {
    fn symbol(self, build: &'b RefCell<KernelBuilder>) -> Self {
        let is_same = std::ptr::eq(self.build, build);
        assert!(is_same, "a symbol stands beside those of its own kernel");
        self
    }
}

impl<'b, T: Element> Term<'b, T> for T {
    fn symbol(self, build: &'b RefCell<KernelBuilder>) -> Symbol<'b, T> {
        push(build, Inst::Const(self.to_value()))
    }
}

impl<'b, T: Element> Symbol<'b, T> {
    /// The value converted to another type, as Rust's `as` does it; to `bool`: whether it differs
    /// from 0.
    #[must_use]
    pub fn cast<U: Element>(self) -> Symbol<'b, U> {
        push(self.build, Inst::Cast(U::DTYPE, self.value))
    }

    /// A plain number as a symbol of this kernel, for a closure that has no other: `x.number(1.0)`.
    #[must_use]
    pub fn number<U: Element>(self, number: U) -> Symbol<'b, U> {
        number.symbol(self.build)
    }
}

impl<'b> Symbol<'b, bool> {
    /// `a` where the condition holds, else `b`.
    #[must_use]
    pub fn select<T: Element>(self, a: impl Term<'b, T>, b: impl Term<'b, T>) -> Symbol<'b, T> {
        let (a, b) = (a.symbol(self.build), b.symbol(self.build));
        push(self.build, Inst::Select(self.value, a.value, b.value))
    }
}

impl<'b, T: Numeric> Symbol<'b, T> {
    /// The value times itself.
    #[must_use]
    pub fn square(self) -> Self {
        self * self
    }

    /// One divided by the value.
    #[must_use]
    pub fn recip(self) -> Self {
        self.number(T::ONE) / self
    }
}

impl<'b, T: Numeric + PartialOrd> Symbol<'b, T> {
    /// The nearest value between `low` and `high`: `high` where the two cross.
    #[must_use]
    pub fn clamp(self, low: impl Term<'b, T>, high: impl Term<'b, T>) -> Self {
        self.maximum(low).minimum(high)
    }
}

macro_rules! unary_methods {
    ($T:ident: $($bound:path),+; $(#[$doc:meta] $name:ident $try:ident $op:ident $output:ident;)*) => {
        impl<'b, $T: $($bound +)+> Symbol<'b, $T> {$(
            #[$doc]
            #[must_use]
            pub fn $name(self) -> Symbol<'b, output_type!($T $output)> {
                self.unary(UnaryOp::$op)
            }
        )*}
    };
}

macro_rules! binary_methods {
    ($T:ident: $($bound:path),+; $(#[$doc:meta] $name:ident $try:ident $op:ident $output:ident;)*) => {
        impl<'b, $T: $($bound +)+> Symbol<'b, $T> {$(
            #[$doc]
            #[must_use]
            pub fn $name(self, other: impl Term<'b, $T>) -> Symbol<'b, output_type!($T $output)> {
                self.binary(BinaryOp::$op, other)
            }
        )*}
    };
}

unary_operations!(all_unary_methods);
binary_operations!(all_binary_methods);

/// The operators, with symbols on the left.
macro_rules! operators {
    ($($trait:ident $method:ident $op:ident, $T:ident: $($bound:path),+;)*) => {$(
        impl<'b, $T: $($bound +)+, R: Term<'b, $T>> ops::$trait<R> for Symbol<'b, $T> {
            type Output = Self;
            fn $method(self, other: R) -> Self {
                self.binary(BinaryOp::$op, other)
            }
        }
    )*};
}

operators! {
    Add add Add, T: Numeric;
    Sub sub Sub, T: Numeric;
    Mul mul Mul, T: Numeric;
    Div div Div, T: Numeric;
    Rem rem Rem, T: Numeric, PartialOrd;
    BitAnd bitand And, T: Element, ops::BitAnd;
    BitOr bitor Or, T: Element, ops::BitOr;
    BitXor bitxor Xor, T: Element, ops::BitXor;
}

/// Operators that assign: one line for each.
macro_rules! assigning_operators {
    ($($trait:ident $method:ident $op:ident, T: $($bound:path),*;)*) => {$(
        impl<'b, T: $($bound +)*, R: Term<'b, T>> ops::$trait<R> for Symbol<'b, T> {
            fn $method(&mut self, other: R) {
                *self = self.binary(BinaryOp::$op, other);
            }
        }
    )*};
}

assigning_operators! {
    AddAssign add_assign Add, T: Numeric;
    SubAssign sub_assign Sub, T: Numeric;
    MulAssign mul_assign Mul, T: Numeric;
    DivAssign div_assign Div, T: Numeric;
    RemAssign rem_assign Rem, T: Numeric, PartialOrd;
    BitAndAssign bitand_assign And, T: Element, ops::BitAnd;
    BitOrAssign bitor_assign Or, T: Element, ops::BitOr;
    BitXorAssign bitxor_assign Xor, T: Element, ops::BitXor;
}

/// Plain numbers on the left: one line for each operator.
macro_rules! number_on_the_left {
    ($($trait:ident $method:ident $op:ident: $($type:ty)*;)*) => {$($(
        impl<'b> ops::$trait<Symbol<'b, $type>> for $type {
            type Output = Symbol<'b, $type>;
            fn $method(self, other: Symbol<'b, $type>) -> Symbol<'b, $type> {
                other.number(self).binary(BinaryOp::$op, other)
            }
        }
    )*)*};
}

number_on_the_left! {
    Add add Add: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64;
    Sub sub Sub: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64;
    Mul mul Mul: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64;
    Div div Div: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64;
    Rem rem Rem: f32 f64 i32 i64 u32 u64;
    BitAnd bitand And: i32 i64 u32 u64 bool;
    BitOr bitor Or: i32 i64 u32 u64 bool;
    BitXor bitxor Xor: i32 i64 u32 u64 bool;
}

impl<T: Numeric> ops::Neg for Symbol<'_, T> {
    type Output = Self;
    fn neg(self) -> Self {
        self.unary(UnaryOp::Neg)
    }
}

impl ops::Not for Symbol<'_, bool> {
    type Output = Self;
    fn not(self) -> Self {
        self.unary(UnaryOp::Not)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::verify;

    fn text(write: impl for<'b> FnOnce(&'b Symbols)) -> String {
        let symbols = Symbols::new();
        write(&symbols);
        let kernel = symbols.finish();
        verify(&kernel).unwrap();
        kernel.to_string()
    }

    #[test]
    fn instructions_are_in_the_order_of_the_program() {
        let found = text(|symbols| {
            let (x, y) = (symbols.array::<f64>(), symbols.scalar::<f64>());
            let z = (1.0 - x.exp()) / y.maximum(x);
            symbols.store(x.less(y).select(z, 0.0));
        });
        let expected = "
    %0 = load a0
    %1 = load_scalar a1
    %2 = exp %0
    %3 = const f64 1.0
    %4 = sub %3 %2
    %5 = max %1 %0
    %6 = div %4 %5
    %7 = lt %0 %1
    %8 = const f64 0.0
    %9 = select %7 %6 %8
    store a2 %9";
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn operators_that_assign_write_the_same_instructions() {
        let assigned = text(|symbols| {
            let (mut x, y) = (symbols.array::<f64>(), symbols.array::<f64>());
            x += y * 2.0;
            x -= 1.0;
            x *= y;
            x /= y;
            x %= 3.0;
            symbols.store(x);
        });
        let plain = text(|symbols| {
            let (x, y) = (symbols.array::<f64>(), symbols.array::<f64>());
            symbols.store(((x + y * 2.0 - 1.0) * y / y) % 3.0);
        });
        assert_eq!(assigned, plain);
    }

    #[test]
    fn types_of_results_are_those_of_the_table() {
        text(|symbols| {
            let z = symbols.array::<Complex<f32>>();
            let size: Symbol<'_, f32> = z.abs();
            let whole: Symbol<'_, i64> = (size.cast::<i64>() % 3) & symbols.index();
            let is_even = !(whole.equal(1) | false);
            symbols.store(is_even.select(z.conj() * Complex::new(0.0, 1.0), z));
            symbols.store(size.atan2(2.0));
        });
    }

    #[test]
    fn numbers_become_parameters() {
        let of = |a: f64| {
            let symbols = Symbols::new();
            let (x, step) = (symbols.array::<f64>(), symbols.param::<f64>());
            symbols.reduce(ReduceOp::Sum, a * x + step);
            symbols.finish_with_numbers()
        };
        let ((one, numbers), (other, others)) = (of(1.5), of(2.5));
        verify(&one).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.params.len(), 2);
        assert_eq!(
            (numbers, others),
            (vec![1.5.to_value()], vec![2.5.to_value()])
        );
    }

    #[test]
    #[should_panic(expected = "those of its own kernel")]
    fn symbols_of_two_kernels_do_not_mix() {
        let (one, other) = (Symbols::new(), Symbols::new());
        let _ = one.array::<f64>() + other.array::<f64>();
    }

    #[test]
    #[should_panic(expected = "there is no sum of elements of type bool")]
    fn reductions_are_those_of_the_type() {
        let symbols = Symbols::new();
        symbols.reduce(ReduceOp::Sum, symbols.array::<bool>());
    }
}
