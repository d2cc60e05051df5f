//! foresee: what the final arguments would do, and the facts around it. Computed once.

use checkrein_contract::{Answered, Call, Effect, Facts, Foreseen as Effects, Place};

use super::hooks::Word;
use super::{Changed, Hooked};
use crate::catch::catch;
use crate::ports::FactSource;
use crate::registry::Entry;

/// A call with its effects and the answers they rest on.
pub(crate) struct Foreseen {
    pub(crate) call: Call,
    pub(crate) entry: Entry,
    pub(crate) changes: Vec<Changed>,
    pub(crate) words: Vec<Word>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) facts: Facts,
}

pub(crate) async fn foresee(hooked: Hooked, source: &dyn FactSource, place: &Place) -> Foreseen {
    let Hooked { call, entry, changes, words } = hooked;
    let Effects { effects, questions } = catch(|| entry.tool.effects(&call.args, place)).unwrap_or_else(|panicked| {
        let what = format!("the tool could not say what it would do: {}", panicked.0);
        Effects::of(vec![Effect::Unknown { what }])
    });
    let mut facts = Facts::default();
    for question in questions {
        if facts.0.iter().all(|answered| answered.question != question) {
            let answer = source.answer(&question).await;
            facts.0.push(Answered { question, answer });
        }
    }
    Foreseen { call, entry, changes, words, effects, facts }
}
