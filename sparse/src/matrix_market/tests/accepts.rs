//! Texts and the matrices they stand for, and the other way round.

use super::read_all_ways;
use crate::matrix_market::{Content, write_sparse_to};
use num_complex::Complex;
use sparsefuse_kernels::Field;

fn check_sparse<T: Field>(text: &str, n_rows: usize, n_cols: usize, entries: &[(u32, u32, T)]) {
    let (header, content) = read_all_ways::<T>(text.as_bytes()).unwrap();
    let Content::Sparse(triplets) = content else {
        panic!("expected triplets from {text:?}");
    };
    assert_eq!((header.n_rows, header.n_cols), (n_rows, n_cols));
    assert_eq!((triplets.n_rows(), triplets.n_cols()), (n_rows, n_cols));
    assert_eq!(triplets.iter().collect::<Vec<_>>(), entries, "{text:?}");
}

fn check_dense<T: Field>(text: &str, expected: (usize, usize, &[T])) {
    let (_, content) = read_all_ways::<T>(text.as_bytes()).unwrap();
    let Content::Dense {
        n_rows,
        n_cols,
        vals,
    } = content
    else {
        panic!("expected a dense matrix from {text:?}");
    };
    assert_eq!((n_rows, n_cols, &vals[..]), expected, "{text:?}");
}

#[test]
fn reads_every_field_and_symmetry() {
    let i = Complex::new(0.0, 1.0);
    check_sparse(
        "%%MatrixMarket matrix coordinate integer general\n2 3 2\n2 3 -7\n1 1 9007199254740993\n",
        2,
        3,
        &[(1, 2, -7.0), (0, 0, 9007199254740992.0)],
    );
    check_sparse::<f32>(
        "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
        2,
        2,
        &[(0, 0, 1.0), (1, 0, 1.0), (0, 1, 1.0)],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 3\n2 2 0\n",
        2,
        2,
        &[(1, 0, 3.0), (0, 1, -3.0), (1, 1, 0.0)],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 0 1\n",
        2,
        2,
        &[(0, 0, Complex::new(2.0, 0.0)), (1, 0, i), (0, 1, -i)],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 0 1\n",
        2,
        2,
        &[(1, 0, i), (0, 1, i)],
    );
    check_sparse::<Complex<f32>>(
        "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 2.5\n1 1 0.5\n",
        1,
        1,
        &[
            (0, 0, Complex::new(2.5, 0.0)),
            (0, 0, Complex::new(0.5, 0.0)),
        ],
    );
}

#[test]
fn reads_arrays() {
    check_dense(
        "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
        (2, 3, &[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
    );
    check_dense(
        "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
        (2, 2, &[1.0f32, 2.0, 2.0, 3.0]),
    );
    check_dense(
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
        (3, 3, &[0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0]),
    );
    check_dense::<f64>(
        "%%MatrixMarket matrix array real skew-symmetric\n1 1\n",
        (1, 1, &[0.0]),
    );
    let (one, i) = (Complex::new(1.0, 0.0), Complex::new(0.0, 1.0));
    check_dense(
        "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n0 1\n1 0\n",
        (2, 2, &[one, -i, i, one]),
    );
}

#[test]
fn reads_empty_and_single_matrices() {
    check_sparse::<f64>(
        "%%MatrixMarket matrix coordinate real general\n0 0 0\n",
        0,
        0,
        &[],
    );
    check_sparse::<f64>(
        "%%MatrixMarket matrix coordinate real general\n0 5 0",
        0,
        5,
        &[],
    );
    check_sparse(
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5",
        1,
        1,
        &[(0, 0, 5.0)],
    );
    check_sparse::<f64>(
        "%%MatrixMarket matrix coordinate real general\n4294967295 4294967295 0\n",
        u32::MAX as usize,
        u32::MAX as usize,
        &[],
    );
    check_dense::<f64>(
        "%%MatrixMarket matrix array real general\n0 4\n",
        (0, 4, &[]),
    );
    check_dense(
        "%%MatrixMarket matrix array real symmetric\n1 1\n7\n",
        (1, 1, &[7.0]),
    );
}

#[test]
fn reads_what_real_tools_write() {
    let expected = [(0, 0, 1000.0), (1, 1, -0.5)];
    for text in [
        "%%MatrixMarket MATRIX Coordinate REAL General\r\n% c\r\n\r\n2 2 2\r\n1 1 1.0D+03\r\n2 2 -.5\r\n",
        "%MatrixMarket matrix coordinate double general\n%\n\n \t%c\n 2\t2  2 \n%c\n\t1 1\t1e3\n\n  2 2 -5.E-1 \n%",
        "\u{feff}%%MatrixMarket matrix coordinate real general\r\n2 2 2\r\n1 1 1e3\r\n2 2 -0.5\r\n",
        "%%matrixmarket matrix coordinate real general\n2 2 2\n1 1 +1000.\n% c 3 3 3\n2 2 -0.50000\n\n\n",
        "%%MatrixMarket\tmatrix  coordinate real general \n2 2 2\n1 1 0.1d4\n02 2 -5e-01",
    ] {
        check_sparse(text, 2, 2, &expected);
    }
    check_sparse(
        "%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 7\n",
        1,
        1,
        &[(0, 0, 7.0)],
    );
    let (header, _) = read_all_ways::<f64>(
        b"%%MatrixMarket matrix coordinate real general\n% author: Andr\xe9\n1 1 1\n1 1 1\n",
    )
    .unwrap();
    assert_eq!(header.n_stored, 1);
}

#[test]
fn writes_the_shortest_text() {
    let mut text = Vec::new();
    let vals = [1.0, -0.0, 0.1, 1e22, 5e-324, 123456.75];
    write_sparse_to(&mut text, 1, 6, (0..6).map(|k| (0, k, vals[k])), "a\nb").unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "%%MatrixMarket matrix coordinate real general\n% a\n% b\n1 6 6\n\
         1 1 1\n1 2 -0\n1 3 0.1\n1 4 1e22\n1 5 5e-324\n1 6 123456.75\n"
    );
}

#[test]
fn reads_numbers_with_leading_zeros() {
    check_sparse(
        "%%MatrixMarket matrix coordinate real general\n0003 3 01\n\
         00000000000000000000000003 02 0000000000000000000001.50\n",
        3,
        3,
        &[(2, 1, 1.5)],
    );
}
