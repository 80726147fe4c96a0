/* What printed kernels call: the operations of ops.rs, and the elementary functions of math/.
 *
 * The text in front of this file defines the types, the functions `poly_...` and the constants, the
 * latter from the tables of the Rust functions of the same names. Each function here has exactly
 * their operations, in their order, so it gives the same bits; whoever changes one changes the
 * other, and a test compares them. There are no branches and no headers: a loop over these becomes
 * SIMD code, in little time. A fused multiply-add is written as one, and the options of the
 * compilers say that they make no others.
 *
 * The text is C11 for GCC and Clang, and C++17 for NVRTC; what these call differently is in
 * compilers.c. */

#define SMALLEST_NORMAL 2.2250738585072014e-308
#define TWO_54 18014398509481984.0
#define TWO_52 4503599627370496.0
#define WHOLE 0x4330000000000000ull
#define ONE 0x3ff0000000000000ull
#define SQRT_HALF 0x3fe6a09e667f3bcdull

FN f64 mul_add(f64 a, f64 b, f64 c) { return FUSED_f64(a, b, c); }
FN f64 with_sign(f64 size, f64 sign) { return BUILTIN(copysign)(size, sign); }
FN f64 magnitude(f64 x) { return BUILTIN(fabs)(x); }

/* arithmetic.rs */

typedef struct { f64 high, low; } sum;

FN f64 round_even(f64 x) { return (x + ROUND) - ROUND; }
FN u64 low_bits(f64 k) { return bits(k + ROUND) & 3; }
FN f64 power_of_two(f64 k) { return number(bits(k + EXPONENT) << 52); }

FN f64 scale(f64 x, f64 k) {
    f64 half = round_even(k * 0.5);
    return x * power_of_two(half) * power_of_two(k - half);
}

