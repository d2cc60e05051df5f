//! What would have to change for a call to be allowed.

use checkrein_contract::{Deed, Effect, Layer, Question, Run, TraceStep, Verdict, Winner};
use serde::Serialize;
use serde_json::json;

/// Words of a command that name what it does, at most: `git remote set-url`.
pub const MOST_WORDS: usize = 3;

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
    let keys: Vec<String> = narrowest(effect)?.iter().map(|(key, value)| format!("    {key} = {value}")).collect();
    let keys = keys.join("\n");
    Some(format!("    [[rule]]\n    id = \"...\"\n    decision = \"allow\"\n    reason = \"...\"\n{keys}"))
}

/// The keys of that rule, each with its value as TOML; `None` where no rule of one effect could allow it.
pub(crate) fn narrowest(effect: &Effect) -> Option<Vec<(&'static str, String)>> {
    let quoted = |text: &str| json!(text).to_string();
    let mut keys = vec![("effect", quoted(effect.word().as_str()))];
    match effect {
        Effect::Run(run) => keys.extend(of_run(run)?),
        Effect::Connect(to) if !to.host.is_empty() => {
            keys.extend([("hosts", list([&to.host])), ("ports", list([to.port]))]);
            // Without the key a rule is about reading.
            let method = to.method.iter().filter(|method| !matches!(method.as_str(), "GET" | "HEAD"));
            keys.extend(method.map(|method| ("methods", list([method]))));
            keys.extend(to.via.iter().map(|server| ("server", quoted(server))));
        }
        Effect::Tool { tool, server, .. } => {
            keys.push(("tool", quoted(tool)));
            keys.extend(server.iter().map(|server| ("server", quoted(server))));
        }
        _ if effect.is_glob() => return None,
        // A name is no pattern.
        _ => {
            let path = globset::escape(effect.path()?);
            let below = matches!(effect, Effect::ReadTree(_) | Effect::List { deep: true, .. });
            let path = if below { format!("{}/**", path.trim_end_matches('/')) } else { path };
            keys.push(("paths", list([path])));
        }
    }
    Some(keys)
}

/// The words that name what a program does: the program, what it is asked to do, and the options that steer it.
fn of_run(run: &Run) -> Option<Vec<(&'static str, String)>> {
    let code = run.deeds.contains(&Deed::Code);
    let mut exact = false;
    let words: Vec<&String> = if run.modelled {
        let words = run.words();
        let end = words.iter().position(|word| word == "--").unwrap_or(1);
        let steers = |word: &str| run.steered_by.iter().any(|name| word.split('=').next() == Some(name));
        let head = words.iter().take(end).filter(|word| !word.starts_with('-') || steers(word));
        // What runs code is allowed for the code it was asked about.
        let head: Vec<&String> = head.chain(words.get(end + 1).filter(|_| code)).collect();
        if code && head.len() == 1 {
            // By its name alone it would run any.
            exact = run.argv.len() == 1;
            if !exact {
                return None;
            }
        }
        head
    } else {
        let (program, rest) = run.argv.split_first()?;
        let named: Vec<&String> = std::iter::once(program).chain(leading(rest).take(MOST_WORDS - 1)).collect();
        if named.len() == 1 { run.argv.iter().collect() } else { named }
    };
    if words.iter().any(|word| word.is_empty() || word.contains(char::is_whitespace)) {
        return None;
    }
    let mut keys = vec![("words", list(words))];
    if exact {
        keys.push(("exact", "true".to_owned()));
    }
    if run.modelled && run.deeds.is_empty() {
        keys.push(("read_only", "true".to_owned()));
    }
    if !run.env.is_empty() {
        keys.push(("env", list(run.env.iter().filter_map(|pair| pair.split('=').next()))));
    }
    Some(keys)
}

/// A list as TOML.
pub(crate) fn list<T: Serialize>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| json!(item).to_string()).collect();
    format!("[{}]", items.join(", "))
}

/// The first words that name what a command does: no options, paths, addresses or settings.
pub fn leading(words: &[String]) -> impl Iterator<Item = &String> {
    words.iter().take_while(|word| !word.starts_with(['-', '+']) && !word.contains(['/', '.', '=', ':', '*']))
}
