//! Diagonals: the offsets of some diagonals, and all their elements as one store.
//!
//! The elements lie row by row, within a row by ascending columns, and only those inside of the
//! matrix. SciPy's array of one row per diagonal would be cut along the wrong dimension on several
//! ranks, and a product would read as many streams as there are diagonals; here a rank has the
//! elements of its rows, a product reads them once in order, and they are the values of the same
//! matrix in row format, which so needs no copy of them. Values that lie so stay lazy: `scale` is
//! one elementwise task, as of a [`Csr`].

use crate::assembly::{self, ASSEMBLE, Positions, Structure};
use crate::exchange::layout::RowLayout;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::formats::row_form::{RowForm, over_values};
use crate::local::diagonals::{self, Diagonals};
use crate::local::parallel::Threads;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Runtime, Shape};
use std::fmt;
use std::sync::Arc;

/// A conversion makes at most this many times the stored entries, unless it is told otherwise.
const MOST_FILL: usize = 8;

/// Bytes that a conversion may always make.
const SMALL: usize = 1 << 20;

/// A sparse matrix by diagonals; cheap to clone.
///
/// Every element of a stored diagonal that lies inside of the matrix is an entry, also one that is
/// 0: an infinity or NaN in `x` reaches a row through it. SciPy's elements outside of the matrix do
/// not exist here.
///
/// A product goes by way of the row format ([`Dia::to_csr`]), whose positions and columns the first
/// product makes, 8 bytes for each row and 4 for each entry, over the same store of values. From
/// the second one on it reads the packed form: for rows that lie on all diagonals the values alone,
/// and of a stencil with equal values in all rows not even these. On one rank the columns and the
/// plain values are then evicted, so that the matrix is held once, and the positions are kept; on
/// several ranks, as of a [`Csr`], the packed form is held beside them.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::Dia;
///
/// // [ 2 -1  0 ]
/// // [ 5  2 -1 ]
/// // [ 0  6  2 ]
/// let main = &[2.0_f64][..];
/// let a = Dia::from_diagonals(3, 3, &[(0, main), (1, &[-1.0]), (-1, &[5.0, 6.0])])?;
/// assert_eq!(a.offsets(), [-1, 0, 1]);
/// assert_eq!(a.nnz(), 7);
/// let x = Vector::from_vec(vec![1.0, 10.0, 100.0]);
/// assert_eq!((&a * &x).to_vec()?, [-8.0, -75.0, 260.0]);
/// assert_eq!((2.0 * &a).diagonal(-1)?.to_vec()?, [10.0, 12.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone)]
pub struct Dia<T> {
    layout: RowLayout,
    n_cols: usize,
    /// Ascending, the same on every rank.
    offsets: Arc<[isize]>,
    /// The elements, row by row, cut where the rows are.
    vals: Vector<T>,
    rows: RowForm<T>,
}

impl<T: Numeric> Dia<T> {
    /// A matrix from its diagonals, in any order, as SciPy's `diags_array`: the elements of the
    /// diagonal `offset` are `a[i, i + offset]`, from the top left; one element alone stands for
    /// all of its diagonal. On several ranks every rank gives the whole.
    ///
    /// # Errors
    ///
    /// If an offset is that of no diagonal, or occurs twice; if a diagonal has another number of
    /// elements; if there are more than `u32::MAX` rows or columns; or if memory runs out.
    pub fn from_diagonals(
        n_rows: usize,
        n_cols: usize,
        diagonals: &[(isize, impl AsRef<[T]> + Sync)],
    ) -> Result<Self, Error> {
        let mut sorted: Vec<(isize, &[T])> = Vec::new();
        for (offset, elements) in diagonals {
            sorted.push((*offset, elements.as_ref()));
        }
        sorted.sort_by_key(|diagonal| diagonal.0);
        let offsets = sorted.iter().map(|diagonal| diagonal.0).collect();
        let offsets = checked("from_diagonals", (n_rows, n_cols), offsets)?;
        let all = Diagonals {
            n_rows,
            n_cols,
            offsets: &offsets,
        };
        for (offset, elements) in &sorted {
            let len = all.rows_of(*offset).len();
            if elements.len() != len && elements.len() != 1 {
                let expected = format!("{len} elements, or 1, on the diagonal {offset}");
                let found = elements.len().to_string();
                return Err(Error::argument("from_diagonals", expected, found));
            }
        }
        let starts: Vec<usize> = offsets.iter().map(|&it| all.rows_of(it).start).collect();
        Self::made(n_rows, n_cols, offsets, |row, diagonal| {
            match sorted[diagonal].1 {
                [all] => *all,
                elements => elements[row - starts[diagonal]],
            }
        })
    }

