//! Elements as bytes: what messages carry, and what instances hold.
#![expect(unsafe_code, reason = "memory of one type is read as bytes, and back")]

use crate::error::Error;
use crate::memory::instance::Instance;
use crate::memory::reserve::{reserve, zeros};
use sparsefuse_kernels::{DType, Element};

/// The elements of an instance that is not being written: `machine/outputs.rs` writes an instance
/// in place only where it has a single handle.
pub(crate) fn elements<T: Element>(instance: &Instance) -> &[T] {
    // SAFETY: the callers, `Runtime::local`, `Runtime::read`, `Runtime::read_scalar` and
    // `HostArgs::read`, compare the element type with that of the store; kernels write elements of
    // the store's type, and new memory is zero, which is an element of every type. Holding the
    // `Arc` of the instance, or the runtime's lock, keeps writers away. `Room` has one type from
    // the beginning, and its instance one owner.
    unsafe { instance.as_slice::<T>() }
}

/// The elements of a new instance, whose memory still has what its last user left there.
pub(crate) fn elements_to_fill<T: Element>(instance: &mut Instance) -> &mut [T] {
    if T::DTYPE == DType::Bool {
        // SAFETY: the memory has room for the elements (`Instance::new`), one byte each.
        unsafe { std::ptr::write_bytes(instance.data(), 0, instance.len()) };
    }
    elements_mut(instance)
}

/// The elements of an instance that was made for this type, by `elements_to_fill`.
pub(crate) fn elements_mut<T: Element>(instance: &mut Instance) -> &mut [T] {
    // SAFETY: the memory holds `len` elements and comes from the pool, so it is aligned to 64 bytes
    // and initialised (`block.rs`); any bytes are an element of a type other than bool, and bools
    // have been made false first. The instance is borrowed mutably, so no other code reads or
    // writes it.
    unsafe { std::slice::from_raw_parts_mut(instance.data().cast::<T>(), instance.len()) }
}

/// The bytes of some elements, in the order of the machine: what is written to a file without a
/// copy.
///
/// ```
/// use sparsefuse_runtime::as_bytes;
///
/// assert_eq!(as_bytes(&[1.5f64, -2.0]), [1.5f64.to_ne_bytes(), (-2.0f64).to_ne_bytes()].concat());
/// assert_eq!(as_bytes(&[true, false]), [1, 0]);
/// ```
#[must_use]
pub fn as_bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: no element type has padding, so all bytes are initialised.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of some elements, in the order of the machine, to be filled from a file; none for
/// `bool`, of which not every byte is one.
///
/// ```
/// use sparsefuse_runtime::as_bytes_mut;
///
/// let mut elements = [0u32; 2];
/// as_bytes_mut(&mut elements).unwrap()[..4].copy_from_slice(&7u32.to_ne_bytes());
/// assert_eq!(elements, [7, 0]);
/// assert!(as_bytes_mut(&mut [true]).is_none());
/// ```
#[must_use]
pub fn as_bytes_mut<T: Element>(elements: &mut [T]) -> Option<&mut [u8]> {
    let len = size_of_val(elements);
    // SAFETY: no element type has padding, and of all but bool any bytes are an element.
    (T::DTYPE != DType::Bool)
        .then(|| unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), len) })
}

/// The bytes of an instance that is not being written (see [`elements`]), whose elements have this
/// size.
pub(crate) fn of_instance(instance: &Instance, size: usize) -> &[u8] {
    // SAFETY: memory of the pool is initialised (`block.rs`), that which it adopts has elements
    // without padding, and as many bytes are there, as `bytes_of` has checked.
    unsafe { std::slice::from_raw_parts(instance.to_read(), bytes_of(instance, size)) }
}

/// The bytes of a new instance, to be filled with elements of this size.
pub(crate) fn of_instance_mut(instance: &mut Instance, size: usize) -> &mut [u8] {
    let len = bytes_of(instance, size);
    // SAFETY: as in `of_instance`; the instance is borrowed mutably, so no other code reads or
    // writes it.
    unsafe { std::slice::from_raw_parts_mut(instance.data(), len) }
}

fn bytes_of(instance: &Instance, size: usize) -> usize {
    let len = instance.len() * size;
    assert!(
        len <= instance.capacity(),
        "the size is that of the instance's elements"
    );
    len
}

/// New elements whose bytes `fill` writes, in place of zeros: those of elements, of which those of
/// a bool are 0 or 1. It is called also where there is no memory, with that failure.
pub(crate) fn filled<T: Element>(
    len: usize,
    fill: impl FnOnce(Result<&mut [u8], Error>) -> Result<(), Error>,
) -> Result<Vec<T>, Error> {
    let mut elements = match reserve::<T>(len) {
        Ok(elements) => elements,
        Err(cause) => return fill(Err(cause.clone())).and(Err(cause)),
    };
    let data = elements.as_mut_ptr();
    // SAFETY: the vector has memory for `len` elements, of which no other code knows.
    let bytes = unsafe {
        data.write_bytes(0, len);
        std::slice::from_raw_parts_mut(data.cast::<u8>(), len * size_of::<T>())
    };
    fill(Ok(bytes))?;
    // SAFETY: there is memory for them, and its bytes are those of elements, as callers promise:
    // `comm/exchange` looks at what arrives as bools, and copies the rest from elements.
    unsafe { elements.set_len(len) };
    Ok(elements)
}

/// A copy of the bytes of some elements, or the failure to get memory for them.
pub(crate) fn from_elements<T: Element>(elements: &[T]) -> Result<Vec<u8>, Error> {
    let len = size_of_val(elements);
    let mut bytes = zeros(len)?;
    // SAFETY: both have `len` bytes, and no element type has padding.
    unsafe {
        std::ptr::copy_nonoverlapping(elements.as_ptr().cast(), bytes.as_mut_ptr(), len);
    }
    Ok(bytes)
}

/// A copy of the elements that `from_elements::<T>` made bytes of, or the failure to get
/// memory for them.
///
/// # Panics
///
/// If the number of bytes is not a multiple of the element's size, which is a defect.
pub(crate) fn to_elements<T: Element>(bytes: &[u8]) -> Result<Vec<T>, Error> {
    assert_eq!(
        bytes.len() % size_of::<T>(),
        0,
        "a message holds whole elements"
    );
    let mut elements = reserve(bytes.len() / size_of::<T>())?;
    elements.resize(bytes.len() / size_of::<T>(), T::default());
    // SAFETY: both have as many bytes; the bytes were elements of type `T` when they were sent,
    // so they are valid ones.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), elements.as_mut_ptr().cast(), bytes.len());
    }
    Ok(elements)
}
