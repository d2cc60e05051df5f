//! From a task to a session that can be driven, and from a journal back to one.

mod fork;
mod model;
mod moved;
mod prepare;
mod resume;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use checkrein_contract::{
    Budget, ContextPolicy, OnAsk, Place, PolicySource, Provider, SECRET_VARIABLE, SessionId, SessionOpened,
    secrets_named,
};
use checkrein_gate::{AnyTool, Clock, Gate, Guard, Hook, Redactor, Registry, Sandbox};
use checkrein_journal::{EventStore, SqliteStore};
use checkrein_policy::{Policy, Variables};
use checkrein_sandbox::{Confined, Environment, Settings};
use checkrein_session::tools::session_tool;
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::defaults;
use crate::deferral::Deferral;
use crate::driver::Session;
use crate::home::{FolderSpill, StateFolder};
use crate::keys::{KeyCommands, set_keys};
use crate::log::SessionLog;
use crate::machine::{Held, Machine, Programs, ThisMachine};
use crate::notify::Notify;
use crate::observer::{Asker, Observer, OnePerson, Unobserved};
use crate::policies::PolicyFiles;
use crate::policy_folder::models_of;
use crate::secrets::redactor_of;
use crate::task::{Task, WorkspaceMode};
use crate::{HarnessError, workspace};

pub use fork::{Fork, ForkOptions, ForkedWorkspace, Touch};
pub use model::HostModel;
pub(crate) use model::{kinds_of, project_of};
pub(crate) use moved::moved_to;
pub(crate) use prepare::Prepared;
pub use resume::ResumeOptions;
pub(crate) use resume::task_of;

/// Time between a copy and the session's beginning. Times of files lag behind the clock by up to a tick of the kernel (10 ms
/// at most), and as much is allowed for when they are compared; without a pause all that was copied would look changed.
const AFTER_COPY: Duration = Duration::from_millis(25);

/// What a front brings: folders, the environment, who watches and who is asked. Nothing else here reads either.
pub struct Harness {
    /// The state folder.
    pub home: StateFolder,
    /// The journal.
    pub store: Arc<dyn EventStore>,
    /// Policies of the machine and of the person.
    pub policies: PolicyFiles,
    /// This program, where it calls [`launch_if_asked`](crate::launch_if_asked) first of all: programs are then confined
    /// by starting it again. Without one nothing confines them, and each is asked about.
    pub launcher: Option<PathBuf>,
    /// The host's environment, from which programs get a small part.
    pub environment: Vec<(String, String)>,
    /// The person's home folder.
    pub person_home: PathBuf,
    /// The folder the person stands in.
    pub folder: PathBuf,
    /// What is known of models.
    pub models: Catalogue,
    /// What a host adds of its own.
    pub extensions: Extensions,
}

/// What a host adds to what ships. All of it is trusted code; what models propose is not.
#[derive(Clone, Default)]
pub struct Extensions {
    /// Tools, registered in every session beside those of the task.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// Which of the tools that ship a session has whose task names none; `None`: all of them.
    pub shipped: Option<Vec<String>>,
    /// Which tools are only named to the model until it looks them up, in a session whose task says nothing of it.
    pub deferral: Deferral,
    /// Hooks, in the order they run.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Guards, beside those that ship.
    pub guards: Vec<Arc<dyn Guard>>,
    /// Programs that print the keys of models.
    pub keys: KeyCommands,
    /// A model instead of the one that is named.
    pub provider: Option<Arc<dyn Provider>>,
    /// The model that the host named, for all sessions.
    pub model: Option<HostModel>,
    /// Who is told when a session waits.
    pub notify: Option<Notify>,
    /// A machine instead of the one that this process runs on.
    pub machine: Option<Arc<dyn Machine>>,
}

/// Opens the journal of a state folder.
///
/// # Errors
/// [`HarnessError::Journal`] when it can not be opened; the file is left as it is.
pub fn open_journal(home: &StateFolder) -> Result<Arc<dyn EventStore>, HarnessError> {
    Ok(Arc::new(SqliteStore::open(&home.journal())?))
}

