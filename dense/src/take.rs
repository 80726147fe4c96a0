//! Gathers: elements of an array at indices that another array holds.
//!
//! Where indices are used again and again, a gather is a kernel ([`crate::gather`]), else a host
//! task. The rows of that are those of the result; of what is gathered from, each rank reads what
//! it holds, and asks the others for the units that its items name, in their order. Where every
//! rank holds everything, nothing is asked.

use crate::array::{Array, Vector};
use crate::gather;
use crate::indices::{Index, Lines, Segment, element_cuts, owner};
use crate::operand::{ScalarOperand, check_len, expect, named};
use crate::scalar::Scalar;
use crate::views::check_axes;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Access, Error, HostArgs, HostBody, HostTask, Privilege, Shape, reserve};

/// The arguments of the task.
const X: usize = 0;
const INDICES: usize = 1;
const MADE: usize = 2;

impl<T: Element, const D: usize> Array<T, D> {
    /// The elements at flat, row-major indices, in the shape of the index array; of a vector,
    /// simply those at these indices. Negative indices count from the end. NumPy's `take` without
    /// an axis, and `x[indices]` of a vector. One task. It is not fused, but on one rank, of a
    /// vector by a vector of indices that has been used some times: from then on it is fused as
    /// other operations are.
    ///
    /// On several ranks, an element that another rank holds is asked for once for each index that
    /// names it.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![10.0, 20.0, 30.0]);
    /// let indices = Vector::from_vec(vec![2, 0, -1, 2]);
    /// assert_eq!(x.take(&indices).to_vec()?, [30.0, 10.0, 30.0, 30.0]);
    ///
    /// let error = x.take(&Vector::from_vec(vec![0, 3])).to_vec().unwrap_err();
    /// let expected = "take: expected indices from -3 to 2, found 3 at position 1";
    /// assert!(error.to_string().ends_with(expected));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the arrays belong to two runtimes; [`Array::try_take`] returns the error.
    #[doc(alias("gather", "fancy indexing"))]
    #[must_use]
    #[track_caller]
    pub fn take<I: Index, const E: usize>(&self, indices: &Array<I, E>) -> Array<T, E> {
        expect(self.try_take(indices))
    }

    /// As [`Array::take`].
    ///
    /// # Errors
    ///
    /// If the arrays belong to two runtimes. Indices that are out of range are found when the task
    /// runs.
    pub fn try_take<I: Index, const E: usize>(
        &self,
        indices: &Array<I, E>,
    ) -> Result<Array<T, E>, Error> {
        let lines = Lines::flat("take", self.len(), indices.len());
        self.gathered(lines, (indices, Access::Rows), indices.arg().shape())
    }

    /// The element at a flat, row-major index that a scalar is, as [`Array::argmax`] gives it, or
    /// a number: NumPy's `x[k]`. A negative index counts from the end. Waits for nothing. A few
    /// tasks, one of them [`Array::take`].
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (x, y) = (Vector::from_vec(vec![1.0, 9.0, 4.0]), Vector::from_vec(vec![1, 2, 3]));
    /// assert_eq!(y.at(x.argmax()).get()?, 2);
    /// assert_eq!(x.at(-1).get()?, 4.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_at`] returns.
    #[doc(alias("index", "item"))]
    #[must_use]
    #[track_caller]
    pub fn at(&self, index: impl ScalarOperand<i64>) -> Scalar<T> {
        expect(self.try_at(index))
    }

    /// As [`Array::at`].
    ///
    /// # Errors
    ///
    /// If the scalar belongs to another runtime. An index that is out of range is found when the
    /// task runs.
    pub fn try_at(&self, index: impl ScalarOperand<i64>) -> Result<Scalar<T>, Error> {
        const OP: &str = "at";
        let zero = || Vector::<i64>::try_zeros([1]);
        let taken: Vector<T> = named(OP, || {
            let indices = self.runtime().enter(zero)?.try_add(index)?;
            let lines = Lines::flat(OP, self.len(), 1);
            self.gathered(lines, (&indices, Access::Rows), Shape::new(&[1]))
        })?;
        let made = self.runtime().new_store(Shape::SCALAR, T::DTYPE);
        let declared = [
            (Privilege::Read, Access::Whole, T::DTYPE),
            (Privilege::Write, Access::Rows, T::DTYPE),
        ];
        let task = HostTask::new(|args| {
            let taken = args.read::<T>(0)?;
            args.write::<T>(1)?.copy_from_slice(taken);
            Ok(())
        });
        let stores = [taken.store(), &made];
        self.runtime()
            .submit_host(&HostBody::new(OP, &declared), &stores, task)?;
        Ok(Scalar::wrap(made))
    }

