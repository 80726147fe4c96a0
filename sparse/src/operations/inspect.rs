//! What solvers ask of a matrix before they begin: how large its entries are, whether all are
//! finite, and whether it is its own adjoint.
//!
//! Whether a matrix is symmetric (Hermitian) is decided by one rule everywhere, up to rounding:
//! [`rounding_of_entries`]. The largest entry and the answer of a sample are kept with the matrix.

use crate::exchange::ghosts::Ghosts;
use crate::formats::csr::Csr;
use crate::formats::inspected::{Asymmetry, NotFinite};
use crate::local::rows::Rows;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, try_collect};
use std::ops::Range;

/// Entries up to which the sample is the whole matrix.
const SMALL: usize = 1000;

/// Entries up to which looking at them takes no longer than issuing a task.
const AT_HAND: usize = 1 << 15;

/// Rows that are looked at where the matrix is larger.
const SAMPLE: usize = 64;

/// Entries that are looked at in each of these rows.
const ENTRIES: usize = 64;

/// Entries of a row beyond which mirror images in it are not looked at: other ranks fetch whole
/// rows, and those of a hub may have millions.
const LONG: usize = 4096;

/// By how much an entry may differ from the conjugate of its mirror image in a matrix that is
/// symmetric (Hermitian) up to rounding: 1000 times the precision of the largest entry.
#[must_use]
pub fn rounding_of_entries<T: Field>(norm_max: f64) -> f64 {
    match norm_max.is_finite() {
        true => 1e3 * T::Real::EPSILON.to_f64() * norm_max,
        false => 0.0,
    }
}

impl<T: Field> Csr<T> {
    /// [`Csr::norm_max`] as a number, of complex entries that of their parts: found when it is
    /// first asked for and kept with this matrix and its clones. The first call executes the
    /// window, and every rank must make it.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    #[doc(hidden)]
    pub fn kept_norm_max(&self) -> Result<f64, Error> {
        if let Some(&norm_max) = self.inspected().norm_max.get() {
            return Ok(norm_max);
        }
        // The reduction knows no largest part of complex values, and an absolute value may overflow
        // where the parts do not.
        let norm_max = match self.nnz() <= AT_HAND || T::DTYPE.is_complex() {
            true => self.largest_part()?,
            false => self.norm_max().get()?.to_f64(),
        };
        Ok(*self.inspected().norm_max.get_or_init(|| norm_max))
    }

    /// The largest absolute value of a real or imaginary part, or what is not a number.
    fn largest_part(&self) -> Result<f64, Error> {
        let own = self.own_rows()?;
        let parts = own.as_rows().vals().iter().map(|value| value.parts());
        let larger = |most: f64, part: f64| {
            if part > most || part.is_nan() {
                part
            } else {
                most
            }
        };
        let mine = parts.fold(0.0, |most, (re, im)| {
            larger(larger(most, re.abs()), im.abs())
        });
        let all = self.runtime().all_gather(&[mine])?;
        Ok(all.iter().map(|of_rank| of_rank[0]).fold(0.0, larger))
    }

    /// The first entry, row by row, that is infinite or not a number; nothing is searched where
    /// [`Csr::kept_norm_max`] is finite. Every rank must ask.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// assert!(gallery::poisson2d::<f64>(8)?.first_not_finite()?.is_none());
    /// let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, f64::NAN])?;
    /// let found = a.first_not_finite()?.map(|entry| entry.to_string());
    /// assert_eq!(found.as_deref(), Some("NaN in row 1, column 1"));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    #[doc(hidden)]
    pub fn first_not_finite(&self) -> Result<Option<NotFinite>, Error> {
        if self.kept_norm_max()?.is_finite() {
            return Ok(None);
        }
        let own = self.own_rows()?;
        let rows = own.as_rows();
        let mine = rows
            .vals()
            .iter()
            .position(|value| not_finite(*value).is_some());
        let mine = mine.map(|entry| {
            let row = rows
                .pos()
                .partition_point(|&pos| pos - rows.pos()[0] <= entry as u64)
                - 1;
            let row = (own.rows().start + row) as f64;
            let value = not_finite(rows.vals()[entry]).unwrap_or(f64::NAN);
            [row, f64::from(rows.crd()[entry]), value]
        });
        let first = first_of_ranks(self, mine)?;
        Ok(first.map(|[row, column, value]| NotFinite {
            row: row as usize,
            column: column as usize,
            value,
        }))
    }