/// Who watches, who is asked.
pub struct Front {
    /// Watches.
    pub observer: Box<dyn Observer>,
    /// Is asked; `None` when nobody is there.
    pub asker: Option<Box<dyn Asker>>,
}

impl Default for Front {
    /// Nobody watches and nobody is asked.
    fn default() -> Self {
        Self { observer: Box::new(Unobserved), asker: None }
    }
}

/// Settings of one run, given by a person; they count over the task's.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The model.
    pub model: Option<String>,
    /// A policy file instead of the task's.
    pub policy: Option<PathBuf>,
    /// What an *ask* does.
    pub on_ask: Option<OnAsk>,
    /// Programs may run unconfined.
    pub unconfined: bool,
    /// A cassette that is recorded: a file that is not there yet.
    pub record: Option<PathBuf>,
    /// A cassette that the model's answers are held against.
    pub verify: Option<PathBuf>,
    /// A cassette that is played serves what is nearest where a request is not recorded, and the session fails at its end.
    pub lenient: bool,
}

impl Harness {
    /// Begins a session. Every mistake of the task is found before the journal knows of it.
    ///
    /// # Errors
    /// [`HarnessError`].
    pub fn begin(&self, task: &Task, options: &RunOptions, front: Front) -> Result<Session, HarnessError> {
        let machine = self.machine();
        let session = machine.session_id();
        let source = self.source(task, options)?;
        let Prepared { mut opened, registry, policy, context, redactor, sandbox } =
            self.prepare(task, options, &session, source.model().to_owned())?;
        let provider = self.provider_of(source, task, options, &mut opened, &registry, &redactor)?;
        let taken = machine.take(&self.home, &session)?;
        machine.tidy(&self.home);
        self.make_workspace(task, &session)?;
        let clock = machine.clock(provider.virtual_time());
        let log = self.log(&clock, front.observer, opened, &redactor)?;
        Ok(session_of(Parts {
            home: self.home.clone(),
            machine,
            log,
            registry,
            policy,
            hooks: self.extensions.hooks.clone(),
            guards: self.guards(),
            sandbox,
            redactor,
            provider,
            context,
            clock,
            taken,
            asker: front.asker.map(OnePerson::new),
            notify: self.notify(),
        }))
    }

    /// What policies may name: where the session keeps its things, and what steers it.
    fn variables(&self, session: &SessionId, control: Vec<String>) -> Vec<(String, String)> {
        let spill = shown(self.home.spill(session).folder());
        let mut variables = vec![("spill".to_owned(), spill), ("state".to_owned(), shown(self.home.path()))];
        variables.extend(control.into_iter().enumerate().map(|(n, path)| (format!("control.{n}"), path)));
        variables
    }

    fn log(
        &self,
        clock: &Arc<dyn Clock>,
        observer: Box<dyn Observer>,
        opened: SessionOpened,
        redactor: &Redactor,
    ) -> Result<SessionLog, HarnessError> {
        SessionLog::begin(Arc::clone(&self.store), Arc::clone(clock), observer, opened, redactor.clone())
    }

    /// Who is told when a session waits, and where what that starts may be looked for.
    fn notify(&self) -> Option<Notify> {
        let path = self.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        self.extensions.notify.clone().map(|notify| Notify { path, ..notify })
    }

    fn guards(&self) -> Vec<Arc<dyn Guard>> {
        defaults::guards().into_iter().chain(self.extensions.guards.iter().cloned()).collect()
    }

    pub(crate) fn registry(&self, task: &Task) -> Result<Registry, HarnessError> {
        let models = models_of(self.policies.commands.iter().chain(&task.commands))?;
        let mut registry = defaults::registry(task, self.extensions.shipped.as_deref(), &models)?;
        for tool in &self.extensions.tools {
            let name = &tool.definition().name;
            // A call of that name would go to the session, whatever else is registered under it.
            if session_tool(name).is_some() {
                let message = format!("a tool `{name}` is a part of every session: give the host's another name");
                return Err(HarnessError::Task(message));
            }
            registry.add_any(Arc::clone(tool))?;
        }
        Ok(registry)
    }

