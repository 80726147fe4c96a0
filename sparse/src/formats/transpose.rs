//! The transpose of a sparse matrix, and its conjugate.
//!
//! On several ranks each sends its entries to the ranks that own their columns as rows, which sort
//! them; where every rank holds all rows, it keeps those of its columns ([`Transposition`]).

use crate::assembly::{self, Positions, triplets};
use crate::exchange::owners::Owners;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::parallel::Threads;
use crate::local::rows::Rows;
use crate::local::transpose::{Transposition, Turn};
use crate::local::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Partition, Shape, reserve, try_collect};
use std::borrow::Cow;
use std::iter::repeat_n;
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// The transpose, a new matrix. Linear in rows, columns and entries; executes the window, and
    /// works on all threads.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn transpose(&self) -> Result<Self, Error> {
        self.transposed(false)
    }

    /// The conjugate transpose, as [`Csr::transpose`]: the matrix that moves to the other side of
    /// an inner product.
    ///
    /// ```
    /// use num_complex::Complex;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let i = Complex::new(0.0, 1.0);
    /// let a = Csr::new(1, 2, vec![0, 1], vec![1], vec![i])?;
    /// let adjoint = a.adjoint()?;
    /// assert_eq!(adjoint.shape(), (2, 1));
    /// assert_eq!(adjoint.values().to_vec()?, [-i]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn adjoint(&self) -> Result<Self, Error> {
        self.transposed(true)
    }

    /// The transpose, of which all values may be conjugated. That is said by a value, and not by a
    /// function for the values, so that all that it takes is compiled once and not twice.
    fn transposed(&self, conjugates: bool) -> Result<Self, Error> {
        let map = move |value: T| match conjugates {
            true => value.conjugate(),
            false => value,
        };
        eager("transpose", &[self], || self.turned(map))
    }

    fn turned(&self, map: impl Fn(T) -> T + Copy + Send + Sync) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let runtime = self.runtime();
        let shape = (self.n_cols(), self.n_rows());
        if own.partition != Partition::Replicated {
            let entries = turned_entries(shape, own.rows.clone(), own.as_rows(), map);
            let entries = runtime.agree(entries)?;
            let entries = Owners::of_rows(runtime, shape.0).send(runtime, entries)?;
            let stores = runtime.enter(|| triplets::stores(Cow::Owned(entries)));
            return stores.map(Self::of_stores);
        }
        // Every rank holds all entries and keeps those of its columns.
        let new_own = runtime.default_rows(Shape::new(&[shape.0]));
        let turn = Turn {
            rows: own.as_rows(),
            n_cols: shape.0,
            wanted: new_own.1.clone(),
        };
        let threads = &Threads::of(runtime);
        let mut transposition = runtime.agree(Transposition::new(threads, turn))?;
        let mut pos = Positions::room(runtime, new_own.1.len())?;
        let len = transposition.count(threads, &mut pos);
        let stores =
            assembly::filled_with(runtime, shape, new_own, (pos, len), |pos, crd, vals| {
                transposition.fill(threads, pos, (crd, vals), map)
            });
        stores.map(Self::of_stores)
    }
}

/// The entries of some rows, row by row, as entries of the transpose.
fn turned_entries<T: Numeric>(
    (n_cols, n_rows): (usize, usize),
    numbers: Range<usize>,
    rows: Rows<'_, T>,
    map: impl Fn(T) -> T,
) -> Result<Triplets<T>, Error> {
    let mut row_of = reserve(rows.crd.len())?;
    for (number, row) in numbers.enumerate() {
        row_of.extend(repeat_n(row as u32, rows.columns(number).len()));
    }
    let columns = try_collect(rows.crd.iter().copied())?;
    let vals = try_collect(rows.vals.iter().map(|&value| map(value)))?;
    Ok(Triplets::from_checked_parts(
        n_cols, n_rows, columns, row_of, vals,
    ))
}
