//! Bodies that attract each other.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "n_body",
    title: "Bodies that attract each other",
    help: "  d2x(i)/dt2 = sum over j of m (x(j) - x(i)) / (|x(j) - x(i)|^2 + e^2)^(3/2)\n\n\
           for N bodies of mass m = 1 / N, e = 0.05. At the begin they rest in the unit cube, at the \
           fractional parts of (i a, i b, i c), a = 0.8191725134, b = 0.6710436067, \
           c = 0.5497004779. A step is one of the leapfrog method with dt = 0.01: half a step of the \
           velocities, one of the places, half a step of the velocities with the new forces. The \
           result is the 3 x N array of the places.\n\n\
           Checked: the momentum stays 0, the energy of 6 bodies or more changes by less than a \
           hundredth: by up to 0.0023 at about 50 steps, when the cloud has fallen together and the steps are coarsest for it.",
    size: (1000, 2, "bodies"),
    steps: 40,
    choices: &[],
    array_bytes: |n| 8.0 * n * n,
    arrays: 4,
};

const SOFTENING: f64 = 0.05;
const DT: f64 = 0.01;
/// Fewer bodies meet too closely for this step.
const FEW: usize = 6;
const RATIOS: [f64; 3] = [0.8191725134, 0.6710436067, 0.5497004779];

/// A number for each body, in each of three dimensions.
type Vectors = [Vector<f64>; 3];

/// The differences of all bodies (columns) from all bodies (rows), and their squared distances,
/// softened.
fn differences(places: &Vectors) -> ([Array<f64, 2>; 3], Array<f64, 2>) {
    let between = |x: &Vector<f64>| x.insert_axis(0) - x.insert_axis(1);
    let d = places.each_ref().map(between);
    let square = d[0].square() + d[1].square() + d[2].square() + SOFTENING * SOFTENING;
    (d, square)
}

fn forces(places: &Vectors) -> Vectors {
    let mass = 1.0 / places[0].len() as f64;
    let (d, square) = differences(places);
    let pull = mass / (&square * square.sqrt());
    d.map(|d| (d * &pull).sum_axis(1))
}

/// Kinetic and potential energy.
fn energy(places: &Vectors, velocities: &Vectors) -> Scalar<f64> {
    let n = places[0].len() as f64;
    let [u, v, w] = velocities.each_ref().map(|v| v.sum_of_squares());
    let (_, square) = differences(places);
    // Each pair twice, and each body with itself.
    let pairs = square.sqrt().recip().sum() - n / SOFTENING;
    (u + v + w) * (0.5 / n) - pairs * (0.5 / (n * n))
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let mut x: Vectors = RATIOS.map(|ratio| Vector::<f64>::arange(n) * ratio % 1.0);
    let mut v: Vectors = std::array::from_fn(|_| Vector::zeros([n]));
    let begin = energy(&x, &v);
    let mut force = forces(&x);
    for _ in run.steps() {
        for k in 0..3 {
            v[k] += &force[k] * (0.5 * DT);
            x[k] += &v[k] * DT;
        }
        force = forces(&x);
        for k in 0..3 {
            v[k] += &force[k] * (0.5 * DT);
        }
    }
    let momentum = v.each_ref().map(|v| v.mean()).map(|p| p.abs());
    let momentum = momentum[0].maximum(&momentum[1]).maximum(&momentum[2]);
    run.check("momentum", momentum.get()?, 1e-12);
    let change = (energy(&x, &v) / begin - 1.0).abs();
    if n >= FEW {
        run.check("change of the energy, relative", change.get()?, 1e-2);
    }
    let mut places = Array::zeros([3, n]);
    for (k, x) in x.iter().enumerate() {
        places.assign_slice((k..=k, ..), x.insert_axis(0));
    }
    run.result("places", &places)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
