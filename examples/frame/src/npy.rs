//! Files that `numpy.load` reads: version 1.0 of NumPy's format, little-endian, row-major.

use std::io::{self, Write};

/// Writes an array: its type as NumPy spells it, its shape, the bytes of its elements.
pub(crate) fn write(
    mut file: impl Write,
    dtype: &str,
    shape: &[usize],
    bytes: &[u8],
) -> io::Result<()> {
    file.write_all(&header(dtype, shape))?;
    file.write_all(bytes)?;
    file.flush()
}

/// The header, padded so that the elements begin at a multiple of 64 bytes.
fn header(dtype: &str, shape: &[usize]) -> Vec<u8> {
    let dims: String = shape.iter().map(|dim| format!("{dim},")).collect();
    let text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({dims}), }}");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    let padding = 63 - (header.len() + 2 + text.len()) % 64;
    let len = (text.len() + padding + 1) as u16;
    header.extend(len.to_le_bytes());
    header.extend(text.bytes());
    header.resize(header.len() + padding, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::header;

    #[test]
    fn the_header_is_that_of_numpy() {
        // Of numpy.save of an array of shape (2, 3), NumPy 1.24.
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,3,), }";
        let found = header("<f8", &[2, 3]);
        assert_eq!(found[..10], *b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(found[10..10 + text.len()], *text.as_bytes());
        assert_eq!((found.len(), found.last()), (128, Some(&b'\n')));
    }
}
