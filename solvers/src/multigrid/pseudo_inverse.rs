//! Inverses of small dense matrices, and of singular ones their pseudo-inverses, which is what the
//! last level of a problem with a nullspace needs: of all corrections the one without a part in it.
//!
//! With orthonormal bases N of the nullspace and Y of that of the adjoint, the Moore-Penrose
//! inverse is `(A + s Y N')^-1 - N Y' / s` for any s other than 0 (Ben-Israel and Greville,
//! *Generalized Inverses*, 2003, chapter 2.7).

use super::gauss_jordan::{Machine, Pivots, Wanted, eliminate, scale, subtract};
use super::square::square;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

/// The pseudo-inverse of a row-major matrix: the inverse, if there is one. `precision` is that of
/// its entries; `scale` says how large the numbers were that these are sums of.
///
/// # Errors
///
/// If there is no memory, or rounding leaves no clear rank.
pub(super) fn pseudo_inverse<W: Field>(
    machine: Machine<'_>,
    n: usize,
    mut a: Vec<W>,
    precision: f64,
    scale: f64,
) -> Result<Vec<W>, Error> {
    let mut inverse = try_collect(a.iter().copied())?;
    let least = least_pivots(n, &a, precision.sqrt(), 0.0);
    if invert(machine, n, &mut inverse, &least)? {
        return Ok(inverse);
    }
    let (relative, absolute) = (16.0 * n as f64 * precision, 1e2 * precision * scale);
    let least = |a: &[W]| least_pivots(n, a, relative, absolute);
    let mut inverse = try_collect(a.iter().copied())?;
    if invert(machine, n, &mut inverse, &least(&a))? {
        return Ok(inverse);
    }
    let nullspace_of = |a: Vec<W>| {
        let least = least(&a);
        nullspace(machine, n, a, &least)
    };
    let nullspace = nullspace_of(try_collect(a.iter().copied())?)?;
    let of_adjoint = nullspace_of(adjoint(n, &a)?)?;
    let s = match a.iter().copied().map(size).fold(0.0, f64::max) {
        0.0 => 1.0,
        largest => largest,
    };
    let add = |a: &mut [W], xs: &[Vec<W>], ys: &[Vec<W>], factor: f64| {
        for (x, y) in xs.iter().zip(ys) {
            for (row, &x) in a.chunks_exact_mut(n).zip(x) {
                for (value, &y) in row.iter_mut().zip(y) {
                    *value += W::from_f64(factor) * x * y.conjugate();
                }
            }
        }
    };
    add(&mut a, &of_adjoint, &nullspace, s);
    let least = least_pivots(n, &a, relative, 0.0);
    if nullspace.len() != of_adjoint.len() || !invert(machine, n, &mut a, &least)? {
        let expected = "a last level that is regular, or has a nullspace";
        let found = format!("{n} rows, singular to rounding alone");
        return Err(Error::argument("multigrid", expected, found));
    }
    add(&mut a, &nullspace, &of_adjoint, -1.0 / s);
    Ok(a)
}

/// The conjugate transpose.
fn adjoint<W: Field>(n: usize, a: &[W]) -> Result<Vec<W>, Error> {
    try_collect((0..n * n).map(|place| a[place % n * n + place / n].conjugate()))
}

/// Replaces a matrix by its inverse; gives false where a column has no pivot above the least, and
/// leaves something else then.
fn invert<W: Field>(
    machine: Machine<'_>,
    n: usize,
    a: &mut [W],
    least: &[f64],
) -> Result<bool, Error> {
    let Pivots { swaps, free, .. } = eliminate(machine, n, a, least, Wanted::Inverse)?;
    for (k, pivot) in swaps.into_iter().enumerate().rev() {
        for row in a.chunks_exact_mut(n.max(1)) {
            row.swap(k, pivot);
        }
    }
    Ok(free.is_empty())
}

