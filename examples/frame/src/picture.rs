//! `--plot`: a plane as colors, the middle plane of a cube, a vector as a curve.

use crate::report::Field;
use std::io::{self, Write};

/// The most pixels along a side of a plane, and the least.
const MOST: usize = 1024;
const LEAST: usize = 512;
/// Width and height of a curve.
const CURVE: [usize; 2] = [1000, 400];

/// From dark blue over green to yellow: viridis, at five places.
const COLORS: [[f64; 3]; 5] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [94.0, 201.0, 98.0],
    [253.0, 231.0, 37.0],
];

/// Writes a PNG file.
pub(crate) fn write(field: &Field, file: impl Write) -> io::Result<()> {
    let (values, shape) = (field.values(), field.shape.as_slice());
    let (pixels, width, height) = match *shape {
        [rows, columns] => plane(values, rows, columns),
        [depth, rows, columns] => {
            let begin = depth / 2 * rows * columns;
            plane(&values[begin..begin + rows * columns], rows, columns)
        }
        _ => curve(values),
    };
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    Ok(writer.finish()?)
}

/// Where a value stands between the least and the largest, from 0 to 1.
fn scale(values: &[f64]) -> impl Fn(f64) -> f64 + use<> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    let span = if high > low { high - low } else { 1.0 };
    move |value| ((value - low) / span).clamp(0.0, 1.0)
}

/// A pixel for each element, for many elements or several for one, with the first row at the top.
fn plane(values: &[f64], rows: usize, columns: usize) -> (Vec<u8>, usize, usize) {
    let longest = rows.max(columns).max(1);
    let (shrink, grow) = (longest.div_ceil(MOST), LEAST.div_ceil(longest));
    let (height, width) = (
        rows.div_ceil(shrink) * grow,
        columns.div_ceil(shrink) * grow,
    );
    let scale = scale(values);
    let mut pixels = Vec::with_capacity(3 * width * height);
    for y in 0..height {
        for x in 0..width {
            let (row, column) = (y / grow * shrink, x / grow * shrink);
            pixels.extend(color(scale(values[row * columns + column])));
        }
    }
    (pixels, width, height)
}

fn color(share: f64) -> [u8; 3] {
    let place = if share.is_nan() { 0.0 } else { share * 4.0 };
    let first = (place as usize).min(3);
    let (a, b, t) = (COLORS[first], COLORS[first + 1], place - first as f64);
    std::array::from_fn(|c| (a[c] + t * (b[c] - a[c])).round() as u8)
}

/// Blue on white: in each column of pixels all elements that fall into it.
fn curve(values: &[f64]) -> (Vec<u8>, usize, usize) {
    let [width, height] = CURVE;
    let scale = scale(values);
    let y = |value: f64| ((1.0 - scale(value)) * (height - 1) as f64) as usize;
    let mut pixels = vec![255; 3 * width * height];
    for x in 0..width {
        let begin = x * values.len() / width;
        let end = ((x + 1) * values.len()).div_ceil(width).min(values.len());
        let heights = values[begin..end.max(begin)].iter().map(|&value| y(value));
        let (top, bottom) =
            heights.fold((height, 0), |(top, bottom), y| (top.min(y), bottom.max(y)));
        for y in top..(bottom + 1).min(height) {
            pixels[3 * (y * width + x)..][..3].copy_from_slice(&[20, 90, 180]);
        }
    }
    (pixels, width, height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shapes_can_be_drawn() {
        for shape in [&[7, 5][..], &[3, 4, 5], &[1500, 2], &[3000], &[1], &[1, 1]] {
            let len = shape.iter().product();
            let mut elements = vec![0.5; len];
            elements[len / 2] = f64::NAN;
            let field = Field::new("u", shape.to_vec(), &elements);
            let mut file = Vec::new();
            write(&field, &mut file).unwrap();
            assert_eq!(file[1..4], *b"PNG", "{shape:?}");
        }
    }

    #[test]
    fn the_ends_of_the_scale_are_the_ends_of_the_colors() {
        assert_eq!(color(0.0), [68, 1, 84]);
        assert_eq!(color(1.0), [253, 231, 37]);
        assert_eq!(color(f64::NAN), [68, 1, 84]);
    }
}
