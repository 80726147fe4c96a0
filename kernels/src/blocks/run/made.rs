//! One run of a loop that makes matrices, and of the next one, which reduces their rows: see
//! [`crate::blocks::compile::made`].
#![expect(
    unsafe_code,
    reason = "follows the pointers of a launch, some rows at a time"
)]

use super::bound::Array;
use super::buffer::Buffer;
use super::worker::{Run, Scratch, Worker};
use super::{SHARED, run_reduced, threads_for};
use crate::blocks::compile::LoopProgram;
use crate::blocks::compile::made::{Batches, Made, OfRows};
use crate::blocks::loops::row_fold::DenseRows;
use crate::blocks::{Part, Settings};
use crate::launch::Launch;
use crate::native::Twin;
use crate::workers::Workers;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// What a thread keeps from run to run: the rows that it makes, the arrays as it sees them, and the
/// buffers of a loop.
#[derive(Debug)]
struct Own {
    rows: Buffer,
    arrays: Vec<Array>,
    scratch: Scratch,
}

/// Runs the two loops.
///
/// # Safety
/// As [`crate::blocks::Program::run`]; and the batches are those of this launch.
pub(crate) unsafe fn run_made(
    (made, batches): (&Made, Batches),
    (programs, twins): ([&LoopProgram; 2], [Option<&Arc<Twin>>; 2]),
    launch: &Launch<'_>,
    (settings, workers): (&Settings, &Workers),
) {
    // What the first loop stores is read soon, so nothing goes past the caches.
    let near = Settings {
        stream_threshold: usize::MAX,
        ..*settings
    };
    let mut shared = SHARED.take();
    // SAFETY: the caller's promises.
    unsafe { shared[0].prepare(programs[0], launch) };
    let mut run = Run::new(programs[0], launch, shared[0].data(), &near, Part::All);
    run.is_sliced = true;
    run.native = twins[0].and_then(|twin| run.native(twin));
    let mut memory = RESULTS.take();
    let bytes = |of: &OfRows| (batches.rows * of.reduce.size).next_multiple_of(16);
    let mut next = memory.of(made.reductions.iter().map(bytes).sum());
    let mut known: Vec<(usize, *mut u8)> = Vec::with_capacity(made.reductions.len());
    for of in &made.reductions {
        known.push((of.number, next));
        next = next.wrapping_add(bytes(of));
    }
    let n_batches = batches.rows.div_ceil(batches.batch);
    let n_threads = threads_for(run.work(), settings, workers).min(n_batches);
    let pass = Pass {
        made,
        batches,
        run: &run,
        results: &known,
    };
    workers.run(n_threads, |thread| {
        let first = n_batches * thread / n_threads * batches.batch;
        let end = (n_batches * (thread + 1) / n_threads * batches.batch).min(batches.rows);
        OWN.with_borrow_mut(|own| {
            // SAFETY: the caller's promises; no other thread has these rows.
            unsafe { pass.run_rows(first..end, own) };
        });
    });
    SHARED.set(shared);
    let machine = (settings, workers);
    // SAFETY: the caller's promises; the results are those of all rows.
    unsafe { run_reduced(programs[1], twins[1], (launch, Part::All), machine, &known) };
    RESULTS.set(memory);
}

/// The first loop with the reductions of what it makes.
struct Pass<'a> {
    made: &'a Made,
    batches: Batches,
    run: &'a Run<'a>,
    /// Where the results are: those of each reduction, an element for each row.
    results: &'a [(usize, *mut u8)],
}

// SAFETY: threads write what belongs to rows of their own.
unsafe impl Sync for Pass<'_> {}

