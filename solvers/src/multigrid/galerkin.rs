//! Galerkin operators on grids: R A P without R, A P, or any column that has to be searched for.
//!
//! Where the rows of A name compact neighbours only, so do those of R A P, and since R and P are
//! tensor products, the product is made axis by axis. A line of the grid is held as one array for
//! each offset of the stencil ([`Stencil`]); a [`Stage`] makes the lines of the grid that is
//! coarser along one axis out of those of the finer one, by sums with weights ([`Term`]):
//!
//! ```text
//! coarse[X][k'] = sum over t, k of  R[X][2X+1+t] * fine[2X+1+t][k] * P[2X+1+t+k][X+k']
//! ```
//!
//! Each line of the coarse grid is made from up to nine lines of the fine one, which are coarsened
//! along x first. Where these are the lines before them, a line further, so is what they make, and
//! it is copied. A row is the same sum in the same order on any rank and thread.

use super::grid::{AxisTransfer, Grid};
use super::stencil::{self, Stencil};
use super::transfers::{GridTransfer, repeat};
use sparsefuse_kernels::Field;
use sparsefuse_kernels::packed::Words;
use sparsefuse_runtime::{Error, Runtime, Shape, reserve};
use sparsefuse_sparse::{Csr, Ghosts, LocalRows, Rows, Threads, parallel};
use std::ops::Range;

/// Points that one thread makes at a time, at least.
const PART: usize = 1 << 13;

/// R A P on the coarse grid, and its stencil; `stencil` is that of A.
pub(super) fn galerkin<T: Field>(
    a: &Csr<T>,
    stencil: Stencil,
    transfer: &GridTransfer,
) -> Result<(Csr<T>, Stencil), Error> {
    let stages = Stages::new(transfer, stencil);
    let made = stages.stencil();
    let grid = &transfer.coarse;
    let n: usize = grid.sides.iter().product();
    let runtime = a.runtime();
    let (_, own) = runtime.default_rows(Shape::new(&[n]));
    let own_rows = a.own_rows()?;
    let fetched;
    let (first, rows) = if runtime.cuts(own_rows.partition()).is_none() {
        (0, own_rows.as_rows())
    } else {
        let needed = stages.fine_rows(&own);
        let ghosts = Ghosts::of_range(runtime, own_rows.partition(), needed.clone())?;
        fetched = ghosts.fetch_rows(own_rows.as_rows())?;
        (needed.start, LocalRows::as_rows(&fetched))
    };
    let fine = FineRows::new(runtime, &transfer.fine, first, rows);
    let coarse = runtime.enter(|| {
        Csr::from_counted_rows(
            n,
            n,
            |own| count(grid, made, own),
            |own, pos, crd, vals| {
                let parts = lines_in_parts(grid, &own);
                let bounds = |part: &Range<usize>| (part.start - own.start, part.end - own.start);
                let lens: Vec<usize> = parts
                    .iter()
                    .map(bounds)
                    .map(|(start, end)| (pos[end] - pos[start]) as usize)
                    .collect();
                let targets = parallel::split(crd, lens.iter().copied())
                    .into_iter()
                    .zip(parallel::split(vals, lens));
                let work = parts.into_iter().zip(targets);
                parallel::each(&Threads::of(runtime), work, |(part, (crd, vals))| {
                    Lines::new(&stages, &fine).make(part, crd, vals);
                });
            },
        )
    })?;
    Ok((coarse, made))
}

/// Some rows of the fine matrix, from row `first` on: all that are needed, which are whole lines.
struct FineRows<'a, T> {
    first: usize,
    rows: Rows<'a, T>,
    /// For each of the lines, whether it is the one before it in its plane, a line further.
    goes_on: Vec<bool>,
}

impl<'a, T: Field> FineRows<'a, T> {
    fn new(runtime: &Runtime, grid: &Grid, first: usize, rows: Rows<'a, T>) -> Self {
        let [_, ny, nx] = grid.sides;
        let goes_on = |line: usize| {
            let row = line * nx;
            let values = |row| &rows.vals()[stencil::lines_entries(rows, row, nx)];
            // Of two lines in a plane, a line further is the next plane.
            line > 0
                && ny > 2
                && !(first / nx + line).is_multiple_of(ny)
                && are_same(values(row - nx), values(row))
                && stencil::repeats_line(rows, row, nx)
        };
        let parts = parallel::chunks(rows.len() / nx, PART.div_ceil(nx));
        let found = parallel::map(&Threads::of(runtime), parts, |part| {
            part.map(goes_on).collect::<Vec<bool>>()
        });
        Self {
            first,
            rows,
            goes_on: found.concat(),
        }
    }
}

