//! I5: replay to any prefix of the journal gives the state it had there.
//!
//! Every prefix has to fold. Where a process stopped, which is where another one takes the session up from its journal, the
//! state is made once more from the beginning and compared with the one that went on.

use checkrein_contract::Body;
use checkrein_session::State;

use super::{Journal, Problem};

pub(super) fn check(journal: &Journal<'_>) -> Result<(), Problem> {
    let failed = |error: checkrein_session::ApplyError| Problem { seq: error.seq, problem: error.reason };
    let Some((first, rest)) = journal.events.split_first() else { return Ok(()) };
    let mut state = State::open(first).map_err(failed)?;
    for (index, event) in rest.iter().enumerate() {
        state.apply(event).map_err(failed)?;
        let upto = journal.events.get(..index + 2).unwrap_or_default();
        if matches!(event.body, Body::Stop(_)) && shown(&State::fold(upto).map_err(failed)?) != shown(&state) {
            return Err(Problem::at(event, "folded once more, what came before gives another state"));
        }
    }
    Ok(())
}

/// Everything that a state holds.
fn shown(state: &State) -> String {
    format!("{state:?}")
}
