//! What backward differentiation does with Jacobians.

use super::robertson;
use sparsefuse_dense::Vector;
use sparsefuse_solvers::ode::{IvpEnd, IvpOptions, Jacobian, Scheme, solve_ivp};
use sparsefuse_sparse::{Csr, gallery};
use sparsefuse_testing::{bits, everywhere};

/// Without a Jacobian the steps of a small stiff system are those of SciPy 1.17, about 85 with 210
/// evaluations.
#[test]
fn stiff_systems_need_no_jacobian() {
    everywhere(|| {
        let options = IvpOptions {
            scheme: Scheme::Bdf,
            ..IvpOptions::default()
        };
        let begin = Vector::from_vec(vec![1.0, 0.0, 0.0]);
        let slope = |t, y: &Vector<f64>| Ok(Vector::from_vec(robertson(t, &y.to_vec()?)));
        let solved = solve_ivp(slope, (0.0, 1e4), &begin, options)?;
        assert_eq!(solved.end, IvpEnd::Reached);
        assert!(solved.steps < 150, "{} steps", solved.steps);
        assert!(
            solved.evaluations < 500,
            "{} evaluations",
            solved.evaluations
        );
        Ok(bits(&solved.y.to_vec()?))
    });
}

/// Elements of 0 beside large ones: their own steps would be rounding of the others.
#[test]
fn differences_of_elements_of_mixed_size() {
    let slope = |t: f64, y: &[f64]| {
        vec![
            1e4 * (y[1] - y[0]) - 1e4 * y[2],
            0.1 * (300.0 - y[1]) + 1e-3 * t.sin(),
            0.1 * (300.0 - y[2]),
        ]
    };
    let options = IvpOptions {
        scheme: Scheme::Bdf,
        rtol: 1e-6,
        ..IvpOptions::default()
    };
    let begin = Vector::from_vec(vec![0.0, 300.0, 300.0]);
    let f = |t, y: &Vector<f64>| Ok(Vector::from_vec(slope(t, &y.to_vec()?)));
    let solved = solve_ivp(f, (0.0, 20.0), &begin, options).unwrap();
    assert_eq!(solved.end, IvpEnd::Reached);
    // SciPy 1.17 takes 61.
    assert!(solved.steps < 90, "{} steps", solved.steps);
}

/// A Jacobian of a place where it was much larger makes all changes small: that is no convergence.
/// The states are those of SciPy's Radau with a tolerance of 1e-9.
#[test]
fn jacobians_of_other_places_are_seen() {
    for rtol in [1e-2, 1e-3, 1e-4] {
        for is_given in [false, true] {
            let mu = 1000.0;
            let slope = |_: f64, y: &Vector<f64>| {
                let y = y.to_vec()?;
                let second = mu * (1.0 - y[0] * y[0]) * y[1] - y[0];
                Ok(Vector::from_vec(vec![y[1], second]))
            };
            let mut jacobian = |_: f64, y: &Vector<f64>| {
                let y = y.to_vec()?;
                let of_x = -2.0 * mu * y[0] * y[1] - 1.0;
                let vals = vec![1.0, of_x, mu * (1.0 - y[0] * y[0])];
                Csr::new(2, 2, vec![0, 1, 3], vec![1, 0, 1], vals)
            };
            let options = IvpOptions {
                scheme: Scheme::Bdf,
                rtol,
                jacobian: match is_given {
                    true => Jacobian::Function(&mut jacobian),
                    false => Jacobian::Differences,
                },
                ..IvpOptions::default()
            };
            let begin = Vector::from_vec(vec![2.0, 0.0]);
            let solved = solve_ivp(slope, (0.0, 2.0 * mu), &begin, options).unwrap();
            assert_eq!(solved.end, IvpEnd::Reached);
            let y = solved.y.to_vec().unwrap();
            let [x, v] = [y[0] / 1.70617 - 1.0, y[1] / -8.9281e-4 - 1.0];
            assert!(x.abs() + v.abs() < 0.1, "{rtol}, {is_given}: {y:?}");
        }
    }
    let far = Csr::<f64>::identity(1).unwrap() * -1e6;
    let options = IvpOptions {
        scheme: Scheme::Bdf,
        jacobian: Jacobian::Constant(&far),
        ..IvpOptions::default()
    };
    let slope = |t: f64, _: &Vector<f64>| Ok(Vector::from_vec(vec![t.cos()]));
    let solved = solve_ivp(slope, (0.0, 1.0), &Vector::ones([1]), options).unwrap();
    let y = solved.y.to_vec().unwrap()[0];
    assert!((y - 1.0 - 1f64.sin()).abs() < 1e-2, "{y}");
}

/// Steps of one length need one factorisation, also where the longest step is no binary number.
#[test]
fn the_longest_step_keeps_the_factors() {
    let n = 20;
    let a = gallery::poisson1d::<f64>(n).unwrap() * -400.0;
    let run = |end: f64| {
        let options = IvpOptions {
            scheme: Scheme::Bdf,
            jacobian: Jacobian::Constant(&a),
            max_step: 0.1,
            ..IvpOptions::default()
        };
        let slope = |_: f64, y: &Vector<f64>| Ok(&a * y + 1.0);
        solve_ivp(slope, (0.0, end), &Vector::zeros([n]), options).unwrap()
    };
    let [short, long] = [30.0, 60.0].map(run);
    assert_eq!(long.end, IvpEnd::Reached);
    assert!(long.steps > short.steps + 250);
    let more = long.factorisations - short.factorisations;
    assert!(more < 10, "{more} factorisations");
}
