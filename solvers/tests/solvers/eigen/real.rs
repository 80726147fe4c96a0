//! Real matrices of `shared/matrices`, against SciPy 1.17.1 and NumPy 2.4.6.
//!
//! Eigenvalues are those of `numpy.linalg.eigvalsh`, or of `eigsh(a, k=4, sigma=..., tol=1e-10,
//! v0=numpy.ones(n))`; counts of products those of `eigsh(a, k=4, which=..., ncv=20, tol=1e-10,
//! v0=numpy.ones(n))`. Where the folder is missing, the tests say so and pass.

use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_solvers::eigen::{EigshOptions, LobpcgOptions, Which, eigsh, eigsh_near, lobpcg};
use sparsefuse_solvers::preconditioners::spcholesky;
use sparsefuse_sparse::Csr;
use sparsefuse_testing::matrix;

fn real(name: &str) -> Option<Csr<f64>> {
    matrix(name).map(|path| Csr::read(path).unwrap())
}

fn complex(name: &str) -> Option<Csr<Complex<f64>>> {
    matrix(name).map(|path| Csr::read(path).unwrap())
}

#[track_caller]
fn assert_near(found: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let difference = (found - expected).abs();
        assert!(
            difference <= relative * expected.abs(),
            "{found}, not {expected}"
        );
    }
}

/// Eigenvalues at an end, in about as many products as ARPACK takes.
#[track_caller]
fn check_end<T: Field>(a: &Csr<T>, which: Which, expected: &[f64], scipy_products: usize) {
    let v0 = Vector::ones([a.n_rows()]);
    let options = EigshOptions {
        which,
        ncv: Some(20),
        tol: 1e-10,
        v0: Some(&v0),
        ..EigshOptions::default()
    };
    let eigen = eigsh(a, expected.len(), &options).unwrap();
    assert!(eigen.converged(), "{}", eigen.reason);
    assert_near(&eigen.values, expected, 1e-11);
    for (residual, value) in eigen.residuals.iter().zip(&eigen.values) {
        assert!(*residual <= 1e-9 * value.abs(), "{residual} at {value}");
    }
    println!(
        "{which:?}: {} products, ARPACK {scipy_products}",
        eigen.products
    );
    let margin = 0.1 * scipy_products as f64 + 10.0;
    let most = scipy_products as f64 + margin;
    assert!(
        eigen.products as f64 <= most,
        "{}, ARPACK {scipy_products}",
        eigen.products
    );
}

#[track_caller]
fn check_near<T: Field>(a: &Csr<T>, sigma: f64, expected: &[f64], relative: f64) {
    let eigen = eigsh_near(a, sigma, expected.len(), &EigshOptions::default()).unwrap();
    assert!(eigen.converged(), "{}", eigen.reason);
    assert_near(&eigen.values, expected, relative);
    assert!(eigen.products <= 100, "{}", eigen.products);
}

#[test]
fn bus_1138() {
    let Some(a) = real("1138_bus") else { return };
    let largest = [
        2.194783632802947e4,
        3.000130387136379e4,
        3.001049003665122e4,
        3.014879442195317e4,
    ];
    check_end(&a, Which::Largest, &largest, 50);
    check_end(&a, Which::LargestMagnitude, &largest, 50);
    let near = [
        3.541432948628668e1,
        3.549251115222157e1,
        3.55455829241162e1,
        3.563656333736736e1,
    ];
    check_near(&a, 35.528007212625255, &near, 1e-10);
    let smallest = [
        3.516860007e-3,
        9.8622347339e-2,
        1.241279306714e-1,
        1.768149304523e-1,
    ];
    check_near(&a, 0.0, &smallest, 1e-8);

    let inverse = spcholesky(&a).unwrap();
    let options = LobpcgOptions {
        preconditioner: Some(&inverse),
        tol: 1e-6,
        ..LobpcgOptions::default()
    };
    let start: Vec<_> = (0..4)
        .map(|seed| Vector::random_normal([1138], seed))
        .collect();
    let eigen = lobpcg(&a, &start, &options).unwrap();
    assert!(
        eigen.converged() && eigen.iterations <= 45,
        "{}",
        eigen.iterations
    );
    assert_near(&eigen.values, &smallest, 1e-7);
}

#[test]
fn bcsstk13() {
    let Some(a) = real("bcsstk13") else { return };
    let largest = [
        2.151303495436365e12,
        2.284906012917939e12,
        3.088185879807317e12,
        3.114811969167263e12,
    ];
    check_end(&a, Which::Largest, &largest, 37);
    let near = [
        3.317102812428316e8,
        3.320223881226479e8,
        3.327117587722874e8,
        3.342825275111642e8,
    ];
    check_near(&a, 333044503.8022315, &near, 1e-8);
    let smallest = [2.8433281e2, 4.0610085e2, 4.1944605e2, 5.8333660e2];
    check_near(&a, 0.0, &smallest, 1e-6);
}

#[test]
fn mhd1280b() {
    let Some(a) = complex("mhd1280b") else { return };
    let largest = [
        2.641915262382755e1,
        2.673881790412643e1,
        7.000692295322236e1,
        7.03220324235282e1,
    ];
    check_end(&a, Which::Largest, &largest, 34);
    let near = [
        4.516866424095108e-3,
        4.51902894494823e-3,
        4.523602713320759e-3,
        4.556601223678772e-3,
    ];
    check_near(&a, 0.004521383742205858, &near, 1e-9);
}

#[test]
fn finite_elements() {
    let Some(a) = real("pyamg_airfoil") else {
        return;
    };
    let smallest = [
        9.495907357917475e-2,
        1.694580982569693e-1,
        1.827444037243585e-1,
        3.172581651243258e-1,
    ];
    let largest = [
        6.353190342140578,
        6.614373059515597,
        6.774816520964278,
        7.114385561844457,
    ];
    check_end(&a, Which::Largest, &largest, 108);
    check_end(&a, Which::Smallest, &smallest, 154);
    let ends = [smallest[0], smallest[1], largest[2], largest[3]];
    check_end(&a, Which::BothEnds, &ends, 122);

    let Some(a) = real("pyamg_unit_cube") else {
        return;
    };
    let smallest = [
        5.477295170212884,
        5.485139442351902,
        5.538087321997181,
        5.668650266626626,
    ];
    check_end(&a, Which::Smallest, &smallest, 410);
    check_near(&a, 0.0, &smallest, 1e-12);
}
