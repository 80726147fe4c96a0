//! Where NVRTC is: it is part of a toolkit, or of a package of Python
//! (`pip install nvidia-cuda-nvrtc`).
//!
//! The variable `SPARSEFUSE_NVRTC` names the library, and then no other is taken. Else it is the
//! first that loads, and whose code the driver takes: what the loader finds, then those of
//! toolkits, then those of Python packages.

use super::nvrtc::Nvrtc;
use crate::device::DeviceError;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names the library.
const VARIABLE: &str = "SPARSEFUSE_NVRTC";
/// What the loader is asked for.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
/// What the names of the library, and of what it loads itself, begin with.
const LIBRARY: &str = "libnvrtc.so";
const BUILTINS: &str = "libnvrtc-builtins.so";

/// The library, of a version of CUDA up to this major one.
pub(super) fn find(newest_cuda: i32) -> Result<Nvrtc, DeviceError> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return open(Path::new(&path), newest_cuda).map_err(|found| DeviceError::Missing {
            expected: format!("a compiler (NVRTC) in the file that {VARIABLE} names"),
            found,
        });
    }
    let mut found = None;
    let in_folders = folders()
        .into_iter()
        .flat_map(|folder| begin_with(&folder, LIBRARY));
    for path in NAMES.map(PathBuf::from).into_iter().chain(in_folders) {
        match open(&path, newest_cuda) {
            Ok(nvrtc) => return Ok(nvrtc),
            // What the loader does not find says less than why a file does not serve.
            Err(reason) if found.is_none() || path.is_absolute() => found = Some(reason),
            Err(_) => {}
        }
    }
    Err(DeviceError::Missing {
        expected: format!(
            "CUDA's compiler (NVRTC) in a toolkit or a Python package (pip install \
             nvidia-cuda-nvrtc), or {VARIABLE} to name it"
        ),
        found: found.unwrap_or_else(|| "none".to_owned()),
    })
}

/// The library with this path or name, or why it does not serve.
fn open(path: &Path, newest_cuda: i32) -> Result<Nvrtc, String> {
    let folder = path.parent().filter(|_| path.is_absolute());
    let beside = folder.map_or(Vec::new(), |folder| begin_with(folder, BUILTINS));
    let nvrtc = Nvrtc::open(path, &beside)?;
    let (major, minor) = nvrtc.version;
    match major <= newest_cuda {
        true => Ok(nvrtc),
        false => Err(format!(
            "NVRTC {major}.{minor}, and a driver that takes code up to CUDA {newest_cuda}"
        )),
    }
}

/// The folders in which the library may lie, in the order of preference.
fn folders() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable);
    let toolkits = toolkits.chain([PathBuf::from("/usr/local/cuda")]);
    let mut folders: Vec<PathBuf> = toolkits.map(|toolkit| toolkit.join("lib64")).collect();
    let (environment, conda) = (variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"));
    folders.extend(conda.iter().map(|prefix| prefix.join("lib")));
    let environments = environment.into_iter().chain(conda);
    let projects = begin_with(Path::new("/opt"), "").into_iter();
    let prefixes = environments
        .chain(std::env::home_dir().map(|home| home.join(".local")))
        .chain(["/usr/local", "/usr"].map(PathBuf::from))
        .chain(projects.map(|project| project.join(".venv")));
    for prefix in prefixes {
        for python in begin_with(&prefix.join("lib"), "python3") {
            for packages in ["site-packages", "dist-packages"] {
                let nvidia = python.join(packages).join("nvidia");
                folders.extend(["cu13/lib", "cuda_nvrtc/lib"].map(|folder| nvidia.join(folder)));
            }
        }
    }
    folders
}

/// What a folder has with names that begin like this, in order.
fn begin_with(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let mut paths: Vec<_> = names.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
