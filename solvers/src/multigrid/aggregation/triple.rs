//! R A P, the matrix of the next level, without A P in between.
//!
//! Row I is made in two steps, while it lies in the cache: the sum over i of `r[I, i]` times row i
//! of A, in the order of i, then the sum over what has been found of its entries times rows of P,
//! in the order in which they were found. So its bits depend on nothing else, and A P is neither
//! made nor kept nor read.

use super::prolongator::joined;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, try_collect};
use sparsefuse_sparse::{
    Csr, Ghosts, LocalRows, OwnRows, Rows, Threads, distinct, eager, parallel,
};
use std::iter::repeat_n;
use std::ops::Range;

/// The fewest rows that one thread makes at a time, and the most parts.
const PART: usize = 1 << 12;
const MOST_PARTS: usize = 64;

/// R A P; every rank makes its rows.
pub(super) fn triple_product<T: Field>(
    r: &Csr<T>,
    a: &Csr<T>,
    p: &Csr<T>,
) -> Result<Csr<T>, Error> {
    eager("galerkin", &[r, a, p], || product(r, a, p))
}

fn product<T: Field>(r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>, Error> {
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
    let len = factors.r.len();
    let parts = parallel::chunks(len, PART.max(len.div_ceil(MOST_PARTS)));
    let room = || SparseSum::new(0..factors.n_cols as u32);
    let made = parallel::map_with(&Threads::of(runtime), parts, room, |whole, part| {
        let whole = whole.as_mut().map_err(|cause| cause.clone())?;
        factors.part(part, whole)
    });
    let made = joined(made);
    let made = runtime.agree(made)?;
    let take = |own: Range<usize>| {
        debug_assert_eq!(own, first..first + len, "the rows of R by default");
        made
    };
    runtime.enter(|| Csr::from_rows(r.n_rows(), p.n_cols(), take))
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
        let needed = distinct(columns.iter().copied(), right.n_rows());
        let needed = right.runtime().agree(needed)?;
        let ghosts = Ghosts::new(right.runtime(), own.partition(), needed)?;
        let rows = ghosts.fetch_rows(own.as_rows())?;
        let numbers = right.runtime().agree(ghosts.numbers(columns))?;
        Ok(Self::Fetched(rows, numbers))
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
    /// Some rows of the product. `whole` is zero, with room for all columns.
    fn part(&self, part: Range<usize>, whole: &mut SparseSum<T>) -> Result<LocalRows<T>, Error> {
        let mut made = LocalRows::try_with_capacity(part.len(), 3 * part.len())?;
        // Row I of R A, by numbers of rows of P, and of R A P.
        let mut half = SparseSum::new(self.reach(part.clone()))?;
        whole.clear();
        for row in part {
            for k in self.r.entries(row) {
                let (a_row, factor) = (self.a_numbers[k] as usize, self.r.vals()[k]);
                let entries = self.a.entries(a_row);
                let (numbers, values) = (&self.p_numbers[entries.clone()], self.a.values(a_row));
                half.add_multiple(factor, numbers, values);
            }
            for &(p_row, factor) in &half.entries {
                let p_row = p_row as usize;
                whole.add_multiple(factor, self.p.columns(p_row), self.p.values(p_row));
            }
            half.clear();
            whole.entries.sort_unstable_by_key(|&(column, _)| column);
            made.try_reserve(whole.entries.len())?;
            made.crd.extend(whole.entries.iter().map(|entry| entry.0));
            made.vals.extend(whole.entries.iter().map(|entry| entry.1));
            made.end_row();
            whole.clear();
        }
        Ok(made)
    }

    /// The numbers of rows of P between which those lie that some rows of R A name.
    fn reach(&self, part: Range<usize>) -> Range<u32> {
        let a_rows =
            &self.a_numbers[self.r.entries_before(part.start)..self.r.entries_before(part.end)];
        let ends = a_rows.iter().filter_map(|&a_row| {
            let numbers = &self.p_numbers[self.a.entries(a_row as usize)];
            Some((*numbers.first()?, *numbers.last()?))
        });
        let reach = ends.fold((u32::MAX, 0), |(start, end), (first, last)| {
            (start.min(first), end.max(last + 1))
        });
        reach.0.min(reach.1)..reach.1
    }
}

/// A sum of sparse rows, in some neighbouring columns.
struct SparseSum<T> {
    /// In the order in which they were found.
    entries: Vec<(u32, T)>,
    first_column: u32,
    /// One more than the place of each column among the entries; 0 if it is none.
    places: Vec<u32>,
}

impl<T: Field> SparseSum<T> {
    /// Zero, with room for these columns.
    fn new(columns: Range<u32>) -> Result<Self, Error> {
        Ok(Self {
            entries: Vec::new(),
            first_column: columns.start,
            places: try_collect(repeat_n(0, columns.len()))?,
        })
    }

    #[inline(always)]
    fn add_multiple(&mut self, factor: T, columns: &[u32], values: &[T]) {
        for (&column, &value) in columns.iter().zip(values) {
            let place = &mut self.places[(column - self.first_column) as usize];
            if *place == 0 {
                self.entries.push((column, factor * value));
                *place = self.entries.len() as u32;
            } else {
                let sum = &mut self.entries[*place as usize - 1].1;
                *sum += factor * value;
            }
        }
    }

    /// Zero again; what it costs is what there was.
    fn clear(&mut self) {
        for &(column, _) in &self.entries {
            self.places[(column - self.first_column) as usize] = 0;
        }
        self.entries.clear();
    }
}
