//! Smoothed aggregation.

use super::{check_symmetry, laplacian, preconditioned, rhs};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_solvers::multigrid::{
    AggregationOptions, CycleOptions, Multigrid, Smoother, largest_eigenvalue,
};
use sparsefuse_solvers::{LinearOperator, Preconditioner};
use sparsefuse_sparse::{Csr, LocalRows, gallery};

/// The iterations of conjugate gradients with a cycle.
fn iterations<T: Field>(a: &Csr<T>, multigrid: &Multigrid<T>) -> usize {
    let rtol = (50.0 * T::Real::EPSILON.to_f64()).max(1e-8);
    let solution = preconditioned(a, &rhs(a), rtol, multigrid).unwrap();
    assert!(solution.converged(), "{:?}", solution.reason);
    solution.iterations
}

#[test]
fn iterations_hardly_grow_with_the_size() {
    let flat = [40, 120, 300].map(|n| {
        let a = gallery::poisson2d::<f64>(n).unwrap();
        iterations(&a, &Multigrid::aggregated(&a).unwrap())
    });
    let solid = [10, 20, 40].map(|n| {
        let a = gallery::poisson3d::<f64>(n).unwrap();
        iterations(&a, &Multigrid::aggregated(&a).unwrap())
    });
    for counts in [flat, solid] {
        assert!(counts[2] <= counts[0] + 12 && counts[2] <= 34, "{counts:?}");
    }
}

#[test]
fn cycles_are_symmetric_and_levels_small() {
    for (name, smoother) in [
        ("jacobi", Smoother::Jacobi { omega: None }),
        ("chebyshev", Smoother::chebyshev()),
    ] {
        let options = AggregationOptions {
            cycle: CycleOptions {
                smoother,
                pre: 2,
                post: 2,
                coarsest: 20,
                ..CycleOptions::default()
            },
            ..AggregationOptions::default()
        };
        let a = gallery::diffusion2d::<f64>(45).unwrap();
        let multigrid = Multigrid::aggregated_with(&a, &[], &options).unwrap();
        check_symmetry(&multigrid, name);
        assert!(multigrid.levels().count() >= 3);
        assert!(multigrid.operator_complexity() < 1.6);
    }
}

/// Squares of a vector may be out of range.
#[test]
fn vectors_of_any_size_span_the_same() {
    let a = gallery::poisson2d::<f64>(20).unwrap();
    let of_size = |size: f64| {
        let ones = Vector::full([400], size);
        let options = AggregationOptions::default();
        iterations(
            &a,
            &Multigrid::aggregated_with(&a, &[ones], &options).unwrap(),
        )
    };
    let expected = of_size(1.0);
    for size in [1e-170, 1e-300, 1e160, 1e300] {
        assert_eq!(of_size(size), expected, "{size:e}");
    }
}

#[test]
fn weak_connections_are_left_out() {
    let sides = [60, 60];
    let a = laplacian::<f64>(&sides, &[1.0, 1e-3]);
    let with = |theta: f64| {
        let options = AggregationOptions {
            theta,
            ..AggregationOptions::default()
        };
        iterations(&a, &Multigrid::aggregated_with(&a, &[], &options).unwrap())
    };
    let (strong, all) = (with(0.08), with(0.0));
    assert!(strong <= 30 && strong < all, "{strong} and {all}");
}

/// Two Poisson problems that have nothing to do with each other, their unknowns side by side.
fn doubled<T: Field>(a: &Csr<T>) -> Csr<T> {
    let rows = a.to_rows().unwrap();
    let n = 2 * a.n_rows();
    Csr::from_rows(n, n, |own| {
        let mut local = LocalRows::with_capacity(own.len(), 0);
        for row in own {
            for k in rows.pos[row / 2] as usize..rows.pos[row / 2 + 1] as usize {
                local.push(2 * rows.crd[k] + (row % 2) as u32, rows.vals[k]);
            }
            local.end_row();
        }
        local
    })
    .unwrap()
}

#[test]
fn blocks_and_near_nullspaces_are_used() {
    let a = doubled(&gallery::poisson2d::<f64>(30).unwrap());
    let options = AggregationOptions {
        block: 2,
        ..AggregationOptions::default()
    };
    let multigrid = Multigrid::aggregated_with(&a, &[], &options).unwrap();
    check_symmetry(&multigrid, "blocks");
    let blocks = iterations(&a, &multigrid);
    // The same near-nullspace, given.
    let unit = |k: usize| {
        let elements = (0..a.n_rows()).map(|row| f64::from(row % 2 == k));
        Vector::from_vec(elements.collect())
    };
    let given = Multigrid::aggregated_with(&a, &[unit(0), unit(1)], &options).unwrap();
    assert_eq!(iterations(&a, &given), blocks);
    assert!(blocks <= 26, "{blocks}");
    // A is scaled so that constants are far from its near-nullspace; the right vector is not.
    let a = gallery::poisson2d::<f64>(40).unwrap();
    let scale: Vec<f64> = (0..1600).map(|k| 1.0 + (k % 7) as f64).collect();
    let rows = a.to_rows().unwrap();
    let mut vals = rows.vals.clone();
    for row in 0..1600 {
        for k in rows.pos[row] as usize..rows.pos[row + 1] as usize {
            vals[k] *= scale[row] * scale[rows.crd[k] as usize];
        }
    }
    let a = a.with_values(Vector::from_vec(vals)).unwrap();
    let near = Vector::from_vec(scale.iter().map(|scale| 1.0 / scale).collect());
    let options = AggregationOptions::default();
    let right = Multigrid::aggregated_with(&a, &[near], &options).unwrap();
    let wrong = Multigrid::aggregated(&a).unwrap();
    let (right, wrong) = (iterations(&a, &right), iterations(&a, &wrong));
    assert!(right <= 26 && right < wrong, "{right} and {wrong}");
}

