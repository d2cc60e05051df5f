//! Starts this very program again, for a part of its work that must not take the rest down with it.

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Longest answer, bytes.
const MOST_SAID: u64 = 64 * 1024;
/// Between two looks at whether the process has ended.
const LOOK: Duration = Duration::from_micros(200);
/// How long a process that was killed is waited for. One that hangs in the kernel is left to whoever inherits it.
const GRACE: Duration = Duration::from_millis(200);

/// Gives the input to another process of this program with these arguments, and takes what it says on standard output.
/// Whatever else happens (it can not be started, is killed, says too much, is not done by `until`) is an error in words.
/// The process is killed then, and gone when this returns unless the kernel holds on to it.
///
/// # Errors
/// What went wrong; of a process that failed, what it said on standard error.
pub fn ask_itself<A: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = A>,
    input: Vec<u8>,
    until: Instant,
) -> Result<Vec<u8>, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program can not find itself: {error}"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("this program could not be started again: {error}"))?;
    let said = heard(&mut child, input, until);
    if said.is_err() {
        _ = child.kill();
        _ = ended(&mut child, Instant::now() + GRACE);
    }
    said
}

/// Does something on a thread of its own, and waits for it no longer than there is time.
///
/// # Errors
/// That there was no time left, or no thread to be had.
pub fn within<T: Send + 'static>(until: Instant, work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    taken(&aside(work)?, until)
}

/// Begins something on a thread of its own.
fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<Receiver<T>, String> {
    let (give, take) = mpsc::channel();
    let thread = std::thread::Builder::new().spawn(move || _ = give.send(work()));
    thread.map_err(|error| format!("no thread could be started: {error}"))?;
    Ok(take)
}

fn taken<T>(from: &Receiver<T>, until: Instant) -> Result<T, String> {
    from.recv_timeout(until.saturating_duration_since(Instant::now())).map_err(|error| match error {
        RecvTimeoutError::Timeout => late(),
        RecvTimeoutError::Disconnected => "a part of it panicked".to_owned(),
    })
}

fn late() -> String {
    "it was not done in time".to_owned()
}

pub(crate) fn heard(child: &mut Child, input: Vec<u8>, until: Instant) -> Result<Vec<u8>, String> {
    if let Some(mut stdin) = child.stdin.take() {
        // A process that does not read does not keep this one from stopping in time.
        drop(aside(move || _ = stdin.write_all(&input))?);
    }
    let (out, errors) = (child.stdout.take(), child.stderr.take());
    let complaint = aside(move || errors.map(bounded))?;
    let said = within(until, move || out.map(bounded))?;
    let status = ended(child, until)?;
    if status.success() {
        return said.unwrap_or_else(|| Ok(Vec::new()));
    }
    let complaint = taken(&complaint, until).ok().flatten().and_then(Result::ok).unwrap_or_default();
    let complaint = String::from_utf8_lossy(&complaint);
    let complaint = complaint.trim();
    Err(if complaint.is_empty() { format!("it ended with {status}") } else { complaint.to_owned() })
}

fn ended(child: &mut Child, until: Instant) -> Result<ExitStatus, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
            Ok(None) => return Err(late()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn bounded(stream: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    stream.take(MOST_SAID + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_SAID {
        return Err(format!("it said more than {} KiB", MOST_SAID / 1024));
    }
    Ok(bytes)
}
