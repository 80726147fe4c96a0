//! Views that lie elsewhere in each step of a program, whose windows are analysed once: the same
//! bits everywhere, and as from a model.

use sparsefuse_dense::{Array, Error, Rounds, Vector, step};
use sparsefuse_runtime::{Config, Runtime, run_ranks};
use sparsefuse_testing::{bits, everywhere, everywhere_with, small};
use std::cell::Cell;

const ROWS: usize = 24;
const COLUMNS: usize = 10;

/// What a program holds.
struct Held {
    /// A record, of which each step writes another part.
    record: Array<f64, 2>,
    /// What is only read, and what is made anew by each step.
    table: Array<f64, 2>,
    made: Array<f64, 2>,
    row: Vector<f64>,
    cube: Array<f64, 3>,
}

fn held() -> Held {
    let grid = |n: usize, m: usize, by: f64| {
        let values = (0..n * m).map(|i| (i as f64 * by).sin()).collect();
        Array::from_shape_vec([n, m], values)
    };
    Held {
        record: grid(ROWS, COLUMNS, 0.37).expect("as many values as elements"),
        table: grid(ROWS, COLUMNS, 0.73).expect("as many values as elements"),
        made: grid(ROWS, COLUMNS, 1.37).expect("as many values as elements"),
        row: Vector::linspace(0.0, 1.0, COLUMNS),
        cube: Array::ones([4, 5, 6]),
    }
}

/// One of the things that a step does, in step `t`.
fn act(held: &mut Held, number: usize, t: usize) -> Result<(), Error> {
    let Held {
        record,
        table,
        made,
        row,
        cube,
    } = held;
    let (at, column) = (t % (ROWS - 3), t % (COLUMNS - 2));
    match number {
        // A row of the record, from what is made anew.
        0 => record.assign_slice((at..at + 1, ..), made.slice((5..6, ..)) * 1.5),
        // From the row before, which the last step has written.
        1 => {
            let last = record.slice((at..at + 1, ..)) * 0.5;
            record.assign_slice((at + 1..at + 2, ..), last + 0.25);
        }
        // A row that moves beside one that stays.
        2 => *row = &*row * 0.5 + table.row(at) - table.row(3),
        // Columns, two that move at unlike speeds.
        3 => {
            let other = (2 * t) % (COLUMNS - 2);
            let sum = table.slice((.., column..column + 2)) + table.slice((.., other..other + 2));
            record.assign_slice((.., column..column + 2), sum);
        }
        // Rows in steps, and backwards.
        4 => {
            let rows = table.slice((step(at % 8..at % 8 + 16, 4), ..)) * 0.5;
            let back = table.slice((step(at % 8..at % 8 + 4, -1), ..));
            made.assign_slice((at % 8..at % 8 + 4, ..), rows + back);
        }
        // A transposed part.
        5 => {
            let part = record.slice((at % 14..at % 14 + COLUMNS, ..)).t();
            made.assign_slice((at % 14..at % 14 + COLUMNS, ..), part * 0.9);
        }
        // The same store in another shape, and whole.
        6 => {
            let flat = record.reshape([ROWS * COLUMNS]);
            *row = &*row + flat.slice(t..t + COLUMNS);
        }
        7 => *made = &*made * 0.9 + &*record * 0.1,
        // A host task.
        8 => *row = &*row * 0.5 + record.row(at).sort(),
        // Planes of a cube, along its last dimension.
        9 => {
            let plane = cube.slice((.., .., t % 5..t % 5 + 1)) * 0.5;
            cube.assign_slice((.., .., t % 5 + 1..t % 5 + 2), plane + 0.5);
        }
        // An element, and a sum that moves.
        10 => {
            let sum = table.slice((at..at + 3, ..)).sum();
            made.assign_slice((at..at + 1, column..column + 1), sum);
        }
        // Two parts of one store that overlap, each as far as the other from where they were.
        11 => {
            let part = record.slice((at..at + 2, ..)) * 0.25;
            record.assign_slice((at + 1..at + 3, ..), part);
        }
        // A product with rows that move.
        12 => {
            let products = table.slice((at..at + 3, ..)).matvec(&*row);
            *row = &*row * 0.5 + products.sum() * 0.01;
        }
        // Read after it has been dropped and made again.
        _ => *table = table.clone() * 1.0,
    }
    Ok(())
}

/// The bits of what is held in the end, after steps that do what `acts` says; every `asked` of them
/// a value is read, and every `other` of them the first thing is left out.
fn run(
    acts: &[usize],
    (asked, other): (usize, usize),
) -> Result<Vec<sparsefuse_kernels::Value>, Error> {
    let mut all = held();
    let mut sum = 0.0;
    for t in 0..30 {
        let skip = usize::from(t % other == other - 1);
        for &number in &acts[skip..] {
            act(&mut all, number, t)?;
        }
        if t % asked == 0 {
            sum += all.row.sum().get()?;
        }
    }
    let flat = [all.record, all.table, all.made].map(|array| array.ravel());
    let flat = Array::concatenate(
        0,
        &[&flat[0], &flat[1], &flat[2], &all.row, &all.cube.ravel()],
    );
    let mut found = flat.to_vec()?;
    found.push(sum);
    Ok(bits(&found))
}

#[test]
fn all_that_moves_gives_the_same_bits() {
    // Each thing alone, then some together.
    for number in 0..14 {
        everywhere(|| run(&[number], (1, 31)));
        everywhere(|| run(&[number], (7, 31)));
    }
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..24 {
        let acts: Vec<usize> = (0..2 + next(4)).map(|_| next(14) as usize).collect();
        let asked = [1, 2, 7, 30][next(4) as usize];
        let other = [2, 5, 31][next(3) as usize];
        everywhere(|| run(&acts, (asked, other)));
    }
}

