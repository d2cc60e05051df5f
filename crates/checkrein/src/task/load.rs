//! From a folder or from words to a [`Task`]. Every mistake in a file is found here, before anything runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use checkrein_contract::{
    Budget, Check, Identity, Layer, OnAsk, PolicySource, Skill, is_amount, is_secret_name, secrets_named,
};
use checkrein_policy::{Manifest, is_variable};
use checkrein_toml::{FileError, Source, Spanned};
use serde_json::{Map, Value};

use super::file::TaskFile;
use super::{NamedTool, Task, WorkspaceMode};
use crate::HarnessError;
use crate::catalogue::sound;
use crate::deferral::Deferral;

/// Variables that decide which programs run, or run something by themselves: what a rule says of a program would be said
/// of another one.
const STEERING: &[&str] = &[
    "PATH",
    "HOME",
    "SHELL",
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "TMPDIR",
];
/// The file that makes a folder a task.
pub(crate) const TASK_FILE: &str = "task.toml";
/// A policy that a project brings along; it counts only where it tightens.
const PROJECT_POLICY: &str = ".checkrein/policy.toml";

/// The policy that a project brings along, where it does.
pub(crate) fn project_policy(project: &Path) -> Result<Vec<PolicySource>, HarnessError> {
    let own = project.join(PROJECT_POLICY);
    if !own.is_file() {
        return Ok(Vec::new());
    }
    let file = PROJECT_POLICY.to_owned();
    Ok(vec![PolicySource { layer: Layer::Project, file, text: read(&own)?, only_tightens: true }])
}

/// The task folder that a typed word names: a folder, or its `task.toml`. `None` when the word is no path at all, so that
/// it is the task itself.
///
/// # Errors
/// [`HarnessError::Task`] when it is plainly meant as a path and no task is there.
pub fn find_folder(typed: &str) -> Result<Option<PathBuf>, HarnessError> {
    let path = Path::new(typed);
    if path.is_dir() {
        if path.join(TASK_FILE).is_file() {
            return Ok(Some(path.to_path_buf()));
        }
        return Err(HarnessError::Task(format!(
            "{typed}: there is no {TASK_FILE} in this folder (write one, or give the task as words)"
        )));
    }
    if path.is_file() {
        if path.file_name().is_some_and(|name| name == TASK_FILE) {
            return Ok(Some(path.parent().map_or_else(PathBuf::new, Path::to_path_buf)));
        }
        return Err(HarnessError::Task(format!("{typed} is a file: give the folder that holds {TASK_FILE}, or words")));
    }
    let meant_as_path = !typed.contains(char::is_whitespace) && (typed.contains('/') || typed.ends_with(".toml"));
    if meant_as_path {
        return Err(HarnessError::Task(format!("{typed}: there is no such task folder")));
    }
    Ok(None)
}

/// A task of plain words, in a project folder.
///
/// # Errors
/// [`HarnessError`] when the project's own policy can not be read.
pub fn from_words(words: &str, project: &Path) -> Result<Task, HarnessError> {
    Ok(Task { policy: project_policy(project)?, ..Task::new(words) })
}

impl Task {
    /// A task of plain words. Everything else is as it is for a `task.toml` that says no more than a prompt.
    pub fn new(words: impl Into<String>) -> Self {
        Self {
            name: "words".to_owned(),
            folder: None,
            prompt: words.into(),
            model: None,
            policy: Vec::new(),
            tools: None,
            deferral: None,
            manifests: Vec::new(),
            commands: Vec::new(),
            skills: Vec::new(),
            workspace: WorkspaceMode::InPlace,
            control_files: Vec::new(),
            protected: Vec::new(),
            on_ask: None,
            stop_on: Vec::new(),
            env: BTreeMap::new(),
            secrets: Vec::new(),
            identity: Identity::default(),
            budget: Budget::default(),
            price: None,
            verify: Vec::new(),
            confinement_required: false,
            instructions: instruction_files(),
            context: ("keep_everything".to_owned(), Value::Object(Map::new())),
        }
    }

    /// The same task on behalf of somebody: `("customer", "c-17")`. Policies and tools use it; a model never says it.
    #[must_use]
    pub fn on_behalf_of(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.identity.0.insert(name.into(), value.into());
        self
    }

