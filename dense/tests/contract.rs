//! Products over axes that arrays have in common, against sums of products in order: to the bit.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Factor, Numeric, Vector, einsum, einsum_all};
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
        assert_eq!(bits(&found.to_vec()?), bits(&a.matvec(&x).to_vec()?));
        // One product for each index of a common letter.
        let found: Array<f64, 3> = einsum("nji,jk->nik", &c, &b)?;
        let expected = c.swap_axes(1, 2).matmul(&b.insert_axis(0));
        assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        let d = some::<f64, 3>([3, 4, 2]);
        let found: Array<f64, 3> = einsum("nji,nik->nkj", &c, &d)?;
        let expected = c.matmul(&d).swap_axes(1, 2);
        assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        let found: Array<f64, 3> = c.tensordot(&b, &[(1, 0)])?;
        let found: Array<f64, 2> = found.try_reshape([12, 6])?;
        let expected = c.swap_axes(1, 2).try_reshape::<2>([12, 5])?.matmul(&b);
        assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        let found: Vector<f64> = c.tensordot(&a, &[(2, 0), (1, 1)])?;
        assert_eq!(found.shape(), [3]);
        Ok(bits(&found.to_vec()?))
    });
}

/// What is no product of two matrices: of vectors, of elements, and sums where the axes lie.
#[test]
fn sums_of_products_without_a_product_of_matrices() {
    everywhere(|| -> Result<_, Error> {
        let (a, b) = (some::<f64, 2>([40, 70]), some::<f64, 2>([40, 70]) + 0.3);
        let c = some::<f64, 3>([30, 4, 5]);
        let x = some::<f64, 1>([40]);
        let same = |found: Vector<f64>, expected: Vector<f64>| -> Result<Vec<_>, Error> {
            let found = bits(&found.to_vec()?);
            assert_eq!(found, bits(&expected.to_vec()?));
            Ok(found)
        };
        let products = &a * &b;
        let of_rows = same(einsum("ij,ij->i", &a, &b)?, products.sum_axis(1))?;
        same(einsum_all("ij,ij->j", &[&a, &b])?, products.sum_axis(0))?;
        same(
            einsum("ij,ji->i", &a, &b.t().contiguous()?)?,
            products.sum_axis(1),
        )?;
        let all: Array<f64, 0> = einsum_all("ij,ij->", &[&a, &b])?;
        let expected = products.try_reshape::<2>([1, 2800])?.sum_axis(1);
        same(all.try_reshape([1])?, expected)?;
        same(einsum("ij,i->j", &a, &x)?, a.t().matvec(&x))?;
        same(einsum("i,ij->j", &x, &a)?, a.t().matvec(&x))?;
        same(
            einsum_all("ijk->k", &[&c])?,
            c.try_reshape::<2>([120, 5])?.sum_axis(0),
        )?;
        let middle: Array<f64, 2> = einsum_all("ijk->ik", &[&c])?;
        same(middle.ravel(), c.sum_axis(1).ravel())?;
        let ends: Vector<f64> = einsum_all("ijk->j", &[&c])?;
        same(
            ends,
            c.swap_axes(0, 1).try_reshape::<2>([4, 150])?.sum_axis(1),
        )?;
        let scaled: Array<f64, 2> = einsum("ij,i->ji", &a, &x)?;
        same(scaled.ravel(), (&a * x.insert_axis(1)).t().ravel())?;
        let outer: Array<f64, 3> = einsum("ij,ik->kij", &a, &b.slice((.., ..3)))?;
        let expected = a.insert_axis(0) * b.slice((.., ..3)).t().insert_axis(2);
        same(outer.ravel(), expected.ravel())?;
        let gram: Array<f64, 2> = einsum("ij,ik->jk", &a, &b)?;
        same(gram.ravel(), a.t().matmul(&b).ravel())?;
        let square = a.slice((.., ..40));
        same(einsum_all("ii->i", &[&square])?, square.diagonal(0))?;
        let cubes: Array<f64, 2> = einsum_all("jijk->ik", &[&some::<f64, 4>([3, 4, 3, 5])])?;
        assert_eq!(cubes.shape(), [4, 5]);
        Ok(of_rows)
    });
}

