//! The Rust libraries: sprs, faer, nalgebra-sparse and kryst, each as its documentation says.
//!
//! sprs and nalgebra-sparse have no parallel product; the driver asks them on one core only.

use super::{Order, Prepared, unknown, vector};
use crate::matrices;
use faer::sparse::{SparseRowMat, SymbolicSparseRowMat};
use faer::{Accum, MatMut, MatRef, Par};
use kryst::matrix::op::CsrOp;
use kryst::prelude::{KspContext, LinOp, PcType, SolverType};
use nalgebra::{DMatrixView, DMatrixViewMut};
use nalgebra_sparse::ops::{Op, serial::spmm_csr_dense};
use sparsefuse::sparse::LocalRows;
use std::sync::Arc;

pub(super) fn prepare(order: &Order) -> Result<Prepared, String> {
    let a = matrices::read(&order.matrix)?;
    let x = vector(order, a.pos.len() - 1);
    match (order.variant.as_str(), order.work.as_str()) {
        ("sprs", "spmv") => sprs_product(a, x),
        ("faer", "spmv") => faer_product(a, x, order.threads),
        ("nalgebra", "spmv") => nalgebra_product(a, x),
        ("kryst", "spmv") => kryst_product(a, x, order.threads),
        ("kryst", "cg") => kryst_solve(a, x, SolverType::Cg, order),
        ("kryst", "cgs") => kryst_solve(a, x, SolverType::Cgs, order),
        ("kryst", "bicgstab") => kryst_solve(a, x, SolverType::BiCgStab, order),
        _ => Err(unknown(order)),
    }
}

/// Positions or columns as `usize`.
fn wide<I: Copy + TryInto<usize>>(indices: &[I]) -> Result<Vec<usize>, String> {
    let converted = indices.iter().map(|&index| index.try_into());
    converted
        .collect::<Result<_, _>>()
        .map_err(|_| "an index is too large".to_owned())
}

fn sprs_product(a: LocalRows<f64>, x: Vec<f64>) -> Result<Prepared, String> {
    let n = x.len();
    let pos = a.pos.iter().map(|&pos| pos as u32).collect();
    let a: sprs::CsMatI<f64, u32> = sprs::CsMatI::new((n, n), pos, a.crd, a.vals);
    Ok(Prepared::into_vector("sprs 0.11", n, move |y| {
        y.fill(0.0);
        sprs::prod::mul_acc_mat_vec_csr(a.view(), &x[..], y);
    }))
}

fn faer_product(a: LocalRows<f64>, x: Vec<f64>, threads: usize) -> Result<Prepared, String> {
    let n = x.len();
    let pos = a.pos.iter().map(|&pos| pos as u32).collect();
    let structure = SymbolicSparseRowMat::new_checked(n, n, pos, None, a.crd);
    let a = SparseRowMat::<u32, f64>::new(structure, a.vals);
    let parallel = if threads == 1 {
        Par::Seq
    } else {
        Par::rayon(threads)
    };
    Ok(Prepared::into_vector("faer 0.24", n, move |y| {
        faer::sparse::linalg::matmul::sparse_dense_matmul(
            MatMut::from_column_major_slice_mut(y, n, 1),
            Accum::Replace,
            a.as_ref(),
            MatRef::from_column_major_slice(&x, n, 1),
            1.0,
            parallel,
        );
    }))
}

fn nalgebra_product(a: LocalRows<f64>, x: Vec<f64>) -> Result<Prepared, String> {
    let n = x.len();
    let (pos, crd) = (wide(&a.pos)?, wide(&a.crd)?);
    let a = nalgebra_sparse::CsrMatrix::try_from_csr_data(n, n, pos, crd, a.vals);
    let a = a.map_err(|error| error.to_string())?;
    Ok(Prepared::into_vector("nalgebra-sparse 0.12", n, move |y| {
        let x = DMatrixView::from_slice(&x, n, 1);
        let y = DMatrixViewMut::from_slice(y, n, 1);
        spmm_csr_dense(0.0, y, 1.0, Op::NoOp(&a), Op::NoOp(x));
    }))
}

fn kryst_matrix(a: LocalRows<f64>) -> Result<Arc<dyn LinOp<S = f64>>, String> {
    let n = a.pos.len() - 1;
    let (pos, crd) = (wide(&a.pos)?, wide(&a.crd)?);
    let a = kryst::matrix::sparse::CsrMatrix::from_csr(n, n, pos, crd, a.vals);
    Ok(Arc::new(CsrOp::new(Arc::new(a))))
}

fn kryst_product(a: LocalRows<f64>, x: Vec<f64>, threads: usize) -> Result<Prepared, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().map_err(|error| error.to_string())?;
    let a = kryst_matrix(a)?;
    Ok(Prepared::into_vector("kryst 4.3", x.len(), move |y| {
        pool.install(|| a.matvec(&x, y));
    }))
}

fn kryst_solve(
    a: LocalRows<f64>,
    b: Vec<f64>,
    method: SolverType,
    order: &Order,
) -> Result<Prepared, String> {
    let a = kryst_matrix(a)?;
    let say = |error: kryst::error::KError| error.to_string();
    let mut ksp = KspContext::new();
    ksp.set_type(method).map_err(say)?;
    ksp.set_pc_type(PcType::None, None).map_err(say)?;
    ksp.set_tolerances(1e-200, 1e-200, 1e200, order.iterations);
    ksp.set_threads(order.threads).map_err(say)?;
    ksp.set_operators(a, None);
    ksp.setup().map_err(say)?;
    // Stopping at the limit is an error to kryst, and what is wanted here.
    Ok(Prepared::into_vector("kryst 4.3", b.len(), move |x| {
        x.fill(0.0);
        let _ = ksp.solve(&b, x);
    }))
}
