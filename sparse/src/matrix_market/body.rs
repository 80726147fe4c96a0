//! The entries: blocks of lines, parsed on the threads of the rank, joined in the order of the
//! file.
//!
//! Every index that comes out lies inside the matrix, and there are as many entries as the header
//! announced. The first error of the file is the one reported, however it was cut.

use super::entries::Entries;
use super::error::{Located, ReadErrorKind};
use super::expand::mirror;
use super::gathered::Gathered;
use super::header::Header;
use super::kinds::{FieldKind, Format, Symmetry};
use super::number::Cursor;
use super::plain;
use super::source::{Block, Blocks, Cuts, chunks, count_lines};
use crate::local::parallel::{self, Threads};
use sparsefuse_kernels::{DType, Element, Field, Numeric};
use sparsefuse_runtime::Error;

/// Reads all entries to where they are gathered: those in `block`, which followed the header, and
/// those in all blocks behind.
///
/// While the threads parse a block, one of them first joins the entries of the block before, and
/// reads the next one.
pub(super) fn read<T: Field>(
    header: &Header,
    mut block: Block,
    blocks: &mut Blocks<'_>,
    mut entries: Gathered<T>,
) -> Result<Gathered<T>, Located> {
    let cuts = blocks.cuts();
    let threads = &cuts.threads();
    let mut before: Option<(Block, Vec<Chunk<T>>)> = None;
    loop {
        let (parsed, (joined, next)) = parallel::join(
            threads,
            || parse_chunks(header, block.rest(), (cuts, threads)),
            || {
                let joined = match before.take() {
                    Some((block, parsed)) => add_block(header, &block, parsed, &mut entries),
                    None => Ok(()),
                };
                (joined, blocks.next())
            },
        );
        joined?;
        match next {
            Ok(Some(next)) => before = Some((std::mem::replace(&mut block, next), parsed)),
            end => {
                add_block(header, &block, parsed, &mut entries)?;
                end?;
                break;
            }
        }
    }
    if entries.n_stored() < header.n_stored {
        let kind = ReadErrorKind::TooFew {
            expected: header.n_stored,
            found: entries.n_stored(),
        };
        return Err(kind.at(blocks.last_line()));
    }
    Ok(entries)
}

/// Appends the entries of a block.
fn add_block<T: Field>(
    header: &Header,
    block: &Block,
    parsed: Vec<Chunk<T>>,
    entries: &mut Gathered<T>,
) -> Result<(), Located> {
    let text = block.rest();
    let (first, n_wanted) = (entries.n_stored(), header.n_stored - entries.n_stored());
    let error = add_chunks(parsed, |chunk| entries.append(chunk));
    let behind = entries.vals().get(first..).unwrap_or_default();
    if let Some((number, kind)) = bad_diagonal(header, behind, first) {
        return Err(kind.at(block.line_at(offset_of_entry(text, number - first))));
    }
    if entries.n_stored() > header.n_stored {
        let offset = offset_of_entry(text, n_wanted);
        let expected = header.n_stored;
        return Err(ReadErrorKind::TooMany { expected }.at(block.line_at(offset)));
    }
    match error {
        None => Ok(()),
        Some((offset, kind)) => Err(kind.at(block.line_at(offset))),
    }
}

/// Appends the entries of some lines up to the first error, which is returned with the offset of
/// its line.
pub(super) fn parse_lines<T: Field>(
    header: &Header,
    text: &[u8],
    cuts: (Cuts, &Threads),
    entries: &mut Entries<T>,
) -> Option<(usize, ReadErrorKind)> {
    let parsed = parse_chunks(header, text, cuts);
    add_chunks(parsed, |chunk| entries.append(chunk))
}

fn parse_chunks<T: Field>(
    header: &Header,
    text: &[u8],
    (cuts, threads): (Cuts, &Threads),
) -> Vec<Chunk<T>> {
    parallel::map(threads, chunks(text, cuts.chunk_len), |range| Chunk {
        start: range.start,
        ..parse_chunk(header, &text[range])
    })
}

fn add_chunks<T: Field>(
    parsed: Vec<Chunk<T>>,
    mut append: impl FnMut(Entries<T>) -> Result<(), Error>,
) -> Option<(usize, ReadErrorKind)> {
    for chunk in parsed {
        if let Err(refused) = append(chunk.entries) {
            return Some((chunk.start, ReadErrorKind::Assembly(refused)));
        }
        if let Some((offset, kind)) = chunk.error {
            return Some((chunk.start + offset, kind));
        }
    }
    None
}

/// What some neighbouring lines hold: entries, up to the first error and its offset.
#[derive(Debug)]
struct Chunk<T> {
    /// The offset of the first line.
    start: usize,
    entries: Entries<T>,
    error: Option<(usize, ReadErrorKind)>,
}

