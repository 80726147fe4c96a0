//! Ordinary differential equations, against SciPy and known solutions.

mod bdf;

use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, ErrorKind};
use sparsefuse_solvers::ode::{
    Crossing, Event, IvpEnd, IvpOptions, Jacobian, Output, Scheme, Trajectory, solve_ivp,
};
use sparsefuse_sparse::{Csr, Triplets, gallery};
use sparsefuse_testing::{bits, everywhere};
use std::f64::consts::PI;
use std::ops::ControlFlow;

const SCHEMES: [Scheme; 4] = [Scheme::Rk23, Scheme::Rk45, Scheme::Dop853, Scheme::Bdf];

/// A problem of a few unknowns, with its Jacobian row by row.
struct Problem {
    name: &'static str,
    slope: fn(f64, &[f64]) -> Vec<f64>,
    jacobian: fn(f64, &[f64]) -> Vec<Vec<f64>>,
    span: (f64, f64),
    begin: &'static [f64],
    tolerances: (f64, f64),
}

fn rational(t: f64, y: &[f64]) -> Vec<f64> {
    let [a, b] = [y[0], y[1]];
    vec![b / t, b * (a + 2.0 * b - 1.0) / (t * (a - 1.0))]
}

fn of_rational(t: f64, y: &[f64]) -> Vec<Vec<f64>> {
    let [a, b] = [y[0], y[1]];
    let below = t * (a - 1.0);
    vec![
        vec![0.0, 1.0 / t],
        vec![
            b * (below - (a + 2.0 * b - 1.0) * t) / below.powi(2),
            (a + 4.0 * b - 1.0) / below,
        ],
    ]
}

fn van_der_pol(_: f64, y: &[f64]) -> Vec<f64> {
    vec![y[1], 10.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]]
}

fn of_van_der_pol(_: f64, y: &[f64]) -> Vec<Vec<f64>> {
    vec![
        vec![0.0, 1.0],
        vec![-20.0 * y[0] * y[1] - 1.0, 10.0 * (1.0 - y[0] * y[0])],
    ]
}

fn robertson(_: f64, y: &[f64]) -> Vec<f64> {
    let (slow, middle, fast) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]);
    vec![middle - slow, slow - middle - fast, fast]
}

