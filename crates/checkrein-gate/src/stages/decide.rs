//! decide: hooks' words, policy, confinement, guards. The strictest wins; order never matters.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{Code, Decision, Effect, Facts, Question, TraceStep, Verdict, Winner, digest_json};
use checkrein_policy::Policy;
use serde_json::json;

use super::{Foreseen, Judged, kept};
use crate::catch::catch;
use crate::gate::Scene;
use crate::grant::runs_code;
use crate::ports::{Enforcement, Guard, GuardView};

pub(crate) fn decide(
    foreseen: Foreseen,
    policy: &Arc<Policy>,
    guards: &[Arc<dyn Guard>],
    enforcement: &Enforcement,
    scene: &Scene<'_>,
) -> Judged {
    let Foreseen { call, entry, changes, words, would, facts } = foreseen;
    let mut decision = checkrein_policy::decide(policy, &would, &facts);
    let effects = would.effects;
    if decision.verdict == Verdict::Allow
        && entry.tool.runs_programs(&call.args)
        && !scene.unconfined_allowed
        && let Some(lack) = lack(enforcement, &effects, &facts, || kept(policy, scene.place))
    {
        let reason = format!("the rules allow it, but {lack} ({})", enforcement.words);
        if scene.confinement_required {
            tighten(&mut decision, Verdict::Deny, Code::DeniedUnconfined, reason, Winner::Unconfined);
        } else {
            tighten(&mut decision, Verdict::Ask, Code::AskUnconfined, reason, Winner::Unconfined);
        }
    }
    for word in words {
        let (verdict, code) =
            if word.denies { (Verdict::Deny, Code::DeniedByHook) } else { (Verdict::Ask, Code::AskHook) };
        let reason = format!("hook `{}`: {}", word.hook, word.reason);
        tighten(&mut decision, verdict, code, reason, Winner::Hook { name: word.hook });
    }
    let view = GuardView {
        call: &call,
        effects: &effects,
        facts: &facts,
        identity: scene.identity,
        place: scene.place,
        spend: scene.spend,
        identical_failures: scene.identical_failures(&call),
    };
    for (name, code, reason) in refusals(guards, &view) {
        tighten(&mut decision, Verdict::Deny, code, reason, Winner::Guard { name });
    }
    let key = digest_json(&json!({ "session": scene.session, "call": call.id, "tool": call.tool, "args": call.args }));
    let kind = entry.tool.kind(&call.args);
    Judged {
        session: scene.session.clone(),
        call,
        entry,
        kind,
        key,
        effects,
        facts,
        changes,
        decision,
        rests_on: Vec::new(),
        runs: BTreeMap::new(),
        policy: Arc::clone(policy),
        place: scene.place.clone(),
    }
}

/// What of a grant can not be enforced here, in words.
fn lack(
    enforcement: &Enforcement,
    effects: &[Effect],
    facts: &Facts,
    kept: impl Fn() -> Question,
) -> Option<&'static str> {
    if !enforcement.confines {
        return Some("nothing here confines what runs");
    }
    if !enforcement.hosts && effects.iter().any(|effect| matches!(effect, Effect::Connect(_))) {
        return Some("nothing here holds a program to the hosts that it may reach");
    }
    if enforcement.hides || !runs_code(effects) {
        return None;
    }
    match facts.list(&kept()) {
        Some([]) => None,
        Some(_) => Some("nothing here keeps secrets and control files of the project from the code that it runs"),
        None => Some("it can not be told what there is that must be kept from the code that it runs"),
    }
}

/// Every guard that refuses, with its reason. A guard that fails or panics refuses.
pub(super) fn refusals(guards: &[Arc<dyn Guard>], view: &GuardView<'_>) -> Vec<(String, Code, String)> {
    let mut found = Vec::new();
    for guard in guards {
        let reason = match catch(|| guard.refuse(view)) {
            Ok(Ok(None)) => continue,
            Ok(Ok(Some(reason))) => reason,
            Ok(Err(failure)) => format!("it could not tell: {failure}"),
            Err(panicked) => format!("it panicked: {}", panicked.0),
        };
        let name = guard.name().to_owned();
        let code = if name == crate::guards::REPEAT { Code::RepeatedFailure } else { Code::DeniedByGuard };
        found.push((name.clone(), code, format!("guard `{name}`: {reason}")));
    }
    found
}

/// Adds a stricter word. It never loosens; of two equally strict words the first gives the reason.
fn tighten(decision: &mut Decision, verdict: Verdict, code: Code, reason: String, winner: Winner) {
    if verdict > decision.verdict {
        decision.verdict = verdict;
        decision.code = code;
        decision.reason = reason;
    }
    decision.trace.push(TraceStep {
        effect: None,
        part: 0,
        winner,
        decision: verdict,
        also: Vec::new(),
        silent: Vec::new(),
    });
}
