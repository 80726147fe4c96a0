//! Files that must be read, files that must be refused and with which words, and any bytes at all.
//!
//! Every text is read with several cuts: in blocks of a few bytes, chunks of one line, at once.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use num_complex::Complex;
use proptest::prelude::*;
use std::fmt::Debug;
use std::io::Write;

const CUTS: [Cuts; 4] = [
    Cuts::DEFAULT,
    Cuts {
        block_len: 1,
        chunk_len: 1,
    },
    Cuts {
        block_len: 13,
        chunk_len: 5,
    },
    Cuts {
        block_len: 1 << 10,
        chunk_len: 1,
    },
];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads bytes with all cuts, plain and compressed, and gives the result they agree on.
fn read_all_ways<T: Field>(bytes: &[u8]) -> Result<(Header, Content<T>), String> {
    let read = |cuts, bytes: &[u8]| {
        parse_in(cuts, bytes).map_err(|error| error.in_file("a.mtx").to_string())
    };
    let first = read(CUTS[0], bytes);
    for cuts in CUTS {
        assert_eq!(read(cuts, bytes), first, "{cuts:?}");
        assert_eq!(read(cuts, &gzip(bytes)), first, "{cuts:?}, compressed");
    }
    first
}

fn check_sparse<T: Field>(text: &str, n_rows: usize, n_cols: usize, entries: &[(u32, u32, T)]) {
    let (header, content) = read_all_ways::<T>(text.as_bytes()).unwrap();
    let Content::Sparse(triplets) = content else {
        panic!("expected triplets from {text:?}");
    };
    assert_eq!((header.n_rows, header.n_cols), (n_rows, n_cols));
    assert_eq!((triplets.n_rows(), triplets.n_cols()), (n_rows, n_cols));
    assert_eq!(triplets.iter().collect::<Vec<_>>(), entries, "{text:?}");
}

fn check_dense<T: Field>(text: &str, expected: (usize, usize, &[T])) {
    let (_, content) = read_all_ways::<T>(text.as_bytes()).unwrap();
    let Content::Dense {
        n_rows,
        n_cols,
        vals,
    } = content
    else {
        panic!("expected a dense matrix from {text:?}");
    };
    assert_eq!((n_rows, n_cols, &vals[..]), expected, "{text:?}");
}

#[test]
fn reads_every_field_and_symmetry() {
    let i = Complex::new(0.0, 1.0);
    check_sparse(
        "%%MatrixMarket matrix coordinate integer general\n2 3 2\n2 3 -7\n1 1 9007199254740993\n",
        2,
        3,
        &[(1, 2, -7.0), (0, 0, 9007199254740992.0)],
    );
    check_sparse::<f32>(
        "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
        2,
        2,
        &[(0, 0, 1.0), (1, 0, 1.0), (0, 1, 1.0)],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 3\n2 2 0\n",
        2,
        2,
        &[(1, 0, 3.0), (0, 1, -3.0), (1, 1, 0.0)],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 0 1\n",
        2,
        2,
        &[(0, 0, Complex::new(2.0, 0.0)), (1, 0, i), (0, 1, -i)],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 0 1\n",
        2,
        2,
        &[(1, 0, i), (0, 1, i)],
    );
    check_sparse::<Complex<f32>>(
        "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 2.5\n1 1 0.5\n",
        1,
        1,
        &[
            (0, 0, Complex::new(2.5, 0.0)),
            (0, 0, Complex::new(0.5, 0.0)),
        ],
    );
}

