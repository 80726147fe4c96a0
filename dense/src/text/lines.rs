//! The lines of a text file in blocks, each of which the threads of a rank share, and those of them
//! that have numbers.
//!
//! What is usual is read without looking at a line twice ([`Quick`]); a line that has anything
//! else, a comment or an error say, is read by its words.

use super::TextInput;
use super::words;
use crate::npy::{check_regular, refused};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, ErrorKind, reserve};
use std::fs::File;
use std::io::{BufRead, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// Bytes that are read at a time, and more up to the end of a line.
const BLOCK: usize = 4 << 20;

/// Bytes that a thread takes at a time.
const CHUNK: usize = 128 << 10;

/// Letters of a word that an error shows.
const SHOWN: usize = 40;

/// The blocks of a file, each of which ends with a line.
pub(super) struct Blocks<'a> {
    path: &'a Path,
    file: File,
    /// What has been read behind the last block.
    tail: Vec<u8>,
    /// Where the next block begins: the byte, and the lines before it.
    place: (u64, usize),
    /// Lines at the beginning that are left out.
    skip: usize,
}

/// Some lines.
pub(super) struct Block {
    bytes: Vec<u8>,
    /// Its first byte in the file, and the lines before it.
    place: (u64, usize),
    /// Where the first line begins that is not left out.
    start: usize,
}

/// What a block is found again by.
#[derive(Clone, Copy)]
pub(super) struct Found {
    place: (u64, usize),
    start: usize,
    len: usize,
}

/// What is wrong in a line that begins at this byte of a block.
pub(super) type Wrong = (usize, String);

impl<'a> Blocks<'a> {
    pub(super) fn open(path: &'a Path, format: &TextInput<'_>) -> Result<Self, Error> {
        check_regular(path)?;
        let opened = File::open(path);
        let file = opened.map_err(|error| refused(path, "a file that can be read", error))?;
        Ok(Self {
            path,
            file,
            tail: Vec::new(),
            place: (0, 0),
            skip: format.skip_lines,
        })
    }

    /// The bytes of the file.
    pub(super) fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |found| found.len())
    }

    /// The next block, or none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Block>, Error> {
        let mut bytes = std::mem::take(&mut self.tail);
        loop {
            let searched = bytes.len();
            if self.fill(&mut bytes, BLOCK)? < BLOCK {
                break; // The end of the file ends its last line.
            }
            let newline = bytes[searched..].iter().rposition(|&byte| byte == b'\n');
            if let Some(newline) = newline {
                self.tail = bytes.split_off(searched + newline + 1);
                break;
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut block = Block {
            place: self.place,
            start: 0,
            bytes,
        };
        while self.skip > 0 && block.start < block.bytes.len() {
            block.start += take_line(&mut &block.bytes[block.start..]).len();
            self.skip -= 1;
        }
        self.place.0 += block.bytes.len() as u64;
        self.place.1 += count_lines(&block.bytes);
        Ok(Some(block))
    }

    /// A block that has been read before, or what is there now.
    pub(super) fn again(&mut self, Found { place, start, len }: Found) -> Result<Block, Error> {
        let mut bytes = Vec::new();
        let sought = self.file.seek(SeekFrom::Start(place.0));
        sought.map_err(|error| refused(self.path, "a file that can be read", error))?;
        self.fill(&mut bytes, len)?;
        Ok(Block {
            start: start.min(bytes.len()),
            place,
            bytes,
        })
    }

    /// Reads `len` bytes, or fewer at the end of the file.
    fn fill(&mut self, bytes: &mut Vec<u8>, len: usize) -> Result<usize, Error> {
        if bytes.capacity() - bytes.len() < len {
            // At least twice as much: a line as long as many blocks is not copied with each of
            // them.
            let mut more = reserve((bytes.len() + len).max(2 * bytes.len()))?;
            more.append(bytes);
            *bytes = more;
        }
        let read = (&mut self.file).take(len as u64).read_to_end(bytes);
        read.map_err(|error| refused(self.path, "a file that can be read", error))
    }

    /// The error of what is wrong in a block.
    pub(super) fn failed(&self, block: &Block, (at, message): Wrong) -> Error {
        let line = block.place.1 + count_lines(&block.bytes[..at]) + 1;
        ErrorKind::Format {
            place: format!("{}:{line}", self.path.display()),
            message,
        }
        .into()
    }
}

impl Block {
    /// What a block is found again by: see [`Blocks::again`].
    pub(super) fn found(&self) -> Found {
        Found {
            place: self.place,
            start: self.start,
            len: self.bytes.len(),
        }
    }

