use sparsefuse::prelude::*;
use std::time::Instant;
fn main() -> Result<(), Error> {
    let args: Vec<usize> = std::env::args()
        .skip(1)
        .map(|a| a.parse().unwrap())
        .collect();
    let (n, iters, threads, reps) = (args[0], args[1], args[2], args[3]);
    let runtime = Runtime::new(Config {
        threads,
        ..Config::default()
    })?;
    runtime.enter(|| {
        let a = gallery::poisson2d::<f64>(n)?;
        let b = Vector::<f64>::random_uniform([n * n], 1);
        let mut best = f64::MAX;
        let mut hash = 0;
        for _ in 0..reps {
            let t = Instant::now();
            let options = Options {
                rtol: 0.0,
                max_iter: Some(iters),
                ..Options::default()
            };
            let s = gmres_with(&a, &b, options)?;
            runtime.flush();
            best = best.min(t.elapsed().as_secs_f64());
            if hash == 0 {
                for x in s.x.to_vec()? {
                    hash = (hash as u64).rotate_left(5) ^ x.to_bits();
                }
            }
        }
        println!(
            "n {n} threads {threads}: {:.1} us/iteration  hash {hash:x}",
            best * 1e6 / iters as f64
        );
        Ok(())
    })
}
