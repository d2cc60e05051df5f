//! The first line of a cassette: what the session that is recorded was made of.

use std::path::{Component, Path, PathBuf};

use checkrein_contract::{Digest, SessionOpened, digest_json};
use checkrein_gate::DETECTORS;
use checkrein_providers::{AnsweredBy, Digests, Header, PARSER, TaskRef};
use serde_json::json;

use crate::HarnessError;
use crate::task::{TASK_FILE, Task, from_folder, from_words, read};

/// What a header is made from.
pub(crate) struct Origin<'a> {
    pub(crate) task: &'a Task,
    /// What the session begins with; instructions and tools are those that requests show.
    pub(crate) opened: &'a SessionOpened,
    pub(crate) server: AnsweredBy,
    /// Milliseconds since 1970.
    pub(crate) now_ms: u64,
}

impl Origin<'_> {
    /// The first line of a cassette in this file.
    pub(crate) fn header(&self, file: &Path) -> Result<Header, HarnessError> {
        let opened = self.opened;
        Ok(Header {
            version: Header::VERSION,
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            recorded_at: Header::time(self.now_ms),
            model: opened.model.clone(),
            answered: Vec::new(),
            server: self.server,
            task: match &self.task.folder {
                Some(folder) => TaskRef::Folder(relative(folder, file.parent().unwrap_or(Path::new(".")))?),
                None => TaskRef::Words(opened.prompt.clone()),
            },
            digests: digests(self.task, opened)?,
            detectors: DETECTORS.to_owned(),
            parser: PARSER,
            rekeyed: Vec::new(),
        })
    }
}

/// Digests of what a session of this task is made of.
pub(crate) fn digests(task: &Task, opened: &SessionOpened) -> Result<Digests, HarnessError> {
    let config = match &task.folder {
        Some(folder) => read(&folder.join(TASK_FILE))?,
        None => task.prompt.clone(),
    };
    let tools = match opened.deferred.as_slice() {
        [] => json!(opened.tools),
        deferred => json!([opened.tools, deferred]),
    };
    let policy: Vec<_> = task.policy.iter().map(|source| json!([source.layer, source.text])).collect();
    Ok(Digests {
        config: Digest::of(config.as_bytes()),
        tools: digest_json(&tools),
        policy: digest_json(&json!(policy)),
        system: Digest::of(opened.system.as_bytes()),
    })
}

/// The task of a cassette, as it is now. `here` is the folder that words are done in.
///
/// # Errors
/// [`HarnessError`] when it is not there any more, or has a mistake.
pub fn task(header: &Header, file: &Path, here: &Path) -> Result<Task, HarnessError> {
    task_in(&header.task, file.parent().unwrap_or(Path::new(".")), here)
}

pub(crate) fn task_in(task: &TaskRef, folder: &Path, here: &Path) -> Result<Task, HarnessError> {
    match task {
        TaskRef::Words(words) => from_words(words, here),
        TaskRef::Folder(task) => {
            let folder = folder.join(task);
            from_folder(&folder.canonicalize().map_err(|error| crate::task::unreadable(&folder, &error))?)
        }
    }
}

/// The task with another model, looked for where the task looks for its own.
pub fn with_model(task: Task, model: &str) -> Task {
    Task { model: Some(model.to_owned()), ..task }
}

/// A folder as seen from another one.
fn relative(folder: &Path, from: &Path) -> Result<String, HarnessError> {
    let real = |path: &Path| path.canonicalize().map_err(|error| crate::task::unreadable(path, &error));
    let from = if from.as_os_str().is_empty() { Path::new(".") } else { from };
    let (folder, from) = (real(folder)?, real(from)?);
    let same = folder.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(folder.components().skip(same)).collect();
    Ok(if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() })
}
