//! The tests of [`super::tests`] on a GPU, where there is one.

use super::tests::check;
use super::tests::programs::{check_all, functions, reductions_of_rows};
use super::{Cuda, Device, DeviceError};
use crate::element::DType;

#[test]
fn random_kernels_equal_the_reference() {
    on_a_gpu(|gpu| check(gpu, 150));
}

#[test]
fn functions_of_any_argument_equal_the_reference() {
    on_a_gpu(|gpu| check_all(gpu, &functions()));
}

#[test]
fn reductions_of_rows_equal_the_reference() {
    let dtypes = [DType::F64, DType::ComplexF32, DType::Bool];
    on_a_gpu(|gpu| check_all(gpu, &reductions_of_rows(&dtypes)));
}

fn on_a_gpu(test: impl FnOnce(&dyn Device)) {
    match Cuda::new(0, None) {
        Ok(gpu) => test(&gpu),
        Err(DeviceError::Missing { expected, found }) => {
            println!("skipped: expected {expected}, found {found}");
        }
        Err(other) => panic!("{other}"),
    }
}
