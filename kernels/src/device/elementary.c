/* Elementary functions that loops in native code leave to the blocks, with branches: sine and cosine of
 * any argument, as in math/trig.rs and math/payne_hanek.rs, remainders, and the functions of complex
 * numbers of math/complex.rs. What is said in math.c about operations and their order holds here too. */

/* payne_hanek.rs: the bits of 2/pi behind the point, after 64 zeros. */
TABLE(u64, TWO_OVER_PI) = {
    0,
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
    0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
    0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
    0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull,
};

/* The upper 64 of the 128 bits of two words, after a shift to the left by less than 64. */
FN u64 shifted(u64 high, u64 low, u64 by) { return by == 0 ? high : high << by | low >> (64 - by); }

typedef struct { u64 quadrant; f64 high, low; } large_angle;

/* `negative` is whether the angle is counted backward, `up` whether the quadrant is rounded up. */
FN large_angle fraction_to_angle(u64 high, u64 middle, u64 low, u64 quadrant, u64 up, u64 negative) {
    if (up == 1) {
        low = 0 - low;
        middle = ~middle + (low == 0);
        high = ~high + (low == 0 && middle == 0);
    }
    u64 zeros = LEADING_ZEROS(high | 1);
    u64 first = shifted(high, middle, zeros), second = shifted(middle, low, zeros);
    /* The upper 53 bits, and the 53 after them. */
    u64 rest = (first << 42 | second >> 22) & 0x001fffffffffffffull;
    f64 upper = (f64)(first >> 11) * number((1023 - 53 - zeros) << 52);
    f64 lower = (f64)rest * number((1023 - 106 - zeros) << 52);
    sum angle = multiply(MAKE(sum, upper, lower), MAKE(sum, FRAC_PI_2, FRAC_PI_2_LOW));
    f64 sign = negative != up ? -1.0 : 1.0;
    quadrant += up;
    quadrant = (negative == 1 ? 0 - quadrant : quadrant) & 3;
    return MAKE(large_angle, quadrant, sign * angle.high, sign * angle.low);
}

FN large_angle reduce_large(f64 x) {
    u64 word = bits(magnitude(x));
    u64 significand = (word & 0x000fffffffffffffull) | 0x0010000000000000ull;
    u64 first = (word >> 52) - (1075 - 62);
    u64 at = first / 64, shift = first % 64;
    u64 top = shifted(TWO_OVER_PI[at], TWO_OVER_PI[at + 1], shift);
    u64 middle = shifted(TWO_OVER_PI[at + 1], TWO_OVER_PI[at + 2], shift);
    u64 bottom = shifted(TWO_OVER_PI[at + 2], TWO_OVER_PI[at + 3], shift);
    /* The product modulo 2^192, from the lowest word up. */
    u64 carry = PRODUCT_HIGH(significand, bottom);
    u64 next = PRODUCT_HIGH(significand, middle);
    bottom = significand * bottom;
    middle = significand * middle + carry;
    next += middle < carry;
    top = significand * top + next;
    u64 quadrant = top >> 62, negative = bits(x) >> 63;
    top = top << 2 | middle >> 62;
    middle = middle << 2 | bottom >> 62;
    bottom = bottom << 2;
    return fraction_to_angle(top, middle, bottom, quadrant, top >> 63, negative);
}

/* trig.rs */

FN f64 any_sin_f64(f64 x) {
    if (!is_large(x)) return sin_f64(x);
    if (!(magnitude(x) < INFINITE)) return NOT_A_NUMBER;
    large_angle r = reduce_large(x);
    sin_cos s = trig_kernels(MAKE(reduced_angle, 0.0, r.high, r.low));
    return with_quadrant_sign((r.quadrant & 1) == 0 ? s.sin : s.cos, r.quadrant);
}

