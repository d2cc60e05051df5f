//! A started program until its end, whoever started it and how: streams, time limit, cancellation.

use std::io::{Error, ErrorKind};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use checkrein_gate::{CommandSpec, MAX_INPUT, Redactor, RunOutput, SandboxFailure};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use crate::capture::Capture;
use crate::group::Group;
use crate::watch::{Pumps, watch};

/// Sees a program to its end. It leads its own process group, which is gone when this returns, or is dropped half way.
/// What it prints comes without secrets, also in the file that it is spilled to.
pub(crate) async fn to_its_end(
    mut child: Child,
    spec: CommandSpec,
    secrets: &Redactor,
    cancel: &CancellationToken,
) -> RunOutput {
    let group = Group::led_by(child.id());
    let (stdout_spill, stderr_spill) = spec.spill.unzip();
    let mut stdout = Capture::new(spec.keep_bytes, stdout_spill, secrets);
    let mut stderr = Capture::new(spec.keep_bytes, stderr_spill, secrets);
    let ended = {
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let mut reading = pin!(async {
            tokio::join!(stdout.fill(out), stderr.fill(err));
        });
        let limit = Duration::from_millis(spec.timeout_ms);
        watch(&mut child, group, Pumps::new(reading.as_mut()), limit, cancel).await
    };
    RunOutput {
        exit: ended.status.and_then(|status| status.code()),
        signal: ended.status.and_then(|status| status.signal()),
        timed_out: ended.timed_out,
        cancelled: ended.cancelled,
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        ..RunOutput::default()
    }
}

/// Whether what a program is to find on standard input is as short as it has to be.
pub(crate) fn fits(input: &str) -> Result<(), SandboxFailure> {
    if input.len() <= MAX_INPUT {
        return Ok(());
    }
    Err(SandboxFailure::NotStarted { reason: format!("its input has more than {MAX_INPUT} bytes") })
}

/// Why a program could not be started, from the operating system's error. `file` is where it was found, if it was.
pub(crate) fn unstarted(name: &str, file: Option<&Path>, error: &Error) -> SandboxFailure {
    match (error.kind(), file) {
        // The file is there, so it is what its first line asks for that is not.
        (ErrorKind::NotFound, Some(file)) if file.exists() => {
            SandboxFailure::NotStarted { reason: format!("the interpreter of `{name}` is missing") }
        }
        (ErrorKind::NotFound, _) => SandboxFailure::NoProgram { program: name.to_owned() },
        _ => SandboxFailure::NotStarted { reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_bounded() {
        assert!(fits(&"x".repeat(MAX_INPUT)).is_ok());
        assert!(fits(&"x".repeat(MAX_INPUT + 1)).unwrap_err().to_string().contains("more than 32768 bytes"));
    }
}
