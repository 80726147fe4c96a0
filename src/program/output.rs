//! Where text and files go, and how numbers look.

use super::failure::Failure;
use sparsefuse::sparse::file_beside;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prints to standard output. A reader that has seen enough (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes());
    check_printed(printed.and_then(|()| stdout.flush()))
}

/// What became of something that was printed to standard output, as [`print()`] tells it.
pub(super) fn check_printed(printed: io::Result<()>) -> Result<(), Failure> {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::system(
            Path::new("standard output"),
            "write",
            error,
        )),
        _ => Ok(()),
    }
}

/// Prints to standard error, as far as there is one.
pub(super) fn complain(text: &str) {
    // There is no way to report it.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Refuses a file that is to be written and that another argument has read or is to write: one of
/// the two would be lost. Each file has the name of what it is for; devices may be named twice.
pub(super) fn check_apart(
    read: &[(&str, Option<&Path>)],
    written: &[(&str, Option<&Path>)],
) -> Result<(), Failure> {
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|found| !found.is_file());
    let is_same = |a: &Path, b: &Path| place(a) == place(b);
    for (number, &(name, path)) in written.iter().enumerate() {
        let Some(path) = path.filter(|path| !is_device(path)) else {
            continue;
        };
        let mut others = read.iter().chain(&written[..number]);
        let other = others.find(|(_, other)| other.is_some_and(|other| is_same(other, path)));
        if let Some((other, _)) = other {
            let expected = format!("another file than that of {other}");
            return Err(Failure::input(name, expected, path.to_string_lossy()));
        }
    }
    Ok(())
}

/// The file that a path means, through all links; where there is none yet, that in its folder.
fn place(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent()?;
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path)
        .ok()
        .or_else(in_folder)
        .unwrap_or_else(|| path.to_path_buf())
}

/// Refuses a file that cannot be written, before the work that it is meant for.
pub(super) fn check_writable(path: &Path) -> Result<(), Failure> {
    let refuse = |error| Failure::system(path, "write", error);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let subject = path.to_string_lossy();
            Err(Failure::input(subject, "a file to write", "a folder"))
        }
        // A pipe is written to in one piece: its reader would take this for the end.
        Ok(metadata) if is_pipe(&metadata) => Ok(()),
        Ok(metadata) => {
            OpenOptions::new().write(true).open(path).map_err(refuse)?;
            if metadata.is_file() {
                probe(path).map_err(refuse)
            } else {
                Ok(())
            }
        }
        Err(_) => probe(path).map_err(refuse),
    }
}

#[cfg(unix)]
fn is_pipe(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &fs::Metadata) -> bool {
    false
}

/// Makes a file beside the path, and removes it.
fn probe(path: &Path) -> io::Result<()> {
    file_beside(path)?.close()
}

/// Lets `put` write a file, which appears under its name only when it is complete; what was there
/// before survives every error. A device is written to.
pub(super) fn replace_file(
    path: &Path,
    put: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> Result<(), Failure> {
    let fill = |file: &mut File| {
        let mut writer = BufWriter::new(file);
        put(&mut writer)?;
        writer.flush()
    };
    sparsefuse::sparse::replace_file(path, fill)
        .map_err(|error: io::Error| Failure::system(path, "write", error))
}

/// Lines of a label and a text, with the texts below each other; an empty label and text make an
/// empty line.
pub(super) fn aligned(lines: &[(&str, String)]) -> String {
    let width = lines
        .iter()
        .map(|(label, _)| label.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (label, value) in lines {
        let line = format!("{label:<width$}  {value}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A whole number with its digits in groups of three.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and the noun that it counts, in the singular or with an `s`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A number of bytes in the unit that suits it.
pub(super) fn bytes(bytes: f64) -> String {
    let units = [
        (1e18, "EB"),
        (1e15, "PB"),
        (1e12, "TB"),
        (1e9, "GB"),
        (1e6, "MB"),
        (1e3, "kB"),
    ];
    match units.into_iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes / size),
        None => format!("{bytes:.0} B"),
    }
}

/// A length of time in the unit that suits it.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.1} us", seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_people_read_them() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1234567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "rank"), "1 rank");
        assert_eq!(counted(0, "rank"), "0 ranks");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(1.25e9), "1.2 GB");
        assert_eq!(bytes(8e18), "8.0 EB");
        assert_eq!(seconds(0.0123), "12.30 ms");
        let lines = [
            ("a", "1".to_owned()),
            ("", String::new()),
            ("long", "2".to_owned()),
        ];
        assert_eq!(aligned(&lines), "a     1\n\nlong  2\n");
    }
}
