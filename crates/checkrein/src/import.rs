//! Rules of other agents as rules of ours. What can not be carried over is listed, never dropped: their rules match the text
//! of a command, ours what it does, so an import is a beginning that a person reads.

mod claude;
mod codex;

use std::path::Path;

use checkrein_contract::{Identity, Layer, Place, PolicySource};

use crate::hook::Caller;
use crate::{HarnessError, PolicyFiles, policy_for};

/// A rule that may be carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    decision: &'static str,
    reason: String,
    /// The effect with its conditions, as lines of TOML.
    body: String,
}

/// What came of a file of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The policy, as TOML.
    pub policy: String,
    /// Number of its rules.
    pub rules: usize,
    /// What could not be carried over, and why.
    pub left: Vec<String>,
}

/// What is read of a file: rules, and what is none.
#[derive(Debug, Default)]
struct Found {
    rules: Vec<Rule>,
    left: Vec<String>,
}

impl Found {
    fn leave(&mut self, what: &str, why: &str) {
        self.left.push(format!("{what}: {why}"));
    }
}

/// Reads a file of another agent's rules: settings of Claude Code, or a `.rules` file of Codex.
///
/// # Errors
/// [`HarnessError::Unreadable`] for a file that is not what it should be.
pub fn import(caller: Caller, path: &Path, text: &str) -> Result<Imported, HarnessError> {
    let wrong = |reason: String| HarnessError::Unreadable { path: path.to_path_buf(), reason };
    let mut found = match caller {
        Caller::Claude => claude::read(text, is_personal(path)).map_err(wrong)?,
        Caller::Codex => codex::read(text).map_err(wrong)?,
    };
    let mut policy = format!(
        "# Carried over from {}, rules of {}. They allow, ask and deny what those rules name; what a command reads, writes\n\
         # and connects to is judged by rules of its own, which those rules do not have: add them.\nversion = 1\n",
        path.file_name().unwrap_or_default().to_string_lossy(),
        caller.name()
    );
    let mut rules = 0;
    for rule in std::mem::take(&mut found.rules) {
        let id = format!("imported-{}", rules + 1);
        let Rule { decision, reason, body } = &rule;
        let text = format!("\n[[rule]]\nid = \"{id}\"\ndecision = \"{decision}\"\nreason = {}\n{body}", quoted(reason));
        match loads(&text) {
            Ok(()) => {
                policy.push_str(&text);
                rules += 1;
            }
            Err(error) => found.leave(reason, &error),
        }
    }
    for left in &found.left {
        policy.push_str(&format!("\n# NOT carried over: {}", left.replace('\n', " ")));
    }
    if !found.left.is_empty() {
        policy.push('\n');
    }
    Ok(Imported { policy, rules, left: found.left })
}

/// Settings in the person's home speak of the home, those of a project of the project.
fn is_personal(path: &Path) -> bool {
    let home = std::path::absolute(path).ok().and_then(|path| path.parent()?.parent().map(Path::to_path_buf));
    home.is_some_and(|home| !home.join(".git").exists() && home.join(".claude.json").exists())
}

/// Whether a rule is one of ours, with the reason why not.
fn loads(rule: &str) -> Result<(), String> {
    let (file, text) = ("imported.toml".to_owned(), format!("version = 1\n{rule}"));
    let source = PolicySource { layer: Layer::Project, file, text, only_tightens: false };
    let place =
        Place { root: "/project".into(), cwd: "/project".into(), home: "/home/user".into(), ..Place::default() };
    policy_for(&PolicyFiles::default(), &[source], &place, &Identity::default())
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Texts as a TOML list.
fn list<T: AsRef<str>>(texts: &[T]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", quoted.join(", "))
}