    /// The elements at points: element `p` of the result has the index `indices[d][p]` in dimension
    /// `d`. NumPy's `a[i, j]`. Two tasks: [`Array::ravel_multi_index`], [`Array::take`].
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let (i, j) = (Vector::from_vec(vec![0, 1, 1]), Vector::from_vec(vec![2, 0, -1]));
    /// assert_eq!(a.take_points([&i, &j]).to_vec()?, [3, 4, 6]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_take_points`] returns.
    #[must_use]
    #[track_caller]
    pub fn take_points<I: Index, const E: usize>(&self, indices: [&Array<I, E>; D]) -> Array<T, E> {
        expect(self.try_take_points(indices))
    }

    /// As [`Array::take_points`].
    ///
    /// # Errors
    ///
    /// If the index arrays have different shapes, or belong to another runtime. Indices that are
    /// out of range are found when the tasks run.
    pub fn try_take_points<I: Index, const E: usize>(
        &self,
        indices: [&Array<I, E>; D],
    ) -> Result<Array<T, E>, Error> {
        named("take_points", || {
            self.try_take(&Array::try_ravel_multi_index(self.shape(), indices)?)
        })
    }

    /// The slices along an axis at some indices: rows `indices` of a matrix for axis 0, columns for
    /// axis 1. Negative indices count from the end. NumPy's `take` along an axis, ndarray's
    /// `select`. One task, which is fused where [`Array::take`] would be: of a vector or a matrix,
    /// along axis 0.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let columns = a.take_axis(1, &Vector::from_vec(vec![2, 2, 0]));
    /// assert_eq!(columns.to_vec()?, [3, 3, 1, 6, 6, 4]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_take_axis`] returns.
    #[doc(alias("select", "index_select"))]
    #[must_use]
    #[track_caller]
    pub fn take_axis<I: Index>(&self, axis: usize, indices: &Vector<I>) -> Self {
        expect(self.try_take_axis(axis, indices))
    }

    /// As [`Array::take_axis`].
    ///
    /// # Errors
    ///
    /// If there is no such axis, memory cannot hold the result, or the arrays belong to two
    /// runtimes. Indices that are out of range are found when the task runs.
    pub fn try_take_axis<I: Index>(&self, axis: usize, indices: &Vector<I>) -> Result<Self, Error> {
        const OP: &str = "take_axis";
        check_axes::<D>(OP, [axis])?;
        let mut shape = self.shape();
        let lines = Lines::along(OP, &shape, axis, indices.len());
        shape[axis] = indices.len();
        let shape = Shape::new(&shape);
        check_len(OP, shape)?;
        // Of a vector there is an index for each element.
        let access = if D == 1 { Access::Rows } else { Access::Whole };
        self.gathered(lines, (indices, access), shape)
    }

    /// The task. By `Rows`, there is an index for each element of the result; else every rank has
    /// them all.
    fn gathered<I: Index, const N: usize, const E: usize>(
        &self,
        lines: Lines,
        (indices, access): (&Array<I, N>, Access),
        shape: Shape,
    ) -> Result<Array<T, E>, Error> {
        let (x, indices) = (self.contiguous()?, indices.contiguous()?);
        if let Some(made) = gather::by_structure(&x, &indices, lines, shape)? {
            return Ok(made);
        }
        let gather = Gather {
            lines,
            is_aligned: access == Access::Rows,
            x_row_len: x.arg().shape().row_len(),
            row_len: shape.row_len(),
        };
        let reads = [(x.store(), Access::Held), (indices.store(), access)];
        let function = move |args: &mut HostArgs<'_>| gather.run::<T, I>(args);
        Array::made_by(lines.op, self.runtime(), shape, &reads, function)
    }
}

