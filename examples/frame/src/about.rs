//! What an example says about itself.

/// What an example computes, and which options it takes.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name of the program.
    pub name: &'static str,
    /// What it computes, in one sentence without a full stop.
    pub title: &'static str,
    /// The equations, what a step does, what is checked.
    pub help: &'static str,
    /// What `--size` is without the option, what it is at least, and what it counts.
    pub size: (usize, usize, &'static str),
    /// What `--steps` is without the option.
    pub steps: usize,
    /// Options of this example alone.
    pub choices: &'static [Choice],
    /// The bytes of one of the program's large arrays at this size.
    pub array_bytes: fn(f64) -> f64,
    /// About as many of them as the program needs: it is refused where memory has less.
    pub arrays: u32,
}

/// An option with a few values, the first of which is taken without it.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The option, without `--`.
    pub name: &'static str,
    /// What it may be.
    pub values: &'static [&'static str],
    /// What it changes.
    pub help: &'static str,
}
