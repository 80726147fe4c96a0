//! What the compiler does not check: where `unsafe` may be, who may depend on whom, that the
//! documents name what there is.
//!
//! Each test collects all that it objects to and tells what to do about it.

#[path = "../xtask/src/map/page.rs"]
mod map;

#[path = "tidy/circles.rs"]
mod circles;

use std::fs;
use std::path::Path;
use std::process::Command;

/// The crates from the lowest to the highest: folder, package. Each may depend on those before it.
///
/// The crate that tests share is none of them: each may have it as a development dependency.
const LAYERS: [(&str, &str); 6] = [
    ("kernels", "sparsefuse-kernels"),
    ("runtime", "sparsefuse-runtime"),
    ("dense", "sparsefuse-dense"),
    ("sparse", "sparsefuse-sparse"),
    ("solvers", "sparsefuse-solvers"),
    ("", "sparsefuse"),
];

/// What the tests of several crates share: folder, package.
const TESTING: (&str, &str) = ("testing", "sparsefuse-testing");

/// What the examples share: folder, package. It may depend on the crates up to `dense`, and is for
/// the examples of the highest crate.
const FRAME: (&str, &str) = ("examples/frame", "sparsefuse-frame");

/// Where `unsafe` may be (a folder ends with `/`), and why.
const UNSAFE: [(&str, &str); 37] = [
    (
        "kernels/src/blocks/",
        "SIMD loops reach the rows of a block through pointers",
    ),
    (
        "kernels/src/matmul/micro.rs",
        "vectors of an instruction set, loaded from slices",
    ),
    (
        "kernels/src/native/load.rs",
        "loads compiled loops into the process",
    ),
    (
        "kernels/src/native/compile.rs",
        "says where the loops that it loads come from",
    ),
    (
        "kernels/src/native/exit.rs",
        "ends a compiler with the program",
    ),
    (
        "kernels/src/native/tests/",
        "runs native loops on memory of the test",
    ),
    (
        "kernels/src/native/raw.rs",
        "loads what the emulated device has compiled",
    ),
    (
        "runtime/src/memory/mirror.rs",
        "copies memory from a device to the host and back",
    ),
    (
        "runtime/src/machine/device.rs",
        "kernels reach the memory of instances through addresses of a device",
    ),
    (
        "kernels/src/device/",
        "calls the driver and the compiler of a GPU, with addresses of its memory",
    ),
    (
        "src/refusal.rs",
        "the program's allocator, and what follows when it has no memory",
    ),
    (
        "kernels/src/isa.rs",
        "defines the functions that need an instruction set",
    ),
    (
        "kernels/src/workers/",
        "threads call a closure on the caller's stack",
    ),
    (
        "kernels/src/reference/",
        "the same launches as the blocks, the same pointers",
    ),
    (
        "kernels/src/math/tests/",
        "compiles the elementary functions for each instruction set",
    ),
    (
        "kernels/src/passes/tests.rs",
        "runs kernels on memory of the test",
    ),
    (
        "kernels/benches/blocks.rs",
        "runs kernels on memory of the bench",
    ),
    (
        "runtime/src/memory/block.rs",
        "allocates the memory of stores",
    ),
    (
        "runtime/src/memory/reserve.rs",
        "tells the system how to back memory with pages",
    ),
    ("runtime/src/memory/counted.rs", "boxes that hold nothing"),
    (
        "runtime/src/memory/instance.rs",
        "memory as elements of a type",
    ),
    ("runtime/src/memory/bytes.rs", "elements as bytes, and back"),
    (
        "runtime/src/tasks/block.rs",
        "rows of blocks, between which other tasks write",
    ),
    ("runtime/src/images/piece.rs", "reads structures"),
    (
        "runtime/src/comm/ghosts.rs",
        "writes ghosts to memory that kernels read",
    ),
    (
        "runtime/src/comm/exchange/around.rs",
        "writes halos beside the elements of an instance",
    ),
    (
        "kernels/src/packed/",
        "the elements of a matrix as words, whatever their type",
    ),
    (
        "runtime/src/memory/pool.rs",
        "memory that is shared among threads",
    ),
    (
        "runtime/src/images/pack.rs",
        "reads the elements of a matrix as words",
    ),
    (
        "runtime/src/images/packed.rs",
        "fills memory of the pool with packed matrices",
    ),
    ("runtime/src/machine/", "binds kernels to instances"),
    ("runtime/src/comm/mpi/calls.rs", "calls MPI"),
    ("runtime/src/comm/mpi/requests.rs", "calls MPI"),
    (
        "sparse/src/local/triangular/sweep.rs",
        "threads solve for different elements of one vector",
    ),
    ("tests/allocations.rs", "counts allocations"),
    ("sparse/tests/peak.rs", "counts bytes in use"),
    (
        "benches/peers/src/probe.rs",
        "non-temporal stores, to measure the machine",
    ),
];

