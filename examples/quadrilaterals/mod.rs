//! Square elements of the periodic unit square for discontinuous Galerkin methods: points,
//! derivatives, neighbours, and what differences at faces are to the points.
//!
//! In each element a field is a polynomial of degree k in x and in y, given at the (k + 1)^2 points
//! of Gauss and Lobatto, which are the points of integration too.

use sparsefuse::prelude::*;
use sparsefuse_frame::{Choice, Run};

/// The option for the degree of the polynomials.
pub(crate) const DEGREES: Choice = Choice {
    name: "degree",
    values: &["3", "1", "2", "4"],
    help: "The degree of the polynomials",
};

/// A polynomial in each element: elements (row by row), points in y, points in x.
pub(crate) type Field = Array<f64, 3>;

/// A polynomial on a face of each element: elements, points.
pub(crate) type Face = Array<f64, 2>;

/// A direction, by the axis of fields.
#[derive(Clone, Copy)]
pub(crate) enum Axis {
    Y = 1,
    X = 2,
}

/// The elements, and what is the same in all of them.
pub(crate) struct Mesh {
    n: usize,
    /// The points of an element, from -1 to 1.
    points: Vec<f64>,
    /// Derivatives with respect to x or y: at points (rows), of values (columns).
    derivatives: Array<f64, 2>,
    /// What a difference at the first face is to the points, and one at the last.
    lift: [Vector<f64>; 2],
    /// The weights of the points of an element, whose sum is its area.
    weights: Field,
    /// The elements after each in y and in x, and those before.
    next: [Vector<i64>; 2],
    previous: [Vector<i64>; 2],
}

impl Mesh {
    /// `n` elements along each side.
    pub(crate) fn new(n: usize, degree: usize) -> Self {
        let (x, w) = lobatto(degree);
        let points = x.len();
        let scale = 2.0 * n as f64;
        let end = |at: usize| {
            let value = |[k]: [usize; 1]| if k == at { scale / w[k] } else { 0.0 };
            Vector::from_fn([points], value)
        };
        let weight = |[_, i, j]: [usize; 3]| w[i] * w[j] / (scale * scale);
        let size = n as i64;
        let element = Vector::<i64>::arange(n * n);
        let (row, column) = (&element / size, &element % size);
        // The element that is `rows` and `columns` further, periodic.
        let at = |rows: i64, columns: i64| {
            (&row + (rows + size)) % size * size + (&column + (columns + size)) % size
        };
        Self {
            n,
            derivatives: Array::from_fn([points; 2], |[i, j]| scale * derivative(&x, i, j)),
            lift: [end(0), end(points - 1)],
            weights: Array::from_fn([1, points, points], weight),
            next: [at(1, 0), at(0, 1)],
            previous: [at(-1, 0), at(0, -1)],
            points: x,
        }
    }

    /// A function of x and y at all points.
    pub(crate) fn field(&self, value: impl Fn(f64, f64) -> f64) -> Field {
        let (n, points) = (self.n, self.points.len());
        let place = |element: usize, point: usize| {
            (element as f64 + (self.points[point] + 1.0) / 2.0) / n as f64
        };
        Array::from_fn([n * n, points, points], |[e, i, j]| {
            value(place(e % n, j), place(e / n, i))
        })
    }

    /// The derivative of all polynomials.
    pub(crate) fn derivative(&self, q: &Field, axis: Axis) -> Field {
        let d = self.derivatives.insert_axis(0);
        match axis {
            Axis::X => (q.insert_axis(2) * d.insert_axis(0)).sum_axis(3),
            Axis::Y => (q.insert_axis(1) * d.insert_axis(3)).sum_axis(2),
        }
    }

    /// The values at the first face of each element along an axis.
    pub(crate) fn first(&self, q: &Field, axis: Axis) -> Face {
        q.index_axis(axis as usize, 0)
    }

    /// The values at the last face of each element.
    pub(crate) fn last(&self, q: &Field, axis: Axis) -> Face {
        q.index_axis(axis as usize, self.points.len() - 1)
    }

    /// What the next element along an axis has.
    pub(crate) fn next(&self, face: &Face, axis: Axis) -> Face {
        face.take_axis(0, &self.next[axis as usize - 1])
    }

