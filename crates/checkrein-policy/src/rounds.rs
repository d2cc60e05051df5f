//! Rounds of questions: what a call would do is foreseen, what must be known is asked, and it is foreseen again with the
//! answers, until nothing is left to ask.
//!
//! No I/O: [`Rounds`] says what to ask next, and whoever drives it looks.

use std::collections::BTreeSet;

use checkrein_contract::{Effect, Facts, Finding, Foreseen, Question};

use crate::Policy;

/// Rounds of answers at most. What a path really is leads to what lies there, that to what a program would do with it, and
/// that to what a rule wants to know of it; one more is room. A call that asks on and on would hold up the session.
const MAX_ROUNDS: usize = 4;

/// The facts around one call, as they come in.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    facts: Facts,
    asked: usize,
}

/// What comes after foreseeing.
#[derive(Clone, Debug, PartialEq)]
pub enum Round {
    /// These are to be answered (or left without an answer), each once; then it is to be foreseen again.
    Ask(Vec<Question>),
    /// Nothing is left to ask: this is what is judged.
    Known(Foreseen),
}

impl Rounds {
    /// What was found out so far.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Takes what was foreseen with [`Rounds::facts`]. A call that still asks after the last round is not understood, so
    /// it is at least *ask*.
    pub fn next(&mut self, policy: &Policy, mut foreseen: Foreseen) -> Round {
        let of_policy = policy.questions(&foreseen.effects, &self.facts);
        let mut seen = BTreeSet::new();
        let open: Vec<Question> = foreseen
            .questions
            .iter()
            .chain(&of_policy)
            .filter(|question| !self.facts.has(question) && seen.insert(*question))
            .cloned()
            .collect();
        if open.is_empty() {
            return Round::Known(foreseen);
        }
        if self.asked == MAX_ROUNDS {
            let what = format!("after {MAX_ROUNDS} rounds of questions it still asks for more");
            foreseen.effects.push(Effect::unknown(what));
            return Round::Known(foreseen);
        }
        self.asked += 1;
        Round::Ask(open)
    }

    /// Takes an answer, or that there is none.
    pub fn answer(&mut self, question: Question, answer: Option<Finding>) {
        self.facts.add(question, answer);
    }

    /// Everything that was asked, with its answers.
    pub fn into_facts(self) -> Facts {
        self.facts
    }
}

/// All rounds in one go, for whoever has the answers at hand.
pub fn foresee_until_known(
    policy: &Policy,
    mut foresee: impl FnMut(&Facts) -> Foreseen,
    mut answer: impl FnMut(&Question) -> Option<Finding>,
) -> (Foreseen, Facts) {
    let mut rounds = Rounds::default();
    loop {
        let foreseen = foresee(rounds.facts());
        match rounds.next(policy, foreseen) {
            Round::Known(foreseen) => return (foreseen, rounds.into_facts()),
            Round::Ask(questions) => {
                for question in questions {
                    let answer = answer(&question);
                    rounds.answer(question, answer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{Identity, Place, Run, Verdict};

    use super::*;
    use crate::{Variables, decide};

    fn policy() -> Policy {
        let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
        Policy::load(&[], &Variables::new(&place, &Identity::default())).unwrap()
    }

    fn kind(path: &str) -> Question {
        Question::Kind { path: path.to_owned() }
    }

    /// A chain: each answer is the path of the next question.
    fn chain(facts: &Facts, links: usize) -> Foreseen {
        let mut questions = vec![kind("/0")];
        for link in 0..links {
            if facts.has(&kind(&format!("/{link}"))) {
                questions.push(kind(&format!("/{}", link + 1)));
            }
        }
        Foreseen { effects: vec![Effect::unknown("a chain")], questions, parts: Vec::new() }
    }

    /// Each question is asked once, also where the tool, the policy and two effects ask it.
    #[test]
    fn a_question_is_asked_once() {
        let run = Run { program: "git".to_owned(), rests_on: vec![kind("/a"), kind("/b")], ..Run::default() };
        let mut asked = Vec::new();
        let (foreseen, facts) = foresee_until_known(
            &policy(),
            |_| Foreseen {
                effects: vec![Effect::Run(run.clone()), Effect::Run(run.clone())],
                questions: vec![kind("/a"), kind("/a")],
                parts: vec![0, 1],
            },
            |question| {
                asked.push(question.clone());
                None
            },
        );
        let folding = Question::CaseFolding { path: "/p".to_owned() };
        assert_eq!(asked, [kind("/a"), folding, kind("/b")]);
        assert!(asked.iter().all(|question| facts.has(question) && facts.answer(question).is_none()));
        assert_eq!(foreseen.parts, [0, 1]);
    }

    #[test]
    fn answers_lead_to_further_questions() {
        let (foreseen, facts) = foresee_until_known(&policy(), |facts| chain(facts, 3), |_| Some("file".into()));
        assert_eq!((foreseen.effects.len(), facts.iter().count()), (1, 4));
    }

    /// Shows R14: what asks without end comes to an end, and is never allowed.
    #[test]
    fn a_call_that_asks_on_and_on_is_not_understood() {
        let mut times = 0;
        let (foreseen, facts) = foresee_until_known(
            &policy(),
            |_| {
                times += 1;
                Foreseen { questions: vec![kind(&format!("/{times}"))], ..Foreseen::default() }
            },
            |_| Some("file".into()),
        );
        assert_eq!((times, facts.iter().count()), (MAX_ROUNDS + 1, MAX_ROUNDS));
        assert!(matches!(foreseen.effects.as_slice(), [Effect::Unknown { .. }]));
        assert_eq!(decide(&policy(), &foreseen, &facts).verdict, Verdict::Ask);
    }
}
