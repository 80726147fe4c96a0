//! Tests of the array library: every program runs in all settings of `everywhere`, and must
//! give the same bits.

mod across;
mod along_axis;
mod axes;
mod bands;
mod calculus;
mod choose;
mod coefficients;
mod elementwise;
mod errors;
mod failures;
mod functions;
mod functions_of_two;
mod fusion;
mod gathers;
mod histograms;
mod inner_products;
mod join;
mod made;
mod many_ranks;
mod map;
mod moving;
mod numpy;
mod order;
mod overwritten;
mod products;
mod programs;
mod quantiles;
mod random;
mod reductions;
mod regions;
mod repeated_gathers;
mod rounds;
mod scans;
mod selection;
mod sets;
mod several_axes;
mod text;
mod views;

use sparsefuse_dense::{Array, Element, Error, Scalar};
use sparsefuse_kernels::Value;
use sparsefuse_testing::{bits as values, everywhere, small};

/// The elements, to be compared by their bits.
trait Bits {
    fn bits(&self) -> Result<Vec<Value>, Error>;
}

impl<T: Element, const D: usize> Bits for Array<T, D> {
    fn bits(&self) -> Result<Vec<Value>, Error> {
        Ok(values(&self.to_vec()?))
    }
}

impl<T: Element> Bits for Scalar<T> {
    fn bits(&self) -> Result<Vec<Value>, Error> {
        Ok(values(&[self.get()?]))
    }
}
