//! Products against chains of fused multiply-adds, to the bit: every instruction set, edges of
//! tiles and blocks, any strides.

use super::{CHAIN, Matrix, product, to_diagonal, workspace};
use crate::element::Numeric;
use crate::isa::Isa;
use num_complex::Complex;

/// Numbers that round when they are added, so that the order shows.
fn element<T: Numeric>(flat: usize) -> T {
    T::from_f64(((flat * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0)
}

/// An element of a product: `plus` adds the product with an inner index to a chain.
fn sum_of_chains<T: Numeric>(depth: usize, plus: impl Fn(T, usize) -> T) -> T {
    let chain = |first: usize| (first..depth.min(first + CHAIN)).fold(T::ZERO, &plus);
    let chains = (0..depth).step_by(CHAIN).map(chain);
    chains.fold(T::ZERO, T::plus)
}

fn check<T: Numeric>([rows, columns, depth]: [usize; 3]) {
    let of_a: Vec<T> = (0..rows * depth).map(element).collect();
    let of_b: Vec<T> = (0..2 * columns * depth).map(|i| element(i + 5)).collect();
    let a = Matrix::of_rows(&of_a, [rows, depth]);
    // Every second column of a matrix that lies column by column, the last one first.
    let b = Matrix {
        elements: &of_b,
        first: (2 * columns).saturating_sub(1) * depth,
        strides: [1, -2 * depth as isize],
        shape: [depth, columns],
    };
    let at_b = |k: usize, j: usize| of_b[(2 * (columns - j) - 1) * depth + k];
    let mut expected = Vec::new();
    for i in 0..rows {
        for j in 0..columns {
            let chain = |sum: T, k: usize| of_a[i * depth + k].times_plus(at_b(k, j), sum);
            expected.push(sum_of_chains(depth, chain).to_value());
        }
    }
    for isa in Isa::available() {
        let mut made = vec![T::ONE; rows * columns];
        let mut blocks = vec![T::ONE; workspace::<T>(isa, [rows, columns, depth])];
        product(isa, a, b, &mut made, &mut blocks);
        let made: Vec<_> = made.iter().map(|made| made.to_value()).collect();
        assert_eq!(made, expected, "{isa} {rows} x {depth} x {columns}");
        // The last rows alone.
        let (first, n) = (rows / 3, rows - rows / 3);
        let mut part = vec![T::ONE; n * columns];
        product(isa, a.rows(first, n), b, &mut part, &mut blocks);
        let part: Vec<_> = part.iter().map(|made| made.to_value()).collect();
        assert_eq!(part, expected[first * columns..]);
    }
}

/// With rows side by side, or columns, where few of the other matrix are multiplied without a copy.
fn check_in_place<T: Numeric>([rows, columns, depth]: [usize; 3]) {
    let of_a: Vec<T> = (0..rows * depth).map(element).collect();
    let of_b: Vec<T> = (0..columns * depth).map(|i| element(i + 5)).collect();
    let matrix = |elements, shape| Matrix::<T>::of_rows(elements, shape);
    let mut transposed = vec![T::ZERO; rows * depth];
    for i in 0..rows {
        for k in 0..depth {
            transposed[k * rows + i] = of_a[i * depth + k];
        }
    }
    let b = matrix(&of_b, [depth, columns]);
    let chain = |i: usize, j: usize| {
        let plus = |sum: T, k: usize| of_a[i * depth + k].times_plus(of_b[k * columns + j], sum);
        sum_of_chains(depth, plus).to_value()
    };
    let places = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let expected: Vec<_> = places.map(|(i, j)| chain(i, j)).collect();
    for isa in Isa::available() {
        for a in [
            matrix(&of_a, [rows, depth]),
            matrix(&transposed, [depth, rows]).transposed(),
        ] {
            let mut made = vec![T::ONE; rows * columns];
            let mut blocks = vec![T::ONE; workspace::<T>(isa, [rows, columns, depth])];
            product(isa, a, b, &mut made, &mut blocks);
            let made: Vec<_> = made.iter().map(|made| made.to_value()).collect();
            assert_eq!(made, expected, "{isa} {rows} x {depth} x {columns}");
        }
    }
}

#[test]
fn products_of_few_rows_and_columns() {
    for rows in [1, 3, 4, 5, 12, 13, 17] {
        for columns in [1, 4, 5, 8, 9, 16, 17, 49, 97] {
            check_in_place::<f64>([rows, columns, 3]);
            check_in_place::<f32>([rows, columns, 3]);
        }
    }
    let long = [[2, 2, CHAIN], [3, 5, CHAIN + 7], [17, 9, 2 * CHAIN + 200]];
    for shape in [[4, 4, 1000], [8, 8, 500], [16, 16, 385], [4, 3000, 2]]
        .into_iter()
        .chain(long)
    {
        check_in_place::<f64>(shape);
        check_in_place::<f32>(shape);
        check_in_place::<Complex<f64>>(shape);
        check_in_place::<i32>(shape);
    }
}

#[test]
fn half_of_a_symmetric_product_is_that_of_the_whole() {
    for [n, depth] in [
        [16, 40],
        [23, 200],
        [50, 7],
        [210, 193],
        [1600, 3],
        [9, CHAIN + 100],
    ] {
        let elements: Vec<f64> = (0..n * depth).map(element).collect();
        let b = Matrix::of_rows(&elements, [depth, n]);
        let a = b.transposed();
        for isa in Isa::available() {
            let mut blocks = vec![0.0; workspace::<f64>(isa, [n, n, depth])];
            let mut whole = vec![1.0; n * n];
            product(isa, a, b, &mut whole, &mut blocks);
            for first in [0, n / 3, n - 1] {
                let mut half = vec![1.0; (n - first) * n];
                // Fewer rows may have another tile, and so other blocks.
                let mut blocks = vec![0.0; workspace::<f64>(isa, [n - first, n, depth])];
                let rows = (a.rows(first, n - first), first);
                to_diagonal(isa, rows, b, &mut half, &mut blocks);
                for i in first..n {
                    let row = &half[(i - first) * n..][..=i];
                    assert_eq!(row, &whole[i * n..][..=i], "{isa} {n} row {i}");
                }
            }
        }
    }
}

#[test]
fn products_are_chains_in_order() {
    let shapes = [
        [1, 1, 1],
        [3, 2, 5],
        [9, 15, 12],
        [16, 16, 16],
        [16, 16, 17],
        [9, 23, 12],
        [5, 12, 0],
        [32, 32, 32],
        [33, 32, 32],
        [5, 20, 0],
        [8, 48, 7],
        [17, 25, 200],
        [200, 31, 13],
        [2, 1540, 3],
        [5, 4, 0],
        [0, 3, 2],
        [3, 0, 2],
    ];
    for shape in shapes {
        check::<f64>(shape);
        check::<f32>(shape);
    }
}

#[test]
fn products_of_every_type() {
    for shape in [[7, 9, 201], [7, 13, 21], [7, 13, 11]] {
        check::<Complex<f64>>(shape);
        check::<Complex<f32>>(shape);
        check::<i32>(shape);
        check::<i64>(shape);
        check::<u32>(shape);
        check::<u64>(shape);
    }
}

/// One chain of all would be wrong by more than a percent.
#[test]
fn long_sums_in_single_precision() {
    let depth = 3_000_000;
    let elements = vec![0.1_f32; depth];
    let (a, b) = (
        Matrix::of_rows(&elements, [1, depth]),
        Matrix::of_rows(&elements, [depth, 1]),
    );
    let expected = depth as f64 * f64::from(0.1_f32) * f64::from(0.1_f32);
    for isa in Isa::available() {
        let mut blocks = vec![0.0; workspace::<f32>(isa, [1, 1, depth])];
        let mut made = [0.0];
        product(isa, a, b, &mut made, &mut blocks);
        let error = f64::from(made[0]) / expected - 1.0;
        assert!(error.abs() < 1e-4, "{isa} {error}");
    }
}
