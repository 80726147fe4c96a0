//! Matrix Market files to matrices and back.

use crate::{Entries, Temporary, everywhere, rows, small};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_sparse::matrix_market::{ReadErrorKind, WriteErrorKind};
use sparsefuse_sparse::{Csr, Triplets};
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    workspace.join("tests/data").join(name)
}

#[test]
fn reads_sparse_and_dense_files() {
    let found = everywhere(|| {
        Csr::<f64>::read(data("symmetric_crlf.mtx"))
            .unwrap()
            .to_ndarray()
    });
    assert_eq!(found, found.t());
    assert_eq!(found.dim(), (3, 3));
    let found = everywhere(|| Csr::<f32>::read(data("array.mtx")).unwrap().to_ndarray());
    assert_eq!(found, ndarray::array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let hermitian = everywhere(|| {
        Csr::<Complex<f64>>::read(data("hermitian.mtx"))
            .unwrap()
            .to_ndarray()
    });
    assert_eq!(hermitian, hermitian.t().mapv(|value| value.conj()));
}

/// By rows, by columns, with both triangles or one, with an entry out of order or twice: what is
/// read is what triplets make, on any number of ranks.
#[test]
fn reads_entries_in_every_order() {
    let n = 3000;
    let of_row = |row: usize| [0, 1, 60, 700].map(|step| (row, row.saturating_sub(step)));
    let mut lower: Vec<(usize, usize)> = (0..n).flat_map(of_row).collect();
    lower.sort_unstable();
    lower.dedup();
    let by_columns: Vec<_> = lower.iter().map(|&(row, col)| (col, row)).collect();
    let mut mixed = lower.clone();
    mixed.swap(2000, 9000);
    mixed.push(lower[4000]);
    let backwards: Vec<_> = lower.iter().rev().copied().collect();
    for (symmetry, places) in [
        ("general", &lower),
        ("general", &by_columns),
        ("general", &mixed),
        ("symmetric", &lower),
        ("symmetric", &backwards),
        ("skew-symmetric", &mixed),
    ] {
        let is_skew = symmetry == "skew-symmetric";
        let places: Vec<_> = places
            .iter()
            .filter(|place| !is_skew || place.0 != place.1)
            .collect();
        let head = format!("%%MatrixMarket matrix coordinate real {symmetry}\n");
        let mut text = format!("{head}{n} {n} {}\n", places.len());
        let mut triplets = Triplets::new(n, n).unwrap();
        for (k, &&(row, col)) in places.iter().enumerate() {
            let value = (k * k % 1000) as f64 / 7.0 - 50.0;
            text.push_str(&format!("{} {} {value}\n", row + 1, col + 1));
            triplets.push(row, col, value).unwrap();
            if symmetry != "general" && row != col {
                let value = if is_skew { -value } else { value };
                triplets.push(col, row, value).unwrap();
            }
        }
        let file = Temporary::new(&format!("order_{symmetry}.mtx"));
        std::fs::write(&file.path, text).unwrap();
        let expected = rows(&Csr::from_triplets(&triplets).unwrap()).unwrap();
        let found = everywhere(|| rows(&Csr::<f64>::read(&file.path).unwrap()));
        assert_eq!(found, expected, "{symmetry}");
    }
}

#[test]
fn names_the_file_and_the_line() {
    let error = Csr::<f64>::read(data("hermitian.mtx")).unwrap_err();
    assert!(
        matches!(error.kind(), ReadErrorKind::Field { .. }),
        "{error}"
    );
    let error = Csr::<f64>::read("no/such/file.mtx").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no/such/file.mtx: cannot read"),
        "{error}"
    );
}

/// A header may announce more rows than there is memory for.
#[test]
fn memory_that_runs_out_is_an_error() {
    let file = Temporary::new("many_rows.mtx");
    let text = "%%MatrixMarket matrix coordinate real general\n4294967295 1 1\n1 1 2.5\n";
    std::fs::write(&file.path, text).unwrap();
    let config = Config {
        memory_limit: 1 << 24,
        ..small()
    };
    let errors = run_ranks(1, &config, |_| Csr::<f64>::read(&file.path).unwrap_err());
    let error = &errors.unwrap()[0];
    assert!(
        matches!(error.kind(), ReadErrorKind::Assembly(_)),
        "{error}"
    );
    assert!(
        error.to_string().contains("many_rows.mtx: expected "),
        "{error}"
    );
    assert!(
        error.to_string().contains("under the limit of 16777216"),
        "{error}"
    );
}

