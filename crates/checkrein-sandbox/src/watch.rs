//! From a started program to its end: time limit, cancellation, and pipes that others hold open. It starts nothing.

use std::future::Future;
use std::pin::Pin;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::group::Group;

/// Between asking a group to end and ending it.
const GRACE: Duration = Duration::from_secs(3);
/// How long pipes are read after the program itself has ended: somebody else may hold them open for ever.
const DRAIN: Duration = Duration::from_millis(500);
/// How often a group that was asked to end is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// A longer limit is none; the clock can not count to the longest that a number can hold. One year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How it ended.
#[derive(Default)]
pub(crate) struct Ended {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) timed_out: bool,
    pub(crate) cancelled: bool,
}

/// The streams being read; reading may be done before or after the program is.
pub(crate) struct Pumps<'a> {
    reading: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    done: bool,
}

impl<'a> Pumps<'a> {
    pub(crate) fn new(reading: Pin<&'a mut (dyn Future<Output = ()> + Send)>) -> Self {
        Self { reading, done: false }
    }

    /// Reads on. Never ready once both streams have ended.
    async fn run(&mut self) {
        if self.done {
            return std::future::pending().await;
        }
        self.reading.as_mut().await;
        self.done = true;
    }

    /// Reads what is still to come, as long as it comes soon.
    async fn drain(&mut self) {
        if !self.done {
            let _ = timeout(DRAIN, self.run()).await;
        }
    }
}

/// Waits for the end of a program and of everything in its group. Nothing of the group is left when this returns, nor
/// when it is dropped half way.
pub(crate) async fn watch(
    child: &mut Child,
    group: Group,
    mut pumps: Pumps<'_>,
    limit: Duration,
    cancel: &CancellationToken,
) -> Ended {
    let mut ended = Ended::default();
    let deadline = Instant::now() + limit.min(LONGEST);
    let mut grace_until = None;
    let mut killed = false;
    loop {
        tokio::select! {
            biased;
            status = child.wait() => {
                ended.status = status.ok();
                break;
            }
            () = cancel.cancelled(), if grace_until.is_none() => {
                ended.cancelled = true;
                group.terminate();
                grace_until = Some(Instant::now() + GRACE);
            }
            () = sleep_until(deadline), if grace_until.is_none() => {
                ended.timed_out = true;
                group.terminate();
                grace_until = Some(Instant::now() + GRACE);
            }
            () = sleep_until(grace_until.unwrap_or(deadline)), if grace_until.is_some() && !killed => {
                group.kill();
                killed = true;
            }
            () = pumps.run() => {}
        }
    }
    // What the program left running may still print, but not for long.
    match grace_until {
        Some(until) => {
            leave_in_peace(&group, &mut pumps, until).await;
            drop(group);
            pumps.drain().await;
        }
        None => {
            pumps.drain().await;
            drop(group);
        }
    }
    ended
}

/// The program ended when it was asked to; the rest of its group has the rest of the grace to do the same.
async fn leave_in_peace(group: &Group, pumps: &mut Pumps<'_>, until: Instant) {
    while group.is_alive() && Instant::now() < until {
        tokio::select! {
            () = pumps.run() => {}
            () = sleep(LOOK) => {}
        }
    }
}
