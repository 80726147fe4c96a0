//! Every elementwise operation against Rust's own arithmetic, for every type that has it.

use crate::{Bits, everywhere, values};
use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Field, Numeric, Real, Scalar, Vector};
use sparsefuse_runtime::{Config, Shape, run_ranks};
use sparsefuse_testing::bits;
use std::cell::Cell;

const LEN: usize = 23;

/// Small numbers, most of them not whole, none of them 0; positive for unsigned types.
fn sample<T: Numeric>(stride: usize) -> Vec<T> {
    let is_signed = T::from_f64(-1.0) != T::ZERO;
    let number = |i: usize| {
        let x = ((i * stride) % 11 + 1) as f64 * 1.25;
        if is_signed && i.is_multiple_of(3) {
            -x
        } else {
            x
        }
    };
    (0..LEN).map(|i| T::from_f64(number(i))).collect()
}

/// A binary operation in every form that does not need a number on the left.
fn check_binary<T: Numeric, U: Element>(
    name: &str,
    op: fn(&Form<T>) -> Made<U>,
    plain: fn(T, T) -> U,
) {
    let (a, b) = (sample::<T>(3), sample::<T>(5));
    let (s, t) = (a[4], b[7]);
    let zip = |x: &dyn Fn(usize) -> T, y: &dyn Fn(usize) -> T| -> Vec<U> {
        (0..LEN).map(|i| plain(x(i), y(i))).collect()
    };
    let expected = [
        zip(&|i| a[i], &|i| b[i]),
        zip(&|i| a[i], &|_| t),
        zip(&|_| s, &|i| b[i]),
        zip(&|i| a[i], &|_| t),
        vec![plain(s, t)],
        vec![plain(s, t)],
    ];
    let found = everywhere(|| {
        let (x, y) = (Vector::from_slice(&a), Vector::from_slice(&b));
        let (p, q) = (Scalar::new(s), Scalar::new(t));
        let forms = [
            Form::ArrayArray(x.clone(), y.clone()),
            Form::ArrayScalar(x.clone(), q.clone()),
            Form::ScalarArray(p.clone(), y),
            Form::ArrayNumber(x, t),
            Form::ScalarScalar(p.clone(), q),
            Form::ScalarNumber(p, t),
        ];
        forms
            .iter()
            .map(|form| op(form).bits())
            .collect::<Result<Vec<_>, _>>()
    });
    for (form, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(
            *found,
            values(&expected),
            "{name} of {}, form {form}",
            T::DTYPE
        );
    }
}

enum Form<T> {
    ArrayArray(Vector<T>, Vector<T>),
    ArrayScalar(Vector<T>, Scalar<T>),
    ScalarArray(Scalar<T>, Vector<T>),
    ArrayNumber(Vector<T>, T),
    ScalarScalar(Scalar<T>, Scalar<T>),
    ScalarNumber(Scalar<T>, T),
}

enum Made<T> {
    Array(Vector<T>),
    Scalar(Scalar<T>),
}

impl<T: Element> Bits for Made<T> {
    fn bits(&self) -> Result<Vec<sparsefuse_kernels::Value>, sparsefuse_dense::Error> {
        match self {
            Self::Array(array) => array.bits(),
            Self::Scalar(scalar) => scalar.bits(),
        }
    }
}

/// An expression of two operands in each of the forms.
macro_rules! form {
    (|$a:ident, $b:ident| $body:expr) => {
        |form: &Form<_>| match form {
            Form::ArrayArray($a, $b) => Made::Array($body),
            Form::ArrayScalar($a, $b) => Made::Array($body),
            Form::ScalarArray($a, $b) => Made::Array($body),
            Form::ArrayNumber($a, b) => {
                let $b = *b;
                Made::Array($body)
            }
            Form::ScalarScalar($a, $b) => Made::Scalar($body),
            Form::ScalarNumber($a, b) => {
                let $b = *b;
                Made::Scalar($body)
            }
        }
    };
}

macro_rules! for_types {
    ($check:ident: $($type:ty),*) => { $( $check::<$type>(); )* };
}

