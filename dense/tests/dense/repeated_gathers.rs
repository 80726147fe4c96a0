//! Gathers by indices that are used again and again, which become kernels on one rank: their bits
//! and their errors are those of the first ones, on any ranks.

use crate::{Bits, everywhere};
use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Rounds, Vector};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::bits;

/// More than it takes until gathers are kernels.
const ROUNDS: usize = 7;

/// Indices below `n` in no order, some of them counted from the end.
fn some_indices(len: usize, n: usize) -> Vec<i64> {
    let index = |i: usize| ((i * 7919 + i * i * 31 + 5) % n) as i64;
    let places = (0..len).map(index);
    places
        .map(|at| if at % 3 == 0 { at - n as i64 } else { at })
        .collect()
}

/// Gathers rows of `width` elements of a type.
fn check<T: Element + PartialEq>(element: impl Fn(usize) -> T + Sync, width: usize) {
    let (n, len) = (300, 1111);
    let indices = some_indices(len, n);
    let place = |index: i64| index.rem_euclid(n as i64) as usize;
    let rows = indices
        .iter()
        .flat_map(|&index| place(index) * width..(place(index) + 1) * width);
    let expected: Vec<T> = rows.map(&element).collect();
    everywhere(|| {
        let elements: Vec<T> = (0..n * width).map(&element).collect();
        let at = Vector::from_slice(&indices);
        let vector = Vector::from_slice(&elements);
        let matrix = Array::from_shape_vec([n, width], elements)?;
        for round in 0..ROUNDS {
            let taken = matrix.take_axis(0, &at);
            assert!(taken.to_vec()? == expected, "round {round}, width {width}");
            if width == 1 {
                assert!(vector.take(&at).to_vec()? == expected, "round {round}");
            }
        }
        Ok(())
    });
}

#[test]
fn each_has_the_bits_of_the_first() {
    for width in [1, 2, 5] {
        check(|i| i as f64 / 7.0, width);
        check(|i| i as f32 / 7.0, width);
        check(|i| Complex::new(i as f32, -1.0), width);
        check(|i| Complex::new(i as f64, -1.0), width);
        check(|i| i % 3 == 0, width);
        check(|i| i as u32, width);
    }
}

/// What gathers read is computed before, what they make is used behind, and both change.
#[test]
fn they_lie_between_other_operations() {
    let (n, rounds) = (700, 12);
    let at = some_indices(n, n);
    let place = |i: usize| at[i].rem_euclid(n as i64) as usize;
    let begin = |i: usize| i as f64 / 7.0;
    let found = everywhere(|| {
        let at = Vector::from_slice(&at);
        let mut x = Vector::from_vec((0..n).map(begin).collect());
        let mut sum = Vector::<f64>::zeros([n]).sum();
        for _ in 0..rounds {
            let y = &x * 0.5 + 0.25;
            x = y.take(&at) * 0.5 - x.take(&at) * 0.25;
            sum += x.sum();
        }
        assert!(sum.get()?.is_finite());
        x.bits()
    });
    let mut x: Vec<f64> = (0..n).map(begin).collect();
    for _ in 0..rounds {
        let y: Vec<f64> = x.iter().map(|x| x * 0.5 + 0.25).collect();
        x = (0..n)
            .map(|i| y[place(i)] * 0.5 - x[place(i)] * 0.25)
            .collect();
    }
    assert_eq!(found, bits(&x));
}

#[test]
fn indices_that_change_are_read_anew() {
    let found = everywhere(|| {
        let x = Vector::from_vec((0..100).map(f64::from).collect());
        let mut at = Vector::from_vec((0..80).collect::<Vec<i64>>());
        let mut all = Vec::new();
        for round in 0..3 * ROUNDS {
            if round % ROUNDS == ROUNDS - 1 {
                at.assign_slice(10..20, -1 - round as i64);
            }
            all.extend(x.take(&at).to_vec()?);
        }
        Ok(all)
    });
    let mut at: Vec<i64> = (0..80).collect();
    let mut expected = Vec::new();
    for round in 0..3 * ROUNDS {
        if round % ROUNDS == ROUNDS - 1 {
            at[10..20].fill(-1 - round as i64);
        }
        expected.extend(at.iter().map(|at| at.rem_euclid(100) as f64));
    }
    assert_eq!(found, expected);
}

