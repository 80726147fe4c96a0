//! Direct solves for many columns, and of matrices that are factored as a band: against products
//! with the matrix, in all settings, and each column as alone, to the bit.

use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real, Value, random};
use sparsefuse_runtime::{Error, ErrorKind};
use sparsefuse_solvers::preconditioners::{Direct, Preconditioner, spcholesky, splu, spsolve};
use sparsefuse_sparse::{Csr, Triplets, gallery};
use sparsefuse_testing::{bits, everywhere};

/// A matrix with numbers within these distances of the diagonal, which are no larger there.
fn band<T: Field>(n: usize, below: usize, above: usize, seed: u64) -> Result<Csr<T>, Error> {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    let mut triplets = Triplets::new(n, n)?;
    for row in 0..n {
        for column in row.saturating_sub(below)..n.min(row + above + 1) {
            let k = 2 * (row * n + column);
            let im = if T::IS_COMPLEX { part(k + 1) } else { 0.0 };
            triplets.push(row, column, T::from_parts(part(k), im))?;
        }
    }
    Csr::from_triplets(&triplets)
}

type Solve<T> = fn(&Direct<T>, &Array<T, 2>) -> Result<Array<T, 2>, Error>;

/// The residuals of systems with some columns, and the bits of all of them as alone.
fn columns<T: Field>(
    a: &Csr<T>,
    factors: &Direct<T>,
    counts: &[usize],
) -> Result<Vec<Vec<Value>>, Error> {
    let n = a.n_rows();
    let (a, transpose, adjoint) = (a.clone(), a.transpose()?, a.adjoint()?);
    let systems: [(&Csr<T>, Solve<T>); 3] = [
        (&a, |factors, b| factors.solve(b)),
        (&transpose, |factors, b| factors.solve_transpose(b)),
        (&adjoint, |factors, b| factors.solve_adjoint(b)),
    ];
    let mut found = Vec::new();
    for (a, solve) in systems {
        for &count in counts {
            let b = Array::<T, 2>::random_normal([n, count + 1], 7);
            // A view, whose rows are not beside each other.
            let b = b.slice((.., 1..));
            let x = solve(factors, &b)?;
            assert_eq!(x.shape(), [n, count]);
            let left = (a * &x - &b).norm_inf().get()?.to_f64();
            let size = a.norm_inf().get()?.to_f64() * x.norm_inf().get()?.to_f64();
            let bound = 1e3 * T::Real::EPSILON.to_f64() * size;
            assert!(left <= bound, "{n} {count}: {left:e}, {bound:e}");
            for column in (0..count).step_by(count.div_ceil(5)) {
                let alone = solve(factors, &b.slice((.., column..column + 1)))?;
                let beside = x.slice((.., column..column + 1));
                assert_eq!(bits(&beside.to_vec()?), bits(&alone.to_vec()?), "{column}");
            }
            found.push(bits(&x.to_vec()?));
        }
    }
    Ok(found)
}

fn of_type<T: Field>() {
    let bands = [
        (1, 0, 0),
        (2, 1, 1),
        (9, 0, 3),
        (9, 3, 0),
        (30, 1, 1),
        (30, 2, 2),
        (31, 4, 1),
        (31, 1, 5),
        (12, 11, 11),
    ];
    for (n, below, above) in bands {
        let a = band::<T>(n, below, above, 3).unwrap();
        columns(&a, &splu(&a).unwrap(), &[1, 2, 3, 5, 9]).unwrap();
    }
    everywhere(|| {
        let a = band::<T>(23, 2, 3, 5)?;
        columns(&a, &splu(&a)?, &[2, 70])
    });
}

#[test]
fn bands() {
    of_type::<f64>();
    of_type::<f32>();
    of_type::<Complex<f64>>();
    of_type::<Complex<f32>>();
}

#[test]
fn new_values_of_bands_and_rows_that_are_exchanged() -> Result<(), Error> {
    let a = band::<f64>(50, 3, 2, 1)?;
    let other = band::<f64>(50, 3, 2, 2)?;
    let b = Vector::random_normal([50], 1);
    let mut factors = splu(&a)?;
    factors.update(&other)?;
    let fresh = spsolve(&other, &b)?.to_vec()?;
    assert_eq!(bits(&factors.solve(&b)?.to_vec()?), bits(&fresh));
    let dense = other.to_dense()?.solve(&b)?.to_vec()?;
    for (x, y) in fresh.iter().zip(&dense) {
        assert!((x - y).abs() < 1e-9 * (1.0 + y.abs()), "{x} {y}");
    }
    // No pivot is on the diagonal.
    let turned = Csr::new(4, 4, vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![2.0; 4])?;
    let b = Vector::from_vec(vec![2.0, 4.0, 6.0, 8.0]);
    assert_eq!(spsolve(&turned, &b)?.to_vec()?, [2.0, 1.0, 4.0, 3.0]);
    Ok(())
}

