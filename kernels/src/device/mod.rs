//! Kernels on a device: an accelerator with memory of its own.
//!
//! A loop of the IR is printed as a text ([`mod@print`]) that two compilers take: that of CUDA, for
//! the GPU, and the system's C compiler, for the emulated device ([`emulated`]), on which tests run
//! where no GPU is. Both give the bits of the blocks: operations and elementary functions are those
//! of `native/math.c` and `elementary.c`, nothing is fused but what the IR fuses, and what is
//! reduced has the order of [`crate::reduce`].
//!
//! # The text
//!
//! A kernel is a list of *phases*, each of which all threads of a block go through before any of
//! them begins the next one. The words of which it is made, and that alone differ between the two
//! compilers (`words.cuda`, `words.host`):
//!
//! | word | meaning |
//! |---|---|
//! | `KERNEL` ... `END_KERNEL` | the function, of `WORDS` arguments of 64 bits |
//! | `ARG(i)` | argument `i`, a `u64` |
//! | `BLOCK`, `THREAD` | the number of the block, a `u64`, and of the thread in it, a `u32` |
//! | `SHARED(type, name, length)` | memory of a block, not initialised |
//! | `PHASE` ... `END_PHASE` | what each thread does; variables live no longer |
//! | `FN` | marks a function |
//!
//! The first line of a text defines `WORDS`. The functions of `native/math.c`, `native/complex.c`,
//! `elementary.c` and `kernels.c` may be called, and the names of `native/compilers.c`:
//! `MAKE(type, parts...)` is a structure, since C++ has no compound literals. Whole numbers are
//! added, subtracted, multiplied and negated by `add_i64` and so on, since signed ones do not wrap
//! in CUDA.
//!
//! The design follows `gpu.md` of the project's reviews; that a barrier is the end of a loop over
//! threads is from Stratton, Stone and Hwu, "MCUDA: an efficient implementation of CUDA kernels for
//! multi-core CPUs" (2008).
#![expect(unsafe_code, reason = "callers pass addresses of a device's memory")]

#[cfg(all(feature = "cuda", unix))]
mod cuda;
#[cfg(unix)]
mod emulated;
mod form;
mod print;
mod slices;
#[cfg(unix)]
#[cfg(test)]
mod tests;
#[cfg(all(feature = "cuda", unix))]
#[cfg(test)]
mod tests_on_gpu;

#[cfg(all(feature = "cuda", unix))]
pub use self::cuda::Cuda;
#[cfg(unix)]
pub use self::emulated::Emulated;
pub use self::form::{DeviceLoop, NoForm, Reordered, reorder};
pub use self::slices::Slices;

use std::fmt::Debug;

/// The threads of a block.
pub const THREADS: u32 = 128;

/// The name of the function that a text defines.
pub const FUNCTION: &str = "sparsefuse_kernel";

/// What a compiler of device kernels takes: the first line of a text, which says how many `WORDS`
/// there are, the words of this compiler, the functions that kernels call, and the rest of the
/// text.
#[cfg(all(feature = "cuda", unix))]
pub(crate) fn source(text: &str, words: &str, mathematics: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("#define THREADS {THREADS}\n{first}\n{words}\n{mathematics}\n{rest}")
}

/// The functions that kernels call.
#[cfg(unix)]
pub(crate) fn functions() -> String {
    crate::native::mathematics() + include_str!("elementary.c") + include_str!("kernels.c")
}

/// Memory of a device: its address there, which means nothing to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub u64);

/// A compiled kernel: its number among those of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(pub usize);

/// Why a device does not do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is none, or its driver or compiler is missing.
    #[error("expected {expected}, found {found}")]
    Missing {
        /// What is needed.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Its memory is full.
    #[error("expected {wanted} bytes of memory of the device, found that it has no more")]
    OutOfMemory {
        /// The bytes that were asked for.
        wanted: usize,
    },
    /// A kernel does not compile, which is a defect.
    #[error("the compiler of the device failed: {0}")]
    Compiler(String),
    /// A call of the driver has failed, by now or earlier: nothing in its memory can be relied on.
    #[error("the device failed: {0}")]
    Lost(String),
}

/// A device. What it is asked to do it does in this order, later than the calls return, except that
/// [`Device::download`] waits.
pub trait Device: Debug + Send + Sync {
    /// What it is, for people.
    fn name(&self) -> &str;

    /// Memory, aligned to 256 bytes, not initialised.
    ///
    /// # Errors
    /// If there is no more.
    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError>;

    /// Gives memory back when what has been asked for before is done.
    ///
    /// # Safety
    /// The address is from [`Device::allocate`] of this device, and is not used from now on.
    unsafe fn free(&self, address: Address);

    /// Copies to the device. The host's memory may be written as soon as this returns.
    ///
    /// # Errors
    /// If the device has failed.
    ///
    /// # Safety
    /// `bytes` bytes may be read at `from` and written at `to`.
    unsafe fn upload(&self, from: *const u8, to: Address, bytes: usize) -> Result<(), DeviceError>;

    /// Copies from the device, when all that has been asked for before is done.
    ///
    /// # Errors
    /// If the device has failed, by now or while it did what it was asked for before.
    ///
    /// # Safety
    /// `bytes` bytes may be read at `from` and written at `to`.
    unsafe fn download(&self, from: Address, to: *mut u8, bytes: usize) -> Result<(), DeviceError>;

    /// The kernel [`FUNCTION`] that a text defines, compiled unless it has been before, by this
    /// process or an earlier one.
    ///
    /// # Errors
    /// If it does not compile, or there is no compiler.
    fn function(&self, text: &str) -> Result<Function, DeviceError>;

    /// Has kernels compiled side by side that are going to be asked for. What fails is told by
    /// [`Device::function`].
    fn prepare(&self, texts: &[String]);

    /// Runs a kernel in `blocks` blocks of [`THREADS`] threads.
    ///
    /// # Errors
    /// If the device has failed.
    ///
    /// # Safety
    /// The function is of this device. There are as many arguments as its text has `WORDS`, and
    /// what they address is valid for what the kernel does.
    unsafe fn launch(
        &self,
        function: Function,
        blocks: u32,
        arguments: &[u64],
    ) -> Result<(), DeviceError>;

    /// Waits until all that has been asked for is done.
    ///
    /// # Errors
    /// If the device has failed.
    fn finish(&self) -> Result<(), DeviceError>;
}
