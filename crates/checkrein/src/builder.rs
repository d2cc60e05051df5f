//! A harness built in code: what a host has to say, and safe defaults for the rest.

use std::path::PathBuf;
use std::sync::Arc;

use checkrein_contract::{ApprovalId, Layer, Outcome, Place, PolicySource, Provider};
use checkrein_gate::{AnyTool, Guard, Hook};
use checkrein_journal::EventStore;
use checkrein_policy::{OwnFolders, Policy, Variables, floor};

use crate::approvals::{self, Listed, Word};
use crate::catalogue::Catalogue;
use crate::deferral::Deferral;
use crate::policies::{PolicyFiles, check_tool_names, names};
use crate::secrets::redactor_of;
use crate::setup::{Extensions, Front, Harness, HostModel, RunOptions, open_journal};
use crate::task::{Task, project_policy};
use crate::{HarnessError, StateFolder, home};

/// How the host's own policy is named in traces and messages.
const POLICY_FILE: &str = "policy.toml";

/// Builds a [`Harness`]; see [`Harness::builder`].
#[must_use]
pub struct HarnessBuilder {
    state: PathBuf,
    project: Option<PathBuf>,
    home: Option<PathBuf>,
    policies: Vec<String>,
    model: Option<String>,
    environment: Vec<(String, String)>,
    launcher: Option<PathBuf>,
    store: Option<Arc<dyn EventStore>>,
    models: Catalogue,
    extensions: Extensions,
}

impl Harness {
    /// A harness built in code. `state` is the folder of the journal, made where it is not there; give the same one again to
    /// take sessions up again.
    ///
    /// What is not said is safe: sessions have the host's own tools and none of those that ship, they work in an empty folder,
    /// what no rule speaks of waits for a person's yes, no program runs unconfined without one, and every budget is on.
    pub fn builder(state: impl Into<PathBuf>) -> HarnessBuilder {
        HarnessBuilder {
            state: state.into(),
            project: None,
            home: None,
            policies: Vec::new(),
            model: None,
            environment: Vec::new(),
            launcher: None,
            store: None,
            models: Catalogue::shipped(),
            extensions: Extensions { shipped: Some(Vec::new()), ..Extensions::default() },
        }
    }

    /// Begins a session and drives it until it stops. Where it needs a person it stops as `needs_approval` or `needs_input`:
    /// [`Harness::answer`] it, then [`Harness::resume`] it, also in another process. To watch it, or to answer while it runs,
    /// take [`Harness::begin`].
    ///
    /// # Errors
    /// [`HarnessError`]. A refused or failed call is none of these: the model is told, and the session goes on.
    pub async fn run(&self, task: impl Into<Task>) -> Result<Outcome, HarnessError> {
        let mut task = task.into();
        if task.folder.is_none() && task.policy.is_empty() {
            task.policy = project_policy(&self.folder)?;
        }
        self.begin(&task, &RunOptions::default(), Front::default())?.drive().await
    }

    /// What waits for a person in all sessions of this harness, and what was answered, oldest first.
    ///
    /// # Errors
    /// [`HarnessError`] when a journal can not be read.
    pub fn approvals(&self) -> Result<Vec<Listed>, HarnessError> {
        approvals::list(&*self.store, self.machine().clock(false).now_ms())
    }

    /// Records a person's answer to a question. The session goes on when it is resumed.
    ///
    /// # Errors
    /// [`HarnessError::Approval`] with the code that says why it does not count.
    pub fn answer(&self, id: &ApprovalId, person: &str, word: &Word) -> Result<Listed, HarnessError> {
        let now = self.machine().clock(false).now_ms();
        // A program has the whole id; a beginning of it is what people type.
        if approvals::find(&*self.store, id.as_str(), now)?.request().id != *id {
            return Err(HarnessError::NotFound(format!("there is no approval request `{id}`")));
        }
        approvals::answer(&*self.store, &redactor_of(&self.host())?, id.as_str(), None, person, word, now)
    }
}

