//! Where lines come from: a file or bytes, plain or gzip, delivered in blocks of whole lines.
//!
//! A block ends with a newline or with the file, so blocks can be parsed alone, and it knows the
//! number of its first line, so errors can name theirs. No more is held than one block and the
//! beginning of the next.

use super::error::{Located, ReadErrorKind};
use crate::local::parallel::Threads;
use flate2::bufread::MultiGzDecoder;
use sparsefuse_runtime::{Error, ErrorKind, Runtime};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The length up to which every line is accepted, in bytes. A longer one is refused where it
/// would make a block grow.
pub(super) const LINE_LIMIT: usize = 1 << 20;

/// How much longer a text is thought to be than its compressed file. Where it is longer still,
/// memory for its entries is made as they come.
const MOST_GAIN: u64 = 16;

/// The lengths into which a file is cut, in bytes. They have no influence on what is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// What is read at once.
    pub(super) block_len: usize,
    /// What one thread parses at once.
    pub(super) chunk_len: usize,
    /// How many threads parse.
    pub(super) threads: usize,
}

impl Cuts {
    /// Large enough that the cost of a cut is lost in the noise, small enough for the L2 cache.
    pub(super) const DEFAULT: Self = Self {
        block_len: 4 << 20,
        chunk_len: 128 << 10,
        threads: 1,
    };

    /// The threads that parse: those of the current runtime, where they are as many.
    pub(super) fn threads(self) -> Threads {
        let own = (self.threads > 1).then(|| Threads::of(&Runtime::current()));
        let own = own.filter(|own| own.count() == self.threads);
        own.unwrap_or_else(|| Threads::new(self.threads))
    }

    /// The default on the threads of a rank of the current runtime.
    pub(super) fn of_current() -> Self {
        Self {
            threads: Runtime::current().config().threads,
            ..Self::DEFAULT
        }
    }
}

/// Some neighbouring lines of a file.
#[derive(Debug)]
pub(super) struct Block {
    bytes: Vec<u8>,
    /// How much of `bytes` has been used.
    start: usize,
    /// The number of the first line of `bytes`, from 1.
    first_line: u64,
}

impl Block {
    /// A block of whole lines that came from somewhere in a file.
    pub(super) fn of_lines(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            start: 0,
            first_line: 1,
        }
    }

    /// The lines not yet used.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Marks the first `len` bytes of the rest as used.
    pub(super) fn advance(&mut self, len: usize) {
        self.start += len;
    }

    /// Whether the rest begins a line.
    pub(super) fn begins_line(&self) -> bool {
        self.start == 0 || self.bytes[self.start - 1] == b'\n'
    }

    /// Whether the block ends with a newline.
    pub(super) fn ends_line(&self) -> bool {
        self.bytes.last() == Some(&b'\n')
    }

    /// The number of lines that end before byte `offset` of the rest.
    pub(super) fn lines_before(&self, offset: usize) -> u64 {
        count_lines(&self.rest()[..offset])
    }

    /// The number, from 1, of the line that holds byte `offset` of the rest.
    pub(super) fn line_at(&self, offset: usize) -> u64 {
        self.first_line + count_lines(&self.bytes[..self.start + offset])
    }
}

/// The blocks of a file, in order.
pub(super) struct Blocks<'a> {
    reader: Box<dyn Read + Send + 'a>,
    is_gzip: bool,
    cuts: Cuts,
    /// What was read behind the last whole line.
    tail: Vec<u8>,
    /// The number of the first line of `tail`, from 1.
    line: u64,
    /// The number of the last line delivered, from 1.
    last_line: u64,
    /// The bytes of all blocks delivered.
    delivered: u64,
    /// The most bytes that there are, as far as that is known, or 0.
    most_bytes: u64,
}

impl Blocks<'static> {
    /// The blocks of the file at `path`.
    pub(super) fn open(path: &Path, cuts: Cuts) -> Result<Self, Located> {
        let file = File::open(path).map_err(|error| Located {
            line: None,
            kind: ReadErrorKind::Io(Arc::new(error)),
        })?;
        let len = file.metadata().map_or(0, |metadata| metadata.len());
        let mut blocks = Self::new(BufReader::with_capacity(64 << 10, file), cuts)?;
        blocks.most_bytes = match blocks.is_gzip {
            true => len.saturating_mul(MOST_GAIN),
            false => len,
        };
        Ok(blocks)
    }
}

