//! What a device has of the memory of a rank.
//!
//! Each piece of memory of a pool whose rank has a device may have a copy there. Who is about to
//! use one says where and whether it writes; what is out of date there is brought up to date first,
//! and what is written makes the other out of date. So nothing but this module knows that there are
//! two: a store that only kernels of the device use is never copied, and a host function that reads
//! one finds it in the host's memory.
//!
//! Whole pieces are copied, whatever part of them is used.
#![expect(unsafe_code, reason = "memory is copied from device to host and back")]

use crate::error::{Error, ErrorKind};
use sparsefuse_kernels::device::{Address, Device, DeviceError, Reordered, reorder};
use sparsefuse_kernels::{DType, Element};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The smallest piece of memory of a device.
const SMALLEST: usize = 256;

/// The device of a rank, and its memory that is kept for later.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    device: Box<dyn Device>,
    /// Memory that has been given back, by its size: what the device was asked for before may still
    /// use it, which is done before it is used anew, since a device does things in their order.
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
        // A device has no memory of no bytes.
        let bytes = bytes.max(SMALLEST);
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

    /// A copy of some elements.
    pub(crate) fn copy_of<T: Element>(
        self: &Arc<Self>,
        elements: &[T],
    ) -> Result<Owned, DeviceError> {
        let bytes = size_of_val(elements);
        let copy = Owned::new(self, bytes)?;
        // SAFETY: both have as many bytes.
        unsafe {
            self.device
                .upload(elements.as_ptr().cast(), copy.address, bytes)?
        };
        self.uploaded.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(copy)
    }

    /// Keeps memory for later.
    pub(crate) fn give_back(&self, address: Address, bytes: usize) {
        let bytes = bytes.max(SMALLEST);
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

/// Memory of a device with one owner, given back when dropped.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) address: Address,
    bytes: usize,
    of: Arc<DeviceMemory>,
}

impl Owned {
    pub(crate) fn new(of: &Arc<DeviceMemory>, bytes: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            address: of.allocate(bytes)?,
            bytes,
            of: Arc::clone(of),
        })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.of.give_back(self.address, self.bytes);
    }
}

/// The structure of rows in slices ([`Slices`](sparsefuse_kernels::device::Slices)).
#[derive(Debug)]
pub(crate) struct DeviceSlices {
    pub(crate) slices: Owned,
    pub(crate) rows: Owned,
    pub(crate) columns: Owned,
    pub(crate) order: Owned,
    pub(crate) n_slices: usize,
    /// How many places for entries there are.
    pub(crate) places: usize,
}

