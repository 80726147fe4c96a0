//! How the elements of an array are divided into the tiles of a reduction.

use crate::element::DType;
use crate::ir::ReduceOp;
use crate::reduce::{Forest, Partial};
use std::ops::Range;

/// The tiles of the elements of an array; see [`crate::reduce`].
///
/// A line is what tiles never reach beyond: the whole array where they are laid along dimension 0.
///
/// ```
/// use sparsefuse_kernels::tiles::Tiles;
///
/// let tiles = |dims: &[usize]| Tiles::of(dims, 1024);
/// assert_eq!(tiles(&[5000]).grain(), 1024); // elements
/// assert_eq!(tiles(&[2000, 500]).grain(), 2); // rows of 500: 1000 elements
/// assert_eq!(tiles(&[100_000, 4, 4]).grain(), 64); // cells of 16
/// assert_eq!(tiles(&[1000, 1_000_000]).grain(), 1); // a line has 977 tiles
/// assert_eq!(tiles(&[256, 256, 256]).grain(), 1); // a plane has 64, of 4 lines each
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Elements of a tile; the last one of a line may have fewer.
    len: usize,
    /// Elements of a line; `usize::MAX` where there is one.
    line: usize,
    /// How many neighbours are joined to one, by a tree each, before the trees along dimension 0:
    /// the tiles of a line, then the lines of each dimension but the first; 1 where there are none.
    joined: [usize; 3],
    /// Indices of dimension 0 that a tile covers.
    grain: usize,
}

impl Tiles {
    /// The tiles of an array of this shape.
    ///
    /// # Panics
    /// If `tile_len` is 0, or there are more than four dimensions.
    #[must_use]
    pub fn of(dims: &[usize], tile_len: usize) -> Self {
        assert!(
            tile_len > 0 && dims.len() <= 4,
            "tiles of up to four dimensions"
        );
        let vector = Self::of_vector(tile_len);
        // Dimensions before `next` are not merged to the cell.
        let (mut cell, mut next) = (1, dims.len());
        while next > 0 && dims[next - 1].saturating_mul(cell) <= tile_len {
            next -= 1;
            cell *= dims[next];
        }
        let Some(along) = next.checked_sub(1) else {
            return vector;
        };
        if cell == 0 || dims.contains(&0) {
            return vector;
        }
        let fits = |n_cells: &usize| tile_len.is_multiple_of(*n_cells);
        let n_cells = (1..=tile_len / cell).rev().find(fits).unwrap_or(1);
        let len = n_cells * cell;
        if along == 0 {
            return Self {
                len,
                grain: n_cells,
                ..vector
            };
        }
        let line = dims[along].saturating_mul(cell);
        let mut joined = [1; 3];
        joined[0] = line.div_ceil(len);
        for (joined, dim) in joined[1..].iter_mut().zip(dims[1..along].iter().rev()) {
            *joined = *dim;
        }
        Self {
            len,
            line,
            joined,
            grain: 1,
        }
    }

    /// The tiles of any vector.
    #[must_use]
    pub const fn of_vector(tile_len: usize) -> Self {
        Self {
            len: tile_len,
            line: usize::MAX,
            joined: [1; 3],
            grain: tile_len,
        }
    }

    /// Elements of a tile; the last one of a line may have fewer.
    #[must_use]
    pub fn tile_len(&self) -> usize {
        self.len
    }

    /// A part of the array that is reduced alone begins at a multiple of this along dimension 0.
    #[must_use]
    pub fn grain(&self) -> usize {
        self.grain
    }

    /// The number of tiles of a part of this many elements, which begins with a tile and, where
    /// there are several, with a line.
    #[must_use]
    pub fn count(&self, len: usize) -> usize {
        let is_whole = (len % self.line).is_multiple_of(self.len);
        self.number(len) + usize::from(!is_whole)
    }

    /// The element of the part with which tile `number` begins.
    pub(crate) fn start(&self, number: usize) -> usize {
        match (self.line, self.per_line()) {
            (usize::MAX, _) => number.saturating_mul(self.len),
            (line, per_line) => number / per_line * line + number % per_line * self.len,
        }
    }

    /// The tile of the part that has this element.
    #[must_use]
    pub fn number(&self, element: usize) -> usize {
        element / self.line * self.per_line() + element % self.line / self.len
    }

    /// How far behind the beginning of a tile an element of the array stands, by its global index,
    /// where a part begins with it and nothing is reduced; 0 where parts begin with lines.
    #[must_use]
    pub fn offset(&self, element: u64) -> u64 {
        match self.line {
            usize::MAX => element % self.len as u64,
            _ => 0,
        }
    }

    /// Whether a tile begins wherever a row of this many elements does, in a part that begins with
    /// an element of the array, by its global index.
    pub(crate) fn begin_with(&self, element: u64, row_len: usize) -> bool {
        match self.line {
            usize::MAX => self.offset(element) == 0 && row_len.is_multiple_of(self.len),
            line => row_len.is_multiple_of(line),
        }
    }

    /// How many tiles of full length follow each other from the first of these elements on, with
    /// which one begins.
    pub(crate) fn whole(&self, elements: &Range<usize>) -> usize {
        let end = match self.line.is_multiple_of(self.len) || self.line == usize::MAX {
            true => elements.end,
            false => elements
                .end
                .min((elements.start / self.line + 1) * self.line),
        };
        (end - elements.start) / self.len
    }

    /// Elements of a line; `usize::MAX` where there is one.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// How many neighbours are joined to one before the trees along dimension 0, one after the
    /// other.
    pub(crate) fn joined(&self) -> [usize; 3] {
        self.joined
    }

    fn per_line(&self) -> usize {
        self.joined[0]
    }

    /// Whether all tiles but the last one begin and end at multiples of `chunk`.
    pub(crate) fn are_multiples_of(&self, chunk: usize) -> bool {
        let is_line_whole = self.line == usize::MAX || self.line.is_multiple_of(chunk);
        self.len.is_multiple_of(chunk) && is_line_whole
    }

    /// The leaves of the forest that [`Tiles::build_forest`] makes of a part of this many elements.
    #[must_use]
    pub fn leaves(&self, len: usize) -> usize {
        self.count(len).div_ceil(self.joined.iter().product())
    }

    /// The number, among the leaves of the forest, of the first tile of a part that begins at index
    /// `first` of dimension 0, where its tiles are those leaves.
    #[must_use]
    pub fn first_leaf(&self, first: usize) -> Option<u64> {
        let are_leaves = self.joined.iter().all(|&joined| joined <= 1);
        are_leaves.then_some((first / self.grain) as u64)
    }

    /// Joins the tiles of a part that begins at index `first` of dimension 0, and makes `forest`
    /// that of the part. The tiles lend their memory to what they are joined to.
    pub fn build_forest(
        &self,
        (op, dtype): (ReduceOp, DType),
        first: usize,
        tiles: &mut [Partial],
        forest: &mut Forest,
    ) {
        let mut n = tiles.len();
        for &joined in self.joined.iter().filter(|&&joined| joined > 1) {
            let n_joined = n / joined;
            for i in 0..n_joined {
                let group = &mut tiles[i * joined..(i + 1) * joined];
                forest.set_tiles(op, dtype, 0, group);
                tiles[i] = forest.finish(op, dtype);
            }
            n = n_joined;
        }
        let first = (first / self.grain) as u64;
        forest.set_tiles(op, dtype, first, &mut tiles[..n]);
    }
}
