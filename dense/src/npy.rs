//! Arrays in NumPy's files (`.npy`): each rank writes and reads its own rows.
//!
//! The format is that of `numpy.lib.format`: a magic string, a version, the length of a header, the
//! header, which is a Python dictionary of the element type, the order and the shape, and then the
//! elements. Version 1.0 is written, little-endian and row by row; versions 1 to 3 are read, in
//! either order of bytes and of elements.

use crate::array::Array;
use crate::crew::{crew, map};
use crate::operand::check_len;
use sparsefuse_kernels::{DType, Element};
use sparsefuse_runtime::{Error, Runtime, Shape, StoreHandle, as_bytes, as_bytes_mut};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";

impl<T: Element, const D: usize> Array<T, D> {
    /// Writes the array to a file that NumPy's `load` reads. On several ranks each writes its own
    /// rows, so all of them must reach the file. It appears under its name when it is complete;
    /// until then it has `.part` behind that. Every rank must ask.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let path = std::env::temp_dir().join(format!("save_npy_{}.npy", std::process::id()));
    /// let a = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// a.save_npy(&path)?;
    /// let b = Array::<f64, 2>::load_npy(&path)?;
    /// assert_eq!((b.shape(), b.to_vec()?), (a.shape(), a.to_vec()?));
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the array failed, or the file cannot be written.
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let (path, runtime) = (path.as_ref(), self.runtime());
        let part = part_of(path);
        let own = runtime.agree(self.local())?;
        let head = head(descr(T::DTYPE), &self.shape());
        let first = own.rows().start * self.arg().shape().row_len() * T::DTYPE.size();
        let is_first = runtime.rank() == 0;
        let failed = |error: io::Error| refused(path, "a file that can be written", error);
        let begin = || match is_first {
            true => fs::write(&part, &head).map_err(failed),
            false => Ok(()),
        };
        runtime.agree(begin())?;
        let write = || {
            // Where every rank has all rows, the first one writes them.
            if own.is_replicated() && !is_first {
                return Ok(());
            }
            let mut file = OpenOptions::new().write(true).open(&part)?;
            file.seek(SeekFrom::Start((head.len() + first) as u64))?;
            write_slice(&mut file, &own)
        };
        runtime.agree(write().map_err(failed))?;
        let end = || match is_first {
            true => fs::rename(&part, path).map_err(failed),
            false => Ok(()),
        };
        runtime.agree(end())
    }

    /// Reads an array from a file as NumPy's `save` writes it, also on a machine with another order
    /// of bytes. On several ranks each reads its own rows. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no such file, has elements of another type or another number
    /// of dimensions, or ends too early; or if memory is refused.
    pub fn load_npy(path: impl AsRef<Path>) -> Result<Self, Error> {
        let (path, runtime) = (path.as_ref(), Runtime::current());
        let header = runtime.agree(Header::of_file(path))?;
        let layout = runtime.agree(header.layout::<T, D>("load_npy", path))?;
        runtime.agree_on_file(path, &layout.facts(&header))?;
        let Layout {
            dims,
            is_big_endian,
        } = layout;
        runtime.agree(header.check_end(path, dims, T::DTYPE.size()))?;
        let (partition, rows) = runtime.default_rows(dims);
        let first = header.len + (rows.start * dims.row_len() * T::DTYPE.size()) as u64;
        let store = runtime.store_by_filling(dims, partition, |elements: &mut [T]| {
            /// Elements that a thread reads at a time.
            const PART: usize = 1 << 20;
            let workers = crew(&runtime, size_of_val(elements) as u64);
            let parts = elements.chunks_mut(PART).enumerate().collect();
            let read = map(&workers, parts, |(part, elements): (usize, &mut [T])| {
                let mut file = File::open(path)?;
                let before = (part * PART * T::DTYPE.size()) as u64;
                file.seek(SeekFrom::Start(first + before))?;
                read_elements(&mut file, elements, is_big_endian)
            });
            let read: io::Result<()> = read.into_iter().collect();
            read.map_err(|error| refused(path, &format!("{} elements", dims.len()), error))
        });
        Ok(Self::of_file(runtime.agree(store)?, &header))
    }

    /// The array whose elements are those of a file, in the order of the file.
    pub(crate) fn of_file(store: StoreHandle, header: &Header) -> Self {
        let array = Self::wrap(store, None);
        match header.is_by_columns {
            true => array.t(),
            false => array,
        }
    }
}

/// The name of a file until it is complete.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    PathBuf::from(part)
}

/// How NumPy calls an element type.
pub(crate) fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::ComplexF32 => "<c8",
        DType::ComplexF64 => "<c16",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::Bool => "|b1",
    }
}

