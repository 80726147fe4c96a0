//! A GPU of NVIDIA as a device.
//!
//! The driver ([`driver`]) and the compiler ([`nvrtc`], found by [`search`]) are loaded at run time, so
//! a program with this feature builds and starts where there is neither; [`Cuda::new`] then says what
//! is missing. All copies and kernels of a device are in one stream, so they are done in the order in
//! which they are asked for.
//!
//! A kernel is compiled to machine code for the GPU at hand, not to PTX: a driver takes the machine code
//! of each compiler of its major version, but PTX of none that is newer than itself. No
//! operations are fused ([`OPTIONS`]). Machine code is kept in memory by the text of the kernel, and on disk as
//! native loops are ([`crate::native`]).

mod driver;
mod nvrtc;
mod search;
#[cfg(test)]
mod tests;

use super::{Address, Device, DeviceError, FUNCTION, Function, source};
use crate::native::cache::{self, Cache, Found, SEAL};
use driver::{Context, Kernel, Pinned};
use nvrtc::Nvrtc;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// The words of kernels for NVRTC.
const WORDS: &str = include_str!("../words.cuda");

/// Options that keep every bit: no operations are fused, divisions and roots are rounded to the
/// nearest number, subnormal numbers stay what they are.
const OPTIONS: [&str; 5] = [
    "--std=c++17",
    "--fmad=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ftz=false",
];

/// The folder of machine code in that of native loops, and what names end with there.
const FOLDER: &str = "cuda";
const CUBIN: &str = "cubin";
/// The bytes that machine code may take on disk; the oldest goes first.
const MOST_BYTES: u64 = 64 << 20;
/// How long a process waits for another that compiles the same kernel, before it does so itself.
const LIMIT: Duration = Duration::from_secs(30);
/// The most bytes that are downloaded through page-locked memory.
const SMALL: usize = 4096;

/// A GPU of NVIDIA.
#[derive(Debug)]
pub struct Cuda {
    name: String,
    /// What code is compiled for, as `sm_90`.
    architecture: String,
    nvrtc: Nvrtc,
    cache: Option<PathBuf>,
    /// The functions by their texts. Who compiles holds it, so that each text is compiled once.
    functions: Mutex<BTreeMap<String, Function>>,
    /// What the numbers of functions mean.
    kernels: RwLock<Vec<Kernel>>,
    /// Page-locked memory of [`SMALL`] bytes. One thread copies through it at a time.
    small: Mutex<Pinned>,
    /// The last field: the others are part of the context.
    context: Context,
}

impl Cuda {
    /// The GPU with this number, with a stream of its own. Machine code is kept below `cache`, which
    /// native loops may share, if there is a directory.
    ///
    /// # Errors
    /// [`DeviceError::Missing`] if there is no such GPU, no driver, or no compiler that the driver
    /// takes the code of.
    pub fn new(ordinal: usize, cache: Option<PathBuf>) -> Result<Self, DeviceError> {
        let (context, facts) = Context::open(ordinal)?;
        let nvrtc = search::find(facts.newest_cuda)?;
        let (major, minor) = facts.capability;
        let architecture = format!("sm_{major}{minor}");
        Ok(Self {
            name: format!("{} ({architecture})", facts.name),
            architecture,
            nvrtc,
            cache: cache.map(|directory| directory.join(FOLDER)),
            functions: Mutex::default(),
            kernels: RwLock::default(),
            small: Mutex::new(context.page_locked(SMALL)?),
            context,
        })
    }

    /// The machine code of a text, from the cache or compiled.
    fn machine_code(&self, text: &str) -> Result<Vec<u8>, DeviceError> {
        let source = source(text, WORDS, &super::functions());
        let compile = || {
            self.nvrtc
                .compile(&source, &self.architecture)?
                .machine_code()
        };
        let Some(directory) = &self.cache else {
            return compile();
        };
        let cache = Cache::of(CUBIN, directory, MOST_BYTES);
        let key = self.key(&source);
        let found = cache.open().and_then(|()| cache.find_or_begin(&key, LIMIT));
        match found {
            Ok(Found::Library(path)) => match fs::read(path) {
                // It has been compared with its seal when it was found.
                Ok(mut code) => {
                    code.truncate(code.len().saturating_sub(SEAL));
                    Ok(code)
                }
                Err(_) => compile(),
            },
            Ok(Found::Workplace(workplace)) => {
                let code = compile()?;
                let built = workplace.complete(&key);
                // Code that is not kept is compiled again by the next process.
                if fs::write(&built, &code).is_ok() {
                    let _ = cache.keep(&key, &built);
                }
                Ok(code)
            }
            // A directory that is not usable costs time, and nothing else.
            Err(_) => compile(),
        }
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

#[expect(unsafe_code, reason = "passes addresses on to the driver")]
impl Device for Cuda {
    fn name(&self) -> &str {
        &self.name
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        self.context.allocate(bytes).map(Address)
    }

    unsafe fn free(&self, address: Address) {
        // SAFETY: the caller promises that `allocate` gave the address and that it is not used again.
        unsafe { self.context.free(address.0) }
    }

    unsafe fn upload(&self, from: *const u8, to: Address, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller promises that both may be accessed for these bytes.
        unsafe { self.context.upload(from, to.0, bytes) }
    }

    unsafe fn download(&self, from: Address, to: *mut u8, bytes: usize) -> Result<(), DeviceError> {
        if bytes > SMALL {
            // SAFETY: the caller promises that both may be accessed for these bytes.
            return unsafe { self.context.download(from.0, to, bytes) };
        }
        let small = locked(&self.small);
        let between = small.address();
        // SAFETY: the caller promises that `from` may be read and `to` written for these bytes.
        // `between` has `SMALL` bytes, which nothing else uses as long as `small` is held: the copy
        // is done when `download` returns. It is memory of the driver, so it does not overlap `to`.
        unsafe {
            self.context.download(from.0, between, bytes)?;
            to.copy_from_nonoverlapping(between, bytes);
        }
        Ok(())
    }

    fn function(&self, text: &str) -> Result<Function, DeviceError> {
        let mut functions = locked(&self.functions);
        if let Some(&function) = functions.get(text) {
            return Ok(function);
        }
        let code = self.machine_code(text)?;
        let kernel = self.context.load(&code, FUNCTION)?;
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        let function = Function(kernels.len());
        kernels.push(kernel);
        functions.insert(text.to_owned(), function);
        Ok(function)
    }

    unsafe fn launch(
        &self,
        function: Function,
        blocks: u32,
        arguments: &[u64],
    ) -> Result<(), DeviceError> {
        if blocks == 0 {
            return Ok(());
        }
        let kernel = {
            let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
            kernels[function.0]
        };
        // SAFETY: the kernel is of this context, in which it stays until `self` is dropped. The caller
        // promises as many words as it takes, and that what they address is valid.
        unsafe {
            self.context
                .launch(kernel, blocks, super::THREADS, arguments)
        }
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.context.wait()
    }
}

#[expect(unsafe_code, reason = "gives back what the driver has made")]
impl Drop for Cuda {
    fn drop(&mut self) {
        // A device that has failed has nothing to wait for.
        let _ = self.context.wait();
        let kernels = self
            .kernels
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for kernel in kernels.drain(..) {
            // SAFETY: it is of this context, and no longer in the list, so it is not used again; the
            // stream has been waited for.
            unsafe { self.context.unload(kernel) };
        }
        let small = self.small.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it is of this context; `self` is not used again, and no copy is under way.
        unsafe { self.context.unlock_pages(small) };
    }
}

/// What a mutex holds, which a panic leaves as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
