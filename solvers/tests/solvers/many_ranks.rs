//! What ranks do side by side while they follow one another: the same bits on any number of them.

use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_kernels::random;
use sparsefuse_runtime::{Config, Error, run_ranks};
use sparsefuse_solvers::multigrid::Multigrid;
use sparsefuse_solvers::preconditioners::{Ic0, Ilu0, Sor, SorOptions, SorOrder, SorSweep};
use sparsefuse_solvers::{LinearOperator, Preconditioner};
use sparsefuse_sparse::{Csr, gallery};
use sparsefuse_testing::{bits, small};

/// What a program returns, the same on up to thirteen ranks.
#[track_caller]
fn on_ranks<T: Field>(program: impl Fn() -> Result<Vec<T>, Error> + Sync) -> Vec<T> {
    let mut expected: Option<Vec<T>> = None;
    for ranks in [1, 2, 3, 5, 8, 13] {
        let threads = 1 + ranks % 3;
        let config = Config { threads, ..small() };
        for outcome in run_ranks(ranks, &config, |_| program()).expect("the ranks run") {
            let found = outcome.expect("the program runs");
            let expected = expected.get_or_insert_with(|| found.clone());
            assert!(bits(&found) == bits(expected), "{ranks} ranks");
        }
    }
    expected.expect("it has run")
}

/// A number from -1 to 1.
fn number(seed: u64, i: usize) -> f64 {
    2.0 * random::uniform(seed, i as u64) - 1.0
}

/// A graph whose nodes have neighbours anywhere, its structure symmetric or not, with a dominant
/// diagonal.
fn scattered(n: usize, per_row: usize, is_symmetric: bool) -> Result<Csr<f64>, Error> {
    let mut entries = Vec::new();
    for i in 0..n {
        entries.push((i, i, 4.0 * per_row as f64));
        for k in 0..per_row {
            let j = ((number(3, i * per_row + k) + 1.0) / 2.0 * n as f64) as usize % n;
            entries.push((i, j, -1.0));
            if is_symmetric {
                entries.push((j, i, -1.0));
            }
        }
    }
    Csr::from_entries(n, n, entries)
}

type Graph = fn() -> Result<Csr<f64>, Error>;

#[test]
fn aggregates_are_a_function_of_the_graph() {
    let matrices: [Graph; 5] = [
        || gallery::poisson2d(19),
        || gallery::poisson3d(7),
        || gallery::poisson1d(200),
        || scattered(300, 2, true),
        || scattered(300, 1, false),
    ];
    for matrix in matrices {
        on_ranks(|| {
            let a = matrix()?;
            let multigrid = Multigrid::aggregated(&a)?;
            let rows: Vec<f64> = multigrid
                .levels()
                .map(|(n_rows, _)| n_rows as f64)
                .collect();
            let r = Vector::from_fn([a.n_rows()], |[i]| number(5, i));
            Ok([rows, multigrid.apply(&r)?.to_vec()?].concat())
        });
    }
}

/// A dense block among rows of a line, and a column that all rows have.
fn with_block<T: Field>(n: usize, block: usize) -> Result<Csr<T>, Error> {
    let mut entries = Vec::new();
    for i in 0..n {
        entries.push((i, i, T::from_parts(3.0 * block as f64 + number(1, i), 0.25)));
        for j in (0..n).filter(|&j| j + 1 == i || j == i + 1 || j == n / 2) {
            entries.push((
                i,
                j,
                T::from_parts(number(2, i * n + j), number(7, i * n + j)),
            ));
        }
        let is_in_block = |i: usize| i % 7 == 3 && i / 7 < block;
        for j in (0..n).filter(|&j| is_in_block(i) && is_in_block(j) && i != j) {
            entries.push((
                i,
                j,
                T::from_parts(number(4, i * n + j), number(8, i * n + j)),
            ));
        }
    }
    Csr::from_entries(n, n, entries)
}

const SWEEPS: [SorSweep; 3] = [SorSweep::Forward, SorSweep::Backward, SorSweep::Symmetric];

