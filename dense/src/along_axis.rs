//! Indices along an axis, an own one for each line, as sorts and searches along an axis make them;
//! and flat indices as indices in each dimension.

use crate::array::Array;
use crate::indices::{Index, Lines};
use crate::operand::{ArrayOperand, check_len, expect, named};
use crate::views::check_axes;
use sparsefuse_kernels::{DType, Element};
use sparsefuse_runtime::{Access, Error, HostArgs, HostBody, HostTask, Privilege, Shape};

impl<T: Element, const D: usize> Array<T, D> {
    /// Of each line along an axis the elements at the indices that the same line of `indices` has:
    /// NumPy's `take_along_axis`. So the indices of [`Array::argsort_axis`] sort, and those of
    /// `argmax_axis`, with the axis inserted again, are those of the largest elements. Negative
    /// indices count from the end. Apart from the axis the shapes broadcast to a common one. Two
    /// tasks, the second of which is [`Array::take`].
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![30, 10, 20, 5, 6, 4])?;
    /// let order = a.argsort_axis(1);
    /// assert_eq!(a.take_along_axis(1, &order).to_vec()?, [10, 20, 30, 4, 5, 6]);
    /// let largest = a.argmax_axis(1).insert_axis(1);
    /// assert_eq!(a.take_along_axis(1, &largest).to_vec()?, [30, 6]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_take_along_axis`] returns.
    #[must_use]
    #[track_caller]
    pub fn take_along_axis<I: Index>(&self, axis: usize, indices: &Array<I, D>) -> Self {
        expect(self.try_take_along_axis(axis, indices))
    }

    /// As [`Array::take_along_axis`].
    ///
    /// # Errors
    ///
    /// If there is no such axis, the shapes do not fit apart from it, or the arrays belong to two
    /// runtimes. Indices that are out of range are found when the task runs.
    pub fn try_take_along_axis<I: Index>(
        &self,
        axis: usize,
        indices: &Array<I, D>,
    ) -> Result<Self, Error> {
        const OP: &str = "take_along_axis";
        check_axes::<D>(OP, [axis])?;
        let (of_x, of_indices) = (self.shape(), indices.shape());
        let (mut whole, mut wanted) = (of_x, of_indices);
        for d in (0..D).filter(|&d| d != axis) {
            let common = match (of_x[d], of_indices[d]) {
                (n, m) if n == m => n,
                (1, m) => m,
                (n, 1) => n,
                _ => return Err(misfit(OP, of_x, of_indices, axis)),
            };
            (whole[d], wanted[d]) = (common, common);
        }
        named(OP, || {
            let x = match whole == of_x {
                true => self.clone(),
                false => self.try_broadcast_to(whole)?,
            };
            let flat = along(OP, whole, axis, &indices.try_broadcast_to(wanted)?)?;
            x.try_take(&flat)
        })
    }

    /// Writes values to the elements that [`Array::take_along_axis`] reads: NumPy's
    /// `put_along_axis`. Of equal indices of a line the last one counts. Values are an array that
    /// broadcasts to the shape of the indices, a scalar or a number. Two tasks, the second of which
    /// is [`Array::put`].
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let mut a = Array::from_shape_vec([2, 3], vec![30, 10, 20, 5, 6, 4])?;
    /// let largest = a.argmax_axis(1).insert_axis(1);
    /// a.put_along_axis(1, &largest, 0);
    /// assert_eq!(a.to_vec()?, [0, 10, 20, 5, 0, 4]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_put_along_axis`] returns.
    #[track_caller]
    pub fn put_along_axis<I: Index>(
        &mut self,
        axis: usize,
        indices: &Array<I, D>,
        values: impl ArrayOperand<T, D>,
    ) {
        expect(self.try_put_along_axis(axis, indices, values));
    }

    /// As [`Array::put_along_axis`].
    ///
    /// # Errors
    ///
    /// If there is no such axis, the indices do not broadcast to the shape of the array apart from
    /// it, the values not to that of the indices, or the operands belong to two runtimes; the array
    /// is then as it was. Indices that are out of range are found when the task runs.
    pub fn try_put_along_axis<I: Index>(
        &mut self,
        axis: usize,
        indices: &Array<I, D>,
        values: impl ArrayOperand<T, D>,
    ) -> Result<(), Error> {
        const OP: &str = "put_along_axis";
        check_axes::<D>(OP, [axis])?;
        let (shape, of_indices) = (self.shape(), indices.shape());
        let mut wanted = shape;
        wanted[axis] = of_indices[axis];
        if (0..D).any(|d| of_indices[d] != wanted[d] && of_indices[d] != 1) {
            return Err(misfit(OP, shape, of_indices, axis));
        }
        named(OP, || {
            let flat = along(OP, shape, axis, &indices.try_broadcast_to(wanted)?)?;
            self.try_put(&flat, values)
        })
    }
}