    /// Whether the matrix is symmetric (Hermitian), up to rounding: no entry differs from the
    /// conjugate of its mirror image by more than 1000 times the precision of the largest entry.
    /// One transpose; every rank must ask.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// assert!(gallery::poisson2d::<f64>(8)?.is_hermitian()?);
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 1.0])?;
    /// assert!(!a.is_hermitian()?);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    #[doc(alias = "is_symmetric")]
    pub fn is_hermitian(&self) -> Result<bool, Error> {
        if self.n_rows() != self.n_cols() {
            return Ok(false);
        }
        let difference = self.try_sub(&self.adjoint()?)?.norm_max();
        let most = rounding_of_entries::<T>(self.kept_norm_max()?);
        Ok(difference.get()?.to_f64() <= most)
    }

    /// A pair of entries by which the matrix is seen not to be symmetric (Hermitian) up to
    /// rounding, if a look at some rows finds one; of a small matrix, at all. It is the same pair
    /// on any number of ranks, which fetch the mirror images that others hold, except from very
    /// long rows. Kept with this matrix and its clones; the first call executes the window, and
    /// every rank must make it.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    #[doc(hidden)]
    pub fn sampled_asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
        if let Some(&sample) = self.inspected().sample.get() {
            return Ok(sample);
        }
        if self.n_rows() != self.n_cols() {
            return Ok(None);
        }
        let most = rounding_of_entries::<T>(self.kept_norm_max()?);
        let own = self.own_rows()?;
        let sample = match self.nnz() <= SMALL {
            true => Sample {
                stride: 1,
                entries: usize::MAX,
            },
            false => Sample {
                stride: self.n_rows().div_ceil(SAMPLE).max(1),
                entries: ENTRIES,
            },
        };
        let fetched = match own.is_replicated() {
            true => None,
            // What a planned rank fetches are no numbers.
            false if self.runtime().is_planned() => return Ok(None),
            false => {
                let ghosts_of = |needed| Ghosts::new(self.runtime(), own.partition(), needed);
                let ghosts = ghosts_of(sample.mirrors(own.as_rows(), own.rows()))?;
                let lengths = own.as_rows().pos().windows(2).map(|ends| ends[1] - ends[0]);
                let lengths = self.runtime().agree(try_collect(lengths))?;
                let lengths: Vec<u64> = ghosts.fetch(&lengths)?;
                let is_short = |it: &(&u32, u64)| it.1 <= LONG as u64;
                let short = ghosts.indices().iter().zip(lengths).filter(is_short);
                let ghosts = ghosts_of(short.map(|(row, _)| *row).collect())?;
                let rows = ghosts.fetch_rows(own.as_rows())?;
                Some((ghosts, rows))
            }
        };
        let mirror = |row: usize, column: u32| match &fetched {
            Some((ghosts, rows)) if !own.rows().contains(&(column as usize)) => {
                entry(rows.as_rows(), ghosts.number(column)?, row)
            }
            _ => entry(own.as_rows(), column as usize - own.rows().start, row),
        };
        let mine = sample.first_asymmetry((own.as_rows(), own.rows()), mirror, most);
        let mine = mine.map(|it| {
            let (value, mirror) = (it.value, it.mirror);
            let (row, column) = (it.row as f64, it.column as f64);
            [row, column, value.0, value.1, mirror.0, mirror.1]
        });
        let sample = first_of_ranks(self, mine)?.map(|it| Asymmetry {
            row: it[0] as usize,
            column: it[1] as usize,
            value: (it[2], it[3]),
            mirror: (it[4], it[5]),
        });
        Ok(*self.inspected().sample.get_or_init(|| sample))
    }
}

/// Which entries are looked at: the first `entries` of each row whose number is a multiple of
/// `stride`.
struct Sample {
    stride: usize,
    entries: usize,
}

impl Sample {
    /// The rows of the sample among some rows of the matrix.
    fn rows(&self, own: Range<usize>) -> impl Iterator<Item = usize> {
        let first = own.start.next_multiple_of(self.stride);
        (first..own.end).step_by(self.stride)
    }

