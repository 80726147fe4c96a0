//! Reading on several ranks: every rank parses its own blocks of the file and sends each entry to
//! the rank that owns its row.
//!
//! Ranks go through the file in rounds ([`super::deal`]). After each they tell each other how many
//! lines and entries they have read, and whether they met an error; so all of them return the same
//! error, the first of the file, with its line. An error travels as the line that it stands in,
//! which every rank then reads itself. What comes out are the entries of this rank's rows in the
//! order of the file. A rank holds those, one block, and what it sends and receives for one block.

use super::body;
use super::deal::Dealt;
use super::entries::Entries;
use super::error::{Located, ReadError, ReadErrorKind};
use super::expand;
use super::header::{self, Header};
use super::kinds::{Format, Symmetry};
use super::source::{Block, Blocks, Cuts};
use crate::exchange::owners::Owners;
use crate::local::triplets::Triplets;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The entries of this rank's rows, as [`super::read`] reads them on one rank; of an `array` file
/// all elements. Every rank must ask, and all get the same error.
pub(super) fn read<T: Field>(
    runtime: &Runtime,
    path: &Path,
    cuts: Cuts,
) -> Result<(Header, Triplets<T>), ReadError> {
    let file = path.to_string_lossy();
    let opened = Opened::open::<T>(path, cuts, (runtime.rank(), runtime.ranks()));
    let opened = agree_on(runtime, &file, opened)?;
    Reader::new(runtime, opened, cuts)
        .run()
        .map_err(|error| error.in_file(&file))
}

/// A file whose header has been read.
struct Opened {
    header: Header,
    dealt: Dealt,
    /// The number of the first line behind the header, from 1.
    line: u64,
    /// Whether the header ends with a newline.
    is_line_start: bool,
    /// What must be the same on every rank.
    facts: Vec<u64>,
}

impl Opened {
    fn open<T: Field>(path: &Path, cuts: Cuts, of: (usize, usize)) -> Result<Self, Located> {
        let refuse = |error: io::Error| Located {
            line: None,
            kind: ReadErrorKind::Io(Arc::new(error)),
        };
        let metadata = fs::metadata(path).map_err(refuse)?;
        if !metadata.is_file() {
            let error = io::Error::other("several ranks read files only, no pipes or devices");
            return Err(refuse(error));
        }
        let len = metadata.len();
        let mut blocks = Blocks::open(path, cuts)?;
        let (header, rest) = header::read(&mut blocks)?;
        header::check_element::<T>(&header)?;
        let line = rest.line_at(0);
        let body = blocks.delivered() - rest.rest().len() as u64;
        let is_line_start = rest.begins_line();
        let facts = vec![
            len,
            body,
            line,
            header.format as u64,
            header.field as u64,
            header.symmetry as u64,
            header.n_rows as u64,
            header.n_cols as u64,
            header.n_stored as u64,
        ];
        let dealt = if blocks.is_gzip() {
            Dealt::streamed(rest, blocks, of)
        } else {
            Dealt::cut(File::open(path).map_err(refuse)?, body, len, cuts, of)
        };
        Ok(Self {
            header,
            dealt,
            line,
            is_line_start,
            facts,
        })
    }
}

/// What every rank has opened, if all have opened the same.
fn agree_on(
    runtime: &Runtime,
    file: &str,
    opened: Result<Opened, Located>,
) -> Result<Opened, ReadError> {
    let refuse = |kind| Err(ReadError::new(file, kind));
    let opened = opened.map_err(|error| error.in_file(file));
    let mut mine = vec![u8::from(opened.is_err())];
    match &opened {
        Ok(opened) => mine.extend(opened.facts.iter().flat_map(|fact| fact.to_le_bytes())),
        Err(error) => mine.extend(error.to_string().into_bytes()),
    }
    let all = match runtime.all_gather_bytes(mine) {
        Ok(all) => all,
        Err(cause) => return refuse(ReadErrorKind::Assembly(cause)),
    };
    if all.iter().all(|of_rank| *of_rank == all[0]) {
        return opened;
    }
    // Of a rank that runs another program the bytes are anything, or none.
    match all.iter().position(|of_rank| of_rank.first() == Some(&1)) {
        Some(rank) => {
            let message = String::from_utf8_lossy(&all[rank][1..]).into_owned();
            refuse(ReadErrorKind::Rank { rank, message })
        }
        None => {
            let rank = all.iter().position(|of_rank| *of_rank != all[0]);
            let rank = rank.expect("they are not all the same");
            refuse(ReadErrorKind::Differs { rank })
        }
    }
}

/// A file that is being read.
struct Reader<'a, T> {
    runtime: &'a Runtime,
    header: Header,
    dealt: Dealt,
    cuts: Cuts,
    owners: Owners,
    /// The number of the next round's first line, from 1.
    line: u64,
    /// Whether a line begins there, or the last one goes on.
    is_line_start: bool,
    /// Entries of the file before the next round.
    n_stored: usize,
    /// The entries of this rank's rows.
    kept: Triplets<T>,
}

