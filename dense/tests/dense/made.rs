//! Matrices that are made for the reductions of their rows, and for more than that.

use sparsefuse_dense::{Array, Error, Real, Vector};
use sparsefuse_kernels::Value;
use sparsefuse_testing::{bits, everywhere};

/// The elements of some arrays, one after the other.
fn elements<T: Real, const D: usize>(arrays: &[&Array<T, D>]) -> Result<Vec<Value>, Error> {
    let mut all = Vec::new();
    for array in arrays {
        all.extend(bits(&array.to_vec()?));
    }
    Ok(all)
}

fn matrix<T: Real>(rows: usize, columns: usize) -> Result<Array<T, 2>, Error> {
    let numbers = (Vector::<i64>::arange(rows * columns) * 7919 % 101).cast::<T>();
    (numbers / T::from_f64(101.0)).try_reshape([rows, columns])
}

const SHAPES: [(usize, usize); 6] = [(1, 1), (3, 7), (17, 5), (40, 16), (5, 70), (33, 33)];

/// Runs a program on matrices of several shapes and types, everywhere.
macro_rules! on_matrices {
    ($a:ident: $program:expr) => {
        for (rows, columns) in SHAPES {
            everywhere(|| {
                let $a = matrix::<f64>(rows, columns)?;
                $program
            });
            everywhere(|| {
                let $a = matrix::<f32>(rows, columns)?;
                $program
            });
        }
    };
}

#[test]
fn a_softmax_reads_its_exponentials_twice() {
    on_matrices!(a: {
        let e = (&a - a.max_axis(1).insert_axis(1)).exp();
        let softmax = &e / e.sum_axis(1).insert_axis(1);
        drop(e);
        elements(&[&softmax])
    });
    let softmax = {
        let a = matrix::<f64>(40, 16).unwrap();
        let e = (&a - a.max_axis(1).insert_axis(1)).exp();
        &e / e.sum_axis(1).insert_axis(1)
    };
    for sum in softmax.sum_axis(1).to_vec().unwrap() {
        assert!((sum - 1.0).abs() < 1e-14, "{sum}");
    }
}

#[test]
fn rows_are_standardised() {
    on_matrices!(a: {
        let standard = (&a - a.mean_axis(1).insert_axis(1)) / a.var_axis(1).insert_axis(1).sqrt();
        elements(&[&standard])
    });
}

#[test]
fn several_matrices_and_several_reductions_of_one() {
    on_matrices!(a: {
        let (square, cube) = (a.square(), a.square() * &a);
        let [p, q, r] = [square.sum_axis(1), square.max_axis(1), cube.min_axis(1)];
        drop((square, cube));
        let s = (&p + &q) * &r;
        elements(&[&p, &q, &r, &s])
    });
}

#[test]
fn a_matrix_that_the_program_keeps() {
    on_matrices!(a: {
        let e = a.exp();
        let sums = e.sum_axis(1);
        let twice = e.matvec(&a.row(0)) + &sums;
        Ok([elements(&[&e])?, elements(&[&sums, &twice])?].concat())
    });
}

#[test]
fn products_with_a_matrix_that_is_made() {
    on_matrices!(a: {
        let x = a.row(0).sqrt();
        let y = (-(&a - &x.insert_axis(0)).square()).exp().matvec(&x);
        elements(&[&y])
    });
}

/// The product is divided by rows where the sum over it has too few tiles.
#[test]
fn a_product_and_its_norm() {
    on_matrices!(a: {
        let y = a.matvec(&a.row(0));
        let (norm, largest) = (y.norm2(), (&y * a.max_axis(1)).max());
        elements(&[&(&y / norm + largest)])
    });
}

#[test]
fn distances_of_points() {
    on_matrices!(a: {
        let difference = a.insert_axis(1) - a.insert_axis(0);
        let distances = difference.square().sum_axis(2).sqrt();
        elements(&[&distances])
    });
}

#[test]
fn what_is_made_of_sums_goes_where_the_matrix_came_from() {
    on_matrices!(a: {
        let mut x = a.column(0).contiguous()?;
        for _ in 0..3 {
            let d = x.insert_axis(0) - x.insert_axis(1);
            x += (d.square() * &d).sum_axis(1) * a.row(0).mean();
        }
        elements(&[&x])
    });
}

#[test]
fn columns_and_transposes() {
    on_matrices!(a: {
        let b = a.t().square();
        let [p, q] = [b.sum_axis(1), b.sum_axis(0)];
        drop(b);
        Ok([elements(&[&p])?, elements(&[&q])?].concat())
    });
}

#[test]
fn vectors_are_collected() {
    everywhere(|| {
        let collected: Vector<f64> = (0..70).map(|k| f64::from(k) / 3.0).collect();
        let from_vec = Vector::from((0..70).map(|k| f64::from(k) / 3.0).collect::<Vec<_>>());
        let (found, expected) = (bits(&collected.to_vec()?), bits(&from_vec.to_vec()?));
        assert_eq!(found, expected);
        assert_eq!(Vector::from([true, false]).to_vec()?, [true, false]);
        assert!(Vector::<i32>::from([]).is_empty());
        assert_eq!(std::iter::empty::<f32>().collect::<Vector<_>>().len(), 0);
        Ok(found)
    });
}
