//! The transform of lines along an axis, some at a time: their elements are taken from where they
//! are to neighbouring places, in the cache, and what is made of them is put where it belongs. So
//! no axis has to be moved before.

use super::Ends;
use super::lanes::{Beside, Lanes, planned};
use super::turns::Turns;
use crate::shares::{each, part};
use num_complex::Complex;
use rustfft::{Fft, FftDirection};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, HostArgs, try_collect};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Lines that are taken from their places at a time: their neighbouring elements fill some lines of
/// the cache.
const PANEL: usize = 16;
/// The longest lines that are transformed side by side, so that these stay in a cache.
const LONGEST: usize = 1 << 13;

/// The transform of lines.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) plan: Arc<Plan>,
    /// Elements of a line of the operand, and of the result.
    pub(super) before: usize,
    pub(super) after: usize,
    /// Elements for each index along the axis: how far neighbours of a line lie apart.
    pub(super) inner: usize,
    /// Elements of a row of the operand.
    pub(super) row_len: usize,
    pub(super) ends: Ends,
    /// What the result is multiplied by.
    pub(super) scale: f64,
}

/// Elements that one thread transforms sooner than several have been told to.
const FEW: usize = 1 << 13;

/// Where what is made of lines goes.
struct Target<'a, M> {
    made: &'a mut [M],
    /// How far neighbours of a line lie apart.
    step: usize,
}

impl Line {
    pub(super) fn run<T: Field, M: Field>(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let made = args.write::<M>(1)?;
        let x = args.read_between::<T>(0, self.row_len, args.cuts(1))?;
        if made.is_empty() {
            return Ok(());
        }
        let n_lines = made.len() / self.after;
        match n_lines > 1 && self.plan.len <= LONGEST {
            true => self.shared::<Lanes, T, M>(args, &**self.plan.beside(), &x, made),
            false => self.shared::<f64, T, M>(args, &**self.plan.alone(), &x, made),
        }
    }

    /// The threads share the lines.
    fn shared<V: Beside, T: Field, M: Field>(
        &self,
        args: &HostArgs<'_>,
        fft: &dyn Fft<V>,
        x: &[T],
        made: &mut [M],
    ) -> Result<(), Error> {
        let (inner, threads) = (self.inner, args.threads());
        let unit = self.after * inner;
        let are_few = made.len() <= FEW;
        if inner == 1 || threads == 1 || are_few || made.len() / unit >= threads {
            return args.in_parts(made, unit, |first, made| {
                let lines = first * inner..first * inner + made.len() / self.after;
                let start = |line: usize| (line / inner - first) * unit + line % inner;
                self.transform(fft, x, lines, start, Target { made, step: inner })
            });
        }
        // Parts of lines are no neighbours in the result: each thread makes an array of its own.
        let n_lines = made.len() / self.after;
        // Whole panels, if there are enough of them.
        let group = match n_lines >= PANEL * threads {
            true => PANEL,
            false => V::LINES,
        };
        let lines = |thread: usize| part(n_lines.div_ceil(group), thread, threads);
        let lines = |thread: usize| {
            let Range { start, end } = lines(thread);
            start * group..(end * group).min(n_lines)
        };
        let mut parts: Vec<Vec<M>> = (0..threads).map(|_| Vec::new()).collect();
        each(args, &mut parts, |thread, part| {
            let lines = lines(thread);
            *part = try_collect((0..lines.len() * self.after).map(|_| M::ZERO))?;
            let (first, step) = (lines.start, lines.len());
            let target = Target { made: part, step };
            self.transform(fft, x, lines, |line| line - first, target)
        })?;
        args.in_parts(made, inner, |first, made| {
            for (row, made) in (first..).zip(made.chunks_exact_mut(inner)) {
                let (of_row, index) = (row / self.after * inner, row % self.after);
                for (thread, part) in parts.iter().enumerate() {
                    let lines = lines(thread);
                    let from = of_row.max(lines.start);
                    let to = (of_row + inner).min(lines.end);
                    if from < to {
                        let place = index * lines.len() + from - lines.start;
                        let part = &part[place..place + to - from];
                        made[from - of_row..to - of_row].copy_from_slice(part);
                    }
                }
            }
            Ok(())
        })
    }