/// What a rank has read in a round.
struct Share<T> {
    block: Option<Block>,
    entries: Entries<T>,
    /// The lines before the error, or all of them.
    n_lines: u64,
    error: Option<ShareError>,
}

/// An error before its place in the file is known.
enum ShareError {
    /// In a line, which begins at this offset of the block.
    Line(usize),
    /// Of the file as a whole.
    File(ReadErrorKind),
}

/// What all ranks know of a rank's share.
struct Summary {
    n_lines: u64,
    n_stored: usize,
    is_end: bool,
    ends_line: Option<bool>,
    has_error: bool,
}

impl<'a, T: Field> Reader<'a, T> {
    fn new(runtime: &'a Runtime, opened: Opened, cuts: Cuts) -> Self {
        let Opened {
            header,
            dealt,
            line,
            is_line_start,
            ..
        } = opened;
        let kept = Triplets::from_checked_parts(
            header.n_rows,
            header.n_cols,
            Vec::new(),
            Vec::new(),
            Vec::new(),
        );
        Self {
            runtime,
            owners: Owners::of_rows(runtime, header.n_rows),
            header,
            dealt,
            cuts,
            line,
            is_line_start,
            n_stored: 0,
            kept,
        }
    }

    fn run(mut self) -> Result<(Header, Triplets<T>), Located> {
        loop {
            let share = self.share();
            let summaries = self.exchange(&share).map_err(of_ranks)?;
            let before = &summaries[..self.runtime.rank()];
            let first =
                self.n_stored + before.iter().map(|summary| summary.n_stored).sum::<usize>();
            self.check_diagonal(&share, &summaries, first)?;
            self.check(&share, &summaries)?;
            let entries = self.triplets(share.entries, first);
            let received = self.owners.send(self.runtime, entries).map_err(of_ranks)?;
            let kept = self.kept.append(received);
            self.runtime.agree(kept).map_err(of_ranks)?;
            for summary in &summaries {
                self.n_stored += summary.n_stored;
                self.line += summary.n_lines;
                self.is_line_start = summary.ends_line.unwrap_or(self.is_line_start);
            }
            if summaries.iter().any(|summary| summary.is_end) {
                break;
            }
        }
        let expected = self.header.n_stored;
        if self.n_stored < expected {
            let found = self.n_stored;
            let last = self.line - u64::from(self.is_line_start);
            return Err(ReadErrorKind::TooFew { expected, found }.at(last));
        }
        Ok((self.header, self.kept))
    }

    /// Reads and parses this rank's block of the round.
    fn share(&mut self) -> Share<T> {
        let mut entries = Entries::new();
        let (block, n_lines, error) = match self.dealt.next() {
            Err(Located { line, kind }) => (None, line.unwrap_or(0), Some(ShareError::File(kind))),
            Ok(None) => (None, 0, None),
            Ok(Some(block)) => {
                let text = block.rest();
                let cuts = (self.cuts, &self.cuts.threads());
                let error = body::parse_lines(&self.header, text, cuts, &mut entries);
                let offset = error.as_ref().map_or(text.len(), |(offset, _)| *offset);
                let error = error.map(|(offset, kind)| match kind {
                    ReadErrorKind::Assembly(_) => ShareError::File(kind),
                    // What is wrong is said again by every rank that reads the line.
                    _ => ShareError::Line(offset),
                });
                let n_lines = block.lines_before(offset);
                (Some(block), n_lines, error)
            }
        };
        Share {
            block,
            entries,
            n_lines,
            error,
        }
    }

    /// Tells the other ranks what this one has read.
    fn exchange(&self, share: &Share<T>) -> Result<Vec<Summary>, Error> {
        let ends_line = match &share.block {
            Some(block) if !block.rest().is_empty() => 1 + u64::from(block.ends_line()),
            Some(_) | None => 0,
        };
        let mine = [
            share.n_lines,
            share.entries.n_stored as u64,
            u64::from(share.block.is_none()),
            ends_line,
            u64::from(share.error.is_some()),
        ];
        let all = self.runtime.all_gather(&mine)?;
        let summary = |words: &Vec<u64>| Summary {
            n_lines: words[0],
            n_stored: words[1] as usize,
            is_end: words[2] == 1,
            ends_line: (words[3] > 0).then_some(words[3] == 2),
            has_error: words[4] == 1,
        };
        Ok(all.iter().map(summary).collect())
    }

    /// The first error of the round, which is that of the lowest rank that met one.
    fn check(&self, share: &Share<T>, summaries: &[Summary]) -> Result<(), Located> {
        let expected = self.header.n_stored;
        let (mut line, mut n_stored) = (self.line, self.n_stored);
        for (rank, summary) in summaries.iter().enumerate() {
            let n_wanted = expected - n_stored;
            let is_too_many = summary.n_stored > n_wanted;
            if is_too_many || summary.has_error {
                let mine = (rank == self.runtime.rank())
                    .then(|| share.describe(is_too_many.then_some(n_wanted)));
                let all = self.runtime.all_gather_bytes(mine.unwrap_or_default());
                let described = &all.map_err(of_ranks)?[rank];
                return Err(located::<T>(&self.header, described, line, rank));
            }
            n_stored += summary.n_stored;
            line += summary.n_lines;
        }
        Ok(())
    }

