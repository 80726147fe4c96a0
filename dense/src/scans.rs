//! Running sums and products along an axis.
//!
//! A scan is a host task: each element is that before it joined with one more, from the first on,
//! so its bits do not depend on threads or ranks. The threads share a scan of integers alone, which
//! have the same bits in any grouping; of other numbers each waits for the one before it. Where the
//! axis is cut, each rank goes on from the last row of the rank before it, and waits for that.

use crate::array::{Array, Vector};
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Access, Error, HostArgs, try_collect};

/// The arguments of the task.
const X: usize = 0;
const MADE: usize = 1;

twins! {
    @ "If there is no such axis.";
    [T: Numeric, const D: usize] Array<T, D>;
    /// The running sums along an axis: each element is the sum of all up to it, added one after the
    /// other from the first on, in the type of the elements. NumPy's `cumsum`. One task, which is
    /// not fused; along axis 0, ranks follow one another.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(a.cumsum_axis(0).to_vec()?, [1, 2, 3, 5, 7, 9]);
    /// assert_eq!(a.cumsum_axis(1).to_vec()?, [1, 3, 6, 4, 9, 15]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("cumsum", "cumulative_sum", "accumulate_axis_inplace"))]
    cumsum_axis try_cumsum_axis(&self, axis: usize) -> Self {
        self.scan("cumsum_axis", axis, T::plus)
    }

    /// The running products along an axis, as [`Array::cumsum_axis`].
    #[doc(alias("cumprod", "cumulative_prod"))]
    cumprod_axis try_cumprod_axis(&self, axis: usize) -> Self {
        self.scan("cumprod_axis", axis, T::times)
    }
}

impl<T: Numeric, const D: usize> Array<T, D> {
    pub(crate) fn scan(
        &self,
        op: &'static str,
        axis: usize,
        join: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        check_axes::<D>(op, [axis])?;
        let shape = self.shape();
        let (n, inner) = (shape[axis], shape[axis + 1..].iter().product());
        let function = move |args: &mut HostArgs<'_>| {
            let x = args.read::<T>(X)?;
            let made = args.write::<T>(MADE)?;
            if axis == 0 {
                return along_rows(args, x, made, inner, join);
            }
            args.in_parts(made, n * inner, |first, part| {
                let x = &x[first * n * inner..][..part.len()];
                let slabs = part.chunks_mut((n * inner).max(1));
                for (x, made) in x.chunks((n * inner).max(1)).zip(slabs) {
                    slab(&[], x, made, inner, join);
                }
                Ok(())
            })
        };
        let x = self.contiguous()?;
        let reads = [(x.store(), Access::Rows)];
        Array::made_by(op, self.runtime(), x.arg().shape(), &reads, function)
    }
}

impl<T: Numeric> Vector<T> {
    /// The running sums: [`Array::cumsum_axis`] along the one axis.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, 2.0, 4.0]);
    /// assert_eq!(x.cumsum().to_vec()?, [1.0, 3.0, 7.0]);
    /// assert_eq!(x.cumprod().to_vec()?, [1.0, 2.0, 8.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cumsum(&self) -> Self {
        self.cumsum_axis(0)
    }

    /// The running products: [`Array::cumprod_axis`] along the one axis.
    #[must_use]
    #[track_caller]
    pub fn cumprod(&self) -> Self {
        self.cumprod_axis(0)
    }
}

/// Rows of `inner` elements, each joined with the one before it, the first one with `before` if
/// that is a row.
fn slab<T: Numeric>(before: &[T], x: &[T], made: &mut [T], inner: usize, join: impl Fn(T, T) -> T) {
    if x.is_empty() {
        return;
    }
    made[..inner].copy_from_slice(&x[..inner]);
    for (made, &before) in made.iter_mut().zip(before) {
        *made = join(before, *made);
    }
    if inner == 1 {
        let mut sum = made[0];
        for (made, &x) in made.iter_mut().zip(x).skip(1) {
            sum = join(sum, x);
            *made = sum;
        }
        return;
    }
    for begin in (inner..x.len()).step_by(inner) {
        let (before, made) = made.split_at_mut(begin);
        let pairs = before[begin - inner..].iter().zip(&x[begin..]);
        for (made, (&before, &x)) in made[..inner].iter_mut().zip(pairs) {
            *made = join(before, x);
        }
    }
}

/// The scan along axis 0. A rank without rows hands on what it got; before the first row that is
/// nothing.
fn along_rows<T: Numeric>(
    args: &HostArgs<'_>,
    x: &[T],
    made: &mut [T],
    inner: usize,
    join: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<(), Error> {
    let is_cut = args.cuts(MADE).is_some();
    let before = match is_cut && args.rank() > 0 {
        true => args.receive::<T>(args.rank() - 1)?,
        false => Vec::new(),
    };
    match T::DTYPE.is_integer() && inner == 1 && args.threads() > 1 && x.len() >= MANY {
        true => in_pieces(args, &before, x, made, join)?,
        false => slab(&before, x, made, inner, join),
    }
    if is_cut && args.rank() + 1 < args.ranks() {
        let last = match made.is_empty() {
            true => &before[..],
            false => &made[made.len() - inner..],
        };
        args.send(args.rank() + 1, last)?;
    }
    Ok(())
}

/// Elements from which on the threads share a scan.
const MANY: usize = 1 << 16;

/// The scan of integers, which may be grouped in any way: each thread sums some elements, and then
/// scans as many, from the sum of all before them on.
fn in_pieces<T: Numeric>(
    args: &HostArgs<'_>,
    before: &[T],
    x: &[T],
    made: &mut [T],
    join: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<(), Error> {
    let (n, threads) = (x.len(), args.threads());
    // The sum of the last part is not needed, so only the other parts are summed, in smaller
    // ranges.
    let wanted = n - n / threads;
    let mut sums = try_collect((0..threads * (threads - 1)).map(|_| None))?;
    let n_sums = sums.len();
    let at = |sum: usize| wanted * sum / n_sums;
    let ends: Vec<usize> = (1..=n_sums).collect();
    args.in_parts_to(&mut sums, &ends, |number, sum| {
        let mut elements = x[at(number)..at(number + 1)].iter().copied();
        sum[0] = elements.next().map(|first| elements.fold(first, join));
        Ok(())
    })?;
    let ends: Vec<usize> = (1..threads)
        .map(|piece| at(piece * threads))
        .chain([n])
        .collect();
    args.in_parts_to(made, &ends, |piece, made| {
        let sums = sums[..piece * threads].iter().flatten();
        let before = before.iter().chain(sums).copied().reduce(join);
        let x = &x[at(piece * threads)..][..made.len()];
        slab(before.as_slice(), x, made, 1, join);
        Ok(())
    })
}
