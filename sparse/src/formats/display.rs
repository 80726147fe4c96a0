//! Matrices as text, much as SciPy shows them: shape and number of entries, then the entries.
//!
//! Of more than 50 entries the first and the last 25 are shown. Each rank writes those that it has.

use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use crate::formats::eager::eager;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use std::fmt;

/// Entries up to which all are shown.
const MANY: usize = 50;

/// Shows the matrix, with as many digits behind the point as the format says; executes the window,
/// so every rank must ask. A failure is shown in place of the entries.
///
/// ```
/// use sparsefuse_sparse::Csr;
///
/// let a = Csr::new(2, 12, vec![0, 2, 3], vec![0, 10, 1], vec![2.0, -1.5, 0.25])?;
/// let text = "2 by 12, 3 entries of type f64\n  (0, 0)   2\n  (0, 10)  -1.5\n  (1, 1)   0.25";
/// assert_eq!(a.to_string(), text);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
impl<T: Numeric> fmt::Display for Csr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, n_cols) = self.shape();
        let nnz = self.nnz();
        let entries = if nnz == 1 { "entry" } else { "entries" };
        write!(
            f,
            "{n_rows} by {n_cols}, {nnz} {entries} of type {}",
            T::DTYPE
        )?;
        match self.shown_entries(f.precision()) {
            Ok(shown) => shown.fmt(f, nnz),
            Err(error) => write!(f, "\n  ({error})"),
        }
    }
}

macro_rules! shown_by_rows {
    ($($matrix:ident)*) => {$(
        #[doc = "Shows the matrix by rows, as [`Csr`] does, so every rank must ask; by way of"]
        #[doc = concat!("[`", stringify!($matrix), "::to_csr`].")]
        impl<T: Numeric> fmt::Display for $matrix<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.to_csr() {
                    Ok(rows) => rows.fmt(f),
                    Err(error) => write!(f, "({error})"),
                }
            }
        }
    )*};
}

shown_by_rows!(Csc Coo Dia Bsr);

/// The place of each entry that is shown, and its value.
struct Shown(Vec<(String, String)>);

impl Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>, nnz: usize) -> fmt::Result {
        let width = self.0.iter().map(|(place, _)| place.len()).max();
        let width = width.unwrap_or(0);
        for (number, (place, value)) in self.0.iter().enumerate() {
            if nnz > MANY && number == MANY / 2 {
                f.write_str("\n  ...")?;
            }
            write!(f, "\n  {place:width$}  {value}")?;
        }
        Ok(())
    }
}

impl<T: Numeric> Csr<T> {
    fn shown_entries(&self, precision: Option<usize>) -> Result<Shown, Error> {
        let nnz = self.nnz();
        let is_shown = |entry: usize| nnz <= MANY || entry < MANY / 2 || entry >= nnz - MANY / 2;
        eager("display", &[self], || {
            let own = self.own_rows()?;
            let rows = own.as_rows();
            // Positions are those of the whole matrix.
            let first = rows.pos()[0] as usize;
            let shown = (0..rows.vals().len()).filter(|&entry| is_shown(first + entry));
            let mine = shown.map(|entry| {
                let ends = &rows.pos()[1..];
                let row = ends.partition_point(|&end| end as usize <= first + entry);
                let (row, column) = (own.rows().start + row, rows.crd()[entry]);
                let value = rows.vals()[entry];
                let value = match precision {
                    Some(digits) => format!("{value:.digits$}"),
                    None => value.to_string(),
                };
                format!("({row}, {column})\t{value}\n")
            });
            let mine: String = mine.collect();
            let all = match own.is_replicated() {
                true => vec![mine.into_bytes()],
                false => self.runtime().all_gather_bytes(mine.into_bytes())?,
            };
            let all = all.concat();
            let text = String::from_utf8_lossy(&all);
            let lines = text.lines().filter_map(|line| line.split_once('\t'));
            let lines = lines.map(|(place, value)| (place.to_owned(), value.to_owned()));
            Ok(Shown(lines.collect()))
        })
    }
}
