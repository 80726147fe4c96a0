//! Operators between formats, scalars and dense matrices, against those of the row format and dense
//! loops.

use crate::operations::two_of_one_shape;
use crate::{Entries, Exact, everywhere, rows};
use num_complex::Complex;
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::{Array, Scalar, Vector};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, gallery};

/// Checks sums and products of matrices of all formats.
macro_rules! check_pairs {
    ($all:expr, $right:expr; $($left:ident)*) => {$(
        let (sum, difference, product) = $all;
        let [a, b, c, d, e] = [
            (&$left + &$right.0, &$left - &$right.0, &$left * &$right.5),
            ((&$left + &$right.1).to_csr()?, (&$left - &$right.1).to_csr()?, &$left * &$right.6),
            (&$left + &$right.2, &$left - &$right.2, &$left * &$right.7),
            ((&$left + &$right.3).to_csr()?, (&$left - &$right.3).to_csr()?, &$left * &$right.8),
            ((&$left + &$right.4).to_csr()?, (&$left - &$right.4).to_csr()?, &$left * &$right.9),
        ];
        for found in [a, b, c, d, e] {
            assert!(found.0.equals(sum)? && found.1.equals(difference)?);
            assert!(found.2.equals(product)?);
        }
    )*};
}

fn check_formats<T: Exact>(left: &Entries, right: &Entries) {
    everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        let t = b.transpose()?;
        let (sum, difference, product) = (&a + &b, &a - &b, &a * &t);
        let right = (
            b.clone(),
            b.to_csc()?,
            b.to_coo()?,
            b.to_dia()?,
            b.to_bsr((1, 1))?,
            t.clone(),
            t.to_csc()?,
            t.to_coo()?,
            t.to_dia()?,
            t.to_bsr((1, 1))?,
        );
        let (csc, coo, dia, bsr) = (a.to_csc()?, a.to_coo()?, a.to_dia()?, a.to_bsr((1, 1))?);
        check_pairs!((&sum, &difference, &product), right; a csc coo dia bsr);

        // Dense matrices on either side.
        let (x, dense) = (b.to_dense()?, a.to_dense()?);
        let sum = (&dense + &x).to_vec()?;
        let difference = (&dense - &x).to_vec()?;
        for (of_sum, of_difference) in [
            (&a + &x, &a - &x),
            (&csc + &x, &csc - &x),
            (&coo + &x, &coo - &x),
            (&dia + &x, &dia - &x),
            (&bsr + &x, &bsr - &x),
        ] {
            assert_eq!(
                (of_sum.to_vec()?, of_difference.to_vec()?),
                (sum.clone(), difference.clone())
            );
        }
        assert_eq!((&dense + &b).to_vec()?, sum);
        assert_eq!((&dense - &b.to_csc()?).to_vec()?, difference);

        // Vectors and dense matrices on the left.
        let y = Vector::from_vec((0..a.n_rows()).map(|k| T::exact(k as i8 % 5 - 2)).collect());
        let left = (&y * &a).to_vec()?;
        assert_eq!((&y * &coo).to_vec()?, left);
        assert_eq!((&y * &dia).to_vec()?, left);
        assert_eq!((&y * &bsr).to_vec()?, left);
        let of_rows = (x.t() * &a).to_vec()?;
        assert_eq!((x.t() * &coo).to_vec()?, of_rows);
        assert_eq!((x.t() * &dia).to_vec()?, of_rows);
        assert_eq!((x.t() * &bsr).to_vec()?, of_rows);
        let adjoint = a.rmatvec(&y).to_vec()?;
        assert_eq!(
            (dia.rmatvec(&y).to_vec()?, bsr.rmatvec(&y).to_vec()?),
            (adjoint.clone(), adjoint)
        );

        // Transposes that share their stores.
        assert!(coo.transpose().to_csr()?.equals(&a.transpose()?)?);
        assert!(coo.adjoint()?.to_csr()?.equals(&a.adjoint()?)?);
        assert!(csc.adjoint()?.equals(&a.adjoint()?)?);
        assert_eq!(coo.diagonal(0)?.to_vec()?, a.diagonal(0)?.to_vec()?);
        assert_eq!(csc.diagonal(-1)?.to_vec()?, a.diagonal(-1)?.to_vec()?);
        Ok(())
    });
}

fn check_assigning<T: Exact>(left: &Entries, right: &Entries) {
    everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        let two = Scalar::new(T::exact(2));
        let mut c = a.clone();
        c += &b;
        c -= b.clone();
        c *= &two;
        assert!(c.equals(&a.scale(T::exact(2)))?);
        assert!((&two * &a).equals(&c)? && (&a * &two).equals(&c)?);
        c /= &two;
        assert!(c.equals(&a)? && (&a.scale(T::exact(2)) / &two).equals(&a)?);
        let mut csc = a.to_csc()?;
        csc += &b.to_csc()?;
        csc *= two.clone();
        assert!(csc.to_csr()?.equals(&(&a + &b).scale(T::exact(2)))?);
        csc -= csc.clone();
        assert!(csc.to_csr()?.equals(&Csr::zeros(a.n_rows(), a.n_cols())?)?);
        let mut coo = a.to_coo()?;
        coo *= &two;
        coo /= &two;
        assert!((&two * &coo).to_csr()?.equals(&a.scale(T::exact(2)))?);
        assert!(coo.to_csr()?.equals(&a)?);
        let mut dia = a.to_dia()?;
        dia -= &b.to_dia()?;
        dia += b.to_dia()?;
        assert!(dia.to_csr()?.equals(&a)?);
        Ok(())
    });
}

