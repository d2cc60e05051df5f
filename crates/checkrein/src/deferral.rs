//! Which tools a session declares in every request, and which it only names: the model looks those up and calls them through
//! two tools that are always declared, so the beginning of requests stays as it is whatever is looked up.

use std::collections::BTreeSet;

use checkrein_contract::{ToolSpec, estimate_spec};
use checkrein_gate::Registry;
use checkrein_session::tools::{Wanted, name_deferred, session_tool};
use checkrein_toml::{FileError, nearest};

use crate::HarnessError;
use crate::setup::Harness;
use crate::task::{NamedTool, Task};

/// What all tools together may cost in every request before the host's own and the task's are only named, tokens.
const DEAR: u64 = 8_000;

/// Which tools are only named to the model until it looks them up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deferral {
    /// All but those that ship, where describing all of them would cost more than 8,000 tokens in every request.
    #[default]
    WhereDear,
    /// None.
    Never,
    /// All but those that ship.
    Own,
    /// These.
    Named(Vec<NamedTool>),
}

impl Deferral {
    /// These, named in code.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let named = |name: &str| NamedTool { name: name.to_owned(), file: "deferral".to_owned(), line: 1 };
        Self::Named(names.into_iter().map(named).collect())
    }
}

/// The tools of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// All of them, sorted by name.
    pub tools: Vec<ToolSpec>,
    /// Those of them that are only named.
    pub deferred: Vec<String>,
}

impl Harness {
    /// The tools that a session of this task would have.
    ///
    /// # Errors
    /// [`HarnessError`] where the task's tools can not be registered, or it defers what is none of them.
    pub fn tools(&self, task: &Task) -> Result<Offer, HarnessError> {
        self.offer(task, &self.registry(task)?)
    }

    pub(crate) fn offer(&self, task: &Task, registry: &Registry) -> Result<Offer, HarnessError> {
        let specs = registry.specs();
        let others: Vec<&ToolSpec> = specs.iter().filter(|spec| !follows(&spec.name)).collect();
        let own = || {
            let of_task = task.manifests.iter().map(|manifest| manifest.name.as_str());
            let of_host = self.extensions.tools.iter().map(|tool| tool.definition().name.as_str());
            of_task.chain(of_host).collect::<BTreeSet<&str>>()
        };
        let deferral = task.deferral.as_ref().unwrap_or(&self.extensions.deferral);
        let chosen: BTreeSet<&str> = match deferral {
            Deferral::Never => BTreeSet::new(),
            Deferral::WhereDear if others.iter().map(|spec| estimate_spec(spec)).sum::<u64>() <= DEAR => {
                BTreeSet::new()
            }
            Deferral::WhereDear | Deferral::Own => own(),
            Deferral::Named(names) => {
                if let Some(wrong) = names.iter().find(|named| !others.iter().any(|spec| spec.name == named.name)) {
                    return Err(unknown(wrong, others.iter().map(|spec| spec.name.as_str())));
                }
                names.iter().map(|named| named.name.as_str()).collect()
            }
        };
        let deferred: Vec<String> =
            others.iter().map(|spec| spec.name.clone()).filter(|name| chosen.contains(name.as_str())).collect();
        let undescribed = !deferred.is_empty() || checkrein_context::menu(&task.skills).cut;
        let on_offer = |spec: &ToolSpec| match wanted(&spec.name) {
            Some(Wanted::WithDeferred) => !deferred.is_empty(),
            Some(Wanted::WithUndescribed) => undescribed,
            Some(Wanted::Named | Wanted::WithSkills) | None => true,
        };
        let mut tools: Vec<ToolSpec> = specs.iter().filter(|spec| on_offer(spec)).cloned().collect();
        name_deferred(&mut tools, &task.skills, &deferred);
        Ok(Offer { tools, deferred })
    }
}

/// Tools where nothing is deferred.
pub(crate) fn plain(mut tools: Vec<ToolSpec>) -> Vec<ToolSpec> {
    tools.retain(|spec| !follows(&spec.name));
    tools
}

/// Whether a tool is on offer because of what is only named.
pub(crate) fn follows(name: &str) -> bool {
    matches!(wanted(name), Some(Wanted::WithDeferred | Wanted::WithUndescribed))
}

fn wanted(name: &str) -> Option<Wanted> {
    session_tool(name).map(|tool| tool.wanted())
}

fn unknown<'a>(named: &NamedTool, known: impl Iterator<Item = &'a str>) -> HarnessError {
    let known: Vec<&str> = known.collect();
    let near = nearest(&named.name, known.iter().copied());
    let message =
        format!("`deferred` names `{}`, which is no tool of this task; it has: {}", named.name, known.join(", "));
    FileError { file: named.file.clone(), line: named.line, message, near }.into()
}
