//! L U with partial pivoting of a matrix whose entries are near its diagonal: LAPACK's `gbtrf` by
//! rows (Golub and Van Loan, *Matrix Computations*, 4th edition, 4.3). Without an order, fill or
//! indices it is faster than sparse factors where the band is narrow: see [`Bandwidth::pays`].
//!
//! Rows that may be the next pivot begin at the same column, and what is left of them moves one
//! place to the front when their first number is eliminated. So a row takes as many numbers as the
//! band has diagonals, and rows that are exchanged are whole.

use super::Structure;
use super::lanes::{Row, scale, subtract, with_rows};
use super::number::Number;
use crate::preconditioners::system::{System, singular};
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

/// How far entries are from the diagonal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bandwidth {
    below: usize,
    above: usize,
}

/// Multiplications in the band, for each entry of the matrix, that take less time (0.3 ns each)
/// than the order, the symbolic and the numeric part of a sparse factorisation (300 to 500 ns for
/// each entry of grids and trusses, on one core of an x86-64 server).
const PER_ENTRY: usize = 700;
/// Numbers that the factors may have for each entry: more than those of symmetric bands that pay.
const HELD_PER_ENTRY: usize = 40;

impl Bandwidth {
    pub(super) fn of(pos: &[usize], crd: &[u32]) -> Self {
        let (mut below, mut above) = (0, 0);
        for (row, ends) in pos.windows(2).enumerate() {
            for &column in &crd[ends[0]..ends[1]] {
                let column = column as usize;
                below = below.max(row.saturating_sub(column));
                above = above.max(column.saturating_sub(row));
            }
        }
        Self { below, above }
    }

    /// Whether a matrix with this many rows and entries is factored as a band: the multiplications
    /// of an elimination, one for the pivot's row and `below` rows of `below + above` numbers, are
    /// few for each entry, and so are the numbers of the factors.
    pub(super) fn pays(self, n_rows: usize, n_entries: usize) -> bool {
        let of_row = self.below.saturating_mul(self.below + self.above);
        let all = n_rows.saturating_mul(of_row.saturating_add(1));
        let held = n_rows.saturating_mul(self.below + self.width());
        all <= n_entries.saturating_mul(PER_ENTRY)
            && held <= n_entries.saturating_mul(HELD_PER_ENTRY)
    }

    /// The numbers that U has in a row, which rows below may have as many more of as there are
    /// diagonals below.
    fn width(self) -> usize {
        self.below + self.above + 1
    }
}

/// The factors of a band.
pub(super) struct Band<E> {
    bandwidth: Bandwidth,
    /// U, row by row from the diagonal on; in the place of its pivot a row has the inverse.
    upper: Vec<E>,
    /// What rows below the pivot's were reduced by: step by step, in the order of the rows.
    lower: Vec<E>,
    /// How far below the next row that of the pivot was.
    exchanges: Vec<u32>,
}

impl<E: Number> Band<E> {
    /// Factors the matrix with these entries, row by row.
    pub(super) fn new(
        bandwidth: Bandwidth,
        structure: &Structure,
        entries: &[E],
    ) -> Result<Self, Error> {
        let (n, width) = (structure.pos.len() - 1, bandwidth.width());
        let zeros = |len| try_collect(repeat_n(E::zero(), len));
        let mut upper = zeros(n.saturating_mul(width))?;
        structure.each(|entry, row, column| {
            let first = row.saturating_sub(bandwidth.below);
            // Entries at the same place add up, as in sparse factors.
            upper[row * width + column - first] += entries[entry];
        });
        let mut factors = Self {
            bandwidth,
            upper,
            lower: zeros(n.saturating_mul(bandwidth.below))?,
            exchanges: try_collect(repeat_n(0, n))?,
        };
        (0..n).try_for_each(|step| factors.eliminate(step))?;
        Ok(factors)
    }

    pub(super) fn bandwidth(&self) -> Bandwidth {
        self.bandwidth
    }