fn of_robertson(_: f64, y: &[f64]) -> Vec<Vec<f64>> {
    vec![
        vec![-0.04, 1e4 * y[2], 1e4 * y[1]],
        vec![0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
        vec![0.0, 6e7 * y[1], 0.0],
    ]
}

const PROBLEMS: [Problem; 4] = [
    Problem {
        name: "rational",
        slope: rational,
        jacobian: of_rational,
        span: (5.0, 9.0),
        begin: &[1.0 / 3.0, 2.0 / 9.0],
        tolerances: (1e-3, 1e-6),
    },
    Problem {
        name: "backwards",
        slope: rational,
        jacobian: of_rational,
        span: (5.0, 1.0),
        begin: &[1.0 / 3.0, 2.0 / 9.0],
        tolerances: (1e-6, 1e-9),
    },
    Problem {
        name: "van der pol",
        slope: van_der_pol,
        jacobian: of_van_der_pol,
        span: (0.0, 20.0),
        begin: &[2.0, 0.0],
        tolerances: (1e-5, 1e-8),
    },
    Problem {
        name: "robertson",
        slope: robertson,
        jacobian: of_robertson,
        span: (0.0, 1e3),
        begin: &[1.0, 0.0, 0.0],
        tolerances: (1e-4, 1e-8),
    },
];

/// Steps, evaluations of f and factorisations, the first two elements at the end and in the middle:
/// by SciPy 1.17.
type Expected = (
    &'static str,
    Scheme,
    (usize, usize, usize),
    [f64; 2],
    [f64; 2],
);

#[rustfmt::skip]
const OF_SCIPY: [Expected; 13] = [
    ("rational", Scheme::Rk23, (4, 14, 0), [0.47366583929696915, 0.2493383346269402], [0.4117523367624731, 0.24223815174030808]),
    ("backwards", Scheme::Rk23, (36, 110, 0), [0.09090929502480216, 0.08264480178614225], [0.2307692505176526, 0.17751482994596887]),
    ("van der pol", Scheme::Rk23, (661, 2129, 0), [1.9393467068607253, -0.07008205266191053], [-1.9712010644585574, 0.068173135154973]),
    ("rational", Scheme::Rk45, (3, 20, 0), [0.4736842293101754, 0.24930762424104655], [0.411764793061207, 0.24221473489651069]),
    ("backwards", Scheme::Rk45, (7, 56, 0), [0.0909091086458984, 0.08264465628365167], [0.23076943817429793, 0.17751557151756492]),
    ("van der pol", Scheme::Rk45, (239, 1598, 0), [1.939357773039912, -0.07008169512471796], [-1.9712063203872063, 0.06817419848290562]),
    ("rational", Scheme::Dop853, (3, 38, 0), [0.47368421133025057, 0.24930747900803024], [0.4117647171566734, 0.2422145284419425]),
    ("backwards", Scheme::Dop853, (3, 38, 0), [0.09090878075750461, 0.08264437199658353], [0.23076923431636087, 0.17751478571131124]),
    ("van der pol", Scheme::Dop853, (102, 1550, 0), [1.939357871996055, -0.07008154479808748], [-1.971205268786163, 0.06817341845734239]),
    ("rational", Scheme::Bdf, (9, 20, 5), [0.473662797801847, 0.24928822525513533], [0.41174956122662737, 0.24224176383189058]),
    ("backwards", Scheme::Bdf, (26, 68, 8), [0.09091047957181982, 0.08264324947073136], [0.23076907419757056, 0.1775134708301817]),
    ("van der pol", Scheme::Bdf, (439, 1262, 89), [1.9393387587500621, -0.07008273046610623], [-1.9712111424831527, 0.06817302546146141]),
    ("robertson", Scheme::Bdf, (108, 281, 31), [0.33683909735091644, 2.0133872699250027e-06], [0.42264039919355023, 2.8848803592135e-06]),
];

fn matrix(rows: &[Vec<f64>]) -> Result<Csr<f64>, Error> {
    let n = rows.len();
    let mut triplets = Triplets::new(n, n)?;
    for (i, row) in rows.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            triplets.push(i, j, *value)?;
        }
    }
    Csr::from_triplets(&triplets)
}

fn solve(
    problem: &Problem,
    scheme: Scheme,
    output: Output<'_>,
) -> Result<Trajectory<f64, 1>, Error> {
    let slope = |t, y: &Vector<f64>| Ok(Vector::from_vec((problem.slope)(t, &y.to_vec()?)));
    let mut jacobian = |t, y: &Vector<f64>| matrix(&(problem.jacobian)(t, &y.to_vec()?));
    let options = IvpOptions {
        scheme,
        rtol: problem.tolerances.0,
        atol: problem.tolerances.1,
        jacobian: Jacobian::Function(&mut jacobian),
        output,
        ..IvpOptions::default()
    };
    let begin = Vector::from_vec(problem.begin.to_vec());
    solve_ivp(slope, problem.span, &begin, options)
}

#[test]
fn steps_are_those_of_scipy() {
    for (name, scheme, counts, at_end, in_middle) in OF_SCIPY {
        let mut problems = PROBLEMS.iter();
        let problem = problems.find(|problem| problem.name == name).unwrap();
        let solved = solve(problem, scheme, Output::End).unwrap();
        assert_eq!(solved.end, IvpEnd::Reached);
        let found = (solved.steps, solved.evaluations, solved.factorisations);
        assert_eq!(found, counts, "{name} {scheme:?}");
        let near = |y: &Vector<f64>, expected: [f64; 2]| {
            for (y, expected) in y.to_vec().unwrap().iter().zip(expected) {
                let limit = 1e-9 * expected.abs();
                assert!(
                    (y - expected).abs() <= limit,
                    "{name} {scheme:?}: {y} {expected}"
                );
            }
        };
        near(&solved.y, at_end);
        let middle = [(problem.span.0 + problem.span.1) / 2.0];
        let solved = solve(problem, scheme, Output::At(&middle)).unwrap();
        near(&solved.states[0], in_middle);
    }
}