    /// The same task under another budget.
    #[must_use]
    pub fn within(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The same task with one more check that has to pass before an answer counts.
    #[must_use]
    pub fn checked(mut self, check: Check) -> Self {
        self.verify.push(check);
        self
    }
}

impl From<&str> for Task {
    fn from(words: &str) -> Self {
        Self::new(words)
    }
}

impl From<String> for Task {
    fn from(words: String) -> Self {
        Self::new(words)
    }
}

/// The task in a folder.
///
/// # Errors
/// [`HarnessError`] with the first mistake of `task.toml` or of a file it names.
pub fn from_folder(folder: &Path) -> Result<Task, HarnessError> {
    let path = folder.join(TASK_FILE);
    let text = read(&path)?;
    let shown = path.display().to_string();
    let source = Source { file: &shown, text: &text };
    let file: TaskFile = source.toml()?;
    if *file.version.get_ref() != 1 {
        let message = format!("version {} is not known here; this program reads version 1", file.version.get_ref());
        return Err(source.error(file.version.span().start, message).into());
    }
    let loader = Loader { folder, source };
    let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let manifests = loader.manifests()?;
    let control_files = control_files(&file);
    let mut protected = control_files.clone();
    protected.extend(["tools", "commands"].map(PathBuf::from));
    protected.extend(file.skills.iter().map(|skill| plain(skill.get_ref())));
    let programs = manifests.iter().filter_map(|manifest| manifest.argv.as_ref()?.first());
    protected.extend(programs.filter(|program| program.starts_with("./")).map(|program| plain(program)));
    let mut verify = Vec::new();
    for check in file.verify {
        let at = check.span().start;
        verify.push(check.into_inner().check(source, at)?);
    }
    let mut skills = Vec::new();
    for skill in &file.skills {
        skills.push(loader.skill(skill)?);
    }
    Ok(Task {
        name: name.unwrap_or_else(|| "task".to_owned()),
        folder: Some(folder.to_path_buf()),
        prompt: loader.prompt(file.prompt.as_ref(), file.prompt_file.as_ref())?,
        model: loader.model(file.script.as_ref(), file.model.as_ref())?,
        policy: loader.policy(file.policy.as_ref())?,
        tools: file.tools.map(|tools| tools.into_iter().map(|tool| named(source, &tool)).collect()),
        deferral: file.deferred.as_ref().map(|deferred| deferral(source, deferred)).transpose()?,
        manifests,
        commands: crate::policy_folder::texts(&folder.join("commands"))?,
        skills,
        workspace: match file.workspace.as_ref().map(|w| (w.get_ref().as_str(), w)) {
            None | Some(("in-place", _)) => WorkspaceMode::InPlace,
            Some(("copy", _)) => WorkspaceMode::Copy,
            Some((other, at)) => return Err(one_of(source, at, "workspace", other, &["copy", "in-place"]).into()),
        },
        control_files,
        protected,
        on_ask: match file.on_ask.as_ref().map(|o| (o.get_ref().as_str(), o)) {
            None => None,
            Some(("prompt", _)) => Some(OnAsk::Prompt),
            Some(("pause", _)) => Some(OnAsk::Pause),
            Some(("deny", _)) => Some(OnAsk::Deny),
            Some((other, at)) => return Err(one_of(source, at, "on_ask", other, &["prompt", "pause", "deny"]).into()),
        },
        stop_on: file.stop_on,
        env: loader.env(file.env)?,
        secrets: loader.secrets(file.secrets)?,
        identity: Identity(file.identity),
        budget: budget(source, file.budget)?,
        price: file.price.as_ref().map(|price| sound(source, price)).transpose()?,
        verify,
        confinement_required: match file.sandbox.as_ref().map(|s| (s.get_ref().as_str(), s)) {
            None => false,
            Some(("required", _)) => true,
            Some((other, at)) => return Err(one_of(source, at, "sandbox", other, &["required"]).into()),
        },
        instructions: loader.instructions(file.instructions)?,
        context: loader.context(file.context.as_ref())?,
    })
}

/// The instruction files that are read where a task names none.
fn instruction_files() -> Vec<String> {
    vec!["AGENTS.md".to_owned()]
}

fn budget(source: Source<'_>, written: Option<Spanned<Budget>>) -> Result<Budget, FileError> {
    let Some(written) = written else { return Ok(Budget::default()) };
    if written.get_ref().usd.is_some_and(|usd| !is_amount(usd)) {
        return Err(source.error(written.span().start, "`usd` of `[budget]` is an amount of dollars, not below zero"));
    }
    Ok(written.into_inner())
}

/// What steers the session in the folder, as it is written there.
fn control_files(file: &TaskFile) -> Vec<PathBuf> {
    let played = file.model.as_ref().and_then(|model| model.get_ref().strip_prefix("replay:"));
    let named = file.script.iter().chain(&file.policy).map(|path| path.get_ref().as_str()).chain(played);
    std::iter::once(PathBuf::from(TASK_FILE)).chain(named.map(plain)).collect()
}

/// A path as it was written, without `./`.
fn plain(written: &str) -> PathBuf {
    Path::new(written).components().filter(|part| *part != Component::CurDir).collect()
}

fn named(source: Source<'_>, tool: &Spanned<String>) -> NamedTool {
    let line = source.line(tool.span().start);
    NamedTool { name: tool.get_ref().clone(), file: source.file.to_owned(), line }
}

fn deferral(source: Source<'_>, written: &Spanned<Value>) -> Result<Deferral, FileError> {
    let at = written.span().start;
    let wrong = || source.error(at, "`deferred` is `true`, `false`, or a list of names of tools");
    let (file, line) = (source.file.to_owned(), source.line(at));
    match written.get_ref() {
        Value::Bool(true) => Ok(Deferral::Own),
        Value::Bool(false) => Ok(Deferral::Never),
        Value::Array(names) => {
            let named = |name: &Value| {
                let name = name.as_str().ok_or_else(wrong)?.to_owned();
                Ok(NamedTool { name, file: file.clone(), line })
            };
            Ok(Deferral::Named(names.iter().map(named).collect::<Result<_, FileError>>()?))
        }
        _ => Err(wrong()),
    }
}

fn one_of(source: Source<'_>, at: &Spanned<String>, key: &str, word: &str, known: &[&str]) -> FileError {
    let message = format!("`{key} = \"{word}\"` is none of {}", known.join(", "));
    source.unknown(at.span().start, message, word, known.iter().copied())
}

/// Reads the files that a task names, relative to its folder.
struct Loader<'a> {
    folder: &'a Path,
    source: Source<'a>,
}

