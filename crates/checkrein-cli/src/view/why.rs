//! Why a call was decided as it was: the trace of its decision in words, and everything that the journal says of it.

use std::collections::BTreeSet;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use checkrein::HarnessError;
use checkrein::contract::{
    Actor, Answer, ApprovalId, Body, CallId, Decision, Effect, EffectWord, Event, Facts, Finding, ProposedCall,
    Question, Remotes, TraceStep, Verdict, Winner,
};
use checkrein::policy::explain::needed;

use super::phrases::{arguments_in_lines, message_of, printable, time_of};

/// The colour of a verdict.
pub(super) fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Allow => AnsiColor::Green.on_default(),
        Verdict::Ask => AnsiColor::Yellow.on_default(),
        Verdict::Deny => AnsiColor::Red.on_default(),
    }
}

/// What decided, in a few words.
pub(super) fn reason(decision: &Decision) -> String {
    // Of several effects the one that changes something says more than the one that reads.
    let telling = |step: &&TraceStep| match step.effect.as_ref().map(Effect::word) {
        _ if step.winner == Winner::Incidental => 0,
        Some(EffectWord::Read | EffectWord::Metadata) => 0,
        Some(_) => 2,
        None => 1,
    };
    let winner = decision.trace.iter().filter(|step| step.decision == decision.verdict).max_by_key(telling);
    match winner.map(|step| &step.winner) {
        Some(Winner::Rule(rule)) => format!("{} ({}:{}) {}", rule.rule, short(&rule.file), rule.line, decision.reason),
        Some(Winner::NoEffect) => "it touches nothing outside the session".to_owned(),
        Some(_) => decision.reason.clone(),
        None => decision.code.to_string(),
    }
}

fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The events that are about one call, from the reply that proposed it to its end.
///
/// # Errors
/// [`HarnessError::NotFound`] names the calls that there are.
pub(crate) fn of_call<'e>(events: &'e [Event], call: &CallId) -> Result<Vec<&'e Event>, HarnessError> {
    let mut asked: Vec<&ApprovalId> = Vec::new();
    let mut found: Vec<&Event> = Vec::new();
    for event in events {
        let about = match &event.body {
            Body::Proposal { .. } | Body::Check(_) | Body::Instructions(_) => {
                proposed(event).iter().any(|known| known.id == *call)
            }
            Body::Hook(note) => note.call == *call,
            Body::Decision { call: of, .. } | Body::Started { call: of, .. } | Body::Settled { call: of, .. } => {
                of == call
            }
            Body::Input { call: Some(of), .. } => of == call,
            Body::Ask(request) if request.call == *call => {
                asked.push(&request.id);
                true
            }
            Body::Approval { id, .. } | Body::AnswerRefused { id, .. } => asked.contains(&id),
            Body::Remembered(yes) => asked.contains(&&yes.request),
            Body::Finished(finished) => finished.call == *call,
            _ => false,
        };
        if about {
            found.push(event);
        }
    }
    if found.is_empty() {
        let known: Vec<&str> = events.iter().flat_map(proposed).map(|call| call.id.as_str()).collect();
        let known = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
        return Err(HarnessError::NotFound(format!("`{call}` is no call of this session: {known}")));
    }
    Ok(found)
}

fn proposed(event: &Event) -> &[ProposedCall] {
    match &event.body {
        Body::Proposal { calls, .. } => calls,
        Body::Check(round) | Body::Instructions(round) => &round.calls,
        _ => &[],
    }
}

/// Everything that the journal says of one call.
pub(crate) fn why(out: &mut dyn Write, events: &[Event], call: &CallId) -> Result<(), HarnessError> {
    let all = events;
    let events = of_call(events, call)?;
    let first =
        events.first().and_then(|event| Some((*event, proposed(event).iter().find(|known| known.id == *call)?)));
    let Some((event, proposal)) = first else {
        return Err(HarnessError::NotFound(format!("nobody proposed `{call}`")));
    };
    let bold = Style::new().bold();
    _ = writeln!(out, "{bold}{call}  {}{bold:#}", printable(&proposal.tool));
    for (name, value) in arguments_in_lines(&proposal.args) {
        _ = writeln!(out, "  {name:<12} {}", value.replace('\n', "\n               "));
    }
    _ = writeln!(out, "\n{}  proposed by {}", place(event), who(&event.by));
    let mut before: Option<(u64, &Decision)> = None;
    for event in &events {
        if let Body::Decision { decision, facts, .. } = &event.body {
            match before {
                Some((seq, earlier)) if earlier == decision => {
                    _ = writeln!(out, "\n{}  decided again, as in event {seq}", place(event));
                }
                _ => {
                    _ = writeln!(out, "\n{}  decided by {}", place(event), who(&event.by));
                    trace(out, decision, facts);
                    remembered(out, decision, all);
                }
            }
            before.get_or_insert((event.seq, decision));
        } else {
            tell(out, event);
        }
    }
    Ok(())
}

