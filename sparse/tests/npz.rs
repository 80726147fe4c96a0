//! Archives of SciPy: those of `tests/npz`, which SciPy has written, our own, and damaged ones.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use proptest::prelude::*;
use sparsefuse_dense::npz;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Runtime;
use sparsefuse_sparse::matrix_market::FieldKind;
use sparsefuse_sparse::{Csr, NpzFormat, Triplets, gallery, read_npz_header};
use sparsefuse_testing::everywhere;
use std::fs;
use std::path::{Path, PathBuf};

/// The matrix of the files of SciPy, row by row.
const ELEMENTS: [f64; 16] = [
    1.5, 0.0, 0.0, -2.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 5.0, 6.0,
];

fn of_scipy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/npz")
        .join(name)
}

/// A file of a test alone.
fn fresh(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("{test}_{}.npz", std::process::id()))
}

fn check<T: Numeric>(name: &str, element: impl Fn(usize, usize, f64) -> T + Sync) {
    let found = everywhere(|| Csr::<T>::load_npz(of_scipy(name))?.to_dense()?.to_vec());
    let of_place = |k: usize| element(k / 4, k % 4, ELEMENTS[k]);
    let expected: Vec<T> = (0..16).map(of_place).collect();
    assert_eq!(found, expected, "{name}");
}

#[test]
fn files_of_scipy() {
    for name in [
        "csr.npz",
        "csr_stored.npz",
        "csc.npz",
        "dia.npz",
        "dia_by_columns.npz",
        "bsr.npz",
        "wide.npz",
    ] {
        check::<f64>(name, |_, _, x| x);
    }
    check::<f32>("dia.npz", |_, _, x| x as f32);
    check::<Complex<f32>>("bsr.npz", |_, _, x| Complex::new(x as f32, 0.0));
    check::<f64>("ints.npz", |_, _, x| x.trunc());
}

#[test]
fn other_types_of_scipy() {
    check::<Complex<f64>>("coo.npz", |row, column, x| match column <= row {
        true => Complex::new(x, x),
        false => Complex::new(x, 0.0),
    });
    check::<i32>("ints.npz", |_, _, x| x as i32);
    check::<u64>("bools.npz", |_, _, x| u64::from(x != 0.0));
    check::<f32>("bools.npz", |_, _, x| f32::from(x != 0.0));
    let duplicates = everywhere(|| Csr::<f64>::load_npz(of_scipy("duplicates.npz"))?.to_rows());
    assert_eq!(
        (duplicates.crd, duplicates.vals),
        (vec![3, 2], vec![2.0, 5.0])
    );
}

/// Who reads an archive as text is told what reads it.
#[test]
fn archives_are_no_text() {
    let error = Csr::<f64>::read(of_scipy("csr.npz"))
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("found an archive; `load_npz` reads those of SciPy"),
        "{error}"
    );
}

#[test]
fn headers() {
    let header = |name| read_npz_header(of_scipy(name)).unwrap();
    let found = header("bsr.npz");
    assert_eq!(
        (found.format, found.field),
        (NpzFormat::Bsr, FieldKind::Real)
    );
    assert_eq!((found.n_rows, found.n_cols, found.n_stored), (4, 4, 16));
    assert_eq!(header("coo.npz").field, FieldKind::Complex);
    assert_eq!(header("bools.npz").field, FieldKind::Integer);
}

fn round_trip<T: Numeric>(value: impl Fn(usize) -> T + Sync) {
    let path = fresh(T::DTYPE.name());
    everywhere(|| {
        let mut triplets = Triplets::new(50, 70)?;
        for k in 0..90 {
            triplets.push(k * 7 % 50, k * k % 70, value(k))?;
        }
        let a = Csr::from_triplets(&triplets)?;
        a.save_npz(&path)?;
        let b = Csr::<T>::load_npz(&path)?;
        assert_eq!(b.shape(), a.shape());
        let (a, b) = (a.to_rows()?, b.to_rows()?);
        assert_eq!((&a.pos, &a.crd), (&b.pos, &b.crd));
        let bits = |vals: &[T]| vals.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&a.vals), bits(&b.vals));
        Ok(bits(&a.vals))
    });
    fs::remove_file(path).unwrap();
}

#[test]
fn every_type_is_read_as_it_was_written() {
    let real = |k: usize| (k as f64).sin();
    round_trip(real);
    round_trip(|k| real(k) as f32);
    round_trip(|k| Complex::new(real(k), -0.0));
    round_trip(|k| Complex::new(-0.0f32, real(k) as f32));
    round_trip(|k| k as i32 - 40);
    round_trip(|k| i64::MIN + k as i64);
    round_trip(|k| u32::MAX - k as u32);
    round_trip(|k| u64::MAX / 2 + k as u64);
}

#[test]
fn matrices_without_rows_columns_or_entries() {
    let path = fresh("empty");
    for (n_rows, n_cols) in [(0, 0), (0, 5), (5, 0), (3, 4)] {
        everywhere(|| {
            let a = Csr::<f64>::from_triplets(&Triplets::new(n_rows, n_cols)?)?;
            a.save_npz(&path)?;
            let b = Csr::<f64>::load_npz(&path)?;
            assert_eq!((b.shape(), b.nnz()), ((n_rows, n_cols), 0));
            Ok(())
        });
    }
    fs::remove_file(path).unwrap();
}

