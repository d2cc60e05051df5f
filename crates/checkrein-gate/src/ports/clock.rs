//! Time, as a port: the real clock in a program, a virtual one in tests and under scripts.

use checkrein_contract::BoxFuture;

/// Where times and waits come from. Limits on running tools do not use it: they always run on real time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970. Never goes back while the process lives.
    fn now_ms(&self) -> u64;

    /// Waits.
    fn sleep(&self, ms: u64) -> BoxFuture<'_, ()>;
}
