//! The Schur form of a small matrix on the host: A = Q T Q' with Q unitary and T triangular. Its
//! first columns span spaces that the matrix maps to themselves, and its blocks can be brought into
//! any order.
//!
//! T of a real matrix is real, and so is Q: a pair of complex eigenvalues is a block of two rows on
//! the diagonal. That costs nothing here, since the elements are complex numbers with imaginary
//! parts of 0, and Francis's sweeps with two shifts serve complex matrices too (Golub and Van Loan,
//! *Matrix Computations*, sections 7.4 to 7.6). What differs is which blocks are split in two.
//!
//! Numbers are in double precision, whatever the elements of the large vectors are; plain
//! arithmetic and square roots alone, so that every machine and every rank computes the same bits.
//! Their squares have to be within the range of doubles, which [`scale`](super::scale) sees to.

use super::hermitian::Coefficients;
use super::matrix::{Matrix, Reflection, solve};
use crate::krylov::scalars::size;
use crate::powers::exponent;
use num_complex::Complex;
use std::ops::Range;

/// More sweeps than any eigenvalue needs: two or three are common.
const MAX_SWEEPS: u32 = 300;

/// After this many sweeps without an eigenvalue one has other shifts, since a few matrices, such as
/// permutations, are mapped to themselves by sweeps with the usual ones.
const SWEEPS_OF_A_SHIFT: u32 = 10;

/// A block on the diagonal of T: one row, or the two of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    start: usize,
    len: usize,
}

impl Block {
    fn end(self) -> usize {
        self.start + self.len
    }
}

/// A Schur form; see the module's text.
#[derive(Clone, Debug)]
pub(super) struct Schur {
    t: Matrix,
    q: Matrix,
    is_real: bool,
    /// The largest element of the matrix, or 1 where all are 0: what its rounding is relative to.
    scale: f64,
}

impl Schur {
    /// Of a matrix, with a real form where it is known to be real.
    pub(super) fn of(mut a: Matrix, is_real: bool) -> Self {
        let (n, largest) = (a.n_rows(), a.largest());
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let power = exponent(scale);
        a.times_power_of(-power);
        let mut schur = Self {
            t: a,
            q: Matrix::identity(n),
            is_real,
            scale,
        };
        schur.reduce_to_hessenberg();
        schur.reduce_to_blocks();
        schur.t.times_power_of(power);
        schur
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.t.n_rows()
    }

    /// The first rows and columns of T.
    pub(super) fn leading(&self, n: usize) -> Matrix {
        self.t.resized(n)
    }

    /// A column of Q.
    pub(super) fn column(&self, column: usize) -> Coefficients {
        (0..self.len()).map(|row| self.q.at(row, column)).collect()
    }

    /// Whether a pair of a real matrix would be cut behind the first `n` rows.
    pub(super) fn cuts_pair(&self, n: usize) -> bool {
        n > 0 && n < self.len() && self.t.at(n, n - 1) != Complex::ZERO
    }

    /// The eigenvalues in the order of the diagonal; of the pairs of a real matrix first the one
    /// with the positive imaginary part.
    pub(super) fn values(&self) -> Vec<Complex<f64>> {
        let blocks = self.blocks(0);
        let pairs = blocks.map(|block| (self.value(block), block.len));
        let both =
            |(value, len): (Complex<f64>, usize)| [value, value.conj()].into_iter().take(len);
        pairs.flat_map(both).collect()
    }

