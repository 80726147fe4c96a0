//! Sweeps through the rows of a matrix color by color, where there are many colors.
//!
//! A rank keeps its rows in the order of their colors, one after the other, so a sweep reads every
//! row once, however many colors there are: O(nnz + n), the same for what is kept. It is a host
//! task. Within it, ranks send one another only the elements of the color that has been relaxed.
//! Each element of the result is what array code makes of the same rows ([`super::Sor`]).

use super::coloring::Coloring;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Exchange, HostArgs, reserve, try_collect};
use sparsefuse_sparse::{Ghosts, LocalRows, RowLayout, distinct};
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

/// The rows of a matrix in the order of their colors, and what a sweep multiplies by.
#[derive(Clone, Debug)]
pub(super) struct ColorSweep<T> {
    layout: RowLayout,
    colors: Arc<Colors>,
    values: Arc<Values<T>>,
}

/// Where the entries are, and what ranks send each other.
#[derive(Debug)]
struct Colors {
    /// Where the rows of each color begin in `rows`, and the end.
    starts: Vec<usize>,
    /// The numbers of this rank's rows, color by color.
    rows: Vec<u32>,
    /// Where the entries of each of these begin, and the end.
    pos: Vec<u64>,
    /// The place of each entry's element: of this rank's rows first, then those of others.
    places: Vec<u32>,
    /// The elements of other ranks, and those of each color alone, with their places.
    ghosts: Option<Arc<Exchange>>,
    of_colors: Vec<(Exchange, Vec<u32>)>,
    n_ghosts: usize,
    /// Work on a color below which the calling thread is alone.
    parallel_threshold: usize,
}

/// What a row costs besides its entries, in entries: its elements of x and b, and its factor.
const OF_ROW: usize = 16;

/// In the order of [`Colors`].
#[derive(Debug)]
struct Values<T> {
    /// omega D^-1 A.
    entries: Vec<T>,
    /// omega D^-1.
    scale: Vec<T>,
}

impl<T: Field> ColorSweep<T> {
    /// For rows that are spread as the colors are; `scale` is omega D^-1 in each of them. Every
    /// rank must ask.
    pub(super) fn new(
        coloring: &Coloring,
        rows: &LocalRows<T>,
        scale: &[T],
    ) -> Result<Self, Error> {
        let colors = Colors::new(coloring, rows)?;
        Ok(Self {
            values: Self::values_of(coloring, &colors, rows, scale)?,
            layout: coloring.layout().clone(),
            colors: Arc::new(colors),
        })
    }

    /// The same for other values of the same structure.
    pub(super) fn with_values(
        &self,
        coloring: &Coloring,
        rows: &LocalRows<T>,
        scale: &[T],
    ) -> Result<Self, Error> {
        Ok(Self {
            values: Self::values_of(coloring, &self.colors, rows, scale)?,
            ..self.clone()
        })
    }

    fn values_of(
        coloring: &Coloring,
        colors: &Colors,
        rows: &LocalRows<T>,
        scale: &[T],
    ) -> Result<Arc<Values<T>>, Error> {
        let values = || {
            let mut entries = reserve(rows.vals.len())?;
            for &number in &colors.rows {
                let factor = scale[number as usize];
                let values = &rows.vals[entries_of(rows, number)];
                entries.extend(values.iter().map(|&value| factor * value));
            }
            let scale = colors.rows.iter().map(|&number| scale[number as usize]);
            Ok(Values {
                entries,
                scale: try_collect(scale)?,
            })
        };
        coloring.layout().runtime().agree(values()).map(Arc::new)
    }

    /// x after its rows have been relaxed, color by color in this order, from 0 where there is no
    /// x: x + omega D^-1 (b - A x) in the rows of each color.
    pub(super) fn relax(
        &self,
        op: &'static str,
        order: Vec<usize>,
        b: &Vector<T>,
        x: Option<&Vector<T>>,
    ) -> Result<Vector<T>, Error> {
        let (colors, values) = (Arc::clone(&self.colors), Arc::clone(&self.values));
        let bytes =
            colors.bytes() + size_of_val(&values.entries[..]) + size_of_val(&values.scale[..]);
        let starts_at_zero = x.is_none();
        let vectors = (x.unwrap_or(b), b);
        self.layout
            .sweep_beside(op, vectors, bytes, move |args, z, b| {
                colors.relax(args, &values, (&order, starts_at_zero), (z, b))
            })
    }
}

