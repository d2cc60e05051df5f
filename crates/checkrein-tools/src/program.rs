//! Running a program for a tool: the sandbox's answer as values that can be rendered. It starts nothing by itself.

use std::path::Path;

use checkrein_contract::Code;
use checkrein_gate::{Approved, Captured, CommandSpec, Denial, Failure, RunContext, RunOutput, SandboxFailure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::next_call::next_call;
use crate::off_thread::cancelled;
use crate::printable::{self, Printable};

/// Bytes of each stream that are kept and shown; the end of it. Room for a long compiler error, not for a build log.
pub(crate) const KEEP_BYTES: usize = 64_000;

/// One output stream, ready to be shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Stream {
    /// The end of it.
    pub(crate) text: String,
    /// Bytes in all.
    pub(crate) total: u64,
    /// Bytes in front of the text that it does not show.
    pub(crate) missing: u64,
    /// Some bytes were no UTF-8.
    pub(crate) lossy: bool,
    /// The file that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spilled: Option<String>,
    /// Bytes of it in that file.
    pub(crate) spilled_bytes: u64,
}

impl Stream {
    /// The stream as text of at most `most` bytes.
    pub(crate) fn of(captured: Captured, most: usize) -> Self {
        let Printable { text, missing, lossy } = printable::tail(&captured.tail, captured.total, most);
        let spilled = captured.spilled.as_deref();
        let spilled_bytes = spilled.and_then(|path| Some(path.metadata().ok()?.len())).unwrap_or(0);
        let spilled = spilled.and_then(Path::to_str).map(str::to_owned);
        Self { text, total: captured.total, missing, lossy, spilled, spilled_bytes }
    }

    /// What there is to say about it besides its text, a line each.
    pub(crate) fn facts(&self, name: &str) -> Vec<String> {
        let mut facts = Vec::new();
        if self.missing > 0 {
            let rest = match &self.spilled {
                Some(path) if self.spilled_bytes >= self.total => {
                    format!("all of it: {}", next_call("read", &json!({ "file_path": path })))
                }
                Some(path) => format!(
                    "its first {} bytes: {}",
                    self.spilled_bytes,
                    next_call("read", &json!({ "file_path": path }))
                ),
                None => "it could not be saved; let the program print less".to_owned(),
            };
            let (missing, total) = (self.missing, self.total);
            facts.push(format!("{name} cut: the first {missing} of {total} bytes are left out; {rest}"));
        }
        if self.lossy {
            facts.push(format!("{name}: bytes that are no UTF-8 are shown as \u{fffd}"));
        }
        facts
    }
}

/// Runs a program. A run that was cancelled is no result.
pub(crate) async fn run(
    approved: &Approved,
    spec: CommandSpec,
    context: &RunContext<'_>,
) -> Result<RunOutput, Failure> {
    let ran = context.sandbox.run(approved, spec, context.cancel).await;
    match ran {
        Ok(output) if output.cancelled => Err(cancelled()),
        Ok(output) => Ok(output),
        Err(error) => {
            // The sandbox speaks to the operator, and may name folders of the host.
            let what = match &error {
                SandboxFailure::NoProgram { .. } => "there is no such program here".to_owned(),
                SandboxFailure::NoSecret { .. } => error.to_string(),
                SandboxFailure::NotStarted { .. } => "the program could not be started".to_owned(),
            };
            Err(Failure::new(Code::SandboxUnavailable, what).because(error))
        }
    }
}

/// Refusals that are told in words; the value holds them all.
const MOST_REFUSALS: usize = 5;

/// What the sandbox refused, a line each, and how exactly that is asked for.
pub(crate) fn refusals(denied: &[Denial]) -> Vec<String> {
    let told = denied.iter().take(MOST_REFUSALS);
    let mut lines: Vec<String> = told
        .map(|denial| format!("not granted, so refused: {} {}", denial.kind, printable::one_line(&denial.target)))
        .collect();
    if denied.len() > MOST_REFUSALS {
        lines.push(format!("and {} more were refused", denied.len() - MOST_REFUSALS));
    }
    if let Some(first) = denied.first() {
        lines.push(format!("if the work needs it, call again with \"needs\": [{}]", json!(first)));
    }
    lines
}

/// How a program ended, in words; `None` for a clean end.
pub(crate) fn ending(exit: Option<i32>, signal: Option<i32>) -> Option<String> {
    match (exit, signal) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(match name_of(signal) {
            Some(name) => format!("ended by signal {signal} ({name})"),
            None => format!("ended by signal {signal}"),
        }),
        (None, None) => Some("how it ended is not known".to_owned()),
    }
}

/// Signals whose name says more than their number. The numbers are those of Linux and macOS alike.
fn name_of(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "HUP",
        2 => "INT",
        6 => "ABRT",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        15 => "TERM",
        _ => return None,
    })
}
