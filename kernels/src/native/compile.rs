//! From C to a loaded library, in the background.
//!
//! Loops wait in one queue for the whole process; a thread takes them one after the other and ends
//! when there are no more. The compiler runs at a low priority (not the lowest: a program that
//! keeps all processors busy would starve it), in a process group of its own that is ended when it
//! takes too long. If the program ends before, the compiler goes on, for the next program
//! ([`exit`]).

use super::cache::{self, Cache, Found, Workplace};
use super::exit;
use super::load::{self, Loaded, Shared};
use super::{Failure, Toolchain, Twin, prelude};
use crate::isa::Isa;
use rustix::process::{Pid, Signal, kill_process_group, setpriority_pgrp};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// The name of the function of a library.
pub(super) const FUNCTION: &str = "sparsefuse_loop";

/// Options that keep every bit, and let straight-line code become SIMD code: nothing is fused or
/// reordered, both sides of a selection may be computed, integers wrap.
const OPTIONS: [&str; 13] = [
    "-std=gnu11",
    "-w",
    "-O3",
    "-fschedule-insns",
    "-fPIC",
    "-shared",
    "-fno-fast-math",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fno-stack-protector",
];

/// The loops that wait.
#[derive(Debug)]
struct Queue {
    forms: VecDeque<(Arc<Twin>, usize)>,
    /// Whether the thread is there; it leaves only while it holds the queue, empty.
    is_served: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    forms: VecDeque::new(),
    is_served: false,
});

/// Has a form of a loop compiled. If no thread can be started, the loop stays in blocks.
pub(super) fn enqueue(twin: Arc<Twin>, form: usize) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    queue.forms.push_back((twin, form));
    if !queue.is_served {
        let thread = thread::Builder::new().name("sparsefuse-cc".to_owned());
        queue.is_served = thread.spawn(serve).is_ok();
    }
}

fn serve() {
    loop {
        let (twin, form) = {
            let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(next) = queue.forms.pop_front() else {
                queue.is_served = false;
                return;
            };
            next
        };
        // A program that is gone needs no library.
        if Arc::strong_count(&twin) > 1 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                function(&twin.toolchain, twin.isa, &twin.text(form))
            }));
            let outcome = outcome
                .unwrap_or_else(|_| Err(Failure::Compiler("the compiler thread panicked".into())));
            // Nobody else sets it: a form is in the queue once.
            let _ = twin.forms[form].outcome.set(outcome);
        }
    }
}

/// The functions of this process, by the address of their toolchain, the instruction set and the
/// text.
static FUNCTIONS: Mutex<BTreeMap<(usize, &str, String), Shared>> = Mutex::new(BTreeMap::new());

/// The function that a text defines: that of another loop with the same text, or of the library.
fn function(toolchain: &Arc<Toolchain>, isa: Isa, text: &str) -> Result<Loaded, Failure> {
    // A toolchain is there as long as twins hold it, and with them their functions.
    let key = (Arc::as_ptr(toolchain).addr(), isa.name(), text.to_owned());
    let known = || FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = known().get(&key).and_then(Shared::loaded) {
        return Ok(loaded);
    }
    let loaded = library(toolchain, isa, text, &[FUNCTION])?.remove(0);
    let mut known = known();
    known.retain(|_, shared| shared.loaded().is_some());
    known.insert(key, loaded.shared());
    Ok(loaded)
}

/// The functions with these names that `text` defines, from the cache or compiled.
pub(super) fn library(
    toolchain: &Toolchain,
    isa: Isa,
    text: &str,
    names: &[&str],
) -> Result<Vec<Loaded>, Failure> {
    let source = prelude::prelude() + text;
    let path = built(toolchain, isa, (&source, &[]))?;
    if let Ok(functions) = load_ours(&path, names) {
        return Ok(functions);
    }
    // A library of the cache may be one that this system does not load.
    let cache = Cache::new(&toolchain.directory, toolchain.most_bytes);
    let forget = || cache.forget(&key(&toolchain.compilers, isa, &source, &[]));
    forget();
    let path = built(toolchain, isa, (&source, &[]))?;
    load_ours(&path, names).inspect_err(|_| forget())
}

/// The library that a compiler makes of a source with some options besides the usual ones, from the
/// cache or made now.
pub(super) fn built(
    toolchain: &Toolchain,
    isa: Isa,
    (source, options): (&str, &[&str]),
) -> Result<PathBuf, Failure> {
    let cache = Cache::new(&toolchain.directory, toolchain.most_bytes);
    cache.open()?;
    let key = key(&toolchain.compilers, isa, source, options);
    if let Some(path) = cache.find(&key) {
        return Ok(path);
    }
    match cache.find_or_begin(&key, toolchain.limit)? {
        Found::Library(path) => Ok(path),
        Found::Workplace(workplace) => {
            let built = workplace.complete(&key);
            compile(toolchain, isa, (source, options), &workplace, &built)?;
            cache.keep(&key, &built)
        }
    }
}