/// Heat on a square, whose slowest mode dies away as exp(-2 pi^2 t).
fn heat<T: Field>(n: usize) -> Result<(Csr<T>, Vector<T>), Error> {
    let scale = -((n + 1) as f64).powi(2);
    let angle = PI / (n + 1) as f64;
    let a = gallery::poisson2d::<T>(n)?.try_scale(T::from_f64(scale))?;
    let begin = Vector::from_fn([n * n], |[i]| {
        let [row, column] = [i / n + 1, i % n + 1].map(|place| (place as f64 * angle).sin());
        T::from_f64(row * column)
    });
    Ok((a, begin))
}

fn heat_of_type<T: Field>(rtol: f64) {
    let n = 12;
    let angle = PI / (n + 1) as f64;
    let lambda = -2.0 * (2.0 - 2.0 * angle.cos()) * ((n + 1) as f64).powi(2);
    let (a, begin) = heat::<T>(n).unwrap();
    for scheme in SCHEMES {
        let ways = match scheme {
            Scheme::Bdf => vec![Jacobian::Constant(&a), Jacobian::Differences],
            _ => vec![Jacobian::Differences],
        };
        for jacobian in ways {
            let options = IvpOptions {
                scheme,
                rtol,
                atol: rtol / 100.0,
                jacobian,
                ..IvpOptions::default()
            };
            let solved = solve_ivp(|_, y| a.try_matvec(y), (0.0, 0.1), &begin, options).unwrap();
            assert_eq!(solved.end, IvpEnd::Reached);
            let expected = &begin * T::from_f64((0.1 * lambda).exp());
            let error = (&solved.y - expected).norm_inf().get().unwrap();
            let error = error.to_f64();
            assert!(error < 30.0 * rtol, "{scheme:?}: {error:e}");
        }
    }
}

#[test]
fn all_types_of_numbers() {
    heat_of_type::<f64>(1e-6);
    heat_of_type::<Complex<f64>>(1e-6);
    heat_of_type::<f32>(1e-4);
    heat_of_type::<Complex<f32>>(1e-4);
}

/// The bits of the end and of three states between.
fn bits_of_heat(scheme: Scheme) -> Result<Vec<sparsefuse_kernels::Value>, Error> {
    let (a, begin) = heat::<f64>(9)?;
    let mut calls = 0;
    let mut value = |_: f64, y: &Vector<f64>| Ok(y.max().get()? - 0.5);
    let mut count = |_: f64, _: &Vector<f64>| {
        calls += 1;
        ControlFlow::Continue(())
    };
    let options = IvpOptions {
        scheme,
        output: Output::At(&[0.0, 0.013, 0.05]),
        jacobian: Jacobian::Constant(&a),
        events: vec![Event {
            value: &mut value,
            crossing: Crossing::Falling,
            is_last: false,
        }],
        monitor: Some(&mut count),
        ..IvpOptions::default()
    };
    let solved = solve_ivp(|_, y| a.try_matvec(y), (0.0, 0.06), &begin, options)?;
    assert_eq!(calls, solved.steps);
    assert_eq!(solved.times, [0.0, 0.013, 0.05]);
    let mut all = bits(&[solved.t, solved.events[0][0].0]);
    for y in solved.states.iter().chain([&solved.y]) {
        all.extend(bits(&y.to_vec()?));
    }
    Ok(all)
}

#[test]
fn bits_are_the_same_everywhere() {
    for scheme in SCHEMES {
        everywhere(|| bits_of_heat(scheme));
    }
}

#[test]
fn states_of_two_dimensions() {
    // A wave on a string: place and speed of each point are a row.
    let n = 40;
    let angle = PI / (n + 1) as f64;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    let begin = Array::from_fn([2, n], |[row, i]| match row {
        0 => ((i + 1) as f64 * angle).sin(),
        _ => 0.0,
    });
    let wave = |_: f64, y: &Array<f64, 2>| -> Result<Array<f64, 2>, Error> {
        let (place, speed) = (y.row(0), y.row(1));
        Vector::try_stack(0, &[&speed, &-a.try_matvec(&place)?])
    };
    let omega = (2.0 - 2.0 * angle.cos()).sqrt();
    for scheme in SCHEMES {
        let options = IvpOptions {
            scheme,
            rtol: 1e-7,
            atol: 1e-9,
            ..IvpOptions::default()
        };
        let solved = solve_ivp(wave, (0.0, 20.0), &begin, options).unwrap();
        let expected = begin.row(0) * (omega * 20.0).cos();
        let error = (solved.y.row(0) - expected).norm_inf().get().unwrap();
        assert!(error < 3e-5, "{scheme:?}: {error:e}");
    }
}

