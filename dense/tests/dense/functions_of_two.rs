//! Functions of two values, of whole numbers, and of angles, against the standard library's.

use super::Bits;
use sparsefuse_dense::{Array, Element, Error, Index, Numeric, Real, Vector, step};
use sparsefuse_testing::everywhere;

const SPECIAL: [f64; 13] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    1.0,
    -2.5,
    7.25,
    1e30,
    -1e30,
    1e-40,
    -0.1,
    3.0,
];

/// All pairs, as a column and a row that broadcast.
fn pairs<T: Numeric>() -> (Array<T, 2>, Array<T, 2>) {
    let x = Vector::from_vec(SPECIAL.map(T::from_f64).to_vec());
    (x.insert_axis(1), x.insert_axis(0))
}

/// The same bits, or both NaN.
fn check<T: Real>(found: &[T], expected: impl Fn(f64, f64) -> f64, limit: f64, name: &str) {
    let narrow = |x: f64| T::from_f64(x).to_f64();
    let places = SPECIAL
        .iter()
        .flat_map(|&x| SPECIAL.iter().map(move |&y| (x, y)));
    for ((x, y), found) in places.zip(found) {
        let (x, y, found) = (narrow(x), narrow(y), found.to_f64());
        let expected = narrow(expected(x, y));
        let is_same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        let distance = (found - expected).abs();
        // Of the largest of the three.
        let size = expected.abs().max(x.abs()).max(y.abs());
        let is_near = distance <= limit * T::EPSILON.to_f64() * size && limit > 0.0;
        assert!(
            is_same || is_near,
            "{name}({x}, {y}) is {found}, not {expected}"
        );
    }
}

fn of_reals<T: Real>() {
    everywhere(|| -> Result<_, Error> {
        let (x, y) = pairs::<T>();
        let (copied, rest, sum) = (x.copysign(&y), x.fmod(&y), x.logaddexp(&y));
        let sign = |x: f64, y: f64| x.copysign(if y.is_nan() { 1.0 } else { y });
        check(&copied.to_vec()?, sign, 0.0, "copysign");
        check(&rest.to_vec()?, |x, y| x % y, 0.0, "fmod");
        let exact = |x: f64, y: f64| match x == y {
            true => x + 2_f64.ln(),
            false => x.max(y) + (-(x - y).abs()).exp().ln_1p(),
        };
        let exact = |x: f64, y: f64| {
            if x.is_nan() || y.is_nan() {
                f64::NAN
            } else {
                exact(x, y)
            }
        };
        check(&sum.to_vec()?, exact, 4.0, "logaddexp");
        let number = x.fmod(T::from_f64(3.0)).is_nan();
        Ok([
            copied.is_nan().bits()?,
            number.bits()?,
            rest.is_nan().bits()?,
        ]
        .concat())
    });
}

#[test]
fn of_two_real_numbers() {
    of_reals::<f64>();
    of_reals::<f32>();
}

const WHOLE: [i64; 14] = [
    0,
    1,
    -1,
    2,
    12,
    -18,
    35,
    1 << 31,
    -(1 << 31),
    (1 << 31) - 1,
    i64::MAX,
    i64::MIN,
    63,
    -4,
];

/// A function of whole numbers and what it should be, by numbers that hold all of a type.
fn whole<T: Index + Numeric>(
    name: &str,
    found: impl Fn(&Array<T, 2>, &Array<T, 2>) -> Array<T, 2> + Sync,
    wide: impl Fn(T) -> i128,
    expected: impl Fn(i128, i128) -> i128,
) {
    let numbers: Vec<T> = WHOLE.iter().map(|&x| T::from_bits([x as u64, 0])).collect();
    let bits = everywhere(|| -> Result<_, Error> {
        let x = Vector::from_slice(&numbers);
        found(&x.insert_axis(1), &x.insert_axis(0)).bits()
    });
    let pairs = numbers
        .iter()
        .flat_map(|&x| numbers.iter().map(move |&y| (x, y)));
    for ((x, y), found) in pairs.zip(&bits) {
        let value = expected(wide(x), wide(y));
        let expected = T::from_bits([value as u64, 0]).to_value();
        assert_eq!(*found, expected, "{name} of {x} and {y}");
    }
}

fn divisor(mut x: i128, mut y: i128) -> i128 {
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x.abs()
}

fn of_type<T: Index + Numeric>(wide: impl Fn(T) -> i128 + Copy) {
    let width = 8 * size_of::<T>() as i128;
    let is_shift = move |y: i128| (0..width).contains(&y);
    whole("gcd", |x, y| x.gcd(y), wide, divisor);
    let multiple = |x: i128, y: i128| match x == 0 || y == 0 {
        true => 0,
        false => (x.abs() / divisor(x, y)).wrapping_mul(y.abs()),
    };
    whole("lcm", |x, y| x.lcm(y), wide, multiple);
    let left = |x: i128, y: i128| if is_shift(y) { x << y } else { 0 };
    whole("left_shift", |x, y| x.left_shift(y), wide, left);
    let right = |x: i128, y: i128| x >> if is_shift(y) { y } else { 127 };
    whole("right_shift", |x, y| x.right_shift(y), wide, right);
    whole(
        "fmod",
        |x, y| x.fmod(y),
        wide,
        |x, y| if y == 0 { 0 } else { x % y },
    );
}

