//! The simplest thing behind each port of the gate.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use checkrein_contract::{Actor, Body, BoxFuture, Finding, Question};
use checkrein_gate::{
    Approved, CommandSpec, Enforcement, FactSource, RecordFailure, Recorder, RunOutput, Sandbox, SandboxFailure, Spill,
};
use tokio_util::sync::CancellationToken;

/// A journal in memory that can be told to fail.
#[derive(Debug, Default)]
pub struct InMemory {
    /// What was recorded, and by whom.
    pub events: Vec<(Actor, Body)>,
    /// How many of the events were durable at the last flush.
    pub flushed: usize,
    /// From now on nothing can be recorded.
    pub broken: bool,
}

impl Recorder for InMemory {
    fn record(&mut self, by: Actor, body: Body) -> Result<(), RecordFailure> {
        if self.broken {
            return Err(RecordFailure { reason: "the disk is full".to_owned() });
        }
        self.events.push((by, body));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordFailure> {
        self.flushed = self.events.len();
        Ok(())
    }
}

/// Every path is what it is written as; nothing else is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsWritten;

impl FactSource for AsWritten {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        let answer = match question {
            Question::RealPath { path } => Some(path.as_str().into()),
            Question::CaseFolding { .. } => Some("exact".into()),
            _ => None,
        };
        Box::pin(async move { answer })
    }
}

/// Runs no program.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPrograms {
    /// Whether it says that it would confine them.
    pub confines: bool,
}

impl Sandbox for NoPrograms {
    fn enforcement(&self) -> Enforcement {
        Enforcement {
            confines: self.confines,
            hides: self.confines,
            hosts: self.confines,
            words: "nothing runs here".to_owned(),
        }
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        command: CommandSpec,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RunOutput, SandboxFailure>> {
        Box::pin(async move { Err(SandboxFailure::NoProgram { program: command.argv.concat() }) })
    }
}

/// Keeps what was cut in memory, under `/spill`.
#[derive(Debug, Default)]
pub struct Kept(Mutex<BTreeMap<String, Vec<u8>>>);

impl Kept {
    /// What was kept under this name.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

impl Spill for Kept {
    fn save(&self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), bytes.to_vec());
        Some(self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("/spill").join(name)
    }
}

/// Keeps what was cut in a folder, which is made when it is needed.
#[derive(Clone, Debug)]
pub struct SpillFolder(
    /// The folder.
    pub PathBuf,
);

impl Spill for SpillFolder {
    fn save(&self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        fs::create_dir_all(&self.0).ok()?;
        fs::write(self.path(name), bytes).ok()?;
        Some(self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
