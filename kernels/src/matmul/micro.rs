//! The innermost loop of products of matrices: a tile of the result in registers.
//!
//! For each inner index a row of elements of `b` is multiplied with each of some elements of `a`
//! and added to the tile. How many rows and columns a tile has depends on the number of registers;
//! no bit does. The vectors of `f64`, `f32` and `Complex<f64>` are written out, because the
//! compiler keeps a tile of plain arrays in memory; other types, and machines without these
//! vectors, have a plain loop.
#![expect(
    unsafe_code,
    reason = "functions that need an instruction set are unsafe to call, and vectors are loaded through pointers"
)]

use super::pack::Panel;
use crate::element::{DType, Numeric};
use crate::isa::{Isa, per_isa};
use crate::ops::NumericOps;
use num_complex::Complex;
use std::any::Any;

/// A micro-kernel, and the size of its tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile<T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Panels of rows of `a`, and of columns of `b`.
    pub(super) of_a: Panel<T>,
    pub(super) of_b: Panel<T>,
    function: Add<T>,
    whole: Whole<T>,
}

/// A panel of `a`, one of `b`, a tile; how far columns, rows and rows of them lie apart.
type Add<T> = unsafe fn((&[T], usize), (&[T], usize), (&mut [T], usize), usize);

/// The product of two matrices, and rows, columns and inner indices.
type Whole<T> = unsafe fn(&[T], &[T], &mut [T], [usize; 3]);

/// The most elements of a tile.
pub(super) const MOST: usize = 8 * 48;

impl<T> Tile<T> {
    /// Adds the product of a panel of `a` and one of `b` to a tile, for `depth` inner indices. The
    /// columns of `a`, rows of `b` and rows of the tile lie a stride apart.
    ///
    /// # Panics
    ///
    /// If there are fewer elements than that.
    #[inline(always)]
    pub(super) fn add(
        &self,
        a: (&[T], usize),
        b: (&[T], usize),
        made: (&mut [T], usize),
        depth: usize,
    ) {
        // SAFETY: `tile` chooses functions that this machine can run.
        unsafe { (self.function)(a, b, made, depth) }
    }

    /// Writes the product of two matrices that lie row by row, of this many rows, columns, and
    /// inner indices, without packing: for small ones.
    #[inline(always)]
    pub(super) fn product(&self, a: &[T], b: &[T], made: &mut [T], shape: [usize; 3]) {
        // SAFETY: as above.
        unsafe { (self.whole)(a, b, made, shape) }
    }
}

/// The micro-kernel of a type for an instruction set, or for the baseline if this machine does not
/// have it, and for a result of this shape.
pub(super) fn tile<T: Numeric>(isa: Isa, shape: [usize; 2]) -> Tile<T> {
    match T::DTYPE {
        DType::F64 => of_type(f64_tile(isa, shape)),
        DType::F32 => of_type(f32_tile(isa, shape)),
        DType::ComplexF64 => of_type(complex_tile(isa)),
        DType::ComplexF32 => of_type(plain_tile::<Complex<f32>>(isa)),
        DType::I32 => of_type(plain_tile::<i32>(isa)),
        DType::I64 => of_type(plain_tile::<i64>(isa)),
        DType::U32 => of_type(plain_tile::<u32>(isa)),
        DType::U64 => of_type(plain_tile::<u64>(isa)),
        DType::Bool => panic!("`bool` has no arithmetic"),
    }
}

/// The tile as one of elements of type `T`, which are those that it has.
fn of_type<U: Numeric, T: Numeric>(tile: Tile<U>) -> Tile<T> {
    let tile = (&tile as &dyn Any).downcast_ref().copied();
    tile.expect("a `DType` is that of one type")
}

/// Rows and columns of the tile of a plain loop.
const PLAIN: [usize; 2] = [4, 4];

