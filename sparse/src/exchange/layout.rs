//! How the rows of a matrix are spread over the ranks, and vectors that are spread like them.
//!
//! Algorithms that go through rows one by one are host tasks, which a [`RowLayout`] issues: they
//! get this rank's part of a vector and leave the part of the result in its place.

use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{
    Access, Error, HostArgs, HostBody, HostFunction, HostTask, Partition, Privilege, Runtime, Shape,
};
use std::ops::Range;
use std::sync::Arc;

/// The rows of a matrix: which of them this rank has, and who has the others.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(4)?;
/// let layout = a.row_layout()?;
/// let ones = Vector::<f64>::ones([16]);
/// let doubled = layout.sweep("double", &ones, 0, |_, part: &mut [f64]| {
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

    /// The vector that a sweep makes of another, in place, as a host task of this name: `sweep`
    /// gets this rank's elements of `x`, however that is cut, and leaves those of the result. It
    /// reads so many bytes besides. It runs later, on every rank, so it holds no handle of the
    /// runtime; its failure is told where the result is read.
    ///
    /// # Errors
    ///
    /// If the vector has another length.
    pub fn sweep<T: Element>(
        &self,
        name: &'static str,
        x: &Vector<T>,
        bytes: usize,
        sweep: impl Fn(&HostArgs<'_>, &mut [T]) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Vector<T>, Error> {
        let function = move |args: &mut HostArgs<'_>| {
            let elements = args.write::<T>(1)?;
            elements.copy_from_slice(args.read::<T>(0)?);
            sweep(args, elements)
        };
        self.issue((name, Access::Rows), &[x], bytes, Arc::new(function))
    }

    /// As [`RowLayout::sweep`], with the elements of another vector beside those that become the
    /// result.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::gallery;
    ///
    /// let layout = gallery::poisson2d::<f64>(4)?.row_layout()?;
    /// let [x, y] = [2.0, 3.0].map(|value| Vector::<f64>::full([16], value));
    /// let sums = layout.sweep_beside("add", (&x, &y), 0, |_, x: &mut [f64], y| {
    ///     x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
    ///     Ok(())
    /// })?;
    /// assert_eq!(sums.to_vec()?, [5.0; 16]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If one of the vectors has another length.
    pub fn sweep_beside<T: Element>(
        &self,
        name: &'static str,
        (x, beside): (&Vector<T>, &Vector<T>),
        bytes: usize,
        sweep: impl Fn(&HostArgs<'_>, &mut [T], &[T]) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Vector<T>, Error> {
        let function = move |args: &mut HostArgs<'_>| {
            let elements = args.write::<T>(2)?;
            elements.copy_from_slice(args.read::<T>(0)?);
            let beside = args.read::<T>(1)?;
            sweep(args, elements, beside)
        };
        self.issue(
            (name, Access::Rows),
            &[x, beside],
            bytes,
            Arc::new(function),
        )
    }

    /// The vector that a host task of this name makes of all elements of another: `make` gets them
    /// on every rank, and writes the elements of this rank's rows. As [`RowLayout::sweep`]
    /// otherwise.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn of_whole<T: Element>(
        &self,
        name: &'static str,
        x: &Vector<T>,
        bytes: usize,
        make: impl Fn(&[T], Range<usize>, &mut [T]) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Vector<T>, Error> {
        let function = move |args: &mut HostArgs<'_>| {
            let elements = args.write::<T>(1)?;
            make(args.read::<T>(0)?, args.rows(), elements)
        };
        self.issue((name, Access::Whole), &[x], bytes, Arc::new(function))
    }

    /// As [`RowLayout::of_whole`], for a matrix with as many rows: `make` gets its elements row by
    /// row on every rank, and writes those of this rank's rows.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn columns_of_whole<T: Element>(
        &self,
        name: &'static str,
        b: &Array<T, 2>,
        make: impl Fn(&HostArgs<'_>, &[T], &mut [T]) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Array<T, 2>, Error> {
        let shape = [self.len, b.shape()[1]];
        Error::check_shape(name, &shape, &b.shape())?;
        let function = move |args: &mut HostArgs<'_>| {
            let elements = args.write::<T>(1)?;
            make(args, args.read::<T>(0)?, elements)
        };
        let (read, write) = (Privilege::Read, Privilege::Write);
        let args = [
            (read, Access::Whole, T::DTYPE),
            (write, Access::Rows, T::DTYPE),
        ];
        let task = HostTask {
            launch: Some(self.partition),
            ..HostTask::new(function)
        };
        let b = b.contiguous()?;
        let made = self.runtime.new_store(Shape::new(&shape), T::DTYPE);
        let body = HostBody::new(name, &args);
        self.runtime.submit_host(&body, &[b.store(), &made], task)?;
        Array::from_store(made, None)
    }

    fn issue<T: Element>(
        &self,
        (name, access): (&'static str, Access),
        vectors: &[&Vector<T>],
        bytes: usize,
        function: Arc<HostFunction>,
    ) -> Result<Vector<T>, Error> {
        let shape = Shape::new(&[self.len]);
        for vector in vectors {
            Error::check_shape(name, &[self.len], &vector.shape())?;
        }
        let read = vectors.iter().map(|_| (Privilege::Read, access, T::DTYPE));
        let write = (Privilege::Write, Access::Rows, T::DTYPE);
        let args: Vec<_> = read.chain([write]).collect();
        let task = HostTask {
            launch: Some(self.partition),
            bytes,
            ..HostTask::new(move |args| function(args))
        };
        let vectors = vectors.iter().map(|vector| vector.contiguous());
        let vectors = vectors.collect::<Result<Vec<_>, Error>>()?;
        let made = self.runtime.new_store(shape, T::DTYPE);
        let stores: Vec<_> = vectors.iter().map(|vector| vector.store()).collect();
        let stores: Vec<_> = stores.into_iter().chain([&made]).collect();
        let body = HostBody::new(name, &args);
        self.runtime.submit_host(&body, &stores, task)?;
        Vector::from_store(made, None)
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
