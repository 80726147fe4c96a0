//! Real matrices, with the figures of SciPy 1.17 (ARPACK), where the folder of matrices is.

use super::options;
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_solvers::eigen::{ComplexEigen, EigsOptions, WhichComplex, eigs, eigs_near};
use sparsefuse_sparse::Csr;
use sparsefuse_testing::matrix;

fn real(name: &str) -> Option<Csr<f64>> {
    matrix(name).map(|path| Csr::read(path).unwrap())
}

/// All have converged, to these values, after about as many products as SciPy's `eigs` takes.
#[track_caller]
fn check<C: Field>(eigen: &ComplexEigen<C>, expected: &[(f64, f64)], products: usize) {
    assert!(eigen.converged());
    let size = eigen
        .values
        .iter()
        .map(|value| value.norm())
        .fold(0.0, f64::max);
    for (value, &(re, im)) in eigen.values.iter().zip(expected) {
        assert!(
            (value - Complex::new(re, im)).norm() < 1e-9 * size,
            "{value}"
        );
    }
    assert!(4 * eigen.products <= 6 * products, "{}", eigen.products);
}

#[test]
fn cryg2500() {
    let Some(a) = real("cryg2500") else { return };
    let largest = [
        (-9.5526353015e3, 0.0),
        (-8.4908966497e3, 0.0),
        (-7.7349938561e3, 0.0),
        (-7.5509176718e3, 0.0),
        (-7.0824751716e3, 0.0),
        (-6.6232833514e3, 0.0),
    ];
    check(&eigs(&a, 6, &EigsOptions::default()).unwrap(), &largest, 80);
    let near = [
        (-1.0091363919, 0.0),
        (-1.0128608839, 0.0),
        (-1.0129724952, 0.0),
        (-9.8298729681e-1, 0.0),
    ];
    check(
        &eigs_near(&a, -1.0, 6, &EigsOptions::default()).unwrap(),
        &near,
        54,
    );
}

#[test]
fn west0479() {
    let Some(a) = real("west0479") else { return };
    let largest = [
        (9.2136090e-3, 1.7006623206e3),
        (9.2136090e-3, -1.7006623206e3),
        (-1.0088510419e2, 6.6606249068e1),
        (-1.0088510419e2, -6.6606249068e1),
        (1.0812525584e2, 5.4065938560e1),
    ];
    check(&eigs(&a, 5, &EigsOptions::default()).unwrap(), &largest, 69);
    let near = [
        (5.3604581632e-1, 0.0),
        (3.6254950390e-1, 0.0),
        (3.9029366550e-1, 1.5606681392e-1),
        (3.9029366550e-1, -1.5606681392e-1),
        (2.8368609329e-1, 3.1593104667e-2),
    ];
    check(
        &eigs_near(&a, 0.5, 5, &EigsOptions::default()).unwrap(),
        &near,
        108,
    );
}

#[test]
fn young1c() {
    let Some(path) = matrix("young1c") else {
        return;
    };
    let a = Csr::<Complex<f64>>::read(path).unwrap();
    let largest = [
        (-4.7010288764e2, -6.7448e-6),
        (-4.6360292032e2, -6.68406e-5),
        (-4.6336519416e2, -4.3586e-8),
        (-4.5914058213e2, -2.1555346e-2),
        (-4.5913770972e2, -2.1506599e-2),
        (-4.5913731049e2, -2.1498331e-2),
    ];
    check(
        &eigs(&a, 6, &EigsOptions::default()).unwrap(),
        &largest,
        371,
    );
    let near = [
        (1.3432984405, -2.0837850e-5),
        (2.1810900201, -1.8147544767e-1),
        (-3.4897080471, -1.4001694709e-1),
        (-4.5112108562, -2.2115140e-4),
        (7.4112675270, -4.9988449e-5),
    ];
    check(
        &eigs_near(&a, 0.0, 5, &EigsOptions::default()).unwrap(),
        &near,
        58,
    );
}

/// A Markov chain: the largest eigenvalue is 1.
#[test]
fn cage5() {
    let Some(a) = real("cage5") else { return };
    let right = [
        (1.0, 0.0),
        (9.7690024308e-1, 0.0),
        (9.6448028805e-1, 0.0),
        (9.5600128771e-1, 0.0),
        (7.9961499769e-1, 0.0),
    ];
    let eigen = eigs(&a, 5, &options(WhichComplex::LargestReal)).unwrap();
    check(&eigen, &right, 116);
}
