//! The nodes that a rank works on, and those of other ranks that it has to know of.

use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Partition, Runtime, reserve, try_collect, try_concat};
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
    partition: Partition,
}

/// The nodes that ranks know of each other, for values that change often: only these travel.
#[derive(Debug)]
pub(super) struct Boundary {
    /// The nodes of other ranks.
    others: Ghosts,
    /// The places of this rank's nodes, which have those of other ranks before and behind them.
    places: Range<usize>,
    /// The nodes of this rank that others know of, by their numbers among its own.
    pub(super) told: Vec<usize>,
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
                partition,
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
            partition,
        })
    }

    /// What ranks know of each other; `None` where every rank holds all nodes. Every rank must ask.
    pub(super) fn boundary(&self) -> Result<Option<Boundary>, Error> {
        let Some(ghosts) = &self.ghosts else {
            return Ok(None);
        };
        let (indices, places) = (ghosts.indices(), self.places.clone());
        let others = try_concat(&[
            indices[..places.start].to_vec(),
            indices[places.end..].to_vec(),
        ]);
        let others = Ghosts::new(&self.runtime, self.partition, self.runtime.agree(others)?)?;
        let marks = vec![true; others.indices().len()];
        let is_told = others.exchange().reversed().run(&self.runtime, &marks)?;
        let told = (0..is_told.len()).filter(|&number| is_told[number]);
        Ok(Some(Boundary {
            told: told.collect(),
            others,
            places,
        }))
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

impl Boundary {
    /// What other ranks have at their nodes, one after the other, of which this one has `own`.
    /// Every rank must ask.
    pub(super) fn fetch<E: Element>(&self, own: &[E]) -> Result<Vec<E>, Error> {
        self.others.fetch(own)
    }

    /// The number of a node of another rank among those that are fetched, by its place.
    #[inline]
    pub(super) fn number(&self, place: usize) -> usize {
        match place < self.places.start {
            true => place,
            false => place - self.places.len(),
        }
    }

    /// The place of such a node, by that number.
    pub(super) fn place(&self, number: usize) -> usize {
        match number < self.places.start {
            true => number,
            false => number + self.places.len(),
        }
    }
}
