//! Tests of the compressed row format against dense loops and `sprs`: every program runs in all
//! settings of `everywhere`, and must give the same bits.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

/// Checks that a matrix does what its row format does, and gives the bits of its products with a
/// vector and a matrix. `fresh` is the same matrix before its first product: at that its rows are
/// made, at the third it is packed.
macro_rules! check_over_rows {
    ($T:ident: $a:ident, $fresh:ident, $x:ident, $xs:ident) => {{
        let csr = $a.to_csr()?;
        let expected = bits(&(&csr * &$x).to_vec()?);
        for _ in 0..3 {
            assert_eq!(bits(&(&$fresh * &$x).to_vec()?), expected);
        }
        let product = bits(&(&csr * &$xs).to_vec()?);
        assert_eq!(bits(&(&$fresh * &$xs).to_vec()?), product);

        let transpose = $a.transpose()?;
        assert_eq!(rows(&transpose.to_csr()?)?, rows(&csr.transpose()?)?);
        assert_eq!(rows(&$a.adjoint()?.to_csr()?)?, rows(&csr.adjoint()?)?);

        // Values of their own over the same structure, lazily.
        let two = $T::ONE.plus($T::ONE);
        let twice = &$a * &Vector::from_vec(vec![two]).sum();
        assert_eq!(rows(&twice.to_csr()?)?, rows(&csr.scale(two))?);
        assert_eq!(rows(&(-&$a).to_csr()?)?, rows(&-&csr)?);
        assert_eq!(rows(&$a.conj().to_csr()?)?, rows(&csr.conj())?);
        assert_eq!((&(&$a + &$a) * &$x).to_vec()?, (&twice * &$x).to_vec()?);

        let (n_rows, n_cols) = $a.shape();
        for offset in -(n_rows as isize)..=n_cols as isize {
            let diagonal = $a.diagonal(offset)?.to_vec()?;
            assert_eq!(diagonal, csr.diagonal(offset)?.to_vec()?);
        }
        for axis in [0, 1] {
            let sums = csr.sum_axis(axis).to_vec()?;
            assert_eq!(bits(&$a.sum_axis(axis).to_vec()?), bits(&sums));
        }
        (expected, product)
    }};
}

mod adjoint;
mod blocks;
mod compare;
mod construct;
mod convert;
mod diagonals;
mod distributed;
mod failures;
mod files;
mod formats;
mod gallery;
mod ghosts;
mod large;
mod memory;
mod mixed;
mod multiply;
mod operations;
mod packed;
mod place;
mod product;
mod reductions;
mod residual;
mod sampled;
mod stack;
mod structure;

use ndarray::Array2;
use num_complex::Complex;
use proptest::collection::vec;
use proptest::prelude::Strategy;
use sparsefuse_dense::{Numeric, Vector};
use sparsefuse_kernels::Value;
use sparsefuse_runtime::{Error, run_ranks};
use sparsefuse_sparse::{Csr, LocalRows, Triplets};
use sparsefuse_testing::{bits, everywhere, small};
use std::fmt::Debug;
use std::ops::{Add, Mul};
use std::path::PathBuf;
use tempfile::TempDir;

/// Whether a product with ones fuses with what is around it from the second one on, which gives
/// twice the squares of the sums of the rows.
fn check_products_fuse<M>(make: impl Fn() -> Result<M, Error> + Sync, expected: f64)
where
    for<'a> &'a M: Mul<&'a Vector<f64>, Output = Vector<f64>>,
{
    for ranks in [1, 3] {
        let found = run_ranks(ranks, &small(), |runtime| {
            let a = make().unwrap();
            let x = Vector::ones([40]);
            (&a * &x).to_vec().unwrap();
            let before = runtime.counters();
            let y = &a * &x;
            let norm = (&y * 2.0).dot(&y).get().unwrap();
            let after = runtime.counters();
            (norm, after.fused_tasks - before.fused_tasks)
        });
        for (norm, fused_tasks) in found.unwrap() {
            assert_eq!((norm, fused_tasks), (expected, 1));
        }
    }
}

