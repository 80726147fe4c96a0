//! What converged is a solution, also of nearly singular systems, where rounding of A x is as large
//! as the tolerance. Entries are whole numbers, so that residuals can be computed exactly.

use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_solvers::preconditioners::splu;
use sparsefuse_solvers::{
    Checkpoint, Jacobi, LinearOperator, MatrixFree, Method, Options, Side, StopReason, minres,
};
use sparsefuse_sparse::{Csr, gallery};
use sparsefuse_testing::everywhere;

/// Numbers from 0 to `below`, from a seed.
fn numbers(seed: u64) -> impl FnMut(i64) -> i64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as i64 % below
    }
}

/// u u' + I, which is nearly singular where u is long, and b; of whole numbers.
struct System {
    n: usize,
    a: Vec<i64>,
    b: Vec<i64>,
}

impl System {
    fn new(n: usize, longest: i64, seed: u64) -> Self {
        let mut next = numbers(seed);
        let u: Vec<_> = (0..n).map(|_| next(longest) - longest / 2).collect();
        let entry = |k: usize| u[k / n] * u[k % n] + i64::from(k / n == k % n);
        Self {
            n,
            a: (0..n * n).map(entry).collect(),
            b: (0..n).map(|_| next(19) - 9).collect(),
        }
    }

    fn matrix<T: Field>(&self) -> Csr<T> {
        let n = self.n as u32;
        let pos = (0..=n).map(|row| u64::from(row * n)).collect();
        let crd = (0..n).flat_map(|_| 0..n).collect();
        let vals = self.a.iter().map(|&entry| T::from_f64(entry as f64));
        Csr::new(self.n, self.n, pos, crd, vals.collect()).unwrap()
    }

    fn rhs<T: Field>(&self) -> Vector<T> {
        Vector::from_vec(self.b.iter().map(|&b| T::from_f64(b as f64)).collect())
    }

    /// b - A x for parts of x, up to 2^-60 of what is multiplied.
    fn residual(&self, x: &[f64], b: &[i64]) -> Vec<f64> {
        const ONE: f64 = (1u64 << 60) as f64;
        let fixed: Vec<_> = x.iter().map(|&x| (x * ONE) as i128).collect();
        let row = |row: usize| {
            let products = (0..self.n).map(|k| i128::from(self.a[row * self.n + k]) * fixed[k]);
            (i128::from(b[row]) << 60) - products.sum::<i128>()
        };
        (0..self.n).map(|k| row(k) as f64 / ONE).collect()
    }

    /// The norm of b - A x.
    fn norm<T: Field>(&self, x: &Vector<T>) -> f64 {
        let (re, im): (Vec<_>, Vec<_>) = x.to_vec().unwrap().into_iter().map(T::parts).unzip();
        let re = self.residual(&re, &self.b);
        let im = self.residual(&im, &vec![0; self.n]);
        let squares = re.iter().chain(&im).map(|r| r * r);
        squares.sum::<f64>().sqrt()
    }
}

/// Solves many such systems by all methods, and looks at what is claimed.
fn check<T: Field>(longest: i64, rtols: [f64; 2]) {
    let (mut claims, mut refusals) = (0, 0);
    for seed in 1..40 {
        let system = System::new(2 + seed as usize % 5, longest, seed);
        let (a, b) = (system.matrix::<T>(), system.rhs::<T>());
        let inverse = splu(&a).unwrap();
        let inverse: &dyn LinearOperator<T> = &inverse;
        for method in Method::ALL {
            for preconditioner in [None, Some(inverse)] {
                for rtol in rtols {
                    let options = Options {
                        rtol,
                        preconditioner,
                        ..Options::default()
                    };
                    let Ok(solution) = method.solve(&a, &b, options) else {
                        continue;
                    };
                    let norm = system.norm(&solution.x);
                    let tolerance = rtol * solution.rhs_norm;
                    if solution.reason != StopReason::Converged {
                        refusals += 1;
                        continue;
                    }
                    claims += 1;
                    // Rounding of the residual's own elements, and of their squares.
                    let rounding = 1.0 + 4.0 * T::Real::EPSILON.to_f64();
                    assert!(
                        norm <= tolerance * rounding,
                        "{} of {}, seed {seed}, rtol {rtol}: {norm:e} > {tolerance:e}",
                        method.name(),
                        T::DTYPE,
                    );
                    let reported = solution.residual_norm;
                    assert!(
                        (reported - norm).abs() <= 1e-6 * tolerance + 1e-3 * norm,
                        "{}: {reported:e} reported, {norm:e} found",
                        method.name(),
                    );
                }
            }
        }
    }
    // The test sees both.
    assert!(claims > 100 && refusals > 100, "{claims} and {refusals}");
}

