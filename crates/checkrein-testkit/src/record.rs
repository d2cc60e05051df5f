//! What the journal says of a session, for assertions.

use checkrein::Harness;
use checkrein::journal::transcript_lines;
use checkrein::verify::{Anchors, verify};
use checkrein_contract::{
    Body, CallId, Code, Decision, Effect, Event, ProposedCall, SessionId, SessionOpened, Verdict, Winner,
};
use serde_json::Value;

use crate::Runs;

/// A session as its journal has it. The journal is proved first: chain, signatures, and every invariant.
#[derive(Clone, Debug)]
pub struct Record {
    /// All events, in order.
    pub events: Vec<Event>,
}

/// One call, from its proposal to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// Its id.
    pub id: CallId,
    /// The tool that was named.
    pub tool: String,
    /// Its arguments, as they were decided: what hooks made of them.
    pub args: Value,
    /// What was decided last; `None` while nothing is.
    pub verdict: Option<Verdict>,
    /// The rules that decided, by id.
    pub rules: Vec<String>,
    /// What it would do.
    pub effects: Vec<Effect>,
    /// It was started.
    pub started: bool,
    /// Why it did not end well.
    pub code: Option<Code>,
    /// What the model read; `None` while it waits.
    pub text: Option<String>,
}

impl Record {
    /// The record of a session.
    ///
    /// # Panics
    /// Where it can not be read, or does not prove.
    pub fn of(harness: &Harness, session: &SessionId) -> Self {
        let events = harness.store.read(session, 1).unwrap_or_else(|error| panic!("{error}"));
        match verify(&*harness.store, session, &Anchors::default()) {
            Ok(Ok(_)) => Self { events },
            Ok(Err(problem)) => panic!("the journal of {session} does not prove: {problem:?}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// The calls in the order they were proposed, the harness's own checks included.
    pub fn calls(&self) -> Vec<Called> {
        let mut calls: Vec<Called> = Vec::new();
        for event in &self.events {
            match &event.body {
                Body::Proposal { calls: proposed, .. } => calls.extend(proposed.iter().map(Called::new)),
                Body::Check(round) | Body::Instructions(round) => calls.extend(round.calls.iter().map(Called::new)),
                Body::Hook(note) => with(&mut calls, &note.call, |call| call.args = note.new.clone()),
                Body::Decision { call, decision, .. } => with(&mut calls, call, |known| known.decided(decision)),
                Body::Started { call, .. } => with(&mut calls, call, |call| call.started = true),
                Body::Finished(end) => with(&mut calls, &end.call, |call| {
                    call.code = end.code;
                    call.text = Some(end.text.clone());
                }),
                _ => {}
            }
        }
        calls
    }

    /// The calls of one tool.
    pub fn calls_of(&self, tool: &str) -> Vec<Called> {
        self.calls().into_iter().filter(|call| call.tool == tool).collect()
    }

    /// What the calls that were started would do, in order.
    pub fn effects(&self) -> Vec<Effect> {
        self.calls().into_iter().filter(|call| call.started).flat_map(|call| call.effects).collect()
    }

    /// The transcript: one line an event, without ids, times and durations, folders by name. The same script gives the same
    /// bytes, here and on another machine, so it makes a snapshot.
    pub fn transcript(&self) -> String {
        transcript_lines(&self.events).into_iter().map(|line| line + "\n").collect()
    }

    fn opened(&self) -> Option<&SessionOpened> {
        self.events.iter().find_map(|event| match &event.body {
            Body::Session(opened) => Some(&**opened),
            _ => None,
        })
    }
}

impl Runs for Record {
    fn runs_of(&self, tool: &str) -> Option<usize> {
        let calls = self.calls_of(tool);
        let known = self.opened().is_some_and(|opened| opened.tools.iter().any(|spec| spec.name == tool));
        (known || !calls.is_empty()).then(|| calls.iter().filter(|call| call.started).count())
    }
}

impl Called {
    fn new(call: &ProposedCall) -> Self {
        Self {
            id: call.id.clone(),
            tool: call.tool.clone(),
            args: call.args.clone(),
            verdict: None,
            rules: Vec::new(),
            effects: Vec::new(),
            started: false,
            code: None,
            text: None,
        }
    }

    fn decided(&mut self, decision: &Decision) {
        self.verdict = Some(decision.verdict);
        self.effects = decision.trace.iter().filter_map(|step| step.effect.clone()).collect();
        let rules = decision.trace.iter().filter_map(|step| match &step.winner {
            Winner::Rule(rule) if step.decision == decision.verdict => Some(rule.rule.clone()),
            _ => None,
        });
        self.rules = rules.collect();
        self.rules.dedup();
    }
}

fn with(calls: &mut [Called], id: &CallId, change: impl FnOnce(&mut Called)) {
    if let Some(call) = calls.iter_mut().rev().find(|call| call.id == *id) {
        change(call);
    }
}