    /// The eigenvector of the eigenvalue at a place of the diagonal, of length 1: of (T - lambda) y
    /// = 0 by substitution, and then Q y.
    pub(super) fn eigenvector(&self, place: usize) -> Coefficients {
        let blocks: Vec<Block> = self.blocks(0).collect();
        let own = blocks.iter().position(|block| place < block.end());
        let own = own.expect("the place is on the diagonal");
        let block = blocks[own];
        let value = self.value(block);
        let mut y = vec![Complex::ZERO; self.len()];
        y[block.start] = Complex::ONE;
        if block.len == 2 {
            y[block.start] = value - self.t.at(block.start + 1, block.start + 1);
            y[block.start + 1] = self.t.at(block.start + 1, block.start);
        }
        for above in blocks[..own].iter().rev() {
            self.substitute(*above, value, &mut y[..block.end()]);
        }
        let rows = (0..self.len()).map(|row| {
            let columns = y[..block.end()].iter().enumerate();
            columns.map(|(column, y)| self.q.at(row, column) * y).sum()
        });
        let z: Coefficients = rows.collect();
        let length = z.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        let is_second = place > block.start;
        let part = |z: Complex<f64>| if is_second { z.conj() } else { z } / length;
        z.into_iter().map(part).collect()
    }

    /// Brings the blocks into the order of the keys of their eigenvalues, the smallest first. The
    /// key of a number is that of its conjugate where the matrix is real. Neighbours that are equal
    /// up to rounding may stay as they are.
    pub(super) fn order(&mut self, key: impl Fn(Complex<f64>) -> [f64; 2]) {
        let mut place = 0;
        while place < self.len() {
            let key_of = |block: &Block| key(self.value(*block));
            let first = self.blocks(place).min_by(|one, other| {
                let ([x, second_x], [y, second_y]) = (key_of(one), key_of(other));
                x.total_cmp(&y).then(second_x.total_cmp(&second_y))
            });
            let mut block = first.expect("a block begins at every place");
            while block.start > place {
                let before = self.block_before(block.start);
                if !self.swap(before, block) {
                    break;
                }
                block.start = before.start;
            }
            place = self.block_at(place).end();
        }
    }

    /// A = Q H Q' with H 0 below the first diagonal under the main one.
    fn reduce_to_hessenberg(&mut self) {
        let n = self.len();
        for column in 0..n.saturating_sub(2) {
            let below: Coefficients = (column + 1..n).map(|row| self.t.at(row, column)).collect();
            if let Some(reflection) = Reflection::of(&below) {
                self.reflect(column + 1, &reflection, n);
            }
            (column + 2..n).for_each(|row| self.t.set(row, column, Complex::ZERO));
        }
    }

    /// The QR iteration, from the last rows to the first.
    fn reduce_to_blocks(&mut self) {
        let (mut end, mut sweeps) = (self.len(), 0);
        while end > 0 {
            let is_separate = |row: &usize| self.is_negligible(*row);
            let start = (1..end).rev().find(is_separate).unwrap_or(0);
            if start > 0 {
                self.t.set(start, start - 1, Complex::ZERO);
            }
            match end - start {
                1 | 2 => {
                    if end - start == 2 {
                        self.split(start);
                    }
                    (end, sweeps) = (start, 0);
                }
                _ if sweeps == MAX_SWEEPS => {
                    // What is lost shows in the residuals of the eigenvectors.
                    self.t.set(end - 1, end - 2, Complex::ZERO);
                    sweeps = 0;
                }
                _ => {
                    sweeps += 1;
                    self.sweep(start..end, sweeps % SWEEPS_OF_A_SHIFT == 0);
                }
            }
        }
    }

    /// Whether the element before the diagonal of a row is rounding of those beside it.
    fn is_negligible(&self, row: usize) -> bool {
        let beside = size(self.t.at(row, row)) + size(self.t.at(row - 1, row - 1));
        let scale = if beside == 0.0 { 1.0 } else { beside };
        size(self.t.at(row, row - 1)) <= f64::EPSILON * scale
    }

