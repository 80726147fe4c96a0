//! Where the smallest and the largest elements along an axis are.
//!
//! A search is a host task. Each rank searches its own rows; along axis 0 the best of each goes to
//! the rank that has the element of the result, which takes the first of the best. Which element
//! wins is a total order of elements with their places, so threads and ranks do not show.

use crate::array::Array;
use crate::indices::element_cuts;
use crate::operand::expect;
use crate::shares::part;
use crate::views::check_axes;
use sparsefuse_kernels::isa::{Computation, Isa};
use sparsefuse_kernels::{DType, Element, Numeric};
use sparsefuse_runtime::{
    Access, Error, HostArgs, HostBody, HostTask, Privilege, Shape, try_collect,
};

/// The arguments of the task.
const X: usize = 0;
const MADE: usize = 1;

/// The methods of arrays with `$more` dimensions, whose results have `$less`.
macro_rules! positions {
    ($($more:literal -> $less:literal),*) => {$(
        impl<T: Numeric + PartialOrd> Array<T, $more> {
            /// The index of the smallest element along an axis, which the result does not have: of
            /// the first of equals, and of the first NaN where there is one. One task, which is not
            /// fused.
            ///
            /// ```
            /// use sparsefuse_dense::Array;
            ///
            /// let a = Array::from_shape_vec([2, 3], vec![3, 1, 2, 0, 5, 2])?;
            /// assert_eq!(a.argmin_axis(1).to_vec()?, [1, 0]);
            /// assert_eq!(a.argmax_axis(0).to_vec()?, [0, 1, 0]);
            /// # Ok::<(), sparsefuse_dense::Error>(())
            /// ```
            ///
            /// # Panics
            ///
            /// With the error that [`Self::try_argmin_axis`] returns.
            #[doc(alias = "argmin")]
            #[must_use]
            #[track_caller]
            pub fn argmin_axis(&self, axis: usize) -> Array<i64, $less> {
                expect(self.try_argmin_axis(axis))
            }

            /// As [`Self::argmin_axis`].
            ///
            /// # Errors
            ///
            /// If there is no such axis, or it has length 0.
            pub fn try_argmin_axis(&self, axis: usize) -> Result<Array<i64, $less>, Error> {
                self.search("argmin_axis", axis, |a, b| a < b)
            }

            /// The index of the largest element along an axis, as [`Self::argmin_axis`].
            ///
            /// # Panics
            ///
            /// With the error that [`Self::try_argmax_axis`] returns.
            #[doc(alias = "argmax")]
            #[must_use]
            #[track_caller]
            pub fn argmax_axis(&self, axis: usize) -> Array<i64, $less> {
                expect(self.try_argmax_axis(axis))
            }

            /// As [`Self::argmax_axis`].
            ///
            /// # Errors
            ///
            /// If there is no such axis, or it has length 0.
            pub fn try_argmax_axis(&self, axis: usize) -> Result<Array<i64, $less>, Error> {
                self.search("argmax_axis", axis, |a, b| a > b)
            }
        }
    )*};
}

positions!(2 -> 1, 3 -> 2, 4 -> 3);

impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {
    /// The task; the result has one dimension less.
    fn search<const L: usize>(
        &self,
        op: &'static str,
        axis: usize,
        is_better: impl Fn(T, T) -> bool + Copy + Send + Sync + 'static,
    ) -> Result<Array<i64, L>, Error> {
        check_axes::<D>(op, [axis])?;
        let shape = self.shape();
        if shape[axis] == 0 {
            let expected = "an axis with elements to compare";
            return Err(Error::argument(op, expected, "one of length 0"));
        }
        let mut left: Vec<usize> = shape.to_vec();
        left.remove(axis);
        let left = Shape::new(&left);
        let search = Search {
            is_first: axis == 0,
            n: shape[axis],
            inner: shape[axis + 1..].iter().product(),
            row_len: left.row_len(),
            isa: self.runtime().config().isa,
        };
        let x = self.contiguous()?;
        let runtime = self.runtime();
        let made = runtime.new_store(left, DType::I64);
        let declared = [
            (Privilege::Read, Access::Held, T::DTYPE),
            (Privilege::Write, Access::Rows, DType::I64),
        ];
        let task = HostTask::new(move |args| search.run::<T>(args, is_better));
        runtime.submit_host(&HostBody::new(op, &declared), &[x.store(), &made], task)?;
        Ok(Array::wrap(made, None))
    }
}