#[test]
fn bands_that_are_singular() -> Result<(), Error> {
    let is_singular = |a: &Csr<f64>| {
        let error = splu(a).err().map(|error| error.root().clone());
        matches!(error, Some(ErrorKind::Singular { op: "splu", .. }))
    };
    let ones = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0; 4])?;
    assert!(is_singular(&ones));
    let no_column = Csr::new(2, 2, vec![0, 1, 2], vec![0, 0], vec![1.0; 2])?;
    assert!(is_singular(&no_column));
    assert!(is_singular(&Csr::new(
        1,
        1,
        vec![0, 1],
        vec![0],
        vec![0.0]
    )?));
    let none = Csr::<f64>::zeros(0, 0)?;
    let x = splu(&none)?.solve(&Array::<f64, 2>::zeros([0, 3]))?;
    assert_eq!(x.shape(), [0, 3]);
    Ok(())
}

/// Neither has a narrow band; the second one has supernodes.
#[test]
fn columns_of_sparse_factors() -> Result<(), Error> {
    let mut triplets = Triplets::new(300, 300)?;
    for row in 0..300 {
        triplets.push(row, row, 4.0)?;
        triplets.push(row, (row + 1) % 300, -1.0)?;
        triplets.push(row, (row * 7 + 3) % 300, 0.5)?;
    }
    let cyclic = Csr::from_triplets(&triplets)?;
    for a in [&cyclic, &gallery::poisson3d::<f64>(9)?] {
        columns(a, &splu(a)?, &[3, 9])?;
        let normal = a.transpose()?.matmul(a);
        columns(&normal, &spcholesky(&normal)?, &[3, 9])?;
    }
    Ok(())
}

/// Rows whose sizes are so far apart that powers of two, by which all entries of a row and of a
/// column come near 1, do not exist within the range of the type.
#[test]
fn entries_stay_within_the_range() -> Result<(), Error> {
    let x = [1.0, 2.0, 3.0, 4.0];
    for (decades, is_solved) in [(290, false), (200, true), (100, true)] {
        let (large, small) = (10f64.powi(decades), 10f64.powi(-decades));
        let entries = [
            [large, 0.0, 0.0, 0.0],
            [small, small, 0.0, 0.0],
            [0.0, small, small, 0.0],
            [large, 0.0, 0.0, large],
        ];
        let a = Csr::from_dense(&Array::from_fn([4, 4], |[i, j]| entries[i][j]))?;
        let b = entries.map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum());
        let found = spsolve(&a, &Vector::from_vec(b.to_vec()))?.to_vec()?;
        assert!((found[0] - 1.0).abs() < 1e-12, "{found:?}");
        for (found, x) in found.into_iter().zip(x) {
            let is_near = (found - x).abs() < 1e-12;
            assert!(found.is_finite() && (is_near || !is_solved), "{found}");
        }
    }
    Ok(())
}

#[test]
fn the_row_of_a_pivot_that_is_not_positive() -> Result<(), Error> {
    for (n, row) in [(5, 3), (40, 17)] {
        let mut values = vec![2.0; n];
        values[row] = -1.0;
        let a = Csr::from_triplets(&{
            let mut triplets = Triplets::new(n, n)?;
            for (row, &value) in values.iter().enumerate() {
                triplets.push(row, row, value)?;
            }
            triplets
        })?;
        let error = spcholesky(&a).err().map(|error| error.to_string());
        let expected = format!(
            "spcholesky: expected a positive definite matrix, found one whose pivot in row {row} \
             is not positive"
        );
        assert_eq!(error, Some(expected));
    }
    let dense = Array::<f64, 2>::from_fn([60, 60], |[i, j]| match (i == j, i) {
        (true, 41) => -500.0,
        (true, _) => 100.0,
        _ => 1.0,
    });
    let error = spcholesky(&Csr::from_dense(&dense)?).err();
    let error = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("row 41 "), "{error}");
    Ok(())
}
