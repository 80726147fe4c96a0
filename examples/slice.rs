//! scratch
use sparsefuse_dense::Vector;
use sparsefuse_runtime::*;
use sparsefuse_solvers::*;
use sparsefuse_sparse::gallery;
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let threads: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let rt = Runtime::new(Config {
        threads,
        ..Config::default()
    })
    .unwrap();
    rt.enter(|| {
        let a = gallery::poisson2d::<f64>(n).unwrap();
        let b = &a * &Vector::ones([n * n]);
        for _ in 0..3 {
            let c0 = rt.counters();
            let t = std::time::Instant::now();
            let s = cg(&a, &b).unwrap();
            let dt = t.elapsed().as_secs_f64();
            let c = rt.counters();
            println!("{} {} it, {:.2} us/it res {:e} tasks/it {} fused/it {} hits {}/{} peak {} bytes/it {}", s.reason, s.iterations, dt * 1e6 / s.iterations as f64, s.relative_residual(),
                (c.tasks - c0.tasks) as f64 / s.iterations as f64, (c.fused_tasks - c0.fused_tasks) as f64 / s.iterations as f64,
                c.trace_hits - c0.trace_hits, c.windows - c0.windows, rt.peak_memory(), (c.bytes-c0.bytes) / s.iterations as u64);
        }
        if std::env::args().nth(3).is_some() { println!("{}", rt.explain()); }
    });
}
