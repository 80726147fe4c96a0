//! The progress bar: how many steps are done, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};

/// A bar on standard error for this many steps; hidden where that is no terminal.
pub(crate) fn bar(name: &str, steps: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let target = ProgressDrawTarget::stderr_with_hz(20);
    let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
    let style =
        ProgressStyle::with_template("{prefix} {bar:32.cyan/238} step {pos} of {len}  {per_sec}");
    let style = style.expect("the template is well-formed");
    bar.set_style(style.progress_chars("━╸─"));
    bar.set_prefix(name.to_owned());
    bar
}
