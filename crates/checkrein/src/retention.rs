//! How long what did not fit into results is kept. The journal has what the model read; these files only hold the rest,
//! and a log of a gigabyte a day would fill a disk in silence.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Age at which a file goes. A session that waits for a person waits a day; a month is what people look back.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// All of them together, bytes; what is newest stays. Sixteen of the largest.
const ROOM: u64 = 1 << 30;
/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// Its time says when that was last.
const LOOKED: &str = "spill-looked-at";

/// Removes what is too old or too much below `sessions/*/spill` of this state folder, once a day at most. What can not be
/// removed stays: nothing that a session does depends on it.
pub(crate) fn tidy(state: &Path, now: SystemTime) {
    let marker = state.join(LOOKED);
    let age = |time: SystemTime| now.duration_since(time).unwrap_or_default();
    if marker.metadata().and_then(|found| found.modified()).is_ok_and(|looked| age(looked) < EVERY) {
        return;
    }
    if File::create(&marker).and_then(|file| file.set_modified(now)).is_err() {
        return;
    }
    let mut files = Vec::new();
    for session in entries(&state.join("sessions")) {
        collect(&session.join("spill"), &mut files);
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.modified));
    let mut total = 0_u64;
    for file in files {
        if age(file.modified) > KEPT || total.saturating_add(file.bytes) > ROOM {
            _ = fs::remove_file(&file.path);
        } else {
            total += file.bytes;
        }
    }
}

struct Spilled {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

fn collect(folder: &Path, files: &mut Vec<Spilled>) {
    for path in entries(folder) {
        // Not through links: only what lies here is ours.
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            collect(&path, files);
        } else if let Ok(modified) = found.modified() {
            files.push(Spilled { path, bytes: found.len(), modified });
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct State {
        folder: tempfile::TempDir,
        now: SystemTime,
    }

    impl State {
        fn file(&self, name: &str, days: u64, bytes: u64) {
            let path = self.folder.path().join("sessions").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = File::create(path).unwrap();
            file.set_len(bytes).unwrap();
            file.set_modified(self.now - Duration::from_secs(days * 24 * 60 * 60)).unwrap();
        }

        fn left(&self) -> Vec<String> {
            let mut files = Vec::new();
            collect(&self.folder.path().join("sessions"), &mut files);
            let name = |file: Spilled| file.path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut names: Vec<String> = files.into_iter().map(name).collect();
            names.sort();
            names
        }
    }

    /// What is old goes, and the oldest of what is too much; what is not spilled stays, and what a link leads to.
    #[test]
    fn what_is_old_or_too_much_goes() {
        let state = State { folder: tempfile::tempdir().unwrap(), now: SystemTime::now() };
        state.file("s-1/spill/old", 31, 1);
        state.file("s-1/spill/s-9/deep-old", 40, 1);
        state.file("s-1/spill/young", 29, 1);
        state.file("s-1/workspace/kept", 99, 1);
        state.file("s-2/spill/large-1", 1, ROOM - 100);
        state.file("s-2/spill/large-2", 3, 200);
        let elsewhere = state.folder.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        std::os::unix::fs::symlink(&elsewhere, state.folder.path().join("sessions/s-2/spill/link")).unwrap();
        tidy(state.folder.path(), state.now);
        assert_eq!(state.left(), ["kept", "large-1", "link", "young"]);
        assert_eq!(fs::read_to_string(elsewhere).unwrap(), "mine");

        // Not again on the same day.
        state.file("s-1/spill/old", 31, 1);
        tidy(state.folder.path(), state.now + EVERY / 2);
        assert_eq!(state.left(), ["kept", "large-1", "link", "old", "young"]);
        tidy(state.folder.path(), state.now + EVERY * 2);
        assert_eq!(state.left(), ["kept", "large-1", "link"]);
    }
}
