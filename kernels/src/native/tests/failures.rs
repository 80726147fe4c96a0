//! Compilers that fail, programs that go on, and many who compile at once.

use super::*;
use crate::ir::BinaryOp;
use crate::tiles::Tiles;
use std::time::{Duration, Instant};

/// For a compiler to end, which has the lowest priority, on a machine with other work.
const LONG: Duration = Duration::from_secs(300);
/// Between two looks whether it has ended: a thread that looks all the time would take its core.
const MOMENT: Duration = Duration::from_millis(2);

/// How the loop of a program runs, once there is an outcome.
fn settled_note(program: &Program, isa: Isa) -> String {
    let end = Instant::now() + LONG;
    loop {
        run(program, isa, &[&[0.5; 64]]);
        let (_, note) = program.native_notes().next().unwrap();
        if !note.contains("while it is being compiled") {
            return note;
        }
        assert!(Instant::now() < end, "no outcome");
        std::thread::park_timeout(MOMENT);
    }
}

fn program(toolchain: Toolchain, isa: Isa) -> Program {
    let kernel = long_kernel();
    Program::compile(&kernel).with_native(&kernel, isa, &Arc::new(toolchain))
}

/// A compiler that is a line of shell; it runs in the directory of the compilation.
fn shell(line: &str) -> Vec<Vec<String>> {
    vec![["sh", "-c", line].map(str::to_owned).to_vec()]
}

#[test]
fn a_program_keeps_its_bits_when_it_becomes_native() {
    let folder = Folder::new("switch");
    let x: Vec<f64> = (0..1000).map(|i| 0.01 * i as f64 - 4.0).collect();
    for isa in isas() {
        let expected = run(&Program::compile(&long_kernel()), isa, &[&x]);
        let toolchain = Toolchain {
            patience: 100_000,
            ..folder.toolchain()
        };
        let program = program(toolchain, isa);
        let note = || program.native_notes().next().unwrap().1;
        assert_eq!(note(), "in blocks, native when it has run for longer");
        let mut seen = Vec::new();
        while seen
            .last()
            .is_none_or(|note: &String| note.contains("blocks"))
        {
            assert!(run(&program, isa, &[&x]) == expected, "{seen:?}");
            seen.push(note());
            seen.dedup();
            if seen
                .last()
                .is_some_and(|note| note.contains("no C compiler"))
            {
                println!("skipped: there is no C compiler");
                return;
            }
            assert!(seen.len() < 4, "{seen:?}");
            std::thread::park_timeout(MOMENT);
        }
        assert!(run(&program, isa, &[&x]) == expected);
        assert_eq!(note(), format!("native for {isa}"));
    }
}

#[test]
fn loops_bound_by_memory_are_native_for_large_arrays_only() {
    let folder = Folder::new("memory");
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let x = build.load(x);
    let sum = (0..3).fold(x, |sum, _| build.binary(BinaryOp::Add, sum, x));
    build.store(y, sum);
    let kernel = build.finish();
    let input: Vec<f64> = (0..1000).map(f64::from).collect();
    for isa in isas() {
        let toolchain = Arc::new(folder.toolchain());
        let program = Program::compile(&kernel).with_native(&kernel, isa, &toolchain);
        let run = |stream_threshold: usize| {
            let settings = Settings {
                isa,
                stream_threshold,
                ..Settings::default()
            };
            run_with(&program, &settings, &[&input])
        };
        let expected = run(usize::MAX);
        assert_eq!(program.native_notes().count(), 0);
        assert_eq!(run(0), expected);
        let note = settled_note(&program, isa);
        assert!(
            note.starts_with("native") || note.ends_with("is found"),
            "{note}"
        );
        assert_eq!(run(0), expected);
    }
}

#[test]
fn broken_compilers_leave_the_blocks() {
    let Some(isa) = isas().next() else { return };
    let folder = Folder::new("broken");
    for (compilers, expected) in [
        (
            vec![vec!["sparsefuse-no-such-compiler".to_owned()]],
            "no C compiler is found",
        ),
        (
            shell("echo 'x.c:1: error: bad' >&2; exit 1"),
            "the C compiler failed: x.c:1: error: bad",
        ),
        (shell("exit 1"), "the C compiler failed: no message"),
        (shell("sleep 1000"), "the C compiler took longer than 0.3 s"),
        (shell("true"), "the C compiler failed: mv: "),
        (shell("echo rubbish > part"), "the library does not load"),
        (shell(": > part"), "the library does not load"),
    ] {
        // On a machine with other work the others may take their time.
        let limit = match expected.contains("longer") {
            true => Duration::from_millis(300),
            false => LONG,
        };
        let toolchain = Toolchain {
            limit,
            compilers,
            ..folder.toolchain()
        };
        let started = Instant::now();
        let note = settled_note(&program(toolchain, isa), isa);
        assert!(
            note.starts_with("in blocks: ") && note.contains(expected),
            "{note}"
        );
        assert!(started.elapsed() < 2 * LONG);
        let left: Vec<_> = fs::read_dir(folder.0.join("cache")).unwrap().collect();
        assert!(left.is_empty(), "{expected}: {left:?}");
    }
}

