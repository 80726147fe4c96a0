//! Multigrid: convergence that does not depend on the size, grids of any shape, symmetry, the same
//! bits however it is run, and what is refused.

mod aggregates;
mod boundaries;
mod grids;
mod runs;

use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_solvers::multigrid::{CycleOptions, GridOptions, Multigrid};
use sparsefuse_solvers::{Error, LinearOperator, Options, Solution, StopReason, cg_with};
use sparsefuse_sparse::{Csr, LocalRows};

/// -sum over d of c_d times the second difference along axis d, u = 0 one step beyond the grid.
fn laplacian<T: Field>(sides: &[usize], c: &[f64]) -> Csr<T> {
    with_ends(sides, c, [1.0, 1.0])
}

/// The same; before the first and behind the last point of each axis, the neighbour that is not
/// there counts this much: 1 / e for u = 0 at a distance of e steps, 0 for u' = 0.
fn with_ends<T: Field>(sides: &[usize], c: &[f64], shares: [f64; 2]) -> Csr<T> {
    let n: usize = sides.iter().product();
    let stride = |d: usize| sides[d + 1..].iter().product::<usize>();
    Csr::from_rows(n, n, |rows| {
        let mut local = LocalRows::with_capacity(rows.len(), 0);
        for row in rows {
            let along = |d: usize| row / stride(d) % sides[d];
            for d in (0..sides.len()).filter(|&d| along(d) > 0) {
                local.push((row - stride(d)) as u32, T::from_f64(-c[d]));
            }
            let share = |is_inside: bool, share: f64| if is_inside { 1.0 } else { share };
            let of_axis = |d: usize| {
                let first = share(along(d) > 0, shares[0]);
                c[d] * (first + share(along(d) + 1 < sides[d], shares[1]))
            };
            let diagonal: f64 = (0..sides.len()).map(of_axis).sum();
            local.push(row as u32, T::from_f64(diagonal));
            for d in (0..sides.len()).rev().filter(|&d| along(d) + 1 < sides[d]) {
                local.push((row + stride(d)) as u32, T::from_f64(-c[d]));
            }
            local.end_row();
        }
        local
    })
    .unwrap()
}

/// Options with this cycle.
fn with_cycle<T>(cycle: CycleOptions) -> GridOptions<T> {
    GridOptions {
        cycle,
        ..GridOptions::default()
    }
}

/// The right-hand side of a random solution.
fn rhs<T: Field>(a: &Csr<T>) -> Vector<T> {
    a * &(Vector::random_uniform([a.n_rows()], 7) - T::from_f64(0.5))
}

/// Conjugate gradients with a cycle as preconditioner.
fn preconditioned<T: Field>(
    a: &Csr<T>,
    b: &Vector<T>,
    rtol: f64,
    multigrid: &Multigrid<T>,
) -> Result<Solution<T>, Error> {
    let options = Options {
        rtol,
        preconditioner: Some(multigrid),
        ..Options::default()
    };
    cg_with(a, b, options)
}

/// The mean factor by which cycles alone reduce the residual of a random problem, the first left
/// out.
fn factor<T: Field>(a: &Csr<T>, multigrid: &Multigrid<T>) -> f64 {
    let options = Options {
        rtol: 1e-8,
        max_iter: Some(100),
        ..Options::default()
    };
    let solution = multigrid.solve(&rhs(a), options).unwrap();
    let norms = &solution.history;
    let ends = [
        StopReason::Converged,
        StopReason::IterationLimit,
        StopReason::Stagnation,
    ];
    assert!(ends.contains(&solution.reason), "{:?}", solution.reason);
    if norms.len() < 3 {
        return 0.0;
    }
    (norms[norms.len() - 1] / norms[1]).powf(1.0 / (norms.len() - 2) as f64)
}

/// x'My and y'Mx agree.
fn check_symmetry<T: Field>(multigrid: &Multigrid<T>, name: &str) {
    let n = multigrid.shape().0;
    let [x, y] = [1, 2].map(|seed| Vector::random_uniform([n], seed) - T::from_f64(0.5));
    let (mx, my) = (multigrid.apply(&x).unwrap(), multigrid.apply(&y).unwrap());
    let left = x.dot(&my).get().unwrap().parts();
    let right = mx.dot(&y).get().unwrap().parts();
    let energy = x.dot(&mx).get().unwrap().parts().0;
    assert!(energy > 0.0, "{name}: x'Mx = {energy}");
    let distance = (left.0 - right.0).hypot(left.1 - right.1);
    assert!(distance <= 1e-12 * energy, "{name}: {left:?} and {right:?}");
}