/// Most lines of a file; beyond it, two subjects are likely to share it.
const MOST_LINES: usize = 800;

/// Files that may be longer, and why.
const LONG: [(&str, &str); 2] = [
    (
        "tests/differential/reference.rs",
        "the meaning of every operation, one match",
    ),
    (
        "tests/differential/run.rs",
        "every operation as calls of the library, one match",
    ),
];

/// A file of the project.
struct File {
    /// Its path from the root, with `/`.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The lines with their numbers from 1, without line comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate();
        lines.map(|(number, line)| (number + 1, line.split("//").next().unwrap_or(line)))
    }
}

/// All source files, manifests and documents, in order.
fn files() -> Vec<File> {
    let mut files = Vec::new();
    walk("", &mut files);
    assert!(files.len() > 50, "the tree is found");
    files
}

fn walk(folder: &str, files: &mut Vec<File>) {
    let mut entries: Vec<_> = fs::read_dir(root(folder))
        .and_then(Iterator::collect)
        .unwrap_or_else(|error: std::io::Error| panic!("{folder}: {error}"));
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}{name}");
        let is_hidden =
            name.starts_with('.') || name == "target" || path.starts_with("fuzz/corpus");
        if root(&path).is_dir() {
            if !is_hidden {
                walk(&format!("{path}/"), files);
            }
        } else if [".rs", ".toml", ".md"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            let text = read(&path);
            files.push(File { path, text });
        }
    }
}