#[test]
fn reads_arrays() {
    check_dense(
        "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
        (2, 3, &[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
    );
    check_dense(
        "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
        (2, 2, &[1.0f32, 2.0, 2.0, 3.0]),
    );
    check_dense(
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
        (3, 3, &[0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0]),
    );
    check_dense::<f64>(
        "%%MatrixMarket matrix array real skew-symmetric\n1 1\n",
        (1, 1, &[0.0]),
    );
    let (one, i) = (Complex::new(1.0, 0.0), Complex::new(0.0, 1.0));
    check_dense(
        "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n0 1\n1 0\n",
        (2, 2, &[one, -i, i, one]),
    );
}

#[test]
fn reads_empty_and_single_matrices() {
    check_sparse::<f64>(
        "%%MatrixMarket matrix coordinate real general\n0 0 0\n",
        0,
        0,
        &[],
    );
    check_sparse::<f64>(
        "%%MatrixMarket matrix coordinate real general\n0 5 0",
        0,
        5,
        &[],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5",
        1,
        1,
        &[(0, 0, 5.0)],
    );
    check_sparse::<f64>(
        "%%MatrixMarket matrix coordinate real general\n4294967295 4294967295 0\n",
        u32::MAX as usize,
        u32::MAX as usize,
        &[],
    );
    check_dense::<f64>(
        "%%MatrixMarket matrix array real general\n0 4\n",
        (0, 4, &[]),
    );
    check_dense(
        "%%MatrixMarket matrix array real symmetric\n1 1\n7\n",
        (1, 1, &[7.0]),
    );
}

#[test]
fn reads_what_real_tools_write() {
    let expected = [(0, 0, 1000.0), (1, 1, -0.5)];
    for text in [
        "%%MatrixMarket MATRIX Coordinate REAL General\r\n% c\r\n\r\n2 2 2\r\n1 1 1.0D+03\r\n2 2 -.5\r\n",
        "%MatrixMarket matrix coordinate double general\n%\n\n \t%c\n 2\t2  2 \n%c\n\t1 1\t1e3\n\n  2 2 -5.E-1 \n%",
        "%%matrixmarket matrix coordinate real general\n2 2 2\n1 1 +1000.\n% c 3 3 3\n2 2 -0.50000\n\n\n",
        "%%MatrixMarket\tmatrix  coordinate real general \n2 2 2\n1 1 0.1d4\n02 2 -5e-01",
    ] {
        check_sparse(text, 2, 2, &expected);
    }
    check_sparse(
        "%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 7\n",
        1,
        1,
        &[(0, 0, 7.0)],
    );
    let (header, _) = read_all_ways::<f64>(
        b"%%MatrixMarket matrix coordinate real general\n% author: Andr\xe9\n1 1 1\n1 1 1\n",
    )
    .unwrap();
    assert_eq!(header.n_stored, 1);
}

/// Asserts that a file is refused, whatever the cuts, with this message.
fn check<T: Field>(bytes: impl AsRef<[u8]>, message: &str) {
    let error = read_all_ways::<T>(bytes.as_ref()).expect_err(message);
    assert_eq!(error, message);
}

fn check_body(head: &str, body: &str, message: &str) {
    check::<f64>(format!("%%MatrixMarket matrix {head}\n{body}"), message);
}

#[test]
fn refuses_a_broken_banner() {
    let banner = "a.mtx:1: expected `%%MatrixMarket matrix ...` in the first line, found";
    check::<f64>("", &format!("{banner} an empty file"));
    check::<f64>("\n", &format!("{banner} the end of the line"));
    check::<f64>("1 1 1\n1 1 1\n", &format!("{banner} `1`"));
    check::<f64>(
        b"\x7fELF\x02\x01\x00\xff\n",
        &format!("{banner} `\\u{{7f}}ELF\\u{{2}}\\u{{1}}\\0�`"),
    );
    for (head, message) in [
        (
            "",
            "the format `coordinate` or `array`, found the end of the line",
        ),
        (
            "sparse real general",
            "the format `coordinate` or `array`, found `sparse`",
        ),
        (
            "coordinate",
            "the field `real`, `integer`, `complex` or `pattern`, found the end of the line",
        ),
        (
            "coordinate quaternion general",
            "the field `real`, `integer`, `complex` or `pattern`, found `quaternion`",
        ),
        (
            "array pattern general",
            "the field `real`, `integer` or `complex` of an array, found `pattern`",
        ),
        (
            "coordinate real diagonal",
            "the symmetry `general`, `symmetric` or `skew-symmetric` of a real matrix, found `diagonal`",
        ),
        (
            "coordinate real hermitian",
            "the symmetry `general`, `symmetric` or `skew-symmetric` of a real matrix, found `hermitian`",
        ),
        (
            "coordinate pattern skew-symmetric",
            "the symmetry `general` or `symmetric` of a pattern, found `skew-symmetric`",
        ),
        (
            "coordinate complex bilinear",
            "the symmetry `general`, `symmetric`, `skew-symmetric` or `hermitian`, found `bilinear`",
        ),
        (
            "coordinate real general 5",
            "the end of the line, found `5`",
        ),
    ] {
        check_body(head, "1 1 0\n", &format!("a.mtx:1: expected {message}"));
    }
    check::<f64>(
        "%%MatrixMarket vector array real general\n3\n",
        "a.mtx:1: expected the object `matrix`, found `vector`",
    );
    check_body(
        "coordinate complex general",
        "1 1 0\n",
        "a.mtx:1: field is complex, expected real, integer or pattern",
    );
}

#[test]
fn refuses_broken_sizes() {
    for (sizes, message) in [
        ("", "1: expected a line of sizes, found the end of the file"),
        (
            "% c\n\n",
            "3: expected a line of sizes, found the end of the file",
        ),
        (
            "% c\n2 2\n",
            "3: expected a number of entries, found the end of the line",
        ),
        ("-2 2 1\n", "2: expected a number of rows, found `-2`"),
        ("2 2.0 1\n", "2: expected a number of columns, found `2.0`"),
        ("2 2 x\n", "2: expected a number of entries, found `x`"),
        ("2 2 1 1\n", "2: expected the end of the line, found `1`"),
        (
            "4294967296 2 1\n",
            "2: expected at most 4294967295 rows, found 4294967296",
        ),
        (
            "2 5000000000 1\n",
            "2: expected at most 4294967295 columns, found 5000000000",
        ),
        (
            "2 2 9999999999999999999\n",
            "2: expected at most 9223372036854775807 entries, found 9999999999999999999",
        ),
        (
            "99999999999999999999 2 1\n",
            "2: expected a number of rows, found `99999999999999999999`",
        ),
        // Announced but not there: nothing may be allocated for them.
        (
            "2 2 1000000000000000000\n",
            "2: expected 1000000000000000000 entries, found 0 before the end of the file",
        ),
    ] {
        check_body(
            "coordinate real general",
            sizes,
            &format!("a.mtx:{message}"),
        );
    }
    check_body(
        "coordinate real symmetric",
        "2 3 0\n",
        "a.mtx:2: expected a square matrix because it is symmetric, found 2 x 3",
    );
    check_body(
        "array real general",
        "4294967295 4294967295\n1\n",
        "a.mtx:2: expected at most 9223372036854775807 entries, found 18446744065119617025",
    );
    check_body(
        "array real symmetric",
        "4000000000 4000000000\n1\n",
        "a.mtx:3: expected 8000000002000000000 entries, found 1 before the end of the file",
    );
}

#[test]
fn refuses_broken_entries() {
    for (entry, message) in [
        ("0 1 1.0", "expected a row index in 1..=3, found 0"),
        ("1 0 1.0", "expected a column index in 1..=4, found 0"),
        ("4 1 1.0", "expected a row index in 1..=3, found 4"),
        ("1 5 1.0", "expected a column index in 1..=4, found 5"),
        ("-1 1 1.0", "expected a row index, found `-1`"),
        ("1.5 1 1.0", "expected a row index, found `1.5`"),
        (
            "99999999999999999999 1 1.0",
            "expected a row index, found `99999999999999999999`",
        ),
        ("1", "expected a column index, found the end of the line"),
        ("1 1", "expected a number, found the end of the line"),
        ("1 1 one", "expected a number, found `one`"),
        ("1 1 1.0.0", "expected a number, found `1.0.0`"),
        ("1 1 1,5", "expected a number, found `1,5`"),
        ("1 1 0x1p3", "expected a number, found `0x1p3`"),
        ("1 1 1.0 % c", "expected the end of the line, found `%`"),
        ("1 1 1.0 2.0", "expected the end of the line, found `2.0`"),
        (
            "1 1 nan",
            "value is not a finite number: expected a number, found `nan`",
        ),
        (
            "1 1 -NaN",
            "value is not a finite number: expected a number, found `-NaN`",
        ),
        (
            "1 1 +Inf",
            "value is not a finite number: expected a number, found `+Inf`",
        ),
        (
            "1 1 -infinity",
            "value is not a finite number: expected a number, found `-infinity`",
        ),
        (
            "1 1 1e400",
            "expected a value in the range of f64, found `1e400`",
        ),
        ("\0\0\0", "expected a row index, found `\\0\\0\\0`"),
        (
            &"x".repeat(200),
            &format!("expected a row index, found `{}…`", "x".repeat(40)),
        ),
    ] {
        check_body(
            "coordinate real general",
            &format!("3 4 2\n% c\n1 1 1\r\n{entry}\n"),
            &format!("a.mtx:5: {message}"),
        );
    }
    check::<f64>(
        b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 \xff\xfe\n",
        "a.mtx:3: expected a number, found `��`",
    );
    check::<f32>(
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e39\n",
        "a.mtx:3: expected a value in the range of f32, found `1e39`",
    );
    check::<Complex<f64>>(
        "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0\n",
        "a.mtx:3: expected a number, found the end of the line",
    );
    check_body(
        "coordinate integer general",
        "1 1 1\n1 1 1.5\n",
        "a.mtx:3: expected an integer, found `1.5`",
    );
    check_body(
        "coordinate pattern general",
        "1 1 1\n1 1 1\n",
        "a.mtx:3: expected the end of the line, found `1`",
    );
    check_body(
        "array real general",
        "2 1\n1\n2 3\n",
        "a.mtx:4: expected the end of the line, found `3`",
    );
}

#[test]
fn refuses_the_wrong_triangle() {
    check_body(
        "coordinate real symmetric",
        "2 2 1\n1 2 1.0\n",
        "a.mtx:3: expected an entry of the lower triangle because the matrix is symmetric, found (1, 2)",
    );
    check_body(
        "coordinate real skew-symmetric",
        "2 2 1\n2 2 1.0\n",
        "a.mtx:3: expected no diagonal entry because the matrix is skew-symmetric, found (2, 2)",
    );
}

#[test]
fn refuses_the_wrong_number_of_entries() {
    let few = "expected 3 entries, found 2 before the end of the file";
    check_body(
        "coordinate real general",
        "2 2 3\n1 1 1\n2 2 1\n",
        &format!("a.mtx:4: {few}"),
    );
    check_body(
        "coordinate real general",
        "2 2 3\n1 1 1\n2 2 1\n\n% c",
        &format!("a.mtx:6: {few}"),
    );
    check_body(
        "coordinate real general",
        "2 2 1\n1 1 1\n\n% c\n2 2 1\nx\n",
        "a.mtx:6: expected 1 entries, found more",
    );
    check_body(
        "coordinate real general",
        "2 2 0\n1 1 1\n",
        "a.mtx:3: expected 0 entries, found more",
    );
    check_body(
        "array real symmetric",
        "2 2\n1\n2\n",
        "a.mtx:4: expected 3 entries, found 2 before the end of the file",
    );
    check_body(
        "array real general",
        "1 2\n1\n2\n3\n",
        "a.mtx:5: expected 2 entries, found more",
    );
}

/// The line of the one broken entry is exact, however many blocks and threads lie before it.
#[test]
fn names_the_line_in_later_chunks() {
    let n = 40_000;
    for broken in [0, 1, n / 3, n / 2 + 1, n - 1] {
        let mut text = format!("%%MatrixMarket matrix coordinate real general\n9 9 {n}\n");
        for k in 0..n {
            text.push_str(if k == broken {
                "9 10 1.0\n"
            } else {
                "9 9 1.0\n"
            });
        }
        let cuts = [
            (4 << 20, 128 << 10),
            (4 << 20, 1000),
            (10_000, 1000),
            (100_000, 1),
        ];
        for (block_len, chunk_len) in cuts {
            let cuts = Cuts {
                block_len,
                chunk_len,
            };
            let error = parse_in::<f64>(cuts, text.as_bytes()).unwrap_err();
            assert_eq!(error.line, Some(broken + 3));
        }
    }
}

#[test]
fn refuses_endless_lines() {
    let mut text = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n%".to_vec();
    text.resize(Cuts::DEFAULT.block_len + (4 << 10), b'c');
    let ok = parse::<f64>(&text, "a.mtx");
    assert!(ok.is_ok(), "a long comment that fits is only a comment");
    text.resize(3 * Cuts::DEFAULT.block_len, b'c');
    let error = parse::<f64>(&text, "a.mtx").unwrap_err().to_string();
    assert_eq!(
        error,
        "a.mtx:4: expected a line of at most 1048576 bytes, found a longer one"
    );
    let zeros = "0".repeat(900_000);
    let head = "%%MatrixMarket matrix coordinate real general";
    let text = format!("{head}\n1 1 1\n1 1 0.{zeros}1\n");
    let (_, content) = parse::<f64>(text.as_bytes(), "a.mtx").unwrap();
    let zero = Triplets::from_parts(1, 1, vec![0], vec![0], vec![0.0]).unwrap();
    assert_eq!(content, Content::Sparse(zero));
}

#[test]
fn refuses_broken_gzip() {
    let mut text = b"%%MatrixMarket matrix coordinate real general\n300 300 300\n".to_vec();
    for row in 1..=300 {
        writeln!(text, "{row} {row} {}", 1.0 / f64::from(row)).unwrap();
    }
    let good = gzip(&text);
    assert!(parse::<f64>(&good, "a.mtx.gz").is_ok());
    let members = [gzip(&text[..500]), gzip(&text[500..])].concat();
    assert_eq!(
        parse::<f64>(&members, "").unwrap(),
        parse::<f64>(&text, "").unwrap(),
        "a file may consist of several gzip members"
    );
    let check = |bytes: &[u8]| {
        let error = parse::<f64>(bytes, "a.mtx.gz").unwrap_err();
        assert!(matches!(error.kind(), ReadErrorKind::Gzip(_)), "{error}");
        assert!(error.line().is_some(), "{error}");
        let message = error.to_string();
        assert!(message.starts_with("a.mtx.gz:"), "{message}");
        assert!(
            message.contains("cannot decompress, the gzip stream is broken"),
            "{message}"
        );
    };
    check(&good[..2]);
    check(&good[..good.len() / 2]);
    check(&good[..good.len() - 1]);
    let mut flipped = good.clone();
    let checksum = flipped.len() - 8;
    flipped[checksum] ^= 1;
    check(&flipped);
}

/// A few kilobytes that would decompress to gigabytes are refused at the first surplus entry.
#[test]
fn refuses_more_entries_than_announced_early() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(b"%%MatrixMarket matrix coordinate pattern general\n9 9 5\n")
        .unwrap();
    for _ in 0..500 {
        encoder
            .write_all("1 1\n".repeat(10_000).as_bytes())
            .unwrap();
    }
    // The end is cut off: a reader that went on to it would report that instead.
    let mut bytes = encoder.finish().unwrap();
    bytes.truncate(bytes.len() - 10);
    let error = parse::<f64>(&bytes, "a.mtx.gz").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.mtx.gz:8: expected 5 entries, found more"
    );
}

