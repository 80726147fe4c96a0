//! A GPU of NVIDIA as a device.
//!
//! The driver ([`driver`]) and the compiler ([`nvrtc`], found by [`search`]) are loaded at run
//! time, so a program with this feature builds and starts where there is neither; [`Cuda::new`]
//! then says what is missing. All copies and kernels of a device are in one stream, so they are
//! done in the order in which they are asked for.
//!
//! Kernels are kept in memory by their texts, and as machine code on disk ([`compiler`]).

mod compiler;
mod driver;
mod nvrtc;
mod search;
#[cfg(test)]
mod tests;

use super::{Address, Device, DeviceError, FUNCTION, Function, THREADS};
use compiler::Compiler;
use driver::{Context, Kernel, Pinned};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// The most bytes that are downloaded through page-locked memory.
const SMALL: usize = 4096;

/// A GPU of NVIDIA.
#[derive(Debug)]
pub struct Cuda {
    name: String,
    compiler: Compiler,
    /// The functions by their texts. Who compiles holds it, so that each text is compiled once.
    functions: Mutex<BTreeMap<String, Function>>,
    /// Machine code that has been compiled ahead, by its text.
    codes: Mutex<BTreeMap<String, Vec<u8>>>,
    /// What the numbers of functions mean.
    kernels: RwLock<Vec<Kernel>>,
    /// Page-locked memory of [`SMALL`] bytes. One thread copies through it at a time.
    small: Mutex<Pinned>,
    /// The last field: the others are part of the context.
    context: Context,
}

impl Cuda {
    /// The GPU with this number, with a stream of its own. Machine code is kept below `cache`,
    /// which native loops may share, if there is a directory.
    ///
    /// # Errors
    /// [`DeviceError::Missing`] if there is no such GPU, no driver, or no compiler that the driver
    /// takes the code of.
    pub fn new(ordinal: usize, cache: Option<PathBuf>) -> Result<Self, DeviceError> {
        let (context, facts) = Context::open(ordinal)?;
        let nvrtc = search::find(facts.newest_cuda)?;
        let compiler = Compiler::new(nvrtc, facts.capability, cache);
        Ok(Self {
            name: format!("{} ({})", facts.name, compiler.architecture()),
            compiler,
            functions: Mutex::default(),
            codes: Mutex::default(),
            kernels: RwLock::default(),
            small: Mutex::new(context.page_locked(SMALL)?),
            context,
        })
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
        // SAFETY: the caller promises that `allocate` gave the address and that it is not used
        // again.
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
        let ahead = locked(&self.codes).remove(text);
        let code = ahead.map_or_else(|| self.compiler.machine_code(text), Ok)?;
        let kernel = self.context.load(&code, FUNCTION)?;
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        let function = Function(kernels.len());
        kernels.push(kernel);
        functions.insert(text.to_owned(), function);
        Ok(function)
    }

    fn prepare(&self, texts: &[String]) {
        let known = locked(&self.functions);
        let new: BTreeSet<&str> = (texts.iter().map(String::as_str))
            .filter(|text| !known.contains_key(*text))
            .collect();
        drop(known);
        let new: Vec<&str> = new.into_iter().collect();
        if new.len() > 1 {
            let codes = self.compiler.machine_codes(&new);
            locked(&self.codes).extend(codes);
        }
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
        // SAFETY: the kernel is of this context, in which it stays until `self` is dropped. The
        // caller promises as many words as it takes, and that what they address is valid.
        unsafe { self.context.launch(kernel, blocks, THREADS, arguments) }
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
            // SAFETY: it is of this context, and no longer in the list, so it is not used again;
            // the stream has been waited for.
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
