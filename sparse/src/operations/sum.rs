//! Sums, differences and element-wise products of two matrices of one shape, and what holds for all
//! elements of two.
//!
//! Where both share their structure, as matrices do that differ by [`Csr::with_values`] or
//! [`Csr::scale`], these are array code on the values, and fuse. Else the rows of both are merged
//! by their columns, once to count and once to fill; rows that other ranks own are fetched. Both
//! ways give the same values.

use crate::assembly;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::merge::{Terms, all_hold, count_common, intersect, unite};
use crate::local::parallel::{self, Threads};
use crate::local::rows::Rows;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// The sum of two matrices. An entry that cancels is stored, as a 0.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(1, 3, vec![0, 2], vec![0, 1], vec![1.0, 2.0])?;
    /// let b = Csr::new(1, 3, vec![0, 2], vec![1, 2], vec![10.0, 20.0])?;
    /// assert_eq!((&a + &b).to_ndarray()?, ndarray::array![[1.0, 12.0, 20.0]]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes differ, the computation of the values failed, or memory runs out.
    pub fn try_add(&self, other: &Self) -> Result<Self, Error> {
        self.joined(
            "add",
            other,
            |a, b| a + b,
            Terms {
                both: T::plus,
                left: |a| a,
                right: |b| b,
            },
        )
    }

    /// The difference of two matrices, as [`Csr::try_add`].
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn try_sub(&self, other: &Self) -> Result<Self, Error> {
        self.joined(
            "sub",
            other,
            |a, b| a - b,
            Terms {
                both: T::minus,
                left: |a| a,
                right: |b| T::ZERO.minus(b),
            },
        )
    }

    /// The matrix `alpha A + beta B`, as [`Csr::try_add`].
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(2)?;
    /// let shifted = a.linear_combination(1.0, &Csr::identity(2)?, -0.5)?;
    /// assert_eq!(shifted.to_ndarray()?, ndarray::array![[1.5, -1.0], [-1.0, 1.5]]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn linear_combination(&self, alpha: T, other: &Self, beta: T) -> Result<Self, Error> {
        self.joined(
            "linear_combination",
            other,
            |a, b| a * alpha + b * beta,
            Terms {
                both: |a: T, b: T| a.times(alpha).plus(b.times(beta)),
                left: |a: T| a.times(alpha),
                right: |b: T| b.times(beta),
            },
        )
    }

    /// The element-wise (Hadamard) product with another matrix, with entries where both matrices
    /// have one. The product of linear algebra is [`Csr::matmul`].
    pub(super) fn multiplied(&self, other: &Self) -> Result<Self, Error> {
        check_shapes("multiply", self, other)?;
        if self.shares_structure_of(other) {
            return self.with_values(self.values() * other.values());
        }
        let count = |both: Both<'_, T>, row| count_common(both.0.columns(row), both.1.columns(row));
        self.merged("multiply", other, count, |both, row, made| {
            intersect(both, row, made, T::times)
        })
    }

    /// The matrix with an entry wherever one of the two has one.
    pub(super) fn joined(
        &self,
        op: &'static str,
        other: &Self,
        values: impl Fn(&Vector<T>, &Vector<T>) -> Vector<T>,
        terms: Terms<impl Fn(T, T) -> T + Sync, impl Fn(T) -> T + Sync, impl Fn(T) -> T + Sync>,
    ) -> Result<Self, Error> {
        let [left, right] = [self, other].map(|a| [a.n_rows(), a.n_cols()]);
        Error::check_shape(op, &left, &right)?;
        if self.shares_structure_of(other) {
            return self.with_values(values(self.values(), other.values()));
        }
        let count = |both: Both<'_, T>, row| {
            let (left, right) = (both.0.columns(row), both.1.columns(row));
            left.len() + right.len() - count_common(left, right)
        };
        self.merged(op, other, count, |both, row, made| {
            unite(both, row, made, &terms)
        })
    }

    /// Whether something holds for the elements of two matrices at every place where one of them
    /// has an entry; an element that is not stored is 0. Every rank gets the same answer.
    pub(super) fn all_hold(
        &self,
        op: &'static str,
        other: &Self,
        holds: impl Fn(T, T) -> bool + Sync + Send,
    ) -> Result<bool, Error> {
        eager(op, &[self, other], || {
            let left = self.own_rows()?;
            let right = other.rows_at(Some(left.partition), left.rows.clone())?;
            let both = (left.as_rows(), right.as_rows());
            let parts = parallel::parts(both.0.pos);
            let runtime = self.runtime();
            let mine = parallel::map(&Threads::of(runtime), parts, |mut part| {
                part.all(|row| all_hold(both, row, &holds))
            });
            let everywhere = runtime.all_gather(&[mine.into_iter().all(|holds| holds)])?;
            Ok(everywhere.iter().all(|holds| holds[0]))
        })
    }

    /// The matrix of rows that two make: `count` says how many entries they have, and `fill` writes
    /// them at the begin of some memory and says so again.
    fn merged(
        &self,
        op: &'static str,
        other: &Self,
        count: impl Fn(Both<'_, T>, usize) -> usize + Sync,
        fill: impl Fn(Both<'_, T>, usize, (&mut [u32], &mut [T])) -> usize + Sync,
    ) -> Result<Self, Error> {
        eager(op, &[self, other], || {
            let left = self.own_rows()?;
            let right = other.rows_at(Some(left.partition), left.rows.clone())?;
            let both = (left.as_rows(), right.as_rows());
            let own = (left.partition, left.rows.clone());
            let count = |part: Range<usize>, counts: &mut [u64]| {
                for (row, made) in part.zip(counts) {
                    *made = count(both, row) as u64;
                }
            };
            let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
                let mut at = 0;
                for row in part {
                    at += fill(both, row, (&mut crd[at..], &mut vals[at..]));
                }
            };
            let (of_left, of_right) = (both.0.pos, both.1.pos);
            let before = |row: usize| of_left[row] - of_left[0] + of_right[row] - of_right[0];
            let parts = parallel::parts_of_work(both.0.len(), before);
            let work = (&count as _, &fill as _);
            let stores = assembly::in_parts(self.runtime(), self.shape(), own, &parts, work);
            stores.map(Self::of_stores)
        })
    }
}

