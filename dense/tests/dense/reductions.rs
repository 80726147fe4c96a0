//! Reductions against plain loops.

use crate::{Bits, everywhere};
use approx::assert_relative_eq;
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_runtime::{Config, Runtime, run_ranks};

type C = Complex<f64>;

fn sample(len: usize) -> Vec<f64> {
    (0..len)
        .map(|i| ((i * 7) % 13) as f64 / 3.0 - 2.0)
        .collect()
}

#[test]
fn sums_and_norms() {
    for len in [1, 4, 5, 16, 61, 200] {
        let a = sample(len);
        let found = everywhere(|| {
            let x = Vector::from_slice(&a);
            let y = &x + 0.5;
            let scalars = [
                x.sum(),
                x.prod(),
                x.mean(),
                x.dot(&y),
                x.norm1(),
                x.norm2(),
                x.sum_of_squares(),
                x.norm_inf(),
                x.min(),
                x.max(),
            ];
            let bits = scalars
                .iter()
                .map(Bits::bits)
                .collect::<Result<Vec<_>, _>>()?;
            let places = [x.argmin().get()?, x.argmax().get()?];
            Ok((bits.concat(), places))
        });
        let expected = [
            a.iter().sum(),
            a.iter().product(),
            a.iter().sum::<f64>() / len as f64,
            a.iter().map(|x| x * (x + 0.5)).sum(),
            a.iter().map(|x| x.abs()).sum(),
            a.iter().map(|x| x * x).sum::<f64>().sqrt(),
            a.iter().map(|x| x * x).sum(),
            a.iter().fold(0.0, |m: f64, x| m.max(x.abs())),
            a.iter().copied().fold(f64::INFINITY, f64::min),
            a.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ];
        for (found, expected) in found.0.iter().zip(expected) {
            let found = found.get::<f64>().unwrap();
            assert_relative_eq!(found, expected, max_relative = 1e-12, epsilon = 1e-12);
        }
        let place = |value: f64| a.iter().position(|&x| x == value).unwrap() as i64;
        assert_eq!(found.1, [place(expected[8]), place(expected[9])]);
    }
}

#[test]
fn complex_products_conjugate_the_first_operand() {
    let found = everywhere(|| {
        let x = Vector::from_vec(vec![C::new(1.0, 2.0), C::new(0.0, -1.0)]);
        let y = Vector::from_vec(vec![C::new(3.0, -1.0), C::new(2.0, 2.0)]);
        let dots = [x.dot(&y).get()?, x.dot_unconjugated(&y).get()?];
        let norms = [
            x.norm1().get()?,
            x.sum_of_squares().get()?,
            x.norm_inf().get()?,
        ];
        Ok((dots, norms))
    });
    // conj(1 + 2i)(3 - i) + conj(-i)(2 + 2i), and the same without conj.
    assert_eq!(found.0, [C::new(-1.0, -5.0), C::new(7.0, 3.0)]);
    let expected = [5f64.sqrt() + 1.0, 6.0, 5f64.sqrt()];
    for (found, expected) in found.1.iter().zip(expected) {
        assert_relative_eq!(*found, expected, max_relative = 1e-15);
    }
}

#[test]
fn integers_and_logic() {
    let found = everywhere(|| {
        let x = Vector::from_vec(vec![3, -4, 5, i32::MAX, 7]);
        let mask = x.less(0);
        let logic = [mask.any().get()?, mask.all().get()?];
        Ok((x.sum().get()?, x.argmax().get()?, x.norm1().get()?, logic))
    });
    let sum = (3i32 - 4 + 5 + 7).wrapping_add(i32::MAX);
    assert_eq!(found, (sum, 3, 19.0 + f64::from(i32::MAX), [true, false]));
}

#[test]
fn not_a_number_is_smallest_and_largest() {
    let found = everywhere(|| {
        let x = Vector::from_vec(vec![1.0, f64::NAN, -1.0, 2.0, 0.0]);
        Ok((
            [x.min().bits()?, x.max().bits()?].concat(),
            [x.argmin().get()?, x.argmax().get()?],
        ))
    });
    assert!(
        found
            .0
            .iter()
            .all(|value| value.get::<f64>().unwrap().is_nan())
    );
    assert_eq!(found.1, [1, 1]);
}

#[test]
fn along_an_axis() {
    let shape = [7, 5];
    let element = |[i, j]: [usize; 2]| ((i * 5 + j) * 7 % 11) as f64 - 4.0;
    let found = everywhere(|| {
        let a = Array::from_fn(shape, element);
        let mut made = Vec::new();
        for axis in [0, 1] {
            let all = [
                a.sum_axis(axis),
                a.max_axis(axis),
                a.min_axis(axis),
                a.mean_axis(axis),
            ];
            for vector in all {
                made.push(vector.to_ndarray()?);
            }
        }
        Ok(made)
    });
    let plain = ndarray::Array2::from_shape_fn(shape, |(i, j)| element([i, j]));
    for axis in [0, 1] {
        let along = ndarray::Axis(axis);
        let fold = |start: f64, f: fn(f64, f64) -> f64| {
            plain.map_axis(along, |lane| lane.fold(start, |a, &b| f(a, b)))
        };
        let expected = [
            plain.sum_axis(along),
            fold(f64::NEG_INFINITY, f64::max),
            fold(f64::INFINITY, f64::min),
            plain.mean_axis(along).unwrap(),
        ];
        assert_eq!(found[4 * axis..][..4], expected);
    }
}

