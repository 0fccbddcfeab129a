//! Search for NVRTC: the path in `DUALFIT_NVRTC`, or the loader's search path, the folders of CUDA
//! toolkits, and the environments of Python and conda that are active or first in the search path, with
//! their wheels and PyTorch.

use crate::math::order::sort_few;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Major versions of CUDA, newest first.
const MAJORS: [u32; 5] = [15, 14, 13, 12, 11];

/// Files to try in their order, and a description of the search if none of them is usable.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Names for the loader, and paths of files that exist.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) searched: Vec<String>,
}

/// Searches the environment of this process.
pub(crate) fn candidates() -> Candidates {
    collect(&|name| env::var_os(name).filter(|value| !value.is_empty()), Path::new("/"))
}

/// Searches an environment: `variable` returns values of environment variables, `root` is the root of the file system.
fn collect(variable: &dyn Fn(&str) -> Option<OsString>, root: &Path) -> Candidates {
    let mut found = Candidates::default();
    if let Some(value) = variable("DUALFIT_NVRTC") {
        for place in env::split_paths(&value) {
            found.searched.push(format!("{} of DUALFIT_NVRTC", place.display()));
            match place.is_dir() {
                true => found.add_folder(&place),
                false => found.files.push(place),
            }
        }
        return found;
    }
    found.searched.push(match cfg!(windows) {
        true => "nvrtc64_*.dll of the loader".into(),
        false => "libnvrtc.so of the loader".into(),
    });
    found.files.extend(names().into_iter().map(PathBuf::from));
    for toolkit in toolkits(variable, root, &mut found.searched) {
        for folder in TOOLKIT_FOLDERS {
            found.add_folder(&toolkit.join(folder));
        }
    }
    let environments = environments(variable, root);
    for environment in &environments {
        found.searched.push(environment.display().to_string());
        for folder in TOOLKIT_FOLDERS {
            found.add_folder(&environment.join(folder));
        }
    }
    for packages in site_packages(&environments) {
        found.searched.push(packages.display().to_string());
        for wheel in entries(&packages.join("nvidia"), "cu") {
            for folder in ["lib", "bin", "bin/x86_64"] {
                found.add_folder(&wheel.join(folder));
            }
        }
        found.add_renamed(&packages.join("torch/lib"));
    }
    found
}

impl Candidates {
    /// Adds the libraries in `folder`.
    fn add_folder(&mut self, folder: &Path) {
        let files = names().into_iter().map(|name| folder.join(name));
        // `libnvrtc.so` is a link to one of the others, unless it is the only file.
        let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
        if files.len() > 1 {
            files.retain(|file| file.file_name() != Some(OsStr::new("libnvrtc.so")));
        }
        for file in files {
            self.add(file);
        }
    }

    /// Adds the libraries in a folder of PyTorch, whose wheels put a hash into the names.
    fn add_renamed(&mut self, folder: &Path) {
        self.add_folder(folder);
        let renamed = entries(folder, "libnvrtc-").into_iter();
        let is_other = |file: &PathBuf| file.to_string_lossy().contains("libnvrtc-builtins");
        renamed.filter(|file| !is_other(file) && file.is_file()).for_each(|file| self.add(file));
    }

    fn add(&mut self, file: PathBuf) {
        if !self.files.contains(&file) {
            self.files.push(file);
        }
    }
}

/// Returns the libraries with built-in functions in NVRTC's folder. NVRTC loads one of them by its
/// name alone. On Windows the loader does not search NVRTC's folder, but finds a library that is already loaded.
pub(super) fn companions(nvrtc: &Path) -> Vec<PathBuf> {
    match nvrtc.parent().filter(|_| nvrtc.is_absolute()) {
        Some(folder) => {
            entries(folder, if cfg!(windows) { "nvrtc-builtins" } else { "libnvrtc-builtins.so" })
        }
        None => Vec::new(),
    }
}

