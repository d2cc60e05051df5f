//! A gate around one tool that runs whatever program it is told to, so that every run here went through the stages.

pub(crate) mod tool;

use std::sync::Arc;

use checkrein_contract::{Finished, FinishedAs, Place};
use checkrein_gate::Registry;
use checkrein_sandbox::Unconfined;
use checkrein_testkit::SpillFolder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
pub(crate) use tool::Ended;
use tool::RunProgram;

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
        let env: Vec<(String, String)> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
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
