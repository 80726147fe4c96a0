//! Many short arrays joined along an axis: by host tasks that take some at a time, since a task for
//! each would cost more than its copy.

use crate::array::Array;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Access, Error, HostArgs, Runtime, Shape, View};

/// Arrays from which on they are many.
const MANY: usize = 16;
/// Elements of an array, on average, from which on it is not short.
const LONG: usize = 1 << 12;
/// Arrays that a task takes at a time.
const TOGETHER: usize = 64;

/// Whether this many arrays, which make an array of this length, are joined here.
pub(crate) fn pays(runtime: &Runtime, arrays: usize, len: Option<usize>) -> bool {
    let is_short = len.is_some_and(|len| len / LONG < arrays);
    arrays > MANY && is_short && runtime.ranks() == 1
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The arrays, at least one, whose lengths agree apart from the axis, one behind the other.
    pub(crate) fn joined(op: &'static str, axis: usize, arrays: &[&Self]) -> Result<Self, Error> {
        let parts = arrays.chunks(TOGETHER);
        let parts: Vec<Self> = parts
            .map(|part| Self::joined_together(op, axis, part))
            .collect::<Result<_, _>>()?;
        match &parts[..] {
            [whole] => Ok(whole.clone()),
            parts => Self::try_concatenate(axis, &parts.iter().collect::<Vec<_>>()),
        }
    }

    /// One task.
    fn joined_together(op: &'static str, axis: usize, arrays: &[&Self]) -> Result<Self, Error> {
        let mut shape = arrays[0].shape();
        shape[axis] = arrays.iter().map(|array| array.shape()[axis]).sum();
        let inner: usize = shape[axis + 1..].iter().product();
        let units: Vec<usize> = arrays
            .iter()
            .map(|array| array.shape()[axis] * inner)
            .collect();
        let row_len: usize = units.iter().sum();
        let in_order = arrays.iter().map(|array| array.in_order());
        let in_order: Vec<Self> = in_order.collect::<Result<_, _>>()?;
        let reads: Vec<_> = in_order
            .iter()
            .map(|array| (array.store(), Access::Held))
            .collect();
        let made = units.len();
        let function = move |args: &mut HostArgs<'_>| {
            let x = (0..made).map(|number| args.read::<T>(number));
            let x: Vec<&[T]> = x.collect::<Result<_, _>>()?;
            let rows = args.write::<T>(made)?.chunks_exact_mut(row_len.max(1));
            for (row, made) in rows.enumerate() {
                let mut left = made;
                for (x, &unit) in x.iter().zip(&units) {
                    let (own, rest) = left.split_at_mut(unit);
                    own.copy_from_slice(&x[row * unit..][..unit]);
                    left = rest;
                }
            }
            Ok(())
        };
        Self::made_by(
            op,
            arrays[0].runtime(),
            Shape::new(&shape),
            &reads,
            function,
        )
    }

    /// An array whose store has the elements of this one in their order: a copy, unless its own
    /// has.
    fn in_order(&self) -> Result<Self, Error> {
        let shape = self.store().shape();
        let is_whole = |view: &View| view.reshape(shape).is_some_and(|view| view.is_identity());
        match self.view() {
            Some(view) if !is_whole(view) => self.contiguous(),
            _ => Ok(self.clone()),
        }
    }
}
