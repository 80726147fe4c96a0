//! Blocks dealt out: which blocks of a file each of several ranks reads.
//!
//! The blocks behind the header go to the ranks in turn, one a round, so after each round all
//! ranks have read the file up to one place: the first error of the file is known when it is met,
//! and entries that are sent off after each round arrive in the order of the file. No rank holds
//! more than one block.

use super::error::{Located, ReadErrorKind};
use super::source::{Block, Blocks, Cuts, LINE_LIMIT, reserve_more};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// The blocks of one rank.
pub(super) enum Dealt {
    /// A plain file: every rank reads the bytes of its blocks alone.
    Cut(Cut),
    /// A compressed file, which cannot be entered in the middle: every rank decompresses all of it
    /// and drops the blocks of others at once.
    Streamed(Box<Streamed>),
}

/// See [`Dealt::Cut`]. Block `k` holds the lines that begin in its `block_len` bytes.
pub(super) struct Cut {
    file: File,
    /// Where this rank's next block begins.
    next: u64,
    /// The length of the file.
    len: u64,
    block_len: u64,
    ranks: u64,
}

/// See [`Dealt::Streamed`].
pub(super) struct Streamed {
    /// What followed the header in its block: the first block.
    first: Option<Block>,
    blocks: Blocks<'static>,
    /// Blocks of others before the next one.
    skip: usize,
    ranks: usize,
}

impl Dealt {
    /// The blocks of rank `rank` of a plain file whose body begins at byte `body`.
    pub(super) fn cut(file: File, body: u64, len: u64, cuts: Cuts, of: (usize, usize)) -> Self {
        /// Below this a block costs more to agree on than to read.
        const LEAST: u64 = 64 << 10;
        let (rank, ranks) = (of.0 as u64, of.1 as u64);
        let share = len.saturating_sub(body).div_ceil(ranks).max(LEAST);
        let block_len = share.min(cuts.block_len as u64);
        Self::Cut(Cut {
            file,
            next: body + rank * block_len,
            len,
            block_len,
            ranks,
        })
    }

    /// The blocks of rank `rank` of the file whose header has been taken from `blocks`.
    pub(super) fn streamed(first: Block, blocks: Blocks<'static>, of: (usize, usize)) -> Self {
        let (rank, ranks) = of;
        Self::Streamed(Box::new(Streamed {
            first: Some(first),
            blocks,
            skip: rank,
            ranks,
        }))
    }

    /// The next block of this rank, or none behind the end of the file. Lines of errors are
    /// counted from 0 at the beginning of the block.
    pub(super) fn next(&mut self) -> Result<Option<Block>, Located> {
        match self {
            Self::Cut(cut) => cut.next(),
            Self::Streamed(streamed) => streamed.next(),
        }
    }
}

impl Cut {
    fn next(&mut self) -> Result<Option<Block>, Located> {
        let start = self.next;
        if start >= self.len {
            return Ok(None);
        }
        self.next = start.saturating_add(self.block_len * self.ranks);
        let mut bytes = self.lines(start).map_err(|error| Located {
            line: None,
            kind: ReadErrorKind::Io(Arc::new(error)),
        })?;
        // The first of these bytes is the one before the block: it tells whether a line begins
        // with the block. One that begins behind its end is another's.
        let newline = bytes.iter().position(|&byte| byte == b'\n');
        let begin = newline.map_or(bytes.len(), |newline| newline + 1);
        let end = self.block_len.min(self.len - start) as usize + 1;
        bytes.drain(..if begin < end { begin } else { bytes.len() });
        let last = bytes.iter().rposition(|&byte| byte == b'\n');
        let unended = bytes.len() - last.map_or(0, |last| last + 1);
        let block = Block::of_lines(bytes);
        if unended > LINE_LIMIT && start + self.block_len < self.len {
            let line = block.lines_before(block.rest().len());
            return Err(ReadErrorKind::LongLine { limit: LINE_LIMIT }.at(line));
        }
        Ok(Some(block))
    }

    /// The bytes of the block at `start`, with the one before it, and on to the end of the line,
    /// or so far that the line is too long.
    fn lines(&mut self, start: u64) -> io::Result<Vec<u8>> {
        const MORE: usize = 16 << 10;
        let wanted = self.block_len.min(self.len - start) + 1;
        // There is a header in front of every block.
        self.file.seek(SeekFrom::Start(start - 1))?;
        let mut bytes = Vec::new();
        reserve_more(&mut bytes, wanted as usize + MORE)?;
        (&mut self.file).take(wanted).read_to_end(&mut bytes)?;
        let mut searched = bytes.len().saturating_sub(1);
        loop {
            if let Some(newline) = bytes[searched..].iter().position(|&byte| byte == b'\n') {
                bytes.truncate(searched + newline + 1);
                return Ok(bytes);
            }
            searched = bytes.len();
            if searched > wanted as usize + LINE_LIMIT + MORE {
                return Ok(bytes);
            }
            let more = (&mut self.file).take(MORE as u64).read_to_end(&mut bytes)?;
            if more == 0 {
                return Ok(bytes);
            }
        }
    }
}

impl Streamed {
    fn next(&mut self) -> Result<Option<Block>, Located> {
        for _ in 0..self.skip {
            if self.step()?.is_none() {
                return Ok(None);
            }
        }
        self.skip = self.ranks - 1;
        self.step()
    }

    fn step(&mut self) -> Result<Option<Block>, Located> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => {
                let first_line = self.blocks.next_line();
                self.blocks.next().map_err(|error| Located {
                    line: error.line.map(|line| line - first_line),
                    ..error
                })
            }
        }
    }
}
