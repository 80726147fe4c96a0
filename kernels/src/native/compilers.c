/* What math.c, complex.c and the text around them call by other names in CUDA's C++ (NVRTC), and in
 * the C of GCC and Clang. Both columns have the same bits: each is one operation of IEEE 754, rounded
 * to nearest, or one on the bits of a number. */

#ifdef __CUDACC__
#define _Bool bool
#define MAKE(T, ...) T{__VA_ARGS__}
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define FUSED_f32(a, b, c) __fmaf_rn(a, b, c)
#define FUSED_f64(a, b, c) __fma_rn(a, b, c)
#define SQRT_f32(a) __fsqrt_rn(a)
#define SQRT_f64(a) __dsqrt_rn(a)
#define BUILTIN(name) name
#define TABLE(type, name) static __constant__ const type name[]
/* The upper half of a product of 64 bits each, and the zeros in front of a number other than 0. */
#define PRODUCT_HIGH(a, b) __umul64hi(a, b)
#define LEADING_ZEROS(x) ((u64)__clzll((i64)(x)))
#else
#define MAKE(T, ...) ((T){__VA_ARGS__})
#define NOT_A_NUMBER __builtin_nan("")
#define INFINITE __builtin_inf()
#define FUSED_f32(a, b, c) __builtin_fmaf(a, b, c)
#define FUSED_f64(a, b, c) __builtin_fma(a, b, c)
#define SQRT_f32(a) __builtin_sqrtf(a)
#define SQRT_f64(a) __builtin_sqrt(a)
#define BUILTIN(name) __builtin_##name
#define TABLE(type, name) static const type name[]
#define PRODUCT_HIGH(a, b) ((u64)(((unsigned __int128)(a) * (b)) >> 64))
#define LEADING_ZEROS(x) ((u64)__builtin_clzll(x))
#endif

#ifdef __CUDACC__
FN u64 bits(f64 x) { return (u64)__double_as_longlong(x); }
FN f64 number(u64 bits) { return __longlong_as_double((i64)bits); }
#else
FN u64 bits(f64 x) { u64 bits; __builtin_memcpy(&bits, &x, 8); return bits; }
FN f64 number(u64 bits) { f64 x; __builtin_memcpy(&x, &bits, 8); return x; }
#endif