    /// A matrix from the arrays of SciPy's `dia_array((data, offsets))`: `data` has a row for each
    /// offset, of equal length, and column `j` of it is that of the matrix, `a[j - offset, j]`.
    /// Elements outside of the matrix are left out; a diagonal for which a row is too short ends
    /// with zeros. On several ranks every rank gives the whole.
    ///
    /// ```
    /// use sparsefuse_sparse::Dia;
    ///
    /// // [ 1 0 7 ]
    /// // [ 4 2 0 ]
    /// // [ 0 5 3 ]
    /// let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0, 7.0];
    /// let a = Dia::from_scipy(3, 3, &data, &[0, -1, 2])?;
    /// let dense = [1.0, 0.0, 7.0, 4.0, 2.0, 0.0, 0.0, 5.0, 3.0];
    /// assert_eq!(a.to_dense()?.to_vec()?, dense);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `data` has not as many rows as there are offsets; else as [`Dia::from_diagonals`], but
    /// for offsets outside of the matrix.
    pub fn from_scipy(
        n_rows: usize,
        n_cols: usize,
        data: &[T],
        offsets: &[isize],
    ) -> Result<Self, Error> {
        let width = data.len().checked_div(offsets.len()).unwrap_or(0);
        if width * offsets.len() != data.len() {
            let expected = format!("rows of equal length for {} offsets", offsets.len());
            let found = format!("{} elements", data.len());
            return Err(Error::argument("from_scipy", expected, found));
        }
        let whole = Diagonals {
            n_rows,
            n_cols,
            offsets: &[],
        };
        let is_inside = |number: &usize| !whole.rows_of(offsets[*number]).is_empty();
        let mut order: Vec<usize> = (0..offsets.len()).filter(is_inside).collect();
        order.sort_by_key(|&number| offsets[number]);
        let sorted = order.iter().map(|&number| offsets[number]).collect();
        let sorted = checked("from_scipy", (n_rows, n_cols), sorted)?;
        let columns = sorted.clone();
        Self::made(n_rows, n_cols, sorted, |row, diagonal| {
            let column = (row as isize + columns[diagonal]) as usize;
            match column < width {
                true => data[order[diagonal] * width + column],
                false => T::ZERO,
            }
        })
    }

    /// A matrix whose elements are made where they are going to be: `element` gives that of a row
    /// and a column on one of these diagonals. No rank holds more than its rows.
    ///
    /// ```
    /// use sparsefuse_sparse::Dia;
    ///
    /// let a = Dia::from_elements(2, 3, &[1, 0], |row, column| (10 * row + column) as f64)?;
    /// assert_eq!(a.to_dense()?.to_vec()?, [0.0, 1.0, 0.0, 0.0, 11.0, 12.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Dia::from_diagonals`].
    pub fn from_elements(
        n_rows: usize,
        n_cols: usize,
        offsets: &[isize],
        element: impl Fn(usize, usize) -> T + Sync + Send,
    ) -> Result<Self, Error> {
        let mut offsets = offsets.to_vec();
        offsets.sort_unstable();
        let offsets = checked("from_elements", (n_rows, n_cols), offsets)?;
        let columns = offsets.clone();
        Self::made(n_rows, n_cols, offsets, |row, diagonal| {
            element(row, (row as isize + columns[diagonal]) as usize)
        })
    }

    /// A matrix with these diagonals, which were checked, from the element of each row on each.
    fn made(
        n_rows: usize,
        n_cols: usize,
        offsets: Arc<[isize]>,
        element: impl Fn(usize, usize) -> T + Sync + Send,
    ) -> Result<Self, Error> {
        let runtime = Runtime::current();
        let (partition, rows) = runtime.default_rows(Shape::new(&[n_rows]));
        let diagonals = Diagonals {
            n_rows,
            n_cols,
            offsets: &offsets,
        };
        let vals = runtime.eager_task(ASSEMBLE, &[], || {
            let (own, len) = ((partition, rows.clone()), diagonals.elements_in(&rows));
            assembly::values(&runtime, n_rows, own, len, |vals| {
                diagonals.fill(&Threads::of(&runtime), rows, vals, element);
            })
        })?;
        Ok(Self {
            layout: RowLayout::new(&runtime, n_rows, partition),
            n_cols,
            offsets,
            vals,
            rows: RowForm::default(),
        })
    }

    /// The offsets of the diagonals, ascending: above the main one positive.
    #[must_use]
    pub fn offsets(&self) -> &[isize] {
        &self.offsets
    }

