//! The backend that holds: each program runs in a view made from the grant of its call, without network, without a way
//! to anybody outside, and is gone with all that it started when the call is over.

use std::ffi::OsStr;
use std::future::pending;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use checkrein_contract::BoxFuture;
use checkrein_gate::{Approved, CommandSpec, Denial, Enforcement, Grant, Redactor, RunOutput, Sandbox, SandboxFailure};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::after::After;
use crate::cgroup::Cgroups;
use crate::egress::{self, Told};
use crate::environment::{self, Environment};
use crate::host::{Host, shown};
use crate::launcher::WORD;
use crate::plan::{Layer, Limits, Node, NodeKind, Plan, Report, innermost};
use crate::probe::{Found, probe};
use crate::reports::Reports;
use crate::running::{fits, to_its_end, unstarted};
use crate::view::{Given, View};

/// What the host brings.
pub struct Settings {
    /// This very program, or another that calls [`launch_if_asked`](crate::launch_if_asked) first of all.
    pub launcher: PathBuf,
    /// What programs find in their environment, and secrets for those that name them.
    pub env: Environment,
    /// The person's home, whose things are not given.
    pub home: PathBuf,
    /// Layers to leave out, to see what the others hold. None, in earnest.
    pub without: Vec<Layer>,
}

/// Runs programs confined to what their call was granted. Needs a tokio runtime with I/O and time.
pub struct Confined {
    launcher: PathBuf,
    pub(crate) host: Host,
    found: Found,
    cgroups: Cgroups,
    limits: Option<Limits>,
}

impl Confined {
    /// Looks at the machine, and tries which layers hold here.
    pub fn new(settings: Settings) -> Self {
        let host = Host::look(settings.env, &settings.home);
        let found = probe(&settings.launcher, &host, &settings.without);
        let cgroups = Cgroups::look();
        Self { launcher: settings.launcher, host, found, cgroups, limits: None }
    }

    /// With these limits in the place of the usual ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// What is limited for all processes of a call together; `None` where only each by itself is.
    pub fn limits_whole_calls(&self) -> Option<String> {
        self.cgroups.words()
    }

    /// What it is made of here.
    pub fn found(&self) -> &Found {
        &self.found
    }

    async fn execute(
        &self,
        approved: &Approved,
        mut spec: CommandSpec,
        cancel: &CancellationToken,
    ) -> Result<RunOutput, SandboxFailure> {
        if cancel.is_cancelled() {
            return Ok(RunOutput { cancelled: true, ..RunOutput::default() });
        }
        let not_started = |reason: String| SandboxFailure::NotStarted { reason };
        if let Some(broken) = &self.found.broken {
            return Err(not_started(broken.clone()));
        }
        fits(&spec.input)?;
        let secrets = self.host.env.fill(&mut spec.env)?;
        let mut env = environment::with(&self.host.env.plain, &spec.env);
        let program = locate(&mut spec, &env)?;
        let cwd = spec.cwd.canonicalize().map_err(|error| {
            not_started(format!("the working directory {} is no folder: {error}", spec.cwd.display()))
        })?;
        let mut layers = self.found.layers;
        let connects = approved.grant().connects();
        // Code that nobody has looked at may go where the rules let anybody go, and what it is refused is told by name.
        let way_out = (connects || approved.grant().runs_code()) && layers.network;
        if way_out {
            env = environment::with(&env, &egress::variables(approved.grant()));
        } else if connects {
            // Nothing here tells hosts apart, as `enforcement` says: a person said yes to it all the same.
            layers.network = false;
            layers.open_network = true;
        }
        let given = View::of(approved.grant(), &self.host, layers.namespaces).map_err(not_started)?;
        let Given { mut view, sockets, named, kept, repositories } = given;
        self.give_program(&mut view, &program);
        if spec.folder_given {
            self.give(&mut view, &cwd);
        }
        let temporary = if layers.namespaces { None } else { Some(temporary(&mut view, &mut env)?) };
        let argv = std::mem::take(&mut spec.argv);
        let seconds = spec.timeout_ms / 1_000;
        let plan = Plan {
            program: shown(&program),
            argv,
            cwd: shown(&cwd),
            env,
            input: std::mem::take(&mut spec.input),
            view,
            sockets,
            named,
            kept,
            repositories,
            limits: self.limits.unwrap_or_else(|| Limits::usual(seconds)),
            layers,
            way_out,
        };
        let output = self.carry_out(&plan, Some(approved.grant()), spec, &secrets, cancel).await;
        drop(temporary);
        output
    }

