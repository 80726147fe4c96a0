//! Systems of equations, graphs and bodies beside loops.

use crate::{check_result, everywhere, jacobi, matrix_factorization, n_body, page_rank, rydberg};
use sparsefuse::sparse::gallery;

#[test]
fn jacobis_method_is_that_of_loops() {
    let n = 40;
    let arguments = ["--size", "40", "--steps", "6"];
    let report = everywhere(&jacobi::ABOUT, &arguments, jacobi::program);
    let r = |i: usize, j: usize| match i == j {
        true => 0.0,
        false => ((7 * i + 13 * j) % 101) as f64 / (101.0 * n as f64),
    };
    let mut x = vec![0.0; n];
    for _ in 0..6 {
        let next = |i: usize| {
            let sum: f64 = (0..n).map(|j| r(i, j)).sum();
            let product: f64 = (0..n).map(|j| r(i, j) * x[j]).sum();
            (sum + 2.0 - product) / 2.0
        };
        x = (0..n).map(next).collect();
    }
    check_result(&report, &x, 1e-14);
}

#[test]
fn matrix_factorization_is_that_of_loops_over_all_pairs() {
    const K: usize = 16;
    let n = 64;
    let arguments = ["--size", "6", "--steps", "4"];
    let about = &matrix_factorization::ABOUT;
    let report = everywhere(about, &arguments, matrix_factorization::program);
    let pattern = gallery::rmat::<f64>(6, 16, 1).unwrap();
    let triplets = pattern.to_triplets().unwrap();
    let entries: Vec<_> = triplets
        .iter()
        .map(|(i, j, _)| (i as usize, j as usize))
        .collect();
    let factor = |p: usize, q: usize, m: usize| -> Vec<[f64; K]> {
        let element = |i, k| ((p * i + q * k) % m) as f64 / (2 * m) as f64;
        (0..n)
            .map(|i| std::array::from_fn(|k| element(i, k)))
            .collect()
    };
    let dot = |x: &[f64; K], y: &[f64; K]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
    let (x, y) = (factor(11, 29, 97), factor(17, 5, 89));
    let (mut u, mut v) = (factor(7, 13, 101), factor(5, 3, 103));
    for _ in 0..4 {
        let (mut next_u, mut next_v) = (u.clone(), v.clone());
        for &(i, j) in &entries {
            let error = dot(&x[i], &y[j]) - dot(&u[i], &v[j]);
            let of_row = entries.iter().filter(|entry| entry.0 == i).count() as f64;
            let of_column = entries.iter().filter(|entry| entry.1 == j).count() as f64;
            for k in 0..K {
                next_u[i][k] += 0.5 / of_row * error * v[j][k];
                next_v[j][k] += 0.5 / of_column * error * u[i][k];
            }
        }
        (u, v) = (next_u, next_v);
    }
    check_result(&report, &u.concat(), 1e-13);
}

#[test]
fn page_rank_is_that_of_loops_over_all_pairs() {
    let n = 64;
    let arguments = ["--size", "6", "--steps", "5"];
    let report = everywhere(&page_rank::ABOUT, &arguments, page_rank::program);
    let links = gallery::rmat::<f64>(6, 16, 1).unwrap();
    let link = |i: usize, j: usize| links.get(i, j).unwrap();
    let links: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| link(i, j)).collect())
        .collect();
    let weights: Vec<f64> = links.iter().map(|row| row.iter().sum()).collect();
    assert!(weights.contains(&0.0), "some nodes have no edges");
    let mut rank = vec![1.0 / n as f64; n];
    for _ in 0..5 {
        let mut next = vec![0.0; n];
        for (i, (row, weight)) in links.iter().zip(&weights).enumerate() {
            for (next, link) in next.iter_mut().zip(row) {
                let share = if *weight > 0.0 {
                    link / weight
                } else {
                    1.0 / n as f64
                };
                *next += share * rank[i];
            }
        }
        rank = next
            .iter()
            .map(|sum| 0.85 * sum + 0.15 / n as f64)
            .collect();
    }
    check_result(&report, &rank, 1e-14);
}

