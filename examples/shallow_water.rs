//! The shallow water equations: a dam breaks in the middle of a basin.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::ops::Range;
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "shallow_water",
    title: "A dam that breaks, by the shallow water equations",
    help: "  dh/dt  + d(hu)/dx                 + d(hv)/dy                 = 0\n  \
             dhu/dt + d(hu u + g h^2 / 2)/dx   + d(hu v)/dy               = 0\n  \
             dhv/dt + d(hv u)/dx               + d(hv v + g h^2 / 2)/dy   = 0\n\n\
           on N x N cells of the unit square, row by row (y), with g = 9.81. At the begin the water \
           rests, h = 2 where the centre of a cell is within 0.2 of the middle, else 1. At the walls \
           it is reflected.\n\n\
           Central-upwind finite volumes of second order (Kurganov and Petrova, as in TorchSWE): in \
           each cell h, hu and hv are linear, with the slope\n  \
             minmod(1.3 (q[i] - q[i-1]), (q[i+1] - q[i-1]) / 2, 1.3 (q[i+1] - q[i])),\n\
           and with the values L and R at either side of a face, a+ = max(uL + cL, uR + cR, 0), \
           a- = min(uL - cL, uR - cR, 0) and c = sqrt(g h) its flux is\n  \
             (a+ F(L) - a- F(R) + a+ a- (R - L)) / (a+ - a-).\n\
           A step is one of Heun's method (RK2), dt = 0.25 dx / max |a| over all faces of its first \
           stage; the program never waits for this number. The result is h.\n\n\
           Checked: the mass stays, the water is as high in x as in y, h > 0.",
    size: (256, 4, "cells along each side of the square"),
    steps: 200,
    choices: &[],
    array_bytes: |n| 8.0 * n * n,
    arrays: 20,
};

const GRAVITY: f64 = 9.81;
const COURANT: f64 = 0.25;
const THETA: f64 = 1.3;

type Field = Array<f64, 2>;

/// Height, and momentum in x and y.
type State = [Field; 3];

#[derive(Clone, Copy)]
enum Axis {
    Y,
    X,
}

fn dam(n: usize) -> State {
    let centre = (Vector::<f64>::arange(n) + 0.5) / n as f64 - 0.5;
    let square = centre.square();
    let distance = (square.insert_axis(0) + square.insert_axis(1)).sqrt();
    let height = distance.less_equal(0.2).select(2.0, 1.0);
    [height, Array::zeros([n, n]), Array::zeros([n, n])]
}

/// The cells of a range along an axis.
fn part(field: &Field, axis: Axis, range: Range<usize>) -> Field {
    match axis {
        Axis::Y => field.slice((range, ..)),
        Axis::X => field.slice((.., range)),
    }
}

/// The field with two cells more at either wall: those before the wall in opposite order, times
/// `sign`.
fn with_walls(field: &Field, axis: Axis, sign: f64) -> Field {
    let [rows, columns] = field.shape();
    let (shape, n) = match axis {
        Axis::Y => ([rows + 4, columns], rows),
        Axis::X => ([rows, columns + 4], columns),
    };
    let mut padded = Array::zeros(shape);
    let mut put = |at: Range<usize>, value: Field| match axis {
        Axis::Y => padded.assign_slice((at, ..), value),
        Axis::X => padded.assign_slice((.., at), value),
    };
    put(2..n + 2, field.clone());
    for (at, from) in [(0, 1), (1, 0), (n + 2, n - 1), (n + 3, n - 2)] {
        put(at..at + 1, part(field, axis, from..from + 1) * sign);
    }
    padded
}

/// The values of a padded field at both sides of each face along an axis.
fn at_faces(q: &Field, axis: Axis, n: usize) -> [Field; 2] {
    let below = part(q, axis, 1..n + 3) - part(q, axis, 0..n + 2);
    let above = part(q, axis, 2..n + 4) - part(q, axis, 1..n + 3);
    let middle = (&below + &above) * 0.5;
    let (below, above) = (below * THETA, above * THETA);
    let least = below.minimum(&above).minimum(&middle);
    let largest = below.maximum(&above).maximum(&middle);
    let half_slope = (least.maximum(0.0) + largest.minimum(0.0)) * 0.5;
    let left = part(q, axis, 1..n + 2) + part(&half_slope, axis, 0..n + 1);
    let right = part(q, axis, 2..n + 3) - part(&half_slope, axis, 1..n + 2);
    [left, right]
}

