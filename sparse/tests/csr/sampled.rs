//! Products at the entries of a matrix: of rows of dense matrices, and of sparse ones.

use crate::{Entries, Exact, bits, entries_of, everywhere, for_each_type, for_two_types, rows};
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_sparse::{Csr, LocalRows, gallery};

fn elements<T: Exact>(len: usize, step: usize) -> Vec<T> {
    (0..len)
        .map(|k| T::exact((k * step % 7) as i8 - 3))
        .collect()
}

fn check_sddmm<T: Exact>(entries: &Entries, width: usize) {
    let (n_rows, n_cols) = (entries.n_rows, entries.n_cols);
    let (x, y) = (
        elements::<T>(n_rows * width, 3),
        elements::<T>(n_cols * width, 5),
    );
    let expected: Vec<T> = entries
        .places()
        .iter()
        .map(|&(row, col)| {
            let terms = (0..width).map(|k| x[row * width + k] * y[col * width + k]);
            entries.dense::<T>()[(row, col)] * terms.fold(T::ZERO, |sum, term| sum + term)
        })
        .collect();
    let vals = everywhere(|| {
        let s = entries.csr::<T>()?;
        let x = Array::from_shape_vec([n_rows, width], x.clone())?;
        let y = Array::from_shape_vec([n_cols, width], y.clone())?;
        let sampled = s.sddmm(&x, &y)?;
        assert!(sampled.has_structure_of(&s)?);
        // Arrays that were just computed, and transposes, which are views.
        let (doubled, twice) = (&x * T::exact(2), s.scale(T::exact(2)));
        let other = s.sddmm(&doubled, &y)?;
        let same = twice.sddmm(&x, &y)?;
        assert_eq!(other.values().to_vec()?, same.values().to_vec()?);
        let turned = Array::from_shape_vec([width, n_cols], {
            let y = y.to_vec()?;
            (0..width * n_cols)
                .map(|k| y[k % n_cols.max(1) * width + k / n_cols.max(1)])
                .collect()
        })?;
        assert_eq!(rows(&s.sddmm(&x, &turned.t())?)?, rows(&sampled)?);
        Ok(rows(&sampled)?.2)
    });
    assert_eq!(vals, bits(&expected));
}

fn check_masked<T: Exact>(left: &Entries, right: &Entries, mask: &Entries) {
    let (a, b) = (left.dense::<T>(), right.dense::<T>());
    let expected: Vec<T> = mask
        .places()
        .iter()
        .map(|&(row, col)| {
            let terms = (0..left.n_cols).map(|k| a[(row, k)] * b[(k, col)]);
            terms.fold(T::ZERO, |sum, term| sum + term)
        })
        .collect();
    let vals = everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        let mask = mask.csr::<f32>()?;
        let product = a.matmul_masked(&b, &mask)?;
        assert_eq!(rows(&product)?.1, rows(&mask)?.1);
        // Rows of the mask that are cut in another way than those of the factor.
        let balanced = a.matmul_masked(&b, &mask.balance()?)?;
        assert_eq!(rows(&balanced)?, rows(&product)?);
        // The whole product as its own mask.
        let whole = &a * &b;
        assert_eq!(rows(&a.matmul_masked(&b, &whole)?)?, rows(&whole)?);
        Ok(rows(&product)?.2)
    });
    assert_eq!(vals, bits(&expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sddmm(
        entries in (0usize..14, 0usize..14).prop_flat_map(|(rows, cols)| entries_of(rows, cols)),
        width in 0usize..40,
    ) {
        for_each_type!(check_sddmm(&entries, width));
    }

    #[test]
    fn masked((left, right, mask) in (0usize..14, 0usize..14, 0usize..14)
        .prop_flat_map(|(rows, inner, cols)| {
            (entries_of(rows, inner), entries_of(inner, cols), entries_of(rows, cols))
        }))
    {
        for_two_types!(check_masked(&left, &right, &mask));
    }
}

/// Sums that depend on their order, to the bit on all ranks, and those of the whole product.
#[test]
fn sums_have_an_order() {
    const N: usize = 60;
    let varied = |len: usize, seed: f64| (0..len).map(|k| (k as f64 * seed).sin()).collect();
    let seen = everywhere(|| {
        let s = gallery::banded_varying::<f64>(N, 5)?;
        let x = Array::from_shape_vec([N, 37], varied(N * 37, 0.7))?;
        let y = Array::from_shape_vec([N, 37], varied(N * 37, 1.1))?;
        let sampled = s.sddmm(&x, &y)?;
        let values: Vec<f64> = varied(s.nnz(), 0.3);
        let a = s.with_values(Vector::from_vec(values))?;
        let whole = a.matmul(&a);
        let masked = a.matmul_masked(&a, &s)?;
        let LocalRows { pos, crd, vals } = whole.to_rows()?;
        let LocalRows {
            pos: mask_pos,
            crd: mask_crd,
            vals: found,
        } = masked.to_rows()?;
        for row in 0..N {
            for k in mask_pos[row] as usize..mask_pos[row + 1] as usize {
                let of_row = pos[row] as usize..pos[row + 1] as usize;
                let place = crd[of_row.clone()].binary_search(&mask_crd[k]).unwrap();
                assert_eq!(found[k].to_bits(), vals[of_row.start + place].to_bits());
            }
        }
        Ok((rows(&sampled)?, rows(&masked)?))
    });
    assert!(!seen.0.2.is_empty());
}

#[test]
fn shapes_are_checked() {
    let s = Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0, 2.0]).unwrap();
    let array = |rows, cols| Array::<f64, 2>::ones([rows, cols]);
    let sddmm = |x: &Array<f64, 2>, y: &Array<f64, 2>| s.sddmm(x, y).unwrap_err().to_string();
    assert_eq!(
        sddmm(&array(3, 4), &array(3, 4)),
        "sddmm: expected a shape of (2, 4), found (3, 4)"
    );
    assert_eq!(
        sddmm(&array(2, 4), &array(3, 5)),
        "sddmm: expected a shape of (3, 4), found (3, 5)"
    );
    let masked = |b: &Csr<f64>, mask: &Csr<f64>| s.matmul_masked(b, mask).unwrap_err().to_string();
    assert_eq!(
        masked(&s, &s),
        "matmul_masked: expected a right factor with 3 rows, found one with 2"
    );
    let square = Csr::identity(3).unwrap();
    assert_eq!(
        masked(&square, &square),
        "matmul_masked: expected a mask of 2 by 3, found one of 3 by 3"
    );
}
