//! Blocks: parts of stores as the functions of host tasks see them, row by row, where they lie.
//!
//! The rows of a block lie at equal distances in memory, and between them may lie elements that
//! other tasks write at the same time. So a block is never a slice of all that lies between its
//! first and its last element; only rows are, and the whole of a block without gaps.
#![expect(
    unsafe_code,
    reason = "the rows of a block are slices of memory of which other tasks write other parts"
)]

use crate::error::Error;
use crate::geometry::view::View;
use crate::memory::instance::Instance;
use sparsefuse_kernels::Element;
use std::marker::PhantomData;

/// Where the rows of a block lie among the elements of its store, row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRows {
    first: usize,
    rows: usize,
    columns: usize,
    /// How far the next row begins behind the one before: at least as far as that is long.
    stride: usize,
}

impl BlockRows {
    /// The rows of what a view sees.
    ///
    /// # Errors
    ///
    /// If it has more than two dimensions, or rows whose elements are not neighbours, or rows that
    /// share elements or come in another order than that of memory.
    pub(crate) fn of(view: &View) -> Result<Self, Error> {
        let shape = view.shape();
        let (first, strides) = view.strides();
        let (rows, columns, [row_step, step]) = match shape.dims() {
            [] => (1, 1, [1, 1]),
            [columns] => (1, *columns, [*columns as isize, strides[0]]),
            [rows, columns] => (*rows, *columns, [strides[0], strides[1]]),
            _ => {
                let expected = "a block of at most two dimensions";
                return Err(Error::argument("block", expected, shape.to_string()));
            }
        };
        let are_neighbours = columns <= 1 || step == 1;
        // No two rows of a store without columns can be told apart.
        let stride = if rows > 1 { row_step } else { columns as isize };
        if !are_neighbours || stride < columns as isize {
            let found = format!("steps of {row_step} and {step} elements");
            let expected = "a block whose rows are neighbouring elements, one row behind the other";
            return Err(Error::argument("block", expected, found));
        }
        let is_empty = rows == 0 || columns == 0;
        Ok(Self {
            first: if is_empty { 0 } else { first },
            rows,
            columns,
            stride: stride as usize,
        })
    }

    /// The number of the first element.
    ///
    /// # Panics
    ///
    /// If the rows reach beyond the instance: schedules place blocks within their stores.
    fn within(&self, instance: &Instance) -> usize {
        let is_empty = self.rows == 0 || self.columns == 0;
        let end = match is_empty {
            true => 0,
            false => self.first + (self.rows - 1) * self.stride + self.columns,
        };
        assert!(end <= instance.len(), "a block lies within its store");
        self.first
    }

    /// How far row `row` begins behind the first one.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    fn offset(&self, row: usize) -> usize {
        let rows = self.rows;
        assert!(row < rows, "expected a row below {rows}, found {row}");
        row * self.stride
    }

    /// The number of elements, if no others lie between them.
    fn contiguous(&self) -> Option<usize> {
        let is_one = self.rows <= 1 || self.stride == self.columns;
        is_one.then_some(self.rows * self.columns)
    }
}

/// A block of a store that the function of a host task reads: rows of neighbouring elements.
#[derive(Clone, Copy, Debug)]
pub struct BlockRef<'a, T> {
    first: *const T,
    rows: BlockRows,
    elements: PhantomData<&'a [T]>,
}

// SAFETY: a block is as good as slices of its rows, which may be shared among threads.
unsafe impl<T: Sync> Send for BlockRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for BlockRef<'_, T> {}

impl<'a, T: Element> BlockRef<'a, T> {
    /// The block of an instance whose elements have the type `T`, which is not written while `'a`
    /// lasts: `HostArgs::block` has compared the types, and a task that writes any of these
    /// elements begins when this one has ended, or ends before it begins (`analysis/graph.rs`).
    pub(crate) fn new(instance: &'a Instance, rows: BlockRows) -> Self {
        Self {
            first: instance
                .to_read()
                .cast::<T>()
                .wrapping_add(rows.within(instance)),
            rows,
            elements: PhantomData,
        }
    }

    /// The numbers of rows and columns; a block of one dimension is one row.
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        [self.rows.rows, self.rows.columns]
    }

    /// The elements of a row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [T] {
        let first = self.first.wrapping_add(self.rows.offset(row));
        // SAFETY: `BlockRows::within` has found all rows within the instance, which holds elements
        // of this type and is not written here while `'a` lasts, as `BlockRef::new` says.
        unsafe { std::slice::from_raw_parts(first, self.rows.columns) }
    }

    /// The rows, from the first on.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [T]> + use<'a, T> {
        let block = *self;
        (0..self.rows.rows).map(move |row| block.row(row))
    }

    /// All elements, row-major, if nothing lies between the rows: a block of whole rows, or a
    /// single row.
    #[must_use]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let len = self.rows.contiguous()?;
        // SAFETY: as in `row`; the rows are one behind the other.
        Some(unsafe { std::slice::from_raw_parts(self.first, len) })
    }
}