/// What is wrong with a file, without its path.
fn refusal<T: Numeric>(path: &Path) -> String {
    let error = Csr::<T>::load_npz(path).unwrap_err().to_string();
    let name = path.to_string_lossy();
    error.strip_prefix(&*name).unwrap_or(&error).to_owned()
}

#[test]
fn types_that_are_not_read_into_others() {
    assert_eq!(
        refusal::<f64>(&of_scipy("coo.npz")),
        "/data.npy: expected real numbers, to be read into f64, found '<c16'"
    );
    assert_eq!(
        refusal::<i64>(&of_scipy("csr.npz")),
        "/data.npy: expected whole numbers, to be read into i64, found '<f8'"
    );
    let path = fresh("range");
    let save = |value: f64| {
        Csr::new(1, 2, vec![0, 1], vec![1], vec![value])
            .unwrap()
            .save_npz(&path)
    };
    save(1e39).unwrap();
    assert_eq!(
        refusal::<f32>(&path),
        "/data.npy: expected values in the range of f32, found 1e39 in row 0, column 1"
    );
    assert_eq!(
        save(f64::NAN).unwrap_err().to_string(),
        "save_npz: expected finite values, found NaN in row 0, column 1"
    );
    let error = Csr::<f64>::load_npz("no/such.npz").unwrap_err().to_string();
    assert!(
        error.starts_with("no/such.npz: expected a file that can be read, found"),
        "{error}"
    );
    fs::remove_file(path).unwrap();
}

/// The arrays of an archive of a matrix of two rows and three columns.
struct Arrays {
    format: &'static str,
    shape: Vec<i64>,
    indptr: Vec<i64>,
    indices: Vec<i64>,
    data: Vec<f64>,
    dims: Vec<usize>,
}

impl Default for Arrays {
    fn default() -> Self {
        Self {
            format: "csr",
            shape: vec![2, 3],
            indptr: vec![0, 1, 3],
            indices: vec![2, 0, 1],
            data: vec![1.0, 2.0, 3.0],
            dims: vec![3],
        }
    }
}

impl Arrays {
    fn write(&self, path: &Path, is_compressed: bool) {
        npz::write(&Runtime::current(), path, is_compressed, |writer| {
            let writer = writer.unwrap();
            let index = |x: &[i64]| x.to_vec();
            writer
                .add("indptr", &[self.indptr.len()], index(&self.indptr))
                .unwrap();
            writer
                .add("indices", &[self.indices.len()], index(&self.indices))
                .unwrap();
            writer
                .add("offsets", &[self.indices.len()], index(&self.indices))
                .unwrap();
            writer
                .add("row", &[self.indptr.len()], index(&self.indptr))
                .unwrap();
            writer
                .add("col", &[self.indices.len()], index(&self.indices))
                .unwrap();
            writer
                .add("shape", &[self.shape.len()], index(&self.shape))
                .unwrap();
            writer.add_text("format", self.format).unwrap();
            Ok(writer.add("data", &self.dims, self.data.iter().copied()))
        })
        .unwrap();
    }
}

#[test]
fn arrays_that_do_not_fit_together() {
    let path = fresh("unfit");
    let check = |arrays: Arrays, expected: &str| {
        arrays.write(&path, false);
        assert_eq!(refusal::<f64>(&path), expected);
    };
    let of = Arrays::default;
    let indptr = |indptr: &[i64]| Arrays {
        indptr: indptr.to_vec(),
        ..of()
    };
    check(
        indptr(&[0, 3]),
        "/indptr.npy: expected an array of [3] elements, found one of [2]",
    );
    check(
        indptr(&[1, 1, 3]),
        "/indptr.npy: expected 0 as the first position, found 1",
    );
    check(
        indptr(&[0, 3, 2]),
        "/indptr.npy: expected positions that never decrease, found 2 after 3 at 2",
    );
    check(
        indptr(&[0, 1, 2]),
        "/indptr.npy: expected 3, the number of entries, as the last position, found 2",
    );
    check(
        indptr(&[0, -1, 3]),
        "/indptr.npy: expected indices in 0..4, found -1 at 1",
    );
    let indices = |indices: &[i64]| Arrays {
        indices: indices.to_vec(),
        ..of()
    };
    check(
        indices(&[2, 3, 1]),
        "/indices.npy: expected indices in 0..3, found 3 at 1",
    );
    check(
        indices(&[2, 1]),
        "/indices.npy: expected an array of [3] elements, found one of [2]",
    );
    let format = |format| Arrays { format, ..of() };
    check(
        format("lil"),
        "/format.npy: expected csr, csc, coo, dia or bsr, found `lil`",
    );
    check(
        format("dia"),
        "/data.npy: expected an array of 2 dimensions, found 1",
    );
    check(
        format("bsr"),
        "/data.npy: expected an array of 3 dimensions, found 1",
    );
    check(
        format("csc"),
        "/indptr.npy: expected an array of [4] elements, found one of [3]",
    );
    check(
        format("coo"),
        "/row.npy: expected indices in 0..2, found 3 at 2",
    );
    let shape = |shape: &[i64]| Arrays {
        shape: shape.to_vec(),
        ..of()
    };
    check(
        shape(&[2, 1 << 32]),
        "/shape.npy: expected indices in 0..4294967296, found 4294967296 at 1",
    );
    check(
        shape(&[2, 3, 4]),
        "/shape.npy: expected the numbers of rows and columns, found 3 dimensions",
    );
    let blocks = Arrays {
        format: "bsr",
        dims: vec![1, 1, 3],
        shape: vec![2, 2],
        ..of()
    };
    check(
        blocks,
        "/data.npy: expected blocks that divide a matrix of 2 by 2, found blocks of 1 by 3",
    );
    let infinite = Arrays {
        data: vec![1.0, 2.0, f64::INFINITY],
        ..of()
    };
    check(
        infinite,
        "/data.npy: expected finite values, found inf in row 1, column 1",
    );
    fs::remove_file(path).unwrap();
}

