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
