//! Loops over many arrays: updates of one target, and products that are summed.
//!
//! `u - h_0 q_0 - h_1 q_1 ...` and the inner products `q_0 . u, q_1 . u, ...` are the work of
//! methods that keep a basis. One update at a time reads and writes the target again for each
//! vector, and the prefetchers of the hardware begin anew with each array of a block. So a few
//! arrays are read side by side; lanes stay in registers meanwhile, and a target in the L1 cache.
//! PETSc's `VecMAXPY` and `VecMDot` do alike. Each element sees the same operations in the same
//! order as in one update, or one sum, after the other.
#![expect(
    unsafe_code,
    reason = "reads and writes blocks through pointers, with SIMD"
)]

use crate::abi::CHUNK;
use crate::abi::Lanes;
use crate::element::DType;
use crate::isa::{LINE, PerIsa, one_chunk_at_a_time, per_isa, prefetch_far};
use crate::ops::NumericOps;
use crate::reduce::LANES;
use num_complex::Complex;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// How many arrays an update reads side by side.
const SIDE_BY_SIDE: usize = 4;

/// The bytes of a target between two groups of arrays: they stay in the L1 cache.
const STRETCH: usize = 8 << 10;

/// The factors of a term: elements of a block. The second one of an update is a chunk of copies
/// of a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) factors: [*const u8; 2],
}

/// Adds terms to a target, or subtracts them, one after the other, and writes the result to `out`.
///
/// # Safety
/// `target` and the first factor of each term must be readable as `chunks` chunks of elements, the
/// second factor as one chunk, and `out` writable as `chunks` chunks; `out` may overlap an operand
/// only if it is the same chunk by chunk. Nothing needs to be aligned. The instruction set of the
/// function must be available.
pub(crate) type UpdateLoop =
    unsafe fn(chunks: usize, out: *mut u8, target: *const u8, terms: &[Term]);

/// Joins the products of `n` rows to the lanes of sums: those of each term to the sum whose number
/// stands at its place in `sums`. The first row has the global number `first`. Asks for the first
/// factors `ahead` rows further on, unless that is 0.
///
/// # Safety
/// Both factors of each term must be readable as `n` elements; there must be as many numbers as
/// terms, all of them below `lanes.len()`. The instruction set of the function must be available.
pub(crate) type ProductsLoop = unsafe fn(
    lanes: &mut [Lanes],
    rows: (u64, usize),
    terms: &[Term],
    sums: &[usize],
    ahead: usize,
);

/// The loop for updates of floating-point numbers.
pub(crate) fn update(dtype: DType, is_sum: bool) -> PerIsa<UpdateLoop> {
    match (dtype, is_sum) {
        (DType::F32, true) => update_loop::<Plus<f32>>(),
        (DType::F64, true) => update_loop::<Plus<f64>>(),
        (DType::ComplexF32, true) => update_loop::<Plus<Complex<f32>>>(),
        (DType::ComplexF64, true) => update_loop::<Plus<Complex<f64>>>(),
        (DType::F32, false) => update_loop::<Minus<f32>>(),
        (DType::F64, false) => update_loop::<Minus<f64>>(),
        (DType::ComplexF32, false) => update_loop::<Minus<Complex<f32>>>(),
        (DType::ComplexF64, false) => update_loop::<Minus<Complex<f64>>>(),
        (DType::I32 | DType::I64 | DType::U32 | DType::U64 | DType::Bool, _) => {
            unreachable!("only products of floating-point numbers are carried out by their readers")
        }
    }
}

