//! Matrix Market files on disk: the small ones of `tests/data`, what we write ourselves, and, where
//! it exists, a folder of real matrices beside the checkout, with a manifest of their sizes.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_sparse::matrix_market::{
    Content, FieldKind, ReadErrorKind, Symmetry, WriteError, read, read_header, write_dense,
    write_sparse,
};
use sparsefuse_sparse::{Triplets, read_columns};
use sparsefuse_testing::{matrices, own_folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies in the workspace")
}

fn read_sparse<T: Field>(path: &Path) -> Triplets<T> {
    let (header, content) = read::<T>(path).unwrap();
    assert_eq!(read_header(path).unwrap(), header);
    match content {
        Content::Sparse(triplets) => triplets,
        Content::Dense { .. } => panic!("{} is a coordinate file", path.display()),
    }
}

/// Checks the number of rows, columns and entries of a file in `tests/data`, and the entries' sum.
fn check(name: &str, expected: (usize, usize, usize, Complex<f64>)) {
    let triplets = read_sparse::<Complex<f64>>(&workspace().join("tests/data").join(name));
    let sum = triplets.vals().iter().sum();
    let found = (triplets.n_rows(), triplets.n_cols(), triplets.len(), sum);
    assert_eq!(found, expected, "{name}");
}

#[test]
fn reads_the_small_files() {
    let real = |x| Complex::new(x, 0.0);
    check(
        "general.mtx",
        (3, 4, 5, real(2.5 - 1e-3 + 100.0 + 0.5 + 0.5)),
    );
    check(
        "general.mtx.gz",
        (3, 4, 5, real(2.5 - 1e-3 + 100.0 + 0.5 + 0.5)),
    );
    check("symmetric_crlf.mtx", (3, 3, 6, real(4.0)));
    check("hermitian.mtx", (2, 2, 3, real(2.0)));
    check("skew_symmetric.mtx", (3, 3, 4, real(0.0)));
    check("pattern.mtx", (2, 5, 3, real(3.0)));

    let (_, content) = read::<f32>(workspace().join("tests/data/array.mtx")).unwrap();
    let vals = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (n_rows, n_cols) = (2, 3);
    assert_eq!(
        content,
        Content::Dense {
            n_rows,
            n_cols,
            vals
        }
    );
}

#[test]
fn names_a_file_that_is_not_there() {
    let error = read::<f64>("no/such/file.mtx").unwrap_err();
    assert!(matches!(error.kind(), ReadErrorKind::Io(_)));
    assert!(
        error
            .to_string()
            .starts_with("no/such/file.mtx: cannot read: "),
        "{error}"
    );
    let error = read_header(workspace()).unwrap_err();
    assert!(matches!(error.kind(), ReadErrorKind::Io(_)), "{error}");
}

/// A folder of this test alone.
fn fresh_folder(test: &str) -> PathBuf {
    let folder = own_folder(Path::new(env!("CARGO_TARGET_TMPDIR"))).join(test);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn writes_files_plain_and_compressed() {
    let folder = fresh_folder("writes_files");
    let entries = (0..5000).map(|k| (k % 70, k % 90, 1.0 / (k + 1) as f64));
    for name in ["a.mtx", "a.mtx.gz"] {
        write_sparse(folder.join(name), 70, 90, entries.clone(), "made by a test").unwrap();
        let triplets = read_sparse::<f64>(&folder.join(name));
        let read = triplets
            .iter()
            .map(|(row, col, val)| (row as usize, col as usize, val));
        assert!(read.eq(entries.clone()), "{name}");
    }
    let size = |name| fs::metadata(folder.join(name)).unwrap().len();
    assert!(size("a.mtx.gz") < size("a.mtx"));
    assert_eq!(
        fs::read(folder.join("a.mtx.gz")).unwrap()[..2],
        [0x1f, 0x8b]
    );

    fs::rename(folder.join("a.mtx.gz"), folder.join("b.mtx")).unwrap();
    assert_eq!(read_sparse::<f64>(&folder.join("b.mtx")).len(), 5000);
    assert_eq!(file_names(&folder), ["a.mtx", "b.mtx"]);
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let folder = fresh_folder("failed_write");
    let path = folder.join("a.mtx");
    write_dense(&path, 1, 2, &[1.0, 2.0], "").unwrap();
    let before = fs::read(&path).unwrap();

    let check = |result: Result<(), WriteError>| {
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with(&*path.to_string_lossy()), "{message}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(file_names(&folder), ["a.mtx"]);
    };
    check(write_dense(&path, 1, 2, &[1.0, f64::INFINITY], ""));
    check(write_sparse(&path, 1, 1, [(0, 0, 1.0), (1, 0, 1.0)], ""));
    assert!(write_dense(folder.join("no/such/folder.mtx"), 1, 1, &[1.0], "").is_err());

    write_dense(&path, 1, 1, &[3.0], "").unwrap();
    assert_ne!(fs::read(&path).unwrap(), before);
    assert_eq!(file_names(&folder), ["a.mtx"]);
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = fresh_folder("links");
    let (file, link) = (folder.join("file.mtx"), folder.join("link.mtx"));
    write_dense(&file, 1, 1, &[1.0], "").unwrap();
    symlink(&file, &link).unwrap();
    write_dense(&link, 1, 1, &[2.0], "").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.ends_with("\n2\n"), "{text}");

    write_dense("/dev/null", 1, 1, &[1.0], "").unwrap();
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
}

