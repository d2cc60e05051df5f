//! The transcript: what two runs of one script have in common, byte for byte.
//!
//! It leaves out what differs from run to run (times, durations, session ids, digests that depend on ids or paths) and gives
//! stable names to what must stay recognisable (approvals, folders). It is for comparing and for people, and proves nothing:
//! only an export can be verified.

use checkrein_contract::{Body, Event, Place, SessionChange, canonical_string};
use serde_json::{Map, Value};

/// One canonical JSON line an event, without whatever differs between two runs of the same script.
///
/// Left out: `at`, session ids, the time that a sub-session took and was given, when an approval was asked for and expires, `duration_ms`, `binds`, `rests_on`, `key`, `value`. Renamed
/// wherever they occur in a text: approval ids (`approval-1` for the first one asked for), remembered yeses (`rule-1`), the workspace (`{root}`), the
/// folder calls start from if it is another one (`{cwd}`), the task folder (`{folder}`), the home folder (`{home}`), each
/// variable that is a path (`{NAME}`), session ids (`{session}`; `{parent}`, and `{part 1}` for the first sub-session).
pub fn transcript_lines(events: &[Event]) -> Vec<String> {
    let names = Names::of(events);
    events.iter().map(|event| line(event, &names)).collect()
}

fn line(event: &Event, names: &Names) -> String {
    let mut fields = match serde_json::to_value(event) {
        Ok(Value::Object(fields)) => fields,
        // An event is an object by its type, and all its keys are strings.
        Ok(_) | Err(_) => Map::new(),
    };
    for name in left_out(&event.body) {
        fields.remove(*name);
    }
    fields.remove("at");
    let time = match &event.body {
        // What a sub-session was given depends on how much time was left.
        Body::Session(opened) if opened.parent.is_some() => fields.get_mut("budget").map(|budget| (budget, "seconds")),
        Body::Finished(_) => {
            fields.get_mut("change").and_then(|change| change.get_mut("spend")).map(|s| (s, "driven_ms"))
        }
        _ => None,
    };
    if let Some((Value::Object(numbers), name)) = time {
        numbers.remove(name);
    }
    canonical_string(&names.rename(Value::Object(fields)))
}

/// The top-level fields of a body that differ between two runs of one script.
fn left_out(body: &Body) -> &'static [&'static str] {
    match body {
        Body::Session(_) => &["session", "forked", "cassette"],
        Body::Decision { .. } => &["binds"],
        Body::Ask(_) => &["session", "binds", "rests_on", "requested_at", "expires_at"],
        Body::Approval { .. } => &["expires_at"],
        Body::Remembered(_) | Body::Forgotten { .. } => &["policy_digest"],
        Body::Started { .. } => &["key"],
        Body::Finished(_) => &["duration_ms", "value"],
        Body::Resumed { .. }
        | Body::Recomposed(_)
        | Body::Input { .. }
        | Body::Request { .. }
        | Body::RequestFailed { .. }
        | Body::Proposal { .. }
        | Body::Check(_)
        | Body::Instructions(_)
        | Body::Hook(_)
        | Body::AnswerRefused { .. }
        | Body::Settled { .. }
        | Body::Trim { .. }
        | Body::Compacted(_)
        | Body::Budget { .. }
        | Body::Stop(_)
        | Body::Note(_) => &[],
    }
}

/// Texts that differ between runs, with the names that stand for them; the longest text first, so that a folder inside
/// another one is recognised before the other one.
#[derive(Clone, Debug)]
pub struct Names(Vec<(String, String)>);

