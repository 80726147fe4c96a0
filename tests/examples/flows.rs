//! Flows on planes beside loops over points and cells.

use crate::{channel_flow, check_result, everywhere, shallow_water};
use sparsefuse::dense::Array;

type Plane = Vec<Vec<f64>>;

/// The velocity along the plates after some steps.
fn channel(mut u: Plane, mut v: Plane, steps: usize) -> Vec<f64> {
    let n = u.len();
    let h = 2.0 / (n - 1) as f64;
    let (rho, nu, force) = (1.0, 0.1, 1.0);
    let dt = f64::min(0.01, 0.2 * h * h / nu);
    let mut p = vec![vec![0.0; n]; n];
    for _ in 0..steps {
        let mut b = vec![vec![0.0; n]; n];
        for j in 1..n - 1 {
            for i in 0..n {
                let (east, west) = ((i + 1) % n, (i + n - 1) % n);
                let ux = (u[j][east] - u[j][west]) / (2.0 * h);
                let uy = (u[j + 1][i] - u[j - 1][i]) / (2.0 * h);
                let vx = (v[j][east] - v[j][west]) / (2.0 * h);
                let vy = (v[j + 1][i] - v[j - 1][i]) / (2.0 * h);
                b[j][i] = rho * ((ux + vy) / dt - ux * ux - 2.0 * uy * vx - vy * vy);
            }
        }
        for _ in 0..50 {
            let q = p.clone();
            for j in 1..n - 1 {
                for i in 0..n {
                    let (east, west) = ((i + 1) % n, (i + n - 1) % n);
                    let sum = q[j][east] + q[j][west] + q[j + 1][i] + q[j - 1][i];
                    p[j][i] = sum / 4.0 - h * h / 4.0 * b[j][i];
                }
            }
            p[0] = p[1].clone();
            p[n - 1] = p[n - 2].clone();
        }
        let (old_u, old_v) = (u.clone(), v.clone());
        for j in 1..n - 1 {
            for i in 0..n {
                let (east, west) = ((i + 1) % n, (i + n - 1) % n);
                let advance = |f: &Plane| {
                    let advection = old_u[j][i] * (f[j][i] - f[j][west]) / h
                        + old_v[j][i] * (f[j][i] - f[j - 1][i]) / h;
                    let around = f[j][east] + f[j][west] + f[j + 1][i] + f[j - 1][i];
                    f[j][i] + dt * (nu * (around - 4.0 * f[j][i]) / (h * h) - advection)
                };
                let px = (p[j][east] - p[j][west]) / (2.0 * h * rho);
                let py = (p[j + 1][i] - p[j - 1][i]) / (2.0 * h * rho);
                u[j][i] = advance(&old_u) + dt * (force - px);
                v[j][i] = advance(&old_v) - dt * py;
            }
        }
    }
    u.concat()
}

#[test]
fn channel_flow_is_that_of_loops_over_the_points() {
    let arguments = ["--size", "14", "--steps", "9"];
    let report = everywhere(&channel_flow::ABOUT, &arguments, channel_flow::program);
    let rest = vec![vec![0.0; 14]; 14];
    check_result(&report, &channel(rest.clone(), rest, 9), 1e-13);
}

/// From rest the flow is the same at all x, and the pressure stays 0; from other velocities it is
/// not.
#[test]
fn channel_flow_from_any_velocities_is_that_of_loops() {
    let (n, steps) = (12, 3);
    let u = |j: usize, i: usize| ((7 * i + 3 * j * j) % 11) as f64 / 11.0;
    let v = |j: usize, i: usize| ((5 * i * i + 2 * j) % 13) as f64 / 13.0 - 0.5;
    let report = everywhere(
        &channel_flow::ABOUT,
        &["--size", "12", "--steps", "3"],
        |run| {
            let inner =
                |f: &dyn Fn(usize, usize) -> f64| Array::from_fn([n - 2, n], |[j, i]| f(j + 1, i));
            let mut flow = channel_flow::Flow::new(n, &inner(&u), &inner(&v));
            for _ in run.steps() {
                flow.step();
            }
            run.result("u", &flow.u())
        },
    );
    let plane = |f: &dyn Fn(usize, usize) -> f64| -> Plane {
        let is_plate = |j: usize| j == 0 || j == n - 1;
        let at = |j, i| if is_plate(j) { 0.0 } else { f(j, i) };
        (0..n).map(|j| (0..n).map(|i| at(j, i)).collect()).collect()
    };
    check_result(&report, &channel(plane(&u), plane(&v), steps), 1e-12);
}

/// Height and both momenta of a cell.
type Cell = [f64; 3];

