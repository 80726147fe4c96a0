//! Products of matrices, against chains of fused multiply-adds: to the bit.

use crate::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Field, Numeric, Vector, step};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::{bits, everywhere};

/// The products of a chain; the sums of longer ones are added up.
const CHAIN: usize = 12_288;

/// Numbers that round when they are added, so that the order shows.
fn element<T: Numeric>(flat: usize) -> T {
    T::from_f64(((flat * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0)
}

fn matrix<T: Numeric>(shape: [usize; 2]) -> Array<T, 2> {
    Array::from_fn(shape, |[i, j]| element(i * shape[1] + j))
}

/// Element `(i, j)` of the product of the matrices with these elements.
fn chain<T: Numeric>(
    [m, n, k]: [usize; 3],
    a: impl Fn(usize, usize) -> T,
    b: impl Fn(usize, usize) -> T,
) -> Vec<T> {
    let mut made = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let chain = |first: usize| {
                let inner = first..k.min(first + CHAIN);
                inner.fold(T::ZERO, |sum, k| a(i, k).times_plus(b(k, j), sum))
            };
            let chains = (0..k).step_by(CHAIN).map(chain);
            made.push(chains.fold(T::ZERO, T::plus));
        }
    }
    made
}

fn check<T: Numeric>([m, n, k]: [usize; 3]) {
    let (a, b) = (
        |i, j| element::<T>(i * k + j),
        |i, j| element::<T>(i * n + j),
    );
    let expected = bits(&chain([m, n, k], a, b));
    let found = everywhere(|| {
        let (a, b) = (matrix::<T>([m, k]), matrix::<T>([k, n]));
        let made = a.matmul(&b).bits()?;
        // Transposes, slices, and results of tasks that have not run.
        assert_eq!(b.t().matmul(&a.t()).t().bits()?, made);
        let turned: Array<T, 2> = Array::from_fn([k, m], |[j, i]| element(i * k + j));
        assert_eq!(turned.t().matmul(&(&b * T::ONE)).bits()?, made);
        let wide = Array::<T, 2>::from_fn([2 * k, n], |[i, j]| element(i / 2 * n + j));
        assert_eq!(a.matmul(&wide.slice((step(.., 2), ..))).bits()?, made);
        assert_eq!(a.flip(0).matmul(&b).flip(0).bits()?, made);
        Ok(made)
    });
    assert_eq!(found, expected, "{m} x {k} x {n}");
}

#[test]
fn products_are_chains_in_order() {
    let shapes = [
        [1, 1, 1],
        [7, 5, 3],
        [13, 50, 9],
        [30, 2, 200],
        [3, 4, 0],
        [0, 2, 3],
        [2, 0, 3],
    ];
    for shape in shapes {
        check::<f64>(shape);
    }
    check::<f32>([3, 2, CHAIN + 5]);
    let shape = [9, 11, 6];
    check::<f32>(shape);
    check::<Complex<f64>>(shape);
    check::<Complex<f32>>(shape);
    check::<i32>(shape);
    check::<u64>(shape);
}

/// A matrix times its transpose, of which half is computed, on either side and of a slice.
fn check_symmetric<T: Numeric>([m, n]: [usize; 2]) {
    let element = |i, j| element::<T>(i * n + j);
    let of_columns = bits(&chain([n, n, m], |i, k| element(k, i), element));
    let of_rows = bits(&chain([m, m, n], element, |k, j| element(j, k)));
    let found = everywhere(|| {
        let x = matrix::<T>([m, n]);
        let y = Array::<T, 2>::from_fn([m + 2, 2 * n], |[i, j]| match j % 2 == 0 && i > 1 {
            true => element(i - 2, j / 2),
            false => T::ONE,
        });
        let y = y.slice((2.., step(.., 2)));
        let (columns, rows) = (x.t().matmul(&x).bits()?, x.matmul(&x.t()).bits()?);
        assert_eq!(y.t().matmul(&y).bits()?, columns);
        assert_eq!(y.matmul(&y.t()).bits()?, rows);
        Ok((columns, rows))
    });
    assert_eq!(found, (of_columns, of_rows), "{m} x {n}");
}

#[test]
fn a_matrix_times_its_transpose() {
    for shape in [[40, 3], [16, 17], [5, 70], [200, 33]] {
        check_symmetric::<f64>(shape);
    }
    check_symmetric::<f32>([30, 20]);
    check_symmetric::<i64>([30, 20]);
    check_symmetric::<Complex<f64>>([30, 20]);
}

#[test]
fn more_than_a_thousand_rows() {
    check::<f64>([1100, 3, 4]);
}

#[test]
fn vectors_on_either_side() {
    let (m, n) = (20, 9);
    let (a, x) = (
        |i, j| element::<f64>(i * n + j),
        |_, j| element::<f64>(j + 3),
    );
    let expected: f64 = chain([1, n, m], x, a)[4];
    everywhere(|| {
        let a = matrix::<f64>([m, n]);
        let x = Vector::from_fn([m], |[i]| element(i + 3));
        let made = x.matmul(&a).to_vec()?;
        assert!((made[4] - expected).abs() <= 1e-9 * expected.abs());
        assert_eq!(bits(&made), a.t().matvec(&x).bits()?);
        Ok(bits(&made))
    });
}