/// Whose remembered yeses decided, and where they gave them.
fn remembered(out: &mut dyn Write, decision: &Decision, events: &[Event]) {
    let rules = decision.trace.iter().filter_map(|step| match &step.winner {
        Winner::Rule(rule) => Some(&rule.file),
        _ => None,
    });
    let files: BTreeSet<&String> = rules.collect();
    for event in events {
        if let Body::Remembered(yes) = &event.body
            && files.iter().any(|file| file.as_str() == yes.rule.as_str())
        {
            let (by, seq) = (who(&event.by), event.seq);
            _ = writeln!(out, "\n{} is what {by} said yes to in event {seq}, answering {}", yes.rule, yes.request);
        }
    }
}

/// Who, in words.
fn who(actor: &Actor) -> String {
    match actor {
        Actor::Model => "the model".to_owned(),
        Actor::Code => "the harness".to_owned(),
        Actor::Person(name) => printable(name),
        Actor::Hook(name) => format!("the hook {}", printable(name)),
    }
}

/// When, and which event.
fn place(event: &Event) -> String {
    let bold = Style::new().bold();
    format!("{bold}event {}{bold:#}, {}", event.seq, time_of(event.at))
}

fn tell(out: &mut dyn Write, event: &Event) {
    let (by, place) = (who(&event.by), place(event));
    match &event.body {
        Body::Hook(note) => {
            _ = writeln!(out, "\n{place}  {by} changed the arguments");
            for (name, value) in arguments_in_lines(&note.new) {
                _ = writeln!(out, "  {name:<12} {value}");
            }
        }
        Body::Ask(request) => {
            let until = time_of(request.expires_at);
            _ = writeln!(out, "\n{place}  asked as {}, open until {until}", request.id);
            _ = writeln!(out, "  a yes binds {}", request.binds.short());
        }
        Body::Approval { answer, .. } => {
            let said = match answer {
                Answer::Approved { expires_at, .. } => format!("says yes, until {}", time_of(*expires_at)),
                Answer::Denied { reason } => format!("says no: {reason}"),
                Answer::Revoked { reason } => format!("takes the yes back: {reason}"),
                Answer::Withdrawn { reason } => format!("takes the question back: {reason}"),
            };
            _ = writeln!(out, "\n{place}  {by} {}", printable(&said));
        }
        Body::Remembered(yes) => _ = writeln!(out, "\n{place}  {by} wants that remembered, as {}", yes.rule),
        Body::AnswerRefused { code, reason, .. } => {
            _ = writeln!(out, "\n{place}  {by} answers, and it does not count: {code} {}", printable(reason));
        }
        Body::Input { text, .. } => _ = writeln!(out, "\n{place}  {by} answers: {}", printable(text)),
        Body::Settled { settlement, note, .. } => {
            _ = writeln!(out, "\n{place}  {by} says what became of it: {} {}", settlement.as_str(), printable(note));
        }
        Body::Started { approval, .. } => {
            let with = approval.as_ref().map_or_else(String::new, |id| format!(" with the yes to {id}"));
            _ = writeln!(out, "\n{place}  started{with}");
        }
        Body::Finished(finished) => {
            let how = serde_json::to_value(finished.ended).unwrap_or_default();
            let how = how.as_str().unwrap_or_default().to_owned();
            let code = finished.code.map_or_else(String::new, |code| format!(", {code}"));
            _ = writeln!(out, "\n{place}  ended: {how}{code}, after {} ms", finished.duration_ms);
            if finished.code.is_some() {
                _ = writeln!(out, "  {}", printable(&message_of(&finished.text)));
            }
            if let Some(cause) = &finished.cause {
                _ = writeln!(out, "  because: {}", printable(cause));
            }
        }
        _ => {}
    }
}

/// What a step is about, in words.
pub(crate) fn what(step: &TraceStep) -> String {
    step.effect.as_ref().map(phrase).unwrap_or_default()
}

/// What decided it.
pub(crate) fn by(step: &TraceStep) -> String {
    match &step.winner {
        Winner::Rule(rule) => format!("{} ({}:{})", rule.rule, rule.file, rule.line),
        Winner::Default => "no rule".to_owned(),
        Winner::NotUnderstood => "not known before it runs".to_owned(),
        Winner::RestsOn { .. } => "what the rule rests on does not hold".to_owned(),
        Winner::Incidental => "kept in a place of its own".to_owned(),
        Winner::Own => "named by its settings: goes with the program".to_owned(),
        Winner::NoEffect => "nothing outside the session".to_owned(),
        Winner::Hook { name } | Winner::Guard { name } => name.clone(),
        Winner::Unconfined => "unconfined".to_owned(),
    }
}

