//! What the tag of a message says: for which group of ranks it is, from which rank of the sending
//! process to which of the receiving one, and what it is.
//!
//! Bits, from the lowest: 2 for the kind, 5 for each of the two ranks, the rest for the group.

use crate::error::Error;

/// The most ranks of one process: their numbers have 5 bits.
pub(super) const MOST_LOCAL: usize = 1 << 5;

/// The group of no rank: what a process says of itself.
pub(super) const NO_GROUP: u32 = 0;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The whole of the data, or the last piece of them.
    Data,
    /// A piece of data that more pieces follow.
    Piece,
    /// A failure in place of data.
    Failed,
    /// The sender has left and sends nothing more.
    Left,
}

/// The address and the kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) group: u32,
    /// The rank within the sending process.
    pub(super) from: u32,
    /// The rank within the receiving process.
    pub(super) to: u32,
    pub(super) kind: Kind,
}

impl Tag {
    /// The number that MPI sends along.
    pub(super) fn encode(self) -> u32 {
        (self.group << 12) | (self.to << 7) | (self.from << 2) | self.kind as u32
    }

    /// What such a number says.
    pub(super) fn decode(tag: u32) -> Self {
        let kinds = [Kind::Data, Kind::Piece, Kind::Failed, Kind::Left];
        Self {
            group: tag >> 12,
            to: (tag >> 7) & 31,
            from: (tag >> 2) & 31,
            kind: kinds[(tag & 3) as usize],
        }
    }
}

/// The number of the next group, if tags up to `most_tag` can name it.
pub(super) fn check_group(group: u32, most_tag: u32) -> Result<u32, Error> {
    let most = most_tag >> 12;
    if group < most {
        return Ok(group);
    }
    Err(Error::argument(
        "ranks",
        format!("at most {most} runtimes of all processes in one run"),
        "one more",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_what_it_was_made_of() {
        for kind in [Kind::Data, Kind::Piece, Kind::Failed, Kind::Left] {
            let last = MOST_LOCAL as u32 - 1;
            for (group, from, to) in [(0, 0, 0), (1, last, 0), (7, 0, last), ((1 << 19) - 1, 9, 8)]
            {
                let tag = Tag {
                    group,
                    from,
                    to,
                    kind,
                };
                assert_eq!(Tag::decode(tag.encode()), tag);
                assert!(tag.encode() <= i32::MAX as u32);
            }
        }
    }

    #[test]
    fn groups_end_where_tags_do() {
        assert_eq!(check_group(3, 5 << 12), Ok(3));
        let refused = check_group(5, 5 << 12).unwrap_err();
        assert!(refused.to_string().contains("at most 5"), "{refused}");
    }
}
