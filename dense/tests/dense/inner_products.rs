//! Inner products of many vectors with many, against chains joined by a tree: to the bit; and what
//! vectors are without many multiples of others.

use num_complex::Complex;
use sparsefuse_dense::{Deferred, Error, Field, Vector};
use sparsefuse_testing::{bits, everywhere, small};
use std::ops::Range;

/// Numbers that round when they are added, so that the order shows.
fn element<T: Field>(vector: usize, place: usize) -> T {
    let part = |k: usize| ((k * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0;
    let k = 1000 * vector + place;
    T::from_parts(part(k), part(k + 17))
}

/// Some vectors with these elements, which ranks hold in different ways: whole, through a view, and
/// as what a mask has left of others.
fn vectors<T: Field>(numbers: Range<usize>, len: usize) -> Result<Vec<Vector<T>>, Error> {
    let vector = |number: usize| match number % 3 {
        0 => Ok(Vector::from_fn([len], |[j]| element(number, len - 1 - j)).flip(0)),
        1 => {
            let twice =
                Vector::from_fn([2 * len], |[j]| element(number, j.saturating_sub(len / 2)));
            let is_kept = |j: usize| (len / 2..len / 2 + len).contains(&j);
            twice.compress(&Vector::from_fn([2 * len], |[j]| is_kept(j)))
        }
        _ => Ok(Vector::from_fn([len], |[j]| element(number, j))),
    };
    numbers.map(vector).collect()
}

/// The sum over the leaves, each a chain from zero, by a tree of which every left half is a power
/// of two.
fn sum<T: Field>(len: usize, leaf: usize, term: &impl Fn(usize, T) -> T) -> T {
    fn tree<T: Field>(leaves: &[T]) -> T {
        match leaves {
            [leaf] => *leaf,
            _ => {
                let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                tree(left) + tree(right)
            }
        }
    }
    if len == 0 {
        return T::ZERO;
    }
    let chain = |begin: usize| (begin..len.min(begin + leaf)).fold(T::ZERO, |sum, j| term(j, sum));
    tree(&(0..len).step_by(leaf).map(chain).collect::<Vec<T>>())
}

fn check<T: Field>(n_xs: usize, n_ys: usize, len: usize) {
    let product = |i: usize, j: usize| {
        let (x, y) = (
            move |p| element::<T>(i, p),
            move |p| element::<T>(n_xs + j, p),
        );
        sum(len, small().tile_len, &|p, sum| {
            y(p).times_plus(x(p).conjugate(), sum)
        })
    };
    let read = |products: Deferred<Vec<Vec<T>>>| products.get().map(|rows| rows.concat());
    let found = everywhere(|| {
        let (xs, ys) = (
            vectors::<T>(0..n_xs, len)?,
            vectors::<T>(n_xs..n_xs + n_ys, len)?,
        );
        let [xs, ys] = [&xs, &ys].map(|of| of.iter().collect::<Vec<_>>());
        Ok(bits(&read(Vector::try_inner_products(&xs, &ys)?)?))
    });
    let pairs = (0..n_ys).flat_map(|j| (0..n_xs).map(move |i| (i, j)));
    let expected: Vec<T> = pairs.map(|(i, j)| product(i, j)).collect();
    assert_eq!(found, bits(&expected), "{n_xs} with {n_ys} of {len}");
    if n_xs != n_ys {
        return;
    }
    let found = everywhere(|| {
        let (xs, ys) = (
            vectors::<T>(0..n_xs, len)?,
            vectors::<T>(n_xs..n_xs + n_ys, len)?,
        );
        let [xs, ys] = [&xs, &ys].map(|of| of.iter().collect::<Vec<_>>());
        Ok(bits(&read(Vector::try_hermitian_products(&xs, &ys)?)?))
    });
    let pairs = (0..n_ys).flat_map(|j| (0..=j).map(move |i| (i, j)));
    let expected: Vec<T> = pairs.map(|(i, j)| product(i, j)).collect();
    assert_eq!(
        found,
        bits(&expected),
        "half of {n_xs} with {n_ys} of {len}"
    );
}

#[test]
fn inner_products_are_chains_in_a_tree() {
    for (n_xs, n_ys, len) in [(1, 1, 1), (3, 2, 7), (2, 5, 0), (40, 40, 21), (9, 30, 130)] {
        check::<f64>(n_xs, n_ys, len);
    }
    check::<f32>(20, 20, 33);
    check::<Complex<f64>>(13, 13, 18);
    check::<Complex<f32>>(5, 3, 40);
}

#[test]
fn what_is_not_finite_stays_where_it_is() -> Result<(), Error> {
    let [x, y] = [1.0, f64::NAN].map(|value| Vector::full([1000], value));
    let products = Vector::inner_products(&[&x, &y], &[&x, &x]).get()?;
    assert_eq!(products[0][0], 1000.0);
    assert!(products[0][1].is_nan());
    Ok(())
}

#[test]
fn inner_products_refuse() {
    let [x, y] = [3, 4].map(|len| Vector::<f64>::ones([len]));
    let message = |xs: &[&Vector<f64>], ys: &[&Vector<f64>]| {
        Vector::try_inner_products(xs, ys).unwrap_err().to_string()
    };
    assert_eq!(
        message(&[], &[&x]),
        "inner_products: expected an x and a y or more, found none"
    );
    assert_eq!(
        message(&[&x], &[&y]),
        "inner_products: expected a shape of (3), found (4)"
    );
    let refused = Vector::try_hermitian_products(&[&x, &x], &[&x]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "inner_products: expected as many xs as ys, which are 1, found 2"
    );
}

#[test]
fn rests_are_vectors_minus_combinations() {
    let (n_ys, n_xs, len) = (5, 7, 300);
    let c = |i: usize, k: usize| element::<f64>(50 + i, k);
    let found = everywhere(|| {
        let (xs, ys) = (
            vectors::<f64>(0..n_xs, len)?,
            vectors(n_xs..n_xs + n_ys, len)?,
        );
        let [xs, ys] = [&xs, &ys].map(|of| of.iter().collect::<Vec<_>>());
        let lists: Vec<Vec<f64>> = (0..n_ys)
            .map(|i| (0..n_xs).map(|k| c(i, k)).collect())
            .collect();
        let rests = Vector::try_minus_combinations(&ys, &xs, &lists)?;
        let rests: Vec<Vec<f64>> = rests.iter().map(Vector::to_vec).collect::<Result<_, _>>()?;
        Ok(bits(&rests.concat()))
    });
    let rest = |i: usize, p: usize| {
        let chain = (0..n_xs).fold(0.0, |sum, k| c(i, k).mul_add(element(k, p), sum));
        element::<f64>(n_xs + i, p) - chain
    };
    let places = (0..n_ys).flat_map(|i| (0..len).map(move |p| (i, p)));
    let expected: Vec<f64> = places.map(|(i, p)| rest(i, p)).collect();
    assert_eq!(found, bits(&expected));
    let x = Vector::<f64>::ones([3]);
    let refused = Vector::try_minus_combinations(&[&x], &[&x], &[]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "minus_combinations: expected 1 lists of coefficients, one for each y, found 0"
    );
}
