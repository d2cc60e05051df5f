//! foresee: what the final arguments would do, and the facts around it, in rounds: each answer may lead to further
//! questions. What comes out is what everything below judges.

use checkrein_contract::{Call, Effect, EffectWord, Facts, Foreseen as Effects, Place, Question, Tree};
use checkrein_policy::{Policy, Round, Rounds};

use super::hooks::Word;
use super::{Changed, Hooked};
use crate::catch::catch;
use crate::grant::{CONTROL_FILES, runs_code};
use crate::ports::FactSource;
use crate::registry::Entry;

/// A call with its effects and the answers they rest on.
pub(crate) struct Foreseen {
    pub(crate) call: Call,
    pub(crate) entry: Entry,
    pub(crate) changes: Vec<Changed>,
    pub(crate) words: Vec<Word>,
    pub(crate) would: Effects,
    pub(crate) facts: Facts,
}

pub(crate) async fn foresee(
    hooked: Hooked,
    policy: &Policy,
    source: &dyn FactSource,
    place: &Place,
    hides: bool,
) -> Foreseen {
    let Hooked { call, entry, changes, words } = hooked;
    let effects = |facts: &Facts| {
        catch(|| entry.tool.effects(&call.args, place, facts)).unwrap_or_else(|panicked| {
            let what = format!("the tool could not say what it would do: {}", panicked.0);
            Effects::of(vec![Effect::unknown(what)])
        })
    };
    let (would, mut facts) = find_out(policy, source, effects).await;
    // Where nothing can hide or hold it, it counts whether there is anything that the code must not come upon.
    if !hides && runs_code(&would.effects) {
        let question = kept(policy, place);
        let answer = source.answer(&question).await;
        facts.add(question, answer);
    }
    Foreseen { call, entry, changes, words, would, facts }
}

/// What of the project must be kept from code that runs in it: what rules keep from being read, and control files.
pub(crate) fn kept(policy: &Policy, place: &Place) -> Question {
    let root = &place.root;
    let mut patterns = policy.guarded(EffectWord::Read);
    for name in CONTROL_FILES {
        patterns.extend([format!("{root}/{name}"), format!("{root}/{name}/**")]);
    }
    Question::Holds { tree: Tree { root: root.clone(), ..Tree::default() }, patterns }
}

/// Foresees and asks, in rounds, until nothing is left to ask.
pub async fn find_out(
    policy: &Policy,
    source: &dyn FactSource,
    foresee: impl Fn(&Facts) -> Effects + Send,
) -> (Effects, Facts) {
    let mut rounds = Rounds::default();
    loop {
        let foreseen = foresee(rounds.facts());
        match rounds.next(policy, foreseen) {
            Round::Known(foreseen) => return (foreseen, rounds.into_facts()),
            Round::Ask(questions) => {
                for question in questions {
                    let answer = source.answer(&question).await;
                    rounds.answer(question, answer);
                }
            }
        }
    }
}
