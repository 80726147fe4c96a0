//! A chain of atoms that a laser drives: the quantum simulation of Legate Sparse's paper.

use num_complex::Complex;
use sparsefuse::prelude::*;
use sparsefuse::solvers::ode::{IvpOptions, Scheme, solve_ivp};
use sparsefuse::sparse::LocalRows;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "rydberg",
    title: "A chain of Rydberg atoms that is driven to its largest independent set",
    help: "  i y' = (X / 2 - delta(t) n) y\n\n\
           for a chain of N atoms, of which neighbours are never both excited (the blockade): the \
           states are the sets of atoms without neighbours, y has the amplitude of each. X leads from \
           a set to those with one atom more or less, n is the number of atoms in the set, and the \
           detuning delta rises from -3 to 3 in the course of the steps, 0.5 units of time each. At \
           the begin no atom is excited. A step is an integration by DOP853 with rtol 1e-8 and atol \
           1e-10. The result is |y|^2, the probability of each set, in the order of the sets as \
           binary numbers.\n\n\
           Checked: the probabilities stay 1 in sum.",
    size: (22, 1, "atoms: there are about 1.17 * 1.618^N sets"),
    steps: 40,
    choices: &[],
    array_bytes: |n| 16.0 * 1.17 * 1.618_f64.powf(n.min(90.0)),
    arrays: 60,
};

type C64 = Complex<f64>;

/// The time of a step.
const STEP: f64 = 0.5;
/// The detuning goes from minus this to this.
const DETUNING: f64 = 3.0;

/// The sets of atoms of a chain without neighbours, as bits, in ascending order.
fn independent_sets(atoms: usize) -> Vec<u64> {
    let mut sets = vec![0];
    for atom in 0..atoms {
        // With this atom, and so without the one before it.
        let has_none_before = |set: &u64| atom == 0 || set >> (atom - 1) & 1 == 0;
        let with = sets.iter().copied().filter(has_none_before);
        let with: Vec<u64> = with.map(|set| set | 1 << atom).collect();
        sets.extend(with);
    }
    sets
}

/// The sets that differ from one by one atom, in ascending order.
fn neighbours(set: u64, atoms: usize) -> impl Iterator<Item = u64> {
    let has = move |atom: &usize| set >> atom & 1 == 1;
    let may_have = move |atom: &usize| (set | set << 1 | set >> 1) >> atom & 1 == 0;
    let fewer = (0..atoms).rev().filter(has);
    let more = (0..atoms).filter(may_have);
    fewer.chain(more).map(move |atom| set ^ 1 << atom)
}

/// X: each rank makes its rows.
fn flips(sets: &[u64], atoms: usize) -> Result<Csr<C64>, Error> {
    Csr::from_rows(sets.len(), sets.len(), |rows| {
        let mut made = LocalRows {
            pos: vec![0],
            crd: Vec::new(),
            vals: Vec::new(),
        };
        for &set in &sets[rows] {
            let places = neighbours(set, atoms).filter_map(|other| sets.binary_search(&other).ok());
            made.crd.extend(places.map(|place| place as u32));
            made.pos.push(made.crd.len() as u64);
        }
        made.vals = vec![C64::ONE; made.crd.len()];
        made
    })
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let sets = independent_sets(run.size);
    let n = sets.len();
    let drive = flips(&sets, run.size)? * C64::new(0.0, -0.5);
    let excited = Vector::from_fn([n], |[i]| C64::new(0.0, f64::from(sets[i].count_ones())));
    let end = STEP * run.n_steps() as f64;
    let slope = |t: f64, y: &Vector<C64>| {
        let delta = DETUNING * (2.0 * t / end - 1.0);
        Ok(&drive * y + &excited * y * C64::from(delta))
    };
    let mut y = Vector::from_fn([n], |[i]| C64::from(if i == 0 { 1.0 } else { 0.0 }));
    let mut evaluations = 0;
    for step in run.steps() {
        let options = IvpOptions {
            scheme: Scheme::Dop853,
            rtol: 1e-8,
            atol: 1e-10,
            ..IvpOptions::default()
        };
        let t = STEP * step as f64;
        let solved = solve_ivp(slope, (t, t + STEP), &y, options)?;
        evaluations += solved.evaluations;
        y = solved.y;
    }
    let probabilities = y.abs().square();
    let total = probabilities.sum().get()?;
    run.check("|sum of the probabilities - 1|", (total - 1.0).abs(), 1e-6);
    let numbers = Vector::from_fn([n], |[i]| f64::from(sets[i].count_ones()));
    run.show("excited atoms", numbers.dot(&probabilities).get()?);
    run.show(
        "evaluations a step",
        evaluations as f64 / run.n_steps() as f64,
    );
    run.result("probabilities", &probabilities)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
