//! I6: what was spent never exceeds a budget by more than the one reserved attempt.

use checkrein_contract::{Body, Event, SessionOpened};
use checkrein_session::State;

use super::Problem;

pub(super) fn check(opened: &SessionOpened, events: &[Event]) -> Result<(), Problem> {
    let budget = &opened.budget;
    let mut state: Option<State> = None;
    for event in events {
        let failed = |error: checkrein_session::ApplyError| Problem { seq: error.seq, problem: error.reason };
        let Some(state) = state.as_mut() else {
            state = Some(State::open(event).map_err(failed)?);
            continue;
        };
        if let Body::Request { last: None, estimate, .. } = &event.body {
            let spend = state.spend();
            if spend.steps >= budget.steps {
                return Err(Problem::at(event, format!("a request after {} steps of {}", spend.steps, budget.steps)));
            }
            if spend.usage.total().saturating_add(*estimate) > budget.tokens {
                let problem =
                    format!("a request of {estimate} tokens after {} of {}", spend.usage.total(), budget.tokens);
                return Err(Problem::at(event, problem));
            }
        }
        state.apply(event).map_err(failed)?;
    }
    Ok(())
}