#[test]
fn ranks_refuse_the_same() {
    let path = fresh("ranks");
    let arrays = Arrays {
        indices: vec![2, 0, 7],
        ..Arrays::default()
    };
    arrays.write(&path, true);
    // On the rank at fault it is the error; the others are told.
    let found = everywhere(|| {
        let error = Csr::<f64>::load_npz(&path).unwrap_err().to_string();
        Ok(error
            .split_once("indices.npy")
            .map(|(_, rest)| rest.to_owned()))
    });
    assert_eq!(
        found.as_deref(),
        Some(": expected indices in 0..3, found 7 at 2")
    );
    fs::remove_file(path).unwrap();
}

#[test]
fn archives_without_a_matrix() {
    let path = fresh("none");
    npz::write(&Runtime::current(), &path, false, |writer| {
        Ok(writer.unwrap().add("x", &[1], [1.0]))
    })
    .unwrap();
    assert_eq!(
        refusal::<f64>(&path),
        ": expected an array `format`, found x"
    );
    for bytes in [&b""[..], b"PK", b"PK\x03\x04 but nothing else"] {
        fs::write(&path, bytes).unwrap();
        let found = refusal::<f64>(&path);
        assert!(
            found.starts_with(": expected an archive of NumPy (.npz), found "),
            "{found}"
        );
    }
    fs::remove_file(path).unwrap();
}

/// Files that are cut short, and those with another byte, are refused or read as they were; they
/// never panic.
#[test]
fn damaged_files() {
    let path = fresh("damaged");
    for (name, step) in [("csr.npz", 1), ("csr_stored.npz", 3), ("bsr.npz", 7)] {
        let whole = fs::read(of_scipy(name)).unwrap();
        for len in (0..whole.len()).step_by(step) {
            fs::write(&path, &whole[..len]).unwrap();
            let loaded = Csr::<f64>::load_npz(&path);
            assert!(loaded.is_err(), "{name} of {len} bytes");
        }
        for k in (0..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[k] ^= 0xff;
            fs::write(&path, &bytes).unwrap();
            if let Ok(a) = Csr::<f64>::load_npz(&path) {
                let found = a.to_dense().unwrap().to_vec().unwrap();
                assert_eq!(found, ELEMENTS, "{name}: byte {k}");
            }
        }
    }
    fs::remove_file(path).unwrap();
}

/// Sizes that a file does not have take no memory.
#[test]
fn announced_sizes_are_checked_before_memory_is_asked_for() {
    let path = fresh("bomb");
    let text = |dims: &str| {
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({dims}), }}");
        [
            b"\x93NUMPY\x01\x00\x76\x00",
            format!("{text:117}\n").as_bytes(),
        ]
        .concat()
    };
    Arrays::default().write(&path, false);
    let bytes = fs::read(&path).unwrap();
    let replaced = |dims: &str| {
        let (old, new) = (text("3,"), text(dims));
        let at = bytes
            .windows(old.len())
            .position(|part| part == old)
            .unwrap();
        [&bytes[..at], &new, &bytes[at + old.len()..]].concat()
    };
    fs::write(&path, replaced("1000000000000,")).unwrap();
    assert_eq!(
        refusal::<f64>(&path),
        "/data.npy: expected 8000000000128 bytes, for elements of shape (1000000000000), found 152"
    );
    fs::write(&path, replaced("4611686018427387904,")).unwrap();
    let found = refusal::<f64>(&path);
    assert!(
        found.starts_with("/data.npy: expected a shape whose elements a file can hold"),
        "{found}"
    );
    fs::remove_file(path).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_matrices_are_read_as_they_were_written(n in 1usize..60, per_row in 0usize..6, seed: u64) {
        let path = fresh("random");
        let a = gallery::random::<f64>(n, per_row.min(n), seed).unwrap();
        a.save_npz(&path).unwrap();
        let b = Csr::<f64>::load_npz(&path).unwrap();
        prop_assert_eq!(a.to_rows().unwrap(), b.to_rows().unwrap());
        fs::remove_file(path).unwrap();
    }
}
