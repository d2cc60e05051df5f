//! I6: what was spent never exceeds a budget by more than the one reserved attempt. What a request reserves, its estimated
//! input and the ceiling of its reply, has to fit into what is left when it is sent. What sub-sessions were given that ran at
//! the same time has to fit into what was left as well, all of it together, where their journals are at hand.

use std::collections::BTreeSet;

use checkrein_contract::{Body, Budget, CallId, Event, SessionChange, SessionId, Usage, nano_usd};
use checkrein_session::{Next, State};

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    let mut state: Option<State> = None;
    let mut group: Option<Group> = None;
    // A person set other limits after parts were given away under the old ones.
    let mut reset = false;
    for event in journal.events {
        let failed = |error: checkrein_session::ApplyError| Problem { seq: error.seq, problem: error.reason };
        let Some(state) = state.as_mut() else {
            state = Some(State::open(event).map_err(failed)?);
            continue;
        };
        if let Body::Request { last: None, estimate, max_output, .. } = &event.body {
            let reserved =
                Usage { input: *estimate, output: u64::from(*max_output), estimated: true, ..Usage::default() };
            fits(state, reserved).map_err(|problem| Problem::at(event, problem))?;
        }
        match &event.body {
            Body::Proposal { .. } => reset = false,
            Body::Budget { .. } => reset = true,
            Body::Finished(finished) => {
                if let Some(SessionChange::Delegated { session, .. }) = &finished.change
                    && let Some(given) = given(journal, session).filter(|_| !reset)
                {
                    group.take_if(|group| !group.calls.contains(&finished.call));
                    let group = group.get_or_insert_with(|| Group::of(state, event, &finished.call));
                    group.add(&given).map_err(|problem| Problem::at(event, problem))?;
                }
            }
            _ => {}
        }
        state.apply(event).map_err(failed)?;
    }
    Ok(())
}

fn fits(state: &State, reserved: Usage) -> Result<(), String> {
    let (spend, budget) = (state.spend(), state.budget());
    if spend.steps >= budget.steps {
        return Err(format!("a request after {} steps of {}", spend.steps, budget.steps));
    }
    let tokens = reserved.total();
    if spend.usage.total().saturating_add(tokens) > budget.tokens {
        return Err(format!("a request of {tokens} tokens after {} of {}", spend.usage.total(), budget.tokens));
    }
    let cost = state.opened().price().map_or(u64::MAX, |price| price.of(reserved));
    match state.nano_usd_left() {
        Some(left) if cost > left => Err(format!("a request of {cost} billionths of a dollar, with {left} left")),
        _ => Ok(()),
    }
}

/// Sub-sessions at the same time.
struct Group {
    calls: BTreeSet<CallId>,
    /// What was left when they were begun: nothing else was spent before the first of them was over.
    left: [u64; 4],
    given: [u64; 4],
}

const KINDS: [&str; 4] = ["steps", "calls", "tokens", "billionths of a dollar"];

impl Group {
    fn of(state: &State, event: &Event, call: &CallId) -> Self {
        let calls = match state.next(event.at) {
            Next::Decide { calls, .. } => calls.into_iter().map(|call| call.id).collect(),
            _ => BTreeSet::from([call.clone()]),
        };
        let (budget, spend) = (state.budget(), state.spend());
        // A single step or call was given also where none was left, by versions before sub-sessions could overlap.
        let left = [
            u64::from(budget.steps.saturating_sub(spend.steps)).max(1),
            u64::from(state.calls_left()).max(1),
            budget.tokens.saturating_sub(spend.usage.total()),
            state.nano_usd_left().unwrap_or(u64::MAX),
        ];
        Self { calls, left, given: [0; 4] }
    }

    fn add(&mut self, budget: &Budget) -> Result<(), String> {
        let usd = budget.usd.map_or(0, nano_usd);
        let more = [u64::from(budget.steps), u64::from(budget.calls), budget.tokens, usd];
        for (((given, more), left), kind) in self.given.iter_mut().zip(more).zip(self.left).zip(KINDS) {
            *given = given.saturating_add(more);
            if *given > left {
                return Err(format!("its sub-sessions were given {given} {kind}, of {left} that were left"));
            }
        }
        Ok(())
    }
}

/// What a sub-session was given, by its journal.
fn given(journal: &Journal<'_>, session: &SessionId) -> Option<Budget> {
    let events = (journal.others)(session)?;
    match &events.first()?.body {
        Body::Session(opened) => Some(opened.budget.clone()),
        _ => None,
    }
}
