//! A session as it happens: the model's words, one line a call with its decision, diffs, results, and a spinner while
//! something takes long. What a journal tells afterwards is the business of `story`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use checkrein::Observer;
use checkrein::contract::{
    Actor, Answer, ApprovalId, Body, CallId, CheckRound, Code, Decision, Event, Finished, FinishedAs, Note,
    Presentation, ProposalKind, ProposedCall, SessionOpened, Settlement, Verdict,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::phrases::{call_in_a_line, message_of, model_of, printable, put_away, time_of};
use super::why::reason;
use super::width::{columns, wrapped};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();

/// How many lines of a result are shown.
const RESULT_LINES: usize = 8;
/// How much of what is behind a failure is shown, characters; `show --json` has all of it.
const CAUSE_CHARS: usize = 400;
/// How many lines of a diff are shown.
const DIFF_LINES: usize = 60;

/// Prints a session.
pub(crate) struct Live {
    out: Box<dyn Write + Send>,
    terminal: bool,
    /// The cursor stands in a line of the model's text.
    in_text: bool,
    /// A reply has begun; it is set off from what stands above.
    in_reply: bool,
    calls: BTreeMap<CallId, (String, Value)>,
    asked: BTreeMap<ApprovalId, CallId>,
    /// Calls that somebody said yes to.
    yes: BTreeSet<CallId>,
    spinner: Option<ProgressBar>,
}

impl Live {
    /// For a session that is running.
    pub(crate) fn new(out: Box<dyn Write + Send>, terminal: bool) -> Self {
        Self {
            out,
            terminal,
            in_text: false,
            in_reply: false,
            calls: BTreeMap::new(),
            asked: BTreeMap::new(),
            yes: BTreeSet::new(),
            spinner: None,
        }
    }

    fn line(&mut self, text: &str) {
        self.still();
        if self.in_text {
            _ = writeln!(self.out);
            self.in_text = false;
        }
        // A reader that went away is no reason to stop the session.
        _ = writeln!(self.out, "{text}");
        _ = self.out.flush();
    }

    /// A line of our own words: on a terminal broken at blanks, what follows further in.
    fn told(&mut self, text: &str) {
        if !self.terminal {
            return self.line(text);
        }
        let indent = text.len() - text.trim_start_matches(' ').len() + 4;
        let lines = wrapped(text, columns(), &" ".repeat(indent));
        self.line(&lines.join("\n"));
    }

    /// Ends the spinner.
    fn still(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn session(&mut self, opened: &SessionOpened) {
        self.line(&format!(
            "{BOLD}{}{BOLD:#}  {DIM}session {}, {}{DIM:#}",
            printable(&opened.task),
            opened.session,
            printable(&model_of(opened))
        ));
        self.line(&format!("{DIM}in {}{DIM:#}", printable(&opened.place.root)));
        let trusted = opened.folder.is_some()
            && opened.policy.iter().any(|source| source.layer == checkrein::contract::Layer::Project);
        if trusted {
            self.line(&format!("{DIM}the policy of this task folder counts, since you named the folder{DIM:#}"));
        }
        match &opened.unconfined_by {
            Some(by) => self.told(&format!("{YELLOW}note{YELLOW:#}: {} (allowed by: {by})", opened.confinement)),
            None if opened.confined => self.told(&format!("{DIM}{}{DIM:#}", printable(&opened.confinement))),
            None => self.told(&format!("{YELLOW}note{YELLOW:#}: {}; each is asked about", opened.confinement)),
        }
    }

    fn decision(&mut self, call: &CallId, tool: &str, decision: &Decision) {
        let args = self.calls.get(call).map(|(_, args)| call_in_a_line(args)).unwrap_or_default();
        let (style, word) = match decision.verdict {
            Verdict::Allow => (GREEN, "allow"),
            // Why it was asked about stood at the question.
            Verdict::Ask if self.yes.contains(call) => (GREEN, "approved"),
            Verdict::Ask => (YELLOW, "ask"),
            Verdict::Deny => (RED, "deny"),
        };
        let why =
            if word == "approved" { String::new() } else { format!(" {DIM}{}{DIM:#}", printable(&reason(decision))) };
        self.told(&format!("  {BOLD}{}{BOLD:#} {args}  {style}{word}{style:#}{why}", printable(tool)));
    }

    fn started(&mut self, call: &CallId) {
        if !self.terminal {
            return;
        }
        let Some((tool, args)) = self.calls.get(call) else { return };
        let spinner = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("    {spinner} {msg} {elapsed}") {
            spinner.set_style(style);
        }
        spinner.set_message(format!("{} {}", printable(tool), call_in_a_line(args)));
        spinner.enable_steady_tick(Duration::from_millis(120));
        self.spinner = Some(spinner);
    }

    fn finished(&mut self, finished: &Finished) {
        self.still();
        let took = if finished.duration_ms >= 100 {
            format!("  {DIM}[{:.1} s]{DIM:#}", finished.duration_ms as f64 / 1_000.0)
        } else {
            String::new()
        };
        if let Some(code) = finished.code {
            let message = message_of(&finished.text);
            let style = if finished.ended == FinishedAs::Refused { YELLOW } else { RED };
            self.told(&format!("    {style}{code}{style:#} {}{took}", printable(&message)));
            // Where the message says it all, the cause is the same once more.
            if let Some(cause) = finished.cause.as_ref().filter(|cause| !message.contains(cause.as_str())) {
                let cause: String = printable(cause).chars().take(CAUSE_CHARS).collect();
                self.told(&format!("      {DIM}{cause}{DIM:#}"));
            }
            return;
        }
        match &finished.shown {
            Some(Presentation::Diff { text, .. }) => {
                self.diff(text);
                if !took.is_empty() {
                    self.line(&format!("  {took}"));
                }
            }
            Some(Presentation::Line { text }) => self.line(&format!("    {}{took}", printable(text))),
            None => self.result(&finished.text, &took),
        }
    }

    /// The end of a result says most: how a test run ended, how much was read.
    fn result(&mut self, text: &str, took: &str) {
        let text = printable(text.trim_end());
        let lines: Vec<&str> = text.lines().collect();
        let skipped = lines.len().saturating_sub(RESULT_LINES);
        if skipped > 0 {
            self.line(&format!("    {DIM}... {skipped} lines above{DIM:#}"));
        }
        let last = lines.len().saturating_sub(1);
        for (index, line) in lines.iter().enumerate().skip(skipped) {
            let end = if index == last { took } else { "" };
            let short: String = line.chars().take(160).collect();
            self.line(&format!("    {DIM}{short}{DIM:#}{end}"));
        }
    }

    fn diff(&mut self, text: &str) {
        let text = printable(text.trim_end());
        for line in text.lines().take(DIFF_LINES) {
            let style = match line.chars().next() {
                Some('+') => GREEN,
                Some('-') => RED,
                _ => DIM,
            };
            self.line(&format!("    {style}{line}{style:#}"));
        }
        let more = text.lines().count().saturating_sub(DIFF_LINES);
        if more > 0 {
            self.line(&format!("    {DIM}... {more} more lines{DIM:#}"));
        }
    }

    /// Remembers the calls of an earlier process, so that a resumed session shows them in full.
    pub(crate) fn remember(&mut self, events: &[Event]) {
        for event in events {
            match &event.body {
                Body::Proposal { calls, .. }
                | Body::Check(CheckRound { calls, .. })
                | Body::Instructions(CheckRound { calls, .. }) => self.know(calls),
                Body::Ask(request) => _ = self.asked.insert(request.id.clone(), request.call.clone()),
                Body::Approval { id, answer } => self.answered(id, answer),
                _ => {}
            }
        }
    }

    fn answered(&mut self, id: &ApprovalId, answer: &Answer) {
        let Some(call) = self.asked.get(id) else { return };
        match answer {
            Answer::Approved { .. } => _ = self.yes.insert(call.clone()),
            _ => _ = self.yes.remove(call),
        }
    }

    fn know(&mut self, calls: &[ProposedCall]) {
        for call in calls {
            self.calls.insert(call.id.clone(), (call.tool.clone(), call.args.clone()));
        }
    }

    fn proposal(&mut self, kind: ProposalKind, defect: Option<Code>) {
        if self.in_text {
            _ = writeln!(self.out);
            self.in_text = false;
        }
        self.in_reply = false;
        if kind == ProposalKind::Malformed {
            let code = defect.map_or("it is empty", Code::as_str);
            self.line(&format!("  {RED}this reply can not be used{RED:#} {DIM}{code}{DIM:#}"));
        }
    }

    /// What a request does not show any more.
    fn shows_less(&mut self, body: &Body) {
        let what = match body {
            Body::Trim { results, .. } => format!("{} older results are left out of this request", results.len()),
            Body::Compacted(event) => printable(&put_away(event)),
            _ => return,
        };
        self.line(&format!("{DIM}{what}{DIM:#}"));
    }

    fn settled(&mut self, by: &Actor, call: &CallId, settlement: Settlement, note: &str) {
        let tool = self.calls.get(call).map_or("", |(tool, _)| tool.as_str());
        let what = match settlement {
            Settlement::Repeat => "may be run again",
            Settlement::Done => "took effect",
            Settlement::Failed => "did not take effect",
            Settlement::Unknown => "may have taken effect: nobody can tell",
        };
        let line = format!(
            "    {} says: {} {what} {DIM}{call}{DIM:#} {}",
            printable(&by.to_string()),
            printable(tool),
            printable(note)
        );
        self.line(line.trim_end());
    }

    fn approval(&mut self, by: &Actor, id: &ApprovalId, answer: &Answer) {
        self.answered(id, answer);
        let by = printable(&by.to_string());
        let because = |reason: &str| if reason.is_empty() { String::new() } else { format!(": {}", printable(reason)) };
        let said = match answer {
            Answer::Approved { expires_at, .. } => {
                format!("says {GREEN}yes{GREEN:#} {DIM}until {}{DIM:#}", time_of(*expires_at))
            }
            Answer::Denied { reason } => format!("says {RED}no{RED:#}{}", because(reason)),
            Answer::Revoked { reason } => format!("{RED}takes the yes back{RED:#}{}", because(reason)),
            Answer::Withdrawn { reason } => format!("{YELLOW}takes the question back{YELLOW:#}{}", because(reason)),
        };
        self.line(&format!("    {by} {said} {DIM}to {id}{DIM:#}"));
    }
}

impl Live {
    fn notified(&mut self, note: &Note) {
        if note.fields.get("ended").and_then(Value::as_str) == Some("ok") {
            return self.line(&format!("{DIM}told that it waits{DIM:#}"));
        }
        let said = note.fields.get("said").and_then(Value::as_str).unwrap_or_default();
        self.line(&format!("{YELLOW}nobody could be told that it waits{YELLOW:#}: {}", printable(&message_of(said))));
    }

    fn remembered(&mut self, event: &Event) {
        let by = printable(&event.by.to_string());
        match &event.body {
            Body::Remembered(yes) => {
                self.line(&format!("    {by} wants the yes remembered {DIM}as {}{DIM:#}", yes.rule));
            }
            Body::Forgotten { rule, .. } => {
                self.line(&format!("    {by} {RED}takes back{RED:#} what was remembered {DIM}as {rule}{DIM:#}"));
            }
            _ => {}
        }
    }

    fn hooked(&mut self, by: &Actor, call: &CallId, new: &Value) {
        let by = printable(&by.to_string());
        self.line(&format!("  {YELLOW}{by}{YELLOW:#} changed the arguments of {call}"));
        if let Some((_, args)) = self.calls.get_mut(call) {
            *args = new.clone();
        }
    }
}

impl Observer for Live {
    fn event(&mut self, event: &Event) {
        match &event.body {
            Body::Session(opened) => self.session(opened),
            Body::Proposal { kind, calls, defect, .. } => {
                self.know(calls);
                self.proposal(*kind, *defect);
            }
            Body::Check(round) => {
                self.know(&round.calls);
                self.line(&format!("\n{DIM}the harness checks the work{DIM:#}"));
            }
            Body::Instructions(round) => {
                self.know(&round.calls);
                self.line(&format!("\n{DIM}the harness reads the project's instructions{DIM:#}"));
            }
            Body::Hook(note) => self.hooked(&event.by, &note.call, &note.new),
            Body::Decision { call, tool, decision, .. } => self.decision(call, tool, decision),
            Body::Ask(request) => {
                self.asked.insert(request.id.clone(), request.call.clone());
                self.line(&format!("    {DIM}asked as {}{DIM:#}", request.id));
            }
            Body::Approval { id, answer } => self.approval(&event.by, id, answer),
            Body::AnswerRefused { id, code, reason } => self.line(&format!(
                "    {} answers, and it does not count: {YELLOW}{code}{YELLOW:#} {} {DIM}to {id}{DIM:#}",
                printable(&event.by.to_string()),
                printable(reason)
            )),
            Body::Remembered(_) | Body::Forgotten { .. } => self.remembered(event),
            Body::Started { call, .. } => self.started(call),
            Body::Finished(finished) => self.finished(finished),
            Body::Trim { .. } | Body::Compacted(_) => self.shows_less(&event.body),
            Body::Request { last: Some(limit), .. } => {
                self.line(&format!(
                    "{YELLOW}the budget for {limit} is spent{YELLOW:#}; the model is asked for a last answer"
                ));
            }
            // The last failure is the reason that the stop gives, and so is an interruption.
            Body::RequestFailed { reason, retry: true, code, .. } if *code != Code::Interrupted => {
                self.line(&format!(
                    "  {YELLOW}the model could not answer{YELLOW:#}: {}; trying again",
                    printable(reason)
                ));
            }
            Body::Settled { call, settlement, note } => self.settled(&event.by, call, *settlement, note),
            Body::Budget { budget } => {
                let by = printable(&event.by.to_string());
                self.line(&format!("  {by} set the budget: {budget}"));
            }
            Body::Resumed { .. } => self.line(&format!("{DIM}resumed{DIM:#}")),
            Body::Recomposed(change) => {
                let by = if event.by == Actor::Code { String::new() } else { format!(", by {}", event.by) };
                for change in &change.changes {
                    self.line(&format!("{DIM}from here on{by}: {}{DIM:#}", printable(change)));
                }
            }
            Body::Input { text, .. } => {
                self.line(&format!("    {} answers: {}", printable(&event.by.to_string()), printable(text)));
            }
            Body::Note(note) if note.name == "notified" => self.notified(note),
            Body::Request { .. } | Body::RequestFailed { .. } | Body::Stop(_) | Body::Note(_) => {}
        }
    }

    fn text(&mut self, piece: &str) {
        self.still();
        if !self.in_reply {
            self.in_reply = true;
            _ = writeln!(self.out);
        }
        _ = write!(self.out, "{}", printable(piece));
        _ = self.out.flush();
        self.in_text = !piece.ends_with('\n');
    }

    fn void(&mut self) {
        self.in_reply = false;
        if self.in_text {
            self.line(&format!(" {DIM}[broken off]{DIM:#}"));
        }
    }
}