/// Whether values are the same bit by bit.
fn are_same<T: Field>(a: &[T], b: &[T]) -> bool {
    match (Words::of_slice(a), Words::of_slice(b)) {
        (Some(Words::Four(a)), Some(Words::Four(b))) => a == b,
        (Some(Words::Eight(a)), Some(Words::Eight(b))) => a == b,
        (Some(Words::Sixteen(a)), Some(Words::Sixteen(b))) => a == b,
        _ => false,
    }
}

/// The positions of some rows with this stencil, from 0.
fn count(grid: &Grid, stencil: Stencil, rows: Range<usize>) -> Result<Vec<u64>, Error> {
    let nx = grid.sides[2];
    let mut pos = reserve(rows.len() + 1)?;
    pos.push(0);
    let mut end = 0;
    let (mut row, mut line_end) = (rows.start, rows.start);
    let (mut inside, mut first, mut last) = (0, 0, 0);
    while row < rows.end {
        if row >= line_end {
            line_end = (row / nx + 1) * nx;
            let [z, y, _] = grid.point(row);
            let entries = |x| {
                let is_there =
                    |&offset: &usize| stencil::neighbour(grid, [z, y, x], offset).is_some();
                stencil.offsets().filter(is_there).count() as u64
            };
            (first, inside, last) = (entries(0), entries(nx / 2), entries(nx - 1));
        }
        end += match row + nx - line_end {
            0 => first,
            x if x + 1 == nx => last,
            _ => inside,
        };
        pos.push(end);
        row += 1;
    }
    Ok(pos)
}

/// Rows cut between lines, so that each part has some points.
fn lines_in_parts(grid: &Grid, rows: &Range<usize>) -> Vec<Range<usize>> {
    let nx = grid.sides[2];
    let len = PART.div_ceil(nx) * nx;
    let cuts = (rows.start / len + 1..).map(|number| number * len);
    let cuts: Vec<usize> = cuts.take_while(|&cut| cut < rows.end).collect();
    let starts = std::iter::once(rows.start).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(rows.end));
    starts
        .zip(ends)
        .map(|(start, end)| start..end)
        .filter(|part| !part.is_empty())
        .collect()
}

/// The three stages: along x, y and z.
struct Stages<'a, T> {
    transfer: &'a GridTransfer,
    stencil: Stencil,
    along_x: Stage<T>,
    along_y: Stage<T>,
    along_z: Stage<T>,
}

impl<'a, T: Field> Stages<'a, T> {
    fn new(transfer: &'a GridTransfer, stencil: Stencil) -> Self {
        let [z, y, x] = &transfer.axes;
        let along_x = Stage::new(x, 1, stencil);
        let along_y = Stage::new(y, 3, along_x.made);
        let along_z = Stage::new(z, 9, along_y.made);
        Self {
            transfer,
            stencil,
            along_x,
            along_y,
            along_z,
        }
    }

    /// The stencil of the coarse operator.
    fn stencil(&self) -> Stencil {
        self.along_z.made
    }

    /// The fine rows that some coarse rows are made from; some more where these are in several
    /// planes.
    fn fine_rows(&self, coarse: &Range<usize>) -> Range<usize> {
        let [nz, ny, nx] = self.transfer.fine.sides;
        if coarse.is_empty() {
            return 0..0;
        }
        let first = self.transfer.coarse.point(coarse.start);
        let last = self.transfer.coarse.point(coarse.end - 1);
        let span = |d: usize, n: usize, first: usize, last: usize| {
            let axis = &self.transfer.axes[d];
            match axis.is_coarsened {
                true => 2 * first..(2 * last + 3).min(n),
                false => first..last + 1,
            }
        };
        let planes = span(0, nz, first[0], last[0]);
        if planes.len() > 1 {
            return planes.start * ny * nx..planes.end * ny * nx;
        }
        let lines = span(1, ny, first[1], last[1]);
        let line = |y: usize| (planes.start * ny + y) * nx;
        line(lines.start)..line(lines.end)
    }
}

/// What makes the operator coarser along one axis.
struct Stage<T> {
    is_coarsened: bool,
    terms: Vec<Term<T>>,
    /// The stencil that it makes.
    made: Stencil,
}

