//! A yes that is remembered: what it would be as rules, what those would have changed in the session so far, and the events that
//! add and remove it.

use checkrein_contract::{
    Actor, ApprovalRequest, Body, Effect, Event, Facts, Finding, Question, Remembered, RuleId, SessionId, Verdict,
};
use checkrein_gate::Redactor;
use checkrein_journal::{EventStore, Head};
use checkrein_policy::{decide, remember as rules_of};
use checkrein_session::{RecordedRule, State};

use super::{Listed, Word, events_of, find, give, names, refusal};
use crate::HarnessError;
use crate::home::StateFolder;
use crate::past::{Difference, Past, differences};
use crate::prune::readable;
use crate::setup::load_policy;
use crate::verify::foreseen;

/// What a yes would be, were it remembered: to be shown to a person before it is recorded.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The rules.
    pub remembered: Remembered,
    /// The session that they would count in.
    pub session: SessionId,
    /// The calls of that session so far.
    pub past: Past,
    /// What the rules would have changed of them, had the files that they hold for been what they are now.
    pub differences: Vec<Difference>,
    /// The end of the journal that it was made from.
    pub(super) head: Head,
}

/// A remembered yes of some session.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The session.
    pub session: SessionId,
    /// The rule, and where it stands.
    pub recorded: RecordedRule,
}

/// What this person's yes to a request, given by an unambiguous beginning of its id, would be. `session` as for [`answer`].
///
/// # Errors
/// [`HarnessError::NotFound`] where there is no such request, [`HarnessError::Approval`] where the yes would not count, which is
/// recorded, [`HarnessError::Task`] with the reason where no rule could have
/// spared the question.
pub fn offer(
    store: &dyn EventStore,
    id: &str,
    session: Option<&SessionId>,
    person: &str,
    now: u64,
) -> Result<Offer, HarnessError> {
    let listed = find(store, id, now)?;
    let request = listed.request().clone();
    let head = store.head(&request.session)?;
    let events = store.read(&request.session, 1)?;
    let state = State::fold(&events)?;
    let yes = Word::Approve { for_ms: None };
    if refusal(&listed, session, person, &yes, &state).is_some() {
        // A yes that does not count is told and recorded as any other.
        give(store, id, session, person, &yes, None, now)?;
    }
    of_call(&state, events, &request, head)?.map_err(|why| no_rule(&request, &why))
}

fn no_rule(request: &ApprovalRequest, why: &str) -> HarnessError {
    HarnessError::Task(format!("a yes to {} can not be remembered: {why}; say yes to this one call", request.id))
}