FN f64 clamp(f64 x, f64 low, f64 high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

FN sum fast_two_sum(f64 a, f64 b) {
    f64 high = a + b;
    return MAKE(sum, high, b - (high - a));
}

FN sum two_sum(f64 a, f64 b) {
    f64 high = a + b;
    f64 b_part = high - a;
    f64 a_part = high - b_part;
    return MAKE(sum, high, (a - a_part) + (b - b_part));
}

FN sum two_product(f64 a, f64 b) {
    f64 product = a * b;
    return MAKE(sum, product, mul_add(a, b, -product));
}

FN sum multiply(sum a, sum b) {
    sum product = two_product(a.high, b.high);
    return MAKE(sum, product.high, product.low + mul_add(a.high, b.low, a.low * b.high));
}

/* exp.rs */

FN f64 exp_reduced(f64 high, f64 low) {
    sum s = fast_two_sum(1.0, high);
    return s.high + (s.low + mul_add(high * high, poly_exp(high), low));
}

typedef struct { f64 k, high, low; } reduced_exp;

FN reduced_exp reduce_exp(f64 x) {
    f64 k = round_even(x * LOG2_E);
    f64 rest = mul_add(-k, LN_2, x);
    sum s = fast_two_sum(rest, -k * LN_2_LOW);
    return MAKE(reduced_exp, k, s.high, s.low);
}

FN f64 exp_f64(f64 x) {
    reduced_exp r = reduce_exp(clamp(x, -746.0, 710.0));
    f64 y = scale(exp_reduced(r.high, r.low), r.k);
    return x != x ? NOT_A_NUMBER : y;
}

FN sum exp_minus_one(f64 x) {
    reduced_exp r = reduce_exp(x);
    f64 power = power_of_two(r.k);
    f64 curve = mul_add(r.high * r.high, poly_exp(r.high), r.low);
    sum whole = fast_two_sum(power, -1.0);
    sum s = fast_two_sum(whole.high, power * r.high);
    return fast_two_sum(s.high, mul_add(power, curve, s.low + whole.low));
}

FN f64 tanh_f64(f64 x) {
    sum e = exp_minus_one(2.0 * clamp(magnitude(x), 0.0, 20.0));
    sum s = two_sum(e.high, 2.0);
    f64 inverse = 1.0 / s.high;
    f64 quotient = e.high * inverse;
    f64 rest = mul_add(-quotient, s.high, e.high) + mul_add(-quotient, s.low + e.low, e.low);
    f64 tanh = with_sign(mul_add(rest, inverse, quotient), x);
    return x != x ? NOT_A_NUMBER : tanh;
}

FN f64 expm1_f64(f64 x) {
    sum near = exp_minus_one(clamp(x, -40.0, 40.0));
    f64 power = x > 40.0 ? exp_f64(x) : with_sign(near.high, x);
    return x != x ? NOT_A_NUMBER : power;
}

FN f64 half_exp(f64 x) {
    reduced_exp r = reduce_exp(clamp(x, 40.0, 712.0));
    return scale(exp_reduced(r.high, r.low), r.k - 1.0);
}

FN f64 sinh_f64(f64 x) {
    f64 size = magnitude(x);
    sum e = exp_minus_one(clamp(size, 0.0, 40.0));
    f64 near = 0.5 * (e.high + (e.high / (e.high + 1.0) + e.low));
    f64 sinh = size > 40.0 ? half_exp(size) : near;
    return x != x ? NOT_A_NUMBER : with_sign(sinh, x);
}

FN f64 cosh_f64(f64 x) {
    f64 size = magnitude(x);
    sum e = exp_minus_one(clamp(size, 0.0, 40.0));
    f64 power = e.high + 1.0;
    f64 near = 1.0 + 0.5 * (e.high * (e.high + 2.0 * e.low)) / power;
    f64 cosh = size > 40.0 ? half_exp(size) : near;
    return x != x ? NOT_A_NUMBER : cosh;
}

/* log.rs */

typedef struct { f64 k, m; } parts;

FN parts split(f64 x) {
    _Bool subnormal = x < SMALLEST_NORMAL;
    u64 word = bits(subnormal ? x * TWO_54 : x);
    f64 offset = subnormal ? 1023.0 + 54.0 : 1023.0;
    u64 exponent = (word + (ONE - SQRT_HALF)) >> 52;
    f64 k = number(WHOLE | exponent) - (number(WHOLE) + offset);
    return MAKE(parts, k, number(word - (exponent << 52) + ONE));
}

FN f64 log_f64(f64 x) {
    parts p = split(x);
    f64 f = p.m - 1.0;
    f64 half_square = 0.5 * f * f;
    f64 s = f / (2.0 + f);
    f64 z = s * s;
    f64 tail = mul_add(s, half_square + z * poly_log(z), p.k * LOG_LN_2_LOW);
    f64 finite = p.k * LOG_LN_2_HIGH - ((half_square - tail) - f);
    f64 positive = x < INFINITE ? finite : x;
    f64 defined = x == 0.0 ? -INFINITE : positive;
    return x >= 0.0 ? defined : NOT_A_NUMBER;
}

FN sum log2_extended(f64 x) {
    parts p = split(x);
    f64 f = p.m - 1.0;
    sum d = fast_two_sum(2.0, f);
    f64 inverse = 1.0 / d.high;
    f64 quotient = f * inverse;
    f64 rest = mul_add(-quotient, d.low, mul_add(-quotient, d.high, f));
    sum s = {quotient, rest * inverse};
    sum z = multiply(s, s);
    sum second = fast_two_sum(LOG2_SECOND, z.high * poly_log2_tail(z.high));
    sum curve = multiply(z, MAKE(sum, second.high, second.low + LOG2_SECOND_LOW));
    sum first = fast_two_sum(LOG2_FIRST, curve.high);
    sum log = multiply(s, MAKE(sum, first.high, first.low + (curve.low + LOG2_FIRST_LOW)));
    sum whole = fast_two_sum(p.k, log.high);
    return MAKE(sum, whole.high, whole.low + log.low);
}

FN f64 log1p_f64(f64 x) {
    sum s = two_sum(1.0, x);
    f64 lost = (s.high > 0.0) & (s.high < TWO_54) ? s.low / s.high : 0.0;
    f64 log = log_f64(s.high) + lost;
    return x == 0.0 ? x : log;
}

FN f64 outside(f64 x, _Bool inside, f64 log) {
    f64 defined = inside ? log : x;
    defined = x == 0.0 ? -INFINITE : defined;
    return x >= 0.0 ? defined : NOT_A_NUMBER;
}

FN f64 log2_f64(f64 x) {
    _Bool inside = (x > 0.0) & (x < INFINITE);
    sum log = log2_extended(inside ? x : 1.0);
    return outside(x, inside, log.high + log.low);
}

FN f64 log10_f64(f64 x) {
    _Bool inside = (x > 0.0) & (x < INFINITE);
    sum log = multiply(log2_extended(inside ? x : 1.0), MAKE(sum, LOG10_2, LOG10_2_LOW));
    return outside(x, inside, log.high + log.low);
}

/* polar.rs */

typedef struct { f64 large, small; } sorted_pair;

FN sorted_pair sorted(f64 x, f64 y) {
    x = magnitude(x);
    y = magnitude(y);
    return MAKE(sorted_pair, x < y ? y : x, x < y ? x : y);
}

typedef struct { f64 factor, inverse; } shifts;

FN shifts shift(f64 large) {
    const f64 big = number((u64)(1023 + 500) << 52), small = number((u64)(1023 - 400) << 52);
    const f64 up = number((u64)(1023 + 600) << 52), down = number((u64)(1023 - 600) << 52);
    f64 factor = large > big ? down : 1.0;
    f64 inverse = large > big ? up : 1.0;
    return MAKE(shifts, large < small ? up : factor, large < small ? down : inverse);
}

FN f64 hypot_f64(f64 x, f64 y) {
    sorted_pair s = sorted(x, y);
    shifts by = shift(s.large);
    f64 a = s.large * by.factor, b = s.small * by.factor;
    f64 root = SQRT_f64(mul_add(a, a, b * b)) * by.inverse;
    f64 size = (x != x) | (y != y) ? NOT_A_NUMBER : root;
    return (magnitude(x) == INFINITE) | (magnitude(y) == INFINITE) ? INFINITE : size;
}

typedef struct { f64 angle, low, eighths; } angle_parts;

FN angle_parts atan_quotient(f64 y, f64 x) {
    _Bool high = y > x * TAN_FRAC_PI_8;
    f64 above = high ? y - x : y;
    sum both = fast_two_sum(x, y);
    f64 below = high ? both.high : x;
    f64 error = high ? both.low : 0.0;
    f64 t = above / below;
    f64 rest = mul_add(-t, error, mul_add(-t, below, above)) / below;
    f64 z = t * t;
    return MAKE(angle_parts, t, mul_add(t * z, poly_atan(z), rest), high ? 1.0 : 0.0);
}

FN f64 atan2_f64(f64 y, f64 x) {
    sorted_pair s = sorted(x, y);
    shifts by = shift(s.large);
    _Bool is_infinite = s.large == INFINITE, is_zero = s.large == 0.0;
    f64 factor = by.factor < 1.0 ? 0.25 : by.factor;
    f64 large = is_infinite | is_zero ? 1.0 : s.large * factor;
    f64 small = is_zero ? 0.0 : s.small * factor;
    small = is_infinite ? (s.small == INFINITE ? 1.0 : 0.0) : small;
    angle_parts a = atan_quotient(small, large);
    _Bool steep = magnitude(y) > magnitude(x);
    f64 quarter = steep ? 2.0 - a.eighths : a.eighths;
    f64 sign = steep ? -1.0 : 1.0;
    _Bool left = with_sign(1.0, x) < 0.0;
    quarter = left ? 4.0 - quarter : quarter;
    sign = left ? -sign : sign;
    sum base = two_product(quarter, FRAC_PI_4);
    sum angle = fast_two_sum(base.high, sign * a.angle);
    f64 low = mul_add(quarter, FRAC_PI_4_LOW, base.low) + sign * a.low;
    f64 total = angle.high + (angle.low + low);
    return (x != x) | (y != y) ? NOT_A_NUMBER : with_sign(total, y);
}

/* erf.rs */

FN f64 erf_f64(f64 x) {
    f64 size = clamp(magnitude(x), 0.0, 5.95);
    f64 z = size * size;
    f64 near = mul_add(size, ERF_FIRST, size * mul_add(z, poly_erf_near(z), ERF_FIRST_LOW));
    f64 far = 1.0 - exp_f64(poly_ln_erfc(size));
    f64 erf = with_sign(size < 1.0 ? near : far, x);
    return x != x ? NOT_A_NUMBER : erf;
}

/* pow.rs */

FN _Bool is_whole(f64 x) {
    f64 size = magnitude(x);
    return (size >= TWO_52) | ((size + TWO_52) - TWO_52 == size);
}

FN f64 positive_pow(f64 x, f64 y) {
    sum log = log2_extended(x);
    sum product = two_product(y, log.high);
    f64 low = mul_add(y, log.low, product.low);
    f64 exponent = clamp(product.high, -1100.0, 1100.0);
    low = exponent == product.high ? low : 0.0;
    f64 k = round_even(exponent);
    sum r = multiply(MAKE(sum, exponent - k, low), MAKE(sum, LN_2, LN_2_LOW));
    r = fast_two_sum(r.high, r.low);
    return scale(exp_reduced(r.high, r.low), k);
}

FN f64 pow_f64(f64 x, f64 y) {
    f64 size = magnitude(x);
    _Bool inside = (size > 0.0) & (size < INFINITE);
    f64 power = positive_pow(inside ? size : 1.0, y);
    f64 edge = (size == 0.0) == (y < 0.0) ? INFINITE : 0.0;
    power = inside ? power : edge;
    _Bool odd = is_whole(y) & !is_whole(0.5 * y);
    _Bool negative = with_sign(1.0, x) < 0.0;
    power = negative & odd ? -power : power;
    f64 defined = (x < 0.0) & (size < INFINITE) & !is_whole(y) ? NOT_A_NUMBER : power;
    defined = (size == 1.0) & (magnitude(y) == INFINITE) ? 1.0 : defined;
    defined = (x != x) | (y != y) ? NOT_A_NUMBER : defined;
    return (x == 1.0) | (y == 0.0) ? 1.0 : defined;
}

/* cbrt.rs */

FN f64 cbrt_f64(f64 x) {
    f64 size = magnitude(x);
    _Bool inside = (size > 0.0) & (size < INFINITE);
    parts p = split(inside ? size : 1.0);
    f64 q = round_even(p.k * THIRD);
    f64 rest = p.k - 3.0 * q;
    f64 u = p.m * power_of_two(rest);
    f64 factor = rest > 0.0 ? ROOT_2 : 1.0;
    factor = rest < 0.0 ? ROOT_HALF : factor;
    f64 root = poly_cbrt(p.m) * factor;
    f64 square = root * root;
    f64 error = mul_add(root, root, -square);
    f64 residual = mul_add(-square, root, u) - error * root;
    f64 step = root * residual / mul_add(2.0 * square, root, u);
    root = with_sign((root + step) * power_of_two(q), x);
    f64 defined = inside ? root : x;
    return x != x ? NOT_A_NUMBER : defined;
}

/* trig.rs, for arguments up to LARGE; beyond, the loop leaves the rows to the caller */

typedef struct { f64 quadrant, high, low; } reduced_angle;

FN _Bool is_large(f64 x) { return bits(magnitude(x)) > bits(LARGE); }

FN reduced_angle reduce_angle(f64 x) {
    f64 q = round_even(x * FRAC_2_PI);
    f64 rest = mul_add(-q, FRAC_PI_2, x);
    sum product = two_product(q, FRAC_PI_2_LOW);
    sum s = two_sum(rest, -product.high);
    sum r = fast_two_sum(s.high, mul_add(-q, FRAC_PI_2_LOWEST, s.low - product.low));
    return MAKE(reduced_angle, q, r.high, r.low);
}

FN f64 with_quadrant_sign(f64 x, u64 quadrant) { return number(bits(x) ^ ((quadrant & 2) << 62)); }

typedef struct { f64 sin, cos; } sin_cos;

FN sin_cos trig_kernels(reduced_angle r) {
    sum z = two_product(r.high, r.high);
    f64 low = mul_add(-0.5 * z.high, r.low, r.low);
    f64 sin = r.high + mul_add(z.high * r.high, poly_sin(z.high), low);
    sum most = fast_two_sum(1.0, -0.5 * z.high);
    f64 linear = mul_add(-r.high, r.low, -0.5 * z.low);
    f64 curve = mul_add(z.high * z.high, poly_cos(z.high), linear);
    return MAKE(sin_cos, sin, most.high + (most.low + curve));
}

FN f64 sin_f64(f64 x) {
    reduced_angle r = reduce_angle(x);
    u64 quadrant = low_bits(r.quadrant);
    sin_cos s = trig_kernels(r);
    f64 sin = with_quadrant_sign((quadrant & 1) == 0 ? s.sin : s.cos, quadrant);
    return x == 0.0 ? x : sin;
}

FN f64 cos_f64(f64 x) {
    reduced_angle r = reduce_angle(x);
    u64 quadrant = low_bits(r.quadrant);
    sin_cos s = trig_kernels(r);
    return with_quadrant_sign((quadrant & 1) == 0 ? s.cos : s.sin, quadrant + 1);
}

/* lgamma.rs */

FN sum log_extended(sum x) {
    sum log = multiply(log2_extended(x.high), MAKE(sum, LN_2, LN_2_LOW));
    return fast_two_sum(log.high, log.low + x.low / x.high);
}

FN sum lgamma_factors(f64 z, f64 whole) {
    sum square = two_product(z, z);
    sum shifted = fast_two_sum(z, square.high);
    f64 high = whole < 0.5 ? shifted.high : z;
    f64 low = whole < 0.5 ? shifted.low + square.low : 0.0;
    high = whole < 1.5 ? high : 1.0;
    low = whole < 1.5 ? low : 0.0;
#define LGAMMA_FACTOR(K)                                                                  \
    {                                                                                     \
        f64 factor = whole > K + 1.5 ? z - K : 1.0;                                       \
        sum product = two_product(high, factor);                                          \
        high = product.high;                                                              \
        low = mul_add(low, factor, product.low);                                          \
    }
    LGAMMA_FACTOR(1.0)
    LGAMMA_FACTOR(2.0)
    LGAMMA_FACTOR(3.0)
    LGAMMA_FACTOR(4.0)
    LGAMMA_FACTOR(5.0)
    LGAMMA_FACTOR(6.0)
    return MAKE(sum, high, low);
}

FN sum positive_lgamma(f64 z) {
    _Bool is_far = z >= FAR;
    f64 whole = round_even(z);
    f64 t = is_far ? 0.0 : z - whole;
    sum first = two_product(t, LGAMMA_FIRST);
    sum square = two_product(t, t);
    sum second = multiply(square, MAKE(sum, LGAMMA_SECOND, LGAMMA_SECOND_LOW));
    sum near = fast_two_sum(first.high, second.high);
    f64 rest = mul_add(t * square.high, poly_near_two(t), t * LGAMMA_FIRST_LOW);
    f64 near_low = rest + (first.low + second.low + near.low);
    f64 scale = z > HUGE_Z ? SMALLER : 1.0;
    f64 inverse = 1.0 / z;
    f64 series = mul_add(poly_stirling(inverse * inverse), inverse, HALF_LN_2_PI);
    sum half_less = two_sum(z * scale, -0.5 * scale);
    sum of = lgamma_factors(z, whole);
    sum log = log_extended(MAKE(sum, is_far ? z : of.high, is_far ? 0.0 : of.low));
    f64 sign = whole < 1.5 ? -1.0 : 1.0;
    sum times = {is_far ? half_less.high : sign, is_far ? half_less.low : 0.0};
    sum product = multiply(times, log);
    f64 other = is_far ? -z * scale : near.high;
    f64 other_low = is_far ? series * scale : near_low;
    sum s = two_sum(product.high, other);
    s = two_sum(s.high, s.low + (product.low + other_low));
    f64 back = z > HUGE_Z ? LARGER : 1.0;
    return MAKE(sum, s.high * back, s.low * back);
}

FN f64 reflected_lgamma(f64 z, sum positive) {
    f64 distance = magnitude(z - round_even(z));
    _Bool is_near = distance <= 0.25;
    f64 turn = is_near ? distance : 0.5 - distance;
    sum angle = two_product(turn, PI);
    f64 low = mul_add(turn, PI_LOW, angle.low);
    sin_cos s = trig_kernels(MAKE(reduced_angle, 0.0, angle.high, low));
    f64 sin = is_near ? s.sin : s.cos;
    sum log = log_extended(two_product(z, sin > 0.0 ? sin : 1.0));
    sum first = two_sum(LN_PI, -log.high);
    sum second = two_sum(first.high, -positive.high);
    return second.high + (first.low + second.low + (LN_PI_LOW - log.low - positive.low));
}

FN f64 lgamma_f64(f64 x) {
    f64 size = magnitude(x);
    _Bool inside = (size > 0.0) & (size < INFINITE);
    f64 z = inside ? size : 1.0;
    sum positive = positive_lgamma(z);
    _Bool is_reflected = (x < 0.0) & (size >= TINY);
    f64 finite = is_reflected ? reflected_lgamma(z, positive) : positive.high + positive.low;
    _Bool is_pole = (x < 0.0) & is_whole(size);
    f64 defined = !inside | is_pole ? INFINITE : finite;
    return x != x ? NOT_A_NUMBER : defined;
}

/* ops.rs */

/* The product, and nothing else. GCC 12 makes a fused multiply-add of `a - b * c` if it is stored
 * beside `d + e * f`, although its options forbid that; of this it makes none. Adding -0 leaves every
 * product as it is. */
FN f32 times_f32(f32 a, f32 b) { return FUSED_f32(a, b, -0.0f); }
FN f64 times_f64(f64 a, f64 b) { return FUSED_f64(a, b, -0.0); }

#define OPERATIONS_ON_REALS(T)                                                            \
    FN T min_##T(T a, T b) {                                                              \
        T smaller = b < a ? b : a;                                                        \
        return b != b ? b : smaller;                                                      \
    }                                                                                     \
    FN T max_##T(T a, T b) {                                                              \
        T larger = b > a ? b : a;                                                         \
        return b != b ? b : larger;                                                       \
    }                                                                                     \
    FN T sign_##T(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a; }