/// The loop for products of floating-point numbers, of which the first may be conjugated.
pub(crate) fn products(dtype: DType, is_conjugated: bool) -> PerIsa<ProductsLoop> {
    match (dtype, is_conjugated) {
        (DType::F32, _) => products_loop::<Plain<f32>>(),
        (DType::F64, _) => products_loop::<Plain<f64>>(),
        (DType::ComplexF32, false) => products_loop::<Plain<Complex<f32>>>(),
        (DType::ComplexF64, false) => products_loop::<Plain<Complex<f64>>>(),
        (DType::ComplexF32, true) => products_loop::<Conjugated<Complex<f32>>>(),
        (DType::ComplexF64, true) => products_loop::<Conjugated<Complex<f64>>>(),
        (DType::I32 | DType::I64 | DType::U32 | DType::U64 | DType::Bool, _) => {
            unreachable!("only products of floating-point numbers are carried out by their readers")
        }
    }
}

/// What an update does with a term.
trait Way {
    type T: NumericOps;
    fn join(target: Self::T, a: Self::T, b: Self::T) -> Self::T;
}

struct Plus<T>(PhantomData<T>);
impl<T: NumericOps> Way for Plus<T> {
    type T = T;
    #[inline(always)]
    fn join(target: T, a: T, b: T) -> T {
        a.mul(b).add(target)
    }
}

struct Minus<T>(PhantomData<T>);
impl<T: NumericOps> Way for Minus<T> {
    type T = T;
    #[inline(always)]
    fn join(target: T, a: T, b: T) -> T {
        target.sub(a.mul(b))
    }
}

per_isa!(fn update_loop<W: Way>(
    chunks: usize,
    out: *mut u8,
    target: *const u8,
    terms: &[Term],
) = update_all);

#[inline(always)]
unsafe fn update_all<W: Way>(chunks: usize, out: *mut u8, target: *const u8, terms: &[Term]) {
    let chunk_bytes = CHUNK * size_of::<W::T>();
    let mut stretch = [const { MaybeUninit::<u8>::uninit() }; STRETCH];
    let stretch = stretch.as_mut_ptr().cast::<u8>();
    let longest = STRETCH / chunk_bytes;
    let (whole, rest) = terms.as_chunks::<SIDE_BY_SIDE>();
    let n_groups = whole.len() + usize::from(!rest.is_empty());
    let mut first = 0;
    while first < chunks {
        let n = longest.min(chunks - first);
        let offset = first * chunk_bytes;
        let (target, out) = (target.wrapping_add(offset), out.wrapping_add(offset));
        // The target of a group is what the last one has left.
        let ends = |group: usize| {
            let from = if group == 0 {
                target
            } else {
                stretch.cast_const()
            };
            let to = if group + 1 == n_groups { out } else { stretch };
            (from, to)
        };
        // SAFETY: the caller promises the chunks of the operands, of which these are some; a
        // stretch has room for `n` chunks. What the last group writes, earlier ones have read.
        unsafe {
            for (group, terms) in whole.iter().enumerate() {
                update_four::<W>(n, ends(group), offset, terms);
            }
            let ends = ends(whole.len());
            match *rest {
                [] => {}
                [a] => update_one::<W>(n, ends, offset, &[a]),
                [a, b] => update_two::<W>(n, ends, offset, &[a, b]),
                [a, b, c] => update_three::<W>(n, ends, offset, &[a, b, c]),
                _ => unreachable!("the rest is shorter than a group"),
            }
        }
        first += n;
    }
}

/// Defines functions that update chunks of a target by some terms, one after the other.
macro_rules! update_by {
    ($($name:ident $n:literal: $($array:ident $number:ident $i:literal)*;)*) => {$(
        #[inline(always)]
        unsafe fn $name<W: Way>(
            chunks: usize,
            (from, to): (*const u8, *mut u8),
            offset: usize,
            terms: &[Term; $n],
        ) {
            let from = from.cast::<[W::T; CHUNK]>();
            let to = to.cast::<[W::T; CHUNK]>();
            $(
                let $array = terms[$i].factors[0].wrapping_add(offset).cast::<[W::T; CHUNK]>();
                // SAFETY: the caller promises a chunk of copies.
                let $number = unsafe { terms[$i].factors[1].cast::<W::T>().read_unaligned() };
            )*
            for chunk in 0..chunks {
                one_chunk_at_a_time();
                // SAFETY: the caller promises the chunks of all operands.
                unsafe {
                    let mut sum = from.add(chunk).read_unaligned();
                    $(
                        let array = $array.add(chunk).read_unaligned();
                        for k in 0..CHUNK {
                            sum[k] = W::join(sum[k], array[k], $number);
                        }
                    )*
                    to.add(chunk).write_unaligned(sum);
                }
            }
        }
    )*};
}

