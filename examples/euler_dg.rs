//! A wave in a gas that flows: the Euler equations by the discontinuous Galerkin method.

mod gas;
mod quadrilaterals;

use gas::{State, flux, through_faces};
use quadrilaterals::{Axis, DEGREES, Mesh, check_order, runge_kutta};
use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::f64::consts::TAU;
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "euler_dg",
    title: "The flow of a gas by the discontinuous Galerkin method",
    help: "  dr/dt + d(r u)/dx         + d(r v)/dy         = 0     (density r)\n  \
             dm/dt + d(m u + p)/dx     + d(m v)/dy         = 0     (momentum m = r u)\n  \
             dn/dt + d(n u)/dx         + d(n v + p)/dy     = 0     (momentum n = r v)\n  \
             de/dt + d((e + p) u)/dx   + d((e + p) v)/dy   = 0     (energy e)\n\n\
           with the pressure p = 0.4 (e - r (u^2 + v^2) / 2), on N x N square elements of the periodic \
           unit square. In each, all are polynomials of degree k in x and in y, given at the \
           (k + 1)^2 Gauss-Lobatto points, which are the points of integration too. Through the \
           faces flows\n  \
             (F(L) + F(R)) / 2 - c (R - L) / 2,     c = the larger of |u| + sqrt(1.4 p / r)\n\
           (Rusanov). A step is one of the classical Runge-Kutta method of order 4 with \
           dt = 0.1 / (N (2 k + 1)). The result is r, an array of elements (row by row), points in \
           y, points in x.\n\n\
           The exact solution is r = 1 + sin(2 pi (x + y - 2 t)) / 5, u = v = p = 1. Checked: the \
           mass and the energy stay; and where N k >= 48, t >= 0.1 and the error is 1e-10 or more, \
           the order of convergence, which the error at the same time on (N / 2)^2 elements tells: \
           at least k.",
    size: (24, 4, "elements along each side"),
    steps: 200,
    choices: &[DEGREES],
    array_bytes: |n| 8.0 * 16.0 * n * n,
    arrays: 120,
};

fn exact(mesh: &Mesh, time: f64) -> State {
    let density = mesh.field(|x, y| 1.0 + 0.2 * (TAU * (x + y - 2.0 * time)).sin());
    let energy = &density + 1.0 / 0.4;
    [density.clone(), density.clone(), density, energy]
}

/// What flows along an axis changes per time.
fn along(mesh: &Mesh, state: &State, axis: Axis) -> State {
    let (f, _) = flux(state, axis);
    let star = through_faces(mesh, state, axis);
    std::array::from_fn(|k| mesh.change(&f[k], &star[k], axis))
}

fn rate(mesh: &Mesh, state: &State) -> State {
    let (in_x, in_y) = (along(mesh, state, Axis::X), along(mesh, state, Axis::Y));
    std::array::from_fn(|k| &in_x[k] + &in_y[k])
}

fn step(mesh: &Mesh, state: &State, dt: f64) -> State {
    runge_kutta(state, dt, |state, _| rate(mesh, state))
}

/// The distance (L2) from the exact density at a time.
fn error(mesh: &Mesh, state: &State, time: f64) -> Result<f64, Error> {
    let [density, ..] = exact(mesh, time);
    mesh.integral(&(&state[0] - density).square()).sqrt().get()
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let degree: usize = run.choice("degree").parse().unwrap_or(3);
    let dt = 0.1 / (run.size * (2 * degree + 1)) as f64;
    let mesh = Mesh::new(run.size, degree);
    let mut state = exact(&mesh, 0.0);
    let begin = [0, 3].map(|k| mesh.integral(&state[k]));
    for _ in run.steps() {
        state = step(&mesh, &state, dt);
    }
    let time = dt * run.n_steps() as f64;
    let fine = error(&mesh, &state, time)?;
    let change = |k: usize, begin: &Scalar<f64>| (mesh.integral(&state[k]) / begin - 1.0).abs();
    run.check("change of the mass", change(0, &begin[0]).get()?, 1e-13);
    run.check("change of the energy", change(3, &begin[1]).get()?, 1e-13);
    run.result("r", &state[0])?;

    let mesh = Mesh::new(run.size / 2, degree);
    let mut state = exact(&mesh, 0.0);
    for _ in 0..run.n_steps() {
        state = step(&mesh, &state, dt);
        run.runtime.flush();
    }
    let coarse = error(&mesh, &state, time)?;
    check_order(run, degree, time, [coarse, fine]);
    Ok(())
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
