//! The factors of a product of two sparse matrices, on one rank.

use super::parallel;
use super::rows::Rows;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::prefetch_all;
use std::ops::Range;

/// How many entries of the left factor ahead rows of the right one are asked for: rows anywhere
/// would be waited for one after the other, since where a row ends cannot be predicted.
const AHEAD: usize = 8;

/// Pairs of neighbouring rows that are looked at, and how many rows apart what they name is near.
const SAMPLES: usize = 256;
const NEAR: u32 = 64;

/// Rows of a product in fewer parts than this are shared out by their terms.
const MANY_PARTS: usize = 64;

/// What a rank multiplies: its rows of the left factor, whose columns are numbers of the rows of
/// the right one.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a, T> {
    pub(crate) left: Rows<'a, T>,
    pub(crate) right: Rows<'a, T>,
    /// The number of columns of the right factor.
    pub(crate) n_cols: usize,
}

impl<'a, T: Numeric> Factors<'a, T> {
    /// The number of products that make a row.
    pub(crate) fn products(&self, row: usize) -> usize {
        let columns = self.left.columns(row).iter();
        columns.map(|&k| self.right.entries(k as usize).len()).sum()
    }

    /// Neighbouring rows of the product that are about as much work as others together. Many
    /// entries of the left factor are shared out as they are; few may have many products each, so
    /// these are counted, which for few entries is soon done.
    pub(crate) fn parts(&self) -> Vec<Range<usize>> {
        let parts = parallel::parts(self.left.pos);
        if parts.len() >= MANY_PARTS || self.right.crd.len() <= self.right.len() {
            return parts;
        }
        let mut before = Vec::with_capacity(self.left.len() + 1);
        let mut sum = 0;
        before.push(sum);
        for row in 0..self.left.len() {
            sum += self.products(row) as u64;
            before.push(sum);
        }
        parallel::parts_of_work(self.left.len(), |row| before[row])
    }

    /// Whether rows of the left factor name rows of the right one that lie far from those of the
    /// row before, as far as some of them show.
    pub(crate) fn are_far_apart(&self) -> bool {
        let n_rows = self.left.len();
        let pairs = (1..n_rows).step_by((n_rows / SAMPLES).max(1));
        let mut n_near = 0;
        let mut n_far = 0;
        for row in pairs {
            let firsts = [row - 1, row].map(|row| self.left.columns(row).first());
            if let [Some(before), Some(now)] = firsts {
                match before.abs_diff(*now) > NEAR {
                    true => n_far += 1,
                    false => n_near += 1,
                }
            }
        }
        n_far > n_near
    }

    /// Asks for what comes a while after an entry of the left factor: rows of the right one, and
    /// where those after them are.
    #[inline(always)]
    pub(crate) fn fetch(&self, entry: usize) {
        if let Some(entries) = self.fetch_columns(entry) {
            prefetch_all(&self.right.vals[entries]);
        }
    }

    /// As [`Factors::fetch`], without values; says which entries they are.
    #[inline(always)]
    pub(crate) fn fetch_columns(&self, entry: usize) -> Option<Range<usize>> {
        let Rows { pos, crd, .. } = self.right;
        if let Some(&row) = self.left.crd.get(entry + 2 * AHEAD) {
            prefetch_all(&pos[row as usize..row as usize + 1]);
        }
        let row = *self.left.crd.get(entry + AHEAD)?;
        let entries = self.right.entries(row as usize);
        prefetch_all(&crd[entries.clone()]);
        Some(entries)
    }

    /// The number of entries of a row whose products come by ascending columns, so that each is an
    /// entry: where one of the factors is diagonal, selects rows or columns, or has few entries.
    /// `None` for others. Looks at the ends of rows of the right factor, which ascend.
    #[inline(always)]
    pub(crate) fn count_in_order(&self, row: usize, is_ahead: bool) -> Option<u64> {
        let mut count = 0;
        let mut next = 0;
        for entry in self.left.entries(row) {
            if is_ahead {
                self.fetch_columns(entry);
            }
            let columns = self.right.columns(self.left.crd[entry] as usize);
            if let (Some(first), Some(last)) = (columns.first(), columns.last()) {
                if *first < next {
                    return None;
                }
                next = last + 1;
                count += columns.len() as u64;
            }
        }
        Some(count)
    }

    /// Columns and values of a row that [`Self::count_in_order`] counts, into what has exactly this
    /// room.
    #[inline(always)]
    pub(crate) fn fill_in_order(&self, row: usize, (crd, vals): (&mut [u32], &mut [T])) {
        let mut made = crd.iter_mut().zip(vals);
        for entry in self.left.entries(row) {
            let (k, factor) = (self.left.crd[entry] as usize, self.left.vals[entry]);
            let of_row = self.right.columns(k).iter().zip(self.right.values(k));
            for ((&column, &value), made) in of_row.zip(&mut made) {
                (*made.0, *made.1) = (column, factor.times_plus(value, T::ZERO));
            }
        }
    }

    /// The columns of the products that make a row, in the order in which they are summed.
    pub(crate) fn columns(&self, row: usize) -> impl Iterator<Item = u32> + use<'a, T> {
        let right = self.right;
        let rows = self.left.columns(row).iter();
        rows.flat_map(move |&k| right.columns(k as usize).iter().copied())
    }
}