/// One summand: from the slot of an offset of the fine point `2X + 1 + step` to that of an offset
/// of X.
struct Term<T> {
    from: usize,
    step: isize,
    to: usize,
    /// By X.
    weights: Vec<T>,
}

impl<T: Field> Stage<T> {
    /// The stage along an axis whose steps have this `stride` among the numbers of offsets.
    fn new(axis: &AxisTransfer, stride: usize, stencil: Stencil) -> Self {
        if !axis.is_coarsened {
            return Self {
                is_coarsened: false,
                terms: Vec::new(),
                made: stencil,
            };
        }
        let weights = Weights::new(axis);
        let mut terms = Vec::new();
        let mut made = Stencil::default();
        for offset in stencil.offsets() {
            let k = (offset / stride % 3) as isize - 1;
            for (step, new_k) in [-1, 0, 1]
                .into_iter()
                .flat_map(|t| [-1, 0, 1].map(|k| (t, k)))
            {
                let weights = weights.of(step, k, new_k);
                if weights.iter().any(|&weight| weight != 0.0) {
                    let to = offset.wrapping_add_signed((new_k - k) * stride as isize);
                    made = made.with(to);
                    terms.push((stencil.slot(offset), step, to, weights));
                }
            }
        }
        let term = |(from, step, to, weights): (usize, isize, usize, Vec<f64>)| Term {
            from,
            step,
            to: made.slot(to),
            weights: weights.into_iter().map(T::from_f64).collect(),
        };
        Self {
            is_coarsened: true,
            terms: terms.into_iter().map(term).collect(),
            made,
        }
    }

    /// A line of the fine grid made coarser along x. Its slots have room for `stride` points, the
    /// even ones first, the odd ones from half of it on ([`place`]).
    fn along_line(&self, fine: &[T], stride: usize, coarse: &mut [T], coarse_len: usize) {
        coarse.fill(T::ZERO);
        for term in &self.terms {
            // Of X, the points 2X, 2X + 1 and 2X + 2.
            let start = term.from * stride + [0, stride / 2, 1][(term.step + 1) as usize];
            let fine = &fine[start..start + coarse_len];
            let coarse = &mut coarse[term.to * coarse_len..][..coarse_len];
            for ((target, &weight), &value) in coarse.iter_mut().zip(&term.weights).zip(fine) {
                *target += weight * value;
            }
        }
    }

    /// The line or plane X of the coarser grid from its neighbours `-1`, 0 and 1 in the finer one;
    /// all slots have `len` elements.
    fn across(&self, x: usize, fine: [&[T]; 3], coarse: &mut [T], len: usize) {
        coarse.fill(T::ZERO);
        for term in &self.terms {
            let weight = term.weights[x];
            // Neighbours that are not there have no weight.
            if weight == T::ZERO {
                continue;
            }
            let fine = &fine[(term.step + 1) as usize][term.from * len..][..len];
            let coarse = &mut coarse[term.to * len..][..len];
            for (target, &value) in coarse.iter_mut().zip(fine) {
                *target += weight * value;
            }
        }
    }
}

/// The weights of an axis at each X, for all that a stage may ask for.
struct Weights {
    /// `R[X][2X+1+t]`, t from -1 on.
    restricted: [Vec<f64>; 3],
    /// `P[2X+1+s][X+k']`, s from -2 on, and k' from -1 on.
    interpolated: [[Vec<f64>; 3]; 5],
}

impl Weights {
    fn new(axis: &AxisTransfer) -> Self {
        let all = |weight: &dyn Fn(usize) -> f64| (0..axis.coarse).map(weight).collect();
        let restricted = [-1, 0, 1].map(|t| all(&|x| axis.restricted(x, t)));
        let interpolated = [-2, -1, 0, 1, 2].map(|s: isize| {
            [-1, 0, 1].map(|k: isize| {
                // Linear interpolation reaches the next point.
                let is_near = (s - 2 * k).abs() <= 1;
                all(&|x| match is_near {
                    true => {
                        let fine = (2 * x + 1).checked_add_signed(s);
                        axis.interpolated(fine, x.checked_add_signed(k))
                    }
                    false => 0.0,
                })
            })
        });
        Self {
            restricted,
            interpolated,
        }
    }

