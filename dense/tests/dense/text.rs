//! Text files: what is written is read again, as NumPy does, and what is wrong is named with its
//! place.

use crate::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, TextInput, TextOutput, Vector};
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_testing::everywhere;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file of its own for each test, in all its settings one after the other.
fn file(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!(
        "sparsefuse_{}_{number}_{name}.txt",
        std::process::id()
    ))
}

fn element(i: usize) -> f64 {
    (((i * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0).exp()
}

fn round_trip<T: Element, const D: usize>(shape: [usize; D], element: impl Fn(usize) -> T + Sync) {
    let path = file("round_trip");
    for delimiter in [" ", ",", ";  ", "\t"] {
        everywhere(|| {
            let a = Array::from_fn(shape, |index| {
                let dims = index.iter().zip(shape);
                element(dims.fold(0, |flat, (i, dim)| flat * dim + i))
            });
            let format = TextOutput {
                delimiter,
                header: "two\nlines",
                ..TextOutput::default()
            };
            a.save_txt(&path, &format)?;
            let format = TextInput {
                delimiter: Some(delimiter),
                ..TextInput::default()
            };
            let b = Array::<T, D>::load_txt(&path, &format)?;
            assert_eq!((b.shape(), b.bits()?), (shape, a.bits()?));
            if delimiter.trim().is_empty() {
                let b = Array::<T, D>::load_txt(&path, &TextInput::default())?;
                assert_eq!((b.shape(), b.bits()?), (shape, a.bits()?));
            }
            a.bits()
        });
    }
    std::fs::remove_file(path).expect("the file is there");
}

#[test]
fn text_is_read_as_it_was_written() {
    let special = |i: usize| match i % 5 {
        0 => f64::INFINITY,
        1 => -0.0,
        2 => f64::MIN_POSITIVE / 3.0,
        3 => -f64::INFINITY,
        _ => element(i),
    };
    round_trip([110, 3], element);
    round_trip([1, 40], special);
    round_trip([40, 1], special);
    round_trip([23], special);
    round_trip([1], element);
    round_trip([0], element);
    round_trip([30], |i| element(i) as f32);
    round_trip([7, 2], |i| Complex::new(special(i), special(i + 1)));
    round_trip([5], |i| Complex::new(-element(i) as f32, -0.0));
    round_trip([9, 3], |i| i as i32 - 4);
    round_trip([9], |i| i64::MIN + i as i64);
    round_trip([9], |i| i as u32);
    round_trip([4, 2], |i| u64::MAX - i as u64);
    round_trip([17, 4], |i| i % 3 == 0);
}

/// Reads a text, as each rank reads it.
fn read<T: Element, const D: usize>(text: &str, format: &TextInput<'_>) -> ([usize; D], Vec<T>) {
    let path = file("read");
    std::fs::write(&path, text).expect("the file is written");
    let (shape, values) = everywhere(|| {
        let array = Array::<T, D>::load_txt(&path, format)?;
        Ok((array.shape(), array.bits()?))
    });
    std::fs::remove_file(path).expect("the file is there");
    (
        shape,
        values.iter().filter_map(|value| value.get()).collect(),
    )
}

/// What `np.savetxt` writes by default, and with `fmt="%d"`, and files with comments and blanks.
#[test]
fn text_of_numpy() {
    let plain = TextInput::default();
    let written = "1.500000000000000000e+00 -2.000000000000000000e+00\n\
                   inf nan\n3.000000000000000089e-01 4.000000000000000000e+00\n";
    let (shape, found) = read::<f64, 2>(written, &plain);
    assert_eq!(
        (shape, found[0], found[1], found[2]),
        ([3, 2], 1.5, -2.0, f64::INFINITY)
    );
    assert!(found[3].is_nan() && found[4] == 0.3);
    let complex = " (1.500000000000000000e+00+2.000000000000000000e+00j)\n \
                   (0.000000000000000000e+00-1.000000000000000000e-30j)\n";
    let expected = vec![Complex::new(1.5, 2.0), Complex::new(0.0, -1e-30)];
    assert_eq!(read(complex, &plain), ([2], expected));
    let of_formats = "1.5+-2j\n1e+3+-1e-30j\n";
    let expected = vec![Complex::new(1.5, -2.0), Complex::new(1e3, -1e-30)];
    assert_eq!(read(of_formats, &plain), ([2], expected));
    let words = "1+2j 3 -4j (5) -1e-3-1E+2J\n";
    let found: ([usize; 1], Vec<Complex<f32>>) = read(words, &plain);
    let parts = [
        (1.0, 2.0),
        (3.0, 0.0),
        (0.0, -4.0),
        (5.0, 0.0),
        (-1e-3, -1e2),
    ];
    let expected = parts.map(|(re, im)| Complex::new(re, im)).to_vec();
    assert_eq!(found, ([5], expected));

    let text = "a heading\n\n# comment\n 1\t2  3 # behind\n\n   \n#4 5 6\r\n7 8 9\r\n10 11 12";
    let skipped = TextInput {
        skip_lines: 1,
        ..plain
    };
    let expected = vec![1, 2, 3, 7, 8, 9, 10, 11, 12];
    assert_eq!(read::<i64, 2>(text, &skipped), ([3, 3], expected));
    let columns = TextInput {
        columns: Some(&[2, 0]),
        ..skipped
    };
    let expected = vec![3, 1, 9, 7, 12, 10];
    assert_eq!(read::<u32, 2>(text, &columns), ([3, 2], expected));
    let column = TextInput {
        columns: Some(&[1]),
        ..skipped
    };
    assert_eq!(read::<i32, 1>(text, &column), ([3], vec![2, 8, 11]));
    assert_eq!(read::<i32, 1>("4 5 6\n", &plain), ([3], vec![4, 5, 6]));
    assert_eq!(read::<i32, 2>("4 5 6\n", &plain), ([1, 3], vec![4, 5, 6]));
    let csv = TextInput {
        delimiter: Some(","),
        comments: Some("//"),
        ..plain
    };
    let expected = vec![true, false, false, true];
    assert_eq!(
        read("1, 0\n// no\nFalse ,True//\n", &csv),
        ([2, 2], expected)
    );
    assert_eq!(read::<f64, 2>("# nothing\n", &plain), ([0, 0], vec![]));
    assert_eq!(read::<f64, 1>("", &plain), ([0], vec![]));
}

/// The message of an error, whichever rank has found it.
fn refused<T: Element, const D: usize>(text: &str, format: &TextInput<'_>) -> String {
    let path = file("refused");
    std::fs::write(&path, text).expect("the file is written");
    let error = Array::<T, D>::load_txt(&path, format).expect_err("the text is wrong");
    std::fs::remove_file(&path).expect("the file is there");
    error
        .to_string()
        .replace(&path.display().to_string(), "FILE")
}

#[test]
fn what_is_wrong_with_a_text_is_named() {
    let plain = TextInput::default();
    let csv = TextInput {
        delimiter: Some(","),
        ..plain
    };
    assert_eq!(
        refused::<f64, 2>("# x\n1 2\n\n3 4e\n", &plain),
        "FILE:4: expected a number of type f64 in column 1, found \"4e\""
    );
    assert_eq!(
        refused::<f64, 2>("1 2\n3\n", &plain),
        "FILE:2: expected 2 columns, found 1"
    );
    assert_eq!(
        refused::<f64, 2>("1,2,\n", &csv),
        "FILE:1: expected a number of type f64 in column 2, found \"\""
    );
    assert_eq!(
        refused::<i64, 1>("1\n2.0\n", &plain),
        "FILE:2: expected a number of type i64 in column 0, found \"2.0\""
    );
    assert_eq!(
        refused::<u32, 1>("-1\n", &plain),
        "FILE:1: expected a number of type u32 in column 0, found \"-1\""
    );
    let columns = TextInput {
        columns: Some(&[0, 5]),
        ..plain
    };
    assert_eq!(
        refused::<f64, 2>("1 2\n", &columns),
        "FILE:1: expected a column 5, found 2 columns"
    );
    assert_eq!(
        refused::<f64, 1>("1 2\n3 4\n", &plain),
        "FILE: expected one row or one column, found 2 rows and 2 columns"
    );
    assert_eq!(
        refused::<f64, 3>("1\n", &plain),
        "load_txt: expected a vector or a matrix, found 3 dimensions"
    );
    let long = "x".repeat(100);
    assert!(refused::<f64, 1>(&long, &plain).ends_with(&format!("\"{}...\"", "x".repeat(40))));
    let empty = TextInput {
        delimiter: Some(""),
        ..plain
    };
    assert!(refused::<f64, 1>("1\n", &empty).contains("with characters"));
    let none = TextInput {
        columns: Some(&[]),
        ..plain
    };
    assert!(refused::<f64, 1>("1\n", &none).contains("a column or more"));
    let error = Vector::<f64>::load_txt("/no/such/file", &plain).unwrap_err();
    assert!(error.to_string().contains("a file that can be read"));
    let error = Vector::<f64>::ones([2]).save_txt("/no/such/file", &TextOutput::default());
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("a file that can be written")
    );
    let path = file("bytes");
    std::fs::write(&path, b"1\n\xff\xfe\n").expect("the file is written");
    let error = Vector::<f64>::load_txt(&path, &plain)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with(":2: expected UTF-8, found other bytes"),
        "{error}"
    );
    std::fs::remove_file(&path).expect("the file is there");
}