#[test]
fn every_type_of_elements_works() {
    fn check<T: Field>() {
        let a = laplacian::<T>(&[25, 31], &[1.0, 1.0]);
        assert!(iterations(&a, &Multigrid::aggregated(&a).unwrap()) <= 30);
    }
    check::<f32>();
    check::<f64>();
    check::<Complex<f32>>();
    check::<Complex<f64>>();
}

#[test]
fn new_values_keep_the_prolongators() {
    let a = gallery::poisson2d::<f64>(40).unwrap();
    let mut multigrid = Multigrid::aggregated(&a).unwrap();
    let b = rhs(&a);
    let expected = multigrid.apply(&(&b * 2.0)).unwrap().to_vec().unwrap();
    multigrid.update(&a.scale(2.0)).unwrap();
    let found = multigrid.apply(&(&b * 4.0)).unwrap().to_vec().unwrap();
    // Powers of two change no bit.
    assert_eq!(found, expected);
    let varying = laplacian::<f64>(&[40, 40], &[1.0, 0.8]);
    multigrid.update(&varying).unwrap();
    assert!(iterations(&varying, &multigrid) <= 26);
}

#[test]
fn what_cannot_be_aggregated_is_smoothed_or_refused() {
    // Nothing is connected: one level, solved by its inverse.
    let a = Csr::<f64>::identity(50).unwrap().scale(4.0);
    let multigrid = Multigrid::aggregated(&a).unwrap();
    assert_eq!(multigrid.levels().count(), 1);
    assert_eq!(iterations(&a, &multigrid), 1);
    // Too large for an inverse: the smoother alone.
    let a = Csr::<f64>::identity(5000).unwrap().scale(4.0);
    assert_eq!(iterations(&a, &Multigrid::aggregated(&a).unwrap()), 1);

    let a = gallery::poisson2d::<f64>(9).unwrap();
    let check = |near: &[Vector<f64>], options: AggregationOptions, expected: &str| {
        let refused = Multigrid::aggregated_with(&a, near, &options);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    let usual = AggregationOptions::default;
    check(
        &[],
        AggregationOptions {
            block: 2,
            ..usual()
        },
        "divide the 81 rows",
    );
    check(
        &[],
        AggregationOptions {
            block: 0,
            ..usual()
        },
        "divide the 81 rows",
    );
    check(
        &[],
        AggregationOptions {
            theta: 1.0,
            ..usual()
        },
        "theta",
    );
    check(&[Vector::ones([80])], usual(), "80");
    let cycle = CycleOptions {
        smoother: Smoother::GaussSeidel,
        coarsest: 10,
        ..CycleOptions::default()
    };
    check(&[], AggregationOptions { cycle, ..usual() }, "grid");
}

/// Powers of an eigenvalue of 100 leave the range of single precision, and a matrix of zeros has
/// none.
#[test]
fn eigenvalues_are_estimated_at_any_size() {
    let (small, one) = (0.01f32, 1.0);
    let of = |vals| Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vals).unwrap();
    let found = largest_eigenvalue(&of(vec![small, one, one, small])).unwrap();
    assert!((found - 101.0).abs() < 2.0, "{found}");
    assert_eq!(largest_eigenvalue(&of(vec![0.0; 4])).unwrap(), 0.0);
    let zero = gallery::poisson1d::<f64>(1000).unwrap().scale(0.0);
    let refused = Multigrid::aggregated(&zero).unwrap_err().to_string();
    assert!(refused.contains("found 0 as the largest"), "{refused}");
}

/// Rows that are hardly connected stay a last level of many, which is inverted in panels.
#[test]
fn a_last_level_of_many_rows_is_inverted() {
    let n = 700;
    let a = Csr::<f64>::from_rows(n, n, |rows| {
        let mut own = LocalRows::with_capacity(rows.len(), 3 * rows.len());
        for row in rows {
            let across = (row + n / 2) % n;
            let mut entries = [(row, 40.0), (across, 1.0), ((row * 7 + 1) % n, -0.5)];
            entries.sort_by_key(|&(column, _)| column);
            for (column, value) in entries {
                own.push(column as u32, value);
            }
            own.end_row();
        }
        own
    });
    let a = a.unwrap();
    let multigrid = Multigrid::aggregated(&a).unwrap();
    let b = rhs(&a);
    let x = multigrid.apply(&b).unwrap();
    let left = (&b - &a * &x).norm_inf().get().unwrap();
    assert!(left < 1e-12, "{left}");
}
