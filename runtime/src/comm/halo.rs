//! Halos: the ghosts of a vector, exchanged again and again between the same neighbours.
//!
//! [`Neighbours`] says which elements a rank sends to whom and receives from whom; the inspector
//! finds it out once. A [`Halo`] is the memory and the connections of one exchange at a time. Only
//! neighbours talk, a message holds all elements for one rank, and a rank that has nothing to send,
//! since it failed, says so.
#![expect(
    unsafe_code,
    reason = "elements are copied as bytes from and to instances"
)]

use super::{Comm, Message, apart};
use crate::error::Error;
use crate::memory::instance::Instance;
use crate::memory::pool::{Memory, Pool};
use crate::memory::reserve::zeros;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Who needs which elements of this rank's part, and who has its ghosts.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// A rank, and the places of the elements that it needs within this rank's part.
    pub(crate) sends: Vec<(usize, Vec<u32>)>,
    /// A rank, and the ghosts that it has.
    pub(crate) receives: Vec<(usize, Range<usize>)>,
}

impl Neighbours {
    /// The ghosts of this rank.
    pub(crate) fn ghosts(&self) -> usize {
        self.receives.last().map_or(0, |(_, ghosts)| ghosts.end)
    }

    /// The elements that this rank sends.
    pub(crate) fn sent(&self) -> usize {
        self.sends.iter().map(|(_, places)| places.len()).sum()
    }
}

/// One exchange of ghosts at a time; see the module's text.
#[derive(Debug)]
pub(crate) struct Halo {
    /// Bytes of an element.
    size: usize,
    ghosts: Arc<Memory>,
    links: Box<dyn Links>,
}

/// How the elements travel.
pub(crate) trait Links: Send + fmt::Debug {
    /// Begins to receive, and to send what is picked of `x`, or why there is nothing.
    fn start(
        &mut self,
        comm: &dyn Comm,
        neighbours: &Neighbours,
        x: &Result<&Instance, Error>,
    ) -> Result<(), Error>;

    /// Waits until all ghosts are where they belong.
    fn finish(&mut self, comm: &dyn Comm, neighbours: &Neighbours) -> Result<(), Error>;
}

/// As messages like all others.
#[derive(Debug)]
pub(super) struct Messages {
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) ghosts: Arc<Memory>,
}

impl Halo {
    /// A halo for elements of `size` bytes. Every rank takes part; a failure of one is the failure
    /// of all.
    pub(crate) fn new(
        comm: &dyn Comm,
        pool: &Arc<Pool>,
        neighbours: &Neighbours,
        size: usize,
    ) -> Result<Self, Error> {
        let made = pool.allocate(neighbours.ghosts(), size).and_then(|ghosts| {
            let ghosts = Arc::new(ghosts);
            let links = comm.link(neighbours, size, &ghosts)?;
            Ok(Self {
                size,
                ghosts,
                links,
            })
        });
        super::agree(comm, made)
    }

    /// Bytes of an element.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The ghosts that arrived last.
    pub(crate) fn ghosts(&self) -> *const u8 {
        self.ghosts.data()
    }

    /// Sends the elements of `x`, this rank's part, that other ranks need; or why there are none.
    pub(crate) fn start(
        &mut self,
        comm: &dyn Comm,
        neighbours: &Neighbours,
        x: &Result<&Instance, Error>,
    ) -> Result<(), Error> {
        self.links.start(comm, neighbours, x)
    }

    /// Waits for the ghosts.
    pub(crate) fn finish(&mut self, comm: &dyn Comm, neighbours: &Neighbours) -> Result<(), Error> {
        self.links.finish(comm, neighbours)
    }
}

impl Links for Messages {
    fn start(
        &mut self,
        comm: &dyn Comm,
        neighbours: &Neighbours,
        x: &Result<&Instance, Error>,
    ) -> Result<(), Error> {
        for (to, places) in &neighbours.sends {
            let picked = x.as_ref().map_err(Clone::clone).and_then(|x| {
                let mut bytes = zeros(places.len() * self.size)?;
                pick(x, places, &mut bytes);
                Ok(bytes)
            });
            comm.send(*to, picked.map_or_else(Message::Failed, Message::Data));
        }
        Ok(())
    }

    fn finish(&mut self, comm: &dyn Comm, neighbours: &Neighbours) -> Result<(), Error> {
        let mut outcome = Ok(());
        for (from, ghosts) in &neighbours.receives {
            match comm.receive(*from).data() {
                Err(cause) => outcome = outcome.and(Err(cause)),
                Ok(bytes) if bytes.len() != ghosts.len() * self.size => {
                    outcome = outcome.and(Err(apart(*from)));
                }
                Ok(bytes) => self.keep(ghosts, &bytes),
            }
        }
        outcome
    }
}

impl Messages {
    fn keep(&self, ghosts: &Range<usize>, bytes: &[u8]) {
        assert_eq!(
            bytes.len(),
            ghosts.len() * self.size,
            "both sides know the ghosts"
        );
        assert!(
            ghosts.end * self.size <= self.ghosts.len(),
            "there is memory for all ghosts"
        );
        // SAFETY: the range lies within the memory and is as long as the message, as just checked;
        // kernels that read ghosts run after this.
        unsafe {
            let to = self.ghosts.data().add(ghosts.start * self.size);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }
}

/// Copies the elements at some places, or the rows where `x` has two dimensions.
pub(super) fn pick(x: &Instance, places: &[u32], bytes: &mut [u8]) {
    // Rows without elements are sent as if they had one; it is not read.
    if x.len() == 0 && !x.rows.is_empty() {
        return;
    }
    let size = bytes.len() / places.len().max(1);
    for (target, &place) in bytes.chunks_exact_mut(size.max(1)).zip(places) {
        assert!(
            (place as usize) < x.len(),
            "the inspector has checked what is asked for"
        );
        // SAFETY: the place lies within the instance, as just checked.
        unsafe {
            let from = x.data().add(place as usize * size);
            std::ptr::copy_nonoverlapping(from, target.as_mut_ptr(), size);
        }
    }
}
