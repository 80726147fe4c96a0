//! CUDA's driver: the calls that a device needs, as functions that return errors.
//!
//! The bindings look for the driver, and for each function, when it is first called, and panic
//! where there is none. [`Context::open`] therefore looks for all of [`SYMBOLS`] before any call;
//! this file calls no others. The driver's functions may be called by all threads; they act in the
//! context that is current on the thread, so each method makes its own context the current one.
#![expect(unsafe_code, reason = "calls the driver")]

use crate::device::DeviceError;
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdevice_attribute, CUresult, CUstream};
use cudarc::driver::sys::{CUfunction, CUmodule};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// All functions that are called here, by their names in the library.
const SYMBOLS: [&str; 24] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocHost_v2",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuLaunchKernel",
];

/// What is known of a GPU and its driver.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) name: String,
    /// The compute capability: that of `sm_90` is (9, 0).
    pub(super) capability: (i32, i32),
    /// The major version of the newest CUDA whose code the driver takes.
    pub(super) newest_cuda: i32,
}

/// A GPU's primary context, retained, and a stream in it.
#[derive(Debug)]
pub(super) struct Context {
    device: CUdevice,
    context: CUcontext,
    /// Null until it is made.
    stream: CUstream,
}

// SAFETY: a context and a stream are handles, which the driver lets all threads use, also at the
// same time ("Driver API: the functions are thread-safe"); nothing here changes them after `open`.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// A loaded kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    module: CUmodule,
    function: CUfunction,
}

// SAFETY: handles of the driver, as those of `Context`.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// Page-locked memory of the host.
#[derive(Debug)]
pub(super) struct Pinned(*mut u8);

// SAFETY: it is memory, which belongs to no thread; who reads or writes it says why it may.
unsafe impl Send for Pinned {}

impl Pinned {
    pub(super) fn address(&self) -> *mut u8 {
        self.0
    }
}

impl Context {
    /// The GPU with this number.
    pub(super) fn open(ordinal: usize) -> Result<(Self, Facts), DeviceError> {
        look_for_driver()?;
        let found = |call, result| done(call, result).map_err(as_missing);
        // SAFETY: the flags must be 0.
        found("cuInit", unsafe { sys::cuInit(0) })?;
        let (mut version, mut count) = (0, 0);
        // SAFETY: writes one number.
        found("cuDriverGetVersion", unsafe {
            sys::cuDriverGetVersion(&raw mut version)
        })?;
        // SAFETY: writes one number.
        found("cuDeviceGetCount", unsafe {
            sys::cuDeviceGetCount(&raw mut count)
        })?;
        let number = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        if number >= count {
            return Err(missing(
                format!("a CUDA device with number {ordinal}"),
                format!("{count} of them"),
            ));
        }
        let mut device = 0;
        // SAFETY: writes one handle, for a number below the count.
        found("cuDeviceGet", unsafe {
            sys::cuDeviceGet(&raw mut device, number)
        })?;
        let facts = Facts {
            name: name(device)?,
            capability: capability(device)?,
            newest_cuda: version / 1000,
        };
        Ok((Self::of(device)?, facts))
    }

    fn of(device: CUdevice) -> Result<Self, DeviceError> {
        let mut context = null_mut();
        // SAFETY: writes one handle; `drop` releases what is retained here.
        done("cuDevicePrimaryCtxRetain", unsafe {
            sys::cuDevicePrimaryCtxRetain(&raw mut context, device)
        })
        .map_err(as_missing)?;
        let mut this = Self {
            device,
            context,
            stream: null_mut(),
        };
        this.enter()?;
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes one handle; the context is current.
        done("cuStreamCreate", unsafe {
            sys::cuStreamCreate(&raw mut this.stream, flags)
        })?;
        Ok(this)
    }