/// A row that one rank reads is refused on all.
#[test]
fn text_that_is_wrong_on_one_rank() {
    let lines: Vec<String> = (0..60).map(|i| format!("{i} {}", 2 * i)).collect();
    let text = lines.join("\n").replace("55 110", "55 x");
    let path = file("one_rank");
    std::fs::write(&path, text).expect("the file is written");
    everywhere(|| {
        let error = Array::<i64, 2>::load_txt(&path, &TextInput::default()).unwrap_err();
        let expected = ":56: expected a number of type i64 in column 1, found \"x\"";
        assert!(error.to_string().contains(expected), "{error}");
        Ok(())
    });
    std::fs::remove_file(path).expect("the file is there");
}

#[test]
fn digits_of_text() -> Result<(), Error> {
    let path = file("digits");
    let format = TextOutput {
        precision: Some(3),
        ..TextOutput::default()
    };
    Vector::from_vec(vec![1.0, -0.012_345_6]).save_txt(&path, &format)?;
    let text = std::fs::read_to_string(&path).expect("the file is there");
    assert_eq!(text, "1.000e0\n-1.235e-2\n");
    // More digits than any number has.
    let format = TextOutput {
        precision: Some(usize::MAX),
        ..TextOutput::default()
    };
    Vector::from_vec(vec![0.1]).save_txt(&path, &format)?;
    let text = std::fs::read_to_string(&path).expect("the file is there");
    assert!(text.starts_with("1.00000000000000005551115123") && text.ends_with("00e-1\n"));
    std::fs::remove_file(path).expect("the file is there");
    Ok(())
}

