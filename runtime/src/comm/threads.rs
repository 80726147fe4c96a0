//! Ranks as threads of one process: a channel from each rank to each other rank.
//!
//! Messages are copied as they would be between processes, so everything that is true of ranks
//! can be tested without MPI.

use super::{Comm, Message, left};
use sparsefuse_kernels::workers::look_for;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// One of several ranks in this process.
#[derive(Debug)]
pub(crate) struct Threads {
    rank: usize,
    senders: Vec<Sender<Message>>,
    /// Behind locks only to be `Sync`; each is used by its rank alone.
    receivers: Vec<Mutex<Receiver<Message>>>,
}

/// The ends of `size` ranks that are connected to each other.
pub(crate) fn connect(size: usize) -> Vec<Threads> {
    let mut senders: Vec<Vec<Sender<Message>>> = (0..size).map(|_| Vec::new()).collect();
    let mut ranks = Vec::with_capacity(size);
    for rank in 0..size {
        let mut receivers = Vec::with_capacity(size);
        for sender in &mut senders {
            let (send, receive) = channel();
            sender.push(send);
            receivers.push(Mutex::new(receive));
        }
        ranks.push((rank, receivers));
    }
    ranks
        .into_iter()
        .zip(senders)
        .map(|((rank, receivers), senders)| Threads {
            rank,
            senders,
            receivers,
        })
        .collect()
}

impl Comm for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.senders.len()
    }

    fn on_machine(&self) -> usize {
        self.size()
    }

    fn leave(&mut self) {
        for sender in &mut self.senders {
            *sender = channel().0;
        }
        for receiver in &mut self.receivers {
            *receiver = Mutex::new(channel().1);
        }
    }

    fn send(&self, to: usize, message: Message) {
        // A rank that has left needs nothing; who waits for it is told by `receive`.
        let _ = self.senders[to].send(message);
    }

    fn receive(&self, from: usize) -> Message {
        let receiver = self.receivers[from]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A rank that sleeps comes late, and costs the sender the call that wakes it.
        let soon = look_for(|| match receiver.try_recv() {
            Ok(message) => Some(message),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Message::Failed(left(from))),
        });
        soon.or_else(|| receiver.recv().ok())
            .unwrap_or_else(|| Message::Failed(left(from)))
    }
}
