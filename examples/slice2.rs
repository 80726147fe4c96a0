//! scratch
use sparsefuse_dense::Vector;
use sparsefuse_runtime::*;
use std::time::Instant;
fn main() {
    let rt = Runtime::new(Config::default()).unwrap();
    rt.enter(|| {
        let x = Vector::<f64>::ones([1000]);
        for _ in 0..10 {
            let mut y = Vector::<f64>::zeros([1000]);
            let t = Instant::now();
            for _ in 0..1000 {
                y = &y + &x;
            }
            rt.flush();
            let dt = t.elapsed().as_secs_f64();
            print!("chain: {:.3} us/op  ", dt * 1e3);
            let c = rt.counters();
            println!("{:?}", c);
        }
    });
}