    /// Makes the context that of this thread.
    fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is retained until `self` is dropped.
        done("cuCtxSetCurrent", unsafe {
            sys::cuCtxSetCurrent(self.context)
        })
    }

    /// Waits until all is done that has been asked for.
    pub(super) fn wait(&self) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: the stream is there until `self` is dropped.
        done("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(self.stream)
        })
    }

    /// Memory of the GPU, aligned to 256 bytes at least.
    pub(super) fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.enter()?;
        let mut address = 0;
        // The driver gives no memory of 0 bytes.
        // SAFETY: writes one address.
        let result = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes.max(1)) };
        match result {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(DeviceError::OutOfMemory { wanted: bytes }),
            result => done("cuMemAlloc", result).map(|()| address),
        }
    }

    /// Gives memory back when what has been asked for is done. The driver does not promise to wait
    /// for that.
    ///
    /// # Safety
    /// The address is from [`Context::allocate`], and is not used from now on.
    pub(super) unsafe fn free(&self, address: u64) {
        // Where the device has failed, nothing uses the memory any more.
        let _ = self.wait();
        // SAFETY: the caller promises that it is memory of this context; `wait` has made it
        // current.
        let _ = unsafe { sys::cuMemFree_v2(address) };
    }

    /// Copies to the GPU, and waits until `from` has been read.
    ///
    /// An asynchronous copy returns earlier than that if `from` is page-locked, by whomever in this
    /// process, or if the GPU reads the host's memory directly; for other memory the driver's
    /// manual says that it "might be synchronous". So the stream is waited for.
    ///
    /// # Safety
    /// `bytes` bytes may be read at `from` and written at `to`.
    pub(super) unsafe fn upload(
        &self,
        from: *const u8,
        to: u64,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        self.enter()?;
        // SAFETY: the caller promises both; `from` stays until the stream has been waited for.
        done("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, self.stream)
        })?;
        self.wait()
    }

    /// Copies from the GPU, when all is done that has been asked for before.
    ///
    /// # Safety
    /// `bytes` bytes may be read at `from` and written at `to`.
    pub(super) unsafe fn download(
        &self,
        from: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        if bytes == 0 {
            return self.wait();
        }
        self.enter()?;
        // SAFETY: the caller promises both; `to` stays until the stream has been waited for.
        done("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, self.stream)
        })?;
        self.wait()
    }

    /// Page-locked memory of the host.
    pub(super) fn page_locked(&self, bytes: usize) -> Result<Pinned, DeviceError> {
        self.enter()?;
        let mut address = null_mut();
        // SAFETY: writes one address.
        done("cuMemAllocHost", unsafe {
            sys::cuMemAllocHost_v2(&raw mut address, bytes)
        })?;
        Ok(Pinned(address.cast()))
    }

    /// Gives page-locked memory back.
    ///
    /// # Safety
    /// It is of this context, and not used from now on.
    pub(super) unsafe fn unlock_pages(&self, pinned: &Pinned) {
        if self.enter().is_ok() {
            // SAFETY: the caller promises that it is from `page_locked` and not used again.
            let _ = unsafe { sys::cuMemFreeHost(pinned.0.cast()) };
        }
    }

    /// The function with this name that machine code defines.
    pub(super) fn load(&self, code: &[u8], name: &str) -> Result<Kernel, DeviceError> {
        self.enter()?;
        let mut module = null_mut();
        // SAFETY: writes one handle. The code is an ELF file, whose header says how long it is:
        // what NVRTC has made, or what the cache has compared with the seal of such a file.
        let result = unsafe { sys::cuModuleLoadData(&raw mut module, code.as_ptr().cast()) };
        loaded("cuModuleLoadData", result, code.len())?;
        let c_name = CString::new(name).map_err(|_| DeviceError::Compiler(name.to_owned()))?;
        let mut function = null_mut();
        // SAFETY: writes one handle; the module has just been loaded, the name ends with a zero.
        let result =
            unsafe { sys::cuModuleGetFunction(&raw mut function, module, c_name.as_ptr()) };
        let kernel = Kernel { module, function };
        loaded("cuModuleGetFunction", result, code.len())
            // SAFETY: nothing else knows of the module.
            .inspect_err(|_| unsafe { self.unload(kernel) })?;
        Ok(kernel)
    }

    /// Unloads a kernel.
    ///
    /// # Safety
    /// It is of this context, and neither runs nor is used from now on.
    pub(super) unsafe fn unload(&self, kernel: Kernel) {
        if self.enter().is_ok() {
            // SAFETY: the caller promises that nothing uses it.
            let _ = unsafe { sys::cuModuleUnload(kernel.module) };
        }
    }

    /// Runs a kernel in `blocks` blocks of `threads` threads.
    ///
    /// # Safety
    /// The kernel is of this context and takes these words as its one parameter; what they address
    /// is valid for what it does.
    pub(super) unsafe fn launch(
        &self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        words: &[u64],
    ) -> Result<(), DeviceError> {
        self.enter()?;
        let mut bytes = size_of_val(words);
        // What the driver's header calls CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END.
        let [pointer, size, end] = [1, 2, 0].map(std::ptr::without_provenance_mut::<c_void>);
        let mut extra = [
            pointer,
            words.as_ptr().cast_mut().cast::<c_void>(),
            size,
            (&raw mut bytes).cast::<c_void>(),
            end,
        ];
        // SAFETY: the caller promises the kernel and its words, which the driver reads, and does
        // not write, before it returns.
        done("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(
                kernel.function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                self.stream,
                null_mut(),
                extra.as_mut_ptr(),
            )
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // What fails here has failed before, or the process is about to end.
        if !self.stream.is_null() && self.wait().is_ok() {
            // SAFETY: the stream is of this context, and `self` is not used again.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
        }
        // SAFETY: it was retained once, when `self` was made.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Whether there is a driver with all functions that are called.
fn look_for_driver() -> Result<(), DeviceError> {
    // SAFETY: loading the driver runs its initialisers, which are meant for that.
    if !unsafe { sys::is_culib_present() } {
        return Err(missing(
            "CUDA's driver (libcuda.so.1)",
            "no such library that loads",
        ));
    }
    // SAFETY: as above; it is there, so this does not panic.
    let library = unsafe { sys::culib() };
    for symbol in SYMBOLS {
        // SAFETY: the function is looked for, and not called.
        let found = unsafe { library.get::<unsafe extern "C" fn()>(symbol) };
        found.map_err(|_| {
            missing(
                format!("a CUDA driver with the function {symbol}"),
                "one without it",
            )
        })?;
    }
    Ok(())
}

/// A GPU's name.
fn name(device: CUdevice) -> Result<String, DeviceError> {
    let mut bytes: [c_char; 256] = [0; 256];
    // SAFETY: writes at most 256 bytes, the last of which is a zero.
    done("cuDeviceGetName", unsafe {
        sys::cuDeviceGetName(bytes.as_mut_ptr(), 256, device)
    })?;
    // SAFETY: the driver ends the name with a zero, and there was one before.
    let name = unsafe { CStr::from_ptr(bytes.as_ptr()) };
    Ok(name.to_string_lossy().into_owned())
}

/// A GPU's compute capability.
fn capability(device: CUdevice) -> Result<(i32, i32), DeviceError> {
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: writes one number.
        done("cuDeviceGetAttribute", unsafe {
            sys::cuDeviceGetAttribute(&raw mut value, attribute, device)
        })?;
        Ok(value)
    };
    let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    let minor = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
    Ok((attribute(major)?, attribute(minor)?))
}