update_by! {
    update_four 4: a0 c0 0 a1 c1 1 a2 c2 2 a3 c3 3;
    update_three 3: a0 c0 0 a1 c1 1 a2 c2 2;
    update_two 2: a0 c0 0 a1 c1 1;
    update_one 1: a0 c0 0;
}

/// What is summed.
trait Factors {
    type T: NumericOps;
    fn product(a: Self::T, b: Self::T) -> Self::T;
}

struct Plain<T>(PhantomData<T>);
impl<T: NumericOps> Factors for Plain<T> {
    type T = T;
    #[inline(always)]
    fn product(a: T, b: T) -> T {
        a.mul(b)
    }
}

struct Conjugated<T>(PhantomData<T>);
impl<T: NumericOps> Factors for Conjugated<T> {
    type T = T;
    #[inline(always)]
    fn product(a: T, b: T) -> T {
        a.conj().mul(b)
    }
}

per_isa!(fn products_loop<F: Factors>(
    lanes: &mut [Lanes],
    rows: (u64, usize),
    terms: &[Term],
    sums: &[usize],
    ahead: usize,
) = sum_in_16, avx512 sum_in_32);

/// With the 16 registers of AVX2: three sums of 8-byte elements take 12, and their products the
/// others. More sums than registers would be written to the stack and read again for each chunk.
#[inline(always)]
unsafe fn sum_in_16<F: Factors>(
    lanes: &mut [Lanes],
    rows: (u64, usize),
    terms: &[Term],
    sums: &[usize],
    ahead: usize,
) {
    // SAFETY: forwarded.
    unsafe { sum_all::<F, 16>(lanes, rows, terms, sums, ahead) };
}

/// With the 32 registers of AVX-512, twice as long: eight sums of 8-byte elements take 16.
#[inline(always)]
unsafe fn sum_in_32<F: Factors>(
    lanes: &mut [Lanes],
    rows: (u64, usize),
    terms: &[Term],
    sums: &[usize],
    ahead: usize,
) {
    // SAFETY: forwarded.
    unsafe { sum_all::<F, 32>(lanes, rows, terms, sums, ahead) };
}

#[inline(always)]
unsafe fn sum_all<F: Factors, const REGISTERS: usize>(
    lanes: &mut [Lanes],
    (first, n): (u64, usize),
    terms: &[Term],
    sums: &[usize],
    ahead: usize,
) {
    let ahead = ahead * size_of::<F::T>();
    // Elsewhere a chunk does not begin with lane 0.
    let is_aligned = first.is_multiple_of(LANES as u64);
    let whole = if is_aligned { n - n % LANES } else { 0 };
    // SAFETY: the caller promises `n` elements of each factor, of which `whole` come first.
    unsafe {
        if whole > 0 {
            let mut left = (terms, sums);
            // As many sums as the registers hold.
            let size = size_of::<F::T>();
            if REGISTERS == 32 && size <= 8 {
                while let Some((terms, sums)) = take(&mut left) {
                    sum_eight::<F>(lanes, whole, terms, sums, ahead);
                }
            }
            if REGISTERS == 32 || size <= 4 {
                while let Some((terms, sums)) = take(&mut left) {
                    sum_four::<F>(lanes, whole, terms, sums, ahead);
                }
            }
            if size <= 8 {
                while let Some((terms, sums)) = take(&mut left) {
                    sum_three::<F>(lanes, whole, terms, sums, ahead);
                }
            }
            while let Some((terms, sums)) = take(&mut left) {
                sum_one::<F>(lanes, whole, terms, sums, ahead);
            }
        }
        for (term, &sum) in terms.iter().zip(sums) {
            let (a, b) = (
                term.factors[0].cast::<F::T>(),
                term.factors[1].cast::<F::T>(),
            );
            let sum = lanes[sum].of::<F::T>();
            for i in whole..n {
                let lane = &mut sum[(first + i as u64) as usize % LANES];
                let product = F::product(a.add(i).read_unaligned(), b.add(i).read_unaligned());
                *lane = lane.add(product);
            }
        }
    }
}