/// Entries in the order of slices.
#[derive(Debug)]
pub(crate) struct SlicedValues {
    pub(crate) of: Arc<DeviceSlices>,
    pub(crate) values: Owned,
    /// For each slice whether all its rows have the same values.
    pub(crate) uniform: Owned,
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
/// Together with `HOST` alone: the device has entries in slices and no other copy, so who writes
/// the host's memory must drop them.
const SLICED: u8 = 4;

/// The copy of a piece of memory on a device.
#[derive(Debug)]
pub(crate) struct Mirror {
    of: Arc<DeviceMemory>,
    /// Changed under the lock of `copies` alone.
    state: AtomicU8,
    copies: Mutex<Copies>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Copies {
    plain: Option<Owned>,
    /// Where the memory holds entries: these in the order of slices. A task that is about to run
    /// may hold them longer than this.
    sliced: Option<Arc<SlicedValues>>,
}

impl Mirror {
    /// That of memory which the host has written, or which nothing has written.
    pub(crate) fn new(of: &Arc<DeviceMemory>, bytes: usize, is_written: bool) -> Self {
        Self {
            of: Arc::clone(of),
            state: AtomicU8::new(if is_written { HOST } else { 0 }),
            copies: Mutex::default(),
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
    /// The memory has as many bytes as the mirror, and nothing else uses it unless it is up to
    /// date.
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
        let mut copies = self.copies();
        let state = self.state.load(Ordering::Relaxed);
        if let (DEVICE, Some(from)) = (state & (HOST | DEVICE), &copies.plain) {
            // SAFETY: the copy has as many bytes as the host's memory, by `on_device`; the caller
            // promises that nothing else uses what is out of date.
            let done = unsafe { self.of.device.download(from.address, data, self.bytes) };
            self.of
                .downloaded
                .fetch_add(self.bytes as u64, Ordering::Relaxed);
            if let Err(cause) = done {
                // SAFETY: as above.
                unsafe { data.write_bytes(0, self.bytes) };
                self.of.lose(cause);
            }
        }
        self.change(&mut copies, (state, HOST), access);
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
        let mut copies = self.copies();
        // SAFETY: forwarded.
        unsafe { self.bring_to_device(&mut copies, data, access) }
    }

    /// # Safety
    /// As [`Mirror::on_device`].
    unsafe fn bring_to_device(
        &self,
        copies: &mut Copies,
        data: *const u8,
        access: Use,
    ) -> Result<Address, DeviceError> {
        let address = match &copies.plain {
            Some(plain) => plain.address,
            None => (copies.plain.insert(Owned::new(&self.of, self.bytes)?)).address,
        };
        let state = self.state.load(Ordering::Relaxed);
        if state & (HOST | DEVICE) == HOST {
            // SAFETY: both have as many bytes; the caller promises that nothing writes the host's
            // memory.
            unsafe { self.of.device.upload(data, address, self.bytes)? };
            self.of
                .uploaded
                .fetch_add(self.bytes as u64, Ordering::Relaxed);
        }
        self.change(copies, (state, DEVICE), access);
        Ok(address)
    }

    /// What was up to date in some places is about to be used in one, where it is up to date.
    fn change(&self, copies: &mut Copies, (state, place): (u8, u8), access: Use) {
        let state = match access {
            Use::Read => state | place,
            Use::Write => {
                copies.sliced = None;
                place
            }
        };
        self.state.store(state, Ordering::Release);
    }

    /// The entries that the memory holds from byte `skip` on, in the order of slices. Who hands out
    /// their addresses holds them until the kernels are launched.
    ///
    /// # Safety
    /// As [`Mirror::on_device`]; and there are entries of this type, as many as the slices name.
    pub(crate) unsafe fn sliced(
        &self,
        data: *const u8,
        (skip, dtype): (usize, DType),
        slices: &Arc<DeviceSlices>,
    ) -> Result<Arc<SlicedValues>, DeviceError> {
        let mut copies = self.copies();
        if let Some(sliced) = &copies.sliced
            && Arc::ptr_eq(&sliced.of, slices)
        {
            return Ok(Arc::clone(sliced));
        }
        let was_there = copies.plain.is_some();
        // SAFETY: forwarded.
        let plain = unsafe { self.bring_to_device(&mut copies, data, Use::Read)? };
        let sliced = SlicedValues {
            of: Arc::clone(slices),
            values: Owned::new(&self.of, slices.places * dtype.size())?,
            uniform: Owned::new(&self.of, slices.n_slices * size_of::<u32>())?,
        };
        let memory = Reordered {
            slices: (slices.slices.address, slices.n_slices),
            order: (slices.order.address, slices.places),
            entries: Address(plain.0 + skip as u64),
            values: sliced.values.address,
            uniform: sliced.uniform.address,
        };
        // SAFETY: there is room for all places and slices, and the caller promises the entries.
        unsafe { reorder(dtype, &memory, &*self.of.device)? };
        let sliced = Arc::new(sliced);
        copies.sliced = Some(Arc::clone(&sliced));
        // Of what was brought here for this alone, and is on the host, no other copy is needed.
        if !was_there && self.state.load(Ordering::Relaxed) & HOST != 0 {
            copies.plain = None;
            self.state.store(HOST | SLICED, Ordering::Release);
        }
        Ok(sliced)
    }

    fn copies(&self) -> MutexGuard<'_, Copies> {
        // Copies are replaced as a whole, so a panic leaves them whole.
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