/// The cell at a place that may be up to two beyond a wall.
fn at(cells: &[Vec<Cell>], row: isize, column: isize) -> Cell {
    let n = cells.len() as isize;
    let mirrored = |k: isize| {
        if k < 0 {
            -1 - k
        } else if k >= n {
            2 * n - 1 - k
        } else {
            k
        }
    };
    let mut cell = cells[mirrored(row) as usize][mirrored(column) as usize];
    if mirrored(column) != column {
        cell[1] = -cell[1];
    }
    if mirrored(row) != row {
        cell[2] = -cell[2];
    }
    cell
}

fn minmod(a: f64, b: f64, c: f64) -> f64 {
    if a > 0.0 && b > 0.0 && c > 0.0 {
        a.min(b).min(c)
    } else if a < 0.0 && b < 0.0 && c < 0.0 {
        a.max(b).max(c)
    } else {
        0.0
    }
}

/// Half the slope in the middle one of three cells.
fn half_slope(before: Cell, cell: Cell, after: Cell) -> Cell {
    let slope = |k: usize| {
        let (back, ahead) = (cell[k] - before[k], after[k] - cell[k]);
        minmod(1.3 * back, (after[k] - before[k]) / 2.0, 1.3 * ahead)
    };
    std::array::from_fn(|k| slope(k) / 2.0)
}

/// The flux through the face after the second one of four cells, and the fastest wave; `m` is the
/// momentum through the face.
fn flux(cells: [Cell; 4], m: usize) -> (Cell, f64) {
    let [a, b, c, d] = cells;
    let (slope_left, slope_right) = (half_slope(a, b, c), half_slope(b, c, d));
    let left: Cell = std::array::from_fn(|k| b[k] + slope_left[k]);
    let right: Cell = std::array::from_fn(|k| c[k] - slope_right[k]);
    let of = |q: Cell| {
        let u = q[m] / q[0];
        let mut flux = q.map(|part| part * u);
        flux[m] += 9.81 * q[0] * q[0] / 2.0;
        (flux, u, (9.81 * q[0]).sqrt())
    };
    let ((f_left, u_left, c_left), (f_right, u_right, c_right)) = (of(left), of(right));
    let plus = (u_left + c_left).max(u_right + c_right).max(0.0);
    let minus = (u_left - c_left).min(u_right - c_right).min(0.0);
    let through = std::array::from_fn(|k| {
        (plus * f_left[k] - minus * f_right[k] + plus * minus * (right[k] - left[k]))
            / (plus - minus)
    });
    (through, plus.max(-minus))
}

/// What flows out of each cell less what flows in, and the fastest wave.
fn outflow(cells: &[Vec<Cell>]) -> (Vec<Vec<Cell>>, f64) {
    let n = cells.len();
    let mut out = vec![vec![[0.0; 3]; n]; n];
    let mut fastest = 0.0f64;
    for j in 0..n {
        for i in 0..n {
            let (row, column) = (j as isize, i as isize);
            for side in [0, 1] {
                let sign = if side == 0 { -1.0 } else { 1.0 };
                let along_x = [0, 1, 2, 3].map(|k| at(cells, row, column + k - 2 + side));
                let along_y = [0, 1, 2, 3].map(|k| at(cells, row + k - 2 + side, column));
                for (stencil, m) in [(along_x, 1), (along_y, 2)] {
                    let (through, speed) = flux(stencil, m);
                    fastest = fastest.max(speed);
                    for k in 0..3 {
                        out[j][i][k] += sign * through[k];
                    }
                }
            }
        }
    }
    (out, fastest)
}

#[test]
fn shallow_water_is_that_of_loops_over_the_cells() {
    let (n, steps) = (16, 6);
    let report = everywhere(
        &shallow_water::ABOUT,
        &["--size", "16", "--steps", "6"],
        shallow_water::program,
    );
    let centre = |k: usize| (k as f64 + 0.5) / n as f64 - 0.5;
    let height = |j: usize, i: usize| {
        let distance = (centre(i) * centre(i) + centre(j) * centre(j)).sqrt();
        if distance <= 0.2 { 2.0 } else { 1.0 }
    };
    let row = |j: usize| (0..n).map(|i| [height(j, i), 0.0, 0.0]).collect();
    let mut cells: Vec<Vec<Cell>> = (0..n).map(row).collect();
    for _ in 0..steps {
        let (out, fastest) = outflow(&cells);
        let ratio = 0.25 / fastest;
        let euler = |cells: &[Vec<Cell>], out: &[Vec<Cell>]| {
            let mut next = cells.to_vec();
            for (cell, out) in next.iter_mut().flatten().zip(out.iter().flatten()) {
                *cell = std::array::from_fn(|k| cell[k] - ratio * out[k]);
            }
            next
        };
        let first = euler(&cells, &out);
        let second = euler(&first, &outflow(&first).0);
        for (cell, second) in cells.iter_mut().flatten().zip(second.iter().flatten()) {
            *cell = std::array::from_fn(|k| (cell[k] + second[k]) / 2.0);
        }
    }
    let expected: Vec<f64> = cells.iter().flatten().map(|cell| cell[0]).collect();
    check_result(&report, &expected, 1e-13);
}
