//! R of a matrix that is much longer than wide, and of right-hand sides beside it, some rows at a
//! time: those of R so far and the next ones become R again, in the cache. Demmel, Grigori,
//! Hoemmen, Langou, "Communication-optimal parallel and sequential QR and LU factorizations" (SIAM
//! J. Sci. Comput. 34, 2012).

use super::conversion::{Elements, Seen};
use super::number::{Number, times_power};
use super::serial;
use faer::Mat;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, try_collect};

/// Rows that are taken at a time, for each column.
const ROWS: usize = 32;

/// Writes R of the matrix with all columns, those of the first one first, row by row. Each matrix
/// is computed with near 1, so that no square is out of range.
pub(super) fn triangle<W: Number, T: Field, M: Field>(
    op: &'static str,
    inputs: &[(&[T], [usize; 2])],
    made: &mut [M],
) -> Result<(), Error> {
    let n_rows = inputs[0].1[0];
    let size: usize = inputs.iter().map(|(_, shape)| shape[1]).sum();
    // Of each column: one for all of the first matrix, and for each right-hand side its own.
    let mut powers = Vec::with_capacity(size);
    for (number, &(elements, shape)) in inputs.iter().enumerate() {
        let power_of = |elements: &[T], shape: [usize; 2]| {
            let seen = Seen::All;
            let input = Elements {
                elements,
                shape,
                seen,
            };
            input.largest_exponent(op)
        };
        if number == 0 || shape[1] == 1 {
            let power = power_of(elements, shape)?;
            powers.resize(powers.len() + shape[1], power);
            continue;
        }
        for column in 0..shape[1] {
            let column = elements.iter().skip(column).step_by(shape[1]);
            let column = try_collect(column.copied())?;
            powers.push(power_of(&column, [n_rows, 1])?);
        }
    }
    let rows_together = (ROWS * size).max(256);
    let mut r = Mat::<W>::zeros(size, size);
    for first in (0..n_rows).step_by(rows_together) {
        let rows = first..n_rows.min(first + rows_together);
        let mut block = Mat::<W>::zeros(size + rows.len(), size);
        let mut begin = 0;
        for &(elements, [_, columns]) in inputs {
            for column in 0..columns {
                let into = block.col_as_slice_mut(begin + column);
                let (of_r, below) = into.split_at_mut(size);
                of_r.copy_from_slice(r.col_as_slice(begin + column));
                let factor = -powers[begin + column];
                for (number, row) in below.iter_mut().zip(rows.clone()) {
                    let x = W::of_parts(elements[row * columns + column].parts());
                    let x = times_power(x.complex(), factor);
                    *number = W::of_parts((x.re, x.im));
                }
            }
            begin += columns;
        }
        r = serial::triangle(block.as_ref());
    }
    for (row, made) in made.chunks_exact_mut(size).enumerate() {
        for (column, made) in made.iter_mut().enumerate() {
            let x = times_power(r[(row, column)].complex(), powers[column]);
            *made = M::from_parts(x.re, x.im);
        }
    }
    Ok(())
}
