//! Regression and groups of points beside loops over the points.

use crate::{check_result, everywhere, k_means, logistic_regression};

#[test]
fn logistic_regression_is_that_of_loops() {
    let (n, features, steps) = (90, 50, 5);
    let arguments = ["--size", "90", "--steps", "5"];
    let about = &logistic_regression::ABOUT;
    let report = everywhere(about, &arguments, logistic_regression::program);
    let x = |i: usize, j: usize| ((7 * i + 13 * j + i * j) % 101) as f64 / 101.0 - 0.5;
    let product = |i: usize, w: &[f64]| -> f64 { (0..features).map(|j| x(i, j) * w[j]).sum() };
    let signs: Vec<f64> = (0..features)
        .map(|j| if j % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    let mut w = vec![0.0; features];
    for _ in 0..steps {
        let mut gradient = vec![0.0; features];
        for i in 0..n {
            let class = f64::from(product(i, &signs) > 0.0);
            let wrong = 1.0 / (1.0 + (-product(i, &w)).exp()) - class;
            for (j, sum) in gradient.iter_mut().enumerate() {
                *sum += x(i, j) * wrong;
            }
        }
        for (w, gradient) in w.iter_mut().zip(gradient) {
            *w -= 2.0 / n as f64 * gradient;
        }
    }
    check_result(&report, &w, 1e-13);
}

#[test]
fn k_means_is_that_of_loops() {
    let n = 200;
    let arguments = ["--size", "200", "--steps", "4"];
    let report = everywhere(&k_means::ABOUT, &arguments, k_means::program);
    let point = |i: usize| -> [f64; 4] {
        let g = i % 8;
        std::array::from_fn(|d| {
            let middle = ((3 * g + 5 * d + g * d) % 8) as f64 / 2.0;
            middle + ((7 * i + 13 * d + i * i) % 101) as f64 / 101.0
        })
    };
    let mut centres: Vec<[f64; 4]> = (0..8).map(|k| point(8 * k)).collect();
    for _ in 0..4 {
        let mut sums = [([0.0; 4], 0.0); 8];
        for point in (0..n).map(point) {
            let distance = |centre: &[f64; 4]| -> f64 {
                (0..4)
                    .map(|d| (point[d] - centre[d]) * (point[d] - centre[d]))
                    .sum()
            };
            let mut nearest = 0;
            for k in 1..8 {
                if distance(&centres[k]) < distance(&centres[nearest]) {
                    nearest = k;
                }
            }
            let (sum, count) = &mut sums[nearest];
            *count += 1.0;
            for d in 0..4 {
                sum[d] += point[d];
            }
        }
        for (centre, (sum, count)) in centres.iter_mut().zip(sums) {
            if count > 0.0 {
                *centre = sum.map(|sum| sum / count);
            }
        }
    }
    check_result(&report, &centres.concat(), 1e-14);
}