OPERATIONS_ON_REALS(f32)
OPERATIONS_ON_REALS(f64)
OPERATIONS_ON_REALS(i32)
OPERATIONS_ON_REALS(i64)
OPERATIONS_ON_REALS(u32)
OPERATIONS_ON_REALS(u64)

/* Whole numbers wrap. Signed ones do so in printed loops too, by an option; NVRTC has none, and takes
 * `a + 1 > a` for true, so kernels for it call these. */
#define WRAPPING(T, UNSIGNED)                                                             \
    FN T neg_##T(T a) { return (T)(0 - (UNSIGNED)a); }                                    \
    FN T add_##T(T a, T b) { return (T)((UNSIGNED)a + (UNSIGNED)b); }                     \
    FN T sub_##T(T a, T b) { return (T)((UNSIGNED)a - (UNSIGNED)b); }                     \
    FN T mul_##T(T a, T b) { return (T)((UNSIGNED)a * (UNSIGNED)b); }

WRAPPING(i32, u32)
WRAPPING(i64, u64)
WRAPPING(u32, u32)
WRAPPING(u64, u64)

FN f32 abs_f32(f32 a) { return BUILTIN(fabsf)(a); }
FN f64 abs_f64(f64 a) { return BUILTIN(fabs)(a); }
FN i32 abs_i32(i32 a) { return a < 0 ? neg_i32(a) : a; }
FN i64 abs_i64(i64 a) { return a < 0 ? neg_i64(a) : a; }
FN u32 abs_u32(u32 a) { return a; }
FN u64 abs_u64(u64 a) { return a; }

