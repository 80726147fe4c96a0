//! What ranks join along a tree: the same bits on any number of them, and failures that all hear
//! of.

use sparsefuse_dense::{Array, Error, Vector};
use sparsefuse_kernels::Value;
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_testing::{bits, small};

/// Settings that leave the counts on every rank and cut what is counted.
fn config() -> Config {
    Config {
        cut_threshold: 256,
        ..small()
    }
}

/// What a program returns on one rank, after it has returned the same on up to thirteen.
#[track_caller]
fn on_ranks(program: impl Fn() -> Result<Vec<Value>, Error> + Sync) -> Vec<Value> {
    let mut expected = None;
    for ranks in [1, 2, 3, 5, 8, 13] {
        for threads in [1, 3] {
            let config = Config {
                threads,
                ..config()
            };
            let outcomes = run_ranks(ranks, &config, |_| program()).expect("the ranks run");
            for outcome in outcomes {
                let found = outcome.expect("the program runs");
                let expected = expected.get_or_insert_with(|| found.clone());
                assert_eq!(&found, expected, "{ranks} ranks, {threads} threads");
            }
        }
    }
    expected.expect("it has run")
}

/// Numbers without an order.
fn mixed(i: usize) -> i64 {
    ((i * 2_654_435_761) % 1009) as i64
}

#[test]
fn counts_of_whole_numbers() {
    const N: usize = 3000;
    let found = on_ranks(|| {
        let x = Vector::<i64>::from_fn([N], |[i]| mixed(i) % 50 - 25);
        // They begin with something, indices count from the end too, and sums wrap around.
        let mut sums = Vector::<i64>::from_fn([50], |[i]| i64::MAX - i as i64);
        sums.add_at(&x, Vector::from_fn([N], |[i]| mixed(i + 7)));
        let mut counts = Vector::<i32>::zeros([50]);
        counts.add_at(&x, 1);
        let mut rows = Array::<i32, 2>::ones([20, 3]);
        let of_rows = Vector::<i64>::from_fn([N / 3], |[i]| mixed(i) % 20);
        let values = Array::<i32, 2>::from_fn([N / 3, 3], |[i, j]| (i * 3 + j) as i32);
        rows.add_at_axis(0, &of_rows, &values);
        let bins = x.cast::<f64>().histogram(7, -25.0..25.0).0;
        let found = [
            bits(&sums.to_vec()?),
            bits(&counts.to_vec()?),
            bits(&rows.to_vec()?),
            bits(&bins.to_vec()?),
        ];
        Ok(found.concat())
    });
    let mut sums: Vec<i64> = (0..50).map(|i| i64::MAX - i).collect();
    let mut counts = vec![0i32; 50];
    let mut rows = vec![1i32; 60];
    for i in 0..N {
        let place = (mixed(i) % 50 - 25).rem_euclid(50) as usize;
        sums[place] = sums[place].wrapping_add(mixed(i + 7));
        counts[place] = counts[place].wrapping_add(1);
    }
    for i in 0..N / 3 {
        let row = (mixed(i) % 20) as usize;
        (0..3).for_each(|j| rows[row * 3 + j] += (i * 3 + j) as i32);
    }
    let expected = [bits(&sums), bits(&counts), bits(&rows)].concat();
    assert_eq!(found[..expected.len()], expected);
}

/// The first of the largest stays, which shows where zeros have different signs; and a NaN.
#[test]
fn extremes_and_sums_in_order() {
    let value = |i: usize| match mixed(i) % 11 {
        0 => 0.0,
        1 => -0.0,
        2 if i > 2500 => f64::NAN,
        k => -k as f64,
    };
    let found = on_ranks(|| {
        let places = Vector::<i64>::from_fn([3000], |[i]| mixed(i + 5) % 30);
        let values = Vector::from_fn([3000], |[i]| value(i));
        let start = || Vector::from_fn([40], |[i]| if i % 2 == 0 { -0.0 } else { -3.0 });
        let [mut largest, mut least, mut sums] = [start(), start(), start()];
        largest.maximum_at(&places, &values);
        least.minimum_at(&places, &values);
        sums.add_at(&places, &values);
        Ok(bits(
            &[largest.to_vec()?, least.to_vec()?, sums.to_vec()?].concat(),
        ))
    });
    let start: Vec<f64> = (0..40)
        .map(|i| if i % 2 == 0 { -0.0 } else { -3.0 })
        .collect();
    let (mut largest, mut least, mut sums) = (start.clone(), start.clone(), start);
    for i in 0..3000 {
        let (place, new) = ((mixed(i + 5) % 30) as usize, value(i));
        let is_kept = |old: f64, is_beyond: bool| is_beyond || old.is_nan();
        if !is_kept(largest[place], largest[place] >= new) {
            largest[place] = new;
        }
        if !is_kept(least[place], least[place] <= new) {
            least[place] = new;
        }
        sums[place] += new;
    }
    assert_eq!(found, bits(&[largest, least, sums].concat()));
}

#[test]
fn an_index_out_of_range_on_one_rank_is_the_failure_of_all() {
    for ranks in [1, 2, 3, 5, 8] {
        for wrong in [0, 700, 1999] {
            let outcomes = run_ranks(ranks, &config(), |_| {
                // The last is wrong as well: the first counts.
                let index = |i: usize| if i == wrong || i == 1999 { 10 } else { 3 };
                let indices = Vector::<i64>::from_fn([2000], |[i]| index(i));
                let mut counts = Vector::<i64>::zeros([10]);
                counts.add_at(&indices, 1);
                let refused = counts.to_vec().unwrap_err().to_string();
                // The next task is as good as any.
                counts = Vector::zeros([10]);
                counts.add_at(&(&indices - &indices), 1);
                assert_eq!(counts.to_vec().unwrap()[0], 2000);
                refused
            });
            for refused in outcomes.unwrap() {
                assert!(refused.contains("found 10"), "{refused}");
                assert!(refused.contains(&wrong.to_string()), "{refused}");
            }
        }
    }
}

#[test]
fn many_inner_products() {
    on_ranks(|| {
        let vectors: Vec<Vector<f64>> = (0..9)
            .map(|k| Vector::from_fn([2100], |[i]| mixed(i + 31 * k) as f64 / 7.0 - 70.0))
            .collect();
        let vectors: Vec<&Vector<f64>> = vectors.iter().collect();
        let products = Vector::inner_products(&vectors, &vectors[2..]).get()?;
        let hermitian = Vector::hermitian_products(&vectors, &vectors).get()?;
        Ok(bits(&[products.concat(), hermitian.concat()].concat()))
    });
}

#[test]
fn what_a_mask_leaves_and_medians() {
    on_ranks(|| {
        let x = Vector::<f64>::from_fn([2000], |[i]| mixed(i) as f64);
        let mask = Vector::from_fn([2000], |[i]| mixed(i + 3) % 3 == 0);
        let kept = x.compress(&mask)?;
        let found = [bits(&kept.to_vec()?), bits(&[x.median().get()?])];
        Ok(found.concat())
    });
}
