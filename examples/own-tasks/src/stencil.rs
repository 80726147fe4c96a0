//! 2. A stencil with halos: slices of one array are the neighbours, the runtime sends the rows.

use sparsefuse::prelude::*;

/// A step of the heat equation by the explicit Euler method; the boundary stays as it is.
///
/// The slices are views of one store. On several ranks each reads a row of its neighbour on either
/// side, its halo: that is all that is sent.
pub(crate) fn step(u: &mut Array<f64, 2>, factor: f64) -> Result<(), Error> {
    let [n, m] = u.shape();
    if n < 3 || m < 3 {
        return Ok(());
    }
    let inside = |i: usize, j: usize| u.slice((i..n - 2 + i, j..m - 2 + j));
    let [north, south] = [inside(0, 1), inside(2, 1)];
    let [west, east] = [inside(1, 0), inside(1, 2)];
    let next = map_all(
        [&inside(1, 1), &north, &south, &west, &east],
        |[u, north, south, west, east]| u + factor * (north + south + west + east - 4.0 * u),
    );
    u.try_assign_slice((1..n - 1, 1..m - 1), next)
}

pub(crate) fn show() -> Result<String, Error> {
    let mut u = Array::zeros([64, 64]);
    u.try_assign_slice((0..1, ..), 1.0)?;
    for _ in 0..100 {
        step(&mut u, 0.2)?;
    }
    let (heat, counters) = (u.sum().get()?, u.runtime().counters());
    Ok(format!(
        "100 steps: heat {heat:.4}; in all {} tasks became {}",
        counters.tasks, counters.fused_tasks
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everywhere::everywhere;

    const N: usize = 24;
    const M: usize = 10;

    fn initial() -> Array<f64, 2> {
        Array::random_uniform([N, M], 1)
    }

    fn plain_step(u: &[f64]) -> Vec<f64> {
        let mut next = u.to_vec();
        for i in 1..N - 1 {
            for j in 1..M - 1 {
                let at = i * M + j;
                let around = u[at - M] + u[at + M] + u[at - 1] + u[at + 1];
                next[at] = u[at] + 0.2 * (around - 4.0 * u[at]);
            }
        }
        next
    }

    #[test]
    fn steps_are_those_of_plain_loops() -> Result<(), Error> {
        let found = everywhere(|| {
            let mut u = initial();
            (0..5).try_for_each(|_| step(&mut u, 0.2))?;
            u.to_vec()
        })?;
        let expected = (0..5).fold(initial().to_vec()?, |u, _| plain_step(&u));
        assert_eq!(found, expected);
        Ok(())
    }

    #[test]
    fn only_halos_are_sent() -> Result<(), Error> {
        let config = Config {
            cut_threshold: 1,
            tile_len: 4,
            ..Config::default()
        };
        let sent: Vec<Result<u64, Error>> = run_ranks(2, &config, |runtime| {
            let mut u = initial();
            step(&mut u, 0.2)?;
            runtime.flush();
            let before = runtime.counters().bytes_sent;
            // Steps in one window may share an exchange, of a row for each of them.
            for _ in 0..3 {
                step(&mut u, 0.2)?;
                runtime.flush();
            }
            Ok(runtime.counters().bytes_sent - before)
        })?;
        for sent in sent {
            assert_eq!(sent?, 3 * (M as u64 - 2) * 8, "a row for each step");
        }
        Ok(())
    }
}
