//! Checkpoints: the state of a method between two iterations, in a file.
//!
//! A file holds a [`Header`], then the vectors of the method one after the other, in the order of
//! the rows, little-endian. Every rank writes and reads its own rows, so any number of ranks can
//! go on where any other number stopped, and no rank holds a whole vector. The file appears under
//! its name only when it is complete, and what was there before survives every error.
//!
//! Whether a file belongs to a solve is asked of the operators themselves: the matrix, b and the
//! preconditioner leave a [`Fingerprint`] each, an inner product whose bits do not depend on ranks
//! or threads.

mod elements;
mod header;

pub(crate) use self::header::{Fingerprint, Header, State};

use self::elements::{read_elements, sum_of, write_elements};
use crate::operator::LinearOperator;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Local, Runtime};
use sparsefuse_sparse::remove_stale;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Where a solver saves its state, and how often.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Checkpoint, Options, cg, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// # let file = std::env::temp_dir().join(format!("checkpoint_{}", std::process::id()));
/// let a = gallery::poisson2d::<f64>(10)?;
/// let b = Vector::ones([100]);
/// // A solve that is cut short …
/// let checkpoint = Some(Checkpoint { file: &file, every: 5 });
/// let options = Options { checkpoint, max_iter: Some(12), ..Options::default() };
/// cg_with(&a, &b, options)?;
/// // … goes on after iteration 12, and ends where it would have.
/// let options = Options { resume: Some(&file), ..Options::default() };
/// let solution = cg_with(&a, &b, options)?;
/// assert_eq!(solution.resumed_at, 12);
/// assert_eq!(solution.x.to_vec()?, cg(&a, &b)?.x.to_vec()?);
/// # std::fs::remove_file(file).unwrap();
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint<'a> {
    /// The file, which is replaced each time.
    pub file: &'a Path,
    /// Iterations from one time to the next, at least 1.
    pub every: usize,
}

/// The seed of the vector that fingerprints are taken with.
const SEED: u64 = 0x5afe;

/// The fingerprint of an operator on vectors of length `n`: w'Aw of a random w.
pub(crate) fn of_operator<T: Field>(
    runtime: &Runtime,
    n: usize,
    a: &dyn LinearOperator<T>,
) -> Result<Fingerprint, Error> {
    let w = probe(runtime, n);
    Ok(Fingerprint::of(w.try_dot(&a.apply(&w)?)?.get()?))
}

/// The fingerprint of a vector: w'b of the same w.
pub(crate) fn of_vector<T: Field>(b: &Vector<T>) -> Result<Fingerprint, Error> {
    let w = probe(b.runtime(), b.len());
    Ok(Fingerprint::of(w.try_dot(b)?.get()?))
}

fn probe<T: Field>(runtime: &Runtime, n: usize) -> Vector<T> {
    runtime.enter(|| Vector::random_uniform([n], SEED))
}

/// Writes a checkpoint. Every rank takes part, and a failure of one is the failure of all.
pub(crate) fn write<T: Field>(
    path: &Path,
    header: &mut Header,
    vectors: &[&Vector<T>],
) -> Result<(), Error> {
    let runtime = vectors[0].runtime().clone();
    let is_first = runtime.rank() == 0;
    let processes = runtime.all_gather(&[std::process::id()])?;
    let path = &runtime.agree(target(path))?;
    if is_first {
        remove_stale(path, |ending| ending == "partial");
    }
    let partial = beside(path, processes[0][0]);
    let refuse = |error: io::Error| failure(path, "a place for a checkpoint", &error);
    runtime.agree(match is_first {
        true => File::create(&partial).map(drop).map_err(refuse),
        false => Ok(()),
    })?;
    let written = write_rows(&runtime, &partial, header.bytes(vectors.len()), vectors);
    let written = runtime.agree(written).and_then(|sums| {
        header.sums = total(&runtime.all_gather(&sums)?);
        runtime.agree(match is_first {
            true => complete(path, &partial, header).map_err(refuse),
            false => Ok(()),
        })
    });
    if is_first && written.is_err() {
        // It may never have been there, and the first failure is the one to be told.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// The rows of this rank of each vector, at their places; gives their sums.
fn write_rows<T: Field>(
    runtime: &Runtime,
    path: &Path,
    start: u64,
    vectors: &[&Vector<T>],
) -> Result<Vec<u64>, Error> {
    let refuse = |error: io::Error| failure(path, "a file to write to", &error);
    // First of all what every rank takes part in.
    let locals: Vec<_> = vectors.iter().map(|vector| vector.local()).collect();
    let file = OpenOptions::new().write(true).open(path).map_err(refuse)?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let mut sums = Vec::with_capacity(vectors.len());
    for (number, (vector, local)) in vectors.iter().zip(locals).enumerate() {
        let local = local?;
        let rows = local.rows();
        if !is_mine(runtime, &local) {
            sums.push(0);
            continue;
        }
        let place = start + ((number * vector.len() + rows.start) * size_of::<T>()) as u64;
        writer.seek(SeekFrom::Start(place)).map_err(refuse)?;
        write_elements(&mut writer, &local).map_err(refuse)?;
        sums.push(sum_of(rows.start, &local));
    }
    let file = writer
        .into_inner()
        .map_err(|error| refuse(error.into_error()))?;
    file.sync_all().map_err(refuse)?;
    Ok(sums)
}

/// Puts the header in front of the vectors, and the file under its name.
fn complete(path: &Path, partial: &Path, header: &Header) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(partial)?;
    file.write_all(&header.to_bytes())?;
    file.sync_all()?;
    drop(file);
    fs::rename(partial, path)?;
    // So that the new name survives a power failure; folders cannot be opened everywhere.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The file that a checkpoint replaces, behind all links; what is no file is never replaced.
fn target(path: &Path) -> Result<PathBuf, Error> {
    let found = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            let refuse = |error: io::Error| failure(path, "a file for checkpoints", &error);
            return fs::canonicalize(path).map_err(refuse);
        }
        Ok(metadata) if metadata.is_dir() => "a folder",
        Ok(_) => "no regular file",
        // There is nothing yet, or a link to nothing.
        Err(_) if !path.is_symlink() => return Ok(path.to_path_buf()),
        Err(_) => "a link that leads nowhere",
    };
    Err(Error::file(path, "a file for checkpoints", found))
}

