//! The one function that decides. Pure and total: same policy, effects and facts, same decision.

use checkrein_contract::{
    Code, Decision, Effect, EffectWord, Facts, Finding, Foreseen, Question, Run, TraceStep, Tree, Verdict, Winner,
};

use crate::Policy;

/// Judges a call by what it would do. Deny beats ask beats allow, over all effects; no rule means the policy's default.
///
/// The order, for each effect: the layers, strongest first, where a *deny* in any of them wins; then what is not understood
/// is at least *ask*; then what an *allow* rests on. The trace has one step for each effect, in order.
pub fn decide(policy: &Policy, foreseen: &Foreseen, facts: &Facts) -> Decision {
    unattended(policy, by_rules(policy, foreseen, facts))
}

/// What the rules say, before it is known whether anybody can be asked.
pub(crate) fn by_rules(policy: &Policy, foreseen: &Foreseen, facts: &Facts) -> Decision {
    if foreseen.effects.is_empty() {
        let (winner, decision) = (Winner::NoEffect, Verdict::Allow);
        let step = TraceStep { effect: None, part: 0, winner, decision, also: Vec::new(), silent: Vec::new() };
        let reason = "it touches nothing outside the session".to_owned();
        return Decision { verdict: Verdict::Allow, code: Code::NoEffect, reason, trace: vec![step] };
    }
    let mut trace = Vec::with_capacity(foreseen.effects.len());
    let mut worst: Option<((Verdict, bool), Code, String)> = None;
    for (index, effect) in foreseen.effects.iter().enumerate() {
        let part = foreseen.parts.get(index).copied().unwrap_or(0);
        let (step, code, reason) = judge(policy, (effect, part), &foreseen.effects, facts);
        // Of two effects judged alike, the one that changes something gives the reason.
        let rank = (step.decision, !matches!(effect.word(), EffectWord::Read | EffectWord::Metadata));
        if worst.as_ref().is_none_or(|(worst, ..)| rank > *worst) {
            worst = Some((rank, code, reason));
        }
        trace.push(step);
    }
    // `effects` is not empty, so there is a worst one; were it not so, the answer would still be no.
    let ((verdict, _), code, reason) =
        worst.unwrap_or_else(|| ((Verdict::Deny, true), Code::Denied, "nothing was judged".to_owned()));
    Decision { verdict, code, reason, trace }
}

/// Under `on_ask = "deny"` nobody is asked, so what would ask is denied.
pub(crate) fn unattended(policy: &Policy, decision: Decision) -> Decision {
    if decision.verdict != Verdict::Ask || !policy.ask_denies {
        return decision;
    }
    let reason = format!("{}; and this policy asks nobody (`on_ask = \"deny\"`)", decision.reason);
    Decision { verdict: Verdict::Deny, code: Code::DeniedUnattended, reason, ..decision }
}

fn judge(
    policy: &Policy,
    (effect, part): (&Effect, u32),
    whole: &[Effect],
    facts: &Facts,
) -> (TraceStep, Code, String) {
    let step = |winner, decision, (also, silent)| TraceStep {
        effect: Some(effect.clone()),
        part,
        winner,
        decision,
        also,
        silent,
    };
    if let Effect::Write { incidental: true, .. } = effect {
        let reason = "it keeps this in a place of its own".to_owned();
        return (step(Winner::Incidental, Verdict::Allow, (Vec::new(), Vec::new())), Code::Allowed, reason);
    }
    let mut judged = policy.judge(effect, whole, facts);
    if judged.winner == Winner::Default && matches!(effect, Effect::Connect(to) if to.own && !to.host.is_empty()) {
        judged.winner = Winner::Own;
        judged.verdict = Verdict::Allow;
        judged.reason = "the program's settings name it, no rule speaks of it, and it goes with the program".to_owned();
    }
    if judged.verdict != Verdict::Deny
        && let Some(unclear) = unclear(policy, effect, facts)
    {
        return (
            step(Winner::NotUnderstood, Verdict::Ask, (judged.also, judged.silent)),
            Code::AskNotUnderstood,
            unclear,
        );
    }
    if judged.verdict == Verdict::Allow
        && let Some((on, reason)) = unmet(effect, facts)
    {
        let mut also = judged.also;
        if let Winner::Rule(rule) = judged.winner {
            also.insert(0, rule);
        }
        return (step(Winner::RestsOn { on }, Verdict::Ask, (also, judged.silent)), Code::AskRestsOn, reason);
    }
    let code = match (judged.verdict, &judged.winner) {
        (Verdict::Allow, _) => Code::Allowed,
        (Verdict::Ask, Winner::Default) => Code::AskNoRule,
        (Verdict::Ask, _) => Code::AskRule,
        (Verdict::Deny, _) => Code::Denied,
    };
    (step(judged.winner, judged.verdict, (judged.also, judged.silent)), code, judged.reason)
}

