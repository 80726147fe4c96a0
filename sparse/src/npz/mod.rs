//! Matrices in archives of NumPy (`.npz`), as SciPy's `save_npz` writes and `load_npz` reads them.
//!
//! An archive has the arrays that the format of the matrix consists of, and the name of that
//! format, its shape and the values. [`header`] reads what it says of the matrix, [`entries`] makes
//! rows or entries of its arrays, and [`numbers`] elements of the numbers in it. What comes out is
//! checked: lengths fit each other, positions ascend, indices lie inside the matrix, values are
//! finite.

mod entries;
mod header;
mod numbers;

pub use header::{NpzFormat, NpzHeader, read_npz_header};

use crate::assembly;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::triplets::Triplets;
use header::agree_on;
use sparsefuse_dense::npz::{self, Archive, Writer};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Runtime};
use std::io;
use std::path::Path;

impl<T: Numeric> Csr<T> {
    /// Writes the matrix to a compressed archive that SciPy's `load_npz` reads, as a `csr_array`.
    /// The file appears under its name when it is complete; until then it has `.part` behind that.
    /// Executes the window; every rank must ask.
    ///
    /// On several ranks rank 0 writes, and holds the columns, or the values, of the whole matrix.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let path = std::env::temp_dir().join(format!("save_npz_{}.npz", std::process::id()));
    /// let a = gallery::poisson2d::<f64>(10)?;
    /// a.save_npz(&path)?;
    /// let b = Csr::<f64>::load_npz(&path)?;
    /// assert_eq!((b.shape(), b.to_rows()?), (a.shape(), a.to_rows()?));
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, a value is not finite, or the file cannot be
    /// written.
    pub fn save_npz(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        eager("save_npz", &[self], || {
            self.check_finite()?;
            let runtime = self.runtime();
            npz::write(runtime, path, true, |writer| self.write_arrays(writer))
        })
    }

    /// Gathers the arrays on rank 0 one after the other, which writes them.
    fn write_arrays(&self, mut writer: Option<&mut Writer>) -> Result<io::Result<()>, Error> {
        let runtime = self.runtime();
        let mut written = Ok(());
        let mut write = |add: &dyn Fn(&mut Writer) -> io::Result<()>| {
            if let (Some(writer), Ok(())) = (&mut writer, &written) {
                written = add(writer);
            }
        };
        // As SciPy chooses them.
        let is_narrow = self.nnz().max(self.n_rows()).max(self.n_cols()) <= i32::MAX as usize;
        let crd = runtime
            .gather::<u32>(self.crd(), None, 0)?
            .unwrap_or_default();
        write(&|writer| {
            let indices = crd.iter().map(|&column| u64::from(column));
            add_indices(writer, "indices", is_narrow, crd.len(), indices)
        });
        drop(crd);
        let pos = runtime
            .gather::<u64>(self.pos(), None, 0)?
            .unwrap_or_default();
        write(&|writer| add_indices(writer, "indptr", is_narrow, pos.len(), pos.iter().copied()));
        drop(pos);
        write(&|writer| {
            writer.add_text("format", "csr")?;
            writer.add("shape", &[2], [self.n_rows() as i64, self.n_cols() as i64])
        });
        let vals = self.values().gather(0)?.unwrap_or_default();
        write(&|writer| {
            writer.add("data", &[vals.len()], vals.iter().copied())?;
            writer.add("_is_array", &[], [true])
        });
        Ok(written)
    }

    /// Refuses values that are not finite, on all ranks with the first one.
    fn check_finite(&self) -> Result<(), Error> {
        let own = self.own_rows()?;
        let rows = own.as_rows();
        let mut entries = (0..rows.len()).flat_map(|row| rows.row(row).map(move |it| (row, it)));
        let checked = match entries.find(|&(_, (_, value))| !numbers::is_finite(value)) {
            None => Ok(()),
            Some((row, (column, value))) => {
                let row = own.rows().start + row;
                let found = format!("{value} in row {row}, column {column}");
                Err(Error::argument("save_npz", "finite values", found))
            }
        };
        self.runtime().agree(checked)
    }

    /// The matrix of an archive that SciPy's `save_npz` has written, compressed or not, in the
    /// formats csr, csc, coo, dia and bsr, with indices of any whole type.
    ///
    /// Entries at the same place are summed in the order of the file; of a dia file the elements
    /// that are not 0 are kept. Whole numbers and `bool` are read into any type that has them, and
    /// rounded once if it is a floating-point one; real numbers into real and complex types,
    /// rounded once; complex ones into complex types alone.
    ///
    /// On several ranks each reads, and decompresses, the whole file. Of a csr file it keeps its
    /// own rows; of others it keeps a share of the entries and sends those to the owners of their
    /// rows, and holds the positions of all columns (csc) or rows of blocks (bsr) meanwhile. Every
    /// rank must ask.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no such archive, is damaged, or does not fit together; if
    /// an index is out of range, a value is not finite, or out of the range of `T`; if the values
    /// are of a type that is not read into `T`; if ranks find different files; if memory runs out.
    pub fn load_npz(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let runtime = Runtime::current();
        runtime.eager_task("load_npz", &[], || {
            let archive = runtime.agree(Archive::open(path))?;
            let header = agree_on(&runtime, path, header::read(&archive))?;
            runtime.agree(numbers::check_type::<T>(&archive))?;
            if header.format == NpzFormat::Csr {
                let (n_rows, n_cols) = (header.n_rows, header.n_cols);
                let make = Box::new(|rows| entries::rows(&runtime, &archive, &header, rows));
                return assembly::from_made(n_rows, n_cols, make).map(Self::of_stores);
            }
            let share = entries::share(&archive, &header, (runtime.rank(), runtime.ranks()));
            let (rows, cols, vals) = runtime.agree(share)?;
            let (n_rows, n_cols) = (header.n_rows, header.n_cols);
            let share = Triplets::from_checked_parts(n_rows, n_cols, rows, cols, vals);
            Self::from_distributed_triplets(share)
        })
    }
}

/// Writes indices in 32 or in 64 bits.
fn add_indices(
    writer: &mut Writer,
    name: &str,
    is_narrow: bool,
    len: usize,
    indices: impl Iterator<Item = u64>,
) -> io::Result<()> {
    match is_narrow {
        true => writer.add(name, &[len], indices.map(|index| index as i32)),
        false => writer.add(name, &[len], indices.map(|index| index as i64)),
    }
}