impl Loader<'_> {
    fn missing(&self, key: &str, named: &Spanned<String>, error: &HarnessError) -> HarnessError {
        let reason = match error {
            HarnessError::Unreadable { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        let message = format!("`{key} = \"{}\"`: {reason}", named.get_ref());
        self.source.error(named.span().start, message).into()
    }

    fn read(&self, key: &str, named: &Spanned<String>) -> Result<(PathBuf, String), HarnessError> {
        let path = self.folder.join(named.get_ref());
        let text = read(&path).map_err(|error| self.missing(key, named, &error))?;
        Ok((path, text))
    }

    fn prompt(&self, prompt: Option<&Spanned<String>>, file: Option<&Spanned<String>>) -> Result<String, HarnessError> {
        let text = match (prompt, file) {
            (Some(prompt), None) => prompt.get_ref().clone(),
            (None, Some(named)) => self.read("prompt_file", named)?.1,
            (Some(_), Some(named)) => {
                let message = "give `prompt` or `prompt_file`, not both";
                return Err(self.source.error(named.span().start, message).into());
            }
            (None, None) => return Err(self.source.error(0, "the task has no `prompt` (or `prompt_file`)").into()),
        };
        if text.trim().is_empty() {
            return Err(self.source.error(prompt.map_or(0, |p| p.span().start), "the prompt is empty").into());
        }
        Ok(text)
    }

    fn env(&self, env: BTreeMap<Spanned<String>, Spanned<String>>) -> Result<BTreeMap<String, String>, HarnessError> {
        for (name, value) in &env {
            if !is_variable(name.get_ref()) || STEERING.contains(&name.get_ref().as_str()) {
                let message = format!("`[env]` can not set `{}`", name.get_ref());
                return Err(self.source.error(name.span().start, message).into());
            }
            if !secrets_named(value.get_ref()).is_empty() {
                let message = "every program would have a secret of `[env]`: name it in `secrets`, for the command \
                               lines that need it, or in the `env` of the tool that does";
                return Err(self.source.error(value.span().start, message).into());
            }
        }
        Ok(env.into_iter().map(|(name, value)| (name.into_inner(), value.into_inner())).collect())
    }

    fn secrets(&self, secrets: Vec<Spanned<String>>) -> Result<Vec<String>, HarnessError> {
        if let Some(wrong) = secrets.iter().find(|name| !is_secret_name(name.get_ref())) {
            let message = format!("`{}` is no name of a secret: use letters, digits and `_`", wrong.get_ref());
            return Err(self.source.error(wrong.span().start, message).into());
        }
        Ok(secrets.into_iter().map(Spanned::into_inner).collect())
    }

    fn model(
        &self,
        script: Option<&Spanned<String>>,
        model: Option<&Spanned<String>>,
    ) -> Result<Option<String>, HarnessError> {
        match (script, model) {
            (Some(named), None) => {
                // Read now so that a missing script is an error of the task; its content is read when the session begins.
                self.read("script", named)?;
                Ok(Some(format!("script:{}", named.get_ref())))
            }
            (None, model) => Ok(model.map(|model| model.get_ref().clone())),
            (Some(_), Some(model)) => {
                Err(self.source.error(model.span().start, "give `script` or `model`, not both").into())
            }
        }
    }

    fn policy(&self, named: Option<&Spanned<String>>) -> Result<Vec<PolicySource>, HarnessError> {
        let Some(named) = named else { return Ok(Vec::new()) };
        let (path, text) = self.read("policy", named)?;
        // The folder was typed by the person, so its policy counts as trusted for this session.
        let file = path.display().to_string();
        Ok(vec![PolicySource { layer: Layer::Project, file, text, only_tightens: false }])
    }

    fn manifests(&self) -> Result<Vec<Manifest>, HarnessError> {
        let mut manifests = Vec::new();
        for path in crate::policy_folder::toml_files(&self.folder.join("tools"))? {
            let text = read(&path)?;
            let shown = path.display().to_string();
            let source = Source { file: &shown, text: &text };
            let manifest = Manifest::load(source)?;
            if path.file_stem().is_none_or(|stem| stem != manifest.name.as_str()) {
                let message = format!("the file is called otherwise than its tool `{}`", manifest.name);
                return Err(source.error(0, message).into());
            }
            if manifest.argv.is_none() {
                return Err(source.error(0, format!("tool `{}` has no `argv`: nothing to run", manifest.name)).into());
            }
            manifests.push(manifest);
        }
        Ok(manifests)
    }

    fn skill(&self, named: &Spanned<String>) -> Result<Skill, HarnessError> {
        let folder = self.folder.join(named.get_ref());
        let path = folder.join("SKILL.md");
        let text = read(&path).map_err(|error| self.missing("skills", named, &error))?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        checkrein_context::parse_skill(&path.display().to_string(), &name, &text)
            .map_err(|error| HarnessError::Task(error.to_string()))
    }

    fn instructions(&self, names: Option<Vec<Spanned<String>>>) -> Result<Vec<String>, HarnessError> {
        let Some(names) = names else { return Ok(instruction_files()) };
        let plain = |name: &Spanned<String>| !name.get_ref().is_empty() && !name.get_ref().contains(['/', '\0']);
        if let Some(wrong) = names.iter().find(|name| !plain(name)) {
            let message = format!("`instructions` takes names of files, and {:?} is none", wrong.get_ref());
            return Err(self.source.error(wrong.span().start, message).into());
        }
        Ok(names.into_iter().map(Spanned::into_inner).collect())
    }

    fn context(&self, table: Option<&Spanned<BTreeMap<String, Value>>>) -> Result<(String, Value), HarnessError> {
        let Some(table) = table else {
            return Ok(("keep_everything".to_owned(), Value::Object(Map::new())));
        };
        let at = table.span().start;
        let mut numbers: Map<String, Value> = table.get_ref().clone().into_iter().collect();
        let Some(Value::String(name)) = numbers.remove("policy") else {
            return Err(self.source.error(at, "`[context]` needs `policy`, the name of a context policy").into());
        };
        let written = Value::Object(numbers.clone());
        if by_window(&name, &written) {
            // Any number will do here: how many it is follows from the model.
            numbers.insert("tokens".to_owned(), Value::from(u32::MAX));
        }
        if let Err(error) = checkrein_context::policy(&name, &Value::Object(numbers)) {
            return Err(self.source.error(at, format!("`[context]`: {error}")).into());
        }
        Ok((name, written))
    }
}

/// Whether a context policy leaves its room to the model's window: `compact` without `tokens`.
pub(crate) fn by_window(name: &str, numbers: &Value) -> bool {
    name == "compact" && numbers.get("tokens").is_none()
}

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> HarnessError {
    HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

pub(crate) fn read(path: &Path) -> Result<String, HarnessError> {
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}