    /// Francis's sweep over three rows or more: two steps of QR with the eigenvalues of the last
    /// block of two rows as shifts, of which sum and product are enough.
    fn sweep(&mut self, rows: Range<usize>, is_exceptional: bool) {
        let (start, end) = (rows.start, rows.end);
        let h = |row: usize, column: usize| self.t.at(row, column);
        let (mut sum, mut product) = (
            h(end - 2, end - 2) + h(end - 1, end - 1),
            h(end - 2, end - 2) * h(end - 1, end - 1) - h(end - 2, end - 1) * h(end - 1, end - 2),
        );
        if is_exceptional {
            let length = size(h(end - 1, end - 2)) + size(h(end - 2, end - 3));
            (sum, product) = ((1.5 * length).into(), (length * length).into());
        }
        let below = h(start + 1, start);
        let mut bulge = vec![
            h(start, start) * (h(start, start) - sum) + h(start, start + 1) * below + product,
            below * (h(start, start) + h(start + 1, start + 1) - sum),
            below * h(start + 2, start + 1),
        ];
        for row in start..end - 1 {
            if let Some(reflection) = Reflection::of(&bulge) {
                self.reflect(row, &reflection, end);
            }
            if row > start {
                let rest = row + 1..row + bulge.len();
                rest.for_each(|below| self.t.set(below, row - 1, Complex::ZERO));
            }
            let next = row + 1..end.min(row + 4);
            bulge = next.map(|below| self.t.at(below, row)).collect();
        }
    }

    /// T becomes H T H, Q becomes Q H, for a reflection H of the rows from `first` on. The rows
    /// from `end` on are 0 in the columns that it changes.
    fn reflect(&mut self, first: usize, reflection: &Reflection, end: usize) {
        let n = self.len();
        let left = first.saturating_sub(1);
        self.t.reflect_rows(first, left..n, reflection);
        self.t.reflect_columns(first, 0..end, reflection);
        self.q.reflect_columns(first, 0..n, reflection);
    }

    /// Makes the two rows from `start` on triangular, unless they are a pair of a real matrix.
    fn split(&mut self, start: usize) {
        let below = self.t.at(start + 1, start);
        let (distance, root) = self.halves(start);
        if below == Complex::ZERO || (self.is_real && root.im != 0.0) {
            return;
        }
        // lambda - d of the eigenvalue that is farther from d; the other difference may be
        // rounding.
        let along = distance + root;
        let against = distance - root;
        let farther = if size(along) > size(against) {
            along
        } else {
            against
        };
        if let Some(reflection) = Reflection::of(&[farther, below]) {
            self.reflect(start, &reflection, start + 2);
        }
        self.t.set(start + 1, start, Complex::ZERO);
    }

    /// (a - d) / 2 and the square root of its square + b c, for a block (a b; c d): its eigenvalues
    /// are the mean of a and d plus and minus that root.
    fn halves(&self, start: usize) -> (Complex<f64>, Complex<f64>) {
        let t = |row: usize, column: usize| self.t.at(start + row, start + column);
        let distance = (t(0, 0) - t(1, 1)) * 0.5;
        (distance, root(distance * distance + t(0, 1) * t(1, 0)))
    }

    /// The eigenvalue of a block; of a pair the one with the positive imaginary part.
    fn value(&self, block: Block) -> Complex<f64> {
        let first = self.t.at(block.start, block.start);
        if block.len == 1 {
            return first;
        }
        let second = self.t.at(block.start + 1, block.start + 1);
        (first + second) * 0.5 + self.halves(block.start).1
    }

    /// The blocks from a place on, at which one begins.
    fn blocks(&self, from: usize) -> impl Iterator<Item = Block> {
        let first = (from < self.len()).then(|| self.block_at(from));
        std::iter::successors(first, |block| {
            (block.end() < self.len()).then(|| self.block_at(block.end()))
        })
    }

    /// The block that begins at a place.
    fn block_at(&self, start: usize) -> Block {
        let len = if self.cuts_pair(start + 1) { 2 } else { 1 };
        Block { start, len }
    }

    /// The block that ends before a place.
    fn block_before(&self, end: usize) -> Block {
        let len = if end > 1 && self.cuts_pair(end - 1) {
            2
        } else {
            1
        };
        Block {
            start: end - len,
            len,
        }
    }

