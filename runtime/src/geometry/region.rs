//! Regions: boxes of indices of a store, and how one lies within the memory of another.

use crate::shape::{MAX_RANK, Shape};
use std::ops::Range;

/// A box of indices of a store: the half-open range of each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) lo: [usize; MAX_RANK],
    pub(crate) hi: [usize; MAX_RANK],
}

impl Region {
    /// Rows `rows` of a store, all of its other dimensions.
    pub(crate) fn of_rows(shape: Shape, rows: &Range<usize>) -> Self {
        let mut region = Self {
            lo: [0; MAX_RANK],
            hi: shape.padded_dims(),
        };
        if shape.rank() > 0 {
            region.lo[0] = rows.start;
            region.hi[0] = rows.end;
        }
        region
    }

    pub(crate) fn len(&self) -> usize {
        (0..MAX_RANK).map(|d| self.hi[d] - self.lo[d]).product()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn contains(&self, other: &Self) -> bool {
        other.is_empty()
            || (0..MAX_RANK).all(|d| self.lo[d] <= other.lo[d] && other.hi[d] <= self.hi[d])
    }

    /// The smallest box that holds both.
    pub(crate) fn hull(&self, other: &Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => *other,
            (false, true) => *self,
            (false, false) => Self {
                lo: std::array::from_fn(|d| self.lo[d].min(other.lo[d])),
                hi: std::array::from_fn(|d| self.hi[d].max(other.hi[d])),
            },
        }
    }

    pub(crate) fn intersect(&self, other: &Self) -> Self {
        let mut both = *self;
        for d in 0..MAX_RANK {
            both.lo[d] = self.lo[d].max(other.lo[d]);
            both.hi[d] = self.hi[d].min(other.hi[d]).max(both.lo[d]);
        }
        both
    }

    pub(super) fn strides(&self) -> [isize; MAX_RANK] {
        let mut strides = [1; MAX_RANK];
        for d in (0..MAX_RANK - 1).rev() {
            strides[d] = strides[d + 1] * (self.hi[d + 1] - self.lo[d + 1]) as isize;
        }
        strides
    }

    /// Calls `visit(offset in this region's memory, offset in the memory of part, run length)`, in
    /// elements, for each run of neighbouring elements of `part`, which lies within this region.
    pub(crate) fn for_each_run(&self, part: &Self, mut visit: impl FnMut(usize, usize, usize)) {
        if part.is_empty() {
            return;
        }
        let (outer, inner) = (self.strides(), part.strides());
        let run = part.hi[3] - part.lo[3];
        for i in part.lo[0]..part.hi[0] {
            for j in part.lo[1]..part.hi[1] {
                for k in part.lo[2]..part.hi[2] {
                    let at = |lo: &[usize; MAX_RANK], strides: &[isize; MAX_RANK]| {
                        (i - lo[0]) * strides[0] as usize
                            + (j - lo[1]) * strides[1] as usize
                            + (k - lo[2]) * strides[2] as usize
                    };
                    let from = at(&self.lo, &outer) + (part.lo[3] - self.lo[3]);
                    visit(from, at(&part.lo, &inner), run);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_a_part_once() {
        let whole = Region::of_rows(Shape::new(&[4, 5]), &(1..4));
        let part = Region {
            lo: [2, 1, 0, 0],
            hi: [4, 3, 1, 1],
        };
        let mut seen = Vec::new();
        whole.for_each_run(&part, |from, to, run| seen.push((from, to, run)));
        assert_eq!(seen, [(6, 0, 1), (7, 1, 1), (11, 2, 1), (12, 3, 1)]);
    }
}