/// Any double or single that is finite, huge, tiny and negative zero included.
fn finite(single: bool) -> impl Strategy<Value = f64> {
    any::<u64>().prop_filter_map("finite", move |bits| {
        let value = if single {
            f64::from(f32::from_bits(bits as u32))
        } else {
            f64::from_bits(bits)
        };
        let simple = (bits % 64) as f64 / 8.0 - 4.0;
        let value = if bits % 3 == 0 { simple } else { value };
        value.is_finite().then_some(value)
    })
}

type Entry = (usize, usize, f64, f64);

fn entries(single: bool) -> impl Strategy<Value = (usize, usize, Vec<Entry>)> {
    (1..40usize, 1..40usize).prop_flat_map(move |(n_rows, n_cols)| {
        let entry = (0..n_rows, 0..n_cols, finite(single), finite(single));
        (
            Just(n_rows),
            Just(n_cols),
            prop::collection::vec(entry, 0..60),
        )
    })
}

fn bits<T: Field>(vals: &[T]) -> Vec<[u64; 2]> {
    vals.iter().map(|val| val.to_bits()).collect()
}

fn check_round_trip<T: Field>(n_rows: usize, n_cols: usize, entries: &[Entry]) {
    let entries = entries
        .iter()
        .map(|&(row, col, re, im)| (row, col, T::from_parts(re, im)));
    let mut text = Vec::new();
    write_sparse_to(&mut text, n_rows, n_cols, entries.clone(), "two\nlines").unwrap();
    let (_, content) = read_all_ways::<T>(&text).unwrap();
    let Content::Sparse(triplets) = content else {
        panic!("a coordinate file was written");
    };
    let mut expected = Triplets::new(n_rows, n_cols).unwrap();
    let mut vals = vec![T::ZERO; n_rows * n_cols];
    for (row, col, val) in entries {
        expected.push(row, col, val).unwrap();
        vals[row * n_cols + col] = val;
    }
    assert_eq!(triplets.rows(), expected.rows());
    assert_eq!(triplets.cols(), expected.cols());
    assert_eq!(bits(triplets.vals()), bits(expected.vals()));

    let mut text = Vec::new();
    write_dense_to(&mut text, n_rows, n_cols, &vals, "").unwrap();
    let (_, content) = read_all_ways::<T>(&text).unwrap();
    let Content::Dense { vals: read, .. } = content else {
        panic!("an array file was written");
    };
    assert_eq!(bits(&read), bits(&vals));
}

