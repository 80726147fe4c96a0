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
    /// The array becomes a store of its own: it is copied if it is a view, or if another handle
    /// could notice what tasks change. On several ranks it is whole on each of them from then on.
    ///
    /// # Errors
    ///
    /// If blocks of this shape have no elements, or the array's computation or memory for a copy
    /// fails.
    pub fn blocks(&mut self, block: [usize; 2]) -> Result<Blocks<'_>, Error> {
        if block.contains(&0) {
            let found = format!("{block:?}");
            return Err(Error::argument(
                "blocks",
                "blocks with rows and columns",
                found,
            ));
        }
        self.expect_elements("blocks")?;
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
            store: self.own()?,
            grid,
            views,
        })
    }
}

impl<T: Element> Array<T, 4> {
    /// The tiles of an array of `rows` by `columns` tiles, the last two dimensions of which are
    /// those of a tile: each is a block whose elements lie one behind the other, so that a function
    /// gets it as one slice ([`BlockRef::as_slice`](sparsefuse_runtime::BlockRef::as_slice)). A
    /// matrix `a` is brought into this form by `reshape` and `permute_axes`.
    ///
    /// As [`Array::blocks`] otherwise.
    ///
    /// # Errors
    ///
    /// If the array's computation or memory for a copy fails.
    pub fn tiles(&mut self) -> Result<Blocks<'_>, Error> {
        self.expect_elements("tiles")?;
        let [rows, columns, ..] = self.shape();
        let base = View::identity(Shape::new(&self.shape()));
        let views =
            pairs([rows, columns]).map(|[i, j]| Ok(Arc::new(base.index(0, i)?.index(0, j)?)));
        let views = views.collect::<Result<_, Error>>()?;
        Ok(Blocks {
            store: self.own()?,
            grid: [rows, columns],
            views,
        })
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The store of the array, which this handle alone holds, whole on every rank.
    fn own(&mut self) -> Result<&StoreHandle, Error> {
        let is_alone = self.view().is_none() && self.runtime().is_unique(self.store());
        if self.runtime().ranks() == 1 {
            if !is_alone {
                *self = self.try_copy()?;
            }
        } else if !is_alone || !self.runtime().agree(self.local())?.is_replicated() {
            let (elements, shape) = (self.to_vec()?, Shape::new(&self.shape()));
            let (rows, runtime) = (0..shape.rows(), self.runtime().clone());
            let store = runtime.store_of_rows(shape, Partition::Replicated, rows, elements);
            let store = runtime.agree(store)?;
            *self = Self::wrap(store, None);
        }
        Ok(self.store())
    }

    fn expect_elements(&self, op: &'static str) -> Result<(), Error> {
        match self.is_empty() {
            true => {
                let found = format!("{:?}", self.shape());
                Err(Error::argument(op, "an array with elements", found))
            }
            false => Ok(()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_runtime::{Config, Runtime, TaskSpace, run_ranks};

    /// Adds its number to each block, and returns the elements.
    fn numbered<T: Element>(
        runtime: &Runtime,
        blocks: &Blocks<'_>,
        of: fn(usize) -> T,
        add: fn(&mut T, T),
    ) -> Result<(), Error> {
        let mut space = TaskSpace::new(runtime, "number");
        let [_, columns] = blocks.grid();
        for [i, j] in pairs(blocks.grid()) {
            let number = of(i * columns + j);
            space
                .task([i, j])
                .updates(blocks.block(i, j))
                .run(move |args| {
                    let mut block = args.block_mut::<T>(0)?;
                    block.rows_mut().flatten().for_each(|x| add(x, number));
                    Ok(())
                })?;
        }
        space.wait_all()
    }

    #[test]
    fn blocks_are_those_of_the_array_on_threads_and_ranks() {
        for (ranks, threads) in [(1, 1), (1, 2), (3, 1)] {
            let config = Config {
                threads,
                tile_len: 4,
                cut_threshold: 1,
                ..Config::default()
            };
            let found = run_ranks(ranks, &config, |runtime| {
                let ten = Array::<i64, 2>::from_fn([5, 3], |[i, j]| (i * 3 + j) as i64 * 10);
                let before = ten.clone();
                let mut seen = ten.transpose();
                let blocks = seen.blocks([2, 2])?;
                assert_eq!(blocks.grid(), [2, 3]);
                numbered(runtime, &blocks, |k| k as i64, |x, k| *x += k)?;
                assert_eq!(ten.to_vec()?, before.to_vec()?, "values stay what they are");
                seen.to_vec()
            });
            let expected = [
                [0, 30, 61, 91, 122],
                [10, 40, 71, 101, 132],
                [23, 53, 84, 114, 145],
            ];
            for found in found.expect("no rank fails") {
                assert_eq!(found.expect("no task fails"), expected.concat());
            }
        }
    }

    #[test]
    fn tiles_are_slices() {
        let mut tiles = Array::<f64, 4>::zeros([2, 1, 3, 2]);
        let runtime = tiles.runtime().clone();
        let blocks = tiles.tiles().expect("the array has elements");
        let mut space = TaskSpace::new(&runtime, "fill");
        for row in 0..2 {
            let task = space.task(row).updates(blocks.block(row, 0));
            let issued = task.run(move |args| {
                let mut block = args.block_mut::<f64>(0)?;
                let elements = block.as_mut_slice().expect("a tile has no gaps");
                elements.fill(row as f64 + 1.0);
                Ok(())
            });
            issued.expect("the tile is a block");
        }
        let expected = [[1.0; 6], [2.0; 6]].concat();
        assert_eq!(tiles.to_vec(), Ok(expected));
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let mut a = Array::<f64, 2>::zeros([4, 4]);
        let refused = a
            .blocks([2, 0])
            .map(|_| ())
            .map_err(|error| error.to_string());
        let expected = "blocks: expected blocks with rows and columns, found [2, 0]";
        assert_eq!(refused, Err(expected.to_owned()));
        let blocks = a.blocks([3, 2]).expect("the array has elements");
        let refused = blocks.try_block(2, 0).map(|_| ());
        let expected = "block: expected one of 2 by 2 blocks, found (2, 0)";
        assert_eq!(
            refused.map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
        let mut none = Array::<f64, 2>::zeros([4, 0]);
        let refused = none.blocks([3, 2]).map(|_| ());
        let expected = "blocks: expected an array with elements, found [4, 0]";
        assert_eq!(
            refused.map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
    }
}
