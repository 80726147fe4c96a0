//! Matrix factorisation: two thin dense matrices whose product is near a sparse one at its entries.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "matrix_factorization",
    title: "Factorisation of a sparse matrix of ratings",
    help: "  E <- R - S .* (U V^T),  U <- U + D_u E V,  V <- V + D_v E^T U\n\n\
           by gradient descent, where S has ones at the entries of `gallery::rmat(N, 16, 1)`, with \
           n = 2^N rows and columns, and D_u and D_v are diagonal, 1/2 over the number of entries of \
           the row or column (at least 1). R = S .* (X Y^T) has a factorisation of 16 columns: \
           X(i,k) = ((11 i + 29 k) mod 97) / 194, Y(i,k) = ((17 i + 5 k) mod 89) / 178. At the begin \
           U(i,k) = ((7 i + 13 k) mod 101) / 202, V(i,k) = ((5 i + 3 k) mod 103) / 206. The result is \
           U. U V^T is formed at the entries alone (SDDMM).\n\n\
           Checked: each step makes the norm of E smaller.",
    size: (14, 1, "levels of the matrix: it has 2^N rows"),
    steps: 30,
    choices: &[],
    array_bytes: |n| 128.0 * n.min(60.0).exp2(),
    arrays: 30,
};

const EDGES: usize = 16;
const RANK: usize = 16;

/// A factor that looks like noise: ((p i + q k) mod m) / (2 m).
fn factor(n: usize, (p, q, m): (usize, usize, usize)) -> Array<f64, 2> {
    Array::from_fn([n, RANK], |[i, k]| {
        ((p * i + q * k) % m) as f64 / (2 * m) as f64
    })
}

/// What `u v^T` leaves of the ratings, at the entries of the pattern.
fn error(
    ratings: &Csr<f64>,
    pattern: &Csr<f64>,
    (u, v): (&Array<f64, 2>, &Array<f64, 2>),
) -> Result<Csr<f64>, Error> {
    ratings.with_values(ratings.values() - pattern.sddmm(u, v)?.values())
}

/// 1/2 over the number of entries of each row, as a column.
fn rate(pattern: &Csr<f64>) -> Array<f64, 2> {
    (0.5 / pattern.sum_axis(1).maximum(1.0)).insert_axis(1)
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let pattern = gallery::rmat::<f64>(run.size, EDGES, 1)?;
    let pattern = pattern.with_values(Vector::ones([pattern.nnz()]))?;
    let n = pattern.n_rows();
    // Of the transpose too, whose products need no other order of the entries.
    let transposed = pattern.transpose()?;
    let (x, y) = (factor(n, (11, 29, 97)), factor(n, (17, 5, 89)));
    let ratings = pattern.sddmm(&x, &y)?;
    let ratings_t = transposed.sddmm(&y, &x)?;
    let (rate_u, rate_v) = (rate(&pattern), rate(&transposed));
    let (mut u, mut v) = (factor(n, (7, 13, 101)), factor(n, (5, 3, 103)));
    let mut norms = Vec::new();
    for _ in run.steps() {
        let e = error(&ratings, &pattern, (&u, &v))?;
        let e_t = error(&ratings_t, &transposed, (&v, &u))?;
        norms.push(e.norm_frobenius());
        let next = &u + (&e * &v) * &rate_u;
        v = &v + (&e_t * &u) * &rate_v;
        u = next;
    }
    norms.push(error(&ratings, &pattern, (&u, &v))?.norm_frobenius());
    let norms = norms
        .iter()
        .map(Scalar::get)
        .collect::<Result<Vec<_>, _>>()?;
    // What is left at the end may be rounding alone.
    let rounding = 1e-13 * norms[0];
    let pairs = norms.windows(2).filter(|pair| pair[0] > rounding);
    let ratios = pairs.map(|pair| pair[1] / pair[0]);
    run.check(
        "largest ratio of the norms of E",
        ratios.fold(0.0, f64::max),
        1.0,
    );
    run.show("entries", pattern.nnz() as f64);
    run.show("norm of E at the end", norms[norms.len() - 1]);
    run.result("U", &u)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