#[test]
fn factors_that_do_not_fit() {
    let (a, b) = (matrix::<f64>([2, 3]), matrix::<f64>([2, 4]));
    let error = a.try_matmul(&b).unwrap_err().to_string();
    assert_eq!(error, "matmul: expected a shape of (3, 4), found (2, 4)");
    let x = Vector::<f64>::ones([3]);
    let error = x.try_matmul(&a).unwrap_err().to_string();
    assert_eq!(error, "matmul: expected a shape of (2), found (3)");
}

/// What fails on the way fails the product.
#[test]
fn products_of_what_failed() -> Result<(), Error> {
    let a = matrix::<f64>([2, 2]);
    let bad = a.take_axis(0, &Vector::from_vec(vec![0, 5]));
    assert!(bad.matmul(&a).to_vec().is_err());
    assert!(a.matmul(&bad).to_vec().is_err());
    assert_eq!(a.matmul(&a).shape(), [2, 2]);
    Ok(())
}

/// Factors whose axes of length 1 stand for all products along them.
#[test]
fn products_share_matrices() {
    let shapes: [[[usize; 4]; 2]; 5] = [
        [[1, 1, 4, 5], [3, 2, 5, 6]],
        [[3, 1, 4, 5], [3, 2, 5, 6]],
        [[1, 2, 4, 5], [3, 1, 5, 6]],
        [[3, 2, 4, 5], [1, 2, 5, 6]],
        [[70, 1, 4, 5], [1, 3, 5, 2]],
    ];
    for [of_a, of_b] in shapes {
        let flat = |[_, p, q, r]: [usize; 4], [i, j, k, l]: [usize; 4]| {
            element::<f64>(((i * p + j) * q + k) * r + l)
        };
        let place = |of: [usize; 4], i: usize, j: usize| [i.min(of[0] - 1), j.min(of[1] - 1)];
        let mut expected = Vec::new();
        for (i, j) in
            (0..of_a[0].max(of_b[0])).flat_map(|i| (0..of_a[1].max(of_b[1])).map(move |j| (i, j)))
        {
            let ([ai, aj], [bi, bj]) = (place(of_a, i, j), place(of_b, i, j));
            expected.extend(chain(
                [of_a[2], of_b[3], of_a[3]],
                |row, k| flat(of_a, [ai, aj, row, k]),
                |k, column| flat(of_b, [bi, bj, k, column]),
            ));
        }
        let found = everywhere(|| {
            let a = Array::<f64, 4>::from_fn(of_a, |at| flat(of_a, at));
            let b = Array::<f64, 4>::from_fn(of_b, |at| flat(of_b, at));
            a.matmul(&b).bits()
        });
        assert_eq!(found, bits(&expected), "{of_a:?} {of_b:?}");
    }
}

/// One left matrix is not copied for each product.
#[test]
fn a_shared_matrix_takes_its_own_memory() -> Result<(), Error> {
    let config = Config {
        memory_limit: 12 << 20,
        ..Config::default()
    };
    Runtime::new(config)?.enter(|| {
        let a = Array::<f64, 3>::ones([1, 300, 300]);
        let b = Array::<f64, 3>::ones([400, 300, 1]);
        assert_eq!(a.matmul(&b).sum().get()?, 300.0 * 300.0 * 400.0);
        Ok(())
    })
}

/// Sums of vectors are chains too, of whole vectors and of views.
fn check_combinations<T: Field>([n_sums, n_vectors, len]: [usize; 3]) {
    let coefficients: Vec<Vec<T>> = (0..n_sums)
        .map(|i| (0..n_vectors).map(|k| element(i * n_vectors + k)).collect())
        .collect();
    let x = |k: usize, j: usize| element::<T>(k * len + j);
    let expected = bits(&chain(
        [n_sums, len, n_vectors],
        |i, k| coefficients[i][k],
        x,
    ));
    let found = everywhere(|| {
        let vectors: Vec<Vector<T>> = (0..n_vectors)
            .map(|k| match k % 3 {
                0 => Vector::from_fn([len], |[j]| x(k, len - 1 - j)).flip(0),
                _ => Vector::from_fn([len], |[j]| x(k, j)),
            })
            .collect();
        let vectors: Vec<&Vector<T>> = vectors.iter().collect();
        let sums = Vector::try_combinations(&vectors, &coefficients)?;
        let sums: Result<Vec<Vec<T>>, Error> = sums.iter().map(Vector::to_vec).collect();
        Ok(bits(&sums?.concat()))
    });
    assert_eq!(found, expected, "{n_sums} of {n_vectors} with {len}");
}

#[test]
fn combinations_are_products() {
    for shape in [
        [1, 1, 1],
        [3, 2, 7],
        [2, 5, 0],
        [20, 33, 300],
        [17, 9, 1025],
    ] {
        check_combinations::<f64>(shape);
        check_combinations::<f32>(shape);
    }
    check_combinations::<Complex<f64>>([18, 20, 270]);
    check_combinations::<Complex<f32>>([5, 3, 40]);
    let [x, y] = [3, 4].map(|len| Vector::<f64>::ones([len]));
    let message = |vectors: &[&Vector<f64>], coefficients: &[Vec<f64>]| {
        let refused = Vector::try_combinations(vectors, coefficients);
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        message(&[], &[]),
        "combinations: expected a vector or more, found none"
    );
    assert_eq!(
        message(&[&x, &y], &[]),
        "combinations: expected a shape of (3), found (4)"
    );
    assert_eq!(
        message(&[&x], &[vec![1.0, 2.0]]),
        "combinations: expected 1 coefficients, one for each vector, found 2"
    );
    assert!(Vector::combinations(&[&x], &[]).is_empty());
}
