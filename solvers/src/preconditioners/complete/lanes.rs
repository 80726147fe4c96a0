//! Rows of a few columns beside each other, as sweeps over own factors work on them: what is done
//! to one column is done to all of them in the same order, so a column has the bits that it has
//! alone, however many are beside it.

use super::number::Number;

/// The numbers of one row, of as many columns as are solved for together.
pub(super) type Row<E, const W: usize> = [E; W];

/// x = x - factor y.
#[inline(always)]
pub(super) fn subtract<E: Number, const W: usize>(x: &mut Row<E, W>, factor: E, y: &Row<E, W>) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x -= factor * y;
    }
}

/// x = factor x.
#[inline(always)]
pub(super) fn scale<E: Number, const W: usize>(x: &mut Row<E, W>, factor: E) {
    for x in x {
        *x *= factor;
    }
}

/// Calls a function of rows with those of `$width` numbers that make up a slice: 1, 2, 4 or 8.
macro_rules! with_rows {
    ($x:expr, $width:expr, $function:expr) => {
        match $width {
            1 => $function($x.as_chunks_mut::<1>().0),
            2 => $function($x.as_chunks_mut::<2>().0),
            4 => $function($x.as_chunks_mut::<4>().0),
            _ => $function($x.as_chunks_mut::<8>().0),
        }
    };
}
pub(super) use with_rows;
