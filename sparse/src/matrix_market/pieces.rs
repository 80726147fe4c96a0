//! The text of all ranks' rows in one file, piece by piece: rank 0 writes, the others send it their
//! pieces in turn.
//!
//! The threads of a rank make the lines of a piece, and of the next one while a piece is written.
//! A compressed file is one gzip file behind the other, of equally many bytes of text, which the
//! threads of rank 0 make apart. So neither threads nor ranks change a byte of the file.

use super::error::WriteErrorKind;
use super::write::{Text, compressed, is_gzip, replace_text};
use crate::local::parallel::{self, Threads};
use sparsefuse_runtime::{Error, ErrorKind, Messages, Runtime, reserve};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

/// Lines in one piece of text: some megabytes.
const PIECE_LINES: usize = 1 << 17;

/// Lines that a thread makes.
const PART_LINES: usize = 1 << 14;

/// Bytes of text that are compressed apart: enough that they compress as well as the whole.
const PACKED: usize = 1 << 19;

/// The text of a rank's rows, piece by piece.
pub(super) struct Pieces<P> {
    /// The lines of this rank.
    n_lines: usize,
    threads: Threads,
    /// Appends the lines of a range.
    put: P,
}

impl<P: Fn(Range<usize>, &mut Text) -> Result<(), WriteErrorKind> + Sync> Pieces<P> {
    /// `n_lines` lines; where every rank holds all of them, those of rank 0 count.
    pub(super) fn new(runtime: &Runtime, is_whole: bool, n_lines: usize, put: P) -> Self {
        let is_idle = is_whole && runtime.rank() > 0;
        Self {
            n_lines: if is_idle { 0 } else { n_lines },
            threads: Threads::of(runtime),
            put,
        }
    }

    /// Writes the head, then the lines of all ranks in their order.
    pub(super) fn write(
        self,
        runtime: &Runtime,
        path: &Path,
        head: Text,
    ) -> Result<(), WriteErrorKind> {
        let n_lines = runtime
            .all_gather(&[self.n_lines as u64])
            .map_err(WriteErrorKind::Values)?;
        let turns: Vec<Turn> = n_lines
            .iter()
            .enumerate()
            .flat_map(|(rank, lines)| {
                let lines = parallel::chunks(lines[0] as usize, PIECE_LINES);
                lines.into_iter().map(move |lines| Turn { rank, lines })
            })
            .collect();
        if runtime.rank() == 0 {
            return self.write_file(runtime, path, head, &turns);
        }
        for turn in &turns {
            go_on(runtime, Ok(()))?;
            if turn.rank == runtime.rank() {
                let piece = self.piece(turn.lines.clone())?;
                let sent = runtime.send_bytes(0, joined(piece));
                sent.map_err(WriteErrorKind::Values)?;
            }
        }
        go_on(runtime, Ok(()))
    }

    /// What rank 0 does.
    fn write_file(
        &self,
        runtime: &Runtime,
        path: &Path,
        head: Text,
        turns: &[Turn],
    ) -> Result<(), WriteErrorKind> {
        let mut is_agreed = false;
        let written = replace_text(path, |file| {
            let mut output = Output {
                file,
                threads: &self.threads,
                waiting: is_gzip(path).then(Vec::new),
            };
            output.write(vec![head])?;
            let mut ready = None;
            for (number, turn) in turns.iter().enumerate() {
                go_on(runtime, Ok(())).inspect_err(|_| is_agreed = true)?;
                let piece = match (turn.rank, ready.take()) {
                    (0, Some(piece)) => piece,
                    (0, None) => self.piece(turn.lines.clone())?,
                    _ => {
                        let text = runtime.receive_bytes(turn.rank);
                        vec![Text(text.map_err(WriteErrorKind::Values)?)]
                    }
                };
                let next = turns.get(number + 1).filter(|next| next.rank == 0);
                let (written, made) = parallel::join(
                    &self.threads,
                    || output.write(piece),
                    || match next {
                        // One thread makes it when its turn has come, and holds one piece.
                        Some(next) if self.threads.count() > 1 => {
                            self.piece(next.lines.clone()).map(Some)
                        }
                        _ => Ok(None),
                    },
                );
                written?;
                ready = made?;
            }
            output.finish()
        });
        let written = written.map_err(|error| error.kind().clone());
        if is_agreed {
            return written;
        }
        // The others wait to be told before the next piece, or behind the last one.
        let told = written.clone().map_err(|kind| kind.to_string());
        let agreed = go_on(runtime, told);
        // The first error says what the system said; that of the ranks is its text alone.
        written.and(agreed)
    }

    /// The text of some lines, in parts.
    fn piece(&self, lines: Range<usize>) -> Result<Vec<Text>, WriteErrorKind> {
        let parts = parallel::chunks(lines.len(), PART_LINES);
        let made = parallel::map(&self.threads, parts, |part| {
            let mut text = Text::default();
            (self.put)(lines.start + part.start..lines.start + part.end, &mut text)?;
            Ok(text)
        });
        made.into_iter().collect()
    }
}

/// A file that gets text.
struct Output<'a> {
    file: &'a mut (dyn Write + Send),
    threads: &'a Threads,
    /// Of a compressed file the text behind what has been compressed.
    waiting: Option<Vec<u8>>,
}

impl Output<'_> {
    fn write(&mut self, piece: Vec<Text>) -> Result<(), WriteErrorKind> {
        let Some(waiting) = &mut self.waiting else {
            for text in piece {
                self.file.write_all(&text.0)?;
            }
            return Ok(());
        };
        for text in piece {
            waiting.extend_from_slice(&text.0);
        }
        let is_ready = waiting.len() - waiting.len() % PACKED;
        let behind = waiting.split_off(is_ready);
        let ready = std::mem::replace(waiting, behind);
        self.pack(&ready)
    }

    fn finish(mut self) -> Result<(), WriteErrorKind> {
        let rest = self.waiting.take().unwrap_or_default();
        self.pack(&rest)
    }

    fn pack(&mut self, text: &[u8]) -> Result<(), WriteErrorKind> {
        let packed = parallel::map(self.threads, text.chunks(PACKED), compressed);
        for packed in packed {
            self.file.write_all(&packed?)?;
        }
        Ok(())
    }
}

/// Lines that a rank has next.
struct Turn {
    rank: usize,
    lines: Range<usize>,
}

fn joined(piece: Vec<Text>) -> Result<Vec<u8>, Error> {
    let len = piece.iter().map(|text| text.0.len()).sum();
    let mut all = reserve(len)?;
    for text in piece {
        all.extend_from_slice(&text.0);
    }
    Ok(all)
}

/// Tells all ranks whether rank 0 can still write; so no rank sends a piece before the
/// previous one is written.
fn go_on(runtime: &Runtime, written: Result<(), String>) -> Result<(), WriteErrorKind> {
    let rank = runtime.rank();
    let fact = None;
    let told = written.map_err(|message| {
        ErrorKind::Rank {
            rank,
            message,
            fact,
        }
        .into()
    });
    runtime.agree(told).map_err(|cause| match cause.kind() {
        ErrorKind::Rank {
            rank: 0, message, ..
        } => {
            let message = message.strip_prefix("cannot write: ").unwrap_or(message);
            io::Error::other(message.to_owned()).into()
        }
        _ => WriteErrorKind::Values(cause),
    })
}
