//! The small least-squares problem of GMRES: min ‖beta e_1 - H y‖ for a Hessenberg matrix H that
//! grows by columns, by Givens rotations.
//!
//! The last column may be set again: what is rotated of the right-hand side is kept as it was
//! before each rotation.

use super::scalars::{rotation, size};
use num_complex::Complex;

/// The triangular factor so far; see the module's text.
#[derive(Debug)]
pub(super) struct Projected {
    /// The columns of the triangular factor R, each as long as its number, counted from 1.
    columns: Vec<Vec<Complex<f64>>>,
    /// c and s of each rotation.
    rotations: Vec<(f64, Complex<f64>)>,
    /// Element k of the right-hand side as rotation k finds it; the last is what is left.
    rhs: Vec<Complex<f64>>,
    /// The rounding error of an element of H.
    epsilon: f64,
    /// Whether the last diagonal element of R is 0 up to rounding, while H grows no further.
    is_singular: bool,
}

impl Projected {
    pub(super) fn new(beta: f64, epsilon: f64) -> Self {
        Self {
            columns: Vec::new(),
            rotations: Vec::new(),
            rhs: vec![Complex::new(beta, 0.0)],
            epsilon,
            is_singular: false,
        }
    }

    /// Sets column `number` of H, the last one or the next: `number + 2` elements, of a vector that
    /// had a part of norm `beside` beside them.
    pub(super) fn set_column(&mut self, number: usize, mut column: Vec<Complex<f64>>, beside: f64) {
        self.columns.truncate(number);
        self.rotations.truncate(number);
        self.rhs.truncate(number + 1);
        let squares: f64 = column.iter().map(|h| h.norm_sqr()).sum();
        let norm = (squares + beside * beside).sqrt();
        for (row, &(c, s)) in self.rotations.iter().enumerate() {
            let (above, below) = (column[row], column[row + 1]);
            column[row] = above * c + s * below;
            column[row + 1] = below * c - s.conj() * above;
        }
        let below = column.pop().expect("a column has an element below R");
        let (c, s, diagonal) = rotation(column[number], below);
        column[number] = diagonal;
        // Up to rounding in the entries of the column, which are sums over all rotations.
        self.is_singular = size(diagonal) <= 1e2 * self.epsilon * norm;
        self.columns.push(column);
        self.rotations.push((c, s));
        self.rhs.push(-s.conj() * self.rhs[number]);
    }

    /// Whether the last column adds nothing that could be solved with.
    pub(super) fn is_singular(&self) -> bool {
        self.is_singular
    }

    /// The norm of the residual of the least-squares problem.
    pub(super) fn residual_norm(&self) -> f64 {
        size(self.rhs[self.rank()])
    }

    /// The columns that the solution uses: all, but for the last if it is singular.
    fn rank(&self) -> usize {
        self.columns.len() - usize::from(self.is_singular)
    }

    /// y.
    pub(super) fn solve(&self) -> Vec<Complex<f64>> {
        let rank = self.rank();
        let rotated = self
            .rotations
            .iter()
            .zip(&self.rhs)
            .map(|(&(c, _), &g)| g * c);
        let mut y: Vec<_> = rotated.take(rank).collect();
        for row in (0..rank).rev() {
            let known: Complex<f64> = (row + 1..rank).map(|k| self.columns[k][row] * y[k]).sum();
            y[row] = (y[row] - known) / self.columns[row][row];
        }
        y
    }

    /// H y: Q_H (R y; 0) with the rotations undone, as many elements as y and one more.
    pub(super) fn image(&self) -> Vec<Complex<f64>> {
        let rank = self.rank();
        let rotations = &self.rotations[..rank];
        let rotated = rotations.iter().zip(&self.rhs).map(|(&(c, _), &g)| g * c);
        let mut image: Vec<_> = rotated.chain([Complex::ZERO]).collect();
        for (row, &(c, s)) in rotations.iter().enumerate().rev() {
            let (above, below) = (image[row], image[row + 1]);
            image[row] = above * c - s * below;
            image[row + 1] = below * c + s.conj() * above;
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complex(re: f64, im: f64) -> Complex<f64> {
        Complex::new(re, im)
    }

    /// A Hessenberg matrix of 4 by 3, as columns.
    fn columns() -> [Vec<Complex<f64>>; 3] {
        [
            vec![complex(2.0, 1.0), complex(1.0, 0.0)],
            vec![complex(-1.0, 0.5), complex(3.0, 0.0), complex(0.5, 0.0)],
            vec![
                complex(0.25, 0.0),
                complex(-2.0, 1.0),
                complex(1.0, -1.0),
                complex(2.0, 0.0),
            ],
        ]
    }

    /// beta e_1 - H y.
    fn residual(columns: &[Vec<Complex<f64>>], beta: f64, y: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let mut r = vec![Complex::ZERO; columns.len() + 1];
        r[0] = complex(beta, 0.0);
        for (column, y) in columns.iter().zip(y) {
            for (r, h) in r.iter_mut().zip(column) {
                *r -= h * y;
            }
        }
        r
    }

    #[test]
    fn the_residual_is_orthogonal_to_the_columns() {
        let columns = columns();
        let mut projected = Projected::new(5.0, f64::EPSILON);
        for (number, column) in columns.iter().enumerate() {
            // Set twice, first wrong: only the last counts.
            let wrong = column.iter().map(|h| h * 1.5 + 0.25).collect();
            projected.set_column(number, wrong, 0.0);
            projected.set_column(number, column.clone(), 0.0);
            let y = projected.solve();
            let r = residual(&columns[..=number], 5.0, &y);
            let mut image = projected.image();
            image[0] -= complex(5.0, 0.0);
            assert!(
                image
                    .iter()
                    .zip(&r)
                    .all(|(image, r)| size(image + r) < 1e-14)
            );
            let norm = r.iter().map(|r| r.norm_sqr()).sum::<f64>().sqrt();
            assert!((projected.residual_norm() - norm).abs() < 1e-14);
            for column in &columns[..=number] {
                let product: Complex<f64> = column.iter().zip(&r).map(|(h, r)| h.conj() * r).sum();
                assert!(size(product) < 1e-14);
            }
        }
    }

    #[test]
    fn a_singular_column_is_left_out() {
        let mut projected = Projected::new(1.0, f64::EPSILON);
        projected.set_column(0, vec![Complex::ONE, Complex::ONE], 0.0);
        let norm = projected.residual_norm();
        projected.set_column(1, vec![Complex::ONE, Complex::ONE, Complex::ZERO], 0.0);
        assert!(projected.is_singular());
        assert_eq!(projected.residual_norm(), norm);
        assert_eq!(projected.solve().len(), 1);
    }
}
