//! `--plot`: the residual against the iteration, on a logarithmic scale.

use super::failure::Failure;
use super::output;
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::{FONT_8X13, FONT_10X20};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{Circle, Line, Polyline, PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use sparsefuse::Error;
use sparsefuse::runtime::try_collect;
use std::convert::Infallible;
use std::io::{self, Write};
use std::iter::repeat_n;
use std::path::Path;

const WIDTH: u32 = 1000;
const HEIGHT: u32 = 640;
/// The frame: left, top, right and bottom.
const FRAME: [i32; 4] = [90, 60, 970, 570];

const INK: Rgb888 = Rgb888::new(40, 40, 40);
const FAINT: Rgb888 = Rgb888::new(225, 225, 225);
const CURVE: Rgb888 = Rgb888::new(20, 90, 180);
const LIMIT: Rgb888 = Rgb888::new(190, 60, 40);

/// What is drawn.
#[derive(Clone, Debug)]
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// The norm of the residual before the first iteration and after each, through that of b.
    pub(super) residuals: &'a [f64],
    /// Where the solver stops.
    pub(super) tolerance: f64,
}

impl Plot<'_> {
    /// Writes the picture as a PNG file.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut canvas = Canvas::new()?;
        let Ok(()) = self.draw(&mut canvas);
        output::replace_file(path, |file| canvas.write(file))
    }

    fn draw(&self, canvas: &mut Canvas) -> Result<(), Infallible> {
        let axes = Axes::of(self);
        axes.draw(self.title, canvas)?;
        let limit = axes.y(self.tolerance);
        if limit < FRAME[3] {
            dashed(limit, canvas)?;
            let label = Point::new(FRAME[2] - 6, limit - 4);
            let style = TextStyleBuilder::new().alignment(Alignment::Right).build();
            let font = MonoTextStyle::new(&FONT_8X13, LIMIT);
            Text::with_text_style("tolerance", label, font, style).draw(canvas)?;
        }
        let points: Vec<Point> = (self.residuals.iter().enumerate())
            .filter(|(_, residual)| residual.is_finite())
            .map(|(number, &residual)| Point::new(axes.x(number as f64), axes.y(residual)))
            .collect();
        Polyline::new(&points)
            .into_styled(PrimitiveStyle::with_stroke(CURVE, 2))
            .draw(canvas)?;
        const FEW: usize = 60;
        if points.len() <= FEW {
            for &point in &points {
                Circle::with_center(point, 7)
                    .into_styled(PrimitiveStyle::with_fill(CURVE))
                    .draw(canvas)?;
            }
        }
        Ok(())
    }
}

/// From iterations and residuals to pixels.
struct Axes {
    last: f64,
    /// Powers of ten.
    top: i32,
    bottom: i32,
}

impl Axes {
    fn of(plot: &Plot<'_>) -> Self {
        let shown = plot.residuals.iter().copied().chain([plot.tolerance]);
        let exponents = shown.filter(|value| value.is_finite() && *value > 0.0);
        let (mut top, mut bottom) = (f64::NEG_INFINITY, f64::INFINITY);
        for exponent in exponents.map(f64::log10) {
            (top, bottom) = (top.max(exponent), bottom.min(exponent));
        }
        if top < bottom {
            (top, bottom) = (0.0, 0.0);
        }
        let (top, bottom) = (top.ceil() as i32, bottom.floor() as i32);
        Self {
            last: (plot.residuals.len().max(2) - 1) as f64,
            top: top.max(bottom + 1),
            bottom,
        }
    }

    fn x(&self, iteration: f64) -> i32 {
        let share = iteration / self.last;
        FRAME[0] + (share * f64::from(FRAME[2] - FRAME[0])).round() as i32
    }

    /// Zeros lie on the lower edge.
    fn y(&self, residual: f64) -> i32 {
        let least = f64::from(self.bottom);
        let exponent = residual.log10().max(least);
        let share = (exponent - least) / f64::from(self.top - self.bottom);
        FRAME[3] - (share * f64::from(FRAME[3] - FRAME[1])).round() as i32
    }