fn parse_chunk<T: Field>(header: &Header, text: &[u8]) -> Chunk<T> {
    let is_coordinate = header.format == Format::Coordinate;
    let is_mirrored = is_coordinate && header.symmetry != Symmetry::General;
    let mut entries =
        match Entries::for_lines(count_lines(text) as usize + 1, is_coordinate, is_mirrored) {
            Ok(entries) => entries,
            Err(refused) => {
                let error = Some((0, ReadErrorKind::Assembly(refused)));
                return Chunk {
                    start: 0,
                    entries: Entries::new(),
                    error,
                };
            }
        };
    let mut cursor = Cursor::new(text);
    loop {
        if is_coordinate {
            cursor.go_to(plain::read(header, text, cursor.offset(), &mut entries));
        }
        if !cursor.seek_content() {
            break;
        }
        let offset = cursor.offset();
        let parsed = match header.format {
            Format::Coordinate => parse_entry(header, &mut cursor, &mut entries),
            Format::Array => parse_val(header, &mut cursor).map(|val| entries.vals.push(val)),
        };
        if let Err(kind) = parsed.and_then(|()| cursor.end_line()) {
            let error = Some((offset, kind));
            return Chunk {
                start: 0,
                entries,
                error,
            };
        }
        entries.n_stored += 1;
    }
    Chunk {
        start: 0,
        entries,
        error: None,
    }
}

/// Parses row, column and value, and adds the entry and its mirror image.
#[inline]
fn parse_entry<T: Field>(
    header: &Header,
    cursor: &mut Cursor<'_>,
    entries: &mut Entries<T>,
) -> Result<(), ReadErrorKind> {
    let row = cursor.whole("a row index")?;
    let col = cursor.whole("a column index")?;
    check_index("row", row, header.n_rows)?;
    check_index("column", col, header.n_cols)?;
    let val = parse_val::<T>(header, cursor)?;
    if header.symmetry != Symmetry::General {
        check_triangle(header.symmetry, row, col, val)?;
    }
    // Lossless: both are at most a dimension, and dimensions fit in 32 bits.
    let (row, col) = ((row - 1) as u32, (col - 1) as u32);
    entries.push(row, col, val);
    if header.symmetry != Symmetry::General && row != col {
        entries.push(col, row, mirror(header.symmetry, val));
    }
    Ok(())
}

#[inline]
fn parse_val<T: Field>(header: &Header, cursor: &mut Cursor<'_>) -> Result<T, ReadErrorKind> {
    let dtype = <T::Real as Element>::DTYPE;
    debug_assert!(matches!(dtype, DType::F32 | DType::F64));
    Ok(match header.field {
        FieldKind::Pattern => <T as Numeric>::ONE,
        FieldKind::Real => T::from_parts(cursor.real(dtype)?, 0.0),
        FieldKind::Integer => T::from_parts(cursor.integer(dtype)?, 0.0),
        FieldKind::Complex => T::from_parts(cursor.real(dtype)?, cursor.real(dtype)?),
    })
}

#[inline]
fn check_index(axis: &'static str, index: u64, n: usize) -> Result<(), ReadErrorKind> {
    if index == 0 || index > n as u64 {
        return Err(ReadErrorKind::Index {
            axis,
            found: index,
            limit: n,
        });
    }
    Ok(())
}

#[inline]
fn check_triangle<T: Field>(
    symmetry: Symmetry,
    row: u64,
    col: u64,
    val: T,
) -> Result<(), ReadErrorKind> {
    if row < col {
        return Err(ReadErrorKind::UpperTriangle { symmetry, row, col });
    }
    if symmetry == Symmetry::SkewSymmetric && row == col && val != T::ZERO {
        return Err(ReadErrorKind::SkewDiagonal { row });
    }
    if symmetry == Symmetry::Hermitian && row == col {
        check_is_real(row, val)?;
    }
    Ok(())
}

/// A diagonal entry equals its conjugate.
fn check_is_real<T: Field>(row: u64, val: T) -> Result<(), ReadErrorKind> {
    match val.parts() {
        (_, 0.0) => Ok(()),
        (_, imaginary) => Err(ReadErrorKind::HermitianDiagonal { row, imaginary }),
    }
}

/// The first diagonal element of a Hermitian array file that is not real, by its number in the
/// file. `vals` are the elements from number `first` on.
pub(super) fn bad_diagonal<T: Field>(
    header: &Header,
    vals: &[T],
    first: usize,
) -> Option<(usize, ReadErrorKind)> {
    if (header.format, header.symmetry) != (Format::Array, Symmetry::Hermitian) {
        return None;
    }
    let mut number = 0_usize;
    for column in 0..header.n_cols {
        if number >= first.saturating_add(vals.len()) {
            return None;
        }
        if let Some(&val) = number.checked_sub(first).and_then(|k| vals.get(k))
            && let Err(kind) = check_is_real(column as u64 + 1, val)
        {
            return Some((number, kind));
        }
        // A column is stored from its diagonal down.
        number += header.n_rows - column;
    }
    None
}

/// The offset of the line with entry `k`, from 0, of which there are more.
#[cold]
pub(super) fn offset_of_entry(text: &[u8], k: usize) -> usize {
    let mut cursor = Cursor::new(text);
    for _ in 0..k {
        cursor.seek_content();
        cursor.skip_line();
    }
    cursor.seek_content();
    cursor.offset()
}
