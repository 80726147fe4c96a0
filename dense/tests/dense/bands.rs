//! Sweeps of a stencil on arrays beyond the L2 cache, which run in bands by default: the bits of
//! plain loops, and what `explain` says.

use sparsefuse_dense::{Array, Error};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::{bits, everywhere_with};

const ROWS: usize = 301;
const COLUMNS: usize = 517;
const SWEEPS: usize = 12;

fn elements() -> Vec<f64> {
    let indices = 0..ROWS * COLUMNS;
    indices.map(|i| (i as f64 * 0.37).sin()).collect()
}

/// Sweeps in place, whose boundary takes part: its columns follow the inner ones, its first row the
/// row below.
fn sweeps() -> Result<Array<f64, 2>, Error> {
    let mut u = Array::from_shape_vec([ROWS, COLUMNS], elements())?;
    let (rows, columns) = (1..ROWS - 1, 1..COLUMNS - 1);
    for _ in 0..SWEEPS {
        let above = u.slice((..ROWS - 2, columns.clone()));
        let below = u.slice((2.., columns.clone()));
        let left = u.slice((rows.clone(), ..COLUMNS - 2));
        let right = u.slice((rows.clone(), 2..));
        let mean = (above + below + left + right) * 0.25;
        u.assign_slice((rows.clone(), columns.clone()), &mean);
        u.assign_slice((rows.clone(), ..1), mean.slice((.., COLUMNS - 3..)));
        u.assign_slice((..1, columns.clone()), mean.slice((..1, ..)));
    }
    Ok(u)
}

fn plain() -> Vec<f64> {
    let mut u = elements();
    let at = |i: usize, j: usize| i * COLUMNS + j;
    for _ in 0..SWEEPS {
        let old = u.clone();
        for i in 1..ROWS - 1 {
            for j in 1..COLUMNS - 1 {
                let sum = old[at(i - 1, j)] + old[at(i + 1, j)];
                let sum = sum + old[at(i, j - 1)] + old[at(i, j + 1)];
                u[at(i, j)] = sum * 0.25;
            }
            u[at(i, 0)] = u[at(i, COLUMNS - 2)];
        }
        for j in 1..COLUMNS - 1 {
            u[at(0, j)] = u[at(1, j)];
        }
    }
    u
}

#[test]
fn sweeps_have_the_bits_of_plain_loops() {
    let expected = bits(&plain());
    let run = || sweeps()?.to_vec().map(|found| bits(&found));
    assert!(everywhere_with(&Config::default(), run) == expected);
}

#[test]
fn sweeps_run_in_bands_by_default() {
    for threads in [1, 2, 3] {
        let config = |band_threshold: usize| Config {
            threads,
            band_threshold,
            ..Config::default()
        };
        let explained = |config: Config| {
            let runtime = Runtime::new(config).unwrap();
            runtime.enter(|| {
                let u = sweeps().unwrap();
                assert!(
                    bits(&u.to_vec().unwrap()) == bits(&plain()),
                    "{threads} threads"
                );
                runtime.explain()
            })
        };
        let explanation = explained(config(Config::default().band_threshold));
        let expected = format!("rows behind, on {threads} threads");
        assert!(explanation.contains("run in bands of "), "{explanation}");
        assert!(explanation.contains(&expected), "{explanation}");
        let explanation = explained(config(usize::MAX));
        assert!(!explanation.contains("run in bands of "), "{explanation}");
    }
}
