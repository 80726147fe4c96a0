//! What a device has of the memory of a rank.
//!
//! Each piece of memory of a pool whose rank has a device may have a copy there. Who is about to use one
//! says where and whether it writes; what is out of date there is brought up to date first, and
//! what is written makes the other out of date. So nothing but this module knows that there are
//! two: a store that only kernels of the device use is never copied, and a host function that reads one finds
//! it in the host's memory.
//!
//! Whole pieces are copied, whatever part of them is used.
#![expect(unsafe_code, reason = "memory is copied from device to host and back")]

use crate::error::{Error, ErrorKind};
use sparsefuse_kernels::device::{Address, Device, DeviceError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The device of a rank, and its memory that is kept for later.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    device: Box<dyn Device>,
    /// Memory that has been given back, by its size: what the device was asked for before may still use
    /// it, which is done before it is used anew, since a device does things in their order.
    free: Mutex<BTreeMap<usize, Vec<Address>>>,
    /// Why what is there cannot be relied on.
    lost: OnceLock<DeviceError>,
    /// Bytes that have been copied.
    uploaded: AtomicU64,
    downloaded: AtomicU64,
}

impl DeviceMemory {
    pub(crate) fn new(device: Box<dyn Device>) -> Self {
        Self {
            device,
            free: Mutex::default(),
            lost: OnceLock::new(),
            uploaded: AtomicU64::new(0),
            downloaded: AtomicU64::new(0),
        }
    }

    pub(crate) fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// The failure of the device, if it has failed: from then on no store can be relied on.
    pub(crate) fn lost(&self) -> Option<Error> {
        let cause = self.lost.get()?;
        Some(ErrorKind::Device(cause.clone()).into())
    }

    /// Says that the device has failed.
    pub(crate) fn lose(&self, cause: DeviceError) {
        // The first cause stays.
        let _ = self.lost.set(cause);
    }

    /// The bytes that have been copied to the device, and from it.
    pub(crate) fn copied(&self) -> [u64; 2] {
        // Relaxed: they are counts alone.
        [&self.uploaded, &self.downloaded].map(|count| count.load(Ordering::Relaxed))
    }

    /// Memory of the device, with whatever its last user left there.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        let kept = self.free().get_mut(&bytes).and_then(Vec::pop);
        if let Some(address) = kept {
            return Ok(address);
        }
        self.device
            .allocate(bytes)
            .or_else(|failure| match failure {
                DeviceError::OutOfMemory { .. } => {
                    self.shrink();
                    self.device.allocate(bytes)
                }
                other => Err(other),
            })
    }

    /// Keeps memory for later.
    pub(crate) fn give_back(&self, address: Address, bytes: usize) {
        self.free().entry(bytes).or_default().push(address);
    }

    /// Gives the device back what is kept.
    fn shrink(&self) {
        let kept = std::mem::take(&mut *self.free());
        for address in kept.into_values().flatten() {
            // SAFETY: what is kept came from this device and has no user.
            unsafe { self.device.free(address) };
        }
    }

    fn free(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<Address>>> {
        // The lists are only pushed and popped, so a panic leaves them whole.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        self.shrink();
    }
}

/// How memory is about to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    /// Read or written, in part or whole.
    Write,
}

/// Where a piece of memory is up to date: none where nothing has been written yet.
const HOST: u8 = 1;
const DEVICE: u8 = 2;

/// The copy of a piece of memory on a device.
#[derive(Debug)]
pub(crate) struct Mirror {
    of: Arc<DeviceMemory>,
    /// Changed under the lock of `copy` alone.
    state: AtomicU8,
    copy: Mutex<Option<Address>>,
    bytes: usize,
}

impl Mirror {
    /// That of memory which the host has written, or which nothing has written.
    pub(crate) fn new(of: &Arc<DeviceMemory>, bytes: usize, is_written: bool) -> Self {
        Self {
            of: Arc::clone(of),
            state: AtomicU8::new(if is_written { HOST } else { 0 }),
            copy: Mutex::new(None),
            bytes,
        }
    }

    /// Whether the copy of the device is up to date.
    pub(crate) fn is_on_device(&self) -> bool {
        self.state.load(Ordering::Acquire) & DEVICE != 0
    }

    /// Brings the host's memory up to date, which lies at `data`. Where the device has failed it is
    /// filled with zeros, and [`DeviceMemory::lost`] says so.
    ///
    /// # Safety
    /// The memory has as many bytes as the mirror, and nothing else uses it unless it is up to date.
    #[inline]
    pub(crate) unsafe fn to_host(&self, data: *mut u8, access: Use) {
        let state = self.state.load(Ordering::Acquire);
        let is_ready = match access {
            Use::Read => state & HOST != 0,
            Use::Write => state == HOST,
        };
        if !is_ready {
            // SAFETY: forwarded.
            unsafe { self.bring_to_host(data, access) };
        }
    }

    /// # Safety
    /// As [`Mirror::to_host`].
    #[cold]
    unsafe fn bring_to_host(&self, data: *mut u8, access: Use) {
        let copy = self.copy();
        let state = self.state.load(Ordering::Relaxed);
        if let (DEVICE, Some(from)) = (state, *copy) {
            // SAFETY: the copy has as many bytes as the host's memory, by `on_device`; the caller promises
            // that nothing else uses what is out of date.
            let done = unsafe { self.of.device.download(from, data, self.bytes) };
            self.of
                .downloaded
                .fetch_add(self.bytes as u64, Ordering::Relaxed);
            if let Err(cause) = done {
                // SAFETY: as above.
                unsafe { data.write_bytes(0, self.bytes) };
                self.of.lose(cause);
            }
        }
        let state = match access {
            Use::Read => state | HOST,
            Use::Write => HOST,
        };
        self.state.store(state, Ordering::Release);
    }

    /// The address of the device's copy, up to date. The host's memory lies at `data`.
    ///
    /// # Safety
    /// The memory has as many bytes as the mirror, and nothing writes it meanwhile.
    pub(crate) unsafe fn on_device(
        &self,
        data: *const u8,
        access: Use,
    ) -> Result<Address, DeviceError> {
        let mut copy = self.copy();
        let address = match *copy {
            Some(address) => address,
            None => *copy.insert(self.of.allocate(self.bytes)?),
        };
        let state = self.state.load(Ordering::Relaxed);
        if state == HOST {
            // SAFETY: both have as many bytes; the caller promises that nothing writes the host's memory.
            unsafe { self.of.device.upload(data, address, self.bytes)? };
            self.of
                .uploaded
                .fetch_add(self.bytes as u64, Ordering::Relaxed);
        }
        let state = match access {
            Use::Read => state | DEVICE,
            Use::Write => DEVICE,
        };
        self.state.store(state, Ordering::Release);
        Ok(address)
    }

    fn copy(&self) -> MutexGuard<'_, Option<Address>> {
        // The address is set when there is memory for it, so a panic leaves it whole.
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let copy = self.copy.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = copy.take() {
            self.of.give_back(address, self.bytes);
        }
    }
}
