//! Products of two sparse matrices.

use crate::{Entries, Exact, bits, entries_of, everywhere, for_each_type, rows};
use ndarray::Array2;
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use sparsefuse_sparse::{Csr, LocalRows, Multiplication, gallery};

/// Two matrices whose product exists.
fn factors() -> impl Strategy<Value = (Entries, Entries)> {
    (0usize..14, 0usize..14, 0usize..14)
        .prop_flat_map(|(rows, inner, cols)| (entries_of(rows, inner), entries_of(inner, cols)))
}

/// The product by loops, and whether there is a term at each place.
fn dense_product<T: Exact>(left: &Entries, right: &Entries) -> (Array2<T>, Vec<(usize, usize)>) {
    let (a, b) = (left.dense::<T>(), right.dense::<T>());
    let mut product = Array2::from_elem((left.n_rows, right.n_cols), T::ZERO);
    for i in 0..left.n_rows {
        for k in 0..left.n_cols {
            for j in 0..right.n_cols {
                product[(i, j)] = product[(i, j)] + a[(i, k)] * b[(k, j)];
            }
        }
    }
    let meets = |i, j| {
        let (left, right) = (left.places(), right.places());
        (0..a.ncols()).any(|k| left.contains(&(i, k)) && right.contains(&(k, j)))
    };
    let places = (0..left.n_rows).flat_map(|i| (0..right.n_cols).map(move |j| (i, j)));
    (product, places.filter(|&(i, j)| meets(i, j)).collect())
}

fn check_product<T: Exact>(left: &Entries, right: &Entries) {
    let (dense, places) = dense_product::<T>(left, right);
    let (pos, crd, vals) = everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        let product = a.try_matmul(&b)?;
        assert_eq!(product.shape(), (left.n_rows, right.n_cols));
        assert_eq!(rows(&(&a * &b))?, rows(&product)?);

        let mut again = Multiplication::new(&a, &b)?;
        let (two, three) = (T::exact(2), T::exact(3));
        again.update(&a.scale(two), &right.csr()?.scale(three))?;
        let scaled = product.scale(two * three);
        assert_eq!(rows(again.product())?.1, rows(&scaled)?.1);
        assert_eq!(again.product().to_ndarray()?, scaled.to_ndarray()?);
        rows(&product)
    });
    let found: Vec<_> = (0..left.n_rows)
        .flat_map(|row| (pos[row]..pos[row + 1]).map(move |k| (row, k as usize)))
        .map(|(row, k)| (row, crd[k] as usize))
        .collect();
    assert_eq!(found, places);
    let expected: Vec<T> = places.iter().map(|&place| dense[place]).collect();
    assert_eq!(vals, bits(&expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn products((left, right) in factors()) {
        for_each_type!(check_product(&left, &right));
    }
}

/// Rows that repeat the one before, and rows that do not, to the bit.
#[test]
fn products_are_summed_in_order() {
    let (pos, crd, vals) = everywhere(|| {
        let a = gallery::poisson2d::<f64>(7)?;
        let numbers = (0..a.nnz())
            .map(|k| (k as f64 * 0.37).sin())
            .collect::<Vec<_>>();
        let a = a.with_values(sparsefuse_dense::Vector::from_vec(numbers))?;
        rows(&a.try_matmul(&a)?)
    });
    let a = gallery::poisson2d::<f64>(7).unwrap();
    let LocalRows {
        pos: a_pos,
        crd: a_crd,
        ..
    } = a.to_rows().unwrap();
    let value = |k: usize| (k as f64 * 0.37).sin();
    let entries = |row: usize| a_pos[row] as usize..a_pos[row + 1] as usize;
    for row in 0..49 {
        let mut sums = [None; 49];
        for left in entries(row) {
            for right in entries(a_crd[left] as usize) {
                let sum = &mut sums[a_crd[right] as usize];
                *sum = Some(value(left).mul_add(value(right), sum.unwrap_or(0.0)));
            }
        }
        let columns: Vec<u32> = (0..49).filter(|&j| sums[j as usize].is_some()).collect();
        let sums: Vec<f64> = sums.into_iter().flatten().collect();
        let found = pos[row] as usize..pos[row + 1] as usize;
        assert_eq!(crd[found.clone()], columns);
        assert_eq!(vals[found], bits(&sums));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = gallery::poisson1d::<f64>(3).unwrap();
    let b = gallery::poisson1d::<f64>(4).unwrap();
    let error = a.try_matmul(&b).unwrap_err().to_string();
    assert_eq!(
        error,
        "spgemm: expected a right factor with 3 rows, found one with 4"
    );
    let mut square = Multiplication::new(&a, &a).unwrap();
    let diagonal = Csr::identity(3).unwrap();
    let error = square.update(&a, &diagonal).unwrap_err().to_string();
    let expected = "spgemm: expected factors with the structures of the first ones, \
                    found other structures";
    assert_eq!(error, expected);
}

/// Rows of the factors on other ranks than before: what is kept of the structures is made again.
#[test]
fn factors_that_are_cut_elsewhere() {
    const ROWS: usize = 64;
    // Few entries in the first half of the rows, so that balance cuts elsewhere.
    let uneven = || {
        Csr::<f64>::from_rows(ROWS, ROWS, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), 0);
            for row in rows {
                match row < ROWS / 2 {
                    true => local.push(row as u32, 1.0),
                    false => (0..32).for_each(|column| local.push(column, row as f64)),
                }
                local.end_row();
            }
            local
        })
    };
    let of_row_40 = || {
        Csr::<f64>::from_rows(ROWS, ROWS, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), rows.len());
            for row in rows {
                local.push(40, row as f64);
                local.end_row();
            }
            local
        })
    };
    everywhere(|| {
        let (a, b) = (uneven()?, of_row_40()?);
        for (left, right) in [(&b, &a), (&a, &b), (&a, &a)] {
            let fresh = rows(&left.try_matmul(right)?)?;
            for (other_left, other_right) in [
                (left.balance()?, right.clone()),
                (left.clone(), right.balance()?),
                (left.balance()?, right.balance()?),
            ] {
                let mut product = Multiplication::new(left, right)?;
                assert_eq!(rows(product.update(&other_left, &other_right)?)?, fresh);
                assert_eq!(rows(product.update(left, right)?)?, fresh);
            }
        }
        Ok(())
    });
}
