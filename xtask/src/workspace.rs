//! The checkout: where it is, which Rust files it holds, and reading and writing them by relative path.
//!
//! It judges nothing; checks get texts from here and never open files themselves.

use std::fs;
use std::path::{Path, PathBuf};

use crate::rust::Source;

/// The repository that this program was built from.
pub(crate) struct Workspace {
    /// Its root folder.
    pub(crate) root: PathBuf,
}

/// Folders of a crate that hold Rust files of ours.
const CRATE_FOLDERS: &[&str] = &["src", "tests", "benches", "examples"];

impl Workspace {
    /// Finds the root, by the folder that cargo names.
    pub(crate) fn find() -> Result<Self, String> {
        let named = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&named).parent().map(Path::to_owned).unwrap_or_default();
        if root.join("Cargo.toml").is_file() && root.join("crates").is_dir() {
            Ok(Self { root })
        } else {
            Err(format!("{} is not the root of the workspace: run this as `cargo xtask`", root.display()))
        }
    }

    /// Reads a text file.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(self.root.join(path)).map_err(|e| format!("{path} can not be read: {e}"))
    }

    /// Reads a text file that may be missing.
    pub(crate) fn read_if_there(&self, path: &str) -> Result<Option<String>, String> {
        if self.root.join(path).is_file() { self.read(path).map(Some) } else { Ok(None) }
    }

    /// Writes a text file and the folders above it; leaves a file alone that is already so.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let full = self.root.join(path);
        if fs::read_to_string(&full).is_ok_and(|old| old == text) {
            return Ok(());
        }
        let parent = full.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&full, text))
            .map_err(|e| format!("{path} can not be written: {e}"))
    }

    /// Names of the crates under `crates/`, sorted; the folder is the name.
    pub(crate) fn crates(&self) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for entry in entries(&self.root.join("crates"))? {
            if entry.join("Cargo.toml").is_file() {
                names.push(last(&entry));
            }
        }
        Ok(names)
    }

    /// Every Rust file of the crates and of xtask, sorted by path.
    pub(crate) fn sources(&self) -> Result<Vec<Source>, String> {
        let mut folders: Vec<String> = Vec::new();
        for name in self.crates()? {
            folders.extend(CRATE_FOLDERS.iter().map(|folder| format!("crates/{name}/{folder}")));
        }
        folders.push("xtask/src".to_owned());
        let mut paths = Vec::new();
        for folder in folders {
            walk(&self.root.join(folder), &mut paths)?;
        }
        let mut sources = Vec::new();
        for path in paths {
            let relative = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let text = self.read(&relative)?;
            sources.push(Source::new(relative, text));
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sources)
    }
}

fn walk(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in entries(folder)? {
        if entry.is_dir() {
            walk(&entry, into)?;
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            into.push(entry);
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |e: std::io::Error| format!("{} can not be listed: {e}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        found.push(entry.map_err(wrong)?.path());
    }
    found.sort();
    Ok(found)
}

fn last(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
