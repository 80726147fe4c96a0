//! The works that make a matrix.

use super::super::structures::{Entries, dense, dense_check, matrix_check, triplets};
use super::super::{Order, unknown};
use super::{Once, Results, matrix};
use crate::matrices;
use crate::work::SPMM_COLUMNS;
use sparsefuse::prelude::*;
use sparsefuse::sparse::LocalRows;

/// A matrix that the work has made.
pub(super) enum Made {
    Sparse(Csr<f64>),
    Dense(Array<f64, 2>),
}

impl Made {
    /// What is compared.
    pub(super) fn check(&self) -> Result<Vec<f64>, Error> {
        Ok(match self {
            Self::Sparse(made) => {
                let LocalRows { pos, crd, vals } = made.to_rows()?;
                matrix_check(&pos, &crd, &vals)
            }
            Self::Dense(made) => dense_check(&made.to_vec()?),
        })
    }
}

pub(super) fn set_up(order: &Order) -> Result<Once, String> {
    match order.work.as_str() {
        "multiply" => {
            let (a, _) = matrix(order)?;
            Ok(sparse(move || a.try_matmul(&a)))
        }
        "transpose" => {
            let (a, _) = matrix(order)?;
            Ok(sparse(move || a.transpose()))
        }
        "triplets" | "triplets-scattered" => {
            let a = matrices::read(&order.matrix)?;
            let n = a.pos.len() - 1;
            let Entries { rows, cols, vals } = triplets(order, &a);
            let entries = Triplets::from_parts(n, n, rows, cols, vals);
            let entries = entries.map_err(|error| error.to_string())?;
            Ok(sparse(move || Csr::from_triplets(&entries)))
        }
        "spmm" => {
            let (a, _) = matrix(order)?;
            let n = a.n_cols();
            let x = Array::from_shape_vec([n, SPMM_COLUMNS], dense(n));
            let x = x.map_err(|error| error.to_string())?;
            Ok(Box::new(move |_| {
                Ok(Results {
                    made: Some(Made::Dense(&a * &x)),
                    ..Results::default()
                })
            }))
        }
        _ => Err(unknown(order)),
    }
}

fn sparse(make: impl Fn() -> Result<Csr<f64>, Error> + 'static) -> Once {
    Box::new(move |_| {
        Ok(Results {
            made: Some(Made::Sparse(make()?)),
            ..Results::default()
        })
    })
}
