//! render: the text for the model, bounded whatever the tool did, and the event that records it.

use checkrein_contract::{CallId, Code, Digest, Finished, FinishedAs, canonical_bytes};
use serde_json::Value;

use crate::approved::Approved;
use crate::catch::catch;
use crate::ports::{Failure, Shown, Spill};
use crate::redact::Redactor;
use crate::remedy::{bounded, error_text};

use super::Refused;

pub(crate) fn render(
    approved: &Approved,
    checked: Result<Value, Failure>,
    spill: &dyn Spill,
    redactor: &Redactor,
) -> Finished {
    let (value, shown) = match checked.and_then(|value| shown(approved, &value).map(|shown| (value, shown))) {
        Ok(done) => done,
        Err(failure) => {
            let unknown = failure.code == Code::ToolOutcomeUnknown;
            let ended = if unknown { FinishedAs::Unknown } else { FinishedAs::Failed };
            return failed(&approved.call.id, &approved.call.tool, ended, &failure, redactor);
        }
    };
    let most = approved.entry.tool.max_text_bytes();
    let (text, cut) = bound(&approved.call.id, shown.rendered.text, shown.rendered.cut, most, spill);
    let failed = shown.rendered.failed;
    let ended = if failed.is_some() { FinishedAs::Failed } else { FinishedAs::Ok };
    Finished {
        cut,
        value: canonical_bytes(&value).ok().map(|bytes| Digest::of(&bytes)),
        shown: shown.presentation,
        sources: shown.sources,
        seen: shown.seen,
        ..Finished::bare(approved.call.id.clone(), approved.call.tool.clone(), ended, failed, text)
    }
}

fn shown(approved: &Approved, value: &Value) -> Result<Shown, Failure> {
    match catch(|| approved.entry.tool.render(&approved.call.args, value)) {
        Ok(Ok(shown)) => Ok(shown),
        Ok(Err(why)) => Err(Failure::new(Code::InvalidToolOutput, format!("the tool's result can not be read: {why}"))),
        Err(panicked) => {
            Err(Failure::new(Code::ToolPanicked, "the tool broke off while showing its result").because(panicked.0))
        }
    }
}

/// The end of a call that did not end well.
pub(crate) fn failed(call: &CallId, tool: &str, ended: FinishedAs, failure: &Failure, redactor: &Redactor) -> Finished {
    let message = redactor.text(&failure.message);
    let text = error_text(failure.code, &message);
    let cause = failure.causes().map(|causes| bounded(&redactor.text(&causes), LONGEST_CAUSE));
    let seen = failure.seen.clone();
    Finished { cause, seen, ..Finished::bare(call.clone(), tool.to_owned(), ended, Some(failure.code), text) }
}

/// Longest chain of causes, bytes: a page of somebody's error messages.
const LONGEST_CAUSE: usize = 4_000;

impl Refused {
    /// The end of a call that never ran, as the model reads it.
    pub fn finished(&self) -> Finished {
        let failure = Failure::new(self.decision.code, self.decision.reason.clone());
        failed(&self.call, &self.tool, FinishedAs::Refused, &failure, &Redactor::default())
    }
}

/// Cuts the middle out of a text that is too long, and says so.
fn bound(call: &CallId, text: String, cut: bool, most: usize, spill: &dyn Spill) -> (String, bool) {
    if text.len() <= most {
        return (text, cut);
    }
    // The end often says how it came out, so both ends are kept, with room for the words between them.
    let keep = most / 2 - most / 16;
    let head = text.floor_char_boundary(keep);
    let tail = text.ceil_char_boundary(text.len() - keep);
    let rest = match spill.save(&format!("{call}.txt"), text.as_bytes()) {
        Some(path) => {
            let next = serde_json::json!({ "file_path": path.display().to_string() });
            format!("the whole is in a file: `read` {next}")
        }
        None => "the rest could not be kept: ask for less in one call".to_owned(),
    };
    let shown = format!(
        "{}\n[{} bytes left out here; {rest}]\n{}",
        text.get(..head).unwrap_or_default(),
        tail - head,
        text.get(tail..).unwrap_or_default()
    );
    (shown, true)
}