/// All bytes before the elements, which begin at a multiple of 64.
pub(crate) fn head(descr: &str, shape: &[usize]) -> Vec<u8> {
    let dims: Vec<String> = shape.iter().map(|dim| format!("{dim},")).collect();
    let dims = dims.join(" ");
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    let before = MAGIC.len() + 4;
    let len = (before + text.len() + 1).next_multiple_of(64) - before;
    let mut head = MAGIC.to_vec();
    head.extend([1, 0]);
    // A shape has few dimensions, so the length has two bytes.
    head.extend((len as u16).to_le_bytes());
    head.extend(format!("{text:width$}\n", width = len - 1).bytes());
    head
}

/// What a file says before its elements.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) descr: String,
    pub(crate) is_by_columns: bool,
    pub(crate) shape: Vec<usize>,
    /// Bytes before the elements.
    pub(crate) len: u64,
}

/// How the elements of a file become those of an array.
pub(crate) struct Layout {
    /// The dimensions in the order of the file.
    pub(crate) dims: Shape,
    pub(crate) is_big_endian: bool,
}

impl Layout {
    /// What ranks must have found alike.
    pub(crate) fn facts(&self, header: &Header) -> Vec<u64> {
        let dims = self.dims.dims().iter().map(|&dim| dim as u64);
        let kind = [
            header.len,
            header.is_by_columns.into(),
            self.is_big_endian.into(),
        ];
        dims.chain(kind).collect()
    }
}

impl Header {
    fn of_file(path: &Path) -> Result<Self, Error> {
        check_regular(path)?;
        let opened = File::open(path);
        let mut file = opened.map_err(|error| refused(path, "a file that can be read", error))?;
        Self::read(&mut file, path)
    }

    /// Reads the header at the beginning of a file, which `path` names in errors.
    pub(crate) fn read(file: &mut impl Read, path: &Path) -> Result<Self, Error> {
        /// Longer ones NumPy does not trust.
        const LONGEST: usize = 10_000;
        let unread = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::file(
                path,
                "a file in NumPy's format",
                "one that ends in its header",
            ),
            _ => refused(path, "a file that can be read", error),
        };
        let mut start = [0; 8];
        file.read_exact(&mut start).map_err(unread)?;
        if &start[..6] != MAGIC {
            return Err(Error::file(
                path,
                "a file in NumPy's format",
                "one that begins otherwise",
            ));
        }
        let (version, mut of_len) = (start[6], [0; 4]);
        let n_bytes = match version {
            1 => 2,
            2 | 3 => 4,
            _ => {
                return Err(Error::file(
                    path,
                    "version 1, 2 or 3 of the format",
                    version.to_string(),
                ));
            }
        };
        file.read_exact(&mut of_len[..n_bytes]).map_err(unread)?;
        let len = u32::from_le_bytes(of_len) as usize;
        if len > LONGEST {
            let expected = format!("a header of at most {LONGEST} bytes");
            return Err(Error::file(path, expected, len.to_string()));
        }
        let mut text = vec![0; len];
        file.read_exact(&mut text).map_err(unread)?;
        if text.last() != Some(&b'\n') {
            // The length is not that of the header, so the elements begin elsewhere.
            return Err(Error::file(
                path,
                "a header that ends with its line",
                format!("one of {len} bytes that does not"),
            ));
        }
        let text = String::from_utf8_lossy(&text);
        let header = Self::parse(&text, (start.len() + n_bytes + len) as u64);
        header.ok_or_else(|| {
            Error::file(
                path,
                "a header with descr, fortran_order and shape",
                text.trim(),
            )
        })
    }

    /// How the elements lie, if they are of this type and the array has `D` dimensions.
    pub(crate) fn layout<T: Element, const D: usize>(
        &self,
        op: &'static str,
        path: &Path,
    ) -> Result<Layout, Error> {
        let (expected, found) = (descr(T::DTYPE), &self.descr);
        let is_big_endian = found.replacen('>', "<", 1) == expected && found != expected;
        if expected != found && !is_big_endian {
            return Err(Error::file(
                path,
                format!("elements of type '{expected}'"),
                format!("'{found}'"),
            ));
        }
        if self.shape.len() != D {
            let found = self.shape.len().to_string();
            return Err(Error::file(path, format!("{D} dimensions"), found));
        }
        let mut shape: [usize; D] = std::array::from_fn(|d| self.shape[d]);
        if self.is_by_columns {
            shape.reverse();
        }
        let dims = Shape::new(&shape);
        check_len(op, dims)?;
        Ok(Layout {
            dims,
            is_big_endian,
        })
    }

    /// Refuses a file that ends before its elements do, before there is memory for them.
    fn check_end(&self, path: &Path, shape: Shape, size: usize) -> Result<(), Error> {
        let found = fs::metadata(path);
        let found = found.map_err(|error| refused(path, "a file that can be read", error))?;
        let expected = (shape.len() as u64 * size as u64).saturating_add(self.len);
        if found.is_file() && found.len() < expected {
            let expected = format!("{expected} bytes, for {} elements", shape.len());
            return Err(Error::file(path, expected, found.len().to_string()));
        }
        Ok(())
    }

    fn parse(text: &str, len: u64) -> Option<Self> {
        let after = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let descr = match after("descr")?.strip_prefix('\'') {
            Some(rest) => rest.split_once('\'')?.0,
            // Records have a list of names and types.
            None => {
                let list = after("descr")?;
                &list[..=list.find(']')?]
            }
        };
        let order = after("fortran_order")?;
        let dims = after("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let dims = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty());
        // Python 2 has written its long numbers with an L.
        let dims = dims.map(|dim| dim.strip_suffix('L').unwrap_or(dim));
        let shape: Result<Vec<usize>, _> = dims.map(str::parse).collect();
        let shape = shape.ok()?;
        let is_by_columns = match (order.starts_with("True"), order.starts_with("False")) {
            (true, _) => true,
            (_, true) => false,
            _ => return None,
        };
        Some(Self {
            descr: descr.to_owned(),
            // One dimension is in either order.
            is_by_columns: is_by_columns && shape.len() > 1,
            shape,
            len,
        })
    }
}