/// x after the sweeps, as array code makes it: color by color, all rows of one together.
fn swept<T: Field>(
    a: &Csr<T>,
    options: SorOptions,
    b: &[T],
    mut x: Option<Vec<T>>,
) -> Result<Vec<T>, Error> {
    let (rows, n) = (a.to_rows()?, a.n_rows());
    let entries = |i: usize| rows.pos[i] as usize..rows.pos[i + 1] as usize;
    let mut neighbours = vec![Vec::new(); n];
    for i in 0..n {
        for k in entries(i) {
            neighbours[i].push(rows.crd[k] as usize);
            neighbours[rows.crd[k] as usize].push(i);
        }
    }
    let mut colors: Vec<usize> = Vec::new();
    for i in 0..n {
        let is_free = |color: &usize| {
            let mut before = neighbours[i].iter().filter(|&&j| j < i);
            before.all(|&j| colors[j] != *color)
        };
        colors.push((0..).find(is_free).unwrap());
    }
    let n_colors = 1 + *colors.iter().max().unwrap();
    let all = 0..n_colors;
    let order: Vec<usize> = match options.sweep {
        SorSweep::Backward => all.rev().collect(),
        SorSweep::Symmetric => {
            let again = all.clone().rev().skip(usize::from(options.omega == 1.0));
            all.chain(again).collect()
        }
        _ => all.collect(),
    };
    for color in (0..options.sweeps).flat_map(|_| order.iter()) {
        let factor = |i: usize| {
            let diagonal = entries(i).find(|&k| rows.crd[k] as usize == i).unwrap();
            T::from_f64(options.omega).over(rows.vals[diagonal])
        };
        let relaxed = |i: usize| {
            let factor = factor(i);
            let Some(x) = &x else {
                return factor * b[i];
            };
            let product = entries(i).fold(T::ZERO, |sum, k| {
                (factor * rows.vals[k]).times_plus(x[rows.crd[k] as usize], sum)
            });
            x[i] + factor * b[i] - product
        };
        let before = |i: usize| x.as_ref().map_or(T::ZERO, |x| x[i]);
        let next = |i: usize| {
            if colors[i] == *color {
                relaxed(i)
            } else {
                before(i)
            }
        };
        x = Some((0..n).map(next).collect());
    }
    Ok(x.unwrap())
}

fn check_many_colors<T: Field>() {
    const N: usize = 160;
    let b: Vec<T> = (0..N)
        .map(|i| T::from_parts(number(6, i), number(9, i)))
        .collect();
    for (sweep, omega) in SWEEPS.into_iter().zip([1.0, 1.3, 1.0]) {
        let options = SorOptions {
            omega,
            sweep,
            sweeps: 2,
            order: SorOrder::Multicolor,
        };
        let found = on_ranks(|| {
            let a = with_block::<T>(N, 14)?;
            let mut sor = Sor::new(&a, options)?;
            assert!(sor.colors().is_some_and(|colors| colors >= 14));
            let b = Vector::from_vec(b.clone());
            let applied = sor.apply(&b)?.to_vec()?;
            let smoothed = sor.smooth(&b, b.slice(..))?.to_vec()?;
            sor.update(&a.scale(T::from_f64(0.5)))?;
            let updated = sor.apply(&b)?.to_vec()?;
            let afresh = Sor::new(&a.scale(T::from_f64(0.5)), options)?;
            assert!(bits(&updated) == bits(&afresh.apply(&b)?.to_vec()?));
            Ok([applied, smoothed].concat())
        });
        let a = with_block::<T>(N, 14).unwrap();
        let applied = swept(&a, options, &b, None).unwrap();
        let smoothed = swept(&a, options, &b, Some(b.clone())).unwrap();
        assert!(
            bits(&found) == bits(&[applied, smoothed].concat()),
            "{sweep:?}"
        );
    }
}

#[test]
fn many_colors_are_relaxed_as_few() {
    check_many_colors::<f64>();
    check_many_colors::<num_complex::Complex<f32>>();
}

/// Dense blocks on a diagonal, as many as `BLOCKS`, whose rows are spread over all ranks.
fn with_blocks(n: usize) -> Result<Csr<f64>, Error> {
    let mut entries = Vec::new();
    for i in 0..n {
        for j in (i % BLOCKS..n).step_by(BLOCKS).filter(|&j| j != i) {
            entries.push((i, j, number(2, i * n + j)));
        }
        entries.push((i, i, n as f64));
    }
    Csr::from_entries(n, n, entries)
}

const BLOCKS: usize = 10;

#[test]
fn many_colors_spread_what_is_infinite_as_one_rank_does() {
    const N: usize = 12 * BLOCKS;
    // In the middle of a block, among its first rows, in its last one.
    let strange = [
        (63, f64::INFINITY),
        (15, f64::NAN),
        (6, -f64::INFINITY),
        (118, f64::INFINITY),
    ];
    let is_strange = |i: usize| strange.iter().any(|(of, _)| of % BLOCKS == i % BLOCKS);
    for (sweep, sweeps) in SWEEPS.into_iter().zip([1, 1, 2]) {
        let options = SorOptions {
            sweep,
            sweeps,
            omega: 1.2,
            order: SorOrder::Multicolor,
        };
        let found = on_ranks(|| {
            let sor = Sor::new(&with_blocks(N)?, options)?;
            assert_eq!(sor.colors(), Some(12));
            let mut b: Vec<f64> = (0..N).map(|i| number(6, i)).collect();
            for (i, value) in strange {
                b[i] = value;
            }
            let b = Vector::from_vec(b);
            let smoothed = sor.smooth(&b, Vector::ones([N]))?.to_vec()?;
            let begun = sor.smooth(&Vector::ones([N]), b.slice(..))?.to_vec()?;
            Ok([sor.apply(&b)?.to_vec()?, smoothed, begun].concat())
        });
        let (applied, rest) = found.split_at(N);
        for (i, x) in applied.iter().enumerate() {
            let is_first = sweep == SorSweep::Forward && i < BLOCKS && i != 6;
            let is_last = sweep == SorSweep::Backward && i >= N - BLOCKS && i != 118;
            assert_eq!(x.is_finite(), !is_strange(i) || is_first || is_last, "{i}");
        }
        assert!((0..2 * N).all(|i| is_strange(i) || rest[i].is_finite()));
    }
}

