//! What programs call of this crate, for each type of numbers; why it is listed says the module of
//! that name in `sparsefuse_dense`.

use crate::eigen::{eigs, eigsh, eigsh_near, eigsh_with_inverse, lobpcg, svds};
use crate::multigrid::Multigrid;
use crate::preconditioners::{
    AdditiveSchwarz, BlockJacobi, Chebyshev, Ic0, Ilu0, Iluk, Ilut, Jacobi, Polynomial, Sor,
};
use crate::{KrylovSolver, LinearOperator, Method, Solution, expm_multiply};
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_sparse::Csr;

/// The addresses of the functions; nothing reads them.
#[doc(hidden)]
#[must_use]
pub fn instances() -> Vec<*const ()> {
    let of_types = [
        of::<f32>(),
        of::<f64>(),
        of::<Complex<f32>>(),
        of::<Complex<f64>>(),
    ];
    of_types.concat()
}

fn of<T: Field>() -> Vec<*const ()> {
    vec![
        Method::solve::<T> as *const (),
        KrylovSolver::<T>::solve as *const (),
        KrylovSolver::<T>::solve_many as *const (),
        Solution::<T>::relative_residual as *const (),
        crate::cg::<T> as *const (),
        crate::gmres::<T> as *const (),
        crate::bicgstab::<T> as *const (),
        operator::<T, Csr<T>> as *const (),
        operator::<T, Jacobi<T>> as *const (),
        operator::<T, BlockJacobi<T>> as *const (),
        operator::<T, Sor<T>> as *const (),
        operator::<T, Chebyshev<T>> as *const (),
        operator::<T, Polynomial<T>> as *const (),
        operator::<T, Ilu0<T>> as *const (),
        operator::<T, Iluk<T>> as *const (),
        operator::<T, Ilut<T>> as *const (),
        operator::<T, Ic0<T>> as *const (),
        operator::<T, AdditiveSchwarz<T>> as *const (),
        operator::<T, Multigrid<T>> as *const (),
        Jacobi::<T>::new as *const (),
        BlockJacobi::<T>::new as *const (),
        Sor::<T>::new as *const (),
        Chebyshev::<T>::new as *const (),
        Polynomial::<T>::new as *const (),
        Ilu0::<T>::new as *const (),
        Iluk::<T>::new as *const (),
        Ilut::<T>::new as *const (),
        Ic0::<T>::new as *const (),
        AdditiveSchwarz::<T>::new as *const (),
        Multigrid::<T>::on_grid as *const (),
        Multigrid::<T>::on_grid_with as *const (),
        Multigrid::<T>::aggregated as *const (),
        Multigrid::<T>::aggregated_with as *const (),
        Multigrid::<T>::solve as *const (),
        crate::preconditioners::splu::<T> as *const (),
        crate::preconditioners::spcholesky::<T> as *const (),
        crate::preconditioners::spsolve::<T, sparsefuse_dense::Vector<T>> as *const (),
        operator::<T, crate::preconditioners::Direct<T>> as *const (),
        eigs::<T> as *const (),
        eigsh::<T> as *const (),
        eigsh_near::<T> as *const (),
        eigsh_with_inverse::<T> as *const (),
        lobpcg::<T> as *const (),
        svds::<T> as *const (),
        expm_multiply::<T, 1> as *const (),
    ]
}

fn operator<T, A: LinearOperator<T> + 'static>(a: A) -> Box<dyn LinearOperator<T>> {
    Box::new(a)
}