per_isa!(
    /// A plain loop.
    fn plain_loop<T: NumericOps>(
        a: (&[T], usize),
        b: (&[T], usize),
        made: (&mut [T], usize),
        depth: usize
    ) = plain,
    up to avx2
);

// Unsafe as the functions of `per_isa` are; it asks nothing of its caller.
#[inline(always)]
unsafe fn plain<T: NumericOps>(
    (a, right): (&[T], usize),
    (b, down): (&[T], usize),
    (made, stride): (&mut [T], usize),
    depth: usize,
) {
    let mut tile = [[T::ZERO; PLAIN[1]]; PLAIN[0]];
    for (row, tile) in tile.iter_mut().enumerate() {
        tile.copy_from_slice(&made[row * stride..][..PLAIN[1]]);
    }
    for k in 0..depth {
        let (a, b) = (&a[k * right..][..PLAIN[0]], &b[k * down..][..PLAIN[1]]);
        for (tile, &a) in tile.iter_mut().zip(a) {
            for (sum, &b) in tile.iter_mut().zip(b) {
                *sum = NumericOps::mul_add(a, b, *sum);
            }
        }
    }
    for (row, tile) in tile.iter().enumerate() {
        made[row * stride..][..PLAIN[1]].copy_from_slice(tile);
    }
}

fn plain_tile<T: NumericOps>(isa: Isa) -> Tile<T> {
    let isa = if isa.is_available() {
        isa
    } else {
        Isa::Baseline
    };
    Tile {
        rows: PLAIN[0],
        columns: PLAIN[1],
        of_a: Panel::of_rows::<{ PLAIN[0] }>(),
        of_b: Panel::of_rows::<{ PLAIN[1] }>(),
        function: plain_loop::<T>().get(isa),
        whole: small_loop::<T>().get(isa),
    }
}

per_isa!(
    /// All of a small product.
    fn small_loop<T: NumericOps>(a: &[T], b: &[T], made: &mut [T], shape: [usize; 3]) = small,
    up to avx2
);

// Unsafe as above.
#[inline(always)]
unsafe fn small<T: NumericOps>(
    a: &[T],
    b: &[T],
    made: &mut [T],
    [rows, columns, depth]: [usize; 3],
) {
    // Of a product without inner indices `b` has no columns either.
    let from = |column: usize| &b[column.min(b.len())..];
    for row in 0..rows {
        let a = &a[row * depth..][..depth];
        let (wide, rest) = made[row * columns..][..columns].as_chunks_mut::<8>();
        for (number, made) in wide.iter_mut().enumerate() {
            *made = some_columns(a, from(8 * number), columns);
        }
        let first = columns - rest.len();
        let (narrow, rest) = rest.as_chunks_mut::<4>();
        for made in narrow {
            *made = some_columns(a, from(first), columns);
        }
        let first = columns - rest.len();
        for (number, made) in rest.iter_mut().enumerate() {
            [*made] = some_columns(a, from(first + number), columns);
        }
    }
}

/// Some neighbouring elements of a row of the product: a row of `a`, and columns of `b`, whose rows
/// lie `stride` apart.
#[inline(always)]
fn some_columns<T: NumericOps, const N: usize>(a: &[T], b: &[T], stride: usize) -> [T; N] {
    let mut sums = [T::ZERO; N];
    for (k, &a) in a.iter().enumerate() {
        let b: &[T] = &b[k * stride..][..N];
        for (sum, &b) in sums.iter_mut().zip(b) {
            *sum = NumericOps::mul_add(a, b, *sum);
        }
    }
    sums
}

/// Panics unless `a` has `depth` columns and `b` as many rows: each as long as the third field
/// says, and begun as far behind the one before as the second says.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn assert_room<T>(a: (&[T], usize, usize), b: (&[T], usize, usize), depth: usize) {
    let has_room = |(elements, apart, n): (&[T], usize, usize)| {
        let last = depth.saturating_sub(1).checked_mul(apart);
        let end = last.and_then(|last| last.checked_add(n));
        depth == 0 || end.is_some_and(|end| end <= elements.len())
    };
    assert!(
        has_room(a) && has_room(b),
        "as many elements as the loops read"
    );
}