/// Takes the first `N` terms from the lists, if there are as many.
#[inline(always)]
fn take<'a, const N: usize>(
    left: &mut (&'a [Term], &'a [usize]),
) -> Option<(&'a [Term; N], &'a [usize; N])> {
    let (terms, later) = left.0.split_first_chunk()?;
    let (sums, others) = left.1.split_first_chunk()?;
    *left = (later, others);
    Some((terms, sums))
}

/// The first factors, each once where neighbours have the same one.
#[inline(always)]
fn distinct<const N: usize>(terms: &[Term; N]) -> ([*const u8; N], usize) {
    let (mut arrays, mut n) = ([std::ptr::null(); N], 0);
    for term in terms {
        if n == 0 || arrays[n - 1] != term.factors[0] {
            arrays[n] = term.factors[0];
            n += 1;
        }
    }
    (arrays, n)
}

/// A chunk of both factors.
#[inline(always)]
unsafe fn chunk_of<F: Factors>(term: &Term, chunk: usize) -> ([F::T; LANES], [F::T; LANES]) {
    let [a, b] = term.factors;
    // SAFETY: the caller promises the chunk.
    unsafe {
        (
            a.cast::<[F::T; LANES]>().add(chunk).read_unaligned(),
            b.cast::<[F::T; LANES]>().add(chunk).read_unaligned(),
        )
    }
}

/// Defines functions that sum `n` rows, whole chunks, of some terms side by side. The sums are
/// variables of their own, since an array of them would not stay in registers.
macro_rules! side_by_side {
    ($($name:ident $n:literal: $($lanes:ident $i:literal)*;)*) => {$(
        #[inline(always)]
        unsafe fn $name<F: Factors>(
            lanes: &mut [Lanes],
            n: usize,
            terms: &[Term; $n],
            sums: &[usize; $n],
            ahead: usize,
        ) {
            let (later, n_later) = distinct(terms);
            let later = if ahead > 0 { &later[..n_later] } else { &[] };
            $(let mut $lanes = *lanes[sums[$i]].of::<F::T>();)*
            for chunk in 0..n / LANES {
                for &array in later {
                    let data = array.wrapping_add(chunk * size_of::<[F::T; LANES]>() + ahead);
                    for line in 0..size_of::<[F::T; LANES]>() / LINE {
                        prefetch_far(data.wrapping_add(line * LINE));
                    }
                }
                $(
                    // SAFETY: the caller promises the chunks of both factors.
                    let (a, b) = unsafe { chunk_of::<F>(&terms[$i], chunk) };
                    for l in 0..LANES {
                        $lanes[l] = $lanes[l].add(F::product(a[l], b[l]));
                    }
                )*
            }
            $(*lanes[sums[$i]].of() = $lanes;)*
        }
    )*};
}

side_by_side! {
    sum_eight 8: l0 0 l1 1 l2 2 l3 3 l4 4 l5 5 l6 6 l7 7;
    sum_four 4: l0 0 l1 1 l2 2 l3 3;
    sum_three 3: l0 0 l1 1 l2 2;
    sum_one 1: l0 0;
}