fn arithmetic<T>()
where
    T: Numeric + std::ops::Add<Output = T> + std::ops::Sub<Output = T>,
    T: std::ops::Mul<Output = T>,
{
    check_binary::<T, T>("add", form!(|a, b| a + b), |a, b| a + b);
    check_binary::<T, T>("mul", form!(|a, b| a * b), |a, b| a * b);
    check_binary::<T, bool>("equal", form!(|a, b| a.equal(b)), |a, b| a == b);
    check_binary::<T, bool>("not_equal", form!(|a, b| a.not_equal(b)), |a, b| a != b);
}

#[test]
fn arithmetic_of_all_numbers() {
    for_types!(arithmetic: f32, f64, Complex<f32>, Complex<f64>, i32, i64, u32, u64);
}

fn signed<T>()
where
    T: Numeric + std::ops::Sub<Output = T> + std::ops::Neg<Output = T>,
{
    check_binary::<T, T>("sub", form!(|a, b| a - b), |a, b| a - b);
    check_unary::<T, T>("neg", |x| -x, |x| -x);
}

#[test]
fn subtraction_of_signed_numbers() {
    for_types!(signed: f32, f64, Complex<f32>, Complex<f64>, i32, i64);
}

fn division<T: Numeric + std::ops::Div<Output = T>>() {
    check_binary::<T, T>("div", form!(|a, b| a / b), |a, b| a / b);
    check_unary::<T, T>("recip", |x| x.recip(), |x| T::ONE / x);
}

#[test]
fn division_of_reals_and_integers() {
    for_types!(division: f32, f64, i32, i64, u32, u64);
}

fn ordered<T>()
where
    T: Numeric
        + PartialOrd
        + std::ops::Rem<Output = T>
        + std::ops::Add<Output = T>
        + std::ops::Div<Output = T>,
{
    let smaller = |a, b| if a < b { a } else { b };
    let larger = |a, b| if a > b { a } else { b };
    // The remainder takes the sign of the divisor, also where it is 0.
    let modulo = |a: T, b: T| {
        let rest = a % b;
        if rest == T::ZERO {
            T::ZERO / b
        } else if (rest < T::ZERO) != (b < T::ZERO) {
            rest + b
        } else {
            rest
        }
    };
    check_binary::<T, T>("rem", form!(|a, b| a % b), modulo);
    check_binary::<T, T>("minimum", form!(|a, b| a.minimum(b)), smaller);
    check_binary::<T, T>("maximum", form!(|a, b| a.maximum(b)), larger);
    check_binary::<T, bool>("less", form!(|a, b| a.less(b)), |a, b| a < b);
    check_binary::<T, bool>("less_equal", form!(|a, b| a.less_equal(b)), |a, b| a <= b);
    check_binary::<T, bool>("greater", form!(|a, b| a.greater(b)), |a, b| a > b);
    check_binary::<T, bool>("greater_equal", form!(|a, b| a.greater_equal(b)), |a, b| {
        a >= b
    });
    check_unary::<T, T>(
        "clamp",
        |x| x.clamp(T::from_f64(2.0), T::from_f64(5.0)),
        |x| {
            let larger = if x > T::from_f64(2.0) {
                x
            } else {
                T::from_f64(2.0)
            };
            if larger < T::from_f64(5.0) {
                larger
            } else {
                T::from_f64(5.0)
            }
        },
    );
}

#[test]
fn order_of_reals_and_integers() {
    for_types!(ordered: f32, f64, i32, i64, u32, u64);
}

fn bitwise<T>()
where
    T: Numeric + std::ops::BitAnd<Output = T> + std::ops::BitOr<Output = T>,
    T: std::ops::BitXor<Output = T>,
{
    check_binary::<T, T>("and", form!(|a, b| a & b), |a, b| a & b);
    check_binary::<T, T>("or", form!(|a, b| a | b), |a, b| a | b);
    check_binary::<T, T>("xor", form!(|a, b| a ^ b), |a, b| a ^ b);
}

#[test]
fn bits_of_integers() {
    for_types!(bitwise: i32, i64, u32, u64);
}

