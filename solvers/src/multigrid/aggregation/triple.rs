//! R A P, the matrix of the next level, without A P in between.
//!
//! Row I is the sum over i and j of `r[I, i] a[i, j]` times row j of P, in this order, so its bits
//! depend on nothing else. A row of A is looked at once for each entry of its row of P, which costs
//! less than to make, keep and read A P.

use super::prolongator::{Part, joined};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, Ghosts, LocalRows, OwnRows, Rows, parallel};
use std::ops::Range;

/// Rows that one thread makes at a time.
const PART: usize = 1 << 12;

/// R A P; every rank makes its rows.
pub(super) fn triple_product<T: Field>(
    r: &Csr<T>,
    a: &Csr<T>,
    p: &Csr<T>,
) -> Result<Csr<T>, Error> {
    let r_rows = r.own_rows()?;
    let first = r_rows.rows().start;
    let r_rows = r_rows.as_rows();
    let a_rows = Factor::new(r_rows.crd(), a)?;
    let p_rows = Factor::new(a_rows.as_rows().crd(), p)?;
    let factors = Factors {
        r: r_rows,
        a: a_rows.as_rows(),
        p: p_rows.as_rows(),
        a_numbers: a_rows.numbers(r_rows.crd()),
        p_numbers: p_rows.numbers(a_rows.as_rows().crd()),
        n_cols: p.n_cols(),
    };
    let runtime = a.runtime();
    let make = |own: Range<usize>| {
        debug_assert_eq!(
            own,
            first..first + factors.r.len(),
            "the rows of R by default"
        );
        let parts = parallel::chunks(own.len(), PART);
        joined(parallel::map(runtime, parts, |part| factors.part(part)))
    };
    runtime.enter(|| Csr::from_rows(r.n_rows(), p.n_cols(), make))
}

/// The rows of a right factor that the columns of a left one name.
enum Factor<T> {
    /// Every rank has all.
    Own(OwnRows<T>),
    /// Those that are named, and the columns as their numbers.
    Fetched(LocalRows<T>, Vec<u32>),
}

impl<T: Field> Factor<T> {
    fn new(columns: &[u32], right: &Csr<T>) -> Result<Self, Error> {
        let own = right.own_rows()?;
        if own.is_replicated() {
            return Ok(Self::Own(own));
        }
        let mut needed = columns.to_vec();
        needed.sort_unstable();
        needed.dedup();
        let ghosts = Ghosts::new(right.runtime(), own.partition(), needed)?;
        let rows = ghosts.fetch_own_rows(&own)?;
        Ok(Self::Fetched(rows, ghosts.numbers(columns)))
    }

    fn as_rows(&self) -> Rows<'_, T> {
        match self {
            Self::Own(own) => own.as_rows(),
            Self::Fetched(rows, _) => rows.as_rows(),
        }
    }

    /// The columns of the left factor as numbers of these rows.
    fn numbers<'a>(&'a self, columns: &'a [u32]) -> &'a [u32] {
        match self {
            Self::Own(_) => columns,
            Self::Fetched(_, numbers) => numbers,
        }
    }
}

struct Factors<'a, T> {
    r: Rows<'a, T>,
    a: Rows<'a, T>,
    p: Rows<'a, T>,
    /// The columns of R as numbers of rows of `a`, those of A as numbers of rows of `p`.
    a_numbers: &'a [u32],
    p_numbers: &'a [u32],
    n_cols: usize,
}

impl<T: Field> Factors<'_, T> {
    /// Some rows of the product.
    fn part(&self, part: Range<usize>) -> Part<T> {
        /// A column that the row does not have yet.
        const NEW: u32 = u32::MAX;
        let mut made = Part::with_capacity(part.len());
        let mut places = vec![NEW; self.n_cols];
        let mut entries: Vec<(u32, T)> = Vec::new();
        for row in part {
            entries.clear();
            for k in self.r.entries(row) {
                let (a_row, factor) = (self.a_numbers[k] as usize, self.r.vals()[k]);
                for l in self.a.entries(a_row) {
                    let weight = factor * self.a.vals()[l];
                    let p_row = self.p_numbers[l] as usize;
                    for (&column, &value) in self.p.columns(p_row).iter().zip(self.p.values(p_row))
                    {
                        let place = &mut places[column as usize];
                        if *place == NEW {
                            *place = entries.len() as u32;
                            entries.push((column, weight * value));
                        } else {
                            let sum = &mut entries[*place as usize].1;
                            *sum = *sum + weight * value;
                        }
                    }
                }
            }
            entries
                .iter()
                .for_each(|&(column, _)| places[column as usize] = NEW);
            entries.sort_unstable_by_key(|&(column, _)| column);
            made.push_row(&entries);
        }
        made
    }
}
