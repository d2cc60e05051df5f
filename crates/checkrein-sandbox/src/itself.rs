//! Starts this very program again, for a part of its work that must not take the rest down with it.

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest answer, bytes.
const MOST_SAID: u64 = 64 * 1024;
/// Between two looks at whether the process has ended, once it has said all.
const LOOK: Duration = Duration::from_micros(200);

/// Gives the input to another process of this program with these arguments, and takes what it says on standard output.
/// Whatever else happens (it can not be started, is killed, says too much, is not done by `until`) is an error in words,
/// and the process is gone when this returns.
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
    }
    _ = child.wait();
    said
}

/// Does something on a thread of its own, and waits for it no longer than there is time.
///
/// # Errors
/// That there was no time left.
pub fn within<T: Send + 'static>(until: Instant, work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let (give, take) = mpsc::channel();
    std::thread::spawn(move || _ = give.send(work()));
    take.recv_timeout(until.saturating_duration_since(Instant::now())).map_err(|_| late())
}

fn late() -> String {
    "it was not done in time".to_owned()
}

fn heard(child: &mut Child, input: Vec<u8>, until: Instant) -> Result<Vec<u8>, String> {
    if let Some(mut stdin) = child.stdin.take() {
        // A process that does not read does not keep this one from stopping in time.
        std::thread::spawn(move || _ = stdin.write_all(&input));
    }
    let (out, errors) = (child.stdout.take(), child.stderr.take());
    let complaint = std::thread::spawn(move || errors.map(bounded).unwrap_or_default());
    let said = within(until, move || out.map(bounded).unwrap_or_default())?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
            Ok(None) => return Err(late()),
            Err(error) => return Err(error.to_string()),
        }
    };
    if status.success() {
        return Ok(said);
    }
    let complaint = complaint.join().unwrap_or_default();
    let complaint = String::from_utf8_lossy(&complaint);
    let complaint = complaint.trim();
    Err(if complaint.is_empty() { format!("it ended with {status}") } else { complaint.to_owned() })
}

fn bounded(stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    _ = stream.take(MOST_SAID).read_to_end(&mut bytes);
    bytes
}