    /// What the element before has.
    pub(crate) fn previous(&self, face: &Face, axis: Axis) -> Face {
        face.take_axis(0, &self.previous[axis as usize - 1])
    }

    /// How fast a quantity changes that flows along an axis with the flux `f` within the elements
    /// and `star` through the last face of each.
    pub(crate) fn change(&self, f: &Field, star: &Face, axis: Axis) -> Field {
        let along = |lift: &Vector<f64>| match axis {
            Axis::X => lift.insert_axis(0).insert_axis(0),
            Axis::Y => lift.insert_axis(0).insert_axis(2),
        };
        let first = self.previous(star, axis) - self.first(f, axis);
        let last = self.last(f, axis) - star;
        first.insert_axis(axis as usize) * along(&self.lift[0])
            + last.insert_axis(axis as usize) * along(&self.lift[1])
            - self.derivative(f, axis)
    }

    /// The integral over the square.
    pub(crate) fn integral(&self, q: &Field) -> Scalar<f64> {
        (q * &self.weights).sum()
    }
}

/// A step of the classical Runge-Kutta method of order 4 for several fields, whose rate of change
/// depends on them and on the time since the begin of the step.
pub(crate) fn runge_kutta<const M: usize>(
    state: &[Field; M],
    dt: f64,
    rate: impl Fn(&[Field; M], f64) -> [Field; M],
) -> [Field; M] {
    let plus = |rate: &[Field; M], dt: f64| -> [Field; M] {
        std::array::from_fn(|k| &state[k] + &rate[k] * dt)
    };
    let first = rate(state, 0.0);
    let second = rate(&plus(&first, dt / 2.0), dt / 2.0);
    let third = rate(&plus(&second, dt / 2.0), dt / 2.0);
    let fourth = rate(&plus(&third, dt), dt);
    let sum = |k: usize| &first[k] + (&second[k] + &third[k]) * 2.0 + &fourth[k];
    std::array::from_fn(|k| &state[k] + sum(k) * (dt / 6.0))
}

/// Shows the errors on half as many elements along each side and on all of them, and what order of
/// convergence they tell; checks it where they tell it, as `--help` says.
pub(crate) fn check_order(run: &Run<'_>, degree: usize, time: f64, [coarse, fine]: [f64; 2]) {
    let ratio = run.size as f64 / (run.size / 2) as f64;
    let order = (coarse / fine).log(ratio);
    run.show("time", time);
    run.show("error", fine);
    run.show("order of convergence", order);
    if run.size * degree >= 48 && time >= 0.1 && fine >= 1e-10 {
        run.check("degree less the order", degree as f64 - order, 0.0);
    }
}

/// The points of Gauss and Lobatto on [-1, 1] and their weights.
fn lobatto(degree: usize) -> (Vec<f64>, Vec<f64>) {
    let (a, b) = (0.2f64.sqrt(), (3.0 / 7.0f64).sqrt());
    let (points, weights, divisor) = match degree {
        1 => (vec![-1.0, 1.0], vec![1.0, 1.0], 1.0),
        2 => (vec![-1.0, 0.0, 1.0], vec![1.0, 4.0, 1.0], 3.0),
        3 => (vec![-1.0, -a, a, 1.0], vec![1.0, 5.0, 5.0, 1.0], 6.0),
        _ => (
            vec![-1.0, -b, 0.0, b, 1.0],
            vec![9.0, 49.0, 64.0, 49.0, 9.0],
            90.0,
        ),
    };
    (points, weights.iter().map(|w| w / divisor).collect())
}

/// The derivative at the i-th point of the polynomial that is 1 at the j-th and 0 at the others.
fn derivative(x: &[f64], i: usize, j: usize) -> f64 {
    let others = |k: usize| (0..x.len()).filter(move |&m| m != k);
    if i == j {
        return others(i).map(|m| 1.0 / (x[i] - x[m])).sum();
    }
    let product = |k: usize| -> f64 { others(k).map(|m| x[k] - x[m]).product() };
    product(i) / (product(j) * (x[i] - x[j]))
}
