//! The works that make a matrix: their inputs, what is compared of their results, and sprs and faer
//! doing them.
//!
//! A result is compared by its product with a hashed vector, computed here by plain loops, and by
//! the number of its entries.

use super::{Order, Prepared, fingerprint, input, unknown};
use crate::work::SPMM_COLUMNS;
use faer::sparse::linalg::matmul;
use faer::sparse::{SparseRowMat, SymbolicSparseRowMat, Triplet};
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::Array2;
use sparsefuse::sparse::LocalRows;

/// The entries of a matrix to be made: rows, columns and values.
pub(super) struct Entries {
    pub(super) rows: Vec<u32>,
    pub(super) cols: Vec<u32>,
    pub(super) vals: Vec<f64>,
}

/// Entry k is put where the file has one of its entries, somewhere behind the k-th or, scattered,
/// anywhere; so some places get several and others none.
pub(super) fn triplets(order: &Order, a: &LocalRows<f64>) -> Entries {
    let count = a.crd.len();
    let window = match order.work.as_str() {
        "triplets" => 4096.0,
        _ => count as f64,
    };
    let mut row_of = Vec::with_capacity(count);
    for (row, bounds) in a.pos.windows(2).enumerate() {
        row_of.resize(bounds[1] as usize, row as u32);
    }
    let place = |k: usize| (k + (input(k, 0) * window) as usize) % count;
    Entries {
        rows: (0..count).map(|k| row_of[place(k)]).collect(),
        cols: (0..count).map(|k| a.crd[place(k)]).collect(),
        vals: (0..count).map(|k| input(k, 0) - 0.5).collect(),
    }
}

/// The elements of a dense matrix with so many rows, row by row.
pub(super) fn dense(n_rows: usize) -> Vec<f64> {
    (0..n_rows * SPMM_COLUMNS)
        .map(|i| input(i, 0) - 0.5)
        .collect()
}

/// What is compared of a sparse matrix.
pub(super) fn matrix_check<P: Copy + Into<u64>>(pos: &[P], crd: &[u32], vals: &[f64]) -> Vec<f64> {
    let product = pos.windows(2).map(|bounds| {
        let entries = bounds[0].into() as usize..bounds[1].into() as usize;
        let pairs = crd[entries.clone()].iter().zip(&vals[entries]);
        pairs
            .map(|(&column, value)| value * (input(column as usize, 0) - 0.5))
            .sum::<f64>()
    });
    let mut check = fingerprint(&product.collect::<Vec<_>>());
    check.push(crd.len() as f64);
    check
}

/// What is compared of the result of `spmm`, whose elements are given row by row.
pub(super) fn dense_check(y: &[f64]) -> Vec<f64> {
    let product = y.chunks(SPMM_COLUMNS).map(|row| {
        let pairs = row.iter().enumerate();
        pairs.map(|(j, y)| y * (input(j, 0) - 0.5)).sum::<f64>()
    });
    let mut check = fingerprint(&product.collect::<Vec<_>>());
    check.push(y.len() as f64);
    check
}

type SprsMatrix = sprs::CsMatI<f64, u32>;

pub(super) fn sprs_matrix(a: LocalRows<f64>) -> SprsMatrix {
    let n = a.pos.len() - 1;
    let pos = a.pos.iter().map(|&pos| pos as u32).collect();
    sprs::CsMatI::new((n, n), pos, a.crd, a.vals)
}