    /// Refuses a Hermitian array whose diagonal is not real, if that is the first error of the
    /// round. Which elements are on the diagonal is known only by their numbers in the file.
    fn check_diagonal(
        &self,
        share: &Share<T>,
        summaries: &[Summary],
        first: usize,
    ) -> Result<(), Located> {
        let Header {
            format, symmetry, ..
        } = self.header;
        if (format, symmetry) != (Format::Array, Symmetry::Hermitian) {
            return Ok(());
        }
        let found = body::bad_diagonal(&self.header, &share.entries.vals, first);
        let mine = match (&share.block, found) {
            (Some(block), Some((number, ReadErrorKind::HermitianDiagonal { row, imaginary }))) => {
                let offset = body::offset_of_entry(block.rest(), number - first);
                [1, block.lines_before(offset), row, imaginary.to_bits()]
            }
            _ => [0; 4],
        };
        let all = self.runtime.all_gather(&mine).map_err(of_ranks)?;
        let mut line = self.line;
        for (words, summary) in all.iter().zip(summaries) {
            if words[0] == 1 {
                let (row, imaginary) = (words[2], f64::from_bits(words[3]));
                let kind = ReadErrorKind::HermitianDiagonal { row, imaginary };
                return Err(kind.at(line + words[1]));
            }
            if summary.has_error {
                break;
            }
            line += summary.n_lines;
        }
        Ok(())
    }

    /// The entries of a share whose first one is entry `first` of the file.
    fn triplets(&self, entries: Entries<T>, first: usize) -> Triplets<T> {
        let (n_rows, n_cols) = (self.header.n_rows, self.header.n_cols);
        let Entries {
            rows, cols, vals, ..
        } = match self.header.format {
            Format::Coordinate => entries,
            Format::Array => expand::with_places(&self.header, entries.vals, first),
        };
        Triplets::from_checked_parts(n_rows, n_cols, rows, cols, vals)
    }
}

fn of_ranks(cause: Error) -> Located {
    Located {
        line: None,
        kind: ReadErrorKind::Assembly(cause),
    }
}

/// How errors travel: what it is, how many lines of the block are before it, and text.
const LINE: u8 = 0;
const TOO_MANY: u8 = 1;
const LONG_LINE: u8 = 2;
const GZIP: u8 = 3;
const SYSTEM: u8 = 4;

impl<T> Share<T> {
    /// The error of this share: that it has more than `n_wanted` entries, or the one it met.
    fn describe(&self, n_wanted: Option<usize>) -> Vec<u8> {
        let text = self.block.as_ref().map_or(&[][..], Block::rest);
        let lines_before = |offset| {
            self.block
                .as_ref()
                .map_or(0, |block| block.lines_before(offset))
        };
        let (tag, line, text) = match (n_wanted, &self.error) {
            (Some(n_wanted), _) => {
                let offset = body::offset_of_entry(text, n_wanted);
                (TOO_MANY, lines_before(offset), Vec::new())
            }
            (None, Some(ShareError::Line(offset))) => {
                let line = text[*offset..].split(|&byte| byte == b'\n').next();
                (LINE, self.n_lines, line.unwrap_or_default().to_vec())
            }
            (None, Some(ShareError::File(kind))) => match kind {
                ReadErrorKind::LongLine { .. } => (LONG_LINE, self.n_lines, Vec::new()),
                ReadErrorKind::Gzip(error) => (GZIP, self.n_lines, error.to_string().into_bytes()),
                kind => (SYSTEM, self.n_lines, kind.to_string().into_bytes()),
            },
            (None, None) => unreachable!("a share without an error is not described"),
        };
        [vec![tag], line.to_le_bytes().to_vec(), text].concat()
    }
}

/// The error that a rank has described, of a block that begins at `line`.
fn located<T: Field>(header: &Header, described: &[u8], line: u64, rank: usize) -> Located {
    let (head, text) = described.split_at(9);
    let lines: [u8; 8] = head[1..].try_into().expect("eight bytes are eight bytes");
    let line = line + u64::from_le_bytes(lines);
    let message = String::from_utf8_lossy(text).into_owned();
    match head[0] {
        LINE => {
            let cuts = (Cuts::DEFAULT, &Cuts::DEFAULT.threads());
            let error = body::parse_lines(header, text, cuts, &mut Entries::<T>::new());
            let (_, kind) = error.expect("what one rank cannot read no other can");
            kind.at(line)
        }
        TOO_MANY => ReadErrorKind::TooMany {
            expected: header.n_stored,
        }
        .at(line),
        LONG_LINE => ReadErrorKind::LongLine {
            limit: super::source::LINE_LIMIT,
        }
        .at(line),
        GZIP => ReadErrorKind::Gzip(Arc::new(io::Error::other(message))).at(line),
        _ => Located {
            line: None,
            kind: ReadErrorKind::Rank { rank, message },
        },
    }
}
