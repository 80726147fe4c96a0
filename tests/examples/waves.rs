//! Waves by discontinuous Galerkin methods beside loops over elements and points.

use crate::{check_result, euler_dg, everywhere, navier_stokes_dg, wave_dg};
use sparsefuse::runtime::{Error, Processes};
use sparsefuse_frame::{About, Report, Run, execute};

/// Pressure and velocities of a point.
type Point = [f64; 3];

/// Degree 2: the points of an element, their weights, and the derivatives of the parabolas that are
/// 1 at one of them.
const WEIGHTS: [f64; 3] = [1.0 / 3.0, 4.0 / 3.0, 1.0 / 3.0];
const PLACES: [f64; 3] = [0.0, 0.5, 1.0];
const DERIVATIVES: [[f64; 3]; 3] = [[-1.5, 2.0, -0.5], [-0.5, 0.0, 0.5], [0.5, -2.0, 1.5]];

/// The flux of pressure and of velocity `m` through a face.
fn flux(left: Point, right: Point, m: usize) -> [f64; 2] {
    [
        (left[m] + right[m] + left[0] - right[0]) / 2.0,
        (left[0] + right[0] + left[m] - right[m]) / 2.0,
    ]
}

/// What changes per time; a point is at the row and column of its element, and at those within it.
fn rate(q: &dyn Fn([usize; 4]) -> Point, n: usize) -> Vec<Point> {
    let scale = 2.0 * n as f64;
    let mut rates = Vec::new();
    for k in 0..9 * n * n {
        let (element, i, j) = (k / 9, k / 3 % 3, k % 3);
        let (row, column) = (element / n, element % n);
        let mut rate = [0.0; 3];
        for m in [1, 2] {
            // Along x for m = 1, else along y.
            let (own, cross) = if m == 1 { (j, i) } else { (i, j) };
            let at = |step: usize, point: usize| match m {
                1 => q([row, (column + step) % n, cross, point]),
                _ => q([(row + step) % n, column, point, cross]),
            };
            for point in 0..3 {
                let value = at(0, point);
                rate[0] -= scale * DERIVATIVES[own][point] * value[m];
                rate[m] -= scale * DERIVATIVES[own][point] * value[0];
            }
            let lift = scale / WEIGHTS[own];
            let here = at(0, own);
            if own == 2 {
                let [p, u] = flux(here, at(1, 0), m);
                rate[0] += lift * (here[m] - p);
                rate[m] += lift * (here[0] - u);
            } else if own == 0 {
                let [p, u] = flux(at(n - 1, 2), here, m);
                rate[0] -= lift * (here[m] - p);
                rate[m] -= lift * (here[0] - u);
            }
        }
        rates.push(rate);
    }
    rates
}

#[test]
fn waves_are_those_of_loops_over_the_points() {
    let n = 5;
    let arguments = ["--size", "5", "--steps", "3", "--degree", "2"];
    let report = everywhere(&wave_dg::ABOUT, &arguments, wave_dg::program);
    let tau = std::f64::consts::TAU;
    let place = |element: usize, point: usize| (element as f64 + PLACES[point]) / n as f64;
    let dt = 0.2 / (n as f64 * 5.0);
    let mut q: Vec<Point> = (0..9 * n * n)
        .map(|k| {
            let (x, y) = (place(k / 9 % n, k % 3), place(k / 9 / n, k / 3 % 3));
            [(tau * x).cos() * (tau * y).cos(), 0.0, 0.0]
        })
        .collect();
    let plus = |q: &[Point], rate: &[Point], dt: f64| -> Vec<Point> {
        let sum = |(q, rate): (&Point, &Point)| std::array::from_fn(|m| q[m] + dt * rate[m]);
        q.iter().zip(rate).map(sum).collect()
    };
    let rate_of = |q: &[Point]| {
        rate(
            &|[row, column, i, j]| q[((row * n + column) * 3 + i) * 3 + j],
            n,
        )
    };
    for _ in 0..3 {
        let first = rate_of(&q);
        let second = rate_of(&plus(&q, &first, dt / 2.0));
        let third = rate_of(&plus(&q, &second, dt / 2.0));
        let fourth = rate_of(&plus(&q, &third, dt));
        let rates = [(first, 1.0), (second, 2.0), (third, 2.0), (fourth, 1.0)];
        for (rate, weight) in rates {
            q = plus(&q, &rate, weight * dt / 6.0);
        }
    }
    let pressure: Vec<f64> = q.iter().map(|point| point[0]).collect();
    check_result(&report, &pressure, 1e-13);
}