/// What the function of the task knows.
#[derive(Clone, Copy)]
struct Gather {
    lines: Lines,
    /// Whether this rank has the indices of its own items alone.
    is_aligned: bool,
    /// Elements of a row of what is gathered from.
    x_row_len: usize,
    /// Elements of a row of the result.
    row_len: usize,
}

impl Gather {
    fn run<T: Element, I: Index>(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let lines = self.lines;
        let made = args.write::<T>(MADE)?;
        let x = args.read::<T>(X)?;
        let begin = lines.items(args.rows().start * self.row_len);
        let first = if self.is_aligned { begin } else { 0 };
        let indices = (args.read::<I>(INDICES)?, first);
        match element_cuts(args.cuts(X), self.x_row_len) {
            Some(cuts) => self.fetched(args, made, (x, &cuts), (begin, indices)),
            None => args.in_parts(made, lines.inner, |first, part| {
                let begin = begin + first;
                let items = begin..begin + lines.items(part.len());
                match lines.inner {
                    1 => lines.segments(items, indices, |segment| {
                        let line = &x[segment.base..segment.base + lines.n];
                        let made = &mut part[segment.item - begin..][..segment.indices.len()];
                        take(&lines, line, &segment, made)
                    }),
                    inner => lines.for_each(items, indices, |item, start| {
                        let to = (item - begin) * inner;
                        part[to..to + inner].copy_from_slice(&x[start..start + inner]);
                    }),
                }
            }),
        }
    }

    /// Where ranks hold parts of `x` between these cuts. A unit lies within a row, and so on one
    /// rank.
    fn fetched<T: Element, I: Index>(
        &self,
        args: &HostArgs<'_>,
        made: &mut [T],
        (x, cuts): (&[T], &[usize]),
        (begin, indices): (usize, (&[I], usize)),
    ) -> Result<(), Error> {
        let (lines, rank, ranks) = (self.lines, args.rank(), args.ranks());
        let inner = lines.inner;
        let items = || begin..begin + lines.items(made.len());
        let mut counts = vec![0; ranks];
        lines.for_each(items(), indices, |_, start| counts[owner(cuts, start)] += 1)?;
        counts[rank] = 0;
        let wanted: Result<Vec<Vec<u64>>, Error> = counts.into_iter().map(reserve).collect();
        let mut wanted = wanted?;
        lines.for_each(items(), indices, |_, start| {
            let owner = owner(cuts, start);
            if owner != rank {
                wanted[owner].push((start - cuts[owner]) as u64);
            }
        })?;
        let asked = args.all_to_all(&wanted)?;
        drop(wanted);
        let units = |starts: &Vec<u64>| {
            let mut units = reserve(starts.len() * inner)?;
            for &start in starts {
                let end = (start as usize).checked_add(inner);
                let unit = end.and_then(|end| x.get(start as usize..end));
                let refuse = || Error::argument(lines.op, "places on this rank", start.to_string());
                units.extend_from_slice(unit.ok_or_else(refuse)?);
            }
            Ok(units)
        };
        let sent: Result<Vec<Vec<T>>, Error> = asked.iter().map(units).collect();
        let arrived = args.all_to_all(&sent?)?;
        let mut next = vec![0; ranks];
        lines.for_each(items(), indices, |item, start| {
            let owner = owner(cuts, start);
            let unit = if owner == rank {
                &x[start - cuts[rank]..][..inner]
            } else {
                next[owner] += inner;
                &arrived[owner][next[owner] - inner..next[owner]]
            };
            let to = (item - begin) * inner;
            made[to..to + inner].copy_from_slice(unit);
        })
    }
}

/// Single elements of a line: a loop as short as it can be, so that a core has as many elements
/// under way as it can.
fn take<T: Element, I: Index>(
    lines: &Lines,
    line: &[T],
    segment: &Segment<'_, I>,
    made: &mut [T],
) -> Result<(), Error> {
    for (number, (made, &index)) in made.iter_mut().zip(segment.indices).enumerate() {
        match index.place(line.len()) {
            Some(place) => *made = line[place],
            None => return Err(lines.refused(index, segment.number + number)),
        }
    }
    Ok(())
}
