//! Archives: the members of a zip file that are files of NumPy, and their elements as bytes.
//!
//! The sizes that a file announces are checked against each other before anything is read: the
//! header of a member against its length, and that against the bytes that it is compressed to. What
//! is read is checked against the checksum of the member, which is read to its end for that.

use crate::npy::{Header, descr, head, refused, write_elements, write_slice};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder,
    ZipArchiveWriter,
};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, MAX_RANK, Shape};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The ending of the names of members that are arrays.
const ENDING: &str = ".npy";

/// More than the compression of a zip file ever gains.
const MOST_GAIN: u64 = 1100;

/// An archive that is read.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    archive: ZipArchive<FileReader>,
    members: Vec<Listed>,
}

/// A member as the directory of the archive lists it.
#[derive(Debug)]
struct Listed {
    /// The name without `.npy`.
    name: String,
    method: CompressionMethod,
    place: ZipArchiveEntryWayfinder,
}

impl Archive {
    /// Opens a file and reads the directory of the archive.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no archive.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = File::open(path);
        let file = opened.map_err(|error| refused(path, "a file that can be read", error))?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| refused(path, "a file that can be read", error))?;
        if !metadata.is_file() {
            return Err(Error::file(path, "a file", "a folder, a pipe or a device"));
        }
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let no_archive = |error: rawzip::Error| broken(path, &error);
        let archive = ZipArchive::from_file(file, &mut buffer).map_err(no_archive)?;
        let mut members = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(no_archive)? {
            let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            if let Some(name) = name.strip_suffix(ENDING) {
                members.push(Listed {
                    name: name.to_owned(),
                    method: entry.compression_method(),
                    place: entry.wayfinder(),
                });
            }
        }
        Ok(Self {
            path: path.to_owned(),
            archive,
            members,
        })
    }

    /// The names of the arrays, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// Whether there is an array of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }

    /// Opens the array of this name, of several the last one, and reads its header.
    ///
    /// # Errors
    ///
    /// If there is none, it is compressed in a way that NumPy does not use, its header is none of
    /// NumPy's, or the header says another length than the directory of the archive.
    pub fn member(&self, name: &str) -> Result<Member<'_>, Error> {
        let Some(listed) = self.members.iter().rev().find(|member| member.name == name) else {
            let names: Vec<&str> = self.names().collect();
            let found = match names.is_empty() {
                true => "no array".to_owned(),
                false => names.join(", "),
            };
            return Err(Error::file(&self.path, format!("an array `{name}`"), found));
        };
        let place = self.path.join(format!("{name}{ENDING}"));
        let entry = self.archive.get_entry(listed.place);
        let entry = entry.map_err(|error| broken(&place, &error))?;
        let stored = BufReader::with_capacity(CHUNK, entry.reader());
        let mut bytes: Box<dyn Read + '_> = match listed.method {
            CompressionMethod::STORE => Box::new(entry.verifying_reader(stored)),
            CompressionMethod::DEFLATE => {
                Box::new(entry.verifying_reader(DeflateDecoder::new(stored)))
            }
            method => {
                let expected = "an array that is stored or compressed by deflate";
                return Err(Error::file(
                    &place,
                    expected,
                    format!("the method {method}"),
                ));
            }
        };
        let len = listed.place.uncompressed_size_hint();
        let compressed = listed.place.compressed_size_hint();
        if len > compressed.saturating_mul(MOST_GAIN) {
            let expected = format!("at most {MOST_GAIN} times {compressed} bytes");
            return Err(Error::file(&place, expected, len.to_string()));
        }
        let header = Header::read(&mut bytes, &place)?;
        let (size, n_elements) = sizes(&header, &place, len)?;
        Ok(Member {
            header,
            size,
            n_elements,
            place,
            bytes,
        })
    }
}

/// An array of an archive whose header has been read.
pub struct Member<'a> {
    header: Header,
    /// Bytes of an element.
    size: usize,
    n_elements: usize,
    /// The file and the name in it, for errors.
    place: PathBuf,
    /// What comes behind the header.
    bytes: Box<dyn Read + 'a>,
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (header, place) = (&self.header, &self.place);
        write!(f, "Member({}, {header:?})", place.display())
    }
}

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;

impl Member<'_> {
    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// NumPy's name of the element type.
    #[must_use]
    pub fn descr(&self) -> &str {
        &self.header.descr
    }

    /// The dimensions.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Whether the elements come column by column.
    #[must_use]
    pub fn is_by_columns(&self) -> bool {
        self.header.is_by_columns
    }

    /// The number of elements, which the file has as far as its directory tells.
    #[must_use]
    pub fn n_elements(&self) -> usize {
        self.n_elements
    }

    /// The file and the name of the array in it, as errors name it.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// An error about this array.
    #[must_use]
    pub fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::file(&self.place, expected, found)
    }

    /// Reads the array to its end, and calls `take` with the bytes of the elements of a range, some
    /// whole elements at a time, in the order of the file.
    ///
    /// # Errors
    ///
    /// Those of `take`, and if the array is damaged.
    pub fn read(
        mut self,
        range: Range<usize>,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let size = self.size;
        // Whole elements, of which there is room for one.
        let mut buffer = vec![0; (CHUNK / size.max(1)).max(1) * size];
        let mut skip = range.start as u64 * size as u64;
        let mut rest = range.len() as u64 * size as u64;
        while skip > 0 {
            let part = buffer.len().min(usize::try_from(skip).unwrap_or(CHUNK));
            self.fill(&mut buffer[..part])?;
            skip -= part as u64;
        }
        while rest > 0 {
            let part = buffer.len().min(usize::try_from(rest).unwrap_or(CHUNK));
            self.fill(&mut buffer[..part])?;
            take(&buffer[..part])?;
            rest -= part as u64;
        }
        // What the reader behind it finds at the end is whether the checksum is right.
        let end = io::copy(&mut self.bytes, &mut io::sink());
        end.map(drop).map_err(|error| self.damaged(&error))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        let filled = self.bytes.read_exact(buffer);
        filled.map_err(|error| self.damaged(&error))
    }

    fn damaged(&self, error: &io::Error) -> Error {
        let expected = format!("{} elements with their checksum", self.n_elements);
        self.error(expected, error.to_string())
    }
}

