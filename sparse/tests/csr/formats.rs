//! Compressed columns and coordinates.

use crate::{Entries, Exact, bits, entries, everywhere, for_two_types, rows};
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::Vector;
use sparsefuse_sparse::{Coo, Csc, Csr};
use sprs::TriMat;

fn check_formats<T: Exact>(entries: &Entries) {
    let (n_rows, n_cols) = (entries.n_rows, entries.n_cols);
    let x: Vec<T> = (0..n_cols).map(|i| T::exact((i % 5) as i8 - 2)).collect();
    let y: Vec<T> = (0..n_rows).map(|i| T::exact((i % 7) as i8 - 3)).collect();
    everywhere(|| {
        let a = entries.csr::<T>()?;
        let coo = Coo::from_triplets(entries.triplets::<T>())?;
        let csc = coo.to_csc()?;
        assert_eq!(
            (coo.shape(), coo.nnz()),
            ((n_rows, n_cols), entries.entries.len())
        );
        assert_eq!((csc.shape(), csc.nnz()), ((n_rows, n_cols), a.nnz()));
        assert_eq!(coo.to_triplets()?, entries.triplets());

        let all = rows(&a)?;
        assert_eq!(rows(&coo.to_csr()?)?, all);
        assert_eq!(rows(&csc.to_csr()?)?, all);
        assert_eq!(rows(&a.to_csc()?.to_csr()?)?, all);
        assert_eq!(rows(&a.to_coo()?.to_csr()?)?, all);
        assert_eq!(rows(&csc.to_coo()?.to_csr()?)?, all);
        assert_eq!(rows(csc.transpose())?, rows(&a.transpose()?)?);
        // Values that are cut in another way than the entries.
        let twice = a.scale(T::exact(2));
        assert_eq!(rows(&twice.to_coo()?.to_csr()?)?, rows(&twice)?);

        let (x, y) = (Vector::from_slice(&x), Vector::from_slice(&y));
        let product = bits(&(&a * &x).to_vec()?);
        assert_eq!(bits(&(&csc * &x).to_vec()?), product);
        assert_eq!(bits(&(&coo * &x).to_vec()?), product);
        let transposed = (&a.transpose()? * &y).to_vec()?;
        assert_eq!(csc.transpose().matvec(&y).to_vec()?, transposed);
        Ok((all, product))
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn formats(entries in entries()) {
        for_two_types!(check_formats(&entries));
    }

    #[test]
    fn sprs_and_back(entries in entries()) {
        let mut triplets = TriMat::new((entries.n_rows, entries.n_cols));
        for &(row, col, k) in &entries.entries {
            triplets.add_triplet(row, col, f64::from(k));
        }
        let dense = entries.dense::<f64>();
        let coo = Coo::from_sprs(&triplets).unwrap();
        let back: TriMat<f64> = coo.to_sprs().unwrap();
        assert_eq!(back.triplet_iter().collect::<Vec<_>>(), triplets.triplet_iter().collect::<Vec<_>>());
        for matrix in [triplets.to_csr(), triplets.to_csc()] {
            let csc = Csc::from_sprs(&matrix).unwrap();
            assert_eq!(csc.to_csr().unwrap().to_ndarray().unwrap(), dense);
            let back = csc.to_sprs().unwrap();
            assert!(back.is_csc());
            assert_eq!(back.to_dense(), dense);
        }
    }
}

#[test]
fn columns_are_checked() {
    let error = Csc::new(2, 3, vec![0, 1, 1, 1], vec![2], vec![1.0]).unwrap_err();
    assert_eq!(error.to_string(), "csc: expected rows below 2, found 2");
    let a: Csr<f64> = Csc::new(2, 3, vec![0, 1, 1, 1], vec![1], vec![1.0])
        .unwrap()
        .to_csr()
        .unwrap();
    assert_eq!(a.shape(), (2, 3));
}

/// What a program does with a matrix in whatever format.
#[test]
fn all_formats_have_numbers_sums_and_elements() {
    let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
    let (columns, coordinates) = (a.to_csc().unwrap(), a.to_coo().unwrap());
    let expected = (&a * 2.0 - a.scale(0.5))
        .to_dense()
        .unwrap()
        .to_vec()
        .unwrap();
    let of_columns = -(&columns * 2.0) / 2.0 * -1.5;
    assert_eq!(of_columns.to_dense().unwrap().to_vec().unwrap(), expected);
    let of_entries = -(2.0 * &coordinates) / 2.0 * -1.5;
    assert_eq!(of_entries.to_dense().unwrap().to_vec().unwrap(), expected);
    for axis in [0, 1] {
        let sums = a.sum_axis(axis).to_vec().unwrap();
        assert_eq!(columns.sum_axis(axis).to_vec().unwrap(), sums);
        assert_eq!(coordinates.sum_axis(axis).to_vec().unwrap(), sums);
    }
    // Column by column, and entry by entry; the formats that were kept do not stay.
    let _ = (columns.to_csr(), coordinates.to_csr());
    let values = || Vector::from_vec(vec![7.0, 8.0, 9.0]);
    let changed = columns.with_values(values()).unwrap().to_dense().unwrap();
    assert_eq!(changed.to_vec().unwrap(), [7.0, 0.0, 9.0, 0.0, 8.0, 0.0]);
    let changed = coordinates
        .with_values(values())
        .unwrap()
        .to_dense()
        .unwrap();
    assert_eq!(changed.to_vec().unwrap(), [7.0, 0.0, 8.0, 0.0, 9.0, 0.0]);
    assert!(columns.with_values(Vector::ones([2])).is_err());
    assert_eq!((columns.n_rows(), coordinates.n_cols()), (2, 3));
}

/// Loops that assemble the same places again sum by what they remember; the bits are those of a
/// matrix that is assembled for the first time, down to the signs of zeros.
#[test]
fn the_same_places_with_other_values() {
    let (shape, len) = ((70, 50), 3000);
    let place = |k: usize, n: usize| (k * k * 31 + k * 7) as u32 % n as u32;
    let rows: Vec<u32> = (0..len).map(|k| place(k, shape.0)).collect();
    let cols: Vec<u32> = (0..len).map(|k| place(k / 3, shape.1)).collect();
    let values = |round: usize| -> Vec<f64> {
        let value = |k: usize| match (k * 13 + round * 5) % 17 {
            0..4 => -0.0,
            4 => f64::INFINITY,
            k => (k as f64).sin() / 3.0,
        };
        (0..len).map(value).collect()
    };
    let triplets = |vals: Vec<f64>| {
        let (rows, cols) = (rows.clone(), cols.clone());
        sparsefuse_sparse::Triplets::from_parts(shape.0, shape.1, rows, cols, vals).unwrap()
    };
    everywhere(|| {
        let places = Coo::from_triplets(triplets(values(0)))?;
        let x = Vector::ones([shape.1]);
        let mut all = Vec::new();
        for round in 0..4 {
            let coo = places.with_values(values(round).into())?;
            let a = coo.to_csr()?;
            let new = Coo::from_triplets(triplets(values(round)))?.to_csr()?;
            assert_eq!(crate::rows(&a)?, crate::rows(&new)?);
            // Products pack the matrix, which gives up its plain arrays.
            for _ in 0..2 {
                all.push(bits(&(&a * &x).to_vec()?));
            }
            let transposed = coo.transpose();
            assert_eq!(
                crate::rows(&transposed.to_csr()?)?,
                crate::rows(&new.transpose()?)?
            );
        }
        let empty = Coo::from_triplets(sparsefuse_sparse::Triplets::<f64>::new(3, 0).unwrap())?;
        for _ in 0..3 {
            let again = empty.with_values(Vector::zeros([0]))?.to_csr()?;
            assert_eq!((again.shape(), again.nnz()), ((3, 0), 0));
        }
        Ok(all)
    });
}