fn entries_of<T>(rows: &LocalRows<T>, number: u32) -> Range<usize> {
    let number = number as usize;
    rows.pos[number] as usize..rows.pos[number + 1] as usize
}

impl Colors {
    fn new<T: Field>(coloring: &Coloring, rows: &LocalRows<T>) -> Result<Self, Error> {
        let layout = coloring.layout();
        let (runtime, own, of_rows) = (layout.runtime(), layout.rows(), coloring.of_rows());
        let (starts, in_order) = runtime.agree(by_color(of_rows, coloring.n_colors()))?;
        let is_other = |column: &u32| !own.contains(&(*column as usize));
        let ghosts = match layout.is_replicated() {
            true => None,
            false => {
                let others = rows.crd.iter().copied().filter(is_other);
                let needed = runtime.agree(distinct(others, layout.n_rows()))?;
                Some(Ghosts::new(runtime, layout.partition(), needed)?)
            }
        };
        let place = |column: u32| match &ghosts {
            Some(ghosts) if is_other(&column) => {
                let number = ghosts.number(column).expect("the column is needed");
                (own.len() + number) as u32
            }
            _ => column - own.start as u32,
        };
        let lists = || {
            let mut pos = reserve(rows.pos.len())?;
            let mut places = reserve(rows.crd.len())?;
            pos.push(0);
            for &number in &in_order {
                places.extend(
                    rows.crd[entries_of(rows, number)]
                        .iter()
                        .map(|&column| place(column)),
                );
                pos.push(places.len() as u64);
            }
            Ok((pos, places))
        };
        let (pos, places) = runtime.agree(lists())?;
        let of_colors = match &ghosts {
            Some(ghosts) => exchanges(coloring, ghosts, own.len())?,
            None => Vec::new(),
        };
        Ok(Self {
            starts,
            rows: in_order,
            pos,
            places,
            of_colors,
            n_ghosts: ghosts.as_ref().map_or(0, |ghosts| ghosts.indices().len()),
            ghosts: ghosts.map(|ghosts| ghosts.exchange()),
            parallel_threshold: runtime.config().parallel_threshold,
        })
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + size_of_val(&self.pos[..]) + size_of_val(&self.places[..])
    }

    /// Relaxes the rows of the colors in this order, in `z`.
    fn relax<T: Field>(
        &self,
        args: &HostArgs<'_>,
        values: &Values<T>,
        (order, starts_at_zero): (&[usize], bool),
        (z, b): (&mut [T], &[T]),
    ) -> Result<(), Error> {
        // Those of this rank's rows, then those of others.
        let mut x: Vec<T> = reserve(z.len() + self.n_ghosts)?;
        match starts_at_zero {
            // As a product with 0 does, in the rows of all colors but the first.
            true => x.extend(b.iter().map(|&b| T::ZERO * b)),
            false => x.extend_from_slice(z),
        }
        // Those begin as they do on their rank: from zero too, where b may be infinite.
        if let Some(ghosts) = &self.ghosts {
            let arrived = ghosts.run(args, &x)?;
            x.extend(arrived);
        }
        let most = self.starts.windows(2).map(|ends| ends[1] - ends[0]).max();
        let mut relaxed = try_collect(repeat_n(T::ZERO, most.unwrap_or(0)))?;
        for (step, &color) in order.iter().enumerate() {
            let rows = self.starts[color]..self.starts[color + 1];
            let relaxed = &mut relaxed[..rows.len()];
            let is_first = starts_at_zero && step == 0;
            let ends = self.ends(&rows, args.threads());
            args.in_parts_to(relaxed, &ends, |part_number, part| {
                let first = rows.start + part_number.checked_sub(1).map_or(0, |last| ends[last]);
                for (number, relaxed) in (first..).zip(part) {
                    let row = self.rows[number] as usize;
                    let b = values.scale[number] * b[row];
                    *relaxed = match is_first {
                        true => b,
                        false => x[row] + b - self.known(values, number, &x),
                    };
                }
                Ok(())
            })?;
            for (&row, &relaxed) in self.rows[rows].iter().zip(&*relaxed) {
                x[row as usize] = relaxed;
            }
            let is_last = step + 1 == order.len();
            if let Some((exchange, places)) = self.of_colors.get(color).filter(|_| !is_last) {
                let arrived = exchange.run(args, &x[..z.len()])?;
                for (&place, arrived) in places.iter().zip(arrived) {
                    x[place as usize] = arrived;
                }
            }
        }
        z.copy_from_slice(&x[..z.len()]);
        Ok(())
    }

