//! The emulated device.

use crate::config::Config;
use sparsefuse_kernels::device::{Device, DeviceError, Emulated};

/// Bytes of its memory.
const BYTES: usize = 1 << 30;

/// The emulated device, with the compiler and the cache of native code.
pub(super) fn open(config: &Config) -> Result<Box<dyn Device>, DeviceError> {
    let toolchain = config.native.as_deref().ok_or(DeviceError::Missing {
        expected: "a C compiler, for the emulated device".to_owned(),
        found: "that native code is off".to_owned(),
    })?;
    Ok(Box::new(Emulated::new(toolchain.clone(), BYTES)))
}
