//! The flux of a gas without viscosity (the Euler equations), within elements and through faces.

use super::quadrilaterals::{Axis, Face, Field, Mesh};
use sparsefuse::prelude::*;

/// Density, momentum in x and in y, energy.
pub(crate) type State = [Field; 4];

/// The flux along an axis, and the fastest wave, in elements or on faces.
pub(crate) fn flux<const D: usize>(
    [r, m, n, e]: &[Array<f64, D>; 4],
    axis: Axis,
) -> ([Array<f64, D>; 4], Array<f64, D>) {
    let (u, v) = (m / r, n / r);
    let p = (e - (m * &u + n * &v) * 0.5) * 0.4;
    let sound = (&p / r * 1.4).sqrt();
    match axis {
        Axis::X => (
            [m.clone(), m * &u + &p, n * &u, (e + &p) * &u],
            u.abs() + sound,
        ),
        Axis::Y => (
            [n.clone(), m * &v, n * &v + &p, (e + &p) * &v],
            v.abs() + sound,
        ),
    }
}

/// The flux through the last face of each element along an axis (Rusanov).
pub(crate) fn through_faces(mesh: &Mesh, state: &State, axis: Axis) -> [Face; 4] {
    let left = state.each_ref().map(|q| mesh.last(q, axis));
    let right = state
        .each_ref()
        .map(|q| mesh.next(&mesh.first(q, axis), axis));
    let ((f_left, c_left), (f_right, c_right)) = (flux(&left, axis), flux(&right, axis));
    let fastest = c_left.maximum(c_right);
    std::array::from_fn(|k| (&f_left[k] + &f_right[k] - &fastest * (&right[k] - &left[k])) * 0.5)
}