#[test]
fn of_two_whole_numbers() {
    of_type::<i64>(i128::from);
    of_type::<i32>(i128::from);
    of_type::<u64>(i128::from);
    of_type::<u32>(i128::from);
    everywhere(|| {
        // Numbers, scalars, views and more than a tile.
        let x = Vector::<i64>::arange(10_000);
        let even = x.slice(step(.., 2));
        let found = even.gcd(12);
        assert_eq!(found.bits()?, even.gcd(x.slice(12..13).sum()).bits()?);
        assert_eq!(found.slice(..7).to_vec()?, [12, 2, 4, 6, 4, 2, 12]);
        assert_eq!(even.left_shift(3).bits()?, (even * 8).bits()?);
        assert!(x.slice(..0).lcm(3).is_empty());
        found.bits()
    });
    let (x, y) = (Vector::<i64>::arange(3), Vector::<i64>::arange(2));
    let error = x.try_gcd(&y).unwrap_err().to_string();
    assert_eq!(error, "gcd: expected a shape of (3), found (2)");
    assert!(
        x.try_fmod(&y)
            .unwrap_err()
            .to_string()
            .starts_with("fmod: ")
    );
}

fn turned<T: Element>(a: &Array<T, 2>) -> Result<(), Error> {
    let once = a.rot90(1, [0, 1]);
    let [rows, columns] = a.shape();
    assert_eq!(once.shape(), [columns, rows]);
    let mut expected = Vec::new();
    let elements = a.to_vec()?;
    for column in (0..columns).rev() {
        expected.extend((0..rows).map(|row| elements[row * columns + column]));
    }
    assert!(once.to_vec()? == expected);
    for times in [-5_isize, -2, 0, 1, 2, 3, 6] {
        let mut by_one = a.clone();
        for _ in 0..times.rem_euclid(4) {
            by_one = by_one.rot90(1, [0, 1]);
        }
        assert!(
            a.rot90(times, [0, 1]).to_vec()? == by_one.to_vec()?,
            "{times}"
        );
        assert!(a.rot90(times, [1, 0]).to_vec()? == a.rot90(-times, [0, 1]).to_vec()?);
    }
    Ok(())
}

#[test]
fn right_angles() {
    everywhere(|| {
        let a = Array::<i64, 2>::from_fn([3, 4], |[i, j]| (4 * i + j) as i64);
        turned(&a)?;
        turned(&a.greater(5))?;
        turned(&a.slice((.., ..0)))?;
        a.rot90(1, [0, 1]).bits()
    });
    let a = Array::<f64, 3>::zeros([2, 3, 4]);
    let error = a.try_rot90(1, [1, 1]).unwrap_err().to_string();
    assert_eq!(error, "rot90: expected two different axes, found 1 and 1");
    assert!(a.try_rot90(1, [0, 3]).is_err());
}

#[test]
fn angles_without_jumps() {
    const TURN: f64 = 2.0 * std::f64::consts::PI;
    everywhere(|| {
        let path = Array::<f64, 2>::from_fn([40, 5], |[i, j]| 0.4 * (i * j) as f64);
        let angles = (&path + TURN / 2.0) % TURN - TURN / 2.0;
        let found = angles.unwrap_axis(0, TURN);
        assert!((&found - &path).norm_inf().get()? < 1e-12);
        let by_rows = angles.t().unwrap_axis(1, TURN);
        assert!((by_rows.t() - &path).norm_inf().get()? < 1e-12);
        let one = angles.slice((..1, ..)).unwrap_axis(0, TURN);
        assert_eq!(one.bits()?, angles.row(0).bits()?);
        // Half a period goes the way that it went.
        let x = Vector::from_vec(vec![0.0, 2.0, 0.0, f64::NAN, 1.0]);
        let found = x.unwrap_axis(0, 4.0).to_vec()?;
        assert_eq!(found[..3], [0.0, 2.0, 0.0]);
        assert!(found[3].is_nan() && found[4].is_nan());
        found_bits(&found[..3])
    });
    let x = Vector::<f64>::zeros([3]);
    assert!(x.try_unwrap_axis(1, 1.0).is_err());
    let error = x.try_unwrap_axis(0, 0.0).unwrap_err().to_string();
    assert_eq!(error, "unwrap_axis: expected a positive period, found 0");
}

fn found_bits(x: &[f64]) -> Result<Vec<u64>, Error> {
    Ok(x.iter().map(|x| x.to_bits()).collect())
}
