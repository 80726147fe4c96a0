//! Native code against the blocks, to the bit, and everything that may go wrong on the way.
//!
//! Tests that compile say so and pass where there is no C compiler.

#![expect(unsafe_code, reason = "runs programs on memory of the tests")]

mod bands;
mod bits;
mod cache;
mod failures;
mod lines;
mod text;

use super::load::Loaded;
use super::worth::Worth;
use super::{Failure, Premise, Source, Toolchain, Twin, Way, compile, print};
use crate::blocks::{Part, Program, Settings};
use crate::element::{DType, Element};
use crate::ir::{ArgKind, Kernel, KernelBuilder, UnaryOp};
use crate::isa::Isa;
use crate::launch::{Extent, Launch, Layout, Operand};
use crate::tiles::Tiles;
use crate::workers::Workers;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A directory of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("sparsefuse-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn toolchain(&self) -> Toolchain {
        Toolchain {
            patience: 1,
            // The machine may be busy, and the compiler has the lowest priority.
            limit: Duration::from_secs(300),
            ..Toolchain::new(self.0.join("cache"))
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The instruction sets of this machine that native code is made for.
fn isas() -> impl Iterator<Item = Isa> {
    let available = Isa::available().into_iter();
    available.filter(|&isa| isa != Isa::Baseline || cfg!(target_arch = "aarch64"))
}

/// Settings with which threads share every run, and those of few bytes too store past the caches.
fn divided(isa: Isa) -> Settings {
    Settings {
        isa,
        block_len: 0,
        parallel_threshold: 0,
        stream_threshold: 0,
        band_threshold: usize::MAX,
    }
}

/// What was compiled; `None`, and a message, where there is no compiler.
fn unless_missing<T>(outcome: Result<T, Failure>) -> Option<T> {
    match outcome {
        Err(Failure::NoCompiler) => {
            println!("skipped: there is no C compiler");
            None
        }
        outcome => Some(outcome.unwrap_or_else(|failure| panic!("{failure}"))),
    }
}

/// Programs whose printable loops are all native, compiled in one go, each for its first run: that
/// of the program before [`Natives::load`], or if there was none, one on contiguous arrays. Every
/// other loop stores past the caches, so runs set `stream_threshold` to 0.
struct Natives {
    isa: Isa,
    twins: Vec<Arc<Twin>>,
    toolchain: Arc<Toolchain>,
}

/// Contiguous arrays, each for itself, and uniform values that may all differ.
fn no_premise(n_arrays: usize) -> Premise {
    let way = |base| Way {
        base,
        offset: 0,
        step: 1,
    };
    Premise {
        firsts: (0..100).collect(),
        ways: (0..n_arrays).map(way).collect(),
        is_lined: false,
        streamed: Vec::new(),
    }
}

impl Natives {
    fn new(isa: Isa, mut toolchain: Toolchain) -> Self {
        // Nothing is compiled by itself.
        toolchain.patience = u64::MAX;
        Self {
            isa,
            twins: Vec::new(),
            toolchain: Arc::new(toolchain),
        }
    }

    /// The program of a kernel, to be run after [`Natives::load`].
    fn program(&mut self, kernel: &Kernel) -> Program {
        Program::compile(kernel).with_twins(kernel, |loop_, (splats, write_only)| {
            let source = Source::new(kernel, loop_, (splats, write_only));
            let worth = match self.twins.len() % 2 {
                0 => Worth::Memory(1),
                _ => Worth::Arithmetic(1),
            };
            let twin = Arc::new(Twin::of(source, worth, (self.isa, &self.toolchain)));
            twin.printed().ok()?;
            self.twins.push(Arc::clone(&twin));
            Some(twin)
        })
    }

    /// Compiles all loops of all programs.
    fn load(&self) -> Result<(), Failure> {
        let mut text = String::new();
        let names: Vec<String> = (0..self.twins.len()).map(|i| format!("loop{i}")).collect();
        for (twin, name) in self.twins.iter().zip(&names) {
            let premise = twin.first_run.get().cloned();
            let premise = premise.unwrap_or_else(|| Premise {
                streamed: match twin.worth {
                    Worth::Arithmetic(_) => Vec::new(),
                    Worth::Memory(_) => twin.source.write_only.clone(),
                },
                ..no_premise(twin.expected().len())
            });
            let form = &twin.forms[0];
            form.premise.set(premise).unwrap();
            let of_loop = twin.text(0).replace(compile::FUNCTION, name);
            let names = of_loop
                .lines()
                .filter_map(|line| line.strip_prefix("#define "));
            let names = names.filter_map(|definition| definition.split(' ').next());
            let undefined: String = names.map(|name| format!("#undef {name}\n")).collect();
            text += &(of_loop + &undefined);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let loaded = compile::library(&self.toolchain, self.isa, &text, &names)?;
        for (twin, loaded) in self.twins.iter().zip(loaded) {
            twin.forms[0].outcome.set(Ok::<Loaded, _>(loaded)).unwrap();
        }
        Ok(())
    }
}

/// `y = erf(exp(x))`, which is worth native code.
fn long_kernel() -> Kernel {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let value = build.load(x);
    let value = build.unary(UnaryOp::Exp, value);
    let value = build.unary(UnaryOp::Erf, value);
    build.store(y, value);
    build.finish()
}

/// The bits of what a kernel of `f64` arrays makes of `inputs` in its last argument.
fn run(program: &Program, isa: Isa, inputs: &[&[f64]]) -> Vec<u64> {
    let settings = Settings {
        isa,
        ..Settings::default()
    };
    run_with(program, &settings, inputs)
}

fn run_with(program: &Program, settings: &Settings, inputs: &[&[f64]]) -> Vec<u64> {
    let n = inputs[0].len();
    let mut out = vec![0.0; n];
    let layout = Layout::contiguous(n);
    let inputs = inputs.iter().map(|input| input.as_ptr().cast_mut());
    let arrays = inputs.chain([out.as_mut_ptr()]);
    let operands: Vec<Operand> = arrays
        .map(|data| Operand::Array {
            data: data.cast(),
            layout,
        })
        .collect();
    let launch = Launch {
        domains: &[Extent {
            start: 0,
            len: n as u64,
            tiles: Tiles::of_vector(1024),
        }],
        operands: &operands,
        params: &[],
        tile_len: 1024,
    };
    let workers = Workers::new(1).unwrap();
    // SAFETY: all arrays have `n` elements, and the instruction set is one of this machine.
    unsafe { program.run(&launch, Part::All, settings, &workers) };
    out.iter().map(|x| x.to_bits()).collect()
}
