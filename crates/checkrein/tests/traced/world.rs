//! The place that commands are traced in: a project, a home and a folder for what passes, made once and copied for each.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// One copy of it.
pub(crate) struct World {
    _folder: TempDir,
    /// The whole place.
    pub(crate) base: String,
    /// The project; commands start here.
    pub(crate) root: String,
    /// The home.
    pub(crate) home: String,
    /// `TMPDIR`: the grant gives every command one of its own.
    pub(crate) private: String,
    there: BTreeSet<String>,
}

/// The place as it is before a command, to be copied.
pub(crate) struct Template {
    folder: TempDir,
}

impl Template {
    pub(crate) fn new() -> Self {
        let folder = TempDir::with_prefix("traced-").expect("a folder can be made");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traced/world.sh");
        let mut command = Command::new("bash");
        command.arg(script).current_dir(folder.path()).env("HOME", folder.path().join("home"));
        let made = command.output().expect("bash starts");
        assert!(made.status.success(), "world.sh: {}", String::from_utf8_lossy(&made.stderr));
        Self { folder }
    }

    /// A copy of its own for one command.
    pub(crate) fn copy(&self) -> World {
        let folder = TempDir::with_prefix("traced-").expect("a folder can be made");
        let base = folder.path().canonicalize().expect("it is there");
        let copied =
            Command::new("cp").arg("-a").arg(format!("{}/.", self.folder.path().display())).arg(&base).status();
        assert!(copied.is_ok_and(|status| status.success()), "the place can be copied");
        let text = |path: PathBuf| path.display().to_string();
        let mut there = BTreeSet::new();
        gather(&base, &mut there);
        World {
            root: text(base.join("home/project")),
            home: text(base.join("home")),
            private: text(base.join("tmp")),
            base: text(base),
            _folder: folder,
            there,
        }
    }
}

impl World {
    /// Whether reading here is judged: below the project and the home. Elsewhere lie the system's own files.
    pub(crate) fn is_ours(&self, path: &str) -> bool {
        path.starts_with(&self.base) && !self.is_private(path)
    }

    /// What is a command's own: its folder for what passes, and devices that keep nothing.
    pub(crate) fn is_private(&self, path: &str) -> bool {
        let devices = [
            "/dev/null",
            "/dev/tty",
            "/dev/pts",
            "/dev/stdout",
            "/dev/stderr",
            "/dev/stdin",
            "/dev/shm",
            "/proc/self",
            "/dev/fd",
        ];
        path.starts_with(&self.private) || devices.iter().any(|device| path.starts_with(device))
    }

    /// Whether a path was there before the command.
    pub(crate) fn was_there(&self, path: &str) -> bool {
        self.there.contains(path)
    }

    /// A path as lines and reports write it.
    pub(crate) fn shown(&self, text: &str) -> String {
        text.replace(&self.root, ".")
            .replace(&self.home, "~")
            .replace(&self.private, "$TMPDIR")
            .replace(&self.base, "$BASE")
    }
}

fn gather(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        into.insert(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            gather(&entry.path(), into);
        }
    }
}