    /// `R[X][2X+1+t] * P[2X+1+t+k][X+k']` for each X.
    fn of(&self, t: isize, k: isize, new_k: isize) -> Vec<f64> {
        let restricted = &self.restricted[(t + 1) as usize];
        let interpolated = &self.interpolated[(t + k + 2) as usize][(new_k + 1) as usize];
        let pairs = restricted.iter().zip(interpolated);
        pairs.map(|(r, p)| r * p).collect()
    }
}

/// Makes lines of the coarse grid, one after another.
struct Lines<'a, T> {
    stages: &'a Stages<'a, T>,
    fine: &'a FineRows<'a, T>,
    /// Lines of the fine grid that are coarse along x, with their numbers.
    narrow: Vec<(usize, Vec<T>)>,
    /// A line as it is loaded.
    wide: Vec<T>,
}

impl<'a, T: Field> Lines<'a, T> {
    fn new(stages: &'a Stages<'a, T>, fine: &'a FineRows<'a, T>) -> Self {
        Self {
            stages,
            fine,
            narrow: Vec::new(),
            wide: Vec::new(),
        }
    }

    /// The rows `rows` of the coarse matrix, whose entries have this room.
    fn make(&mut self, rows: Range<usize>, crd: &mut [u32], vals: &mut [T]) {
        let nx = self.stages.transfer.coarse.sides[2];
        let mut line = vec![T::ZERO; self.stages.stencil().len() * nx];
        // The entries of the line before, where all of it is there.
        let mut before: Option<Range<usize>> = None;
        let (mut row, mut at) = (rows.start, 0);
        while row < rows.end {
            let end = rows.end.min((row / nx + 1) * nx);
            let number = row / nx;
            let is_whole = end - row == nx;
            let goes_on = row > rows.start && self.goes_on(number);
            if !goes_on {
                self.line(number, &mut line);
            }
            let len = match before.filter(|_| goes_on && is_whole && self.has_rows_of(number)) {
                Some(before) => {
                    let len = before.len();
                    repeat(before.clone(), at, crd, nx as u32);
                    vals.copy_within(before, at);
                    len
                }
                None => {
                    let x = row - number * nx..end - number * nx;
                    self.write(number, &line, x, &mut crd[at..], &mut vals[at..])
                }
            };
            before = is_whole.then_some(at..at + len);
            (row, at) = (end, at + len);
        }
    }

    /// Whether a line of the coarse grid has the values of the one before it, since the lines of
    /// the fine grid do of which both are made.
    fn goes_on(&self, number: usize) -> bool {
        let Stages {
            transfer,
            along_y,
            along_z,
            ..
        } = self.stages;
        let [_, ny, _] = transfer.coarse.sides;
        let [fine_nz, fine_ny, fine_nx] = transfer.fine.sides;
        let (z, y) = (number / ny, number % ny);
        if y == 0 {
            return false;
        }
        let lines = match along_y.is_coarsened {
            // Those of the line before begin at 2y - 2.
            true => 2 * y - 1..2 * y + 3,
            false => y..y + 1,
        };
        let is_alike = |term: &Term<T>| term.weights[y] == term.weights[y - 1];
        let first = self.fine.first / fine_nx;
        let mut planes = neighbours(along_z.is_coarsened, z, fine_nz)
            .into_iter()
            .flatten();
        lines.end <= fine_ny
            && along_y.terms.iter().all(is_alike)
            && planes.all(|z| {
                let line = |y: usize| z * fine_ny + y - first;
                self.fine.goes_on[line(lines.start)..line(lines.end)]
                    .iter()
                    .all(|&goes_on| goes_on)
            })
    }

    /// Whether the rows of a line have as many entries as those of the line before.
    fn has_rows_of(&self, number: usize) -> bool {
        let grid = &self.stages.transfer.coarse;
        let ny = grid.sides[1];
        let (z, y) = (number / ny, number % ny);
        let stencil = self.stages.stencil();
        stencil.offsets().all(|offset| {
            let is_there =
                |y: usize| stencil::neighbour(grid, [z, y, 0], stencil::middle(offset)).is_some();
            is_there(y) == is_there(y - 1)
        })
    }

