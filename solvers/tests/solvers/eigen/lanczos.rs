//! Lanczos's method against formulas and dense eigenvalues.

use super::{check, hermitian, poisson_values};
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_solvers::eigen::{
    EigsOptions, EigshOptions, Which, eigs_near, eigsh, eigsh_near, eigsh_with_inverse,
};
use sparsefuse_solvers::preconditioners::splu;
use sparsefuse_solvers::{MatrixFree, StopReason};
use sparsefuse_sparse::{Csr, gallery};

fn options<'a, T>(which: Which) -> EigshOptions<'a, T> {
    EigshOptions {
        which,
        ..EigshOptions::default()
    }
}

/// The wanted ones of some ascending values, ascending.
fn wanted(values: &[f64], which: Which, k: usize) -> Vec<f64> {
    let n = values.len();
    let mut chosen = match which {
        Which::Largest => values[n - k..].to_vec(),
        Which::Smallest => values[..k].to_vec(),
        Which::BothEnds => [&values[..k / 2], &values[n - k.div_ceil(2)..]].concat(),
        Which::LargestMagnitude | Which::SmallestMagnitude => {
            let mut all = values.to_vec();
            all.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
            if which == Which::LargestMagnitude {
                all.reverse();
            }
            all[..k].to_vec()
        }
    };
    chosen.sort_by(f64::total_cmp);
    chosen
}

const ALL: [Which; 5] = [
    Which::Largest,
    Which::Smallest,
    Which::LargestMagnitude,
    Which::SmallestMagnitude,
    Which::BothEnds,
];

#[test]
fn poisson_in_one_dimension() {
    let a = gallery::poisson1d::<f64>(200).unwrap();
    let values = poisson_values(200, 1);
    for which in ALL {
        for k in [1, 2, 5] {
            let eigen = eigsh(&a, k, &options(which)).unwrap();
            let what = format!("{which:?} {k}");
            check(&what, &a, &eigen, &wanted(&values, which, k), 1e-13);
        }
    }
}

/// Here most eigenvalues are double or sixfold, and all copies are found.
#[test]
fn poisson_in_more_dimensions() {
    for which in [Which::Largest, Which::Smallest] {
        let a = gallery::poisson2d::<f64>(20).unwrap();
        let eigen = eigsh(&a, 6, &options(which)).unwrap();
        let values = wanted(&poisson_values(20, 2), which, 6);
        check("poisson2d", &a, &eigen, &values, 1e-13);

        let a = gallery::poisson3d::<f64>(9).unwrap();
        let eigen = eigsh(&a, 7, &options(which)).unwrap();
        let values = wanted(&poisson_values(9, 3), which, 7);
        check("poisson3d", &a, &eigen, &values, 1e-13);
    }
}

fn check_random<T: Field>(tolerance: f64) {
    for (n, per_row) in [(2, 2), (5, 5), (21, 6), (80, 9)] {
        let (a, values) = hermitian::<T>(n, per_row, 3 + n as u64);
        for which in ALL {
            for k in [1, 2, 4, 7].into_iter().filter(|&k| k < n) {
                // In the middle of the spectrum they converge when the space is nearly all.
                let ncv = (which == Which::SmallestMagnitude).then(|| n.min(70));
                let options = EigshOptions {
                    ncv,
                    ..options(which)
                };
                let eigen = eigsh(&a, k, &options).unwrap();
                let what = format!("{which:?} {k} of {n}");
                check(&what, &a, &eigen, &wanted(&values, which, k), tolerance);
            }
        }
    }
}

#[test]
fn dense_eigenvalues() {
    check_random::<f64>(1e-13);
    check_random::<Complex<f64>>(1e-13);
    check_random::<f32>(1e-5);
    check_random::<Complex<f32>>(1e-5);
}

