//! The process runner of the world: no process starts; what a program would do is counted.

use std::sync::Arc;
use std::time::Duration;

use checkrein::contract::BoxFuture;
use checkrein::gate::{Approved, Captured, CommandSpec, Enforcement, RunOutput, Sandbox, SandboxFailure};
use tokio_util::sync::CancellationToken;

use crate::doing::{How, huge};
use crate::plan::{Kind, Op};
use crate::world::World;

/// The sandbox. It says of itself that it confines.
pub(crate) struct Simulated(pub(crate) Arc<World>);

/// What a command line comes to here.
struct Program {
    changes: bool,
    how: How,
    /// Exit code of a program that ends well.
    exit: i32,
}

impl Simulated {
    fn program(&self, argv: &[String]) -> Program {
        let line = argv.join(" ");
        let how = How::ALL.iter().find(|(_, name, _)| line.ends_with(&format!("-{name}")));
        let mut exit = 0;
        if line.contains("check.sh") {
            // The work is not done at the first look, in two worlds of three.
            let mut inner = self.0.inner();
            inner.checks += 1;
            exit = i32::from(u64::from(inner.checks) <= self.0.seed % 3);
        }
        let changes = ["append.sh", "transfer.sh", "ship.sh"].iter().any(|name| line.contains(name));
        Program { changes, how: how.map_or(How::Well, |(_, name, _)| How::of(name)), exit }
    }

    async fn end(
        &self,
        approved: &Approved,
        command: &CommandSpec,
        cancel: &CancellationToken,
    ) -> Result<RunOutput, SandboxFailure> {
        let program = self.program(&command.argv);
        self.0.mark(&format!("program/{}", program.how.name()));
        let done = || {
            if program.changes {
                self.0.effect(approved);
            }
        };
        let exited = |exit: i32, out: &[u8]| RunOutput {
            exit: Some(exit),
            stdout: Captured { tail: out.to_vec(), total: out.len() as u64, spilled: None },
            ..RunOutput::default()
        };
        let limit = Duration::from_millis(command.timeout_ms);
        Ok(match program.how {
            How::Well => {
                done();
                exited(program.exit, b"well\n")
            }
            How::Slow => {
                tokio::time::sleep(Duration::from_secs(8)).await; // no wait: the clock is paused
                done();
                exited(program.exit, b"at last\n")
            }
            How::Fails => exited(3, b"it did not work\n"),
            How::FailsAfter => {
                done();
                exited(3, b"it may have worked\n")
            }
            How::Breaks => RunOutput { exit: None, signal: Some(11), ..exited(0, b"half") },
            How::Hangs | How::Late => {
                let cancelled = tokio::select! {
                    biased;
                    () = cancel.cancelled() => true,
                    () = tokio::time::sleep(limit) => false, // no wait: the clock is paused
                };
                let ended = RunOutput { exit: None, signal: Some(9), ..exited(0, b"") };
                RunOutput { timed_out: !cancelled, cancelled, ..ended }
            }
            How::Huge => {
                done();
                let text = huge(&command.argv.concat()).into_bytes();
                let tail = text[text.len() - command.keep_bytes.min(text.len())..].to_vec();
                RunOutput {
                    stdout: Captured { tail, total: text.len() as u64, spilled: None },
                    ..exited(program.exit, b"")
                }
            }
            How::Odd => {
                done();
                exited(program.exit, b"\x1b[31mred\x1b]0;title\x07 \xff\xfe \x00 end\n")
            }
        })
    }
}

impl Sandbox for Simulated {
    fn enforcement(&self) -> Enforcement {
        Enforcement { confines: true, hides: true, hosts: true, words: "simulated".to_owned() }
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        command: CommandSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RunOutput, SandboxFailure>> {
        Box::pin(async move {
            let fault = self.0.meet(Op::Program);
            match fault {
                Some(Kind::CrashBefore) => return self.0.crash_waiting().await,
                Some(Kind::NotStarted) => {
                    return Err(SandboxFailure::NotStarted { reason: "no process could be made".to_owned() });
                }
                _ => self.0.runs(approved),
            }
            let ended = self.end(approved, &command, cancel).await;
            if fault == Some(Kind::CrashAfter) {
                return self.0.crash_waiting().await;
            }
            ended
        })
    }
}