/// Floats: micro-kernels for each instruction set with fused multiply-adds. Their tiles have some
/// rows of some vectors: those of any product, of one of few rows, and the same of few columns.
macro_rules! vectors {
    ($tile:ident $type:ty:
        $($isa:ident $feature:literal $lanes:literal
            $any:tt $low:tt $narrow:tt $low_and_narrow:tt
            $load:ident $splat:ident $multiply_add:ident $store:ident)*
    ) => {
        fn $tile(isa: Isa, shape: [usize; 2]) -> Tile<$type> {
            match (isa, shape) {
                $(
                    #[cfg(target_arch = "x86_64")]
                    (Isa::$isa, [n_rows, n_columns]) if isa.is_available() => {
                        use std::arch::x86_64::{$load, $multiply_add, $splat, $store};

                        #[target_feature(enable = $feature)]
                        fn multiply<const ROWS: usize, const VECTORS: usize>(
                            (a, right): (&[$type], usize),
                            (b, down): (&[$type], usize),
                            (made, stride): (&mut [$type], usize),
                            depth: usize,
                        ) {
                            assert_room((a, right, ROWS), (b, down, VECTORS * $lanes), depth);
                            let mut tile = [[$splat(0.0); VECTORS]; ROWS];
                            for (row, tile) in tile.iter_mut().enumerate() {
                                let made = &made[row * stride..][..VECTORS * $lanes];
                                for (vector, made) in tile.iter_mut().zip(made.as_chunks::<$lanes>().0) {
                                    // SAFETY: there are as many elements as the vector has.
                                    *vector = unsafe { $load(made.as_ptr()) };
                                }
                            }
                            for k in 0..depth {
                                // SAFETY: `assert_room` has found column and row `k`.
                                let (a, b) = unsafe {
                                    (a.as_ptr().add(k * right), b.as_ptr().add(k * down))
                                };
                                let mut row = [$splat(0.0); VECTORS];
                                for (number, vector) in row.iter_mut().enumerate() {
                                    // SAFETY: as above.
                                    *vector = unsafe { $load(b.add(number * $lanes)) };
                                }
                                for (i, tile) in tile.iter_mut().enumerate() {
                                    // SAFETY: as above.
                                    let a = $splat(unsafe { *a.add(i) });
                                    for (sum, &b) in tile.iter_mut().zip(&row) {
                                        *sum = $multiply_add(a, b, *sum);
                                    }
                                }
                            }
                            for (row, tile) in tile.iter().enumerate() {
                                let made = &mut made[row * stride..][..VECTORS * $lanes];
                                for (&vector, made) in tile.iter().zip(made.as_chunks_mut::<$lanes>().0) {
                                    // SAFETY: as above.
                                    unsafe { $store(made.as_mut_ptr(), vector) };
                                }
                            }
                        }

                        macro_rules! tile {
                            ([$rows:literal $vectors:literal]) => {
                                Tile {
                                    rows: $rows,
                                    columns: $vectors * $lanes,
                                    of_a: Panel::of_rows::<$rows>(),
                                    of_b: Panel::of_rows::<{ $vectors * $lanes }>(),
                                    function: multiply::<$rows, $vectors>,
                                    whole: small_loop::<$type>().get(isa),
                                }
                            };
                        }
                        match (n_rows <= 4, n_columns <= $lanes) {
                            (false, false) => tile!($any),
                            (true, false) => tile!($low),
                            (false, true) => tile!($narrow),
                            (true, true) => tile!($low_and_narrow),
                        }
                    }
                )*
                _ => plain_tile(Isa::Baseline),
            }
        }
    };
}

