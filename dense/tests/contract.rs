//! Products over axes that arrays have in common, against sums of products in order: to the bit.

use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Numeric, Vector, einsum};
use sparsefuse_testing::{bits, everywhere};

/// Numbers that round when they are added, so that the order shows.
fn element<T: Numeric>(flat: usize) -> T {
    T::from_f64(((flat * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0)
}

fn some<T: Numeric, const D: usize>(shape: [usize; D]) -> Array<T, D> {
    Array::from_fn(shape, |at| {
        element(at.iter().zip(shape).fold(0, |flat, (&at, n)| flat * n + at))
    })
}

fn products_of_pairs<T: Numeric>([n, m, l, k]: [usize; 4]) {
    let found = everywhere(|| -> Result<_, Error> {
        let (a, b) = (some::<T, 3>([n, m, k]), some::<T, 3>([n, k, l]));
        let made = a.matmul(&b);
        assert_eq!(made.shape(), [n, m, l]);
        for number in 0..n.min(3) {
            let [of_a, of_b, of_made] = [&a, &b, &made].map(|x| x.index_axis(0, number));
            assert_eq!(
                bits(&of_made.to_vec()?),
                bits(&of_a.matmul(&of_b).to_vec()?)
            );
        }
        // Views, and operands that broadcast.
        let turned = b.swap_axes(1, 2).matmul(&a.swap_axes(1, 2)).swap_axes(1, 2);
        assert_eq!(bits(&turned.to_vec()?), bits(&made.to_vec()?));
        if n > 0 {
            let first = a.slice((..1, .., ..)).matmul(&b).index_axis(0, n - 1);
            let expected = a.index_axis(0, 0).matmul(&b.index_axis(0, n - 1));
            assert_eq!(bits(&first.to_vec()?), bits(&expected.to_vec()?));
            let first = a.matmul(&b.slice((..1, .., ..))).index_axis(0, n - 1);
            let expected = a.index_axis(0, n - 1).matmul(&b.index_axis(0, 0));
            assert_eq!(bits(&first.to_vec()?), bits(&expected.to_vec()?));
        }
        let four = a.insert_axis(1).matmul(&b.insert_axis(1));
        assert_eq!(bits(&four.to_vec()?), bits(&made.to_vec()?));
        Ok(bits(&made.to_vec()?))
    });
    assert_eq!(found.len(), n * m * l);
}

#[test]
fn products_of_pairs_are_products_of_matrices() {
    for shape in [
        [1, 1, 1, 1],
        [9, 4, 5, 3],
        [40, 8, 8, 8],
        [3, 30, 7, 50],
        [0, 2, 2, 2],
        [5, 2, 3, 0],
    ] {
        products_of_pairs::<f64>(shape);
    }
    products_of_pairs::<f32>([9, 4, 5, 3]);
    products_of_pairs::<i64>([9, 4, 5, 3]);
    products_of_pairs::<Complex<f64>>([9, 4, 5, 3]);
}

#[test]
fn sums_of_products_in_the_notation_of_einstein() {
    everywhere(|| -> Result<_, Error> {
        let (a, b) = (some::<f64, 2>([4, 5]), some::<f64, 2>([5, 6]));
        let c = some::<f64, 3>([3, 5, 4]);
        let x = some::<f64, 1>([5]);
        let same = |found: Array<f64, 2>, expected: &Array<f64, 2>| -> Result<(), Error> {
            assert_eq!(found.shape(), expected.shape());
            assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
            Ok(())
        };
        same(einsum("ij,jk->ik", &a, &b)?, &a.matmul(&b))?;
        same(einsum("ij, jk -> ki", &a, &b)?, &a.matmul(&b).t())?;
        same(einsum("ij,jk", &a, &b)?, &a.matmul(&b))?;
        same(
            einsum("ij,i->ij", &a, &a.column(0))?,
            &(&a * a.column(0).insert_axis(1)),
        )?;
        same(
            einsum("ij,kl->jk", &a, &b)?,
            &a.sum_axis(0).outer(&b.sum_axis(1)),
        )?;
        same(einsum("i,j->ij", &x, &x)?, &x.outer(&x))?;
        let found: Vector<f64> = einsum("ij,j->i", &a, &x)?;
        let expected = a.matmul(&x.reshape([5, 1])?);
        assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        // One product for each index of a common letter.
        let found: Array<f64, 3> = einsum("nji,jk->nik", &c, &b)?;
        let expected = c.swap_axes(1, 2).matmul(&b.insert_axis(0));
        assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        let d = some::<f64, 3>([3, 4, 2]);
        let found: Array<f64, 3> = einsum("nji,nik->nkj", &c, &d)?;
        let expected = c.matmul(&d).swap_axes(1, 2);
        assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        let found: Array<f64, 3> = c.tensordot(&b, &[(1, 0)])?;
        let found: Array<f64, 2> = found.reshape([12, 6])?;
        let expected = c.swap_axes(1, 2).reshape::<2>([12, 5])?.matmul(&b);
        assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        let found: Vector<f64> = c.tensordot(&a, &[(2, 0), (1, 1)])?;
        assert_eq!(found.shape(), [3]);
        Ok(bits(&found.to_vec()?))
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    fn message<T>(made: Result<T, Error>) -> String {
        made.err()
            .map_or_else(String::new, |error| error.to_string())
    }
    let (a, c) = (
        Array::<f64, 2>::ones([2, 3]),
        Array::<f64, 3>::ones([2, 3, 4]),
    );
    let two = |letters: &str| message(einsum::<f64, 2, 2, 2>(letters, &a, &a));
    assert_eq!(
        two("ij"),
        "einsum: expected two operands, as in \"ij,jk->ik\", found ij"
    );
    assert_eq!(
        two("ij,jk->ik"),
        "einsum: expected 3 elements along axis j, found 2"
    );
    assert_eq!(
        two("ijk,jk->ik"),
        "einsum: expected a letter for each of 2 axes, found \"ijk\""
    );
    assert_eq!(
        two("ij,ij->ijj"),
        "einsum: expected each letter once in an operand or the result, found j twice in ijj"
    );
    assert_eq!(
        two("ij,ij->iz"),
        "einsum: expected letters of the operands in the result, found z in the result alone"
    );
    assert!(two("i...,ij->ij").contains("found ."));
    assert!(
        message(c.tensordot::<2, 3>(&a, &[(1, 1), (1, 0)]))
            .contains("each axis in one pair at most")
    );
    assert!(
        message(c.tensordot::<2, 3>(&a, &[(3, 1)]))
            .contains("expected axes below 3 and 2, found 3 and 1")
    );
    assert_eq!(
        message(c.try_matmul(&Array::ones([3, 4, 4]))),
        "matmul: expected a shape of (2, 4, 4), found (3, 4, 4)"
    );
    assert_eq!(
        message(c.try_matmul(&Array::ones([2, 3, 4]))),
        "matmul: expected a shape of (2, 4, 4), found (2, 3, 4)"
    );
}
