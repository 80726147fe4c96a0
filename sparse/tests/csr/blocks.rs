//! Matrices by blocks, against dense loops and the bits of the same matrix in row format.

use crate::{
    Exact, bits, check_products_fuse, entries_of, everywhere, for_each_type, for_two_types, rows,
};
use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_runtime::{Config, Error, Runtime};
use sparsefuse_sparse::{Bsr, gallery};

/// Blocks at places, perhaps several at one.
#[derive(Clone, Debug)]
struct Drawn {
    size: (usize, usize),
    n_block_rows: usize,
    n_block_cols: usize,
    places: Vec<(u32, u32)>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let shape = ((1usize..9, 1usize..9), 0usize..6, 0usize..6);
    shape.prop_flat_map(|(size, n_block_rows, n_block_cols)| {
        let most = if n_block_rows * n_block_cols == 0 {
            0
        } else {
            9
        };
        let place = (0..n_block_rows.max(1) as u32, 0..n_block_cols.max(1) as u32);
        vec(place, 0..=most).prop_map(move |places| Drawn {
            size,
            n_block_rows,
            n_block_cols,
            places,
        })
    })
}

impl Drawn {
    fn shape(&self) -> (usize, usize) {
        (
            self.n_block_rows * self.size.0,
            self.n_block_cols * self.size.1,
        )
    }

    /// The elements of all blocks, one after the other; some are 0.
    fn blocks<T: Exact>(&self) -> Vec<T> {
        let len = self.places.len() * self.size.0 * self.size.1;
        (0..len).map(|k| T::exact((k * 7 % 11) as i8 - 5)).collect()
    }

    fn bsr<T: Exact>(&self) -> Result<Bsr<T>, Error> {
        let (n_rows, n_cols) = self.shape();
        let (rows, cols): (Vec<u32>, Vec<u32>) = self.places.iter().copied().unzip();
        Bsr::from_blocks(n_rows, n_cols, self.size, &rows, &cols, self.blocks())
    }

    fn dense<T: Exact>(&self) -> Array2<T> {
        let (height, width) = self.size;
        let mut dense = Array2::from_elem(self.shape(), T::ZERO);
        let blocks = self.blocks::<T>();
        for (block, &(row, col)) in blocks.chunks(height * width).zip(&self.places) {
            for (k, &value) in block.iter().enumerate() {
                let place = (
                    row as usize * height + k / width,
                    col as usize * width + k % width,
                );
                dense[place] = dense[place] + value;
            }
        }
        dense
    }

    /// Different places, block row by block row.
    fn sorted(&self) -> Vec<(u32, u32)> {
        let mut places = self.places.clone();
        places.sort_unstable();
        places.dedup();
        places
    }
}

fn check_construction<T: Exact>(drawn: &Drawn) {
    let (n_rows, n_cols) = drawn.shape();
    let dense = drawn.dense::<T>();
    let (height, width) = drawn.size;
    let places = drawn.sorted();
    everywhere(|| {
        let a = drawn.bsr::<T>()?;
        assert_eq!((a.shape(), a.blocksize()), (drawn.shape(), drawn.size));
        assert_eq!(a.n_blocks(), places.len());
        assert_eq!(a.nnz(), places.len() * height * width);
        assert_eq!(a.to_dense()?.to_vec()?, dense.flatten().to_vec());
        let csr = a.to_csr()?;
        assert_eq!(csr.nnz(), a.nnz());
        assert_eq!(bits(&a.values().to_vec()?), bits(&csr.values().to_vec()?));

        let (pos, crd, blocks) = a.to_parts()?;
        assert_eq!(crd, places.iter().map(|place| place.1).collect::<Vec<_>>());
        for (number, &(row, col)) in places.iter().enumerate() {
            assert!((pos[row as usize]..pos[row as usize + 1]).contains(&(number as u64)));
            for k in 0..height * width {
                let place = (
                    row as usize * height + k / width,
                    col as usize * width + k % width,
                );
                assert_eq!(blocks[number * height * width + k], dense[place]);
            }
        }
        let parts = Bsr::from_parts(n_rows, n_cols, drawn.size, pos, crd, blocks)?;
        let all = rows(&csr)?;
        assert_eq!(rows(&parts.to_csr()?)?, all);
        // Full blocks: the same values, found again from the rows.
        let again = csr.to_bsr(drawn.size)?;
        assert_eq!(again.to_parts()?, a.to_parts()?);
        assert_eq!(rows(&again.to_csr()?)?, all);
        Ok(all)
    });
}