/// Returns the names of the library, newest first. CUDA 11 kept one name from 11.2 on.
fn names() -> Vec<String> {
    match cfg!(windows) {
        true => {
            let release = |major: u32| if major == 11 { "112".into() } else { format!("{major}0") };
            MAJORS.map(|major| format!("nvrtc64_{}_0.dll", release(major))).to_vec()
        }
        false => {
            let mut names = MAJORS.map(|major| format!("libnvrtc.so.{major}")).to_vec();
            names.extend(["libnvrtc.so.11.2".into(), "libnvrtc.so".into()]);
            names
        }
    }
}

/// Library folders of a toolkit or a conda environment: `sbsa` is for servers with ARM processors,
/// `aarch64` for Jetson boards.
const TOOLKIT_FOLDERS: [&str; 9] = [
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "targets/aarch64-linux/lib",
    "bin",
    "bin/x64",
    "Library/bin",
    "Library/bin/x64",
];

/// Returns the folders of CUDA toolkits and adds the searched paths to `searched`.
fn toolkits(
    variable: &dyn Fn(&str) -> Option<OsString>,
    root: &Path,
    searched: &mut Vec<String>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
        if let Some(toolkit) = variable(name).map(PathBuf::from) {
            searched.push(format!("{} of {name}", toolkit.display()));
            found.push(toolkit);
        }
    }
    if !cfg!(windows) {
        searched.extend(["/usr/local/cuda*".into(), "/opt/cuda".into()]);
        found.extend(entries(&root.join("usr/local"), "cuda"));
        found.push(root.join("opt/cuda"));
    }
    found
}

/// Returns the environments of Python or conda: active environments, the environment of the first Python in the search
/// path, the user's, and the system's.
fn environments(variable: &dyn Fn(&str) -> Option<OsString>, root: &Path) -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(variable)
        .map(PathBuf::from)
        .collect();
    let programs =
        if cfg!(windows) { ["python.exe", "python3.exe"] } else { ["python3", "python"] };
    if let Some(path) = variable("PATH") {
        let has_python =
            |folder: &PathBuf| programs.iter().any(|program| folder.join(program).is_file());
        if let Some(folder) = env::split_paths(&path).find(has_python) {
            // Programs are in `bin` of the prefix, on Windows in the prefix or in `Scripts`.
            prefixes.extend(folder.parent().map(Path::to_owned));
            prefixes.push(folder);
        }
    }
    prefixes.extend(variable("HOME").map(|home| PathBuf::from(home).join(".local")));
    // Packages of `pip install --user` on Windows.
    prefixes.extend(variable("APPDATA").map(|data| PathBuf::from(data).join("Python")));
    prefixes.push(root.join("usr/local"));
    prefixes
}

/// Returns the package folders of these environments.
fn site_packages(prefixes: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for prefix in prefixes {
        let mut pythons = entries(&prefix.join("lib"), "python3");
        pythons.push(prefix.join("Lib"));
        pythons.extend(entries(prefix, "Python3"));
        for python in pythons {
            for packages in ["site-packages", "dist-packages"].map(|name| python.join(name)) {
                if packages.is_dir() && !found.contains(&packages) {
                    found.push(packages);
                }
            }
        }
    }
    found
}

/// Returns the entries of `folder` whose names begin with `prefix`, the highest version first.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix)))
        .collect();
    sort_few(&mut found, |a, b| numbers(b).cmp(&numbers(a)));
    found
}

