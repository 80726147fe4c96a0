//! Functions of any type that the C compiler makes of a whole source, for the emulated device.
#![expect(unsafe_code, reason = "loads code into the process")]

use super::Toolchain;
use super::compile;
use crate::isa::Isa;
use libloading::Library;

/// What is compiled here runs a few times, so the compiler is to take little time.
const OPTIONS: [&str; 1] = ["-O0"];

/// The functions with these names that a source defines, compiled unless the cache has it, and the
/// library that keeps them in memory.
///
/// # Safety
/// The source defines functions of this type and these names, and nothing that runs when it is
/// loaded.
pub(crate) unsafe fn functions<F: Copy>(
    toolchain: &Toolchain,
    source: &str,
    names: &[String],
) -> Result<(Vec<F>, Library), String> {
    let path = compile::built(toolchain, Isa::detect(), (source, &OPTIONS));
    let path = path.map_err(|failure| failure.to_string())?;
    // SAFETY: the path is from a cache that only the user can write, and what lies there was made
    // of this source, which runs nothing when it is loaded.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    let mut functions = Vec::with_capacity(names.len());
    for name in names {
        // SAFETY: the caller promises the type.
        let function = unsafe { library.get::<F>(name.as_bytes()) };
        functions.push(*function.map_err(|error| error.to_string())?);
    }
    Ok((functions, library))
}
