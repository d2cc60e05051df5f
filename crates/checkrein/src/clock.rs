//! Clocks: the real one, and one whose waits are virtual.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use checkrein_contract::BoxFuture;
use checkrein_gate::Clock;

/// The system's clock, read once at the start and moved by the monotonic one, so that it never goes back.
#[derive(Debug)]
pub struct SystemClock {
    started_ms: u64,
    started: Instant,
    /// Milliseconds that were only waited for virtually.
    skipped_ms: AtomicU64,
    virtual_waits: bool,
}

impl SystemClock {
    /// The real clock.
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let started_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        Self { started_ms, started: Instant::now(), skipped_ms: AtomicU64::new(0), virtual_waits: false }
    }

    /// The real clock, but waits only move it: what a scripted model asks to wait for does not hold anybody up.
    #[must_use]
    pub fn with_virtual_waits(mut self) -> Self {
        self.virtual_waits = true;
        self
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.started_ms.saturating_add(elapsed).saturating_add(self.skipped_ms.load(Ordering::Relaxed))
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'_, ()> {
        if self.virtual_waits {
            self.skipped_ms.fetch_add(ms, Ordering::Relaxed);
            return Box::pin(std::future::ready(()));
        }
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}