    /// Parts that end with lines: how they are cut depends on the bytes alone.
    pub(super) fn chunks(&self) -> Vec<Range<usize>> {
        let mut chunks = Vec::new();
        let mut start = self.start;
        while start < self.bytes.len() {
            let least = self.bytes.len().min(start + CHUNK);
            let end = least - 1 + take_line(&mut &self.bytes[least - 1..]).len();
            chunks.push(start..end);
            start = end;
        }
        chunks
    }

    /// How many lines of a chunk have numbers, and where the first of them begins.
    pub(super) fn count_rows(
        &self,
        chunk: Range<usize>,
        format: &TextInput<'_>,
    ) -> Result<(usize, Option<usize>), Wrong> {
        let is_usual = self.bytes[chunk.clone()].is_ascii();
        let is_usual = is_usual && !self.bytes[chunk.clone()].contains(&b'\r');
        let mark = format.comments.map(str::as_bytes);
        let begins_word = |byte: u8| !byte.is_ascii_whitespace() && byte != 0x0b;
        let (mut n_rows, mut first) = (0, None);
        let (mut at, mut rest) = (chunk.start, &self.bytes[chunk]);
        while !rest.is_empty() {
            let line = take_line(&mut rest);
            let is_row = match (is_usual, line.first(), mark) {
                // Most lines, which begin with a number.
                (true, Some(&byte), Some(mark)) if begins_word(byte) && mark.len() == 1 => {
                    byte != mark[0]
                }
                (true, Some(&byte), None) if begins_word(byte) => true,
                _ => !text_of(line, format)
                    .map_err(|message| (at, message.to_owned()))?
                    .is_empty(),
            };
            if is_row {
                first.get_or_insert(at);
                n_rows += 1;
            }
            at += line.len();
        }
        Ok((n_rows, first))
    }

    /// The words of the line that begins at a byte.
    pub(super) fn count_words(&self, at: usize, format: &TextInput<'_>) -> Result<usize, Wrong> {
        let line = take_line(&mut &self.bytes[at..]);
        let text = text_of(line, format).map_err(|message| (at, message.to_owned()))?;
        Ok(words_of(text, format).count())
    }

    /// Makes elements of the rows in a chunk, the first of which begins at element `begin` of all,
    /// `n_columns` of each, and keeps those that are in `own`, for which there is `made`. How many
    /// rows there are.
    pub(super) fn read_rows<T: Element>(
        &self,
        chunk: Range<usize>,
        (format, n_columns): (&TextInput<'_>, usize),
        (mut begin, own): (usize, Range<usize>),
        mut made: &mut [T],
    ) -> Result<usize, Wrong> {
        let quick = Quick::of(format);
        let mut n_rows = 0;
        let (mut at, mut rest) = (chunk.start, &self.bytes[chunk]);
        while !rest.is_empty() {
            let line = take_line(&mut rest);
            let (from, to) = (own.start.max(begin), own.end.min(begin + n_columns));
            let wanted = to.saturating_sub(from).min(made.len());
            let is_whole = wanted == n_columns;
            let is_read = is_whole
                && quick
                    .as_ref()
                    .is_some_and(|quick| quick.read(line, &mut made[..wanted]));
            let is_row = is_read || {
                let text = text_of(line, format).map_err(|message| (at, message.to_owned()))?;
                if !text.is_empty() && wanted > 0 {
                    read_words(text, format, n_columns, from - begin, &mut made[..wanted])
                        .map_err(|message| (at, message))?;
                }
                !text.is_empty()
            };
            if is_row {
                made = &mut made[wanted..];
                begin += n_columns;
                n_rows += 1;
            }
            at += line.len();
        }
        Ok(n_rows)
    }
}

/// The first line of some bytes, which is taken from them.
fn take_line<'b>(rest: &mut &'b [u8]) -> &'b [u8] {
    let all = *rest;
    // It searches many bytes at a time, and reading of memory never fails.
    let len = rest.skip_until(b'\n').unwrap_or(0);
    &all[..len]
}

fn count_lines(bytes: &[u8]) -> usize {
    let of_part = |part: &[u8]| -> u8 { part.iter().map(|&byte| u8::from(byte == b'\n')).sum() };
    bytes
        .chunks(192)
        .map(|part| usize::from(of_part(part)))
        .sum()
}