    /// Where the parts of a color's rows end, counted from the first of them, that threads take:
    /// parts of like work, or one where there is little.
    fn ends(&self, rows: &Range<usize>, threads: usize) -> Vec<usize> {
        let entries = |number: usize| (self.pos[number] - self.pos[rows.start]) as usize;
        let work = |len: usize| entries(rows.start + len) + OF_ROW * len;
        let whole = work(rows.len());
        let n_parts = match whole < self.parallel_threshold {
            true => 1,
            false => threads.min(rows.len()).max(1),
        };
        let end = |part: usize| {
            let (mut low, mut high) = (0, rows.len());
            while low < high {
                let middle = low + (high - low) / 2;
                match work(middle) < whole * part / n_parts {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            low
        };
        (1..=n_parts).map(end).collect()
    }

    /// The product of a row, by its number in the order of the colors.
    #[inline(always)]
    fn known<T: Field>(&self, values: &Values<T>, number: usize, x: &[T]) -> T {
        let entries = self.pos[number] as usize..self.pos[number + 1] as usize;
        let places = self.places[entries.clone()].iter();
        let entries = values.entries[entries].iter().zip(places);
        entries.fold(T::ZERO, |sum, (&entry, &place)| {
            entry.times_plus(x[place as usize], sum)
        })
    }
}

/// Where the rows of each color begin, and the rows in this order.
fn by_color(of_rows: &[u32], n_colors: usize) -> Result<(Vec<usize>, Vec<u32>), Error> {
    let mut starts = try_collect(repeat_n(0, n_colors + 1))?;
    for &color in of_rows {
        starts[color as usize + 1] += 1;
    }
    for color in 0..n_colors {
        starts[color + 1] += starts[color];
    }
    let mut next: Vec<usize> = try_collect(starts.iter().copied())?;
    let mut rows = try_collect(repeat_n(0, of_rows.len()))?;
    for (number, &color) in (0..).zip(of_rows) {
        rows[next[color as usize]] = number;
        next[color as usize] += 1;
    }
    Ok((starts, rows))
}

/// The exchange of the elements of each color, and the places of those that arrive, which are
/// behind the `n_own` elements of this rank.
fn exchanges(
    coloring: &Coloring,
    ghosts: &Ghosts,
    n_own: usize,
) -> Result<Vec<(Exchange, Vec<u32>)>, Error> {
    let of_rows = coloring.of_rows();
    let of_ghosts = ghosts.fetch(of_rows)?;
    let made = || {
        let (starts, in_order) = by_color(&of_ghosts, coloring.n_colors())?;
        // The number of each ghost among those of its color.
        let mut numbers = try_collect(repeat_n(0, in_order.len()))?;
        for color in 0..coloring.n_colors() {
            let of_color = &in_order[starts[color]..starts[color + 1]];
            for (number, &ghost) in of_color.iter().enumerate() {
                numbers[ghost as usize] = number;
            }
        }
        let exchange = ghosts.exchange();
        let of_color = |color: usize| {
            let is_sent = |row: usize| of_rows[row] as usize == color;
            let arrives = |ghost: usize| of_ghosts[ghost] as usize == color;
            let one = |place: usize, is_one: bool| place..place + usize::from(is_one);
            let exchange = exchange.of_runs(
                |row| one(row, is_sent(row)),
                |ghost| one(numbers[ghost], arrives(ghost)),
            );
            let places = in_order[starts[color]..starts[color + 1]].iter();
            let places = try_collect(places.map(|&ghost| n_own as u32 + ghost))?;
            Ok((exchange, places))
        };
        (0..coloring.n_colors()).map(of_color).collect()
    };
    coloring.layout().runtime().agree(made())
}
