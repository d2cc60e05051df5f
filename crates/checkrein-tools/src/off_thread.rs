//! Work on files, off the thread that drives the session. Whoever waits no longer stops it at its next look.

use checkrein_contract::Code;
use checkrein_gate::Failure;
use tokio_util::sync::CancellationToken;

/// Does blocking work. `work` gets a token that fires when the run is cancelled, and also when nobody waits for the
/// result any more: a tool that was dropped at its time limit must not change a file afterwards.
pub(crate) async fn off_thread<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let stop = cancel.child_token();
    let _when_dropped = stop.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(done) => done,
        Err(error) => Err(Failure::new(Code::ToolPanicked, "the tool broke off unexpectedly").because(error)),
    }
}

/// The answer of work that was told to stop.
pub(crate) fn cancelled() -> Failure {
    Failure::new(Code::Cancelled, "the run was cancelled, and this call with it")
}

/// Says to stop, as an error that `?` passes on.
pub(crate) fn go_on(stop: &CancellationToken) -> Result<(), Failure> {
    if stop.is_cancelled() { Err(cancelled()) } else { Ok(()) }
}