/// What stands in a line in front of a comment, without blanks around it.
fn text_of<'t>(line: &'t [u8], format: &TextInput<'_>) -> Result<&'t str, &'static str> {
    let text = str::from_utf8(line).map_err(|_| "expected UTF-8, found other bytes")?;
    if text.trim_end_matches(['\n', '\r']).contains('\r') {
        return Err("expected lines that end with a line feed, found a carriage return within");
    }
    let comment = format.comments.and_then(|mark| text.find(mark));
    let text = &text[..comment.unwrap_or(text.len())];
    // A blank may be what separates numbers.
    Ok(match format.delimiter {
        Some(delimiter) if delimiter.trim().is_empty() => text.trim_end_matches(['\n', '\r']),
        _ => text.trim(),
    })
}

fn words_of<'t>(text: &'t str, format: &TextInput<'t>) -> impl Iterator<Item = &'t str> {
    let parts = format
        .delimiter
        .map(|delimiter| text.split(delimiter).map(str::trim));
    let words = format.delimiter.is_none().then(|| text.split_whitespace());
    parts
        .into_iter()
        .flatten()
        .chain(words.into_iter().flatten())
}

/// Makes elements of the words of a row, of which there are `n_columns`, from that with the number
/// `first` on.
fn read_words<T: Element>(
    text: &str,
    format: &TextInput<'_>,
    n_columns: usize,
    first: usize,
    elements: &mut [T],
) -> Result<(), String> {
    let Some(columns) = format.columns else {
        let found = words_of(text, format).count();
        if found != n_columns {
            return Err(format!("expected {n_columns} columns, found {found}"));
        }
        let words = words_of(text, format).enumerate().skip(first);
        for (x, (column, word)) in elements.iter_mut().zip(words) {
            *x = element(column, word)?;
        }
        return Ok(());
    };
    let words: Vec<&str> = words_of(text, format).collect();
    for (x, &column) in elements.iter_mut().zip(&columns[first..]) {
        let word = words.get(column);
        let word = word
            .ok_or_else(|| format!("expected a column {column}, found {} columns", words.len()))?;
        *x = element(column, word)?;
    }
    Ok(())
}

fn element<T: Element>(column: usize, word: &str) -> Result<T, String> {
    words::read(word).ok_or_else(|| {
        let shown: String = word.chars().take(SHOWN).collect();
        let dots = if shown.len() < word.len() { "..." } else { "" };
        let dtype = T::DTYPE;
        format!("expected a number of type {dtype} in column {column}, found \"{shown}{dots}\"")
    })
}

/// How lines are read that have numbers, what separates them, blanks, and nothing else.
struct Quick {
    /// None for blanks.
    delimiter: Option<u8>,
}

impl Quick {
    /// None where a comment or what separates numbers may look like a part of one.
    fn of(format: &TextInput<'_>) -> Option<Self> {
        let is_apart = |byte: u8| !byte.is_ascii_alphanumeric() && !b"+-.\r\n".contains(&byte);
        let delimiter = match format.delimiter.map(str::as_bytes) {
            None => None,
            Some(&[byte]) if is_apart(byte) && byte.is_ascii() => Some(byte),
            Some(_) => return None,
        };
        if let Some(mark) = format.comments {
            let &first = mark.as_bytes().first()?;
            if !is_apart(first) || is_blank(first) || Some(first) == delimiter {
                return None;
            }
        }
        (format.columns.is_none()).then_some(Self { delimiter })
    }

    /// Makes elements of a line that has as many, if it has nothing else; which are made is not
    /// said where it has.
    fn read<T: Element>(&self, line: &[u8], elements: &mut [T]) -> bool {
        let mut end = line.len();
        while end > 0 && matches!(line[end - 1], b'\n' | b'\r') {
            end -= 1;
        }
        let line = &line[..end];
        let is_last = elements.len().wrapping_sub(1);
        let mut at = 0;
        for (column, x) in elements.iter_mut().enumerate() {
            at = self.behind_blanks(line, at);
            let Some((word, end)) = words::scan::<T>(line, at) else {
                return false;
            };
            (*x, at) = (word, end);
            if column == is_last {
                break;
            }
            match self.delimiter {
                None if line.get(at).copied().is_some_and(is_blank) => {}
                None => return false,
                Some(delimiter) => {
                    at = self.behind_blanks(line, at);
                    if line.get(at) != Some(&delimiter) {
                        return false;
                    }
                    at += 1;
                }
            }
        }
        !elements.is_empty() && self.behind_blanks(line, at) == line.len()
    }

    fn behind_blanks(&self, line: &[u8], mut at: usize) -> usize {
        while line
            .get(at)
            .is_some_and(|&byte| is_blank(byte) && Some(byte) != self.delimiter)
        {
            at += 1;
        }
        at
    }
}

/// Blanks within a line.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}
