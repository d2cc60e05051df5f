//! A project and a state folder that are gone with the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use checkrein::{Harness, HarnessBuilder};
use tempfile::TempDir;

/// A temporary project, and the state folder of a harness that works in it. Both are gone when it is dropped.
///
/// What sessions did to the project is read back from the disk, whatever model and journal say of it.
///
/// ```
/// use checkrein_testkit::{Lab, Scripted};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let lab = Lab::new().with("notes.txt", "milk\n");
/// let model = Scripted::new()
///     .calls("read", json!({ "file_path": "notes.txt" }))
///     .calls("edit", json!({ "file_path": "notes.txt", "edits": [{ "old": "milk", "new": "bread" }] }))
///     .says("Done.");
/// let before = lab.files();
/// let harness = lab.harness().shipped(["read", "edit"]).provider(model).build()?;
///
/// let outcome = harness.run("Change milk to bread.").await?;
///
/// // Nobody has said that this project may be changed, so a person is asked first.
/// assert_eq!(outcome.status.as_str(), "needs_approval");
/// assert_eq!(lab.files(), before);
/// # Ok::<(), checkrein::HarnessError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lab {
    folder: TempDir,
}

impl Lab {
    /// An empty project.
    ///
    /// # Panics
    /// Where no temporary folder can be made.
    #[expect(clippy::new_without_default, reason = "it makes folders, which a default value should not")]
    pub fn new() -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary folder: {error}")) };
        fs::create_dir(lab.project()).unwrap_or_else(|error| panic!("no project folder: {error}"));
        lab
    }

    /// With a file in the project.
    ///
    /// # Panics
    /// Where it can not be written.
    #[must_use]
    pub fn with(self, path: &str, text: &str) -> Self {
        let file = self.project().join(path);
        let written = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text));
        written.unwrap_or_else(|error| panic!("{path}: {error}"));
        self
    }

    /// A harness that works in the project; say what else it is made of, and build it. One that is built anew takes up the
    /// sessions of those before it.
    pub fn harness(&self) -> HarnessBuilder {
        Harness::builder(self.folder.path().join("state")).project(self.project())
    }

    /// The project's folder.
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// A file of the project as it is now; `None` where there is none.
    ///
    /// # Panics
    /// Where it is there and can not be read.
    pub fn read(&self, path: &str) -> Option<String> {
        match fs::read(self.project().join(path)) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// All files of the project as they are now, by path. Two of these are equal when nothing was changed.
    ///
    /// # Panics
    /// Where the project can not be read.
    pub fn files(&self) -> BTreeMap<String, String> {
        let (root, mut found) = (self.project(), BTreeMap::new());
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let entries =
                fs::read_dir(root.join(&folder)).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            for entry in entries {
                let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
                let path = folder.join(entry.file_name());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else {
                    let shown = shown(&path);
                    // A link to nowhere has a name and no text.
                    let text = self.read(&shown).unwrap_or_default();
                    found.insert(shown, text);
                }
            }
        }
        found
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