fn check_operations<T: Exact>(drawn: &Drawn, other: &Drawn) {
    let (_, n_cols) = drawn.shape();
    let other = Drawn {
        places: other
            .places
            .iter()
            .map(|place| (place.0, place.1))
            .filter(|place| (place.0 as usize) < drawn.n_block_rows)
            .filter(|place| (place.1 as usize) < drawn.n_block_cols)
            .collect(),
        ..drawn.clone()
    };
    let x: Vec<T> = (0..n_cols).map(|i| T::exact((i % 5) as i8 - 2)).collect();
    let xs: Vec<T> = (0..3 * n_cols)
        .map(|i| T::exact((i % 7) as i8 - 3))
        .collect();
    let terms = (drawn.dense::<T>(), other.dense::<T>());
    let sums: Vec<T> = terms
        .0
        .iter()
        .zip(&terms.1)
        .map(|(a, b)| a.plus(*b))
        .collect();
    everywhere(|| {
        let (a, b) = (drawn.bsr::<T>()?, other.bsr::<T>()?);
        let x = Vector::from_slice(&x);
        let xs = Array::from_shape_vec([n_cols, 3], xs.clone())?;
        let fresh = drawn.bsr::<T>()?;
        let found = check_over_rows!(T: a, fresh, x, xs);
        assert_eq!(fresh.to_parts()?, a.to_parts()?);

        let transpose = a.transpose()?;
        assert_eq!(transpose.blocksize(), (drawn.size.1, drawn.size.0));
        assert_eq!(transpose.n_blocks(), a.n_blocks());
        assert_eq!(transpose.transpose()?.to_parts()?, a.to_parts()?);

        let twice = a.scale(T::ONE.plus(T::ONE));
        assert_eq!((&(&twice - &a) * &x).to_vec()?, (&a * &x).to_vec()?);

        let sum = &a + &b;
        assert_eq!(sum.blocksize(), drawn.size);
        assert_eq!(sum.to_dense()?.to_vec()?, sums);
        assert_eq!(rows(&(&sum - &b).to_csr()?)?.1, rows(&sum.to_csr()?)?.1);
        Ok(found)
    });
}