#[test]
fn events_are_found_and_end_integrations() {
    // Thrown upwards with speed 10: highest at t = 10 / 9.81, on the ground at twice that.
    let fall = |_: f64, y: &Vector<f64>| -> Result<Vector<f64>, Error> {
        let speed = y.slice(1..2);
        Vector::try_concatenate(0, &[&speed, &Vector::full([1], -9.81)])
    };
    for scheme in SCHEMES {
        let mut height = |_: f64, y: &Vector<f64>| Ok(y.to_vec()?[0]);
        let mut speed = |_: f64, y: &Vector<f64>| Ok(y.to_vec()?[1]);
        let mut rising = |_: f64, y: &Vector<f64>| Ok(y.to_vec()?[1]);
        let options = IvpOptions {
            scheme,
            rtol: 1e-8,
            atol: 1e-10,
            output: Output::Steps,
            events: vec![
                Event {
                    value: &mut height,
                    crossing: Crossing::Any,
                    is_last: true,
                },
                Event {
                    value: &mut speed,
                    crossing: Crossing::Falling,
                    is_last: false,
                },
                Event {
                    value: &mut rising,
                    crossing: Crossing::Rising,
                    is_last: false,
                },
            ],
            ..IvpOptions::default()
        };
        let begin = Vector::from_vec(vec![0.0, 10.0]);
        let thrown = solve_ivp(fall, (0.0, 100.0), &begin, options).unwrap();
        assert_eq!(thrown.end, IvpEnd::Event(0), "{scheme:?}");
        assert!(thrown.succeeded());
        assert!((thrown.t - 20.0 / 9.81).abs() < 1e-6, "{scheme:?}");
        assert_eq!(thrown.times.last(), Some(&thrown.t));
        assert!(thrown.y.to_vec().unwrap()[0].abs() < 1e-6);
        assert!(thrown.events[0].len() == 1 && thrown.events[2].is_empty());
        assert!((thrown.events[1][0].0 - 10.0 / 9.81).abs() < 1e-6);
    }
}

#[test]
fn integrations_that_cannot_go_on_say_so() {
    let one = Vector::from_vec(vec![1.0]);
    for scheme in SCHEMES {
        let options = || IvpOptions {
            scheme,
            ..IvpOptions::default()
        };
        // y = 1 / (1 - t) has no end.
        let solved = solve_ivp(|_, y| Ok(y * y), (0.0, 2.0), &one, options()).unwrap();
        assert_eq!(solved.end, IvpEnd::StepTooShort, "{scheme:?}");
        assert!((solved.t - 1.0).abs() < 0.01 && !solved.succeeded());
        // No number behind t = 1.
        let root = |t: f64, y: &Vector<f64>| Ok(y * (1.0 - t).sqrt());
        let solved = solve_ivp(root, (0.0, 2.0), &one, options()).unwrap();
        assert_eq!(solved.end, IvpEnd::StepTooShort, "{scheme:?}");
        assert!(solved.t <= 1.0 + 1e-6);
        let one_by_one = Csr::identity(1).unwrap();
        let with_jacobian = IvpOptions {
            jacobian: Jacobian::Constant(&one_by_one),
            ..options()
        };
        let solved = solve_ivp(root, (0.0, 2.0), &one, with_jacobian).unwrap();
        assert_eq!(solved.end, IvpEnd::StepTooShort, "{scheme:?}");

        let limited = IvpOptions {
            max_steps: Some(3),
            ..options()
        };
        let solved = solve_ivp(|_, y| Ok(-y), (0.0, 1e3), &one, limited).unwrap();
        assert_eq!(solved.end, IvpEnd::StepLimit, "{scheme:?}");
        assert!(solved.steps <= 3);

        let mut stop = |t: f64, _: &Vector<f64>| match t > 0.5 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let stopped = IvpOptions {
            monitor: Some(&mut stop),
            max_step: 0.1,
            ..options()
        };
        let solved = solve_ivp(|_, y| Ok(-y), (0.0, 9.0), &one, stopped).unwrap();
        assert_eq!(solved.end, IvpEnd::Stopped, "{scheme:?}");
        assert!(solved.t > 0.5 && solved.t < 0.61);
    }
}