/// The rows of two matrices.
type Both<'a, T> = (Rows<'a, T>, Rows<'a, T>);

pub(super) fn check_shapes<T: Numeric>(
    op: &'static str,
    left: &Csr<T>,
    right: &Csr<T>,
) -> Result<(), Error> {
    let [left, right] = [left, right].map(|a| [a.n_rows(), a.n_cols()]);
    Error::check_shape(op, &left, &right)
}

impl<T: Numeric> Csc<T> {
    /// The sum of two matrices in column format, as [`Csr::try_add`].
    ///
    /// ```
    /// use sparsefuse_sparse::Csc;
    ///
    /// let a = Csc::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, -1.0, 3.0])?;
    /// assert_eq!((&a + &a - &a).to_dense()?.to_vec()?, [2.0, -1.0, 0.0, 3.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn try_add(&self, other: &Self) -> Result<Self, Error> {
        check_columns("add", self, other)?;
        let sum = self.transpose().try_add(other.transpose())?;
        Ok(Self::of_transpose(sum))
    }

    /// The difference of two matrices in column format, as [`Csr::try_add`].
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn try_sub(&self, other: &Self) -> Result<Self, Error> {
        check_columns("sub", self, other)?;
        let difference = self.transpose().try_sub(other.transpose())?;
        Ok(Self::of_transpose(difference))
    }
}

fn check_columns<T: Numeric>(op: &'static str, left: &Csc<T>, right: &Csc<T>) -> Result<(), Error> {
    let [left, right] = [left, right].map(|a| [a.shape().0, a.shape().1]);
    Error::check_shape(op, &left, &right)
}