fn root(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(root(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails if there are complaints, with all of them and what to do.
#[track_caller]
fn expect_none(complaints: &[String], advice: &str) {
    assert!(
        complaints.is_empty(),
        "\n  {}\n{advice}\n",
        complaints.join("\n  ")
    );
}

/// Whether a line has this word, not as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn unsafe_is_where_it_is_expected() {
    let is_listed = |file: &File, place: &str| match place.ends_with('/') {
        true => file.path.starts_with(place),
        false => file.path == place,
    };
    let mut complaints = Vec::new();
    for file in files()
        .iter()
        .filter(|file| file.is_rust() && file.path != "tests/tidy.rs")
    {
        if UNSAFE.iter().any(|(place, _)| is_listed(file, place)) {
            continue;
        }
        for (number, line) in file.code() {
            let is_permitted =
                line.contains("expect(unsafe_code") || line.contains("allow(unsafe_code");
            if has_word(line, "unsafe") || is_permitted {
                complaints.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    expect_none(
        &complaints,
        "unsafe code lives in the places that `UNSAFE` in tests/tidy.rs lists: move it there, do \
         without, or add the place with its reason",
    );
}

#[test]
fn features_are_switched_in_mod_files() {
    let mut complaints = Vec::new();
    for file in files()
        .iter()
        .filter(|file| file.is_rust())
        .filter(|file| !file.path.ends_with("/mod.rs") && !file.path.ends_with("src/lib.rs"))
    {
        for (number, line) in file.code() {
            if line.contains(concat!("feature", " =")) && line.contains("cfg") {
                complaints.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    expect_none(
        &complaints,
        "a feature is switched in one `mod.rs` or `lib.rs`, which picks one of two files or leaves one out",
    );
}

#[test]
fn crates_depend_downwards() {
    let mut complaints = Vec::new();
    // That of the tests may depend on `kernels` and `runtime`.
    let layers = LAYERS
        .iter()
        .enumerate()
        .chain([(2, &TESTING), (3, &FRAME)]);
    for (layer, (folder, package)) in layers {
        let manifest = match *folder {
            "" => read("Cargo.toml"),
            folder => read(&format!("{folder}/Cargo.toml")),
        };
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            let is_ours = name.starts_with("sparsefuse") && section.ends_with("dependencies]");
            if !is_ours || section == "[workspace.dependencies]" {
                continue;
            }
            let is_for_tests = name == TESTING.1 || folder.is_empty() && name == FRAME.1;
            let is_for_tests = is_for_tests && section == "[dev-dependencies]";
            let is_lower = LAYERS[..layer].iter().any(|(_, lower)| *lower == name);
            if !is_lower && !is_for_tests {
                complaints.push(format!("{package} depends on {name} ({section})"));
            }
        }
    }
    expect_none(
        &complaints,
        "the layers are kernels <- runtime <- dense <- sparse <- solvers <- sparsefuse; testing is \
         for [dev-dependencies], the frame of the examples for those of sparsefuse",
    );
}

#[test]
fn solvers_name_no_task() {
    let mut complaints = Vec::new();
    for file in files()
        .iter()
        .filter(|file| file.path.starts_with("solvers/src/"))
    {
        for (number, line) in file.code() {
            for word in ["TaskArg", "Body", "Kernel", "submit", "Partition", "Store"] {
                // Aggregates are made on the rows of each rank, as sparse makes matrices.
                let is_setup = file.path.starts_with("solvers/src/multigrid/aggregation/");
                if has_word(line, word) && !(is_setup && word == "Partition") {
                    complaints.push(format!("{}:{number}: `{word}`", file.path));
                }
            }
        }
    }
    expect_none(
        &complaints,
        "solvers are written with arrays and matrices only; a new operation belongs to dense or \
         sparse",
    );
}

/// Rayon's global pool has all cores, whatever `Config::threads` says.
#[test]
fn rayon_is_called_with_the_threads_of_the_rank() {
    const POOLS: &str = "sparse/src/local/parallel.rs";
    // Makes a pool with as many threads, beside which its tasks are timed.
    const PEER: &str = "examples/synthetic_graphs.rs";
    // Programs that have pools of their own.
    const USERS: &str = "tests/library/rayon_pools.rs";
    let others = [
        POOLS,
        PEER,
        USERS,
        "tests/examples/graphs.rs",
        "tests/tidy.rs",
    ];
    let complaints: Vec<String> = files()
        .iter()
        .filter(|file| file.is_rust() && !others.contains(&file.path.as_str()))
        .filter(|file| !file.path.starts_with("benches/"))
        .flat_map(|file| {
            let named = file.code().filter(|(_, line)| has_word(line, "rayon"));
            named.map(|(number, _)| format!("{}:{number}", file.path))
        })
        .collect();
    expect_none(
        &complaints,
        "call the functions of sparse/src/local/parallel.rs",
    );
}

#[test]
fn source_files_begin_with_their_subject_and_have_one() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        if !file.text.starts_with("//!") {
            complaints.push(format!("{}: does not begin with `//!`", file.path));
        }
        let lines = file.text.lines().count();
        if lines > MOST_LINES && !LONG.iter().any(|(long, _)| *long == file.path) {
            complaints.push(format!("{}: {lines} lines", file.path));
        }
    }
    expect_none(
        &complaints,
        "a file begins with a `//!` header that says what it decides, and is split by meaning \
         when it grows long",
    );
}

#[test]
fn comments_are_at_most_100_columns_wide() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let mut is_code = false;
        for (i, line) in file.text.lines().enumerate() {
            let text = line.trim_start();
            if !text.starts_with("//") {
                is_code = false;
                continue;
            }
            let text = text.trim_start_matches(['/', '!']).trim_start();
            is_code ^= text.starts_with("```");
            let is_prose = !is_code && !text.starts_with('|');
            if is_prose && line.chars().count() > 100 {
                complaints.push(format!("{}:{}", file.path, i + 1));
            }
        }
    }
    expect_none(
        &complaints,
        "rustfmt leaves comments as they are; break the line",
    );
}

#[test]
fn nothing_is_left_unfinished() {
    let unfinished = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("#[", "ignore"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.path != "tests/tidy.rs") {
        for (number, line) in file.text.lines().enumerate() {
            let number = number + 1;
            for what in unfinished
                .iter()
                .filter(|what| file.is_rust() && line.contains(**what))
            {
                complaints.push(format!("{}:{number}: `{what}`", file.path));
            }
            if line.contains('\t') {
                complaints.push(format!("{}:{number}: a tab", file.path));
            }
            if line.ends_with(' ') {
                complaints.push(format!("{}:{number}: a space at the end", file.path));
            }
            if ["<<<<<<<", ">>>>>>>"]
                .iter()
                .any(|mark| line.starts_with(mark))
            {
                complaints.push(format!(
                    "{}:{number}: a merge that was not ended",
                    file.path
                ));
            }
        }
    }
    expect_none(
        &complaints,
        "what is unfinished is not merged, and `cargo fmt` does the rest",
    );
}

#[test]
fn every_dependency_has_a_reason() {
    let manifest = read("Cargo.toml");
    let mut complaints = Vec::new();
    let (mut section, mut before) = ("", "");
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let is_dependency = section == "[workspace.dependencies]" && line.contains(" = ");
        let is_ours = line.starts_with("sparsefuse-");
        if is_dependency && !is_ours && !line.starts_with('#') && !before.starts_with('#') {
            complaints.push(line.to_owned());
        }
        before = line;
    }
    expect_none(
        &complaints,
        "every dependency in the root Cargo.toml has a comment above it that says why it is there",
    );
}

#[test]
fn the_map_is_of_today() {
    let page = map::map(&root("")).unwrap();
    let complaints = match read(map::PAGE) == page {
        true => vec![],
        false => vec![format!(
            "{} does not name the files that there are",
            map::PAGE
        )],
    };
    expect_none(&complaints, "`cargo xtask map` makes it anew");
}

/// The command lines in the documents that begin with these words, each after them.
fn commands(words: &str) -> Vec<String> {
    let documents = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(read);
    let lines = documents.iter().flat_map(|text| text.lines());
    let commands = lines.filter_map(|line| line.trim_start_matches("$ ").strip_prefix(words));
    commands
        .map(|rest| rest.split('#').next().unwrap_or(rest).trim().to_owned())
        .collect()
}

#[test]
fn documented_commands_of_the_program_exist() {
    let commands = commands("cargo run --release -- ");
    assert!(!commands.is_empty(), "README.md shows the program");
    let mut complaints = Vec::new();
    for command in commands {
        let subcommand = command.split_whitespace().next().unwrap_or_default();
        let help = Command::new(env!("CARGO_BIN_EXE_sparsefuse"))
            .args([subcommand, "--help"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&help.stdout);
        if !help.status.success() {
            complaints.push(format!("`{command}`: there is no `{subcommand}`"));
        }
        for option in command
            .split_whitespace()
            .filter(|word| word.starts_with("--"))
        {
            if !has_word(&text, option) {
                complaints.push(format!("`{command}`: `{subcommand}` has no `{option}`"));
            }
        }
    }
    expect_none(
        &complaints,
        "the documents show commands that the program does not have",
    );
}

#[test]
fn documented_commands_of_xtask_exist() {
    let commands = commands("cargo xtask ");
    assert!(!commands.is_empty(), "README.md shows `cargo xtask`");
    let main = read("xtask/src/main.rs");
    let is_command = |name: &str| {
        let arm = format!("Command::{}{}", name[..1].to_uppercase(), &name[1..]);
        main.contains(&arm) || name == "--help"
    };
    let unknown: Vec<String> = commands
        .into_iter()
        .filter(|command| !command.split_whitespace().next().is_some_and(is_command))
        .collect();
    expect_none(
        &unknown,
        "the documents show commands that xtask does not have",
    );
}

/// The places that a line of a document names: of links, and of names in backticks that begin with
/// a folder of the root.
fn named_places(line: &str) -> Vec<&str> {
    let links = line.split("](").skip(1).filter_map(|rest| {
        let link = rest.split([')', '#']).next()?;
        (!link.is_empty() && !link.contains("://") && !link.contains(' ')).then_some(link)
    });
    let is_place = |name: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        let folder = name.split_once('/').map_or("", |(folder, _)| folder);
        let is_ours = !["", "target"].contains(&folder) && root(folder).is_dir();
        name.chars().all(is_plain) && is_ours
    };
    let names = line.split('`').skip(1).step_by(2).filter(is_place);
    links.chain(names).collect()
}

/// A place stands in the folder of the document, or in the root; of a source the ending may be left
/// out.
#[test]
fn documents_name_files_that_exist() {
    let mut unknown = Vec::new();
    let documents = files().into_iter();
    for document in documents.filter(|file| file.path.ends_with(".md")) {
        let exists = |place: &str| {
            let near = root(&document.path).with_file_name(place);
            [near, root(place), root(&format!("{place}.rs"))]
                .iter()
                .any(|path| path.exists())
        };
        let mut is_code = false;
        for (number, line) in document.text.lines().enumerate() {
            is_code ^= line.starts_with("```");
            if is_code {
                continue;
            }
            let missing = named_places(line)
                .into_iter()
                .filter(|place| !exists(place));
            unknown
                .extend(missing.map(|place| format!("{}:{}: {place}", document.path, number + 1)));
        }
    }
    expect_none(&unknown, "the documents name files that do not exist");
}
