//! Feeds any bytes to the Matrix Market reader: whatever they are, plain text or gzip, it returns
//! a matrix or an error. A real matrix must also read as a complex one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use num_complex::Complex;
use sparsefuse_sparse::matrix_market::parse;

fuzz_target!(|bytes: &[u8]| {
    let real = parse::<f64>(bytes, "fuzz");
    let complex = parse::<Complex<f64>>(bytes, "fuzz");
    assert!(real.is_err() || complex.is_ok());
});
