//! Prototype.
use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_solvers::multigrid::*;
use sparsefuse_solvers::{LinearOperator, Options, cg_with};
use sparsefuse_sparse::gallery;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: usize = args.get(1).map_or(1, |s| s.parse().unwrap());
    let sizes: Vec<usize> = args[2..].iter().map(|s| s.parse().unwrap()).collect();
    for profile in [false, true] {
        for &n in &sizes {
            let rt = Runtime::new(Config {
                threads,
                profile,
                ..Config::default()
            })
            .unwrap();
            rt.enter(|| {
                let smoothers = [("jacobi", Smoother::Jacobi { omega: None }, 1), ("cheb2", Smoother::chebyshev(), 2), ("gs", Smoother::GaussSeidel, 1)];
                let d3 = std::env::var("D3").is_ok();
                for (name, smoother, steps) in smoothers {
                    if profile && name != "jacobi" { continue; }
                    let a = if d3 { gallery::poisson3d::<f64>(n).unwrap() } else { gallery::poisson2d::<f64>(n).unwrap() };
                    let sides = if d3 { vec![n; 3] } else { vec![n; 2] };
                    let b = &a * &Vector::ones([a.n_rows()]);
                    rt.flush();
                    let options = GridOptions { cycle: CycleOptions { smoother, pre: steps, post: steps, ..Default::default() }, ..Default::default() };
                    let mut best = (f64::MAX, 0.0, 0.0);
                    let mut its = 0;
                    for _ in 0..(if n > 500 { 4 } else { 8 }) {
                        let t = Instant::now();
                        let mg = Multigrid::on_grid_with(&a, &sides, &options).unwrap();
                        let setup = t.elapsed().as_secs_f64();
                        let t = Instant::now();
                        let s = cg_with(&a, &b, Options { preconditioner: Some(&mg), ..Default::default() }).unwrap();
                        let solve = t.elapsed().as_secs_f64();
                        assert!(s.converged());
                        its = s.iterations;
                        if setup + solve < best.0 { best = (setup + solve, setup, solve); }
                    }
                    let mg = Multigrid::on_grid_with(&a, &sides, &options).unwrap();
                    let sol = mg.solve(&b, Options::default()).unwrap();
                    for _ in 0..20 { let z = mg.apply(&b).unwrap(); rt.flush(); drop(z); }
                    let mut cyc = f64::MAX;
                    let reps = (200_000 / (n * n)).max(1);
                    rt.reset_profile();
                    for _ in 0..10 {
                        let t = Instant::now();
                        for _ in 0..reps { let z = mg.apply(&b).unwrap(); rt.flush(); drop(z); }
                        cyc = cyc.min(t.elapsed().as_secs_f64() / reps as f64);
                    }
                    println!("{n:>5} {name:>7}: setup {:8.2} ms solve {:8.2} ms, {its} its (alone {}), cycle {:8.1} us, levels {:?}", best.1 * 1e3, best.2 * 1e3, sol.iterations, cyc * 1e6, mg.levels().collect::<Vec<_>>());
                    if profile {
                        println!("{}", rt.profile().unwrap().table());
                        if std::env::var("EXPLAIN").is_ok() { println!("{}", rt.explain()); }
                    }
                }
            });
        }
    }
}