#[test]
fn near_a_number() {
    let (a, values) = hermitian::<Complex<f64>>(120, 8, 1);
    for sigma in [-1.3, 0.0, 0.4] {
        let mut nearest = values.clone();
        nearest.sort_by(|x, y| (x - sigma).abs().total_cmp(&(y - sigma).abs()));
        nearest.truncate(5);
        nearest.sort_by(f64::total_cmp);
        let eigen = eigsh_near(&a, sigma, 5, &EigshOptions::default()).unwrap();
        check("near", &a, &eigen, &nearest, 1e-13);
        assert!(eigen.products < 60, "{}", eigen.products);

        let above = values.iter().copied().filter(|&value| value > sigma);
        let above: Vec<f64> = above.take(3).collect();
        let eigen = eigsh_near(&a, sigma, 3, &options(Which::Largest)).unwrap();
        check("above", &a, &eigen, &above, 1e-13);
    }
    let a = gallery::poisson2d::<f32>(12).unwrap();
    let values: Vec<f64> = poisson_values(12, 2)[..4].to_vec();
    let eigen = eigsh_near(&a, 0.0, 4, &EigshOptions::default()).unwrap();
    check("single precision", &a, &eigen, &values, 1e-6);
}

/// Beside the shift the matrix is nothing, so the inverse is that of the shift alone: its vectors
/// are no eigenvectors of the matrix, though their images vanish.
#[test]
fn a_shift_that_hides_the_matrix() {
    let a = gallery::poisson1d::<f64>(30).unwrap();
    let small = &a * 1e-200;
    for (a, sigma) in [(&a, 1e17), (&a, -1e120), (&a, 1e250), (&small, 1.0)] {
        let eigen = eigsh_near(a, sigma, 3, &EigshOptions::default()).unwrap();
        assert_eq!(eigen.reason, StopReason::Stagnation, "{sigma}");
        assert_eq!(eigen.n_converged, 0, "{sigma}");
    }
    let eigen = eigsh_near(&small, 1e-200, 3, &EigshOptions::default()).unwrap();
    assert!(eigen.converged());
}

/// The inverse maps all to the eigenvector of sigma, but for rounding: all else that is found is
/// wrong, and once counted as converged. With factors at hand a number beside sigma is taken.
#[test]
fn near_an_eigenvalue_up_to_rounding() {
    let a = gallery::poisson1d::<f64>(30).unwrap();
    let sigma = poisson_values(30, 1)[2] + 1e-14;
    let inverse = splu(&(&a - &(Csr::identity(30).unwrap() * sigma))).unwrap();
    let eigen = eigsh_with_inverse(&a, &inverse, sigma, 3, &EigshOptions::default()).unwrap();
    assert_eq!(eigen.reason, StopReason::Stagnation);
    assert_eq!(eigen.n_converged, 1);
    assert!((eigen.values[1] - sigma).abs() < 2e-14);
    let eigen = eigsh_near(&a, sigma, 3, &EigshOptions::default()).unwrap();
    check("beside", &a, &eigen, &poisson_values(30, 1)[1..4], 1e-13);
    let eigen = eigsh_near(&a, sigma, 1, &EigshOptions::default()).unwrap();
    check("itself", &a, &eigen, &[sigma - 1e-14], 1e-14);
    let near = eigsh_near(&a, sigma + 1e-7, 3, &EigshOptions::default()).unwrap();
    check("beside it", &a, &near, &poisson_values(30, 1)[1..4], 1e-8);
}

/// Eigenvalues that occur more often than a restart keeps vectors: rounding brings in one copy
/// after another, which does not keep those that there are from converging.
#[test]
fn eigenvalues_of_many_copies() {
    let (n, n_copies) = (40, 20);
    for (copied, which) in [(5.0, Which::Largest), (-2.0, Which::Smallest)] {
        for seed in 0..4 {
            let other = |i: usize| (1.0 + i as f64 / n as f64 + seed as f64 / 7.0).sin().abs();
            let value = |i: usize| if i < n_copies { copied } else { other(i) };
            // Two reflections of a diagonal matrix.
            let mut a = Array::from_fn([n, n], |[i, j]| if i == j { value(i) } else { 0.0 });
            for k in 0..2 {
                let x = Vector::<f64>::random_normal([n], 10 * seed + k);
                let x = (&x / x.norm2()).insert_axis(1);
                let reflection = Array::eye(n) - x.matmul(&x.t()) * 2.0;
                a = reflection.matmul(&a).matmul(&reflection);
            }
            let a = Csr::from_dense(&((&a + a.t()) * 0.5)).unwrap();
            let eigen = eigsh(&a, 6, &options(which)).unwrap();
            check("copies", &a, &eigen, &[copied; 6], 1e-14);
            assert!(eigen.products < 300, "{} products", eigen.products);
        }
    }
}

