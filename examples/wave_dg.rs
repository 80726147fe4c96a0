//! Sound waves by the discontinuous Galerkin method.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Choice, Run};
use std::f64::consts::{PI, TAU};
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
           Checked: the energy does not grow; and where N k is 48 or more, that the order of \
           convergence, which the error at the same time on (N / 2)^2 elements tells, is at least \
           k + 1/2.",
    size: (32, 4, "elements along each side"),
    steps: 200,
    choices: &[Choice {
        name: "degree",
        values: &["3", "1", "2", "4"],
        help: "The degree of the polynomials",
    }],
    array_bytes: |n| 8.0 * 16.0 * n * n,
    arrays: 60,
};

/// A polynomial in each element: elements, points in y, points in x.
type Field = Array<f64, 3>;

/// Pressure, velocity in x, velocity in y.
type State = [Field; 3];

#[derive(Clone, Copy)]
enum Axis {
    Y = 1,
    X = 2,
}

/// The points of Gauss and Lobatto on [-1, 1] and their weights.
fn lobatto(degree: usize) -> (Vec<f64>, Vec<f64>) {
    let (a, b) = (0.2f64.sqrt(), (3.0 / 7.0f64).sqrt());
    match degree {
        1 => (vec![-1.0, 1.0], vec![1.0, 1.0]),
        2 => (vec![-1.0, 0.0, 1.0], vec![1.0 / 3.0, 4.0 / 3.0, 1.0 / 3.0]),
        3 => (
            vec![-1.0, -a, a, 1.0],
            [1.0, 5.0, 5.0, 1.0].map(|w| w / 6.0).to_vec(),
        ),
        _ => (
            vec![-1.0, -b, 0.0, b, 1.0],
            [9.0, 49.0, 64.0, 49.0, 9.0].map(|w| w / 90.0).to_vec(),
        ),
    }
}

/// The derivative at the i-th point of the polynomial that is 1 at the j-th and 0 at the others.
fn derivative(x: &[f64], i: usize, j: usize) -> f64 {
    let others = |k: usize| (0..x.len()).filter(move |&m| m != k);
    if i == j {
        return others(i).map(|m| 1.0 / (x[i] - x[m])).sum();
    }
    let product = |k: usize| -> f64 { others(k).map(|m| x[k] - x[m]).product() };
    product(i) / (product(j) * (x[i] - x[j]))
}

/// The elements, and what is the same in all of them.
struct Mesh {
    n: usize,
    /// Derivatives with respect to x or y: at points (rows), of values (columns).
    d: Array<f64, 2>,
    /// What a difference at the first face, and at the last, is to its point.
    lift: [Vector<f64>; 2],
    /// The weights of the points of an element, whose sum is its area.
    weights: Field,
    x: Vec<f64>,
    /// The elements after each in y and in x, and those before.
    next: [Vector<i64>; 2],
    previous: [Vector<i64>; 2],
}

impl Mesh {
    fn new(n: usize, degree: usize) -> Self {
        let (x, w) = lobatto(degree);
        let points = x.len();
        let scale = 2.0 * n as f64;
        let end = |at: usize| {
            let value = |[k]: [usize; 1]| if k == at { scale / w[k] } else { 0.0 };
            Vector::from_fn([points], value)
        };
        // The element that is so many rows and columns further, periodic.
        let element = Vector::<i64>::arange(n * n);
        let (row, column) = (&element / n as i64, &element % n as i64);
        let size = n as i64;
        let at = |rows: i64, columns: i64| {
            (&row + (rows + size)) % size * size + (&column + (columns + size)) % size
        };
        Self {
            n,
            d: Array::from_fn([points; 2], |[i, j]| scale * derivative(&x, i, j)),
            lift: [end(0), end(points - 1)],
            weights: Array::from_fn([1, points, points], |[_, i, j]| {
                w[i] * w[j] / (scale * scale)
            }),
            next: [at(1, 0), at(0, 1)],
            previous: [at(-1, 0), at(0, -1)],
            x,
        }
    }

    /// A function of x and y at all points.
    fn field(&self, value: impl Fn(f64, f64) -> f64) -> Field {
        let (n, points) = (self.n, self.x.len());
        let place = |element: usize, point: usize| {
            (element as f64 + (self.x[point] + 1.0) / 2.0) / n as f64
        };
        Array::from_fn([n * n, points, points], |[e, i, j]| {
            value(place(e % n, j), place(e / n, i))
        })
    }

    /// The derivative of all polynomials.
    fn derivative(&self, q: &Field, axis: Axis) -> Field {
        let d = self.d.insert_axis(0);
        match axis {
            Axis::X => (q.insert_axis(2) * d.insert_axis(0)).sum_axis(3),
            Axis::Y => (q.insert_axis(1) * d.insert_axis(3)).sum_axis(2),
        }
    }

