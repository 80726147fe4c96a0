//! Whole programs whose kernels become native code while they run.

use sparsefuse::kernels::Toolchain;
use sparsefuse::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A directory that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A wave, its sum, and how often it is positive.
type Wave = (Vec<f64>, f64, i64);

/// With much arithmetic for each element.
fn wave(x: &Vector<f64>, shift: f64) -> Wave {
    let wave = ((x * 0.5).exp() + shift).ln() * (x + shift).sin() + (x * 0.5).erf();
    let (sum, count) = (wave.sum(), wave.greater(0.0).count());
    (
        wave.to_vec().unwrap(),
        sum.get().unwrap(),
        count.get().unwrap(),
    )
}

/// What a program computes in a number of windows, and what `explain` says of its kernels.
fn run(config: &Config, ranks: usize, windows: usize) -> (Vec<Wave>, String) {
    let program = |runtime: &Runtime| {
        let x = Vector::<f64>::random_uniform([10_000], 7) * 8.0 - 4.0;
        // Random numbers have no C form: they get a window of their own.
        runtime.flush();
        let is_settled = || !runtime.explain().contains("while it is being compiled");
        let window = |i: usize| {
            let values = wave(&x, 1.0 + i as f64);
            // Ranks have to run the same windows, so only one may wait.
            while ranks == 1 && i == windows / 2 && !is_settled() {
                assert_eq!(wave(&x, 1.0 + i as f64), values);
                // The compiler has the lowest priority.
                std::thread::park_timeout(Duration::from_millis(2));
            }
            values
        };
        let waves = (0..windows).map(window).collect();
        (waves, runtime.explain())
    };
    run_ranks(ranks, config, program).unwrap().remove(0)
}

#[test]
fn results_are_the_same_before_while_and_after_kernels_are_compiled() {
    let name = format!("sparsefuse-programs-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    // Of a process that had this number before.
    let _ = std::fs::remove_dir_all(&folder.0);
    std::fs::create_dir(&folder.0).unwrap();
    let blocks = Config {
        native: None,
        ..Config::default()
    };
    let (expected, text) = run(&blocks, 1, 40);
    assert!(!text.contains(" runs "), "{text}");
    let toolchain = Toolchain {
        patience: 100_000,
        limit: Duration::from_secs(300),
        ..Toolchain::new(folder.0.join("cache"))
    };
    for (ranks, threads) in [(1, 1), (2, 1), (1, 2)] {
        let config = Config {
            threads,
            parallel_threshold: 1,
            native: Some(Arc::new(toolchain.clone())),
            ..Config::default()
        };
        let (found, text) = run(&config, ranks, 40);
        assert_eq!(found, expected, "{ranks} ranks");
        // On machines without fused multiply-adds no kernel is worth it.
        if ranks == 1 && text.contains(" runs ") {
            let expected = ["runs native", "no C compiler is found"];
            assert!(expected.iter().any(|note| text.contains(note)), "{text}");
        }
    }
}

#[test]
fn explain_says_how_a_kernel_runs() {
    let missing = Toolchain {
        compilers: vec![vec!["sparsefuse-no-such-compiler".to_owned()]],
        patience: 1,
        ..Toolchain::new(std::env::temp_dir().join("sparsefuse-never-made"))
    };
    let patient = Toolchain {
        patience: u64::MAX,
        ..missing.clone()
    };
    let isa = sparsefuse::kernels::Isa::Avx2;
    if !isa.is_available() {
        return println!("skipped: no loop is worth native code on this machine");
    }
    let note = |toolchain: Toolchain| {
        let config = Config {
            isa,
            native: Some(Arc::new(toolchain)),
            ..Config::default()
        };
        let (_, text) = run(&config, 1, 1);
        let note = text.lines().find(|line| line.contains(" runs "));
        note.unwrap_or(&text).trim().to_owned()
    };
    let expected = "loop 0 runs in blocks, native when it has run for longer";
    assert_eq!(note(patient), expected);
    let note = note(missing);
    assert!(note.starts_with("loop 0 runs in blocks"), "{note}");
}