impl Pass<'_> {
    /// Makes and reduces rows of a thread.
    ///
    /// # Safety
    /// As [`run_made`]; no other thread writes what belongs to these rows.
    unsafe fn run_rows(&self, rows: Range<usize>, own: &mut Own) {
        let Batches { columns, batch, .. } = self.batches;
        let passing = &self.made.passing;
        // A cache line between two matrices at least.
        let bytes = |size: usize| (batch * columns * size).next_multiple_of(64) + 64;
        let memory = own
            .rows
            .of(passing.iter().map(|&(_, size)| bytes(size)).sum());
        own.arrays.clear();
        own.arrays.extend_from_slice(self.run.arrays);
        let mut first = rows.start;
        while first < rows.end {
            let end = (first + batch).min(rows.end);
            let mut next = memory;
            for &(arg, size) in passing {
                // Element `first * columns` is the first one there.
                let data = next.wrapping_sub(first * columns * size);
                own.arrays[arg as usize] = Array::of(data, true);
                next = next.wrapping_add(bytes(size));
            }
            let run = Run {
                arrays: &own.arrays,
                ..*self.run
            };
            let mut worker = Worker::new(&run, &mut own.scratch);
            // SAFETY: the caller's promises; matrices without memory have room for these rows.
            unsafe { worker.run(first * columns..end * columns, |_| ()) };
            // SAFETY: the rows have just been made.
            unsafe { self.reduce(&run, first..end) };
            first = end;
        }
    }

    /// Reduces rows that are there.
    ///
    /// # Safety
    /// As [`Pass::run_rows`].
    unsafe fn reduce(&self, run: &Run<'_>, rows: Range<usize>) {
        let columns = self.batches.columns;
        for (of, &(_, results)) in self.made.reductions.iter().zip(self.results) {
            let size = of.reduce.size;
            let x = of.x.map_or(Some(std::ptr::null()), |x| {
                run.launch.operands[x as usize].side_by_side(columns)
            });
            let x = x.expect("`Made::batches` has asked for an `x` in one piece");
            let matrix = DenseRows {
                n: rows.len(),
                data: (run.arrays[of.stored as usize].data)
                    .wrapping_add(rows.start * columns * size)
                    .cast_const(),
                row_bytes: (columns * size) as isize,
                column_bytes: size as isize,
                first: 0,
                end: columns,
                x,
                tile_len: run.launch.tile_len,
                identity: of.reduce.identity,
                panel: std::ptr::null_mut(),
            };
            // SAFETY: forwarded; each row has an element among the results.
            unsafe {
                of.reduce.run.get(run.isa)(&matrix, results.wrapping_add(rows.start * size));
            }
        }
    }
}

thread_local! {
    static RESULTS: Cell<Buffer> = const { Cell::new(Buffer::EMPTY) };
    static OWN: RefCell<Own> = const {
        RefCell::new(Own {
            rows: Buffer::EMPTY,
            arrays: Vec::new(),
            scratch: Scratch::EMPTY,
        })
    };
}

#[cfg(test)]
mod tests {
    use crate::blocks::{Part, Program, Settings};
    use crate::isa::Isa;
    use crate::launch::{Extent, Launch, Layout, Operand};
    use crate::reference;
    use crate::text::parse;
    use crate::tiles::Tiles;
    use crate::workers::Workers;

    const TILE: usize = 32;

    /// Two matrices, of which the second is wanted besides its rows, and what is made of their
    /// rows.
    const KERNEL: &str = "kernel(a0: array f64 @0, a1: array f64 @1 temporary, \
        a2: dense_rows f64 @1 temporary, a3: array f64 @2, a4: dense_rows f64 @2, \
        a5: gather f64 @3, a6: array f64 @0, a7: array f64 @4) {\n\
        loop d0 {\n%0 = load a0\n%1 = mul %0 %0\nstore a1 %1\n%3 = index\n%4 = cast f64 %3\n\
        %5 = add %0 %4\nstore a3 %5\n}\n\
        loop d1 {\n%0 = row_reduce sum a2\n%1 = row_reduce max a4\n%2 = row_reduce sum a2 a5\n\
        %3 = add %0 %1\n%4 = mul %3 %2\n%5 = load a7\n%6 = sub %4 %5\nstore a6 %6\n}\n}\n";

