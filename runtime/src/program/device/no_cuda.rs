//! In the place of a GPU, in builds without one.

use crate::config::Config;
use sparsefuse_kernels::device::{Device, DeviceError};

/// That there is none.
pub(super) fn open(_: usize, _: &Config) -> Result<Box<dyn Device>, DeviceError> {
    Err(DeviceError::Missing {
        expected: "a build with the feature `cuda`, on Unix".to_owned(),
        found: "one without".to_owned(),
    })
}