    /// Some lines; `start` says where the first element of each goes.
    fn transform<V: Beside, T: Field, M: Field>(
        &self,
        fft: &dyn Fft<V>,
        x: &[T],
        lines: Range<usize>,
        start: impl Fn(usize) -> usize,
        mut target: Target<'_, M>,
    ) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        let n = fft.len();
        let zero = Complex::new(V::of(|_| 0.0), V::of(|_| 0.0));
        let zeros = |len: usize| try_collect((0..len).map(|_| zero));
        let panel_len = match V::LINES {
            // A line alone, or one of those too long for a cache.
            1 if self.inner == 1 => 1,
            _ => PANEL,
        };
        let panel_len = panel_len.min(lines.len().next_multiple_of(V::LINES));
        let mut panel: Vec<Complex<V>> = zeros(panel_len / V::LINES * n)?;
        let mut scratch = zeros(fft.get_inplace_scratch_len())?;
        let (mut from, mut to) = ([0; PANEL], [0; PANEL]);
        for first in lines.clone().step_by(panel_len) {
            let len = panel_len.min(lines.end - first);
            for place in 0..len.next_multiple_of(V::LINES) {
                // Lines that are missing are copies of the last one.
                let line = first + place.min(len - 1);
                from[place] = line / self.inner * self.before * self.inner + line % self.inner;
                to[place] = start(line);
            }
            let panel = &mut panel[..len.div_ceil(V::LINES) * n];
            self.fill(x, &from, panel);
            fft.process_with_scratch(panel, &mut scratch);
            self.put(panel, &to[..len], &mut target);
        }
        Ok(())
    }

    /// The lines that are transformed, which begin at these elements.
    fn fill<V: Beside, T: Field>(&self, x: &[T], from: &[usize; PANEL], panel: &mut [Complex<V>]) {
        let (before, inner) = (self.before, self.inner);
        let number = |x: Option<&T>| {
            let (re, im) = x.map_or((0.0, 0.0), |x| x.parts());
            Complex::new(re, im)
        };
        if V::LINES == 1 && inner == 1 {
            let x = &x[from[0]..][..before];
            return self.fill_by(panel, |_, k| number(x.get(k)));
        }
        self.fill_by(panel, |line, k| match k < before {
            true => number(x.get(from[line] + k * inner)),
            false => Complex::ZERO,
        });
    }

    #[inline(always)]
    fn fill_by<V: Beside>(
        &self,
        panel: &mut [Complex<V>],
        at: impl Fn(usize, usize) -> Complex<f64>,
    ) {
        // Where the result is real: what has to be real is.
        let n = self.after;
        let half_at = |line: usize, k: usize| match k == 0 || 2 * k == n {
            true => Complex::from(at(line, k).re),
            false => at(line, k),
        };
        let len = self.plan.len;
        match (self.ends, &self.plan.turns) {
            (Ends::Whole | Ends::Half, None) => filled(panel, len, at),
            (Ends::Whole | Ends::Half, Some(_)) => filled(panel, len, |line, j| {
                Complex::new(at(line, 2 * j).re, at(line, 2 * j + 1).re)
            }),
            (Ends::OfHalf, None) => filled(panel, len, |line, k| match k <= len / 2 {
                true => half_at(line, k),
                false => half_at(line, len - k).conj(),
            }),
            (Ends::OfHalf, Some(turns)) => {
                filled(panel, len, |line, k| turns.joined(|k| half_at(line, k), k))
            }
        }
    }

    /// Puts what the transformed lines are to where they begin.
    fn put<V: Beside, M: Field>(
        &self,
        panel: &[Complex<V>],
        to: &[usize],
        Target { made, step }: &mut Target<'_, M>,
    ) {
        let (len, scale) = (self.plan.len, self.scale);
        let at = |line: usize, k: usize| {
            let y = &panel[line / V::LINES * len + k];
            let line = line % V::LINES;
            Complex::new(y.re.line(line), y.im.line(line))
        };
        let step = *step;
        if let (&[to], 1, Ends::Whole | Ends::Half) = (to, step, self.ends) {
            let made = made[to..][..self.after].iter_mut().enumerate();
            let scaled = |y: Complex<f64>| M::from_parts(y.re * scale, y.im * scale);
            return match &self.plan.turns {
                Some(turns) => made.for_each(|(k, made)| {
                    *made = scaled(turns.parted(|k| at(0, k), k));
                }),
                None => made.for_each(|(k, made)| *made = scaled(at(0, k))),
            };
        }
        match (self.ends, &self.plan.turns) {
            (Ends::Half, Some(turns)) => {
                for k in 0..self.after {
                    for group in 0..to.len().div_ceil(V::LINES) {
                        let numbers = &panel[group * len..][..len];
                        let y = turns.parted(|k| numbers[k], k);
                        let to = to[group * V::LINES..].iter().take(V::LINES);
                        for (line, to) in to.enumerate() {
                            let (re, im) = (y.re.line(line), y.im.line(line));
                            made[to + k * step] = M::from_parts(re * scale, im * scale);
                        }
                    }
                }
            }
            (Ends::OfHalf, Some(_)) => {
                for k in 0..len {
                    for (line, to) in to.iter().enumerate() {
                        let y = at(line, k);
                        made[to + 2 * k * step] = M::from_parts(y.re * scale, 0.0);
                        made[to + (2 * k + 1) * step] = M::from_parts(y.im * scale, 0.0);
                    }
                }
            }
            _ => {
                for k in 0..self.after {
                    for (line, to) in to.iter().enumerate() {
                        let y = at(line, k);
                        made[to + k * step] = M::from_parts(y.re * scale, y.im * scale);
                    }
                }
            }
        }
    }
}