#[test]
fn unusable_caches_leave_the_blocks() {
    let Some(isa) = isas().next() else { return };
    let folder = Folder::new("unusable");
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    let open = folder.0.join("open");
    fs::create_dir(&open).unwrap();
    cache::set_mode(&open, 0o777);
    for (directory, expected) in [
        (file.join("cache"), "is not usable"),
        (open.clone(), "others may write to"),
        (open.join("cache"), "others may write to"),
    ] {
        let toolchain = Toolchain {
            directory,
            ..folder.toolchain()
        };
        let note = settled_note(&program(toolchain, isa), isa);
        assert!(
            note.starts_with("in blocks: ") && note.contains(expected),
            "{note}"
        );
    }
}

#[test]
fn constants_that_part_get_a_form_of_their_own() {
    let Some(isa) = isas().next() else { return };
    let folder = Folder::new("forms");
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let params = [(); 2].map(|()| build.param(DType::F64));
    let x = build.load(x);
    let terms = params.map(|param| {
        let scaled = build.binary(BinaryOp::Mul, param, x);
        build.unary(UnaryOp::Erf, scaled)
    });
    let sum = build.binary(BinaryOp::Add, terms[0], terms[1]);
    build.store(y, sum);
    let kernel = build.finish();
    let blocks = Program::compile(&kernel);
    let native = blocks.clone();
    let native = native.with_native(&kernel, isa, &Arc::new(folder.toolchain()));
    let x: Vec<f64> = (0..64).map(|i| 0.1 * f64::from(i)).collect();
    let run = |program: &Program, params: [f64; 2]| {
        let mut y = vec![0.0; x.len()];
        let layout = Layout::contiguous(x.len());
        let operands = [x.as_ptr().cast_mut(), y.as_mut_ptr()].map(|data| Operand::Array {
            data: data.cast(),
            layout,
        });
        let launch = Launch {
            domains: &[Extent {
                start: 0,
                len: 64,
                tiles: Tiles::of_vector(16),
            }],
            operands: &operands,
            params: &params.map(|param| param.to_value()),
            tile_len: 16,
        };
        let settings = Settings {
            isa,
            ..Settings::default()
        };
        let workers = Workers::new(1).unwrap();
        // SAFETY: both arrays have 64 elements.
        unsafe { program.run(&launch, Part::All, &settings, &workers) };
        y
    };
    let mut notes = Vec::new();
    for params in [[0.5, 0.5], [0.5, 0.25], [0.25, 0.25]] {
        let end = Instant::now() + LONG;
        loop {
            assert_eq!(run(&native, params), run(&blocks, params));
            let (_, note) = native.native_notes().next().unwrap();
            if !note.contains("while it is being compiled") {
                notes.push(note);
                break;
            }
            assert!(Instant::now() < end, "no outcome");
            std::thread::park_timeout(MOMENT);
        }
    }
    if notes[0].contains("no C compiler") {
        return println!("skipped: there is no C compiler");
    }
    assert_eq!(notes, vec![format!("native for {isa}"); 3]);
}

