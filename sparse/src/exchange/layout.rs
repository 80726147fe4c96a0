//! How the rows of a matrix are spread over the ranks, and vectors that are spread like them.
//!
//! Algorithms that go through rows one by one get this rank's part of a vector from a
//! [`RowLayout`] and leave the part of the result in its place; they ask nothing else of the
//! runtime.

use sparsefuse_dense::Vector;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape};
use std::ops::Range;

/// The rows of a matrix: which of them this rank has, and who has the others.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(4)?;
/// let layout = a.row_layout()?;
/// let doubled = layout.sweep("double", &Vector::<f64>::ones([16]), |part| {
///     part.iter_mut().for_each(|x| *x *= 2.0);
///     Ok(())
/// })?;
/// assert_eq!(doubled.to_vec()?, [2.0; 16]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowLayout {
    runtime: Runtime,
    len: usize,
    partition: Partition,
    rows: Range<usize>,
}

/// What goes through the elements of a rank. Not generic: what surrounds it is compiled once.
type Swept<'s, T> = Box<dyn FnOnce(&mut [T]) -> Result<(), Error> + 's>;

impl RowLayout {
    /// The layout of so many rows that are spread so.
    pub(crate) fn new(runtime: &Runtime, len: usize, partition: Partition) -> Self {
        let rows = match runtime.cuts(partition) {
            None => 0..len,
            Some(cuts) => cuts[runtime.rank()]..cuts[runtime.rank() + 1],
        };
        Self {
            runtime: runtime.clone(),
            len,
            partition,
            rows,
        }
    }

    /// The runtime of the matrix.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The number of rows of all ranks.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.len
    }

    /// The rows of this rank.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// How the rows are cut.
    #[must_use]
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Whether every rank holds all rows.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.partition == Partition::Replicated
    }

    /// The vector that a sweep makes of another, in place, as a task at once of this name: `sweep`
    /// gets this rank's elements of `x`, however that is cut, and leaves those of the result.
    /// Executes the window; every rank must ask, and where one rank fails, all do.
    ///
    /// # Errors
    ///
    /// If the vector has another length, its computation or the sweep failed, or memory runs out.
    pub fn sweep<T: Element>(
        &self,
        name: &'static str,
        x: &Vector<T>,
        sweep: impl FnOnce(&mut [T]) -> Result<(), Error>,
    ) -> Result<Vector<T>, Error> {
        if x.len() != self.len {
            let expected = Shape::new(&[self.len]);
            return Err(Error::shape("sweep", expected, Shape::new(&[x.len()])));
        }
        let x = x.contiguous()?;
        let reads = [x.store()];
        self.runtime
            .task_at_once(name, &reads, || self.swept(&x, Box::new(sweep)))
    }

    fn swept<T: Element>(&self, x: &Vector<T>, sweep: Swept<'_, T>) -> Result<Vector<T>, Error> {
        let local = self.runtime.agree(x.local())?;
        let whole;
        let part = if local.partition() == self.partition {
            &local[..]
        } else {
            whole = x.to_vec()?;
            &whole[self.rows()]
        };
        let mut sweep = Some(sweep);
        let fill = |elements: &mut [T]| {
            elements.copy_from_slice(part);
            sweep.take().map_or(Ok(()), |sweep| sweep(elements))
        };
        let shape = Shape::new(&[self.len]);
        let store = self.runtime.store_by_filling(shape, self.partition, fill);
        if let Some(sweep) = sweep {
            // There was no memory for the result, but other ranks may wait for what this one sends.
            sweep(&mut part.to_vec())?;
        }
        Vector::from_store(self.runtime.agree(store)?, None)
    }

    /// The vector of which every rank gives its elements. Where one rank fails, all do.
    ///
    /// # Errors
    ///
    /// If a rank gives another number of elements, or memory runs out.
    pub fn vector<T: Element>(&self, part: Vec<T>) -> Result<Vector<T>, Error> {
        let shape = Shape::new(&[self.len]);
        let store = self
            .runtime
            .store_of_rows(shape, self.partition, self.rows(), part);
        Vector::from_store(self.runtime.agree(store)?, None)
    }
}
