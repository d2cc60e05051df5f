//! Which policy files count, and as which layer.

use std::path::{Path, PathBuf};

use checkrein_contract::{Digest, Layer, PolicySource};
use checkrein_policy::{Policy, floor};

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
}

impl PolicyFiles {
    /// Reads the managed policy and the person's (`policy.toml` in the configuration folder), where they exist.
    ///
    /// # Errors
    /// [`HarnessError::Unreadable`] when a file is there and can not be read: nothing runs under half a policy.
    pub fn read(config: Option<&Path>) -> Result<Self, HarnessError> {
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
        Ok(Self { sources, commands, trusted })
    }

    /// All layers of a session: floor, machine, person, task; the default where nobody has any; the harness's own.
    ///
    /// The harness's own rules let cut text be read, and keep what steers this session (`{control.N}`) from being changed
    /// by it, where a session works in the very folder that holds it.
    pub(crate) fn with_task(&self, task: &[PolicySource], control: usize) -> Vec<PolicySource> {
        let mut all = vec![floor()];
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