FN f64 any_cos_f64(f64 x) {
    if (!is_large(x)) return cos_f64(x);
    if (!(magnitude(x) < INFINITE)) return NOT_A_NUMBER;
    large_angle r = reduce_large(x);
    sin_cos s = trig_kernels(MAKE(reduced_angle, 0.0, r.high, r.low));
    return with_quadrant_sign((r.quadrant & 1) == 0 ? s.cos : s.sin, r.quadrant + 1);
}

FN f32 any_sin_f32(f32 x) { return (f32)any_sin_f64(x); }
FN f32 any_cos_f32(f32 x) { return (f32)any_cos_f64(x); }

/* ops.rs: remainders. */

/* That with the sign of `x`, which is exact: by eleven bits of the quotient at a time. */
FN f64 truncated_rem(f64 x, f64 y) {
    const u64 infinite = 0x7ff0000000000000ull, hidden = 0x0010000000000000ull;
    u64 a = bits(magnitude(x)), b = bits(magnitude(y));
    if (a >= infinite || b > infinite || b == 0) return NOT_A_NUMBER;
    if (a < b) return x;
    u64 above = a >> 52, below = b >> 52;
    u64 rest = above == 0 ? a : (a & (hidden - 1)) | hidden;
    u64 divisor = below == 0 ? b : (b & (hidden - 1)) | hidden;
    above += above == 0;
    below += below == 0;
    rest %= divisor;
    for (u64 left = above - below; left > 0 && rest != 0;) {
        u64 by = left < 11 ? left : 11;
        rest = (rest << by) % divisor;
        left -= by;
    }
    return with_sign((f64)rest / TWO_52 * number(below << 52), x);
}

#define REMAINDERS(T)                                                                     \
    FN T rem_##T(T a, T b) {                                                              \
        T rest = (T)truncated_rem(a, b);                                                  \
        if (rest == 0) return (T)with_sign(0.0, b);                                       \
        return (rest < 0) != (b < 0) ? rest + b : rest;                                   \
    }                                                                                     \
    FN T floor_div_##T(T a, T b) {                                                        \
        T rest = (T)truncated_rem(a, b), quotient = a / b;                                \
        _Bool is_below = rest != 0 && (rest < 0) != (b < 0);                              \
        T nearly = (a - rest) / b - (is_below ? (T)1 : (T)0);                             \
        T floor = floor_##T(nearly);                                                      \
        if (b == 0) return quotient;                                                      \
        if (nearly == 0) return (T)with_sign(0.0, quotient);                              \
        return nearly - floor > (T)0.5 ? floor + (T)1 : floor;                            \
    }

REMAINDERS(f32)
REMAINDERS(f64)

/* exp.rs and polar.rs, where complex numbers need them */

typedef struct { f64 sinh, cosh, k; } hyperbolic;

FN hyperbolic sinh_cosh(f64 x) {
    f64 size = clamp(magnitude(x), 0.0, 1500.0);
    if (size > 40.0) {
        reduced_exp r = reduce_exp(size);
        f64 y = exp_reduced(r.high, r.low);
        return MAKE(hyperbolic, with_sign(y, x), y, r.k - 1.0);
    }
    sum e = exp_minus_one(size);
    f64 sinh = 0.5 * (e.high + (e.high / (e.high + 1.0) + e.low));
    f64 cosh = 1.0 + 0.5 * (e.high * e.high) / (e.high + 1.0);
    return MAKE(hyperbolic, with_sign(sinh, x), cosh, 0.0);
}

/* The binary logarithm of the inverse of a shift. */
FN f64 shift_exponent(shifts by) { return by.factor > 1.0 ? -600.0 : by.factor < 1.0 ? 600.0 : 0.0; }

