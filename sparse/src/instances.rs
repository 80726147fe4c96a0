//! What programs call of this crate, for each type of numbers; why it is listed says the module of
//! that name in `sparsefuse_dense`.

use crate::gallery;
use crate::graph;
use crate::matrix_market;
use crate::{Bsr, Coo, Csc, Csr, Dia, TriangularSolve};
use num_complex::Complex;
use sparsefuse_kernels::{Field, Numeric};

/// The addresses of the functions; nothing reads them.
#[doc(hidden)]
#[must_use]
pub fn instances() -> Vec<*const ()> {
    let of_types = [
        of_fields::<f32>(),
        of_fields::<f64>(),
        of_fields::<Complex<f32>>(),
        of_fields::<Complex<f64>>(),
        of_numbers::<f32>(),
        of_numbers::<f64>(),
        of_numbers::<Complex<f32>>(),
        of_numbers::<Complex<f64>>(),
        vec![
            graph::shortest_paths::<f64> as *const (),
            graph::connected_components::<f64> as *const (),
            graph::breadth_first::<f64> as *const (),
            Csr::<f64>::maximum as *const (),
            Csr::<f64>::argmax as *const (),
        ],
    ];
    of_types.concat()
}

fn of_fields<T: Field>() -> Vec<*const ()> {
    vec![
        gallery::poisson1d::<T> as *const (),
        gallery::poisson2d::<T> as *const (),
        gallery::poisson3d::<T> as *const (),
        gallery::banded::<T> as *const (),
        gallery::random::<T> as *const (),
        gallery::diffusion2d::<T> as *const (),
        matrix_market::parse::<T> as *const (),
        TriangularSolve::<T>::new as *const (),
        TriangularSolve::<T>::solve::<1> as *const (),
        TriangularSolve::<T>::adjoint as *const (),
        Csr::<T>::first_not_finite as *const (),
        Csr::<T>::precise_residual as *const (),
    ]
}

fn of_numbers<T: Numeric>() -> Vec<*const ()> {
    vec![
        Csr::<T>::new as *const (),
        Csr::<T>::from_triplets as *const (),
        Csr::<T>::from_distributed_triplets as *const (),
        Csr::<T>::from_dense as *const (),
        Csr::<T>::to_dense as *const (),
        Csr::<T>::to_rows as *const (),
        Csr::<T>::gather as *const (),
        Csr::<T>::gather_triplets as *const (),
        Csr::<T>::to_triplets as *const (),
        Csr::<T>::identity as *const (),
        Csr::<T>::with_values as *const (),
        Csr::<T>::transpose as *const (),
        Csr::<T>::adjoint as *const (),
        Csr::<T>::matvec as *const (),
        Csr::<T>::rmatvec as *const (),
        Csr::<T>::balance as *const (),
        Csr::<T>::diagonal as *const (),
        Csr::<T>::diagonal as *const (),
        Csr::<T>::lower_triangle as *const (),
        Csr::<T>::upper_triangle as *const (),
        Csr::<T>::drop_small as *const (),
        Csr::<T>::column_range as *const (),
        Csr::<T>::row_range as *const (),
        Csr::<T>::block as *const (),
        Csr::<T>::select_rows as *const (),
        Csr::<T>::select_columns as *const (),
        Csr::<T>::get as *const (),
        Csr::<T>::nnz_per_row as *const (),
        Csr::<T>::kron as *const (),
        Csr::<T>::reshape as *const (),
        Csr::<T>::with_diagonal as *const (),
        Csr::<T>::scale_rows as *const (),
        Csr::<T>::scale_columns as *const (),
        Csr::<T>::sddmm as *const (),
        Csr::<T>::vstack as *const (),
        Csr::<T>::hstack as *const (),
        Csr::<T>::block_diag as *const (),
        Csr::<T>::try_add as *const (),
        Csr::<T>::try_sub as *const (),
        Csr::<T>::linear_combination as *const (),
        Csr::<T>::multiply::<Csr<T>> as *const (),
        Csr::<T>::to_bsr as *const (),
        Csr::<T>::to_coo as *const (),
        Csr::<T>::to_csc as *const (),
        Csr::<T>::to_dia as *const (),
        Coo::<T>::from_triplets as *const (),
        Coo::<T>::to_csr as *const (),
        Coo::<T>::to_csc as *const (),
        Coo::<T>::rmatvec as *const (),
        Csc::<T>::new as *const (),
        Csc::<T>::to_csr as *const (),
        Csc::<T>::to_coo as *const (),
        Csc::<T>::transpose as *const (),
        Csc::<T>::rmatvec as *const (),
        Bsr::<T>::from_blocks as *const (),
        Bsr::<T>::to_csr as *const (),
        Bsr::<T>::to_dense as *const (),
        Bsr::<T>::transpose as *const (),
        Bsr::<T>::adjoint as *const (),
        Bsr::<T>::try_add as *const (),
        Dia::<T>::from_scipy as *const (),
        Dia::<T>::to_csr as *const (),
        Dia::<T>::to_dense as *const (),
        Dia::<T>::transpose as *const (),
        Dia::<T>::adjoint as *const (),
        Dia::<T>::try_add as *const (),
    ]
}
