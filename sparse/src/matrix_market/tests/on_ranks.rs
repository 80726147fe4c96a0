//! The same files on several ranks: each has the entries of its rows in the order of the file, or
//! all have the error that one rank has alone.

use super::CUTS;
use crate::Triplets;
use crate::matrix_market::source::Cuts;
use crate::matrix_market::{Content, Header, ReadError, ReadErrorKind, ranks};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Config, Runtime, Shape, run_ranks};
use std::path::Path;
use tempfile::TempPath;

/// A file that disappears with this value.
pub(super) fn temporary(bytes: &[u8]) -> TempPath {
    let file = tempfile::Builder::new().suffix(".mtx").tempfile().unwrap();
    std::fs::write(&file, bytes).unwrap();
    file.into_temp_path()
}

/// Tiles of four rows, so that few rows are cut.
fn config() -> Config {
    Config {
        tile_len: 4,
        cut_threshold: 1,
        ..Config::default()
    }
}

/// What lies in the rows of this rank.
fn own_part<T: Field>(runtime: &Runtime, content: &Content<T>) -> Vec<(u32, u32, [u64; 2])> {
    let (n_rows, entries): (usize, Vec<_>) = match content {
        Content::Sparse(triplets) => (triplets.n_rows(), triplets.iter().collect()),
        Content::Dense {
            n_rows,
            n_cols,
            vals,
        } => {
            let places = vals.iter().enumerate();
            let entry = |(k, &val)| ((k / n_cols) as u32, (k % n_cols) as u32, val);
            (*n_rows, places.map(entry).collect())
        }
    };
    let (_, own) = runtime.default_rows(Shape::new(&[n_rows]));
    bits(
        entries
            .into_iter()
            .filter(|&(row, ..)| own.contains(&(row as usize))),
    )
}

pub(super) fn bits<T: Field>(
    entries: impl Iterator<Item = (u32, u32, T)>,
) -> Vec<(u32, u32, [u64; 2])> {
    entries
        .map(|(row, col, val)| (row, col, val.to_bits()))
        .collect()
}

/// Reads bytes on two and three ranks, and compares with what one rank made of them.
pub(super) fn check<T: Field>(bytes: &[u8], expected: &Result<(Header, Content<T>), String>) {
    let file = temporary(bytes);
    for (n_ranks, cuts) in [(2, CUTS[2]), (3, CUTS[0]), (3, CUTS[3]), (2, CUTS[1])] {
        if bytes.len() > 4000 * cuts.block_len {
            continue; // Too many rounds to wait for.
        }
        let is_equal = |runtime: &Runtime| {
            let found = ranks::read::<T>(runtime, &file, cuts);
            match (found, expected) {
                (Ok((header, own)), Ok((expected_header, content))) => {
                    assert_eq!(&header, expected_header);
                    let mut found = bits(own.iter());
                    let mut expected = own_part(runtime, content);
                    if matches!(content, Content::Dense { .. }) {
                        // Column by column here, row by row there, with the zeros that a skew
                        // file leaves out.
                        found.sort_unstable();
                        expected.sort_unstable();
                        expected.retain(|place| {
                            found.binary_search(place).is_ok() || place.2 != [0; 2]
                        });
                    }
                    assert_eq!(found, expected, "{cuts:?}");
                }
                (Err(error), Err(message)) => {
                    let name = file.to_string_lossy();
                    let found = error.to_string().replacen(&*name, "a.mtx", 1);
                    assert_eq!(&found, message, "{cuts:?}");
                }
                (found, _) => panic!("{found:?} instead of {:?}", expected.as_ref().err()),
            }
        };
        run_ranks(n_ranks, &config(), is_equal).unwrap();
    }
}

fn read_each(paths: &[&Path]) -> Vec<Result<(Header, Triplets<f64>), ReadError>> {
    let read = |runtime: &Runtime| ranks::read(runtime, paths[runtime.rank()], CUTS[2]);
    run_ranks(paths.len(), &config(), read).unwrap()
}

const TEXT: &str = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 2.5\n";

