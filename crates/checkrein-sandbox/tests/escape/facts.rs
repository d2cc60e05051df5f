//! What the gate and the view are told of the machine: real paths, and every file of a tree. Which of them a rule speaks
//! of the asker finds out itself, so nothing is matched here.

use std::path::Path;

use checkrein_contract::{BoxFuture, Finding, Question};
use checkrein_gate::FactSource;

#[derive(Clone, Copy)]
pub(crate) struct Looked;

impl FactSource for Looked {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        let answer = match question {
            Question::RealPath { path } => Some(Finding::Text(real(path))),
            Question::CaseFolding { .. } => Some("exact".into()),
            Question::Kind { path } => Some(kind(Path::new(path)).into()),
            Question::Holds { tree, .. } => {
                let mut files = Vec::new();
                all(Path::new(&tree.root), &mut files).map(|()| Finding::List(files))
            }
            _ => None,
        };
        Box::pin(async move { answer })
    }
}

fn real(path: &str) -> String {
    let path = Path::new(path);
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(path);
    let rest = path.strip_prefix(there).unwrap();
    let real = there.canonicalize().unwrap_or_else(|_| there.to_owned());
    let whole = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    whole.to_string_lossy().into_owned()
}

fn kind(path: &Path) -> &'static str {
    match (path.is_dir(), path.exists()) {
        (true, _) => "folder",
        (false, true) => "file",
        (false, false) => "none",
    }
}

/// All files; `None` where a name is no text, or a folder may not be looked into.
fn all(folder: &Path, files: &mut Vec<String>) -> Option<()> {
    for entry in std::fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        if entry.file_type().ok()?.is_dir() {
            all(&entry.path(), files)?;
        } else {
            files.push(entry.path().to_str()?.to_owned());
        }
    }
    Some(())
}
