//! A session that waits tells somebody, where the person named a program for that. It is a call of the harness's own: judged by
//! the session's rules, confined to its grant. What was decided and what came of it is noted, and changes nothing: the call is none
//! of the session's, so its decisions are notes and not the events that a state is made of.

use std::sync::Arc;

use checkrein_contract::{
    Actor, ApprovalState, Body, CallId, Code, Decision, Note, ProposedCall, Remembered, RuleId, SessionId, Status,
    Stop, Verdict, visible,
};
use checkrein_gate::{Gate, Judged, MAX_INPUT, RecordFailure, Recorder, Redactor, Refused, Registry, start};
use checkrein_policy::{Models, remember};
use checkrein_tools::CommandTool;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Session;
use super::scene::Snapshot;
use crate::log::SessionLog;
use crate::notify::{NAME, Notify};
use crate::setup::{load_policy, project_of};

/// Questions that are told at most; whoever has more looks for themselves.
const MOST: usize = 20;
/// Characters of one text.
const TEXT: usize = 500;

impl Session {
    /// Tells that the session waits, once. Nothing that goes wrong here is the session's business.
    pub(super) async fn tell(&mut self, stop: &Stop) {
        let waits = matches!(stop.status, Status::NeedsApproval | Status::NeedsInput);
        let Some(notify) = self.notify.take().filter(|_| waits) else { return };
        let (ended, said) = match self.told(&notify, stop).await {
            Ok(()) => ("ok", String::new()),
            Err(why) => ("failed", why),
        };
        let fields = json!({ "ended": ended, "said": self.gate.redactor.text(&short(&said)) });
        // Somebody may have answered already; then the note is lost, and nothing else.
        _ = self.log.record(Actor::Code, note("notified", fields)).and_then(|()| self.log.flush());
    }

    async fn told(&mut self, notify: &Notify, stop: &Stop) -> Result<(), String> {
        let input = fitted(self.line(stop), &self.gate.redactor);
        let models = Models::built_in().clone();
        let manifest = notify.outside(&project_of(self.log.state.opened()))?;
        let tool = CommandTool::of_person(manifest, notify.folder.clone(), models, input);
        let mut registry = Registry::new();
        registry.add_any(tool).map_err(|error| error.to_string())?;
        let mut gate = Gate {
            registry,
            policy: Arc::clone(&self.gate.policy),
            hooks: self.gate.hooks.clone(),
            guards: self.gate.guards.clone(),
            facts: Arc::clone(&self.gate.facts),
            sandbox: Arc::clone(&self.gate.sandbox),
            spill: Arc::clone(&self.gate.spill),
            redactor: self.gate.redactor.clone(),
        };
        let call = ProposedCall {
            id: CallId::new(format!("n-{}", self.log.state.seq())),
            tool: NAME.to_owned(),
            args: json!({}),
            raw: false,
            parallel: false,
            through: None,
        };
        let snapshot = Snapshot::of(&self.log.state, std::slice::from_ref(&call), true);
        let mut judged = self.decided(gate.judge(&call, &snapshot.scene()).await)?;
        if judged.decision().verdict == Verdict::Ask {
            // The person's file is their yes to this very program; what a rule asks about or denies stays so.
            let text = remember::rules(judged.decision(), judged.runs())?;
            let opened = self.log.state.opened();
            let mut sources = opened.policy.clone();
            sources.push(Remembered::source(&RuleId::new("r-notify"), &text));
            gate.policy = load_policy(&sources, &opened.place, &opened.identity, &opened.variables)
                .map_err(|error| error.to_string())?;
            judged = self.decided(gate.judge(&call, &snapshot.scene()).await)?;
        }
        let approved = judged.admit(None, self.clock.now_ms()).map_err(|refused| refused.decision.reason)?;
        let program = notify.manifest.argv.as_deref().and_then(<[String]>::first).cloned().unwrap_or_default();
        let mut noted = Noted { log: &mut self.log, program };
        let started = start(vec![approved], &mut noted).map_err(|failure| failure.reason)?;
        for one in started {
            let context = snapshot.run_context(&gate, &*gate.spill, &self.cancel);
            let ended = gate.run(one, &snapshot.scene(), context).await;
            if ended.code.is_some() {
                return Err(ended.cause.unwrap_or(ended.text));
            }
        }
        Ok(())
    }

