//! scratch
use sparsefuse_dense::Vector;
use sparsefuse_runtime::*;
use sparsefuse_solvers::*;
use sparsefuse_sparse::gallery;
fn main() {
    let n: usize = 8;
    for executor in [Executor::Blocks, Executor::Reference] {
        let rt = Runtime::new(Config {
            threads: 1,
            executor,
            ..Config::default()
        })
        .unwrap();
        rt.enter(|| {
            let a = gallery::poisson2d::<f64>(n).unwrap();
            let b = &a * &Vector::ones([n * n]);
            let mut f = |it: usize, r: f64| {
                if it < 4 {
                    println!("{it} {r:e}");
                }
                if it == 2 && executor == Executor::Blocks {
                    println!("{}", rt.explain());
                }
                std::ops::ControlFlow::Continue(())
            };
            let s = cg_with(
                &a,
                &b,
                Options {
                    max_iter: Some(30),
                    monitor: Some(&mut f),
                    ..Options::default()
                },
            )
            .unwrap();
            println!("{} {}", s.reason, s.iterations);
        });
    }
}
