//! The backend that holds nothing back, and says so. It bounds time and memory, cleans the environment, and ends the
//! whole group; it does not restrict files, network or processes.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use checkrein_contract::BoxFuture;
use checkrein_gate::{Approved, CommandSpec, Enforcement, RunOutput, Sandbox, SandboxFailure};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::environment::Environment;
use crate::given::given;
use crate::running::{fits, to_its_end, unstarted};

/// Runs programs with the rights of this process. Needs a tokio runtime with I/O and time.
///
/// Everything that a program started ends with the call, background processes included, unless it made a session of its
/// own. A whole stream that is longer than [`MAX_SPILL_BYTES`](crate::MAX_SPILL_BYTES) is spilled up to there.
#[derive(Clone, Debug)]
pub struct Unconfined {
    env: Environment,
}

impl Unconfined {
    /// Takes the host's environment and keeps what is on the list of names that may pass; never a name that speaks of a
    /// key, token, secret, password, passphrase or credential.
    pub fn new(env: impl Into<Environment>) -> Self {
        Self { env: env.into() }
    }

    async fn execute(&self, mut spec: CommandSpec, cancel: &CancellationToken) -> Result<RunOutput, SandboxFailure> {
        if cancel.is_cancelled() {
            return Ok(RunOutput { cancelled: true, ..RunOutput::default() });
        }
        fits(&spec.input)?;
        let secrets = self.env.fill(&mut spec.env)?;
        let child = self.spawn(&spec)?;
        Ok(to_its_end(child, spec, &secrets, cancel).await)
    }

    fn spawn(&self, spec: &CommandSpec) -> Result<Child, SandboxFailure> {
        let Some((program, arguments)) = spec.argv.split_first() else {
            return Err(SandboxFailure::NotStarted { reason: "no program was named".to_owned() });
        };
        // A missing folder and a missing program are the same error of the operating system.
        if !spec.cwd.is_dir() {
            let reason = format!("the working directory {} is no folder", spec.cwd.display());
            return Err(SandboxFailure::NotStarted { reason });
        }
        let located = locate(program, &spec.cwd);
        let stdin = match spec.input.as_str() {
            "" => Stdio::null(),
            input => given(input).map_err(|error| unstarted(program, located.as_deref(), &error))?.into(),
        };
        let mut command = Command::new(located.as_deref().unwrap_or(Path::new(program)));
        command
            .args(arguments)
            .current_dir(&spec.cwd)
            .env_clear()
            .envs(self.env.plain.iter().map(|(name, value)| (name, value)))
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().map_err(|error| unstarted(program, located.as_deref(), &error))
    }
}

/// A program named with a path, from the working directory; `None` for a bare name, which `PATH` finds.
fn locate(program: &str, cwd: &Path) -> Option<PathBuf> {
    program.contains('/').then(|| cwd.join(program))
}

impl Sandbox for Unconfined {
    fn enforcement(&self) -> Enforcement {
        Enforcement {
            confines: false,
            hides: false,
            hosts: false,
            words: "programs run unconfined: files, network and processes are not restricted".to_owned(),
        }
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        command: CommandSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RunOutput, SandboxFailure>> {
        Box::pin(self.execute(command, cancel))
    }
}
