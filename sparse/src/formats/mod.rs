//! The formats: handles of the stores of a matrix, and conversions between them.

pub(crate) mod csr;
pub(crate) mod inspected;

pub(crate) mod eager;
pub(crate) mod simple;

pub(crate) mod coo;
pub(crate) mod csc;
mod places;

mod row_form;

pub(crate) mod bsr;
pub(crate) mod dia;

mod transpose;

mod convert;
mod display;
#[cfg(feature = "interop")]
mod interop;
