//! Rules that would have spared questions: from the yeses that were given, the fewest rules that cover them, each with
//! everything else it would let through.

use std::collections::BTreeSet;

use checkrein_contract::{
    Decision, Deed, Digest, Effect, EffectWord, Layer, PolicySource, Run, TraceStep, Verdict, Winner,
};
use checkrein_policy::explain::{MOST_WORDS, leading};
use serde_json::json;

use super::{Past, PastCall};
use crate::HarnessError;

/// A rule, with what it does to the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The rule as TOML.
    pub rule: String,
    /// Calls that a person said yes to and that it lets run without a question (together with the suggestions before it).
    pub spares: Vec<usize>,
    /// Other calls that it would let through, though nobody said yes to them (together with the suggestions before it).
    pub also: Vec<usize>,
}

/// Rules, and what they do not reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suggested {
    /// The rules.
    pub rules: Vec<Suggestion>,
    /// Calls that a person said yes to and that these rules spare no question.
    pub unspared: Vec<Unspared>,
}

/// A call that a person said yes to and that no suggestion spares a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Unspared {
    /// Which call, by number.
    pub call: usize,
    /// What it gets with the suggested rules; *allow* where the policy spares the question already.
    pub verdict: Verdict,
    /// The first part of it that gets this, with what decided so.
    pub step: Option<TraceStep>,
}

/// A rule before it has a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    effect: &'static str,
    /// `words`, `program`, `paths`, `hosts`, `tool`, with its value as TOML.
    key: &'static str,
    value: String,
}

/// The fewest rules that cover what was said yes to. What no allow rule can give (a rule of a stronger layer asks, or a
/// part is not known before it runs) is covered by none and named. `policy` is the file that they would be added to; without one
/// they are added to what each session had.
///
/// # Errors
/// [`HarnessError::File`] for a mistake in the policy.
pub fn suggest(past: &Past, policy: Option<&PolicySource>) -> Result<Suggested, HarnessError> {
    let before = past.judged(policy)?;
    let wanted: Vec<usize> = (0..past.calls().len())
        .filter(|at| past.calls().get(*at).is_some_and(|call| call.approved))
        .filter(|at| before.get(*at).is_some_and(|decision| decision.verdict == Verdict::Ask))
        .collect();
    let mut candidates: BTreeSet<Candidate> = BTreeSet::new();
    for at in &wanted {
        let (Some(call), Some(decision)) = (past.calls().get(*at), before.get(*at)) else { continue };
        candidates.extend(open(decision).filter_map(|step| candidate(past, call, step.effect.as_ref()?)));
    }
    // All of them first: a candidate counts only where the rest of its call is covered as well.
    let mut chosen: Vec<Candidate> = candidates.into_iter().collect();
    let mut covered = spared(past, policy, &chosen, &wanted)?;
    // Then the fewest: whatever can be left out is.
    let mut at = chosen.len();
    while at > 0 {
        at -= 1;
        let mut fewer = chosen.clone();
        fewer.remove(at);
        let still = spared(past, policy, &fewer, &wanted)?;
        if still.len() == covered.len() {
            (chosen, covered) = (fewer, still);
        }
    }
    let mut suggestions: Vec<Suggestion> = Vec::new();
    for (number, candidate) in chosen.iter().enumerate() {
        let so_far = chosen.get(..=number).unwrap_or_default();
        let after = judged_with(past, policy, so_far)?;
        let new = |calls: Vec<usize>, known: fn(&Suggestion) -> &Vec<usize>| -> Vec<usize> {
            let earlier = |call: &usize| suggestions.iter().any(|one| known(one).contains(call));
            calls.into_iter().filter(|call| !earlier(call)).collect()
        };
        let spares = new(allowed(&after, &wanted), |one| &one.spares);
        let also = new(let_through(&before, &after, &wanted), |one| &one.also);
        suggestions.push(Suggestion { rule: toml(candidate), spares, also });
    }
    let after = judged_with(past, policy, &chosen)?;
    let spared = |call: &usize| suggestions.iter().any(|one| one.spares.contains(call));
    let approved = (0..past.calls().len()).filter(|at| past.calls().get(*at).is_some_and(|call| call.approved));
    let unspared = approved.filter(|call| !spared(call)).filter_map(|call| {
        let decision = after.get(call)?;
        let step = decision.trace.iter().find(|step| step.decision == decision.verdict).cloned();
        Some(Unspared { call, verdict: decision.verdict, step })
    });
    let unspared = unspared.collect();
    Ok(Suggested { rules: suggestions, unspared })
}