/// Fills a panel of lines of this length with the numbers that each line has at each place.
#[inline(always)]
fn filled<V: Beside>(
    panel: &mut [Complex<V>],
    len: usize,
    at: impl Fn(usize, usize) -> Complex<f64>,
) {
    for k in 0..len {
        for (group, numbers) in panel.chunks_exact_mut(len).enumerate() {
            let mut im = [0.0; PANEL];
            let re = V::of(|line| {
                let number = at(group * V::LINES + line, k);
                im[line] = number.im;
                number.re
            });
            numbers[k] = Complex::new(re, V::of(|line| im[line]));
        }
    }
}

/// How lines of a length are transformed.
pub(super) struct Plan {
    /// Complex numbers that are transformed.
    pub(super) len: usize,
    direction: FftDirection,
    /// Where an even number of real elements is transformed as half as many complex ones.
    turns: Option<Turns>,
    alone: OnceLock<Arc<dyn Fft<f64>>>,
    beside: OnceLock<Arc<dyn Fft<Lanes>>>,
}

impl Plan {
    /// A program uses a few lengths again and again, so some plans are kept.
    pub(super) fn new(n: usize, direction: FftDirection, is_halved: bool) -> Arc<Self> {
        /// Plans that are kept, each as large as its line.
        const MANY: usize = 16;
        static PLANS: Mutex<VecDeque<(usize, Arc<Plan>)>> = Mutex::new(VecDeque::new());
        // Nothing panics between two states of the list.
        let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(len, plan): &&(usize, Arc<Self>)| {
            let is_alike = plan.turns.is_some() == is_halved;
            *len == n && plan.direction == direction && is_alike
        };
        if let Some((_, plan)) = plans.iter().find(is_it) {
            return Arc::clone(plan);
        }
        let plan = Arc::new(Self {
            len: if is_halved { n / 2 } else { n },
            direction,
            turns: is_halved.then(|| Turns::new(n)),
            alone: OnceLock::new(),
            beside: OnceLock::new(),
        });
        plans.truncate(MANY - 1);
        plans.push_front((n, Arc::clone(&plan)));
        plan
    }

    fn alone(&self) -> &Arc<dyn Fft<f64>> {
        self.alone.get_or_init(|| planned(self.len, self.direction))
    }

    fn beside(&self) -> &Arc<dyn Fft<Lanes>> {
        self.beside
            .get_or_init(|| planned(self.len, self.direction))
    }
}
