//! Functions of two whole numbers: common divisors and multiples, and shifts of bits.
//!
//! Each is a host task on the elements that both operands have in common, and is not fused.

use crate::array::Array;
use crate::indices::Index;
use crate::operand::{ArrayOperand, Kind, Source, check_len, common_shape};
use crate::scatter::stored;
use crate::twins::twins;
use sparsefuse_kernels::{DType, Element};
use sparsefuse_runtime::{Access, Error, HostArgs, HostBody, HostTask, Privilege};

twins! {
    @ "If the shapes do not broadcast to a common one, or the operands belong to two runtimes.";
    [T: Index, const D: usize] Array<T, D>;
    /// The greatest common divisors, of which that of 0 and 0 is 0: NumPy's `gcd`. At least 0, but
    /// for that of the smallest number and 0 or itself, which wraps. By Euclid. One task, which is
    /// not fused.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![12, -18, 0]);
    /// assert_eq!(x.gcd(8).to_vec()?, [4, 2, 8]);
    /// assert_eq!(x.lcm(8).to_vec()?, [24, 72, 0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "greatest_common_divisor")]
    gcd try_gcd(&self, other: impl ArrayOperand<T, D>) -> Self {
        of_two("gcd", self, &other, |x, y| from_size(divisor(size(x), size(y))))
    }

    /// The least common multiples, at least 0 unless they wrap around, and 0 where one is 0:
    /// NumPy's `lcm`. As [`Array::gcd`].
    #[doc(alias = "least_common_multiple")]
    lcm try_lcm(&self, other: impl ArrayOperand<T, D>) -> Self {
        of_two("lcm", self, &other, |x, y| {
            let (x, y) = (size(x), size(y));
            let others = x.checked_div(divisor(x, y)).unwrap_or(0);
            from_size(others.wrapping_mul(y))
        })
    }

    /// The bits moved up, zeros behind them: NumPy's `left_shift`. By as many as the type has bits
    /// or more, or by a negative number, it is 0. One task, which is not fused.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![5, -5, 1]);
    /// assert_eq!(x.left_shift(&Vector::from_vec(vec![1, 2, 64])).to_vec()?, [10, -20, 0]);
    /// assert_eq!(x.right_shift(1).to_vec()?, [2, -3, 0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("shl", "bitwise_left_shift"))]
    left_shift try_left_shift(&self, other: impl ArrayOperand<T, D>) -> Self {
        of_two("left_shift", self, &other, |x, by| {
            let [bits, _] = x.to_bits();
            let [by, _] = by.to_bits();
            from_size(if by < width::<T>() { bits << by } else { 0 })
        })
    }

    /// The bits moved down, with the sign before them where the type has one, so that it is the
    /// quotient by a power of two, rounded down: NumPy's `right_shift`. Otherwise as
    /// [`Array::left_shift`], but -1 of a negative number in the place of 0.
    #[doc(alias("shr", "bitwise_right_shift"))]
    right_shift try_right_shift(&self, other: impl ArrayOperand<T, D>) -> Self {
        of_two("right_shift", self, &other, |x, by| {
            let [bits, _] = x.to_bits();
            let [by, _] = by.to_bits();
            let is_far = by >= width::<T>();
            from_size(match T::DTYPE {
                DType::I64 => (bits as i64 >> if is_far { 63 } else { by }) as u64,
                DType::I32 => (bits as i32 >> if is_far { 31 } else { by }) as u64,
                // No others are indices.
                DType::U32 | DType::U64 | DType::Bool => if is_far { 0 } else { bits >> by },
                DType::F32 | DType::F64 | DType::ComplexF32 | DType::ComplexF64 => bits,
            })
        })
    }
}

/// The bits of a whole number.
fn width<T: Element>() -> u64 {
    8 * size_of::<T>() as u64
}

/// The absolute value.
fn size<T: Element>(x: T) -> u64 {
    let [bits, _] = x.to_bits();
    match T::DTYPE {
        DType::I64 => (bits as i64).unsigned_abs(),
        DType::I32 => u64::from((bits as i32).unsigned_abs()),
        DType::U32 | DType::U64 => bits,
        // These are no indices.
        DType::Bool | DType::F32 | DType::F64 | DType::ComplexF32 | DType::ComplexF64 => bits,
    }
}

/// The whole number with these lowest bits.
fn from_size<T: Element>(bits: u64) -> T {
    T::from_bits([bits, 0])
}

fn divisor(mut x: u64, mut y: u64) -> u64 {
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x
}

/// The task.
fn of_two<T: Index, const D: usize>(
    op: &'static str,
    x: &Array<T, D>,
    other: &impl ArrayOperand<T, D>,
    function: impl Fn(T, T) -> T + Send + Sync + 'static,
) -> Result<Array<T, D>, Error> {
    const X: usize = 0;
    let runtime = x.runtime();
    let operands = [Source(Kind::Array(x.arg())), other.source()];
    let shape = common_shape(op, &operands)?;
    check_len(op, shape)?;
    let [of_x, of_other] = operands;
    let number = match of_other.0 {
        Kind::Number(number) => number.get::<T>(),
        Kind::Array(_) | Kind::Scalar(_) => None,
    };
    let mut stores = vec![stored::<T>(op, runtime, of_x.0, shape)?];
    if number.is_none() {
        stores.push(stored::<T>(op, runtime, of_other.0, shape)?);
    }
    let mut declared = vec![(Privilege::Read, Access::Rows, T::DTYPE); stores.len()];
    declared.push((Privilege::Write, Access::Rows, T::DTYPE));
    let made = runtime.new_store(shape, T::DTYPE);
    let n_operands = stores.len();
    let task = HostTask::new(move |args: &mut HostArgs<'_>| {
        let made = args.write::<T>(n_operands)?;
        let x = args.read::<T>(X)?;
        let others = match number {
            Some(_) => &[],
            None => args.read::<T>(X + 1)?,
        };
        args.in_parts(made, 1, |first, part| {
            let x = &x[first..][..part.len()];
            match number {
                Some(number) => {
                    for (made, &x) in part.iter_mut().zip(x) {
                        *made = function(x, number);
                    }
                }
                None => {
                    for ((made, &x), &other) in part.iter_mut().zip(x).zip(&others[first..]) {
                        *made = function(x, other);
                    }
                }
            }
            Ok(())
        })
    });
    let mut args: Vec<_> = stores.iter().collect();
    args.push(&made);
    runtime.submit_host(&HostBody::new(op, &declared), &args, task)?;
    Ok(Array::wrap(made, None))
}
