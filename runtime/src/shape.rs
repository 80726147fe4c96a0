//! Shapes of stores and views: up to four dimensions, row-major.

use std::fmt;

/// The largest number of dimensions.
pub const MAX_RANK: usize = 4;

/// The lengths of the dimensions of a store or view; rank 0 is a single element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    rank: u8,
    /// Dimensions beyond the rank are 1.
    dims: [usize; MAX_RANK],
}

impl Shape {
    /// The shape of a single element.
    pub const SCALAR: Self = Self {
        rank: 0,
        dims: [1; MAX_RANK],
    };

    /// A shape from its dimensions.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_RANK`] of them: ranks are fixed by types, not by data.
    #[must_use]
    pub fn new(dims: &[usize]) -> Self {
        assert!(
            dims.len() <= MAX_RANK,
            "shapes have at most {MAX_RANK} dimensions"
        );
        let mut shape = Self {
            rank: dims.len() as u8,
            dims: [1; MAX_RANK],
        };
        shape.dims[..dims.len()].copy_from_slice(dims);
        shape
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The lengths of the dimensions.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank as usize]
    }

    /// The lengths of the dimensions, with 1 beyond the rank.
    #[must_use]
    pub fn padded_dims(&self) -> [usize; MAX_RANK] {
        self.dims
    }

    /// The number of elements; the largest number where there are more.
    #[must_use]
    pub fn len(&self) -> usize {
        self.checked_len().unwrap_or(usize::MAX)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements, or `None` if the product of the dimensions other than 0 does not fit
    /// a `usize`: so that those of some dimensions do, also of an array without elements.
    #[must_use]
    pub fn checked_len(&self) -> Option<usize> {
        let product = self.checked_product()?;
        Some(match self.dims.contains(&0) {
            true => 0,
            false => product,
        })
    }

    /// The product of the dimensions other than 0.
    fn checked_product(&self) -> Option<usize> {
        let mut dims = self.dims().iter().filter(|&&dim| dim > 0);
        dims.try_fold(1usize, |len, &dim| len.checked_mul(dim))
    }

    /// Whether memory can hold as many elements of `size` bytes: no object has more than
    /// `isize::MAX` bytes.
    pub(crate) fn fits_memory(&self, size: usize) -> bool {
        // Rows without columns are counted, and stepped over, as well.
        let bytes = self.checked_product().and_then(|len| len.checked_mul(size));
        bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
    }

    /// The length of dimension 0, along which stores are cut; 1 for a single element.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.dims[0]
    }

    /// The number of elements of one row: everything but dimension 0.
    #[must_use]
    pub fn row_len(&self) -> usize {
        let dims = self.dims[1..].iter();
        dims.fold(1, |len: usize, &dim| len.saturating_mul(dim))
    }

    /// The distances, in elements, between neighbours along each dimension.
    #[must_use]
    pub fn strides(&self) -> [isize; MAX_RANK] {
        let mut strides = [1isize; MAX_RANK];
        for d in (0..MAX_RANK - 1).rev() {
            strides[d] = strides[d + 1].wrapping_mul(self.dims[d + 1] as isize);
        }
        strides
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (d, dim) in self.dims().iter().enumerate() {
            write!(f, "{}{dim}", if d == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