vectors!(f64_tile f64:
    Avx2 "avx2,fma" 4 [6 2] [4 3] [12 1] [4 1]
        _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_storeu_pd
    Avx512 "avx512f,avx2,fma" 8 [8 3] [4 6] [12 1] [4 1]
        _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_storeu_pd
);
vectors!(f32_tile f32:
    Avx2 "avx2,fma" 8 [6 2] [4 3] [12 1] [4 1]
        _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_storeu_ps
    Avx512 "avx512f,avx2,fma" 16 [8 3] [4 6] [12 1] [4 1]
        _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_storeu_ps
);

fn complex_tile(isa: Isa) -> Tile<Complex<f64>> {
    #[cfg(target_arch = "x86_64")]
    if isa >= Isa::Avx2 && isa.is_available() {
        return Tile {
            rows: complex::ROWS,
            columns: complex::COLUMNS,
            of_a: Panel::of_rows::<{ complex::ROWS }>(),
            of_b: Panel::of_rows::<{ complex::COLUMNS }>(),
            function: complex::multiply,
            whole: small_loop::<Complex<f64>>().get(isa),
        };
    }
    plain_tile(isa)
}

/// Complex numbers with vectors of AVX2: real parts and imaginary parts side by side, four of each.
#[cfg(target_arch = "x86_64")]
mod complex {
    use num_complex::Complex;
    use std::arch::x86_64::{
        __m256d, _mm256_fmadd_pd, _mm256_fnmadd_pd, _mm256_loadu_pd, _mm256_set1_pd,
        _mm256_storeu_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
    };

    pub(super) const ROWS: usize = 4;
    pub(super) const COLUMNS: usize = 4;

    type Numbers = [Complex<f64>; COLUMNS];

    /// Adds the product of two panels to a tile, in the four steps of
    /// [`NumericOps::mul_add`](crate::ops::NumericOps::mul_add).
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn multiply(
        (a, right): (&[Complex<f64>], usize),
        (b, down): (&[Complex<f64>], usize),
        (made, stride): (&mut [Complex<f64>], usize),
        depth: usize,
    ) {
        let mut tile = [[_mm256_set1_pd(0.0); 2]; ROWS];
        for (row, tile) in tile.iter_mut().enumerate() {
            *tile = parts(&made[row * stride..].as_chunks().0[0]);
        }
        for k in 0..depth {
            let a = &a[k * right..][..ROWS];
            let [b_re, b_im] = parts(&b[k * down..].as_chunks().0[0]);
            for ([re, im], a) in tile.iter_mut().zip(a) {
                let (a_re, a_im) = (_mm256_set1_pd(a.re), _mm256_set1_pd(a.im));
                *re = _mm256_fmadd_pd(a_re, b_re, *re);
                *im = _mm256_fmadd_pd(a_re, b_im, *im);
                *re = _mm256_fnmadd_pd(a_im, b_im, *re);
                *im = _mm256_fmadd_pd(a_im, b_re, *im);
            }
        }
        for (row, tile) in tile.iter().enumerate() {
            put(*tile, &mut made[row * stride..].as_chunks_mut().0[0]);
        }
    }

    /// The real and the imaginary parts, both in the order 0, 2, 1, 3.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn parts(numbers: &Numbers) -> [__m256d; 2] {
        let at = numbers.as_ptr().cast::<f64>();
        // SAFETY: a complex number is its two parts one after the other (`repr(C)`), so there are
        // eight.
        let (low, high) = unsafe { (_mm256_loadu_pd(at), _mm256_loadu_pd(at.add(4))) };
        [_mm256_unpacklo_pd(low, high), _mm256_unpackhi_pd(low, high)]
    }

    /// The inverse of [`parts`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn put([re, im]: [__m256d; 2], numbers: &mut Numbers) {
        let at = numbers.as_mut_ptr().cast::<f64>();
        // SAFETY: as in `parts`.
        unsafe {
            _mm256_storeu_pd(at, _mm256_unpacklo_pd(re, im));
            _mm256_storeu_pd(at.add(4), _mm256_unpackhi_pd(re, im));
        }
    }
}
