//! How much memory reading and writing take on several ranks: an allocator that counts the bytes
//! of the whole process. Ranks are threads of one process, so if each held the whole, four would
//! hold it four times.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]
#![expect(
    unsafe_code,
    reason = "a global allocator is unsafe to implement; this one counts and forwards"
)]

use sparsefuse_dense::Array;
use sparsefuse_kernels::random;
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_sparse::{Csr, Triplets};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting the bytes in use.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    // Relaxed: the counts guard nothing.
    let in_use = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(in_use, Ordering::Relaxed);
}

fn subtract(bytes: usize) {
    IN_USE.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator with the arguments that it came with;
// counting touches two atomics and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        subtract(layout.size());
        // SAFETY: the caller's promises.
        unsafe { System.realloc(data, layout, size) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        subtract(layout.size());
        // SAFETY: the caller's promises.
        unsafe { System.dealloc(data, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const N_ROWS: usize = 100_000;
const N_ENTRIES: usize = 1_000_000;

fn entry(k: usize) -> (usize, usize, f64) {
    let place = |draw| random::bits(7, draw) as usize % N_ROWS;
    (place(2 * k as u64), place(2 * k as u64 + 1), k as f64 / 8.0)
}

/// The most bytes that a program takes on `ranks` ranks, beyond those in use before.
fn peak(ranks: usize, program: impl Fn(usize) + Sync) -> usize {
    let before = IN_USE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let config = Config {
        native: None,
        ..Config::default()
    };
    run_ranks(ranks, &config, |runtime| program(runtime.rank())).unwrap();
    PEAK.load(Ordering::Relaxed) - before
}

/// A test that has this runs alone: what others take would count too.
static ALONE: Mutex<()> = Mutex::new(());

/// The bytes of the matrix.
const MATRIX: usize = 12 * N_ENTRIES + 8 * N_ROWS;

#[test]
fn no_rank_holds_the_whole_matrix() {
    let _alone = ALONE.lock();
    let path = std::env::temp_dir().join(format!("sparsefuse_peak_{}.mtx", std::process::id()));
    let out = path.with_extension("out.mtx");
    let head = "%%MatrixMarket matrix coordinate real general";
    let mut text = format!("{head}\n{N_ROWS} {N_ROWS} {N_ENTRIES}\n");
    for (row, col, value) in (0..N_ENTRIES).map(entry) {
        writeln!(text, "{} {} {value}", row + 1, col + 1).unwrap();
    }
    std::fs::write(&path, text).unwrap();

    let read = peak(4, |_| drop(Csr::<f64>::read(&path).unwrap()));
    let written = peak(4, |_| {
        Csr::<f64>::read(&path).unwrap().write(&out).unwrap();
    });
    let given = peak(4, |rank| {
        let mut mine = Triplets::new(N_ROWS, N_ROWS).unwrap();
        for (row, col, value) in (0..N_ENTRIES / 4).map(|k| entry(4 * k + rank)) {
            mine.push(row, col, value).unwrap();
        }
        Csr::from_distributed_triplets(mine).unwrap();
    });
    for path in [path, out] {
        std::fs::remove_file(path).unwrap();
    }
    for (what, bytes) in [
        ("read", read),
        ("read and written", written),
        ("given", given),
    ] {
        println!(
            "{what}: {:.2} times the matrix, on four ranks together",
            bytes as f64 / MATRIX as f64
        );
    }
    // The entries as they came and as they are sorted, the matrix, some megabytes for each rank; it
    // would be more than 12 times the matrix if each rank held the whole.
    assert!(read < 5 * MATRIX, "{read}");
    assert!(written < 5 * MATRIX, "{written}");
    assert!(given < 5 * MATRIX, "{given}");
}

#[test]
fn no_rank_holds_a_whole_dense_array() {
    const SHAPE: [usize; 2] = [20_000, 100];
    let _alone = ALONE.lock();
    let bytes = SHAPE[0] * SHAPE[1] * size_of::<f64>();
    let element = |[i, j]: [usize; 2]| if (i + j) % 50 == 0 { 1.0 } else { 0.0 };
    let taken = peak(4, |_| {
        let dense = Array::<f64, 2>::from_fn(SHAPE, element);
        let a = Csr::from_dense(&dense).unwrap();
        assert_eq!(a.nnz(), SHAPE[0] * 2);
    });
    // The array, and a matrix of a fiftieth; as many arrays again if each rank held all of one.
    assert!(taken < 2 * bytes, "{taken} for {bytes}");
}