    /// What differences at the first and at the last faces along an axis are to the points.
    fn lifted(&self, first: &Array<f64, 2>, last: &Array<f64, 2>, axis: Axis) -> Field {
        let along = |lift: &Vector<f64>| match axis {
            Axis::X => lift.insert_axis(0).insert_axis(0),
            Axis::Y => lift.insert_axis(0).insert_axis(2),
        };
        let axis = axis as usize;
        first.insert_axis(axis) * along(&self.lift[0])
            + last.insert_axis(axis) * along(&self.lift[1])
    }

    /// What the waves along an axis change per time: pressure, and velocity along the axis.
    fn change(&self, p: &Field, u: &Field, axis: Axis) -> [Field; 2] {
        let last = self.x.len() - 1;
        let (next, previous) = (
            &self.next[axis as usize - 1],
            &self.previous[axis as usize - 1],
        );
        let at = |q: &Field, point: usize| q.index_axis(axis as usize, point);
        let ([p_first, p_last], [u_first, u_last]) =
            ([at(p, 0), at(p, last)], [at(u, 0), at(u, last)]);
        // At the last face of each element, and at the first.
        let (p_right, u_right) = (p_first.take_axis(0, next), u_first.take_axis(0, next));
        let p_star = (&p_last + &p_right + &u_last - &u_right) * 0.5;
        let u_star = (&u_last + &u_right + &p_last - &p_right) * 0.5;
        let (p_before, u_before) = (p_star.take_axis(0, previous), u_star.take_axis(0, previous));
        let lifted_p = self.lifted(&(u_before - u_first), &(u_last - u_star), axis);
        let lifted_u = self.lifted(&(p_before - p_first), &(p_last - p_star), axis);
        [
            lifted_p - self.derivative(u, axis),
            lifted_u - self.derivative(p, axis),
        ]
    }

    /// What changes per time.
    fn rate(&self, [p, u, v]: &State) -> State {
        let [p_x, u_x] = self.change(p, u, Axis::X);
        let [p_y, v_y] = self.change(p, v, Axis::Y);
        [p_x + p_y, u_x, v_y]
    }

    /// A step of the classical Runge-Kutta method.
    fn step(&self, state: &State, dt: f64) -> State {
        let plus =
            |rate: &State, dt: f64| -> State { std::array::from_fn(|k| &state[k] + &rate[k] * dt) };
        let first = self.rate(state);
        let second = self.rate(&plus(&first, dt / 2.0));
        let third = self.rate(&plus(&second, dt / 2.0));
        let fourth = self.rate(&plus(&third, dt));
        let sum = |k: usize| &first[k] + (&second[k] + &third[k]) * 2.0 + &fourth[k];
        std::array::from_fn(|k| &state[k] + sum(k) * (dt / 6.0))
    }

    fn at_rest(&self) -> State {
        let p = self.field(|x, y| (TAU * x).cos() * (TAU * y).cos());
        let zero = Array::zeros(p.shape());
        [p, zero.clone(), zero]
    }

    fn energy(&self, state: &State) -> Scalar<f64> {
        let [p, u, v] = state.each_ref().map(|q| (q.square() * &self.weights).sum());
        (p + u + v) * 0.5
    }

    /// The mean distance (L2) from the exact pressure at a time.
    fn error(&self, p: &Field, time: f64) -> Scalar<f64> {
        let phase = (2.0 * PI * 2f64.sqrt() * time).cos();
        let exact = self.field(|x, y| (TAU * x).cos() * (TAU * y).cos() * phase);
        ((p - exact).square() * &self.weights).sum().sqrt()
    }
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let degree: usize = run.choice("degree").parse().unwrap_or(3);
    let dt = 0.2 / (run.size * (2 * degree + 1)) as f64;
    let mesh = Mesh::new(run.size, degree);
    let mut state = mesh.at_rest();
    let energy = mesh.energy(&state);
    for _ in run.steps() {
        state = mesh.step(&state, dt);
    }
    let time = dt * run.n_steps() as f64;
    let error = mesh.error(&state[0], time).get()?;
    run.show("time", time);
    run.show("error", error);
    let growth = mesh.energy(&state) / energy - 1.0;
    run.check("growth of the energy, relative", growth.get()?, 1e-13);

    let coarse = Mesh::new(run.size / 2, degree);
    let mut on_coarse = coarse.at_rest();
    for _ in 0..run.n_steps() {
        on_coarse = coarse.step(&on_coarse, dt);
        run.runtime.flush();
    }
    // On the sides as they are if N is odd.
    let ratio = run.size as f64 / (run.size / 2) as f64;
    let order = (coarse.error(&on_coarse[0], time).get()? / error).log(ratio);
    run.show("order of convergence", order);
    if run.size * degree >= 48 {
        run.check(
            "degree + 1/2 less the order",
            degree as f64 + 0.5 - order,
            0.0,
        );
    }
    run.result("p", &state[0])
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