impl Names {
    /// These texts and their names. Of equal texts the one that is named first counts.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut names = Self(Vec::new());
        pairs.into_iter().for_each(|(text, name)| names.add(text, name));
        names.sorted()
    }

    fn of(events: &[Event]) -> Self {
        let mut names = Self(Vec::new());
        let (mut approvals, mut rules, mut parts) = (0_usize, 0_usize, 0_usize);
        for event in events {
            match &event.body {
                Body::Session(opened) => {
                    names.add(opened.session.as_str(), "{session}");
                    if let Some(forked) = &opened.forked {
                        names.add(forked.session.as_str(), "{forked}");
                    }
                    names.add_place(&opened.place);
                    names.add_folder(opened.folder.as_deref().unwrap_or_default(), "folder");
                    names.add_variables(&opened.variables);
                    if let Some(parent) = &opened.parent {
                        names.add(parent.session.as_str(), "{parent}");
                    }
                }
                Body::Finished(finished) => {
                    if let Some(SessionChange::Delegated { session, .. }) = &finished.change {
                        names.add_part(session.as_str(), &mut parts);
                    }
                }
                Body::Stop(stop) => {
                    let named = stop.reason.split("in its sub-session ").skip(1);
                    named.filter_map(|rest| rest.split_once(':')).for_each(|(id, _)| names.add_part(id, &mut parts));
                }
                Body::Recomposed(change) => {
                    change.place.iter().for_each(|place| names.add_place(place));
                    change.variables.iter().for_each(|variables| names.add_variables(variables));
                }
                Body::Ask(request) => {
                    names.add(request.session.as_str(), "{session}");
                    names.add_numbered(request.id.as_str(), "approval", &mut approvals);
                }
                Body::Approval { id, .. } | Body::AnswerRefused { id, .. } => {
                    names.add_numbered(id.as_str(), "approval", &mut approvals)
                }
                Body::Remembered(yes) => names.add_numbered(yes.rule.as_str(), "rule", &mut rules),
                Body::Started { approval: Some(id), .. } => names.add_numbered(id.as_str(), "approval", &mut approvals),
                _ => {}
            }
        }
        names.sorted()
    }

    fn sorted(mut self) -> Self {
        // A stable sort: of two equal texts the one that was named first stands.
        self.0.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        self
    }

    fn add(&mut self, text: &str, name: &str) {
        if !text.is_empty() && !self.knows(text) {
            self.0.push((text.to_owned(), name.to_owned()));
        }
    }

    fn add_place(&mut self, place: &Place) {
        self.add_folder(&place.root, "root");
        self.add_folder(&place.cwd, "cwd");
        self.add_folder(&place.home, "home");
    }

    fn add_variables(&mut self, variables: &[(String, String)]) {
        for (name, value) in variables {
            self.add_folder(value, name);
        }
    }

    fn add_folder(&mut self, path: &str, name: &str) {
        let path = path.trim_end_matches('/');
        // Anything but an absolute path could be an ordinary word of the texts.
        if path.starts_with('/') {
            self.add(path, &format!("{{{name}}}"));
        }
    }

    fn add_numbered(&mut self, id: &str, what: &str, count: &mut usize) {
        if !self.knows(id) {
            *count = count.saturating_add(1);
            self.add(id, &format!("{what}-{count}"));
        }
    }

    fn add_part(&mut self, id: &str, count: &mut usize) {
        if !self.knows(id) {
            *count = count.saturating_add(1);
            self.add(id, &format!("{{part {count}}}"));
        }
    }

    fn knows(&self, text: &str) -> bool {
        self.0.iter().any(|(known, _)| known == text)
    }

    /// The value with names in place of texts, also in keys of objects.
    pub fn rename(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.rename_text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.rename(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, value)| (self.rename_text(&key), self.rename(value))).collect()
            }
            scalar => scalar,
        }
    }

    fn rename_text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let found = self.0.iter().find(|(known, _)| {
                rest.strip_prefix(known.as_str()).is_some_and(|after| !continues(after)) && !ends_in_name(&out)
            });
            match found {
                Some((known, name)) => {
                    out.push_str(name);
                    rest = rest.get(known.len()..).unwrap_or_default();
                }
                None => {
                    out.push(next);
                    rest = rest.get(next.len_utf8()..).unwrap_or_default();
                }
            }
        }
        out
    }
}

/// Whether a name goes on here: `/srv/a` is not meant by `/srv/ab`, `/srv/a-b` or `/srv/a.bak`, but by `/srv/a.` and
/// `/srv/a/b`.
fn continues(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        Some('.') => chars.next().is_some_and(char::is_alphanumeric),
        Some(next) => is_name(next),
        None => false,
    }
}

/// Whether what stands before belongs to the same name: `/home/dev` is not meant by `/mnt/home/dev`.
fn ends_in_name(before: &str) -> bool {
    before.chars().next_back().is_some_and(|last| is_name(last) || matches!(last, '.' | '}'))
}

fn is_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut names = Names(Vec::new());
        names.add_folder("/state/s-1/work/", "root");
        names.add_folder("/state/s-1", "state");
        names.add_folder("/home/dev", "home");
        names.add_folder("relative", "no");
        names.add_folder("/", "no");
        names.add("s-1", "{session}");
        names
    }

    #[test]
    fn folders_are_renamed_at_their_borders_only() {
        let cases = [
            ("/state/s-1/work/a.txt", "{root}/a.txt"),
            ("cd /state/s-1/work.", "cd {root}."),
            ("/state/s-1/work.bak /state/s-1/worker", "{state}/work.bak {state}/worker"),
            ("PATH=/home/dev:/home/devel", "PATH={home}:/home/devel"),
            ("/mnt/home/dev ../home/dev", "/mnt/home/dev ../home/dev"),
            ("file:///home/dev", "file://{home}"),
            ("résumé of s-1, not s-12 or xs-1", "résumé of {session}, not s-12 or xs-1"),
            ("relative /", "relative /"),
        ];
        for (text, expected) in cases {
            assert_eq!(names().rename_text(text), expected, "{text}");
        }
    }
}