#[test]
fn of_nearly_singular_systems_in_double_precision() {
    check::<f64>(30_000, [1e-8, 1e-10]);
    check::<Complex<f64>>(30_000, [1e-8, 1e-10]);
}

#[test]
fn of_nearly_singular_systems_in_single_precision() {
    check::<f32>(60, [1e-5, 1e-6]);
    check::<Complex<f32>>(60, [1e-5, 1e-6]);
}

#[test]
fn an_initial_guess_whose_residual_is_rounding() {
    // fl(1/3): the residual seems to be 0, and is 2^-54.
    let a = Csr::new(1, 1, vec![0, 1], vec![0], vec![3.0]).unwrap();
    let (b, x0) = (
        Vector::from_vec(vec![1.0]),
        Vector::from_vec(vec![1.0 / 3.0]),
    );
    for method in [Method::Cg, Method::GMRES, Method::LSQR] {
        for (rtol, reason) in [
            (6e-17, StopReason::Converged),
            (5e-17, StopReason::Stagnation),
        ] {
            let options = Options {
                rtol,
                x0: Some(&x0),
                ..Options::default()
            };
            let solution = method.solve(&a, &b, options).unwrap();
            assert_eq!(solution.residual_norm, 2f64.powi(-54), "{}", method.name());
            if method != Method::LSQR {
                assert_eq!(solution.reason, reason, "{}", method.name());
            }
        }
    }
}

/// The tolerance is 0 there, and each method would go on until its numbers underflow.
#[test]
fn of_zero_is_zero_whatever_the_guess() {
    let a = gallery::poisson1d::<f64>(60).unwrap();
    let (b, x0) = (Vector::zeros([60]), Vector::ones([60]));
    for method in Method::ALL {
        let options = Options {
            x0: Some(&x0),
            ..Options::default()
        };
        let solution = method.solve(&a, &b, options).unwrap();
        let found = (solution.reason, solution.iterations);
        assert_eq!(found, (StopReason::Converged, 0), "{}", method.name());
        assert_eq!(
            solution.x.norm_inf().get().unwrap(),
            0.0,
            "{}",
            method.name()
        );
    }
    let short = Vector::ones([59]);
    let options = Options {
        x0: Some(&short),
        ..Options::default()
    };
    assert!(Method::Cg.solve(&a, &b, options).is_err());
}

#[test]
fn no_iteration_follows_a_claim_at_the_limit() {
    let a = Csr::new(1, 1, vec![0, 1], vec![0], vec![3.0]).unwrap();
    let (b, x0) = (
        Vector::from_vec(vec![1.0]),
        Vector::from_vec(vec![1.0 / 3.0]),
    );
    let file = std::env::temp_dir().join(format!("sparsefuse-claims-{}", std::process::id()));
    let checkpoint = Checkpoint {
        file: &file,
        every: 1,
    };
    for checkpoint in [None, Some(checkpoint)] {
        let options = Options {
            rtol: 5e-17,
            max_iter: Some(0),
            x0: Some(&x0),
            checkpoint,
            ..Options::default()
        };
        let solution = Method::Cg.solve(&a, &b, options).unwrap();
        assert_eq!(solution.reason, StopReason::IterationLimit);
        assert_eq!(
            (solution.iterations, solution.residual_norm),
            (0, 2f64.powi(-54))
        );
    }
    assert!(!file.exists());
}

