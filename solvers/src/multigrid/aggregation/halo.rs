//! The nodes that a rank works on, and those of other ranks that it has to know of.

use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Partition, Runtime, reserve, try_collect};
use sparsefuse_sparse::{Ghosts, Threads, parallel};
use std::ops::Range;

/// Nodes that one thread looks at at a time.
const PART: usize = 1 << 14;

/// Places for the values of nodes: those of this rank, side by side, and others around them.
#[derive(Clone, Debug)]
pub(super) struct Halo {
    runtime: Runtime,
    /// The nodes of this rank.
    own: Range<usize>,
    /// Where they stand.
    places: Range<usize>,
    /// `None` where every rank holds all nodes; then a node's place is its number.
    ghosts: Option<Ghosts>,
}

impl Halo {
    /// Places for the nodes `own`, which the partition gives this rank, and those that `needed`
    /// names, ascending.
    pub(super) fn new(
        runtime: &Runtime,
        partition: Partition,
        n_nodes: usize,
        needed: impl FnOnce() -> Result<Vec<u32>, Error>,
    ) -> Result<Self, Error> {
        let Some(cuts) = runtime.cuts(partition) else {
            return Ok(Self {
                runtime: runtime.clone(),
                own: 0..n_nodes,
                places: 0..n_nodes,
                ghosts: None,
            });
        };
        let own = cuts[runtime.rank()]..cuts[runtime.rank() + 1];
        let indices = || {
            let others = needed()?;
            let before = others.partition_point(|&node| (node as usize) < own.start);
            let behind = others.partition_point(|&node| (node as usize) < own.end);
            let mut indices = reserve(before + own.len() + others.len() - behind)?;
            indices.extend_from_slice(&others[..before]);
            indices.extend(own.clone().map(|node| node as u32));
            indices.extend_from_slice(&others[behind..]);
            Ok((before, indices))
        };
        let (before, indices) = runtime.agree(indices())?;
        Ok(Self {
            runtime: runtime.clone(),
            places: before..before + own.len(),
            own,
            ghosts: Some(Ghosts::new(runtime, partition, indices)?),
        })
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Whether every rank holds all nodes.
    pub(super) fn is_replicated(&self) -> bool {
        self.ghosts.is_none()
    }

    /// The nodes of this rank.
    pub(super) fn own(&self) -> Range<usize> {
        self.own.clone()
    }

    /// Where they stand.
    pub(super) fn places(&self) -> Range<usize> {
        self.places.clone()
    }

    /// Where a node stands, which is one of those needed.
    #[inline]
    pub(super) fn place(&self, node: usize) -> usize {
        match &self.ghosts {
            None => node,
            Some(_) if self.own.contains(&node) => self.places.start + node - self.own.start,
            Some(ghosts) => ghosts
                .number(node as u32)
                .expect("the node is one of those needed"),
        }
    }

    /// What `of` makes of each of this rank's nodes. Every rank must ask; where one has no memory,
    /// all fail.
    pub(super) fn map_own<R: Copy + Send>(
        &self,
        of: impl Fn(usize) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        let parts = parallel::chunks(self.own.len(), PART);
        let made = parallel::map(&Threads::of(&self.runtime), parts, |part| {
            try_collect(part.map(&of))
        });
        let joined = || {
            let mut all = reserve(self.own.len())?;
            for part in made {
                all.extend_from_slice(&part?);
            }
            Ok(all)
        };
        self.runtime.agree(joined())
    }

    /// The values of all places, from those of this rank's nodes.
    pub(super) fn spread<E: Element>(&self, own: Vec<E>) -> Result<Vec<E>, Error> {
        self.spread_rows(own, 1)
    }

    /// As [`Halo::spread`], of this many values for each node.
    pub(super) fn spread_rows<E: Element>(
        &self,
        own: Vec<E>,
        width: usize,
    ) -> Result<Vec<E>, Error> {
        match &self.ghosts {
            None => Ok(own),
            Some(ghosts) => ghosts.exchange().run_rows(&self.runtime, width, &own),
        }
    }

    /// Gets the values of other ranks' nodes again.
    pub(super) fn refresh<E: Element>(&self, values: &mut Vec<E>) -> Result<(), Error> {
        if let Some(ghosts) = &self.ghosts {
            *values = ghosts.fetch(&values[self.places.clone()])?;
        }
        Ok(())
    }

    /// The sum over the ranks of a count of this one's nodes, and of those of the ranks before it.
    pub(super) fn sum(&self, mine: usize) -> Result<(usize, usize), Error> {
        if self.ghosts.is_none() {
            return Ok((mine, 0));
        }
        let counts = self.runtime.all_gather(&[mine as u64])?;
        let sum = |ranks: &[Vec<u64>]| ranks.iter().map(|count| count[0] as usize).sum();
        Ok((sum(&counts), sum(&counts[..self.runtime.rank()])))
    }
}
