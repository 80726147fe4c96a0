//! The same files as one rank reads them that makes a matrix of them: entries in order are gathered
//! at their place, and what they are is what they are side by side.

use super::on_ranks::{bits, temporary};
use super::{CUTS, gzip, read_all_ways};
use crate::matrix_market::source::Blocks;
use crate::matrix_market::{Content, Header, InOrder, Whole, parse_in, read_whole_in};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Runtime;

/// Reads bytes from a file, and compares with what was made of them in memory. Says with how many
/// of the cuts the entries were gathered at their place.
pub(super) fn check<T: Field>(
    bytes: &[u8],
    expected: &Result<(Header, Content<T>), String>,
) -> usize {
    let file = temporary(bytes);
    let places = CUTS.map(|cuts| {
        let blocks = Blocks::open(&file, cuts);
        let found = read_whole_in::<T>(&Runtime::current(), blocks);
        let found = found.map_err(|error| error.in_file("a.mtx").to_string());
        compare(found, expected)
    });
    places.into_iter().filter(|&is_matrix| is_matrix).count()
}

fn compare<T: Field>(
    found: Result<(Header, Whole<T>), String>,
    expected: &Result<(Header, Content<T>), String>,
) -> bool {
    match (found, expected) {
        (Ok((header, Whole::Content(content))), Ok((expected_header, expected))) => {
            assert_eq!((&header, &content), (expected_header, expected));
            false
        }
        (Ok((header, Whole::Matrix(matrix))), Ok((expected_header, Content::Sparse(triplets)))) => {
            assert_eq!(&header, expected_header);
            let InOrder { pos, crd, vals, .. } = &*matrix;
            assert_eq!(pos.len(), header.n_rows + 1);
            assert_eq!((pos[0], pos[header.n_rows]), (0, crd.len() as u64));
            let row_of = |k: usize| pos.partition_point(|&begin| begin <= k as u64) - 1;
            let found = (0..crd.len()).map(|k| (row_of(k) as u32, crd[k], vals[k]));
            assert_eq!(bits(found), bits(triplets.iter()));
            true
        }
        (Err(message), Err(expected)) => {
            assert_eq!(&message, expected);
            false
        }
        (found, expected) => panic!(
            "{:?} in place of {:?}",
            found.err(),
            expected.as_ref().err()
        ),
    }
}

/// What is made of a text in memory.
fn read<T: Field>(text: &str) -> Result<(Header, Content<T>), String> {
    let read = parse_in(CUTS[0], text.as_bytes());
    read.map_err(|error| error.in_file("a.mtx").to_string())
}

/// A file with these lines behind its header.
fn text(shape: (usize, usize), lines: &[(usize, usize, f64)]) -> String {
    let (n_rows, n_cols) = shape;
    let n = lines.len();
    let mut text =
        format!("%%MatrixMarket matrix coordinate real general\n{n_rows} {n_cols} {n}\n");
    for (row, col, val) in lines {
        text.push_str(&format!("{row} {col} {val}\n"));
    }
    text
}

/// Entries of a matrix with empty rows at its begin, in its middle and at its end.
fn in_order(n_rows: usize) -> Vec<(usize, usize, f64)> {
    let rows = (3..n_rows - 1).filter(|row| row % 7 != 0);
    let row = |row: usize| (1..6).map(move |k| (row, k * k, (row * k) as f64 - 20.5));
    rows.flat_map(row).collect()
}

#[test]
fn entries_in_order_are_gathered_at_their_place() {
    for n_rows in [5, 8, 40, 300] {
        let text = text((n_rows, 25), &in_order(n_rows));
        let read = read_all_ways::<f64>(text.as_bytes());
        assert_eq!(check(text.as_bytes(), &read), CUTS.len(), "{n_rows}");
        let read = read_all_ways::<f32>(text.as_bytes());
        assert_eq!(check(&gzip(text.as_bytes()), &read), CUTS.len(), "{n_rows}");
    }
    let empty = text((4, 4), &[]);
    let read = read_all_ways::<f64>(empty.as_bytes());
    assert_eq!(check(empty.as_bytes(), &read), CUTS.len());
}

#[test]
fn the_first_entry_out_of_order_ends_that() {
    let lines = in_order(60);
    for k in (0..lines.len() - 1).step_by(11).chain([lines.len() - 2]) {
        let mut mixed = lines.clone();
        mixed.swap(k, k + 1);
        let file = text((60, 25), &mixed);
        let expected = read(&file);
        assert_eq!(check::<f64>(file.as_bytes(), &expected), 0, "{k}");
        // Twice the same place is no order either.
        mixed[k + 1] = mixed[k];
        let file = text((60, 25), &mixed);
        let expected = read(&file);
        assert_eq!(check::<f64>(file.as_bytes(), &expected), 0, "{k}");
    }
}

