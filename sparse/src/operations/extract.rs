//! Parts of a matrix: diagonals, triangles, rows, columns, blocks, and single entries.
//!
//! What keeps its rows keeps them where they are; rows that get other numbers are fetched by their
//! new owners.

use crate::assembly;
use crate::exchange::ghosts::{self, Ghosts};
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::parallel::{self, Threads};
use crate::local::rows::{Rows, sort_row};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape, View, try_collect};
use std::iter::{repeat_n, successors};
use std::ops::Range;
use std::sync::Arc;

/// Rows whose elements of a diagonal one thread looks up at a time.
const DIAGONAL_PART: usize = 1 << 16;

impl<T: Numeric> Csr<T> {
    /// The diagonal of the elements `a[i, i + offset]`, with 0 where nothing is stored: the main
    /// one, of min(rows, columns) elements, for 0, above it for positive offsets, below for
    /// negative ones.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// assert_eq!(a.diagonal(0)?.to_vec()?, [2.0; 4]);
    /// assert_eq!(a.diagonal(1)?.to_vec()?, [-1.0; 3]);
    /// assert_eq!(a.diagonal(-3)?.to_vec()?, [0.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn diagonal(&self, offset: isize) -> Result<Vector<T>, Error> {
        eager("diagonal", &[self], || self.extracted_diagonal(offset))
    }

    fn extracted_diagonal(&self, offset: isize) -> Result<Vector<T>, Error> {
        let own = self.own_rows()?;
        let rows = own.as_rows();
        let runtime = self.runtime();
        let shape = Shape::new(&[self.n_rows()]);
        let threads = &Threads::of(runtime);
        let first = own.rows.start;
        let store = runtime.store_by_filling(shape, own.partition, |elements| {
            let parts = parallel::chunks(elements.len(), DIAGONAL_PART);
            let targets = parallel::split(elements, parts.iter().map(Range::len));
            let work = parts.into_iter().zip(targets);
            parallel::each(threads, work, |(part, target)| {
                fill_diagonal(rows, part, (first, offset), target);
            });
            Ok(())
        });
        let store = runtime.agree(store)?;
        let first = offset.min(0).unsigned_abs().min(self.n_rows());
        let columns = self.n_cols().saturating_sub(offset.max(0).unsigned_abs());
        let last = self.n_rows().min(first.saturating_add(columns));
        if (first, last) == (0, self.n_rows()) {
            return Vector::from_store(store, None);
        }
        let view = View::identity(shape).slice(0, first..last, 1)?;
        Vector::from_store(store, Some(Arc::new(view)))
    }

    /// The entries `a[i, j]` with `j - i <= offset`: the lower triangle with the main diagonal for
    /// 0, without it for -1, as NumPy's `tril`.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    #[doc(alias = "tril")]
    pub fn lower_triangle(&self, offset: isize) -> Result<Self, Error> {
        self.kept("triangle", |row, column, _| {
            column as isize - row as isize <= offset
        })
    }

    /// The entries `a[i, j]` with `j - i >= offset`: the upper triangle with the main diagonal for
    /// 0, without it for 1, as NumPy's `triu`.
    ///
    /// # Errors
    ///
    /// As [`Csr::lower_triangle`].
    #[doc(alias = "triu")]
    pub fn upper_triangle(&self, offset: isize) -> Result<Self, Error> {
        self.kept("triangle", |row, column, _| {
            column as isize - row as isize >= offset
        })
    }

    /// The entries whose absolute value is above a tolerance; with 0 those that are not 0. A NaN
    /// stays, and so does the smallest whole number of a type, whose absolute value the type lacks.
    ///
    /// # Errors
    ///
    /// As [`Csr::lower_triangle`].
    #[doc(alias = "eliminate_zeros")]
    pub fn drop_small(&self, tolerance: T::Magnitude) -> Result<Self, Error> {
        // A NaN is in no range, nor is what wraps to a negative number.
        let small = T::Magnitude::ZERO..=tolerance;
        self.kept("drop_small", move |_, _, value| {
            !small.contains(&value.magnitude())
        })
    }

    /// The entries for which `keep` is true of row, column and value. It is asked once for each
    /// entry, on several threads and in any order.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let positive = a.filter(|_, _, value| value > 0.0)?;
    /// assert_eq!(positive.to_triplets()?.cols(), [0, 1, 2]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::lower_triangle`].
    pub fn filter(
        &self,
        keep: impl Fn(usize, usize, T) -> bool + Sync + Send,
    ) -> Result<Self, Error> {
        eager("filter", &[self], || {
            let own = self.own_rows()?;
            let (rows, runtime) = (own.as_rows(), self.runtime());
            let first = own.rows.start;
            let parts = parallel::parts(rows.pos);
            let kept = try_collect(repeat_n(false, rows.vals.len()));
            let mut kept = runtime.agree(kept)?;
            let lens = parts.iter().map(|part| rows.entries_of(part).len());
            let answers = parallel::split(&mut kept, lens);
            let work = parts.iter().cloned().zip(answers);
            parallel::each(&Threads::of(runtime), work, |(part, answers)| {
                let mut answers = answers.iter_mut();
                for row in part {
                    for ((column, value), answer) in rows.row(row).zip(answers.by_ref()) {
                        *answer = keep(first + row, column as usize, value);
                    }
                }
            });
            self.with_picked(self.n_cols(), true, |number, _, column, _| {
                kept[number].then_some(column)
            })
        })
    }

    /// The entries for which `keep` is true, for the sake of an operation.
    pub(super) fn kept(
        &self,
        op: &'static str,
        keep: impl Fn(usize, usize, T) -> bool + Sync + Send,
    ) -> Result<Self, Error> {
        self.picked(op, self.n_cols(), |_, row, column, value| {
            keep(row, column as usize, value).then_some(column)
        })
    }

    /// The columns of a range, numbered from 0.
    ///
    /// # Errors
    ///
    /// If the range does not lie within the columns, the computation of the values failed, or
    /// memory runs out.
    pub fn column_range(&self, columns: Range<usize>) -> Result<Self, Error> {
        check_range("column_range", &columns, self.n_cols())?;
        self.picked("column_range", columns.len(), |_, _, column, _| {
            let column = column as usize;
            columns
                .contains(&column)
                .then(|| (column - columns.start) as u32)
        })
    }

    /// The rows of a range, numbered from 0.
    ///
    /// # Errors
    ///
    /// As [`Csr::column_range`].
    pub fn row_range(&self, rows: Range<usize>) -> Result<Self, Error> {
        check_range("row_range", &rows, self.n_rows())?;
        eager("row_range", &[self], || self.extracted_rows(rows))
    }

    fn extracted_rows(&self, rows: Range<usize>) -> Result<Self, Error> {
        let runtime = self.runtime();
        let own = runtime.default_rows(Shape::new(&[rows.len()]));
        let wanted = rows.start + own.1.start..rows.start + own.1.end;
        let held = self.rows_at(None, wanted)?;
        let from = held.as_rows();
        let count = |part: Range<usize>, counts: &mut [u64]| {
            let pairs = from.pos[part.start..=part.end].windows(2);
            for (count, pair) in counts.iter_mut().zip(pairs) {
                *count = pair[1] - pair[0];
            }
        };
        let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
            let part = from.range(part);
            crd.copy_from_slice(part.crd);
            vals.copy_from_slice(part.vals);
        };
        let parts = parallel::parts(from.pos);
        let shape = (rows.len(), self.n_cols());
        let stores = assembly::in_parts(runtime, shape, own, &parts, (&count, &fill));
        stores.map(Self::of_stores)
    }

    /// Some rows and columns, both numbered from 0.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// assert_eq!(a.block(1..3, 0..2)?.to_ndarray()?, ndarray::array![[-1.0, 2.0], [0.0, -1.0]]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::column_range`].
    #[doc(alias = "submatrix")]
    #[doc(alias = "slice")]
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Self, Error> {
        let block = self
            .row_range(rows)
            .and_then(|part| part.column_range(columns));
        block.map_err(|error| error.of_operation("block"))
    }

    /// The rows with these numbers, in this order; a row may occur more than once. Every rank gives
    /// the whole list.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let reversed = a.select_rows(&[2, 1, 0])?;
    /// assert_eq!(reversed.to_ndarray()?.row(0).to_vec(), [0.0, -1.0, 2.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such row, the computation of the values failed, or memory runs out.
    #[doc(alias = "take")]
    pub fn select_rows(&self, rows: &[usize]) -> Result<Self, Error> {
        assembly::check_shape("select_rows", rows.len(), self.n_cols())?;
        if let Some(row) = rows.iter().find(|&&row| row >= self.n_rows()) {
            let expected = format!("rows below {}", self.n_rows());
            return Err(Error::argument("select_rows", expected, row.to_string()));
        }
        eager("select_rows", &[self], || self.selected_rows(rows))
    }

    fn selected_rows(&self, rows: &[usize]) -> Result<Self, Error> {
        let runtime = self.runtime();
        let own = runtime.default_rows(Shape::new(&[rows.len()]));
        let wanted = try_collect(rows[own.1.clone()].iter().map(|&row| row as u32));
        let wanted = runtime.agree(wanted)?;
        let source = self.own_rows()?;
        let fetched;
        let (from, numbers) = match source.is_replicated() {
            true => (source.as_rows(), wanted),
            false => {
                let needed =
                    runtime.agree(ghosts::distinct(wanted.iter().copied(), self.n_rows()))?;
                let ghosts = Ghosts::new(runtime, source.partition, needed)?;
                fetched = ghosts.fetch_rows(source.as_rows())?;
                let numbers = runtime.agree(ghosts.numbers(&wanted))?;
                (fetched.as_rows(), numbers)
            }
        };
        let count = |part: Range<usize>, counts: &mut [u64]| {
            for (count, &row) in counts.iter_mut().zip(&numbers[part]) {
                *count = from.entries(row as usize).len() as u64;
            }
        };
        let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
            let mut made = crd.iter_mut().zip(vals);
            for &row in &numbers[part] {
                let entries = from.entries(row as usize);
                let values = from.vals[entries.clone()].iter();
                let old = from.crd[entries].iter().zip(values);
                // Most rows are too short for their memory to be copied.
                for ((&column, &value), (crd, val)) in old.zip(made.by_ref()) {
                    (*crd, *val) = (column, value);
                }
            }
        };
        let parts = parallel::chunks(numbers.len(), 1 << 12);
        let shape = (rows.len(), self.n_cols());
        let stores = assembly::in_parts(runtime, shape, own, &parts, (&count, &fill));
        stores.map(Self::of_stores)
    }

    /// The columns with these numbers, in this order; a column may occur more than once. Every rank
    /// gives the whole list. Linear in columns and entries, plus sorting within each row; of a
    /// matrix with far more columns than entries, linear in the list and entries.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let picked = a.select_columns(&[2, 0, 2])?;
    /// assert_eq!(picked.to_ndarray()?.row(1).to_vec(), [-1.0, -1.0, -1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such column, the computation of the values failed, or memory runs out.
    pub fn select_columns(&self, columns: &[usize]) -> Result<Self, Error> {
        const OP: &str = "select_columns";
        assembly::check_shape(OP, self.n_rows(), columns.len())?;
        if let Some(column) = columns.iter().find(|&&column| column >= self.n_cols()) {
            let expected = format!("columns below {}", self.n_cols());
            return Err(Error::argument(OP, expected, column.to_string()));
        }
        eager(OP, &[self], || {
            let numbers = NewNumbers::of(columns, self.n_cols(), self.nnz());
            let numbers = self.runtime().agree(numbers)?;
            // What finds the number stands in the loops over the entries, without a branch in it.
            match &numbers.first {
                FirstNumbers::Table(table) => {
                    let first = |column| Some(table[column as usize]).filter(|&n| n != NONE);
                    self.with_numbered(columns.len(), &numbers, first)
                }
                FirstNumbers::List(list) => {
                    let first = |column| {
                        let place = list.binary_search_by_key(&column, |&(column, _)| column);
                        Some(list[place.ok()?].1)
                    };
                    self.with_numbered(columns.len(), &numbers, first)
                }
            }
        })
    }

    /// The columns that have new numbers, the first of each of which `first` knows.
    fn with_numbered(
        &self,
        n_cols: usize,
        numbers: &NewNumbers,
        first: impl Fn(u32) -> Option<u32> + Sync,
    ) -> Result<Self, Error> {
        if numbers.next.is_empty() {
            return self.with_picked(n_cols, numbers.ascend, |_, _, column, _| first(column));
        }
        // All numbers of a column, ascending.
        let of_column = |column| {
            successors(first(column), |&number| {
                Some(numbers.next[number as usize]).filter(|&next| next != NONE)
            })
        };
        let own = self.own_rows()?;
        let from = own.as_rows();
        let count = |part: Range<usize>, counts: &mut [u64]| {
            for (row, count) in part.zip(counts) {
                let columns = from.columns(row).iter();
                *count = columns
                    .map(|&column| of_column(column).count() as u64)
                    .sum();
            }
        };
        let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
            let mut at = 0;
            for row in part {
                let begin = at;
                for (column, value) in from.row(row) {
                    for number in of_column(column) {
                        (crd[at], vals[at]) = (number, value);
                        at += 1;
                    }
                }
                if !numbers.ascend {
                    sort_row(&mut crd[begin..at], &mut vals[begin..at]);
                }
            }
        };
        let (spread, parts) = ((own.partition, own.rows.clone()), parallel::parts(from.pos));
        let shape = (self.n_rows(), n_cols);
        let stores = assembly::in_parts(self.runtime(), shape, spread, &parts, (&count, &fill));
        stores.map(Self::of_stores)
    }

    /// The element in a row and a column: 0 where nothing is stored. Executes the window, and on
    /// several ranks asks the one that has the row; for many elements, take the rows that they are
    /// in with [`Csr::local_rows`] or [`Csr::to_triplets`].
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// assert_eq!((a.get(1, 1)?, a.get(0, 2)?), (2.0, 0.0));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such row or column, or the computation of the values failed.
    pub fn get(&self, row: usize, column: usize) -> Result<T, Error> {
        if row >= self.n_rows() || column >= self.n_cols() {
            let expected = format!("a place in {} by {}", self.n_rows(), self.n_cols());
            return Err(Error::argument(
                "get",
                expected,
                format!("({row}, {column})"),
            ));
        }
        eager("get", &[self], || {
            let held = self.rows_at(None, row..row + 1)?;
            let rows = held.as_rows();
            let found = rows.columns(0).binary_search(&(column as u32));
            Ok(found.map_or(T::ZERO, |place| rows.values(0)[place]))
        })
    }

    /// The number of entries of each row, as SciPy's `getnnz(axis=1)`.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    #[doc(alias = "getnnz")]
    pub fn nnz_per_row(&self) -> Result<Vector<u64>, Error> {
        let count = || self.counted_rows();
        self.runtime()
            .eager_task("nnz_per_row", &[self.pos()], count)
    }

    fn counted_rows(&self) -> Result<Vector<u64>, Error> {
        let runtime = self.runtime();
        let partition = self.row_partition()?;
        let pos = runtime.agree(runtime.local::<u64>(self.pos()))?;
        let counts = try_collect(pos.windows(2).map(|pair| pair[1] - pair[0]));
        let rows = pos.rows().start..pos.rows().end - 1;
        let shape = Shape::new(&[self.n_rows()]);
        let store = runtime.agree(counts).and_then(|counts| {
            runtime.agree(runtime.store_of_rows(shape, partition, rows, counts))
        });
        Vector::from_store(store?, None)
    }

    /// The entries to which `pick` gives a new column, which must ascend as the old ones do.
    fn picked(
        &self,
        op: &'static str,
        n_cols: usize,
        pick: impl Fn(usize, usize, u32, T) -> Option<u32> + Sync,
    ) -> Result<Self, Error> {
        eager(op, &[self], || self.with_picked(n_cols, true, pick))
    }

    /// The entries that `pick` gives a column, and whether columns ascend as before. It is asked
    /// twice with the number of an entry on this rank, its row, its column and its value.
    pub(crate) fn with_picked(
        &self,
        n_cols: usize,
        ascend: bool,
        pick: impl Fn(usize, usize, u32, T) -> Option<u32> + Sync,
    ) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let from = own.as_rows();
        let first = own.rows.start;
        let count = |part: Range<usize>, counts: &mut [u64]| {
            for (row, count) in part.zip(counts) {
                let picks = from.entries(row).zip(from.row(row));
                let picks = picks.map(|(k, (column, value))| pick(k, first + row, column, value));
                *count = picks.map(|picked| u64::from(picked.is_some())).sum();
            }
        };
        let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
            let mut at = 0;
            for row in part {
                let begin = at;
                for (k, (column, value)) in from.entries(row).zip(from.row(row)) {
                    if at == crd.len() {
                        break;
                    }
                    // What is not picked is overwritten: which entries are cannot be predicted.
                    let picked = pick(k, first + row, column, value);
                    (crd[at], vals[at]) = (picked.unwrap_or(column), value);
                    at += usize::from(picked.is_some());
                }
                if !ascend {
                    sort_row(&mut crd[begin..at], &mut vals[begin..at]);
                }
            }
            assert_eq!(
                at,
                crd.len(),
                "an entry is picked when counted and when filled"
            );
        };
        let (spread, parts) = ((own.partition, own.rows.clone()), parallel::parts(from.pos));
        let shape = (self.n_rows(), n_cols);
        let stores = assembly::in_parts(self.runtime(), shape, spread, &parts, (&count, &fill));
        stores.map(Self::of_stores)
    }
}

