//! Ghosts: what a rank needs of something that is spread over the ranks, fetched from its owners.
//!
//! In go the partition of a vector, or of the rows of a matrix, and the indices that this rank
//! needs, ascending; out come its elements or rows at these indices, in that order, by an
//! [`Exchange`] that is made once. Every rank takes part in every call, also one that needs
//! nothing.
//!
//! Kernels get what they need from the runtime; this is for work on structures, and for host tasks,
//! which bring the exchange.

use super::rows;
use crate::local::rows::{LocalRows, Rows};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Exchange, Local, Partition, Runtime, reserve, try_collect};
use std::borrow::Cow;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

/// The elements that this rank needs of a vector that is spread over the ranks.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::Csr;
///
/// // [ 1 0 2 ]
/// // [ 0 0 3 ]
/// let a = Csr::new(2, 3, vec![0, 2, 3], vec![0, 2, 2], vec![1.0, 2.0, 3.0])?;
/// let x = Vector::from_vec(vec![10.0, 20.0, 30.0]);
///
/// let own = x.local()?;
/// let ghosts = a.ghosts_of_columns(own.partition())?;
/// assert_eq!(ghosts.indices(), [0, 2]);
/// assert_eq!(ghosts.fetch(&own)?, [10.0, 30.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ghosts {
    runtime: Runtime,
    indices: Arc<Vec<u32>>,
    exchange: Arc<Exchange>,
}

impl Ghosts {
    /// Finds out who has to send what, so that this rank gets the elements `needed` of a vector
    /// that is spread so. Indices that it holds itself may be among them.
    ///
    /// # Errors
    ///
    /// If the indices do not ascend strictly, or lie beyond the partition, on any rank.
    pub fn new(runtime: &Runtime, partition: Partition, needed: Vec<u32>) -> Result<Self, Error> {
        let exchange = Exchange::gather(runtime, runtime.cuts(partition).as_deref(), &needed)?;
        Ok(Self {
            runtime: runtime.clone(),
            indices: Arc::new(needed),
            exchange: Arc::new(exchange),
        })
    }

    /// As [`Ghosts::new`], of all elements of a range.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn of_range(
        runtime: &Runtime,
        partition: Partition,
        needed: Range<usize>,
    ) -> Result<Self, Error> {
        let beyond = needed.end.saturating_sub(1) > u32::MAX as usize;
        let collected = match beyond && !needed.is_empty() {
            true => {
                let found = format!("{} to {}", needed.start, needed.end);
                Err(Error::argument("ghosts", "indices of 32 bits", found))
            }
            false => try_collect(needed.map(|index| index as u32)),
        };
        let needed = runtime.agree(collected)?;
        Self::new(runtime, partition, needed)
    }

    /// Who has to send what, for host tasks: it holds no handle of the runtime.
    #[must_use]
    pub fn exchange(&self) -> Arc<Exchange> {
        Arc::clone(&self.exchange)
    }

    /// The indices of the elements that are fetched, ascending.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Where an index stands among [`Ghosts::indices`], if it does.
    #[must_use]
    pub fn number(&self, index: u32) -> Option<usize> {
        self.indices.binary_search(&index).ok()
    }

    /// The numbers of some columns of a matrix, all of which are needed.
    ///
    /// # Errors
    ///
    /// If the system refuses the memory.
    ///
    /// # Panics
    ///
    /// If one of them is not.
    pub fn numbers(&self, columns: &[u32]) -> Result<Vec<u32>, Error> {
        let mut next = 0;
        let number = |&column: &u32| {
            // Columns of a row are often neighbours.
            if self.indices.get(next) != Some(&column) {
                next = self
                    .number(column)
                    .expect("the column is one of those needed");
            }
            next += 1;
            next as u32 - 1
        };
        try_collect(columns.iter().map(number))
    }

    /// The elements at [`Ghosts::indices`] of a vector of which this rank holds `own`.
    ///
    /// # Errors
    ///
    /// If this rank holds another number of elements, or another rank failed.
    pub fn fetch<E: Element>(&self, own: &[E]) -> Result<Vec<E>, Error> {
        self.exchange.run(&self.runtime, own)
    }

    /// The rows at [`Ghosts::indices`] of a matrix of which this rank holds `own`.
    ///
    /// # Errors
    ///
    /// As [`Ghosts::fetch`].
    pub fn fetch_rows<T: Element>(&self, own: Rows<'_, T>) -> Result<LocalRows<T>, Error> {
        own.exchange(&self.runtime, &self.exchange)
    }

    /// Positions, from 0, of the rows at [`Ghosts::indices`] of a matrix whose rows have the
    /// positions `own` on this rank, and the exchange of what belongs to their entries: columns, or
    /// values, also other ones later.
    ///
    /// # Errors
    ///
    /// As [`Ghosts::fetch`].
    pub fn entries(&self, own: &[u64]) -> Result<(Vec<u64>, Exchange), Error> {
        rows::entries(&self.runtime, &self.exchange, own)
    }
}

/// The rows of a dense array, of `width` elements each, at the rows that this rank has where they
/// are cut so. Every rank takes part.
pub(crate) fn rows_at<'x, T: Element>(
    runtime: &Runtime,
    (partition, rows): (Partition, &Range<usize>),
    x: &'x Local<T>,
    width: usize,
) -> Result<Cow<'x, [T]>, Error> {
    if x.partition() == partition {
        return Ok(Cow::Borrowed(x));
    }
    if x.is_replicated() {
        return Ok(Cow::Borrowed(&x[rows.start * width..rows.end * width]));
    }
    let ghosts = Ghosts::of_range(runtime, x.partition(), rows.clone())?;
    let fetched = ghosts.exchange().run_rows(runtime, width, x)?;
    Ok(Cow::Owned(fetched))
}

/// The indices that occur, ascending; all are below `len`.
///
/// # Errors
///
/// If the system refuses the memory.
pub fn distinct(indices: impl Iterator<Item = u32>, len: usize) -> Result<Vec<u32>, Error> {
    let mut words = try_collect(repeat_n(0u64, len.div_ceil(64)))?;
    for index in indices {
        words[index as usize / 64] |= 1 << (index % 64);
    }
    let mut found = reserve(words.iter().map(|word| word.count_ones() as usize).sum())?;
    for (number, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            found.push(number as u32 * 64 + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
    Ok(found)
}