    /// The rows outside these that hold the mirror images of the entries, ascending.
    fn mirrors<T: Field>(&self, rows: Rows<'_, T>, own: Range<usize>) -> Vec<u32> {
        let columns = |row: usize| rows.columns(row - own.start).iter().take(self.entries);
        let columns = self.rows(own.clone()).flat_map(columns).copied();
        let mut needed: Vec<u32> = columns
            .filter(|&column| !own.contains(&(column as usize)))
            .collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// The first pair, where `mirror` gives the entry of the row `column` in the column `row`, if
    /// that is looked at.
    fn first_asymmetry<T: Field>(
        &self,
        (rows, own): (Rows<'_, T>, Range<usize>),
        mirror: impl Fn(usize, u32) -> Option<T>,
        most: f64,
    ) -> Option<Asymmetry> {
        self.rows(own.clone()).find_map(|row| {
            let mut row_entries = rows.row(row - own.start).take(self.entries);
            row_entries.find_map(|(column, value)| {
                let (value, mirror) = (value.parts(), mirror(row, column)?.parts());
                let (re, im) = (value.0 - mirror.0, value.1 + mirror.1);
                // Entries that are not numbers are told by the solver, and say nothing here.
                let is_asymmetric = re.abs().max(im.abs()) > most;
                is_asymmetric.then_some(Asymmetry {
                    row,
                    column: column as usize,
                    value,
                    mirror,
                })
            })
        })
    }
}

/// An entry of a row, 0 where none is stored; none of a row that is long.
fn entry<T: Field>(rows: Rows<'_, T>, row: usize, column: usize) -> Option<T> {
    let columns = rows.columns(row);
    if columns.len() > LONG {
        return None;
    }
    let place = columns.binary_search(&(column as u32));
    Some(place.map_or(T::ZERO, |k| rows.values(row)[k]))
}

/// The part of a number that is infinite or not a number, if one is.
fn not_finite<T: Field>(value: T) -> Option<f64> {
    let (re, im) = value.parts();
    [re, im].into_iter().find(|part| !part.is_finite())
}

/// What the first rank has found that has found something, on every rank.
fn first_of_ranks<T: Field, const N: usize>(
    a: &Csr<T>,
    mine: Option<[f64; N]>,
) -> Result<Option<[f64; N]>, Error> {
    // The first number says whether there is one.
    let numbers = mine.map_or_else(|| vec![0.0; N + 1], |mine| [&[1.0][..], &mine].concat());
    let all = a.runtime().all_gather(&numbers)?;
    let first = all.iter().find(|of_rank| of_rank[0] == 1.0);
    Ok(first.map(|it| std::array::from_fn(|k| it[k + 1])))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{LocalRows, gallery};
    use num_complex::Complex;
    use sparsefuse_runtime::{Config, run_ranks};

    #[test]
    fn a_pair_is_named_and_rounding_is_not() {
        let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 1.0]).unwrap();
        let found = a.sampled_asymmetry().unwrap().unwrap();
        assert_eq!((found.row, found.column), (0, 1));
        let expected = "2e0 in row 0, column 1 and 0e0 in row 1, column 0";
        assert_eq!(found.to_string(), expected);
        assert!(!a.is_hermitian().unwrap());
        let vals = vec![1.0, 2.0, 2.0 + 1e-14, 1.0];
        let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vals).unwrap();
        assert_eq!(a.sampled_asymmetry().unwrap(), None);
        assert!(a.is_hermitian().unwrap());
    }

    #[test]
    fn complex_symmetric_is_not_hermitian() {
        let (one, i) = (Complex::<f64>::ONE, Complex::<f64>::I);
        let of = |mirror| {
            let vals = vec![one, i, mirror, one];
            Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vals).unwrap()
        };
        assert!(of(-i).is_hermitian().unwrap() && of(-i).sampled_asymmetry().unwrap().is_none());
        assert!(!of(i).is_hermitian().unwrap() && of(i).sampled_asymmetry().unwrap().is_some());
    }

    #[test]
    fn the_first_entry_that_is_not_finite_is_the_same_on_ranks() {
        for n in [40, 40_000] {
            let found = run_ranks(3, &Config::default(), |_| {
                let a = gallery::poisson1d::<f64>(n).unwrap();
                // The diagonal entries of rows n / 2 and n - 1.
                let bad = [3 * (n / 2), 3 * n - 3];
                let vals = |[entry]: [usize; 1]| match bad.contains(&entry) {
                    true => f64::NEG_INFINITY,
                    false => 1.0,
                };
                let bad = a.with_values(sparsefuse_dense::Vector::from_fn([a.nnz()], vals));
                let found = bad.unwrap().first_not_finite().unwrap();
                (found, a.first_not_finite().unwrap())
            });
            let expected = NotFinite {
                row: n / 2,
                column: n / 2,
                value: f64::NEG_INFINITY,
            };
            assert_eq!(found.unwrap(), [(Some(expected), None); 3]);
        }
    }

    #[test]
    fn absolute_values_that_overflow_are_finite() {
        let big = Complex::new(1.5e308, 1.5e308);
        let a = Csr::new(1, 1, vec![0, 1], vec![0], vec![big]).unwrap();
        assert_eq!(a.first_not_finite().unwrap(), None);
        let bad = Complex::new(0.0, f64::INFINITY);
        let a = Csr::new(1, 1, vec![0, 1], vec![0], vec![bad]).unwrap();
        let found = a.first_not_finite().unwrap().unwrap().to_string();
        assert_eq!(found, "inf in row 0, column 0");
    }

    /// Entries far from the diagonal, whose mirror images other ranks hold.
    #[test]
    fn ranks_find_what_one_rank_finds() {
        let n = 30_000;
        let find = |_: &sparsefuse_runtime::Runtime| {
            let a = Csr::<f64>::from_rows(n, n, |rows| {
                let mut own = LocalRows::with_capacity(rows.len(), 2 * rows.len());
                for row in rows {
                    own.push(row as u32, 2.0);
                    if row < n / 3 {
                        own.push((row + n / 2) as u32, 1.0);
                    }
                    own.end_row();
                }
                own
            });
            a.unwrap().sampled_asymmetry().unwrap()
        };
        let one = run_ranks(1, &Config::default(), find).unwrap()[0];
        assert!(one.is_some());
        assert_eq!(run_ranks(3, &Config::default(), find).unwrap(), [one; 3]);
    }

    /// A hub, whose row has an entry for each of the others, which have none for it.
    #[test]
    fn mirror_images_in_long_rows_are_not_looked_at() {
        for (n, is_found) in [(LONG - 1, true), (4 * LONG, false)] {
            let find = |_: &sparsefuse_runtime::Runtime| {
                let a = Csr::<f64>::from_rows(n, n, |rows| {
                    let mut own = LocalRows::with_capacity(rows.len(), 2 * rows.len());
                    for row in rows {
                        match row == n / 2 + 1 {
                            true => (0..n as u32).for_each(|column| own.push(column, 1.0)),
                            false => {
                                let mut entries = [(n as u32 / 2 + 1, 3.0), (row as u32, 2.0)];
                                entries.sort_by_key(|entry| entry.0);
                                for (column, value) in entries {
                                    own.push(column, value);
                                }
                            }
                        }
                        own.end_row();
                    }
                    own
                });
                a.unwrap().sampled_asymmetry().unwrap()
            };
            let one = run_ranks(1, &Config::default(), find).unwrap()[0];
            assert_eq!(one.is_some(), is_found, "{n}");
            assert_eq!(run_ranks(3, &Config::default(), find).unwrap(), [one; 3]);
        }
    }

    /// The whole upper triangle is missing.
    #[test]
    fn ranks_find_the_same_pair() {
        for n in [40, 40_000] {
            let found = run_ranks(3, &Config::default(), |_| {
                let lower = Csr::<f64>::from_rows(n, n, |rows| {
                    let mut lower = LocalRows::with_capacity(rows.len(), 2 * rows.len());
                    for row in rows {
                        if row > 0 {
                            lower.push(row as u32 - 1, -1.0);
                        }
                        lower.push(row as u32, 2.0);
                        lower.end_row();
                    }
                    lower
                });
                let pair = lower.unwrap().sampled_asymmetry().unwrap();
                let symmetric = gallery::poisson1d::<f64>(n).unwrap();
                (pair, symmetric.sampled_asymmetry().unwrap())
            });
            let found = found.unwrap();
            assert!(found.iter().all(|it| *it == found[0]), "{found:?}");
            assert!(found[0].0.is_some() && found[0].1.is_none(), "{found:?}");
        }
    }
}