impl HarnessBuilder {
    /// Sessions work in this folder. Without it they have an empty one.
    pub fn project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.project = Some(folder.into());
        self
    }

    /// A tool of the host: [`tool`](crate::tool), or [`Typed`](crate::gate::Typed) around a type of its own.
    pub fn tool(mut self, tool: impl AnyTool + 'static) -> Self {
        self.extensions.tools.push(Arc::new(tool));
        self
    }

    /// Tools that ship, by name, such as `read` and `bash`.
    pub fn shipped<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.extensions.shipped.get_or_insert_default().extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Which tools are only named to the model until it looks them up. Without it, the host's own where describing all of them
    /// in every request would be dear.
    pub fn deferral(mut self, deferral: Deferral) -> Self {
        self.extensions.deferral = deferral;
        self
    }

    /// The host's policy (TOML). It stands above whatever a project brings along. Without one the default holds: look freely,
    /// ask before anything else. Said again, it is one more policy beside those before, and the strictest rule wins.
    pub fn policy(mut self, toml: impl Into<String>) -> Self {
        self.policies.push(toml.into());
        self
    }

    /// The model, by name: `anthropic:NAME`, `openai:NAME`, `gemini:NAME`, `compatible:URL#NAME`, `script:FILE`, `replay:FILE`.
    /// Its key is looked for in [`HarnessBuilder::environment`], a file that is not absolute in the project.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// A program that prints the key of these models (`anthropic`, `openai`, `gemini`, `compatible:URL`), where the environment
    /// says none.
    pub fn key_command<'a>(mut self, models: &str, argv: impl IntoIterator<Item = &'a str>) -> Self {
        self.extensions.keys = self.extensions.keys.with(models, argv.into_iter().map(str::to_owned).collect());
        self
    }

    /// A model of the host's own, instead of one that is named: a scripted one in tests.
    pub fn provider(mut self, provider: impl Provider + 'static) -> Self {
        self.extensions.provider = Some(Arc::new(provider));
        self
    }

    /// A hook, after those that are there.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.extensions.hooks.push(Arc::new(hook));
        self
    }

    /// A guard, beside those that ship.
    pub fn guard(mut self, guard: impl Guard + 'static) -> Self {
        self.extensions.guards.push(Arc::new(guard));
        self
    }

    /// The host's environment, most often `std::env::vars()`: keys and secrets are found in it, and programs get a small part
    /// of it. Without it there are none.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// The person's home folder, which policies call `{home}`; else the environment's `HOME`.
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// This very program, where it calls [`launch_if_asked`](crate::launch_if_asked) first of all: what is allowed to run is
    /// then confined. Without it each program is asked about.
    pub fn launcher(mut self, program: impl Into<PathBuf>) -> Self {
        self.launcher = Some(program.into());
        self
    }

    /// Another journal than the one in the state folder.
    pub fn store(mut self, store: Arc<dyn EventStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// What is known of models: windows, longest replies, prices. Without it, what ships.
    pub fn models(mut self, models: Catalogue) -> Self {
        self.models = models;
        self
    }

    /// Builds it. What is wrong with policy, tools or model is found here.
    ///
    /// # Errors
    /// [`HarnessError`].
    pub fn build(self) -> Result<Harness, HarnessError> {
        let home = StateFolder::open(&self.state)?;
        let folder = match self.project {
            Some(folder) if folder.is_dir() => folder,
            Some(folder) => {
                return Err(HarnessError::Unreadable { path: folder, reason: "it is no folder".to_owned() });
            }
            None => {
                let folder = home.path().join("empty");
                let fail =
                    |error: std::io::Error| HarnessError::State { path: folder.clone(), reason: error.to_string() };
                home::make_private(&folder).map_err(fail)?;
                folder
            }
        };
        let of_environment =
            || self.environment.iter().find(|(name, _)| name == "HOME").map(|(_, value)| PathBuf::from(value));
        let person_home = self.home.clone().or_else(of_environment).unwrap_or_else(|| home.path().to_path_buf());
        let mut extensions = self.extensions;
        if let (Some(own), Some(name)) = (&extensions.provider, &self.model) {
            let message = format!("the model is both `{name}` and the host's own, `{}`: say one of them", own.model());
            return Err(HarnessError::Task(message));
        }
        if let Some(name) = &self.model {
            extensions.model = Some(HostModel::open(name, &folder, &self.environment, &extensions.keys)?);
        }
        let source = |(number, text): (usize, String)| {
            let file = if number == 0 { POLICY_FILE.to_owned() } else { format!("policy-{}.toml", number + 1) };
            PolicySource { layer: Layer::Managed, file, text, only_tightens: false }
        };
        let sources = self.policies.into_iter().enumerate().map(source).collect();
        let harness = Harness {
            store: match self.store {
                Some(store) => store,
                None => open_journal(&home)?,
            },
            policies: PolicyFiles {
                sources,
                own: OwnFolders { config: None, state: Some(names(&self.state)) },
                ..PolicyFiles::default()
            },
            home,
            launcher: self.launcher,
            environment: self.environment,
            person_home,
            folder,
            models: self.models,
            extensions,
        };
        harness.check()?;
        Ok(harness)
    }
}

impl Harness {
    /// Whether tools can be registered together and the policy can be meant for them: every mistake before the first session.
    fn check(&self) -> Result<(), HarnessError> {
        let task = Task::new("");
        let registry = self.registry(&task)?;
        self.offer(&task, &registry)?;
        let folder = self.folder.display().to_string();
        let home = self.person_home.display().to_string();
        let place = Place { root: folder.clone(), cwd: folder, home, ..Place::default() };
        let variables = Variables::new(&place, &checkrein_contract::Identity::default());
        let state = self.home.path().display().to_string();
        let variables = variables.with("state", &state).with("spill", &state);
        let sources: Vec<PolicySource> =
            std::iter::once(floor()).chain(self.policies.sources.iter().cloned()).collect();
        let policy = Policy::load(&sources, &variables)?;
        let known: Vec<String> = registry.names().map(str::to_owned).collect();
        check_tool_names(&policy, Layer::Managed, &known)
    }
}
