//! Matrices by diagonals, against dense loops and the bits of the same matrix in row format.

use crate::{Exact, bits, check_products_fuse, everywhere, for_each_type, for_two_types, rows};
use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_runtime::{Config, Error, Runtime};
use sparsefuse_sparse::{Csr, Dia, gallery};

/// A shape, and numbers that pick diagonals of it.
type Drawn = ((usize, usize), Vec<usize>);

fn drawn() -> impl Strategy<Value = Drawn> {
    let shape = proptest::prop_oneof![
        (0usize..12, 0usize..12),
        (proptest::strategy::Just(1), 1usize..12),
        (1usize..12, proptest::strategy::Just(1)),
    ];
    (shape, vec(0usize..64, 0..6))
}

/// The offsets of the diagonals that were drawn, different ones, in any order.
fn offsets(((n_rows, n_cols), numbers): &Drawn) -> Vec<isize> {
    let mut offsets = Vec::new();
    for number in numbers {
        if n_rows * n_cols > 0 {
            let offset = (number % (n_rows + n_cols - 1)) as isize + 1 - *n_rows as isize;
            if !offsets.contains(&offset) {
                offsets.push(offset);
            }
        }
    }
    offsets
}

/// The element at a place; some are 0.
fn element<T: Exact>(row: usize, column: usize) -> T {
    T::exact(((7 * row + 3 * column) % 11) as i8 - 5)
}

fn dense<T: Exact>((n_rows, n_cols): (usize, usize), offsets: &[isize]) -> Array2<T> {
    let is_on = |(row, column): (usize, usize)| offsets.contains(&(column as isize - row as isize));
    Array2::from_shape_fn((n_rows, n_cols), |place| match is_on(place) {
        true => element(place.0, place.1),
        false => T::ZERO,
    })
}

/// The elements of each diagonal from the top left.
fn diagonals<T: Exact>(
    (n_rows, n_cols): (usize, usize),
    offsets: &[isize],
) -> Vec<(isize, Vec<T>)> {
    let of = |&offset: &isize| {
        let places = (0..n_rows).map(|row| (row, row as isize + offset));
        let inside = places.filter(|&(_, column)| (0..n_cols as isize).contains(&column));
        let elements = inside.map(|(row, column)| element(row, column as usize));
        (offset, elements.collect())
    };
    offsets.iter().map(of).collect()
}

fn check_construction<T: Exact>(drawn: &Drawn) {
    let (shape, offsets) = (drawn.0, offsets(drawn));
    let (n_rows, n_cols) = shape;
    let expected = dense::<T>(shape, &offsets);
    let mut given = diagonals::<T>(shape, &offsets);
    // SciPy's layout: a row of columns for each diagonal, with other numbers outside.
    let data: Vec<T> = offsets
        .iter()
        .flat_map(|offset| (0..n_cols as isize).map(move |column| (column - offset, column)))
        .map(|(row, column)| match (0..n_rows as isize).contains(&row) {
            true => element(row as usize, column as usize),
            false => T::exact(99),
        })
        .collect();
    everywhere(|| {
        let a = Dia::from_diagonals(n_rows, n_cols, &given)?;
        let made = Dia::from_elements(n_rows, n_cols, &offsets, element::<T>)?;
        let scipy = Dia::from_scipy(n_rows, n_cols, &data, &offsets)?;
        let all = rows(&a.to_csr()?)?;
        for other in [&made, &scipy] {
            assert_eq!(other.offsets(), a.offsets());
            assert_eq!(rows(&other.to_csr()?)?, all);
        }
        assert_eq!(a.shape(), shape);
        assert_eq!(a.nnz(), all.1.len());
        assert_eq!(bits(&a.values().to_vec()?), all.2);
        assert_eq!(a.to_dense()?.to_vec()?, expected.flatten().to_vec());
        Ok(all)
    });
    given.sort_by_key(|diagonal| diagonal.0);
    let a = Dia::from_diagonals(n_rows, n_cols, &given).unwrap();
    assert_eq!(a.to_diagonals().unwrap(), given);
    assert!(a.offsets().is_sorted());
}

