//! b - A x as if it was computed in twice the precision of `f64`, and rounded in the end.
//!
//! Each element is the compensated sum of Ogita, Rump and Oishi ("Accurate sum and dot product",
//! SIAM J. Sci. Comput. 26, 2005, algorithm 5.3): of every product and every sum the rounding error
//! is found exactly, and the errors are added up beside the sum. Parts of complex elements are sums
//! of twice as many products. Terms are taken in the stored order, from the element of b, so that
//! the bits are the same everywhere; elements of single precision are taken as `f64`.
//!
//! Some 20 operations an entry, real, and four times as many, complex.

use super::rows::Rows;
use sparsefuse_kernels::Field;
use sparsefuse_kernels::isa::Computation;
use std::ops::Range;

/// The residual in some rows.
pub(crate) struct Residual<'a, T> {
    /// All rows of this rank, and those to be computed.
    pub(crate) rows: Rows<'a, T>,
    pub(crate) part: Range<usize>,
    /// For each entry of all rows, where its element of `x` is.
    pub(crate) places: &'a [u32],
    pub(crate) x: &'a [T],
    /// The elements of b in all rows.
    pub(crate) b: &'a [T],
    /// Room for the residual in the rows to be computed.
    pub(crate) residual: &'a mut [T],
}

impl<T: Field> Computation for Residual<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (row, residual) in self.part.zip(self.residual) {
            let (re, im) = self.b[row].parts();
            let (mut re, mut im) = (Compensated::new(re), Compensated::new(im));
            for k in self.rows.entries(row) {
                let (a, a_im) = self.rows.vals[k].parts();
                let (x, x_im) = self.x[self.places[k] as usize].parts();
                re.subtract(a, x);
                if T::IS_COMPLEX {
                    re.subtract(-a_im, x_im);
                    im.subtract(a, x_im);
                    im.subtract(a_im, x);
                }
            }
            *residual = T::from_parts(re.rounded(), im.rounded());
        }
    }
}

/// A sum, and what rounding has taken from it so far.
#[derive(Clone, Copy)]
struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    #[inline(always)]
    fn new(sum: f64) -> Self {
        Self { sum, error: 0.0 }
    }

    /// Subtracts a product.
    #[inline(always)]
    fn subtract(&mut self, a: f64, x: f64) {
        let product = -a * x;
        let of_product = (-a).mul_add(x, -product);
        // Knuth's sum of two numbers, in any order of size, with its exact error.
        let sum = self.sum + product;
        let added = sum - self.sum;
        let of_sum = (self.sum - (sum - added)) + (product - added);
        self.sum = sum;
        self.error += of_product + of_sum;
    }

    #[inline(always)]
    fn rounded(self) -> f64 {
        // An infinite sum has no error.
        match self.error.is_nan() {
            true => self.sum,
            false => self.sum + self.error,
        }
    }
}
