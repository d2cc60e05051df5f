//! What a yes rests on: everything that, changed, makes the call another one than a person said yes to. Each part has a name,
//! so that a yes that no longer holds can say why.
//!
//! The call itself; what every path of it really is, and what else its effects were judged by; the content of the files that
//! it writes, deletes or runs; the tool's definition. Never the time, what was spent, or the addresses behind a name: those
//! change by themselves, and the call is judged again with them.

use std::collections::{BTreeMap, BTreeSet};

use checkrein_contract::{
    Call, Dependency, Digest, Effect, EffectWord, Facts, Finding, Place, Question, Run, digest_json,
};
use checkrein_policy::{MOST_REAL_NAMES, paths};
use serde_json::{Value, json};

use crate::registry::Entry;

/// Changes that a message names; more say no more.
const MOST_NAMED: usize = 4;

/// The answer to [`Question::Digest`] where nothing is there.
const NOTHING: &str = "none";

/// The questions about content that a yes to this call rests on. Asked only where a person is to be asked.
pub(crate) fn questions(call: &Call, entry: &Entry, effects: &[Effect], facts: &Facts, place: &Place) -> Vec<Question> {
    let RunFiles { named, found, words } = run_files(call, entry, effects, place);
    let mut files: BTreeSet<String> = named.into_iter().chain(found).chain(words).collect();
    for effect in effects {
        match effect {
            Effect::Write { path, glob: true, .. } | Effect::Delete { path, glob: true, .. } => {
                let matched = facts.list(&Question::Matches { pattern: path.clone() }).unwrap_or_default();
                files.extend(matched.iter().take(MOST_REAL_NAMES).cloned());
            }
            Effect::Write { path, incidental: false, .. } | Effect::Delete { path, .. } => {
                _ = files.insert(path.clone())
            }
            _ => {}
        }
    }
    files.into_iter().map(|path| Question::Digest { path }).collect()
}

/// The files that a call would run, or go by.
#[derive(Default)]
struct RunFiles {
    /// Those that it names itself.
    named: BTreeSet<String>,
    /// Those that a program of it goes by, which may be folders.
    found: BTreeSet<String>,
    /// Words that look like no path: they count if a file has that name.
    words: BTreeSet<String>,
}

fn run_files(call: &Call, entry: &Entry, effects: &[Effect], place: &Place) -> RunFiles {
    let mut files =
        RunFiles { named: entry.tool.files(&call.args, place).into_iter().collect(), ..RunFiles::default() };
    for effect in effects {
        let Effect::Run(run) = effect else { continue };
        let cwd = if run.folder.is_empty() { place.cwd.clone() } else { run.folder.clone() };
        let place = Place { cwd, ..place.clone() };
        if run.program.contains('/') {
            files.named.insert(paths::absolute(&run.program, &place));
        }
        if !run.modelled {
            files.named_by_words(run, &place);
        }
        files.found.extend(run.rests_on.iter().filter_map(|on| match on {
            Question::Changed { path } => Some(path.clone()),
            _ => None,
        }));
    }
    // Whatever goes into a program that nobody knows may be what it goes by.
    if effects.iter().any(|effect| matches!(effect, Effect::Run(run) if !run.modelled)) {
        let read = effects.iter().filter(|effect| effect.word() == EffectWord::Read && !effect.is_glob());
        files.found.extend(read.filter_map(Effect::path).map(str::to_owned));
    }
    files
}

impl RunFiles {
    /// What the words of a program that nobody knows may name: `conf.yml`, `--with=conf.yml`, `@conf.yml`.
    fn named_by_words(&mut self, run: &Run, place: &Place) {
        for word in run.argv.iter().skip(1).take(MOST_REAL_NAMES) {
            let word = match word.split_once('=') {
                Some((option, value)) if option.starts_with('-') => value,
                _ => word.trim_start_matches('@'),
            };
            if word.is_empty() || word.starts_with('-') || word.contains("://") {
                continue;
            }
            let looks = word.contains(['/', '.']);
            let files = if looks { &mut self.named } else { &mut self.words };
            files.insert(paths::absolute(word, place));
        }
    }
}

/// What the files that a call would run hold, by path. What a program goes by and is no file is left out: whether it was
/// changed is asked each time.
pub(crate) fn runs(
    call: &Call,
    entry: &Entry,
    effects: &[Effect],
    content: &Facts,
    place: &Place,
) -> BTreeMap<String, Option<String>> {
    let RunFiles { named, found, words } = run_files(call, entry, effects, place);
    let holds = |path: &String| content.text(&Question::Digest { path: path.clone() }).map(str::to_owned);
    let found = found.into_iter().filter(|path| holds(path).is_some());
    let words = words.into_iter().filter(|path| holds(path).is_some_and(|is| is != NOTHING));
    named.into_iter().chain(found).chain(words).map(|path| (path.clone(), holds(&path))).collect()
}

