//! Ghosts: what a rank needs of something that is spread over the ranks, fetched from its owners.
//!
//! In go the partition of a vector, or of the rows of a matrix, and the indices that this rank
//! needs, ascending; out come its elements or rows at these indices, in that order. Who has to send
//! what is found out once, so that fetching again costs one message for each pair of ranks. Every
//! rank takes part in every call, also one that needs nothing. Where every rank holds everything,
//! no message is sent.
//!
//! Kernels get what they need from the runtime; this is for work on structures, and for host tasks,
//! which bring a [`GhostPlan`].

use super::messages::Messages;
use crate::local::rows::{LocalRows, Rows, positions};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Partition, Runtime, reserve, try_collect, try_concat};
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
    plan: Arc<GhostPlan>,
}

/// Who has to send what, without a handle of the runtime: what a host task brings.
#[derive(Debug)]
pub struct GhostPlan {
    indices: Vec<u32>,
    /// Where those of them that this rank holds itself lie in its part.
    own_places: Vec<usize>,
    /// The elements that each rank needs of this one's part; `None` where all hold everything.
    wanted: Option<Vec<Vec<usize>>>,
    /// How many elements this rank holds.
    own_len: Option<usize>,
}

impl Ghosts {
    /// Finds out who has to send what, so that this rank gets the elements `needed` of a vector
    /// that is spread so. Indices that it holds itself may be among them.
    ///
    /// # Errors
    ///
    /// If the indices do not ascend strictly, or lie beyond the partition, on any rank.
    pub fn new(runtime: &Runtime, partition: Partition, needed: Vec<u32>) -> Result<Self, Error> {
        let cuts = runtime.cuts(partition).filter(|_| runtime.ranks() > 1);
        let len = cuts.as_ref().map(|cuts| cuts[cuts.len() - 1]);
        runtime.agree(check(&needed, len))?;
        let Some(cuts) = cuts else {
            let plan = GhostPlan {
                own_places: runtime.agree(try_collect(needed.iter().map(|&at| at as usize)))?,
                indices: needed,
                wanted: None,
                own_len: None,
            };
            return Ok(Self::of(runtime, plan));
        };
        let rank = runtime.rank();
        let numbers: Vec<Range<usize>> = cuts
            .windows(2)
            .map(|pair| {
                let number = |cut| needed.partition_point(|&index| (index as usize) < cut);
                number(pair[0])..number(pair[1])
            })
            .collect();
        let own = cuts[rank]..cuts[rank + 1];
        let asked = |owner: usize| match owner == rank {
            true => Ok(Vec::new()),
            false => try_collect(needed[numbers[owner].clone()].iter().copied()),
        };
        let wanted = runtime.all_to_all((0..runtime.ranks()).map(asked).collect());
        let places = |of: &[u32]| try_collect(of.iter().map(|&at| at as usize - own.start));
        let of_ranks = |wanted: Vec<Vec<u32>>| wanted.iter().map(|of| places(of)).collect();
        let wanted: Vec<Vec<usize>> = runtime.agree(wanted.and_then(of_ranks))?;
        let own_places = runtime.agree(places(&needed[numbers[rank].clone()]))?;
        let plan = GhostPlan {
            own_places,
            wanted: Some(wanted),
            own_len: Some(own.len()),
            indices: needed,
        };
        Ok(Self::of(runtime, plan))
    }

    fn of(runtime: &Runtime, plan: GhostPlan) -> Self {
        Self {
            runtime: runtime.clone(),
            plan: Arc::new(plan),
        }
    }

    /// Who has to send what, for host tasks.
    #[must_use]
    pub fn plan(&self) -> Arc<GhostPlan> {
        Arc::clone(&self.plan)
    }