/// What flows along an axis out of each cell less what flows in, and the largest speed of a wave.
fn outflow(state: &State, axis: Axis) -> (State, Scalar<f64>) {
    // The momentum along the axis and the one across it.
    let (along, across) = match axis {
        Axis::Y => (2, 1),
        Axis::X => (1, 2),
    };
    let n = state[0].shape()[axis as usize];
    let faces = |k: usize, sign: f64| at_faces(&with_walls(&state[k], axis, sign), axis, n);
    let [h_left, h_right] = faces(0, 1.0);
    let [m_left, m_right] = faces(along, -1.0);
    let [t_left, t_right] = faces(across, 1.0);

    let (u_left, u_right) = (&m_left / &h_left, &m_right / &h_right);
    let c_left = (&h_left * GRAVITY).sqrt();
    let c_right = (&h_right * GRAVITY).sqrt();
    let fastest = (&u_left + &c_left)
        .maximum(&u_right + &c_right)
        .maximum(0.0);
    let slowest = (&u_left - &c_left)
        .minimum(&u_right - &c_right)
        .minimum(0.0);
    let width = &fastest - &slowest;
    let product = &fastest * &slowest;
    let flux = |f_left: &Field, f_right: &Field, left: &Field, right: &Field| {
        (&fastest * f_left - &slowest * f_right + &product * (right - left)) / &width
    };
    let pressure = |h: &Field| h * h * (0.5 * GRAVITY);
    let momentum_left = &m_left * &u_left + pressure(&h_left);
    let momentum_right = &m_right * &u_right + pressure(&h_right);
    let flux_h = flux(&m_left, &m_right, &h_left, &h_right);
    let flux_m = flux(&momentum_left, &momentum_right, &m_left, &m_right);
    let flux_t = flux(
        &(&t_left * &u_left),
        &(&t_right * &u_right),
        &t_left,
        &t_right,
    );

    let net = |flux: &Field| part(flux, axis, 1..n + 1) - part(flux, axis, 0..n);
    let mut out = [net(&flux_h), net(&flux_m), net(&flux_t)];
    if let Axis::Y = axis {
        out.swap(1, 2);
    }
    (out, fastest.maximum(-slowest).max())
}

/// Heun's method: the mean of the state and of two steps of Euler's.
fn step(state: &State) -> State {
    let (in_x, fastest_x) = outflow(state, Axis::X);
    let (in_y, fastest_y) = outflow(state, Axis::Y);
    // dt / dx, a scalar that has perhaps not been computed yet.
    let ratio = COURANT / fastest_x.maximum(&fastest_y);
    let euler = |q: &Field, in_x: &Field, in_y: &Field| q - (in_x + in_y) * &ratio;
    let first: State = std::array::from_fn(|k| euler(&state[k], &in_x[k], &in_y[k]));
    let (in_x, _) = outflow(&first, Axis::X);
    let (in_y, _) = outflow(&first, Axis::Y);
    std::array::from_fn(|k| (&state[k] + euler(&first[k], &in_x[k], &in_y[k])) * 0.5)
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let mut state = dam(run.size);
    let mass = state[0].mean();
    for _ in run.steps() {
        state = step(&state);
    }
    let [h, hu, hv] = state;
    let change = (h.mean() - &mass) / &mass;
    run.check("change of the mass", change.get()?.abs(), 1e-13);
    run.check("|h(x, y) - h(y, x)|", (&h - h.t()).norm_inf().get()?, 1e-11);
    run.check("the least height, negative", -h.min().get()?, 0.0);
    run.result("h", &h)?;
    run.result("hu", &hu)?;
    run.result("hv", &hv)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