/// Why an effect can not be judged, where it can not.
fn unclear(policy: &Policy, effect: &Effect, facts: &Facts) -> Option<String> {
    match effect {
        Effect::Unknown { what } => Some(what.clone()),
        Effect::Connect(to) if to.scheme.as_deref() == Some("invalid") => {
            Some("the address can be read in two ways".to_owned())
        }
        _ if effect.path().is_some() && folding_is_unknown(facts) => {
            Some("whether case counts in names could not be found out".to_owned())
        }
        Effect::Read { path, glob: true } | Effect::List { path, glob: true, .. } => {
            let question = Question::Matches { pattern: path.clone() };
            facts.answer(&question).is_none().then(|| format!("what `{path}` matches could not be found out"))
        }
        Effect::Connect(to) if !to.host.is_empty() && policy.asks_for_addresses() => {
            let question = Question::Addresses { host: to.host.clone() };
            let literal = to.host.parse::<std::net::IpAddr>().is_ok();
            (!literal && facts.answer(&question).is_none()).then(|| format!("`{}` has no address here", to.host))
        }
        _ if effect.is_glob() => None,
        Effect::Delete { path, recursive: true, .. }
            if facts.holds(&Tree { root: path.clone(), ..Tree::default() }).is_none() =>
        {
            Some(format!("what lies in `{path}` could not be found out"))
        }
        _ => {
            let path = effect.path()?;
            if facts.real_path(path).is_none() {
                return Some(format!("what `{path}` really is could not be found out"));
            }
            let Effect::ReadTree(tree) = effect else { return None };
            (!tree.asks_each && facts.holds(tree).is_none())
                .then(|| format!("what `{path}` holds could not be found out"))
        }
    }
}

/// It was asked, and nobody knew.
fn folding_is_unknown(facts: &Facts) -> bool {
    facts.iter().any(|(question, answer)| matches!(question, Question::CaseFolding { .. }) && answer.is_none())
}

/// The first thing an *allow* rests on that does not hold, with the reason for people.
fn unmet(effect: &Effect, facts: &Facts) -> Option<(Question, String)> {
    match effect {
        Effect::Run(run) => unmet_by(run, facts),
        Effect::Tool { tool, server: Some(server), .. } => {
            let on = Question::Definition { server: server.clone(), tool: tool.clone() };
            let reason = match facts.text(&on) {
                Some("approved") => return None,
                Some("changed") => format!("`{server}` or its tool `{tool}` is not what was agreed to any more"),
                Some(_) => format!("nobody agreed to the server `{server}` yet"),
                None => format!("whether `{tool}` of `{server}` is what was agreed to could not be found out"),
            };
            Some((on, reason))
        }
        _ => None,
    }
}

fn unmet_by(run: &Run, facts: &Facts) -> Option<(Question, String)> {
    run.rests_on.iter().find_map(|on| {
        let answer = facts.answer(on);
        let reason = match (on, answer) {
            (Question::Changed { .. }, Some(Finding::Text(text))) if text == "unchanged" => return None,
            (Question::Kind { .. }, Some(Finding::Text(text))) if text == "none" => return None,
            // Hooks are files, and asked about as such.
            (Question::GitHelpers { .. }, Some(Finding::List(names)))
                if names.iter().all(|name| name.starts_with("hook ")) =>
            {
                return None;
            }
            (Question::Changed { path }, Some(_)) => {
                format!("it goes by `{path}`, which was changed in this session")
            }
            (Question::Kind { path }, Some(_)) => format!("`{path}` decides which program `{}` is", run.program),
            (Question::GitHelpers { .. }, Some(Finding::List(names))) => {
                format!("the repository's configuration names programs that git would start ({})", names.join(", "))
            }
            _ => format!("what `{}` rests on could not be found out", run.program),
        };
        Some((on.clone(), reason))
    })
}