    /// The host's environment for programs, which knows what no text may hold: its secrets, and the keys of models, whichever
    /// way they come.
    pub(crate) fn host(&self) -> Environment {
        let keys = self.extensions.keys.printed().into_iter().chain(set_keys(&self.environment));
        Environment::from(self.environment.clone()).hiding(keys)
    }

    /// What programs find in their environment. Every secret that the task names has to be there.
    fn environment(&self, task: &Task) -> Result<Environment, HarnessError> {
        let environment = self.host().with(&task.env);
        let of_tools = task.manifests.iter().flat_map(|manifest| manifest.env.values());
        let named = of_tools.flat_map(|value| secrets_named(value)).chain(task.secrets.iter().cloned());
        for name in named {
            if !environment.secrets().any(|known| known == name) {
                let message = format!("the task needs the secret `{name}`: set {SECRET_VARIABLE}{name}");
                return Err(HarnessError::Task(message));
            }
        }
        Ok(environment)
    }

    /// What takes secrets out of texts, and where programs run.
    pub(crate) fn around(&self, task: &Task, unconfined: bool) -> Result<(Redactor, Arc<dyn Sandbox>), HarnessError> {
        let environment = self.environment(task)?;
        Ok((redactor_of(&environment)?, self.sandbox(environment, unconfined)))
    }

    fn sandbox(&self, environment: Environment, unconfined: bool) -> Arc<dyn Sandbox> {
        self.machine().sandbox(match self.launcher.as_ref().filter(|_| !unconfined) {
            Some(launcher) => Programs::Confined(self.confined_by(launcher, environment)),
            None => Programs::Unconfined(environment),
        })
    }

    /// What confines programs here, tried just now; `None` without a launcher.
    pub fn confined(&self) -> Option<Confined> {
        let launcher = self.launcher.as_ref()?;
        Some(Confined::new(self.confined_by(launcher, self.environment.clone().into())))
    }

    fn confined_by(&self, launcher: &Path, env: Environment) -> Settings {
        let home = self.person_home.clone();
        Settings { launcher: launcher.to_path_buf(), env, home, without: Vec::new() }
    }

    pub(crate) fn machine(&self) -> Arc<dyn Machine> {
        self.extensions.machine.clone().unwrap_or_else(|| Arc::new(ThisMachine))
    }

    fn place(&self, task: &Task, session: &SessionId) -> Result<Place, HarnessError> {
        let root = match (task.workspace, &task.folder) {
            (WorkspaceMode::Copy, _) => self.home.workspace(session),
            (WorkspaceMode::InPlace, folder) => {
                let folder = folder.as_ref().unwrap_or(&self.folder);
                folder
                    .canonicalize()
                    .map_err(|error| HarnessError::Workspace { path: folder.clone(), reason: error.to_string() })?
            }
        };
        let root = shown(&root);
        Ok(Place { cwd: root.clone(), root, home: shown(&self.person_home), ..Place::default() })
    }

    /// What steers the session and lies where it works, absolute. A copy has none of it.
    fn control(&self, task: &Task) -> Vec<String> {
        match (task.workspace, &task.folder) {
            (WorkspaceMode::InPlace, Some(folder)) => {
                let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
                task.protected.iter().map(|path| shown(&folder.join(path))).collect()
            }
            (WorkspaceMode::InPlace, None) | (WorkspaceMode::Copy, _) => Vec::new(),
        }
    }

    fn make_workspace(&self, task: &Task, session: &SessionId) -> Result<(), HarnessError> {
        match (task.workspace, &task.folder) {
            (WorkspaceMode::Copy, Some(folder)) => {
                workspace::copy(folder, &self.home.workspace(session), &task.control_files)?;
                // What was copied is older than the session also by the clock of the file system, which goes in steps.
                std::thread::sleep(AFTER_COPY);
                Ok(())
            }
            (WorkspaceMode::Copy, None) | (WorkspaceMode::InPlace, _) => Ok(()),
        }
    }
}

