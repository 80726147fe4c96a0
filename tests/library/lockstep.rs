//! Ranks that run different programs: each case ends, with the same error on every rank, which
//! names the first task at which they part.

use sparsefuse::prelude::*;
use sparsefuse::runtime::{Config, Exchange, Runtime, run_ranks};
use sparsefuse::solvers::{Options, cg_with};
use sparsefuse::sparse::gallery;
use sparsefuse_testing::small;
use std::sync::Mutex;

fn config() -> Config {
    Config {
        check_ranks: true,
        native: None,
        ..small()
    }
}

/// Runs a program on some ranks: it must fail on every rank, and as a whole, with this message.
fn check_parts(
    ranks: usize,
    expected: &str,
    program: impl Fn(&Runtime) -> Result<(), Error> + Sync,
) {
    let told = Mutex::new(Vec::new());
    let outcome = run_ranks(ranks, &config(), |runtime| {
        let outcome = program(runtime);
        told.lock()
            .unwrap()
            .push(outcome.map_err(|error| error.to_string()));
    });
    let text =
        format!("expected all ranks to run the same program, but they diverge at {expected}");
    assert_eq!(outcome.unwrap_err().to_string(), text);
    let told = told.into_inner().unwrap();
    assert_eq!(told, vec![Err(text); ranks]);
}

fn ramp() -> Vector<f64> {
    Vector::from_vec((0..40).map(f64::from).collect())
}

#[test]
fn another_operation_is_named() {
    let expected = "task 2: rank 0 issues `mul` of s1 (40) f64, s0 (40) f64, s2 (40) f64, \
                    rank 1 issues `add` of s1 (40) f64, s0 (40) f64, s2 (40) f64";
    check_parts(2, expected, |runtime| {
        let x = ramp();
        let y = &x + 1.0;
        let z = if runtime.rank() == 1 {
            &y + &x
        } else {
            &y * &x
        };
        z.sum().get().map(drop)
    });
}

#[test]
fn another_order_is_named() {
    let expected = "task 1: rank 0 issues `add` of s0 (40) f64, s1 (40) f64, 1.0, \
                    rank 2 issues `mul` of s0 (40) f64, s1 (40) f64, 2.0";
    check_parts(3, expected, |runtime| {
        let x = ramp();
        let (sum, product);
        if runtime.rank() == 2 {
            product = &x * 2.0;
            sum = &x + 1.0;
        } else {
            sum = &x + 1.0;
            product = &x * 2.0;
        }
        sum.dot(&product).get().map(drop)
    });
}

#[test]
fn an_extra_task_is_named() {
    let expected = "task 3: rank 0 reads s2 () f64, written by `sum`, \
                    rank 1 issues `sqrt` of s2 () f64, s3 () f64";
    check_parts(2, expected, |runtime| {
        let mut value = (&ramp() + 1.0).sum();
        if runtime.rank() == 1 {
            value = value.sqrt();
        }
        value.get().map(drop)
    });
}

#[test]
fn other_shapes_and_other_numbers_are_named() {
    let expected = "task 1: rank 0 issues `add` of s0 (30) f64, s1 (30) f64, 1.0, \
                    rank 1 issues `add` of s0 (31) f64, s1 (31) f64, 1.0";
    check_parts(2, expected, |runtime| {
        let x = Vector::from_vec(vec![1.0; 30 + runtime.rank()]);
        (&x + 1.0).sum().get().map(drop)
    });
    let expected = "task 1: rank 0 issues `add` of s0 (40) f64, s1 (40) f64, 0.0, \
                    rank 1 issues `add` of s0 (40) f64, s1 (40) f64, 1.0";
    check_parts(2, expected, |runtime| {
        let x = &ramp() + runtime.rank() as f64;
        x.sum().get().map(drop)
    });
}

#[test]
fn a_rank_that_ends_early_is_named() {
    let expected = "task 3: rank 0 issues `sum` of s1 (40) f64, s2 () f64, rank 1 has ended";
    let told = Mutex::new(Vec::new());
    let outcome = run_ranks(2, &config(), |runtime| {
        let y = &ramp() * 2.0;
        let before = y.sum().get()?;
        if runtime.rank() == 1 {
            return Ok(before);
        }
        let after = y.sum().get();
        told.lock().unwrap().extend(after.clone().err());
        after
    });
    let told: Vec<String> = told
        .into_inner()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(told, [outcome.unwrap_err().to_string()]);
    assert!(
        told[0].ends_with(&expected.replace("s1 (40) f64, s2", "s0 (40) f64, s1")),
        "{told:?}"
    );
}

