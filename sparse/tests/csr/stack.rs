//! Matrices of blocks, columns in another order and single elements, against dense loops.

use crate::{Entries, Exact, entries_of, everywhere, for_two_types, rows};
use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, proptest};
use sparsefuse_dense::Numeric;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, Triplets, gallery};

/// Blocks that fit together, some of them zeros, each row and column of them with one at least.
fn blocks() -> impl Strategy<Value = Vec<Vec<(Entries, bool)>>> {
    let lengths = || vec(0usize..7, 1..4);
    (lengths(), lengths()).prop_flat_map(|(heights, widths)| {
        let of_row = |height: usize| {
            let block = |&width: &usize| (entries_of(height, width), proptest::bool::weighted(0.7));
            widths.iter().map(block).collect::<Vec<_>>()
        };
        let all = heights.iter().map(|&height| of_row(height));
        let all: Vec<_> = all.collect();
        let n_columns = widths.len();
        (all, Just(n_columns)).prop_map(|(mut all, n_columns)| {
            // Along the diagonal and the edges beside it there is always one.
            let n_rows = all.len();
            for (i, row) in all.iter_mut().enumerate() {
                for (j, block) in row.iter_mut().enumerate() {
                    block.1 |= i.min(n_columns - 1) == j.min(n_rows - 1);
                }
            }
            all
        })
    })
}

fn check_blocks<T: Exact>(blocks: &[Vec<(Entries, bool)>]) {
    let found = everywhere(|| {
        let made: Result<Vec<Vec<Csr<T>>>, Error> = blocks
            .iter()
            .map(|row| row.iter().map(|(entries, _)| entries.csr()).collect())
            .collect();
        let made = made?;
        let some: Vec<Vec<Option<&Csr<T>>>> = made
            .iter()
            .zip(blocks)
            .map(|(row, blocks)| {
                let block = |(csr, is_there): (_, bool)| is_there.then_some(csr);
                let there = blocks.iter().map(|(_, is_there)| *is_there);
                row.iter().zip(there).map(block).collect()
            })
            .collect();
        let whole = Csr::block_array(&some)?;
        let side_by_side: Vec<_> = made[0].iter().collect();
        let below: Vec<_> = made.iter().map(|row| &row[0]).collect();
        let stacks = [
            Csr::hstack(&side_by_side)?,
            Csr::vstack(&below)?,
            Csr::block_diag(&below)?,
        ];
        // A product uses the structure, so it is one of whole rows.
        let product = rows(&whole.matmul(&whole.transpose()?))?;
        let stacks = stacks.map(|stack| stack.to_ndarray());
        let [h, v, d] = stacks;
        Ok((whole.to_ndarray()?, [h?, v?, d?], product.0))
    });
    let dense: Vec<Vec<Array2<T>>> = blocks
        .iter()
        .map(|row| row.iter().map(|(entries, _)| entries.dense()).collect())
        .collect();
    let is_there = |i: usize, j: usize| blocks[i][j].1;
    let all = |i: usize, j: usize| Some(&dense[i][j]).filter(|_| is_there(i, j));
    let (n, m) = (blocks.len(), blocks[0].len());
    assert_eq!(found.0, stacked(&dense, (n, m), all));
    let first_row: &[Vec<_>] = &dense[..1];
    assert_eq!(
        found.1[0],
        stacked(first_row, (1, m), |_, j| Some(&dense[0][j]))
    );
    assert_eq!(
        found.1[1],
        stacked(&dense, (n, 1), |i, _| Some(&dense[i][0]))
    );
    let columns: Vec<Vec<_>> = vec![dense.iter().map(|row| row[0].clone()).collect()];
    let of_diagonal = |i: usize, j: usize| (i == j).then_some(&columns[0][i]);
    let heights: usize = columns[0].iter().map(Array2::nrows).sum();
    let width = columns[0].iter().map(Array2::ncols).sum();
    let mut expected = Array2::from_elem((heights, width), T::ZERO);
    let (mut row, mut column) = (0, 0);
    for i in 0..n {
        let block = of_diagonal(i, i).unwrap();
        for ((a, b), value) in block.indexed_iter() {
            expected[(row + a, column + b)] = *value;
        }
        (row, column) = (row + block.nrows(), column + block.ncols());
    }
    assert_eq!(found.1[2], expected);
}

