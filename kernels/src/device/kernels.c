/* What device kernels call besides math.c and complex.c: the operations of ops.rs that loops in native
 * code leave to the blocks, products of rows, and the random numbers of random/mod.rs. */

#define ZERO_f32 0.0f
#define ZERO_f64 0.0
#define ZERO_i32 0
#define ZERO_i64 0
#define ZERO_u32 0
#define ZERO_u64 0
#define ZERO_complex_f32 MAKE(complex_f32, 0, 0)
#define ZERO_complex_f64 MAKE(complex_f64, 0, 0)

FN f32 mul_add_f32(f32 a, f32 b, f32 c) { return FUSED_f32(a, b, c); }
FN f64 mul_add_f64(f64 a, f64 b, f64 c) { return FUSED_f64(a, b, c); }

#define COMPLEX_MUL_ADD(T, R)                                                             \
    FN T mul_add_##T(T a, T b, T c) {                                                     \
        R re = FUSED_##R(a.re, b.re, c.re), im = FUSED_##R(a.re, b.im, c.im);             \
        return MAKE(T, FUSED_##R(-a.im, b.im, re), FUSED_##R(a.im, b.re, im));            \
    }

COMPLEX_MUL_ADD(complex_f32, f32)
COMPLEX_MUL_ADD(complex_f64, f64)

/* The smallest number has no quotient by -1; it wraps to itself. */
#define SIGNED(T)                                                                         \
    FN T mul_add_##T(T a, T b, T c) { return (T)((u64)a * (u64)b + (u64)c); }             \
    FN T div_##T(T a, T b) {                                                              \
        if (b == 0) return 0;                                                             \
        return b == -1 ? (T)(0ull - (u64)a) : (T)(a / b);                                 \
    }                                                                                     \
    FN T rem_##T(T a, T b) {                                                              \
        T rest = b == 0 || b == -1 ? (T)0 : (T)(a % b);                                   \
        return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;                 \
    }                                                                                     \
    FN T floor_div_##T(T a, T b) {                                                        \
        T rest = b == 0 || b == -1 ? (T)0 : (T)(a % b);                                   \
        T quotient = div_##T(a, b);                                                       \
        return rest != 0 && (rest < 0) != (b < 0) ? (T)(quotient - 1) : quotient;         \
    }

#define UNSIGNED(T)                                                                       \
    FN T mul_add_##T(T a, T b, T c) { return a * b + c; }                                 \
    FN T div_##T(T a, T b) { return b == 0 ? (T)0 : a / b; }                              \
    FN T rem_##T(T a, T b) { return b == 0 ? (T)0 : a % b; }                              \
    FN T floor_div_##T(T a, T b) { return div_##T(a, b); }

SIGNED(i32)
SIGNED(i64)
UNSIGNED(u32)
UNSIGNED(u64)

FN _Bool is_odd(u64 whole) { return (whole & 1) != 0; }

#define POWERS(T)                                                                         \
    FN T whole_pow_##T(T base, T exponent) {                                              \
        T power = 1;                                                                      \
        while (exponent != 0) {                                                           \
            if (is_odd((u64)exponent)) power = mul_##T(power, base);                      \
            base = mul_##T(base, base);                                                   \
            exponent >>= 1;                                                               \
        }                                                                                 \
        return power;                                                                     \
    }

/* To a negative power only 1 and -1 have a whole one. */
#define SIGNED_POWERS(T)                                                                  \
    POWERS(T)                                                                             \
    FN T pow_##T(T base, T exponent) {                                                    \
        if (exponent >= 0) return whole_pow_##T(base, exponent);                          \
        if (base == -1) return is_odd((u64)exponent) ? (T)-1 : (T)1;                      \
        return base == 1 ? (T)1 : (T)0;                                                   \
    }

#define UNSIGNED_POWERS(T)                                                                \
    POWERS(T)                                                                             \
    FN T pow_##T(T base, T exponent) { return whole_pow_##T(base, exponent); }

