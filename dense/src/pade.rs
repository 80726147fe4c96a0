//! Padé approximants of the exponential: degrees, coefficients, and how often a matrix has to be
//! halved before one of them is near enough. What `expm` of arrays and of sparse matrices share.

/// Degrees, and the largest norm for which each has the precision of doubles: table 2.3 of N. J.
/// Higham, *The Scaling and Squaring Method for the Matrix Exponential Revisited*, 2005.
pub const DEGREES: [(usize, f64); 4] = [
    (3, 1.495_585_217_958_292e-2),
    (5, 2.539_398_330_063_23e-1),
    (7, 9.504_178_996_162_932e-1),
    (9, 2.097_847_961_257_068),
];

/// The degree for all other matrices, and what the roots of the norms of their powers may be: table
/// 3.1 of A. H. Al-Mohy and N. J. Higham, *A New Scaling and Squaring Algorithm for the Matrix
/// Exponential*, 2009.
pub const DEGREE: usize = 13;
const MOST: f64 = 4.25;

/// The first coefficient of the approximant's backward error, of the power 27: 13!² / (26! 27!).
const ERROR: f64 = 8.83e-36;

/// Beyond this norm a matrix is halved before its powers are looked at, which could overflow. What
/// the powers do not ask for is taken back.
const LARGE: f64 = 1e18;

/// The coefficients b_j of the polynomial in the numerator, so that the last is 1.
#[must_use]
pub fn coefficients(degree: usize) -> Vec<f64> {
    let mut b = vec![1.0; degree + 1];
    for j in (1..=degree).rev() {
        b[j - 1] = b[j] * ((2 * degree - j + 1) * j) as f64 / (degree - j + 1) as f64;
    }
    b
}

/// How often a matrix of this norm is halved before its powers are looked at.
#[must_use]
pub fn halvings_before_powers(norm: f64) -> i32 {
    halvings(norm, 1, LARGE, 0)
}

/// The norms by which it is decided how often a matrix has to be halved.
#[derive(Clone, Copy, Debug)]
pub struct Norms {
    /// Of the matrix A.
    pub norm: f64,
    /// Of its 2nd, 4th and 6th power.
    pub powers: [f64; 3],
    /// Of the power 27 of |A| divided by the norm.
    pub absolute: f64,
}

impl Norms {
    /// How often the matrix has to be halved. With d_p the p-th root of the norm of A^p, this is
    /// what min(max(d_6, d_8), max(d_8, d_10)) asks for, and more where rounding does. A negative
    /// number is one of doublings, of a matrix that has been halved `before`.
    #[must_use]
    pub fn halvings(&self, before: i32) -> i32 {
        let [n2, n4, n6] = self.powers;
        let of = |norm, p| halvings(norm, p, MOST, before);
        let (of_6, of_8, of_10) = (of(n6, 6), of(n4, 4).min(of(n2 * n6, 8)), of(n4 * n6, 10));
        let mut count = of_6.max(of_8).min(of_8.max(of_10));
        // The backward error in |A|, whose powers may be larger than those of A.
        let error = |count: i32| -> f64 {
            let norm = times_power_of_two(self.norm, -count);
            ERROR * self.absolute * (0..2 * DEGREE).map(|_| norm).product::<f64>()
        };
        while error(count) > f64::EPSILON / 2.0 {
            count += 1;
        }
        count
    }
}

/// How often a matrix has to be halved so that the norm of its p-th power is at most `most`^p; or
/// as a negative number, how often it may be doubled if it has been halved `before`.
fn halvings(mut norm: f64, p: i32, most: f64, before: i32) -> i32 {
    let most: f64 = (0..p).map(|_| most).product();
    let mut count = 0;
    while norm > most {
        norm = times_power_of_two(norm, -p);
        count += 1;
    }
    while count > -before && times_power_of_two(norm, p) <= most {
        norm = times_power_of_two(norm, p);
        count -= 1;
    }
    count
}

fn times_power_of_two(x: f64, power: i32) -> f64 {
    powers_of_two(power).fold(x, |x, factor| x * factor)
}

/// Powers of two whose product is 2^power, which need not be a number itself.
pub fn powers_of_two(power: i32) -> impl Iterator<Item = f64> {
    const MOST: i32 = 1000;
    let whole = f64::from_bits(((1023 + MOST * power.signum()) as u64) << 52);
    let rest = f64::from_bits(((1023 + power % MOST) as u64) << 52);
    let n_whole = power.unsigned_abs() / MOST.unsigned_abs();
    std::iter::repeat_n(whole, n_whole as usize).chain((power % MOST != 0).then_some(rest))
}
