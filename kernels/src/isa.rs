//! The instruction sets that the loops of [`crate::blocks`] are compiled for.
//!
//! A loop is written once, as a generic body that is inlined into one function per instruction
//! set; the compiler turns each into SIMD code. [`PerIsa`] holds these functions, and a run picks
//! one by [`Isa`]. All of them give the same bits. [`Isa::run`] does the same for loops of other
//! crates.
#![expect(
    unsafe_code,
    reason = "functions that need an instruction set are unsafe to call"
)]

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What every machine of the target has: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// AVX2 with fused multiply-add (x86-64).
    Avx2,
    /// AVX-512 F, BW, CD, DQ, VL (x86-64).
    Avx512,
}

impl Isa {
    /// All instruction sets, narrow before wide.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// The widest instruction set of this machine.
    #[must_use]
    pub fn detect() -> Self {
        let mut best = Self::Baseline;
        for isa in Self::ALL {
            if isa.is_available() {
                best = isa;
            }
        }
        best
    }

    /// The instruction sets of this machine, narrow before wide.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|isa| isa.is_available())
            .collect()
    }

    /// Whether this machine has the instruction set.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                use std::arch::is_x86_feature_detected as has;
                has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                use std::arch::is_x86_feature_detected as has;
                Self::Avx2.is_available()
                    && has!("avx512f")
                    && has!("avx512bw")
                    && has!("avx512cd")
                    && has!("avx512dq")
                    && has!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// The name in options and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The inverse of [`Isa::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|isa| isa.name() == name)
    }
}

/// A computation that runs faster where it is compiled for the instruction set of the machine: one
/// with fused multiply-adds, which are calls of a function otherwise.
pub trait Computation {
    /// What it computes.
    type Output;

    /// Computes it. To be marked `#[inline(always)]`, with all that it calls: what is not inlined
    /// is compiled for every machine.
    fn run(self) -> Self::Output;
}

