//! Sliced pieces: the structure of a piece in the order in which the threads of a device read it,
//! in memory of the device.
//!
//! They are made when a task first sums rows of the piece there, and kept with the piece. Entries
//! in this order are kept with the copy of their memory (`memory/mirror.rs`), until that is
//! written.

use crate::memory::mirror::{DeviceMemory, DeviceSlices};
use sparsefuse_kernels::device::{DeviceError, Slices};
use std::sync::Arc;

/// The slices of these rows in memory of the device; `None` if they have too many entries.
pub(crate) fn slices(
    pos: &[u64],
    crd: &[u32],
    memory: &Arc<DeviceMemory>,
) -> Result<Option<Arc<DeviceSlices>>, DeviceError> {
    let Some(slices) = Slices::of(pos, crd) else {
        return Ok(None);
    };
    let on_device = DeviceSlices {
        slices: memory.copy_of(&slices.slices)?,
        rows: memory.copy_of(&slices.rows)?,
        columns: memory.copy_of(&slices.columns)?,
        order: memory.copy_of(&slices.order)?,
        n_slices: slices.slices.len() / 2,
        places: slices.order.len(),
    };
    Ok(Some(Arc::new(on_device)))
}
