//! Sound waves by the discontinuous Galerkin method.

mod quadrilaterals;

use quadrilaterals::{Axis, DEGREES, Field, Mesh, check_order, runge_kutta};
use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::f64::consts::TAU;
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "wave_dg",
    title: "Sound waves by the discontinuous Galerkin method",
    help: "  dp/dt + du/dx + dv/dy = 0,     du/dt + dp/dx = 0,     dv/dt + dp/dy = 0\n\n\
           on N x N square elements of the periodic unit square. In each, p, u and v are polynomials \
           of degree k in x and in y, given at the (k + 1)^2 Gauss-Lobatto points, which are the \
           points of integration too. At the faces the flux is the upwind one,\n  \
             p* = (pL + pR + uL - uR) / 2,     u* = (uL + uR + pL - pR) / 2,\n\
           in y with v. A step is one of the classical Runge-Kutta method of order 4 with \
           dt = 0.2 / (N (2 k + 1)). The result is p, an array of elements (row by row), points in \
           y, points in x.\n\n\
           The exact solution is p = cos(2 pi x) cos(2 pi y) cos(w t), w = 2 pi sqrt(2), from rest. \
           Checked: the energy does not grow; and where N k >= 48, t >= 0.1 and the error is 1e-10 \
           or more, the order of convergence, which the error at the same time on (N / 2)^2 elements \
           tells: at least k.",
    size: (32, 4, "elements along each side"),
    steps: 200,
    choices: &[DEGREES],
    array_bytes: |n| 8.0 * 16.0 * n * n,
    arrays: 60,
};

/// Pressure, velocity in x, velocity in y.
type State = [Field; 3];

fn at_rest(mesh: &Mesh) -> State {
    let p = mesh.field(|x, y| (TAU * x).cos() * (TAU * y).cos());
    let zero = Array::zeros(p.shape());
    [p, zero.clone(), zero]
}

/// What the waves along an axis change per time: the pressure, and the velocity along the axis.
fn along(mesh: &Mesh, p: &Field, u: &Field, axis: Axis) -> [Field; 2] {
    let (p_left, u_left) = (mesh.last(p, axis), mesh.last(u, axis));
    let p_right = mesh.next(&mesh.first(p, axis), axis);
    let u_right = mesh.next(&mesh.first(u, axis), axis);
    let p_star = (&p_left + &p_right + &u_left - &u_right) * 0.5;
    let u_star = (u_left + u_right + p_left - p_right) * 0.5;
    [mesh.change(u, &u_star, axis), mesh.change(p, &p_star, axis)]
}

fn rate(mesh: &Mesh, [p, u, v]: &State) -> State {
    let [p_x, u_x] = along(mesh, p, u, Axis::X);
    let [p_y, v_y] = along(mesh, p, v, Axis::Y);
    [p_x + p_y, u_x, v_y]
}

fn step(mesh: &Mesh, state: &State, dt: f64) -> State {
    runge_kutta(state, dt, |state, _| rate(mesh, state))
}

fn energy(mesh: &Mesh, [p, u, v]: &State) -> Scalar<f64> {
    mesh.integral(&(p.square() + u.square() + v.square())) * 0.5
}

/// The distance (L2) from the exact pressure at a time.
fn error(mesh: &Mesh, [p, _, _]: &State, time: f64) -> Result<f64, Error> {
    let phase = (TAU * 2f64.sqrt() * time).cos();
    let exact = mesh.field(|x, y| (TAU * x).cos() * (TAU * y).cos() * phase);
    mesh.integral(&(p - exact).square()).sqrt().get()
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let degree: usize = run.choice("degree").parse().unwrap_or(3);
    let dt = 0.2 / (run.size * (2 * degree + 1)) as f64;
    let mesh = Mesh::new(run.size, degree);
    let mut state = at_rest(&mesh);
    let begin = energy(&mesh, &state);
    for _ in run.steps() {
        state = step(&mesh, &state, dt);
    }
    let time = dt * run.n_steps() as f64;
    let fine = error(&mesh, &state, time)?;
    let growth = energy(&mesh, &state) / begin - 1.0;
    run.check("growth of the energy, relative", growth.get()?, 1e-13);
    run.result("p", &state[0])?;

    let mesh = Mesh::new(run.size / 2, degree);
    let mut state = at_rest(&mesh);
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
