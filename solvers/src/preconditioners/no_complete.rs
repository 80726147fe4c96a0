//! In the place of complete factorisations without the feature `direct`: none can be made.

use super::system::{Factorisation, Lower, System};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, HostArgs};
use sparsefuse_sparse::LocalRows;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;

/// Whether there are complete factorisations.
pub(crate) const HAS_FACTORS: bool = false;

/// The factors of a square matrix: a type without values.
pub(super) struct Complete<T> {
    none: Infallible,
    element: PhantomData<T>,
}

impl<T: Field> Complete<T> {
    pub(super) fn new(method: Factorisation, _rows: &LocalRows<T>) -> Result<Self, Error> {
        let expected = "sparsefuse with its feature `direct`";
        Err(Error::argument(
            method.called(),
            expected,
            "a build without it",
        ))
    }

    pub(super) fn with_values(&self, _vals: &[T]) -> Result<Self, Error> {
        match self.none {}
    }

    pub(super) fn with_rows(&self, _rows: &LocalRows<T>) -> Result<Self, Error> {
        match self.none {}
    }

    pub(super) fn lower(&self) -> Result<Option<Lower<T>>, Error> {
        match self.none {}
    }

    pub(super) fn solve(&self, _b: &[T], _system: System) -> Result<Vec<T>, Error> {
        match self.none {}
    }

    pub(super) fn solve_columns(
        &self,
        _b: (&[T], usize),
        _system: System,
        _x: (&mut [T], Range<usize>),
        _args: &HostArgs<'_>,
    ) -> Result<(), Error> {
        match self.none {}
    }
}