/// What the function of the task knows.
#[derive(Clone, Copy)]
struct Search {
    /// Whether it goes along axis 0.
    is_first: bool,
    /// The length of the axis, and the elements of an index of it.
    n: usize,
    inner: usize,
    /// Elements of a row of the result.
    row_len: usize,
    isa: Isa,
}

/// The best element so far, and its index; negative where there is none.
#[derive(Clone, Copy)]
struct Best<T>(T, i64);

impl Search {
    fn run<T: Numeric + PartialOrd>(
        &self,
        args: &mut HostArgs<'_>,
        is_better: impl Fn(T, T) -> bool + Copy + Send + Sync,
    ) -> Result<(), Error> {
        let x = args.read::<T>(X)?;
        let made = args.write::<i64>(MADE)?;
        if !self.is_first {
            let lines = x.len() / self.n;
            let mut best = try_collect((0..lines).map(|_| Best(T::ZERO, -1)))?;
            self.search(args, x, self.n, &mut best, is_better)?;
            let found: Vec<i64> = try_collect(best.iter().map(|&Best(_, index)| index))?;
            let found = args.recut(&found, self.row_len, args.cuts(X), args.cuts(MADE))?;
            made.copy_from_slice(&found);
            return Ok(());
        }
        let mut best = try_collect((0..self.inner).map(|_| Best(T::ZERO, -1)))?;
        let n = x.len().checked_div(self.inner).unwrap_or(0);
        self.search(args, x, n, &mut best, is_better)?;
        let cuts = element_cuts(args.cuts(MADE), self.row_len);
        let own = |rank: usize| match &cuts {
            Some(cuts) => cuts[rank]..cuts[rank + 1],
            None => 0..self.inner,
        };
        let Some(of_x) = args.cuts(X) else {
            let own = &best[own(args.rank())];
            let pairs = made.iter_mut().zip(own);
            pairs.for_each(|(made, &Best(_, index))| *made = index);
            return Ok(());
        };
        let first = of_x[args.rank()] as i64;
        let values = |rank| try_collect(best[own(rank)].iter().map(|&Best(value, _)| value));
        let indices = |rank| {
            let index = |&Best(_, index): &Best<T>| index + if index < 0 { 0 } else { first };
            try_collect(best[own(rank)].iter().map(index))
        };
        let values: Result<Vec<Vec<T>>, Error> = (0..args.ranks()).map(values).collect();
        let indices: Result<Vec<Vec<i64>>, Error> = (0..args.ranks()).map(indices).collect();
        let (values, indices) = (args.all_to_all(&values?)?, args.all_to_all(&indices?)?);
        for (place, made) in made.iter_mut().enumerate() {
            let mut best = Best(T::ZERO, -1);
            for (values, indices) in values.iter().zip(&indices) {
                if indices[place] >= 0 && wins(is_better, values[place], best) {
                    best = Best(values[place], indices[place]);
                }
            }
            *made = best.1;
        }
        Ok(())
    }

    /// The best of the lines of `x`, which have `n` elements here; lines of neighbouring places lie
    /// side by side.
    fn search<T: Element + PartialEq>(
        &self,
        args: &HostArgs<'_>,
        x: &[T],
        n: usize,
        best: &mut [Best<T>],
        is_better: impl Fn(T, T) -> bool + Copy + Sync,
    ) -> Result<(), Error> {
        let inner = self.inner;
        // Each thread has some of the lines, which may be few and long.
        let (lines, parts) = (best.len(), args.threads());
        let parts = if x.len() < MANY { 1 } else { parts.min(lines) };
        let lines_of = |number| part(lines, number, parts);
        let ends: Vec<usize> = (0..parts).map(|number| lines_of(number).end).collect();
        args.in_parts_to(best, &ends, |number, part| {
            let first = lines_of(number).start;
            if inner == 1 && n > 0 {
                // Choices under masks take longer than those of AVX2.
                self.isa.min(Isa::Avx2).run(LinesOf {
                    lines: &x[first * n..],
                    n,
                    best: part,
                    is_better,
                });
                return Ok(());
            }
            let mut done = 0;
            while done < part.len() {
                let (outer, place) = ((first + done) / inner, (first + done) % inner);
                let len = (part.len() - done).min(inner - place);
                let lines = &mut part[done..done + len];
                for index in 0..n {
                    let row = &x[(outer * n + index) * inner + place..][..len];
                    for (best, &x) in lines.iter_mut().zip(row) {
                        if wins(is_better, x, *best) {
                            *best = Best(x, index as i64);
                        }
                    }
                }
                done += len;
            }
            Ok(())
        })
    }
}

