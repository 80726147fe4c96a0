//! Where the smallest and the largest elements along an axis are.
//!
//! A search is a host task. Each rank searches its own rows; along axis 0 the best of each goes to
//! the rank that has the element of the result, which takes the first of the best. Which element
//! wins is a total order of elements with their places, so threads and ranks do not show.

use crate::array::Array;
use crate::indices::element_cuts;
use crate::shares::part;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::{Computation, Isa};
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, try_collect};

/// The arguments of the task.
const X: usize = 0;
const MADE: usize = 1;

/// The methods of arrays with `$more` dimensions, whose results have `$less`.
macro_rules! positions {
    ($($more:literal -> $less:literal),*) => {$(
        twins! {
            @ "If there is no such axis, or it has length 0.";
            [T: Numeric + PartialOrd] Array<T, $more>;
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
            #[doc(alias = "argmin")]
            argmin_axis try_argmin_axis(&self, axis: usize) -> Array<i64, $less> {
                self.search("argmin_axis", axis, |a, b| a < b)
            }

            /// The index of the largest element along an axis, as [`Self::argmin_axis`].
            #[doc(alias = "argmax")]
            argmax_axis try_argmax_axis(&self, axis: usize) -> Array<i64, $less> {
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
        let function = move |args: &mut HostArgs<'_>| search.run::<T>(args, is_better);
        let reads = [(x.store(), Access::Held)];
        Array::made_by(op, self.runtime(), left, &reads, function)
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

/// The best element of a line, and its index; negative where there is none.
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
        if args.cuts(X).is_none() && args.cuts(MADE).is_none() {
            return self.search(args, x, self.n, made, is_better, |Best(_, index)| index);
        }
        if !self.is_first {
            let mut found = try_collect((0..x.len() / self.n).map(|_| -1))?;
            self.search(args, x, self.n, &mut found, is_better, |Best(_, i)| i)?;
            let found = args.recut(&found, self.row_len, args.cuts(X), args.cuts(MADE))?;
            made.copy_from_slice(&found);
            return Ok(());
        }
        let mut best = try_collect((0..self.inner).map(|_| Best(T::ZERO, -1)))?;
        let n = x.len().checked_div(self.inner).unwrap_or(0);
        self.search(args, x, n, &mut best, is_better, |best| best)?;
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

    /// What `made_of` makes of the best of each line of `x`. Lines have `n` elements here; those of
    /// neighbouring places lie side by side.
    fn search<T: Numeric + PartialOrd, U: Send>(
        &self,
        args: &HostArgs<'_>,
        x: &[T],
        n: usize,
        made: &mut [U],
        is_better: impl Fn(T, T) -> bool + Copy + Sync,
        made_of: impl Fn(Best<T>) -> U + Copy + Sync,
    ) -> Result<(), Error> {
        let inner = self.inner;
        // Each thread has some of the lines, which may be few and long.
        let (lines, parts) = (made.len(), args.threads());
        let parts = if x.len() < MANY { 1 } else { parts.min(lines) };
        let lines_of = |number| part(lines, number, parts);
        let ends: Vec<usize> = (0..parts).map(|number| lines_of(number).end).collect();
        args.in_parts_to(made, &ends, |number, made| {
            let first = lines_of(number).start;
            // Choices under masks take longer than those of AVX2.
            self.isa.min(Isa::Avx2).run(Lines {
                x,
                n,
                inner,
                first,
                made,
                is_better,
                made_of,
            });
            Ok(())
        })
    }
}

/// Elements from which on the threads share the lines.
const MANY: usize = 1 << 16;
/// Elements of a line that are compared with each other before one of them is looked for, and of
/// these those that are compared side by side.
const PIECE: usize = 1024;
const CHUNK: usize = 16;
/// Lines of fewer than [`CHUNK`] elements that are searched together, with a copy of an element of
/// each.
const GROUP: usize = 64;
/// The most lines with neighbouring elements that are searched together: what is known of them
/// stays in the L1 cache.
const TOGETHER: usize = 512;

/// Some lines of `x`, from line `first` on.
struct Lines<'a, T, U, F, M> {
    x: &'a [T],
    /// Elements of a line, and of an index of the axis.
    n: usize,
    inner: usize,
    first: usize,
    made: &'a mut [U],
    is_better: F,
    made_of: M,
}

impl<T, U, F, M> Computation for Lines<'_, T, U, F, M>
where
    T: Numeric + PartialOrd,
    F: Fn(T, T) -> bool + Copy,
    M: Fn(Best<T>) -> U + Copy,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { n, is_better, .. } = self;
        if n == 0 {
            let none = |_: &mut U| (self.made_of)(Best(T::ZERO, -1));
            return self.made.iter_mut().for_each(|made| *made = none(made));
        }
        if self.inner > 1 {
            return self.side_by_side();
        }
        let lines = &self.x[self.first * n..];
        if n >= CHUNK {
            for (made, line) in self.made.iter_mut().zip(lines.chunks_exact(n)) {
                *made = (self.made_of)(best_of_line(line, is_better));
            }
            return;
        }
        let (mut best, mut index) = ([T::ZERO; GROUP], [-1; GROUP]);
        let mut column = [T::ZERO; GROUP];
        let groups = self.made.chunks_mut(GROUP).zip(lines.chunks(GROUP * n));
        for (made, lines) in groups {
            let len = made.len();
            let column = &mut column[..len];
            for number in 0..n {
                for (element, line) in column.iter_mut().zip(lines.chunks_exact(n)) {
                    *element = line[number];
                }
                choose(
                    (&mut best[..len], &mut index[..len]),
                    column,
                    number,
                    is_better,
                );
            }
            for ((made, best), index) in made.iter_mut().zip(best).zip(index) {
                *made = (self.made_of)(Best(best, index));
            }
        }
    }
}

impl<T, U, F, M> Lines<'_, T, U, F, M>
where
    T: Numeric + PartialOrd,
    F: Fn(T, T) -> bool + Copy,
    M: Fn(Best<T>) -> U + Copy,
{
    /// Lines whose elements of one index are neighbours.
    #[inline(always)]
    fn side_by_side(self) {
        let Self { x, n, inner, .. } = self;
        let (mut best, mut index) = ([T::ZERO; TOGETHER], [-1; TOGETHER]);
        let mut done = 0;
        while done < self.made.len() {
            let (outer, place) = ((self.first + done) / inner, (self.first + done) % inner);
            let len = (self.made.len() - done).min(inner - place).min(TOGETHER);
            let (best, index) = (&mut best[..len], &mut index[..len]);
            for number in 0..n {
                let row = &x[(outer * n + number) * inner + place..][..len];
                choose((best, index), row, number, self.is_better);
            }
            let made = self.made[done..done + len].iter_mut();
            for ((made, &mut best), &mut index) in made.zip(best).zip(index) {
                *made = (self.made_of)(Best(best, index));
            }
            done += len;
        }
    }
}

/// The next elements of some lines, which win over the best of each or do not; the first ones do.
#[inline(always)]
fn choose<T: Copy + PartialEq>(
    (best, index): (&mut [T], &mut [i64]),
    row: &[T],
    number: usize,
    is_better: impl Fn(T, T) -> bool,
) {
    if number == 0 {
        best.copy_from_slice(row);
        index.fill(0);
        return;
    }
    for ((best, index), &new) in best.iter_mut().zip(index).zip(row) {
        let is_new = is_better(new, *best) | (is_nan(new) & !is_nan(*best));
        *best = if is_new { new } else { *best };
        *index = if is_new { number as i64 } else { *index };
    }
}

/// The best of a line of at least [`CHUNK`] elements: first its value, without branches, and its
/// place only if it is better than what there was.
#[inline(always)]
fn best_of_line<T: Numeric + PartialOrd>(
    line: &[T],
    is_better: impl Fn(T, T) -> bool + Copy,
) -> Best<T> {
    let mut best = Best(T::ZERO, -1);
    let mut first = 0;
    while first < line.len() {
        // The last piece has no fewer elements than a chunk.
        let left = line.len() - first;
        let len = if left < PIECE + CHUNK { left } else { PIECE };
        let piece = &line[first..first + len];
        let found = best_of_piece(piece, is_better);
        if wins(is_better, found, best) {
            let place = match is_nan(found) {
                true => place_of(piece, is_nan),
                false => place_of(piece, |x| x == found),
            };
            best = Best(piece[place], (first + place) as i64);
        }
        first += len;
    }
    best
}

/// The chunks of a piece that has at least one: those that follow each other, and the last
/// elements, of which some may be in two chunks.
#[inline(always)]
fn chunks<T>(piece: &[T]) -> impl Iterator<Item = &[T; CHUNK]> {
    let (whole, _) = piece.as_chunks::<CHUNK>();
    whole.iter().chain(piece.last_chunk::<CHUNK>())
}

/// The best of the elements of a piece; a NaN if one is NaN.
#[inline(always)]
fn best_of_piece<T: Copy + PartialEq>(piece: &[T], is_better: impl Fn(T, T) -> bool) -> T {
    let better = |old: T, new: T| if is_better(new, old) { new } else { old };
    // Numbers, not truth values: lanes of 8 bytes, as those of the elements mostly are.
    let (mut lanes, mut nans) = ([piece[0]; CHUNK], [0_u64; CHUNK]);
    for chunk in chunks(piece) {
        for l in 0..CHUNK {
            lanes[l] = better(lanes[l], chunk[l]);
            nans[l] |= u64::from(is_nan(chunk[l]));
        }
    }
    if nans.iter().fold(0, |any, nan| any | nan) != 0 {
        let nan = piece.iter().find(|&&x| is_nan(x));
        return *nan.expect("one has been seen among the elements");
    }
    let mut half = CHUNK / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = better(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// The place of the first element that is one that is looked for, which is there.
#[inline(always)]
fn place_of<T: Copy>(piece: &[T], is_it: impl Fn(T) -> bool) -> usize {
    let mut first = 0;
    for chunk in chunks(piece) {
        if chunk.iter().fold(false, |any, &x| any | is_it(x)) {
            first = first.min(piece.len() - CHUNK);
            let mut bits = 0_u32;
            for l in 0..CHUNK {
                bits |= u32::from(is_it(chunk[l])) << l;
            }
            return first + bits.trailing_zeros() as usize;
        }
        first += CHUNK;
    }
    unreachable!("what is looked for is one of the elements")
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
