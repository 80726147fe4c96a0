//! The transpose of the rows of a matrix, of which some columns are wanted.
//!
//! Entries are dealt out to their new rows in the order of the old ones, so each new row is sorted.
//!
//! There are two ways, and which is taken follows from the structure and the number of threads; it
//! does not show. Where neighbouring rows have entries in neighbouring columns, as on grids and in
//! bands, new rows are written nearly in order ([`direct`]). Elsewhere each entry would touch lines
//! of memory that no cache has, so entries are dealt into blocks of new rows first ([`dealt`]):
//! that moves 14 bytes of each entry one time more, of which 2 are in memory that is needed for it
//! alone.

mod dealt;
mod direct;
mod turn;

pub(crate) use turn::Turn;

use super::parallel::Threads;
use dealt::Dealt;
use direct::Direct;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// How a transposition is carried out.
pub(crate) enum Transposition<'a, T> {
    /// New rows are written at once.
    Direct(Direct<'a, T>),
    /// Entries are dealt into blocks of new rows first.
    Dealt(Dealt<'a, T>),
}

impl<'a, T: Numeric> Transposition<'a, T> {
    /// The way that suits the structure.
    ///
    /// # Errors
    ///
    /// If the system refuses the memory that it takes.
    pub(crate) fn new(threads: &Threads, turn: Turn<'a, T>) -> Result<Self, Error> {
        match direct::plan(threads, turn.clone()) {
            Some(direct) => Ok(Self::Direct(direct)),
            None => Ok(Self::Dealt(Dealt::new(threads, turn)?)),
        }
    }

    /// The number of entries of the new rows. `pos` has a place for each of them behind a 0, and is
    /// kept for [`Transposition::fill`].
    pub(crate) fn count(&self, threads: &Threads, pos: &mut [u64]) -> usize {
        match self {
            Self::Direct(direct) => direct.count(threads, pos),
            Self::Dealt(dealt) => dealt.count(),
        }
    }

    /// Fills the new rows with `map` of each value: where they end, columns and values.
    pub(crate) fn fill(
        &mut self,
        threads: &Threads,
        pos: &mut [u64],
        to: (&mut [u32], &mut [T]),
        map: impl Fn(T) -> T + Copy + Sync + Send,
    ) -> Result<(), Error> {
        match self {
            Self::Direct(direct) => {
                direct.fill(threads, pos, to, map);
                Ok(())
            }
            Self::Dealt(dealt) => dealt.fill(threads, pos, to, map),
        }
    }
}

#[cfg(test)]
mod tests;
