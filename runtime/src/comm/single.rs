//! The one rank of a program that has no others.

use super::{Comm, Message, left};

/// One rank, alone.
#[derive(Debug)]
pub(crate) struct Single;

impl Comm for Single {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn send(&self, _to: usize, _message: Message) {
        unreachable!("a single rank has no other to send to");
    }

    fn receive(&self, from: usize) -> Message {
        Message::Failed(left(from))
    }
}