impl Isa {
    /// Runs a computation as compiled for this instruction set, or for the baseline if this
    /// machine does not have it. The result is the same.
    pub fn run<C: Computation>(self, computation: C) -> C::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this machine has the instruction set.
            Self::Avx2 if self.is_available() => unsafe { run_avx2(computation) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx512 if self.is_available() => unsafe { run_avx512(computation) },
            Self::Baseline | Self::Avx2 | Self::Avx512 => computation.run(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
fn run_avx2<C: Computation>(computation: C) -> C::Output {
    computation.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
fn run_avx512<C: Computation>(computation: C) -> C::Output {
    computation.run()
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// One function, compiled for each instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerIsa<F> {
    functions: [F; Isa::ALL.len()],
}

impl<F: Copy> PerIsa<F> {
    /// From the functions in the order of [`Isa::ALL`].
    pub(crate) const fn new(functions: [F; Isa::ALL.len()]) -> Self {
        Self { functions }
    }

    /// The function for one instruction set.
    #[inline(always)]
    pub(crate) fn get(&self, isa: Isa) -> F {
        self.functions[isa as usize]
    }
}

/// Defines a function that returns [`PerIsa`] of a generic, `#[inline(always)]` body.
///
/// `per_isa!(fn name<G: Bound>(argument: Type, ...) = body);`
///
/// Each of these functions makes every first build longer, so there are more forms.
/// `= body, baseline simple` has another body for the baseline, and `= body, avx512 wide` one for
/// AVX-512, with its 32 registers in place of 16. `= body, up to avx2` lets a machine
/// with AVX-512 run what is compiled for AVX2, and `= body, one for all` lets every machine run
/// one function: where wide registers make no difference that shows.
macro_rules! per_isa {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$G:ident: $bound:path>(
        $($arg:ident: $type:ty),* $(,)?
    ) = $body:ident $(, baseline $simple:ident)?) => {
        crate::isa::per_isa! {
            $(#[$doc])* $vis fn $name<$G: $bound>($($arg: $type),*)
                = $body $(, baseline $simple)?, avx512 $body
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$G:ident: $bound:path>(
        $($arg:ident: $type:ty),* $(,)?
    ) = $body:ident $(, baseline $simple:ident)?, up to avx2) => {
        $(#[$doc])*
        $vis fn $name<$G: $bound>() -> crate::isa::PerIsa<unsafe fn($($type),*)> {
            crate::isa::per_isa!(@baseline $G $bound, ($($arg: $type),*), $body $(, $simple)?);
            crate::isa::per_isa!(@avx2 $G $bound, ($($arg: $type),*), $body);
            #[cfg(target_arch = "x86_64")]
            return crate::isa::PerIsa::new([baseline::<$G>, avx2::<$G>, avx2::<$G>]);
            #[cfg(not(target_arch = "x86_64"))]
            return crate::isa::PerIsa::new([baseline::<$G>; 3]);
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$G:ident: $bound:path>(
        $($arg:ident: $type:ty),* $(,)?
    ) = $body:ident $(, baseline $simple:ident)?, avx512 $wide:ident) => {
        $(#[$doc])*
        $vis fn $name<$G: $bound>() -> crate::isa::PerIsa<unsafe fn($($type),*)> {
            crate::isa::per_isa!(@baseline $G $bound, ($($arg: $type),*), $body $(, $simple)?);
            crate::isa::per_isa!(@avx2 $G $bound, ($($arg: $type),*), $body);
            crate::isa::per_isa!(@avx512 $G $bound, ($($arg: $type),*), $wide);
            #[cfg(target_arch = "x86_64")]
            return crate::isa::PerIsa::new([baseline::<$G>, avx2::<$G>, avx512::<$G>]);
            #[cfg(not(target_arch = "x86_64"))]
            return crate::isa::PerIsa::new([baseline::<$G>; 3]);
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$G:ident: $bound:path>(
        $($arg:ident: $type:ty),* $(,)?
    ) = $body:ident, one for all) => {
        $(#[$doc])*
        $vis fn $name<$G: $bound>() -> crate::isa::PerIsa<unsafe fn($($type),*)> {
            crate::isa::per_isa!(@baseline $G $bound, ($($arg: $type),*), $body);
            crate::isa::PerIsa::new([baseline::<$G>; 3])
        }
    };
    (@baseline $G:ident $bound:path, ($($arg:ident: $type:ty),*), $body:ident) => {
        unsafe fn baseline<$G: $bound>($($arg: $type),*) {
            // SAFETY: the caller keeps the contract of the body.
            unsafe { $body::<$G>($($arg),*) }
        }
    };
    // Elsewhere than on x86-64 the baseline is all there is.
    (@baseline $G:ident $bound:path, ($($arg:ident: $type:ty),*), $body:ident, $simple:ident) => {
        unsafe fn baseline<$G: $bound>($($arg: $type),*) {
            // SAFETY: the caller keeps the contract of the body, which is that of the simple one.
            unsafe {
                if cfg!(target_arch = "x86_64") {
                    $simple::<$G>($($arg),*);
                } else {
                    $body::<$G>($($arg),*);
                }
            }
        }
    };
    (@avx2 $G:ident $bound:path, ($($arg:ident: $type:ty),*), $body:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        unsafe fn avx2<$G: $bound>($($arg: $type),*) {
            // SAFETY: the caller keeps the contract of the body, and picks this function only
            // where `Isa::is_available`; a machine with AVX-512 has AVX2.
            unsafe { $body::<$G>($($arg),*) }
        }
    };
    (@avx512 $G:ident $bound:path, ($($arg:ident: $type:ty),*), $body:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
        unsafe fn avx512<$G: $bound>($($arg: $type),*) {
            // SAFETY: the caller keeps the contract of the body, and picks this function only
            // where `Isa::is_available`.
            unsafe { $body::<$G>($($arg),*) }
        }
    };
}
pub(crate) use per_isa;

/// The bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Asks for elements ahead of their use.
#[inline(always)]
pub fn prefetch_all<T>(elements: &[T]) {
    for line in elements.chunks((LINE / size_of::<T>().max(1)).max(1)) {
        prefetch(line.as_ptr());
    }
}

/// Whether loops on arrays ask for what their next block reads (`blocks/run/fetch.rs`).
///
/// The prefetchers of the hardware begin anew with each array of each block, and what that costs
/// depends on the machine. An AMD Zen 5 gains from being asked: loops on vectors from memory are
/// 1.15 to 1.4 times as fast. On an AMD Zen 3 an iteration of `cg` takes 1.25 times as long on
/// 1024² points when asked, 1.1 times on 2048², and the same on 384² to 724². They are told apart
/// by AVX-512, whatever instruction set is in use.
pub(crate) fn asks_for_streams() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Asks for a cache line ahead of its use.
#[inline(always)]
pub(crate) fn prefetch<T>(data: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address does no harm.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(data.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

/// Keeps the compiler from taking several rounds of the loop that calls this together.
///
/// A loop over chunks whose elements it has taken together already, as SIMD, it would vectorise
/// once more where there is AVX-512: a lane for each chunk, filled by gather instructions, which
/// take up to ten times as long as reading the chunks one after the other.
#[inline(always)]
pub(crate) fn one_chunk_at_a_time() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: there is no instruction; the compiler has to leave one such place in each round.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// Asks for a cache line long before its use: into the L2 cache.
#[inline(always)]
pub(crate) fn prefetch_far<T>(data: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(data.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_is_the_same_everywhere() {
        struct Fused;
        impl Computation for Fused {
            type Output = f64;
            #[inline(always)]
            fn run(self) -> f64 {
                (1..9).fold(0.1, |sum, k| f64::from(k).mul_add(0.3, sum))
            }
        }
        let expected = Isa::Baseline.run(Fused).to_bits();
        assert!(
            Isa::ALL
                .iter()
                .all(|isa| isa.run(Fused).to_bits() == expected)
        );
    }

    #[test]
    fn names_and_detection_agree() {
        for isa in Isa::ALL {
            assert_eq!(Isa::from_name(isa.name()), Some(isa));
        }
        assert_eq!(Isa::available().last(), Some(&Isa::detect()));
        assert_eq!(Isa::available().first(), Some(&Isa::Baseline));
    }
}
