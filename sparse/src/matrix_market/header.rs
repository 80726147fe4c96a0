//! The header: the banner in the first line, and the line of sizes below the comments.
//!
//! What comes out is consistent: the combination of words is one that the format knows, symmetric
//! kinds are square, dimensions fit 32-bit indices, and the number of stored values fits a `usize`.

use super::error::{Located, ReadErrorKind};
use super::kinds::{FieldKind, Format, Symmetry};
use super::number::Cursor;
use super::source::{Block, Blocks};
use sparsefuse_kernels::Field;

/// What a file says of itself before its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How the matrix is stored.
    pub format: Format,
    /// What its values are.
    pub field: FieldKind,
    /// Which half of it is stored.
    pub symmetry: Symmetry,
    /// The number of rows.
    pub n_rows: usize,
    /// The number of columns.
    pub n_cols: usize,
    /// The number of entries in the file, before mirrored ones are added.
    pub n_stored: usize,
}

/// Reads the header; the block that comes with it holds what follows.
pub(super) fn read(blocks: &mut Blocks<'_>) -> Result<(Header, Block), Located> {
    let Some(mut block) = blocks.next()? else {
        let kind = ReadErrorKind::Unexpected {
            expected: BANNER,
            found: "an empty file".into(),
        };
        return Err(kind.at(1));
    };
    if block.rest().starts_with(b"PK\x03\x04") {
        let kind = ReadErrorKind::Unexpected {
            expected: BANNER,
            found: "an archive; `load_npz` reads those of SciPy".into(),
        };
        return Err(kind.at(1));
    }
    let mut cursor = Cursor::new(block.rest());
    let banner = parse_banner(&mut cursor).map_err(|kind| kind.at(1))?;
    let used = cursor.offset();
    block.advance(used);
    loop {
        let mut cursor = Cursor::new(block.rest());
        if cursor.seek_content() {
            let offset = cursor.offset();
            let header =
                parse_sizes(banner, &mut cursor).map_err(|kind| kind.at(block.line_at(offset)))?;
            let used = cursor.offset();
            block.advance(used);
            return Ok((header, block));
        }
        let Some(next) = blocks.next()? else {
            let kind = ReadErrorKind::Unexpected {
                expected: "a line of sizes",
                found: "the end of the file".into(),
            };
            return Err(kind.at(blocks.last_line()));
        };
        block = next;
    }
}

/// Checks that the values of a file can be elements of type `T`.
pub(super) fn check_element<T: Field>(header: &Header) -> Result<(), Located> {
    if header.field == FieldKind::Complex && !T::IS_COMPLEX {
        let found = header.field;
        return Err(ReadErrorKind::Field { found }.at(1));
    }
    Ok(())
}

const BANNER: &str = "`%%MatrixMarket matrix ...` in the first line";

type Banner = (Format, FieldKind, Symmetry);

/// Parses the first line: `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`, in any case.
fn parse_banner(cursor: &mut Cursor<'_>) -> Result<Banner, ReadErrorKind> {
    word(cursor, BANNER, |word| {
        // Editors of Windows put a mark of the order of bytes in front of UTF-8.
        let word = word.strip_prefix(b"\xef\xbb\xbf").unwrap_or(word);
        // The files of the Network Repository begin with a single percent sign.
        matches!(word, b"%%matrixmarket" | b"%matrixmarket").then_some(())
    })?;
    word(cursor, "the object `matrix`", |word| {
        (word == b"matrix").then_some(())
    })?;
    let format = word(
        cursor,
        "the format `coordinate` or `array`",
        |word| match word {
            b"coordinate" => Some(Format::Coordinate),
            b"array" => Some(Format::Array),
            _ => None,
        },
    )?;
    let field = word(cursor, expected_field(format), |word| match word {
        b"real" | b"double" => Some(FieldKind::Real),
        b"integer" | b"unsigned-integer" => Some(FieldKind::Integer),
        b"complex" => Some(FieldKind::Complex),
        b"pattern" if format == Format::Coordinate => Some(FieldKind::Pattern),
        _ => None,
    })?;
    let symmetry = word(cursor, expected_symmetry(field), |word| match word {
        b"general" => Some(Symmetry::General),
        b"symmetric" => Some(Symmetry::Symmetric),
        b"skew-symmetric" if field != FieldKind::Pattern => Some(Symmetry::SkewSymmetric),
        b"hermitian" if field == FieldKind::Complex => Some(Symmetry::Hermitian),
        _ => None,
    })?;
    cursor.end_line()?;
    Ok((format, field, symmetry))
}

fn expected_field(format: Format) -> &'static str {
    match format {
        Format::Coordinate => "the field `real`, `integer`, `complex` or `pattern`",
        Format::Array => "the field `real`, `integer` or `complex` of an array",
    }
}

fn expected_symmetry(field: FieldKind) -> &'static str {
    match field {
        FieldKind::Real | FieldKind::Integer => {
            "the symmetry `general`, `symmetric` or `skew-symmetric` of a real matrix"
        }
        FieldKind::Complex => {
            "the symmetry `general`, `symmetric`, `skew-symmetric` or `hermitian`"
        }
        FieldKind::Pattern => "the symmetry `general` or `symmetric` of a pattern",
    }
}

/// Reads one word and gives what `meaning` makes of it in lower case.
fn word<M>(
    cursor: &mut Cursor<'_>,
    expected: &'static str,
    meaning: impl Fn(&[u8]) -> Option<M>,
) -> Result<M, ReadErrorKind> {
    let word = cursor.word();
    meaning(&word.to_ascii_lowercase()).ok_or_else(|| ReadErrorKind::Unexpected {
        expected,
        found: super::error::quote(word),
    })
}

/// Parses the line of sizes: rows, columns, and for a coordinate file entries.
fn parse_sizes(banner: Banner, cursor: &mut Cursor<'_>) -> Result<Header, ReadErrorKind> {
    let (format, field, symmetry) = banner;
    let n_rows = cursor.whole("a number of rows")?;
    let n_cols = cursor.whole("a number of columns")?;
    let n_entries = match format {
        Format::Coordinate => Some(cursor.whole("a number of entries")?),
        Format::Array => None,
    };
    cursor.end_line()?;
    if symmetry != Symmetry::General && n_rows != n_cols {
        return Err(ReadErrorKind::NotSquare {
            symmetry,
            n_rows,
            n_cols,
        });
    }
    let max_len = u64::from(u32::MAX);
    at_most(max_len, "rows", n_rows)?;
    at_most(max_len, "columns", n_cols)?;
    // Neither product overflows: both factors are below 2^32.
    let n_stored = match (n_entries, symmetry) {
        (Some(n_entries), _) => n_entries,
        (None, Symmetry::General) => n_rows * n_cols,
        (None, Symmetry::SkewSymmetric) => n_rows * n_rows.saturating_sub(1) / 2,
        (None, Symmetry::Symmetric | Symmetry::Hermitian) => n_rows * (n_rows + 1) / 2,
    };
    at_most(isize::MAX as u64, "entries", n_stored)?;
    Ok(Header {
        format,
        field,
        symmetry,
        // Lossless: all three are at most `isize::MAX`.
        n_rows: n_rows as usize,
        n_cols: n_cols as usize,
        n_stored: n_stored as usize,
    })
}

fn at_most(limit: u64, what: &'static str, found: u64) -> Result<(), ReadErrorKind> {
    if found > limit {
        return Err(ReadErrorKind::TooLarge { what, limit, found });
    }
    Ok(())
}
