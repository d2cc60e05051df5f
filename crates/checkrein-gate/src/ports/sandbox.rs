//! Where programs run. Only what stands behind this port starts a process, and only for a call that was approved.

use std::path::PathBuf;

use checkrein_contract::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::Approved;

/// What a sandbox holds back on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// Programs can reach only what was granted, a folder at a time.
    pub confines: bool,
    /// Within a folder that was granted, secrets are hidden and control files can not be changed.
    pub hides: bool,
    /// Of what is outside this machine, programs can reach only the hosts that were granted.
    pub hosts: bool,
    /// In words, for the session's first line and the journal.
    pub words: String,
}

/// Bytes of standard input that a program can be given.
pub const MAX_INPUT: usize = 32 * 1024;

/// A program to run.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// Its words; the first is the program.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// The host names that folder, so it is given to be read wherever it lies. Never what a model names.
    pub folder_given: bool,
    /// Variables added to the clean environment. `${secret:NAME}` in a value is filled in by the sandbox, which takes
    /// the secret out of everything that comes back.
    pub env: Vec<(String, String)>,
    /// What it finds on standard input; at most [`MAX_INPUT`] bytes.
    pub input: String,
    /// Wall time after which the whole process group is ended, milliseconds.
    pub timeout_ms: u64,
    /// How many bytes at the end of each stream are kept in memory.
    pub keep_bytes: usize,
    /// Where a whole stream goes that is longer than that: standard output, standard error.
    pub spill: Option<(PathBuf, PathBuf)>,
}

/// One stream, as far as it was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The end of the stream.
    pub tail: Vec<u8>,
    /// Bytes in all.
    pub total: u64,
    /// Where the whole is, when it did not fit.
    pub spilled: Option<PathBuf>,
}

/// How a program ended. Exit code, signal, timeout and cancellation are separate facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOutput {
    /// Exit code, when it exited.
    pub exit: Option<i32>,
    /// Signal, when one ended it.
    pub signal: Option<i32>,
    /// It was ended because its time ran out.
    pub timed_out: bool,
    /// It was ended because the run was cancelled.
    pub cancelled: bool,
    /// `memory` or `disk` ran out while it ran, so processes of it were ended: all of them, or those that the kernel chose.
    pub exhausted: Option<String>,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// What the sandbox refused, in the order it was met, each once. Seen by the sandbox, not guessed from words.
    pub denied: Vec<Denial>,
    /// Connections that were made to the outside.
    pub connected: Vec<Connected>,
}

/// A connection that a program made to the outside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Connected {
    /// The name or address that it asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address that the name meant.
    pub address: String,
}

/// Something that a program tried and was not granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Denial {
    /// `read` (a program that was to be started), `write`, `delete`, `metadata` or `connect`: the effect that a rule would
    /// have to allow.
    pub kind: String,
    /// The real path, or the address with its port.
    pub target: String,
}

/// The program could not be started. Never used for a program that ran and failed.
#[derive(Debug, Error)]
pub enum SandboxFailure {
    /// There is no such program.
    #[error("there is no program `{program}` here")]
    NoProgram {
        /// Its name as asked for.
        program: String,
    },
    /// A secret that the call names can not be given to it.
    #[error("the secret `{name}` {reason}")]
    NoSecret {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// Anything else.
    #[error("the program could not be started: {reason}")]
    NotStarted {
        /// For the operator.
        reason: String,
    },
}

/// Runs programs.
pub trait Sandbox: Send + Sync {
    /// What it holds back here.
    fn enforcement(&self) -> Enforcement;

    /// Runs one program to its end, for one approved call.
    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        command: CommandSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RunOutput, SandboxFailure>>;
}
