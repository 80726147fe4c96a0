//! Elements chosen among arrays, and slices repeated by counts, against plain loops.

use super::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Numeric, Vector, step};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::{bits, everywhere};

fn chosen<T: Numeric>() {
    let number = |c: usize, i: usize, j: usize| T::from_f64((100 * c + 7 * i + j) as f64);
    let which = |i: usize, j: usize| (3 * i + j) % 3;
    let expected: Vec<T> = (0..35)
        .map(|at| number(which(at / 7, at % 7), at / 7, at % 7))
        .collect();
    let found = everywhere(|| -> Result<_, Error> {
        let arrays: [Array<T, 2>; 3] =
            std::array::from_fn(|c| Array::from_fn([5, 7], |[i, j]| number(c, i, j)));
        let [a, b, c] = &arrays;
        let numbers = Array::<i64, 2>::from_fn([5, 7], |[i, j]| which(i, j) as i64);
        let made = numbers.choose(&[a, b, c]);
        let from_end = (&numbers - 3).choose(&[a, b, c]);
        assert_eq!(made.bits()?, from_end.bits()?);
        // Views, and numbers of another type.
        let turned = numbers.t().cast::<u32>().choose(&[&a.t(), &b.t(), &c.t()]);
        assert_eq!(made.bits()?, turned.t().bits()?);
        made.bits()
    });
    assert_eq!(found, bits(&expected));
}

#[test]
fn chosen_of_every_type() {
    chosen::<f64>();
    chosen::<Complex<f32>>();
    chosen::<u32>();
}

#[test]
fn choices_broadcast() {
    let found = everywhere(|| -> Result<_, Error> {
        // The test of cuPyNumeric: shapes (2, 1, 1), (1, 3, 1), (1, 1, 5).
        let which = Array::<i32, 3>::from_shape_vec([2, 1, 1], vec![0, 1])?;
        let a = Array::<i64, 3>::from_shape_vec([1, 3, 1], vec![1, 2, 3])?;
        let b = Array::<i64, 3>::from_shape_vec([1, 1, 5], vec![-1, -2, -3, -4, -5])?;
        let made = which.choose(&[&a, &b]);
        assert_eq!(made.shape(), [2, 3, 5]);
        let none = Array::<i32, 3>::zeros([0, 1, 1]).choose(&[&a, &b]);
        assert_eq!((none.shape(), none.len()), ([0, 3, 5], 0));
        let mask = Vector::from_vec(vec![true, false]);
        let masks = Vector::from_vec(vec![1u64]).choose(&[&mask, &mask.flip(0)]);
        assert_eq!(masks.to_vec()?, [false, true]);
        made.bits()
    });
    let of = |at: usize| match at / 15 {
        0 => (at / 5 % 3 + 1) as i64,
        _ => -((at % 5 + 1) as i64),
    };
    assert_eq!(found, bits(&(0..30).map(of).collect::<Vec<_>>()));
}

#[test]
fn choices_that_do_not_fit() {
    let which = Vector::from_vec(vec![0, 1, 0]);
    let (x, longer) = (Vector::<f64>::ones([3]), Vector::<f64>::ones([4]));
    let message = |result: Result<Vector<f64>, Error>| result.expect_err("refused").to_string();
    assert_eq!(
        message(which.try_choose(&[])),
        "choose: expected an array to choose from, found none"
    );
    assert_eq!(
        message(which.try_choose(&[&x, &longer])),
        "choose: expected a shape of (3), found (4)"
    );
    let beyond = Vector::from_vec(vec![0, 2, 0]).choose(&[&x, &x]).to_vec();
    let error = beyond.expect_err("refused").to_string();
    assert!(
        error.contains("choose: expected indices from -2 to 1, found 2 at position 1"),
        "{error}"
    );
}

#[test]
fn repeated_by_counts() {
    let shape = [4, 9, 5];
    let number = |at: usize| (at * 37 % 101) as f64;
    for axis in 0..3 {
        let n = shape[axis];
        let counts: Vec<usize> = (0..n)
            .map(|k| (k * 5 + 1) % 4 * usize::from(k != 1))
            .collect();
        let rows: Vec<usize> = (0..n).flat_map(|k| vec![k; counts[k]]).collect();
        let mut larger = shape;
        larger[axis] = rows.len();
        let of = |at: usize| {
            let mut index = [
                at / (larger[1] * larger[2]),
                at / larger[2] % larger[1],
                at % larger[2],
            ];
            index[axis] = rows[index[axis]];
            number((index[0] * shape[1] + index[1]) * shape[2] + index[2])
        };
        let expected: Vec<f64> = (0..larger.iter().product()).map(of).collect();
        let found = everywhere(|| -> Result<_, Error> {
            let elements = (0..shape.iter().product()).map(number).collect();
            let a = Array::<f64, 3>::from_shape_vec(shape, elements)?;
            let times = Vector::from_vec(counts.iter().map(|&count| count as i64).collect());
            let made = a.repeat_counts(axis, &times)?;
            assert_eq!(made.shape(), larger);
            let view = a
                .flip(axis)
                .repeat_counts(axis, &times.flip(0).cast::<u32>())?;
            assert_eq!(view.flip(axis).bits()?, made.bits()?);
            let all = a.repeat_counts(axis, &Vector::<i32>::full([n], 3))?;
            assert_eq!(all.bits()?, a.repeat(axis, 3).bits()?);
            assert_eq!(a.repeat_counts(axis, &Vector::<u64>::zeros([n]))?.len(), 0);
            made.bits()
        });
        assert_eq!(found, bits(&expected));
    }
    let x = Vector::<f64>::ones([6]).slice(step(.., 2));
    let refused = |counts: Vec<i64>| {
        let repeated = x.repeat_counts(0, &Vector::from_vec(counts));
        repeated.expect_err("refused").to_string()
    };
    assert_eq!(
        refused(vec![1, -2, 5]),
        "repeat_counts: expected counts from 0 on, found -2 among them"
    );
    assert!(refused(vec![1, 2]).starts_with("repeat_counts: "));
    assert!(refused(vec![i64::MAX; 3]).contains("memory can hold"));
    assert!(
        x.repeat_counts(1, &Vector::from_vec(vec![1, 1, 1]))
            .is_err()
    );
    let empty = Array::<f64, 2>::zeros([2, 0]);
    let many = Vector::from_vec(vec![1_i64 << 50, 3]);
    let repeated = empty.repeat_counts(0, &many).expect("no element");
    assert_eq!(repeated.shape(), [(1 << 50) + 3, 0]);
    let none = Vector::<f64>::zeros([0]);
    assert_eq!(
        none.repeat_counts(0, &Vector::<i64>::zeros([0]))
            .expect("nothing")
            .len(),
        0
    );
}

#[test]
fn what_it_takes_is_made_in_the_runtime_of_the_array() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let (a, times) = runtime.enter(|| (Vector::<f64>::arange(3), Vector::<i64>::full([3], 2)));
    let made = a.repeat_counts(0, &times).unwrap();
    assert_eq!(made.to_vec().unwrap(), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
}
