//! A device in memory of the host, for tests where no GPU is: the texts of device kernels, compiled
//! by the system's C compiler.
//!
//! Its memory is apart from that of the stores, so what is not copied is missed; it begins with
//! bytes that are no sensible numbers, and has borders in which kernels must not write. Blocks and
//! threads run in orders that change from launch to launch: a kernel that depends on them gives
//! other bits.
#![expect(
    unsafe_code,
    reason = "kernels and copies reach memory through addresses"
)]

use super::{Address, Device, DeviceError, FUNCTION, Function, THREADS};
use crate::native::Toolchain;
use crate::native::raw;
use libloading::Library;
use std::alloc::{self, Layout};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A kernel: arguments, the number of the block, the order of the threads.
type Kernel = unsafe extern "C" fn(*const u64, u64, u32);

/// Bytes in front of each piece of memory and behind it.
const BORDER: usize = 256;
/// What borders hold.
const UNTOUCHED: u8 = 0xc3;
/// What new memory holds.
const GARBAGE: u8 = 0xfb;

/// The emulated device.
#[derive(Debug)]
pub struct Emulated {
    toolchain: Toolchain,
    /// The bytes of its memory.
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The bytes of each piece of memory, by its address.
    pieces: BTreeMap<u64, usize>,
    in_use: usize,
    /// The numbers of kernels by text, and the texts that are not compiled yet.
    numbers: BTreeMap<String, usize>,
    waiting: Vec<String>,
    /// The kernels that are, by number, and the libraries that keep them in memory.
    kernels: Vec<Kernel>,
    libraries: Vec<Library>,
    launches: u64,
}

impl Emulated {
    /// A device with `capacity` bytes of memory, whose compiler and cache are those of `toolchain`.
    #[must_use]
    pub fn new(toolchain: Toolchain, capacity: usize) -> Self {
        Self {
            toolchain,
            capacity,
            state: Mutex::default(),
        }
    }

    /// Compiles the kernels that wait, as one library.
    fn compile(&self, state: &mut State) -> Result<(), DeviceError> {
        if state.waiting.is_empty() {
            return Ok(());
        }
        let mut source = format!(
            "#define THREADS {THREADS}\n{}\n{}",
            include_str!("words.host"),
            super::functions()
        );
        let first = state.kernels.len();
        let mut names = Vec::new();
        for (number, text) in (first..).zip(&state.waiting) {
            let name = format!("{FUNCTION}_{number}");
            let _ = write!(
                source,
                "\n#undef WORDS\n#undef {FUNCTION}\n#define {FUNCTION} {name}\n{text}"
            );
            names.push(name);
        }
        // SAFETY: the words of the host make a function of this type of each text.
        let compiled = unsafe { raw::functions(&self.toolchain, &source, &names) };
        let (mut kernels, library) = compiled.map_err(DeviceError::Compiler)?;
        state.kernels.append(&mut kernels);
        state.libraries.push(library);
        state.waiting.clear();
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The layout of a piece of memory with its borders.
fn layout(bytes: usize) -> Layout {
    let all = bytes + 2 * BORDER;
    Layout::from_size_align(all, BORDER).expect("pieces are smaller than memory")
}

/// # Panics
/// If a kernel has written beyond a piece of memory.
fn check_borders(address: u64, bytes: usize) {
    let whole = (address as usize - BORDER) as *const u8;
    for place in (0..BORDER).chain(BORDER + bytes..2 * BORDER + bytes) {
        // SAFETY: the piece was allocated with these borders, and has not been given back.
        let byte = unsafe { *whole.add(place) };
        assert_eq!(
            byte,
            UNTOUCHED,
            "a kernel wrote at byte {} of a piece of {bytes}",
            place as isize - BORDER as isize
        );
    }
}

impl Device for Emulated {
    fn name(&self) -> &str {
        "emulated"
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        let mut state = self.state();
        let refuse = DeviceError::OutOfMemory { wanted: bytes };
        if state.in_use.saturating_add(bytes) > self.capacity {
            return Err(refuse);
        }
        // SAFETY: borders make the size larger than 0.
        let whole = unsafe { alloc::alloc(layout(bytes)) };
        if whole.is_null() {
            return Err(refuse);
        }
        // SAFETY: these bytes have just been allocated.
        unsafe {
            whole.write_bytes(UNTOUCHED, bytes + 2 * BORDER);
            whole.add(BORDER).write_bytes(GARBAGE, bytes);
        }
        let address = (whole.addr() + BORDER) as u64;
        state.in_use += bytes;
        state.pieces.insert(address, bytes);
        Ok(Address(address))
    }

    unsafe fn free(&self, address: Address) {
        let mut state = self.state();
        let Some(bytes) = state.pieces.remove(&address.0) else {
            panic!("memory of the device is given back once");
        };
        state.in_use -= bytes;
        check_borders(address.0, bytes);
        // SAFETY: `allocate` got this memory with this layout, and it is given back once.
        unsafe { alloc::dealloc((address.0 as usize - BORDER) as *mut u8, layout(bytes)) };
    }

    unsafe fn upload(&self, from: *const u8, to: Address, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller promises that there are as many bytes at both places, of which one is
        // memory of this device and the other is not.
        unsafe { std::ptr::copy_nonoverlapping(from, to.0 as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn download(&self, from: Address, to: *mut u8, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy_nonoverlapping(from.0 as *const u8, to, bytes) };
        Ok(())
    }

    /// The kernel is compiled before the first launch of any, together with others that wait: the
    /// compiler takes as long for one as for some.
    fn function(&self, text: &str) -> Result<Function, DeviceError> {
        let mut state = self.state();
        let next = state.numbers.len();
        let number = *state.numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            state.waiting.push(text.to_owned());
        }
        Ok(Function(number))
    }

    /// Kernels wait for each other as they are.
    fn prepare(&self, _: &[String]) {}

    unsafe fn launch(
        &self,
        function: Function,
        blocks: u32,
        arguments: &[u64],
    ) -> Result<(), DeviceError> {
        let (kernel, launches) = {
            let mut state = self.state();
            self.compile(&mut state)?;
            state.launches += 1;
            (state.kernels[function.0], state.launches)
        };
        // Odd numbers have an inverse modulo the number of threads, so each thread has its turn.
        let order = (launches * 2 + 1) as u32 % THREADS;
        let shift = launches % u64::from(blocks.max(1));
        for turn in 0..u64::from(blocks) {
            let turn = (turn + shift) % u64::from(blocks);
            let block = match launches % 2 {
                0 => turn,
                _ => u64::from(blocks) - 1 - turn,
            };
            // SAFETY: the caller promises the arguments and what they address; the function reads
            // and writes nothing else.
            unsafe { kernel(arguments.as_ptr(), block, order) };
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), DeviceError> {
        for (&address, &bytes) in &self.state().pieces {
            check_borders(address, bytes);
        }
        Ok(())
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let pieces = std::mem::take(&mut self.state().pieces);
        for (address, bytes) in pieces {
            // SAFETY: as in `free`; no other code has the device.
            unsafe { alloc::dealloc((address as usize - BORDER) as *mut u8, layout(bytes)) };
        }
    }
}