#[test]
fn nothing_to_do_is_done() {
    for scheme in SCHEMES {
        let options = || IvpOptions {
            scheme,
            output: Output::Steps,
            ..IvpOptions::default()
        };
        let y = Vector::from_vec(vec![1.0, 2.0]);
        let solved = solve_ivp(|_, y| Ok(-y), (1.0, 1.0), &y, options()).unwrap();
        assert_eq!((solved.steps, solved.evaluations), (0, 0));
        assert_eq!(solved.states[0].to_vec().unwrap(), [1.0, 2.0]);
        let none = Vector::from_vec(Vec::<f64>::new());
        let solved = solve_ivp(|_, y| Ok(-y), (0.0, 1.0), &none, options()).unwrap();
        assert_eq!(solved.end, IvpEnd::Reached);
        // A state that does not change.
        let solved = solve_ivp(|_, y| Ok(y * 0.0), (0.0, 1e6), &y, options()).unwrap();
        assert_eq!(solved.y.to_vec().unwrap(), [1.0, 2.0]);
        assert!(solved.steps < 40, "{scheme:?}: {}", solved.steps);
    }
}

fn refusal(
    span: (f64, f64),
    y: &[f64],
    change: impl FnOnce(&mut IvpOptions<'_, f64, 1>),
) -> String {
    let mut options = IvpOptions::default();
    change(&mut options);
    let y = Vector::from_vec(y.to_vec());
    let error = solve_ivp(|_, y| Ok(-y), span, &y, options).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Argument { .. } | ErrorKind::Shape { .. }
    ));
    error.to_string()
}

#[test]
fn bad_input_is_refused() {
    let span = (0.0, 1.0);
    let expect = |message: String, words: &str| assert!(message.contains(words), "{message}");
    expect(refusal((0.0, f64::NAN), &[1.0], |_| ()), "finite times");
    expect(refusal(span, &[f64::INFINITY], |_| ()), "inf in element 0");
    expect(refusal(span, &[1.0], |o| o.rtol = 1e-15), "2.2e-14");
    expect(refusal(span, &[1.0], |o| o.atol = -1.0), "absolute");
    expect(refusal(span, &[1.0], |o| o.max_step = 0.0), "longest");
    expect(refusal(span, &[1.0], |o| o.first_step = Some(2.0)), "first");
    expect(
        refusal(span, &[1.0], |o| o.output = Output::At(&[0.5, 0.2])),
        "0.2 behind 0.5",
    );
    expect(
        refusal(span, &[1.0], |o| o.output = Output::At(&[1.5])),
        "1.5",
    );
    let large = gallery::poisson1d::<f64>(3).unwrap();
    let refused = refusal(span, &[1.0], |o| {
        o.scheme = Scheme::Bdf;
        let large: &'static Csr<f64> = Box::leak(Box::new(large.clone()));
        o.jacobian = Jacobian::Constant(large);
    });
    expect(refused, "(3, 3)");

    let y = Vector::from_vec(vec![1.0, 2.0]);
    let options = IvpOptions::default();
    let error = solve_ivp(|_, _| Ok(Vector::ones([3])), span, &y, options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape { .. }), "{error}");
}