#[test]
fn logic() {
    let (a, b) = ([false, false, true, true], [false, true, false, true]);
    let found = everywhere(|| {
        let (x, y) = (Vector::from_slice(&a), Vector::from_slice(&b));
        let made = [&x & &y, &x | &y, &x ^ &y, !&x, &x & true, true ^ &x];
        made.iter()
            .map(Array::to_vec)
            .collect::<Result<Vec<_>, _>>()
    });
    let plain: [fn(bool, bool) -> bool; 6] = [
        |a, b| a & b,
        |a, b| a | b,
        |a, b| a ^ b,
        |a, _| !a,
        |a, _| a,
        |a, _| !a,
    ];
    for (found, plain) in found.iter().zip(plain) {
        let expected: Vec<bool> = (0..4).map(|i| plain(a[i], b[i])).collect();
        assert_eq!(*found, expected);
    }
}

/// A function of one value, to the bit, of an array and of a scalar through an array of one.
fn check_unary<T: Numeric, U: Element>(
    name: &str,
    op: fn(&Vector<T>) -> Vector<U>,
    plain: fn(T) -> U,
) {
    let a = sample::<T>(3);
    let found = everywhere(|| op(&Vector::from_slice(&a)).bits());
    let expected: Vec<U> = a.iter().map(|&x| plain(x)).collect();
    assert_eq!(found, values(&expected), "{name} of {}", T::DTYPE);
}

#[test]
fn functions_to_the_bit() {
    check_unary::<f64, f64>("abs", |x| x.abs(), f64::abs);
    check_unary::<i32, i32>("abs", |x| x.abs(), i32::abs);
    check_unary::<u64, u64>("abs", |x| x.abs(), |x| x);
    check_unary::<f32, f32>("sign", |x| x.sign(), f32::signum);
    check_unary::<i64, i64>("sign", |x| x.sign(), i64::signum);
    check_unary::<f64, f64>("sqrt", |x| x.abs().sqrt(), |x| x.abs().sqrt());
    check_unary::<f64, f64>("floor", |x| x.floor(), f64::floor);
    check_unary::<f32, f32>("ceil", |x| x.ceil(), f32::ceil);
    check_unary::<f64, f64>("square", |x| x.square(), |x| x * x);
    type C = Complex<f64>;
    fn turned(x: &Vector<C>) -> Vector<C> {
        x * C::new(0.5, 2.0)
    }
    check_unary::<C, C>(
        "conj",
        |x| turned(x).conj(),
        |x| (x * C::new(0.5, 2.0)).conj(),
    );
    check_unary::<C, f64>("re", |x| turned(x).re(), |x| (x * C::new(0.5, 2.0)).re);
    check_unary::<C, f64>("im", |x| turned(x).im(), |x| (x * C::new(0.5, 2.0)).im);
    check_unary::<f64, f64>("re", |x| x.re(), |x| x);
    check_unary::<f64, f64>("im", |x| x.im(), |_| 0.0);
}

#[test]
fn conversions() {
    check_unary::<f64, i32>("cast", |x| x.cast(), |x| x as i32);
    check_unary::<f64, u64>("cast", |x| x.cast(), |x| x as u64);
    check_unary::<i64, f32>("cast", |x| x.cast(), |x| x as f32);
    check_unary::<u32, Complex<f32>>("cast", |x| x.cast(), |x| Complex::new(x as f32, 0.0));
    check_unary::<Complex<f64>, f64>("cast", |x| x.cast(), |x| x.re);
    check_unary::<f64, bool>("cast", |x| x.cast(), |x| x != 0.0);
    check_unary::<i32, f64>(
        "cast",
        |x| x.greater(2).cast(),
        |x| f64::from(u8::from(x > 2)),
    );
}