/// An orthonormal basis of the vectors that a matrix maps to 0: a vector for each column in which
/// elimination finds no pivot.
fn nullspace<W: Field>(
    machine: Machine<'_>,
    n: usize,
    mut a: Vec<W>,
    least: &[f64],
) -> Result<Vec<Vec<W>>, Error> {
    let found = eliminate(machine, n, &mut a, least, Wanted::ReducedRows)?;
    let mut basis: Vec<Vec<W>> = Vec::with_capacity(found.free.len());
    for column in found.free {
        let mut x = try_collect(repeat_n(W::ZERO, n))?;
        x[column] = W::ONE;
        for (row, &pivot) in found.columns.iter().enumerate() {
            x[pivot] = -a[row * n + column];
        }
        for _ in 0..2 {
            for q in &basis {
                let along = q.iter().zip(&x).map(|(&q, &x)| q.conjugate() * x);
                let along = along.fold(W::ZERO, |sum, product| sum + product);
                subtract(&mut x, along, q);
            }
        }
        let length = x.iter().copied().map(square).sum::<f64>().sqrt();
        scale(&mut x, W::from_f64(1.0 / length));
        basis.push(x);
    }
    Ok(basis)
}

/// What a pivot of each column must exceed: a part of the column's largest element, and a number.
fn least_pivots<W: Field>(n: usize, a: &[W], relative: f64, absolute: f64) -> Vec<f64> {
    let sizes = |column: usize| (0..n).map(move |row| size(a[row * n + column]));
    let largest = (0..n).map(|column| sizes(column).fold(0.0, f64::max));
    largest
        .map(|largest| absolute.max(relative * largest))
        .collect()
}

fn size<W: Field>(value: W) -> f64 {
    square(value).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;
    use sparsefuse_kernels::isa::Isa;
    use sparsefuse_kernels::random;
    use sparsefuse_sparse::Threads;

    type Elements = Vec<Complex<f64>>;

    fn product(n: usize, a: &[Complex<f64>], b: &[Complex<f64>]) -> Elements {
        let places = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        places
            .map(|(row, column)| (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum())
            .collect()
    }

    fn random_elements(len: usize, seed: u64) -> Elements {
        let part = |k: usize| random::uniform(seed, k as u64) - 0.5;
        (0..len)
            .map(|k| Complex::new(part(2 * k), part(2 * k + 1)))
            .collect()
    }

    #[track_caller]
    fn assert_near(a: &[Complex<f64>], b: &[Complex<f64>]) {
        let distance = a.iter().zip(b).map(|(a, b)| (a - b).norm());
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1e-9, "{distance:e}");
    }

    /// The four conditions of Penrose, for matrices of each rank.
    #[test]
    fn pseudo_inverses_fulfil_what_defines_them() {
        let machine = (&Threads::new(2), Isa::detect());
        for n in [1, 2, 7, 30, 150, 260] {
            for rank in [0, 1, n / 2, n - 1, n] {
                let mut left = random_elements(n * n, 3);
                let mut right = random_elements(n * n, 4);
                for k in 0..n {
                    for inner in rank..n {
                        left[k * n + inner] = Complex::ZERO;
                        right[inner * n + k] = Complex::ZERO;
                    }
                }
                let a = product(n, &left, &right);
                let found = pseudo_inverse(machine, n, a.clone(), f64::EPSILON, 1.0).unwrap();
                let (projector, other) = (product(n, &a, &found), product(n, &found, &a));
                assert_near(&product(n, &projector, &a), &a);
                assert_near(&product(n, &other, &found), &found);
                assert_near(&adjoint(n, &projector).unwrap(), &projector);
                assert_near(&adjoint(n, &other).unwrap(), &other);
            }
        }
    }

    /// A pure Neumann problem, whose rows sum to 0.
    #[test]
    fn constants_are_left_out() {
        let n = 40;
        let mut a = vec![0.0; n * n];
        for i in 1..n {
            for (row, column, value) in [(i, i, 1.0), (i - 1, i - 1, 1.0), (i, i - 1, -1.0)] {
                a[row * n + column] += value;
            }
            a[(i - 1) * n + i] = -1.0;
        }
        let inverse =
            pseudo_inverse((&Threads::new(2), Isa::detect()), n, a, f64::EPSILON, 2.0).unwrap();
        for row in inverse.chunks_exact(n) {
            assert!(row.iter().sum::<f64>().abs() < 1e-11);
        }
    }
}
