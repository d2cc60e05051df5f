//! Ctrl-C and SIGTERM. A thread of their own hears them, so that they count in the middle of a call, of a request, and also
//! while the whole program waits for what a person types.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What hears them; one for the process, as signals are.
static HEARD: OnceLock<Interrupts> = OnceLock::new();

/// What was heard so far.
pub(crate) struct Interrupts {
    /// What the first one ends.
    run: Mutex<CancellationToken>,
    /// There was a second one.
    again: CancellationToken,
    /// Can be read from as soon as there was one.
    first: OwnedFd,
}

impl Interrupts {
    /// Begins to listen, once: until then a signal ends the program as it always does.
    ///
    /// # Errors
    /// The operating system's, where no thread or no pipe is to be had.
    pub(crate) fn listen() -> io::Result<&'static Self> {
        if let Some(heard) = HEARD.get() {
            return Ok(heard);
        }
        let (first, tell) = pipe_with(PipeFlags::CLOEXEC)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminate) = {
            let _entered = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let heard = HEARD.get_or_init(|| Self {
            run: Mutex::new(CancellationToken::new()),
            again: CancellationToken::new(),
            first,
        });
        let listen = async move {
            for count in 1_u32.. {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if count == 1 {
                    // In this order: who waits at the terminal finds the run ended.
                    heard.run().cancel();
                    _ = rustix::io::write(&tell, b"!");
                } else {
                    heard.again.cancel();
                }
            }
        };
        std::thread::Builder::new().name("interrupts".to_owned()).spawn(move || runtime.block_on(listen))?;
        Ok(heard)
    }

    /// From here on the first signal ends this run in order, by its token.
    pub(crate) fn end(&self, run: CancellationToken) {
        let mut ended = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_cancelled() {
            run.cancel();
        }
        *ended = run;
    }

    fn run(&self) -> CancellationToken {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Is there once there was a second one.
    pub(crate) async fn again(&self) {
        self.again.cancelled().await;
    }
}

/// Waits until somebody typed a line; `false` where a signal came instead.
pub(crate) fn typed() -> bool {
    let Some(heard) = HEARD.get() else { return true };
    let stdin = io::stdin();
    let mut both = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN), PollFd::new(&heard.first, PollFlags::IN)];
    let waited = retry_on_intr(|| poll(&mut both, None));
    let [_, first] = both;
    waited.is_ok() && first.revents().is_empty()
}
