//! The diagonal and the transpose.

use crate::{Entries, Exact, bits, entries, everywhere, for_each_type, rows};
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::Vector;
use sparsefuse_sparse::gallery;

fn check_diagonal<T: Exact>(entries: &Entries) {
    let found = everywhere(|| {
        let diagonal = entries.csr::<T>()?.diagonal(0)?;
        // An array like any other: it takes part in what follows.
        let twice = &diagonal + &diagonal;
        Ok((bits(&diagonal.to_vec()?), bits(&twice.to_vec()?)))
    });
    let dense = entries.dense::<T>();
    let expected: Vec<T> = dense.diag().to_vec();
    let twice: Vec<T> = expected.iter().map(|&value| value + value).collect();
    assert_eq!(found, (bits(&expected), bits(&twice)));
}

fn check_transpose<T: Exact>(entries: &Entries) {
    let found = everywhere(|| {
        let a = entries.csr::<T>()?;
        let transposed = a.transpose()?;
        assert_eq!(transposed.shape(), (entries.n_cols, entries.n_rows));
        assert_eq!(rows(&transposed.transpose()?)?, rows(&a)?);
        let scaled = a.scale(T::exact(2)).transpose()?;
        assert_eq!(rows(&scaled)?, rows(&transposed.scale(T::exact(2)))?);
        transposed.to_ndarray()
    });
    assert_eq!(found, entries.dense::<T>().reversed_axes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn diagonals(entries in entries()) {
        for_each_type!(check_diagonal(&entries));
    }

    #[test]
    fn transposes(entries in entries()) {
        for_each_type!(check_transpose(&entries));
    }
}

#[test]
fn diagonals_of_square_wide_and_tall_matrices() {
    for (n_rows, n_cols) in [(7, 7), (3, 9), (9, 3), (1, 8), (8, 1), (0, 4), (4, 0)] {
        let most = n_rows.min(n_cols);
        // Every second diagonal entry is missing.
        let entries: Vec<_> = (0..most).step_by(2).map(|i| (i, i, i as i8 + 1)).collect();
        let entries = Entries {
            n_rows,
            n_cols,
            entries,
        };
        check_diagonal::<f64>(&entries);
        check_diagonal::<i64>(&entries);
    }
}

/// Positions that are read through shifted views move to memory with room for those of other
/// ranks; the matrix is the same afterwards, also for what is kept with its columns.
#[test]
fn positions_are_read_through_shifted_views() {
    everywhere(|| {
        let n = 47;
        let a = gallery::banded_varying::<f64>(n, 5)?;
        let x = Vector::from_vec((0..n).map(|i| (i as f64).cos()).collect());
        let (fresh, product) = (rows(&a)?, bits(&(&a * &x).to_vec()?));
        let transpose = rows(&a.transpose()?)?;
        let pos = Vector::<u64>::from_store(a.pos().clone(), None)?;
        let lengths = pos.slice(1..) - pos.slice(..n);
        assert_eq!(lengths.to_vec()?, a.nnz_per_row()?.to_vec()?);
        for _ in 0..3 {
            assert_eq!(bits(&(&a * &x).to_vec()?), product);
            assert_eq!(rows(&a)?, fresh);
            assert_eq!(rows(&a.transpose()?)?, transpose);
        }
        // From further away, after it has moved once.
        let twice = pos.slice(3..) - pos.slice(..n - 2);
        assert_eq!(twice.to_vec()?[0], 3 + 4 + 5);
        assert_eq!(rows(&a)?, fresh);
        Ok(product)
    });
}
