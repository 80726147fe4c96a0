//! The device of a rank, opened as the settings say.

use crate::config::{Config, DeviceKind};
use crate::error::{Error, ErrorKind};
use crate::memory::mirror::DeviceMemory;
use sparsefuse_kernels::device::{Device, DeviceError, Emulated};
use std::sync::Arc;

/// Bytes of the memory of an emulated device.
const EMULATED_BYTES: usize = 1 << 30;

/// The device that the settings name, if they name one.
pub(crate) fn open(config: &Config) -> Result<Option<Arc<DeviceMemory>>, Error> {
    let device = match config.device {
        DeviceKind::Host => return Ok(None),
        DeviceKind::Cuda(number) => cuda(number, config),
        DeviceKind::Emulated => emulated(config),
    };
    let device = device.map_err(|cause| Error::from(ErrorKind::Device(cause)))?;
    Ok(Some(Arc::new(DeviceMemory::new(device))))
}

fn emulated(config: &Config) -> Result<Box<dyn Device>, DeviceError> {
    let toolchain = config.native.as_deref().ok_or(DeviceError::Missing {
        expected: "a C compiler, for the emulated device".to_owned(),
        found: "that native code is off".to_owned(),
    })?;
    Ok(Box::new(Emulated::new(toolchain.clone(), EMULATED_BYTES)))
}

#[cfg(all(feature = "cuda", unix))]
fn cuda(number: usize, config: &Config) -> Result<Box<dyn Device>, DeviceError> {
    let cache = config
        .native
        .as_ref()
        .map(|native| native.directory.clone());
    let device = sparsefuse_kernels::device::Cuda::new(number, cache)?;
    Ok(Box::new(device))
}

#[cfg(not(all(feature = "cuda", unix)))]
fn cuda(_: usize, _: &Config) -> Result<Box<dyn Device>, DeviceError> {
    Err(DeviceError::Missing {
        expected: "a build with the feature `cuda`, on Unix".to_owned(),
        found: "one without".to_owned(),
    })
}
