//! Rows and columns by ranges of any kind and by masks: what arrays take as indices.

use crate::formats::csr::Csr;
use sparsefuse_dense::{Slice, Slices, Vector};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::ops::Range;

/// Which rows or columns a slice takes.
enum Taken {
    All,
    Range(Range<usize>),
    List(Vec<usize>),
}

impl<T: Numeric> Csr<T> {
    /// Some rows and columns: a slice of each, any of Rust's ranges or a
    /// [`step`](sparsefuse_dense::step) of one, which a negative step walks backwards. As
    /// [`Array::slice`](sparsefuse_dense::Array::slice), but a new matrix and no view. A range
    /// costs what [`Csr::block`] does, steps what [`Csr::select_rows`] and [`Csr::select_columns`]
    /// do.
    ///
    /// ```
    /// use sparsefuse_dense::step;
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// assert_eq!(a.slice((2.., ..))?.to_rows()?, a.row_range(2..4)?.to_rows()?);
    /// let reversed = a.slice((step(.., -1), step(.., 2)))?;
    /// assert_eq!(reversed.to_dense()?.to_vec()?, [0.0, -1.0, 0.0, 2.0, -1.0, -1.0, 2.0, 0.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a range does not lie within the matrix or a step is 0; if the computation of the values
    /// failed, or memory runs out.
    pub fn slice(&self, slices: impl Slices<2>) -> Result<Self, Error> {
        let [rows, columns] = slices.slices();
        let sliced = || {
            let columns = taken(columns, self.n_cols())?;
            let rows = match taken(rows, self.n_rows())? {
                Taken::All => self.clone(),
                Taken::Range(rows) => self.row_range(rows)?,
                Taken::List(rows) => self.select_rows(&rows)?,
            };
            match columns {
                Taken::All => Ok(rows),
                Taken::Range(columns) => rows.column_range(columns),
                Taken::List(columns) => rows.select_columns(&columns),
            }
        };
        sliced().map_err(|error: Error| error.of_operation("slice"))
    }

    /// The rows for which a mask holds, in their order: SciPy's `a[mask]`. Executes the window, and
    /// every rank reads the whole mask; then as [`Csr::select_rows`].
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// let ends = a.compress_rows(&a.sum_axis(1).greater(0.0))?;
    /// assert_eq!(ends.to_rows()?, a.select_rows(&[0, 3])?.to_rows()?);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the mask has not as many elements as there are rows, its computation or that of the
    /// values failed, or memory runs out.
    pub fn compress_rows(&self, mask: &Vector<bool>) -> Result<Self, Error> {
        let rows = chosen("compress_rows", mask, (self.n_rows(), "rows"))?;
        self.select_rows(&rows)
    }

    /// The columns for which a mask holds, as [`Csr::compress_rows`].
    ///
    /// # Errors
    ///
    /// As [`Csr::compress_rows`].
    pub fn compress_columns(&self, mask: &Vector<bool>) -> Result<Self, Error> {
        let columns = chosen("compress_columns", mask, (self.n_cols(), "columns"))?;
        self.select_columns(&columns)
    }
}

fn taken(slice: Slice, len: usize) -> Result<Taken, Error> {
    let (range, step) = slice.of_len(len)?;
    let skipped = step.unsigned_abs();
    Ok(match step {
        1 if range == (0..len) => Taken::All,
        1 => Taken::Range(range),
        2.. => Taken::List(try_collect(range.step_by(skipped))?),
        _ => Taken::List(try_collect(range.rev().step_by(skipped))?),
    })
}

/// The numbers of the elements that hold.
fn chosen(
    op: &'static str,
    mask: &Vector<bool>,
    (len, what): (usize, &str),
) -> Result<Vec<usize>, Error> {
    if mask.len() != len {
        let expected = format!("a mask of {len} {what}");
        return Err(Error::argument(op, expected, mask.len().to_string()));
    }
    let holds = mask.to_vec()?;
    let room = reserve(holds.iter().filter(|&&holds| holds).count());
    // What follows asks all ranks, so that none may be without memory alone.
    let mut chosen = mask.runtime().agree(room)?;
    let numbers = holds.into_iter().enumerate();
    chosen.extend(numbers.filter_map(|(number, holds)| holds.then_some(number)));
    Ok(chosen)
}
