//! From the text of a kernel to machine code, which is kept on disk as native loops are
//! ([`crate::native`]).
//!
//! It is machine code for the GPU at hand, not PTX: a driver takes the machine code of all
//! compilers of its major version, but no PTX of a compiler that is newer than itself.

use super::nvrtc::{Nvrtc, OPTIONS};
use crate::device::{DeviceError, source};
use crate::native::cache::{self, Cache, Found, SEAL};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The words of kernels for NVRTC.
pub(super) const WORDS: &str = include_str!("../words.cuda");

/// The folder of machine code in that of native loops, and what names end with there.
const FOLDER: &str = "cuda";
const CUBIN: &str = "cubin";
/// The bytes that machine code may take on disk; the oldest goes first.
const MOST_BYTES: u64 = 64 << 20;
/// How long a process waits for another that compiles the same kernel, before it does so itself.
const LIMIT: Duration = Duration::from_secs(30);

/// The compiler, for one kind of GPU.
#[derive(Debug)]
pub(super) struct Compiler {
    nvrtc: Nvrtc,
    /// What code is compiled for, as `sm_90`.
    architecture: String,
    cache: Option<PathBuf>,
}

impl Compiler {
    /// A compiler for GPUs of this compute capability. Machine code is kept below `cache`.
    pub(super) fn new(nvrtc: Nvrtc, (major, minor): (i32, i32), cache: Option<PathBuf>) -> Self {
        Self {
            nvrtc,
            architecture: format!("sm_{major}{minor}"),
            cache: cache.map(|directory| directory.join(FOLDER)),
        }
    }

    pub(super) fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The machine code of a text, from the cache or compiled.
    pub(super) fn machine_code(&self, text: &str) -> Result<Vec<u8>, DeviceError> {
        let source = source(text, WORDS, &super::super::functions());
        let Some(directory) = &self.cache else {
            return self.compile(&source);
        };
        let cache = Cache::of(CUBIN, directory, MOST_BYTES);
        let key = self.key(&source);
        match cache.open().and_then(|()| cache.find_or_begin(&key, LIMIT)) {
            Ok(Found::Library(path)) => content(&path).map_or_else(|| self.compile(&source), Ok),
            Ok(Found::Workplace(workplace)) => {
                let code = self.compile(&source)?;
                let built = workplace.complete(&key);
                // Code that is not kept is compiled again by the next process.
                if fs::write(&built, &code).is_ok() {
                    let _ = cache.keep(&key, &built);
                }
                Ok(code)
            }
            // A directory that is not usable costs time, and nothing else.
            Err(_) => self.compile(&source),
        }
    }

    /// The machine code of some texts, compiled by all cores; of those that compile.
    pub(super) fn machine_codes(&self, texts: &[&str]) -> Vec<(String, Vec<u8>)> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let compile_some = || {
            let mut codes = Vec::new();
            // Relaxed: only that each number comes once matters.
            while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Ok(code) = self.machine_code(text) {
                    codes.push(((*text).to_owned(), code));
                }
            }
            codes
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..cores.min(texts.len()))
                .map(|_| scope.spawn(compile_some))
                .collect();
            // What a thread that panicked would have compiled is compiled when it is asked for.
            threads
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .flatten()
                .collect()
        })
    }

    fn compile(&self, source: &str) -> Result<Vec<u8>, DeviceError> {
        let compiled = self.nvrtc.compile(source, &self.architecture)?;
        compiled.machine_code()
    }

    /// The hash of all that machine code depends on, which names it.
    fn key(&self, source: &str) -> String {
        let (major, minor) = self.nvrtc.version;
        let version = format!("{major}.{minor}");
        let texts = OPTIONS.into_iter();
        let texts = texts.chain([&*version, &*self.architecture, source]);
        let hash = cache::hash(texts.flat_map(|text| text.bytes().chain([0])));
        format!("{hash:032x}")
    }
}

/// The machine code in a file of the cache, which has been compared with its seal when it was
/// found.
fn content(path: &Path) -> Option<Vec<u8>> {
    let mut code = fs::read(path).ok()?;
    code.truncate(code.len().checked_sub(SEAL)?);
    Some(code)
}
