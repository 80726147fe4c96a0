//! Inner products of rows of two dense matrices at the entries of a sparse one (SDDMM).
//!
//! The order of summation of each inner product is fixed: 16 lanes by `k` modulo 16, each summed
//! over ascending `k` with one fused multiply-add per term, from zero; lanes are then joined in
//! pairs, `l` with `l + 8`, `l + 4`, `l + 2`, `l + 1`, as those of a tile in a reduction are. So a
//! lane is one of a SIMD register's elements, and no instruction set changes a bit.
//!
//! Moves, per entry, 4 bytes of columns, an element read and one written, and a row of the right
//! matrix, mostly from the caches; per row one of the left matrix.

use super::rows::Rows;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::Computation;
use std::ops::Range;

/// The number of lanes of an inner product.
const LANES: usize = 16;

/// The values at the entries of some rows.
pub(crate) struct Sampled<'a, T> {
    /// All rows of this rank, and those to be computed.
    pub(crate) rows: Rows<'a, T>,
    pub(crate) part: Range<usize>,
    /// For each entry of all rows, the number of its row of `right`.
    pub(crate) numbers: &'a [u32],
    /// Rows of `width` elements, one for each of all rows.
    pub(crate) left: &'a [T],
    /// Rows of `width` elements.
    pub(crate) right: &'a [T],
    pub(crate) width: usize,
    /// Room for the values of the rows to be computed.
    pub(crate) vals: &'a mut [T],
}

impl<T: Numeric> Computation for Sampled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.width;
        let mut vals = self.vals.iter_mut();
        for row in self.part {
            let left = &self.left[row * width..(row + 1) * width];
            for (k, value) in self.rows.entries(row).zip(vals.by_ref()) {
                let start = self.numbers[k] as usize * width;
                let product = dot(left, &self.right[start..start + width]);
                *value = self.rows.vals[k].times(product);
            }
        }
    }
}

/// The inner product of two rows of equal length, in lanes.
#[inline(always)]
fn dot<T: Numeric>(left: &[T], right: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    let (left, right) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let (left_rest, right_rest) = (left.remainder(), right.remainder());
    for (left, right) in left.zip(right) {
        add::<T, LANES>(&mut lanes, left, right);
    }
    // Loops of fixed lengths, which become SIMD code.
    let mut at = 0;
    if left_rest.len() & 8 != 0 {
        add::<T, 8>(&mut lanes, left_rest, right_rest);
        at = 8;
    }
    if left_rest.len() & 4 != 0 {
        add::<T, 4>(&mut lanes[at..], &left_rest[at..], &right_rest[at..]);
        at += 4;
    }
    for lane in at..left_rest.len() {
        lanes[lane] = left_rest[lane].times_plus(right_rest[lane], lanes[lane]);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = lanes[lane].plus(lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Adds the first `N` terms to as many lanes.
#[inline(always)]
fn add<T: Numeric, const N: usize>(lanes: &mut [T], left: &[T], right: &[T]) {
    let (lanes, left, right) = (&mut lanes[..N], &left[..N], &right[..N]);
    for lane in 0..N {
        lanes[lane] = left[lane].times_plus(right[lane], lanes[lane]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::rows::LocalRows;
    use num_complex::Complex;
    use sparsefuse_kernels::isa::Isa;

    /// The inner product by its definition.
    fn defined<T: Numeric>(left: &[T], right: &[T]) -> T {
        let lane = |l: usize| {
            let terms = left.iter().zip(right).skip(l).step_by(LANES);
            terms.fold(T::ZERO, |sum, (a, b)| a.times_plus(*b, sum))
        };
        let mut lanes: Vec<T> = (0..LANES).map(lane).collect();
        while lanes.len() > 1 {
            let (low, high) = lanes.split_at(lanes.len() / 2);
            lanes = low.iter().zip(high).map(|(a, b)| a.plus(*b)).collect();
        }
        lanes[0]
    }

    fn check<T: Numeric>(element: impl Fn(usize) -> T) {
        let numbers = [2, 0, 1, 1];
        let rows = LocalRows {
            pos: vec![0, 2, 2, 4],
            crd: vec![5, 7, 0, 6],
            vals: (0..4).map(&element).collect(),
        };
        for width in (0..36).chain([64, 100]) {
            let left: Vec<T> = (0..3 * width).map(|k| element(k + 11)).collect();
            let right: Vec<T> = (0..3 * width).map(|k| element(3 * k + 7)).collect();
            let of = |all: &[T], row: usize| all[row * width..(row + 1) * width].to_vec();
            let expected: Vec<T> = [(0, 0), (0, 1), (2, 2), (2, 3)]
                .iter()
                .map(|&(row, k)| {
                    let right = of(&right, numbers[k] as usize);
                    rows.vals[k].times(defined(&of(&left, row), &right))
                })
                .collect();
            for isa in Isa::available() {
                let mut vals = vec![T::ZERO; 4];
                isa.run(Sampled {
                    rows: rows.as_rows(),
                    part: 0..3,
                    numbers: &numbers,
                    left: &left,
                    right: &right,
                    width,
                    vals: &mut vals,
                });
                let bits = |vals: &[T]| vals.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&vals), bits(&expected), "width {width}, {isa:?}");
            }
        }
    }

    #[test]
    fn inner_products_are_summed_as_defined() {
        check(|k| (k as f64 * 0.37).sin());
        check(|k| (k as f32 * 0.37).cos());
        check(|k| Complex::new((k as f64 * 0.37).sin(), (k as f64 * 0.11).cos()));
        check(|k| Complex::new((k as f32 * 0.37).sin(), (k as f32 * 0.11).cos()));
        check(|k| k as i64 - 20);
    }
}