    /// A program that the host names may lie anywhere: it is given with its folder, where its parts are, unless that is
    /// the person's home or holds it.
    fn give_program(&self, view: &mut Vec<Node>, program: &Path) {
        if !is_given(view, program) {
            let folder = program.parent().filter(|folder| !self.host.home.starts_with(folder));
            self.give(view, folder.unwrap_or(program));
        }
    }

    /// Gives one more place to be read, but not the person's whole home.
    fn give(&self, view: &mut Vec<Node>, place: &Path) {
        if !is_given(view, place) && !self.host.home.starts_with(place) {
            view.push(Node { at: shown(place), kind: NodeKind::Read });
            view.sort_by(|a, b| a.at.cmp(&b.at));
        }
    }

    /// Has the launcher carry a plan out. Without a grant nobody goes out, whatever the plan says.
    pub(crate) async fn carry_out(
        &self,
        plan: &Plan,
        grant: Option<&Grant>,
        spec: CommandSpec,
        secrets: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<RunOutput, SandboxFailure> {
        let not_started =
            |what: &str, error: std::io::Error| SandboxFailure::NotStarted { reason: format!("{what}: {error}") };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(|e| not_started("no socket", e))?;
        let mut reports = Reports::over(ours).map_err(|e| not_started("no socket", e))?;
        let mut command = Command::new(&self.launcher);
        command.arg(WORD).env_clear().stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let child = command.spawn().map_err(|e| not_started("the launcher could not be started", e))?;
        // Before it is told what to start.
        let group = self.cgroups.begin(&plan.limits).map_err(|e| not_started("no control group", e))?;
        if let Some(pid) = child.id() {
            group.take(pid).map_err(|e| not_started("no control group", e))?;
        }
        let mut after = After::new(plan);
        // The command holds the other end of the socket, and would keep it open.
        drop(command);
        let told = Mutex::new(Told::default());
        let (mut output, reports) =
            tokio::join!(to_its_end(child, spec, secrets, cancel), listen(&mut reports, &mut after, grant, &told));
        let taken = after.finish();
        let out_of_memory = group.out_of_memory();
        drop(group);
        let outside = told.into_inner().unwrap_or_else(PoisonError::into_inner);
        (output.connected, output.denied) = (outside.connected, outside.denied);
        let told = settle(&mut output, plan, reports)?;
        output.denied.extend(taken);
        if out_of_memory {
            // Those who watch the program may have gone with it.
            output.exhausted = Some("memory".to_owned());
        }
        if !told && output.exhausted.is_none() && !output.timed_out && !output.cancelled {
            return Err(SandboxFailure::NotStarted { reason: "the launcher ended without a word".to_owned() });
        }
        if !told {
            output.signal = Some(KILLED);
        }
        output.denied.iter_mut().for_each(|denial| denial.target = secrets.text(&denial.target).into_owned());
        output.connected.iter_mut().for_each(|to| to.host = secrets.text(&to.host).into_owned());
        Ok(output)
    }
}

/// What the reports say of how it ended and what was refused; whether they say how it ended.
fn settle(output: &mut RunOutput, plan: &Plan, reports: Vec<Report>) -> Result<bool, SandboxFailure> {
    // How the launcher ended says nothing of the program.
    (output.exit, output.signal) = (None, None);
    let mut told = false;
    for report in reports {
        match report {
            Report::Ready { .. } | Report::WayOut => {}
            // Answered and noted already.
            Report::MayWrite { .. }
            | Report::First(_)
            | Report::Made { .. }
            | Report::Left { .. }
            | Report::Repository { .. } => {}
            Report::NotGiven { program } if is_program(Path::new(&program)) => {
                output.denied.push(Denial { kind: "read".to_owned(), target: program });
            }
            Report::NotGiven { .. } => {}
            Report::Denied { kind, target } => output.denied.push(Denial { kind, target }),
            Report::Exited(code) if !told => (told, output.exit) = (true, Some(code)),
            Report::Killed(signal) if !told => (told, output.signal) = (true, Some(signal)),
            Report::Exhausted(what) => output.exhausted = Some(what),
            Report::Exited(_) | Report::Killed(_) => {}
            Report::Failed { reason, .. } => return Err(SandboxFailure::NotStarted { reason }),
            Report::NotStarted { errno } => {
                let name = plan.argv.first().map_or("", String::as_str);
                let error = std::io::Error::from_raw_os_error(errno);
                return Err(unstarted(name, Some(Path::new(&plan.program)), &error));
            }
        }
    }
    Ok(told)
}

/// Gives the plan, hears all reports, answers what is asked, and serves the way out meanwhile.
async fn listen(
    reports: &mut Reports,
    after: &mut After<'_>,
    grant: Option<&Grant>,
    told: &Mutex<Told>,
) -> Vec<Report> {
    let mut all = Vec::new();
    if reports.give(after.plan()).await.is_err() {
        return all;
    }
    let mut serving = None;
    loop {
        let served = async {
            match serving.as_mut() {
                Some(serving) => serving.await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            report = reports.next() => match report {
                Some(Report::MayWrite { path }) => {
                    let yes = grant.is_some_and(|grant| !grant.is_kept_from_coming(&path));
                    if reports.answer(yes).await.is_err() {
                        return all;
                    }
                }
                Some(report) => all.extend(after.note(report)),
                None => return all,
            },
            _ = served => serving = None,
        }
        if let Some((listener, grant)) = reports.take_listener().zip(grant) {
            serving = Some(Box::pin(egress::serve(listener, grant, told)));
        }
    }
}

/// Whether a place can be read as the view is.
fn is_given(view: &[Node], place: &Path) -> bool {
    let kind = innermost(view, place).map(|node| &node.kind);
    matches!(kind, Some(NodeKind::Read | NodeKind::Write | NodeKind::Opened | NodeKind::Layered))
}

/// Whether a file there may be run by somebody.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The signal that nobody can ignore.
const KILLED: i32 = 9;

/// The program's file: named with a path from the working directory, else found on the search path.
fn locate(spec: &mut CommandSpec, env: &[(String, String)]) -> Result<PathBuf, SandboxFailure> {
    let Some(name) = spec.argv.first().cloned() else {
        return Err(SandboxFailure::NotStarted { reason: "no program was named".to_owned() });
    };
    let real = |path: PathBuf| path.canonicalize().ok().filter(|path| path.is_file());
    let missing = || SandboxFailure::NoProgram { program: name.clone() };
    if name.contains('/') {
        return real(spec.cwd.join(&name)).ok_or_else(missing);
    }
    let paths = env.iter().find(|(variable, _)| variable == "PATH").map_or("", |(_, value)| value.as_str());
    let executable = |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file();
    let found = std::env::split_paths(OsStr::new(paths)).map(|folder| folder.join(&name)).find(executable);
    // A program that looks at its own name is called by the name it was found under.
    found.ok_or_else(missing)
}

/// A folder for temporary files where none can begin empty in the place of the host's.
fn temporary(view: &mut Vec<Node>, env: &mut Vec<(String, String)>) -> Result<tempfile::TempDir, SandboxFailure> {
    let folder = tempfile::Builder::new()
        .prefix("checkrein-")
        .tempdir()
        .map_err(|error| SandboxFailure::NotStarted { reason: format!("no folder for temporary files: {error}") })?;
    let path = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned());
    env.retain(|(name, _)| name != "TMPDIR");
    env.push(("TMPDIR".to_owned(), shown(&path)));
    view.push(Node { at: shown(&path), kind: NodeKind::Write });
    Ok(folder)
}

impl Sandbox for Confined {
    fn enforcement(&self) -> Enforcement {
        Enforcement {
            confines: self.found.confines(),
            hides: self.found.has(Layer::Namespaces),
            hosts: self.found.has(Layer::Network),
            words: self.found.words(),
        }
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        command: CommandSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RunOutput, SandboxFailure>> {
        Box::pin(self.execute(approved, command, cancel))
    }
}
