//! I4: each request, built again from the log, is the one that was sent. I8: each request extends the one before, unless
//! an event between them says why not.

use checkrein_contract::{Body, Digest, Event, SessionChange};
use checkrein_session::State;

use super::{Journal, Problem};
use crate::setup::context_of;

/// I4.
pub(super) fn check_requests(journal: &Journal<'_>) -> Result<(), Problem> {
    walk(journal, |event, digest, rebuilt, _| {
        if digest == &rebuilt.digest {
            return Ok(());
        }
        Err(Problem::at(event, "the request that follows from the log is not the one that was sent"))
    })
}

/// I8.
pub(super) fn check_prefixes(journal: &Journal<'_>) -> Result<(), Problem> {
    let mut before: Option<Digest> = None;
    walk(journal, |event, _, rebuilt, changed| {
        if rebuilt.summarises.is_some() {
            return Ok(());
        }
        let earlier = before.replace(rebuilt.shown.clone());
        let free = changed || rebuilt.last.is_some();
        match earlier {
            Some(earlier) if !free && earlier != rebuilt.prefix => {
                Err(Problem::at(event, "the request does not extend the one before, and no event says why"))
            }
            _ => Ok(()),
        }
    })
}

/// Folds the events and builds every request again. The last argument of `look` tells whether an event since the request
/// before explains another beginning (a skill, a trim, what was put away, a raised budget, a change of what is in force).
fn walk(
    journal: &Journal<'_>,
    mut look: impl FnMut(&Event, &Digest, &checkrein_session::Plan, bool) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let context = context_of(journal.opened)
        .map_err(|error| Problem { seq: 1, problem: format!("the context policy can not be made: {error}") })?;
    let mut state: Option<State> = None;
    let mut changed = false;
    for event in journal.events {
        let failed = |error: checkrein_session::ApplyError| Problem { seq: error.seq, problem: error.reason };
        let Some(state) = state.as_mut() else {
            state = Some(State::open(event).map_err(failed)?);
            continue;
        };
        match &event.body {
            Body::Request { digest, summarises: Some(upto), .. } => {
                let rebuilt = state.summary_again(&*context).filter(|plan| plan.summarises == Some(*upto));
                let rebuilt = rebuilt.ok_or_else(|| Problem::at(event, "nothing is to be summarised here"))?;
                look(event, digest, &rebuilt, changed)?;
            }
            Body::Request { digest, last, .. } => {
                let rebuilt = state.plan_again(&*context, *last);
                look(event, digest, &rebuilt, changed)?;
                changed = false;
            }
            // After the last request of a spent budget, which had no tools, they are there again.
            Body::Trim { .. } | Body::Compacted(_) | Body::Budget { .. } | Body::Recomposed(_) => changed = true,
            Body::Finished(finished) => {
                changed |= matches!(finished.change, Some(SessionChange::SkillLoaded { .. }));
            }
            _ => {}
        }
        state.apply(event).map_err(failed)?;
    }
    Ok(())
}
