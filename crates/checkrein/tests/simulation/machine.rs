//! The simulated machine: a virtual clock, locks, answers about a folder that is not there, and a shelf for cut text.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use checkrein::contract::{BoxFuture, Digest, Finding, Question, SessionId};
use checkrein::gate::{Clock, FactSource, Sandbox, Spill};
use checkrein::{HarnessError, Held, Machine, Programs, StateFolder};

use crate::plan::{Kind, Op};
use crate::programs::Simulated;
use crate::world::World;

/// When every world begins: some day in 2027, milliseconds since 1970.
const BEGIN_MS: u64 = 1_800_000_000_000;

impl World {
    /// The time, milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        let inner = self.inner();
        let origin = inner.origin.unwrap_or_else(tokio::time::Instant::now);
        let driven = u64::try_from(origin.elapsed().as_millis()).unwrap_or(u64::MAX);
        (BEGIN_MS + inner.between_ms + driven).saturating_add_signed(inner.skew_ms)
    }
}

/// The machine.
pub(crate) struct SimMachine(pub(crate) Arc<World>);

impl Machine for SimMachine {
    fn clock(&self, _virtual_waits: bool) -> Arc<dyn Clock> {
        Arc::new(VirtualClock(Arc::clone(&self.0)))
    }

    fn session_id(&self) -> SessionId {
        let mut inner = self.0.inner();
        inner.sessions += 1;
        let digest = Digest::of(format!("{}/{}", self.0.seed, inner.sessions).as_bytes());
        SessionId::new(format!("s-{}", &digest.as_str()[..8]))
    }

    fn take(&self, _home: &StateFolder, session: &SessionId) -> Result<Held, HarnessError> {
        let busy = || HarnessError::Busy { session: session.to_string(), next: "wait".to_owned() };
        if self.0.meet(Op::Lock) == Some(Kind::Taken) || !self.0.inner().held.insert(session.clone()) {
            return Err(busy());
        }
        Ok(Box::new(Lock { world: Arc::clone(&self.0), session: session.clone() }))
    }

    fn facts(&self, _began_ms: u64) -> Arc<dyn FactSource> {
        Arc::new(Facts(Arc::clone(&self.0)))
    }

    fn sandbox(&self, _programs: Programs) -> Arc<dyn Sandbox> {
        Arc::new(Simulated(Arc::clone(&self.0)))
    }

    fn spill(&self, folder: &Path) -> Arc<dyn Spill> {
        Arc::new(Shelf { world: Arc::clone(&self.0), folder: folder.to_path_buf() })
    }
}

struct Lock {
    world: Arc<World>,
    session: SessionId,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.world.inner().held.remove(&self.session);
    }
}

struct VirtualClock(Arc<World>);

impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        let now = self.0.now();
        self.0.arrivals(now);
        now
    }

    #[rustfmt::skip]
    fn sleep(&self, ms: u64) -> BoxFuture<'_, ()> { // no wait: this is the virtual clock
        Box::pin(async move {
            match self.0.meet(Op::Wait) {
                Some(Kind::Suspended) => self.0.inner().between_ms += 9 * 3_600_000,
                Some(_) => self.0.crash_waiting().await,
                None => {}
            }
            tokio::time::sleep(Duration::from_millis(ms)).await; // no wait: the clock is paused
        })
    }
}

struct Facts(Arc<World>);

impl FactSource for Facts {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        Box::pin(async move {
            match self.0.meet(Op::Fact) {
                Some(Kind::NoAnswer) => return None,
                Some(_) => self.0.crash_waiting().await,
                None => {}
            }
            let file = |path: &str| path.ends_with(".sh") || path.ends_with(".txt");
            match question {
                Question::RealPath { path } => Some(path.as_str().into()),
                Question::CaseFolding { .. } => Some("exact".into()),
                Question::Kind { path } => Some(if file(path) { "file" } else { "none" }.into()),
                Question::Changed { .. } => Some("unchanged".into()),
                Question::Digest { path } if file(path) => {
                    let version = self.0.inner().version;
                    Some(Finding::Text(Digest::of(format!("{path} {version}").as_bytes()).as_str().to_owned()))
                }
                Question::Digest { .. } => Some("none".into()),
                Question::Holds { .. } | Question::Matches { .. } => Some(Finding::List(Vec::new())),
                _ => None,
            }
        })
    }
}

struct Shelf {
    world: Arc<World>,
    folder: PathBuf,
}

impl Spill for Shelf {
    fn save(&self, name: &str, _bytes: &[u8]) -> Option<PathBuf> {
        match self.world.meet(Op::Spill) {
            None => Some(self.path(name)),
            Some(_) => None,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}
