//! The passes: from a kernel as fusion appended it to one that moves fewer bytes.
//!
//! In goes a verified kernel, out comes one that writes the same bits to every argument that
//! somebody reads afterwards, and which arguments and parameters of the first it still has.
//! Every pass keeps what [`crate::verify`] checks and takes a time that is linear in the number of
//! instructions, up to the logarithm of a map and collisions of a hash table.

mod compact;
mod cse;
mod dce;
mod fold;
mod forward;
mod memory;
mod merge;
mod split;

use self::memory::Memories;
pub use self::split::split;
use crate::ir::{ArgId, Inst, Kernel, ValueId};

/// A kernel after the passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimized {
    /// The kernel.
    pub kernel: Kernel,
    /// For each of its arguments, the number that it had before.
    pub args: Vec<ArgId>,
    /// For each of its parameters, the number that it had before.
    pub params: Vec<u32>,
}

/// Runs all passes.
///
/// ```
/// use sparsefuse_kernels::{passes::optimize, text::parse};
///
/// // t = a + a, b = t * t where nobody reads t afterwards: two loops become one without t.
/// let optimized = optimize(parse(
///     "kernel(a0: array f64 @0, a1: array f64 @1 temporary, a2: array f64 @2) {
///        loop d0 { %0 = load a0 %1 = add %0 %0 store a1 %1 }
///        loop d0 { %0 = load a1 %1 = mul %0 %0 store a2 %1 }
///      }",
/// )?);
/// assert_eq!(optimized.args, [0, 2]);
/// assert_eq!(
///     optimized.kernel.to_string(),
///     "kernel(a0: array f64 @0, a1: array f64 @2) {
///   loop d0 {
///     %0 = load a0
///     %1 = add %0 %0
///     %2 = mul %1 %1
///     store a1 %2
///   }
/// }
/// "
/// );
/// # Ok::<(), sparsefuse_kernels::text::ParseError>(())
/// ```
#[must_use]
pub fn optimize(kernel: Kernel) -> Optimized {
    optimize_with(kernel, &mut |_, _| ())
}

/// As [`optimize`]; `watch` sees the name of each pass and the kernel after it.
#[must_use]
pub fn optimize_with(
    mut kernel: Kernel,
    watch: &mut dyn FnMut(&'static str, &Kernel),
) -> Optimized {
    // The arguments stay what they are until the last pass.
    let memories = Memories::new(&kernel.args);
    merge::merge(&mut kernel, &memories);
    watch("merge", &kernel);
    forward::forward(&mut kernel, &memories);
    watch("forward", &kernel);
    fold::fold(&mut kernel);
    watch("fold", &kernel);
    cse::cse(&mut kernel, &memories);
    watch("cse", &kernel);
    dce::dce(&mut kernel, &memories);
    watch("dce", &kernel);
    let (args, params) = compact::compact(&mut kernel);
    watch("compact", &kernel);
    Optimized {
        kernel,
        args,
        params,
    }
}

/// A kernel without what it does not need: dead code, then arguments and parameters.
#[must_use]
pub fn without_unused(mut kernel: Kernel) -> Optimized {
    let memories = Memories::new(&kernel.args);
    dce::dce(&mut kernel, &memories);
    let (args, params) = compact::compact(&mut kernel);
    Optimized {
        kernel,
        args,
        params,
    }
}

/// Keeps the instructions that `is_kept` marks and renumbers their operands, which are all kept.
fn retain(body: &mut Vec<Inst>, is_kept: &[bool]) {
    let mut number: Vec<ValueId> = Vec::with_capacity(body.len());
    let mut next = 0;
    for &kept in is_kept {
        number.push(next);
        next += ValueId::from(kept);
    }
    let mut kept = is_kept.iter();
    body.retain(|_| kept.next() == Some(&true));
    for inst in body {
        *inst = inst.map_operands(|value| number[value as usize]);
    }
}

#[cfg(test)]
mod tests;
