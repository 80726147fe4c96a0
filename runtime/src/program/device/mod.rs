//! The device of a rank, opened as the settings say.

#[cfg_attr(not(all(feature = "cuda", unix)), path = "no_cuda.rs")]
mod cuda;
#[cfg_attr(not(unix), path = "no_emulated.rs")]
mod emulated;

use crate::config::{Config, DeviceKind};
use crate::error::{Error, ErrorKind};
use crate::memory::mirror::DeviceMemory;
use std::sync::Arc;

/// The device that the settings name, if they name one.
pub(crate) fn open(config: &Config) -> Result<Option<Arc<DeviceMemory>>, Error> {
    let device = match config.device {
        DeviceKind::Host => return Ok(None),
        DeviceKind::Cuda(number) => cuda::open(number, config),
        DeviceKind::Emulated => emulated::open(config),
    };
    let device = device.map_err(|cause| Error::from(ErrorKind::Device(cause)))?;
    Ok(Some(Arc::new(DeviceMemory::new(device))))
}