#[expect(unsafe_code, reason = "loads what this module has compiled")]
fn load_ours(path: &Path, names: &[&str]) -> Result<Vec<Loaded>, Failure> {
    // SAFETY: the path is from a cache that only the user can write, and only `library` writes
    // there: what `compile` made of printed loops. `Cache::find` has compared its length and hash.
    unsafe { load::load(path, names) }
}

/// The hash of compilers, options and source, which names a library.
fn key(compilers: &[Vec<String>], isa: Isa, source: &str, options: &[&str]) -> String {
    let options = OPTIONS.iter().chain(isa_options(isa)).chain(options);
    let compilers = compilers.iter().flatten().map(String::as_str);
    let texts = options.copied().chain(compilers);
    let texts = texts.chain([std::env::consts::ARCH, source]);
    let hash = cache::hash(texts.flat_map(|text| text.bytes().chain([0])));
    format!("{hash:032x}")
}

/// The options for an instruction set: exactly what [`Isa::is_available`] asks for.
fn isa_options(isa: Isa) -> &'static [&'static str] {
    match isa {
        Isa::Baseline => &[],
        Isa::Avx2 => &["-mavx2", "-mfma", "-mbmi", "-mbmi2"],
        Isa::Avx512 => &[
            "-mavx2",
            "-mfma",
            "-mbmi",
            "-mbmi2",
            "-mavx512f",
            "-mavx512bw",
            "-mavx512cd",
            "-mavx512dq",
            "-mavx512vl",
            "-mprefer-vector-width=512",
        ],
    }
}

/// Runs a compiler, the words behind three others: the seconds of a processor that it may take,
/// where it puts the library, and the name that the library gets when it is complete.
///
/// The compiler may outlive the program, which then neither ends nor asks it.
const SCRIPT: &str =
    r#"ulimit -t "$1"; part="$2"; whole="$3"; shift 3; "$@" -o "$part" && mv "$part" "$whole""#;
/// What a shell says of a command that it does not find.
const NOT_FOUND: i32 = 127;

/// Compiles `source` to the library `built`, in a workplace.
fn compile(
    toolchain: &Toolchain,
    isa: Isa,
    (source, options): (&str, &[&str]),
    workplace: &Workplace,
    built: &Path,
) -> Result<(), Failure> {
    let failure = |error: std::io::Error| Failure::Compiler(error.to_string());
    // The compiler runs in the directory, where relative paths would mean something else.
    let absolute = |path: &Path| std::path::absolute(path).map_err(failure);
    let (directory, built) = (&*absolute(&workplace.directory)?, &*absolute(built)?);
    let [text, errors, part] = ["loop.c", "errors", "part"].map(|name| directory.join(name));
    fs::write(&text, source).map_err(failure)?;
    let seconds = toolchain.limit.as_secs() + 1;
    for compiler in &toolchain.compilers {
        if compiler.is_empty() {
            return Err(Failure::NoCompiler);
        }
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "sh", &seconds.to_string()])
            .args([&part, built])
            .args(compiler)
            .args(OPTIONS)
            .args(isa_options(isa))
            .args(options)
            .arg(&text)
            .env("TMPDIR", directory)
            .current_dir(directory)
            .stdin(workplace.input())
            .stdout(Stdio::null())
            .stderr(File::create(&errors).map_err(failure)?);
        let (child, _works) = exit::spawn(&mut command, &workplace.directory).map_err(failure)?;
        let status = wait(child, toolchain.limit)?;
        if status.success() {
            return Ok(());
        }
        if status.code() == Some(NOT_FOUND) {
            continue;
        }
        let errors = fs::read(&errors).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors);
        let first = errors.lines().find(|line| line.contains("error"));
        let line = first.or(errors.lines().next()).unwrap_or("no message");
        return Err(Failure::Compiler(line.to_owned()));
    }
    Err(Failure::NoCompiler)
}

/// Waits for the compiler, which leads its process group, and ends the group after `limit`.
fn wait(mut child: Child, limit: Duration) -> Result<ExitStatus, Failure> {
    let failure = |error: std::io::Error| Failure::Compiler(error.to_string());
    let group = Pid::from_child(&child);
    // It may be gone already, and a system without priorities compiles all the same.
    let _ = setpriority_pgrp(Some(group), 10);
    let (send, receive) = mpsc::channel();
    let thread = thread::Builder::new().name("sparsefuse-cc-wait".to_owned());
    thread
        .spawn(move || send.send(child.wait()))
        .map_err(failure)?;
    match receive.recv_timeout(limit) {
        Ok(status) => status.map_err(failure),
        Err(_) => {
            let _ = kill_process_group(group, Signal::KILL);
            // Nothing of the group may write to the workplace when it is removed.
            let _ = receive.recv();
            Err(Failure::Slow(limit))
        }
    }
}
