//! The hash of a result: equal bits, equal hash.
//!
//! FNV-1a with 64 bits over the little-endian bytes of the elements in row-major order, as that of
//! `sparsefuse solve`. Every NaN counts as the same one, since its sign and payload mean nothing.

use sparsefuse_kernels::{DType, Element};

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of the elements so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(OFFSET_BASIS)
    }
}

impl Hash {
    /// Adds real elements.
    pub(crate) fn add<T: Element>(&mut self, elements: &[T]) {
        for element in elements {
            let [bits, _] = element.to_bits();
            let bits = match T::DTYPE {
                DType::F64 if f64::from_bits(bits).is_nan() => f64::NAN.to_bits(),
                DType::F32 if f32::from_bits(bits as u32).is_nan() => f32::NAN.to_bits().into(),
                _ => bits,
            };
            for &byte in &bits.to_le_bytes()[..T::DTYPE.size()] {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
            }
        }
    }

    /// The hash as text.
    pub(crate) fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T: Element>(elements: &[T]) -> String {
        let mut hash = Hash::default();
        hash.add(elements);
        hash.text()
    }

    #[test]
    fn is_fnv_1a_of_the_bytes() {
        // The published hash of "foobar".
        let halves = [i32::from_le_bytes(*b"foob"), i32::from_le_bytes(*b"ar\0\0")];
        let expected = 0x8594_4171_f739_67e8u64
            .wrapping_mul(PRIME)
            .wrapping_mul(PRIME);
        assert_eq!(of(&halves), format!("{expected:016x}"));
        assert_eq!(of(&[f64::from_le_bytes(*b"foobar\0\0")]), of(&halves));
        assert_ne!(of(&[0.0]), of(&[-0.0]));
        assert_eq!(of(&[f64::NAN]), of(&[-f64::NAN]));
    }
}
