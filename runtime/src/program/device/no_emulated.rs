//! In the place of the emulated device, where the C compiler is not called.

use crate::config::Config;
use sparsefuse_kernels::device::{Device, DeviceError};

/// That there is none.
pub(super) fn open(_: &Config) -> Result<Box<dyn Device>, DeviceError> {
    Err(DeviceError::Missing {
        expected: "Unix, for the emulated device".to_owned(),
        found: "another system".to_owned(),
    })
}