/// Reads anything: whatever comes out is fine, as long as all cuts agree on it. Which of two errors
/// is reported may depend on the cuts only if the gzip stream itself is broken.
fn read_anything(bytes: &[u8]) {
    let read = |cuts| parse_in::<f64>(cuts, bytes).map_err(|error| error.in_file("").to_string());
    let first = read(CUTS[0]);
    for cuts in CUTS {
        let other = read(cuts);
        if bytes.starts_with(&[0x1f, 0x8b]) {
            assert_eq!(other.ok(), first.as_ref().ok().cloned(), "{cuts:?}");
        } else {
            assert_eq!(other, first, "{cuts:?}");
        }
    }
    let _ = parse::<Complex<f32>>(bytes, "");
}

const SEEDS: [&str; 4] = [
    "%%MatrixMarket matrix coordinate real general\n% c\n3 4 3\n1 1 1.5\n3 4 -2e-3\n2 1 1234567.12345678\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
    "%%MatrixMarket matrix coordinate complex hermitian\r\n2 2 2\r\n1 1 1 0\r\n2 1 0.5 -1\r\n",
    "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
];

/// One change to a file: where, how many bytes go, and what comes.
fn mutation() -> impl Strategy<Value = (usize, usize, Vec<u8>)> {
    let insert = prop_oneof![
        Just(Vec::new()),
        "[0-9]{1,22}".prop_map(String::into_bytes),
        "[-+.eE0-9 \t\r\n%]{1,6}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 1..4),
    ];
    (any::<usize>(), 0..5usize, insert)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn what_is_written_reads_back(
        (n_rows, n_cols, doubles) in entries(false),
        (n_rows_single, n_cols_single, singles) in entries(true),
    ) {
        check_round_trip::<f64>(n_rows, n_cols, &doubles);
        check_round_trip::<Complex<f64>>(n_rows, n_cols, &doubles);
        check_round_trip::<f32>(n_rows_single, n_cols_single, &singles);
        check_round_trip::<Complex<f32>>(n_rows_single, n_cols_single, &singles);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_files_never_panic(
        seed in 0..SEEDS.len(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (at, n_removed, inserted) in mutations {
            let at = at % (bytes.len() + 1);
            let end = bytes.len().min(at + n_removed);
            bytes.splice(at..end, inserted);
        }
        read_anything(&bytes);
        let mut compressed = gzip(&bytes);
        read_anything(&compressed);
        compressed[bytes.len() % 20] ^= 1;
        read_anything(&compressed);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_anything(&bytes);
        read_anything(&[SEEDS[0].as_bytes(), &bytes].concat());
        read_anything(&[&[0x1f, 0x8b, 8][..], &bytes].concat());
    }
}

fn check_write<T: Debug>(result: Result<T, WriteError>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

#[test]
fn refuses_to_write_what_cannot_be_read() {
    let mut text = Vec::new();
    check_write(
        write_sparse_to(&mut text, 2, 2, [(0, 1, f64::NAN)], ""),
        "matrix market: expected finite values, found NaN at (0, 1)",
    );
    check_write(
        write_sparse_to(&mut text, 2, 2, [(0, 2, 1.0)], ""),
        "matrix market: the entry (0, 2) lies outside the 2 x 2 matrix",
    );
    check_write(
        write_dense_to(&mut text, 2, 2, &[1.0, 2.0], ""),
        "matrix market: expected 2 x 2 values, found 2",
    );
}

#[test]
fn writes_the_shortest_text() {
    let mut text = Vec::new();
    let vals = [1.0, -0.0, 0.1, 1e22, 5e-324, 123456.75];
    write_sparse_to(&mut text, 1, 6, (0..6).map(|k| (0, k, vals[k])), "a\nb").unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "%%MatrixMarket matrix coordinate real general\n% a\n% b\n1 6 6\n\
         1 1 1\n1 2 -0\n1 3 0.1\n1 4 1e22\n1 5 5e-324\n1 6 123456.75\n"
    );
}
