//! A GPU of NVIDIA.

use crate::config::Config;
use sparsefuse_kernels::device::{Cuda, Device, DeviceError};

/// The GPU with this number. What is compiled for it is kept where native code is.
pub(super) fn open(number: usize, config: &Config) -> Result<Box<dyn Device>, DeviceError> {
    let native = config.native.as_ref();
    let cache = native.map(|toolchain| toolchain.directory.clone());
    Ok(Box::new(Cuda::new(number, cache)?))
}
