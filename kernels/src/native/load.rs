//! A compiled library, loaded.
#![expect(unsafe_code, reason = "loads code into the process")]

use super::Failure;
use libloading::Library;
use std::path::Path;
use std::sync::{Arc, Weak};

/// A loop as a C function: takes `lines` lines of `rows` rows, of which the first is local row
/// `first` and global row `start + first`, and returns how many rows it has done; it ends early
/// before a chunk that needs the steps, and before a rest that is no whole chunk, unless it is one
/// for lines. See [`super::print`].
///
/// # Safety
/// `arrays` must point to the addresses of the loop's arrays that it reads (those that are a base,
/// as local row 0 would have them), which must lie as its form takes them to and be valid for these
/// rows; `uniforms` to the chunks of copies of its uniform values; `steps` to the bytes from line
/// to line of each array, if there is more than one line or the form is one for lines; `lanes` to
/// the lanes of its reductions, to which these rows are joined beginning with lane 0. The
/// instruction set that the loop was printed for must be available.
pub(crate) type LoopFunction = unsafe extern "C" fn(
    arrays: *const *mut u8,
    uniforms: *const u8,
    lanes: *mut u8,
    start: u64,
    first: u64,
    rows: u64,
    lines: u64,
    steps: *const i64,
) -> u64;

/// A function and the library that it is from.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    function: LoopFunction,
    library: Arc<Library>,
}

/// A function that is there as long as others hold its library.
#[derive(Debug)]
pub(super) struct Shared {
    function: LoopFunction,
    library: Weak<Library>,
}

impl Shared {
    /// The function, if its library is still there.
    pub(super) fn loaded(&self) -> Option<Loaded> {
        let library = self.library.upgrade()?;
        let function = self.function;
        Some(Loaded { function, library })
    }
}

impl Loaded {
    /// The function, for as long as `self` lives.
    pub(super) fn function(&self) -> LoopFunction {
        self.function
    }

    /// The function for those that do not hold its library.
    pub(super) fn shared(&self) -> Shared {
        Shared {
            function: self.function,
            library: Arc::downgrade(&self.library),
        }
    }
}

/// Loads functions of a library by name.
///
/// # Safety
/// The file must be a library that this module's compiler made of printed loops with these names,
/// or no library at all.
pub(super) unsafe fn load(path: &Path, names: &[&str]) -> Result<Vec<Loaded>, Failure> {
    let failure = |error: libloading::Error| Failure::Load(error.to_string());
    // SAFETY: what `print` and `math.c` define has no initialisers; a file that is no library is
    // refused by the loader.
    let library = Arc::new(unsafe { Library::new(path) }.map_err(failure)?);
    let mut functions = Vec::with_capacity(names.len());
    for name in names {
        // SAFETY: the caller promises that a function of this name is a printed loop, which has
        // this type; `library` keeps it in memory.
        let function = *unsafe { library.get::<LoopFunction>(name.as_bytes()) }.map_err(failure)?;
        functions.push(Loaded {
            function,
            library: Arc::clone(&library),
        });
    }
    Ok(functions)
}
