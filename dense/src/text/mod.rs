//! Vectors and matrices in text files, as NumPy's `loadtxt` reads them and `savetxt` writes them: a
//! row a line.
//!
//! Every rank counts rows and columns, and then makes elements of its own rows, for which it reads
//! their part of the file once more; so it holds no more than these and a block of some megabytes.
//! The threads of a rank share the lines of a block. Rank 0 writes.

mod lines;
mod words;

use crate::array::Array;
use crate::crew::{crew, map};
use crate::npy::{part_of, refused};
use crate::operand::check_len;
use lines::{Block, Blocks, Found};
use sparsefuse_kernels::{Element, Workers};
use sparsefuse_runtime::{Error, Runtime, Shape};
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

/// How a text file is read, by [`Array::load_txt`]. By default blanks separate numbers, and `#`
/// begins a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextInput<'a> {
    /// What separates numbers, `","` in a CSV file; `None` for any blanks.
    pub delimiter: Option<&'a str>,
    /// What begins a comment, which ends with its line; `None` where there are none.
    pub comments: Option<&'a str>,
    /// Lines at the beginning that are skipped, comments and empty ones among them.
    pub skip_lines: usize,
    /// The columns that are read, counted from 0, in the order of the result; `None` for all, of
    /// which each row has as many then.
    pub columns: Option<&'a [usize]>,
}

impl Default for TextInput<'_> {
    fn default() -> Self {
        Self {
            delimiter: None,
            comments: Some("#"),
            skip_lines: 0,
            columns: None,
        }
    }
}

/// How a text file is written, by [`Array::save_txt`]. By default blanks separate numbers, which
/// have as few digits as say which number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOutput<'a> {
    /// What separates numbers.
    pub delimiter: &'a str,
    /// What stands in front of the numbers, each line behind `# `; nothing if it is empty.
    pub header: &'a str,
    /// The digits behind the point of each float, which has an exponent then; `None` for as few as
    /// say which number it is. More than 2000 are 2000.
    pub precision: Option<usize>,
}

impl Default for TextOutput<'_> {
    fn default() -> Self {
        Self {
            delimiter: " ",
            header: "",
            precision: None,
        }
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Writes a matrix to a text file, a row a line, or a vector, an element a line: NumPy's
    /// `savetxt`, whose `loadtxt` reads it. With the digits of the default, what is read has the
    /// same bits. The file appears under its name when it is complete; until then it has `.part`
    /// behind that. Every rank must ask; rank 0 collects the array and writes.
    ///
    /// Truth values are 0 and 1, complex numbers such as `(1.5-2.0j)`.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, TextInput, TextOutput};
    ///
    /// let path = std::env::temp_dir().join(format!("save_txt_{}.csv", std::process::id()));
    /// let a = Array::from_shape_vec([2, 2], vec![1.0, -0.5, 1e-9, 3.0])?;
    /// a.save_txt(&path, &TextOutput { delimiter: ",", header: "x,y", ..TextOutput::default() })?;
    /// assert_eq!(std::fs::read_to_string(&path).unwrap(), "# x,y\n1.0,-0.5\n1e-9,3.0\n");
    ///
    /// let format = TextInput { delimiter: Some(","), ..TextInput::default() };
    /// assert_eq!(Array::<f64, 2>::load_txt(&path, &format)?.to_vec()?, a.to_vec()?);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the array has neither one dimension nor two, its computation failed, or the file cannot
    /// be written.
    #[doc(alias("savetxt", "to_csv"))]
    pub fn save_txt(&self, path: impl AsRef<Path>, format: &TextOutput<'_>) -> Result<(), Error> {
        check_dimensions::<D>("save_txt")?;
        let (path, runtime) = (path.as_ref(), self.runtime());
        let n_columns = self.shape().get(1).copied().unwrap_or(1);
        let written = self.gather(0)?.map_or(Ok(()), |elements| {
            let part = part_of(path);
            let written = File::create(&part)
                .and_then(|file| {
                    let bytes = 8 * elements.len() as u64;
                    write(file, &crew(runtime, bytes), (&elements, n_columns), format)
                })
                .and_then(|()| fs::rename(&part, path));
            if written.is_err() {
                // What remains of it is of no use; if it cannot be removed, the first error counts.
                let _ = fs::remove_file(&part);
            }
            written.map_err(|error| refused(path, "a file that can be written", error))
        });
        runtime.agree(written)
    }

    /// Reads a matrix of a text file, a row a line, or a vector, whose elements are one column or
    /// one row: NumPy's `loadtxt`. Empty lines, and those with a comment alone, are left out. On
    /// several ranks each makes its own rows. Every rank must ask.
    ///
    /// Numbers are as Rust reads them, with `inf` and `nan`; complex ones are `1.5-2j`, also in
    /// brackets, and truth values 0 and 1, `True` and `False`. A file without rows is an array of
    /// none.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, TextInput, Vector};
    ///
    /// let path = std::env::temp_dir().join(format!("load_txt_{}.txt", std::process::id()));
    /// std::fs::write(&path, "# time height\n0.0 1.5\n0.5 2.5\n1.0 x\n").unwrap();
    /// let format = TextInput { columns: Some(&[0]), ..TextInput::default() };
    /// assert_eq!(Vector::<f64>::load_txt(&path, &format)?.to_vec()?, [0.0, 0.5, 1.0]);
    ///
    /// let error = Array::<f64, 2>::load_txt(&path, &TextInput::default()).unwrap_err();
    /// let expected = "load_txt_{}.txt:4: expected a number of type f64 in column 1, found \"x\"";
    /// assert!(error.to_string().ends_with(&expected.replace("{}", &std::process::id().to_string())));
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the array has neither one dimension nor two, the file cannot be read, a line has other
    /// characters than those of UTF-8, another number of columns or something that is no number of
    /// this type, or if memory is refused. The error names the line, from 1, and the column, from 0
    /// as in [`TextInput::columns`].
    #[doc(alias("loadtxt", "genfromtxt", "read_csv"))]
    pub fn load_txt(path: impl AsRef<Path>, format: &TextInput<'_>) -> Result<Self, Error> {
        check_dimensions::<D>("load_txt")?;
        check_format(format)?;
        let (path, runtime) = (path.as_ref(), Runtime::current());
        let table = runtime.agree(Table::of_file(&runtime, path, format))?;
        runtime.agree_on_file(path, &[table.n_rows as u64, table.n_columns as u64])?;
        let shape = table.shape::<D>(path)?;
        let dims = Shape::new(&shape);
        check_len("load_txt", dims)?;
        let (partition, rows) = runtime.default_rows(dims);
        let own = rows.start * dims.row_len()..rows.end * dims.row_len();
        let store = runtime.store_by_filling(dims, partition, |elements: &mut [T]| {
            table.fill((&runtime, path), format, own, elements)
        });
        Ok(Self::wrap(runtime.agree(store)?, None))
    }
}

