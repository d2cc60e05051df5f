//! Tasks: a folder with a `task.toml`, or plain words in a project.

mod file;
mod load;

use std::collections::BTreeMap;
use std::path::PathBuf;

use checkrein_contract::{Budget, Check, Identity, OnAsk, PolicySource, Price, Skill, StopOn};
use checkrein_policy::Manifest;
use serde_json::Value;

use crate::deferral::Deferral;

pub(crate) use load::{TASK_FILE, by_window, project_policy, read, unreadable};
pub use load::{find_folder, from_folder, from_words};

/// A task, read and checked, before anything of it runs.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its folder's name, or `words`.
    pub name: String,
    /// The folder that was typed after `run`.
    pub folder: Option<PathBuf>,
    /// The person's words.
    pub prompt: String,
    /// The model, as `script:FILE` or `provider:NAME`; `None` when neither the task nor the person named one.
    pub model: Option<String>,
    /// Policy files of the task or project.
    pub policy: Vec<PolicySource>,
    /// The tools to register; `None` means all that ship and all in `tools/`.
    pub tools: Option<Vec<NamedTool>>,
    /// Which of them are only named to the model until it looks them up; `None`: as the host has it.
    pub deferral: Option<Deferral>,
    /// Command tools of the folder.
    pub manifests: Vec<Manifest>,
    /// Command models of the folder (`commands/*.toml`), by file.
    pub commands: Vec<(String, String)>,
    /// Skills of the folder.
    pub skills: Vec<Skill>,
    /// Where the session works.
    pub workspace: WorkspaceMode,
    /// Files of the folder that steer the session, relative to it; a copied workspace does without them.
    pub control_files: Vec<PathBuf>,
    /// Files and folders of the folder that no session may change, relative to it: the control files, tools, skills, and
    /// the programs behind tools.
    pub protected: Vec<PathBuf>,
    /// What an *ask* does; `None` means: prompt on a terminal, else pause.
    pub on_ask: Option<OnAsk>,
    /// What ends the run.
    pub stop_on: Vec<StopOn>,
    /// Variables for every program.
    pub env: BTreeMap<String, String>,
    /// Secrets that command lines may name as `${secret:NAME}`.
    pub secrets: Vec<String>,
    /// On whose behalf.
    pub identity: Identity,
    /// Limits.
    pub budget: Budget,
    /// What its model costs, where the task says.
    pub price: Option<Price>,
    /// What must hold before `completed`.
    pub verify: Vec<Check>,
    /// What can not be confined is refused, not asked about.
    pub confinement_required: bool,
    /// Names of instruction files; none: they are not read.
    pub instructions: Vec<String>,
    /// The context policy: name and numbers.
    pub context: (String, Value),
}

/// A tool that a task registers by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTool {
    /// Its name.
    pub name: String,
    /// The file that names it, for messages.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// Where a session works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceMode {
    /// In a fresh copy of the task folder, one for each session.
    Copy,
    /// In the folder itself.
    InPlace,
}