/// What a session is put together from: its journal, and what stands around it in this process.
pub(crate) struct Parts {
    pub(crate) home: StateFolder,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) log: SessionLog,
    pub(crate) registry: Registry,
    pub(crate) policy: Arc<Policy>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) guards: Vec<Arc<dyn Guard>>,
    pub(crate) sandbox: Arc<dyn Sandbox>,
    pub(crate) redactor: Redactor,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) context: Box<dyn ContextPolicy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) taken: Held,
    pub(crate) asker: Option<OnePerson>,
    pub(crate) notify: Option<Notify>,
}

/// Puts a session together: one that begins, one that is taken up again, a sub-session.
pub(crate) fn session_of(parts: Parts) -> Session {
    let opened = parts.log.state.opened();
    let spill = FolderSpill::of(&opened.variables).unwrap_or_else(|| parts.home.spill(&opened.session));
    let gate = Gate {
        registry: parts.registry,
        policy: parts.policy,
        hooks: parts.hooks,
        guards: parts.guards,
        facts: parts.machine.facts(parts.log.began_ms()),
        sandbox: parts.sandbox,
        spill: parts.machine.spill(spill.folder()),
        redactor: parts.redactor,
    };
    Session {
        home: parts.home,
        machine: parts.machine,
        log: parts.log,
        gate,
        provider: parts.provider,
        context: parts.context,
        clock: parts.clock,
        spill,
        asker: parts.asker,
        notify: parts.notify,
        cancel: CancellationToken::new(),
        retry: None,
        _taken: parts.taken,
        checker: checker(),
        reader: reader(),
    }
}

/// The host-only tool that runs checks.
pub(crate) fn checker() -> String {
    checkrein_tools::verify(checkrein_policy::Models::built_in()).definition().name.clone()
}

/// The host-only tool that reads instruction files.
pub(crate) fn reader() -> String {
    checkrein_tools::instructions().definition().name.clone()
}

/// The context policy that a session began with.
pub(crate) fn context_of(opened: &SessionOpened) -> Result<Box<dyn ContextPolicy>, HarnessError> {
    let name = opened.context.get("policy").and_then(|name| name.as_str()).unwrap_or_default();
    let numbers = opened.context.get("parameters").cloned().unwrap_or_default();
    checkrein_context::policy(name, &numbers).map_err(|error| HarnessError::Task(error.to_string()))
}

/// Loads recorded or collected policy files for one session.
pub(crate) fn load_policy(
    sources: &[PolicySource],
    place: &Place,
    identity: &checkrein_contract::Identity,
    variables: &[(String, String)],
) -> Result<Arc<Policy>, HarnessError> {
    let mut values = Variables::new(place, identity);
    for (name, value) in variables {
        values = values.with(name, value);
    }
    Ok(Arc::new(Policy::load(sources, &values)?))
}

/// A limit of money over what nobody knows the price of holds nothing.
fn money_can_be_held(opened: &SessionOpened, budget: &Budget) -> Result<(), HarnessError> {
    match (budget.usd, opened.price()) {
        (Some(_), None) => Err(HarnessError::Task(format!(
            "the budget has a limit in dollars, and nobody knows what `{}` costs: name it in `[price]` of task.toml or in \
             your models.toml (input and output, US dollars per million tokens), or leave `usd` out",
            opened.model
        ))),
        _ => Ok(()),
    }
}

/// Loads the policy that is in force in a session.
pub(crate) fn policy_of(opened: &SessionOpened) -> Result<Arc<Policy>, HarnessError> {
    load_policy(&opened.policy, &opened.place, &opened.identity, &opened.variables)
}

fn system(task: &Task) -> String {
    let mut text = defaults::INSTRUCTIONS.to_owned();
    if !task.secrets.is_empty() {
        let names: Vec<String> = task.secrets.iter().map(|name| format!("${{secret:{name}}}")).collect();
        text.push_str("\nSecrets of this task, each filled in for the `bash` call that names it (in double quotes): ");
        text.push_str(&names.join(", "));
        text.push('.');
    }
    let menu = checkrein_context::menu(&task.skills).text;
    if menu.is_empty() { text } else { format!("{text}\n\n{menu}") }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
