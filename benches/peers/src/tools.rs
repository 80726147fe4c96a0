//! What the competitors need: found, built or installed, or named as missing with the reason.
//!
//! Everything that is made lies under one folder. Python packages go into a virtual environment of
//! the bench; Debian packages are installed only by root on a system with apt, and never where
//! `--no-install` was given.

use crate::competitors::{self, Program};
use crate::worker;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Python packages, in the order of the report.
const PACKAGES: [&str; 8] = [
    "numpy",
    "scipy",
    "pyamg",
    "numexpr",
    "numba",
    "jax",
    "mkl",
    "mkl-devel",
];

/// Programs and folders.
#[derive(Debug)]
pub(crate) struct Tools {
    /// Where everything lies that the bench makes.
    pub(crate) folder: PathBuf,
    /// This program.
    pub(crate) program: PathBuf,
    /// `benches/python/peer.py`.
    pub(crate) script: PathBuf,
    /// Whether `taskset` is there.
    pub(crate) can_pin: bool,
    /// The programs that cannot be had, and why.
    missing: BTreeMap<Program, String>,
    benches: PathBuf,
    install: bool,
}

impl Tools {
    /// Finds, builds and installs; `say` hears what is going on.
    pub(crate) fn prepare(
        folder: &Path,
        install: bool,
        say: &dyn Fn(&str),
    ) -> Result<Self, String> {
        let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        // Compilers work in other folders.
        let folder = std::path::absolute(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut tools = Self {
            folder: folder.clone(),
            program,
            script: benches.join("python").join("peer.py"),
            can_pin: succeeds(Command::new("taskset").args(["-c", "0", "true"])),
            missing: BTreeMap::new(),
            benches,
            install,
        };
        for name in ["bin", "log"] {
            let folder = folder.join(name);
            std::fs::create_dir_all(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        if !worker::HAS_MPI {
            let reason = "this program could not be built with MPI; to have it on Debian or Ubuntu: \
                          apt-get install libopenmpi-dev openmpi-bin libclang-dev";
            tools.missing.insert(Program::RustMpi, reason.to_owned());
        }
        say("Debian packages");
        tools.debian_packages();
        say("Python packages (the first time takes minutes)");
        tools.python_packages();
        let programs = [
            (Program::Petsc, "PETSc"),
            (Program::Mkl, "MKL"),
            (Program::Eigen, "Eigen"),
            (Program::Amgcl, "AMGCL"),
        ];
        for (program, name) in programs {
            say(&format!("compiling the {name} program"));
            if let Err(reason) = tools.compile(program) {
                tools.missing.insert(program, reason);
            }
        }
        Ok(tools)
    }

    /// Why a program cannot be had.
    pub(crate) fn missing(&self, program: Program) -> Option<&str> {
        self.missing.get(&program).map(String::as_str)
    }

    /// The file to start.
    pub(crate) fn path(&self, program: Program) -> PathBuf {
        match program {
            Program::Rust | Program::RustMpi => self.program.clone(),
            Program::Petsc => self.folder.join("bin/petsc"),
            Program::Mkl => self.folder.join("bin/mkl"),
            Program::Eigen => self.folder.join("bin/eigen"),
            Program::Amgcl => self.folder.join("bin/amgcl"),
            Program::Python(_) => self.environment().join("bin/python"),
        }
    }

    /// The words before an MPI program.
    pub(crate) fn mpiexec(&self, ranks: usize) -> Vec<String> {
        let ranks = ranks.to_string();
        let mut words = vec!["mpiexec", "-n", &ranks];
        if is_open_mpi() {
            words.extend(["--allow-run-as-root", "--oversubscribe", "--bind-to"]);
            words.push(if ranks == "1" { "none" } else { "core" });
        }
        words.into_iter().map(str::to_owned).collect()
    }

    fn environment(&self) -> PathBuf {
        self.folder.join("venv")
    }

    /// Installs what is missing, if that is permitted; whether it worked is seen when it is used.
    fn debian_packages(&self) {
        let found = succeeds(Command::new("pkg-config").args(["--exists", "PETSc", "eigen3"]))
            && Path::new("/usr/include/boost/version.hpp").exists();
        let is_root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
        if found || !self.install || !is_root || !Path::new("/usr/bin/apt-get").exists() {
            return;
        }
        let packages = [
            "petsc-dev",
            "libeigen3-dev",
            "libboost-dev",
            "pkg-config",
            "g++",
            "python3-venv",
        ];
        let apt = |words: &[&str]| {
            let mut command = Command::new("apt-get");
            command.env("DEBIAN_FRONTEND", "noninteractive").args(words);
            succeeds(&mut command)
        };
        apt(&["update"]);
        apt(&[&["install", "-y", "--no-install-recommends"], &packages[..]].concat());
    }

    /// Makes the virtual environment and asks it for every package.
    fn python_packages(&mut self) {
        let environment = self.environment();
        let python = environment.join("bin/python");
        if !python.exists() && self.install {
            let mut make = Command::new("python3");
            succeeds(make.args(["-m", "venv"]).arg(&environment));
        }
        let listed = || {
            let mut list = Command::new(&python);
            output(list.args(["-m", "pip", "list", "--format=freeze"])).unwrap_or_default()
        };
        let is_listed = |listed: &str, package: &str| {
            let names = listed.lines().filter_map(|line| line.split_once("=="));
            names
                .map(|(name, _)| name.replace('_', "-"))
                .any(|name| name == package)
        };
        let before = listed();
        let absent = PACKAGES
            .iter()
            .filter(|package| !is_listed(&before, package));
        let absent: Vec<_> = absent.collect();
        if !absent.is_empty() && self.install {
            // One by one: a package that cannot be had does not keep the others away.
            for package in &absent {
                let mut pip = Command::new(&python);
                succeeds(pip.args(["-m", "pip", "install", "-q", package]));
            }
        }
        let after = listed();
        for competitor in competitors::ALL {
            if let Program::Python(package) = competitor.program
                && !is_listed(&after, package)
            {
                let python = python.display();
                let reason = format!("to have it: {python} -m pip install {package}");
                self.missing.insert(competitor.program, reason);
            }
        }
    }

    fn compile(&self, program: Program) -> Result<(), String> {
        let flags = |packages: &[&str], flag: &str| {
            let mut command = Command::new("pkg-config");
            let flags = output(command.arg(flag).args(packages))?;
            Ok::<_, String>(
                flags
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            )
        };
        let advice = |package: &str, reason: String| {
            format!("to have it on Debian or Ubuntu: apt-get install {package} ({reason})")
        };
        let (compiler, sources, before, after): (_, &[&str], _, _) = match program {
            Program::Petsc => {
                let advice = |reason| advice("petsc-dev pkg-config", reason);
                let includes = flags(&["PETSc"], "--cflags").map_err(advice)?;
                let libraries = flags(&["PETSc"], "--libs").map_err(advice)?;
                let sources = &["petsc/peer.c", "petsc/operations.c", "petsc/multigrid.c"];
                ("mpicc", sources, includes, libraries)
            }
            Program::Eigen => {
                let advice = |reason| advice("libeigen3-dev pkg-config", reason);
                let includes = flags(&["eigen3"], "--cflags").map_err(advice)?;
                ("g++", &["eigen/peer.cpp"], includes, vec![])
            }
            Program::Amgcl => {
                let includes = vec![format!("-I{}", self.amgcl()?.display()), "-w".to_owned()];
                ("g++", &["amgcl/peer.cpp"], includes, vec![])
            }
            Program::Mkl => {
                let sources = &["mkl/peer.c", "mkl/operations.c"];
                ("cc", sources, self.mkl_includes()?, self.mkl_libraries())
            }
            Program::Rust | Program::RustMpi | Program::Python(_) => return Ok(()),
        };
        let sources = sources.iter().map(|source| self.benches.join(source));
        let mut command = Command::new(compiler);
        command
            .args(["-O3", "-march=native", "-DNDEBUG"])
            .args(before);
        if program == Program::Mkl {
            // Compiled for OpenMP, linked with Intel's instead of the compiler's.
            let objects = self.folder.join("bin");
            command.args(["-fopenmp", "-c"]).args(sources);
            output(command.current_dir(&objects))?;
            let mut link = Command::new(compiler);
            link.args(["peer.o", "operations.o", "-o", "mkl"])
                .args(after)
                .current_dir(&objects);
            return output(&mut link).map(drop);
        }
        if matches!(program, Program::Eigen | Program::Amgcl) {
            command.arg("-fopenmp");
        }
        command.args(sources).arg("-o").arg(self.path(program));
        output(command.args(after).args(["-lm", "-lpthread"])).map(drop)
    }

    /// The folder of AMGCL's headers, which come with the source of a Python package.
    fn amgcl(&self) -> Result<PathBuf, String> {
        let name = format!("pyamgcl-{AMGCL_VERSION}");
        let folder = self.folder.join(&name);
        if folder.join("amgcl/amg.hpp").exists() {
            return Ok(folder);
        }
        if !self.install {
            return Err("to have it: without --no-install".to_owned());
        }
        let mut pip = Command::new(self.environment().join("bin/python"));
        let words = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary"];
        pip.args(words)
            .arg("pyamgcl")
            .arg(format!("pyamgcl=={AMGCL_VERSION}"))
            .arg("-d")
            .arg(&self.folder);
        output(&mut pip)?;
        let mut tar = Command::new("tar");
        let archive = self.folder.join(format!("{name}.tar.gz"));
        tar.arg("xzf").arg(archive).arg("-C").arg(&self.folder);
        output(&mut tar)?;
        Ok(folder)
    }

    fn mkl_includes(&self) -> Result<Vec<String>, String> {
        let include = self.environment().join("include");
        if !include.join("mkl.h").exists() {
            let python = self.environment().join("bin/python");
            return Err(format!(
                "to have it: {} -m pip install mkl-devel",
                python.display()
            ));
        }
        Ok(vec![format!("-I{}", include.display())])
    }

    fn mkl_libraries(&self) -> Vec<String> {
        let folder = self.environment().join("lib");
        let folder = folder.display();
        let mut words = vec![format!("-L{folder}"), format!("-Wl,-rpath,{folder}")];
        // The wheels carry versioned names only.
        for library in ["mkl_intel_lp64", "mkl_intel_thread", "mkl_core"] {
            words.push(format!("-l:lib{library}.so.{MKL_SONAME}"));
        }
        words.extend(["-l:libiomp5.so", "-lm", "-lpthread", "-ldl"].map(str::to_owned));
        words
    }
}

/// The last version with AMGCL's headers.
const AMGCL_VERSION: &str = "1.0.0.post4";

/// The number behind the names of MKL's libraries.
const MKL_SONAME: u32 = 3;

fn is_open_mpi() -> bool {
    output(Command::new("mpiexec").arg("--version")).is_ok_and(|text| {
        let text = text.to_lowercase();
        text.contains("open mpi") || text.contains("openrte")
    })
}

fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok()
}

/// What a command prints, or the first line of its complaint.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} could not be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let line = complaint.lines().find(|line| line.contains("error"));
    let line = line.or_else(|| complaint.lines().next());
    Err(format!("{program}: {}", line.unwrap_or("failed").trim()))
}
