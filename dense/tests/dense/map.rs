//! Closures over symbols: the bits of operators, one fused task, analysed once.

use crate::{Bits, everywhere, small};
use num_complex::Complex;
use sparsefuse_dense::{Array, Scalar, Vector, map_all, map2, map3, try_map_all, try_map2};
use sparsefuse_kernels::Value;
use sparsefuse_runtime::{Config, Error, Runtime, run_ranks};

/// Each result of a closure, and what operators make.
fn pairs() -> Result<Vec<[Vec<Value>; 2]>, Error> {
    let n = 37;
    let x = Vector::<f64>::linspace(-3.0, 4.0, n);
    let y = Vector::<f64>::random_uniform([n], 7);
    let whole = Vector::<i64>::arange(n) - 5;
    let z = Vector::<Complex<f32>>::random_normal([n], 3);
    let a = Array::<f64, 2>::random_normal([5, 4], 1);
    let column = Vector::<f64>::linspace(1.0, 2.0, 5).insert_axis(1);
    let mean = y.sum() / n as f64;
    let half = 0.5;
    let expected = [
        (
            x.map(|x| (1.0 + (-x).exp()).recip()).bits()?,
            ((-&x).exp() + 1.0).recip().bits()?,
        ),
        (x.map(|x| x).bits()?, x.bits()?),
        (
            x.map(|x| x.number(half)).bits()?,
            Vector::full([n], half).bits()?,
        ),
        (x.map(|x| x.cast::<i64>()).bits()?, x.cast::<i64>().bits()?),
        (
            x.map(|x| x.less(half).select(x.sin() * half, x.maximum(1.0)))
                .bits()?,
            x.less(half).select(x.sin() * half, x.maximum(1.0)).bits()?,
        ),
        (
            map2(&x, &y, |x, y| x.atan2(y) - 2.0 / y).bits()?,
            (x.atan2(&y) - 2.0 / &y).bits()?,
        ),
        (
            map2(&x, &mean, |x, mean| (x - mean).square()).bits()?,
            (&x - &mean).square().bits()?,
        ),
        (
            map3(&x, &whole, half, |x, k, half| {
                x * half + (k % 3).cast::<f64>()
            })
            .bits()?,
            (&x * half + (&whole % 3).cast::<f64>()).bits()?,
        ),
        (
            map2(&whole, &x, |k, x| (k & 3).equal(0) | !x.greater(0.0)).bits()?,
            ((&whole & 3).equal(0) | !x.greater(0.0)).bits()?,
        ),
        (
            z.map(|z| z.abs() + (z.conj() * z).re().sqrt()).bits()?,
            (z.abs() + (z.conj() * &z).re().sqrt()).bits()?,
        ),
        (
            map2(&a, &column, |a, c| a * c).bits()?,
            (&a * &column).bits()?,
        ),
        (
            map2(&column, &a, |c, a| a.pow(2.0) / c).bits()?,
            (a.pow(2.0) / &column).bits()?,
        ),
        {
            let slices = [0, 1, 2].map(|first| a.slice((first..first + 3, 1..3)));
            let [above, middle, below] = &slices;
            (
                map_all([above, middle, below], |[a, m, b]| a - 2.0 * m + b).bits()?,
                (above - 2.0 * middle + below).bits()?,
            )
        },
    ];
    Ok(expected.map(|(found, expected)| [found, expected]).into())
}

#[test]
fn bits_are_those_of_operators() {
    for (number, [found, expected]) in everywhere(pairs).into_iter().enumerate() {
        assert_eq!(found, expected, "of case {number}");
    }
}

#[test]
fn a_closure_fuses_with_its_neighbours() {
    for ranks in [1, 3] {
        let counts = run_ranks(ranks, &small(), |runtime| {
            let x = Vector::<f64>::linspace(0.0, 1.0, 50);
            runtime.flush();
            let before = runtime.counters();
            let y = (&x + 1.0).map(|y| y.ln() * y);
            let sum = map2(&y, &x, |y, x| y - x).sum();
            drop(y);
            runtime.flush();
            let after = runtime.counters();
            let sum = sum.get();
            assert!(sum.is_ok_and(|sum| sum.is_finite()));
            let tasks = after.tasks - before.tasks;
            (tasks, after.fused_tasks - before.fused_tasks)
        });
        // An addition, two closures, a sum.
        assert_eq!(counts.unwrap(), vec![(4, 1); ranks], "on {ranks} ranks");
    }
}

#[test]
fn a_closure_in_a_loop_is_analysed_once() {
    for (ranks, threads, fusion) in [
        (1, 1, true),
        (1, 2, true),
        (2, 1, true),
        (3, 2, true),
        (2, 1, false),
    ] {
        let config = Config {
            threads,
            fusion,
            ..small()
        };
        let counts = run_ranks(ranks, &config, |runtime| {
            let mut x = Vector::<f64>::linspace(0.0, 1.0, 40);
            let mut analysed = Vec::new();
            for round in 0..100 {
                // A number that is another one each time.
                let step = 1.0 / (round + 1) as f64;
                x = x.map(|x| x + step * (x * -2.0).exp());
                let largest = x.max().get().unwrap();
                assert!(largest.is_finite());
                let counters = runtime.counters();
                analysed.push(counters.windows - counters.trace_hits);
            }
            (analysed[3], analysed[99])
        });
        for (early, late) in counts.unwrap() {
            assert_eq!(
                early, late,
                "{ranks} ranks, {threads} threads, fusion {fusion}"
            );
        }
    }
}

#[test]
fn closures_may_be_long_and_arrays_empty() {
    let found = everywhere(|| {
        let x = Vector::<f64>::linspace(0.0, 1.0, 9);
        let y = x.map(|x| (0..1000).fold(x, |y, k| y * 0.5 + x / (k + 1) as f64));
        let nothing = x.slice(3..3).map(|x| x.exp());
        assert_eq!(nothing.shape(), [0]);
        Ok((y.to_vec()?, nothing.to_vec()?))
    });
    for (i, y) in found.0.into_iter().enumerate() {
        let x = i as f64 / 8.0;
        let expected = (0..1000).fold(x, |y, k| y * 0.5 + x / (k + 1) as f64);
        assert_eq!(y, expected);
    }
    assert!(found.1.is_empty());
}

#[test]
fn errors() {
    let (x, y) = (Vector::<f64>::ones([3]), Vector::<f64>::ones([4]));
    let found = try_map2(&x, &y, |x, y| x + y).unwrap_err().to_string();
    assert_eq!(found, "map: expected a shape of (3), found (4)");
    let nothing: [&Vector<f64>; 0] = [];
    let found = try_map_all(nothing, |_| unreachable!("there is no element"));
    let found: Result<Vector<f64>, Error> = found;
    assert_eq!(
        found.unwrap_err().to_string(),
        "map: expected an array or more, found none"
    );

    let other = Runtime::new(Config::default()).unwrap();
    let there = other.enter(|| Scalar::new(1.0));
    assert!(try_map2(&x, &there, |x, y| x + y).is_err());
}