/// Threads and ranks share the lines of a file of several blocks, in which some are unusual.
#[test]
fn text_of_several_blocks() {
    const N_ROWS: usize = 130_000;
    let mut text = String::from("x y z\n");
    for row in 0..N_ROWS {
        let (x, y) = (element(row), element(row + 7));
        match row % 1000 {
            0 => text.push_str(&format!("# a comment\n\n  {x:e}\t{y:.30e} {row} # and\r\n")),
            1 => text.push_str(&format!("{x} inf +{row}.\n")),
            _ => text.push_str(&format!("{x} {y:?} {row}\n")),
        }
    }
    let path = file("several_blocks");
    std::fs::write(&path, &text).expect("the file is written");
    let format = TextInput {
        skip_lines: 1,
        ..TextInput::default()
    };
    let settings = [(1, 1), (1, 3), (2, 2)].map(|(ranks, threads)| {
        let config = Config {
            threads,
            native: None,
            ..Config::default()
        };
        (ranks, config)
    });
    for (ranks, config) in &settings {
        let read = run_ranks(*ranks, config, |_| {
            let a = Array::<f64, 2>::load_txt(&path, &format)?;
            Ok((a.shape(), a.to_vec()?))
        });
        for read in read.unwrap() {
            let (shape, elements): ([usize; 2], Vec<f64>) = read.map_err(|e: Error| e).unwrap();
            assert_eq!(shape, [N_ROWS, 3]);
            for (row, found) in elements.chunks(3).enumerate() {
                let y = if row % 1000 == 1 {
                    f64::INFINITY
                } else {
                    element(row + 7)
                };
                assert_eq!(found, [element(row), y, row as f64]);
            }
        }
    }
    // The line is that of the file.
    let wrong = text
        .replace(" 125000\n", " 12x\n")
        .replace(" 125003\n", " 1 2\n");
    std::fs::write(&path, wrong).expect("the file is written");
    let lines = text.lines().position(|line| line.ends_with(" 125003"));
    let lines = lines.expect("there is such a line") + 1;
    for (ranks, config) in &settings {
        let read = run_ranks(*ranks, config, |_| {
            Array::<f64, 2>::load_txt(&path, &format).map(drop)
        });
        for read in read.unwrap() {
            let error = read.unwrap_err().to_string();
            let expected = format!(":{lines}: expected 3 columns, found 4");
            assert!(error.ends_with(&expected), "{error}");
        }
    }
    std::fs::remove_file(path).expect("the file is there");
}

/// A file that threads write has the bytes that one writes.
#[test]
fn threads_write_the_same_text() {
    let path = file("threads");
    let write = |threads| {
        let config = Config {
            threads,
            native: None,
            ..Config::default()
        };
        let written = run_ranks(1, &config, |_| {
            let a = Array::from_fn([50_000, 3], |[i, j]| element(3 * i + j));
            a.save_txt(&path, &TextOutput::default())
        });
        written.unwrap().remove(0).unwrap();
        std::fs::read_to_string(&path).expect("the file is there")
    };
    let one = write(1);
    assert_eq!(write(3), one);
    let mut expected = String::new();
    for i in 0..50_000 {
        let row = [0, 1, 2].map(|j| format!("{:?}", element(3 * i + j)));
        expected.push_str(&row.join(" "));
        expected.push('\n');
    }
    assert_eq!(one, expected);
    std::fs::remove_file(path).expect("the file is there");
}
