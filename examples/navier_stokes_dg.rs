//! A viscous gas: the compressible Navier-Stokes equations by the discontinuous Galerkin method.

mod gas;
mod quadrilaterals;

use gas::{State, flux, through_faces};
use quadrilaterals::{Axis, DEGREES, Field, Mesh, check_order, runge_kutta};
use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::f64::consts::{PI, TAU};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "navier_stokes_dg",
    title: "The flow of a viscous gas by the discontinuous Galerkin method",
    help: "The Euler equations (see euler_dg) with viscous stress, conduction of heat, a force and a \
           sink of energy:\n  \
             dr/dt + div (r w)                                   = 0\n  \
             d(r w)/dt + div (r w w^T + p - S)                   = f\n  \
             de/dt + div ((e + p) w - S w - K grad T)            = g\n\n\
           with w = (u, v), S = M (grad w + (grad w)^T - 2/3 div w), p = r T = 0.4 (e - r |w|^2 / 2), \
           the viscosity M = 0.01 and K = 3.5 M / 0.72. Elements, points and the flux of Euler's part \
           are those of euler_dg; gradients and the viscous flux take the mean of both sides at the \
           faces (Bassi and Rebay). A step is one of the classical Runge-Kutta method of order 4 with \
           dt = min(0.1 / q, 35 / q^2), q = N (2 k + 1). The result is the momentum r u, an array of \
           elements (row by row), points in y, points in x.\n\n\
           With s = sin(2 pi (x + y - 2 t)) the exact solution is r = p = 1, u = 1 + s, v = 1 - s: a \
           force f = 8 pi^2 M (s, -s) keeps the shear wave that viscosity damps, and \
           g = 16 pi^2 M (2 s^2 - 1) takes away the heat. Checked: the mass stays; and where \
           N k >= 48, t >= 0.1 and the error is 1e-10 or more, the order of convergence, which the \
           error at the same time on (N / 2)^2 elements tells: at least k.",
    size: (16, 4, "elements along each side"),
    steps: 150,
    choices: &[DEGREES],
    array_bytes: |n| 8.0 * 16.0 * n * n,
    arrays: 200,
};

const VISCOSITY: f64 = 0.01;
const CONDUCTIVITY: f64 = 3.5 * VISCOSITY / 0.72;

/// What the program knows of the square, and the wave at the begin.
struct Gas {
    mesh: Mesh,
    sin: Field,
    cos: Field,
}

impl Gas {
    fn new(n: usize, degree: usize) -> Self {
        let mesh = Mesh::new(n, degree);
        let sin = mesh.field(|x, y| (TAU * (x + y)).sin());
        let cos = mesh.field(|x, y| (TAU * (x + y)).cos());
        Self { mesh, sin, cos }
    }

    /// sin(2 pi (x + y - 2 t)).
    fn wave(&self, time: f64) -> Field {
        let (sin, cos) = (2.0 * TAU * time).sin_cos();
        &self.sin * cos - &self.cos * sin
    }

    fn exact(&self, time: f64) -> State {
        let s = self.wave(time);
        let energy = s.square() + (1.0 + 1.0 / 0.4);
        [Array::ones(s.shape()), &s + 1.0, 1.0 - s, energy]
    }

    /// The derivative of a field that is the mean of both sides at the faces.
    fn gradient(&self, q: &Field, axis: Axis) -> Field {
        let right = self.mesh.next(&self.mesh.first(q, axis), axis);
        let mean = (self.mesh.last(q, axis) + right) * 0.5;
        -self.mesh.change(q, &mean, axis)
    }

    /// The viscous fluxes along x and along y, but for that of the density, which is none.
    fn viscous(&self, [r, m, n, e]: &State) -> [[Field; 3]; 2] {
        let (u, v) = (m / r, n / r);
        let temperature = (e - (m * &u + n * &v) * 0.5) * 0.4 / r;
        let [u_x, v_x, t_x] = [&u, &v, &temperature].map(|q| self.gradient(q, Axis::X));
        let [u_y, v_y, t_y] = [&u, &v, &temperature].map(|q| self.gradient(q, Axis::Y));
        let third = (&u_x + &v_y) * (2.0 / 3.0);
        let s_xx = (u_x * 2.0 - &third) * VISCOSITY;
        let s_yy = (v_y * 2.0 - &third) * VISCOSITY;
        let s_xy = (u_y + v_x) * VISCOSITY;
        let work_x = &u * &s_xx + &v * &s_xy + t_x * CONDUCTIVITY;
        let work_y = u * &s_xy + v * &s_yy + t_y * CONDUCTIVITY;
        [[s_xx, s_xy.clone(), work_x], [s_xy, s_yy, work_y]]
    }

    /// What flows along an axis changes per time.
    fn along(&self, state: &State, viscous: &[Field; 3], axis: Axis) -> State {
        let mesh = &self.mesh;
        let (f, _) = flux(state, axis);
        let star = through_faces(mesh, state, axis);
        std::array::from_fn(|k| match k {
            0 => mesh.change(&f[k], &star[k], axis),
            _ => {
                let viscous = &viscous[k - 1];
                let right = mesh.next(&mesh.first(viscous, axis), axis);
                let mean = (mesh.last(viscous, axis) + right) * 0.5;
                mesh.change(&(&f[k] - viscous), &(&star[k] - mean), axis)
            }
        })
    }

    fn rate(&self, state: &State, time: f64) -> State {
        let [viscous_x, viscous_y] = self.viscous(state);
        let in_x = self.along(state, &viscous_x, Axis::X);
        let in_y = self.along(state, &viscous_y, Axis::Y);
        let s = self.wave(time);
        let force = &s * (8.0 * PI * PI * VISCOSITY);
        let heat = (s.square() * 2.0 - 1.0) * (16.0 * PI * PI * VISCOSITY);
        let [r, m, n, e] = std::array::from_fn(|k| &in_x[k] + &in_y[k]);
        [r, m + &force, n - force, e + heat]
    }

    /// A step from a time.
    fn step(&self, state: &State, time: f64, dt: f64) -> State {
        runge_kutta(state, dt, |state, passed| self.rate(state, time + passed))
    }

    /// The distance (L2) from the exact momentum at a time.
    fn error(&self, state: &State, time: f64) -> Result<f64, Error> {
        let [_, exact, ..] = self.exact(time);
        let error = self.mesh.integral(&(&state[1] - exact).square());
        error.sqrt().get()
    }
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let degree: usize = run.choice("degree").parse().unwrap_or(3);
    let q = (run.size * (2 * degree + 1)) as f64;
    let dt = (0.1 / q).min(35.0 / (q * q));
    let gas = Gas::new(run.size, degree);
    let mut state = gas.exact(0.0);
    for step in run.steps() {
        state = gas.step(&state, step as f64 * dt, dt);
    }
    let time = dt * run.n_steps() as f64;
    let fine = gas.error(&state, time)?;
    let mass = gas.mesh.integral(&state[0]).get()?;
    run.check("change of the mass", (mass - 1.0).abs(), 1e-13);
    run.result("r u", &state[1])?;

    let gas = Gas::new(run.size / 2, degree);
    let mut state = gas.exact(0.0);
    for step in 0..run.n_steps() {
        state = gas.step(&state, step as f64 * dt, dt);
        run.runtime.flush();
    }
    let coarse = gas.error(&state, time)?;
    check_order(run, degree, time, [coarse, fine]);
    Ok(())
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