impl<I: Index, const E: usize> Array<I, E> {
    /// The indices in each dimension of the elements of an array of this shape that have these
    /// flat, row-major indices: NumPy's `unravel_index`, the inverse of
    /// [`Array::ravel_multi_index`]. Negative indices count from the end. One task, and tasks that
    /// fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let [rows, columns] = Vector::from_vec(vec![2, 5, -6]).unravel_index([2, 3]);
    /// assert_eq!((rows.to_vec()?, columns.to_vec()?), (vec![0, 1, 0], vec![2, 2, 0]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_unravel_index`] returns.
    #[must_use]
    #[track_caller]
    pub fn unravel_index<const D: usize>(&self, shape: [usize; D]) -> [Array<i64, E>; D] {
        expect(self.try_unravel_index(shape))
    }

    /// As [`Array::unravel_index`].
    ///
    /// # Errors
    ///
    /// If memory cannot hold an array of this shape. Indices that are out of range are found when
    /// the task runs.
    pub fn try_unravel_index<const D: usize>(
        &self,
        shape: [usize; D],
    ) -> Result<[Array<i64, E>; D], Error> {
        const OP: &str = "unravel_index";
        let dims = Shape::new(&shape);
        check_len(OP, dims)?;
        named(OP, || {
            let mut rest = flat(Lines::flat(OP, dims.len(), usize::MAX), self)?;
            let mut found = Vec::with_capacity(D);
            for &n in shape.iter().skip(1).rev() {
                found.push(rest.try_rem(n as i64)?);
                rest = rest.try_floor_div(n as i64)?;
            }
            found.push(rest);
            // Without dimensions there is none to tell.
            let indices: Vec<_> = found.into_iter().rev().take(D).collect();
            indices
                .try_into()
                .map_err(|_| Error::argument(OP, "an index for each dimension", "fewer"))
        })
    }
}

/// The flat indices of what the lines of `indices` along an axis name in an array of a shape, which
/// is that of `indices` apart from the axis.
pub(crate) fn along<I: Index, const D: usize>(
    op: &'static str,
    shape: [usize; D],
    axis: usize,
    indices: &Array<I, D>,
) -> Result<Array<i64, D>, Error> {
    flat(
        Lines::along(op, &shape, axis, indices.shape()[axis]),
        indices,
    )
}

/// The task: of each index, on lines with `inner` of them side by side, the flat one.
fn flat<I: Index, const D: usize>(
    lines: Lines,
    indices: &Array<I, D>,
) -> Result<Array<i64, D>, Error> {
    const INDICES: usize = 0;
    const MADE: usize = 1;
    let indices = indices.contiguous()?;
    let shape = indices.arg().shape();
    let row_len = shape.row_len();
    let runtime = indices.runtime();
    let made = runtime.new_store(shape, DType::I64);
    let declared = [
        (Privilege::Read, Access::Rows, I::DTYPE),
        (Privilege::Write, Access::Rows, DType::I64),
    ];
    let task = HostTask::new(move |args: &mut HostArgs<'_>| {
        let begin = args.rows().start * row_len;
        let made = args.write::<i64>(MADE)?;
        let indices = args.read::<I>(INDICES)?;
        args.in_parts(made, 1, |first, part| {
            let Lines { n, m, inner, .. } = lines;
            for (number, (made, &index)) in part.iter_mut().zip(&indices[first..]).enumerate() {
                let item = begin + first + number;
                let (unit, place) = (item / inner, item % inner);
                match lines.place(index) {
                    Some(at) => *made = ((unit / m * n + at) * inner + place) as i64,
                    None => return Err(lines.refused(index, item)),
                }
            }
            Ok(())
        })
    });
    let body = HostBody::new(lines.op, &declared);
    runtime.submit_host(&body, &[indices.store(), &made], task)?;
    Ok(Array::wrap(made, None))
}

fn misfit<const D: usize>(
    op: &'static str,
    of_x: [usize; D],
    of_indices: [usize; D],
    axis: usize,
) -> Error {
    let mut expected = of_x;
    expected[axis] = of_indices[axis];
    Error::shape(op, Shape::new(&expected), Shape::new(&of_indices))
}