/// The rows of a file, and what is read of each.
struct Table {
    n_rows: usize,
    n_columns: usize,
    /// What each block of the file is found again by, and the rows in each of its chunks.
    blocks: Vec<(Found, Vec<usize>)>,
}

impl Table {
    fn of_file(runtime: &Runtime, path: &Path, format: &TextInput<'_>) -> Result<Self, Error> {
        let mut blocks = Blocks::open(path, format)?;
        let workers = crew(runtime, blocks.len());
        let mut table = Self {
            n_rows: 0,
            n_columns: format.columns.map_or(0, <[usize]>::len),
            blocks: Vec::new(),
        };
        while let Some(block) = blocks.next()? {
            table
                .add(&block, &workers, format)
                .map_err(|wrong| blocks.failed(&block, wrong))?;
        }
        Ok(table)
    }

    fn add(
        &mut self,
        block: &Block,
        workers: &Workers,
        format: &TextInput<'_>,
    ) -> Result<(), lines::Wrong> {
        let counted = map(workers, block.chunks(), |chunk| {
            block.count_rows(chunk, format)
        });
        let mut rows = Vec::with_capacity(counted.len());
        for counted in counted {
            let (n_rows, first) = counted?;
            if let (0, None, Some(first)) = (self.n_rows, format.columns, first) {
                self.n_columns = block.count_words(first, format)?;
            }
            self.n_rows += n_rows;
            rows.push(n_rows);
        }
        self.blocks.push((block.found(), rows));
        Ok(())
    }

    /// The shape of an array of one dimension or two that has all elements.
    fn shape<const D: usize>(&self, path: &Path) -> Result<[usize; D], Error> {
        let (n_rows, n_columns) = (self.n_rows, self.n_columns);
        let len = match (n_rows, n_columns) {
            (0, _) => 0,
            (n, 1) | (1, n) => n,
            _ if D == 1 => {
                let found = format!("{n_rows} rows and {n_columns} columns");
                return Err(Error::file(path, "one row or one column", found));
            }
            _ => 0,
        };
        let of_matrix = [n_rows, n_columns];
        Ok(std::array::from_fn(
            |d| if D == 1 { len } else { of_matrix[d] },
        ))
    }

