//! From and to `sprs`, `ndarray` and dense arrays.

use crate::{Entries, Exact, bits, entries, everywhere, for_each_type, rows};
use num_complex::Complex;
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::Array;
use sparsefuse_sparse::Csr;
use sprs::{CsMat, TriMat};

/// The matrix as `sprs` assembles it.
fn oracle<T: Exact>(entries: &Entries) -> CsMat<T> {
    let mut triplets = TriMat::new((entries.n_rows, entries.n_cols));
    for &(row, col, k) in &entries.entries {
        triplets.add_triplet(row, col, T::exact(k));
    }
    triplets.to_csr()
}

fn check_sprs<T: Exact>(entries: &Entries) {
    let csr = oracle::<T>(entries);
    let csc = csr.to_csc();
    let found = everywhere(|| {
        let a = Csr::from_sprs(&csr)?;
        assert_eq!(rows(&a)?, rows(&entries.csr::<T>()?)?);
        assert_eq!(rows(&a)?, rows(&Csr::from_sprs(&csc)?)?);
        a.to_sprs()
    });
    assert_eq!(found, csr);
}

fn check_dense<T: Exact>(entries: &Entries) {
    let dense = entries.dense::<T>();
    let found = everywhere(|| {
        let a = Csr::from_ndarray(dense.view())?;
        assert!(a.values().to_vec()?.iter().all(|&value| value != T::ZERO));
        let array = a.to_dense()?;
        assert_eq!(array.shape(), [entries.n_rows, entries.n_cols]);
        assert_eq!(bits(&array.to_vec()?), bits(dense.as_slice().unwrap()));
        assert_eq!(rows(&Csr::from_dense(&array)?)?, rows(&a)?);
        // Through a view, and held by every rank.
        let turned = array.t();
        assert_eq!(rows(&Csr::from_dense(&turned)?.transpose()?)?, rows(&a)?);
        let given = Array::from_shape_vec(array.shape(), array.to_vec()?)?;
        assert_eq!(rows(&Csr::from_dense(&given)?)?, rows(&a)?);
        let triplets = a.to_triplets()?;
        assert_eq!(rows(&Csr::from_triplets(&triplets)?)?, rows(&a)?);
        a.to_ndarray()
    });
    assert_eq!(found, dense);
    let turned = dense.clone().reversed_axes();
    let found = everywhere(|| Csr::from_ndarray(turned.view())?.to_ndarray());
    assert_eq!(found, turned);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn from_and_to_sprs(entries in entries()) {
        for_each_type!(check_sprs(&entries));
    }

    #[test]
    fn from_and_to_dense(entries in entries()) {
        for_each_type!(check_dense(&entries));
    }
}

/// The positions of such a matrix do not begin with 0.
#[test]
fn some_rows_of_a_sprs_matrix() {
    let whole = CsMat::new((3, 2), vec![0, 1, 2, 4], vec![0, 1, 0, 1], vec![1, 2, 3, 4]);
    let part = whole.slice_outer(1..3).to_owned();
    let found = everywhere(|| Csr::<i64>::from_sprs(&part)?.to_ndarray());
    assert_eq!(found, ndarray::array![[0, 2], [3, 4]]);
}

#[test]
fn stored_zeros_stay() {
    let stored = CsMat::new((1, 2), vec![0, 2], vec![0, 1], vec![0.0, -0.0]);
    let found = everywhere(|| {
        let a = Csr::from_sprs(&stored)?;
        Ok((a.nnz(), bits(a.to_sprs()?.data())))
    });
    assert_eq!(found, (2, bits(&[0.0, -0.0])));
    let dense = ndarray::array![[Complex::new(0.0, 0.0), Complex::new(0.0, 1.0)]];
    let found = everywhere(|| Ok(Csr::<Complex<f64>>::from_ndarray(dense.view())?.nnz()));
    assert_eq!(found, 1);
}