/// A block of a store that the function of a host task changes in place: rows of neighbouring
/// elements, with what was there before.
#[derive(Debug)]
pub struct BlockMut<'a, T> {
    first: *mut T,
    rows: BlockRows,
    elements: PhantomData<&'a mut [T]>,
}

// SAFETY: a block is as good as exclusive slices of its rows, which may be sent to other threads.
unsafe impl<T: Send> Send for BlockMut<'_, T> {}
// SAFETY: a shared block gives shared slices alone.
unsafe impl<T: Sync> Sync for BlockMut<'_, T> {}

impl<'a, T: Element> BlockMut<'a, T> {
    /// The block of an instance whose elements have the type `T`, and of which no one else reads or
    /// writes these elements while `'a` lasts: `HostArgs::block_mut` has compared the types and
    /// gives each block once, the arguments of a task that writes share no element
    /// (`tasks/check.rs`), other tasks that use any of these elements come before or after
    /// (`analysis/graph.rs`), and the program has no handle of the instance (`Frame::make_unique`).
    pub(crate) fn new(instance: &'a Instance, rows: BlockRows) -> Self {
        Self {
            first: instance
                .data()
                .cast::<T>()
                .wrapping_add(rows.within(instance)),
            rows,
            elements: PhantomData,
        }
    }

    /// The numbers of rows and columns; a block of one dimension is one row.
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        [self.rows.rows, self.rows.columns]
    }

    /// The block for reading.
    #[must_use]
    pub fn as_ref(&self) -> BlockRef<'_, T> {
        BlockRef {
            first: self.first,
            rows: self.rows,
            elements: PhantomData,
        }
    }

    /// The elements of a row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[T] {
        self.as_ref().row(row)
    }

    /// The elements of a row, for writing.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let first = self.first.wrapping_add(self.rows.offset(row));
        // SAFETY: `BlockRows::within` has found all rows within the instance, which holds elements
        // of this type that are this block's alone, as `BlockMut::new` says; the block is borrowed
        // mutably.
        unsafe { std::slice::from_raw_parts_mut(first, self.rows.columns) }
    }

    /// The rows, from the first on, all of them for writing.
    pub fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [T]> {
        let (first, rows) = (self.first, self.rows);
        (0..rows.rows).map(move |row| {
            let first = first.wrapping_add(rows.offset(row));
            // SAFETY: as in `row_mut`, while the block is borrowed mutably; each row is given once,
            // and rows share no element: `BlockRows::of` has found each behind the one before.
            unsafe { std::slice::from_raw_parts_mut(first, rows.columns) }
        })
    }

    /// All elements, row-major, for writing, if nothing lies between the rows: a block of whole
    /// rows, or a single row.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        let len = self.rows.contiguous()?;
        // SAFETY: as in `row_mut`; the rows are one behind the other.
        Some(unsafe { std::slice::from_raw_parts_mut(self.first, len) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn refusal(view: &View) -> String {
        let refused = BlockRows::of(view).expect_err("it is refused");
        refused.to_string()
    }

    #[test]
    fn rows_are_where_the_view_says() {
        let grid = View::identity(Shape::new(&[4, 6]));
        let block = grid.slice(0, 1..4, 2).unwrap().slice(1, 2..5, 1).unwrap();
        let rows = BlockRows {
            first: 8,
            rows: 2,
            columns: 3,
            stride: 12,
        };
        assert_eq!(BlockRows::of(&block), Ok(rows));
        let tiles = View::identity(Shape::new(&[2, 3, 4, 5]));
        let tile = tiles.index(0, 1).unwrap().index(0, 2).unwrap();
        let rows = BlockRows::of(&tile).unwrap();
        assert_eq!((rows.first, rows.contiguous()), (100, Some(20)));
    }

    #[test]
    fn other_views_are_refused() {
        let grid = View::identity(Shape::new(&[4, 6]));
        let steps = "block: expected a block whose rows are neighbouring elements, one row behind the \
                     other, found steps of ";
        assert_eq!(
            refusal(&grid.transpose()),
            format!("{steps}1 and 6 elements")
        );
        let repeated = View::identity(Shape::new(&[6]));
        let repeated = repeated.broadcast_to(Shape::new(&[4, 6])).unwrap();
        assert_eq!(refusal(&repeated), format!("{steps}0 and 1 elements"));
        let upwards = grid.slice(0, 0..4, -1).unwrap();
        assert_eq!(refusal(&upwards), format!("{steps}-6 and 1 elements"));
        let cube = View::identity(Shape::new(&[2, 2, 2]));
        let message = "block: expected a block of at most two dimensions, found (2, 2, 2)";
        assert_eq!(refusal(&cube), message);
    }
}
