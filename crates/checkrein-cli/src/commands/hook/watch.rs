//! The process that answers. It knows no policy: it starts itself again to judge, and whatever comes back that is not a
//! well-formed word in time is *no*. So neither a panic, nor an overflow, nor a kill, nor a hang lets a call through.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use checkrein::hook::{Answer, Caller, MOST_PAYLOAD, Word};
use checkrein::{ask_itself, within};

use crate::context::Context;

/// Time for the whole answer. Callers wait for longer, and some let the call run when they stop waiting.
const IN_TIME: Duration = Duration::from_secs(2);

/// Answers; the result is the exit code.
pub(super) fn run(caller: Caller, policy: Option<&Path>, context: &Context) -> u8 {
    let answer = match asked(caller, policy, context) {
        Ok(word) => caller.answer(&word),
        Err(why) => caller.block(&why),
    };
    tell(caller, &answer)
}

/// Prints the answer. One that can not be printed is *no*.
pub(super) fn tell(caller: Caller, answer: &Answer) -> u8 {
    _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    let mut out = std::io::stdout();
    match out.write_all(answer.stdout.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => answer.code,
        Err(error) => {
            let blocked = caller.block(&format!("standard output: {error}"));
            _ = std::io::stderr().write_all(blocked.stderr.as_bytes());
            blocked.code
        }
    }
}

fn asked(caller: Caller, policy: Option<&Path>, context: &Context) -> Result<Word, String> {
    let until = Instant::now() + IN_TIME;
    if context.typed_input() {
        return Err("this answers a hook: the agent gives it a payload on standard input".to_owned());
    }
    let payload = within(until, payload)??;
    let mut arguments: Vec<OsString> = ["hook", "--for", caller.name(), "--judge"].map(OsString::from).to_vec();
    if let Some(policy) = policy {
        arguments.extend(["--policy".into(), policy.into()]);
    }
    let said = ask_itself(arguments, payload, until).map_err(|why| why.trim_start_matches("error: ").to_owned())?;
    serde_json::from_slice(&said).map_err(|error| format!("what the judging process said can not be read: {error}"))
}

/// The payload on standard input; one that is too long is none.
pub(super) fn payload() -> Result<Vec<u8>, String> {
    let most = u64::try_from(MOST_PAYLOAD).unwrap_or(u64::MAX).saturating_add(1);
    let mut payload = Vec::new();
    std::io::stdin().lock().take(most).read_to_end(&mut payload).map_err(|error| format!("standard input: {error}"))?;
    if payload.len() > MOST_PAYLOAD {
        return Err(format!("the payload is longer than {} MiB", MOST_PAYLOAD / 1024 / 1024));
    }
    Ok(payload)
}