#[test]
fn many_compile_the_same_at_once() {
    let Some(isa) = isas().next() else { return };
    let folder = Folder::new("many");
    let toolchain = folder.toolchain();
    let build = || {
        let mut natives = Natives::new(isa, toolchain.clone());
        let program = natives.program(&long_kernel());
        natives.load().map(|()| run(&program, isa, &[&[0.5; 64]]))
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(build)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let expected = run(&Program::compile(&long_kernel()), isa, &[&[0.5; 64]]);
    for outcome in outcomes {
        let Some(found) = unless_missing(outcome) else {
            return;
        };
        assert_eq!(found, expected);
    }
    let left = fs::read_dir(&toolchain.directory).unwrap().count();
    assert_eq!(left, 1, "one library and no workplace is left");
}

/// Runs itself in other processes, which share the directory that it names.
#[test]
fn processes_share_the_cache() {
    const SHARED: &str = "SPARSEFUSE_TEST_SHARED_CACHE";
    #[expect(clippy::disallowed_methods, reason = "the processes of a test")]
    let shared = std::env::var(SHARED);
    let Some(isa) = isas().next() else { return };
    if let Ok(directory) = shared {
        let toolchain = Toolchain {
            directory: directory.into(),
            ..Folder::new("process").toolchain()
        };
        let note = settled_note(&program(toolchain, isa), isa);
        assert!(
            note.contains("native") || note.contains("no C compiler"),
            "{note}"
        );
        return;
    }
    let folder = Folder::new("processes");
    let this = std::env::current_exe().unwrap();
    let name = "native::tests::failures::processes_share_the_cache";
    let start = || {
        let mut command = std::process::Command::new(&this);
        let command = command.args(["--exact", name, "--quiet"]);
        command
            .env(SHARED, folder.0.join("cache"))
            .stdout(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

/// A library that was cut off ended the process in the loader (SIGBUS), one with zeros in its code
/// when it was called.
#[test]
fn damaged_libraries_are_compiled_anew() {
    let Some(isa) = isas().next() else { return };
    let folder = Folder::new("damaged");
    let toolchain = folder.toolchain();
    let x: Vec<f64> = (0..100).map(|i| 0.01 * f64::from(i)).collect();
    let expected = run(&Program::compile(&long_kernel()), isa, &[&x]);
    let check = || {
        let mut natives = Natives::new(isa, toolchain.clone());
        let program = natives.program(&long_kernel());
        let found = natives.load().map(|()| run(&program, isa, &[&x]));
        unless_missing(found).map(|found| assert_eq!(found, expected))
    };
    if check().is_none() {
        return;
    }
    let mut libraries = fs::read_dir(&toolchain.directory).unwrap();
    let path = libraries.next().unwrap().unwrap().path();
    let whole = fs::read(&path).unwrap();
    let zeroed = |range: std::ops::Range<usize>| {
        let mut bytes = whole.clone();
        bytes[range].fill(0);
        bytes
    };
    let n = whole.len();
    let mut damaged: Vec<Vec<u8>> = [0, 10, 4096, 8192, 16384, n - 100, n - 1]
        .into_iter()
        .map(|len| whole[..len.min(n - 1)].to_vec())
        .collect();
    damaged.extend([
        zeroed(0..64),
        zeroed(4096..8192),
        zeroed(n / 2..n / 2 + 1),
        zeroed(64..n - 24),
        zeroed(n - 24..n),
        [&whole[..], &[0]].concat(),
        vec![b'x'; n],
    ]);
    for (number, bytes) in damaged.into_iter().enumerate() {
        if bytes == whole {
            continue;
        }
        fs::write(&path, bytes).unwrap();
        check().unwrap();
        // The compiler is free to make other bytes; what is there is whole again.
        let cache = super::super::cache::Cache::new(&toolchain.directory, u64::MAX);
        let key = path.file_stem().unwrap().to_str().unwrap();
        assert!(cache.find(key).is_some(), "damage {number}");
    }
}

/// Runs itself in another process, which ends while its compiler works.
#[test]
fn a_compiler_outlives_its_program_and_the_next_one_has_the_library() {
    const DIRECTORY: &str = "SPARSEFUSE_TEST_ENDING";
    let Some(isa) = isas().next() else { return };
    let toolchain = |directory: PathBuf| Toolchain {
        directory,
        compilers: shell(
            "echo >> ../runs; while [ ! -e ../go ]; do sleep 0.01; done; exec cc \"$0\" \"$@\"",
        ),
        ..Folder::new("ending-process").toolchain()
    };
    #[expect(clippy::disallowed_methods, reason = "the process of a test")]
    if let Ok(directory) = std::env::var(DIRECTORY) {
        let toolchain = toolchain(directory.into());
        let runs = toolchain.directory.join("runs");
        let program = program(toolchain, isa);
        while !runs.exists() {
            run(&program, isa, &[&[0.5; 64]]);
            std::thread::park_timeout(MOMENT);
        }
        std::process::exit(0);
    }
    let mut compiler = std::process::Command::new("cc");
    let compiler = compiler
        .arg("--version")
        .stdout(std::process::Stdio::null());
    if !compiler.status().is_ok_and(|status| status.success()) {
        return println!("skipped: there is no C compiler");
    }
    let folder = Folder::new("ending");
    let toolchain = toolchain(folder.0.join("cache"));
    let name =
        "native::tests::failures::a_compiler_outlives_its_program_and_the_next_one_has_the_library";
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--quiet"])
        .env(DIRECTORY, &toolchain.directory)
        .stdout(std::process::Stdio::null())
        .status();
    assert!(ended.unwrap().success());
    let workplaces = || {
        let entries = fs::read_dir(&toolchain.directory).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let [workplace] = &workplaces()[..] else {
        panic!("the compiler's folder alone: {:?}", workplaces());
    };
    let is_locked = || {
        let lock = fs::File::open(workplace.join("lock")).unwrap();
        lock.try_lock().is_err()
    };
    // Whoever compiles meanwhile leaves it alone.
    assert!(is_locked());
    let cache = super::super::cache::Cache::new(&toolchain.directory, u64::MAX);
    drop(cache::begin(&cache, "another"));
    fs::write(toolchain.directory.join("go"), "").unwrap();
    let end = Instant::now() + LONG;
    while is_locked() {
        assert!(Instant::now() < end, "the compiler does not end");
        std::thread::park_timeout(MOMENT);
    }
    let runs = || fs::read_to_string(toolchain.directory.join("runs")).unwrap();
    let note = settled_note(&program(toolchain.clone(), isa), isa);
    assert_eq!(note, format!("native for {isa}"));
    assert_eq!(runs(), "\n", "it was compiled once");
    assert_eq!(workplaces(), Vec::<PathBuf>::new());
}