#[test]
fn a_file_that_one_rank_cannot_read_is_an_error_of_all() {
    let file = temporary(TEXT.as_bytes());
    let missing = Path::new("no/such/file.mtx");
    for (broken, paths) in [
        (1, [&*file, missing, &*file]),
        (0, [missing, &*file, missing]),
    ] {
        for (rank, found) in read_each(&paths).into_iter().enumerate() {
            let error = found.unwrap_err();
            assert!(matches!(error.kind(), ReadErrorKind::Rank { rank, .. } if *rank == broken));
            let message = error.kind().to_string();
            let expected = format!(
                "cannot read on rank {broken}: no/such/file.mtx: cannot read: \
                 No such file or directory (os error 2)"
            );
            assert_eq!(message, expected, "rank {rank}");
        }
    }
    for found in read_each(&[missing; 3]) {
        let kind = found.unwrap_err();
        assert!(matches!(kind.kind(), ReadErrorKind::Io(_)), "{kind}");
    }
}

#[test]
fn ranks_that_find_different_files_say_so() {
    let file = temporary(TEXT.as_bytes());
    let other = temporary(TEXT.replace("2 2 2", "2 3 2").as_bytes());
    for found in read_each(&[&file, &file, &other]) {
        let message = found.unwrap_err().kind().to_string();
        let expected = "expected the same file on every rank, found another on rank 2";
        assert_eq!(message, expected);
    }
}

#[test]
fn folders_and_pipes_are_refused() {
    let folder = std::env::temp_dir();
    for found in read_each(&[&*folder, &*folder]) {
        let message = found.unwrap_err().kind().to_string();
        assert!(
            message.contains("several ranks read files only"),
            "{message}"
        );
    }
}

/// Also where ranks meet different errors in one round, the first of the file wins.
#[test]
fn the_first_error_of_the_file_wins() {
    let mut text = "%%MatrixMarket matrix coordinate real general\n300 300 300\n".to_owned();
    for row in 1..=300 {
        let value = if [17, 18, 40, 290].contains(&row) {
            "oops"
        } else {
            "1"
        };
        text.push_str(&format!("{row} {row} {value}\n"));
    }
    for block_len in [1, 8, 64, 1000] {
        let cuts = Cuts {
            block_len,
            chunk_len: 16,
            threads: 1,
        };
        for bytes in [text.as_bytes().to_vec(), super::gzip(text.as_bytes())] {
            let file = temporary(&bytes);
            let errors = run_ranks(3, &config(), |runtime| {
                ranks::read::<f64>(runtime, &file, cuts).unwrap_err()
            });
            for error in errors.unwrap() {
                assert_eq!(error.line(), Some(19));
                assert_eq!(error.kind().to_string(), "expected a number, found `oops`");
            }
        }
    }
}

#[test]
fn endless_lines_are_refused() {
    let mut text = TEXT.as_bytes().to_vec();
    text.push(b'%');
    text.resize(5 << 20, b'c');
    let file = temporary(&text);
    let cuts = Cuts {
        block_len: 1 << 10,
        ..CUTS[3]
    };
    let errors = run_ranks(3, &config(), |runtime| {
        ranks::read::<f64>(runtime, &file, cuts).unwrap_err()
    });
    for error in errors.unwrap() {
        assert_eq!(error.line(), Some(5));
        assert!(
            matches!(error.kind(), ReadErrorKind::LongLine { .. }),
            "{error}"
        );
    }
}

#[test]
fn a_broken_gzip_stream_is_one_error() {
    let mut text = TEXT.as_bytes().to_vec();
    text.resize(100 << 10, b'\n');
    let good = super::gzip(&text);
    let file = temporary(&good[..good.len() - 1]);
    let messages = run_ranks(3, &config(), |runtime| {
        ranks::read::<f64>(runtime, &file, CUTS[3])
            .unwrap_err()
            .to_string()
    });
    let messages = messages.unwrap();
    assert!(
        messages[0].contains("the gzip stream is broken"),
        "{}",
        messages[0]
    );
    assert!(messages.iter().all(|message| *message == messages[0]));
}
