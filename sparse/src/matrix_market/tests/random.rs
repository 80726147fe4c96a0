//! Random matrices, written and read back; mutated files and random bytes, which may be refused but
//! never panic.

use super::{CUTS, gzip, on_ranks, read_all_ways};
use crate::Triplets;
use crate::matrix_market::{Content, parse, parse_in, write_dense_to, write_sparse_to};
use num_complex::Complex;
use proptest::prelude::*;
use sparsefuse_kernels::Field;

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
    (1..16usize, 1..16usize).prop_flat_map(move |(n_rows, n_cols)| {
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
        // Ranks are threads that have to be started: one file in four.
        if seed == bytes.len() % SEEDS.len() {
            let cuts = CUTS[2];
            let first = parse_in::<f64>(cuts, &bytes);
            on_ranks::check(&bytes, &first.map_err(|error| error.in_file("a.mtx").to_string()));
        }
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