/// Rows with entries anywhere, whose blocks are filled with zeros.
fn check_conversion<T: Exact>(entries: &crate::Entries, size: (usize, usize)) {
    let dense = entries.dense::<T>();
    let mut places: Vec<(u32, u32)> = entries
        .places()
        .iter()
        .map(|&(row, col)| ((row / size.0) as u32, (col / size.1) as u32))
        .collect();
    places.sort_unstable();
    places.dedup();
    everywhere(|| {
        let a = entries.csr::<T>()?;
        let bsr = a.to_bsr(size)?;
        let (_, crd, _) = bsr.to_parts()?;
        assert_eq!(crd, places.iter().map(|place| place.1).collect::<Vec<_>>());
        assert_eq!(bsr.to_dense()?.to_vec()?, dense.flatten().to_vec());
        // Values that are cut in another way than the entries.
        let twice = a.scale(T::exact(2)).to_bsr(size)?;
        assert_eq!(twice.to_parts()?, bsr.scale(T::exact(2)).to_parts()?);
        bsr.to_parts()
            .map(|(pos, crd, blocks)| (pos, crd, bits(&blocks)))
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_way_to_make_one(drawn in drawn()) {
        for_each_type!(check_construction(&drawn));
    }

    #[test]
    fn operations(drawn in drawn(), other in drawn()) {
        for_two_types!(check_operations(&drawn, &other));
    }

    #[test]
    fn from_rows((size, entries) in (1usize..5, 1usize..5, 0usize..4, 0usize..4)
        .prop_flat_map(|(height, width, rows, cols)| {
            let entries = entries_of(rows * height, cols * width);
            entries.prop_map(move |entries| ((height, width), entries))
        }))
    {
        for_two_types!(check_conversion(&entries, size));
    }
}

/// A stored 0 is an entry: what is no number goes through it.
#[test]
fn zeros_of_blocks_are_entries() {
    let a = Bsr::from_parts(2, 4, (2, 2), vec![0, 1], vec![0], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
    for _ in 0..3 {
        let x = Vector::from_vec(vec![f64::INFINITY, 1.0, f64::NAN, f64::NAN]);
        let y = (&a * &x).to_vec().unwrap();
        assert!(y[0] == f64::INFINITY && y[1].is_nan(), "{y:?}");
    }
}

#[test]
fn what_is_refused_is_said() {
    let refused = |result: Result<Bsr<f64>, Error>| result.unwrap_err().to_string();
    let parts = |pos: Vec<u64>, crd: Vec<u32>, len: usize| {
        refused(Bsr::from_parts(4, 6, (2, 3), pos, crd, vec![1.0; len]))
    };
    assert_eq!(
        parts(vec![0, 1], vec![0], 6),
        "bsr: expected 3 positions, beginning with 0, found 2, beginning with 0"
    );
    assert_eq!(
        parts(vec![0, 2, 1], vec![0], 6),
        "bsr: expected positions that never decrease, found 1 after 2 in row 1"
    );
    assert_eq!(
        parts(vec![0, 1, 1], vec![0], 7),
        "bsr: expected 1 columns, and 1 blocks of 6 elements, found 1 columns and 7 elements"
    );
    assert_eq!(
        parts(vec![0, 1, 2], vec![0], 6),
        "bsr: expected 2 columns, and 2 blocks of 6 elements, found 1 columns and 6 elements"
    );
    assert_eq!(
        parts(vec![0, 1, 1], vec![2], 6),
        "bsr: expected columns below 2, found 2"
    );
    let sized = |size| refused(gallery::poisson1d(6).unwrap().to_bsr(size));
    assert_eq!(
        sized((4, 2)),
        "to_bsr: expected blocks that divide a 6 by 6 matrix, found blocks of 4 by 2"
    );
    assert_eq!(
        sized((0, 2)),
        "to_bsr: expected blocks with rows and columns, found blocks of 0 by 2"
    );
    let blocks = |rows: &[u32], cols: &[u32], len| {
        refused(Bsr::from_blocks(4, 6, (2, 3), rows, cols, vec![1.0; len]))
    };
    assert_eq!(
        blocks(&[0], &[0, 1], 6),
        "bsr: expected 1 columns and 1 blocks of 6 elements, found 2 columns and 6 elements"
    );
    assert_eq!(
        blocks(&[2], &[0], 6),
        "bsr: expected block rows below 2, found 2"
    );
    assert_eq!(
        blocks(&[1], &[2], 6),
        "bsr: expected columns below 2, found 2"
    );
    let a = gallery::poisson1d::<f64>(6).unwrap();
    let error = a
        .to_bsr((2, 2))
        .unwrap()
        .try_add(&a.to_bsr((3, 2)).unwrap());
    assert_eq!(
        error.unwrap_err().to_string(),
        "add: expected blocks of 2 by 2, found blocks of 3 by 2"
    );
}

/// Rows are cut in the middle of blocks, and matrices that were cut in another way keep their cuts.
#[test]
fn blocks_across_ranks() {
    let seen = everywhere(|| {
        let a = gallery::banded_varying::<f64>(45, 5)?;
        let bsr = a.to_bsr((9, 5))?;
        let balanced = a.balance()?.to_bsr((9, 5))?;
        assert_eq!(balanced.to_parts()?, bsr.to_parts()?);
        let x = Vector::from_vec((0..45).map(|i| (i as f64).sin()).collect());
        let y = bits(&(&bsr * &x).to_vec()?);
        assert_eq!(bits(&(&balanced * &x).to_vec()?), y);
        Ok(y)
    });
    assert_eq!(seen.len(), 45);
}

/// On one rank the values are held once when products are packed.
#[test]
fn values_are_held_once() {
    const N: usize = 30_000;
    let runtime = Runtime::new(Config::default()).unwrap();
    runtime.enter(|| {
        let pos = (0..=N as u64 / 3).collect();
        let crd = (0..N as u32 / 3).map(|i| i * 7 % (N as u32 / 3)).collect();
        let values = (0..3 * N).map(|k| k as f64).collect();
        let before = runtime.memory_in_use();
        let a = Bsr::from_parts(N, N, (3, 3), pos, crd, values).unwrap();
        let values = a.nnz() * 8;
        let blocks = 4 * a.n_blocks() + 8 * N / 3;
        let made = runtime.memory_in_use() - before;
        let most = values + blocks;
        assert!(
            made < most + most / 8,
            "{made} bytes, where {most} are said"
        );
        let x = Vector::ones([N]);
        for _ in 0..10 {
            drop((&a * &x).to_vec().unwrap());
        }
        let packed = runtime.memory_in_use() - before;
        let read = a.bytes_of_product().unwrap();
        let most = read + blocks + 8 * N + 16 * N;
        assert!(
            packed < most + most / 8,
            "{packed} bytes, where {most} are said"
        );
    });
}

/// The product of a matrix by blocks fuses with what is around it from the second one on.
#[test]
fn products_fuse() {
    let make = || gallery::poisson1d::<f64>(40)?.to_bsr((2, 2));
    check_products_fuse(make, 4.0);
}