    /// Notes what was decided of the call, each time it is.
    fn decided(&mut self, judged: Result<Judged, Refused>) -> Result<Judged, String> {
        let decision: &Decision = match &judged {
            Ok(judged) => judged.decision(),
            Err(refused) => &refused.decision,
        };
        let decision = self.gate.redactor.value(json!(decision));
        self.log
            .record(Actor::Code, note("notify_decided", json!({ "decision": decision })))
            .map_err(|failure| failure.reason)?;
        judged.map_err(|refused| refused.decision.reason)
    }

    /// What is waited for, without arguments: those may be nobody else's business.
    fn line(&self, stop: &Stop) -> Value {
        let state = &self.log.state;
        let now = self.clock.now_ms();
        let open = state.approvals().filter(|approval| approval.state(now) == ApprovalState::Pending);
        let all: Vec<Value> = open
            .map(|approval| {
                let request = approval.request();
                json!({ "id": request.id, "tool": short(&request.tool), "reason": short(&request.reason) })
            })
            .collect();
        let unknown: Vec<CallId> = match stop.code {
            Code::ToolOutcomeUnknown => state.unknown_outcomes().into_iter().take(MOST).map(|call| call.id).collect(),
            _ => Vec::new(),
        };
        let line = Line {
            session: state.session(),
            resume: state.opened().parent.as_ref().map_or(state.session(), |parent| &parent.session),
            task: short(&state.opened().task),
            status: stop.status,
            code: stop.code,
            reason: short(&stop.reason),
            more: all.len().saturating_sub(MOST),
            waits_for: all.into_iter().take(MOST).collect(),
            unknown,
        };
        json!(line)
    }
}

/// What the program is told, as one line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    session: &'a SessionId,
    /// The session to take up: the one that gave a part, where a part waits.
    resume: &'a SessionId,
    task: String,
    status: Status,
    code: Code,
    reason: String,
    waits_for: Vec<Value>,
    /// Questions that are not among them.
    more: usize,
    unknown: Vec<CallId>,
}

/// The start of the program as a note: the call is none of the session's, so the state knows nothing of it.
struct Noted<'a> {
    log: &'a mut SessionLog,
    program: String,
}

impl Recorder for Noted<'_> {
    fn record(&mut self, by: Actor, _body: Body) -> Result<(), RecordFailure> {
        self.log.record(by, note("notifies", json!({ "program": self.program })))
    }

    fn flush(&mut self) -> Result<(), RecordFailure> {
        self.log.flush()
    }
}

fn note(name: &str, fields: Value) -> Body {
    let fields = fields.as_object().cloned().unwrap_or_else(Map::new);
    Body::Note(Note { name: name.to_owned(), fields })
}

/// The beginning of a text, in which nothing steers whoever shows it.
fn short(text: &str) -> String {
    let text: String = text.chars().take(TEXT).collect();
    visible(&text).into_owned()
}

/// The line without secrets, and with as many of the questions as it has room for.
fn fitted(line: Value, redactor: &Redactor) -> String {
    let mut line = redactor.value(line);
    loop {
        let text = format!("{line}\n");
        let left_out = match line.get_mut("waits_for").and_then(Value::as_array_mut) {
            Some(asked) if text.len() > MAX_INPUT => asked.pop().is_some(),
            _ => false,
        };
        if !left_out {
            return text;
        }
        if let Some(more) = line.get_mut("more") {
            *more = json!(more.as_u64().unwrap_or_default() + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However long the questions are, the line is one that a program can be given, and says how many it leaves out.
    #[test]
    fn the_line_fits() {
        let long = short(&"\u{1}\u{202e}".repeat(TEXT));
        let asked = |n: usize| json!({ "id": n, "tool": long, "reason": long });
        let all = |count: usize| json!({ "waits_for": (0..count).map(asked).collect::<Vec<_>>(), "more": 3 });
        let text = fitted(all(MOST), &Redactor::default());
        assert!(text.len() <= MAX_INPUT && text.len() > MAX_INPUT / 2, "{}", text.len());
        let line: Value = serde_json::from_str(&text).unwrap();
        let shown = line["waits_for"].as_array().unwrap().len();
        assert_eq!(line["more"], json!(MOST - shown + 3));
        assert_eq!(fitted(all(1), &Redactor::default()), format!("{}\n", all(1)));
        assert!(!text.contains('\u{202e}') && text.contains("\\\\u{202e}"), "{text}");
    }
}