FN f32 floor_f32(f32 a) { return BUILTIN(floorf)(a); }
FN f64 floor_f64(f64 a) { return BUILTIN(floor)(a); }
FN f32 round_f32(f32 a) { return BUILTIN(rintf)(a); }
FN f64 round_f64(f64 a) { return BUILTIN(rint)(a); }
FN f32 ceil_f32(f32 a) { return BUILTIN(ceilf)(a); }
FN f64 ceil_f64(f64 a) { return BUILTIN(ceil)(a); }
FN f32 sqrt_f32(f32 a) { return SQRT_f32(a); }
FN f64 sqrt_f64(f64 a) { return SQRT_f64(a); }

FN f32 exp_f32(f32 a) { return (f32)exp_f64(a); }
FN f32 log_f32(f32 a) { return (f32)log_f64(a); }
FN f32 sin_f32(f32 a) { return (f32)sin_f64(a); }
FN f32 cos_f32(f32 a) { return (f32)cos_f64(a); }
FN f32 tanh_f32(f32 a) { return (f32)tanh_f64(a); }
FN f32 pow_f32(f32 a, f32 b) { return (f32)pow_f64(a, b); }
FN f32 atan2_f32(f32 a, f32 b) { return (f32)atan2_f64(a, b); }
FN f32 hypot_f32(f32 a, f32 b) { return (f32)hypot_f64(a, b); }