/// The numbers that columns get, where those of a list become the first, the second and so on.
struct NewNumbers {
    /// The first new number of each column.
    first: FirstNumbers,
    /// For each new number the next one of the same column; empty if all have one at most.
    next: Vec<u32>,
    /// Whether the list ascends, and with it new numbers as the old ones do.
    ascend: bool,
}

/// A number for some columns.
enum FirstNumbers {
    /// A place for each column.
    Table(Vec<u32>),
    /// The columns that have one, ascending, and their numbers: for far more columns than entries.
    List(Vec<(u32, u32)>),
}

/// No number: there are fewer columns.
const NONE: u32 = u32::MAX;

impl NewNumbers {
    fn of(columns: &[usize], n_cols: usize, n_entries: usize) -> Result<Self, Error> {
        /// Columns for an entry or a column of the list from which on a table is too large.
        const MANY: usize = 64;
        let mut next = try_collect(repeat_n(NONE, columns.len()))?;
        let n_used = n_entries.saturating_add(columns.len());
        let first = match n_cols / MANY > n_used {
            true => FirstNumbers::list(columns, &mut next)?,
            false => FirstNumbers::table(columns, n_cols, &mut next)?,
        };
        if next.iter().all(|&number| number == NONE) {
            next.clear();
        }
        Ok(Self {
            first,
            next,
            ascend: columns.is_sorted(),
        })
    }
}