/// sprs, whose product of matrices has threads.
pub(super) fn with_sprs(order: &Order, a: LocalRows<f64>) -> Result<Prepared, String> {
    const VERSION: &str = "sprs 0.11";
    let check =
        |made: &SprsMatrix| matrix_check(made.indptr().raw_storage(), made.indices(), made.data());
    let strategy = sprs::smmp::ThreadingStrategy::Fixed(order.threads);
    sprs::smmp::set_thread_threading_strategy(strategy);
    let n = a.pos.len() - 1;
    Ok(match order.work.as_str() {
        "multiply" => {
            let a = sprs_matrix(a);
            Prepared::making(VERSION, move || &a * &a, check)
        }
        "transpose" => {
            let a = sprs_matrix(a);
            Prepared::making(VERSION, move || a.transpose_view().to_csr(), check)
        }
        "triplets" | "triplets-scattered" => {
            let Entries { rows, cols, vals } = triplets(order, &a);
            let entries = sprs::TriMatI::<f64, u32>::from_triplets((n, n), rows, cols, vals);
            Prepared::making(VERSION, move || entries.to_csr(), check)
        }
        "spmm" => {
            let x = Array2::from_shape_vec((n, SPMM_COLUMNS), dense(n));
            let x = x.map_err(|error| error.to_string())?;
            let a = sprs_matrix(a);
            let check = |made: &Array2<f64>| dense_check(made.as_slice().unwrap_or(&[]));
            Prepared::making(VERSION, move || &a * &x, check)
        }
        _ => return Err(unknown(order)),
    })
}

type FaerMatrix = SparseRowMat<u32, f64>;

pub(super) fn faer_matrix(a: LocalRows<f64>) -> FaerMatrix {
    let n = a.pos.len() - 1;
    let pos = a.pos.iter().map(|&pos| pos as u32).collect();
    let structure = SymbolicSparseRowMat::new_checked(n, n, pos, None, a.crd);
    SparseRowMat::new(structure, a.vals)
}

pub(super) fn faer_threads(order: &Order) -> Par {
    match order.threads {
        1 => Par::Seq,
        threads => Par::rayon(threads),
    }
}

/// faer; its matrices go by columns, so that the rows of A A are the columns of A^T A^T.
pub(super) fn with_faer(order: &Order, a: LocalRows<f64>) -> Result<Prepared, String> {
    const VERSION: &str = "faer 0.24";
    let check = |made: &FaerMatrix| {
        let structure = made.symbolic();
        matrix_check(structure.row_ptr(), structure.col_idx(), made.val())
    };
    let parallel = faer_threads(order);
    let n = a.pos.len() - 1;
    Ok(match order.work.as_str() {
        "multiply" => {
            let a = faer_matrix(a);
            let multiply = move || {
                let a = a.transpose();
                let product = matmul::sparse_sparse_matmul(a, a, 1.0, parallel);
                product.map(|product| product.into_transpose()).ok()
            };
            Prepared::making(VERSION, multiply, move |made| {
                made.as_ref().map_or_else(Vec::new, check)
            })
        }
        "transpose" => {
            let a = faer_matrix(a);
            let transpose = move || a.transpose().to_row_major().ok();
            Prepared::making(VERSION, transpose, move |made| {
                made.as_ref().map_or_else(Vec::new, check)
            })
        }
        "triplets" | "triplets-scattered" => {
            let Entries { rows, cols, vals } = triplets(order, &a);
            let entries = rows.into_iter().zip(cols).zip(vals);
            let entries = entries.map(|((row, col), val)| Triplet { row, col, val });
            let entries: Vec<_> = entries.collect();
            let make = move || FaerMatrix::try_new_from_triplets(n, n, &entries).ok();
            Prepared::making(VERSION, make, move |made| {
                made.as_ref().map_or_else(Vec::new, check)
            })
        }
        "spmm" => {
            let a = faer_matrix(a);
            let x = dense(n);
            let multiply = move || {
                let mut y = vec![0.0; n * SPMM_COLUMNS];
                matmul::sparse_dense_matmul(
                    MatMut::from_row_major_slice_mut(&mut y, n, SPMM_COLUMNS),
                    Accum::Replace,
                    a.as_ref(),
                    MatRef::from_row_major_slice(&x, n, SPMM_COLUMNS),
                    1.0,
                    parallel,
                );
                y
            };
            Prepared::making(VERSION, multiply, |made| dense_check(made))
        }
        _ => return Err(unknown(order)),
    })
}
