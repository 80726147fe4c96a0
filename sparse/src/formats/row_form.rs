//! The row format of a matrix that is held in another one, over the same store of values.
//!
//! A format whose values lie row by row needs positions and columns alone to be a [`Csr`]. They are
//! made when they are first asked for, and kept with the matrix, its clones, and those that differ
//! from it by their values.

use crate::assembly::{Stores, Structure};
use crate::formats::csr::Csr;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use std::sync::{Arc, OnceLock};

/// What was made of a matrix's row format so far; clones share it.
#[derive(Clone)]
pub(crate) struct RowForm<T> {
    /// The same for matrices with other values.
    structure: Arc<OnceLock<Structure>>,
    rows: Arc<OnceLock<Csr<T>>>,
}

impl<T> Default for RowForm<T> {
    fn default() -> Self {
        Self {
            structure: Arc::default(),
            rows: Arc::default(),
        }
    }
}

impl<T: Numeric> RowForm<T> {
    /// That of a matrix which is there in row format already.
    pub(crate) fn of(rows: &Csr<T>) -> Self {
        let structure = Structure {
            pos: rows.pos().clone(),
            crd: rows.crd().clone(),
        };
        Self {
            structure: Arc::new(OnceLock::from(structure)),
            rows: Arc::new(OnceLock::from(rows.clone())),
        }
    }

    /// That of a matrix with the same structure and other values.
    pub(crate) fn with_other_values<U>(&self) -> RowForm<U> {
        RowForm {
            structure: self.structure.clone(),
            rows: Arc::default(),
        }
    }

    /// The matrix in row format, with these values; `make` makes its structure, if it has to be
    /// made, on all ranks.
    pub(crate) fn get(
        &self,
        shape: (usize, usize),
        vals: &Vector<T>,
        make: impl FnOnce() -> Result<Structure, Error>,
    ) -> Result<&Csr<T>, Error> {
        if let Some(rows) = self.rows.get() {
            return Ok(rows);
        }
        let Structure { pos, crd } = match self.structure.get() {
            Some(structure) => structure.clone(),
            None => {
                let structure = make()?;
                self.structure.get_or_init(|| structure).clone()
            }
        };
        let vals = vals.clone();
        let stores = Stores {
            shape,
            pos,
            crd,
            vals,
        };
        Ok(self.rows.get_or_init(|| Csr::of_stores(stores)))
    }
}

/// What formats have in common whose values lie row by row: structures with a `layout` of rows,
/// `n_cols`, the values `vals` and the row format `rows`. The texts say what the entries are, what
/// else gives the values, and what of a diagonal is not stored.
macro_rules! over_values {
    ($matrix:ident; $entries:literal; $values:literal; $diagonal:literal) => {
        impl<T: Numeric> $matrix<T> {
            /// The number of rows and of columns.
            #[must_use]
            pub fn shape(&self) -> (usize, usize) {
                (self.layout.n_rows(), self.n_cols)
            }

            #[doc = concat!("The number of entries, of all ranks: ", $entries, ".")]
            #[must_use]
            pub fn nnz(&self) -> usize {
                self.vals.len()
            }

            /// The values of the entries, row by row of the matrix, as those of
            #[doc = concat!("[`", stringify!($matrix), "::to_csr`]; ", $values, ".")]
            #[must_use]
            pub fn values(&self) -> &Vector<T> {
                &self.vals
            }

            /// The runtime that the matrix belongs to.
            #[must_use]
            pub fn runtime(&self) -> &Runtime {
                self.layout.runtime()
            }

            /// As [`Csr::expect_products`].
            pub fn expect_products(&self) {
                self.vals.store().pack_early();
            }

            /// As [`Csr::bytes_of_product`].
            #[must_use]
            pub fn bytes_of_product(&self) -> Option<usize> {
                self.vals.store().bytes_of_pass()
            }

            /// The same with values that are a whole store, one for each entry.
            pub(crate) fn with_own_values(&self, vals: Vector<T>) -> Self {
                Self {
                    vals,
                    rows: self.rows.with_other_values(),
                    ..self.clone()
                }
            }

            #[doc = concat!("The elements `a[i, i + offset]`, ", $diagonal, "; by way of")]
            #[doc = concat!("[`", stringify!($matrix), "::to_csr`].")]
            ///
            /// # Errors
            ///
            /// As [`Csr::diagonal`].
            pub fn diagonal(&self, offset: isize) -> Result<Vector<T>, Error> {
                self.to_csr()?.diagonal(offset)
            }
        }
    };
}
pub(crate) use over_values;
