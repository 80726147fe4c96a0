//! The Schur form of a small matrix on the host: A = Q T Q' with Q unitary and T triangular. Its
//! first columns span spaces that the matrix maps to themselves, and its blocks can be brought into
//! any order.
//!
//! T of a real matrix is real, and so is Q: a pair of complex eigenvalues is a block of two rows on
//! the diagonal.
//!
//! Numbers are in double precision, whatever the elements of the large vectors are; plain
//! arithmetic and square roots alone, so that every machine and every rank computes the same bits.
//! Their squares have to be within the range of doubles, which [`scale`](super::scale) sees to.

use super::hermitian::Coefficients;
use super::matrix::Matrix;
use super::schur_form::Form;
use num_complex::Complex;
use std::ops::Range;

/// A Schur form, see the module's text: of a real matrix in real numbers.
#[derive(Clone, Debug)]
pub(super) enum Schur {
    Real(Form<f64>),
    Complex(Form<Complex<f64>>),
}

/// The same of the form of either type.
macro_rules! of_either {
    ($schur:expr, $form:ident => $value:expr) => {
        match $schur {
            Schur::Real($form) => $value,
            Schur::Complex($form) => $value,
        }
    };
}

impl Schur {
    /// Of a matrix, with a real form where it is known to be real. It is triangular already in its
    /// first `done` rows and columns, below which all elements are 0.
    pub(super) fn of(a: &Matrix<Complex<f64>>, is_real: bool, done: usize) -> Self {
        match is_real {
            true => Self::Real(Form::of(a.cast(), done)),
            false => Self::Complex(Form::of(a.clone(), done)),
        }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        of_either!(self, form => form.len())
    }

    /// The first rows and columns of T.
    pub(super) fn leading(&self, n: usize) -> Matrix<Complex<f64>> {
        of_either!(self, form => form.leading(n).cast())
    }

    /// A column of Q.
    pub(super) fn column(&self, column: usize) -> Coefficients {
        of_either!(self, form => form.column(column))
    }

    /// Whether a pair of a real matrix would be cut behind the first `n` rows.
    pub(super) fn cuts_pair(&self, n: usize) -> bool {
        of_either!(self, form => form.cuts_pair(n))
    }

    /// The eigenvalues in the order of the diagonal; of the pairs of a real matrix first the one
    /// with the positive imaginary part.
    pub(super) fn values(&self) -> Vec<Complex<f64>> {
        of_either!(self, form => form.values())
    }

    /// The coefficients in the columns of Q of the eigenvector of the eigenvalue at a place of the
    /// diagonal, of length 1: of (T - lambda) y = 0 by substitution. Those behind the block of the
    /// place are 0 and left out.
    pub(super) fn in_columns(&self, place: usize) -> Coefficients {
        of_either!(self, form => form.in_columns(place))
    }

    /// The eigenvector of the eigenvalue at a place of the diagonal, of length 1.
    pub(super) fn eigenvector(&self, place: usize) -> Coefficients {
        let y = self.in_columns(place);
        let mut z = vec![Complex::ZERO; self.len()];
        for (column, y) in y.iter().enumerate() {
            for (z, q) in z.iter_mut().zip(self.column(column)) {
                *z += q * y;
            }
        }
        z
    }

