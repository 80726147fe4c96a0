//! Slices along an axis, several times: each of them, or all of them in a row.
//!
//! On one rank one task copies them. On several, where what a rank wants lies on others, they are
//! gathered by indices, with what gathers exchange.

use crate::array::{Array, Vector};
use crate::operand::check_len;
use crate::views::check_axes;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, try_collect};

/// In which order the copies lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Those of one slice side by side.
    Each,
    /// All slices, and then all again.
    All,
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Each slice along an axis `times` times.
    pub(crate) fn copies(
        &self,
        op: &'static str,
        axis: usize,
        times: usize,
        order: Order,
    ) -> Result<Self, Error> {
        check_axes::<D>(op, [axis])?;
        let mut shape = self.shape();
        let n = shape[axis];
        shape[axis] = n.saturating_mul(times);
        check_len(op, Shape::new(&shape))?;
        let runtime = self.runtime();
        if shape.contains(&0) {
            let none = try_collect(std::iter::empty())?;
            return runtime.enter(|| Self::from_shape_vec(shape, none));
        }
        if runtime.ranks() > 1 {
            let indices = runtime.enter(|| Vector::<i64>::try_arange(shape[axis]))?;
            let indices = match order {
                Order::Each => indices.try_div(times as i64)?,
                Order::All => indices.try_rem(n as i64)?,
            };
            return self.try_take_axis(axis, &indices);
        }
        let inner: usize = shape[axis + 1..].iter().product();
        let unit = match order {
            Order::Each => inner,
            Order::All => n * inner,
        };
        let x = self.contiguous()?;
        let function = move |args: &mut HostArgs<'_>| {
            let (x, made) = (args.read::<T>(0)?, args.write::<T>(1)?);
            if args.threads() > 1 && made.len() / (unit * times) < FEW {
                return args.in_parts(made, unit, |first, part| {
                    for (number, part) in (first..).zip(part.chunks_exact_mut(unit)) {
                        let from = number / times * unit;
                        part.copy_from_slice(&x[from..from + unit]);
                    }
                    Ok(())
                });
            }
            args.in_parts(made, unit * times, |first, part| {
                copy(&x[first * unit..], (unit, times), part);
                Ok(())
            })
        };
        let reads = [(x.store(), Access::Held)];
        Array::made_by(op, runtime, Shape::new(&shape), &reads, function)
    }
}

/// Units whose copies are shared out one by one.
const FEW: usize = 64;

/// The units of `x`, each `times` times, as many as there is room for.
fn copy<T: Copy>(x: &[T], (unit, times): (usize, usize), made: &mut [T]) {
    match (unit, times) {
        (0, _) | (_, 0) => {}
        // A few elements are written together.
        (1, 2) => copy_single::<T, 2>(x, made),
        (1, 3) => copy_single::<T, 3>(x, made),
        (1, 4) => copy_single::<T, 4>(x, made),
        (1, _) => {
            let copies = made.chunks_exact_mut(times);
            copies.zip(x).for_each(|(copies, &x)| copies.fill(x));
        }
        _ => {
            let copies = made.chunks_exact_mut(unit * times);
            for (copies, x) in copies.zip(x.chunks_exact(unit)) {
                let copies = copies.chunks_exact_mut(unit);
                copies.for_each(|copy| copy.copy_from_slice(x));
            }
        }
    }
}

fn copy_single<T: Copy, const TIMES: usize>(x: &[T], made: &mut [T]) {
    let (copies, _) = made.as_chunks_mut::<TIMES>();
    copies
        .iter_mut()
        .zip(x)
        .for_each(|(copies, &x)| *copies = [x; TIMES]);
}
