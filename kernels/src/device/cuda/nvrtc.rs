//! NVRTC, CUDA's compiler as a library: from a text to machine code.
#![expect(unsafe_code, reason = "loads a library and calls it")]

use crate::device::{DeviceError, FUNCTION};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::{null, null_mut};

/// Options that keep every bit: no operations are fused, divisions and roots are rounded to the
/// nearest number, subnormal numbers stay what they are.
pub(super) const OPTIONS: [&str; 5] = [
    "--std=c++17",
    "--fmad=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ftz=false",
];

/// `nvrtcProgram`.
type Handle = *mut c_void;
/// `nvrtcResult`; 0 is success.
type Status = c_int;

type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;
type Create = unsafe extern "C" fn(
    program: *mut Handle,
    source: *const c_char,
    name: *const c_char,
    n_headers: c_int,
    headers: *const *const c_char,
    names: *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Status;
/// The length of a result.
type Length = unsafe extern "C" fn(Handle, *mut usize) -> Status;
/// A result, which has that length.
type Content = unsafe extern "C" fn(Handle, *mut c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Handle) -> Status;
type ErrorString = unsafe extern "C" fn(Status) -> *const c_char;

/// The library and its functions.
#[derive(Debug)]
pub(super) struct Nvrtc {
    /// Its major and its minor version.
    pub(super) version: (i32, i32),
    create: Create,
    compile: Compile,
    code: (Length, Content),
    log: (Length, Content),
    destroy: Destroy,
    error_string: ErrorString,
    /// It stays loaded, since the compiler may leave threads and handlers behind.
    #[cfg_attr(not(test), expect(dead_code, reason = "keeps the library loaded"))]
    library: ManuallyDrop<Library>,
}

impl Nvrtc {
    /// The library with this path, or the one that the loader finds by this name. `beside` are
    /// libraries that it asks the loader for by name, and that may lie where the loader does not
    /// look.
    pub(super) fn open(path: &Path, beside: &[impl AsRef<Path>]) -> Result<Self, String> {
        for path in beside {
            // SAFETY: the initialisers of a library that is part of NVRTC, as its name says.
            let library = unsafe { Library::open(Some(path.as_ref()), RTLD_NOW | RTLD_GLOBAL) };
            // Without it, the compiler says what it misses.
            let _ = library.map(ManuallyDrop::new);
        }
        // SAFETY: as above.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = ManuallyDrop::new(library.map_err(|error| words(&error))?);
        // SAFETY: the functions have these types in each version of NVRTC's header that has them.
        unsafe {
            let version: Version = get(&library, "nvrtcVersion")?;
            Ok(Self {
                version: numbers(version)?,
                create: get(&library, "nvrtcCreateProgram")?,
                compile: get(&library, "nvrtcCompileProgram")?,
                code: (
                    get(&library, "nvrtcGetCUBINSize")?,
                    get(&library, "nvrtcGetCUBIN")?,
                ),
                log: (
                    get(&library, "nvrtcGetProgramLogSize")?,
                    get(&library, "nvrtcGetProgramLog")?,
                ),
                destroy: get(&library, "nvrtcDestroyProgram")?,
                error_string: get(&library, "nvrtcGetErrorString")?,
                library,
            })
        }
    }

    /// Compiles a text for an architecture.
    pub(super) fn compile(
        &self,
        source: &str,
        architecture: &str,
    ) -> Result<Compiled<'_>, DeviceError> {
        let text = |text: &str| {
            CString::new(text).map_err(|error| DeviceError::Compiler(error.to_string()))
        };
        let (source, name) = (text(source)?, text(&format!("{FUNCTION}.cu"))?);
        let architecture = format!("--gpu-architecture={architecture}");
        let options = OPTIONS.into_iter().chain([&*architecture]);
        let options: Vec<CString> = options.map(text).collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle = null_mut();
        // SAFETY: writes one handle; the texts end with zeros, and there are no headers.
        let status = unsafe {
            (self.create)(
                &raw mut handle,
                source.as_ptr(),
                name.as_ptr(),
                0,
                null(),
                null(),
            )
        };
        self.done("nvrtcCreateProgram", status)?;
        let nvrtc = self;
        let compiled = Compiled { nvrtc, handle };
        // SAFETY: the handle is of a program, there are that many options, each ends with a zero.
        let status = unsafe { (self.compile)(handle, options.len() as c_int, options.as_ptr()) };
        self.done("nvrtcCompileProgram", status)
            .map_err(|error| compiled.explained(error))?;
        Ok(compiled)
    }

    /// What a call has returned.
    fn done(&self, call: &str, status: Status) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any number, and gives a text that stays.
        let words = unsafe { CStr::from_ptr((self.error_string)(status)) };
        let words = words.to_string_lossy();
        Err(DeviceError::Compiler(format!("{call}: {words}")))
    }
}

