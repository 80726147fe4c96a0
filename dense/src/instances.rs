//! What programs call of this crate, for the usual types of elements and numbers of dimensions.
//!
//! Generic functions are compiled by the crate that names their types, so each test, each example
//! and each crate that is tested would compile the same functions again. Where the workspace is
//! built for tests, this crate names the types, as `sparsefuse_sparse` and `sparsefuse_solvers` do,
//! and what is built on it takes the machine code from here: rustc shares it up to optimisation
//! level 1. The switch is `cfg(shared_instances)`, which `.cargo/config.toml` sets, so that
//! programs outside this workspace do not pay for types that they do not use. What is missing here
//! is compiled where it is called, as ever.

use crate::{Array, Vector};
use num_complex::Complex;
use sparsefuse_kernels::{Element, Field, Numeric, Real};

/// The addresses of the functions; nothing reads them.
#[doc(hidden)]
#[must_use]
pub fn instances() -> Vec<*const ()> {
    let of_types = [
        of_elements::<f64>(),
        of_elements::<f32>(),
        of_elements::<Complex<f64>>(),
        of_elements::<Complex<f32>>(),
        of_elements::<i64>(),
        of_elements::<bool>(),
        of_numbers::<f64>(),
        of_numbers::<f32>(),
        of_numbers::<Complex<f64>>(),
        of_numbers::<Complex<f32>>(),
        of_numbers::<i64>(),
        of_fields::<f64>(),
        of_fields::<f32>(),
        of_fields::<Complex<f64>>(),
        of_fields::<Complex<f32>>(),
        of_ordered::<f64>(),
        of_ordered::<f32>(),
        of_ordered::<i64>(),
        of_reals::<f64>(),
        of_reals::<f32>(),
    ];
    of_types.concat()
}

fn of_elements<T: Element>() -> Vec<*const ()> {
    [
        of_shapes::<T, 1>(),
        of_shapes::<T, 2>(),
        of_shapes::<T, 3>(),
        vec![
            Vector::<T>::from_vec as *const (),
            Vector::<T>::from_slice as *const (),
            Array::<T, 2>::try_row as *const (),
            Array::<T, 2>::try_column as *const (),
            Array::<T, 2>::try_diagonal as *const (),
            Array::<T, 1>::try_take::<i64, 1> as *const (),
            Array::<T, 2>::try_take_axis::<i64> as *const (),
            Array::<T, 1>::try_reshape::<2> as *const (),
            Array::<T, 2>::try_reshape::<1> as *const (),
            Array::<T, 1>::broadcast_to::<2> as *const (),
        ],
    ]
    .concat()
}

fn of_shapes<T: Element, const D: usize>() -> Vec<*const ()> {
    vec![
        Array::<T, D>::from_shape_vec as *const (),
        Array::<T, D>::to_vec as *const (),
        Array::<T, D>::gather as *const (),
        Array::<T, D>::contiguous as *const (),
        Array::<T, D>::compress as *const (),
        Array::<T, D>::try_concatenate as *const (),
        Array::<T, D>::try_split as *const (),
        Array::<T, D>::try_roll as *const (),
        Array::<T, D>::try_repeat as *const (),
        Array::<T, D>::try_tile as *const (),
        Array::<T, D>::try_pad as *const (),
        Array::<T, D>::try_permute_axes as *const (),
        Array::<T, D>::transpose as *const (),
        Array::<T, D>::try_flip as *const (),
        Array::<T, D>::ravel as *const (),
    ]
}

fn of_numbers<T: Numeric>() -> Vec<*const ()> {
    [
        of_numbers_of_shapes::<T, 1>(),
        of_numbers_of_shapes::<T, 2>(),
        vec![
            Array::<T, 2>::try_matmul as *const (),
            Array::<T, 2>::try_matvec as *const (),
            Array::<T, 2>::try_kron as *const (),
            Vector::<T>::try_matmul as *const (),
            Vector::<T>::try_outer as *const (),
            Vector::<T>::try_to_diagonal as *const (),
        ],
    ]
    .concat()
}

fn of_numbers_of_shapes<T: Numeric, const D: usize>() -> Vec<*const ()> {
    vec![
        Array::<T, D>::try_dot as *const (),
        Array::<T, D>::try_diff as *const (),
        Array::<T, D>::try_cumsum_axis as *const (),
        Array::<T, D>::try_cumprod_axis as *const (),
    ]
}

fn of_fields<T: Field>() -> Vec<*const ()> {
    vec![
        Vector::<T>::try_plus_multiples as *const (),
        Vector::<T>::try_minus_multiples as *const (),
        Vector::<T>::try_dots as *const (),
        Vector::<T>::first_not_finite as *const (),
        Vector::<T>::try_all_close as *const (),
        Array::<T, 2>::try_all_close as *const (),
    ]
}

fn of_ordered<T: Numeric + PartialOrd>() -> Vec<*const ()> {
    vec![
        Vector::<T>::sort as *const (),
        Vector::<T>::argsort as *const (),
        Vector::<T>::unique as *const (),
        Vector::<T>::unique_counts as *const (),
        Vector::<T>::unique_inverse as *const (),
        Array::<T, 1>::try_sort_axis as *const (),
        Array::<T, 2>::try_sort_axis as *const (),
        Array::<T, 1>::try_argsort_axis as *const (),
        Array::<T, 2>::try_argsort_axis as *const (),
        Vector::<T>::try_searchsorted::<1> as *const (),
    ]
}

fn of_reals<T: Real>() -> Vec<*const ()> {
    vec![
        Vector::<T>::try_median as *const (),
        Vector::<T>::try_quantile as *const (),
        Vector::<T>::try_histogram as *const (),
        Vector::<T>::try_interp as *const (),
        Array::<T, 2>::try_cov as *const (),
    ]
}