/// A function whose last bits are the library's own business.
fn check_close<T: Real>(
    name: &str,
    op: fn(&Vector<T>) -> Vector<T>,
    of_scalar: fn(&Scalar<T>) -> Scalar<T>,
    plain: fn(f64) -> f64,
) {
    let a: Vec<T> = sample::<T>(7)
        .iter()
        .map(|x| T::from_f64(x.to_f64() / 8.0))
        .collect();
    let (array, scalar) = everywhere(|| {
        let of_scalar = of_scalar(&Scalar::new(a[1]));
        Ok((op(&Vector::from_slice(&a)).bits()?, of_scalar.bits()?))
    });
    assert_eq!(scalar[0], array[1], "{name}: scalars and arrays agree");
    for (x, found) in a.iter().zip(array) {
        let expected = plain(x.to_f64());
        let found = found
            .get::<T>()
            .expect("an element of the array's type")
            .to_f64();
        let close = (found - expected).abs() <= 8.0 * T::EPSILON.to_f64() * (1.0 + expected.abs());
        assert!(
            close || (found.is_nan() && expected.is_nan()),
            "{name}({x}) = {found}, expected {expected}"
        );
    }
}

fn functions<T: Real>() {
    check_close::<T>("exp", |x| x.exp(), |x| x.exp(), f64::exp);
    check_close::<T>("ln", |x| x.ln(), |x| x.ln(), f64::ln);
    check_close::<T>("sin", |x| x.sin(), |x| x.sin(), f64::sin);
    check_close::<T>("cos", |x| x.cos(), |x| x.cos(), f64::cos);
    check_close::<T>("tanh", |x| x.tanh(), |x| x.tanh(), f64::tanh);
    check_close::<T>(
        "pow",
        |x| x.pow(T::from_f64(3.0)),
        |x| x.pow(T::from_f64(3.0)),
        |x| x.powi(3),
    );
    check_close::<T>(
        "sqrt",
        |x| (x + T::from_f64(2.0)).sqrt(),
        |x| (x + T::from_f64(2.0)).sqrt(),
        |x| (x + 2.0).sqrt(),
    );
    // erf x = 2/sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / (3 * 5) + …), where nothing cancels.
    let series = |x: f64| {
        let (mut term, mut sum) = (x, 0.0);
        for n in 0..60 {
            sum += term;
            term *= 2.0 * x * x / f64::from(2 * n + 3);
        }
        std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
    };
    check_close::<T>("erf", |x| x.erf(), |x| x.erf(), series);
    check_close::<T>("cbrt", |x| x.cbrt(), |x| x.cbrt(), f64::cbrt);
    // Gamma(x + 1) = x Gamma(x).
    check_close::<T>(
        "lgamma",
        |x| (x + T::ONE).lgamma() - x.lgamma(),
        |x| (x + T::ONE).lgamma() - x.lgamma(),
        |x| x.abs().ln(),
    );
}

#[test]
fn functions_of_reals() {
    functions::<f32>();
    functions::<f64>();
}

fn powers_and_roots<T: Field>() {
    let a = sample::<T>(3);
    let found = everywhere(|| {
        let x = Vector::from_slice(&a) * T::from_parts(0.5, 0.25);
        let back = x.sqrt().square() - &x;
        let turned = (&x * T::from_parts(0.1, 0.0)).exp().ln() - &x * T::from_parts(0.1, 0.0);
        let circle = x.sin().square() + x.cos().square() - T::ONE;
        Ok([
            back.norm_inf().get()?,
            turned.norm_inf().get()?,
            circle.norm_inf().get()?,
        ])
    });
    let epsilon = <T::Real as Real>::EPSILON.to_f64();
    // The numbers are below 8; the squares of sine and cosine, whose difference is 1, below 250.
    for (found, bound) in found.iter().zip([64.0, 16.0, 2000.0]) {
        assert!(found.to_f64() < bound * epsilon, "{found} for {}", T::DTYPE);
    }
}

#[test]
fn functions_of_complex_numbers() {
    powers_and_roots::<Complex<f32>>();
    powers_and_roots::<Complex<f64>>();
}