/// What a call has returned, as an error with the name of the call and the driver's words.
fn done(call: &str, result: CUresult) -> Result<(), DeviceError> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let [mut name, mut words] = [null(); 2];
    // SAFETY: each writes the address of a text that stays, or null.
    let _ = unsafe {
        let _ = sys::cuGetErrorName(result, &raw mut name);
        sys::cuGetErrorString(result, &raw mut words)
    };
    let [name, words] = [name, words].map(|text| match text.is_null() {
        true => "an unknown error".into(),
        // SAFETY: the driver's texts end with a zero and stay as long as it is loaded.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy(),
    });
    Err(DeviceError::Lost(format!("{call}: {name}: {words}")))
}

/// A failure before there is a device.
fn as_missing(error: DeviceError) -> DeviceError {
    match error {
        DeviceError::Lost(found) => missing("a CUDA device", found),
        other => other,
    }
}

/// What a call that loads machine code of this length has returned.
fn loaded(call: &str, result: CUresult, length: usize) -> Result<(), DeviceError> {
    use CUresult::{CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_SOURCE};
    use CUresult::{CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_OUT_OF_MEMORY};
    let error = match (done(call, result), result) {
        (Ok(()), _) => return Ok(()),
        (Err(_), CUDA_ERROR_OUT_OF_MEMORY) => DeviceError::OutOfMemory { wanted: length },
        (
            Err(DeviceError::Lost(words)),
            CUDA_ERROR_INVALID_IMAGE
            | CUDA_ERROR_INVALID_SOURCE
            | CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUDA_ERROR_NOT_FOUND,
        ) => DeviceError::Compiler(words),
        (Err(error), _) => error,
    };
    Err(error)
}

fn missing(expected: impl Into<String>, found: impl Into<String>) -> DeviceError {
    DeviceError::Missing {
        expected: expected.into(),
        found: found.into(),
    }
}