/// The indices are part of what the rounds of a loop go on with, and are replaced between two
/// rounds.
#[test]
fn rounds_gather_by_the_indices_of_the_moment() {
    let (n, count) = (100, 3 * ROUNDS);
    let forth: Vec<i64> = (0..n as i64).map(|i| i * 7 % n as i64).collect();
    let back: Vec<i64> = (0..n as i64).rev().collect();
    let begin = |i: usize| i as f64 / 7.0;
    let found = everywhere(|| {
        let x = Vector::from_vec((0..n).map(begin).collect());
        let mut state = (x, Vector::from_slice(&forth));
        let mut rounds = Rounds::new();
        for number in 0..count {
            if number == 2 * ROUNDS {
                state.1 = Vector::from_slice(&back);
            }
            rounds.run(&mut state, |(x, at)| {
                *x = x.take(at) * 0.5 + 1.0;
                Ok::<(), Error>(())
            })?;
            Runtime::current().flush();
        }
        state.0.bits()
    });
    let mut x: Vec<f64> = (0..n).map(begin).collect();
    for number in 0..count {
        let at = if number < 2 * ROUNDS { &forth } else { &back };
        x = at.iter().map(|&at| x[at as usize] * 0.5 + 1.0).collect();
    }
    assert_eq!(found, bits(&x));
}

#[test]
fn errors_are_those_of_the_first() {
    everywhere(|| {
        let (x, a) = (Vector::<f64>::ones([30]), Array::<f64, 2>::ones([6, 5]));
        let at = Vector::from_vec(vec![1, -2, 30, 7]);
        for _ in 0..ROUNDS {
            let messages = [x.take(&at).to_vec(), (a.take_axis(0, &at) + 1.0).to_vec()]
                .map(|result: Result<Vec<f64>, Error>| result.unwrap_err().to_string());
            let expected = [
                "`take` failed: take: expected indices from -30 to 29, found 30 at position 2",
                "`take_axis` failed: take_axis: expected indices from -6 to 5, found 30 at position 2",
            ];
            assert!(messages[0].ends_with(expected[0]), "{}", messages[0]);
            assert!(messages[1].ends_with(expected[1]), "{}", messages[1]);
        }
        Ok(bits(&[0.0]))
    });
}

/// On one rank, what follows a gather is in its fused task, and what comes before it too.
#[test]
fn they_fuse() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let used = runtime.enter(|| -> Result<[u64; 2], Error> {
        let at = Vector::from_slice(&some_indices(1000, 1000));
        let mut x = Vector::<f64>::ones([1000]);
        let mut used = [0; 2];
        for _ in 0..ROUNDS {
            let before = runtime.counters();
            let y = &x * 2.0;
            x = y.take(&at) * 0.25 + 1.0;
            drop(y);
            x.bits()?;
            let after = runtime.counters();
            used = [
                after.host_tasks - before.host_tasks,
                after.fused_tasks - before.fused_tasks,
            ];
        }
        Ok(used)
    });
    assert_eq!(used.unwrap(), [0, 1]);
}

/// Results that have other rows than what is gathered from.
#[test]
fn columns_and_single_elements_stay_as_they_are() {
    everywhere(|| {
        let at = Vector::from_vec(vec![0_i64, 3, -1]);
        let column = Array::<f64, 2>::from_fn([5, 1], |[row, _]| row as f64);
        let zeros = Vector::from_vec(vec![0_i64; 3]);
        let one = Array::<f64, 2>::full([1, 1], 7.0);
        for _ in 0..ROUNDS {
            assert_eq!(column.take(&at).to_vec()?, [0.0, 3.0, 4.0]);
            assert_eq!(one.take(&zeros).to_vec()?, [7.0; 3]);
            let wide = one.take_axis(1, &zeros);
            assert_eq!((wide.shape(), wide.to_vec()?), ([1, 3], vec![7.0; 3]));
            let tall = one.take_axis(0, &zeros);
            assert_eq!((tall.shape(), tall.to_vec()?), ([3, 1], vec![7.0; 3]));
        }
        Ok(())
    });
}

/// Rounds that are done again change indices in place, by which others gather between them.
#[test]
fn rounds_that_write_indices_change_what_is_gathered() {
    everywhere(|| {
        let x = Vector::from_vec((0..100).map(f64::from).collect());
        let mut at = Vector::<i64>::from_vec((0..10).collect());
        let mut rounds = Rounds::new();
        for number in 1..=3 * ROUNDS {
            Runtime::current().flush();
            rounds.run(&mut at, |at| {
                at.update_slice(0..5, |slice| slice + 1);
                Ok::<(), Error>(())
            })?;
            let taken = x.take(&at).to_vec()?;
            assert_eq!(taken[0], number as f64, "round {number}");
            assert_eq!(taken[9], 9.0);
        }
        Ok(())
    });
}
