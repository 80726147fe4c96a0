//! The matrices that are made, against formulas that make them in another way.

use crate::{everywhere, rows};
use ndarray::{Array2, linalg::kron};
use num_complex::Complex;
use sparsefuse_dense::Field;
use sparsefuse_runtime::{Config, Error, run_ranks};
use sparsefuse_sparse::{Csr, LocalRows, gallery};

/// The second difference, element by element.
fn second_difference(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    })
}

/// The Laplacian of a grid as sums of Kronecker products.
fn laplacian(dimensions: u32, n: usize) -> Array2<f64> {
    (1..dimensions).fold(second_difference(n), |sum, d| {
        let (inner, outer) = (Array2::eye(n), Array2::eye(n.pow(d)));
        kron(&sum, &inner) + kron(&outer, &second_difference(n))
    })
}

#[track_caller]
fn check<T: Field>(
    make: impl Fn() -> Result<Csr<T>, Error> + Sync,
    n_entries: usize,
    expected: &Array2<f64>,
) {
    let found = everywhere(|| {
        let a = make()?;
        assert_eq!(
            a.nnz(),
            n_entries,
            "entries are stored where the formula has one"
        );
        Ok(a.to_ndarray()?.mapv(|value| value.parts()))
    });
    assert_eq!(found, expected.mapv(|value| (value, 0.0)));
}

#[test]
fn poisson_matrices_are_sums_of_kronecker_products() {
    let count = |a: &Array2<f64>| a.iter().filter(|&&value| value != 0.0).count();
    for n in [1, 2, 3, 5] {
        let expected = laplacian(1, n);
        check(|| gallery::poisson1d::<f32>(n), count(&expected), &expected);
        let expected = laplacian(2, n);
        check(|| gallery::poisson2d::<f64>(n), count(&expected), &expected);
        check(
            || gallery::poisson2d::<Complex<f32>>(n),
            count(&expected),
            &expected,
        );
        let expected = laplacian(3, n);
        check(
            || gallery::poisson3d::<Complex<f64>>(n),
            count(&expected),
            &expected,
        );
    }
    let none = Array2::zeros((0, 0));
    check(|| gallery::poisson1d::<f64>(0), 0, &none);
    check(|| gallery::poisson2d::<f64>(0), 0, &none);
    check(|| gallery::poisson3d::<f64>(0), 0, &none);
}

#[test]
fn bands() {
    for (n, diagonals) in [(0, 3), (1, 1), (1, 5), (7, 1), (7, 3), (9, 5), (6, 99)] {
        let reach = diagonals / 2;
        let expected = Array2::from_shape_fn((n, n), |(i, j)| match i.abs_diff(j) {
            0 => diagonals as f64,
            distance if distance <= reach => -1.0,
            _ => 0.0,
        });
        let n_entries = expected.iter().filter(|&&value| value != 0.0).count();
        check(
            || gallery::banded::<f64>(n, diagonals),
            n_entries,
            &expected,
        );
    }
    let error = gallery::banded::<f64>(4, 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "banded: expected an odd number of diagonals, found 2"
    );
}

#[test]
fn random_matrices_depend_on_their_arguments_alone() {
    let n = 40;
    let (first, second) = everywhere(|| {
        let first = gallery::random::<f64>(n, 6, 1)?;
        let second = gallery::random::<f64>(n, 6, 2)?;
        Ok((rows(&first)?, rows(&second)?))
    });
    assert_ne!(first, second);
    let (pos, crd, vals) = first;
    let mut most = 0;
    for row in 0..n {
        let entries = pos[row] as usize..pos[row + 1] as usize;
        most = most.max(entries.len());
        let (mut diagonal, mut others) = (0.0, 0.0);
        for k in entries {
            let value: f64 = vals[k].get().unwrap();
            if crd[k] as usize == row {
                diagonal = value;
            } else {
                assert!((-1.0..1.0).contains(&value));
                others += value.abs();
            }
        }
        assert!(
            diagonal - others > 0.999,
            "row {row} is dominated by its diagonal"
        );
    }
    assert_eq!(most, 7, "some row has all its entries");
    everywhere(|| rows(&gallery::random::<Complex<f32>>(0, 3, 1)?));
    let one = everywhere(|| gallery::random::<f64>(1, 3, 1)?.to_ndarray());
    assert_eq!(one, ndarray::array![[1.0]]);
}

/// A matrix that is symmetric to the bit, positive on its diagonal and dominated by it, with
/// entries where the other has them, and as good as no value twice.
#[track_caller]
fn check_varying(
    make: impl Fn() -> Result<Csr<f64>, Error> + Sync,
    like: impl Fn() -> Result<Csr<f64>, Error> + Sync,
) {
    let found = everywhere(|| make()?.to_ndarray());
    let pattern = everywhere(|| like()?.to_ndarray());
    assert_eq!(found, found.t());
    let mut values = Vec::new();
    for ((i, j), &value) in found.indexed_iter() {
        assert_eq!(value == 0.0, pattern[[i, j]] == 0.0, "({i}, {j})");
        assert_eq!(value > 0.0, i == j, "({i}, {j})");
        if value != 0.0 && i <= j {
            values.push(value.to_bits());
        }
    }
    for row in found.rows() {
        assert!(row.sum() > -1e-12, "dominated by its diagonal");
    }
    let all = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), all, "no value repeats");
}

