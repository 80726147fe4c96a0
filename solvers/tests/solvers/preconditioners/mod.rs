//! Preconditioners against dense arithmetic, against PETSc's iteration counts, on any number of
//! threads and ranks, and on matrices that they must refuse.

mod columns;
mod counts;
mod dense;
mod factor;
mod ranks;
mod refuses;
mod solves;
mod updates;

use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, random};
use sparsefuse_runtime::{Config, Error};
use sparsefuse_solvers::Preconditioner;
use sparsefuse_solvers::preconditioners::{
    AdditiveSchwarz, BlockJacobi, BlockSolve, Chebyshev, ChebyshevOptions, Ic0, Ilu0, Iluk, Ilut,
    IlutOptions, Jacobi, Polynomial, PolynomialOptions, SchwarzOptions, Sor, SorOptions, SorOrder,
    SorSweep, spcholesky, splu,
};
use sparsefuse_sparse::{Csr, LocalRows};
use sparsefuse_testing::{matrix, small};

type Boxed<T> = Box<dyn Preconditioner<T>>;

/// A preconditioner by name.
type Maker<T> = (&'static str, fn(&Csr<T>) -> Result<Boxed<T>, Error>);

fn boxed<T, P: Preconditioner<T> + 'static>(made: Result<P, Error>) -> Result<Boxed<T>, Error> {
    Ok(Box::new(made?))
}

/// Every block adds its exact solution.
const SCHWARZ: SchwarzOptions = SchwarzOptions {
    blocks: Some(5),
    overlap: 1,
    restricted: false,
    solve: BlockSolve::Direct,
};

/// Drops many entries of L and of U, by both rules.
const FEW: IlutOptions = IlutOptions {
    drop_tolerance: 0.005,
    fill: 3,
};

fn sor(sweep: SorSweep, order: SorOrder) -> SorOptions {
    SorOptions {
        omega: 1.2,
        sweep,
        sweeps: 2,
        order,
    }
}

/// All that do not depend on the ranks, and take any matrix with a diagonal.
fn general<T: Field>() -> Vec<Maker<T>> {
    vec![
        ("jacobi", |a| boxed(Jacobi::new(a))),
        ("block jacobi", |a| boxed(BlockJacobi::new(a, 3))),
        ("sor forward", |a| {
            boxed(Sor::new(a, sor(SorSweep::Forward, SorOrder::Sequential)))
        }),
        ("sor backward", |a| {
            boxed(Sor::new(a, sor(SorSweep::Backward, SorOrder::Sequential)))
        }),
        ("ssor", |a| boxed(Sor::new(a, SorOptions::default()))),
        ("multicolor sor", |a| {
            boxed(Sor::new(a, sor(SorSweep::Forward, SorOrder::Multicolor)))
        }),
        ("multicolor ssor", |a| {
            boxed(Sor::new(a, sor(SorSweep::Symmetric, SorOrder::Multicolor)))
        }),
        ("ilu(0)", |a| boxed(Ilu0::new(a))),
        ("ilu(2)", |a| boxed(Iluk::new(a, 2))),
        ("ilut", |a| boxed(Ilut::new(a, FEW))),
        ("neumann", |a| {
            let options = PolynomialOptions {
                degree: 3,
                omega: Some(0.7),
            };
            boxed(Polynomial::new(a, options))
        }),
        ("lu", |a| boxed(splu(a))),
        ("restricted schwarz", |a| {
            let options = SchwarzOptions {
                blocks: Some(4),
                ..SchwarzOptions::default()
            };
            boxed(AdditiveSchwarz::new(a, options))
        }),
        ("schwarz", |a| boxed(AdditiveSchwarz::new(a, SCHWARZ))),
    ]
}

/// Those for Hermitian positive definite matrices.
fn definite<T: Field>() -> Vec<Maker<T>> {
    vec![
        ("ic(0)", |a| boxed(Ic0::new(a))),
        ("cholesky", |a| boxed(spcholesky(a))),
    ]
}

/// Those whose estimates go on from the last ones, so that they depend on the updates before.
fn estimating<T: Field>() -> Vec<Maker<T>> {
    vec![
        ("chebyshev", |a| {
            let options = ChebyshevOptions {
                degree: 4,
                ..ChebyshevOptions::default()
            };
            boxed(Chebyshev::new(a, options))
        }),
        ("damped neumann", |a| {
            boxed(Polynomial::new(a, PolynomialOptions::default()))
        }),
    ]
}

/// Settings with which matrices of these tests are cut among ranks and threads.
fn config() -> Config {
    Config {
        tile_len: 16,
        check_ranks: true,
        ..small()
    }
}

/// The same structure with values that differ by a percent.
fn other_values<T: Field>(a: &Csr<T>, seed: u64) -> Csr<T> {
    changed_values(a, seed, 0.01)
}

/// The same structure with each value larger by up to a multiple of it.
fn changed_values<T: Field>(a: &Csr<T>, seed: u64, most: f64) -> Csr<T> {
    let factors = (0..a.nnz()).map(|k| 1.0 + most * random::uniform(seed, k as u64));
    let factors = Vector::from_vec(factors.map(T::from_f64).collect());
    a.with_values(a.values() * factors).unwrap()
}

fn pseudo_random<T: Field>(n: usize, seed: u64) -> Vec<T> {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    (0..n)
        .map(|i| T::from_parts(part(2 * i), part(2 * i + 1)))
        .collect()
}

/// A random matrix whose diagonal dominates, of symmetric structure; Hermitian if asked for.
fn random_matrix<T: Field>(n: usize, is_hermitian: bool, seed: u64) -> Csr<T> {
    Csr::from_rows(n, n, |rows| {
        let mut local = LocalRows::with_capacity(rows.len(), 0);
        for row in rows {
            for column in 0..n {
                let (low, high) = (row.min(column) as u64, row.max(column) as u64);
                let place = low * n as u64 + high;
                let near = high - low < 3 || random::uniform(seed, place) < 4.0 / n as f64;
                let part = |k: u64| 2.0 * random::uniform(seed + 1, place * 4 + k) - 1.0;
                if row == column {
                    local.push(column as u32, T::from_parts(9.0 + part(0), 0.0));
                } else if near {
                    let is_upper = row < column;
                    let value = match (is_hermitian, is_upper) {
                        (true, true) => T::from_parts(part(0), part(1)),
                        (true, false) => T::from_parts(part(0), -part(1)),
                        (false, true) => T::from_parts(part(0), part(1)),
                        (false, false) => T::from_parts(part(2), part(3)),
                    };
                    local.push(column as u32, value);
                }
            }
            local.end_row();
        }
        local
    })
    .unwrap()
}

/// A real matrix of `shared/matrices`; `None`, and a line, where it is not there.
fn real_matrix(name: &str) -> Option<Csr<f64>> {
    matrix(name).map(|path| Csr::read(path).unwrap())
}

fn ones(n: usize) -> Vector<f64> {
    Vector::ones([n])
}
