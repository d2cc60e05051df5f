//! The one function that decides. Pure and total: same policy, call, effects and facts, same decision.

use checkrein_contract::{Call, Code, Decision, Effect, EffectWord, Facts, TraceStep, Verdict, Winner};

use crate::Policy;

/// Judges a call by what it would do. Deny beats ask beats allow, over all effects; no rule means the policy's default.
///
/// The order, for each effect: what is not understood is at least *ask*; then the layers, strongest first, where a *deny*
/// in any of them wins. The trace has one step for each effect, in order.
pub fn decide(policy: &Policy, _call: &Call, effects: &[Effect], facts: &Facts) -> Decision {
    if effects.is_empty() {
        let step = TraceStep { effect: None, winner: Winner::NoEffect, decision: Verdict::Allow, also: Vec::new() };
        let reason = "it touches nothing outside the session".to_owned();
        return Decision { verdict: Verdict::Allow, code: Code::NoEffect, reason, trace: vec![step] };
    }
    let mut trace = Vec::with_capacity(effects.len());
    let mut worst: Option<((Verdict, bool), Code, String)> = None;
    for effect in effects {
        let (step, code, reason) = judge(policy, effect, facts);
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
    if verdict == Verdict::Ask && policy.ask_denies {
        let reason = format!("{reason}; and this policy asks nobody (`on_ask = \"deny\"`)");
        return Decision { verdict: Verdict::Deny, code: Code::DeniedUnattended, reason, trace };
    }
    Decision { verdict, code, reason, trace }
}

fn judge(policy: &Policy, effect: &Effect, facts: &Facts) -> (TraceStep, Code, String) {
    let judged = policy.judge(effect, facts);
    let unclear = match effect {
        Effect::Unknown { what } => Some(what.clone()),
        _ => effect
            .path()
            .filter(|path| facts.real_path(path).is_none())
            .map(|path| format!("what `{path}` really is could not be found out")),
    };
    let step = |winner, decision, also| TraceStep { effect: Some(effect.clone()), winner, decision, also };
    if let Some(unclear) = unclear.filter(|_| judged.verdict != Verdict::Deny) {
        return (step(Winner::NotUnderstood, Verdict::Ask, judged.also), Code::AskNotUnderstood, unclear);
    }
    let code = match (judged.verdict, &judged.winner) {
        (Verdict::Allow, _) => Code::Allowed,
        (Verdict::Ask, Winner::Default) => Code::AskNoRule,
        (Verdict::Ask, _) => Code::AskRule,
        (Verdict::Deny, _) => Code::Denied,
    };
    (step(judged.winner, judged.verdict, judged.also), code, judged.reason)
}
