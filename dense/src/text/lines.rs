//! The lines of a text file that have numbers, one after the other.

use super::TextInput;
use super::words;
use crate::npy::{check_regular, refused};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, ErrorKind};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Letters of a word that an error shows.
const SHOWN: usize = 40;

pub(super) struct Lines<'a> {
    path: &'a Path,
    format: &'a TextInput<'a>,
    file: BufReader<File>,
    /// The line that was read last, and its number from 1.
    line: Vec<u8>,
    number: usize,
}

/// A line with numbers.
pub(super) struct Row<'a> {
    path: &'a Path,
    number: usize,
    text: &'a str,
    delimiter: Option<&'a str>,
}

impl<'a> Lines<'a> {
    pub(super) fn open(path: &'a Path, format: &'a TextInput<'a>) -> Result<Self, Error> {
        check_regular(path)?;
        let opened = File::open(path);
        let file = opened.map_err(|error| refused(path, "a file that can be read", error))?;
        Ok(Self {
            path,
            format,
            file: BufReader::new(file),
            line: Vec::new(),
            number: 0,
        })
    }

    /// The next line that has numbers.
    pub(super) fn next_row(&mut self) -> Result<Option<Row<'_>>, Error> {
        loop {
            self.line.clear();
            let read = self.file.read_until(b'\n', &mut self.line);
            let n = read.map_err(|error| refused(self.path, "a file that can be read", error))?;
            if n == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.number > self.format.skip_lines && self.has_numbers()? {
                break;
            }
        }
        Ok(Some(Row {
            path: self.path,
            number: self.number,
            text: self.text()?,
            delimiter: self.format.delimiter,
        }))
    }

    fn has_numbers(&self) -> Result<bool, Error> {
        Ok(!self.text()?.is_empty())
    }

    /// What stands in front of a comment, without blanks around it.
    fn text(&self) -> Result<&str, Error> {
        let invalid = |_| failed(self.path, self.number, "expected UTF-8, found other bytes");
        let text = str::from_utf8(&self.line).map_err(invalid)?;
        if text.trim_end_matches(['\n', '\r']).contains('\r') {
            let what = "expected lines that end with a line feed, found a carriage return within";
            return Err(failed(self.path, self.number, what));
        }
        let comment = self.format.comments.and_then(|mark| text.find(mark));
        let text = &text[..comment.unwrap_or(text.len())];
        // A blank may be what separates numbers.
        Ok(match self.format.delimiter {
            Some(delimiter) if delimiter.trim().is_empty() => text.trim_end_matches(['\n', '\r']),
            _ => text.trim(),
        })
    }
}

impl Row<'_> {
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let parts = self
            .delimiter
            .map(|delimiter| self.text.split(delimiter).map(str::trim));
        let words = self
            .delimiter
            .is_none()
            .then(|| self.text.split_whitespace());
        parts
            .into_iter()
            .flatten()
            .chain(words.into_iter().flatten())
    }

    /// Makes elements of the row, of which there are `n_columns`, from that with the number `first`
    /// on.
    pub(super) fn read<T: Element>(
        &self,
        columns: Option<&[usize]>,
        n_columns: usize,
        first: usize,
        elements: &mut [T],
    ) -> Result<(), Error> {
        let Some(columns) = columns else {
            let found = self.words().count();
            if found != n_columns {
                let message = format!("expected {n_columns} columns, found {found}");
                return Err(self.failed(&message));
            }
            let words = self.words().enumerate().skip(first);
            for (x, (column, word)) in elements.iter_mut().zip(words) {
                *x = self.element(column, word)?;
            }
            return Ok(());
        };
        let words: Vec<&str> = self.words().collect();
        for (x, &column) in elements.iter_mut().zip(&columns[first..]) {
            let word = words.get(column).ok_or_else(|| {
                let message = format!("expected a column {column}, found {} columns", words.len());
                self.failed(&message)
            })?;
            *x = self.element(column, word)?;
        }
        Ok(())
    }

    fn element<T: Element>(&self, column: usize, word: &str) -> Result<T, Error> {
        words::read(word).ok_or_else(|| {
            let shown: String = word.chars().take(SHOWN).collect();
            let dots = if shown.len() < word.len() { "..." } else { "" };
            let dtype = T::DTYPE;
            let expected = format!("a number of type {dtype} in column {column}");
            self.failed(&format!("expected {expected}, found \"{shown}{dots}\""))
        })
    }

    fn failed(&self, message: &str) -> Error {
        failed(self.path, self.number, message)
    }
}

fn failed(path: &Path, line: usize, message: &str) -> Error {
    ErrorKind::Format {
        place: format!("{}:{line}", path.display()),
        message: message.to_owned(),
    }
    .into()
}
