//! The same loops compiled for different instruction sets give the same bits.
#![expect(
    unsafe_code,
    reason = "functions compiled for an instruction set are unsafe to call"
)]

use super::oracle::Bits;
use crate::math::{double, single};
use num_complex::Complex;

/// Points of every size and kind.
fn points() -> Vec<f64> {
    let mut bits = Bits(13);
    let mut points = vec![
        0.0,
        -0.0,
        f64::INFINITY,
        -f64::INFINITY,
        f64::NAN,
        -f64::NAN,
        1.0,
        -1.0,
    ];
    points.extend((0..400).map(|_| bits.uniform(-20.0, 20.0)));
    points.extend((0..300).map(|_| bits.spread(-1074, 1023)));
    points.extend((0..100).map(|_| bits.spread(-30, 5)));
    points
}

/// All functions over all points (each with its mirror image as the second argument), as bits.
#[inline(always)]
fn run(points: &[f64]) -> Vec<u64> {
    let mut out = Vec::new();
    macro_rules! unary {
        ($($name:ident)*) => {$(
            for &x in points {
                // Called by name, so that the functions are compiled for the caller's features.
                out.push(double::$name(x).to_bits());
                out.push(u64::from(single::$name(x as f32).to_bits()));
            }
        )*};
    }
    unary!(exp log sin cos tanh erf cbrt lgamma sinh cosh expm1 log1p log2 log10);
    for (&x, &y) in points.iter().zip(points.iter().rev()) {
        out.extend([double::pow(x, y).to_bits(), double::hypot(x, y).to_bits()]);
        out.push(double::atan2(x, y).to_bits());
        let (x, y) = (x as f32, y as f32);
        out.push(u64::from(single::atan2(x, y).to_bits()));
        out.push(u64::from(single::pow(x, y).to_bits()));
        out.push(u64::from(single::hypot(x, y).to_bits()));
    }
    run_complex(points, &mut out);
    let mut block = vec![0.0; points.len()];
    double::sin_block(points, &mut block);
    out.extend(block.iter().map(|y| y.to_bits()));
    double::cos_block(points, &mut block);
    out.extend(block.iter().map(|y| y.to_bits()));
    out
}

/// The complex functions over the same pairs.
#[inline(always)]
fn run_complex(points: &[f64], out: &mut Vec<u64>) {
    macro_rules! unary {
        ($z:ident: $($name:ident)*) => {$(
            let value = double::$name($z);
            out.extend([value.re.to_bits(), value.im.to_bits()]);
        )*};
    }
    for (&re, &im) in points.iter().zip(points.iter().rev()) {
        let z = Complex::new(re, im);
        unary!(z: complex_exp complex_log complex_sin complex_cos complex_tanh complex_sqrt);
        let (div, pow) = (double::complex_div(z, -z.conj()), double::complex_pow(z, z));
        out.extend([div, pow].map(|w| w.re.to_bits()));
        out.extend([div, pow].map(|w| w.im.to_bits()));
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn instruction_sets_agree() {
    #[target_feature(enable = "avx2,fma")]
    fn run_avx2(points: &[f64]) -> Vec<u64> {
        run(points)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma")]
    fn run_avx512(points: &[f64]) -> Vec<u64> {
        run(points)
    }

    let points = points();
    let baseline = run(&points);
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features.
        assert!(unsafe { run_avx2(&points) } == baseline);
    }
    let sets = [
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx512dq"),
        is_x86_feature_detected!("avx512vl"),
        is_x86_feature_detected!("avx512bw"),
        is_x86_feature_detected!("fma"),
    ];
    if sets == [true; 5] {
        // SAFETY: the processor has all five features.
        assert!(unsafe { run_avx512(&points) } == baseline);
    }
}
