//! Blocks of arrays, as the tasks of a task space read them and change them in place.

use crate::array::Array;
use crate::operand::expect;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Partition, Shape, StoreHandle, TaskArg, View};
use std::sync::Arc;

/// The blocks of an array, each by its row and column among them; see [`Array::blocks`].
///
/// While they live, the array is theirs: no other handle sees what tasks change.
#[derive(Debug)]
pub struct Blocks<'a> {
    store: &'a StoreHandle,
    grid: [usize; 2],
    /// Row by row.
    views: Vec<Arc<View>>,
}

impl<T: Element> Array<T, 2> {
    /// The blocks of this shape that make up the array; those at its end are smaller where it is no
    /// multiple of that. They are arguments of the tasks of a
    /// [`TaskSpace`](sparsefuse_runtime::TaskSpace).
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_runtime::TaskSpace;
    ///
    /// // The largest element of each block, in place of its first one.
    /// let mut a = Array::<i64, 2>::from_fn([4, 5], |[i, j]| (10 * i + j) as i64);
    /// let runtime = a.runtime().clone();
    /// let mut space = TaskSpace::new(&runtime, "largest");
    /// let blocks = a.blocks([2, 2])?;
    /// let [rows, columns] = blocks.grid();
    /// assert_eq!([rows, columns], [2, 3]);
    /// for i in 0..rows {
    ///     for j in 0..columns {
    ///         space.task([i, j]).updates(blocks.block(i, j)).run(|args| {
    ///             let mut block = args.block_mut::<i64>(0)?;
    ///             let largest = block.as_ref().rows().flatten().max().copied();
    ///             block.row_mut(0)[0] = largest.unwrap_or_default();
    ///             Ok(())
    ///         })?;
    ///     }
    /// }
    /// assert_eq!(a.slice((..1, ..)).to_vec()?, [11, 1, 13, 3, 14]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// The array becomes a store of its own: it is copied if it is a view, or if another handle could
    /// notice what tasks change. On several ranks it is whole on each of them from then on.
    ///
    /// # Errors
    ///
    /// If blocks of this shape have no elements, or the array's computation or memory for a copy fails.
    pub fn blocks(&mut self, block: [usize; 2]) -> Result<Blocks<'_>, Error> {
        if block.contains(&0) {
            let found = format!("{block:?}");
            return Err(Error::argument(
                "blocks",
                "blocks with rows and columns",
                found,
            ));
        }
        let shape = self.shape();
        let grid = [0, 1].map(|d| shape[d].div_ceil(block[d]));
        let base = View::identity(Shape::new(&shape));
        let views = pairs(grid).map(|at| {
            let range = |d: usize| at[d] * block[d]..((at[d] + 1) * block[d]).min(shape[d]);
            let view = base.slice(0, range(0), 1)?.slice(1, range(1), 1)?;
            Ok(Arc::new(view))
        });
        let views = views.collect::<Result<_, Error>>()?;
        Ok(Blocks {
            store: self.own("blocks")?,
            grid,
            views,
        })
    }
}

impl<T: Element> Array<T, 4> {
    /// The tiles of an array of `rows` by `columns` tiles, the last two dimensions of which are those of
    /// a tile: each is a block whose elements lie one behind the other, so that a function gets it as
    /// one slice ([`BlockRef::as_slice`](sparsefuse_runtime::BlockRef::as_slice)). A matrix `a` is
    /// brought into this form by `reshape` and `permute_axes`.
    ///
    /// As [`Array::blocks`] otherwise.
    ///
    /// # Errors
    ///
    /// If the array's computation or memory for a copy fails.
    pub fn tiles(&mut self) -> Result<Blocks<'_>, Error> {
        let [rows, columns, ..] = self.shape();
        let base = View::identity(Shape::new(&self.shape()));
        let views =
            pairs([rows, columns]).map(|[i, j]| Ok(Arc::new(base.index(0, i)?.index(0, j)?)));
        let views = views.collect::<Result<_, Error>>()?;
        Ok(Blocks {
            store: self.own("tiles")?,
            grid: [rows, columns],
            views,
        })
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The store of the array, which this handle alone holds, whole on every rank.
    fn own(&mut self, op: &'static str) -> Result<&StoreHandle, Error> {
        let is_alone = self.view().is_none() && self.runtime().is_unique(self.store());
        if self.runtime().ranks() == 1 {
            if !is_alone {
                *self = self.try_copy()?;
            }
        } else if !is_alone || !self.local()?.is_replicated() {
            let (elements, shape) = (self.to_vec()?, Shape::new(&self.shape()));
            let (rows, runtime) = (0..shape.rows(), self.runtime().clone());
            let store = runtime.store_of_rows(shape, Partition::Replicated, rows, elements)?;
            *self = Self::wrap(store, None);
        }
        if self.is_empty() {
            let found = format!("{:?}", self.shape());
            return Err(Error::argument(op, "an array with elements", found));
        }
        Ok(self.store())
    }
}

/// The pairs of numbers below these, row by row.
fn pairs([rows, columns]: [usize; 2]) -> impl Iterator<Item = [usize; 2]> {
    (0..rows).flat_map(move |i| (0..columns).map(move |j| [i, j]))
}

impl Blocks<'_> {
    /// How many rows and columns of blocks there are.
    #[must_use]
    pub fn grid(&self) -> [usize; 2] {
        self.grid
    }

    /// A block, as an argument of a task.
    ///
    /// # Panics
    ///
    /// If there is no such block; [`Blocks::try_block`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn block(&self, row: usize, column: usize) -> TaskArg<'_> {
        expect(self.try_block(row, column))
    }

    /// As [`Blocks::block`].
    ///
    /// # Errors
    ///
    /// If there is no such block.
    pub fn try_block(&self, row: usize, column: usize) -> Result<TaskArg<'_>, Error> {
        let [rows, columns] = self.grid;
        if row >= rows || column >= columns {
            let expected = format!("one of {rows} by {columns} blocks");
            let found = format!("({row}, {column})");
            return Err(Error::argument("block", expected, found));
        }
        Ok((self.store, &self.views[row * columns + column]).into())
    }
}