/* As Rust's `as`: towards zero, the nearest where there is none, 0 for NaN. Both bounds are exact
 * in f64; the second is the first number above the largest. */
#define CONVERSION(T, LEAST, ABOVE)                                                       \
    FN T T##_of(f64 a) {                                                                  \
        _Bool inside = (a > LEAST) & (a < ABOVE);                                         \
        T whole = (T)(inside ? a : 0.0);                                                  \
        T edge = a >= ABOVE ? T##_LARGEST : a <= LEAST ? T##_SMALLEST : 0;                \
        return inside ? whole : edge;                                                     \
    }

#define i32_LARGEST 0x7fffffff
#define i32_SMALLEST (-i32_LARGEST - 1)
#define i64_LARGEST 0x7fffffffffffffffll
#define i64_SMALLEST (-i64_LARGEST - 1)
#define u32_LARGEST 0xffffffffu
#define u32_SMALLEST 0
#define u64_LARGEST 0xffffffffffffffffull
#define u64_SMALLEST 0

CONVERSION(i32, -2147483648.0, 2147483648.0)
CONVERSION(i64, -9223372036854775808.0, 9223372036854775808.0)
CONVERSION(u32, 0.0, 4294967296.0)
CONVERSION(u64, 0.0, 18446744073709551616.0)
