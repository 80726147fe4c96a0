//! Work on each point alone: the prices of options, the Mandelbrot set.

use crate::{black_scholes, check_result, everywhere, mandelbrot};

#[test]
fn options_have_the_prices_of_another_library() {
    let arguments = ["--size", "600", "--steps", "2"];
    let report = everywhere(&black_scholes::ABOUT, &arguments, black_scholes::program);
    // By the functions of Python's `math`, from the formulas of `--help`.
    let calls = [
        (0, 1.282158139269142),
        (1, 0.9597800240271326),
        (2, 0.8963223107538969),
        (3, 0.9369721946754046),
        (4, 1.035549416799154),
        (5, 1.1752780096728017),
        (100, 15.516326670954566),
        (333, 3.399631104123598),
        (599, 2.9031686828961973),
    ];
    // On the process that has the result.
    for (option, call) in calls.into_iter().filter(|_| !report.values().is_empty()) {
        let found = report.values()[option];
        assert!(
            (found - call).abs() < 1e-13,
            "{option}: {found}, expected {call}"
        );
    }
}

#[test]
fn the_mandelbrot_set_is_that_of_loops() {
    let n = 24;
    let mut expected = Vec::new();
    for row in 0..n {
        for column in 0..n {
            let c_re = -2.0 + 3.0 * column as f64 / (n - 1) as f64;
            let c_im = -1.5 + 3.0 * row as f64 / (n - 1) as f64;
            let (mut re, mut im, mut count) = (0.0f64, 0.0, 0);
            for _ in 0..40 {
                (re, im) = (re * re - im * im + c_re, 2.0 * re * im + c_im);
                count += u32::from(re * re + im * im <= 4.0);
            }
            expected.push(f64::from(count));
        }
    }
    for form in ["complex", "real"] {
        let arguments = ["--size", "24", "--steps", "40", "--form", form];
        let report = everywhere(&mandelbrot::ABOUT, &arguments, mandelbrot::program);
        check_result(&report, &expected, 0.0);
    }
}