impl<'a> Blocks<'a> {
    /// The blocks of what `reader` delivers, decompressed if it begins like gzip.
    pub(super) fn new(mut reader: impl BufRead + Send + 'a, cuts: Cuts) -> Result<Self, Located> {
        const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
        let is_gzip = match reader.fill_buf() {
            Ok(bytes) => bytes.starts_with(&GZIP_MAGIC),
            Err(error) => return Err(ReadErrorKind::Io(Arc::new(error)).at(1)),
        };
        let reader: Box<dyn Read + Send + 'a> = if is_gzip {
            Box::new(MultiGzDecoder::new(reader))
        } else {
            Box::new(reader)
        };
        Ok(Self {
            reader,
            is_gzip,
            cuts,
            tail: Vec::new(),
            line: 1,
            last_line: 1,
            delivered: 0,
            most_bytes: 0,
        })
    }

    /// The most lines with an index, a value or more that the file can have, or 0 if it is not
    /// known how long it is: memory for them may be made before they are read.
    pub(super) fn most_lines(&self) -> u64 {
        self.most_bytes.div_ceil(2)
    }

    /// The lengths into which the file is cut.
    pub(super) fn cuts(&self) -> Cuts {
        self.cuts
    }

    /// The next block, or none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Block>, Located> {
        let mut bytes = std::mem::take(&mut self.tail);
        loop {
            let n_read = match self.fill(&mut bytes) {
                Ok(n_read) => n_read,
                Err(error) => return Err(self.broken(error, &bytes)),
            };
            if n_read < self.cuts.block_len {
                break; // The end of the file ends its last line.
            }
            let read = &bytes[bytes.len() - n_read..];
            if let Some(newline) = read.iter().rposition(|&byte| byte == b'\n') {
                self.tail = bytes.split_off(bytes.len() - n_read + newline + 1);
                break;
            }
            if bytes.len() > LINE_LIMIT {
                return Err(ReadErrorKind::LongLine { limit: LINE_LIMIT }.at(self.line));
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let block = Block {
            first_line: self.line,
            start: 0,
            bytes,
        };
        self.line += count_lines(&block.bytes);
        self.last_line = self.line - u64::from(block.ends_line());
        self.delivered += block.bytes.len() as u64;
        Ok(Some(block))
    }

    /// The number of the last line delivered, from 1; that of the file once [`Blocks::next`] has
    /// returned none.
    pub(super) fn last_line(&self) -> u64 {
        self.last_line
    }

    /// The number of the first line of the next block, from 1.
    pub(super) fn next_line(&self) -> u64 {
        self.line
    }

    /// The bytes of all blocks delivered so far, decompressed.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Whether the file is compressed.
    pub(super) fn is_gzip(&self) -> bool {
        self.is_gzip
    }

    /// Reads `block_len` bytes, or fewer at the end of the file.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        reserve_more(bytes, self.cuts.block_len)?;
        (&mut self.reader)
            .take(self.cuts.block_len as u64)
            .read_to_end(bytes)
    }

    /// The error for a file that can be read no further than `bytes`.
    fn broken(&self, error: io::Error, bytes: &[u8]) -> Located {
        let error = Arc::new(error);
        let kind = if self.is_gzip {
            ReadErrorKind::Gzip(error)
        } else {
            ReadErrorKind::Io(error)
        };
        kind.at(self.line + count_lines(bytes))
    }
}

/// Makes room for more bytes.
pub(super) fn reserve_more(bytes: &mut Vec<u8>, more: usize) -> io::Result<()> {
    let wanted = bytes.len() + more;
    let refused = |_| {
        io::Error::new(
            io::ErrorKind::OutOfMemory,
            Error::from(ErrorKind::Refused { wanted }),
        )
    };
    bytes.try_reserve_exact(more).map_err(refused)
}

/// Cuts text behind newlines into ranges of at least `chunk_len` bytes, but for the last.
pub(super) fn chunks(text: &[u8], chunk_len: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(text.len() / chunk_len + 1);
    let mut start = 0;
    while start < text.len() {
        let least = text.len().min(start.saturating_add(chunk_len)) - 1;
        let newline = text[least..].iter().position(|&byte| byte == b'\n');
        let end = newline.map_or(text.len(), |newline| least + newline + 1);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// The newlines in a text. Those of up to 255 bytes are counted in one byte, 16 side by side.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    let of_part = |part: &[u8]| -> u8 { part.iter().map(|&byte| u8::from(byte == b'\n')).sum() };
    bytes.chunks(192).map(|part| u64::from(of_part(part))).sum()
}