#[test]
fn varying_coefficients_keep_the_structure() {
    for n in [1, 2, 5] {
        check_varying(|| gallery::diffusion2d(n), || gallery::poisson2d(n));
        check_varying(|| gallery::diffusion3d(n), || gallery::poisson3d(n));
    }
    for (n, diagonals) in [(1, 1), (3, 7), (30, 5)] {
        check_varying(
            || gallery::banded_varying(n, diagonals),
            || gallery::banded(n, diagonals),
        );
    }
    let error = gallery::banded_varying::<f64>(4, 2).unwrap_err();
    assert!(error.to_string().contains("an odd number of diagonals"));
}

#[test]
fn power_law_graphs_sum_their_edges() {
    let (scale, per_row) = (6, 8);
    let (first, second) = everywhere(|| {
        let first = gallery::rmat::<f64>(scale, per_row, 1)?;
        let second = gallery::rmat::<f64>(scale, per_row, 2)?;
        Ok((rows(&first)?, rows(&second)?))
    });
    assert_ne!(first, second);
    let (pos, crd, vals) = first;
    let edges = per_row << scale;
    assert!(crd.len() < edges, "some edges meet");
    let sum: f64 = vals.iter().map(|value| value.get::<f64>().unwrap()).sum();
    assert!((sum / edges as f64 - 0.5).abs() < 0.05, "mean weight");
    let longest = pos.windows(2).map(|row| row[1] - row[0]).max();
    assert!(longest > Some(4 * per_row as u64), "rows are uneven");
    let error = gallery::rmat::<f64>(40, 1, 1).unwrap_err();
    assert!(error.to_string().contains("a scale of at most 31"));
}

#[test]
fn sizes_beyond_the_indices_are_refused() {
    let messages = [
        gallery::poisson1d::<f64>(1 << 33),
        gallery::poisson2d::<f64>(1 << 17),
        gallery::poisson3d::<f64>(usize::MAX),
        gallery::banded::<f64>(1 << 33, 3),
        gallery::banded_varying::<f64>(1 << 33, 3),
        gallery::diffusion2d::<f64>(1 << 17),
        gallery::diffusion3d::<f64>(usize::MAX),
        gallery::random::<f64>(1 << 33, 3, 0),
    ]
    .map(|made| made.unwrap_err().to_string());
    for message in messages {
        let expected = "expected at most 4294967295 rows and columns, found ";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn rows_longer_than_the_matrix_is_wide_are_refused() {
    let error = gallery::random::<f64>(10, usize::MAX, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "random: expected at most 65536 entries for each row, found {}",
            usize::MAX
        )
    );
}

/// Found as the end of the process: only the positions were asked for in a way that can fail.
#[test]
fn more_entries_than_memory_has() {
    const N: usize = 10_000_001;
    let refused = |error: Error| error.to_string().contains("that the system refuses them");
    for ranks in [1, 2] {
        let made = run_ranks(ranks, &Config::default(), |_| {
            [gallery::banded::<f64>, gallery::banded_varying].map(|make| make(N, N).err())
        });
        for errors in made.unwrap() {
            assert!(errors.map(|error| error.is_some_and(refused)) == [true; 2]);
        }
    }
    let mut rows = LocalRows::<f64>::with_capacity(1, 1);
    assert!(refused(rows.try_reserve(1 << 50).unwrap_err()));
    assert!(LocalRows::<f64>::try_with_capacity(1 << 60, 0).is_err());
}

#[test]
fn entries_anywhere() {
    for (shape, density, n_entries) in [
        ((300, 200), 0.01, 600),
        ((20, 30), 1.0, 600),
        ((20, 30), 0.0, 0),
        ((0, 5), 0.5, 0),
        ((1, 1), 1.0, 1),
        ((1, 3000), 0.1, 300),
    ] {
        let found = everywhere(|| {
            let a = gallery::random_array::<f64>(shape, density, 3)?;
            assert_eq!((a.shape(), a.nnz()), (shape, n_entries));
            assert!(a.to_rows()?.vals.iter().all(|x| (0.0..1.0).contains(x)));
            rows(&a)
        });
        assert_eq!(found.1.len(), n_entries);
    }
    let [first, other] = [3, 4].map(|seed| {
        let a = gallery::random_array::<f64>((300, 200), 0.01, seed).unwrap();
        rows(&a).unwrap()
    });
    assert_ne!(first, other);
    // Places among more than 2^32.
    let large = gallery::random_array::<f32>((1 << 20, 1 << 20), 1e-9, 1).unwrap();
    assert_eq!(large.nnz(), 1100);
    for density in [-0.1, 1.5, f64::NAN] {
        let error = gallery::random_array::<f64>((3, 3), density, 1).unwrap_err();
        assert!(error.to_string().contains("a density between 0 and 1"));
    }
}