    /// The indices of the elements that are fetched, ascending.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.plan.indices
    }

    /// Where an index stands among [`Ghosts::indices`], if it does.
    #[must_use]
    pub fn number(&self, index: u32) -> Option<usize> {
        self.plan.indices.binary_search(&index).ok()
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
            if self.plan.indices.get(next) != Some(&column) {
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
        if self.runtime.is_planned() && self.plan.wanted.is_some() {
            // In a plan there are no ranks that send.
            self.plan.check_own(own.len())?;
            return Ok(vec![E::default(); self.plan.indices.len()]);
        }
        self.plan.fetch(&self.runtime, own)
    }

    /// The rows at [`Ghosts::indices`] of a matrix of which this rank holds `own`.
    ///
    /// # Errors
    ///
    /// As [`Ghosts::fetch`].
    pub fn fetch_rows<T: Element>(&self, own: &LocalRows<T>) -> Result<LocalRows<T>, Error> {
        self.rows(own.as_rows())
    }

    pub(crate) fn rows<T: Element>(&self, own: Rows<'_, T>) -> Result<LocalRows<T>, Error> {
        let (pos, crd) = self.structure(own)?;
        let vals = self.fetch_entries(own.pos, own.vals)?;
        Ok(LocalRows { pos, crd, vals })
    }

    /// Positions, from 0, and columns of the rows at [`Ghosts::indices`].
    pub(crate) fn structure<T: Element>(
        &self,
        own: Rows<'_, T>,
    ) -> Result<(Vec<u64>, Vec<u32>), Error> {
        let runtime = &self.runtime;
        let counts = try_collect(own.pos.windows(2).map(|pair| pair[1] - pair[0]));
        let counts = self.fetch(&runtime.agree(counts)?);
        let pos = counts.and_then(|counts| positions(&counts));
        Ok((runtime.agree(pos)?, self.fetch_entries(own.pos, own.crd)?))
    }

    /// What belongs to the entries of the rows at [`Ghosts::indices`], such as their values, from
    /// what belongs to those of this rank's rows, which have these positions.
    ///
    /// # Errors
    ///
    /// As [`Ghosts::fetch`].
    pub fn fetch_entries<E: Element>(&self, pos: &[u64], own: &[E]) -> Result<Vec<E>, Error> {
        self.plan.check_own(pos.len() - 1)?;
        if self.runtime.is_planned() && self.plan.wanted.is_some() {
            return Ok(Vec::new());
        }
        self.plan.picked(&self.runtime, |places| {
            let of_row = |place: usize| {
                let first = pos[0];
                (pos[place] - first) as usize..(pos[place + 1] - first) as usize
            };
            let len = places.iter().map(|&place| of_row(place).len()).sum();
            let mut picked = reserve(len)?;
            for &place in places {
                picked.extend_from_slice(&own[of_row(place)]);
            }
            Ok(picked)
        })
    }
}

impl GhostPlan {
    /// The elements at [`Ghosts::indices`] of a vector of which this rank holds `own`.
    ///
    /// # Errors
    ///
    /// As [`Ghosts::fetch`].
    pub fn fetch<E: Element>(&self, messages: &impl Messages, own: &[E]) -> Result<Vec<E>, Error> {
        self.check_own(own.len())?;
        let pick = |places: &[usize]| try_collect(places.iter().map(|&place| own[place]));
        self.picked(messages, pick)
    }

    /// What `pick` takes from the parts of all ranks at the places of [`Ghosts::indices`]. Where one
    /// rank fails, all do.
    fn picked<E: Element>(
        &self,
        messages: &impl Messages,
        pick: impl Fn(&[usize]) -> Result<Vec<E>, Error>,
    ) -> Result<Vec<E>, Error> {
        let mine = pick(&self.own_places);
        let Some(wanted) = &self.wanted else {
            return messages.agree(mine);
        };
        let (mine, sent) = match mine {
            Ok(mine) => (mine, wanted.iter().map(|places| pick(places)).collect()),
            Err(failure) => (Vec::new(), Err(failure)),
        };
        let fetched = messages.all_to_all(sent).and_then(|mut arrived| {
            arrived[messages.rank()] = mine;
            try_concat(&arrived)
        });
        messages.agree(fetched)
    }

    fn check_own(&self, len: usize) -> Result<(), Error> {
        let refused = match (self.own_len, self.indices.last()) {
            (Some(own_len), _) => (own_len != len).then(|| format!("{own_len} elements")),
            (None, Some(&last)) => {
                (last as usize >= len).then(|| format!("more than {last} elements"))
            }
            (None, None) => None,
        };
        match refused {
            None => Ok(()),
            Some(expected) => Err(Error::argument("fetch", expected, len.to_string())),
        }
    }
}

/// Refuses indices that do not ascend, or lie outside of a vector of length `len`.
fn check(needed: &[u32], len: Option<usize>) -> Result<(), Error> {
    if let Some(pair) = needed.windows(2).find(|pair| pair[0] >= pair[1]) {
        let found = format!("{} after {}", pair[1], pair[0]);
        return Err(Error::argument(
            "ghosts",
            "indices that ascend strictly",
            found,
        ));
    }
    match (needed.last(), len) {
        (Some(&last), Some(len)) if last as usize >= len => {
            let expected = format!("indices below {len}");
            Err(Error::argument("ghosts", expected, last.to_string()))
        }
        _ => Ok(()),
    }
}

/// The indices that occur, ascending; all are below `len`.
pub(crate) fn distinct(indices: &[u32], len: usize) -> Result<Vec<u32>, Error> {
    let mut words = try_collect(repeat_n(0u64, len.div_ceil(64)))?;
    for &index in indices {
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
