//! Native code in bands: the bits of loops one after the other.

use super::*;
use crate::generate::sweeps::Sweeps;
use crate::reference;

#[test]
fn native_loops_in_bands_have_the_bits_of_the_reference() {
    let folder = Folder::new("bands");
    for isa in isas() {
        let mut natives = Natives::new(isa, folder.toolchain());
        let cases = (0..12).map(|seed| {
            let case = Sweeps::new(seed);
            let program = natives.program(&case.kernel);
            (case, program)
        });
        let cases: Vec<_> = cases.collect();
        let run = |case: &Sweeps, program: &Program, threads: usize| {
            let settings = Settings {
                band_threshold: 0,
                block_len: 64,
                ..divided(isa)
            };
            let workers = Workers::new(threads).unwrap();
            case.run(|launch| {
                // SAFETY: each view of the case lies within its memory.
                unsafe { program.run(launch, Part::All, &settings, &workers) };
            })
        };
        for (case, program) in &cases {
            run(case, program, 1);
        }
        if unless_missing(natives.load()).is_none() {
            return;
        }
        let mut n_chains = 0;
        for (seed, (case, program)) in cases.iter().enumerate() {
            // SAFETY: as above.
            let expected = case.run(|launch| unsafe { reference::run(&case.kernel, launch) });
            for threads in [1, 3] {
                let found = run(case, program, threads);
                assert!(found == expected, "seed {seed}, {threads} threads, {isa}");
            }
            n_chains += program.band_notes().len();
        }
        assert!(n_chains >= 12, "{n_chains} chains");
    }
}
