//! Roots of numbers, with the same bits on every machine: ranks choose steps by them.

/// The `degree`-th root of a number that is not negative, by Newton's method from above, in
/// operations that every machine rounds alike; infinite of an infinite number, NaN of what is no
/// number.
pub(super) fn root(x: f64, degree: u32) -> f64 {
    if !(x > 0.0 && x.is_finite()) || degree == 1 {
        return x;
    }
    let n = f64::from(degree);
    // A power of 2 that is not below the root.
    let exponent = ((x.to_bits() >> 52) as i32 - 1023 + 1).max(-1022);
    let mut y = power(2.0, exponent.div_euclid(degree as i32) + 1);
    loop {
        let next = y - (y - x / power(y, degree as i32 - 1)) / n;
        if !(next < y) {
            return y;
        }
        y = next;
    }
}

/// A whole power.
fn power(x: f64, exponent: i32) -> f64 {
    let base = if exponent < 0 { 1.0 / x } else { x };
    (0..exponent.unsigned_abs()).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_near_the_true_ones() {
        for degree in 1..9 {
            for x in [1e-300, 3e-17, 0.4, 1.0, 1.5, 7.0, 1e10, 1e300, 5e-324] {
                let expected = f64::powf(x, 1.0 / f64::from(degree));
                let found = root(x, degree);
                // What `powf` is given is a rounded exponent.
                assert!(
                    (found - expected).abs() <= 1e-12 * expected,
                    "{x}, {degree}: {found} {expected}"
                );
            }
            assert_eq!(root(0.0, degree), 0.0);
            assert_eq!(root(f64::INFINITY, degree), f64::INFINITY);
            assert!(root(f64::NAN, degree).is_nan());
        }
    }
}
