//! The progress bar: how far the residual has fallen, on a logarithmic scale.
//!
//! It shows on a terminal only, and looks at the clock only once in as many iterations as pass
//! between two frames, so that it costs an iteration two comparisons.

use super::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// The time between two frames.
const FRAME: Duration = Duration::from_millis(50);
/// The length of the bar: one part in a thousand is finer than a character.
const PARTS: u64 = 1000;

/// A progress bar on standard error.
pub(super) struct Progress {
    bar: ProgressBar,
    rtol: f64,
    atol: f64,
    /// The norm of the initial residual, which is that of b.
    first: f64,
    /// The smallest norm so far: residuals may rise in between.
    best: f64,
    /// The iteration that looks at the clock next.
    next: usize,
    /// The last iteration that did, and when.
    last: (usize, Instant),
}

impl Progress {
    /// A bar, if there is a terminal to show it on; `what` is said until the first iteration.
    pub(super) fn start(what: &str, rtol: f64, atol: f64) -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let target = ProgressDrawTarget::stderr_with_hz(30);
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        bar.set_style(style("{msg}"));
        bar.set_message(format!("preparing {what} ..."));
        bar.tick();
        Some(Self {
            bar,
            rtol,
            atol,
            first: f64::NAN,
            best: f64::INFINITY,
            next: 0,
            last: (0, Instant::now()),
        })
    }

    /// Says what is being prepared now; the next iteration shows the bar again.
    pub(super) fn announce(&self, what: &str) {
        self.bar.set_style(style("{msg}"));
        self.bar.set_message(format!("preparing {what} ..."));
        self.bar.tick();
    }

    /// Takes note of an iteration.
    pub(super) fn update(&mut self, iteration: usize, norm: f64) {
        self.best = self.best.min(norm);
        if 0 < iteration && iteration < self.next {
            return;
        }
        // A solve that goes on from a checkpoint begins at another iteration.
        if iteration == 0 || self.first.is_nan() {
            self.first = norm;
            self.best = norm;
            self.next = 0;
            self.last = (iteration, Instant::now());
            self.bar.set_style(style("{bar:32.cyan/238} {msg}"));
            return;
        }
        let elapsed = self.last.1.elapsed();
        let passed = iteration - self.last.0;
        let rate = passed as f64 / elapsed.as_secs_f64().max(1e-9);
        let per_frame = (rate * FRAME.as_secs_f64()) as usize;
        self.next = iteration + per_frame.max(1);
        if elapsed < FRAME {
            return;
        }
        self.last = (iteration, Instant::now());
        self.draw(iteration, norm, rate);
    }

    fn draw(&self, iteration: usize, norm: f64, rate: f64) {
        let target = (self.rtol * self.first).max(self.atol);
        let whole = (self.first / target).ln();
        let done = ((self.first / self.best).ln() / whole).clamp(0.0, 1.0);
        self.bar.set_position((done * PARTS as f64) as u64);
        self.bar.set_message(format!(
            "residual {:.1e} of {:.1e}  iteration {}  {}/s",
            norm / self.first,
            target / self.first,
            output::grouped(iteration),
            output::grouped(rate.round() as usize),
        ));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style
        .expect("the templates of this file are well-formed")
        .progress_chars("━╸─")
}