/// The offer for one call of a session; inside, why there is none.
pub(crate) fn of_call(
    state: &State,
    events: Vec<Event>,
    request: &ApprovalRequest,
    head: Head,
) -> Result<Result<Offer, String>, HarnessError> {
    let decided = events.iter().rev().find_map(|event| match &event.body {
        Body::Decision { call, decision, facts, .. } if *call == request.call => Some((decision, facts)),
        _ => None,
    });
    let Some((decision, facts)) = decided else { return Ok(Err("it was not decided".to_owned())) };
    let opened = state.opened();
    if opened.is_watched() {
        return Ok(Err("the agent that asked has rules of its own".to_owned()));
    }
    let runs = request.effects.iter().any(|effect| matches!(effect, Effect::Run(_)));
    if runs && !opened.confined && opened.unconfined_by.is_none() {
        return Ok(Err("nothing here confines programs, so each is asked about".to_owned()));
    }
    let text = match rules_of::rules(decision, &request.runs) {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    let rule = Remembered::id(&request.id);
    let mut sources = opened.policy.clone();
    sources.push(Remembered::source(&rule, &text));
    // Whether it would do is tried, not concluded: what can not be said as a rule is not offered as one.
    let policy = match load_policy(&sources, &opened.place, &opened.identity, &opened.variables) {
        Ok(policy) => policy,
        Err(HarnessError::File(error)) => return Ok(Err(format!("it can not be said as a rule ({})", error.message))),
        Err(error) => return Err(error),
    };
    let mut facts: Facts = facts.clone();
    for (path, found) in &request.runs {
        let found = found.as_deref().map(Finding::from);
        facts.add(Question::Digest { path: path.clone() }, found);
    }
    if decide(&policy, &foreseen(&decision.trace), &facts).verdict != Verdict::Allow {
        return Ok(Err("no rule of a session allows it".to_owned()));
    }
    let policy_digest = policy.digest().clone();
    let remembered = Remembered { rule, request: request.id.clone(), text, policy_digest };
    // Nobody looked at these files for the calls before, so they are taken to be what they are.
    let anyway = rules_of::rules(decision, &std::collections::BTreeMap::new()).unwrap_or_default();
    let past = Past::of(state.session(), events);
    let after = past.judged_with(None, Some(&Remembered::source(&remembered.rule, &anyway)))?;
    let differences = differences(&past.judged(None)?, &after);
    Ok(Ok(Offer { remembered, session: state.session().clone(), past, differences, head }))
}

/// Records a person's yes to the request of an offer, and that it is remembered.
///
/// # Errors
/// [`HarnessError::Approval`] with the code that says why the yes does not count, [`HarnessError::Busy`] while a process drives
/// the session, and what the journal says where something happened since the offer was made.
pub fn remember(
    store: &dyn EventStore,
    home: &StateFolder,
    offer: &Offer,
    session: Option<&SessionId>,
    person: &str,
    for_ms: Option<u64>,
    now: u64,
) -> Result<Listed, HarnessError> {
    let _taken = home.take(&offer.session)?;
    let word = Word::Approve { for_ms };
    give(store, offer.remembered.request.as_str(), session, person, &word, Some(offer), now)
}

/// All remembered yeses of all sessions, oldest first, also those that were taken back.
///
/// # Errors
/// [`HarnessError`] when a journal can not be read.
pub fn rules(store: &dyn EventStore) -> Result<Vec<Rule>, HarnessError> {
    let mut sessions: Vec<SessionId> =
        store.by_kind(&["remembered"])?.into_iter().map(|(session, _)| session).collect();
    sessions.dedup();
    let mut all: Vec<Rule> = Vec::new();
    for session in sessions {
        if all.iter().any(|rule| rule.session == session) {
            continue;
        }
        let Some(events) = readable(store.read(&session, 1))? else { continue };
        let state = State::fold(&events)?;
        all.extend(state.remembered().map(|recorded| Rule { session: session.clone(), recorded: recorded.clone() }));
    }
    all.sort_by_key(|rule| rule.recorded.at);
    Ok(all)
}

/// One remembered yes, by its id or an unambiguous beginning of it.
///
/// # Errors
/// [`HarnessError::NotFound`].
pub fn rule(store: &dyn EventStore, id: &str) -> Result<Rule, HarnessError> {
    let mut found: Vec<Rule> =
        rules(store)?.into_iter().filter(|rule| names(id, rule.recorded.remembered.rule.as_str())).collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => {
            Err(HarnessError::NotFound(format!("there is no remembered yes `{id}`; see `checkrein approvals list`")))
        }
        (Some(_), false) => Err(HarnessError::NotFound(format!("`{id}` fits several; give more of it"))),
    }
}

/// Takes a remembered yes back: from here on what it let through is asked about again. The reason is recorded without what the
/// `redactor` knows.
///
/// # Errors
/// [`HarnessError::NotFound`], also for one that was taken back already; [`HarnessError::Busy`] while a process drives the session.
pub fn forget(
    store: &dyn EventStore,
    home: &StateFolder,
    redactor: &Redactor,
    id: &str,
    person: &str,
    reason: &str,
    now: u64,
) -> Result<Rule, HarnessError> {
    let person = crate::person(person).map_err(HarnessError::Task)?;
    let Rule { session, recorded } = rule(store, id)?;
    let rule: RuleId = recorded.remembered.rule;
    let _taken = home.take(&session).map_err(|error| counts_meanwhile(error, &rule))?;
    let head = store.head(&session)?;
    let state = State::fold(&store.read(&session, 1)?)?;
    if let Some((Actor::Person(by), _)) = recorded.forgotten {
        return Err(HarnessError::NotFound(format!("{by} took {rule} back already")));
    }
    let mut then = state.opened().clone();
    then.forget(&rule, &recorded.remembered.policy_digest);
    let policy = load_policy(&then.policy, &then.place, &then.identity, &then.variables)?;
    let reason = redactor.text(reason).into_owned();
    let body = Body::Forgotten { rule: rule.clone(), reason, policy_digest: policy.digest().clone() };
    store.append(&session, &head, &events_of(&state, &person, now, vec![body]))?;
    self::rule(store, rule.as_str())
}

/// A process that drives a session has read its rules, and goes by them until it ends.
fn counts_meanwhile(error: HarnessError, rule: &RuleId) -> HarnessError {
    match error {
        HarnessError::Busy { session, .. } => {
            let next = format!(
                "what is remembered counts there until that ends: end it (Ctrl-C where it runs), take the yes back \
                 (`checkrein approvals revoke {rule}`), and go on (`checkrein resume {session}`)"
            );
            HarnessError::Busy { session, next }
        }
        other => other,
    }
}