/// Steps do not depend on the scale of the state and of `atol`; by powers of 2 no digit does.
#[test]
fn any_scale_of_the_state() {
    let of_scale = |scheme: Scheme, scale: f64| {
        let (a, begin) = heat::<f64>(6).unwrap();
        let slope = |_: f64, y: &Vector<f64>| Ok(&a * y + y * y * (10.0 / scale));
        // Its values are so small that the product of two of them would be 0.
        let mut value = |_: f64, y: &Vector<f64>| Ok((y.max().get()? / scale - 0.5) * 1e-200);
        let options = IvpOptions {
            scheme,
            atol: 1e-6 * scale,
            events: vec![Event {
                value: &mut value,
                crossing: Crossing::Any,
                is_last: true,
            }],
            ..IvpOptions::default()
        };
        let begin = begin * (0.75 * scale);
        let solved = solve_ivp(slope, (0.0, 1.0), &begin, options).unwrap();
        assert_eq!(solved.end, IvpEnd::Event(0), "{scheme:?} {scale:e}");
        let y = (&solved.y / scale).to_vec().unwrap();
        (solved.steps, solved.evaluations, solved.t.to_bits(), y)
    };
    for scheme in SCHEMES {
        let expected = of_scale(scheme, 1.0);
        for exponent in [-80, 60] {
            assert_eq!(
                of_scale(scheme, 2f64.powi(exponent)),
                expected,
                "{scheme:?}"
            );
        }
    }
}

/// A Jacobian that is infinite where a step was predicted to lead makes the step shorter.
#[test]
fn jacobians_that_are_not_finite() {
    let integrate = |bad: f64| {
        let mut jacobian = |t: f64, y: &Vector<f64>| {
            let of_square = &(y * -2.0);
            let entry = if t > bad { f64::INFINITY } else { 1.0 };
            Csr::identity(1)?.with_values(of_square * entry)
        };
        let options = IvpOptions {
            scheme: Scheme::Bdf,
            jacobian: Jacobian::Function(&mut jacobian),
            ..IvpOptions::default()
        };
        let begin = Vector::from_vec(vec![50.0]);
        solve_ivp(|_, y| Ok(-(y * y)), (0.0, 1.0), &begin, options)
    };
    let solved = integrate(0.0).unwrap();
    assert_eq!(solved.end, IvpEnd::Reached);
    assert!((solved.y.to_vec().unwrap()[0] - 50.0 / 51.0).abs() < 1e-2);
    let refused = integrate(-1.0).unwrap_err().to_string();
    assert!(refused.contains("finite at the begin"), "{refused}");
}

/// States whose squares are out of range, with Jacobians by differences.
#[test]
fn differences_of_large_and_small_states() {
    for scale in [1e-30_f32, 1.0, 1e20, 1e30] {
        let options = IvpOptions {
            scheme: Scheme::Bdf,
            atol: 1e-6 * f64::from(scale),
            ..IvpOptions::default()
        };
        let begin = Vector::full([4], scale);
        let solved = solve_ivp(
            |_, y: &Vector<f32>| Ok(y * -1.0),
            (0.0, 1.0),
            &begin,
            options,
        );
        let solved = solved.unwrap();
        assert_eq!(solved.end, IvpEnd::Reached, "{scale:e}");
        let error = (solved.y.to_vec().unwrap()[0] / scale - (-1f32).exp()).abs();
        assert!(error < 1e-2, "{scale:e}: {error:e}");
    }
}

/// Where times are large beside the steps, the state is that of the rounded time: SciPy's error
/// is below 1e-9 here, and steps that are not rounded with the time have one of 1e-3.
#[test]
fn times_that_are_large_beside_the_steps() {
    let begin = Vector::from_vec(vec![1.0]);
    for (scheme, tolerances, most) in [
        (Scheme::Rk45, (1e-10, 1e-12), 1e-8),
        (Scheme::Dop853, (1e-10, 1e-12), 1e-8),
        (Scheme::Bdf, (1e-4, 1e-6), 1e-2),
    ] {
        for (from, max_step) in [(1.7e9, f64::INFINITY), (1.7e9, 1e-5), (1e9, 1.5e-6)] {
            let options = IvpOptions {
                scheme,
                rtol: tolerances.0,
                atol: tolerances.1,
                max_step,
                first_step: Some(1.5e-6),
                ..IvpOptions::default()
            };
            let to = from + 1e-3;
            let solved = solve_ivp(|_, y| Ok(y * 1e3), (from, to), &begin, options).unwrap();
            assert_eq!(solved.end, IvpEnd::Reached);
            let expected = ((to - from) * 1e3).exp();
            let error = (solved.y.to_vec().unwrap()[0] - expected).abs() / expected;
            assert!(error < most, "{scheme:?} from {from}: {error:e}");
        }
    }
}

