//! The flow of a viscous fluid between two plates, driven by a force: Navier-Stokes in two
//! dimensions, with a Poisson equation for the pressure.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "channel_flow",
    title: "The flow between two plates, by the Navier-Stokes equations",
    help: "  du/dt + u du/dx + v du/dy = -1/rho dp/dx + nu (d2u/dx2 + d2u/dy2) + F\n  \
             dv/dt + u dv/dx + v dv/dy = -1/rho dp/dy + nu (d2v/dx2 + d2v/dy2)\n\n\
           on N x N points of a square of side 2, one spacing h = 2 / (N - 1) apart, row by row from \
           the lower plate (y = 0) to the upper one (y = 2). In x the flow is periodic: the first \
           column follows the last one. At the plates u = v = 0 and dp/dy = 0. rho = 1, nu = 0.1, \
           F = 1; at the begin all fields are 0.\n\n\
           A step is as long as dt = min(0.01, 0.2 h^2 / nu). It makes 50 Jacobi sweeps of the \
           equation of the pressure, whose right-hand side keeps div (u, v) at 0, beginning with the \
           pressure of the last step; then it advances u and v, with differences against the flow \
           for the advection (Lorena Barba's \"CFD Python\", step 12). The result is u.\n\n\
           The flow is the same in each half, which is checked: u(y) = u(2 - y). After a long time it \
           is u = F y (2 - y) / (2 nu), at most 5.",
    size: (128, 3, "points along each side of the square"),
    steps: 200,
    choices: &[],
    array_bytes: |n| 8.0 * n * n,
    arrays: 8,
};

const DENSITY: f64 = 1.0;
const VISCOSITY: f64 = 0.1;
const FORCE: f64 = 1.0;
const SWEEPS: usize = 50;

/// A field on the points, with a column more at either side: a copy of that of the other side.
type Field = Array<f64, 2>;

pub(crate) struct Flow {
    u: Field,
    v: Field,
    p: Field,
    /// The spacing of the points.
    h: f64,
    dt: f64,
}

/// The points that are `row` rows and `column` columns away from the inner ones.
fn at(field: &Field, row: isize, column: isize) -> Field {
    let [rows, columns] = field.shape();
    let shifted = |by: isize, len: usize| (1 + by) as usize..(len as isize - 1 + by) as usize;
    field.slice((shifted(row, rows), shifted(column, columns)))
}

/// Gives the inner points new values.
fn assign(field: &mut Field, inner: &Field) {
    let [rows, columns] = inner.shape();
    field.assign_slice((1..=rows, 1..=columns), inner);
    field.assign_slice((1..=rows, ..1), inner.slice((.., columns - 1..)));
    field.assign_slice((1..=rows, columns + 1..), inner.slice((.., ..1)));
}

impl Flow {
    /// A flow with these velocities between the plates, on N x N points.
    pub(crate) fn new(n: usize, u: &Field, v: &Field) -> Self {
        let h = 2.0 / (n - 1) as f64;
        let mut flow = Self {
            u: Array::zeros([n, n + 2]),
            v: Array::zeros([n, n + 2]),
            p: Array::zeros([n, n + 2]),
            h,
            dt: (0.2 * h * h / VISCOSITY).min(0.01),
        };
        assign(&mut flow.u, u);
        assign(&mut flow.v, v);
        flow
    }

    /// The velocity along the plates.
    pub(crate) fn u(&self) -> Field {
        let n = self.u.shape()[0];
        self.u.slice((.., 1..=n))
    }

    pub(crate) fn step(&mut self) {
        let runtime = self.p.runtime().clone();
        let region = runtime.region("pressure");
        let b = self.divergence_to_remove() * (0.25 * self.h * self.h);
        for _ in 0..SWEEPS {
            self.sweep(&b);
        }
        drop(region);
        let _region = runtime.region("velocity");
        let (dt, h) = (self.dt, self.h);
        let push_x = (at(&self.p, 0, 1) - at(&self.p, 0, -1)) * (dt / (2.0 * DENSITY * h));
        let push_y = (at(&self.p, 1, 0) - at(&self.p, -1, 0)) * (dt / (2.0 * DENSITY * h));
        let u = self.advected(&self.u) - push_x + FORCE * dt;
        let v = self.advected(&self.v) - push_y;
        assign(&mut self.u, &u);
        assign(&mut self.v, &v);
    }

    /// The right-hand side of the equation of the pressure.
    fn divergence_to_remove(&self) -> Field {
        let scale = 1.0 / (2.0 * self.h);
        let du_dx = (at(&self.u, 0, 1) - at(&self.u, 0, -1)) * scale;
        let du_dy = (at(&self.u, 1, 0) - at(&self.u, -1, 0)) * scale;
        let dv_dx = (at(&self.v, 0, 1) - at(&self.v, 0, -1)) * scale;
        let dv_dy = (at(&self.v, 1, 0) - at(&self.v, -1, 0)) * scale;
        let divergence = (&du_dx + &dv_dy) / self.dt;
        (divergence - &du_dx * &du_dx - du_dy * dv_dx * 2.0 - &dv_dy * &dv_dy) * DENSITY
    }

    /// A Jacobi sweep of the equation of the pressure; `b` is its right-hand side times h^2 / 4.
    fn sweep(&mut self, b: &Field) {
        let p = &self.p;
        let neighbours = at(p, 0, 1) + at(p, 0, -1) + at(p, 1, 0) + at(p, -1, 0);
        let inner = neighbours * 0.25 - b;
        let [rows, columns] = inner.shape();
        assign(&mut self.p, &inner);
        // At the plates dp/dy = 0.
        self.p
            .assign_slice((..1, 1..=columns), inner.slice((..1, ..)));
        self.p
            .assign_slice((rows + 1.., 1..=columns), inner.slice((rows - 1.., ..)));
    }

    /// What flows with the fluid and spreads by its viscosity, a step later.
    fn advected(&self, field: &Field) -> Field {
        let (dt, h) = (self.dt, self.h);
        let here = at(field, 0, 0);
        let along_x = at(&self.u, 0, 0) * (&here - at(field, 0, -1));
        let along_y = at(&self.v, 0, 0) * (&here - at(field, -1, 0));
        let neighbours = at(field, 0, 1) + at(field, 0, -1) + at(field, 1, 0) + at(field, -1, 0);
        let spread = (neighbours - &here * 4.0) * (VISCOSITY * dt / (h * h));
        here - (along_x + along_y) * (dt / h) + spread
    }
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let rest = Array::zeros([n - 2, n]);
    let mut flow = Flow::new(n, &rest, &rest);
    for _ in run.steps() {
        flow.step();
    }
    let u = flow.u();
    let asymmetry = (&u - u.flip(0)).norm_inf().get()?;
    run.check("|u(y) - u(2 - y)|", asymmetry, 1e-12);
    run.check(
        "the largest velocity",
        u.max().get()?,
        FORCE / (2.0 * VISCOSITY),
    );
    run.result("u", &u)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