FN f64 log_hypot(f64 x, f64 y) {
    sorted_pair s = sorted(x, y);
    shifts by = shift(s.large);
    f64 large = s.large * by.factor, small = s.small * by.factor;
    sum a = two_product(large, large), b = two_product(small, small);
    sum both = fast_two_sum(a.high, b.high);
    sum square = fast_two_sum(both.high, both.low + (a.low + b.low));
    f64 near = 0.5 * (log_f64(square.high) + square.low / square.high);
    f64 log = mul_add(shift_exponent(by), LN_2, near);
    if (magnitude(x) == INFINITE || magnitude(y) == INFINITE) return INFINITE;
    if (x != x || y != y) return NOT_A_NUMBER;
    return s.large == 0.0 ? -INFINITE : log;
}

/* complex.rs */

FN f64 with_one_nan(f64 x) { return x != x ? NOT_A_NUMBER : x; }
FN complex_f64 complex_number(f64 re, f64 im) {
    return MAKE(complex_f64, with_one_nan(re), with_one_nan(im));
}

/* The larger absolute value; the other one where one is NaN. */
FN f64 larger_part(complex_f64 z) {
    f64 re = magnitude(z.re), im = magnitude(z.im);
    return re >= im || im != im ? re : im;
}

FN complex_f64 polar(f64 log_size, f64 angle) {
    reduced_exp r = reduce_exp(clamp(log_size, -2000.0, 2000.0));
    f64 size = exp_reduced(r.high, r.low);
    f64 im = angle == 0.0 ? angle : size * any_sin_f64(angle);
    return complex_number(scale_far(size * any_cos_f64(angle), r.k), scale_far(im, r.k));
}

FN complex_f64 exp_complex_f64(complex_f64 z) {
    if (z.re == -INFINITE) return MAKE(complex_f64, 0.0, 0.0);
    if (z.re == INFINITE && !(magnitude(z.im) < INFINITE))
        return MAKE(complex_f64, INFINITE, NOT_A_NUMBER);
    return polar(z.re, z.im);
}

FN complex_f64 log_complex_f64(complex_f64 z) {
    return complex_number(log_hypot(z.re, z.im), atan2_f64(z.im, z.re));
}

FN complex_f64 sin_complex_f64(complex_f64 z) {
    hyperbolic h = sinh_cosh(z.im);
    f64 im = z.im == 0.0 ? z.im : any_cos_f64(z.re) * h.sinh;
    return complex_number(scale_far(any_sin_f64(z.re) * h.cosh, h.k), scale_far(im, h.k));
}

FN complex_f64 cos_complex_f64(complex_f64 z) {
    hyperbolic h = sinh_cosh(z.im);
    f64 re = any_cos_f64(z.re) * h.cosh, im = -any_sin_f64(z.re) * h.sinh;
    return complex_number(scale_far(re, h.k), scale_far(im, h.k));
}

FN complex_f64 far_tanh(complex_f64 z) {
    f64 one = with_sign(1.0, z.re);
    if (z.im != z.im) {
        if (magnitude(z.re) < INFINITE) return MAKE(complex_f64, NOT_A_NUMBER, NOT_A_NUMBER);
        return MAKE(complex_f64, one, 0.0);
    }
    f64 waves = 0.0;
    if (magnitude(z.im) < INFINITE) waves = 4.0 * any_sin_f64(z.im) * any_cos_f64(z.im);
    f64 exponent = -2.0 * magnitude(z.re);
    reduced_exp r = reduce_exp(exponent < -2000.0 ? -2000.0 : exponent);
    f64 im = scale_far(waves * exp_reduced(r.high, r.low), r.k);
    return complex_number(one, with_sign(im, waves == 0.0 ? z.im : waves));
}

FN complex_f64 tanh_complex_f64(complex_f64 z) {
    if (magnitude(z.re) > 22.0) return far_tanh(z);
    hyperbolic h = sinh_cosh(z.re);
    f64 tan = z.im == 0.0 ? z.im : any_sin_f64(z.im) / any_cos_f64(z.im);
    f64 beta = mul_add(tan, tan, 1.0);
    f64 below = mul_add(beta * h.sinh, h.sinh, 1.0);
    return complex_number(beta * h.cosh * h.sinh / below, tan / below);
}