    /// Exchanges the next row for that with the largest first number, and subtracts it from those
    /// below, which then begin one column further.
    fn eliminate(&mut self, step: usize) -> Result<(), Error> {
        let (width, below) = (self.bandwidth.width(), self.bandwidth.below);
        let rows = &mut self.upper[step * width..];
        let rows = match rows.len() / width > below {
            true => &mut rows[..(below + 1) * width],
            false => rows,
        };
        let (mut pivot, mut largest) = (0, rows[0].largest_part());
        for (row, numbers) in rows.chunks_exact(width).enumerate().skip(1) {
            let size = numbers[0].largest_part();
            if size > largest {
                (pivot, largest) = (row, size);
            }
        }
        let (first, rest) = rows.split_at_mut(width);
        if pivot > 0 {
            first.swap_with_slice(&mut rest[(pivot - 1) * width..pivot * width]);
        }
        let inverse = first[0].inverse();
        if largest == 0.0 || !inverse.is_finite() {
            return Err(singular("one with a pivot of 0"));
        }
        self.exchanges[step] = pivot as u32;
        let multipliers = &mut self.lower[step * below..];
        for (row, multiplier) in rest.chunks_exact_mut(width).zip(multipliers) {
            let factor = row[0] * inverse;
            *multiplier = factor;
            let first = &first[..width];
            for k in 1..width {
                row[k - 1] = row[k] - factor * first[k];
            }
            row[width - 1] = E::zero();
        }
        first[0] = inverse;
        Ok(())
    }

    /// Solves for columns in rows of 1, 2, 4 or 8 numbers, in place; the system with the adjoint as
    /// that with the transpose, of conjugates, which is for the caller to take.
    pub(super) fn solve(&self, x: &mut [E], width: usize, system: System) {
        if system == System::Plain {
            with_rows!(x, width, |x| self.solve_plain(x));
        } else {
            with_rows!(x, width, |x| self.solve_transpose(x));
        }
    }

    fn solve_plain<const W: usize>(&self, x: &mut [Row<E, W>]) {
        let (n, width, below) = (x.len(), self.bandwidth.width(), self.bandwidth.below);
        for step in 0..n {
            exchange(x, step, self.exchanges[step]);
            let pivot = x[step];
            let multipliers = &self.lower[step * below..(step + 1) * below];
            for (x, &factor) in x[step + 1..].iter_mut().zip(multipliers) {
                subtract(x, factor, &pivot);
            }
        }
        for step in (0..n).rev() {
            let row = &self.upper[step * width..(step + 1) * width];
            let (x, known) = x[step..].split_at_mut(1);
            // From afar to the diagonal: what was found last is needed last.
            for (known, &factor) in known.iter().zip(&row[1..]).rev() {
                subtract(&mut x[0], factor, known);
            }
            scale(&mut x[0], row[0]);
        }
    }

    fn solve_transpose<const W: usize>(&self, x: &mut [Row<E, W>]) {
        let (n, width, below) = (x.len(), self.bandwidth.width(), self.bandwidth.below);
        for step in 0..n {
            let row = &self.upper[step * width..(step + 1) * width];
            let (x, rest) = x[step..].split_at_mut(1);
            scale(&mut x[0], row[0]);
            for (rest, &factor) in rest.iter_mut().zip(&row[1..]) {
                subtract(rest, factor, &x[0]);
            }
        }
        for step in (0..n).rev() {
            let multipliers = &self.lower[step * below..(step + 1) * below];
            let (pivot, known) = x[step..].split_at_mut(1);
            for (known, &factor) in known.iter().zip(multipliers).rev() {
                subtract(&mut pivot[0], factor, known);
            }
            exchange(x, step, self.exchanges[step]);
        }
    }
}

/// Exchanges a row for that of a pivot further below.
#[inline(always)]
fn exchange<R>(x: &mut [R], step: usize, below: u32) {
    // A row that was just written is not read as a whole where it stays.
    if below > 0 {
        x.swap(step, step + below as usize);
    }
}
