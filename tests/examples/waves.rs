//! Waves by discontinuous Galerkin methods beside loops over elements and points.

use crate::{check_result, everywhere, wave_dg};

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
fn the_order_of_convergence_is_that_of_the_degree() {
    for (degree, size) in [("1", "48"), ("2", "24"), ("3", "16"), ("4", "12")] {
        let arguments = [
            "--size",
            size,
            "--steps",
            "60",
            "--degree",
            degree,
            "--threads",
            "1",
        ];
        let report =
            sparsefuse_frame::execute(&wave_dg::ABOUT, &arguments, wave_dg::program).unwrap();
        let json = report.to_json();
        assert!(report.is_right(), "{json}");
        let order = json["checks"]["order of convergence"]["value"].as_f64();
        let degree: f64 = degree.parse().unwrap();
        assert!(
            (degree + 0.5..degree + 1.6).contains(&order.unwrap()),
            "{json}"
        );
    }
}