/// The dependencies of a call, sorted by name. `content` holds the answers to [`questions`].
pub(crate) fn of(
    call: &Call,
    entry: &Entry,
    effects: &[Effect],
    facts: &Facts,
    content: &Facts,
    place: &Place,
) -> Vec<Dependency> {
    let mut parts: BTreeMap<String, Vec<(&Question, Option<&Finding>)>> = BTreeMap::new();
    // What files hold is looked at anew, whatever a rule wanted to know of them.
    let facts = facts.iter().filter(|(question, _)| !matches!(question, Question::Digest { .. }));
    for (question, answer) in facts.chain(content.iter()) {
        if let Some(what) = name(question, place) {
            parts.entry(what).or_default().push((question, answer));
        }
    }
    let fixed = [
        ("the arguments", digest_json(&json!([call.tool, call.args]))),
        ("what the call would do", digest_json(&as_begun(json!(effects), place))),
        ("the working directory", digest_json(&as_begun(json!(place.cwd), place))),
        ("the definition of the tool", entry.tool.definition().digest()),
    ];
    let fixed = fixed.map(|(what, digest)| Dependency { what: what.to_owned(), digest });
    let found = parts.into_iter().map(|(what, answers)| {
        let digest = digest_json(&as_begun(json!(answers), place));
        Dependency { what, digest }
    });
    fixed.into_iter().chain(found).collect()
}

/// A value as it would have been where the session began, had the project not been moved since. Only whole names of what is in
/// the project are others for it, so a call that names the old folder is another call.
fn as_begun(value: Value, place: &Place) -> Value {
    let Some(from) = &place.moved_from else { return value };
    match value {
        Value::String(text) if paths::is_within(&text, &place.root) => {
            let below = text.strip_prefix(&place.root).unwrap_or_default();
            Value::String(format!("{from}{below}"))
        }
        // In no project any more; the old name would make it look as if it were.
        Value::String(text) if paths::is_within(&text, from) => Value::String(format!("not moved: {text}")),
        Value::Array(values) => values.into_iter().map(|value| as_begun(value, place)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, as_begun(value, place))).collect(),
        other => other,
    }
}

/// One digest over all of them.
pub(crate) fn digest(dependencies: &[Dependency]) -> Digest {
    digest_json(&json!(dependencies))
}

/// What is not what it was, in words.
pub(crate) fn changes(before: &[Dependency], now: &[Dependency]) -> String {
    let all: BTreeSet<&str> = before.iter().chain(now).map(|one| one.what.as_str()).collect();
    let find =
        |list: &'_ [Dependency], what: &str| list.iter().find(|one| one.what == what).map(|one| one.digest.clone());
    let changed: Vec<&str> = all.into_iter().filter(|what| find(before, what) != find(now, what)).collect();
    let named = changed.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    match changed.len().saturating_sub(MOST_NAMED) {
        _ if before.is_empty() || changed.is_empty() => "what would run now is not what was approved".to_owned(),
        0 => format!("what was approved has changed since: {named}"),
        more => format!("what was approved has changed since: {named}, and {more} more"),
    }
}

/// What a question is about, as people and models may read it: no folder outside the project. `None` for what changes by
/// itself.
fn name(question: &Question, place: &Place) -> Option<String> {
    let shown = |path: &str| {
        let inside = paths::is_within(path, &place.root);
        let name =
            if inside { paths::shown(path, place) } else { path.rsplit('/').next().unwrap_or_default().to_owned() };
        format!("`{name}`")
    };
    Some(match question {
        Question::Addresses { .. } => return None,
        Question::RealPath { path } => format!("where {} leads", shown(path)),
        Question::Digest { path } => format!("the content of {}", shown(path)),
        Question::Kind { path } => format!("what {} is", shown(path)),
        Question::Changed { path } => format!("whether {} was changed in this session", shown(path)),
        Question::Matches { pattern } => format!("what {} matches", shown(pattern)),
        Question::Holds { tree, .. } => format!("what is kept from others in {}", shown(&tree.root)),
        Question::CaseFolding { .. } => "whether case counts in names".to_owned(),
        Question::GitHelpers { folder } | Question::GitFolder { folder } | Question::GitRemotes { folder, .. } => {
            format!("the settings of the repository in {}", shown(folder))
        }
        Question::Definition { server, tool } => format!("the tool `{tool}` of `{server}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project that was moved is the same one, by its new name only.
    #[test]
    fn what_was_moved_is_named_as_it_was() {
        let place =
            Place { root: "/b/w".into(), cwd: "/b/w/src".into(), moved_from: Some("/a/w".into()), ..Place::default() };
        let now = json!({ "path": "/b/w/x", "in": ["/b/w", "/b/wide", 1], "old": "/a/w/x", "text": "in /b/w" });
        let begun =
            json!({ "path": "/a/w/x", "in": ["/a/w", "/b/wide", 1], "old": "not moved: /a/w/x", "text": "in /b/w" });
        assert_eq!(as_begun(now.clone(), &place), begun);
        assert_eq!(as_begun(now.clone(), &Place { moved_from: None, ..place }), now);
    }
}