    /// Brings into these places the eigenvalues with the smallest keys of all from the first place
    /// on, in order of their keys; a block begins there. The key of a number is that of its
    /// conjugate where the matrix is real. Neighbours that are equal up to rounding may stay as
    /// they are.
    pub(super) fn order(&mut self, places: Range<usize>, key: impl Fn(Complex<f64>) -> [f64; 2]) {
        of_either!(self, form => form.order(places, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::krylov::scalars::size;
    use sparsefuse_kernels::random;

    fn from_fn(n: usize, element: impl Fn(usize, usize) -> Complex<f64>) -> Matrix<Complex<f64>> {
        let mut a = Matrix::zeros(n);
        for row in 0..n {
            (0..n).for_each(|column| a.set(row, column, element(row, column)));
        }
        a
    }

    fn real(n: usize, element: impl Fn(usize, usize) -> f64) -> Matrix<Complex<f64>> {
        from_fn(n, |row, column| element(row, column).into())
    }

    fn pseudo_random(n: usize, is_real: bool) -> Matrix<Complex<f64>> {
        let part = |k: usize| 2.0 * random::uniform(7, k as u64) - 1.0;
        from_fn(n, |row, column| {
            let k = 2 * (row * n + column);
            Complex::new(part(k), if is_real { 0.0 } else { part(k + 1) })
        })
    }

    /// A Q = Q T with Q unitary and T of its form, and A z = lambda z of all eigenvectors, relative
    /// to the largest element.
    fn check_form(what: &str, a: &Matrix<Complex<f64>>, schur: &Schur) {
        let n = a.n_rows();
        let limit = 2e-15 * n as f64;
        let scale = a.largest().max(f64::MIN_POSITIVE);
        let times = |x: &[Complex<f64>], row: usize| -> Complex<f64> {
            (0..n).map(|k| a.at(row, k) * x[k]).sum()
        };
        let t = schur.leading(n);
        let columns: Vec<_> = (0..n).map(|column| schur.column(column)).collect();
        for (j, q) in columns.iter().enumerate() {
            for (i, p) in columns.iter().enumerate() {
                let product: Complex<f64> = p.iter().zip(q).map(|(p, q)| p.conj() * q).sum();
                assert!(size(product - f64::from(i == j)) < limit, "{what}");
                let expected: Complex<f64> = (0..n).map(|k| columns[k][i] * t.at(k, j)).sum();
                assert!(size(times(q, i) - expected) < limit * scale, "{what}");
                let is_below = i > j + 1 || (i == j + 1 && !schur.cuts_pair(i));
                assert!(!is_below || t.at(i, j) == Complex::ZERO, "{what}");
            }
        }
        for (place, value) in schur.values().into_iter().enumerate() {
            assert!(!(schur.cuts_pair(place) && schur.cuts_pair(place + 1)));
            let z = schur.eigenvector(place);
            let image = |row| times(&z, row);
            for (row, z) in z.iter().enumerate() {
                let left = size(image(row) - value * z);
                assert!(left < limit * scale, "{what}: {left}");
                let is_real = matches!(schur, Schur::Real(_)) && value.im == 0.0;
                assert!(!is_real || z.im == 0.0, "{what}");
            }
        }
    }

    /// Before it is ordered and after; gives the ordered form.
    fn check(what: &str, a: &Matrix<Complex<f64>>, is_real: bool) -> Schur {
        let mut schur = Schur::of(a, is_real, 0);
        check_form(what, a, &schur);
        schur.order(0..a.n_rows(), |value| [-size(value), 0.0]);
        check_form(what, a, &schur);
        schur
    }

    #[test]
    fn values_are_those_of_faer_in_order() {
        for is_real in [true, false] {
            for n in [0, 1, 2, 3, 4, 7, 20, 41] {
                let a = pseudo_random(n, is_real);
                let schur = check("pseudo-random", &a, is_real);
                let found = schur.values();
                let sizes: Vec<f64> = found.iter().map(|value| size(*value)).collect();
                assert!(sizes.windows(2).all(|pair| pair[1] < pair[0] + 1e-12));
                let dense = faer::Mat::from_fn(n, n, |row, column| a.at(row, column));
                let mut left = if n > 0 {
                    dense.eigenvalues().unwrap()
                } else {
                    Vec::new()
                };
                for value in found {
                    let near = left.iter().position(|other| size(other - value) < 1e-12);
                    left.swap_remove(near.unwrap());
                }
            }
        }
    }

    #[test]
    fn special_matrices() {
        for is_real in [true, false] {
            let cyclic = real(30, |i, j| f64::from((j + 1) % 30 == i));
            let values = check("cyclic", &cyclic, is_real).values();
            assert!(
                values
                    .iter()
                    .all(|value| (size(*value) - 1.0).abs() < 1e-14)
            );
            let jordan = real(30, |i, j| if i == j { 2.0 } else { f64::from(i + 1 == j) });
            check("jordan", &jordan, is_real);
            let transposed = real(30, |i, j| jordan.at(j, i).re);
            check("transposed", &transposed, is_real);
            check("zero", &Matrix::zeros(5), is_real);
            check("identity", &Matrix::identity(6), is_real);
            let integers = real(24, |i, j| ((i * 7 + j * 13) % 5) as f64 - 2.0);
            check("low rank", &integers, is_real);
            let graded = real(30, |i, j| {
                ((i * 5 + j * 3) as f64).sin() / 4f64.powi((i + j) as i32)
            });
            check("graded", &graded, is_real);
            // ±i six times, in blocks that depend on one another.
            let pairs = real(12, |i, j| match (i % 2, j.wrapping_sub(i)) {
                (0, 1) => 1.0,
                (1, usize::MAX) => -1.0,
                (_, 2) => 0.5,
                _ => 0.0,
            });
            check("pairs", &pairs, is_real);
            for scale in [1e-75, 1e75] {
                let scaled = real(20, |i, j| scale * ((i * 5 + j * 3) as f64).sin());
                check("scaled", &scaled, is_real);
            }
        }
    }
    /// As a restart leaves a space that then grows: a form, and in the row below it the couplings,
    /// of the first columns none.
    #[test]
    fn forms_of_grown_forms() {
        const KEPT: usize = 12;
        for is_real in [true, false] {
            let form = Schur::of(&pseudo_random(KEPT, is_real), is_real, 0);
            let form_of_kept = form.leading(KEPT);
            let done = if form.cuts_pair(4) { 5 } else { 4 };
            let part = pseudo_random(20, is_real);
            let a = from_fn(20, |row, column| {
                match (row < KEPT && column < KEPT, row == KEPT) {
                    (true, _) => form_of_kept.at(row, column),
                    (_, true) if column < done => Complex::ZERO,
                    (false, false) if row > KEPT && row > column + 1 => Complex::ZERO,
                    _ => part.at(row, column),
                }
            });
            let grown = Schur::of(&a, is_real, done);
            check_form("grown", &a, &grown);
            for column in 0..done {
                let unit = grown.column(column);
                assert!((0..20).all(|row| unit[row] == Complex::from(f64::from(row == column))));
            }
            assert_eq!(grown.values()[..done], form.values()[..done]);
        }
    }
}
