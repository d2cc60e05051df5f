//! I6: what was spent never exceeds a budget by more than the one reserved attempt. What a request reserves, its estimated
//! input and the ceiling of its reply, has to fit into what is left when it is sent.

use checkrein_contract::{Body, Usage};
use checkrein_session::State;

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    let mut state: Option<State> = None;
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
