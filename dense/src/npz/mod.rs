//! Arrays in NumPy's archives (`.npz`): several arrays in one file, each under a name.
//!
//! An archive is a zip file whose members are files of NumPy (`.npy`), stored or compressed. Rank 0
//! writes it, one array after the other; every rank reads it and keeps its own rows.

mod archive;

pub use archive::{Archive, Member, Writer};

use crate::array::Array;
use crate::npy::{self, Layout};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Runtime};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

/// An array that [`save_npz`] writes: an [`Array`] of any element type and number of dimensions.
pub trait SavedArray {
    /// The runtime that the array belongs to.
    #[doc(hidden)]
    fn of_runtime(&self) -> &Runtime;

    /// Gathers the array on rank 0, which writes it under a name; one rank writes it from where it
    /// is.
    #[doc(hidden)]
    fn write(&self, name: &str, writer: Option<&mut Writer>) -> Result<io::Result<()>, Error>;
}

impl<T: Element, const D: usize> SavedArray for Array<T, D> {
    fn of_runtime(&self) -> &Runtime {
        self.runtime()
    }

    fn write(&self, name: &str, writer: Option<&mut Writer>) -> Result<io::Result<()>, Error> {
        if self.runtime().ranks() == 1 {
            let own = self.local()?;
            let add = |writer: &mut Writer| writer.add_slice(name, &self.shape(), &own);
            return Ok(writer.map_or(Ok(()), add));
        }
        let elements = self.gather(0)?;
        Ok(match (writer, elements) {
            (Some(writer), Some(elements)) => writer.add_slice(name, &self.shape(), &elements),
            _ => Ok(()),
        })
    }
}

/// Writes arrays to an archive that NumPy's `load` reads, as `savez` does: without compression. The
/// file appears under its name when it is complete; until then it has `.part` behind that. Every
/// rank must ask.
///
/// On several ranks rank 0 writes, and holds one array at a time.
///
/// ```
/// use sparsefuse_dense::{Array, Vector, npz_names, save_npz};
///
/// let path = std::env::temp_dir().join(format!("save_npz_{}.npz", std::process::id()));
/// let (x, a) = (Vector::<i32>::arange(3), Array::<f64, 2>::eye(2));
/// save_npz(&path, &[("x", &x), ("a", &a)])?;
/// assert_eq!(npz_names(&path)?, ["x", "a"]);
/// assert_eq!(Array::<f64, 2>::load_npz(&path, "a")?.to_vec()?, [1.0, 0.0, 0.0, 1.0]);
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
///
/// # Errors
///
/// If two arrays have one name, or a name is empty or has one of the characters `/`, `\` and `:`;
/// if they belong to two runtimes; if the computation of an array failed, or the file cannot be
/// written.
#[doc(alias = "savez")]
pub fn save_npz(path: impl AsRef<Path>, arrays: &[(&str, &dyn SavedArray)]) -> Result<(), Error> {
    check_names(arrays)?;
    let runtime = arrays.first().map(|(_, array)| array.of_runtime().clone());
    let runtime = runtime.unwrap_or_else(Runtime::current);
    if !arrays
        .iter()
        .all(|(_, array)| array.of_runtime().is(&runtime))
    {
        let expected = "arrays of one runtime";
        return Err(Error::argument("save_npz", expected, "arrays of two"));
    }
    write(&runtime, path.as_ref(), false, |mut writer| {
        let mut written = Ok(());
        for (name, array) in arrays {
            // Also where rank 0 cannot write any more, the others take part.
            let outcome = array.write(name, writer.as_deref_mut())?;
            written = written.and(outcome);
        }
        Ok(written)
    })
}

fn check_names(arrays: &[(&str, &dyn SavedArray)]) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for (name, _) in arrays {
        if name.is_empty() || name.contains(['/', '\\', ':']) {
            let expected = r"a name with characters, without `/`, `\` and `:`";
            return Err(Error::argument("save_npz", expected, format!("`{name}`")));
        }
        if !names.insert(name) {
            let expected = "a name of its own for each array";
            return Err(Error::argument(
                "save_npz",
                expected,
                format!("`{name}` twice"),
            ));
        }
    }
    Ok(())
}

/// Writes an archive on rank 0. `add` is called on every rank, on rank 0 with the archive; the
/// first error is a failure of all ranks, the second one what the system said.
#[doc(hidden)]
pub fn write(
    runtime: &Runtime,
    path: &Path,
    is_compressed: bool,
    add: impl FnOnce(Option<&mut Writer>) -> Result<io::Result<()>, Error>,
) -> Result<(), Error> {
    let part = npy::part_of(path);
    let failed = |error: io::Error| npy::refused(path, "a file that can be written", error);
    let create = || match runtime.rank() {
        0 => File::create(&part).map(Some),
        _ => Ok(None),
    };
    let file = runtime.agree(create().map_err(failed))?;
    let mut writer = file.map(|file| Writer::new(BufWriter::new(file), is_compressed));
    let added = add(writer.as_mut());
    let finish = || match (added, writer) {
        (Err(error), _) => Err(error),
        (Ok(written), Some(writer)) => written
            .and_then(|()| writer.finish())
            .and_then(|()| fs::rename(&part, path))
            .map_err(failed),
        (Ok(written), None) => written.map_err(failed),
    };
    let finished = finish();
    if finished.is_err() && runtime.rank() == 0 {
        // What remains of it is of no use; if it cannot be removed, the first error counts.
        let _ = fs::remove_file(&part);
    }
    runtime.agree(finished)
}

/// The names of the arrays of an archive, in the order of the file, without the `.npy` behind them.
///
/// # Errors
///
/// If the file cannot be read or is no archive.
pub fn npz_names(path: impl AsRef<Path>) -> Result<Vec<String>, Error> {
    let path = path.as_ref();
    let archive = Runtime::current().agree(Archive::open(path))?;
    Ok(archive.names().map(str::to_owned).collect())
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Reads the array of a name from an archive, as NumPy's `savez` and `savez_compressed` write
    /// it, also on a machine with another order of bytes. Every rank must ask.
    ///
    /// On several ranks each reads, and decompresses, the whole array, and keeps its own rows.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no archive, or has no array of this name; if the array has
    /// elements of another type or another number of dimensions, or is damaged; or if memory is
    /// refused.
    pub fn load_npz(path: impl AsRef<Path>, name: &str) -> Result<Self, Error> {
        let (path, runtime) = (path.as_ref(), Runtime::current());
        let archive = runtime.agree(Archive::open(path))?;
        let member = runtime.agree(archive.member(name))?;
        let header = member.header().clone();
        let layout = runtime.agree(header.layout::<T, D>("load_npz", member.place()))?;
        runtime.agree_on_file(member.place(), &layout.facts(&header))?;
        let Layout {
            dims,
            is_big_endian,
        } = layout;
        let (partition, rows) = runtime.default_rows(dims);
        let range = rows.start * dims.row_len()..rows.end * dims.row_len();
        let store = runtime.store_by_filling(dims, partition, |elements: &mut [T]| {
            let mut filled = 0;
            member.read(range, |bytes| {
                let rest = &mut elements[filled..];
                let count = rest.len().min(bytes.len() / T::DTYPE.size());
                npy::decode(&mut rest[..count], bytes, is_big_endian);
                filled += count;
                Ok(())
            })
        });
        Ok(Self::of_file(runtime.agree(store)?, &header))
    }
}
