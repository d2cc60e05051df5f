//! A session as its journal tells it, for people: who proposed, who decided and by which rule, who said yes, how it ended.
//!
//! What belongs to one call stands together, also where calls overlapped; what a sub-session did stands inside of the call
//! that it did it for.

use std::collections::BTreeMap;

use checkrein::contract::{
    Actor, Answer, Body, CallId, CheckRound, Code, Decision, Event, Finished, FinishedAs, Presentation, ProposalKind,
    ProposedCall, SessionChange, SessionId, SessionOpened, Status, Stop, Verdict,
};
use checkrein::session::State;
use checkrein::usage::counted;
use serde_json::Value;

use super::page::{BOLD, DIM, GREEN, LABEL, Page, RED, Row, Text, YELLOW, since};
use super::phrases::{
    arguments_in_lines, call_in_a_line, compared, grouped, message_of, model_of, printable, put_away, time_of,
};
use super::why::{reason, verdict_style};

/// How much of what is behind a failure is shown, characters.
const CAUSE_CHARS: usize = 400;
/// A call that took less than this says nothing of its time, milliseconds.
const WORTH_SAYING: u64 = 1_000;

/// Where the events of other sessions are found.
pub(crate) type Read<'a> = &'a dyn Fn(&SessionId) -> Option<Vec<Event>>;

/// Tells a session.
pub(crate) fn story(out: &mut dyn std::io::Write, events: &[Event], full: bool, read: Read<'_>) {
    tell(&mut Page::new(out, full), events, read);
}

fn tell(page: &mut Page<'_>, events: &[Event], read: Read<'_>) {
    let Some((Event { body: Body::Session(opened), at, .. }, rest)) = events.split_first() else {
        page.head("this session has no events");
        return;
    };
    let state = State::fold(events).ok();
    head(page, opened, *at, events, state.as_ref());
    let watched = opened.is_watched();
    let mut teller = Teller { page, read, began: *at, watched, calls: BTreeMap::new(), order: Vec::new() };
    if !watched {
        teller.page.block(&since(0), &Row::prose("prompt", BOLD, &opened.prompt));
    }
    rest.iter().for_each(|event| teller.event(event));
    teller.flush();
    if let Some(state) = state {
        used(page, &state, events);
    }
}

fn head(page: &mut Page<'_>, opened: &SessionOpened, began: u64, events: &[Event], state: Option<&State>) {
    let stop = state.and_then(State::stop);
    let (style, word) = match stop {
        Some(stop) => (status_style(stop.status), stop.status.as_str()),
        None if opened.is_watched() => (DIM, "watched"),
        None => (YELLOW, "not at its end"),
    };
    if page.is_inside() {
        page.head(&format!("  {BOLD}sub-session {}{BOLD:#}  {style}{word}{style:#}", opened.session));
        return;
    }
    page.head(&format!("{BOLD}{}{BOLD:#}  {style}{word}{style:#}", printable(&opened.task)));
    page.fact("session", &format!("{}, {} events, began {}", opened.session, events.len(), time_of(began)));
    if let Some(forked) = &opened.forked {
        page.fact("forked", &format!("from {} behind event {}", forked.session, forked.seq));
    }
    if let Some(parent) = &opened.parent {
        page.fact("part of", &format!("{}, its call {}", parent.session, parent.call));
    }
    page.fact("model", &model_of(opened));
    page.fact("workspace", &opened.place.root);
    if !opened.identity.0.is_empty() {
        let names: Vec<_> = opened.identity.0.iter().map(|(name, value)| format!("{name} {value}")).collect();
        page.fact("for", &names.join(", "));
    }
    if let Some(by) = &opened.unconfined_by {
        page.fact("sandbox", &format!("{} (allowed by: {by})", opened.confinement));
    } else {
        page.fact("sandbox", &opened.confinement);
    }
}

