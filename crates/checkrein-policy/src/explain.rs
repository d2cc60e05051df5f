//! What would have to change for a call to be allowed.

use checkrein_contract::{Deed, Effect, Layer, Question, TraceStep, Verdict, Winner};

/// What would have to change for this effect to be allowed, in one or a few lines; `None` where it is allowed already.
pub fn needed(step: &TraceStep) -> Option<String> {
    if step.decision == Verdict::Allow {
        return None;
    }
    Some(match (&step.winner, step.decision) {
        (Winner::Rule(rule), _) if rule.layer == Layer::Floor => {
            format!("nothing: `{}` is part of the floor, which no policy and no person loosens", rule.rule)
        }
        (Winner::Rule(rule), Verdict::Deny) => {
            format!(
                "`{}` ({}:{}) would have to be narrowed; nothing below overrules a deny",
                rule.rule, rule.file, rule.line
            )
        }
        (Winner::Rule(rule), _) => {
            format!("`{}` ({}:{}) asks a person; a yes lets it run once", rule.rule, rule.file, rule.line)
        }
        (Winner::RestsOn { on }, _) => match on {
            Question::Changed { path } => format!("`{path}` would have to be what it was when the session began"),
            Question::Kind { path } => format!("`{path}` would have to be absent"),
            Question::GitHelpers { .. } => "the repository's configuration would have to name no programs".to_owned(),
            Question::Definition { server, .. } => format!("a person would have to agree to `{server}` as it is now"),
            _ => "what it rests on would have to be known".to_owned(),
        },
        (Winner::NotUnderstood, _) => {
            "no rule reaches what is not known before it runs; say it in plain words, or a person decides".to_owned()
        }
        (Winner::Default, _) => match step.effect.as_ref().and_then(rule_for) {
            Some(rule) => format!("a rule, such as:\n{rule}"),
            None => "a rule".to_owned(),
        },
        (Winner::Hook { name } | Winner::Guard { name }, _) => format!("`{name}` would have to let it pass"),
        (Winner::Unconfined, _) => "a sandbox, or a person's `--unconfined`".to_owned(),
        (Winner::NoEffect | Winner::Incidental | Winner::Own, _) => return None,
    })
}

/// The narrowest rule of ordinary shape that would allow it.
fn rule_for(effect: &Effect) -> Option<String> {
    let quoted = |text: &str| format!("{text:?}");
    let keys = match effect {
        Effect::Run(run) => {
            let words = if run.words.is_empty() { &run.argv } else { &run.words };
            let end = words.iter().position(|word| word == "--").unwrap_or(1);
            let head = words.iter().take(end).filter(|word| !word.starts_with('-'));
            // What runs code is allowed for the code it was asked about.
            let first = words.get(end + 1).filter(|_| run.deeds.contains(&Deed::Code));
            let head: Vec<String> = head.chain(first).map(|word| quoted(word)).collect();
            let narrow = if run.modelled && run.deeds.is_empty() { "\n    read_only = true" } else { "" };
            format!("effect = \"run\"\n    words = [{}]{narrow}", head.join(", "))
        }
        Effect::Connect(to) if !to.host.is_empty() => {
            format!("effect = \"connect\"\n    hosts = [{}]\n    ports = [{}]", quoted(&to.host), to.port)
        }
        Effect::Tool { tool, server, .. } => {
            let server = server.as_ref().map(|server| format!("\n    server = {}", quoted(server))).unwrap_or_default();
            format!("effect = \"tool\"\n    tool = {}{server}", quoted(tool))
        }
        _ => format!("effect = {}\n    paths = [{}]", quoted(effect.word().as_str()), quoted(effect.path()?)),
    };
    Some(format!("    [[rule]]\n    id = \"...\"\n    decision = \"allow\"\n    reason = \"...\"\n    {keys}"))
}