FN complex_f64 sqrt_complex_f64(complex_f64 z) {
    if (magnitude(z.im) == INFINITE) return complex_number(INFINITE, z.im);
    if (z.re == 0.0 && z.im == 0.0) return MAKE(complex_f64, 0.0, z.im);
    if (z.re == INFINITE) return complex_number(z.re, z.im != z.im ? z.im : with_sign(0.0, z.im));
    if (z.re == -INFINITE)
        return complex_number(z.im != z.im ? z.im : 0.0, with_sign(INFINITE, z.im));
    shifts by = shift(larger_part(z));
    f64 re = z.re * by.factor, im = z.im * by.factor;
    f64 unscale = power_of_two(0.5 * shift_exponent(by));
    f64 large = SQRT_f64(0.5 * (magnitude(re) + hypot_f64(re, im)));
    f64 small = 0.5 * magnitude(im) / large;
    f64 root = re >= 0.0 ? large : small, other = re >= 0.0 ? small : large;
    return complex_number(root * unscale, with_sign(other * unscale, z.im));
}

FN complex_f64 exact_mul(complex_f64 a, complex_f64 b) {
    f64 re = sum_of_products(a.re, b.re, -a.im, b.im);
    return complex_number(re, sum_of_products(a.re, b.im, a.im, b.re));
}

FN complex_f64 whole_pow(complex_f64 x, u32 n) {
    complex_f64 power = {1.0, 0.0};
    for (; n != 0; n >>= 1) {
        if ((n & 1) == 1) power = exact_mul(power, x);
        x = exact_mul(x, x);
    }
    return power;
}

FN complex_f64 zero_pow(complex_f64 y) {
    if (y.re > 0.0) return MAKE(complex_f64, 0.0, 0.0);
    return MAKE(complex_f64, y.re < 0.0 && y.im == 0.0 ? INFINITE : NOT_A_NUMBER, NOT_A_NUMBER);
}

FN complex_f64 pow_complex_f64(complex_f64 x, complex_f64 y) {
    if (y.re == 0.0 && y.im == 0.0) return MAKE(complex_f64, 1.0, 0.0);
    if (x.re == 0.0 && x.im == 0.0) return zero_pow(y);
    if (y.im == 0.0 && magnitude(y.re) <= 64.0 && round_even(y.re) == y.re) {
        complex_f64 power = whole_pow(x, (u32)magnitude(y.re));
        f64 size = larger_part(power);
        if (size > 1e-280 && size < 1e280)
            return y.re < 0.0 ? div_complex_f64(MAKE(complex_f64, 1.0, 0.0), power) : power;
    }
    complex_f64 log = log_complex_f64(x);
    f64 less = y.im == 0.0 ? 0.0 : times_f64(y.im, log.im);
    f64 more = y.im == 0.0 ? 0.0 : times_f64(y.im, log.re);
    f64 log_size = times_f64(y.re, log.re) - less, angle = times_f64(y.re, log.im) + more;
    return exp_complex_f64(complex_number(log_size, angle));
}

#define WIDE(z) MAKE(complex_f64, (z).re, (z).im)
FN complex_f32 narrow(complex_f64 z) { return MAKE(complex_f32, (f32)z.re, (f32)z.im); }

#define THROUGH_F64(name)                                                                 \
    FN complex_f32 name##_complex_f32(complex_f32 z) { return narrow(name##_complex_f64(WIDE(z))); }

THROUGH_F64(exp)
THROUGH_F64(log)
THROUGH_F64(sin)
THROUGH_F64(cos)
THROUGH_F64(tanh)
THROUGH_F64(sqrt)

FN complex_f32 pow_complex_f32(complex_f32 x, complex_f32 y) {
    return narrow(pow_complex_f64(WIDE(x), WIDE(y)));
}
