//! The spy plot: where the entries of a matrix are, darker where they are denser.
//!
//! Both axes have one scale, a whole number of pixels for each entry or of rows for each pixel, so
//! that regular structure stays regular. The faintest dot is dark enough to be seen.

use super::failure::Failure;
use super::output;
use sparsefuse::Error;
use sparsefuse::runtime::try_collect;
use sparsefuse::sparse::LocalRows;
use std::io::{self, Write};
use std::iter::repeat_n;
use std::path::Path;

/// The longest side of the picture in pixels.
const LONGEST: usize = 1024;
/// White pixels between the frame and the entries.
const PADDING: usize = 2;
/// The frame's line and the padding.
const MARGIN: usize = 1 + PADDING;
const WHITE: u8 = 255;
const FRAME: u8 = 150;
/// The lightest and the darkest entry.
const INK: (f64, f64) = (185.0, 0.0);

/// Draws the entries of a matrix, given by all its rows.
pub(super) fn draw<T>(
    path: &Path,
    shape: (usize, usize),
    entries: &LocalRows<T>,
) -> Result<(), Failure> {
    let picture = Picture::of(shape, entries)?;
    output::replace_file(path, |file| picture.write(file))
}

/// Grey pixels, row by row.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

/// How entries become pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    /// Each entry is a square of this many pixels.
    Up(usize),
    /// Each pixel is a square of this many rows and columns.
    Down(usize),
}

impl Scale {
    fn of((rows, cols): (usize, usize)) -> Self {
        let room = LONGEST - 2 * MARGIN;
        let longest = rows.max(cols).max(1);
        if longest <= room {
            Self::Up((room / longest).min(32))
        } else {
            Self::Down(longest.div_ceil(room))
        }
    }

    /// The pixels that this many rows or columns take.
    fn len(self, n: usize) -> usize {
        match self {
            Self::Up(pixels) => n * pixels,
            Self::Down(rows) => n.div_ceil(rows),
        }
        .max(1)
    }
}

impl Picture {
    fn of<T>((rows, cols): (usize, usize), entries: &LocalRows<T>) -> Result<Self, Error> {
        let scale = Scale::of((rows, cols));
        let mut picture = Self::framed(scale.len(cols), scale.len(rows))?;
        match scale {
            Scale::Up(pixels) => {
                // Large squares keep apart.
                let side = if pixels > 4 { pixels - 1 } else { pixels };
                for_each(rows, entries, |row, column| {
                    picture.fill(column * pixels, row * pixels, side);
                });
            }
            Scale::Down(per_pixel) => picture.shade(rows, entries, per_pixel)?,
        }
        Ok(picture)
    }

    /// A white picture with a frame around this many pixels.
    fn framed(width: usize, height: usize) -> Result<Self, Error> {
        let (width, height) = (width + 2 * MARGIN, height + 2 * MARGIN);
        let mut pixels = try_collect(repeat_n(WHITE, width * height))?;
        for y in 0..height {
            for x in 0..width {
                if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
                    pixels[y * width + x] = FRAME;
                }
            }
        }
        Ok(Self {
            width,
            height,
            pixels,
        })
    }

    fn pixel(&mut self, x: usize, y: usize) -> &mut u8 {
        &mut self.pixels[(y + MARGIN) * self.width + x + MARGIN]
    }

    fn fill(&mut self, x: usize, y: usize, side: usize) {
        for y in y..y + side {
            for x in x..x + side {
                *self.pixel(x, y) = INK.1 as u8;
            }
        }
    }

    /// Makes pixels the darker the more entries they hold, on a logarithmic scale.
    fn shade<T>(
        &mut self,
        rows: usize,
        entries: &LocalRows<T>,
        per_pixel: usize,
    ) -> Result<(), Error> {
        let (width, height) = (self.width - 2 * MARGIN, self.height - 2 * MARGIN);
        let mut counts = try_collect(repeat_n(0u64, width * height))?;
        for_each(rows, entries, |row, column| {
            counts[row / per_pixel * width + column / per_pixel] += 1;
        });
        let densest = counts.iter().copied().max().unwrap_or(0).max(2);
        for y in 0..height {
            for x in 0..width {
                let count = counts[y * width + x];
                if count > 0 {
                    let share = (count as f64).ln() / (densest as f64).ln();
                    *self.pixel(x, y) = (INK.0 + share * (INK.1 - INK.0)) as u8;
                }
            }
        }
        Ok(())
    }

    fn write(&self, file: impl Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        Ok(writer.finish()?)
    }
}

/// Calls `visit` with row and column of every entry.
fn for_each<T>(rows: usize, entries: &LocalRows<T>, mut visit: impl FnMut(usize, usize)) {
    for row in 0..rows {
        let places = entries.pos[row] as usize..entries.pos[row + 1] as usize;
        for &column in &entries.crd[places] {
            visit(row, column as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The identity with `n` rows.
    fn identity(n: usize) -> LocalRows<f64> {
        LocalRows {
            pos: (0..=n as u64).collect(),
            crd: (0..n as u32).collect(),
            vals: vec![1.0; n],
        }
    }

    #[test]
    fn no_side_is_too_long_and_no_entry_is_lost() {
        for n in [0, 1, 2, 31, 200, 1018, 1019, 1024, 5000, 100_000] {
            let picture = Picture::of((n, n), &identity(n)).unwrap();
            assert!(picture.width <= LONGEST && picture.width == picture.height);
            assert_eq!(picture.pixels.len(), picture.width * picture.height);
            let inner = picture.width - 2 * MARGIN;
            let dark = picture.pixels.iter().filter(|&&p| p != WHITE && p != FRAME);
            assert!(dark.count() >= inner.min(n), "{n}");
        }
        assert_eq!(Scale::of((1018, 7)), Scale::Up(1));
        assert_eq!(Scale::of((7, 1019)), Scale::Down(2));
        assert_eq!(Scale::of((3, 3)), Scale::Up(32));
    }
}