SIGNED_POWERS(i32)
SIGNED_POWERS(i64)
UNSIGNED_POWERS(u32)
UNSIGNED_POWERS(u64)

/* An element and its row, or NO_ROW, of `ArgMin` and `ArgMax`; see reduce.rs. */
#define NO_ROW (~0ull)
#define PLACES(T)                                                                         \
    typedef struct { T element; u64 row; } place_##T;                                     \
    FN _Bool is_better_##T(place_##T a, place_##T b, _Bool strictly) {                    \
        _Bool is_nan = a.element != a.element, is_other_nan = b.element != b.element;     \
        _Bool is_before = a.row < b.row;                                                  \
        if (a.row == NO_ROW || b.row == NO_ROW) return is_before;                         \
        if (is_nan || is_other_nan) return is_nan && (!is_other_nan || is_before);        \
        return strictly || (a.element == b.element && is_before);                         \
    }                                                                                     \
    FN place_##T argmin_##T(place_##T a, place_##T b) {                                   \
        return is_better_##T(b, a, b.element < a.element) ? b : a;                        \
    }                                                                                     \
    FN place_##T argmax_##T(place_##T a, place_##T b) {                                   \
        return is_better_##T(b, a, b.element > a.element) ? b : a;                        \
    }

PLACES(f32)
PLACES(f64)
PLACES(i32)
PLACES(i64)
PLACES(u32)
PLACES(u64)

/* Where an array of one to four dimensions has the element of a row, in elements. */
#define OFFSETS(T)                                                                        \
    FN i64 offset1_##T(T row, i64 s0) { return (i64)row * s0; }                           \
    FN i64 offset2_##T(T row, T d1, i64 s0, i64 s1) {                                     \
        T i0 = row / d1;                                                                  \
        return (i64)i0 * s0 + (i64)(row - i0 * d1) * s1;                                  \
    }                                                                                     \
    FN i64 offset3_##T(T row, T d1, T d2, i64 s0, i64 s1, i64 s2) {                       \
        T i1 = row / d2;                                                                  \
        return offset2_##T(i1, d1, s0, s1) + (i64)(row - i1 * d2) * s2;                   \
    }                                                                                     \
    FN i64 offset4_##T(T row, T d1, T d2, T d3, i64 s0, i64 s1, i64 s2, i64 s3) {         \
        T i2 = row / d3;                                                                  \
        return offset3_##T(i2, d1, d2, s0, s1, s2) + (i64)(row - i2 * d3) * s3;           \
    }

OFFSETS(u32)
OFFSETS(u64)

#define TAU 6.283185307179586

typedef struct { u32 a, b, c, d; } philox_block;

FN philox_block philox(u64 seed, u64 index) {
    u32 a = (u32)index, b = (u32)(index >> 32), c = 0, d = 0;
    u32 key = (u32)seed, other = (u32)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        u64 low = 0xd2511f53ull * a, high = 0xcd9e8d57ull * c;
        a = (u32)(high >> 32) ^ b ^ key;
        c = (u32)(low >> 32) ^ d ^ other;
        b = (u32)high;
        d = (u32)low;
        key += 0x9e3779b9u;
        other += 0xbb67ae85u;
    }
    return MAKE(philox_block, a, b, c, d);
}

/* Exact: the number has 53 bits. */
FN f64 random_unit(u64 word) { return (f64)(word >> 11) * 1.1102230246251565e-16; }

FN u64 random_bits(u64 seed, u64 index) {
    philox_block words = philox(seed, index);
    return words.a | (u64)words.b << 32;
}

FN f64 random_uniform(u64 seed, u64 index) { return random_unit(random_bits(seed, index)); }

FN f64 random_normal(u64 seed, u64 index) {
    philox_block words = philox(seed, index);
    f64 u = 1.0 - random_unit(words.a | (u64)words.b << 32);
    f64 angle = TAU * random_unit(words.c | (u64)words.d << 32);
    return sqrt_f64(-2.0 * log_f64(u)) * cos_f64(angle);
}