    fn draw(&self, title: &str, canvas: &mut Canvas) -> Result<(), Infallible> {
        let thin = PrimitiveStyle::with_stroke(FAINT, 1);
        let small = MonoTextStyle::new(&FONT_8X13, INK);
        let right = TextStyleBuilder::new()
            .alignment(Alignment::Right)
            .baseline(Baseline::Middle)
            .build();
        let centred = TextStyleBuilder::new().alignment(Alignment::Center).build();
        let powers = step(f64::from(self.top - self.bottom), 10.0) as usize;
        for power in (self.bottom..=self.top).rev().step_by(powers) {
            let y = self.y(10f64.powi(power));
            let line = Line::new(Point::new(FRAME[0], y), Point::new(FRAME[2], y));
            line.into_styled(thin).draw(canvas)?;
            let label = format!("1e{power}");
            let place = Point::new(FRAME[0] - 8, y);
            Text::with_text_style(&label, place, small, right).draw(canvas)?;
        }
        let iterations = step(self.last, 10.0);
        let mut tick = 0.0;
        while tick <= self.last {
            let x = self.x(tick);
            let line = Line::new(Point::new(x, FRAME[1]), Point::new(x, FRAME[3]));
            line.into_styled(thin).draw(canvas)?;
            let label = format!("{tick}");
            let place = Point::new(x, FRAME[3] + 18);
            Text::with_text_style(&label, place, small, centred).draw(canvas)?;
            tick += iterations;
        }
        let corner = Point::new(FRAME[0], FRAME[1]);
        let size = Size::new((FRAME[2] - FRAME[0]) as u32, (FRAME[3] - FRAME[1]) as u32);
        Rectangle::new(corner, size)
            .into_styled(PrimitiveStyle::with_stroke(INK, 1))
            .draw(canvas)?;
        let middle = (FRAME[0] + FRAME[2]) / 2;
        let below = Point::new(middle, FRAME[3] + 44);
        Text::with_text_style("iteration", below, small, centred).draw(canvas)?;
        let above = Point::new(FRAME[0], FRAME[1] - 8);
        Text::new("|r| / |b|", above, small).draw(canvas)?;
        let large = MonoTextStyle::new(&FONT_10X20, INK);
        let title_place = Point::new(middle, 30);
        Text::with_text_style(title, title_place, large, centred).draw(canvas)?;
        Ok(())
    }
}

/// The distance of ticks, 1, 2 or 5 times a power of ten, for at most this many of them on an axis.
fn step(len: f64, most: f64) -> f64 {
    let least = (len / most).max(1.0);
    let power = 10f64.powf(least.log10().floor());
    let rounded = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * power >= least);
    rounded.unwrap_or(10.0) * power
}

/// A dashed line across the frame.
fn dashed(y: i32, canvas: &mut Canvas) -> Result<(), Infallible> {
    for x in (FRAME[0]..FRAME[2]).step_by(14) {
        let line = Line::new(Point::new(x, y), Point::new((x + 8).min(FRAME[2]), y));
        line.into_styled(PrimitiveStyle::with_stroke(LIMIT, 1))
            .draw(canvas)?;
    }
    Ok(())
}

/// Colored pixels, row by row.
struct Canvas {
    pixels: Vec<u8>,
}

impl Canvas {
    fn new() -> Result<Self, Error> {
        let pixels = try_collect(repeat_n(255, (WIDTH * HEIGHT * 3) as usize))?;
        Ok(Self { pixels })
    }

    fn write(&self, file: impl Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(file, WIDTH, HEIGHT);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(())
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(WIDTH, HEIGHT)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        for Pixel(point, color) in pixels {
            let is_inside = Rectangle::new(Point::zero(), self.size()).contains(point);
            if is_inside {
                let place = (point.y as usize * WIDTH as usize + point.x as usize) * 3;
                self.pixels[place..place + 3].copy_from_slice(&[color.r(), color.g(), color.b()]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(residuals: &[f64]) -> Axes {
        Axes::of(&Plot {
            title: "",
            residuals,
            tolerance: 1e-8,
        })
    }

    #[test]
    fn the_curve_goes_from_corner_to_corner() {
        let falling = axes(&[1.0, 1e-4, 1e-8]);
        assert_eq!((falling.x(0.0), falling.y(1.0)), (FRAME[0], FRAME[1]));
        assert_eq!((falling.x(2.0), falling.y(1e-8)), (FRAME[2], FRAME[3]));
        assert_eq!(falling.y(0.0), FRAME[3]);
    }

    #[test]
    fn any_history_can_be_drawn() {
        for residuals in [
            &[][..],
            &[0.0],
            &[1.0],
            &[f64::NAN, f64::INFINITY],
            &[1e-300, 1e300],
        ] {
            let plot = Plot {
                title: "t",
                residuals,
                tolerance: 0.0,
            };
            let Ok(()) = plot.draw(&mut Canvas::new().unwrap());
        }
    }

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(step(9.0, 10.0), 1.0);
        assert_eq!(step(123.0, 10.0), 20.0);
        assert_eq!(step(9999.0, 10.0), 1000.0);
    }
}
