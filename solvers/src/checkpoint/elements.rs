//! Elements in a file: little-endian, the real part of a complex number first.

use sparsefuse_kernels::{Element, Field, Value};
use std::io::{self, Read, Write};

/// Writes some elements.
pub(super) fn write_elements<T: Field>(writer: &mut impl Write, elements: &[T]) -> io::Result<()> {
    for element in elements {
        for word in words(*element) {
            writer.write_all(&word.to_le_bytes()[..word_size::<T>()])?;
        }
    }
    Ok(())
}

/// Reads as many elements.
pub(super) fn read_elements<T: Field>(reader: &mut impl Read, len: usize) -> io::Result<Vec<T>> {
    let mut elements = Vec::with_capacity(len);
    for _ in 0..len {
        let mut bits = [0u64; 2];
        for word in &mut bits[..words(T::ZERO).count()] {
            let mut bytes = [0u8; 8];
            reader.read_exact(&mut bytes[..word_size::<T>()])?;
            *word = u64::from_le_bytes(bytes);
        }
        elements.push(element(bits));
    }
    Ok(elements)
}

/// A sum over elements, of which the first is number `first`, such that the sums of neighbouring
/// rows add up to that of all, and no element can change or move unnoticed but by rare chance.
pub(super) fn sum_of<T: Field>(first: usize, elements: &[T]) -> u64 {
    let numbered = elements.iter().zip(first as u64..);
    numbered.fold(0, |sum, (element, number)| {
        let of_element = words(*element).fold(number, |hash, word| mix(hash ^ word));
        sum.wrapping_add(mix(of_element))
    })
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, 2014).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The bits of the parts.
fn words<T: Field>(element: T) -> impl Iterator<Item = u64> {
    let parts = if T::IS_COMPLEX { 2 } else { 1 };
    element.to_bits().into_iter().take(parts)
}

/// The bytes of a part.
fn word_size<T: Field>() -> usize {
    T::DTYPE.real().size()
}

/// The element with these bits.
pub(super) fn element<T: Element>(bits: [u64; 2]) -> T {
    let value = Value::from_bits(T::DTYPE, bits);
    value.get().expect("the value was made with this type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    fn check<T: Field>(elements: &[T]) {
        let mut bytes = Vec::new();
        write_elements(&mut bytes, elements).unwrap();
        assert_eq!(bytes.len(), size_of_val(elements));
        let read = read_elements::<T>(&mut bytes.as_slice(), elements.len()).unwrap();
        assert_eq!(read, elements);
        let (left, right) = elements.split_at(1);
        let sum = sum_of(5, elements);
        assert_eq!(sum, sum_of(5, left).wrapping_add(sum_of(6, right)));
        assert_ne!(sum, sum_of(6, elements));
        let mut turned = elements.to_vec();
        turned.reverse();
        assert_ne!(sum, sum_of(5, &turned));
    }

    #[test]
    fn elements_travel_and_sums_add_up() {
        check(&[1.5f64, -0.0, f64::INFINITY]);
        check(&[1.5f32, 7.0]);
        check(&[Complex::new(1.0f32, 2.0), Complex::new(2.0, 1.0)]);
        check(&[Complex::new(1.0f64, 2.0), Complex::new(2.0, 1.0)]);
    }
}
