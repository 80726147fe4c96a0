//! The Rust libraries: sprs, faer, nalgebra-sparse and kryst, each as its documentation says.
//!
//! sprs and nalgebra-sparse have no parallel product with a vector; the driver asks them for it on
//! one core only.

use super::{Order, Prepared, structures, unknown, vector};
use crate::matrices;
use faer::{Accum, MatMut, MatRef};
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
        ("sprs", "spmv") => sprs_product(order, a, x),
        ("faer", "spmv") => faer_product(order, a, x),
        ("nalgebra", "spmv") => nalgebra_product(order, a, x),
        ("kryst", "spmv") => kryst_product(order, a, x),
        ("kryst", "cg") => kryst_solve(order, a, x, SolverType::Cg),
        ("kryst", "cgs") => kryst_solve(order, a, x, SolverType::Cgs),
        ("kryst", "bicgstab") => kryst_solve(order, a, x, SolverType::BiCgStab),
        ("kryst", "gmres") => kryst_solve(order, a, x, SolverType::Gmres),
        ("kryst", "fgmres") => kryst_solve(order, a, x, SolverType::Fgmres),
        ("sprs", _) => structures::with_sprs(order, a),
        ("faer", _) => structures::with_faer(order, a),
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

fn sprs_product(order: &Order, a: LocalRows<f64>, x: Vec<f64>) -> Result<Prepared, String> {
    let n = x.len();
    let a = structures::sprs_matrix(a);
    Ok(Prepared::into_vector(order, "sprs 0.11", n, move |y, _| {
        y.fill(0.0);
        sprs::prod::mul_acc_mat_vec_csr(a.view(), &x[..], y);
    }))
}

fn faer_product(order: &Order, a: LocalRows<f64>, x: Vec<f64>) -> Result<Prepared, String> {
    let n = x.len();
    let a = structures::faer_matrix(a);
    let parallel = structures::faer_threads(order);
    Ok(Prepared::into_vector(order, "faer 0.24", n, move |y, _| {
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

fn nalgebra_product(order: &Order, a: LocalRows<f64>, x: Vec<f64>) -> Result<Prepared, String> {
    let n = x.len();
    let (pos, crd) = (wide(&a.pos)?, wide(&a.crd)?);
    let a = nalgebra_sparse::CsrMatrix::try_from_csr_data(n, n, pos, crd, a.vals);
    let a = a.map_err(|error| error.to_string())?;
    Ok(Prepared::into_vector(
        order,
        "nalgebra-sparse 0.12",
        n,
        move |y, _| {
            let x = DMatrixView::from_slice(&x, n, 1);
            let y = DMatrixViewMut::from_slice(y, n, 1);
            spmm_csr_dense(0.0, y, 1.0, Op::NoOp(&a), Op::NoOp(x));
        },
    ))
}

fn kryst_matrix(a: LocalRows<f64>) -> Result<Arc<dyn LinOp<S = f64>>, String> {
    let n = a.pos.len() - 1;
    let (pos, crd) = (wide(&a.pos)?, wide(&a.crd)?);
    let a = kryst::matrix::sparse::CsrMatrix::from_csr(n, n, pos, crd, a.vals);
    Ok(Arc::new(CsrOp::new(Arc::new(a))))
}

fn kryst_product(order: &Order, a: LocalRows<f64>, x: Vec<f64>) -> Result<Prepared, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(order.threads);
    let pool = pool.build().map_err(|error| error.to_string())?;
    let a = kryst_matrix(a)?;
    Ok(Prepared::into_vector(
        order,
        "kryst 4.3",
        x.len(),
        move |y, _| {
            pool.install(|| a.matvec(&x, y));
        },
    ))
}

fn kryst_solve(
    order: &Order,
    a: LocalRows<f64>,
    b: Vec<f64>,
    method: SolverType,
) -> Result<Prepared, String> {
    let a = kryst_matrix(a)?;
    let say = |error: kryst::error::KError| error.to_string();
    let mut ksp = KspContext::new();
    ksp.set_type(method).map_err(say)?;
    ksp.set_pc_type(PcType::None, None).map_err(say)?;
    ksp.set_threads(order.threads).map_err(say)?;
    ksp.set_operators(a, None);
    let mut limit = 0;
    // Stopping at the limit is an error to kryst, and what is wanted here.
    Ok(Prepared::into_vector(
        order,
        "kryst 4.3",
        b.len(),
        move |x, iterations| {
            if iterations != limit {
                ksp.set_tolerances(1e-200, 1e-200, 1e200, iterations);
                limit = iterations;
            }
            x.fill(0.0);
            let _ = ksp.solve(&b, x);
        },
    ))
}