/// What of a call is asked about because no rule speaks of it.
fn open(decision: &Decision) -> impl Iterator<Item = &TraceStep> {
    decision.trace.iter().filter(|step| step.decision == Verdict::Ask && step.winner == Winner::Default)
}

/// The wanted calls that would run without a question.
fn spared(
    past: &Past,
    policy: Option<&PolicySource>,
    rules: &[Candidate],
    wanted: &[usize],
) -> Result<Vec<usize>, HarnessError> {
    Ok(allowed(&judged_with(past, policy, rules)?, wanted))
}

fn allowed(after: &[Decision], wanted: &[usize]) -> Vec<usize> {
    wanted.iter().copied().filter(|at| after.get(*at).is_some_and(|one| one.verdict == Verdict::Allow)).collect()
}

/// Other calls of which less is refused than before: those that `policy diff` names for the same rules.
fn let_through(before: &[Decision], after: &[Decision], wanted: &[usize]) -> Vec<usize> {
    let looser = before.iter().zip(after).enumerate().filter(|(_, (old, new))| new.verdict < old.verdict);
    looser.map(|(at, _)| at).filter(|at| !wanted.contains(at)).collect()
}

fn judged_with(past: &Past, policy: Option<&PolicySource>, rules: &[Candidate]) -> Result<Vec<Decision>, HarnessError> {
    let (file, rules) = ("suggested.toml".to_owned(), rules.iter().map(toml).collect::<String>());
    let text = format!("version = 1\n{rules}");
    past.judged_with(policy, Some(&PolicySource { layer: Layer::Project, file, text, only_tightens: false }))
}

fn candidate(past: &Past, call: &PastCall, effect: &Effect) -> Option<Candidate> {
    let word = effect.word();
    let name = word.as_str();
    match effect {
        Effect::Run(run) => of_run(run),
        Effect::Connect(to) if !to.host.is_empty() => {
            Some(Candidate { effect: name, key: "hosts", value: list(std::slice::from_ref(&to.host)) })
        }
        Effect::Tool { tool, server, .. } => {
            let server = server.as_ref().map(|server| format!("\nserver = {}", json!(server))).unwrap_or_default();
            Some(Candidate { effect: name, key: "tool", value: format!("{}{server}", json!(tool)) })
        }
        Effect::Connect(_) | Effect::Unknown { .. } => None,
        path => {
            let root = &past.opened(call)?.place.root;
            let path = path.path()?;
            let below = path.strip_prefix(root.as_str()).filter(|below| below.is_empty() || below.starts_with('/'))?;
            // A name is no pattern.
            let below = &below.replace('\\', "\\\\").replace(['*', '?', '[', '{'], "?");
            // The folder it lies in; of what lies at the top, only itself.
            let folder = below.rsplit_once('/').map_or("", |(folder, _)| folder);
            let pattern = match (word, folder) {
                (EffectWord::Read, _) => "{root}/**".to_owned(),
                (_, "") => format!("{{root}}{below}"),
                (_, folder) => format!("{{root}}{folder}/**"),
            };
            Some(Candidate { effect: name, key: "paths", value: list(&[pattern]) })
        }
    }
}

/// The program with the words that name what it does; options and what stands behind them are left open.
fn of_run(run: &Run) -> Option<Candidate> {
    let words: Vec<String> = leading(run.words()).take(MOST_WORDS).cloned().collect();
    // Of what runs code, the name alone would let any code run.
    if run.deeds.contains(&Deed::Code) && words.len() <= 1 {
        return None;
    }
    Some(match words.as_slice() {
        [] => Candidate { effect: "run", key: "program", value: json!(run.program).to_string() },
        words => Candidate { effect: "run", key: "words", value: list(words) },
    })
}

fn list(words: &[String]) -> String {
    json!(words).to_string()
}

/// The rule as TOML. Its id follows from what it says, so that it is added once.
fn toml(rule: &Candidate) -> String {
    let Candidate { effect, key, value } = rule;
    let digest = Digest::of(format!("{effect} {key} {value}").as_bytes());
    let short = digest.as_str().get(..6).unwrap_or_default();
    format!(
        "[[rule]]\nid = \"suggested-{effect}-{short}\"\ndecision = \"allow\"\nreason = \"a person said yes to this before\"\n\
         effect = \"{effect}\"\n{key} = {value}\n"
    )
}
