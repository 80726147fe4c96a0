//! What programs call of dense linear algebra, for each type of numbers; see `crate::instances`.

use crate::Array;
use num_complex::Complex;
use sparsefuse_kernels::Field;

/// The addresses of the functions; nothing reads them.
#[doc(hidden)]
#[must_use]
pub fn instances_of_matrices() -> Vec<*const ()> {
    let of_types = [
        of_matrices::<f64>(),
        of_matrices::<f32>(),
        of_matrices::<Complex<f64>>(),
        of_matrices::<Complex<f32>>(),
    ];
    of_types.concat()
}

fn of_matrices<T: Field>() -> Vec<*const ()> {
    vec![
        Array::<T, 2>::cholesky as *const (),
        Array::<T, 2>::lu as *const (),
        Array::<T, 2>::solve_lower::<1> as *const (),
        Array::<T, 2>::solve_upper::<1> as *const (),
        Array::<T, 2>::solve_cholesky::<1> as *const (),
        Array::<T, 2>::qr as *const (),
        Array::<T, 2>::svd as *const (),
        Array::<T, 2>::singular_values as *const (),
        Array::<T, 2>::eigh as *const (),
        Array::<T, 2>::eig as *const (),
        Array::<T, 2>::inv as *const (),
        Array::<T, 2>::det as *const (),
        Array::<T, 2>::pinv as *const (),
        Array::<T, 2>::matrix_rank as *const (),
        Array::<T, 2>::solve::<1> as *const (),
        Array::<T, 2>::solve::<2> as *const (),
        Array::<T, 2>::lstsq::<1> as *const (),
        Array::<T, 2>::expm as *const (),
    ]
}