/// The fields of a line of comma-separated values; quoted ones may hold commas and doubled quotes.
fn csv_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        let field = fields.last_mut().unwrap();
        match char {
            '"' if is_quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => field.push(char),
        }
    }
    fields
}

#[test]
fn reads_quoted_fields() {
    assert_eq!(
        csv_fields(r#"a,"b, ""c""",,d"#),
        ["a", r#"b, "c""#, "", "d"]
    );
}

#[test]
fn reads_real_matrices() {
    let Some(folder) = matrices() else {
        return;
    };
    let manifest = fs::read_to_string(folder.join("manifest.csv")).unwrap();
    let mut lines = manifest.lines();
    let names = csv_fields(lines.next().unwrap());
    let mut n_files = 0;
    for line in lines {
        let entry: BTreeMap<_, _> = names
            .iter()
            .map(String::as_str)
            .zip(csv_fields(line))
            .collect();
        check_real_matrix(&folder, &entry);
        n_files += 1;
    }
    assert_eq!(n_files, 28);
}

fn check_real_matrix(folder: &Path, entry: &BTreeMap<&str, String>) {
    let name = &entry["file"];
    let path = folder.join(name);
    let header = read_header(&path).unwrap();
    assert_eq!(header.field.to_string(), entry["field"], "{name}");
    assert_eq!(header.symmetry.to_string(), entry["symmetry"], "{name}");
    let triplets = read_sparse::<Complex<f64>>(&path);
    let found = [triplets.n_rows(), triplets.n_cols(), triplets.len()];
    let expected: [usize; 3] = ["rows", "cols", "nnz_full"].map(|key| entry[key].parse().unwrap());
    assert_eq!(found, expected, "{name}");
    if header.field == FieldKind::Complex {
        assert!(matches!(
            read::<f64>(&path).unwrap_err().kind(),
            ReadErrorKind::Field { .. }
        ));
    } else {
        let real = read_sparse::<f64>(&path);
        assert!(
            real.vals()
                .iter()
                .zip(triplets.vals())
                .all(|(re, z)| *re == z.re),
            "{name}"
        );
    }
    if header.field == FieldKind::Real {
        check_against_sprs(&path, &read_sparse::<f64>(&path));
    }
    check_symmetry(header.symmetry, &triplets, name);
}

/// Checks that sprs reads the same entries, in whatever order, to the bit.
fn check_against_sprs(path: &Path, triplets: &Triplets<f64>) {
    let theirs = sprs::io::read_matrix_market::<f64, usize, _>(path).unwrap();
    let mut theirs: Vec<_> = theirs
        .triplet_iter()
        .map(|(&val, (row, col))| (row, col, val.to_bits()))
        .collect();
    let mut ours: Vec<_> = triplets
        .iter()
        .map(|(row, col, val)| (row as usize, col as usize, val.to_bits()))
        .collect();
    theirs.sort_unstable();
    ours.sort_unstable();
    assert!(ours == theirs, "{}", path.display());
}

/// Checks that a matrix of a symmetric kind is one, from its sorted entries.
fn check_symmetry(symmetry: Symmetry, triplets: &Triplets<Complex<f64>>, name: &str) {
    let opposite = |val: Complex<f64>| match symmetry {
        Symmetry::General | Symmetry::Symmetric => val,
        Symmetry::SkewSymmetric => -val,
        Symmetry::Hermitian => val.conj(),
    };
    if symmetry != Symmetry::General {
        let entries: BTreeMap<_, _> = triplets
            .iter()
            .map(|(row, col, val)| ((row, col), val))
            .collect();
        let is_opposite = |(&(row, col), &val): (&(u32, u32), &Complex<f64>)| {
            row == col || entries[&(col, row)] == opposite(val)
        };
        assert!(entries.iter().all(is_opposite), "{name}");
    }
}

/// A file of a few bytes may name more columns than there is memory for.
#[test]
fn columns_beyond_memory_are_refused() {
    let path = std::env::temp_dir().join(format!("columns-{}.mtx", std::process::id()));
    for head in [
        "coordinate real general\n3 4000000000 0\n",
        "array real general\n0 4000000000\n",
    ] {
        fs::write(&path, format!("%%MatrixMarket matrix {head}")).unwrap();
        let config = Config {
            memory_limit: 1 << 30,
            ..Config::default()
        };
        let refused = Runtime::new(config)
            .unwrap()
            .enter(|| read_columns::<f64>(&path));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("bytes"), "{refused}");
    }
    fs::remove_file(&path).unwrap();
}
