//! The emulated device of tests.

use sparsefuse_kernels::Toolchain;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The compiler of the emulated device, which keeps its kernels below this folder, and takes no
/// loops of the host; `None`, which is printed, where there is no C compiler.
///
/// ```
/// use sparsefuse_testing::device_toolchain;
///
/// let toolchain = device_toolchain(&std::env::temp_dir());
/// assert!(toolchain.is_none_or(|toolchain| toolchain.patience == u64::MAX));
/// ```
#[must_use]
pub fn device_toolchain(folder: &Path) -> Option<Arc<Toolchain>> {
    let toolchain = Toolchain {
        patience: u64::MAX,
        // The machine may be busy, and the compiler has the lowest priority.
        limit: Duration::from_secs(300),
        ..Toolchain::new(folder.join("sparsefuse-device"))
    };
    let runs = |command: &Vec<String>| {
        let mut compiler = Command::new(&command[0]);
        let compiler = compiler.arg("--version").stdout(Stdio::null());
        compiler.status().is_ok_and(|status| status.success())
    };
    if !toolchain.compilers.iter().any(runs) {
        println!("skipped: there is no C compiler");
        return None;
    }
    Some(Arc::new(toolchain))
}