#[test]
fn writes_what_it_reads() {
    let entries = Entries {
        n_rows: 9,
        n_cols: 6,
        entries: vec![(8, 5, 1), (0, 0, 3), (3, 2, -7), (3, 1, 2), (4, 4, 0)],
    };
    for name in ["round_trip.mtx", "round_trip.mtx.gz"] {
        let file = Temporary::new(name);
        everywhere(|| {
            let a = entries
                .csr::<Complex<f64>>()?
                .scale(Complex::new(0.1, 1e-300));
            a.write(&file.path).unwrap();
            let again = rows(&Csr::<Complex<f64>>::read(&file.path).unwrap())?;
            assert_eq!(again, rows(&a)?);
            // No rank writes the next file while another still reads this one.
            a.runtime().all_gather::<u32>(&[])?;
            Ok(again)
        });
    }
}

#[test]
fn an_error_of_the_writing_rank_reaches_all() {
    for ranks in [1, 2, 3] {
        let messages = run_ranks(ranks, &small(), |_| {
            let a = Csr::<f64>::identity(9).unwrap();
            let error = a.write("no/such/folder/a.mtx").unwrap_err();
            assert!(matches!(error.kind(), WriteErrorKind::Io(_)));
            error.to_string()
        });
        for message in messages.unwrap() {
            assert!(
                message.starts_with("no/such/folder/a.mtx: cannot write: "),
                "{message}"
            );
        }
    }
    let mut triplets = Triplets::new(1, 1).unwrap();
    triplets.push(0, 0, f64::NAN).unwrap();
    let a = Csr::from_triplets(&triplets).unwrap();
    let error = a.write("nothing.mtx").unwrap_err();
    assert!(
        matches!(error.kind(), WriteErrorKind::NotFinite { .. }),
        "{error}"
    );
}

/// The others send it the messages of their work, of which some are empty.
#[test]
fn a_rank_that_reads_alone_gets_an_error() {
    let config = Config {
        check_ranks: false,
        ..Config::default()
    };
    let outcomes = run_ranks(3, &config, |runtime| {
        let x = Vector::<f64>::ones([10]);
        if runtime.rank() == 2 {
            assert!(Csr::<f64>::read("no/such/file.mtx").is_err());
        }
        let y = &x * 3.0;
        y.sum().get().is_ok() && y.slice(..3).to_vec().is_ok()
    });
    outcomes.expect("no rank panics");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_one() {
    let link = Temporary::new("link.mtx");
    std::os::unix::fs::symlink("target.mtx", &link.path).unwrap();
    let a = Csr::<f64>::identity(3).unwrap();
    a.write(&link.path).unwrap();
    assert!(link.path.is_symlink());
    let target = link.path.with_file_name("target.mtx");
    assert_eq!(Csr::<f64>::read(target).unwrap().nnz(), 3);

    let refused = a.write("/no/such/folder/a.mtx").unwrap_err();
    let WriteErrorKind::Io(error) = refused.kind() else {
        panic!("{refused}");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

/// The lines of several pieces, which threads and ranks make, are those that one thread makes.
#[test]
fn pieces_are_the_whole() {
    const N: usize = 300_000;
    let value = |k: usize| 1.0 / (k as f64 - 0.5);
    let entries = || (0..N).map(move |k| (k / 3, 7 * k % 1000, value(k)));
    let file = Temporary::new("pieces.mtx");
    let packed = Temporary::new("pieces.mtx.gz");
    let mut expected = Vec::new();
    let mut sorted: Vec<_> = entries().collect();
    sorted.sort_by_key(|&(row, col, _)| (row, col));
    let n_rows = N / 3;
    sparsefuse_sparse::matrix_market::write_sparse_to(&mut expected, n_rows, 1000, sorted, "")
        .unwrap();
    for (ranks, threads) in [(1, 1), (1, 3), (2, 2)] {
        let config = Config {
            threads,
            native: None,
            ..Config::default()
        };
        let outcomes = run_ranks(ranks, &config, |_| {
            let mut all = Triplets::new(n_rows, 1000).unwrap();
            for (row, col, value) in entries() {
                all.push(row, col, value).unwrap();
            }
            let a = Csr::from_triplets(&all).unwrap();
            a.write(&file.path).unwrap();
            a.write(&packed.path).unwrap();
            let rows = a.to_rows().unwrap();
            assert!(Csr::<f64>::read(&packed.path).unwrap().to_rows().unwrap() == rows);
        });
        outcomes.unwrap();
        assert!(
            std::fs::read(&file.path).unwrap() == expected,
            "{ranks} ranks, {threads} threads"
        );
    }
    let number = expected.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(number, N + 2);
}