#[test]
fn calls_that_differ_are_named() {
    let expected = "task 3: rank 0 flushes its window, \
                    rank 1 reads s2 () f64, written by `sum`";
    check_parts(2, expected, |runtime| {
        let sum = (&ramp() + 1.0).sum();
        if runtime.rank() == 0 {
            runtime.flush();
        }
        sum.get().map(drop)
    });
    let expected = "task 1: rank 0 gathers elements f64 of all ranks, \
                    rank 1 asks whether all ranks have succeeded";
    check_parts(2, expected, |runtime| {
        if runtime.rank() == 0 {
            runtime.all_gather(&[1.0]).map(drop)
        } else {
            runtime.agree(Ok(()))
        }
    });
    let expected = "task 2: rank 0 reads s1 (40) f64, written by `add`, \
                    rank 1 exchanges elements u32 with other ranks";
    check_parts(2, expected, |runtime| {
        let y = &ramp() + 1.0;
        if runtime.rank() == 0 {
            y.to_vec().map(drop)
        } else {
            Exchange::gather(runtime, Some(&[0, 20, 40]), &[7]).map(drop)
        }
    });
}

#[test]
fn ranks_that_have_parted_are_told_again_and_do_not_wait() {
    let expected = "task 2: rank 0 reads a store () f64 that was written before, \
                    rank 1 asks whether all ranks have succeeded";
    check_parts(2, expected, |runtime| {
        // No reduction, so the ranks ask each other when it is read.
        let number = Scalar::new(1.0);
        runtime.flush();
        let outcome = match runtime.rank() {
            0 => number.get().map(drop),
            _ => runtime.agree(Ok(())),
        };
        assert_eq!(number.get().map(drop), outcome);
        assert_eq!(runtime.agree(Ok(())), outcome);
        assert_eq!((&ramp() + 1.0).sum().get().map(drop), outcome);
        outcome
    });
}

#[test]
fn eager_operations_are_named() {
    let a = "(9) u64, (22) u32, (22) f64";
    let expected = format!(
        "task 2: rank 0 runs `spgemm` eagerly of {a}, {a}, rank 1 runs `transpose` eagerly of {a}"
    );
    check_parts(3, &expected, |runtime| {
        let a = gallery::poisson1d::<f64>(8)?;
        if runtime.rank() == 0 {
            a.try_matmul(&a).map(drop)
        } else {
            a.transpose().map(drop)
        }
    });
    // The window before it counts, too.
    let expected = "task 2: rank 0 runs `assemble` eagerly, rank 1 issues `sum` of \
                    s1 (40) f64, s2 () f64";
    check_parts(2, expected, |runtime| {
        let y = &ramp() + 1.0;
        if runtime.rank() == 0 {
            drop(y);
            gallery::poisson1d::<f64>(8).map(drop)
        } else {
            y.sum().get().map(drop)
        }
    });
}

#[test]
fn a_handle_that_only_one_rank_keeps_is_named() {
    let expected = "task 4: rank 0 still holds s0 (40) f64, s1 (40) f64, s2 () f64, \
                    rank 1 still holds s0 (40) f64, s2 () f64";
    check_parts(2, expected, |runtime| {
        let x = ramp();
        let y = &x + 1.0;
        let sum = y.sum();
        let kept = (runtime.rank() == 0).then_some(y);
        let value = sum.get();
        drop((kept, x));
        value.map(drop)
    });
}

#[test]
fn a_solver_whose_limits_differ_is_caught_where_it_stops() {
    let told = Mutex::new(Vec::new());
    let outcome = run_ranks(2, &config(), |runtime| {
        let a = gallery::poisson2d::<f64>(8)?;
        let b = &a * &Vector::ones([64]);
        let max_iter = Some(5 + runtime.rank());
        let options = Options {
            max_iter,
            ..Options::default()
        };
        let solution = cg_with(&a, &b, options);
        told.lock()
            .unwrap()
            .push(solution.as_ref().err().map(ToString::to_string));
        solution.map(drop)
    });
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("they diverge at task"), "{text}");
    assert_eq!(told.into_inner().unwrap(), vec![Some(text); 2]);
}

#[test]
fn ranks_that_do_the_same_are_left_alone() {
    let sums = run_ranks(3, &config(), |_| {
        let x = ramp();
        // What is not a number may have any bits.
        let y = &x * f64::NAN;
        drop(y);
        let sum = (&x * 2.0).sum();
        Ok::<_, Error>((x.to_vec()?.len(), sum.get()?))
    });
    for sum in sums.unwrap() {
        assert_eq!(sum.unwrap(), (40, 1560.0));
    }
}