/// The file that becomes the checkpoint.
fn beside(path: &Path, process: u32) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{process}.partial"));
    path.with_file_name(name)
}

/// Reads the checkpoint of the solve that `expected` describes; the vectors are cut like `like`.
/// Every rank takes part, and a failure of one is the failure of all.
pub(crate) fn read<T: Field>(
    path: &Path,
    expected: &Header,
    like: &Vector<T>,
    n_vectors: usize,
) -> Result<(Header, Vec<Vector<T>>), Error> {
    let runtime = like.runtime();
    // Of a view, a copy is what every rank takes part in, so there is one before any may fail.
    let like = like.contiguous()?;
    let mine = like.local().and_then(|local| {
        let (header, parts) = read_rows::<T>(path, expected, local.rows(), n_vectors)?;
        Ok((header, parts, local))
    });
    let (header, parts, local) = runtime.agree(mine)?;
    let mut found = vec![header.state.iterations as u64];
    found.extend_from_slice(&header.sums);
    runtime.agree_on_file(path, &found)?;
    let sums = parts.iter().map(|part| sum_of(local.rows().start, part));
    let mut sums: Vec<u64> = sums.collect();
    if !local.is_replicated() {
        sums = total(&runtime.all_gather(&sums)?);
    }
    runtime.agree(if sums == header.sums {
        Ok(())
    } else {
        let expected = "vectors with the sums that its header states";
        Err(Error::file(path, expected, "others: the file is damaged"))
    })?;
    let vectors = parts.into_iter().map(|part| like.with_local(part));
    let vectors: Vec<Result<_, Error>> = vectors.collect();
    let vectors = runtime.agree(vectors.into_iter().collect::<Result<Vec<_>, _>>())?;
    Ok((header, vectors))
}

/// Whether it is this rank that answers for its rows: of what all ranks hold, the first does.
fn is_mine<T: Field>(runtime: &Runtime, local: &Local<T>) -> bool {
    !local.is_replicated() || runtime.rank() == 0
}

/// The header, checked, and the given rows of each vector.
fn read_rows<T: Field>(
    path: &Path,
    expected: &Header,
    rows: Range<usize>,
    n_vectors: usize,
) -> Result<(Header, Vec<Vec<T>>), Error> {
    let refuse = |error: io::Error| failure(path, "a checkpoint", &error);
    // A pipe would wait for who writes it.
    let metadata = fs::metadata(path).map_err(refuse)?;
    if !metadata.is_file() {
        return Err(Error::file(path, "a checkpoint", "no regular file"));
    }
    let file = File::open(path).map_err(refuse)?;
    let len = file.metadata().map_err(refuse)?.len();
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let header = Header::read(&mut reader, len)
        .map_err(refuse)?
        .map_err(|(expected, found)| Error::file(path, expected, found))?;
    header
        .check(expected)
        .map_err(|(expected, found)| Error::file(path, expected, found))?;
    let start = header.bytes(n_vectors);
    let vector_bytes = (header.rows * size_of::<T>()) as u64;
    let whole = start + vector_bytes * n_vectors as u64;
    if len != whole {
        let found = format!("{len}: the file is cut short or damaged");
        return Err(Error::file(path, format!("{whole} bytes"), found));
    }
    let mut parts = Vec::with_capacity(n_vectors);
    for number in 0..n_vectors as u64 {
        let place = start + number * vector_bytes + (rows.start * size_of::<T>()) as u64;
        reader.seek(SeekFrom::Start(place)).map_err(refuse)?;
        parts.push(read_elements(&mut reader, rows.len()).map_err(refuse)?);
    }
    Ok((header, parts))
}

/// The sums of all ranks, vector by vector.
fn total(ranks: &[Vec<u64>]) -> Vec<u64> {
    let mut total = vec![0u64; ranks[0].len()];
    for sums in ranks {
        for (total, sum) in total.iter_mut().zip(sums) {
            *total = total.wrapping_add(*sum);
        }
    }
    total
}

fn failure(path: &Path, expected: &str, error: &io::Error) -> Error {
    Error::file(path, expected, format!("the error `{error}`"))
}