    /// All of line `number` of the coarse grid.
    fn line(&mut self, number: usize, target: &mut [T]) {
        let Stages {
            transfer,
            along_y,
            along_z,
            ..
        } = self.stages;
        let [_, ny, nx] = transfer.coarse.sides;
        let (z, y) = (number / ny, number % ny);
        let planes = neighbours(along_z.is_coarsened, z, transfer.fine.sides[0]);
        let lines = neighbours(along_y.is_coarsened, y, transfer.fine.sides[1]);
        self.narrow_lines(&planes, &lines);
        let fine_ny = transfer.fine.sides[1];
        let narrow = |z: usize, y: Option<usize>| {
            let number = y.map(|y| z * fine_ny + y);
            let found = self.narrow.iter().find(|(line, _)| Some(*line) == number);
            found.map_or(&[][..], |(_, line)| line)
        };
        // The lines of up to three planes, coarse along x and y.
        let flat = planes.map(|z| {
            let Some(z) = z else {
                return Vec::new();
            };
            let fine = lines.map(|y| narrow(z, y));
            if !along_y.is_coarsened {
                return fine[1].to_vec();
            }
            let mut flat = vec![T::ZERO; along_y.made.len() * nx];
            along_y.across(y, fine, &mut flat, nx);
            flat
        });
        if along_z.is_coarsened {
            along_z.across(z, [&flat[0], &flat[1], &flat[2]], target, nx);
        } else {
            target.copy_from_slice(&flat[1]);
        }
    }

    /// Sees to it that these lines of these planes are there, coarse along x.
    fn narrow_lines(&mut self, planes: &[Option<usize>; 3], lines: &[Option<usize>; 3]) {
        let fine_ny = self.stages.transfer.fine.sides[1];
        let planes = planes.iter().flatten();
        let needed: Vec<usize> = planes
            .flat_map(|z| lines.iter().flatten().map(move |y| z * fine_ny + y))
            .collect();
        let is_needed = |(line, _): &(usize, Vec<T>)| needed.contains(line);
        let (kept, mut free): (Vec<_>, Vec<_>) = std::mem::take(&mut self.narrow)
            .into_iter()
            .partition(is_needed);
        self.narrow = kept;
        for number in needed {
            if self.narrow.iter().all(|(line, _)| *line != number) {
                let (_, mut memory) = free.pop().unwrap_or_default();
                self.load(number, &mut memory);
                self.narrow.push((number, memory));
            }
        }
    }

    /// Line `number` of the fine grid, coarse along x.
    fn load(&mut self, number: usize, target: &mut Vec<T>) {
        let stages = self.stages;
        let (fine_nx, nx) = (
            stages.transfer.fine.sides[2],
            stages.transfer.coarse.sides[2],
        );
        // A point or two more, which restriction may read behind the last one.
        let stride = (fine_nx + 2).next_multiple_of(2);
        self.wide.resize(stages.stencil.len() * stride, T::ZERO);
        spread(stages, self.fine, number, stride, &mut self.wide);
        let stage = &stages.along_x;
        target.resize(stage.made.len() * nx, T::ZERO);
        if stage.is_coarsened {
            stage.along_line(&self.wide, stride, target, nx);
        } else {
            for (target, slot) in target.chunks_exact_mut(nx).zip(self.wide.chunks(stride)) {
                target.copy_from_slice(&slot[..nx]);
            }
        }
    }

    /// The entries of the points `xs` of a line of the coarse grid; how many there are.
    fn write(
        &self,
        number: usize,
        line: &[T],
        xs: Range<usize>,
        crd: &mut [u32],
        vals: &mut [T],
    ) -> usize {
        let grid = &self.stages.transfer.coarse;
        let [_, ny, nx] = grid.sides;
        // Of each offset whose line is there: its step along x, where that line begins, its slot.
        let stencil = self.stages.stencil();
        let lines: Vec<(isize, usize, &[T])> = stencil
            .offsets()
            .enumerate()
            .filter_map(|(slot, offset)| {
                let from = [number / ny, number % ny, 0];
                let [z, y, _] = stencil::neighbour(grid, from, stencil::middle(offset))?;
                let slot = &line[slot * nx..(slot + 1) * nx];
                Some((stencil::steps(offset)[2], (z * ny + y) * nx, slot))
            })
            .collect();
        let mut len = 0;
        for x in xs {
            let is_inside = 0 < x && x + 1 < nx;
            for &(step, start, slot) in &lines {
                let column = x.wrapping_add_signed(step);
                if is_inside || column < nx {
                    crd[len] = (start + column) as u32;
                    vals[len] = slot[x];
                    len += 1;
                }
            }
        }
        len
    }
}

/// The points of an axis around coarse point X: -1, 0, 1; 0 alone where it is not coarsened.
fn neighbours(is_coarsened: bool, x: usize, len: usize) -> [Option<usize>; 3] {
    if !is_coarsened {
        return [None, Some(x), None];
    }
    [0, 1, 2].map(|step| Some(2 * x + step).filter(|&point| point < len))
}

