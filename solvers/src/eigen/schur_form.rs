//! How a Schur form is made, ordered, and gives eigenvectors: of matrices with elements of one
//! type, real or complex.
//!
//! Francis's sweeps with two shifts serve complex matrices too (Golub and Van Loan, *Matrix
//! Computations*, sections 7.4 to 7.6). What differs is which blocks are split in two.

use super::hermitian::Coefficients;
use super::matrix::{Matrix, Reflection, solve};
use crate::krylov::scalars::{element, number, size};
use crate::powers::exponent;
use num_complex::Complex;
use sparsefuse_kernels::Field;
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

/// A Schur form of matrices of one type.
#[derive(Clone, Debug)]
pub(super) struct Form<S> {
    t: Matrix<S>,
    /// Q', whose rows lie one after the other.
    q: Matrix<S>,
    /// The largest element of the matrix, or 1 where all are 0: what its rounding is relative to.
    scale: f64,
}

impl<S: Field> Form<S> {
    pub(super) fn of(mut a: Matrix<S>, done: usize) -> Self {
        let (n, largest) = (a.n_rows(), a.largest());
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let power = exponent(scale);
        a.times_power_of(-power);
        let mut form = Self {
            t: a,
            q: Matrix::identity(n),
            scale,
        };
        form.reduce_to_hessenberg(done);
        form.reduce_to_blocks(done);
        form.t.times_power_of(power);
        form
    }

    /// The first rows and columns of T.
    pub(super) fn leading(&self, n: usize) -> Matrix<S> {
        self.t.resized(n)
    }

    pub(super) fn len(&self) -> usize {
        self.t.n_rows()
    }

    pub(super) fn column(&self, column: usize) -> Coefficients {
        let row = self.q.row(column).iter();
        row.map(|q| number(q.conjugate())).collect()
    }

    pub(super) fn cuts_pair(&self, n: usize) -> bool {
        n > 0 && n < self.len() && self.t.at(n, n - 1) != S::ZERO
    }

    pub(super) fn values(&self) -> Vec<Complex<f64>> {
        let blocks = self.blocks(0);
        let pairs = blocks.map(|block| (self.value(block), block.len));
        let both =
            |(value, len): (Complex<f64>, usize)| [value, value.conj()].into_iter().take(len);
        pairs.flat_map(both).collect()
    }

    pub(super) fn in_columns(&self, place: usize) -> Coefficients {
        let blocks: Vec<Block> = self.blocks(0).collect();
        let own = blocks.iter().position(|block| place < block.end());
        let own = own.expect("the place is on the diagonal");
        let block = blocks[own];
        let value = self.value(block);
        let mut y = vec![Complex::ZERO; block.end()];
        y[block.start] = Complex::ONE;
        if block.len == 2 {
            y[block.start] = value - self.number(block.start + 1, block.start + 1);
            y[block.start + 1] = self.number(block.start + 1, block.start);
        }
        for above in blocks[..own].iter().rev() {
            self.substitute(*above, value, &mut y);
        }
        let length = y.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        let is_second = place > block.start;
        let part = |y: Complex<f64>| if is_second { y.conj() } else { y } / length;
        y.into_iter().map(part).collect()
    }

    pub(super) fn order(&mut self, places: Range<usize>, key: impl Fn(Complex<f64>) -> [f64; 2]) {
        let mut place = places.start;
        while place < places.end.min(self.len()) {
            let key_of = |block: &Block| key(self.value(*block));
            let first = self.blocks(place).min_by(|one, other| {
                let ([x, second_x], [y, second_y]) = (key_of(one), key_of(other));
                x.total_cmp(&y).then(second_x.total_cmp(&second_y))
            });
            let mut block = first.expect("a block begins at every place");
            while block.start > place {
                let before = self.block_before(block.start);
                match self.swap(before, block) {
                    true => block.start = before.start,
                    // Their values are the same up to rounding: the other one goes on.
                    false => block = before,
                }
            }
            place = self.block_at(place).end();
        }
    }

    /// A = Q H Q' with H 0 below the first diagonal under the main one. The reflections begin with
    /// the last row that is not so already, so that the rows of Q from there on are those of I: of
    /// a Krylov space, that is where the space has grown. They end before the first `done` rows.
    fn reduce_to_hessenberg(&mut self, done: usize) {
        let n = self.len();
        let mut changed = 0;
        for row in (done + 2..n).rev() {
            let before = (done..row).rev();
            let before: Vec<S> = before
                .map(|column| self.t.at(row, column).conjugate())
                .collect();
            if before[1..].iter().all(|&a| a == S::ZERO) {
                continue;
            }
            if let Some(reflection) = Reflection::of(&before).map(Reflection::reversed) {
                changed = row.max(changed);
                self.t.reflect_columns(done, 0..row + 1, &reflection);
                self.t.reflect_rows(done, done..n, &reflection);
                self.q.reflect_rows(done, done..changed, &reflection);
            }
            (done..row - 1).for_each(|column| self.t.set(row, column, S::ZERO));
        }
    }