/// Elements from which on the threads share the lines.
const MANY: usize = 1 << 16;
/// Elements of a line that are compared with each other before one of them is looked for, and of these
/// those that are compared side by side.
const PIECE: usize = 1024;
const CHUNK: usize = 16;

/// The best of some lines that lie one after the other.
struct LinesOf<'a, T, F> {
    lines: &'a [T],
    /// Elements of a line, at least one.
    n: usize,
    best: &'a mut [Best<T>],
    is_better: F,
}

impl<T: Element + PartialEq, F: Fn(T, T) -> bool + Copy> Computation for LinesOf<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (best, line) in self.best.iter_mut().zip(self.lines.chunks_exact(self.n)) {
            *best = best_of_line(*best, line, self.is_better);
        }
    }
}

/// The best of a line, the first element of which has index 0: first its value, without branches, and its
/// place only if it is better than what there was.
#[inline(always)]
fn best_of_line<T: Element + PartialEq>(
    mut best: Best<T>,
    line: &[T],
    is_better: impl Fn(T, T) -> bool + Copy,
) -> Best<T> {
    for (number, piece) in line.chunks(PIECE).enumerate() {
        let place = if piece.iter().fold(false, |any, &x| any | is_nan(x)) {
            place_of(piece, is_nan)
        } else {
            let found = best_of_piece(piece, is_better);
            if !wins(is_better, found, best) {
                continue;
            }
            place_of(piece, |x| x == found)
        };
        if wins(is_better, piece[place], best) {
            best = Best(piece[place], (number * PIECE + place) as i64);
        }
    }
    best
}

/// The best of elements that are not NaN.
#[inline(always)]
fn best_of_piece<T: Copy>(piece: &[T], is_better: impl Fn(T, T) -> bool) -> T {
    let better = |old: T, new: T| if is_better(new, old) { new } else { old };
    let (chunks, rest) = piece.as_chunks::<CHUNK>();
    let mut lanes = [piece[0]; CHUNK];
    for chunk in chunks {
        for l in 0..CHUNK {
            lanes[l] = better(lanes[l], chunk[l]);
        }
    }
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] = better(lanes[l], lanes[l + half]);
        }
    }
    rest.iter().copied().fold(lanes[0], better)
}

/// The place of the first element that is one that is looked for, which is there.
#[inline(always)]
fn place_of<T: Copy>(piece: &[T], is_it: impl Fn(T) -> bool) -> usize {
    let (chunks, _) = piece.as_chunks::<CHUNK>();
    let has_it = |chunk: &[T; CHUNK]| chunk.iter().fold(false, |any, &x| any | is_it(x));
    let before = chunks.iter().position(has_it).unwrap_or(chunks.len()) * CHUNK;
    let mut place = before;
    // Without branches: the last that is looked at and fits is the first.
    for (number, &x) in piece[before..].iter().take(CHUNK).enumerate().rev() {
        place = if is_it(x) { before + number } else { place };
    }
    place
}

/// A NaN is not equal to itself.
#[inline(always)]
fn is_nan<T: Copy + PartialEq>(x: T) -> bool {
    #[expect(clippy::eq_op, reason = "what a NaN is")]
    let is_nan = x != x;
    is_nan
}

/// Whether a later element wins over the best so far: a NaN wins over all but an earlier one.
#[inline(always)]
fn wins<T: Copy + PartialEq>(
    is_better: impl Fn(T, T) -> bool,
    new: T,
    Best(old, index): Best<T>,
) -> bool {
    (index < 0) | !is_nan(old) & (is_nan(new) | is_better(new, old))
}
