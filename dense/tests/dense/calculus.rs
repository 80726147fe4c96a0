//! Convolutions, polynomials, derivatives, integrals and cross products, against plain loops and
//! against what NumPy 2.4 gives.

use crate::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Numeric, Overlap, Vector};
use sparsefuse_testing::{bits, everywhere};

const OVERLAPS: [Overlap; 3] = [Overlap::Full, Overlap::Same, Overlap::Valid];

fn element<T: Numeric>(i: usize) -> T {
    T::from_f64(((i * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0)
}

/// All elements of a convolution, in the order in which they are summed.
fn convolved<T: Numeric>(a: &[T], b: &[T]) -> Vec<T> {
    let (x, weights) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let sum = |j: usize| {
        let terms = weights
            .iter()
            .enumerate()
            .filter(|(k, _)| (*k..*k + x.len()).contains(&j));
        terms.fold(T::ZERO, |sum, (k, &weight)| {
            sum.plus(x[j - k].times(weight))
        })
    };
    (0..a.len() + b.len() - 1).map(sum).collect()
}

fn convolutions<T: Numeric>(n: usize, m: usize) {
    let a: Vec<T> = (0..n).map(element).collect();
    let b: Vec<T> = (0..m).map(|i| element(5 * i + 3)).collect();
    let all = convolved(&a, &b);
    let (longer, shorter) = (n.max(m), n.min(m));
    everywhere(|| {
        let (x, y) = (Vector::from_slice(&a), Vector::from_slice(&b));
        assert_eq!(x.convolve(&y, Overlap::Full).bits()?, bits(&all));
        let same = (shorter - 1) / 2..(shorter - 1) / 2 + longer;
        assert_eq!(x.convolve(&y, Overlap::Same).bits()?, bits(&all[same]));
        let valid = x.convolve(&y, Overlap::Valid);
        assert_eq!(valid.bits()?, bits(&all[shorter - 1..longer]));
        // Views, and the other order.
        let turned = x.flip(0).convolve(&y.flip(0), Overlap::Valid);
        assert_eq!(turned.len(), valid.len());
        if n != m {
            assert_eq!(y.convolve(&x, Overlap::Valid).bits()?, valid.bits()?);
        }
        let of_y = y.conj().flip(0);
        let correlated = x.correlate(&y, Overlap::Full);
        assert_eq!(correlated.bits()?, x.convolve(&of_y, Overlap::Full).bits()?);
        correlated.bits()
    });
}

/// Matrices against a plain loop.
fn convolutions_of_matrices<T: Numeric>([m, n]: [usize; 2], [k, l]: [usize; 2]) {
    let x = |i: usize, j: usize| element::<T>(i * n + j);
    let weight = |i: usize, j: usize| element::<T>(7 * (i * l + j) + 1);
    let all = |i: usize, j: usize| {
        let mut places: Vec<_> = (0..k).flat_map(|p| (0..l).map(move |q| (p, q))).collect();
        // In the order of the elements of the smaller one.
        if m * n < k * l {
            places.reverse();
        }
        let meets = |&(p, q): &(usize, usize)| (p..p + m).contains(&i) && (q..q + n).contains(&j);
        places
            .into_iter()
            .filter(meets)
            .fold(T::ZERO, |sum, (p, q)| {
                sum.plus(x(i - p, j - q).times(weight(p, q)))
            })
    };
    let part = |[first_row, first_column]: [usize; 2], [rows, columns]: [usize; 2]| {
        let row = move |i: usize| (0..columns).map(move |j| (first_row + i, first_column + j));
        let places = (0..rows).flat_map(row);
        places.map(|(i, j)| all(i, j)).collect::<Vec<T>>()
    };
    everywhere(|| {
        let image = Array::from_fn([m, n], |[i, j]| x(i, j));
        let filter = Array::from_fn([k, l], |[i, j]| weight(i, j));
        let full = image.convolve2d(&filter, Overlap::Full);
        assert_eq!(full.to_vec()?, part([0, 0], [m + k - 1, n + l - 1]));
        let same = image.convolve2d(&filter, Overlap::Same);
        assert_eq!(same.to_vec()?, part([(k - 1) / 2, (l - 1) / 2], [m, n]));
        if (m >= k && n >= l) || (m <= k && n <= l) {
            let valid = image.convolve2d(&filter, Overlap::Valid);
            let first = [m.min(k) - 1, n.min(l) - 1];
            let expected = part(first, [m.abs_diff(k) + 1, n.abs_diff(l) + 1]);
            assert_eq!(valid.to_vec()?, expected);
        } else {
            assert!(image.try_convolve2d(&filter, Overlap::Valid).is_err());
        }
        let turned = filter.conj().flip(0).flip(1);
        let correlated = image.correlate2d(&turned, Overlap::Full);
        assert_eq!(correlated.bits()?, full.bits()?);
        // A view of a transpose.
        let crossed = image.t().convolve2d(&filter.t(), Overlap::Full);
        assert_eq!(crossed.shape(), [n + l - 1, m + k - 1]);
        full.bits()
    });
}

/// What SciPy 1.17 gives.
#[test]
fn convolutions_of_matrices_are_those_of_scipy() -> Result<(), Error> {
    let a = Array::from_shape_vec([3, 4], vec![0, 1, 4, 9, 5, 3, 3, 5, 9, 4, 1, 0])?;
    let w = Array::from_shape_vec([3, 2], vec![1, -2, 3, 4, 0, 5])?;
    let full = [
        [0, 1, 2, 1, -18],
        [5, -4, 13, 42, 26],
        [24, 15, 19, 45, 65],
        [27, 73, 34, 19, 25],
        [0, 45, 20, 5, 0],
    ];
    let full = full.concat();
    assert_eq!(a.convolve2d(&w, Overlap::Full).to_vec()?, full);
    let same = [5, -4, 13, 42, 24, 15, 19, 45, 27, 73, 34, 19];
    assert_eq!(a.convolve2d(&w, Overlap::Same).to_vec()?, same);
    assert_eq!(a.convolve2d(&w, Overlap::Valid).to_vec()?, [15, 19, 45]);
    let same = [19, 34, 73, 27, 45, 19, 15, 24, 42, 13, -4, 5];
    assert_eq!(a.correlate2d(&w, Overlap::Same).to_vec()?, same);
    assert_eq!(a.correlate2d(&w, Overlap::Valid).to_vec()?, [45, 19, 15]);
    let turned = full.into_iter().rev().collect::<Vec<_>>();
    assert_eq!(a.correlate2d(&w, Overlap::Full).to_vec()?, turned);
    // The other one is larger.
    let same = w.convolve2d(&a, Overlap::Same);
    assert_eq!(same.to_vec()?, [-4, 13, 15, 19, 73, 34]);
    let column = w.slice((.., ..1)).convolve2d(&a, Overlap::Valid);
    assert_eq!(column.to_vec()?, [24, 13, 10, 15]);
    let rows = w.slice((..2, ..)).correlate2d(&a, Overlap::Valid);
    assert_eq!(rows.to_vec()?, [-4, 13, 42, 15, 14, 25]);
    let number = |re: i32, im: i32| Complex::new(f64::from(re), f64::from(im));
    let numbers = vec![number(1, 0), number(0, 2), number(3, -1), number(4, 0)];
    let b = Array::from_shape_vec([2, 2], numbers)?;
    let found = a.cast::<Complex<f64>>().correlate2d(&b, Overlap::Valid);
    let known = [(27, 3), (22, -5), (33, -15), (48, 3), (19, -2), (6, -9)];
    assert_eq!(found.to_vec()?, known.map(|(re, im)| number(re, im)));
    // An infinite weight meets the zeros around too.
    let weights = Array::from_shape_vec([1, 2], vec![1.0, f64::INFINITY])?;
    let row = Array::from_shape_vec([1, 3], vec![1.0, 2.0, 3.0])?;
    let found = row.convolve2d(&weights, Overlap::Full).to_vec()?;
    assert!(found[0].is_nan() && found[1..].iter().all(|&x| x == f64::INFINITY));
    Ok(())
}

#[test]
fn convolutions_of_matrices_are_sums_of_products() {
    for (shape, of_filter) in [
        ([9, 11], [3, 3]),
        ([5, 4], [2, 5]),
        ([1, 1], [1, 1]),
        ([1, 6], [4, 2]),
        ([3, 2], [7, 6]),
    ] {
        convolutions_of_matrices::<f64>(shape, of_filter);
        convolutions_of_matrices::<i32>(shape, of_filter);
        convolutions_of_matrices::<Complex<f32>>(shape, of_filter);
    }
    let none = Array::<f64, 2>::zeros([0, 3]);
    for overlap in OVERLAPS {
        assert!(none.try_convolve2d(&Array::ones([1, 1]), overlap).is_err());
        assert!(Array::ones([1, 1]).try_correlate2d(&none, overlap).is_err());
    }
    let crossing =
        Array::<f64, 2>::ones([2, 9]).try_correlate2d(&Array::ones([3, 2]), Overlap::Valid);
    assert!(crossing.is_err_and(|error| error.to_string().starts_with("correlate2d: ")));
}

#[test]
fn convolutions_are_sums_of_products_in_order() {
    for (n, m) in [
        (1, 1),
        (1, 7),
        (7, 7),
        (50, 3),
        (4, 90),
        (30, 29),
        (300, 70),
        (33, 32),
    ] {
        convolutions::<f64>(n, m);
    }
    convolutions::<f32>(40, 5);
    convolutions::<i32>(40, 5);
    convolutions::<i64>(40, 5);
    convolutions::<u32>(40, 5);
    convolutions::<u64>(40, 5);
    convolutions::<Complex<f64>>(40, 5);
    convolutions::<Complex<f32>>(40, 5);
}

/// `np.convolve(x, y, mode)`, `np.correlate(x, y, mode)`, `np.correlate(y, x, mode)` in each mode.
#[test]
fn convolutions_and_correlations_of_numpy() {
    everywhere(|| {
        let x = Vector::from_vec(vec![1.5, -2.0, 3.0, 0.25, 7.0]);
        let three = Vector::from_vec(vec![0.5, -1.0, 4.0]);
        let four = Vector::from_vec(vec![1.0, 2.0, 3.0, 4.0]);
        let expected: [[&[f64]; 3]; 6] = [
            [
                &[0.75, -2.5, 9.5, -10.875, 15.25, -6.0, 28.0],
                &[6.0, -9.5, 14.75, -3.0, 29.25, -6.875, 3.5],
                &[3.5, -6.875, 29.25, -3.0, 14.75, -9.5, 6.0],
            ],
            [
                &[-2.5, 9.5, -10.875, 15.25, -6.0],
                &[-9.5, 14.75, -3.0, 29.25, -6.875],
                &[-6.875, 29.25, -3.0, 14.75, -9.5],
            ],
            [
                &[9.5, -10.875, 15.25],
                &[14.75, -3.0, 29.25],
                &[29.25, -3.0, 14.75],
            ],
            [
                &[1.5, 1.0, 3.5, 6.25, 8.5, 26.75, 22.0, 28.0],
                &[6.0, -3.5, 9.0, 7.5, 32.75, 24.5, 14.25, 7.0],
                &[7.0, 14.25, 24.5, 32.75, 7.5, 9.0, -3.5, 6.0],
            ],
            [
                &[1.0, 3.5, 6.25, 8.5, 26.75],
                &[-3.5, 9.0, 7.5, 32.75, 24.5],
                &[24.5, 32.75, 7.5, 9.0, -3.5],
            ],
            [&[6.25, 8.5], &[7.5, 32.75], &[32.75, 7.5]],
        ];
        let cases = [&three, &four]
            .into_iter()
            .flat_map(|y| OVERLAPS.map(|overlap| (y, overlap)));
        for ((y, overlap), [convolved, correlated, turned]) in cases.zip(expected) {
            assert_eq!(x.convolve(y, overlap).to_vec()?, convolved);
            assert_eq!(y.convolve(&x, overlap).to_vec()?, convolved);
            assert_eq!(x.correlate(y, overlap).to_vec()?, correlated);
            assert_eq!(y.correlate(&x, overlap).to_vec()?, turned);
        }
        let i = Complex::new(0.0, 1.0);
        let z = Vector::from_vec(vec![1.0 + 2.0 * i, -i, 3.0 + 0.0 * i]);
        let w = Vector::from_vec(vec![2.0 - i, i]);
        let expected = [1.0 + 5.0 * i, -1.0 - 5.0 * i, 2.0 + i];
        assert_eq!(w.correlate(&z, Overlap::Same).to_vec()?, expected);
        Ok(())
    });
}

#[test]
fn nothing_stands_for_what_is_missing_at_the_ends() -> Result<(), Error> {
    let x = Vector::from_vec(vec![f64::INFINITY, 1.0, 2.0]);
    let y = Vector::from_vec(vec![1.0, 2.0]);
    let found = x.convolve(&y, Overlap::Full).to_vec()?;
    assert_eq!(found, [f64::INFINITY, f64::INFINITY, 4.0, 4.0]);
    let none = x.slice(..0);
    let error = x
        .try_convolve(&none, Overlap::Full)
        .unwrap_err()
        .to_string();
    let expected = "convolve: expected two vectors with elements, found 3 and 0";
    assert_eq!(error, expected);
    assert!(none.try_correlate(&x, Overlap::Valid).is_err());
    Ok(())
}

fn values_of_polynomials<T: Numeric>() {
    let coefficients: Vec<T> = (0..6).map(|i| element(i + 9)).collect();
    let horner = |x: T, n: usize| {
        let rest = coefficients[1.min(n)..n].iter();
        let first = if n == 0 { T::ZERO } else { coefficients[0] };
        rest.fold(first, |value, &c| value.times(x).plus(c))
    };
    everywhere(|| {
        let x = Array::from_fn([7, 5], |[i, j]| element::<T>(5 * i + j));
        let all = Vector::from_slice(&coefficients);
        let mut found = Vec::new();
        for n in 0..=6 {
            let values = x.polyval(&all.slice(..n)).to_vec()?;
            let expected: Vec<T> = x.to_vec()?.iter().map(|&x| horner(x, n)).collect();
            assert_eq!(bits(&values), bits(&expected), "{n}");
            found.extend(bits(&values));
        }
        assert_eq!(x.ravel().slice(..0).polyval(&all).len(), 0);
        Ok(found)
    });
}

#[test]
fn polynomials() {
    values_of_polynomials::<f64>();
    values_of_polynomials::<f32>();
    values_of_polynomials::<i64>();
    values_of_polynomials::<u32>();
    values_of_polynomials::<Complex<f64>>();
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let is_close = (found - expected).abs() <= 1e-13 * (1.0 + expected.abs());
        assert!(is_close, "{found}, not {expected}");
    }
}

/// `np.gradient` and `np.trapezoid` of these.
#[test]
fn derivatives_and_integrals_of_numpy() {
    everywhere(|| {
        let xs = Vector::from_vec(vec![0.0, 1.0, 2.5, 3.0, 4.5]);
        let y = Vector::from_vec(vec![1.0, 3.0, -2.0, 0.5, 8.0]);
        assert_eq!(y.gradient(0, 1.0).to_vec()?, [2.0, -1.5, -1.25, 5.0, 7.5]);
        assert_eq!(y.gradient(0, 0.25).to_vec()?, [8.0, -6.0, -5.0, 20.0, 30.0]);
        let expected = [
            2.0,
            -0.133_333_333_333_333_3,
            2.916_666_666_666_666_5,
            5.0,
            5.0,
        ];
        close(&y.gradient_at(0, &xs).to_vec()?, &expected);
        assert_eq!(
            (y.trapezoid(0.5).get()?, y.trapezoid_at(&xs).get()?),
            (3.0, 8.75)
        );
        let a = Array::from_fn([2, 3, 4], |[i, j, k]| ((i * 12 + j * 4 + k) as f64).powi(2));
        let middle = a.gradient(1, 2.0);
        let expected = [
            8.0, 12.0, 16.0, 20.0, 16.0, 20.0, 24.0, 28.0, 24.0, 28.0, 32.0, 36.0,
        ];
        assert_eq!(middle.to_vec()?[..12], expected);
        let last = a.gradient_at(2, &Vector::from_vec(vec![0.0, 1.0, 4.0, 4.5]));
        let expected = [
            1.0,
            1.0,
            8.714_285_714_285_712,
            10.0,
            9.0,
            7.666_666_666_666_664,
            22.809_523_809_523_81,
            26.0,
        ];
        close(&last.to_vec()?[..8], &expected);
        let integrals = a.trapezoid_axis(1).to_vec()?;
        let first = Vector::from_vec(vec![0.0, 16.0, 64.0]).trapezoid(1.0);
        assert_eq!((integrals.len(), integrals[0]), (8, first.get()?));
        assert_eq!(a.slice((.., ..1, ..)).trapezoid_axis(1).to_vec()?, [0.0; 8]);
        assert_eq!(y.slice(..2).gradient(0, 2.0).to_vec()?, [1.0, 1.0]);
        let two = y.slice(..2).gradient_at(0, &xs.slice(1..3));
        close(&two.to_vec()?, &[2.0 / 1.5, 2.0 / 1.5]);
        for n in 0..2 {
            assert_eq!(y.slice(..n).trapezoid(1.0).get()?, 0.0);
        }
        let z = y.cast::<Complex<f32>>() * Complex::new(0.0, 1.0);
        assert_eq!(
            z.trapezoid(Complex::from(0.5)).get()?,
            Complex::new(0.0, 3.0)
        );
        assert_eq!(
            z.gradient(0, Complex::ONE).im().to_vec()?[2..],
            [-1.25, 5.0, 7.5]
        );
        Ok((middle.bits()?, last.bits()?))
    });
}

#[test]
fn derivatives_that_there_are_not() {
    let y = Vector::<f64>::ones([3]);
    let message = |found: Result<Vector<f64>, Error>| found.unwrap_err().to_string();
    let error = message(y.slice(..1).try_gradient(0, 1.0));
    assert_eq!(
        error,
        "gradient: expected at least 2 elements along axis 0, found 1"
    );
    let error = message(y.try_gradient(1, 1.0));
    assert_eq!(error, "gradient: expected an axis below 1, found 1");
    let error = message(y.try_gradient_at(0, &y.slice(1..)));
    assert_eq!(error, "gradient_at: expected a shape of (3), found (2)");
    let error = y.try_trapezoid_at(&y.slice(1..)).unwrap_err().to_string();
    assert_eq!(error, "trapezoid_at: expected a shape of (3), found (2)");
}

#[test]
fn cross_products() {
    let cross = |a: &[i64], b: &[i64]| {
        let at = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
        [at(1, 2), at(2, 0), at(0, 1)]
    };
    everywhere(|| {
        let a = Array::from_fn([40, 3], |[i, j]| element::<f64>(3 * i + j) as i64);
        let b = Array::from_fn([40, 3], |[i, j]| element::<f64>(7 * i + 2 * j) as i64);
        let (of_a, of_b) = (a.to_vec()?, b.to_vec()?);
        let pairs = of_a.chunks(3).zip(of_b.chunks(3));
        let expected: Vec<i64> = pairs.flat_map(|(a, b)| cross(a, b)).collect();
        assert_eq!(a.cross(&b).to_vec()?, expected);
        let lines = a.insert_axis(0).cross(&b.insert_axis(0));
        assert_eq!((lines.shape(), lines.to_vec()?), ([1, 40, 3], expected));
        // One vector beside many.
        let first = a.cross(&b.slice((..1, ..))).to_vec()?;
        let of_first = of_a.chunks(3).flat_map(|a| cross(a, &of_b[..3]));
        assert_eq!(first, of_first.collect::<Vec<_>>());
        Ok(first)
    });
    let (two, three) = (Vector::<f64>::ones([2]), Vector::<f64>::ones([3]));
    let error = three.try_cross(&two).unwrap_err().to_string();
    assert_eq!(
        error,
        "cross: expected 3 elements along the last axis, found 2"
    );
    let (four, five) = (Array::<f64, 2>::ones([4, 3]), Array::<f64, 2>::ones([5, 3]));
    assert!(four.try_cross(&five).is_err());
}
