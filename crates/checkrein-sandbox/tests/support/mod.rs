//! A gate around one tool that runs whatever program it is told to, so that every run here went through the stages.

use std::path::PathBuf;
use std::sync::Arc;

use checkrein_contract::{BoxFuture, Code, Effect, Facts, Finished, FinishedAs, Foreseen, Place, Run};
use checkrein_gate::{Approved, CommandSpec, Failure, Registry, Rendered, RunContext, Tool};
use checkrein_sandbox::Unconfined;
use checkrein_testkit::SpillFolder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Every program may run: what is tested here is how, not whether.
const POLICY: &str = r#"
version = 1
[[rule]]
id = "any-program"
decision = "allow"
reason = "this is a test"
effect = "run"
program = ["*", "./*", "/*/*", "/*/*/*", "/*/*/*/*", "/*/*/*/*/*", "/*/*/*/*/*/*"]
"#;

/// What to run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    argv: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default = "ten_minutes")]
    timeout_ms: u64,
    #[serde(default = "sixty_four")]
    keep_bytes: usize,
}

fn ten_minutes() -> u64 {
    600_000
}

fn sixty_four() -> usize {
    64
}

/// How it ended, with the streams as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ended {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) cancelled: bool,
    pub(crate) stdout: String,
    pub(crate) stdout_total: u64,
    pub(crate) stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spilled: Option<PathBuf>,
}

struct RunProgram;

impl Tool for RunProgram {
    type Input = Program;
    type Output = Ended;

    const NAME: &'static str = "run_program";
    const DESCRIPTION: &'static str = "Runs a program.";

    fn timeout_ms(&self, _input: &Program) -> u64 {
        600_000
    }

    fn runs_programs(&self, _input: &Self::Input) -> bool {
        true
    }

    fn effects(&self, input: &Program, _place: &Place, _facts: &Facts) -> Foreseen {
        let program = input.argv.first().cloned().unwrap_or_default();
        Foreseen::of(vec![Effect::Run(Run { program, argv: input.argv.clone(), ..Run::default() })])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Program,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Ended, Failure>> {
        Box::pin(async move {
            let spec = CommandSpec {
                argv: input.argv,
                cwd: input.cwd.unwrap_or_else(|| context.place.cwd.clone()).into(),
                env: vec![("ADDED".to_owned(), "by the tool".to_owned())],
                timeout_ms: input.timeout_ms,
                keep_bytes: input.keep_bytes,
                spill: Some((context.spill.path("out"), context.spill.path("err"))),
            };
            let ran = context.sandbox.run(approved, spec, context.cancel).await;
            let ran = ran.map_err(|error| Failure::new(Code::SandboxUnavailable, error.to_string()))?;
            Ok(Ended {
                exit: ran.exit,
                signal: ran.signal,
                timed_out: ran.timed_out,
                cancelled: ran.cancelled,
                stdout: String::from_utf8(ran.stdout.tail).unwrap(),
                stdout_total: ran.stdout.total,
                stderr: String::from_utf8(ran.stderr.tail).unwrap(),
                spilled: ran.stdout.spilled,
            })
        })
    }

    fn render(&self, _input: &Program, output: &Ended) -> Rendered {
        Rendered::whole(serde_json::to_string(output).unwrap())
    }

    fn examples() -> Vec<Value> {
        vec![json!({"argv": ["true"]})]
    }
}

/// A folder to work in, and a gate whose only tool runs programs there.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    world: checkrein_testkit::World,
    pub(crate) cancel: CancellationToken,
}

impl World {
    /// A world whose host has these variables.
    pub(crate) fn with_env(env: &[(&str, &str)]) -> Self {
        // Not below /tmp, wherever this repository is: the floor lets that be written.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = folder.path().canonicalize().unwrap().to_str().unwrap().to_owned();
        let mut registry = Registry::new();
        registry.add(RunProgram).unwrap();
        let place = Place { root: root.clone(), cwd: root, home: String::new(), ..Place::default() };
        let mut world = checkrein_testkit::World::new(registry, POLICY, place);
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        world.gate.sandbox = Arc::new(Unconfined::new(env));
        world.gate.spill = Arc::new(SpillFolder(folder.path().join("spill")));
        world.unconfined_allowed = true;
        let cancel = world.cancel.clone();
        Self { folder, world, cancel }
    }

    /// A world with the usual path.
    pub(crate) fn new() -> Self {
        Self::with_env(&[("PATH", "/usr/local/bin:/usr/bin:/bin")])
    }

    /// Runs one call.
    pub(crate) async fn call(&mut self, args: Value) -> Finished {
        self.world.call("run_program", &args.to_string()).await
    }

    /// Runs a program that starts.
    pub(crate) async fn run(&mut self, args: Value) -> Ended {
        let finished = self.call(args).await;
        assert_eq!(finished.ended, FinishedAs::Ok, "{}", finished.text);
        serde_json::from_str(&finished.text).unwrap()
    }

    /// Runs a line of bash.
    pub(crate) async fn bash(&mut self, line: &str) -> Ended {
        self.run(json!({"argv": ["bash", "-c", line]})).await
    }

    /// Runs a line of bash under a limit that is long enough for its first output.
    pub(crate) async fn bash_until_it_prints(&mut self, line: &str) -> Ended {
        for timeout_ms in [200, 2_000, 20_000] {
            let ended = self.run(json!({"argv": ["bash", "-c", line], "timeout_ms": timeout_ms})).await;
            if !ended.stdout.is_empty() {
                return ended;
            }
        }
        panic!("it printed nothing");
    }
}

/// Whether a process is gone, or goes within ten seconds. One that nobody has collected yet counts as gone.
pub(crate) fn is_gone(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(error) => return error == Errno::SRCH,
    };
    let mut watched = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 10, tv_nsec: 0 })).unwrap() == 1
}
