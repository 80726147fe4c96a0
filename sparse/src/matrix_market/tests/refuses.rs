//! Malformed files, one by one, with the message of each.

use super::{gzip, read_all_ways};
use crate::Triplets;
use crate::matrix_market::source::Cuts;
use crate::matrix_market::{
    Content, ReadErrorKind, WriteError, parse, parse_in, write_dense_to, write_sparse_to,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use num_complex::Complex;
use sparsefuse_kernels::Field;
use std::fmt::Debug;
use std::io::Write;

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
fn refuses_a_hermitian_diagonal_that_is_not_real() {
    let refused = |line: u64, row: u64, imaginary: &str| {
        format!(
            "a.mtx:{line}: expected a real diagonal because the matrix is hermitian, found \
             ({row}, {row}) with the imaginary part {imaginary}"
        )
    };
    let head = "%%MatrixMarket matrix coordinate complex hermitian\n";
    check::<Complex<f64>>(
        format!("{head}2 2 3\n1 1 4 -0.0\n2 1 1 2\n2 2 3 1e-9\n"),
        &refused(5, 2, "0.000000001"),
    );
    // Of an array the diagonal is found by counting.
    let head = "%%MatrixMarket matrix array complex hermitian\n3 3\n";
    check::<Complex<f64>>(
        format!("{head}% c\n4 0\n1 2\n1 2\n5 -1\n1 2\n6 7\n"),
        &refused(7, 2, "-1"),
    );
    check::<Complex<f32>>(
        format!("{head}4 0\n1 2\n1 2\n5 0\n1 2\n6 7\n"),
        &refused(8, 3, "7"),
    );
    check::<Complex<f64>>(
        format!("{head}4 0\n1 2\noops\n5 -1\n1 2\n6 7\n"),
        "a.mtx:5: expected a number, found `oops`",
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
                threads: 2,
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
        "matrix market: expected an entry of the 2 x 2 matrix, found (0, 2)",
    );
    check_write(
        write_dense_to(&mut text, 2, 2, &[1.0, 2.0], ""),
        "matrix market: expected 2 x 2 values, found 2",
    );
}