/// A path for a file that disappears with this value.
struct Temporary {
    path: PathBuf,
    _folder: TempDir,
}

impl Temporary {
    fn new(name: &str) -> Self {
        let folder = TempDir::new().unwrap();
        Self {
            path: folder.path().join(name),
            _folder: folder,
        }
    }
}

/// An element type, with values on which all arithmetic of the tests is exact in any order.
trait Exact: Numeric + Add<Output = Self> + Mul<Output = Self> {
    fn exact(k: i8) -> Self;
}

macro_rules! exact {
    ($($real:ty)*; $($complex:ty)*) => {
        $(impl Exact for $real {
            fn exact(k: i8) -> Self {
                <$real>::from(k)
            }
        })*
        $(impl Exact for Complex<$complex> {
            fn exact(k: i8) -> Self {
                Complex::new(k.into(), (i16::from(k) * 5 % 7) as $complex)
            }
        })*
    };
}

exact!(f32 f64 i32 i64; f32 f64);

/// Calls a generic function for each element type.
macro_rules! for_each_type {
    ($function:ident($($arg:expr),*)) => {{
        $function::<f32>($($arg),*);
        $function::<f64>($($arg),*);
        $function::<num_complex::Complex<f32>>($($arg),*);
        $function::<num_complex::Complex<f64>>($($arg),*);
        $function::<i64>($($arg),*);
    }};
}
use for_each_type;

/// The same for a real and a complex one alone: where an operation moves elements more than it
/// computes with them, all types would mostly take time to compile.
macro_rules! for_two_types {
    ($function:ident($($arg:expr),*)) => {{
        $function::<f64>($($arg),*);
        $function::<num_complex::Complex<f32>>($($arg),*);
    }};
}
use for_two_types;

/// The entries of a small matrix, in any order and with duplicates.
#[derive(Clone, Debug)]
struct Entries {
    n_rows: usize,
    n_cols: usize,
    entries: Vec<(usize, usize, i8)>,
}

fn entries() -> impl Strategy<Value = Entries> {
    (0usize..14, 0usize..14).prop_flat_map(|(n_rows, n_cols)| entries_of(n_rows, n_cols))
}

/// The same for a matrix of a given shape.
fn entries_of(n_rows: usize, n_cols: usize) -> impl Strategy<Value = Entries> {
    let most = if n_rows * n_cols == 0 { 0 } else { 40 };
    let entry = (0..n_rows.max(1), 0..n_cols.max(1), -9i8..=9);
    vec(entry, 0..=most).prop_map(move |entries| Entries {
        n_rows,
        n_cols,
        entries,
    })
}

impl Entries {
    fn triplets<T: Exact>(&self) -> Triplets<T> {
        let mut triplets = Triplets::new(self.n_rows, self.n_cols).unwrap();
        for &(row, col, k) in &self.entries {
            triplets.push(row, col, T::exact(k)).unwrap();
        }
        triplets
    }

    fn csr<T: Exact>(&self) -> Result<Csr<T>, Error> {
        Csr::from_triplets(&self.triplets())
    }

    /// The sums of the entries at each place, by loops.
    fn dense<T: Exact>(&self) -> Array2<T> {
        let mut dense = Array2::from_elem((self.n_rows, self.n_cols), T::ZERO);
        for &(row, col, k) in &self.entries {
            dense[(row, col)] = dense[(row, col)] + T::exact(k);
        }
        dense
    }

    /// The places with an entry, row by row.
    fn places(&self) -> Vec<(usize, usize)> {
        let mut places: Vec<_> = self
            .entries
            .iter()
            .map(|&(row, col, _)| (row, col))
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Positions, columns and values of a matrix.
type Rows = (Vec<u64>, Vec<u32>, Vec<Value>);

/// All of a matrix, to be compared by its bits.
fn rows<T: Numeric>(a: &Csr<T>) -> Result<Rows, Error> {
    let LocalRows { pos, crd, vals } = a.to_rows()?;
    assert_eq!(a.nnz(), crd.len());
    Ok((pos, crd, bits(&vals)))
}
