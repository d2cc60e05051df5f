//! The machine as one port: time, names, locks, facts, programs and room for cut text, as a session finds them around it.
//!
//! There is one real machine. A simulation puts its own in place of it ([`Extensions::machine`](crate::Extensions)), and
//! everything else is the same code. The journal and the model are ports of their own.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use checkrein_contract::SessionId;
use checkrein_facts::HostFacts;
use checkrein_gate::{Clock, FactSource, Sandbox, Spill};
use checkrein_sandbox::{Confined, Environment, Settings, Unconfined};

use crate::HarnessError;
use crate::clock::SystemClock;
use crate::home::{FolderSpill, StateFolder};
use crate::retention;

/// Held by the process that drives a session: while it is there, nobody else drives it.
pub type Held = Box<dyn Any + Send + Sync>;

/// How programs are to be run.
pub enum Programs {
    /// Each in a view of its own.
    Confined(Settings),
    /// As they are: a person said so, or nothing is there that could confine them.
    Unconfined(Environment),
}

/// What a session finds around it.
pub trait Machine: Send + Sync {
    /// The clock of a process. Under `virtual_waits` what a model asks to wait for only moves it.
    fn clock(&self, virtual_waits: bool) -> Arc<dyn Clock>;

    /// A name that no other session has.
    fn session_id(&self) -> SessionId;

    /// Takes a session for this process; free again when what comes back is dropped, however the process ends.
    ///
    /// # Errors
    /// [`HarnessError::Busy`] while another process has it.
    fn take(&self, home: &StateFolder, session: &SessionId) -> Result<Held, HarnessError>;

    /// Who answers the policy's questions, for a session that began at this time (milliseconds since 1970).
    fn facts(&self, began_ms: u64) -> Arc<dyn FactSource>;

    /// Where programs run.
    fn sandbox(&self, programs: Programs) -> Arc<dyn Sandbox>;

    /// Where cut text goes.
    fn spill(&self, folder: &Path) -> Arc<dyn Spill>;

    /// Removes what was kept long enough. Nothing depends on it.
    fn tidy(&self, _home: &StateFolder) {}
}

/// The machine that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThisMachine;

impl Machine for ThisMachine {
    fn clock(&self, virtual_waits: bool) -> Arc<dyn Clock> {
        let clock = SystemClock::new();
        if virtual_waits { Arc::new(clock.with_virtual_waits()) } else { Arc::new(clock) }
    }

    fn session_id(&self) -> SessionId {
        let random = uuid::Uuid::new_v4().simple().to_string();
        SessionId::new(format!("s-{}", random.get(..8).unwrap_or(&random)))
    }

    fn take(&self, home: &StateFolder, session: &SessionId) -> Result<Held, HarnessError> {
        Ok(Box::new(home.take(session)?))
    }

    fn facts(&self, began_ms: u64) -> Arc<dyn FactSource> {
        Arc::new(HostFacts::since(began_ms))
    }

    fn sandbox(&self, programs: Programs) -> Arc<dyn Sandbox> {
        match programs {
            Programs::Confined(settings) => Arc::new(Confined::new(settings)),
            Programs::Unconfined(environment) => Arc::new(Unconfined::new(environment)),
        }
    }

    fn spill(&self, folder: &Path) -> Arc<dyn Spill> {
        Arc::new(FolderSpill::at(folder))
    }

    fn tidy(&self, home: &StateFolder) {
        retention::tidy(home.path(), SystemTime::now());
    }
}
