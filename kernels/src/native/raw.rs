//! A function of any type that the C compiler makes of a whole source, for the emulated device.
#![expect(unsafe_code, reason = "loads code into the process")]

use super::Toolchain;
use super::compile;
use crate::isa::Isa;
use libloading::Library;

/// The function with this name that a source defines, compiled unless the cache has it, and the library
/// that keeps it in memory.
///
/// # Safety
/// The source defines a function of this type and name, and nothing that runs when it is loaded.
pub(crate) unsafe fn function<F: Copy>(
    toolchain: &Toolchain,
    source: &str,
    name: &str,
) -> Result<(F, Library), String> {
    let path = compile::built(toolchain, Isa::Baseline, source);
    let path = path.map_err(|failure| failure.to_string())?;
    // SAFETY: the path is from a cache that only the user can write, and what lies there was made of
    // this source, which runs nothing when it is loaded.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    // SAFETY: the caller promises the type.
    let function = unsafe { library.get::<F>(name.as_bytes()) };
    let function = *function.map_err(|error| error.to_string())?;
    Ok((function, library))
}
