//! The ghosts of a vector, exchanged again and again between the same neighbours.
//!
//! A [`GhostExchange`] is the memory and the connections of one exchange at a time, which a piece
//! has found out by asking ([`super::exchange::requests`]). Only neighbours talk, a message holds
//! all elements for one rank, and a rank that has nothing to send, since it failed, says so.
#![expect(
    unsafe_code,
    reason = "messages are written to memory that kernels read as ghosts"
)]

use super::Comm;
use super::exchange::{Exchange, Item};
use crate::error::Error;
use crate::memory::pool::{Memory, Pool};
use std::fmt;
use std::sync::Arc;

/// One exchange of ghosts at a time; see the module's text.
#[derive(Debug)]
pub(crate) struct GhostExchange {
    item: Item,
    ghosts: Arc<Memory>,
    links: Box<dyn Links>,
}

/// How the elements travel.
pub(crate) trait Links: Send + fmt::Debug {
    /// Begins to receive, and to send what others get of the elements `x` of this rank, or why
    /// there is nothing.
    fn start(
        &mut self,
        comm: &dyn Comm,
        exchange: &Exchange,
        x: Result<&[u8], Error>,
    ) -> Result<(), Error>;

    /// Waits until all ghosts are where they belong.
    fn finish(&mut self, comm: &dyn Comm, exchange: &Exchange) -> Result<(), Error>;
}

/// As messages like all others.
#[derive(Debug)]
pub(super) struct Mailed {
    pub(super) item: Item,
    pub(super) ghosts: Arc<Memory>,
}

impl GhostExchange {
    /// An exchange of such elements. Every rank takes part; a failure of one is the failure of all.
    pub(crate) fn new(
        comm: &dyn Comm,
        pool: &Arc<Pool>,
        exchange: &Exchange,
        item: Item,
    ) -> Result<Self, Error> {
        let made = pool.allocate(exchange.len(), item.size).and_then(|ghosts| {
            let ghosts = Arc::new(ghosts);
            let links = comm.link(exchange, item, &ghosts)?;
            Ok(Self {
                item,
                ghosts,
                links,
            })
        });
        super::agree(comm, made)
    }

    /// What it exchanges.
    pub(crate) fn item(&self) -> Item {
        self.item
    }

    /// The ghosts that arrived last.
    pub(crate) fn ghosts(&self) -> *const u8 {
        self.ghosts.data()
    }

    /// Sends the elements of `x`, this rank's part, that other ranks need; or why there are none.
    pub(crate) fn start(
        &mut self,
        comm: &dyn Comm,
        exchange: &Exchange,
        x: Result<&[u8], Error>,
    ) -> Result<(), Error> {
        self.links.start(comm, exchange, x)
    }

    /// Waits for the ghosts.
    pub(crate) fn finish(&mut self, comm: &dyn Comm, exchange: &Exchange) -> Result<(), Error> {
        self.links.finish(comm, exchange)
    }
}

impl Links for Mailed {
    fn start(
        &mut self,
        comm: &dyn Comm,
        exchange: &Exchange,
        x: Result<&[u8], Error>,
    ) -> Result<(), Error> {
        let has_failed = x.is_err();
        let posted = exchange.post(comm, self.item, x);
        // The caller knows why there is nothing to send.
        if has_failed { Ok(()) } else { posted }
    }

    fn finish(&mut self, comm: &dyn Comm, exchange: &Exchange) -> Result<(), Error> {
        // SAFETY: the memory is that of the exchange, which is borrowed mutably; it lives as long,
        // is initialised (`block.rs`), and kernels that read it run after this.
        let ghosts =
            unsafe { std::slice::from_raw_parts_mut(self.ghosts.data(), self.ghosts.len()) };
        exchange.wait(comm, self.item, Ok(ghosts))
    }
}