    /// The matrix in row format, with all entries of the diagonals, over the same store of values.
    /// Its positions and columns are made when they are first asked for and kept with this matrix,
    /// its clones, and those that differ by their values: 8 bytes for each row and 4 for each
    /// entry. The first call executes the window, and every rank must make it.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let rows = self.rows.get(self.shape(), &self.vals, || {
            let make = || self.structure();
            self.runtime().eager_task("dia_to_csr", &[], make)
        });
        rows.cloned()
    }

    fn structure(&self) -> Result<Structure, Error> {
        let (runtime, rows) = (self.runtime(), self.layout.rows());
        let diagonals = self.diagonals();
        let mut pos = Positions::room(runtime, rows.len())?;
        diagonals.count(rows.clone(), &mut pos);
        let own = (self.layout.partition(), rows.clone());
        assembly::structure(runtime, self.layout.n_rows(), own, pos, |_, crd| {
            diagonals.fill_columns(&Threads::of(runtime), rows, crd);
        })
    }

    fn diagonals(&self) -> Diagonals<'_> {
        Diagonals {
            n_rows: self.layout.n_rows(),
            n_cols: self.n_cols,
            offsets: &self.offsets,
        }
    }

    /// The offsets of the diagonals with their elements from the top left, on every rank: what
    /// [`Dia::from_diagonals`] takes. Executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn to_diagonals(&self) -> Result<Vec<(isize, Vec<T>)>, Error> {
        let vals = self.vals.to_vec()?;
        let diagonals = self.diagonals();
        let empty = |&offset: &isize| (offset, Vec::with_capacity(diagonals.rows_of(offset).len()));
        let mut all: Vec<(isize, Vec<T>)> = self.offsets.iter().map(empty).collect();
        let mut vals = vals.into_iter();
        for row in 0..self.layout.n_rows() {
            for (diagonal, value) in diagonals.of_row(row).zip(vals.by_ref()) {
                all[diagonal].1.push(value);
            }
        }
        Ok(all)
    }

    /// The transpose, a new matrix, whose offsets are these with the other sign; by way of
    /// [`Dia::to_csr`] and [`Csr::transpose`].
    ///
    /// ```
    /// use sparsefuse_sparse::Dia;
    ///
    /// let a = Dia::from_diagonals(2, 3, &[(1, [4.0, 5.0])])?;
    /// let transpose = a.transpose()?;
    /// assert_eq!((transpose.shape(), transpose.offsets()), ((3, 2), &[-1][..]));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn transpose(&self) -> Result<Self, Error> {
        let offsets = self.offsets.iter().rev().map(|offset| -offset).collect();
        Self::of_rows(&self.to_csr()?.transpose()?, offsets)
    }

    /// The conjugate transpose, as [`Dia::transpose`].
    ///
    /// # Errors
    ///
    /// As [`Csr::adjoint`].
    pub fn adjoint(&self) -> Result<Self, Error> {
        let offsets = self.offsets.iter().rev().map(|offset| -offset).collect();
        Self::of_rows(&self.to_csr()?.adjoint()?, offsets)
    }

    /// The sum of two matrices, with the diagonals of both. Of matrices with the same diagonals and
    /// spread alike it is one elementwise task; else it goes by way of [`Dia::to_csr`].
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn try_add(&self, other: &Self) -> Result<Self, Error> {
        if self.has_diagonals_of(other) {
            return Ok(self.with_own_values(self.vals.try_add(&other.vals)?));
        }
        let sum = self.to_csr()?.try_add(&other.to_csr()?)?;
        Self::of_rows(&sum, self.offsets_of_both(other))
    }

    /// The difference of two matrices, as [`Dia::try_add`].
    ///
    /// # Errors
    ///
    /// As [`Csr::try_sub`].
    pub fn try_sub(&self, other: &Self) -> Result<Self, Error> {
        if self.has_diagonals_of(other) {
            return Ok(self.with_own_values(self.vals.try_sub(&other.vals)?));
        }
        let difference = self.to_csr()?.try_sub(&other.to_csr()?)?;
        Self::of_rows(&difference, self.offsets_of_both(other))
    }

    /// Whether the values of another matrix belong to the same places, and lie on the same ranks.
    fn has_diagonals_of(&self, other: &Self) -> bool {
        self.shape() == other.shape()
            && self.offsets == other.offsets
            && self.layout.partition() == other.layout.partition()
            && self.runtime().is(other.runtime())
    }

    fn offsets_of_both(&self, other: &Self) -> Arc<[isize]> {
        let mut offsets = [&*self.offsets, &*other.offsets].concat();
        offsets.sort_unstable();
        offsets.dedup();
        offsets.into()
    }

    /// The matrix whose row format this is, with all elements of these diagonals.
    fn of_rows(rows: &Csr<T>, offsets: Arc<[isize]>) -> Result<Self, Error> {
        Ok(Self {
            layout: rows.row_layout()?,
            n_cols: rows.n_cols(),
            offsets,
            vals: rows.values().clone(),
            rows: RowForm::of(rows),
        })
    }
}