fn used(page: &mut Page<'_>, state: &State, events: &[Event]) {
    let spend = state.spend();
    if spend.steps == 0 {
        return;
    }
    let count = |number: u32, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let estimated = if spend.usage.estimated { " (estimated)" } else { "" };
    let (input, output) = (grouped(spend.usage.input), grouped(spend.usage.output));
    let mut text = format!("{}, {}", count(spend.steps, "step"), count(spend.calls, "call"));
    if spend.usage.total() > 0 {
        text.push_str(&format!(", {input} tokens in, {output} out{estimated}"));
    }
    if !spend.cost.is_nothing() {
        text.push_str(&format!(", {}", spend.cost));
    }
    page.row(&Row::prose("used", DIM, text));
    if let Some(counted) = counted(events) {
        page.row(&Row::prose("counted", DIM, compared(&counted)));
    }
    let lost = events.iter().find_map(|event| match &event.body {
        Body::Proposal { provider, .. } => provider.get("schemas")?.as_array(),
        _ => None,
    });
    for what in lost.into_iter().flatten().filter_map(Value::as_str) {
        let text = format!("the wire does not take this, so it was said in words: {}", printable(what));
        page.row(&Row::prose("schema", DIM, text));
    }
}

fn status_style(status: Status) -> anstyle::Style {
    match status {
        Status::Completed => GREEN,
        Status::NeedsApproval | Status::NeedsInput => YELLOW,
        Status::Blocked | Status::BudgetExhausted | Status::Cancelled | Status::Failed => RED,
    }
}

/// What is told of one call.
#[derive(Default)]
struct Told {
    tool: String,
    args: Value,
    decided: Option<Decision>,
    rows: Vec<Row>,
    /// The time, where it begins something new.
    block: Option<u64>,
    /// A sub-session did it.
    inside: Option<SessionId>,
}

struct Teller<'p, 'o, 'r> {
    page: &'p mut Page<'o>,
    read: Read<'r>,
    began: u64,
    watched: bool,
    calls: BTreeMap<CallId, Told>,
    /// Calls with something to tell, in the order they were proposed.
    order: Vec<CallId>,
}