    /// What the kernel writes: what passes, the other matrix, and a number for each row, which lie
    /// where the first loop reads.
    fn run((rows, columns): (usize, usize), run: impl FnOnce(&Launch<'_>)) -> (Vec<f64>, Vec<u64>) {
        let n = rows * columns;
        let numbers = |n: usize, k: usize| (0..n).map(move |i| ((i * k) % 97) as f64 / 7.0 - 5.0);
        let mut read: Vec<f64> = numbers(n, 31).collect();
        let mut passing = vec![f64::NAN; n];
        let mut kept = vec![f64::NAN; n];
        let x: Vec<f64> = numbers(columns, 17).collect();
        let mut of_rows: Vec<f64> = numbers(rows, 13).collect();
        let dense = |matrix: &[f64]| Operand::DenseRows {
            data: matrix.as_ptr().cast(),
            layout: Layout {
                strides: [columns as isize, 0, 0, 0],
                ..Layout::contiguous(rows)
            },
            columns,
            column_stride: 1,
        };
        let array = |elements: &mut [f64], len: usize| Operand::Array {
            data: elements.as_mut_ptr().cast(),
            layout: Layout::contiguous(len),
        };
        let operands = [
            array(&mut read, n),
            array(&mut passing, n),
            dense(&passing),
            array(&mut kept, n),
            dense(&kept),
            Operand::Gather {
                own: x.as_ptr().cast(),
                own_len: columns,
                ghosts: std::ptr::null(),
                width: 1,
            },
            array(&mut read, rows),
            array(&mut of_rows, rows),
        ];
        let extent = |dims: &[usize]| Extent {
            start: 0,
            len: dims.iter().product::<usize>() as u64,
            tiles: Tiles::of(dims, TILE),
        };
        run(&Launch {
            domains: &[extent(&[rows, columns]), extent(&[rows])],
            operands: &operands,
            params: &[],
            tile_len: TILE,
        });
        let written = kept.iter().chain(&read).map(|number| number.to_bits());
        (passing, written.collect())
    }

    #[test]
    fn rows_reduced_as_they_are_made_have_the_bits_of_whole_matrices() {
        compare(KERNEL, true);
    }

    #[test]
    fn what_another_loop_reads_has_its_memory() {
        let third = "loop d0 {\n%0 = load a1\n%1 = load a3\n%2 = sub %0 %1\nstore a3 %2\n}\n}\n";
        let kernel = KERNEL.strip_suffix("}\n").unwrap();
        compare(&format!("{kernel}{third}"), false);
        // A loop in front of the two as well.
        let body = "{\nloop d0 {\n%0 = load a1\nstore a3 %0\n}\n";
        compare(&KERNEL.replacen("{\n", body, 1), false);
    }

    /// Runs a kernel, of which a matrix passes or not.
    fn compare(kernel: &str, passes: bool) {
        let kernel = parse(kernel).unwrap();
        let program = Program::compile(&kernel);
        let shapes =
            [1, 2, 7, 40, 513].map(|rows| [1, 4, 16, 33, 300].map(|columns| (rows, columns)));
        for shape in shapes.into_iter().flatten() {
            // SAFETY: the operands have the elements that the layouts name, in both runs.
            let (_, expected) = run(shape, |launch| unsafe { reference::run(&kernel, launch) });
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                for (threads, block_len) in [(1, 0), (2, 16), (3, 64)] {
                    let settings = Settings {
                        isa,
                        block_len,
                        parallel_threshold: 0,
                        band_threshold: 0,
                        ..Settings::default()
                    };
                    let workers = Workers::new(threads).unwrap();
                    // SAFETY: as above.
                    let (passing, found) = run(shape, |launch| unsafe {
                        program.run(launch, Part::All, &settings, &workers);
                    });
                    assert!(found == expected, "{shape:?}, {threads} threads, {isa}");
                    let is_left = passing.iter().all(|number| number.is_nan());
                    assert_eq!(is_left, passes, "{shape:?}");
                    assert!(!passes || program.made_notes().count() == 1);
                }
            }
        }
    }

    #[test]
    fn small_matrices_are_made_as_wholes() {
        let kernel = parse(KERNEL).unwrap();
        let program = Program::compile(&kernel);
        // SAFETY: as in the test above.
        let (passing, _) = run((40, 33), |launch| unsafe {
            program.run(launch, Part::All, &Settings::default(), &Workers::alone());
        });
        assert!(passing.iter().all(|number| !number.is_nan()));
        assert_eq!(program.made_notes().count(), 0);
    }
}