fn check_operations<T: Exact>(drawn: &Drawn, other: &[usize]) {
    let (shape, offsets_of_a) = (drawn.0, offsets(drawn));
    let (n_rows, n_cols) = shape;
    let offsets_of_b = offsets(&(shape, other.to_vec()));
    let x: Vec<T> = (0..n_cols).map(|i| T::exact((i % 5) as i8 - 2)).collect();
    let xs: Vec<T> = (0..3 * n_cols)
        .map(|i| T::exact((i % 7) as i8 - 3))
        .collect();
    let (a_dense, b_dense) = (
        dense::<T>(shape, &offsets_of_a),
        dense::<T>(shape, &offsets_of_b),
    );
    everywhere(|| {
        let a = Dia::from_elements(n_rows, n_cols, &offsets_of_a, element::<T>)?;
        let b = Dia::from_elements(n_rows, n_cols, &offsets_of_b, element::<T>)?;
        let csr = a.to_csr()?;
        let x = Vector::from_slice(&x);
        let xs = Array::from_shape_vec([n_cols, 3], xs.clone())?;
        let fresh = Dia::from_elements(n_rows, n_cols, &offsets_of_a, element::<T>)?;
        let found = check_over_rows!(T: a, fresh, x, xs);
        assert_eq!(
            bits(&fresh.values().to_vec()?),
            bits(&csr.values().to_vec()?)
        );

        let transpose = a.transpose()?;
        assert_eq!(rows(&transpose.transpose()?.to_csr()?)?, rows(&csr)?);
        let back = transpose.transpose()?;
        assert_eq!(back.offsets(), a.offsets());

        let sum = &a + &b;
        let difference = &a - &b;
        let in_both =
            |offset: &isize| offsets_of_a.contains(offset) || offsets_of_b.contains(offset);
        assert!(sum.offsets().iter().all(in_both));
        let terms = a_dense.iter().zip(&b_dense);
        let sums: Vec<T> = terms.clone().map(|(a, b)| a.plus(*b)).collect();
        let differences: Vec<T> = terms.map(|(a, b)| a.minus(*b)).collect();
        assert_eq!(sum.to_dense()?.to_vec()?, sums);
        assert_eq!(difference.to_dense()?.to_vec()?, differences);
        assert_eq!(rows(&sum.to_csr()?)?, rows(&(&csr + &b.to_csr()?))?);

        // Back from rows: full diagonals share their values.
        let again = csr.to_dia()?;
        assert_eq!(again.offsets(), a.offsets());
        assert_eq!(rows(&again.to_csr()?)?, rows(&csr)?);
        Ok(found)
    });
}

