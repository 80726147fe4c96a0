//! The sums of the columns of some rows.
//!
//! Each sum goes over ascending rows, from zero, with the operations of a product of the transpose
//! with a vector of ones, and so has the bits of that. One pass over columns and values, and none
//! over rows: an entry is added where its column says. On one thread: if several had some columns
//! each, all would have to look at all entries, and whose an entry is cannot be predicted.

use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::Computation;

/// The sums of neighbouring columns.
pub(crate) struct ColumnSums<'a, T> {
    pub(crate) crd: &'a [u32],
    pub(crate) vals: &'a [T],
    /// The first of these columns.
    pub(crate) first: u32,
    /// Memory for a sum of each.
    pub(crate) sums: &'a mut [T],
}

impl<T: Numeric> Computation for ColumnSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.sums.fill(T::ZERO);
        for (column, value) in self.crd.iter().zip(self.vals) {
            // Where ranks have some columns each, there are others.
            let place = column.wrapping_sub(self.first) as usize;
            if let Some(sum) = self.sums.get_mut(place) {
                *sum = value.times_plus(T::ONE, *sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_kernels::isa::Isa;

    #[test]
    fn sums_go_over_ascending_rows_from_zero() {
        let crd = [1, 2, 0, 1, 2, 1];
        let vals = [1e16, -0.0, 3.0, 1.0, 5.0, -1e16];
        for isa in Isa::available() {
            for (first, expected) in [(0, &[3.0, 0.0, 5.0][..]), (2, &[5.0])] {
                let mut sums = vec![f64::NAN; expected.len()];
                isa.run(ColumnSums {
                    crd: &crd,
                    vals: &vals,
                    first,
                    sums: &mut sums,
                });
                assert_eq!(sums, expected);
            }
        }
    }
}