/// `np.einsum` of these: `a = np.arange(24).reshape(2, 3, 4) % 7 - 3`, `b =
/// np.arange(12).reshape(4, 3) % 5
/// - 2`, `c = np.arange(6).reshape(3, 2) - 2`.
#[test]
fn sums_of_products_of_numpy() {
    everywhere(|| {
        let range = |n: usize| Vector::<i64>::arange(n);
        let a: Array<i64, 3> = (range(24) % 7 - 3).try_reshape([2, 3, 4])?;
        let b: Array<i64, 2> = (range(12) % 5 - 2).try_reshape([4, 3])?;
        let c: Array<i64, 2> = (range(6) - 2).try_reshape([3, 2])?;
        let d: Array<i64, 3> = (range(12) - 4).try_reshape([2, 3, 2])?;
        let v = Vector::from_vec(vec![1, -2, 3]);
        let found: Vector<i64> = einsum_all("iji->j", &[&d])?;
        assert_eq!(found.to_vec()?, [-1, 3, 7]);
        let turned: Array<i64, 3> = einsum_all("kij->jki", &[&a])?;
        assert_eq!(turned.to_vec()?, a.permute_axes([2, 0, 1]).to_vec()?);
        let all: Array<i64, 3> = einsum_all("nij, jk, kl -> nil", &[&a, &b, &c])?;
        let expected = [-4, 3, 22, 24, -8, -4, -10, -11, -12, -11, 28, 17];
        assert_eq!((all.shape(), all.to_vec()?), ([2, 3, 2], expected.to_vec()));
        let of_four: Array<i64, 2> = einsum_all("nij,jk,kl,i->ln", &[&a, &b, &c, &v])?;
        assert_eq!(of_four.to_vec()?, [-72, 98, -57, 62]);
        let expected = [
            5, -1, 3, -9, 9, 2, 5, -2, 1, -2, 8, -7, 5, -3, -1, -9, -7, 5,
        ];
        let dots: Array<i64, 3> = einsum_all("...ij,jk->...ik", &[&a, &b])?;
        assert_eq!(dots.to_vec()?, expected);
        let row: Array<i64, 2> = (range(4) + 1).try_reshape([1, 4])?;
        let broadcast: Array<i64, 3> = einsum_all("i...,...->i...", &[&a, &row])?;
        assert_eq!(broadcast.to_vec()?, (&a * row.insert_axis(0)).to_vec()?);
        let first = b.column(0);
        let implicit: Array<i64, 2> = einsum_all("...j,j...", &[&a, &first])?;
        assert_eq!(implicit.to_vec()?, [5, -9, 5, -2, 5, -9]);
        let (ones, pair) = (
            Array::from_shape_vec([1, 3], vec![1, 2, 3])?,
            Array::from_shape_vec([2, 3], vec![1, 0, 1, 2, 1, 0])?,
        );
        let star: Array<i64, 3> = einsum_all("ai,bi,ci->abc", &[&c.t(), &ones, &pair])?;
        assert_eq!(
            (star.shape(), star.to_vec()?),
            ([2, 1, 2], vec![4, -4, 8, 0])
        );
        Ok((all.to_vec()?, dots.to_vec()?))
    });
}

/// Sums of products by loops over all labels, in any order, of whole numbers.
fn looped(operands: &[(&str, Array<i64, 4>)], made: &str, lens: &[(char, usize)]) -> Vec<i64> {
    let len = |label: char| {
        lens.iter()
            .find(|(c, _)| *c == label)
            .map_or(1, |(_, n)| *n)
    };
    let elements: Vec<Vec<i64>> = operands.iter().map(|(_, x)| x.to_vec().unwrap()).collect();
    let total = |labels: &str| labels.chars().map(len).product::<usize>();
    let all: String = lens.iter().map(|(c, _)| *c).collect();
    let mut sums = vec![0; total(made)];
    for number in 0..total(&all) {
        let mut rest = number;
        let mut at = std::collections::BTreeMap::new();
        for (label, n) in lens.iter().rev() {
            at.insert(*label, rest % n);
            rest /= n;
        }
        let flat = |labels: &str| labels.chars().fold(0, |flat, c| flat * len(c) + at[&c]);
        let terms = operands.iter().zip(&elements);
        let product: i64 = terms.map(|((labels, _), x)| x[flat(labels)]).product();
        sums[flat(made)] += product;
    }
    sums
}

/// Products of many arrays whose intermediate results have more axes than arrays.
#[test]
fn sums_of_products_of_many_arrays() {
    let lens = [
        ('a', 2),
        ('b', 3),
        ('c', 2),
        ('d', 3),
        ('e', 2),
        ('f', 2),
        ('g', 3),
        ('h', 1),
    ];
    let len = |label: char| {
        lens.iter()
            .find(|(c, _)| *c == label)
            .map_or(1, |(_, n)| *n)
    };
    for letters in [
        "abcd,efgh->aceg",
        "abcd,aefg,bceh,dfgh->",
        "abcd,efgh,aceg->bdfh",
        "abcd,cdef,efgh,ghab->hgfe",
        "aabb,ccbd->dbca",
        "abca,efge,bfcg->",
        "abcd,abcd,abcd->dcba",
    ] {
        let (operands, made) = letters.split_once("->").unwrap();
        let found = everywhere(|| {
            let arrays: Vec<(&str, Array<i64, 4>)> = operands
                .split(',')
                .enumerate()
                .map(|(number, labels)| {
                    let mut lens = labels.chars().map(len);
                    let shape = std::array::from_fn(|_| lens.next().unwrap_or(1));
                    let x = Array::from_fn(shape, |[i, j, k, l]| {
                        ((i * 7 + j * 5 + k * 3 + l * 2 + number * 11) % 9) as i64 - 4
                    });
                    (labels, x)
                })
                .collect();
            let factors: Vec<&dyn Factor<i64>> =
                arrays.iter().map(|(_, x)| x as &dyn Factor<i64>).collect();
            let found = match made.len() {
                0 => einsum_all::<i64, 0>(letters, &factors)?.to_vec()?,
                _ => einsum_all::<i64, 4>(letters, &factors)?.to_vec()?,
            };
            let used: Vec<(char, usize)> = lens
                .into_iter()
                .filter(|(label, _)| operands.contains(*label))
                .collect();
            assert_eq!(found, looped(&arrays, made, &used), "{letters}");
            Ok(found)
        });
        assert!(!found.is_empty());
    }
}