over_values! {
    Dia;
    "the elements of the diagonals inside of the matrix";
    "[`Dia::to_diagonals`] gives them diagonal by diagonal";
    "also of a diagonal that is not stored, which are 0"
}

impl<T: Numeric> Csr<T> {
    /// The matrix by diagonals: all diagonals with an entry, with 0 where nothing is stored. If
    /// they are full, the two share their values, and nothing but the offsets is new. Refused where
    /// that takes more than a megabyte and eight times the bytes of the values, as
    /// [`Csr::to_dia_within`].
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson2d::<f64>(3)?.to_dia()?;
    /// assert_eq!(a.offsets(), [-3, -1, 0, 1, 3]);
    /// // The diagonals beside the main one have zeros where a line of the grid ends.
    /// assert_eq!(a.diagonal(1)?.to_vec()?, [-1.0, -1.0, 0.0, -1.0, -1.0, 0.0, -1.0, -1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are too many diagonals, the computation of the values failed, or memory runs out.
    pub fn to_dia(&self) -> Result<Dia<T>, Error> {
        let bytes = self.nnz().saturating_mul(size_of::<T>());
        self.to_dia_within(bytes.saturating_mul(MOST_FILL).max(SMALL))
    }

    /// As [`Csr::to_dia`], of values that take at most this many bytes on all ranks together.
    /// Linear in the entries of both forms; executes the window, and works on all threads.
    ///
    /// # Errors
    ///
    /// If the diagonals take more bytes; the error says how many they are. Else as
    /// [`Csr::to_dia`].
    pub fn to_dia_within(&self, bytes: usize) -> Result<Dia<T>, Error> {
        eager("csr_to_dia", &[self], || self.by_diagonals(bytes))
    }

    fn by_diagonals(&self, most: usize) -> Result<Dia<T>, Error> {
        let own = self.own_rows()?;
        let runtime = self.runtime();
        let threads = &Threads::of(runtime);
        let (n_rows, n_cols) = self.shape();
        let numbered = (own.rows.clone(), own.as_rows());
        let mine = diagonals::offsets(threads, numbered.clone(), n_cols);
        let mine: Vec<i64> = mine.into_iter().map(|offset| offset as i64).collect();
        let all = runtime.all_gather(&mine)?.concat();
        let mut offsets: Vec<isize> = all.into_iter().map(|offset| offset as isize).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let diagonals = Diagonals {
            n_rows,
            n_cols,
            offsets: &offsets,
        };
        let wanted = diagonals.len().saturating_mul(size_of::<T>());
        if wanted > most {
            let expected = format!("diagonals of at most {most} bytes");
            let found = format!("{} diagonals of {wanted} bytes", offsets.len());
            return Err(Error::argument("to_dia", expected, found));
        }
        if diagonals.len() == self.nnz() {
            return Dia::of_rows(self, offsets.into());
        }
        let place = (own.partition, own.rows.clone());
        let len = diagonals.elements_in(&own.rows);
        let vals = assembly::values(runtime, n_rows, place, len, |vals| {
            diagonals.fill_from_rows(threads, numbered, vals);
        })?;
        Ok(Dia {
            layout: RowLayout::new(runtime, n_rows, own.partition),
            n_cols,
            vals,
            offsets: offsets.into(),
            rows: RowForm::default(),
        })
    }
}

/// Refuses shapes that are too large, and offsets, which ascend, that no diagonal has or that occur
/// twice.
fn checked(
    op: &'static str,
    (n_rows, n_cols): (usize, usize),
    offsets: Vec<isize>,
) -> Result<Arc<[isize]>, Error> {
    assembly::check_shape(op, n_rows, n_cols)?;
    let all = Diagonals {
        n_rows,
        n_cols,
        offsets: &[],
    };
    if let Some(pair) = offsets.windows(2).find(|pair| pair[0] == pair[1]) {
        let found = format!("{} twice", pair[0]);
        return Err(Error::argument(op, "different offsets", found));
    }
    let is_outside = |&&offset: &&isize| all.rows_of(offset).is_empty();
    if let Some(offset) = offsets.iter().find(is_outside) {
        let expected = format!("offsets of diagonals of a {n_rows} by {n_cols} matrix");
        return Err(Error::argument(op, expected, offset.to_string()));
    }
    Ok(offsets.into())
}

impl<T> fmt::Debug for Dia<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, diagonals) = (self.layout.n_rows(), self.offsets.len());
        write!(f, "Dia({n_rows} by {}, {diagonals} diagonals)", self.n_cols)
    }
}
