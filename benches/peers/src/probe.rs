//! The bandwidth of the machine: read, copy and triad from DRAM, L3 and L2.
//!
//! Each thread works on arrays of its own, all at the same time. Bytes are counted as the program
//! names them (read 8, copy 16, triad 24 an element); what a cache fetches before it is written is
//! not counted, and non-temporal stores fetch nothing. The probe is a process of its own, so that
//! its arrays get huge pages as those of the competitors do.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "non-temporal stores are intrinsics")
)]

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Where the arrays lie, by their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Dram,
    L3,
    L2,
}

/// What is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Copy,
    CopyStreaming,
    Triad,
    TriadStreaming,
}

/// One figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) level: Level,
    pub(crate) access: Access,
    pub(crate) threads: usize,
    /// Bytes a second.
    pub(crate) rate: f64,
}

impl Level {
    const ALL: [Self; 3] = [Self::Dram, Self::L3, Self::L2];

    /// Bytes of the three arrays of one thread.
    fn bytes(self, threads: usize) -> usize {
        match self {
            Self::Dram => (768 << 20) / threads,
            Self::L3 => (12 << 20) / threads,
            Self::L2 => 384 << 10,
        }
    }
}

impl Access {
    pub(crate) const ALL: [Self; 5] = [
        Self::Read,
        Self::Copy,
        Self::CopyStreaming,
        Self::Triad,
        Self::TriadStreaming,
    ];

    fn bytes_per_element(self) -> usize {
        match self {
            Self::Read => 8,
            Self::Copy | Self::CopyStreaming => 16,
            Self::Triad | Self::TriadStreaming => 24,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dram => "DRAM",
            Self::L3 => "L3",
            Self::L2 => "L2",
        })
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Copy => "copy",
            Self::CopyStreaming => "copy, non-temporal",
            Self::Triad => "triad",
            Self::TriadStreaming => "triad, non-temporal",
        })
    }
}

/// The figures of all levels, or of DRAM alone; in a process of its own.
pub(crate) fn measure(program: &Path, threads: usize, all_levels: bool) -> Vec<Measured> {
    let mut command = Command::new(program);
    command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    command.arg("probe").arg(threads.to_string());
    let levels = if all_levels {
        &Level::ALL[..]
    } else {
        &Level::ALL[..1]
    };
    command.args(levels.iter().map(Level::to_string));
    let output = command.output().map(|output| output.stdout);
    let text = String::from_utf8_lossy(&output.unwrap_or_default()).into_owned();
    let figures = levels
        .iter()
        .flat_map(|&level| Access::ALL.map(|access| (level, access)));
    let rates = text.lines().flat_map(str::parse::<f64>);
    let measured = figures.zip(rates).map(|((level, access), rate)| Measured {
        level,
        access,
        threads,
        rate,
    });
    measured.collect()
}

/// The better triad from DRAM, in bytes a second.
pub(crate) fn triad(program: &Path, threads: usize) -> f64 {
    let is_triad =
        |measured: &Measured| matches!(measured.access, Access::Triad | Access::TriadStreaming);
    let measured = measure(program, threads, false);
    let rates = measured.iter().filter(|measured| is_triad(measured));
    rates.map(|measured| measured.rate).fold(0.0, f64::max)
}

/// The process: the rates of the named levels, one a line.
pub(crate) fn run(words: &[String]) {
    let threads = words
        .first()
        .and_then(|word| word.parse().ok())
        .unwrap_or(1);
    for level in Level::ALL {
        if words.iter().any(|word| *word == level.to_string()) {
            for rate in rates(level, threads) {
                println!("{rate:e}");
            }
        }
    }
}

/// The rate of each access, over all threads.
fn rates(level: Level, threads: usize) -> [f64; 5] {
    let barrier = Barrier::new(threads);
    let mut rates = [0.0; 5];
    std::thread::scope(|scope| {
        let thread = || one_thread(level, threads, &barrier);
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(thread)).collect();
        let mut add = |mine: [f64; 5]| (0..5).for_each(|k| rates[k] += mine[k]);
        add(thread());
        for other in others {
            add(other.join().unwrap_or([0.0; 5]));
        }
    });
    rates
}

/// What one thread gets of the bandwidth while all work: the best of a few passes.
fn one_thread(level: Level, threads: usize, barrier: &Barrier) -> [f64; 5] {
    let n = level.bytes(threads) / 24 / 16 * 16;
    let (mut x, y, z) = (vec![1.0; n], vec![2.0; n], vec![3.0; n]);
    Access::ALL.map(|access| {
        let bytes = (n * access.bytes_per_element()) as f64;
        let mut best: f64 = 0.0;
        for _ in 0..3 {
            barrier.wait();
            let begin = Instant::now();
            let mut passes = 0;
            while passes == 0 || begin.elapsed() < Duration::from_millis(30) {
                pass(access, &mut x, &y, &z);
                passes += 1;
            }
            best = best.max(bytes * f64::from(passes) / begin.elapsed().as_secs_f64());
        }
        best
    })
}

fn pass(access: Access, x: &mut [f64], y: &[f64], z: &[f64]) {
    match access {
        Access::Read => {
            let mut sums = [0.0; 32];
            for chunk in y.chunks_exact(32) {
                for (sum, element) in sums.iter_mut().zip(chunk) {
                    *sum += element;
                }
            }
            std::hint::black_box(sums);
        }
        Access::Copy => x.copy_from_slice(y),
        Access::Triad => {
            for ((x, y), z) in x.iter_mut().zip(y).zip(z) {
                *x = y + 0.5 * z;
            }
        }
        Access::CopyStreaming => stream(x, |i| [y[i], y[i + 1]]),
        Access::TriadStreaming => {
            stream(x, |i| [y[i] + 0.5 * z[i], y[i + 1] + 0.5 * z[i + 1]]);
        }
    }
    std::hint::black_box(x);
}

/// Writes pairs of elements past the caches.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stream(x: &mut [f64], pair: impl Fn(usize) -> [f64; 2]) {
    use std::arch::x86_64::{_mm_set_pd, _mm_sfence, _mm_stream_pd};
    for (k, place) in x.chunks_exact_mut(2).enumerate() {
        let [low, high] = pair(2 * k);
        assert!(
            place.as_ptr().addr().is_multiple_of(16),
            "malloc aligns to 16 bytes"
        );
        // SAFETY: `place` is two elements of a slice that is borrowed mutably, at an address that
        // is a multiple of 16 as just asserted; every x86-64 has SSE2.
        unsafe { _mm_stream_pd(place.as_mut_ptr(), _mm_set_pd(high, low)) };
    }
    // SAFETY: orders stores, touches no memory; every x86-64 has SSE.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn stream(x: &mut [f64], pair: impl Fn(usize) -> [f64; 2]) {
    for (k, place) in x.chunks_exact_mut(2).enumerate() {
        place.copy_from_slice(&pair(2 * k));
    }
}
