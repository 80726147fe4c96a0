//! Triplets from iterators of entries, and as one.
//!
//! Entries come in as `(row, col, value)` with indices of any size and are checked one by one, as
//! by [`Triplets::push`]; they go out with indices of 32 bits, as they are held.

use super::triplets::{Triplets, TripletsError};
use std::iter::{Copied, Zip};
use std::slice::Iter;

impl<T: Copy> Triplets<T> {
    /// A matrix without entries, with memory for as many as given, if the system admits it.
    ///
    /// # Errors
    /// As [`Triplets::new`].
    pub fn with_capacity(
        n_rows: usize,
        n_cols: usize,
        capacity: usize,
    ) -> Result<Self, TripletsError> {
        let (rows, cols, vals) = (reserved(capacity), reserved(capacity), reserved(capacity));
        Self::from_parts(n_rows, n_cols, rows, cols, vals)
    }

    /// A matrix with the given entries `(row, col, value)`, indices from 0, in any order; those at
    /// the same place are summed at assembly.
    ///
    /// ```
    /// use sparsefuse_sparse::Triplets;
    ///
    /// let triplets = Triplets::from_entries(2, 3, [(0, 2, 1.5), (1, 0, -1.0)])?;
    /// assert_eq!(triplets.cols(), [2, 0]);
    /// for (row, col, value) in &triplets {
    ///     println!("{row} {col} {value}");
    /// }
    /// # Ok::<(), sparsefuse_sparse::TripletsError>(())
    /// ```
    ///
    /// # Errors
    /// If a dimension is larger than [`Triplets::MAX_LEN`], or an entry lies outside the matrix.
    pub fn from_entries(
        n_rows: usize,
        n_cols: usize,
        entries: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Self, TripletsError> {
        let entries = entries.into_iter();
        let mut triplets = Self::with_capacity(n_rows, n_cols, entries.size_hint().0)?;
        triplets.try_extend(entries)?;
        Ok(triplets)
    }

    /// Adds the given entries `(row, col, value)`, as `extend` does.
    ///
    /// # Errors
    /// If an entry lies outside the matrix; those before it are added.
    pub fn try_extend(
        &mut self,
        entries: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<(), TripletsError> {
        let mut entries = entries.into_iter();
        entries.try_for_each(|(row, col, value)| self.push(row, col, value))
    }
}

/// An empty array with memory for some elements, or without where the system refuses it.
fn reserved<T>(capacity: usize) -> Vec<T> {
    let mut array = Vec::new();
    // What is refused here is asked for again when elements come.
    let _ = array.try_reserve_exact(capacity);
    array
}

/// Adds entries `(row, col, value)`.
///
/// # Panics
///
/// With the error that [`Triplets::try_extend`] returns.
impl<T: Copy> Extend<(usize, usize, T)> for Triplets<T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (usize, usize, T)>>(&mut self, entries: I) {
        if let Err(error) = self.try_extend(entries) {
            panic!("{error}");
        }
    }
}

/// The entries `(row, col, value)` in the order they were given.
impl<'a, T: Copy> IntoIterator for &'a Triplets<T> {
    type Item = (u32, u32, T);
    type IntoIter = TripletsIter<'a, T>;

    fn into_iter(self) -> TripletsIter<'a, T> {
        let places = self.rows().iter().copied().zip(self.cols().iter().copied());
        TripletsIter {
            entries: places.zip(self.vals().iter().copied()),
        }
    }
}

/// Rows with columns.
type Indices<'a> = Zip<Copied<Iter<'a, u32>>, Copied<Iter<'a, u32>>>;

/// The entries of triplets, one after the other.
#[derive(Clone, Debug)]
pub struct TripletsIter<'a, T> {
    entries: Zip<Indices<'a>, Copied<Iter<'a, T>>>,
}

impl<T: Copy> Iterator for TripletsIter<'_, T> {
    type Item = (u32, u32, T);

    fn next(&mut self) -> Option<Self::Item> {
        self.entries
            .next()
            .map(|((row, col), value)| (row, col, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<T: Copy> ExactSizeIterator for TripletsIter<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_in_and_out() {
        let mut triplets = Triplets::from_entries(2, 3, [(1, 2, 5), (0, 0, 4)]).unwrap();
        triplets.extend([(1, 2, 1)]);
        let entries = [(1, 2, 5), (0, 0, 4), (1, 2, 1)];
        let found = entries.iter().zip(&triplets);
        assert_eq!(found.len(), triplets.iter().len());
        assert!(found.clone().all(|(given, entry)| *given == entry));
        let message = "triplets: push: expected an entry of the 2 x 3 matrix, found (2, 0)";
        let error = triplets.try_extend([(0, 1, 7), (2, 0, 1), (0, 2, 1)]);
        assert_eq!(error.unwrap_err().to_string(), message);
        assert_eq!(triplets.len(), 4);
        let error = Triplets::from_entries(2, 3, [(2, 0, 1.0)]);
        assert_eq!(error.unwrap_err().to_string(), message);
    }

    /// No machine has memory for that many.
    #[test]
    fn a_capacity_that_is_refused_is_none() {
        let mut triplets = Triplets::with_capacity(1, 1, usize::MAX).unwrap();
        triplets.push(0, 0, 1.0).unwrap();
        assert_eq!(triplets.len(), 1);
        assert!(Triplets::<f64>::with_capacity(1 << 32, 1, 0).is_err());
    }
}