#[test]
fn errors_behind_entries_in_order_are_the_same() {
    let lines = in_order(60);
    let whole = text((60, 25), &lines);
    let announced = format!("60 25 {}", lines.len());
    for n in [0, 1, lines.len() - 1, lines.len() + 1, 3 * lines.len()] {
        let text = whole.replacen(&announced, &format!("60 25 {n}"), 1);
        let read = read_all_ways::<f64>(text.as_bytes());
        assert!(read.is_err(), "{n}");
        check(text.as_bytes(), &read);
    }
    for wrong in [
        "60 1 x",
        "61 1 1",
        "59 26 1",
        "1 1 1 1",
        "0 1 1",
        "5 5",
        "5 5 1e999",
    ] {
        let text = format!("{}{wrong}\n", whole.replacen(&announced, "60 25 9999", 1));
        let read = read_all_ways::<f64>(text.as_bytes());
        assert!(read.is_err(), "{wrong}");
        check(text.as_bytes(), &read);
    }
}

/// A header may announce more than there is memory for, and the file end behind it.
#[test]
fn memory_is_for_what_a_file_can_hold() {
    for sizes in ["4294967295 4294967295 3", "9 9 9223372036854775807"] {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n1 1 1\n");
        let read = read_all_ways::<f64>(text.as_bytes());
        assert!(read.is_err(), "{sizes}");
        check(text.as_bytes(), &read);
    }
}

/// A line that begins with a tab is no plain one, but means the same.
#[test]
fn plain_lines_and_others_mean_the_same() {
    let values = [
        "1",
        "-1",
        "0",
        "-0",
        "+7",
        "1234567",
        "-1234567",
        "12345678",
        "16777217",
        "1.5",
        "-.5",
        "5.",
        "1e5",
        "1E-5",
        "2.5d3",
        "1e400",
        "1e39",
        "1e-400",
        "123456789012345678901234567890",
        "3.4028236e38",
        "0.30000000000000004",
        "nan",
        "inf",
        "1x",
        "-",
        "+",
        "",
        "--1",
        "1 ",
        "1\r",
        "1\t",
        "1 2",
        "1  2",
        "1 -2.5 ",
        "9007199254740993",
        "18446744073709551616",
        "1\r\r",
        "1.0.0",
    ];
    let indices = [
        "1",
        "9",
        "10",
        "0",
        "01",
        "00000000001",
        "0000000000000000000000001",
        "12345678",
        "1234567",
        "99999999999999999999",
        "-1",
        "+1",
        "1.0",
        "x",
        "",
    ];
    let mut lines: Vec<String> = Vec::new();
    lines.extend(values.map(|value| format!("3 2 {value}")));
    lines.extend(values.map(|value| format!("3  2  {value}")));
    lines.extend(values.map(|value| format!("2 2 {value}")));
    lines.extend(indices.map(|index| format!("{index} 1 4.5")));
    lines.extend(indices.map(|index| format!("9 {index} -3")));
    for head in [
        "real general",
        "real symmetric",
        "real skew-symmetric",
        "integer general",
        "integer symmetric",
        "pattern general",
        "pattern symmetric",
        "complex general",
        "complex hermitian",
        "complex symmetric",
    ] {
        for line in &lines {
            // Behind other lines, and with eight bytes and more behind the numbers.
            let file = |before: &str| {
                let head = format!("%%MatrixMarket matrix coordinate {head}\n9 9 2\n");
                format!("{head}{before}{line}\n{before}{line}\n")
            };
            same_of::<f64>(&file(""), &file("\t"));
            same_of::<f32>(&file(""), &file("\t"));
            same_of::<num_complex::Complex<f32>>(&file(""), &file("\t"));
        }
    }
}

fn same_of<T: Field>(plain: &str, other: &str) {
    let read = |text: &str| {
        let read = crate::matrix_market::parse::<T>(text.as_bytes(), "a.mtx");
        match read {
            Ok((_, Content::Sparse(triplets))) => Ok(bits(triplets.iter())),
            Ok((_, Content::Dense { .. })) => panic!("a coordinate file"),
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!(read(plain), read(other), "{plain}");
}