impl Teller<'_, '_, '_> {
    fn event(&mut self, event: &Event) {
        match &event.body {
            Body::Proposal { kind, text, calls, defect, .. } => self.proposal(event, *kind, text, calls, *defect),
            Body::Check(CheckRound { calls, .. }) => {
                self.block(event, Row::prose("check", BOLD, "the harness checks the work"));
                self.know(calls);
            }
            Body::Instructions(CheckRound { calls, .. }) => {
                self.block(event, Row::prose("project", BOLD, "the harness reads its instructions"));
                self.know(calls);
            }
            Body::Hook(note) => {
                let by = event.by.to_string();
                self.add(&note.call, Row::prose("hook", YELLOW, format!("{by} changed the arguments")));
                self.told(&note.call).args = note.new.clone();
            }
            Body::Decision { call, tool, decision, .. } => self.decision(call, tool, decision),
            Body::Ask(request) => {
                let text = format!("{}, open until {}", request.id, time_of(request.expires_at));
                self.add(&request.call, Row::prose("asked", YELLOW, text));
            }
            Body::Started { call, approval: Some(id), .. } => {
                self.add(call, Row::prose("runs", GREEN, format!("with the yes to {id}")));
            }
            Body::Finished(finished) => self.finished(finished),
            Body::Session(_) | Body::Started { .. } => {}
            other => self.between(event, other),
        }
    }

    /// What stands between calls and replies.
    fn between(&mut self, event: &Event, body: &Body) {
        let row = match body {
            Body::Approval { id, answer } => approval(&event.by, id.as_str(), answer),
            Body::AnswerRefused { id, code, reason } => {
                by(&event.by, YELLOW, &format!("answers {id}, and it does not count: {code} {reason}"))
            }
            Body::Remembered(yes) => {
                by(&event.by, GREEN, &format!("wants the yes to {} remembered: {}", yes.request, yes.rule))
            }
            Body::Forgotten { rule, reason, .. } => {
                by(&event.by, RED, &format!("takes the remembered yes {rule} back{}", because(reason)))
            }
            Body::Input { text, .. } => by(&event.by, BOLD, text),
            Body::Settled { call, settlement, note } => {
                let note = if note.is_empty() { String::new() } else { format!(": {note}") };
                by(&event.by, BOLD, &format!("says of {call}: {}{note}", settlement.as_str()))
            }
            Body::Budget { budget } => by(&event.by, BOLD, &format!("sets the budget to {budget}")),
            Body::Recomposed(change) => by(&event.by, BOLD, &format!("from here on: {}", change.changes.join("\n"))),
            Body::Resumed { .. } => Row::prose("resumed", DIM, ""),
            Body::Trim { results, policy, .. } => {
                let text = format!("{} older results are left out from here on ({policy})", results.len());
                Row::prose("context", DIM, text)
            }
            Body::Compacted(event) => Row::prose("context", DIM, put_away(event)),
            Body::Request { last: Some(limit), .. } => {
                Row::prose("budget", YELLOW, format!("for {limit} it is spent; the model is asked for a last answer"))
            }
            // The last failure is the reason that the stop gives.
            Body::RequestFailed { reason, retry: true, .. } => {
                Row::prose("model", YELLOW, format!("could not answer: {reason}; asked again"))
            }
            Body::Stop(Stop { status, reason, .. }) => {
                Row::prose("stop", status_style(*status), format!("{status}: {reason}"))
            }
            _ => return,
        };
        self.block(event, row);
    }

    fn proposal(
        &mut self,
        event: &Event,
        kind: ProposalKind,
        text: &str,
        calls: &[ProposedCall],
        defect: Option<Code>,
    ) {
        if self.watched {
            self.flush();
            self.know(calls);
            calls.iter().for_each(|call| self.told(&call.id).block = Some(event.at));
            return;
        }
        let text = if text.is_empty() && !calls.is_empty() { "(no words)" } else { text };
        self.block(event, Row::prose("model", BOLD, text));
        if kind == ProposalKind::Malformed {
            let code = defect.map_or("it is empty", Code::as_str);
            self.page.row(&Row::prose("unusable", RED, code));
        }
        self.know(calls);
    }

    fn know(&mut self, calls: &[ProposedCall]) {
        for call in calls {
            let told = self.told(&call.id);
            told.tool.clone_from(&call.tool);
            told.args.clone_from(&call.args);
            self.order.push(call.id.clone());
        }
    }

    fn told(&mut self, call: &CallId) -> &mut Told {
        self.calls.entry(call.clone()).or_default()
    }

    fn add(&mut self, call: &CallId, row: Row) {
        self.told(call).rows.push(row);
        if !self.order.contains(call) {
            self.order.push(call.clone());
        }
    }

    fn block(&mut self, event: &Event, row: Row) {
        self.flush();
        self.page.block(&since(event.at.saturating_sub(self.began)), &row);
    }

    /// Tells what is known of the calls since the last time.
    fn flush(&mut self) {
        for call in std::mem::take(&mut self.order) {
            let (began, full, read) = (self.began, self.page.full(), self.read);
            let told = self.calls.entry(call.clone()).or_default();
            let (rows, inside) = (std::mem::take(&mut told.rows), told.inside.take());
            if rows.is_empty() {
                // Not decided yet: it is told when it is.
                self.order.push(call);
                continue;
            }
            let text = format!("{BOLD}{}{BOLD:#} {}", printable(&told.tool), call_in_a_line(&told.args));
            match told.block.take() {
                Some(at) => self.page.block(&since(at.saturating_sub(began)), &Row::call(call.as_str(), text)),
                None => self.page.row(&Row::call(call.as_str(), text)),
            }
            if full {
                for (name, value) in arguments_in_lines(&told.args) {
                    self.page.row(&Row::new("", DIM, format!("{name}: {value}"), Text::Output));
                }
            }
            let (last, first) = rows.split_last().map_or((None, rows.as_slice()), |(last, first)| (Some(last), first));
            first.iter().for_each(|row| self.page.row(row));
            if let Some(events) = inside.and_then(|session| read(&session)) {
                tell(&mut self.page.inside(), &events, read);
            }
            last.into_iter().for_each(|row| self.page.row(row));
        }
    }

    fn decision(&mut self, call: &CallId, tool: &str, decision: &Decision) {
        let before = self.told(call).decided.replace(decision.clone());
        if decision.trace.is_empty() {
            // Refused before any rule was asked: the end of the call says why.
            return;
        }
        let said = if before
            .as_ref()
            .is_some_and(|before| before.verdict == decision.verdict && before.reason == decision.reason)
        {
            "as before".to_owned()
        } else {
            reason(decision)
        };
        let told = self.told(call);
        if told.tool.is_empty() {
            tool.clone_into(&mut told.tool);
        }
        self.add(call, Row::prose(decision.verdict.as_str(), verdict_style(decision.verdict), said));
    }

    fn finished(&mut self, finished: &Finished) {
        let took = if finished.duration_ms >= WORTH_SAYING {
            format!(" [{:.1} s]", finished.duration_ms as f64 / 1_000.0)
        } else {
            String::new()
        };
        if let Some(SessionChange::Delegated { session, .. }) = &finished.change {
            self.told(&finished.call).inside = Some(session.clone());
        }
        let told = self.told(&finished.call);
        let refused_as_decided = told.decided.as_ref().is_some_and(|decision| {
            finished.ended == FinishedAs::Refused
                && decision.verdict == Verdict::Deny
                && finished.code == Some(decision.code)
                && !decision.trace.is_empty()
        });
        if refused_as_decided {
            return;
        }
        let (label, style) = match finished.ended {
            FinishedAs::Ok if finished.code.is_none() => ("result", DIM),
            FinishedAs::Answered => ("answered", YELLOW),
            FinishedAs::Refused => ("refused", YELLOW),
            FinishedAs::Ok | FinishedAs::Failed => ("failed", RED),
            FinishedAs::Unknown => ("unknown", RED),
            FinishedAs::NotStarted => ("not run", YELLOW),
            FinishedAs::Left => ("left", GREEN),
        };
        let row = match (finished.code, &finished.shown) {
            (Some(code), _) => {
                let message = message_of(&finished.text);
                // Where the message says it all, the cause is the same once more.
                let cause = finished.cause.as_ref().filter(|cause| !message.contains(cause.as_str()));
                let most = if self.page.full() { usize::MAX } else { CAUSE_CHARS };
                let cause = cause.map(|cause| cause.chars().take(most).collect::<String>());
                let cause = cause.map_or_else(String::new, |cause| format!("\nbecause: {cause}"));
                Row::prose(label, style, format!("{code} {message}{took}{cause}"))
            }
            (None, Some(Presentation::Diff { text, .. })) => Row::new(label, style, text, Text::Diff),
            (None, Some(Presentation::Line { text })) if !self.page.full() => {
                Row::new(label, style, format!("{text}{took}"), Text::Output)
            }
            (None, _) if finished.ended == FinishedAs::Left => Row::prose(label, style, &finished.text),
            (None, _) => Row::new(label, style, format!("{}{took}", finished.text.trim_end()), Text::Output),
        };
        self.add(&finished.call, row);
    }
}

fn approval(person: &Actor, id: &str, answer: &Answer) -> Row {
    let said = match answer {
        Answer::Approved { expires_at, .. } => format!("says yes to {id}, until {}", time_of(*expires_at)),
        Answer::Denied { reason } => format!("says no to {id}{}", because(reason)),
        Answer::Revoked { reason } => format!("takes the yes to {id} back{}", because(reason)),
        Answer::Withdrawn { reason } => format!("takes the question {id} back{}", because(reason)),
    };
    let style = if matches!(answer, Answer::Approved { .. }) { GREEN } else { RED };
    by(person, style, &said)
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// A row of somebody, with their name in the column of who or what where it fits.
fn by(actor: &Actor, style: anstyle::Style, said: &str) -> Row {
    match actor {
        Actor::Person(name) if name.chars().count() <= LABEL => Row::prose(name, style, said),
        Actor::Person(name) => Row::prose("person", style, format!("{name} {said}")),
        Actor::Model => Row::prose("model", style, said),
        Actor::Code => Row::prose("harness", style, said),
        Actor::Hook(name) => Row::prose("hook", style, format!("{name} {said}")),
    }
}