#[test]
fn sums_of_products_are_those_of_pairs() {
    fn of_type<T: Numeric>() {
        everywhere(|| -> Result<_, Error> {
            let (a, b) = (some::<T, 2>([4, 5]), some::<T, 2>([5, 6]));
            let x = some::<T, 1>([6]);
            let pair: Array<T, 2> = einsum_all("ij,jk->ki", &[&a, &b])?;
            let expected: Array<T, 2> = einsum("ij,jk->ki", &a, &b)?;
            assert_eq!(bits(&pair.to_vec()?), bits(&expected.to_vec()?));
            // The matrix times the vector first, which is less work.
            let chain: Vector<T> = einsum_all("ij,jk,k", &[&a, &b, &x])?;
            let product: Vector<T> = einsum("jk,k->j", &b, &x)?;
            let expected: Vector<T> = einsum("ij,j->i", &a, &product)?;
            assert_eq!(bits(&chain.to_vec()?), bits(&expected.to_vec()?));
            let sums: Vector<T> = einsum_all("ij->j", &[&a])?;
            assert_eq!(sums.len(), 5);
            let trace: Array<T, 0> = einsum_all("ii", &[&a.slice((.., ..4))])?;
            let expected = a.trace().get()?;
            assert_eq!(bits(&trace.to_vec()?), bits(&[expected]));
            let same: Array<T, 2> = einsum_all("ij->ij", &[&a.t()])?;
            assert_eq!(bits(&same.to_vec()?), bits(&a.t().to_vec()?));
            let none: Array<T, 2> = einsum_all("ij,jk,k->ik", &[&a.slice((..0, ..)), &b, &x])?;
            assert_eq!(none.shape(), [0, 6]);
            let nothing: Array<T, 0> = einsum_all("ii->", &[&a.slice((..0, ..0))])?;
            assert_eq!(bits(&nothing.to_vec()?), bits(&[T::ZERO]));
            Ok((bits(&chain.to_vec()?), bits(&sums.to_vec()?)))
        });
    }
    of_type::<f64>();
    of_type::<f32>();
    of_type::<i32>();
    of_type::<u64>();
    of_type::<Complex<f64>>();
}

#[test]
fn letters_that_do_not_fit_are_refused() {
    let (a, v) = (Array::<f64, 2>::ones([2, 3]), Vector::<f64>::ones([2]));
    let message = |letters: &str, arrays: &[&dyn Factor<f64>]| {
        let made = einsum_all::<f64, 2>(letters, arrays);
        made.err()
            .map_or_else(String::new, |error| error.to_string())
    };
    for (letters, expected) in [
        ("ij", "letters for 2 operands, found \"ij\""),
        (
            "ij,jk",
            "a letter for each of 1 axes, or `...` for some of them, found \"jk\"",
        ),
        (
            "i1,j->ij",
            "a letter for each of 2 axes, or `...` for some of them, found \"i1\"",
        ),
        (
            "i..,j->ij",
            "a letter for each of 2 axes, or `...` for some of them, found \"i..\"",
        ),
        (
            "...ijk,j->ij",
            "a letter for each of 2 axes, or `...` for some of them, found \"...ijk\"",
        ),
        ("ij,j->ij", "3 elements along axis j, found 2"),
        ("ii,j->ij", "2 elements along axis i, found 3"),
        ("ij,k->ii", "each letter once in the result, found i twice"),
        (
            "ij,k->iz",
            "letters of the operands in the result, found z in the result alone",
        ),
        ("ij,k->i", "a result of 2 axes, found 1"),
        (
            "i...,j->ij",
            "`...` in the result as in the operands, found \"ij\"",
        ),
    ] {
        let expected = format!("einsum_all: expected {expected}");
        assert_eq!(message(letters, &[&a, &v]), expected);
    }
    assert_eq!(
        message("ij", &[]),
        "einsum_all: expected an array or more, found none"
    );
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

/// Where nothing is summed, products are no sums that begin with 0.
#[test]
fn outer_products_keep_the_sign_of_zeros() {
    let (x, y) = (
        Vector::from_vec(vec![-1.0, 2.0]),
        Vector::from_vec(vec![0.0, 3.0]),
    );
    let outer: Array<f64, 2> = einsum("i,j->ij", &x, &y).unwrap();
    let expected = [-0.0f64, -3.0, 0.0, 6.0].map(f64::to_bits);
    let found = outer.to_vec().unwrap();
    assert_eq!(
        found.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        expected
    );
}
