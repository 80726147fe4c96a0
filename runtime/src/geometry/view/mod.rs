//! Views: a store seen through slices, a permutation of its dimensions, and broadcasts.
//!
//! A view maps each of its own indices to one index of the base store, dimension by dimension:
//! `base[axis[v]] = offset[axis[v]] + step[v] * index[v]`. A dimension of the view without an axis
//! repeats (broadcast); a dimension of the base without one stays at its offset.
//!
//! A view in another shape ([`View::reshape`]) sees the base as one dimension, that of its elements
//! in row-major order, and all of its own dimensions walk along this one.

use super::region::Region;
use crate::error::Error;
use crate::shape::{MAX_RANK, Shape};
use std::ops::Range;

/// A store seen through a transform; see the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct View {
    shape: Shape,
    base: Shape,
    /// For each dimension of the base, the index that view index 0 has.
    offset: [usize; MAX_RANK],
    /// For each dimension of the view, the dimension of the base it walks along.
    axis: [Option<u8>; MAX_RANK],
    /// For each dimension of the view, how far one step of it goes.
    step: [isize; MAX_RANK],
    /// Whether `offset` and `axis` mean the one dimension of all elements of the base.
    is_flat: bool,
}

impl View {
    /// The whole store as it is.
    #[must_use]
    pub fn identity(base: Shape) -> Self {
        let mut view = Self {
            shape: base,
            base,
            offset: [0; 4],
            axis: [None; MAX_RANK],
            step: [0; MAX_RANK],
            is_flat: false,
        };
        for d in 0..base.rank() {
            view.axis[d] = Some(d as u8);
            view.step[d] = 1;
        }
        view
    }

    /// The shape of the view.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The same without a copy.
    pub(crate) fn shape_ref(&self) -> &Shape {
        &self.shape
    }

    /// The shape of the stores that it is a view of.
    #[must_use]
    pub fn base(&self) -> Shape {
        self.base
    }

    /// Refuses stores of another shape than the view is one of: it may reach beyond them.
    ///
    /// # Errors
    ///
    /// If the store has another shape.
    pub fn check_base(&self, op: &'static str, store: Shape) -> Result<(), Error> {
        if self.base == store {
            return Ok(());
        }
        let expected = format!("a view of a store of shape {store}");
        let found = format!("a view of one of shape {}", self.base);
        Err(Error::argument(op, expected, found))
    }

    /// The dimension of the store that dimension `dim` of the view walks along; `None` where it
    /// repeats elements, or sees those of several dimensions.
    #[must_use]
    pub fn axis_of(&self, dim: usize) -> Option<usize> {
        let axis = self.axis.get(dim).copied().flatten();
        axis.filter(|_| !self.is_flat).map(usize::from)
    }