    /// Swaps two neighbouring blocks A and B: with A X - X B = C of the block C above B, the
    /// columns of (-X; I) span the space of B's eigenvalues, and reflections that make them
    /// triangular bring it to the front (Bai and Demmel, *On swapping diagonal blocks in real Schur
    /// form*, 1993). Gives false, and leaves them as they are, where they are so close that
    /// rounding would change them.
    fn swap(&mut self, a: Block, b: Block) -> bool {
        let (start, n) = (a.start, a.len + b.len);
        let mut columns = self.space_of_second(a, b);
        let mut window = Matrix::zeros(n);
        for row in 0..n {
            for column in 0..n {
                window.set(row, column, self.t.at(start + row, start + column));
            }
        }
        let negligible = 10.0 * f64::EPSILON * window.largest();
        let mut reflections = Vec::new();
        for column in 0..b.len {
            let x: Coefficients = (column..n).map(|row| columns.at(row, column)).collect();
            if let Some(reflection) = Reflection::of(&x) {
                columns.reflect_rows(column, column..n, &reflection);
                window.reflect_rows(column, 0..n, &reflection);
                window.reflect_columns(column, 0..n, &reflection);
                reflections.push((start + column, reflection));
            }
        }
        let mut left = (b.len..n).flat_map(|row| (0..b.len).map(move |column| (row, column)));
        if left.any(|(row, column)| !(size(window.at(row, column)) <= negligible)) {
            return false;
        }
        for (first, reflection) in &reflections {
            self.t
                .reflect_rows(*first, start..self.t.n_rows(), reflection);
            self.t.reflect_columns(*first, 0..start + n, reflection);
            self.q
                .reflect_columns(*first, 0..self.q.n_rows(), reflection);
        }
        for row in start + b.len..start + n {
            (start..start + b.len).for_each(|column| self.t.set(row, column, Complex::ZERO));
        }
        // Rounding may make a pair two real numbers.
        for (at, len) in [(start, b.len), (start + b.len, a.len)] {
            if len == 2 {
                self.split(at);
            }
        }
        true
    }

    /// (-X; I) of [`Schur::swap`], as the first columns of a square matrix.
    fn space_of_second(&self, a: Block, b: Block) -> Matrix {
        let n_unknowns = a.len * b.len;
        let mut matrix = Matrix::zeros(n_unknowns);
        let mut x = Vec::with_capacity(n_unknowns);
        for row in 0..a.len {
            for column in 0..b.len {
                let equation = row * b.len + column;
                for k in 0..a.len {
                    let unknown = k * b.len + column;
                    let element = self.t.at(a.start + row, a.start + k);
                    matrix.set(equation, unknown, matrix.at(equation, unknown) + element);
                }
                for k in 0..b.len {
                    let unknown = row * b.len + k;
                    let element = self.t.at(b.start + k, b.start + column);
                    matrix.set(equation, unknown, matrix.at(equation, unknown) - element);
                }
                x.push(self.t.at(a.start + row, b.start + column));
            }
        }
        solve(matrix, &mut x, f64::EPSILON * self.scale);
        let mut columns = Matrix::zeros(a.len + b.len);
        for column in 0..b.len {
            for row in 0..a.len {
                columns.set(row, column, -x[row * b.len + column]);
            }
            columns.set(a.len + column, column, Complex::ONE);
        }
        columns
    }

    /// The elements of an eigenvector in the rows of a block, from those below it. Numbers that
    /// grow, as they do where eigenvalues are equal, make all of them smaller.
    fn substitute(&self, block: Block, value: Complex<f64>, y: &mut [Complex<f64>]) {
        const LARGE: f64 = 1e60;
        let mut matrix = Matrix::zeros(block.len);
        let mut x = Vec::with_capacity(block.len);
        for row in 0..block.len {
            for column in 0..block.len {
                let element = self.t.at(block.start + row, block.start + column);
                let shift = if row == column { value } else { Complex::ZERO };
                matrix.set(row, column, element - shift);
            }
            let below = (block.end()..).zip(&y[block.end()..]);
            let known: Complex<f64> = below
                .map(|(column, y)| self.t.at(block.start + row, column) * y)
                .sum();
            x.push(-known);
        }
        solve(matrix, &mut x, f64::EPSILON * self.scale);
        y[block.start..block.end()].copy_from_slice(&x);
        if x.iter().any(|x| size(*x) > LARGE) {
            y.iter_mut().for_each(|y| *y /= LARGE);
        }
    }
}