/// Where point x of a line lies in a slot with room for `stride` points: even and odd ones apart,
/// so that those of one kind lie side by side.
fn place(x: usize, stride: usize) -> usize {
    x / 2 + x % 2 * (stride / 2)
}

/// The rows of a line, as one array of `stride` points for each slot.
fn spread<T: Field>(
    stages: &Stages<'_, T>,
    fine: &FineRows<'_, T>,
    number: usize,
    stride: usize,
    wide: &mut [T],
) {
    let grid = &stages.transfer.fine;
    let nx = grid.sides[2];
    wide.fill(T::ZERO);
    let mut slots = [0usize; 27];
    let mut before: &[u32] = &[];
    for x in 0..nx {
        let row = number * nx + x - fine.first;
        let columns = fine.rows.columns(row);
        if x <= 1 || x + 1 == nx || !stencil::repeats(before, columns) {
            for (slot, &column) in slots.iter_mut().zip(columns) {
                let offset = stencil::offset(grid, number * nx + x, column as usize);
                let offset = offset.expect("the stencil is that of all rows");
                *slot = stages.stencil.slot(offset) * stride;
            }
        }
        before = columns;
        let x = match stages.along_x.is_coarsened {
            true => place(x, stride),
            false => x,
        };
        for (&slot, &value) in slots.iter().zip(fine.rows.values(row)) {
            wide[slot + x] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Prolongation, Restriction};
    use super::*;
    use sparsefuse_kernels::random;

    /// A matrix with random entries at all compact neighbours, or those on the axes; those of most
    /// rows are the same where it is `regular`.
    fn matrix(grid: &Grid, is_star: bool, is_regular: bool) -> Csr<f64> {
        let n = grid.sides.iter().product();
        Csr::from_rows(n, n, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), 0);
            for row in rows {
                for column in 0..n {
                    let offset = stencil::offset(grid, row, column);
                    let is_named = offset.is_some_and(|offset| {
                        !is_star || Stencil::default().with(offset).is_star()
                    });
                    if is_named {
                        let is_usual = is_regular && row != n / 3;
                        let number = match offset {
                            Some(offset) if is_usual => offset,
                            _ => row * n + column,
                        };
                        local.push(column as u32, random::uniform(5, number as u64));
                    }
                }
                local.end_row();
            }
            local
        })
        .unwrap()
    }

    #[test]
    fn galerkin_operators_are_products() {
        let shapes: [&[usize]; 10] = [
            &[9],
            &[2],
            &[5, 6],
            &[7, 4],
            &[1, 8],
            &[4, 5, 6],
            &[3, 2, 7],
            &[5, 1, 4],
            &[17, 6],
            &[3, 14, 3],
        ];
        let transfers = [
            (Restriction::FullWeighting, Prolongation::Linear),
            (Restriction::Injection, Prolongation::Linear),
            (Restriction::Injection, Prolongation::Injection),
        ];
        for sides in shapes {
            let grid = Grid::new(sides).unwrap();
            let all = grid.extended();
            for along in [all, [false, false, all[2]], [all[0], all[1], false]] {
                let kinds = [(false, false), (true, false), (false, true), (true, true)];
                for ((restriction, prolongation), (is_star, is_regular)) in
                    transfers.iter().flat_map(|t| kinds.map(|kind| (*t, kind)))
                {
                    let a = matrix(&grid, is_star, is_regular);
                    let transfer = GridTransfer::new(&grid, along, restriction, prolongation);
                    let stencil = Stencil::of(&a, &grid).unwrap().unwrap();
                    let (found, made) = galerkin(&a, stencil, &transfer).unwrap();
                    let r = transfer.restriction().unwrap();
                    let p = transfer.prolongation().unwrap();
                    let expected = r.matmul(&a).matmul(&p);
                    let [found_dense, expected_dense] =
                        [&found, &expected].map(|matrix| matrix.to_ndarray().unwrap());
                    let distance = (&found_dense - &expected_dense)
                        .iter()
                        .fold(0.0, |most: f64, difference| most.max(difference.abs()));
                    assert!(distance < 1e-14, "{sides:?}, {along:?}: {distance}");
                    let names = Stencil::of(&found, &transfer.coarse).unwrap().unwrap();
                    assert_eq!(names, made, "{sides:?}, {along:?}");
                }
            }
        }
    }
}
