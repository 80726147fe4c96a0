//! What solvers ask of a matrix before they begin: how large its entries are, and whether it is its
//! own adjoint.
//!
//! Whether a matrix is symmetric (Hermitian) is decided by one rule everywhere, up to rounding:
//! [`rounding_of_entries`]. The largest entry and the answer of a sample are kept with the matrix.

use crate::formats::csr::Csr;
use crate::formats::inspected::Asymmetry;
use crate::local::rows::Rows;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use std::ops::Range;

/// Entries up to which the sample is the whole matrix.
const SMALL: usize = 1000;

/// Entries up to which looking at them takes no longer than issuing a task.
const AT_HAND: usize = 1 << 15;

/// Rows that each rank looks at where the matrix is larger.
const SAMPLE: usize = 64;

/// Entries that are looked at in each of these rows.
const ENTRIES: usize = 64;

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
    /// [`Csr::norm_max`] as a number, of complex entries that of their parts: found when it is first
    /// asked for and kept with this matrix and its clones. The first call executes the window, and
    /// every rank must make it.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn kept_norm_max(&self) -> Result<f64, Error> {
        if let Some(&norm_max) = self.inspected().norm_max.get() {
            return Ok(norm_max);
        }
        let norm_max = match self.nnz() <= AT_HAND {
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
    /// rounding, if a look at some rows finds one; of a small matrix, at all rows that one rank
    /// holds. Kept with this matrix and its clones; the first call executes the window, and every
    /// rank must make it.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn sampled_asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
        if let Some(&sample) = self.inspected().sample.get() {
            return Ok(sample);
        }
        if self.n_rows() != self.n_cols() {
            return Ok(None);
        }
        let most = rounding_of_entries::<T>(self.kept_norm_max()?);
        let own = self.own_rows()?;
        let mine = match self.nnz() <= SMALL {
            true => first_asymmetry(own.as_rows(), own.rows(), (1, usize::MAX), most),
            false => {
                let stride = own.rows().len().div_ceil(SAMPLE).max(1);
                first_asymmetry(own.as_rows(), own.rows(), (stride, ENTRIES), most)
            }
        };
        let sample = first_of_ranks(self, mine)?;
        Ok(*self.inspected().sample.get_or_init(|| sample))
    }
}

/// The first pair in a sample of the rows, among the first entries of each whose mirror image lies
/// in these rows too.
fn first_asymmetry<T: Field>(
    rows: Rows<'_, T>,
    own: Range<usize>,
    (stride, entries): (usize, usize),
    most: f64,
) -> Option<Asymmetry> {
    own.clone().step_by(stride).find_map(|row| {
        let mut row_entries = rows.row(row - own.start).take(entries);
        row_entries.find_map(|(column, value)| {
            let column = column as usize;
            if !own.contains(&column) {
                return None;
            }
            let there = rows
                .columns(column - own.start)
                .binary_search(&(row as u32));
            let mirror = there.map_or(T::ZERO, |k| rows.values(column - own.start)[k]);
            let (value, mirror) = (value.parts(), mirror.parts());
            let (re, im) = (value.0 - mirror.0, value.1 + mirror.1);
            // Entries that are not numbers are told by the solver, and say nothing here.
            let is_asymmetric = re.abs().max(im.abs()) > most;
            is_asymmetric.then_some(Asymmetry {
                row,
                column,
                value,
                mirror,
            })
        })
    })
}

/// That of the first rank that has one, on every rank.
fn first_of_ranks<T: Field>(
    a: &Csr<T>,
    mine: Option<Asymmetry>,
) -> Result<Option<Asymmetry>, Error> {
    // The first number says whether there is one.
    let numbers = mine.map_or([0.0; 7], |it| {
        let (row, column) = (it.row as f64, it.column as f64);
        let (value, mirror) = (it.value, it.mirror);
        [1.0, row, column, value.0, value.1, mirror.0, mirror.1]
    });
    let all = a.runtime().all_gather(&numbers)?;
    let first = all.iter().find(|of_rank| of_rank[0] == 1.0);
    Ok(first.map(|it| Asymmetry {
        row: it[1] as usize,
        column: it[2] as usize,
        value: (it[3], it[4]),
        mirror: (it[5], it[6]),
    }))
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

    /// The whole upper triangle is missing, so the sample of each rank sees it.
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