#[test]
fn bodies_move_as_in_loops_over_pairs() {
    let n = 30;
    let arguments = ["--size", "30", "--steps", "5"];
    let report = everywhere(&n_body::ABOUT, &arguments, n_body::program);
    let ratios = [0.8191725134, 0.6710436067, 0.5497004779];
    let mut x: Vec<[f64; 3]> = (0..n).map(|i| ratios.map(|r| i as f64 * r % 1.0)).collect();
    let mut v = vec![[0.0; 3]; n];
    let kick = |x: &[[f64; 3]], v: &mut [[f64; 3]]| {
        for i in 0..n {
            for j in 0..n {
                let d: [f64; 3] = std::array::from_fn(|k| x[j][k] - x[i][k]);
                let square: f64 = d.iter().map(|d| d * d).sum::<f64>() + 0.05 * 0.05;
                for k in 0..3 {
                    v[i][k] += 0.005 * d[k] / (n as f64 * square.powf(1.5));
                }
            }
        }
    };
    for _ in 0..5 {
        kick(&x, &mut v);
        for (x, v) in x.iter_mut().zip(&v) {
            *x = std::array::from_fn(|k| x[k] + 0.01 * v[k]);
        }
        kick(&x, &mut v);
    }
    let places: Vec<f64> = (0..3).flat_map(|k| x.iter().map(move |x| x[k])).collect();
    check_result(&report, &places, 1e-13);
}

#[test]
fn atoms_are_driven_as_by_short_steps_of_a_matrix() {
    let (atoms, steps) = (5, 3);
    let arguments = ["--size", "5", "--steps", "3"];
    let report = everywhere(&rydberg::ABOUT, &arguments, rydberg::program);
    let has_pair = |set: &usize| set & (set << 1) != 0;
    let sets: Vec<usize> = (0..1 << atoms).filter(|set| !has_pair(set)).collect();
    assert_eq!(sets.len(), 13);
    // i y' = (X / 2 - delta n) y by the classical method of Runge and Kutta.
    let end = 0.5 * steps as f64;
    let slope = |t: f64, y: &[[f64; 2]]| -> Vec<[f64; 2]> {
        let delta = 3.0 * (2.0 * t / end - 1.0);
        let of_set = |(i, set): (usize, &usize)| {
            let own = -delta * f64::from(set.count_ones());
            let mut sum = y[i].map(|part| own * part);
            for (other, amplitude) in sets.iter().zip(y) {
                if (set ^ other).is_power_of_two() {
                    sum = [sum[0] + amplitude[0] / 2.0, sum[1] + amplitude[1] / 2.0];
                }
            }
            [sum[1], -sum[0]]
        };
        sets.iter().enumerate().map(of_set).collect()
    };
    let along = |y: &[[f64; 2]], h: f64, k: &[[f64; 2]]| -> Vec<[f64; 2]> {
        let sum = |(y, k): (&[f64; 2], &[f64; 2])| [y[0] + h * k[0], y[1] + h * k[1]];
        y.iter().zip(k).map(sum).collect()
    };
    let mut y = vec![[0.0; 2]; sets.len()];
    y[0] = [1.0, 0.0];
    let (n, mut t) = (1500, 0.0);
    let h = end / f64::from(n);
    for _ in 0..n {
        let first = slope(t, &y);
        let second = slope(t + h / 2.0, &along(&y, h / 2.0, &first));
        let third = slope(t + h / 2.0, &along(&y, h / 2.0, &second));
        let fourth = slope(t + h, &along(&y, h, &third));
        for (part, k) in [(6.0, first), (3.0, second), (3.0, third), (6.0, fourth)] {
            y = along(&y, h / part, &k);
        }
        t += h;
    }
    let probabilities: Vec<f64> = y.iter().map(|y| y[0] * y[0] + y[1] * y[1]).collect();
    check_result(&report, &probabilities, 1e-7);
}
