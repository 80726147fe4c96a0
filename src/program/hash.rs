//! The hash of a solution: equal bits, equal hash.
//!
//! FNV-1a with 64 bits over the little-endian bytes of the elements, column after column, the real
//! part of a complex element first. Every NaN counts as the same one, since its sign and payload
//! mean nothing.

use sparsefuse::kernels::{DType, Element};

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of the elements so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(OFFSET_BASIS)
    }
}

impl Hash {
    /// Adds the elements of a vector.
    pub(super) fn add<T: Element>(&mut self, elements: &[T]) {
        let is_complex = T::DTYPE.is_complex();
        self.0 = elements.iter().fold(self.0, |hash, element| {
            let [re, im] = element.to_bits();
            let hash = add_word(hash, T::DTYPE.real(), re);
            if is_complex {
                add_word(hash, T::DTYPE.real(), im)
            } else {
                hash
            }
        });
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }
}

fn add_word(hash: u64, dtype: DType, bits: u64) -> u64 {
    let bits = match dtype {
        DType::F32 if f32::from_bits(bits as u32).is_nan() => u64::from(f32::NAN.to_bits()),
        DType::F64 if f64::from_bits(bits).is_nan() => f64::NAN.to_bits(),
        _ => bits,
    };
    let bytes = bits.to_le_bytes();
    bytes[..dtype.size()].iter().fold(hash, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    fn of<T: Element>(elements: &[T]) -> u64 {
        let mut hash = Hash::default();
        let (first, rest) = elements.split_at(elements.len() / 2);
        hash.add(first);
        hash.add(rest);
        hash.value()
    }

    #[test]
    fn is_fnv_1a_of_the_bytes() {
        assert_eq!(of::<f64>(&[]), OFFSET_BASIS);
        // The bytes of "foobar\0\0" hashed: the published value of "foobar", then two zeros.
        let foobar = f64::from_le_bytes(*b"foobar\0\0");
        let published = 0x8594_4171_f739_67e8u64;
        let expected = published.wrapping_mul(PRIME).wrapping_mul(PRIME);
        assert_eq!(of(&[foobar]), expected);
        let halves = [f32::from_le_bytes(*b"foob"), f32::from_le_bytes(*b"ar\0\0")];
        assert_eq!(of(&halves), expected);
        assert_eq!(of(&[Complex::new(halves[0], halves[1])]), expected);
    }

    #[test]
    fn tells_bits_apart_but_no_nans() {
        assert_ne!(of(&[0.0f64]), of(&[-0.0f64]));
        assert_eq!(of(&[f64::NAN]), of(&[-f64::NAN]));
        assert_eq!(of(&[f32::NAN]), of(&[-f32::NAN]));
    }
}