/// Spaces that cannot grow: the method goes on with new directions.
#[test]
fn invariant_spaces() {
    let n = 40;
    let identity = Csr::<f64>::identity(n).unwrap();
    let eigen = eigsh(&identity, 3, &EigshOptions::default()).unwrap();
    check("identity", &identity, &eigen, &[1.0; 3], 1e-14);

    // Three eigenvalues, of which 2 occurs 4 times.
    let diagonal = |i: usize| {
        if i < 4 {
            2.0
        } else if i < 30 {
            1.0
        } else {
            -1.5
        }
    };
    let vals: Vec<f64> = (0..n).map(diagonal).collect();
    let a = Csr::new(
        n,
        n,
        (0..=n as u64).collect(),
        (0..n as u32).collect(),
        vals,
    )
    .unwrap();
    let eigen = eigsh(&a, 5, &options(Which::Largest)).unwrap();
    check("multiple", &a, &eigen, &[1.0, 2.0, 2.0, 2.0, 2.0], 1e-14);

    // A start vector that is an eigenvector, and not a wanted one.
    let v0 = Vector::from_fn([n], |[i]| f64::from(i == 35));
    let options = EigshOptions {
        v0: Some(&v0),
        ..options(Which::Largest)
    };
    let eigen = eigsh(&a, 2, &options).unwrap();
    check("eigenvector", &a, &eigen, &[2.0, 2.0], 1e-14);
    let zero = MatrixFree::new(10, |x: &Vector<f64>| Ok(x * 0.0));
    let eigen = eigsh(&zero, 2, &EigshOptions::default()).unwrap();
    assert!(eigen.converged());
    assert_eq!(
        (eigen.values, eigen.residuals),
        (vec![0.0; 2], vec![0.0; 2])
    );
}

#[test]
fn not_to_converge_is_no_error() {
    let a = gallery::poisson2d::<f64>(40).unwrap();
    let limited = EigshOptions {
        max_iter: Some(3),
        ..options(Which::Smallest)
    };
    let eigen = eigsh(&a, 4, &limited).unwrap();
    assert_eq!(
        (eigen.reason, eigen.iterations),
        (StopReason::IterationLimit, 3)
    );
    assert!(eigen.n_converged < 4 && eigen.values.len() == 4);
    assert!(eigen.residuals.iter().all(|&residual| residual > 1e-8));

    let broken = MatrixFree::new(50, |x: &Vector<f64>| Ok(x * f64::NAN));
    let eigen = eigsh(&broken, 2, &EigshOptions::default()).unwrap();
    assert_eq!(
        (eigen.reason, eigen.values.len()),
        (StopReason::NotFinite, 0)
    );
    // The fourth product is not a number: three basis vectors remain.
    let calls = std::cell::Cell::new(0);
    let later = MatrixFree::new(1600, |x: &Vector<f64>| {
        calls.set(calls.get() + 1);
        let factor = if calls.get() == 4 { f64::NAN } else { 1.0 };
        Ok(&a * x * factor)
    });
    let eigen = eigsh(&later, 2, &EigshOptions::default()).unwrap();
    assert_eq!(
        (eigen.reason, eigen.values.len()),
        (StopReason::NotFinite, 2)
    );
    assert!(
        eigen
            .values
            .iter()
            .all(|value| 0.0 < *value && *value < 8.0)
    );
}

/// A tolerance that is met early takes fewer products.
#[test]
fn tolerances() {
    let a = gallery::poisson2d::<f64>(30).unwrap();
    let with = |tol| {
        let options = EigshOptions {
            tol,
            ..options(Which::Largest)
        };
        eigsh(&a, 3, &options).unwrap()
    };
    let (coarse, fine) = (with(1e-3), with(0.0));
    assert!(coarse.products < fine.products);
    assert!(coarse.residuals.iter().all(|&residual| residual < 1e-2));
    assert!(fine.residuals.iter().all(|&residual| residual < 1e-13));
}