/// Elements that are made of bytes at a time: some system calls, and memory that stays in the
/// caches.
const CHUNK: usize = 8 << 10;

/// Writes elements, little-endian: on such a machine the memory that they are in.
pub(crate) fn write_slice<T: Element>(
    file: &mut (impl Write + ?Sized),
    elements: &[T],
) -> io::Result<()> {
    match cfg!(target_endian = "little") {
        true => file.write_all(as_bytes(elements)),
        false => write_elements(file, elements.iter().copied()),
    }
}

/// As [`write_slice`], of elements that are made one by one.
pub(crate) fn write_elements<T: Element>(
    file: &mut (impl Write + ?Sized),
    elements: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    /// Elements that are written at a time: the system makes larger pages of more.
    const PART: usize = 1 << 16;
    let (size, half) = (T::DTYPE.size(), part_size(T::DTYPE));
    let mut bytes = vec![0; PART * size];
    let mut elements = elements.into_iter();
    loop {
        let mut count = 0;
        for (bytes, x) in bytes
            .chunks_exact_mut(size)
            .zip(elements.by_ref().take(PART))
        {
            let [first, second] = x.to_bits().map(u64::to_le_bytes);
            bytes[..half].copy_from_slice(&first[..half]);
            bytes[half..].copy_from_slice(&second[..size - half]);
            count += 1;
        }
        file.write_all(&bytes[..count * size])?;
        if count < PART {
            return Ok(());
        }
    }
}

/// Reads elements: in the order of the machine, straight into their memory.
fn read_elements<T: Element>(
    file: &mut impl Read,
    elements: &mut [T],
    is_big_endian: bool,
) -> io::Result<()> {
    let is_own_order = cfg!(target_endian = "big") == is_big_endian;
    if is_own_order && let Some(bytes) = as_bytes_mut(elements) {
        return file.read_exact(bytes);
    }
    let size = T::DTYPE.size();
    let mut bytes = vec![0; CHUNK.min(elements.len()) * size];
    for elements in elements.chunks_mut(CHUNK) {
        let bytes = &mut bytes[..elements.len() * size];
        file.read_exact(bytes)?;
        decode(elements, bytes, is_big_endian);
    }
    Ok(())
}

/// Elements of bytes, of which there are enough for all.
pub(crate) fn decode<T: Element>(elements: &mut [T], bytes: &[u8], is_big_endian: bool) {
    let (size, half) = (T::DTYPE.size(), part_size(T::DTYPE));
    let part = |bytes: &[u8]| {
        let mut part = [0; 8];
        part[..bytes.len()].copy_from_slice(bytes);
        if is_big_endian {
            part[..bytes.len()].reverse();
        }
        u64::from_le_bytes(part)
    };
    for (x, bytes) in elements.iter_mut().zip(bytes.chunks_exact(size)) {
        let (first, second) = bytes.split_at(half);
        *x = T::from_bits([part(first), part(second)]);
    }
}

/// Bytes of an element, or of each part of a complex number.
fn part_size(dtype: DType) -> usize {
    match dtype.is_complex() {
        true => dtype.size() / 2,
        false => dtype.size(),
    }
}

/// Refuses what is there and is no file that can be read more than once.
pub(crate) fn check_regular(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(Error::file(
            path,
            "a regular file, which is read more than once",
            "a pipe or a device",
        )),
        _ => Ok(()),
    }
}

pub(crate) fn refused(path: &Path, expected: &str, error: io::Error) -> Error {
    Error::file(path, expected, error.to_string())
}