/// Wherever a solve is cut short, also where a claim has just turned out not to be true.
#[test]
fn resumed_solves_end_as_whole_ones() {
    let name = format!("sparsefuse-resumed-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let (mut resumed_solves, mut after_claims) = (0, 0);
    for (longest, seed) in [(4, 1), (4, 2), (12, 3), (12, 4), (60, 5)] {
        let system = System::new(15, longest, seed);
        let (a, b) = (system.matrix::<f32>(), system.rhs());
        let rhs_norm = f64::from(b.norm2().get().unwrap());
        for method in [Method::Cg, Method::Cgs, Method::Bicgstab] {
            let solve = |options: Options<'_, f32>| {
                let solution = method.solve(
                    &a,
                    &b,
                    Options {
                        rtol: 1e-6,
                        ..options
                    },
                );
                let solution = solution.unwrap();
                let x: Vec<_> = solution
                    .x
                    .to_vec()
                    .unwrap()
                    .into_iter()
                    .map(f32::to_bits)
                    .collect();
                let norm = solution.residual_norm.to_bits();
                (
                    solution.reason,
                    solution.iterations,
                    x,
                    norm,
                    solution.history,
                )
            };
            let whole = solve(Options::default());
            for limit in 1..whole.1 {
                let checkpoint = Checkpoint {
                    file: &file,
                    every: 1000,
                };
                let cut = solve(Options {
                    max_iter: Some(limit),
                    checkpoint: Some(checkpoint),
                    ..Options::default()
                });
                assert_eq!(cut.0, StopReason::IterationLimit);
                after_claims += usize::from(cut.4[limit] <= 1e-6 * rhs_norm);
                let resumed = solve(Options {
                    resume: Some(&file),
                    ..Options::default()
                });
                assert_eq!(resumed, whole, "{method} of {longest}, {seed}, at {limit}");
                resumed_solves += 1;
            }
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(resumed_solves > 50, "{resumed_solves}");
    assert!(after_claims > 0, "no claim at a limit was not true");
}

#[test]
fn with_the_same_bits_everywhere() {
    let system = System::new(23, 30_000, 5);
    everywhere(|| {
        let a = system.matrix::<f64>();
        let options = Options {
            rtol: 1e-7,
            ..Options::default()
        };
        let solution = Method::GMRES.solve(&a, &system.rhs(), options)?;
        let x = solution.x.to_vec()?;
        let bits: Vec<_> = x.into_iter().map(f64::to_bits).collect();
        Ok((bits, solution.residual_norm.to_bits(), solution.reason))
    });
}

/// In the first step already nothing is left of A r.
#[test]
fn minres_of_a_right_hand_side_in_the_nullspace() {
    let a = Csr::new(
        2,
        2,
        vec![0, 2, 4],
        vec![0, 1, 0, 1],
        vec![1.0, -1.0, -1.0, 1.0],
    )
    .unwrap();
    let zero = Csr::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![0.0; 2]).unwrap();
    for a in [a, zero] {
        let solution = minres(&a, &Vector::ones([2])).unwrap();
        assert_eq!(solution.reason, StopReason::LeastSquares);
        assert_eq!(solution.x.to_vec().unwrap(), [0.0, 0.0]);
    }
}

/// What is no number is not a solution.
#[test]
fn minres_of_what_is_no_number() {
    let a = MatrixFree::new(4, |x: &Vector<f64>| Ok(x * f64::NAN));
    let found = minres(&a, &Vector::ones([4]));
    assert!(!found.is_ok_and(|solution| solution.converged()));
}

/// Preconditioned on the left, a cycle makes another norm smaller than the true one, which may grow
/// meanwhile: that is no stagnation.
#[test]
fn gmres_on_the_left_goes_on_while_the_true_residual_grows() {
    let n = 30;
    let (mut pos, mut crd, mut vals) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        let scale = 10f64.powi((7 * row % 5) - 2);
        for (column, value) in [(row - 1, -1.3), (row, 2.1), (row + 1, -0.7)] {
            if (0..n).contains(&column) {
                crd.push(column as u32);
                vals.push(scale * value);
            }
        }
        pos.push(crd.len() as u64);
    }
    let a = Csr::new(30, 30, pos, crd, vals).unwrap();
    let b = &a * &Vector::ones([30]);
    let jacobi = Jacobi::new(&a).unwrap();
    for restart in [2, 3, 30] {
        let side = Side::Left;
        let options = Options {
            preconditioner: Some(&jacobi),
            rtol: 1e-8,
            ..Options::default()
        };
        let solution = Method::Gmres { restart, side }
            .solve(&a, &b, options)
            .unwrap();
        assert!(solution.converged(), "{restart}: {:?}", solution.reason);
    }
}

/// Squares become 0 before the residual does; that makes no matrix indefinite.
#[test]
fn squares_of_0_are_no_indefinite_matrix() {
    let a = gallery::poisson1d::<f32>(10).unwrap().scale(0.01);
    let b = Vector::from_vec((0..10).map(|i| ((i * 7 % 10) as f32 - 4.5) / 3.0).collect());
    let options = Options {
        rtol: 0.0,
        ..Options::default()
    };
    let solution = Method::Cg.solve(&a, &b, options).unwrap();
    assert_eq!(solution.reason, StopReason::Stagnation);
    assert!(solution.relative_residual() < 1e-4);
}

/// Of a runtime that is not the current one: what a method makes is made there.
#[test]
fn systems_of_a_runtime_that_is_not_the_current_one() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let (a, b) = runtime.enter(|| {
        let a = gallery::poisson2d::<f64>(6).unwrap();
        (a, Vector::<f64>::ones([36]))
    });
    for method in Method::ALL {
        let solution = method.solve(&a, &b, Options::default()).unwrap();
        // Without a preconditioner Richardson's method diverges.
        let is_solver = method != Method::Richardson;
        assert_eq!(solution.converged(), is_solver, "{}", method.name());
    }
}
