//! Assembly: from triplets, from the three arrays, from rows; what is refused and how.

use crate::{Entries, Exact, entries, everywhere, for_each_type, rows, small};
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_runtime::{Config, Error, run_ranks};
use sparsefuse_sparse::{Csr, LocalRows, Triplets};

fn check_triplets<T: Exact>(entries: &Entries) {
    let ((pos, crd, _), dense) = everywhere(|| {
        let a = entries.csr::<T>()?;
        assert_eq!(a.shape(), (entries.n_rows, entries.n_cols));
        Ok((rows(&a)?, a.to_ndarray()?))
    });
    assert_eq!(dense, entries.dense());
    let mut places = Vec::new();
    for row in 0..entries.n_rows {
        let columns = &crd[pos[row] as usize..pos[row + 1] as usize];
        places.extend(columns.iter().map(|&column| (row, column as usize)));
    }
    assert_eq!(places, entries.places());
}

/// The three arrays, with the columns of a row in the order of the entries, duplicates and all.
fn raw_parts<T: Exact>(entries: &Entries) -> (Vec<u64>, Vec<u32>, Vec<T>) {
    let (mut pos, mut crd, mut vals) = (vec![0], Vec::new(), Vec::new());
    for row in 0..entries.n_rows {
        for &(_, col, k) in entries.entries.iter().filter(|entry| entry.0 == row) {
            crd.push(col as u32);
            vals.push(T::exact(k));
        }
        pos.push(crd.len() as u64);
    }
    (pos, crd, vals)
}

fn check_new<T: Exact>(entries: &Entries) {
    everywhere(|| {
        let (pos, crd, vals) = raw_parts::<T>(entries);
        let a = Csr::new(entries.n_rows, entries.n_cols, pos, crd, vals)?;
        let found = rows(&a)?;
        assert_eq!(found, rows(&entries.csr::<T>()?)?);
        Ok(found)
    });
}

fn check_values<T: Exact>(entries: &Entries) {
    let factor = T::exact(3);
    let dense = everywhere(|| {
        let a = entries.csr::<T>()?;
        let (pos, crd, vals) = rows(&a)?;
        let twice = a.with_values(a.values() + a.values())?;
        assert_eq!(rows(&twice)?, rows(&a.scale(T::ONE + T::ONE))?);
        assert_eq!(rows(&a)?, (pos, crd, vals), "a matrix is a value");
        let scaled = a.scale(factor);
        assert_eq!(rows(&(&a * factor))?, rows(&scaled)?);
        let mut assigned = a.clone() / T::ONE;
        assigned *= factor;
        assigned /= T::ONE;
        assert_eq!(rows(&assigned)?, rows(&scaled)?);
        assert_eq!(rows(&scaled)?, rows(&(&a * &Scalar::new(factor)))?);
        scaled.to_ndarray()
    });
    assert_eq!(dense, entries.dense::<T>().mapv(|value| value * factor));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn triplets_are_summed_and_sorted(entries in entries()) {
        for_each_type!(check_triplets(&entries));
    }

    #[test]
    fn raw_parts_are_summed_and_sorted(entries in entries()) {
        for_each_type!(check_new(&entries));
    }

    #[test]
    fn values_change_and_the_structure_stays(entries in entries()) {
        for_each_type!(check_values(&entries));
    }
}

#[test]
fn duplicates_are_summed_in_the_order_given() {
    let values = [1.0, 1e16, -1e16, 1.0];
    let expected = values.iter().fold(0.0, |sum, value| sum + value);
    let found = everywhere(|| {
        let mut triplets = Triplets::new(6, 6).unwrap();
        for value in values {
            triplets.push(5, 1, value).unwrap();
            triplets.push(0, 2, value).unwrap();
        }
        Csr::from_triplets(&triplets)?.values().to_vec()
    });
    assert_eq!(found, [expected; 2]);
}

