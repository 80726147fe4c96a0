//! What is larger and smaller: of two matrices element by element, and within one.
//!
//! Elements that are not stored are 0 and count as such. Of equal elements the first one is taken;
//! an element that is not a number is passed on, as in NumPy.

use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::merge::Terms;
use crate::local::rows::Rows;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// An element and its row and column.
type Place<T> = (T, u64, u64);

impl<T: Numeric + PartialOrd> Csr<T> {
    /// The larger one of each two elements, as SciPy's `maximum`. There is an entry wherever one of
    /// the two matrices has one, also if it becomes 0 ([`Csr::drop_small`] leaves those out). Cost
    /// as of a sum.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(1, 3, vec![0, 2], vec![0, 1], vec![-1.0, 2.0])?;
    /// let b = Csr::new(1, 3, vec![0, 2], vec![1, 2], vec![5.0, 3.0])?;
    /// assert_eq!(a.maximum(&b)?.to_dense()?.to_vec()?, [0.0, 5.0, 3.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn maximum(&self, other: &Self) -> Result<Self, Error> {
        let larger = |a: T, b: T| if beats(&b, &a) { b } else { a };
        self.joined("maximum", other, |a, b| a.maximum(b), terms(larger))
    }

    /// The smaller one of each two elements, as [`Csr::maximum`].
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn minimum(&self, other: &Self) -> Result<Self, Error> {
        let smaller = |a: T, b: T| if is_beaten(&b, &a) { b } else { a };
        self.joined("minimum", other, |a, b| a.minimum(b), terms(smaller))
    }

    /// The row and column of the largest element, of equal ones the first, row by row. One pass
    /// over the entries, which executes the window; every rank must ask.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![-1.0, -2.0, -3.0])?;
    /// assert_eq!(a.argmax()?, (0, 1)); // nothing is stored there
    /// assert_eq!(a.argmin()?, (1, 1));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix has no elements, or the computation of the values failed.
    pub fn argmax(&self) -> Result<(usize, usize), Error> {
        self.extreme("argmax", beats)
    }

    /// The row and column of the smallest element, as [`Csr::argmax`].
    ///
    /// # Errors
    ///
    /// As [`Csr::argmax`].
    pub fn argmin(&self) -> Result<(usize, usize), Error> {
        self.extreme("argmin", is_beaten)
    }

    /// The first element that no other one beats.
    fn extreme(
        &self,
        op: &'static str,
        beats: impl Fn(&T, &T) -> bool + Copy,
    ) -> Result<(usize, usize), Error> {
        let (n_rows, n_cols) = self.shape();
        if n_rows == 0 || n_cols == 0 {
            let found = format!("{n_rows} by {n_cols}");
            return Err(Error::argument(op, "a matrix with elements", found));
        }
        eager(op, &[self], || {
            let own = self.own_rows()?;
            let mine = extreme_of_rows(own.as_rows(), (own.rows().start, n_cols), beats);
            let (value, row, column) = mine.unwrap_or((T::ZERO, u64::MAX, 0));
            let runtime = self.runtime();
            let places = runtime.all_gather(&[row, column])?;
            let values = runtime.all_gather(&[value])?;
            let all = places.iter().zip(&values);
            // Ranks without rows have none.
            let all = all.filter(|(place, _)| place[0] != u64::MAX);
            let all = all.map(|(place, value)| (value[0], place[0], place[1]));
            let best = all.reduce(|best, next| if beats(&next.0, &best.0) { next } else { best });
            let (_, row, column) = best.expect("a rank has the first row");
            Ok((row as usize, column as usize))
        })
    }
}

/// The first element of some rows that no other one of them beats, where an element that is not
/// stored is 0. Linear in rows and entries.
fn extreme_of_rows<T: Numeric>(
    rows: Rows<'_, T>,
    (first, n_cols): (usize, usize),
    beats: impl Fn(&T, &T) -> bool,
) -> Option<Place<T>> {
    let mut best: Option<Place<T>> = None;
    let mut try_next = |value: T, row: usize, column: usize| match &best {
        Some((other, ..)) if !beats(&value, other) => {}
        _ => best = Some((value, (first + row) as u64, column as u64)),
    };
    // Of the elements that are not stored only the first one matters.
    let mut is_full_so_far = true;
    for row in 0..rows.len() {
        if !is_full_so_far {
            let entries = rows.row(row);
            entries.for_each(|(column, value)| try_next(value, row, column as usize));
            continue;
        }
        let columns = rows.columns(row);
        let missing = (columns.len() < n_cols).then(|| first_missing(columns));
        for (column, value) in rows.row(row) {
            let column = column as usize;
            if missing.is_some_and(|missing| is_full_so_far && missing < column) {
                try_next(T::ZERO, row, missing.unwrap_or(0));
                is_full_so_far = false;
            }
            try_next(value, row, column);
        }
        if let (Some(missing), true) = (missing, is_full_so_far) {
            try_next(T::ZERO, row, missing);
            is_full_so_far = false;
        }
    }
    best
}

/// The first column that is not among ascending ones.
pub(super) fn first_missing(columns: &[u32]) -> usize {
    let all = columns.iter().enumerate();
    let mut others = all.filter(|&(k, &column)| column as usize != k);
    others.next().map_or(columns.len(), |(k, _)| k)
}

/// Whether an element is larger than another one before it, or the first that is not a number.
pub(super) fn beats<T: PartialOrd>(next: &T, best: &T) -> bool {
    next > best || (is_nan(next) && !is_nan(best))
}

/// Whether an element is smaller than another one before it, or the first that is not a number.
pub(super) fn is_beaten<T: PartialOrd>(next: &T, best: &T) -> bool {
    next < best || (is_nan(next) && !is_nan(best))
}

fn is_nan<T: PartialOrd>(x: &T) -> bool {
    x.partial_cmp(x).is_none()
}

/// What becomes of elements of which one may be missing.
pub(super) fn terms<T: Numeric>(
    of_two: impl Fn(T, T) -> T + Sync + Copy,
) -> Terms<impl Fn(T, T) -> T + Sync, impl Fn(T) -> T + Sync, impl Fn(T) -> T + Sync> {
    Terms {
        both: of_two,
        left: move |a| of_two(a, T::ZERO),
        right: move |b| of_two(T::ZERO, b),
    }
}
