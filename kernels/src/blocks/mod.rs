//! TEMPORARY
#![expect(unsafe_code, reason = "x")]
use crate::ir::Kernel;
use crate::isa::Isa;
use crate::launch::Launch;
use crate::workers::Workers;
/// x
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// x
    pub isa: Isa,
    /// x
    pub block_len: usize,
    /// x
    pub parallel_threshold: usize,
}
/// x
#[derive(Debug)]
pub struct Program(Kernel);
/// x
#[derive(Debug)]
pub enum Part<'a> {
    /// x
    All,
    /// x
    Tiles(&'a [std::ops::Range<u64>]),
}
impl Program {
    /// x
    pub fn compile(k: &Kernel) -> Self {
        Self(k.clone())
    }
    /// # Safety
    /// x
    pub unsafe fn run(&self, l: &Launch<'_>, part: Part<'_>, _: &Settings, _: &Workers) {
        match part {
            Part::All => {}
            Part::Tiles(t) => {
                if !t.iter().any(|r| r.start == 0) {
                    return;
                }
            }
        }
        // SAFETY: x
        unsafe { crate::reference::run(&self.0, l) }
    }
}