#[test]
fn the_identity() {
    for n in [0, 1, 9] {
        let found = everywhere(|| Csr::<f32>::identity(n)?.to_ndarray());
        assert_eq!(found, ndarray::Array2::<f32>::eye(n));
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

#[test]
fn bad_raw_parts_are_refused() {
    let new = |pos: &[u64], crd: &[u32], n_vals: usize| {
        Csr::new(2, 3, pos.to_vec(), crd.to_vec(), vec![1.0; n_vals])
    };
    let cases: [(&[u64], &[u32], usize, &str); 9] = [
        (
            &[],
            &[],
            0,
            "csr: expected 3 positions, beginning with 0, found 0, beginning with none",
        ),
        (
            &[0, 1],
            &[0],
            1,
            "csr: expected 3 positions, beginning with 0, found 2, beginning with 0",
        ),
        (
            &[1, 1, 1],
            &[0],
            1,
            "csr: expected 3 positions, beginning with 0, found 3, beginning with 1",
        ),
        (
            &[0, 2, 1],
            &[0],
            1,
            "csr: expected positions that never decrease, found 1 after 2 in row 1",
        ),
        (
            &[0, 1, 3],
            &[0, 1],
            2,
            "csr: expected 3 columns and values, as the last position says, found 2 and 2",
        ),
        (
            &[0, 1, 2],
            &[0, 1],
            3,
            "csr: expected 2 columns and values, as the last position says, found 2 and 3",
        ),
        (
            &[0, 1, 1],
            &[0, 1],
            2,
            "csr: expected 1 columns and values, as the last position says, found 2 and 2",
        ),
        (
            &[0, 1, 2],
            &[0, 3],
            2,
            "csr: expected columns below 3, found 3",
        ),
        (
            &[0, u64::MAX, u64::MAX],
            &[0],
            1,
            "csr: expected 18446744073709551615 columns and values, as the last position says, found 1 and 1",
        ),
    ];
    for (pos, crd, n_vals, message) in cases {
        refused(new(pos, crd, n_vals), message);
    }
}

#[test]
fn bad_rows_are_refused() {
    let make = |crd: &'static [u32]| {
        let rows = move |_| LocalRows {
            pos: vec![0, 0, 2],
            crd: crd.to_vec(),
            vals: vec![1.0; 2],
        };
        Csr::from_rows(2, 3, rows)
    };
    assert!(make(&[0, 2]).is_ok());
    refused(
        make(&[2, 0]),
        "csr: expected columns that ascend strictly, found 0 after 2 in row 1",
    );
    refused(
        make(&[1, 1]),
        "csr: expected columns that ascend strictly, found 1 after 1 in row 1",
    );
    refused(make(&[1, 3]), "csr: expected columns below 3, found 3");
    refused(
        Csr::<f64>::from_rows(3, 1, |_| LocalRows::with_capacity(3, 0)),
        "csr: expected 4 positions, beginning with 0, found 1, beginning with 0",
    );
}

#[test]
fn as_many_values_as_entries() {
    let a = Csr::<f64>::identity(3).unwrap();
    refused(
        a.with_values(Vector::ones([2])),
        "with_values: expected a shape of (3), found (2)",
    );
}

#[test]
fn shapes_beyond_the_indices_are_refused() {
    let many = u32::MAX as usize + 1;
    let message = "csr: expected at most 4294967295 rows and columns, found 4294967296 by 1";
    let no_rows = |_| unreachable!("nothing is made of a shape that is refused");
    refused(Csr::<f64>::from_rows(many, 1, no_rows), message);
    refused(
        Csr::<f64>::new(many, 1, vec![0], Vec::new(), Vec::new()),
        message,
    );
}

#[test]
fn rows_beyond_the_memory_limit_are_an_error() {
    let config = Config {
        memory_limit: 1 << 20,
        ..small()
    };
    for ranks in [1, 2] {
        let messages = run_ranks(ranks, &config, |_| {
            let triplets = Triplets::<f64>::new(u32::MAX as usize, 3).unwrap();
            Csr::from_triplets(&triplets).unwrap_err().to_string()
        });
        for message in messages.unwrap() {
            assert!(message.starts_with("expected "), "{message}");
            assert!(
                message.ends_with("bytes of memory, found 1048576 left under the limit of 1048576"),
                "{message}"
            );
        }
    }
}

#[test]
fn entries_of_an_iterator_make_the_matrix_of_their_triplets() {
    let (m, n) = (9, 4);
    everywhere(|| {
        let entries = (0..40).map(|k| (k * 5 % m, k * 3 % n, k as f64 / 7.0));
        let a = Csr::from_entries(m, n, entries.clone())?;
        let mut triplets = Triplets::with_capacity(m, n, 40)?;
        triplets.extend(entries);
        let b = Csr::from_triplets(&triplets)?;
        assert_eq!(rows(&a)?, rows(&b)?);
        rows(&a)
    });
    let error = Csr::from_entries(2, 2, [(0, 2, 1.0)]).unwrap_err();
    let message = "from_entries: expected an entry of the 2 x 2 matrix, found (0, 2)";
    assert_eq!(error.to_string(), message);
}
