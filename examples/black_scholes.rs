//! The prices of European options by the formula of Black and Scholes.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "black_scholes",
    title: "The prices of calls and puts by the formula of Black and Scholes",
    help: "  call = S F(d1) - K exp(-r t) F(d2)         d1 = (ln(S/K) + (r + s^2/2) t) / (s sqrt(t))\n  \
             put  = K exp(-r t) F(-d2) - S F(-d1)       d2 = d1 - s sqrt(t)\n\n\
           with the normal distribution F(x) = (1 + erf(x / sqrt(2))) / 2, the rate r = 0.02, the \
           volatility s = 0.3, and for the option i the spot S = 10 + 40 ((7 i) mod 101) / 101, the \
           strike K = 10 + 40 ((13 i) mod 103) / 103 and the years t = 1 + ((17 i) mod 107) / 107. A \
           step prices all options. The result is the price of the calls.\n\n\
           Call less put is S - K exp(-r t), whatever the volatility, which is checked; and that no \
           price is negative.",
    size: (1_000_000, 1, "options"),
    steps: 50,
    choices: &[],
    array_bytes: |n| 8.0 * n,
    arrays: 7,
};

const RATE: f64 = 0.02;
const VOLATILITY: f64 = 0.3;

/// `((a i) mod m) / m` for the option i.
fn spread(n: usize, a: i64, m: i64) -> Vector<f64> {
    (Vector::<i64>::arange(n) * a % m).cast::<f64>() / m as f64
}

/// The normal distribution.
fn normal(x: &Vector<f64>) -> Vector<f64> {
    ((x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5
}

/// The prices of calls and of puts.
fn prices(
    spot: &Vector<f64>,
    strike: &Vector<f64>,
    years: &Vector<f64>,
) -> (Vector<f64>, Vector<f64>) {
    let deviation = years.sqrt() * VOLATILITY;
    let drift = years * (RATE + 0.5 * VOLATILITY * VOLATILITY);
    let d1 = ((spot / strike).ln() + drift) / &deviation;
    let d2 = &d1 - &deviation;
    let discounted = strike * (years * -RATE).exp();
    let call = spot * normal(&d1) - &discounted * normal(&d2);
    let put = discounted * normal(&-d2) - spot * normal(&-d1);
    (call, put)
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let spot = spread(n, 7, 101) * 40.0 + 10.0;
    let strike = spread(n, 13, 103) * 40.0 + 10.0;
    let years = spread(n, 17, 107) + 1.0;
    let (mut call, mut put) = (Vector::zeros([n]), Vector::zeros([n]));
    for _ in run.steps() {
        (call, put) = prices(&spot, &strike, &years);
    }
    let parity = &call - &put - (spot - strike * (years * -RATE).exp());
    run.check(
        "call - put - (S - K exp(-r t))",
        parity.norm_inf().get()?,
        1e-12,
    );
    let least = call.min().minimum(put.min()).get()?;
    run.check("the least price, negative", -least, 1e-12);
    run.show("mean of the calls", call.mean().get()?);
    run.result("call", &call)?;
    run.result("put", &put)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