#[test]
fn a_gas_flows_as_in_another_program() {
    let arguments = ["--size", "5", "--steps", "3", "--degree", "2"];
    let report = everywhere(&euler_dg::ABOUT, &arguments, euler_dg::program);
    // By `euler_dg` of benches/python/examples/twins_dg.py, NumPy 2.4.
    let density = [
        (0, 0.9659664184934946),
        (4, 1.1795137968215343),
        (17, 0.9112023179973193),
        (31, 0.8031057026578576),
        (58, 0.9064369863035819),
        (100, 0.8210563573858716),
        (150, 0.9665619208533925),
        (224, 0.9671508792091242),
    ];
    check_some(&report, &density);
}

#[test]
fn a_viscous_gas_flows_as_in_another_program() {
    let arguments = ["--size", "4", "--steps", "3", "--degree", "2"];
    let about = &navier_stokes_dg::ABOUT;
    let report = everywhere(about, &arguments, navier_stokes_dg::program);
    // By `navier_stokes_dg` of the same file.
    let momentum = [
        (0, 0.7370640629939726),
        (4, 1.9682289264522974),
        (17, 0.038530337007177784),
        (31, 0.8338182946116661),
        (58, 0.8338182946116661),
        (100, 1.7502382327032289),
        (120, 1.4793178880180726),
        (143, 0.8149941187709638),
    ];
    check_some(&report, &momentum);
}

/// Some elements of the result, on the process that has it.
#[track_caller]
fn check_some(report: &Report, expected: &[(usize, f64)]) {
    for &(at, expected) in expected.iter().filter(|_| !report.values().is_empty()) {
        let found = report.values()[at];
        assert!(
            (found - expected).abs() < 1e-13,
            "{at}: {found}, expected {expected}"
        );
    }
}

/// The order is between the degree and a half and the degree and one and a half, or a little more.
#[track_caller]
fn check_order(
    about: &About,
    [degree, size, steps]: [&str; 3],
    program: impl Fn(&Run<'_>) -> Result<(), Error> + Sync,
) {
    // Of many steps, which say nothing else on several processes than the other tests.
    if Processes::join().unwrap().count() > 1 {
        return;
    }
    let size = [
        "--size",
        size,
        "--steps",
        steps,
        "--degree",
        degree,
        "--threads",
        "1",
    ];
    let report = execute(about, &size, program).unwrap();
    let json = report.to_json();
    assert!(report.is_right(), "{json}");
    let order = json["checks"]["order of convergence"]["value"].as_f64();
    let degree: f64 = degree.parse().unwrap();
    assert!(
        (degree + 0.5..degree + 1.6).contains(&order.unwrap()),
        "{json}"
    );
}

#[test]
fn the_order_of_convergence_of_waves_is_that_of_the_degree() {
    check_order(&wave_dg::ABOUT, ["1", "48", "80"], wave_dg::program);
    check_order(&wave_dg::ABOUT, ["2", "24", "70"], wave_dg::program);
    check_order(&wave_dg::ABOUT, ["3", "16", "60"], wave_dg::program);
    check_order(&wave_dg::ABOUT, ["4", "12", "60"], wave_dg::program);
}

#[test]
fn the_order_of_convergence_of_a_gas_is_that_of_the_degree() {
    check_order(&euler_dg::ABOUT, ["3", "16", "120"], euler_dg::program);
}