    /// Makes the elements with these numbers, row by row.
    fn fill<T: Element>(
        &self,
        (runtime, path): (&Runtime, &Path),
        format: &TextInput<'_>,
        own: Range<usize>,
        mut elements: &mut [T],
    ) -> Result<(), Error> {
        let mut blocks = Blocks::open(path, format)?;
        let workers = crew(runtime, blocks.len());
        let mut end = 0;
        for (found, rows) in &self.blocks {
            let first = end;
            end += rows.iter().sum::<usize>() * self.n_columns;
            if own.start.max(first) >= own.end.min(end) {
                continue;
            }
            let block = blocks.again(*found)?;
            let chunks = block.chunks();
            let changed = || {
                let expected = "a file that stays as it is";
                Error::file(path, expected, "one that is changed")
            };
            if chunks.len() != rows.len() {
                return Err(changed());
            }
            // What each chunk makes, of which some may be of other ranks.
            let mut parts = Vec::with_capacity(chunks.len());
            let mut begin = first;
            for (chunk, &n_rows) in chunks.into_iter().zip(rows) {
                let behind = begin + n_rows * self.n_columns;
                let (from, to) = (own.start.max(begin), own.end.min(behind));
                let (made, rest) = elements.split_at_mut(to.saturating_sub(from));
                elements = rest;
                parts.push((chunk, begin, n_rows, made));
                begin = behind;
            }
            let read = map(&workers, parts, |(chunk, begin, n_rows, made)| {
                let of = (format, self.n_columns);
                let found = block.read_rows(chunk, of, (begin, own.clone()), made)?;
                Ok(found == n_rows)
            });
            for read in read {
                if !read.map_err(|wrong| blocks.failed(&block, wrong))? {
                    return Err(changed());
                }
            }
        }
        Ok(())
    }
}

/// Text files have rows and columns and nothing more.
fn check_dimensions<const D: usize>(op: &'static str) -> Result<(), Error> {
    match D {
        1 | 2 => Ok(()),
        _ => {
            let found = format!("{D} dimensions");
            Err(Error::argument(op, "a vector or a matrix", found))
        }
    }
}

fn check_format(format: &TextInput<'_>) -> Result<(), Error> {
    let is_empty = |text: Option<&str>| text.is_some_and(str::is_empty);
    if is_empty(format.delimiter) || is_empty(format.comments) {
        let expected = "a delimiter and a mark of comments with characters";
        return Err(Error::argument("load_txt", expected, "one without"));
    }
    if format.columns.is_some_and(<[usize]>::is_empty) {
        return Err(Error::argument("load_txt", "a column or more", "none"));
    }
    Ok(())
}

/// Writes all rows.
fn write<T: Element>(
    mut file: File,
    workers: &Workers,
    (elements, n_columns): (&[T], usize),
    format: &TextOutput<'_>,
) -> io::Result<()> {
    /// Elements that a thread writes at a time.
    const PART: usize = 1 << 14;
    for line in format.header.lines() {
        writeln!(file, "# {line}")?;
    }
    let n_columns = n_columns.max(1);
    let rows = (PART / n_columns).max(1);
    let text_of = |rows: &[T]| {
        let mut text = Vec::new();
        for row in rows.chunks(n_columns) {
            for (column, &x) in row.iter().enumerate() {
                if column > 0 {
                    text.extend_from_slice(format.delimiter.as_bytes());
                }
                words::write(&mut text, x, format.precision);
            }
            text.push(b'\n');
        }
        text
    };
    let parts = elements.chunks(rows * n_columns).collect::<Vec<_>>();
    // A few parts for each thread, so that one that is late has others to take its next.
    for parts in parts.chunks(4 * workers.count()) {
        for text in map(workers, parts.to_vec(), text_of) {
            file.write_all(&text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_runtime::Config;

    /// A file that something else cuts short after its rows have been counted.
    #[test]
    fn a_file_that_changes_between_counting_and_reading() {
        let runtime = Runtime::new(Config::default()).unwrap();
        let folder = sparsefuse_testing::own_folder(&std::env::temp_dir());
        let path = folder.join("changed.txt");
        let format = TextInput::default();
        let text = "1\n2\n3\n4\n";
        for (now, is_same) in [
            (text, true),
            ("", false),
            ("1\n2\n", false),
            ("1\n2\n\n\n\n", false),
        ] {
            fs::write(&path, text).unwrap();
            let table = Table::of_file(&runtime, &path, &format).unwrap();
            fs::write(&path, now).unwrap();
            let mut elements = [0.0; 4];
            let filled = table.fill((&runtime, &path), &format, 0..4, &mut elements);
            match is_same {
                true => assert_eq!((filled, elements), (Ok(()), [1.0, 2.0, 3.0, 4.0])),
                false => {
                    let error = filled.unwrap_err().to_string();
                    assert!(error.contains("one that is changed"), "{now:?}: {error}");
                }
            }
        }
    }
}