#[test]
fn choices() {
    let a = sample::<f64>(3);
    let found = everywhere(|| {
        let x = Vector::from_slice(&a);
        let mask = x.greater(3.0);
        let chosen = [
            mask.select(&x, -&x),
            mask.select(&x, 0.0),
            mask.select(1.0, &x),
            mask.select(Scalar::new(2.0), 0.5),
        ];
        let of_scalars = Scalar::new(true).select(1.5, Scalar::new(2.5)).get()?;
        let arrays = chosen
            .iter()
            .map(Array::to_vec)
            .collect::<Result<Vec<_>, _>>()?;
        Ok((arrays, of_scalars))
    });
    let plain = |f: fn(f64) -> f64| a.iter().map(|&x| f(x)).collect::<Vec<_>>();
    assert_eq!(found.0[0], plain(|x| if x > 3.0 { x } else { -x }));
    assert_eq!(found.0[1], plain(|x| if x > 3.0 { x } else { 0.0 }));
    assert_eq!(found.0[2], plain(|x| if x > 3.0 { 1.0 } else { x }));
    assert_eq!(found.0[3], plain(|x| if x > 3.0 { 2.0 } else { 0.5 }));
    assert_eq!(found.1, 1.5);
}

#[test]
fn numbers_on_the_left() {
    let a = sample::<i64>(3);
    let found = everywhere(|| {
        let x = Vector::from_slice(&a);
        let made = [
            10 + &x,
            10 - &x,
            10 * &x,
            10 / &x,
            10 % &x,
            10 & &x,
            10 | &x,
            10 ^ &x,
        ];
        let s = 10 - Scalar::new(3i64);
        assert_eq!(s.get()?, 7);
        made.iter()
            .map(Array::to_vec)
            .collect::<Result<Vec<_>, _>>()
    });
    let plain: [fn(i64) -> i64; 8] = [
        |x| 10 + x,
        |x| 10 - x,
        |x| 10 * x,
        |x| 10 / x,
        |x| 10 % x + if 10 % x != 0 && x < 0 { x } else { 0 },
        |x| 10 & x,
        |x| 10 | x,
        |x| 10 ^ x,
    ];
    for (found, plain) in found.iter().zip(plain) {
        assert_eq!(*found, a.iter().map(|&x| plain(x)).collect::<Vec<_>>());
    }
}