/// The last step ends where it is to, in as many steps as SciPy takes.
#[test]
fn the_last_step_reaches_the_end() {
    let begin = Vector::from_vec(vec![1.0]);
    let options = IvpOptions {
        first_step: Some(0.1),
        ..IvpOptions::default()
    };
    let solved = solve_ivp(|_, y| Ok(-y), (-3.0, 0.1), &begin, options).unwrap();
    assert_eq!((solved.t, solved.steps), (0.1, 5));
}

/// Squares of slopes by what is allowed are out of the range of single precision.
#[test]
fn slopes_that_are_steep_in_single_precision() {
    let begin = Vector::from_vec(vec![0f32]);
    let slope = |_: f64, y: &Vector<f32>| Ok((1.0 - y) * 1e14);
    let jacobian = Csr::identity(1).unwrap().scale(-1e14);
    let options = IvpOptions {
        scheme: Scheme::Bdf,
        jacobian: Jacobian::Constant(&jacobian),
        max_steps: Some(200),
        ..IvpOptions::default()
    };
    let solved = solve_ivp(slope, (0.0, 1.0), &begin, options).unwrap();
    assert_eq!(solved.end, IvpEnd::Reached);
    assert!((solved.y.to_vec().unwrap()[0] - 1.0).abs() < 1e-3);
    let options = IvpOptions {
        max_steps: Some(60),
        ..IvpOptions::default()
    };
    let solved = solve_ivp(slope, (0.0, 1e-13), &begin, options).unwrap();
    assert_eq!(solved.end, IvpEnd::Reached);
}

/// The time at which something happens is found by few values.
#[test]
fn events_are_found_by_few_values() {
    type Value = fn(f64) -> f64;
    let values: [(Value, f64, usize); 4] = [
        (|t| 10.0 - 4.9 * t * t, (10f64 / 4.9).sqrt(), 16),
        (f64::cos, PI / 2.0, 16),
        (|t| t * t * t - 2.0, 2f64.cbrt(), 20),
        // A root of which the slope is 0 too.
        (|t| (t - 1.25).powi(3), 1.25, 160),
    ];
    let begin = Vector::from_vec(vec![1.0]);
    for (number, (value, expected, most)) in values.into_iter().enumerate() {
        let mut calls = 0;
        let mut event = |t: f64, _: &Vector<f64>| {
            calls += 1;
            Ok(value(t))
        };
        let options = IvpOptions {
            first_step: Some(3.0),
            events: vec![Event {
                value: &mut event,
                crossing: Crossing::Any,
                is_last: true,
            }],
            ..IvpOptions::default()
        };
        let solved = solve_ivp(|_, y| Ok(y * 0.0), (0.0, 3.0), &begin, options).unwrap();
        let tolerance = if number == 3 { 1e-5 } else { 1e-14 };
        assert!(
            (solved.t - expected).abs() <= tolerance,
            "{number}: {} {expected}",
            solved.t
        );
        assert!(calls <= most, "{number}: {calls} values");
    }
}

/// A slope that is no number at the end of a step shortens the step, with each scheme.
#[test]
fn steps_end_where_the_slope_is_a_number() {
    for scheme in [Scheme::Rk23, Scheme::Rk45, Scheme::Dop853] {
        let options = IvpOptions {
            scheme,
            rtol: 1e-3,
            atol: 1e-3,
            ..IvpOptions::default()
        };
        let begin = Vector::<f64>::ones([1]);
        let slope = |_, y: &Vector<f64>| Ok((y.sqrt() - 0.01) * -50.0);
        let solved = solve_ivp(slope, (0.0, 10.0), &begin, options).unwrap();
        assert_eq!(solved.end, IvpEnd::Reached, "{scheme:?}");
        let y = solved.y.to_vec().unwrap()[0];
        assert!((y - 1e-4).abs() < 1e-3, "{scheme:?}: {y}");
    }
}