impl FirstNumbers {
    /// The numbers of the columns of a list; `next` gets the others of each column.
    fn table(columns: &[usize], n_cols: usize, next: &mut [u32]) -> Result<Self, Error> {
        let mut first = try_collect(repeat_n(NONE, n_cols))?;
        for (number, &column) in columns.iter().enumerate().rev() {
            next[number] = first[column];
            first[column] = number as u32;
        }
        Ok(Self::Table(first))
    }

    /// The same as a list.
    fn list(columns: &[usize], next: &mut [u32]) -> Result<Self, Error> {
        let numbered = columns.iter().enumerate();
        let mut first: Vec<(u32, u32)> =
            try_collect(numbered.map(|(number, &column)| (column as u32, number as u32)))?;
        first.sort_unstable();
        for pair in first.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            next[pair[0].1 as usize] = pair[1].1;
        }
        first.dedup_by_key(|&mut (column, _)| column);
        Ok(Self::List(first))
    }
}

/// The elements of a diagonal in some rows, of which row 0 has the number `first` in the matrix.
fn fill_diagonal<T: Numeric>(
    rows: Rows<'_, T>,
    part: Range<usize>,
    (first, offset): (usize, isize),
    target: &mut [T],
) {
    // Mostly a row has it at the same place as the one before.
    let mut place = 0;
    for (number, target) in part.zip(target) {
        let mut element = || {
            let column = u32::try_from((first + number).checked_add_signed(offset)?).ok()?;
            let columns = rows.columns(number);
            if columns.get(place) != Some(&column) {
                place = columns.binary_search(&column).ok()?;
            }
            Some(rows.values(number)[place])
        };
        *target = element().unwrap_or(T::ZERO);
    }
}

fn check_range(op: &'static str, range: &Range<usize>, len: usize) -> Result<(), Error> {
    if range.start <= range.end && range.end <= len {
        return Ok(());
    }
    let expected = format!("a range within 0..{len}");
    Err(Error::argument(op, expected, format!("{range:?}")))
}
