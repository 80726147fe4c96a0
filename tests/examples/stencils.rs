//! Stencils on cubes and planes beside plain loops.

use crate::{check_result, everywhere, prk_stencil, stencil27};

#[test]
fn stencil27_is_the_mean_of_27_points() {
    let (n, steps) = (12, 4);
    let report = everywhere(
        &stencil27::ABOUT,
        &["--size", "12", "--steps", "4"],
        stencil27::program,
    );
    let at = |i: usize, j: usize, k: usize| (i * n + j) * n + k;
    let mut u = vec![0.0; n * n * n];
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                u[at(i, j, k)] = ((7 * i + 13 * j + 17 * k) % 101) as f64 / 101.0;
            }
        }
    }
    for _ in 0..steps {
        let old = u.clone();
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                for k in 1..n - 1 {
                    let mut sum = 0.0;
                    for (a, b, c) in (0..27).map(|m| (m / 9, m / 3 % 3, m % 3)) {
                        sum += old[at(i + a - 1, j + b - 1, k + c - 1)];
                    }
                    u[at(i, j, k)] = sum / 27.0;
                }
            }
        }
    }
    check_result(&report, &u, 0.0);
}

#[test]
fn the_star_of_the_parallel_research_kernels_is_that_of_loops() {
    let n = 20;
    let arguments = ["--size", "20", "--steps", "3"];
    let report = everywhere(&prk_stencil::ABOUT, &arguments, prk_stencil::program);
    let mut output = vec![0.0; n * n];
    for step in 0..3 {
        let input = |i: usize, j: usize| (i + j + step) as f64;
        for i in 2..n - 2 {
            for j in 2..n - 2 {
                // Radius 2: the weights are 1/4 and 1/8.
                let near = input(i, j + 1) - input(i, j - 1) + input(i + 1, j) - input(i - 1, j);
                let far = input(i, j + 2) - input(i, j - 2) + input(i + 2, j) - input(i - 2, j);
                output[i * n + j] += near / 4.0 + far / 8.0;
            }
        }
    }
    check_result(&report, &output, 0.0);
}