/// The dense matrix of blocks.
fn stacked<'a, T: Numeric>(
    sizes: &[Vec<Array2<T>>],
    (n, m): (usize, usize),
    block: impl Fn(usize, usize) -> Option<&'a Array2<T>>,
) -> Array2<T> {
    let rows: Vec<_> = (0..n).map(|i| sizes[i][0].nrows()).collect();
    let columns: Vec<_> = (0..m).map(|j| sizes[0][j].ncols()).collect();
    let mut whole = Array2::from_elem((rows.iter().sum(), columns.iter().sum()), T::ZERO);
    for i in 0..n {
        for j in 0..m {
            let first: (usize, usize) = (rows[..i].iter().sum(), columns[..j].iter().sum());
            for ((a, b), value) in block(i, j).iter().flat_map(|block| block.indexed_iter()) {
                whole[(first.0 + a, first.1 + b)] = *value;
            }
        }
    }
    whole
}

fn check_columns<T: Exact>(entries: &Entries, list: &[usize]) {
    let (n_rows, n_cols) = (entries.n_rows, entries.n_cols);
    let (picked, elements) = everywhere(|| {
        let a = entries.csr::<T>()?;
        let elements: Result<Vec<T>, Error> = (0..n_rows.min(3) * n_cols.min(3))
            .map(|place| a.get(place / n_cols.min(3), place % n_cols.min(3)))
            .collect();
        Ok((a.select_columns(list)?.to_ndarray()?, elements?))
    });
    let dense = entries.dense::<T>();
    let expected = Array2::from_shape_fn((n_rows, list.len()), |(i, j)| dense[(i, list[j])]);
    assert_eq!(picked, expected);
    let corner = (0..n_rows.min(3)).flat_map(|i| (0..n_cols.min(3)).map(move |j| (i, j)));
    assert_eq!(
        elements,
        corner.map(|place| dense[place]).collect::<Vec<_>>()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn blocks_fit_together(blocks in blocks()) {
        for_two_types!(check_blocks(&blocks));
    }

    #[test]
    fn columns_in_any_order(
        (entries, list) in (0usize..14, 1usize..14).prop_flat_map(|(n_rows, n_cols)| {
            (entries_of(n_rows, n_cols), vec(0..n_cols, 0..20))
        }),
    ) {
        for_two_types!(check_columns(&entries, &list));
    }
}

/// Of a matrix with far more columns than entries, which takes no memory for each column.
#[test]
fn columns_of_a_wide_matrix() {
    let n = 4_000_000_000;
    let picked = everywhere(|| {
        let mut triplets = Triplets::new(3, n)?;
        for (row, column, value) in [(0, 5, 2.0), (0, n - 1, 1.0), (1, 7, 3.0), (2, n - 1, -4.0)] {
            triplets.push(row, column, value)?;
        }
        let a = Csr::from_triplets(&triplets)?;
        let ascending = a.select_columns(&[5, 6, n - 1])?.to_dense()?.to_vec()?;
        assert_eq!(ascending, [2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0]);
        a.select_columns(&[n - 1, 5, 6, n - 1])?
            .to_dense()?
            .to_vec()
    });
    let expected = [1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -4.0, 0.0, 0.0, -4.0];
    assert_eq!(picked, expected);
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = gallery::poisson1d::<f64>(3).unwrap();
    let b = a.row_range(0..2).unwrap();
    let check = |result: Result<Csr<f64>, Error>, message: &str| {
        assert_eq!(result.unwrap_err().to_string(), message);
    };
    check(
        Csr::vstack(&[]),
        "vstack: expected at least one matrix, found none",
    );
    check(
        Csr::hstack(&[&a, &b]),
        "hstack: expected 3 rows in all blocks of row 0, found 2",
    );
    check(
        Csr::block_array(&[vec![Some(&a)], vec![None]]),
        "block_array: expected a matrix in row 1 of blocks, which says how many rows it has, found none",
    );
    check(
        Csr::block_array(&[vec![Some(&a)], vec![Some(&a), Some(&a)]]),
        "block_array: expected 1 blocks in each row, found 2 in row 1 of blocks",
    );
    check(
        a.select_columns(&[0, 3]),
        "select_columns: expected columns below 3, found 3",
    );
    let outside = a.get(0, 3).unwrap_err().to_string();
    assert_eq!(outside, "get: expected a place in 3 by 3, found (0, 3)");
}

#[test]
fn many_blocks_take_the_memory_of_their_rows() {
    let n = 30_000;
    let one = Csr::<f64>::identity(1).unwrap();
    let blocks = vec![&one; n];
    // Places for all pairs of blocks would take 7 GB.
    let matrix = Csr::block_diag(&blocks).unwrap();
    assert_eq!((matrix.shape(), matrix.nnz()), ((n, n), n));
    assert_eq!(matrix.get(n - 1, n - 1).unwrap(), 1.0);
    assert_eq!(Csr::vstack(&blocks).unwrap().shape(), (n, 1));
    assert_eq!(Csr::hstack(&blocks).unwrap().nnz(), n);
}
