//! Slices that are assigned again and again: with new versions of their arrays, with parts that are
//! copied or left out, and where other handles still see the old elements, all bits are those of
//! tasks that run one after the other.

use sparsefuse::prelude::*;
use sparsefuse::runtime::Config;
use sparsefuse_testing::{everywhere_with, small};
use std::cell::Cell;
use std::ops::Range;

/// Random numbers of a seed.
struct Draws(Cell<u64>);

impl Draws {
    fn below(&self, n: usize) -> usize {
        let next = self.0.get().wrapping_mul(6_364_136_223_846_793_005) + 1;
        self.0.set(next);
        (next >> 33) as usize % n
    }

    fn is_one_of(&self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// How far the box that is written is from either side of each dimension.
type Margins<const D: usize> = [[usize; 2]; D];

fn shifted<const D: usize>(
    field: &Array<f64, D>,
    margins: &Margins<D>,
    by: [isize; D],
) -> Array<f64, D> {
    let dims = field.shape();
    let range = |d: usize| -> Range<usize> {
        let [low, high] = margins[d];
        low.wrapping_add_signed(by[d])..(dims[d] - high).wrapping_add_signed(by[d])
    };
    field.slice(std::array::from_fn::<_, D, _>(range))
}

/// A sum of neighbours.
fn sum<const D: usize>(
    fields: &[Array<f64, D>],
    of: usize,
    margins: &Margins<D>,
    draws: &Draws,
) -> Array<f64, D> {
    let neighbour = || {
        let by = std::array::from_fn(|d| {
            let [low, high] = margins[d];
            draws.below(low + high + 1) as isize - low as isize
        });
        shifted(&fields[of], margins, by)
    };
    let mut sum = neighbour() * 0.25;
    for _ in 0..draws.below(4) {
        sum += neighbour();
    }
    if draws.is_one_of(3) {
        sum -= shifted(&fields[draws.below(fields.len())], margins, [0; D]);
    }
    sum * 0.5
}

/// Assigns the box, and often lines at its sides.
fn assign<const D: usize>(
    field: &mut Array<f64, D>,
    margins: &Margins<D>,
    value: &Array<f64, D>,
    draws: &Draws,
) {
    let dims = field.shape();
    let inner = |d: usize| margins[d][0]..dims[d] - margins[d][1];
    field.assign_slice(std::array::from_fn::<_, D, _>(inner), value);
    for d in 0..D {
        if margins[d][0] > 0 && draws.is_one_of(2) {
            let side: [Range<usize>; D] =
                std::array::from_fn(|e| if e == d { 0..1 } else { inner(e) });
            let len = value.shape()[d];
            let first = if draws.is_one_of(2) { 0 } else { len - 1 };
            let of_value: [Range<usize>; D] = std::array::from_fn(|e| {
                if e == d {
                    first..first + 1
                } else {
                    0..value.shape()[e]
                }
            });
            field.assign_slice(side, value.slice(of_value));
        }
    }
}

fn program<const D: usize>(seed: usize) -> Result<Vec<u64>, Error> {
    let draws = Draws(Cell::new(seed as u64));
    let dims: [usize; D] = std::array::from_fn(|_| 5 + draws.below(if D == 2 { 25 } else { 6 }));
    let mut fields: Vec<Array<f64, D>> = (0..2)
        .map(|number| Array::random_uniform(dims, number))
        .collect();
    let mut held = Vec::new();
    let mut margins = [[1; 2]; D];
    for _ in 0..3 + draws.below(8) {
        if draws.is_one_of(3) {
            margins = std::array::from_fn(|_| [draws.below(3), draws.below(3)]);
        }
        let (of, to) = (draws.below(2), draws.below(2));
        let value = sum(&fields, of, &margins, &draws);
        if draws.is_one_of(4) {
            held.push(fields[to].clone());
        }
        let other = draws
            .is_one_of(3)
            .then(|| sum(&fields, to, &margins, &draws));
        assign(&mut fields[to], &margins, &value, &draws);
        if let Some(other) = other {
            assign(&mut fields[1 - to], &margins, &other, &draws);
        }
        if draws.is_one_of(5) {
            held.push(value);
        }
        if draws.is_one_of(6) {
            fields[0].runtime().flush();
        }
        if draws.is_one_of(6) {
            held.clear();
        }
    }
    fields.extend(held);
    let mut bits = Vec::new();
    for field in fields {
        let elements = field.ravel().to_vec()?;
        bits.extend(elements.iter().map(|element| element.to_bits()));
    }
    Ok(bits)
}

fn check<const D: usize>(base: &Config, seeds: Range<usize>) {
    for seed in seeds {
        everywhere_with(base, || program::<D>(seed));
    }
}

#[test]
fn random_sweeps_of_planes() {
    check::<2>(&small(), 0..12);
}

#[test]
fn random_sweeps_of_cubes() {
    check::<3>(&small(), 0..8);
}

#[test]
fn random_sweeps_in_bands() {
    let bands = Config {
        band_threshold: 0,
        ..small()
    };
    check::<2>(&bands, 12..20);
    check::<3>(&bands, 8..12);
}

/// What `explain` says of sweeps in a window, on each rank.
fn explained(ranks: usize, sweeps: usize) -> Vec<String> {
    let found = run_ranks(ranks, &small(), |runtime| {
        let n = 40;
        let mut p = Array::<f64, 2>::random_uniform([n, n], 1);
        runtime.flush();
        let margins = [[1; 2]; 2];
        for _ in 0..sweeps {
            let near = [[0, 1], [0, -1], [1, 0], [-1, 0]];
            let mut near = near.map(|by| shifted(&p, &margins, by)).into_iter();
            let first = near.next().expect("there are four");
            let mean = near.fold(first, |sum, next| sum + next) * 0.25;
            let m = n - 2;
            p.assign_slice((1..=m, 1..=m), &mean);
            p.assign_slice((1..=m, ..1), mean.slice((.., m - 1..)));
            p.assign_slice((1..=m, m + 1..), mean.slice((.., ..1)));
            p.assign_slice((..1, 1..=m), mean.slice((..1, ..)));
            p.assign_slice((m + 1.., 1..=m), mean.slice((m - 1.., ..)));
        }
        runtime.flush();
        runtime.explain()
    });
    found.expect("the sweeps run")
}

/// Twelve sweeps go from one array to another and back, and copy the corners twice.
#[test]
fn sweeps_go_to_and_fro_between_two_arrays() {
    let explain = explained(1, 12).remove(0);
    let count = |text: &str| explain.matches(text).count();
    assert_eq!(count(" becomes "), 1, "{explain}");
    assert_eq!(count(" gets memory "), 1, "{explain}");
    // A sweep and four sides, and the corners of the first two.
    assert_eq!(count("  loop d"), 12 * 5 + 2 * 4, "{explain}");
}

/// On several ranks, too, where a group has as many sweeps as fit into the room around a rank's
/// rows.
#[test]
fn sweeps_go_to_and_fro_on_ranks() {
    for (ranks, sweeps) in [(2, 4), (3, 3)] {
        for explain in explained(ranks, sweeps) {
            let count = |text: &str| explain.matches(text).count();
            assert_eq!(count("\ngroup "), 1, "{explain}");
            assert_eq!(count(" becomes "), 1, "{explain}");
            // The second sweep writes to the memory of the array itself, the third one to that of
            // the first.
            assert_eq!(count(" gets memory "), 1, "{explain}");
            assert_eq!(count(" takes over "), sweeps - 1, "{explain}");
        }
    }
}