/// Against plain loops, with rows that are longer than a tile.
#[test]
fn a_record_is_what_was_recorded() {
    let (steps, n) = (40, 1500);
    let program = || {
        let mut u = Vector::<f64>::linspace(0.0, 1.0, n);
        let mut record = Array::<f64, 2>::zeros([steps, n - 2]);
        let mut last = 0.0;
        for t in 0..steps {
            let mean = (u.slice(..n - 2) + u.slice(2..)) * 0.5;
            u.assign_slice(1..n - 1, &mean);
            u.assign_slice(t + 1..t + 2, 3.0);
            record.assign_slice((t..t + 1, ..), u.slice(1..n - 1).reshape([1, n - 2]));
            last = u.slice(t..t + 3).sum().get()?;
        }
        let mut found = record.ravel().to_vec()?;
        found.push(last);
        Ok(bits(&found))
    };
    let mut u: Vec<f64> = Vector::<f64>::linspace(0.0, 1.0, n)
        .to_vec()
        .expect("few elements");
    let mut expected = Vec::new();
    for t in 0..steps {
        let old = u.clone();
        (1..n - 1).for_each(|i| u[i] = (old[i - 1] + old[i + 1]) * 0.5);
        u[t + 1] = 3.0;
        expected.extend_from_slice(&u[1..n - 1]);
    }
    let parts = &u[steps - 1..steps + 2];
    expected.push(parts[0] + parts[1] + parts[2]);
    let found = everywhere_with(&Config::default(), program);
    assert_eq!(found.len(), expected.len());
    let recorded = steps * (n - 2);
    assert!(
        found[..recorded] == bits(&expected[..recorded]),
        "the record"
    );
    let last = everywhere(|| Ok(program()?[recorded]));
    assert_eq!(last, found[recorded], "the last sum");
}

/// How many windows each of a number of steps has analysed, on one rank.
fn analysed(config: &Config, steps: usize, act: impl Fn(&mut Held, usize) + Sync) -> Vec<u64> {
    let counts = run_ranks(1, config, |runtime: &Runtime| {
        let mut held = held();
        runtime.flush();
        let count = |t: usize| {
            act(&mut held, t);
            runtime.flush();
            let counters = runtime.counters();
            counters.windows - counters.trace_hits
        };
        (0..steps).map(count).collect::<Vec<u64>>()
    });
    let mut counts = counts.expect("one rank");
    let counts = counts.pop().expect("one rank");
    counts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_view_that_moves_is_analysed_once() {
    for fusion in [true, false] {
        let config = Config { fusion, ..small() };
        for number in [0, 1, 11, 12] {
            let new = analysed(&config, 20, |held, t| {
                act(held, number, t).expect("it does what it says");
            });
            assert_eq!(
                new[3..].iter().sum::<u64>(),
                0,
                "{number}, fusion {fusion}: {new:?}"
            );
        }
        // The distance to another view changes, or the program sees all of the store.
        let number = |number: usize| {
            let new = analysed(&config, 20, |held, t| {
                act(held, number, t).expect("it does what it says");
                act(held, 7, t).expect("it does what it says");
            });
            new[3..].iter().sum::<u64>()
        };
        assert_eq!(number(0), 17 - 1);
    }
}

/// A round that is done again would write where the last one has.
#[test]
fn rounds_that_move_are_issued() {
    let found = everywhere(|| {
        let mut state = (Array::<f64, 2>::zeros([12, 5]), Vector::<f64>::ones([5]));
        let (mut rounds, t) = (Rounds::new(), Cell::new(0));
        for number in 0..12 {
            t.set(number);
            rounds.run(&mut state, |(record, x)| {
                *x = &*x + 1.0;
                record.assign_slice((t.get()..t.get() + 1, ..), x.reshape([1, 5]));
                Ok::<(), Error>(())
            })?;
            state.1.runtime().flush();
        }
        Ok(bits(&state.0.column(4).to_vec()?))
    });
    let expected: Vec<f64> = (2..14).map(f64::from).collect();
    assert_eq!(found, bits(&expected));
}

/// What does not depend on a failure goes on, at the places of the window that runs.
#[test]
fn what_goes_on_after_a_failure_is_where_it_moved() {
    let (n, rows) = (40, 9);
    let found = everywhere(|| {
        let x = Vector::<f64>::linspace(1.0, 2.0, n);
        let table = Array::from_shape_vec([rows, n], vec![0.5; rows * n])?;
        let mut bad = x.clone();
        bad.put(&Vector::from_vec(vec![n as i64]), 1.0);
        let mut record = Array::<f64, 2>::zeros([rows, n]);
        let runtime = x.runtime().clone();
        runtime.flush();
        for t in 0..rows {
            let y = &bad + 1.0;
            record.assign_slice((t..t + 1, ..), x.reshape([1, n]) * (t + 1) as f64);
            let z = table.row(t) * &bad;
            let sum = (table.row(t) * &x).sum();
            runtime.flush();
            assert!(y.to_vec().is_err() && z.to_vec().is_err());
            assert!((sum.get()? - 30.0).abs() < 1e-12);
        }
        Ok(bits(&record.ravel().to_vec()?))
    });
    let x = Vector::<f64>::linspace(1.0, 2.0, n)
        .to_vec()
        .expect("few elements");
    let row = |t: usize| x.iter().map(move |x| x * (t + 1) as f64);
    let expected: Vec<f64> = (0..rows).flat_map(row).collect();
    assert_eq!(found, bits(&expected));
}