/// As NumPy: where one part is infinite, its direction.
#[test]
fn signs_of_infinite_complex_numbers() {
    fn check<R: Real>()
    where
        Complex<R>: Field,
    {
        let most = f64::INFINITY;
        let at = |re: f64, im: f64| Complex::new(R::from_f64(re), R::from_f64(im));
        let numbers = [
            (most, 1.0),
            (-most, 3.0),
            (1.0, most),
            (-2.0, -most),
            (most, f64::NAN),
        ];
        let numbers = numbers.map(|(re, im)| at(re, im));
        let expected = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (1.0, 0.0)];
        let found = everywhere(|| Ok(bits(&Vector::from_vec(numbers.to_vec()).sign().to_vec()?)));
        assert_eq!(found, bits(&expected.map(|(re, im)| at(re, im))));
        let both = Vector::from_vec(vec![at(most, most)])
            .sign()
            .to_vec()
            .unwrap();
        assert!(both[0].parts().0.is_nan() && both[0].parts().1.is_nan());
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn assigning_operators_leave_other_handles_as_they_were() {
    let found = everywhere(|| {
        let mut x = Vector::from_vec(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        let before = x.clone();
        let mut s = Scalar::new(2.0);
        x += &before;
        x *= &s;
        x -= 1.0;
        s /= 4.0;
        x /= s;
        Ok((x.to_vec()?, before.to_vec()?))
    });
    assert_eq!(found.0, [6.0, 14.0, 22.0, 30.0, 38.0]);
    assert_eq!(found.1, [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn empty_arrays() {
    let found = everywhere(|| {
        let x = Vector::<f64>::zeros([0]);
        let a = Array::<f64, 2>::ones([3, 0]);
        let y = (&x + 1.0) * &x;
        let sums = [
            x.sum().get()?,
            a.sum().get()?,
            x.dot(&y).get()?,
            x.norm2().get()?,
        ];
        assert_eq!(x.norm_inf().get()?, 0.0);
        assert!(x.mean().get()?.is_nan());
        assert_eq!(a.matvec(&x).to_vec()?, [0.0; 3]);
        assert_eq!(a.t().sum_axis(0).to_vec()?, [0.0; 3]);
        assert!((&a * 2.0).to_vec()?.is_empty());
        assert!(x.equal(&y).all().get()?);
        // As NumPy, where the product of two extents is out of range.
        for shape in [
            [1 << 40, 1 << 40, 0],
            [1 << 40, 0, 1 << 40],
            [0, 1 << 40, 1 << 40],
        ] {
            assert!(Array::<f64, 3>::try_ones(shape).is_err());
        }
        let thin = Array::<f64, 3>::ones([0, 1 << 40, 3]);
        assert_eq!((&thin + 1.0).transpose().sum().get()?, 0.0);
        Ok((y.to_vec()?, sums))
    });
    assert_eq!(found, (vec![], [0.0; 4]));
}

#[test]
fn a_rank_computes_its_own_elements_of_a_function() {
    let config = Config {
        cut_threshold: 1,
        ..sparsefuse_testing::small()
    };
    let expected: Vec<f64> = (0..23 * 5).map(f64::from).collect();
    for ranks in [1, 2, 3, 5] {
        let outcomes = run_ranks(ranks, &config, |runtime| {
            let calls = Cell::new(0_usize);
            let a = Array::from_fn([23, 5], |[i, j]| {
                calls.set(calls.get() + 1);
                (i * 5 + j) as f64
            });
            let (_, own) = runtime.default_rows(Shape::new(&[23, 5]));
            assert_eq!(calls.get(), own.len() * 5);
            (calls.get(), a.to_vec().unwrap())
        });
        let outcomes = outcomes.unwrap();
        assert!(outcomes.iter().all(|(_, elements)| *elements == expected));
        let calls = outcomes.iter().map(|(calls, _)| calls);
        assert_eq!(calls.sum::<usize>(), 23 * 5, "{ranks} ranks");
    }
}

#[test]
fn a_remainder_that_is_zero_has_the_sign_of_the_divisor() {
    everywhere(|| {
        let a = Vector::from_vec(vec![-6.0, 6.0, 0.0, -0.0, -0.0, 6.0]);
        let b = Vector::from_vec(vec![3.0, -3.0, -3.0, 3.0, -3.0, f64::INFINITY]);
        let found = (&a % &b).bits()?;
        let expected = [0.0, -0.0, -0.0, 0.0, -0.0, 6.0_f64];
        assert_eq!(found, Vector::from_vec(expected.to_vec()).bits()?);
        Ok(found)
    });
}

#[test]
fn floor_division() -> Result<(), sparsefuse_dense::Error> {
    let k = Vector::from_vec(vec![7_i64, -7, 7, -7, 5, 0, i64::MIN, i64::MIN]);
    let l = Vector::from_vec(vec![2_i64, 2, -2, -2, 0, -3, -1, 3]);
    let expected = [3, -4, -4, 3, 0, 0, i64::MIN, -3_074_457_345_618_258_603];
    assert_eq!(k.floor_div(&l).to_vec()?, expected);
    // The quotient that truncates, and what belongs to the one that rounds down.
    assert_eq!((&k / &l).to_vec()?[..4], [3, -3, -3, 3]);
    assert_eq!(
        (k.floor_div(&l) * &l + &k % &l).to_vec()?[..4],
        [7, -7, 7, -7]
    );
    // As Python's `//`: the nearest quotient of the last would be 10, which is too large.
    let x = Vector::from_vec(vec![7.5, -7.5, 1.0, -0.5, 0.0, 1.0]);
    let y = Vector::from_vec(vec![2.0, 2.0, 0.0, f64::INFINITY, -2.0, 0.1]);
    let expected = [3.0, -4.0, f64::INFINITY, -1.0, -0.0, 9.0];
    assert_eq!(x.floor_div(&y).bits()?, bits(&expected));
    assert_eq!(Scalar::new(-7).floor_div(2).get()?, -4);
    Ok(())
}