/// The square root with a positive real part or, of a negative number, a positive imaginary part.
fn root(z: Complex<f64>) -> Complex<f64> {
    let length = size(z);
    if length == 0.0 {
        return Complex::ZERO;
    }
    let larger = ((z.re.abs() + length) * 0.5).sqrt();
    let smaller = z.im / (2.0 * larger);
    match z.re >= 0.0 {
        true => Complex::new(larger, smaller),
        false if z.im < 0.0 => Complex::new(-smaller, -larger),
        false => Complex::new(smaller, larger),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_kernels::random;

    fn from_fn(n: usize, element: impl Fn(usize, usize) -> Complex<f64>) -> Matrix {
        let mut a = Matrix::zeros(n);
        for row in 0..n {
            (0..n).for_each(|column| a.set(row, column, element(row, column)));
        }
        a
    }

    fn real(n: usize, element: impl Fn(usize, usize) -> f64) -> Matrix {
        from_fn(n, |row, column| element(row, column).into())
    }

    fn pseudo_random(n: usize, is_real: bool) -> Matrix {
        let part = |k: usize| 2.0 * random::uniform(7, k as u64) - 1.0;
        from_fn(n, |row, column| {
            let k = 2 * (row * n + column);
            Complex::new(part(k), if is_real { 0.0 } else { part(k + 1) })
        })
    }

    /// A Q = Q T with Q unitary and T of its form, and A z = lambda z of all eigenvectors, relative
    /// to the largest element.
    fn check_form(what: &str, a: &Matrix, schur: &Schur) {
        let n = a.n_rows();
        let limit = 2e-15 * n as f64;
        let scale = a.largest().max(f64::MIN_POSITIVE);
        let times = |x: &[Complex<f64>], row: usize| -> Complex<f64> {
            (0..n).map(|k| a.at(row, k) * x[k]).sum()
        };
        let columns: Vec<_> = (0..n).map(|column| schur.column(column)).collect();
        for (j, q) in columns.iter().enumerate() {
            for (i, p) in columns.iter().enumerate() {
                let product: Complex<f64> = p.iter().zip(q).map(|(p, q)| p.conj() * q).sum();
                assert!(size(product - f64::from(i == j)) < limit, "{what}");
                let expected: Complex<f64> = (0..n).map(|k| columns[k][i] * schur.t.at(k, j)).sum();
                assert!(size(times(q, i) - expected) < limit * scale, "{what}");
                let is_below = i > j + 1 || (i == j + 1 && !schur.cuts_pair(i));
                assert!(!is_below || schur.t.at(i, j) == Complex::ZERO, "{what}");
            }
        }
        for (place, value) in schur.values().into_iter().enumerate() {
            assert!(!(schur.cuts_pair(place) && schur.cuts_pair(place + 1)));
            let z = schur.eigenvector(place);
            let image = |row| times(&z, row);
            for (row, z) in z.iter().enumerate() {
                let left = size(image(row) - value * z);
                assert!(left < limit * scale, "{what}: {left}");
                let is_real = schur.is_real && value.im == 0.0;
                assert!(!is_real || z.im == 0.0, "{what}");
            }
        }
    }

    /// Before it is ordered and after; gives the ordered form.
    fn check(what: &str, a: &Matrix, is_real: bool) -> Schur {
        let mut schur = Schur::of(a.clone(), is_real);
        check_form(what, a, &schur);
        schur.order(|value| [-size(value), 0.0]);
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

    #[test]
    fn square_roots() {
        for z in [
            Complex::ZERO,
            Complex::new(-4.0, 0.0),
            Complex::new(-4.0, -0.0),
            Complex::new(-3.0, -4.0),
            Complex::new(3.0, -4.0),
            Complex::new(0.0, 2.0),
        ] {
            let w = root(z);
            assert!(size(w * w - z) < 1e-15);
            assert!(w.re >= 0.0 || w.im > 0.0, "{z}: {w}");
        }
    }
}