/// Returns the numbers in a name, as a sort key that puts 3.12 after 3.9.
fn numbers(path: &Path) -> Vec<u32> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system of empty files.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        root
    }

    /// Returns the paths found in `root` with these variables, without the loader's names and the root.
    fn found(root: &Path, variables: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let variable = |name: &str| {
            let value = variables.iter().find(|(known, _)| *known == name)?.1;
            let absolute = |part: &str| root.join(part).into_os_string();
            env::join_paths(value.split(':').map(absolute)).ok()
        };
        let Candidates { files, searched } = collect(&variable, root);
        let files = files.iter().filter_map(|file| file.strip_prefix(root).ok());
        (files.map(|file| file.display().to_string()).collect(), searched)
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn toolkits_and_wheels_are_found_the_named_and_the_newest_first() {
        let root = tree(&[
            "usr/local/cuda-12.4/lib64/libnvrtc.so.12",
            "usr/local/cuda-12.4/lib64/libnvrtc.so",
            "usr/local/cuda-12.10/lib64/libnvrtc.so.12",
            "opt/cuda/lib64/libnvrtc.so",
            "mine/lib64/libnvrtc.so.11.2",
            "venv/bin/python3",
            "venv/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc-builtins.so.13.5",
            "venv/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.13",
            "other/bin/python3",
            "other/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
            "data/Python/Python312/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        ]);
        let variables = [
            ("CUDA_HOME", "mine"),
            ("VIRTUAL_ENV", "venv"),
            ("PATH", "sbin:other/bin:venv/bin"),
            ("HOME", "home"),
            ("APPDATA", "data"),
        ];
        let (files, searched) = found(root.path(), &variables);
        assert_eq!(
            files,
            [
                "mine/lib64/libnvrtc.so.11.2",
                "usr/local/cuda-12.10/lib64/libnvrtc.so.12",
                "usr/local/cuda-12.4/lib64/libnvrtc.so.12",
                "opt/cuda/lib64/libnvrtc.so",
                "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                "venv/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "other/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                "data/Python/Python312/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            ]
        );
        assert_eq!(searched[0], "libnvrtc.so of the loader");
        assert!(searched.iter().any(|place| place.ends_with("mine of CUDA_HOME")), "{searched:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_the_variable_names_is_all_that_is_tried() {
        let root =
            tree(&["a/libnvrtc.so.12", "a/libnvrtc.so.13", "usr/local/cuda/lib64/libnvrtc.so"]);
        let (files, searched) = found(root.path(), &[("DUALFIT_NVRTC", "b/my_nvrtc.so:a")]);
        assert_eq!(files, ["b/my_nvrtc.so", "a/libnvrtc.so.13", "a/libnvrtc.so.12"]);
        assert_eq!(searched.len(), 2);
        assert!(searched[0].ends_with("b/my_nvrtc.so of DUALFIT_NVRTC"), "{searched:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn environments_of_conda_jetson_boards_and_pytorch_are_searched() {
        let root = tree(&[
            "conda/lib/libnvrtc.so.12",
            "conda/lib/libnvrtc.so",
            "conda/Library/bin/libnvrtc.so.11.2",
            "jetson/targets/aarch64-linux/lib/libnvrtc.so.12",
            "venv/bin/python3",
            "venv/lib/python3.10/site-packages/torch/lib/libnvrtc-672ee683.so.11.2",
            "venv/lib/python3.10/site-packages/torch/lib/libnvrtc-builtins-2dc4bf68.so.11.8",
            "venv/lib/python3.10/site-packages/torch/lib/libnvrtc-builtins.so.11.8",
            "venv/lib/python3.10/site-packages/torch/lib/libtorch.so",
        ]);
        let variables = [("CUDA_HOME", "jetson"), ("CONDA_PREFIX", "conda"), ("PATH", "venv/bin")];
        let (files, searched) = found(root.path(), &variables);
        assert_eq!(
            files,
            [
                "jetson/targets/aarch64-linux/lib/libnvrtc.so.12",
                "conda/lib/libnvrtc.so.12",
                "conda/Library/bin/libnvrtc.so.11.2",
                "venv/lib/python3.10/site-packages/torch/lib/libnvrtc-672ee683.so.11.2",
            ]
        );
        assert!(searched.iter().any(|place| place.ends_with("conda")), "{searched:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_libraries_beside_nvrtc_are_known() {
        let root = tree(&["a/libnvrtc.so.12", "a/libnvrtc-builtins.so.12.9", "a/libcublas.so.12"]);
        let beside = companions(&root.path().join("a/libnvrtc.so.12"));
        assert_eq!(beside, [root.path().join("a/libnvrtc-builtins.so.12.9")]);
        // If the loader finds NVRTC, it also finds the companions.
        assert!(companions(Path::new("libnvrtc.so.12")).is_empty());
    }

    #[test]
    fn a_bare_machine_has_only_the_loader() {
        let root = tree(&[]);
        let (files, searched) = found(root.path(), &[]);
        assert!(files.is_empty() && !searched.is_empty());
    }
}