/// Everything: each effect with its rules, what was found out, what would have to change.
pub(crate) fn trace(out: &mut dyn Write, decision: &Decision, facts: &Facts) {
    _ = writeln!(out, "{}  {}", decision.verdict, printable(&decision.reason));
    let several = decision.trace.iter().any(|step| step.part > 0);
    let mut part = None;
    for step in &decision.trace {
        if part != Some(step.part) && several {
            part = Some(step.part);
            _ = writeln!(out, "\ncommand {}", step.part + 1);
        }
        _ = writeln!(out, "  {:<6} {}", step.decision.as_str(), printable(&what(step)));
        _ = writeln!(out, "         by {}", by(step));
        for also in &step.also {
            let layer = also.layer.as_str();
            _ = writeln!(out, "         also {} ({}:{}, {layer})", also.rule, also.file, also.line);
        }
        for silent in &step.silent {
            let (rule, why) = (&silent.rule, printable(&silent.why));
            _ = writeln!(out, "         not {} ({}:{}): {why}", rule.rule, rule.file, rule.line);
        }
        for detail in details(step) {
            _ = writeln!(out, "         {}", printable(&detail));
        }
        if let Some(needed) = needed(step) {
            let mut lines = needed.lines();
            _ = writeln!(out, "         to be allowed: {}", printable(lines.next().unwrap_or_default()));
            for line in lines {
                _ = writeln!(out, "         {}", printable(line));
            }
        }
    }
    let facts = shown_facts(facts);
    if !facts.is_empty() {
        _ = writeln!(out, "\nfound out");
        for fact in facts {
            _ = writeln!(out, "  {}", printable(&fact));
        }
    }
}

/// What is known of a program besides its words.
fn details(step: &TraceStep) -> Vec<String> {
    let Some(Effect::Run(run)) = &step.effect else { return Vec::new() };
    let mut details = Vec::new();
    if !run.words.is_empty() {
        details.push(format!("in the words of its model: {}", run.words.join(" ")));
    } else if !run.modelled {
        details.push("no model says what it does".to_owned());
    }
    if !run.deeds.is_empty() {
        let deeds: Vec<&str> = run.deeds.iter().map(|deed| deed.as_str()).collect();
        details.push(format!("does: {}", deeds.join(", ")));
    }
    if !run.env.is_empty() {
        details.push(format!("with {}", run.env.join(" ")));
    }
    details
}

const UNKNOWN: &str = "could not be found out";

/// The answers that say more than the question, for people.
fn shown_facts(facts: &Facts) -> Vec<String> {
    let shown = facts.iter().filter_map(|(question, answer)| {
        let answer = match answer {
            None => UNKNOWN.to_owned(),
            Some(Finding::Text(text)) => text.clone(),
            Some(Finding::List(list)) if list.is_empty() => return None,
            Some(Finding::List(list)) if list.len() > 5 => {
                format!("{} and {} more", list.iter().take(5).cloned().collect::<Vec<_>>().join(", "), list.len() - 5)
            }
            Some(Finding::List(list)) => list.join(", "),
        };
        Some(match question {
            Question::RealPath { path } if *path == answer => return None,
            Question::RealPath { path } => format!("{path} is really {answer}"),
            Question::Kind { path } => format!("{path}: {answer}"),
            Question::Matches { pattern } => format!("{pattern} matches {answer}"),
            Question::Holds { tree, .. } => format!("{} holds {answer}", tree.root),
            Question::CaseFolding { .. } if answer == "exact" => return None,
            Question::CaseFolding { path } => format!("{path} {answer} case"),
            Question::Addresses { host } => format!("{host} is at {answer}"),
            Question::GitHelpers { folder } => format!("the repository at {folder} starts {answer}"),
            Question::GitFolder { .. } if answer == UNKNOWN => return None,
            Question::GitFolder { folder } => format!("the repository at {folder} is kept in {answer}"),
            Question::GitRemotes { folder, which: Remotes::Named(name), .. } => {
                format!("{name} of the repository at {folder} leads to {answer}")
            }
            Question::GitRemotes { folder, .. } => format!("remotes of the repository at {folder} lead to {answer}"),
            Question::Changed { path } => format!("{path}: {answer} since the session began"),
            Question::Digest { path } => format!("{path} has the digest {answer}"),
            Question::Definition { server, tool } => format!("{tool} of {server}: {answer}"),
        })
    });
    shown.collect()
}

fn phrase(effect: &Effect) -> String {
    match effect {
        Effect::Run(run) => format!("run {}", run.argv.join(" ")),
        Effect::Connect(to) if to.host.is_empty() => "connect to an address that can be read in two ways".to_owned(),
        Effect::Connect(to) => format!("connect {}:{}", to.host, to.port),
        Effect::Tool { tool, args, .. } => format!("tool {tool} {args}"),
        Effect::Unknown { what } => what.clone(),
        Effect::ReadTree(tree) => format!("read everything below {}", tree.root),
        Effect::List { path, .. } => format!("look at {path}"),
        Effect::Delete { path, recursive: true, .. } => format!("delete {path} and all below"),
        other => format!("{} {}", other.word().as_str(), other.path().unwrap_or_default()),
    }
}