    /// Whether the view is the whole store as it is.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        *self == Self::identity(self.base)
    }

    /// Every `step`-th index of `range` along dimension `dim`; a negative step walks `range`
    /// backwards from its last index.
    ///
    /// # Errors
    ///
    /// If the dimension does not exist, the range leaves it, or the step is 0.
    pub fn slice(&self, dim: usize, range: Range<usize>, step: isize) -> Result<Self, Error> {
        if dim >= self.shape.rank() {
            let expected = format!("a dimension below {}", self.shape.rank());
            return Err(Error::argument("slice", expected, dim.to_string()));
        }
        let len = self.shape.dims()[dim];
        if range.start > range.end || range.end > len {
            let expected = format!("a range within 0..{len} for dimension {dim}");
            return Err(Error::argument("slice", expected, format!("{range:?}")));
        }
        if step == 0 {
            return Err(Error::argument("slice", "a step other than 0", "0"));
        }
        let count = range.len().div_ceil(step.unsigned_abs());
        let mut view = *self;
        view.shape = with_dim(self.shape, dim, count);
        let first = if step > 0 || count == 0 {
            range.start
        } else {
            range.end - 1
        };
        if let Some(axis) = self.axis[dim] {
            let start = &mut view.offset[axis as usize];
            *start = start.wrapping_add_signed((first as isize).wrapping_mul(self.step[dim]));
        }
        // From one index no step is taken: all are the same view, and none is too large to compute
        // with. What wraps is a view of more elements than memory can hold.
        if count > 1 {
            view.step[dim] = self.step[dim].wrapping_mul(step);
        }
        Ok(view)
    }

    /// The view with its dimensions in the opposite order.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let rank = self.shape.rank();
        let order: [usize; MAX_RANK] = std::array::from_fn(|d| rank.saturating_sub(d + 1));
        self.in_order(&order[..rank])
    }

    /// The view with its dimensions in another order: dimension `d` is what dimension `order[d]`
    /// was.
    ///
    /// # Errors
    ///
    /// If the order does not have each dimension once.
    pub fn permute(&self, order: &[usize]) -> Result<Self, Error> {
        let rank = self.shape.rank();
        if order.len() != rank || (0..rank).any(|dim| !order.contains(&dim)) {
            let expected = format!("each of the dimensions 0..{rank} once");
            return Err(Error::argument("permute", expected, format!("{order:?}")));
        }
        Ok(self.in_order(order))
    }

    fn in_order(&self, order: &[usize]) -> Self {
        let mut view = *self;
        let mut dims = self.shape.padded_dims();
        for (d, &from) in order.iter().enumerate() {
            dims[d] = self.shape.dims()[from];
            view.axis[d] = self.axis[from];
            view.step[d] = self.step[from];
        }
        view.shape = Shape::new(&dims[..order.len()]);
        view
    }

    /// The view without dimension `dim`, at `index` of it.
    ///
    /// # Errors
    ///
    /// If the dimension or the index does not exist.
    pub fn index(&self, dim: usize, index: usize) -> Result<Self, Error> {
        let rank = self.shape.rank();
        let len = self.shape.padded_dims();
        if dim < rank && index >= len[dim] {
            let expected = format!("an index below {} for dimension {dim}", len[dim]);
            return Err(Error::argument("index", expected, index.to_string()));
        }
        let mut view = self.slice(dim, index..index.saturating_add(1), 1)?;
        let mut dims = self.shape.padded_dims();
        dims.copy_within(dim + 1..rank, dim);
        view.axis.copy_within(dim + 1..rank, dim);
        view.step.copy_within(dim + 1..rank, dim);
        view.axis[rank - 1] = None;
        view.step[rank - 1] = 0;
        view.shape = Shape::new(&dims[..rank - 1]);
        Ok(view)
    }

    /// The elements of a diagonal of a view of two dimensions: of the main one for 0, of one above
    /// it for positive numbers, below it for negative ones; none beyond the corners.
    ///
    /// ```
    /// use sparsefuse_runtime::{Shape, View};
    ///
    /// let turned = View::identity(Shape::new(&[2, 3])).transpose();
    /// let diagonal = turned.diagonal(-1)?;
    /// assert_eq!((diagonal.shape(), diagonal.strides().0), (Shape::new(&[2]), 1));
    /// assert_eq!(diagonal.strides().1[0], 4);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the view has another number of dimensions.
    pub fn diagonal(&self, offset: isize) -> Result<Self, Error> {
        let &[n_rows, n_columns] = self.shape.dims() else {
            let found = self.shape.rank().to_string();
            return Err(Error::argument("diagonal", "two dimensions", found));
        };
        let size = offset.unsigned_abs();
        let (row, column) = match offset < 0 {
            true => (size.min(n_rows), 0),
            false => (0, size.min(n_columns)),
        };
        let len = (n_rows - row).min(n_columns - column);
        let square = self.slice(0, row..row + len, 1)?;
        let flat = square.slice(1, column..column + len, 1)?.flat();
        let whole = Self::identity(self.base);
        let mut view = Self {
            shape: Shape::new(&[len]),
            axis: [None; MAX_RANK],
            step: [0; MAX_RANK],
            ..flat
        };
        if flat.axis[..2].iter().any(Option::is_some) {
            view.axis[0] = Some(0);
            // As of a slice, from one index no step is taken.
            view.step[0] = match len > 1 {
                true => flat.step[0].wrapping_add(flat.step[1]),
                false => 1,
            };
        }
        let is_whole = view.shape == self.base
            && (view.offset[0], view.axis[0], view.step[0]) == (0, Some(0), 1);
        Ok(if is_whole { whole } else { view })
    }

    /// The view repeated to a larger shape, by NumPy's rules: dimensions are matched from the
    /// last, and those of length 1 or missing ones repeat.
    ///
    /// # Errors
    ///
    /// If a dimension has neither length 1 nor the length asked for, or there would be more
    /// elements than can be counted.
    pub fn broadcast_to(&self, shape: Shape) -> Result<Self, Error> {
        let (from, to) = (self.shape.rank(), shape.rank());
        let refuse = || Error::shape("broadcast", shape, self.shape);
        let lead = to.checked_sub(from).ok_or_else(refuse)?;
        if !shape.fits_memory(1) {
            let expected = format!("at most {} elements", isize::MAX);
            return Err(Error::argument("broadcast", expected, shape.to_string()));
        }
        let mut view = Self {
            shape,
            axis: [None; 4],
            step: [0; 4],
            ..*self
        };
        for d in 0..from {
            let (have, want) = (self.shape.dims()[d], shape.dims()[lead + d]);
            if have == want {
                view.axis[lead + d] = self.axis[d];
                view.step[lead + d] = self.step[d];
            } else if have != 1 {
                return Err(refuse());
            }
        }
        Ok(view)
    }

    /// The view with a new dimension of length 1 before dimension `dim`.
    ///
    /// # Errors
    ///
    /// If there is no room for another dimension, or `dim` is beyond the rank.
    pub fn insert_axis(&self, dim: usize) -> Result<Self, Error> {
        let rank = self.shape.rank();
        if rank == MAX_RANK || dim > rank {
            let expected = format!("a position up to {rank} and at most {MAX_RANK} dimensions");
            return Err(Error::argument("insert_axis", expected, dim.to_string()));
        }
        let mut view = *self;
        let mut dims = self.shape.padded_dims();
        dims.copy_within(dim..rank, dim + 1);
        view.axis.copy_within(dim..rank, dim + 1);
        view.step.copy_within(dim..rank, dim + 1);
        dims[dim] = 1;
        view.axis[dim] = None;
        view.step[dim] = 0;
        view.shape = Shape::new(&dims[..rank + 1]);
        Ok(view)
    }

    /// The same elements, in row-major order, in another shape with as many elements; `None` where
    /// steps through memory cannot say it, as of a transpose.
    ///
    /// ```
    /// use sparsefuse_runtime::{Shape, View};
    ///
    /// let grid = View::identity(Shape::new(&[6])).reshape(Shape::new(&[2, 3])).unwrap();
    /// assert_eq!(grid.shape(), Shape::new(&[2, 3]));
    /// assert!(grid.transpose().reshape(Shape::new(&[6])).is_none());
    /// ```
    #[must_use]
    pub fn reshape(&self, shape: Shape) -> Option<Self> {
        if shape.checked_len() != Some(self.shape.len()) {
            return None;
        }
        if shape == self.shape {
            return Some(*self);
        }
        let whole = Self::identity(self.base);
        let flat = self.flat();
        let mut view = Self {
            shape,
            axis: [None; MAX_RANK],
            step: [0; MAX_RANK],
            ..flat
        };
        if shape.is_empty() {
            return Some(view);
        }
        // Dimensions of length 1 are not walked along. The others are matched from the last, as few
        // of both shapes at a time as have the same number of elements.
        let walked = |dims: &[usize]| -> Vec<usize> {
            (0..dims.len()).rev().filter(|&d| dims[d] != 1).collect()
        };
        let (from, to) = (self.shape.dims(), shape.dims());
        let (mut olds, mut news) = (&walked(from)[..], &walked(to)[..]);
        while let ([old, older @ ..], [new, newer @ ..]) = (olds, news) {
            let (axis, step) = (flat.axis[*old], flat.step[*old]);
            let (mut n_old, mut n_new) = (from[*old], to[*new]);
            (view.axis[*new], view.step[*new]) = (axis, step);
            (olds, news) = (older, newer);
            while n_old != n_new {
                if n_new < n_old {
                    let (new, newer) = news.split_first()?;
                    (view.axis[*new], view.step[*new]) = (axis, step * n_new as isize);
                    (n_new, news) = (n_new * to[*new], newer);
                } else {
                    // The next old dimension has to go on where this one ends.
                    let (old, older) = olds.split_first()?;
                    if flat.step[*old] != step * n_old as isize {
                        return None;
                    }
                    (n_old, olds) = (n_old * from[*old], older);
                }
            }
        }
        let strides = self.base.strides();
        let is_whole = shape == self.base
            && view.offset[0] == 0
            && (0..shape.rank()).all(|d| to[d] == 1 || view.step[d] == strides[d]);
        Some(if is_whole { whole } else { view })
    }

    /// Where the first element of the view lies among all elements of the store, row-major, and how
    /// far one step along each dimension goes there.
    ///
    /// ```
    /// use sparsefuse_runtime::{Shape, View};
    ///
    /// let turned = View::identity(Shape::new(&[2, 3])).slice(1, 1..3, 1)?.transpose();
    /// assert_eq!(turned.strides(), (1, [1, 3, 0, 0]));
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    #[must_use]
    pub fn strides(&self) -> (usize, [isize; MAX_RANK]) {
        let whole = Region::of_rows(self.base, &(0..self.base.rows()));
        let (first, strides) = self.placement(&whole, 0);
        (first as usize, strides)
    }

    /// The same view, with the base as one dimension.
    fn flat(&self) -> Self {
        if self.is_flat {
            return *self;
        }
        let mut flat = Self {
            offset: [0; MAX_RANK],
            is_flat: true,
            ..*self
        };
        let (first, strides) = self.strides();
        flat.offset[0] = first;
        for v in 0..self.shape.rank() {
            flat.axis[v] = self.axis[v].map(|_| 0);
            flat.step[v] = strides[v];
        }
        flat
    }

    /// How many dimensions of the base `offset` and `axis` mean.
    fn base_rank(&self) -> usize {
        match self.is_flat {
            true => 1,
            false => self.base.rank(),
        }
    }

    /// Appends what tells this view from others of the same store.
    pub(crate) fn push_words(&self, words: &mut Vec<u64>) {
        self.push_words_from(&[0; MAX_RANK], words);
    }

    /// The same, with where it begins as seen from another place.
    pub(crate) fn push_words_from(&self, origin: &[usize; MAX_RANK], key: &mut Vec<u64>) {
        // The word with the rank stands first: who reads the words in order knows how many follow.
        let axes = self.axis[..self.shape.rank()].iter();
        let first = self.shape.rank() as u64 | u64::from(self.is_flat) << 3;
        let axes = axes.fold(first, |axes, axis| axes << 4 | axis.map_or(15, u64::from));
        // At once: pushed one by one, each would look for room.
        let mut words = [axes; 1 + 3 * MAX_RANK];
        let (mut rest, mut count) = (&mut words[1..], 1);
        for v in 0..self.shape.rank() {
            rest[0] = self.shape.dims()[v] as u64;
            rest[1] = self.step[v] as u64;
            (rest, count) = (&mut rest[2..], count + 2);
        }
        let offsets = self.offset[..self.base_rank()].iter().zip(origin);
        for (word, (offset, origin)) in rest.iter_mut().zip(offsets) {
            (*word, count) = (offset.wrapping_sub(*origin) as u64, count + 1);
        }
        key.extend_from_slice(&words[..count]);
    }

    /// For each dimension of the base, where the view begins.
    pub(crate) fn offset(&self) -> &[usize; MAX_RANK] {
        &self.offset
    }

    /// Where the view begins among all elements of the base, row-major.
    pub(crate) fn first(&self) -> usize {
        if self.is_flat {
            return self.offset[0];
        }
        let dims = self.base.dims().iter().zip(&self.offset);
        dims.fold(0, |first: usize, (&dim, &at)| {
            first.wrapping_mul(dim).wrapping_add(at)
        })
    }

    /// Whether the view is one of a store with this shape, along the dimensions of the store.
    pub(crate) fn is_part_of(&self, store: &Shape) -> bool {
        !self.is_flat && self.base == *store
    }

    /// Where the view begins along each dimension of the base, if another one differs in nothing
    /// else.
    pub(crate) fn offset_beside(&self, other: &Self) -> Option<[usize; MAX_RANK]> {
        let moved = Self {
            offset: other.offset,
            ..*self
        };
        (moved == *other && !self.is_flat).then_some(self.offset)
    }

    /// The same view, beginning elsewhere.
    pub(crate) fn at_offset(&self, offset: [usize; MAX_RANK]) -> Self {
        Self { offset, ..*self }
    }

    /// The row of the base that is row 0 of the view, if row after row of it is one of the base.
    pub(crate) fn first_row(&self) -> Option<usize> {
        let goes_along = self.axis[0] == Some(0) && self.step[0] == 1;
        let is_alone = self.axis[1..].iter().all(|&axis| axis != Some(0));
        (goes_along && is_alone && !self.is_flat).then_some(self.offset[0])
    }

    /// Whether every element of the base is seen at most once, in ascending order, along the same
    /// dimensions: what a task may write through.
    pub(crate) fn is_slice(&self) -> bool {
        let rank = self.shape.rank();
        !self.is_flat
            && rank == self.base.rank()
            && (0..rank).all(|d| self.axis[d] == Some(d as u8) && self.step[d] > 0)
    }

    /// What this view of a box sees of the store that the box lies in, from `lo` on; `None` for a
    /// view in another shape.
    pub(crate) fn within(&self, base: Shape, lo: &[usize; MAX_RANK]) -> Option<Self> {
        (!self.is_flat).then(|| Self {
            base,
            offset: std::array::from_fn(|d| self.offset[d].wrapping_add(lo[d])),
            ..*self
        })
    }

    /// Whether two views of one store may see the same element: `false` only where they see none in
    /// common, by their ranges and steps along some dimension.
    pub(crate) fn may_meet(&self, other: &Self) -> bool {
        let walks = |view: &Self, d: usize| {
            let region = view.region(&(0..view.shape.rows()));
            if view.is_flat {
                // Which of the rows that it reaches it steps over is not asked.
                return (region.lo[d]..region.hi[d], 1);
            }
            let v = (0..view.shape.rank()).find(|&v| view.axis[v] == Some(d as u8));
            let step = v.map_or(0, |v| view.step[v].unsigned_abs());
            (region.lo[d]..region.hi[d], step)
        };
        if self.shape.is_empty() || other.shape.is_empty() {
            return false;
        }
        (0..self.base.rank()).all(|d| {
            let ((mine, step), (others, other_step)) = (walks(self, d), walks(other, d));
            let is_apart = mine.end <= others.start || others.end <= mine.start;
            let stride = gcd(step, other_step);
            let is_between = stride > 0 && mine.start.abs_diff(others.start) % stride != 0;
            !(is_apart || is_between)
        })
    }

    /// The rows of the view whose elements (first elements, in another shape) lie in rows `rows` of
    /// the base, where dimension 0 of the view walks upwards along dimension 0 of the base.
    pub(crate) fn rows_within(&self, rows: Range<usize>) -> Option<Range<usize>> {
        if self.axis[0] != Some(0) || self.step[0] <= 0 {
            return None;
        }
        let step = self.step[0] as usize;
        let elements = if self.is_flat { self.base.row_len() } else { 1 };
        let first_at_or_after = |row: usize| {
            (row * elements)
                .saturating_sub(self.offset[0])
                .div_ceil(step)
                .min(self.shape.rows())
        };
        Some(first_at_or_after(rows.start)..first_at_or_after(rows.end))
    }

    /// The smallest box of the base that holds every element of rows `rows` of the view.
    pub(crate) fn region(&self, rows: &Range<usize>) -> Region {
        let mut dims = self.shape.padded_dims();
        let mut first = [0; MAX_RANK];
        if self.shape.rank() > 0 {
            dims[0] = rows.len();
            first[0] = rows.start;
        }
        let mut region = Region {
            lo: [0; MAX_RANK],
            hi: [1; MAX_RANK],
        };
        if self.is_flat {
            return self.rows_around(&first, &dims);
        }
        if dims.contains(&0) {
            // The offset of a view of nothing may lie anywhere.
            region.hi = region.lo;
            return region;
        }
        for d in 0..self.base.rank() {
            region.lo[d] = self.offset[d];
            region.hi[d] = self.offset[d] + 1;
        }
        for v in 0..self.shape.rank() {
            let Some(d) = self.axis[v].map(usize::from) else {
                continue;
            };
            let at =
                |index: usize| self.offset[d].wrapping_add_signed(self.step[v] * index as isize);
            let (a, b) = (at(first[v]), at(first[v] + dims[v] - 1));
            region.lo[d] = a.min(b);
            region.hi[d] = a.max(b) + 1;
        }
        region
    }

    /// The rows of the base that hold what these dimensions of a view in another shape see from
    /// their first indices on.
    fn rows_around(&self, first: &[usize; MAX_RANK], dims: &[usize; MAX_RANK]) -> Region {
        let (mut lo, mut hi) = (self.offset[0] as isize, self.offset[0] as isize);
        for v in 0..self.shape.rank() {
            let last = (first[v] + dims[v]).saturating_sub(1);
            let ends = [first[v], last].map(|index| self.step[v] * index as isize);
            lo += ends[0].min(ends[1]);
            hi += ends[0].max(ends[1]);
        }
        let row_len = self.base.row_len().max(1);
        let rows = match dims.contains(&0) {
            true => 0..0,
            false => lo as usize / row_len..hi as usize / row_len + 1,
        };
        Region::of_rows(self.base, &rows)
    }

    /// Where row `first_row` of the view lies in memory that holds `held` (row-major), and the
    /// strides of the view's dimensions there; all in elements.
    pub(crate) fn placement(&self, held: &Region, first_row: usize) -> (isize, [isize; MAX_RANK]) {
        if self.is_flat {
            // The memory holds whole rows of the base.
            let before = held.lo[0] * self.base.row_len();
            let start = self.offset[0] as isize - before as isize;
            return (start + first_row as isize * self.step[0], self.step);
        }
        let memory = held.strides();
        let mut start = 0;
        for d in 0..self.base.rank() {
            start += (self.offset[d] as isize - held.lo[d] as isize) * memory[d];
        }
        let mut strides = [0; MAX_RANK];
        for v in 0..self.shape.rank() {
            if let Some(d) = self.axis[v] {
                strides[v] = self.step[v] * memory[d as usize];
            }
        }
        (start + first_row as isize * strides[0], strides)
    }
}

/// The greatest common divisor; of 0 and another number, the other.
pub(super) fn gcd(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

fn with_dim(shape: Shape, dim: usize, len: usize) -> Shape {
    let mut dims = shape.padded_dims();
    dims[dim] = len;
    Shape::new(&dims[..shape.rank()])
}

#[cfg(test)]
mod tests;
