//! Other frames, other elements, slices and masks, against dense loops.

use crate::{Entries, Exact, entries, everywhere, rows};
use ndarray::{Array2, Axis, Slice, s};
use num_complex::Complex;
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::{Vector, step};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, gallery};

fn check_frames<T: Exact>(entries: &Entries, shape: (usize, usize)) {
    let dense = entries.dense::<T>();
    let (n_rows, n_cols) = dense.dim();
    let (row, column) = (n_rows / 3, n_cols / 2);
    let block = (n_rows - n_rows / 3 - n_rows / 4, n_cols - n_cols / 2);
    let (resized, replaced, set) = everywhere(|| {
        let a = entries.csr::<T>()?;
        let resized = a.resize(shape.0, shape.1)?;
        assert!(a.resize(n_rows, n_cols)?.has_structure_of(&a)?);
        let of_block = a.resize(block.0, block.1)?.scale(T::exact(3));
        let replaced = a.with_block(row, column, &of_block)?;
        let set = match dense.is_empty() {
            true => a.clone(),
            false => a.with_element(row, column, T::exact(5))?,
        };
        let over = a.with_entries_of(&a.scale(T::exact(2)))?;
        assert_eq!(rows(&over)?, rows(&a.scale(T::exact(2)))?);
        Ok((
            resized.to_ndarray()?,
            replaced.to_ndarray()?,
            set.to_ndarray()?,
        ))
    });
    let element = |(i, j)| dense.get((i, j)).copied().unwrap_or(T::ZERO);
    assert_eq!(resized, Array2::from_shape_fn(shape, element));
    let mut expected = dense.clone();
    for (i, j) in (0..block.0).flat_map(|i| (0..block.1).map(move |j| (i, j))) {
        expected[(row + i, column + j)] = element((i, j)) * T::exact(3);
    }
    assert_eq!(replaced, expected);
    let mut expected = dense.clone();
    if let Some(element) = expected.get_mut((row, column)) {
        *element = T::exact(5);
    }
    assert_eq!(set, expected);
}

fn check_slices<T: Exact>(entries: &Entries) {
    let dense = entries.dense::<T>();
    let (n_rows, n_cols) = dense.dim();
    let (top, right) = (n_rows / 3, n_cols - n_cols / 4);
    let found = everywhere(|| {
        let a = entries.csr::<T>()?;
        let of = |a: Result<Csr<T>, Error>| a?.to_ndarray();
        let odd = Vector::from_vec((0..n_rows).map(|row| row % 2 == 1).collect());
        let some = Vector::from_vec((0..n_cols).map(|column| column % 3 != 1).collect());
        Ok([
            of(a.slice((top.., ..right)))?,
            of(a.slice((step(top.., 2), ..)))?,
            of(a.slice((step(.., -1), step(..right, -3))))?,
            of(a.slice((.., step(.., -2))))?,
            of(a.slice((top..top, step(.., 20))))?,
            of(a.compress_rows(&odd))?,
            of(a.compress_columns(&some))?,
        ])
    });
    // Backwards from the last index, which is not how ndarray counts.
    let back = |dense: Array2<T>, axis: usize, step: usize| {
        let reversed = dense.slice_axis(Axis(axis), Slice::new(0, None, -1));
        reversed
            .slice_axis(Axis(axis), Slice::new(0, None, step as isize))
            .to_owned()
    };
    let odd: Vec<usize> = (0..n_rows).filter(|row| row % 2 == 1).collect();
    let some: Vec<usize> = (0..n_cols).filter(|column| column % 3 != 1).collect();
    let expected = [
        dense.slice(s![top.., ..right]).to_owned(),
        dense.slice(s![top..;2, ..]).to_owned(),
        back(back(dense.slice(s![.., ..right]).to_owned(), 0, 1), 1, 3),
        back(dense.clone(), 1, 2),
        dense.slice(s![top..top, ..;20]).to_owned(),
        dense.select(Axis(0), &odd),
        dense.select(Axis(1), &some),
    ];
    assert_eq!(found, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn frames(entries in entries(), shape in (0usize..20, 0usize..20)) {
        check_frames::<f64>(&entries, shape);
        check_frames::<Complex<f32>>(&entries, shape);
        check_frames::<i64>(&entries, shape);
    }

    #[test]
    fn slices(entries in entries()) {
        check_slices::<f64>(&entries);
        check_slices::<Complex<f32>>(&entries);
    }

    #[test]
    fn ones_on_a_diagonal(shape in (0usize..9, 0usize..9), offset in -10isize..10) {
        let found = everywhere(|| Csr::<f32>::eye_at(shape.0, shape.1, offset)?.to_ndarray());
        let one = |(i, j): (usize, usize)| f32::from(u8::from(j as isize - i as isize == offset));
        assert_eq!(found, Array2::from_shape_fn(shape, one));
    }
}

#[test]
fn frames_on_ranks_that_hold_other_rows() {
    everywhere(|| {
        let a = gallery::poisson2d::<f64>(9)?.balance()?;
        let wide = a.resize(200, 300)?;
        assert_eq!((wide.nnz(), wide.shape()), (a.nnz(), (200, 300)));
        assert!(wide.resize(81, 81)?.equals(&a)?);
        let moved = Csr::zeros(200, 300)?.with_block(100, 77, &a)?;
        assert!(moved.block(100..181, 77..158)?.equals(&a)?);
        assert_eq!(moved.nnz(), a.nnz());
        Ok(())
    });
}

#[test]
fn refusals() {
    let a = gallery::poisson1d::<f64>(4).unwrap();
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    let error = a.with_block(2, 3, &Csr::identity(2).unwrap()).unwrap_err();
    check(
        error,
        "with_block: expected a block within 4 by 4, found rows 2..4, columns 3..5",
    );
    let error = a.with_element(4, 0, 1.0).unwrap_err();
    check(
        error,
        "with_element: expected a place in 4 by 4, found (4, 0)",
    );
    let error = a
        .compress_rows(&Vector::from_vec(vec![true; 3]))
        .unwrap_err();
    check(error, "compress_rows: expected a mask of 4 rows, found 3");
    for error in [a.slice((..5, ..)), a.slice((.., step(.., 0)))] {
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("slice: "), "{error}");
    }
    assert!(a.resize(1, 1 << 33).is_err() && Csr::<f64>::zeros(1 << 33, 1).is_err());
    assert!(Csr::<f64>::eye_at(3, 3, isize::MIN).unwrap().nnz() == 0);
    assert!(Csr::<f64>::eye_at(3, 3, isize::MAX).unwrap().nnz() == 0);
}
