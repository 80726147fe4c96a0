//! Strips: entries of several rows that are stored side by side, and copying them to and from rows
//! that lie one after the other.

use super::GROUP;

/// The most rows whose entries lie side by side.
const LANES: usize = 2 * GROUP;

/// As many entries of several rows, stored side by side: the first of every row, then the second of
/// every row, and so on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    /// Where the entries of each row begin, where rows lie one after the other.
    starts: [usize; LANES],
    lanes: usize,
    /// The number of entries of each row.
    each: usize,
}

impl Strip {
    /// # Panics
    /// For more than 16 rows.
    pub(super) fn new(each: usize, starts: impl Iterator<Item = usize>) -> Self {
        let mut strip = Self {
            starts: [0; LANES],
            lanes: 0,
            each,
        };
        for start in starts {
            strip.starts[strip.lanes] = start;
            strip.lanes += 1;
        }
        strip
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.lanes * self.each
    }

    /// Puts what is made of the elements of rows side by side, into the first elements of `target`.
    pub(super) fn interleave<S: Copy, T>(
        &self,
        rows: &[S],
        target: &mut [T],
        make: impl Fn(S) -> T,
    ) {
        let target = &mut target[..self.len()];
        if let Ok(starts) = <[usize; GROUP]>::try_from(self.starts()) {
            let rows = starts.map(|start| &rows[start..start + self.each]);
            let (target, _) = target.as_chunks_mut::<GROUP>();
            for (k, target) in target.iter_mut().enumerate() {
                for (target, row) in target.iter_mut().zip(rows) {
                    *target = make(row[k]);
                }
            }
        } else if let [start] = *self.starts() {
            let row = &rows[start..start + self.each];
            for (target, &element) in target.iter_mut().zip(row) {
                *target = make(element);
            }
        } else {
            for (k, target) in target.chunks_exact_mut(self.lanes.max(1)).enumerate() {
                for (target, start) in target.iter_mut().zip(self.starts()) {
                    *target = make(rows[start + k]);
                }
            }
        }
    }

    /// The inverse of [`Self::interleave`]: writes what is made of the first elements of `source`
    /// to their rows.
    pub(super) fn separate<S: Copy, T>(&self, source: &[S], rows: &mut [T], make: impl Fn(S) -> T) {
        let source = &source[..self.len()];
        for (lane, &start) in self.starts().iter().enumerate() {
            let own = source.iter().skip(lane).step_by(self.lanes);
            for (target, &element) in rows[start..start + self.each].iter_mut().zip(own) {
                *target = make(element);
            }
        }
    }

    fn starts(&self) -> &[usize] {
        &self.starts[..self.lanes]
    }
}