/// A text that has been given to the compiler.
#[derive(Debug)]
pub(super) struct Compiled<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl Compiled<'_> {
    /// The machine code: an ELF file.
    pub(super) fn machine_code(&self) -> Result<Vec<u8>, DeviceError> {
        self.result("nvrtcGetCUBIN", self.nvrtc.code)
    }

    /// The intermediate language from which the machine code is made.
    #[cfg(test)]
    pub(super) fn ptx(&self) -> Result<String, DeviceError> {
        let library = &self.nvrtc.library;
        // SAFETY: the functions have these types in NVRTC's header.
        let functions = unsafe { (get(library, "nvrtcGetPTXSize"), get(library, "nvrtcGetPTX")) };
        let functions = (
            functions.0.expect("NVRTC has it"),
            functions.1.expect("NVRTC has it"),
        );
        let bytes = self.result("nvrtcGetPTX", functions)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A result of the compiler.
    fn result(
        &self,
        call: &str,
        (length, content): (Length, Content),
    ) -> Result<Vec<u8>, DeviceError> {
        let mut bytes = 0;
        // SAFETY: the handle is of a program until `self` is dropped; writes one number.
        let status = unsafe { length(self.handle, &raw mut bytes) };
        self.nvrtc.done(call, status)?;
        let mut result = vec![0_u8; bytes];
        // SAFETY: as above; writes as many bytes as it has just said.
        let status = unsafe { content(self.handle, result.as_mut_ptr().cast()) };
        self.nvrtc.done(call, status)?;
        Ok(result)
    }

    /// An error with the first line of the compiler's log that names one.
    fn explained(&self, error: DeviceError) -> DeviceError {
        let Ok(log) = self.result("nvrtcGetProgramLog", self.nvrtc.log) else {
            return error;
        };
        let log = String::from_utf8_lossy(&log);
        let log = log.trim_end_matches('\0');
        let first = log.lines().find(|line| line.contains("error"));
        match first.or(log.lines().next()) {
            Some(line) if !line.trim().is_empty() => {
                DeviceError::Compiler(format!("{error}: {line}"))
            }
            _ => error,
        }
    }
}

impl Drop for Compiled<'_> {
    fn drop(&mut self) {
        // SAFETY: it is a program, which is not used again.
        let _ = unsafe { (self.nvrtc.destroy)(&raw mut self.handle) };
    }
}

/// A function of the library.
///
/// # Safety
/// It has the type `T`, which is one of functions.
unsafe fn get<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the caller promises the type.
    let symbol = unsafe { library.get::<T>(name) };
    symbol.map(|symbol| *symbol).map_err(|error| words(&error))
}

/// What the loader says.
fn words(error: &libloading::Error) -> String {
    let source = error.source();
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

/// What `nvrtcVersion` says.
fn numbers(version: Version) -> Result<(i32, i32), String> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two numbers.
    match unsafe { version(&raw mut major, &raw mut minor) } {
        0 => Ok((major, minor)),
        status => Err(format!("nvrtcVersion has returned {status}")),
    }
}