    /// The QR iteration, from the last rows to the first of those that are not `done`.
    fn reduce_to_blocks(&mut self, done: usize) {
        let (mut end, mut sweeps) = (self.len(), 0);
        while end > done {
            let is_separate = |row: &usize| self.is_negligible(*row);
            let start = (done + 1..end).rev().find(is_separate).unwrap_or(done);
            if start > done {
                self.t.set(start, start - 1, S::ZERO);
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
                    self.t.set(end - 1, end - 2, S::ZERO);
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
        let size = |row: usize, column: usize| size(self.number(row, column));
        let beside = size(row, row) + size(row - 1, row - 1);
        let scale = if beside == 0.0 { 1.0 } else { beside };
        size(row, row - 1) <= f64::EPSILON * scale
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
            let size = |row: usize| size(self.number(row, row - 1));
            let length = size(end - 1) + size(end - 2);
            (sum, product) = (S::from_f64(1.5 * length), S::from_f64(length * length));
        }
        let below = h(start + 1, start);
        let mut bulge = vec![
            h(start, start) * (h(start, start) - sum) + h(start, start + 1) * below + product,
            below * (h(start, start) + h(start + 1, start + 1) - sum),
            below * h(start + 2, start + 1),
        ];
        for row in start..end - 1 {
            if let Some(reflection) = Reflection::of(&bulge) {
                // All elements below the bulge are 0 in the columns that it changes.
                self.reflect(row, &reflection, end.min(row + 4));
            }
            if row > start {
                let rest = row + 1..row + bulge.len();
                rest.for_each(|below| self.t.set(below, row - 1, S::ZERO));
            }
            let next = row + 1..end.min(row + 4);
            bulge.clear();
            bulge.extend(next.map(|below| self.t.at(below, row)));
        }
    }

    /// T becomes H T H, Q becomes Q H, for a reflection H of the rows from `first` on. The rows
    /// from `end` on are 0 in the columns that it changes.
    fn reflect(&mut self, first: usize, reflection: &Reflection<S>, end: usize) {
        let n = self.len();
        let left = first.saturating_sub(1);
        self.t.reflect_rows(first, left..n, reflection);
        self.t.reflect_columns(first, 0..end, reflection);
        self.q.reflect_rows(first, 0..n, reflection);
    }

    /// Makes the two rows from `start` on triangular, unless they are a pair of a real matrix.
    fn split(&mut self, start: usize) {
        let below = self.number(start + 1, start);
        let (distance, root) = self.halves(start);
        if below == Complex::ZERO || (!S::IS_COMPLEX && root.im != 0.0) {
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
        if let Some(reflection) = Reflection::of(&[element::<S>(farther), element(below)]) {
            self.reflect(start, &reflection, start + 2);
        }
        self.t.set(start + 1, start, S::ZERO);
    }

    /// (a - d) / 2 and the square root of its square + b c, for a block (a b; c d): its eigenvalues
    /// are the mean of a and d plus and minus that root.
    fn halves(&self, start: usize) -> (Complex<f64>, Complex<f64>) {
        let t = |row: usize, column: usize| self.number(start + row, start + column);
        let distance = (t(0, 0) - t(1, 1)) * 0.5;
        (distance, root(distance * distance + t(0, 1) * t(1, 0)))
    }

    /// The eigenvalue of a block; of a pair the one with the positive imaginary part.
    fn value(&self, block: Block) -> Complex<f64> {
        let first = self.number(block.start, block.start);
        if block.len == 1 {
            return first;
        }
        let second = self.number(block.start + 1, block.start + 1);
        (first + second) * 0.5 + self.halves(block.start).1
    }

    /// An element of T.
    fn number(&self, row: usize, column: usize) -> Complex<f64> {
        number(self.t.at(row, column))
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
            let x: Vec<S> = (column..n).map(|row| columns.at(row, column)).collect();
            if let Some(reflection) = Reflection::of(&x) {
                columns.reflect_rows(column, column..n, &reflection);
                window.reflect_rows(column, 0..n, &reflection);
                window.reflect_columns(column, 0..n, &reflection);
                reflections.push((start + column, reflection));
            }
        }
        let mut left = (b.len..n).flat_map(|row| (0..b.len).map(move |column| (row, column)));
        if left.any(|(row, column)| !(size(number(window.at(row, column))) <= negligible)) {
            return false;
        }
        for (first, reflection) in &reflections {
            let n_rows = self.t.n_rows();
            self.t.reflect_rows(*first, start..n_rows, reflection);
            self.t.reflect_columns(*first, 0..start + n, reflection);
            self.q.reflect_rows(*first, 0..n_rows, reflection);
        }
        for row in start + b.len..start + n {
            (start..start + b.len).for_each(|column| self.t.set(row, column, S::ZERO));
        }
        // Rounding may make a pair two real numbers.
        for (at, len) in [(start, b.len), (start + b.len, a.len)] {
            if len == 2 {
                self.split(at);
            }
        }
        true
    }

    /// (-X; I) of [`Form::swap`], as the first columns of a square matrix.
    fn space_of_second(&self, a: Block, b: Block) -> Matrix<S> {
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
            columns.set(a.len + column, column, S::ONE);
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
                let element = self.number(block.start + row, block.start + column);
                let shift = if row == column { value } else { Complex::ZERO };
                matrix.set(row, column, element - shift);
            }
            let below = self.t.row(block.start + row)[block.end()..].iter();
            let known: Complex<f64> = below
                .zip(&y[block.end()..])
                .map(|(t, y)| number(*t) * y)
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