#[test]
fn what_fails_before_a_sweep_with_many_colors_fails_in_it() {
    for ranks in [1, 2, 5] {
        let outcomes = run_ranks(ranks, &small(), |_| {
            let options = SorOptions {
                order: SorOrder::Multicolor,
                ..SorOptions::default()
            };
            let sor = Sor::new(&with_block::<f64>(100, 12)?, options)?;
            let b = Vector::<f64>::ones([100]);
            let wrong = b.take(&Vector::from_fn([100], |[i]| if i == 77 { 100 } else { 0 }));
            let refused = sor.apply(&wrong)?.to_vec().unwrap_err().to_string();
            assert!(sor.apply(&b)?.to_vec().is_ok());
            Ok::<_, Error>(refused)
        });
        for refused in outcomes.unwrap() {
            let refused = refused.unwrap();
            assert!(refused.contains("100 at position 77"), "{refused}");
        }
    }
}

/// A row and a column that are full, first or last, around a diagonal: with the first, what an
/// elimination drops is all but the diagonal.
fn arrow(n: usize, hub: usize) -> Result<Csr<f64>, Error> {
    let mut entries = vec![(hub, hub, n as f64)];
    for i in (0..n).filter(|&i| i != hub) {
        entries.push((i, i, 3.0 + number(1, i)));
        entries.push((i, hub, number(2, i)));
        entries.push((hub, i, number(2, i)));
        // Some have more entries, in an order of their own.
        if i % 5 == 0 && i + 9 < n && i + 9 != hub {
            entries.push((i, i + 9, 0.5));
            entries.push((i + 9, i, 0.5));
        }
    }
    Csr::from_entries(n, n, entries)
}

/// ILU(0) of a matrix, applied to b, row by row without any shortcut.
fn ilu_applied(a: &Csr<f64>, b: &[f64]) -> Result<Vec<f64>, Error> {
    let (mut rows, n) = (a.to_rows()?, a.n_rows());
    let entries = |pos: &[u64], i: usize| pos[i] as usize..pos[i + 1] as usize;
    let place = |crd: &[u32], range: std::ops::Range<usize>, j: usize| {
        let found = crd[range.clone()].binary_search(&(j as u32)).ok();
        found.map(|place| range.start + place)
    };
    for i in 0..n {
        for k in entries(&rows.pos, i) {
            let pivot = rows.crd[k] as usize;
            if pivot >= i {
                break;
            }
            let of_pivot = entries(&rows.pos, pivot);
            let diagonal = place(&rows.crd, of_pivot.clone(), pivot).unwrap();
            rows.vals[k] *= 1.0 / rows.vals[diagonal];
            for other in diagonal + 1..of_pivot.end {
                let column = rows.crd[other] as usize;
                if let Some(at) = place(&rows.crd, entries(&rows.pos, i), column) {
                    rows.vals[at] -= rows.vals[k] * rows.vals[other];
                }
            }
        }
    }
    let mut x = b.to_vec();
    for i in 0..n {
        for k in entries(&rows.pos, i).take_while(|&k| (rows.crd[k] as usize) < i) {
            x[i] -= rows.vals[k] * x[rows.crd[k] as usize];
        }
    }
    for i in (0..n).rev() {
        let upper = entries(&rows.pos, i).rev();
        for k in upper.take_while(|&k| rows.crd[k] as usize > i) {
            x[i] -= rows.vals[k] * x[rows.crd[k] as usize];
        }
        let diagonal = place(&rows.crd, entries(&rows.pos, i), i).unwrap();
        x[i] /= rows.vals[diagonal];
    }
    Ok(x)
}

#[test]
fn full_rows_are_eliminated_as_others() {
    const N: usize = 1200;
    for hub in [0, N / 3, N - 1] {
        let b: Vec<f64> = (0..N).map(|i| number(6, i)).collect();
        let found = on_ranks(|| {
            let a = arrow(N, hub)?;
            let b = Vector::from_vec(b.clone());
            let general = Ilu0::new(&a)?.apply(&b)?.to_vec()?;
            Ok([general, Ic0::new(&a)?.apply(&b)?.to_vec()?].concat())
        });
        let expected = ilu_applied(&arrow(N, hub).unwrap(), &b).unwrap();
        // Of a symmetric matrix both have the same factors.
        for (found, expected) in found.iter().zip(expected.iter().cycle()) {
            let error = (found - expected).abs();
            assert!(error < 1e-12 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }
}

/// 4e10 steps, if each row went through the whole of the first.
#[test]
fn a_full_row_costs_what_the_others_have() {
    let a = arrow(200_000, 0).unwrap();
    let made = Ilu0::new(&a).unwrap();
    assert!(made.apply(&Vector::ones([200_000])).is_ok());
}