fn check_conversion<T: Exact>(entries: &crate::Entries) {
    let dense = entries.dense::<T>();
    everywhere(|| {
        let a = entries.csr::<T>()?;
        let dia = a.to_dia()?;
        let mut offsets: Vec<isize> = entries
            .places()
            .iter()
            .map(|&(row, column)| column as isize - row as isize)
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(dia.offsets(), offsets);
        assert_eq!(dia.to_dense()?.to_vec()?, dense.flatten().to_vec());
        // Values that are cut in another way than the entries.
        let twice = a.scale(T::exact(2)).to_dia()?;
        assert_eq!(
            rows(&twice.to_csr()?)?,
            rows(&dia.scale(T::exact(2)).to_csr()?)?
        );
        rows(&dia.to_csr()?)
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_way_to_make_one(drawn in drawn()) {
        for_each_type!(check_construction(&drawn));
    }

    #[test]
    fn operations(drawn in drawn(), other in vec(0usize..64, 0..6)) {
        for_two_types!(check_operations(&drawn, &other));
    }

    #[test]
    fn from_rows(entries in crate::entries()) {
        for_two_types!(check_conversion(&entries));
    }
}

#[test]
fn one_element_stands_for_its_diagonal() {
    let a = Dia::from_diagonals(3, 4, &[(1, &[2.0][..]), (0, &[1.0, 3.0, 5.0])]).unwrap();
    let expected = [1.0, 2.0, 0.0, 0.0, 0.0, 3.0, 2.0, 0.0, 0.0, 0.0, 5.0, 2.0];
    assert_eq!(a.to_dense().unwrap().to_vec().unwrap(), expected);
}

/// Rows of SciPy's array that are shorter than the matrix is wide, and longer.
#[test]
fn scipy_arrays_of_other_widths() {
    let short = Dia::from_scipy(2, 4, &[1.0, 2.0, 3.0, 4.0], &[0, 1]).unwrap();
    let expected = [1.0, 4.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0];
    assert_eq!(short.to_dense().unwrap().to_vec().unwrap(), expected);
    let long = Dia::from_scipy(2, 2, &[9.0, 5.0, 7.0], &[1]).unwrap();
    assert_eq!(
        long.to_dense().unwrap().to_vec().unwrap(),
        [0.0, 5.0, 0.0, 0.0]
    );
    let outside = Dia::from_scipy(2, 2, &[1.0, 2.0, 3.0, 4.0], &[5, 0]).unwrap();
    assert_eq!(
        outside.to_dense().unwrap().to_vec().unwrap(),
        [3.0, 0.0, 0.0, 4.0]
    );
    let none = Dia::<f64>::from_scipy(2, 2, &[], &[]).unwrap();
    assert_eq!(none.nnz(), 0);
}

/// A stored 0 is an entry: what is no number goes through it, and not where nothing is stored.
#[test]
fn zeros_of_diagonals_are_entries() {
    let a = Dia::from_diagonals(3, 3, &[(0, [1.0]), (1, [0.0])]).unwrap();
    let x = Vector::from_vec(vec![1.0, f64::INFINITY, 2.0]);
    for _ in 0..3 {
        let y = (&a * &x).to_vec().unwrap();
        assert!(y[0].is_nan(), "0 times infinity");
        assert_eq!(y[1..], [f64::INFINITY, 2.0]);
    }
}

#[test]
fn what_is_refused_is_said() {
    let refused = |result: Result<Dia<f64>, Error>| result.unwrap_err().to_string();
    let of = |diagonals: &[(isize, Vec<f64>)]| refused(Dia::from_diagonals(2, 3, diagonals));
    assert_eq!(
        of(&[(3, vec![1.0])]),
        "from_diagonals: expected offsets of diagonals of a 2 by 3 matrix, found 3"
    );
    assert_eq!(
        of(&[(isize::MIN, vec![1.0])]),
        format!(
            "from_diagonals: expected offsets of diagonals of a 2 by 3 matrix, found {}",
            isize::MIN
        )
    );
    assert_eq!(
        of(&[(1, vec![1.0]), (1, vec![1.0])]),
        "from_diagonals: expected different offsets, found 1 twice"
    );
    assert_eq!(
        of(&[(-1, vec![1.0, 2.0])]),
        "from_diagonals: expected 1 elements, or 1, on the diagonal -1, found 2"
    );
    assert_eq!(
        refused(Dia::from_scipy(2, 2, &[1.0; 3], &[0, 1])),
        "from_scipy: expected rows of equal length for 2 offsets, found 3 elements"
    );
    assert_eq!(
        refused(Dia::from_scipy(2, 2, &[1.0; 3], &[])),
        "from_scipy: expected rows of equal length for 0 offsets, found 3 elements"
    );
    let a = gallery::poisson1d::<f64>(100).unwrap();
    assert_eq!(
        refused(a.to_dia_within(2000)),
        "to_dia: expected diagonals of at most 2000 bytes, found 3 diagonals of 2384 bytes"
    );
    assert_eq!(a.to_dia_within(2384).unwrap().nnz(), 298);
    let anti = Csr::<f64>::from_rows(3000, 3000, |rows| {
        let mut local = sparsefuse_sparse::LocalRows::with_capacity(rows.len(), rows.len());
        for row in rows {
            local.push(2999 - row as u32, 1.0);
            local.end_row();
        }
        local
    });
    let anti = anti.unwrap().to_dia();
    assert_eq!(
        refused(anti),
        "to_dia: expected diagonals of at most 1048576 bytes, found 3000 diagonals of 36000000 bytes"
    );
    let dia = a.to_dia().unwrap();
    let error = dia.with_values(Vector::from_vec(vec![1.0])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "with_values: expected a shape of (298), found (1)"
    );
    assert!(dia.try_matvec(&Vector::ones([99])).is_err());
}

/// What is full shares its values with the rows it was made of; on one rank they are held once when
/// products are packed.
#[test]
fn values_are_held_once() {
    const N: usize = 100_000;
    let runtime = Runtime::new(Config::default()).unwrap();
    runtime.enter(|| {
        let element = |row: usize, column: usize| (row + 3 * column) as f64;
        let before = runtime.memory_in_use();
        let a = Dia::from_elements(N, N, &[-1, 0, 1], element).unwrap();
        let values = a.nnz() * 8;
        let made = runtime.memory_in_use() - before;
        // The pool's blocks have some sizes only.
        assert!(
            made < values + values / 8,
            "{made} bytes for {values} of values"
        );
        let x = Vector::ones([N]);
        drop((&a * &x).to_vec().unwrap());
        let with_rows = runtime.memory_in_use() - before;
        let rows = 12 * a.nnz() + 8 * N + 16 * N;
        assert!(
            with_rows < rows + rows / 8,
            "{with_rows} bytes, where {rows} are said"
        );
        drop((&a * &x).to_vec().unwrap());
        drop((&a * &x).to_vec().unwrap());
        let packed = runtime.memory_in_use() - before;
        let most = values + 8 * N + 16 * N;
        assert!(
            packed < most + most / 8,
            "{packed} bytes, where {most} are said"
        );
        let bytes = a.bytes_of_product().unwrap();
        assert!(bytes < values + values / 50, "{bytes} bytes to read");
    });
}

/// The product of a matrix by diagonals fuses with what is around it from the second one on.
#[test]
fn products_fuse() {
    let make = || Dia::from_diagonals(40, 40, &[(0, [2.0]), (1, [-1.0])]);
    check_products_fuse(make, 2.0 * (39.0 + 4.0));
}