/// Products with a dense matrix, a row, a column, and one element for all.
fn check_dense_factors<T: Exact>(left: &Entries, right: &Entries) {
    let element = |k: usize| T::exact((k * 5 % 17) as i8 - 8);
    let of = |shape: [usize; 2]| {
        let elements = (0..shape[0] * shape[1]).map(element).collect();
        Array::from_shape_vec(shape, elements)
    };
    let (n_rows, n_cols) = (left.n_rows, left.n_cols);
    let shapes = [[n_rows, n_cols], [1, n_cols], [n_rows, 1], [1, 1]];
    let found = everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        let product = rows(&a.multiply(&b)?)?;
        assert_eq!(rows(&a.multiply(&b.to_coo()?)?)?, product);
        assert!(a.multiply(&b.to_dia()?)?.equals(&a.multiply(&b)?)?);
        let mut found = Vec::new();
        for shape in shapes {
            let made = a.multiply(&of(shape)?)?;
            assert!(made.has_structure_of(&a)?);
            found.push(made.to_dense()?.to_vec()?);
        }
        // Views of larger arrays.
        let wide = of([n_rows + 1, 2 * n_cols])?;
        let view = wide.slice((1.., sparsefuse_dense::step(.., 2)));
        let copy = Array::from_shape_vec([n_rows, n_cols], view.to_vec()?)?;
        assert_eq!(rows(&a.multiply(&view)?)?, rows(&a.multiply(&copy)?)?);
        Ok(found)
    });
    let dense = left.dense::<T>();
    for (shape, found) in shapes.into_iter().zip(found) {
        let factor = |(i, j): (usize, usize)| {
            let (row, column) = (i.min(shape[0] - 1), j.min(shape[1] - 1));
            element(row * shape[1] + column)
        };
        let expected: Vec<T> = dense
            .indexed_iter()
            .map(|(at, &x)| x * factor(at))
            .collect();
        assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn formats((left, right) in two_of_one_shape()) {
        check_formats::<f64>(&left, &right);
        check_formats::<Complex<f32>>(&left, &right);
    }

    #[test]
    fn assigning_operators((left, right) in two_of_one_shape()) {
        check_assigning::<f64>(&left, &right);
        check_assigning::<Complex<f32>>(&left, &right);
        check_assigning::<i64>(&left, &right);
    }

    #[test]
    fn dense_factors((left, right) in two_of_one_shape()) {
        check_dense_factors::<f64>(&left, &right);
        check_dense_factors::<Complex<f32>>(&left, &right);
        check_dense_factors::<i64>(&left, &right);
    }
}

#[test]
fn numbers_are_assigned_to() {
    let mut a = gallery::poisson1d::<f64>(3).unwrap();
    a *= 3.0;
    a /= 2.0;
    assert_eq!(a.diagonal(0).unwrap().to_vec().unwrap(), [3.0; 3]);
    let mut b = Csr::new(1, 1, vec![0, 1], vec![0], vec![7i64]).unwrap();
    b *= 3;
    b /= 2;
    assert_eq!(b.get(0, 0).unwrap(), 10);
}

#[test]
fn powers() {
    everywhere(|| {
        let a = gallery::poisson1d::<f64>(9)?;
        let mut expected = Csr::identity(9)?;
        for n in 0..10 {
            assert!(a.matrix_power(n)?.equals(&expected)?);
            expected = &expected * &a;
        }
        assert_eq!(Csr::<f64>::zeros(0, 0)?.matrix_power(3)?.shape(), (0, 0));
        Ok(())
    });
}

/// Where nothing is stored a factor that is no number does not show.
#[test]
fn what_is_not_stored_stays_0() {
    let a = Csr::<f64>::identity(2).unwrap();
    let x = Array::from_shape_vec([2, 2], vec![2.0, f64::NAN, f64::INFINITY, 3.0]).unwrap();
    let found = a
        .multiply(&x)
        .unwrap()
        .to_dense()
        .unwrap()
        .to_vec()
        .unwrap();
    assert_eq!(found, [2.0, 0.0, 0.0, 3.0]);
}

#[test]
fn refusals() {
    let a = Csr::<f64>::zeros(2, 3).unwrap();
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    let error = a.multiply(&Array::zeros([3, 2])).unwrap_err();
    check(error, "multiply: expected a shape of (2, 3), found (3, 2)");
    let error = a.matrix_power(2).unwrap_err();
    check(
        error,
        "matrix_power: expected a shape of (2, 2), found (2, 3)",
    );
    let (a, b) = (
        a.to_csc().unwrap(),
        Csr::zeros(3, 2).unwrap().to_csc().unwrap(),
    );
    check(
        a.try_add(&b).unwrap_err(),
        "add: expected a shape of (2, 3), found (3, 2)",
    );
}
