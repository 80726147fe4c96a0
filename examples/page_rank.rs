//! PageRank of a random graph with a few nodes that many link to.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "page_rank",
    title: "PageRank of a random graph",
    help: "  r <- d (P^T r + s / n) + (1 - d) / n\n\n\
           for the graph `gallery::rmat(N, 16, 1)` of n = 2^N nodes and 16 n weighted edges (R-MAT, \
           with quadrants of 0.57, 0.19, 0.19, 0.05): P(i,j) is the weight of the edge from i to j \
           over that of all edges from i, s is the sum of r over the nodes without such edges, and \
           d = 0.85. At the begin r = 1/n. The result is r.\n\n\
           Checked: r stays 1 in sum, and each step makes its change at least 0.85 times as small.",
    size: (16, 1, "levels of the graph: it has 2^N nodes"),
    steps: 50,
    choices: &[],
    array_bytes: |n| 8.0 * n.min(60.0).exp2(),
    arrays: 90,
};

const DAMPING: f64 = 0.85;
const EDGES: usize = 16;

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let links = gallery::rmat::<f64>(run.size, EDGES, 1)?;
    let n = links.n_rows();
    let weight = &links * &Vector::ones([n]);
    let is_end = weight.equal(0.0);
    let backwards = links.transpose()?.balance()?;
    let mut rank = Vector::full([n], 1.0 / n as f64);
    let mut change = Scalar::new(0.0);
    for _ in run.steps() {
        let shares = is_end.select(0.0, &rank / &weight);
        let ends = is_end.select(&rank, 0.0).sum();
        let next = (&backwards * &shares + ends / n as f64) * DAMPING + (1.0 - DAMPING) / n as f64;
        change = (&next - &rank).norm1();
        rank = next;
    }
    run.check("|sum of r - 1|", (rank.sum() - 1.0).abs().get()?, 1e-12);
    let bound = 2.0 * DAMPING.powf(run.n_steps() as f64) + 1e-14;
    run.check("change of the last step", change.get()?, bound);
    run.show("the largest rank times n", rank.max().get()? * n as f64);
    run.result("r", &rank)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