/// An operator that is not Hermitian, of which no entry is known: what the recurrence says of the
/// residuals does not hold, and is not claimed.
#[test]
fn what_is_not_hermitian_does_not_converge() {
    let shift = MatrixFree::new(3, |x: &Vector<f64>| {
        let mut y = Vector::zeros([3]);
        y.assign_slice(1.., x.slice(..2));
        Ok(y)
    });
    let eigen = eigsh(&shift, 1, &EigshOptions::default()).unwrap();
    assert!(eigen.residuals[0] > 0.1);
    assert_eq!(
        (eigen.n_converged, eigen.reason),
        (0, StopReason::Stagnation)
    );
}

/// Many eigenvalues: the projected matrices are large, and a restart makes many vectors.
#[test]
fn many_eigenvalues() {
    let n = 18;
    let a = gallery::poisson2d::<f64>(n).unwrap();
    let expected = poisson_values(n, 2);
    let found = eigsh(&a, 40, &options(Which::Largest)).unwrap();
    assert!(found.converged());
    for (value, expected) in found.values.iter().zip(&expected[expected.len() - 40..]) {
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    }
    for (i, x) in found.vectors.iter().enumerate() {
        for (j, y) in found.vectors.iter().enumerate() {
            let product = x.dot(y).get().unwrap() - f64::from(u8::from(i == j));
            assert!(product.abs() < 1e-12, "{i} {j} {product}");
        }
    }
}

/// A shift that is an eigenvalue, up to some digits, hides no other.
#[test]
fn shifts_near_eigenvalues() {
    let n = 100;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    let value = |k: usize| 2.0 - 2.0 * (k as f64 * std::f64::consts::PI / (n + 1) as f64).cos();
    for off in [0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4] {
        let sigma = value(3) * (1.0 + off);
        let eigen = eigsh_near(&a, sigma, 4, &EigshOptions::default()).unwrap();
        assert!(eigen.converged(), "{off}: {:?}", eigen.residuals);
        let options = EigsOptions::default();
        let other = eigs_near(&a, sigma, 4, &options).unwrap();
        assert!(other.converged(), "{off}: {:?}", other.residuals);
        assert!((other.values[0].re / value(3) - 1.0).abs() < 1e-12);
        let mut of_other: Vec<f64> = other.values.iter().map(|value| value.re).collect();
        of_other.sort_by(f64::total_cmp);
        for values in [&eigen.values, &of_other] {
            for (k, found) in values.iter().enumerate() {
                assert!((found - value(k + 1)).abs() < 1e-12, "{off}: {k} {found}");
            }
        }
        let worst = eigen.residuals.iter().chain(&other.residuals);
        assert!(worst.fold(0.0, |most, x| x.max(most)) < 3e-12);
    }
}

/// What is nearest to a number beside sigma need not be nearest to sigma.
#[test]
fn neighbours_on_both_sides_of_a_shift_that_is_an_eigenvalue() {
    let mut diagonal = vec![0.0, -1.0, 1.005];
    diagonal.extend((5..40).map(f64::from));
    let n = diagonal.len();
    // Turned, so that it is no band of one diagonal.
    let x = Vector::<f64>::random_normal([n], 5);
    let x = (&x / x.norm2()).insert_axis(1);
    let reflection = Array::eye(n) - x.matmul(&x.t()) * 2.0;
    let a = reflection.matmul(&Vector::from_vec(diagonal).to_diagonal(0));
    let a = a.matmul(&reflection);
    let a = Csr::from_dense(&((&a + a.t()) * 0.5)).unwrap();
    for sigma in [1e-14, -1e-13, 1e-9] {
        let eigen = eigsh_near(&a, sigma, 2, &EigshOptions::default()).unwrap();
        check("both sides", &a, &eigen, &[-1.0, 0.0], 1e-11);
        let other = eigs_near(&a, sigma, 2, &EigsOptions::default()).unwrap();
        assert!(
            (other.values[1].re + 1.0).abs() < 1e-11,
            "{:?}",
            other.values
        );
    }
}
