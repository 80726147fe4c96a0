//! The matrices of the bench as files, so that every competitor reads the same bits.
//!
//! A file is, in the byte order of the machine: rows, columns and entries as `u64`, the positions
//! as `u64`, the values as `f64`, the columns as `u32`.

use sparsefuse::sparse::matrix_market::{self, Content};
use sparsefuse::sparse::{Csr, LocalRows, gallery};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The file of a matrix by its name (`poisson2d:128`), made if it is not there.
pub(crate) fn file(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let path = folder
        .join(name.replace([':', ','], "-"))
        .with_extension("csr");
    if !path.exists() {
        let say = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(folder).map_err(say)?;
        let rows = make(name)?.to_rows().map_err(|error| error.to_string())?;
        let partial = path.with_extension("partial");
        write(&partial, &rows).map_err(say)?;
        fs::rename(&partial, &path).map_err(say)?;
    }
    Ok(path)
}

/// The file of a real matrix, `name.mtx`: in a folder `shared/matrices` beside the checkout, or
/// beside a folder that holds it. `None` where it is not there.
fn real(name: &str) -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(3);
    let mut files = above.map(|folder| folder.join("shared/matrices").join(name));
    files.find(|file| file.is_file())
}

/// Whether the matrix can be had: generators can, files where they are.
pub(crate) fn is_there(name: &str) -> bool {
    !name.ends_with(".mtx") || real(name).is_some()
}

fn make(name: &str) -> Result<Csr<f64>, String> {
    if let Some(file) = real(name) {
        let (_, content) = matrix_market::read(&file).map_err(|error| error.to_string())?;
        let Content::Sparse(triplets) = content else {
            return Err(format!("{} is a dense matrix", file.display()));
        };
        return Csr::from_triplets(&triplets).map_err(|error| error.to_string());
    }
    let (kind, numbers) = name.split_once(':').unwrap_or((name, ""));
    let numbers: Vec<usize> = numbers.split(',').flat_map(str::parse).collect();
    let made = match (kind, numbers.as_slice()) {
        ("poisson2d", &[n]) => gallery::poisson2d(n),
        ("poisson3d", &[n]) => gallery::poisson3d(n),
        ("banded", &[n, diagonals]) => gallery::banded(n, diagonals),
        ("banded_varying", &[n, diagonals]) => gallery::banded_varying(n, diagonals),
        ("diffusion2d", &[n]) => gallery::diffusion2d(n),
        ("diffusion3d", &[n]) => gallery::diffusion3d(n),
        ("rmat", &[scale, per_row]) => gallery::rmat(scale, per_row, 1),
        _ => return Err(format!("there is no matrix {name}")),
    };
    made.map_err(|error| error.to_string())
}

fn write(path: &Path, rows: &LocalRows<f64>) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let n = (rows.pos.len() - 1) as u64;
    for word in [n, n, rows.crd.len() as u64].iter().chain(&rows.pos) {
        file.write_all(&word.to_ne_bytes())?;
    }
    for value in &rows.vals {
        file.write_all(&value.to_ne_bytes())?;
    }
    for column in &rows.crd {
        file.write_all(&column.to_ne_bytes())?;
    }
    file.into_inner()?.sync_all()
}

/// Rows and entries of a matrix file.
pub(crate) fn size(path: &Path) -> Result<(usize, usize), String> {
    let words = File::open(path).and_then(|mut file| read_words(&mut file, 3));
    let words = words.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((words[0] as usize, words[2] as usize))
}

/// The matrix in a file.
pub(crate) fn read(path: &str) -> Result<LocalRows<f64>, String> {
    let say = |error: std::io::Error| format!("{path}: {error}");
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(say)?);
    let sizes = read_words(&mut file, 3).map_err(say)?;
    let pos = read_words(&mut file, sizes[0] as usize + 1).map_err(say)?;
    let vals = read_words(&mut file, sizes[2] as usize).map_err(say)?;
    let mut crd = vec![0; sizes[2] as usize];
    for column in &mut crd {
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes).map_err(say)?;
        *column = u32::from_ne_bytes(bytes);
    }
    let vals = vals.into_iter().map(f64::from_bits).collect();
    Ok(LocalRows { pos, crd, vals })
}

fn read_words(file: &mut impl Read, count: usize) -> std::io::Result<Vec<u64>> {
    let mut words = vec![0; count];
    for word in &mut words {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)?;
        *word = u64::from_ne_bytes(bytes);
    }
    Ok(words)
}
