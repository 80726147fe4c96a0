//! What a matrix is reduced to, as a whole and along an axis: sums, means, the largest and the
//! smallest elements, and how many differ from 0.
//!
//! Elements that are not stored are 0 and count as such. What can be said of the values alone is
//! array code on them, so lazy and fused; the extremes along an axis are one pass over the entries,
//! by columns on one thread where a rank has them all, and else by way of the transpose.

use super::expect;
use super::extremes::{beats, first_missing, is_beaten};
use super::norms::twins;
use crate::exchange::own_rows::OwnRows;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::parallel::{self, Threads};
use crate::local::rows::Rows;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Element, Field, Numeric};
use sparsefuse_runtime::{Error, Partition, Shape, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

twins! {
    Numeric;
    /// The sum of all elements. One reduction of the values.
    sum try_sum(&self) -> Scalar<T>;
    /// If nothing has written the values.
    { self.values().try_sum() }

    /// The sum of the main diagonal. Executes the window, and one reduction.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// assert_eq!((a.trace().get()?, a.sum().get()?), (8.0, 2.0));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    trace try_trace(&self) -> Scalar<T>;
    /// If the computation of the values failed.
    { self.diagonal(0)?.try_sum() }

    /// How many elements differ from 0: zeros that are stored do not count, as they do in
    /// [`Csr::nnz`]. One reduction of the values.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 0.0, 3.0])?;
    /// assert_eq!((a.nnz(), a.count_nonzero().get()?), (3, 2));
    /// assert_eq!(a.count_nonzero_axis(0).to_vec()?, [1, 1]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    count_nonzero try_count_nonzero(&self) -> Scalar<i64>;
    /// If nothing has written the values.
    { self.values().try_count_nonzero() }

    /// How many elements differ from 0 along an axis: 1 for those of the rows, 0 for those of the
    /// columns. One pass over the entries, which executes the window; along axis 0 where ranks have
    /// some rows each, by one transpose more.
    count_nonzero_axis try_count_nonzero_axis(&self, axis: usize) -> Vector<i64>;
    /// As [`Csr::try_sum_axis`].
    {
        const OP: &str = "count_nonzero_axis";
        self.length_along(OP, axis)?;
        let differs = |value: &T| *value != T::ZERO;
        eager(OP, &[self], || match axis {
            0 => self.counts_in_columns(differs),
            _ => self.counts_in_rows(differs),
        })
    }
}

twins! {
    Field;
    /// The mean of all elements, those that are not stored among them; NaN if there are none. One
    /// reduction of the values, and one task on a scalar. The mean of whole numbers is that of
    /// floating-point numbers: see [`Csr::map_values`].
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// assert_eq!(a.mean().get()?, 2.0 / 16.0);
    /// assert_eq!(a.mean_axis(0).to_vec()?, [0.25, 0.0, 0.0, 0.25]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    mean try_mean(&self) -> Scalar<T>;
    /// If nothing has written the values.
    { self.try_sum()?.try_div(T::from_f64(self.n_rows() as f64 * self.n_cols() as f64)) }

    /// The means along an axis: 1 for those of the rows, 0 for those of the columns.
    /// [`Csr::sum_axis`] and one task.
    mean_axis try_mean_axis(&self, axis: usize) -> Vector<T>;
    /// As [`Csr::try_sum_axis`].
    {
        let length = self.length_along("mean_axis", axis)?;
        self.try_sum_axis(axis)?.try_div(T::from_f64(length as f64))
    }
}

twins! {
    Numeric + PartialOrd;
    /// The largest element, 0 among them where something is not stored; NaN if any is NaN. One
    /// reduction of the values, and one task on a scalar.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![-1.0, -2.0, -3.0])?;
    /// assert_eq!((a.max().get()?, a.min().get()?), (0.0, -3.0));
    /// assert_eq!(a.max_axis(1).to_vec()?, [0.0, -2.0]);
    /// assert_eq!(a.max_axis(0).to_vec()?, [-1.0, 0.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    max try_max(&self) -> Scalar<T>;
    /// If the matrix has no elements.
    {
        match self.has_zeros("max")? {
            Stored::None => Ok(self.runtime().enter(|| Scalar::new(T::ZERO))),
            Stored::Some => self.values().try_max()?.try_maximum(T::ZERO),
            Stored::All => self.values().try_max(),
        }
    }

    /// The smallest element, as [`Csr::max`].
    min try_min(&self) -> Scalar<T>;
    /// If the matrix has no elements.
    {
        match self.has_zeros("min")? {
            Stored::None => Ok(self.runtime().enter(|| Scalar::new(T::ZERO))),
            Stored::Some => self.values().try_min()?.try_minimum(T::ZERO),
            Stored::All => self.values().try_min(),
        }
    }

    /// The largest elements along an axis, 1 for those of the rows, 0 for those of the columns; 0
    /// among them where something is not stored, and NaN if any is NaN. One pass over the entries,
    /// which executes the window; along axis 0 where ranks have some rows each, by one transpose
    /// more.
    max_axis try_max_axis(&self, axis: usize) -> Vector<T>;
    /// If there is no such axis, or it has no elements; else as [`Csr::transpose`].
    { self.extremes_along("max_axis", axis, beats) }

    /// The smallest elements along an axis, as [`Csr::max_axis`].
    min_axis try_min_axis(&self, axis: usize) -> Vector<T>;
    /// As [`Csr::try_max_axis`].
    { self.extremes_along("min_axis", axis, is_beaten) }

    /// Where the largest element of each row (axis 1) or column (axis 0) is, of equal ones the
    /// first, or the first that is NaN; what is not stored counts as 0. Cost as [`Csr::max_axis`],
    /// along axis 0 always by way of the transpose.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![-1.0, -2.0, -3.0])?;
    /// assert_eq!(a.argmax_axis(1).to_vec()?, [1, 0]);
    /// assert_eq!(a.argmin_axis(0).to_vec()?, [1, 1]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    argmax_axis try_argmax_axis(&self, axis: usize) -> Vector<i64>;
    /// As [`Csr::try_max_axis`].
    { self.places_along("argmax_axis", axis, beats) }

    /// Where the smallest element of each row or column is, as [`Csr::argmax_axis`].
    argmin_axis try_argmin_axis(&self, axis: usize) -> Vector<i64>;
    /// As [`Csr::try_max_axis`].
    { self.places_along("argmin_axis", axis, is_beaten) }
}

/// How many of the elements of a matrix are stored.
enum Stored {
    None,
    Some,
    All,
}

impl<T: Numeric> Csr<T> {
    /// The number of entries of each column, zeros that are stored among them, as SciPy's
    /// `getnnz(axis=0)`. Cost as [`Csr::count_nonzero_axis`] along axis 0.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// assert_eq!(a.nnz_per_column()?.to_vec()?, [2, 3, 2]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory runs out.
    #[doc(alias = "getnnz")]
    pub fn nnz_per_column(&self) -> Result<Vector<u64>, Error> {
        eager("nnz_per_column", &[self], || {
            let own = self.own_structure()?;
            if own.partition == Partition::Replicated {
                return self.times_in(own.crd.iter());
            }
            // Whatever the values are, and whether they could be computed.
            let ones = self
                .runtime()
                .enter(|| Vector::<i32>::try_ones([self.nnz()]));
            let ones = self.with_values_of(ones?);
            ones.transpose()?.counts_in_rows(|_| true)
        })
    }

    /// How many of the stored values of each column count.
    fn counts_in_columns<U: Numeric>(
        &self,
        is_counted: impl Fn(&T) -> bool + Copy + Sync + Send,
    ) -> Result<Vector<U>, Error> {
        let own = self.own_rows()?;
        if !own.is_replicated() {
            return self.transpose()?.counts_in_rows(is_counted);
        }
        let rows = own.as_rows();
        let entries = rows.crd.iter().zip(rows.vals);
        self.times_in(
            entries
                .filter(|(_, value)| is_counted(value))
                .map(|(column, _)| column),
        )
    }

    /// How often each column occurs in a list of all ranks.
    fn times_in<'c, U: Numeric>(
        &self,
        list: impl Iterator<Item = &'c u32>,
    ) -> Result<Vector<U>, Error> {
        let runtime = self.runtime();
        let shape = Shape::new(&[self.n_cols()]);
        let (partition, columns) = runtime.default_rows(shape);
        let first = columns.start as u32;
        let store = runtime.store_by_filling(shape, partition, |counts: &mut [U]| {
            counts.fill(U::ZERO);
            for column in list {
                // Where ranks have some columns each, there are others.
                if let Some(count) = counts.get_mut(column.wrapping_sub(first) as usize) {
                    *count = count.plus(U::ONE);
                }
            }
            Ok(())
        });
        Vector::from_store(runtime.agree(store)?, None)
    }

    fn counts_in_rows<U: Numeric>(
        &self,
        is_counted: impl Fn(&T) -> bool + Copy + Sync + Send,
    ) -> Result<Vector<U>, Error> {
        self.of_each_row(&self.own_rows()?, |rows, row| {
            let counted = rows.values(row).iter().filter(|value| is_counted(value));
            counted.fold(U::ZERO, |count, _| count.plus(U::ONE))
        })
    }

    /// The elements along an axis.
    fn length_along(&self, op: &'static str, axis: usize) -> Result<usize, Error> {
        match axis {
            0 => Ok(self.n_rows()),
            1 => Ok(self.n_cols()),
            _ => Err(Error::argument(op, "axis 0 or 1", axis.to_string())),
        }
    }

    /// The same, where there must be some.
    fn some_along(&self, op: &'static str, axis: usize) -> Result<usize, Error> {
        match self.length_along(op, axis)? {
            0 => {
                let (n_rows, n_cols) = self.shape();
                let expected = format!("a matrix with elements along axis {axis}");
                let found = format!("{n_rows} by {n_cols}");
                Err(Error::argument(op, expected, found))
            }
            length => Ok(length),
        }
    }

    fn has_zeros(&self, op: &'static str) -> Result<Stored, Error> {
        let (n_rows, n_cols) = self.shape();
        let elements = n_rows as u128 * n_cols as u128;
        match self.nnz() {
            _ if elements == 0 => {
                let found = format!("{n_rows} by {n_cols}");
                Err(Error::argument(op, "a matrix with elements", found))
            }
            0 => Ok(Stored::None),
            all if all as u128 == elements => Ok(Stored::All),
            _ => Ok(Stored::Some),
        }
    }

    /// What `of_row` makes of each row of this rank, on all threads.
    pub(super) fn of_each_row<U: Element>(
        &self,
        own: &OwnRows<T>,
        of_row: impl Fn(Rows<'_, T>, usize) -> U + Sync + Send,
    ) -> Result<Vector<U>, Error> {
        let (rows, runtime) = (own.as_rows(), self.runtime());
        let shape = Shape::new(&[self.n_rows()]);
        let store = runtime.store_by_filling(shape, own.partition, |elements| {
            let parts = parallel::parts(rows.pos);
            let targets = parallel::split(elements, parts.iter().map(Range::len));
            let work = parts.into_iter().zip(targets);
            parallel::each(&Threads::of(runtime), work, |(part, targets)| {
                for (row, target) in part.zip(targets) {
                    *target = of_row(rows, row);
                }
            });
            Ok(())
        });
        Vector::from_store(runtime.agree(store)?, None)
    }

    /// The elements of rows or columns that no other one of them beats.
    fn extremes_along(
        &self,
        op: &'static str,
        axis: usize,
        beats: impl Fn(&T, &T) -> bool + Copy + Sync + Send,
    ) -> Result<Vector<T>, Error> {
        self.some_along(op, axis)?;
        eager(op, &[self], || match axis {
            0 => self.extremes_of_columns(beats),
            _ => self.extremes_of_rows(beats),
        })
    }

    fn extremes_of_rows(
        &self,
        beats: impl Fn(&T, &T) -> bool + Copy + Sync + Send,
    ) -> Result<Vector<T>, Error> {
        let n_cols = self.n_cols();
        self.of_each_row(&self.own_rows()?, |rows, row| {
            let stored = rows.values(row).iter().copied();
            let missing = (rows.columns(row).len() < n_cols).then_some(T::ZERO);
            let best = stored.chain(missing);
            let best = best.reduce(|best, next| if beats(&next, &best) { next } else { best });
            best.expect("a row has elements")
        })
    }

    fn extremes_of_columns(
        &self,
        beats: impl Fn(&T, &T) -> bool + Copy + Sync + Send,
    ) -> Result<Vector<T>, Error> {
        let own = self.own_rows()?;
        if !own.is_replicated() {
            return self.transpose()?.extremes_of_rows(beats);
        }
        let (rows, runtime) = (own.as_rows(), self.runtime());
        let shape = Shape::new(&[self.n_cols()]);
        let (partition, columns) = runtime.default_rows(shape);
        let first = columns.start as u32;
        let store = runtime.store_by_filling(shape, partition, |extremes| {
            let mut counts: Vec<u32> = try_collect(repeat_n(0, extremes.len()))?;
            for (column, value) in rows.crd.iter().zip(rows.vals) {
                // Where ranks have some columns each, there are others.
                let place = column.wrapping_sub(first) as usize;
                if let Some(count) = counts.get_mut(place) {
                    if *count == 0 || beats(value, &extremes[place]) {
                        extremes[place] = *value;
                    }
                    *count += 1;
                }
            }
            for (extreme, &count) in extremes.iter_mut().zip(&counts) {
                let is_missing = (count as usize) < self.n_rows();
                if count == 0 || (is_missing && beats(&T::ZERO, extreme)) {
                    *extreme = T::ZERO;
                }
            }
            Ok(())
        });
        Vector::from_store(runtime.agree(store)?, None)
    }

    /// Where the elements are that no other one of their row or column beats.
    fn places_along(
        &self,
        op: &'static str,
        axis: usize,
        beats: impl Fn(&T, &T) -> bool + Copy + Sync + Send,
    ) -> Result<Vector<i64>, Error> {
        self.some_along(op, axis)?;
        eager(op, &[self], || match axis {
            0 => self.transpose()?.places_in_rows(beats),
            _ => self.places_in_rows(beats),
        })
    }

    fn places_in_rows(
        &self,
        beats: impl Fn(&T, &T) -> bool + Copy + Sync + Send,
    ) -> Result<Vector<i64>, Error> {
        let n_cols = self.n_cols();
        self.of_each_row(&self.own_rows()?, |rows, row| {
            let columns = rows.columns(row);
            // Of the elements that are not stored only the first one matters.
            let missing = (columns.len() < n_cols).then(|| first_missing(columns));
            let before = missing.unwrap_or(columns.len());
            let at = |(column, value): (u32, T)| (i64::from(column), value);
            let all = rows.row(row).take(before).map(at);
            let all = all.chain(missing.map(|column| (column as i64, T::ZERO)));
            let all = all.chain(rows.row(row).skip(before).map(at));
            let best = all.reduce(|best, next| if beats(&next.1, &best.1) { next } else { best });
            best.expect("a row has elements").0
        })
    }
}
