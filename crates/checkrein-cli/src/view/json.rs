//! JSON lines, for programs that watch a session.

use std::io::Write;

use checkrein::contract::{Code, EVENT_VERSION, Event, Outcome};
use checkrein::{Observer, Projection};
use serde_json::{Value, json};

/// The kinds of events that the documented lines show. The journal holds a few more, for its own proofs.
const SHOWN: &[&str] =
    &["session", "proposal", "decision", "ask", "approval", "started", "finished", "trim", "compacted", "stop"];

/// Writes a line for each event.
pub(crate) struct JsonLines {
    out: Box<dyn Write + Send>,
}

impl JsonLines {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out }
    }

    /// The last line.
    pub(crate) fn outcome(&mut self, outcome: &Outcome, seq: u64) {
        let mut line = json!({ "v": EVENT_VERSION, "seq": seq, "type": "outcome", "by": "code" });
        if let (Some(line), Ok(Value::Object(fields))) = (line.as_object_mut(), serde_json::to_value(outcome)) {
            line.extend(fields);
        }
        self.line(&line);
    }

    /// What a session would cost.
    pub(crate) fn projection(&mut self, projection: &Projection) {
        let mut line = json!({ "v": EVENT_VERSION, "type": "projection", "by": "code" });
        if let (Some(line), Ok(Value::Object(fields))) = (line.as_object_mut(), serde_json::to_value(projection)) {
            line.extend(fields);
        }
        self.line(&line);
    }

    /// What went wrong, where there is no answer; the same stands on standard error in words.
    pub(crate) fn error(&mut self, message: &str, code: Option<Code>, exit: u8) {
        let mut line = json!({ "v": EVENT_VERSION, "type": "error", "message": message, "exit": exit });
        if let Some(code) = code {
            line["code"] = json!(code);
        }
        self.line(&line);
    }

    fn line(&mut self, line: &Value) {
        // A reader that went away is no reason to stop the session.
        _ = writeln!(self.out, "{line}");
        _ = self.out.flush();
    }
}

impl Observer for JsonLines {
    fn event(&mut self, event: &Event) {
        if SHOWN.contains(&event.body.kind())
            && let Ok(line) = serde_json::to_value(event)
        {
            self.line(&line);
        }
    }
}
