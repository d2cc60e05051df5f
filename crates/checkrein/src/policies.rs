//! Which policy files count, and as which layer.

use std::path::{Path, PathBuf};

use checkrein_contract::{Digest, Layer, PolicySource};
use checkrein_policy::paths::normalise;
use checkrein_policy::{OwnFolders, Policy, floor};

use crate::HarnessError;
use crate::policy_folder::texts;
use crate::task::read;

/// The policy of the machine.
const MANAGED: &str = "/etc/checkrein/policy.toml";
/// Used where nobody else has a policy.
const DEFAULT: &str = include_str!("../../checkrein-policy/policies/default.toml");
/// How that is named.
pub(crate) const DEFAULT_FILE: &str = "default.toml";
/// What the harness itself supplies in every session: reading back what it cut.
const SUPPLIED: &str = "\
version = 1
[[rule]]
id = \"read-cut-text\"
decision = \"allow\"
reason = \"what was cut may be read\"
effect = \"read\"
paths = [\"{spill}/**\"]
";

/// Files of the machine and of the person.
#[derive(Clone, Debug, Default)]
pub struct PolicyFiles {
    /// Managed and user layers, as they were read.
    pub sources: Vec<PolicySource>,
    /// Command models of the person, by file.
    pub commands: Vec<(String, String)>,
    /// Digests of policies, found in projects, that the person trusts as they are.
    pub trusted: Vec<String>,
    /// Where the harness keeps its things: guarded by a layer of the floor.
    pub own: OwnFolders,
}

impl PolicyFiles {
    /// Reads the managed policy and the person's (`policy.toml` in the configuration folder), where they exist. No session changes
    /// that folder or the state folder.
    ///
    /// # Errors
    /// [`HarnessError::Unreadable`] when a file is there and can not be read: nothing runs under half a policy.
    pub fn read(config: Option<&Path>, state: &Path) -> Result<Self, HarnessError> {
        let user = config.map(|folder| folder.join("policy.toml"));
        let files = [(Layer::Managed, Some(PathBuf::from(MANAGED))), (Layer::User, user)];
        let mut sources = Vec::new();
        for (layer, path) in files {
            let Some(path) = path.filter(|path| path.exists()) else { continue };
            let text = read(&path)?;
            sources.push(PolicySource { layer, file: path.display().to_string(), text, only_tightens: false });
        }
        let trusted = config.map(crate::trust::digests).transpose()?.unwrap_or_default();
        let commands = config.map(|folder| texts(&folder.join("commands"))).transpose()?.unwrap_or_default();
        let own = OwnFolders { config: config.map(names), state: Some(names(state)) };
        Ok(Self { sources, commands, trusted, own })
    }

    /// The layers that hold where these files are the task's or the project's, as a session in words has them: what was found
    /// and is not trusted only tightens.
    pub fn in_force(&self, own: &[PolicySource]) -> Vec<PolicySource> {
        self.with_task(own, 0)
    }

    /// All layers of a session: floor, machine, person, task; the default where nobody has any; the harness's own.
    ///
    /// The harness's own rules let cut text be read, and keep what steers this session (`{control.N}`) from being changed
    /// by it, where a session works in the very folder that holds it.
    pub(crate) fn with_task(&self, task: &[PolicySource], control: usize) -> Vec<PolicySource> {
        let mut all = vec![floor()];
        all.extend(self.own.source());
        all.extend(self.sources.iter().cloned());
        all.extend(task.iter().cloned().map(|mut source| {
            source.only_tightens &=
                !self.trusted.iter().any(|known| *known == Digest::of(source.text.as_bytes()).as_str());
            source
        }));
        let speaks = |source: &PolicySource| source.layer != Layer::Floor && !source.only_tightens;
        if !all.iter().any(speaks) {
            all.push(source(Layer::Project, DEFAULT_FILE, DEFAULT));
        }
        let mut supplied = SUPPLIED.to_owned();
        if control > 0 {
            let paths: Vec<_> = (0..control).map(|n| format!("\"{{control.{n}}}\", \"{{control.{n}}}/**\"")).collect();
            for effect in ["write", "delete", "metadata"] {
                supplied.push_str(&format!(
                    "[[rule]]\nid = \"control-{effect}\"\ndecision = \"deny\"\nreason = \"what steers a session is not \
                     changed by it\"\neffect = \"{effect}\"\npaths = [{}]\n",
                    paths.join(", ")
                ));
            }
        }
        all.push(source(Layer::Session, "supplied.toml", &supplied));
        all
    }
}

/// A folder as it was named and as it really is: of one that is not there yet, where it would come to be.
pub(crate) fn names(folder: &Path) -> (String, String) {
    let written = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let real = written.ancestors().find_map(|above| {
        let below = written.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(below))
    });
    let name = |path: &Path| normalise(&path.display().to_string());
    (name(&written), name(real.as_deref().unwrap_or(&written)))
}

fn source(layer: Layer, file: &str, text: &str) -> PolicySource {
    PolicySource { layer, file: file.to_owned(), text: text.to_owned(), only_tightens: false }
}

/// A rule about a tool that no session can call is a mistake, most often a typing error, where it stands in a layer that
/// is written for these very tools.
pub(crate) fn check_tool_names(policy: &Policy, layer: Layer, known: &[String]) -> Result<(), HarnessError> {
    for (tool, rule) in policy.named_tools() {
        if rule.layer != layer || known.iter().any(|name| name == tool) {
            continue;
        }
        let near = checkrein_toml::nearest(tool, known.iter().map(String::as_str));
        let message =
            format!("rule `{}` is about the tool `{tool}`, which is not registered, so it can never match", rule.rule);
        return Err(checkrein_toml::FileError { file: rule.file.clone(), line: rule.line, message, near }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_names_that_lead_to_it() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().canonicalize().unwrap().join(name);
        std::fs::create_dir(at("real")).unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        let shown = |name: &str| at(name).display().to_string();
        let pair = |written: &str, real: &str| (shown(written), shown(real));
        assert_eq!(names(&at("real")), pair("real", "real"));
        assert_eq!(names(&at("link/not/there")), pair("link/not/there", "real/not/there"));
        assert_eq!(names(&at("real/../link")), pair("link", "real"));
    }
}
