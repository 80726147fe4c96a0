/* Complex numbers: pairs of parts, as they lie in memory, and the operations of ops.rs and of
 * math/complex.rs on them. What is said in math.c holds here too. A pair never stays one: the
 * compiler takes it apart before it looks for SIMD code, so a choice is one of each part. */

#define COMPLEX(T, R)                                                                     \
    typedef struct { R re, im; } T;                                                       \
    FN R re_##T(T a) { return a.re; }                                                     \
    FN R im_##T(T a) { return a.im; }                                                     \
    FN R abs_##T(T a) { return hypot_##R(a.re, a.im); }                                   \
    FN T neg_##T(T a) { return MAKE(T, -a.re, -a.im); }                                   \
    FN T conj_##T(T a) { return MAKE(T, a.re, -a.im); }                                   \
    FN T add_##T(T a, T b) { return MAKE(T, a.re + b.re, a.im + b.im); }                  \
    FN T sub_##T(T a, T b) { return MAKE(T, a.re - b.re, a.im - b.im); }                  \
    FN T mul_##T(T a, T b) {                                                              \
        R re = times_##R(a.re, b.re) - times_##R(a.im, b.im);                             \
        return MAKE(T, re, times_##R(a.re, b.im) + times_##R(a.im, b.re));                \
    }                                                                                     \
    FN _Bool eq_##T(T a, T b) { return (a.re == b.re) & (a.im == b.im); }                 \
    FN _Bool ne_##T(T a, T b) { return (a.re != b.re) | (a.im != b.im); }                 \
    FN T select_##T(_Bool c, T a, T b) {                                                  \
        return MAKE(T, c ? a.re : b.re, c ? a.im : b.im);                                 \
    }                                                                                     \
    FN R unit_##R(R x) { return x == INFINITE ? 1 : x == -INFINITE ? -1 : 0; }            \
    FN T sign_##T(T a) {                                                                  \
        R size = abs_##T(a), re = unit_##R(a.re), im = unit_##R(a.im);                    \
        T finite = select_##T(size == 0, a, MAKE(T, a.re / size, a.im / size));           \
        return select_##T((re == 0) != (im == 0), MAKE(T, re, im), finite);               \
    }

COMPLEX(complex_f32, f32)
COMPLEX(complex_f64, f64)

typedef struct { f64 re, im, k; } normal_form;

FN normal_form normalized(complex_f64 z) {
    f64 re = magnitude(z.re), im = magnitude(z.im);
    f64 large = (re >= im) | (im != im) ? re : im;
    shifts by = shift(large);
    f64 biased = number(WHOLE | bits(large * by.factor) >> 52) - number(WHOLE);
    _Bool in_range = (biased > 1023.0 - 1000.0) & (biased < 1023.0 + 1000.0);
    f64 exponent = in_range ? biased - 1023.0 : 0.0;
    f64 factor = power_of_two(-exponent);
    f64 shifted = by.factor > 1.0 ? -600.0 : by.factor < 1.0 ? 600.0 : 0.0;
    f64 re_part = z.re * by.factor * factor, im_part = z.im * by.factor * factor;
    return MAKE(normal_form, re_part, im_part, exponent + shifted);
}

FN f64 sum_of_products(f64 a, f64 b, f64 c, f64 d) {
    f64 product = c * d;
    f64 error = mul_add(c, d, -product);
    return mul_add(a, b, product) + error;
}

FN f64 scale_far(f64 x, f64 k) {
    f64 third = round_even(k / 3.0);
    f64 power = power_of_two(third);
    return times_f64(x * power * power, power_of_two(k - 2.0 * third));
}

FN _Bool is_infinite(complex_f64 z) {
    return (magnitude(z.re) == INFINITE) | (magnitude(z.im) == INFINITE);
}
FN _Bool is_finite(complex_f64 z) {
    return (magnitude(z.re) < INFINITE) & (magnitude(z.im) < INFINITE);
}
FN f64 unit(f64 x) { return with_sign(magnitude(x) == INFINITE ? 1.0 : 0.0, x); }
FN f64 infinite_part(f64 infinity, f64 a) { return a == 0.0 ? NOT_A_NUMBER : infinity * a; }

FN complex_f64 recovered(complex_f64 x, complex_f64 y, complex_f64 quotient) {
    f64 infinity = with_sign(INFINITE, y.re);
    complex_f64 by_zero = {infinite_part(infinity, x.re), infinite_part(infinity, x.im)};
    f64 a = unit(x.re), b = unit(x.im), c = unit(y.re), d = unit(y.im);
    complex_f64 infinite = {
        infinite_part(INFINITE, a * y.re + b * y.im), infinite_part(INFINITE, b * y.re - a * y.im)};
    complex_f64 zero = {0.0 * (x.re * c + x.im * d), 0.0 * (x.im * c - x.re * d)};
    _Bool is_zero = is_infinite(y) & is_finite(x);
    _Bool is_by_zero = (y.re == 0.0) & (y.im == 0.0) & !((x.re != x.re) & (x.im != x.im));
    quotient = select_complex_f64(is_zero, zero, quotient);
    quotient = select_complex_f64(is_infinite(x) & is_finite(y), infinite, quotient);
    return select_complex_f64(is_by_zero, by_zero, quotient);
}

FN complex_f64 div_complex_f64(complex_f64 x, complex_f64 y) {
    normal_form above = normalized(x), below = normalized(y);
    f64 square = mul_add(below.re, below.re, below.im * below.im);
    f64 re = sum_of_products(above.re, below.re, above.im, below.im) / square;
    f64 im = sum_of_products(above.im, below.re, -above.re, below.im) / square;
    f64 k = above.k - below.k;
    complex_f64 quotient = {scale_far(re, k), scale_far(im, k)};
    _Bool is_lost = (quotient.re != quotient.re) | (quotient.im != quotient.im);
    return select_complex_f64(is_lost, recovered(x, y, quotient), quotient);
}

FN complex_f32 div_complex_f32(complex_f32 x, complex_f32 y) {
    complex_f64 above = MAKE(complex_f64, x.re, x.im), below = MAKE(complex_f64, y.re, y.im);
    complex_f64 quotient = div_complex_f64(above, below);
    return MAKE(complex_f32, (f32)quotient.re, (f32)quotient.im);
}