/// The bytes of an element and the number of elements of a member whose length, with the header,
/// the directory of the archive says.
fn sizes(header: &Header, place: &Path, len: u64) -> Result<(usize, usize), Error> {
    let Some(size) = size_of_element(&header.descr) else {
        let expected = "elements that are numbers, or texts of one length";
        return Err(Error::file(place, expected, format!("'{}'", header.descr)));
    };
    if header.shape.len() > MAX_RANK {
        let expected = format!("at most {MAX_RANK} dimensions");
        return Err(Error::file(place, expected, header.shape.len().to_string()));
    }
    let shape = Shape::new(&header.shape);
    let bytes = |elements: usize| {
        let bytes = (elements as u64).checked_mul(size as u64)?;
        bytes.checked_add(header.len)
    };
    let elements = shape.checked_len();
    match elements.and_then(|elements| Some((elements, bytes(elements)?))) {
        Some((elements, bytes)) if bytes == len => Ok((size, elements)),
        Some((_, bytes)) => {
            let expected = format!("{bytes} bytes, for elements of shape {shape}");
            Err(Error::file(place, expected, len.to_string()))
        }
        None => {
            let expected = "a shape whose elements a file can hold";
            Err(Error::file(place, expected, shape.to_string()))
        }
    }
}

/// The bytes of an element, of numbers and of texts of one length.
fn size_of_element(descr: &str) -> Option<usize> {
    let mut characters = descr.chars();
    let kind = characters.nth(1)?;
    let number: usize = characters.as_str().parse().ok()?;
    match kind {
        'b' | 'i' | 'u' | 'f' | 'c' if matches!(number, 1 | 2 | 4 | 8 | 16) => Some(number),
        // Longer texts are in no file that is read here.
        'S' if number <= CHUNK => Some(number),
        'U' if number <= CHUNK => Some(4 * number),
        _ => None,
    }
}

fn broken(path: &Path, error: &rawzip::Error) -> Error {
    let found = error.to_string().to_lowercase();
    Error::file(path, "an archive of NumPy (.npz)", found)
}

/// An archive that is written.
pub struct Writer {
    archive: ZipArchiveWriter<BufWriter<File>>,
    is_compressed: bool,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer(compressed: {})", self.is_compressed)
    }
}

impl Writer {
    pub(super) fn new(file: BufWriter<File>, is_compressed: bool) -> Self {
        Self {
            archive: ZipArchiveWriter::new(file),
            is_compressed,
        }
    }

    /// Writes an array of these elements, row by row.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn add<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        elements: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        self.add_with(name, &head(descr(T::DTYPE), shape), |file| {
            write_elements(file, elements)
        })
    }

    /// As [`Writer::add`], of elements that are in memory, from which they are written.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn add_slice<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        elements: &[T],
    ) -> io::Result<()> {
        self.add_with(name, &head(descr(T::DTYPE), shape), |file| {
            write_slice(file, elements)
        })
    }

    /// Writes a text as an array without dimensions.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn add_text(&mut self, name: &str, text: &str) -> io::Result<()> {
        let head = head(&format!("|S{}", text.len()), &[]);
        self.add_with(name, &head, |file| file.write_all(text.as_bytes()))
    }

    fn add_with(
        &mut self,
        name: &str,
        head: &[u8],
        elements: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = format!("{name}{ENDING}");
        let method = match self.is_compressed {
            true => CompressionMethod::DEFLATE,
            false => CompressionMethod::STORE,
        };
        let file = self.archive.new_file(&name).compression_method(method);
        let (mut entry, config) = file.start().map_err(io::Error::other)?;
        let descriptor = match self.is_compressed {
            true => {
                let encoder = DeflateEncoder::new(&mut entry, Compression::default());
                let mut file = BufWriter::with_capacity(CHUNK, config.wrap(encoder));
                file.write_all(head)?;
                elements(&mut file)?;
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                let (encoder, descriptor) = file.finish().map_err(io::Error::other)?;
                encoder.finish()?;
                descriptor
            }
            false => {
                let mut file = BufWriter::with_capacity(CHUNK, config.wrap(&mut entry));
                file.write_all(head)?;
                elements(&mut file)?;
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.finish().map_err(io::Error::other)?.1
            }
        };
        entry.finish(descriptor).map_err(io::Error::other)?;
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        let mut file = self.archive.finish().map_err(io::Error::other)?;
        file.flush()
    }
}
