//! Prices of ten million European calls and puts, one operation a line: fused as native code, fused
//! in blocks, not fused.
//!
//! `cargo bench --bench black_scholes`. Fused, it moves 40 bytes an option (three vectors read, two
//! written), which the bytes per second count in all forms. Prices are checked by put-call parity
//! before they are timed, and native code is timed once it is there; how long that took is printed.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sparsefuse::prelude::*;
use std::time::{Duration, Instant};

const OPTIONS: usize = 10_000_000;
const RATE: f64 = 0.02;
const VOLATILITY: f64 = 0.3;

/// Spot, strike and years to maturity of each option.
struct Market {
    spot: Vector<f64>,
    strike: Vector<f64>,
    years: Vector<f64>,
}

impl Market {
    fn random(n: usize) -> Self {
        let uniform =
            |seed, low, high| Vector::<f64>::random_uniform([n], seed) * (high - low) + low;
        Self {
            spot: uniform(1, 10.0, 50.0),
            strike: uniform(2, 10.0, 50.0),
            years: uniform(3, 1.0, 2.0),
        }
    }

    /// The prices of the calls and of the puts.
    fn prices(&self) -> [Vector<f64>; 2] {
        let Self {
            spot,
            strike,
            years,
        } = self;
        let cumulative =
            |x: &Vector<f64>| ((x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
        let d1 = ((spot / strike).ln() + years * (RATE + 0.5 * VOLATILITY * VOLATILITY))
            / (years.sqrt() * VOLATILITY);
        let d2 = &d1 - years.sqrt() * VOLATILITY;
        let discount = (-(years * RATE)).exp();
        let call = spot * cumulative(&d1) - strike * &discount * cumulative(&d2);
        let put = strike * &discount * cumulative(&-&d2) - spot * cumulative(&-&d1);
        [call, put]
    }

    /// A call less a put is the spot less the discounted strike.
    fn check(&self) {
        let [call, put] = self.prices();
        let expected = &self.spot - &self.strike * (-(&self.years * RATE)).exp();
        let wrong = (call - put - expected).norm_inf().get().unwrap();
        assert!(wrong < 1e-12, "parity is off by {wrong}");
    }
}

/// Prices options until no kernel is about to become native code.
fn become_native(runtime: &Runtime, market: &Market) {
    let start = Instant::now();
    let mut runs = 0;
    loop {
        let _prices = market.prices();
        runtime.flush();
        runs += 1;
        let text = runtime.explain();
        let mut notes = text.lines().filter(|line| line.contains(" runs "));
        if notes.all(|note| !note.contains("compiled") && !note.contains("longer")) {
            break;
        }
    }
    println!("settled after {runs} runs, {:?}", start.elapsed());
}

fn prices(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("black_scholes");
    group.throughput(Throughput::ElementsAndBytes {
        elements: OPTIONS as u64,
        bytes: 5 * 8 * OPTIONS as u64,
    });
    for (name, fusion, is_native) in [
        ("fused, native", true, true),
        ("fused, in blocks", true, false),
        ("not fused", false, false),
    ] {
        for threads in [1, 2] {
            let default = Config::default();
            let config = Config {
                threads,
                fusion,
                native: default.native.clone().filter(|_| is_native),
                ..default
            };
            let runtime = Runtime::new(config).unwrap();
            let market = runtime.enter(|| Market::random(OPTIONS));
            market.check();
            if is_native {
                become_native(&runtime, &market);
            }
            let id = BenchmarkId::new(name, format!("{threads} threads"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    let prices = market.prices();
                    runtime.flush();
                    prices
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = prices
}
criterion_main!(benches);