/// Columns are reduced side by side, and divided among threads also where they are few and long;
/// the order of summation is that of rows.
#[test]
fn columns_are_reduced_as_rows_are() {
    let bits = |vector: Vector<f64>| -> Vec<u64> {
        let elements = vector.to_vec().unwrap();
        elements.into_iter().map(f64::to_bits).collect()
    };
    let shapes = [
        [5000, 50],
        [70_000, 3],
        [1100, 100],
        [2100, 1100],
        [5, 30_000],
        [40, 9],
    ];
    for shape in shapes {
        for threads in 1..4 {
            let config = Config {
                threads,
                ..Config::default()
            };
            Runtime::new(config).unwrap().enter(|| {
                let a = Array::<f64, 2>::random_uniform(shape, 1);
                let y = Vector::<f64>::random_uniform([shape[0]], 2);
                let rows = a.t().contiguous().unwrap();
                let about = format!("{shape:?} on {threads} threads");
                assert_eq!(bits(a.sum_axis(0)), bits(rows.sum_axis(1)), "{about}");
                assert_eq!(bits(a.max_axis(0)), bits(rows.max_axis(1)), "{about}");
                assert_eq!(bits(a.sum_axis(1)), bits(rows.sum_axis(0)), "{about}");
                // Both are reduced in one loop, with what follows.
                let range = a.max_axis(0) - a.min_axis(0) * 2.0;
                let of_rows = rows.max_axis(1) - rows.min_axis(1) * 2.0;
                assert_eq!(bits(range), bits(of_rows), "{about}");
                assert_eq!(bits(a.t().matvec(&y)), bits(rows.matvec(&y)), "{about}");
            });
        }
    }
}

#[test]
fn matrix_times_vector() {
    let element = |[i, j]: [usize; 2]| (i * 3 + j) as i64 % 7 - 3;
    for shape in [[9, 4], [4, 9], [1, 6], [6, 1]] {
        let found = everywhere(|| {
            let a = Array::from_fn(shape, element);
            let (x, y) = (Vector::arange(shape[1]), Vector::arange(shape[0]));
            let outer = y.outer(&x) - &a;
            Ok((
                a.matvec(&x).to_vec()?,
                a.t().matvec(&y).to_vec()?,
                outer.to_ndarray()?,
            ))
        });
        let plain = ndarray::Array2::from_shape_fn(shape, |(i, j)| element([i, j]));
        let count = |n: usize| ndarray::Array1::from_iter(0..n as i64);
        assert_eq!(found.0, plain.dot(&count(shape[1])).to_vec());
        assert_eq!(found.1, plain.t().dot(&count(shape[0])).to_vec());
        let outer = ndarray::Array2::from_shape_fn(shape, |(i, j)| (i * j) as i64);
        assert_eq!(found.2, outer - plain);
    }
}

/// Found by reading: columns of a tile that begins within 16 of them were left out.
#[test]
fn columns_are_reduced_in_tiles_of_any_length() {
    for tile_len in [24, 100, 1000, 1024] {
        let config = Config {
            tile_len,
            ..Config::default()
        };
        let [n, m] = [2 * tile_len + 5, 2100];
        let (element, factor) = (
            |i: usize, j: usize| ((7 * i + 3 * j) % 11) as f64,
            |i: usize| (i % 5) as f64,
        );
        let sum = |j: usize, weight: &dyn Fn(usize) -> f64| {
            (0..n).map(|i| element(i, j) * weight(i)).sum::<f64>()
        };
        let sums: Vec<f64> = (0..m).map(|j| sum(j, &|_| 1.0)).collect();
        let products: Vec<f64> = (0..m).map(|j| sum(j, &factor)).collect();
        let made = run_ranks(1, &config, |_| {
            let a = Array::<f64, 2>::from_fn([n, m], |[i, j]| element(i, j));
            let x = Vector::from_fn([n], |[i]| factor(i));
            let few = a.slice((.., ..300)).t().matvec(&x).to_vec().unwrap();
            assert_eq!(few, products[..300], "tiles of {tile_len}");
            assert_eq!(
                a.t().matvec(&x).to_vec().unwrap(),
                products,
                "tiles of {tile_len}"
            );
            a.sum_axis(0).to_vec().unwrap()
        });
        assert_eq!(made.unwrap()[0], sums, "tiles of {tile_len}");
    }
}
