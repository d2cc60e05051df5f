//! Two versions of a policy file, rule by rule: what of the new one is stricter counts at once, what is looser waits.

use checkrein_contract::PolicySource;
use checkrein_toml::{FileError, Source, Spanned};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Counts, Difference};

/// Keys of a rule that change nothing of what it decides.
const WORDS: [&str; 3] = ["reason", "matches", "does_not_match"];
/// A policy that says nothing.
const EMPTY: &str = "version = 1\n";

/// A policy file as it is to hold now, and how that differs from before.
pub(super) struct Merged {
    /// The files that stand for it; equal to the old ones where nothing counts at once.
    pub(super) sources: Vec<PolicySource>,
    /// What is different, and what of it counts.
    pub(super) differences: Vec<Difference>,
}

/// One rule, and the lines it is written in.
struct Rule {
    id: String,
    allows: bool,
    /// Without what decides nothing.
    what: Value,
    /// Lines of the text, from 0, up to the next rule.
    lines: std::ops::Range<usize>,
    text: String,
}

/// A file, taken apart.
struct Taken<'a> {
    source: &'a PolicySource,
    rules: Vec<Rule>,
    denies: bool,
    ask_denies: bool,
}

#[derive(Deserialize)]
struct Shape {
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    on_ask: Option<String>,
    #[serde(default)]
    rule: Vec<Spanned<Map<String, Value>>>,
}

/// Holds the files in force under one name against the one that is there now; `None`: it is gone.
pub(super) fn merge(old: &[&PolicySource], new: Option<&PolicySource>) -> Result<Merged, FileError> {
    if let ([only], Some(new)) = (old, new)
        && *only == new
    {
        return Ok(Merged { sources: cloned(old), differences: Vec::new() });
    }
    let Some(any) = new.or_else(|| old.first().copied()) else {
        return Ok(Merged { sources: Vec::new(), differences: Vec::new() });
    };
    let gone = PolicySource { text: EMPTY.to_owned(), ..any.clone() };
    let before: Vec<Taken<'_>> = old.iter().map(|source| Taken::of(source)).collect::<Result<_, _>>()?;
    let now = Taken::of(new.unwrap_or(&gone))?;
    let mut merged = Comparison { file: &any.file, before: &before, now: &now, differences: Vec::new() };
    let withheld = merged.loosened();
    let kept = merged.dropped();
    let looser = !merged.differences.is_empty();
    let stricter = merged.tightened();
    let differences = merged.differences;
    let whole = match (looser, stricter) {
        (true, true) => None,
        (false, true) => Some(new.cloned().into_iter().collect()),
        (_, false) => Some(cloned(old)),
    };
    if let Some(sources) = whole {
        return Ok(Merged { sources, differences });
    }
    let mut sources =
        vec![PolicySource { text: without(&now, |rule| withheld.contains(&rule.id)), ..now.source.clone() }];
    for (taken, kept) in before.iter().zip(&kept) {
        let text = without(taken, |rule| !kept.contains(&rule.id));
        sources.push(PolicySource { text, only_tightens: true, ..taken.source.clone() });
    }
    Ok(Merged { sources, differences })
}

fn cloned(sources: &[&PolicySource]) -> Vec<PolicySource> {
    sources.iter().map(|source| (*source).clone()).collect()
}

struct Comparison<'a> {
    file: &'a str,
    before: &'a [Taken<'a>],
    now: &'a Taken<'a>,
    differences: Vec<Difference>,
}

impl Comparison<'_> {
    fn say(&mut self, rule: &str, how: &str, counts: Counts, old: Option<&Rule>, new: Option<&Rule>) {
        let text = |rule: Option<&Rule>| rule.map(|rule| rule.text.clone()).unwrap_or_default();
        let what = format!("{}: {rule} {how}", self.file);
        self.differences.push(Difference { what, counts, old: text(old), new: text(new) });
    }

    fn old_rules(&self) -> impl Iterator<Item = (&Taken<'_>, &Rule)> {
        self.before.iter().flat_map(|taken| taken.rules.iter().map(move |rule| (taken, rule)))
    }

    /// Rules of the new file that let more through: ids.
    fn loosened(&mut self) -> Vec<String> {
        let now = self.now;
        let mut ids = Vec::new();
        for rule in now.rules.iter().filter(|rule| rule.allows && !now.source.only_tightens) {
            let held = |taken: &Taken<'_>, old: &Rule| !taken.source.only_tightens && old.what == rule.what;
            if self.old_rules().any(|(taken, old)| held(taken, old)) {
                continue;
            }
            let before = self.before.iter().flat_map(|taken| &taken.rules).find(|old| old.id == rule.id);
            let how = if before.is_some() { "allows something else" } else { "is new and allows" };
            self.say(&format!("rule `{}`", rule.id), how, Counts::WithYourWord, before, Some(rule));
            ids.push(rule.id.clone());
        }
        ids
    }

    /// Rules of the old files that ask or deny and are not there any more: ids, for each file.
    fn dropped(&mut self) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for taken in self.before {
            let gone = taken.rules.iter().filter(|rule| !rule.allows && !self.now.has(rule));
            let gone: Vec<&Rule> = gone.collect();
            for rule in &gone {
                self.say(
                    &format!("rule `{}`", rule.id),
                    "asks or denies no more",
                    Counts::WithYourWord,
                    Some(rule),
                    None,
                );
            }
            let header = taken.denies && !self.now.denies || taken.ask_denies && !self.now.ask_denies;
            if header {
                self.say("what no rule speaks of", "is not denied any more", Counts::WithYourWord, None, None);
            }
            all.push(gone.into_iter().map(|rule| rule.id.clone()).collect());
        }
        all
    }

    /// Notes what is stricter; whether anything is.
    fn tightened(&mut self) -> bool {
        let now = self.now;
        let before = self.differences.len();
        for rule in now.rules.iter().filter(|rule| !rule.allows) {
            if !self.before.iter().any(|taken| taken.has(rule)) {
                self.say(&format!("rule `{}`", rule.id), "is new and asks or denies", Counts::AtOnce, None, Some(rule));
            }
        }
        for taken in self.before {
            let gone = taken.rules.iter().filter(|rule| rule.allows && !taken.source.only_tightens);
            for rule in gone.filter(|rule| now.source.only_tightens || !now.has(rule)) {
                let new = now.rules.iter().find(|new| new.id == rule.id);
                self.say(&format!("rule `{}`", rule.id), "allows no more what it did", Counts::AtOnce, Some(rule), new);
            }
        }
        let old = |is: fn(&Taken<'_>) -> bool| self.before.iter().any(is);
        if now.denies && !old(|taken| taken.denies) || now.ask_denies && !old(|taken| taken.ask_denies) {
            self.say("what no rule speaks of", "is denied", Counts::AtOnce, None, None);
        }
        self.differences.len() > before
    }
}

impl<'a> Taken<'a> {
    fn of(source: &'a PolicySource) -> Result<Self, FileError> {
        let reader = Source { file: &source.file, text: &source.text };
        let shape: Shape = reader.toml()?;
        let lines: Vec<&str> = source.text.lines().collect();
        let starts: Vec<usize> = shape.rule.iter().map(|rule| reader.line(rule.span().start) - 1).collect();
        let mut rules = Vec::new();
        for (index, rule) in shape.rule.into_iter().enumerate() {
            let start = starts.get(index).copied().unwrap_or_default();
            let end = starts.get(index + 1).copied().unwrap_or(lines.len());
            if !lines.get(start).is_some_and(|line| line.trim_start().starts_with("[[")) {
                let message = "write each rule under a `[[rule]]` of its own, so that it can be told what changed";
                return Err(reader.error(rule.span().start, message));
            }
            let mut what = rule.into_inner();
            let text = lines.get(start..end).unwrap_or_default().join("\n");
            let word = |name: &str| what.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (id, decision) = (word("id"), word("decision"));
            for name in WORDS {
                what.remove(name);
            }
            rules.push(Rule { id, allows: decision == "allow", what: Value::Object(what), lines: start..end, text });
        }
        let denies = |word: Option<String>| word.as_deref() == Some("deny");
        Ok(Self { source, rules, denies: denies(shape.default), ask_denies: denies(shape.on_ask) })
    }

    fn has(&self, rule: &Rule) -> bool {
        self.rules.iter().any(|own| own.what == rule.what)
    }
}

/// The text with empty lines in the place of these rules: every other rule stands where it stood.
fn without(taken: &Taken<'_>, leave: impl Fn(&Rule) -> bool) -> String {
    let left: Vec<_> = taken.rules.iter().filter(|rule| leave(rule)).map(|rule| rule.lines.clone()).collect();
    let lines = taken.source.text.lines().enumerate();
    let kept = lines.map(|(number, line)| if left.iter().any(|lines| lines.contains(&number)) { "" } else { line });
    kept.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{Effect, Facts, Foreseen, Identity, Layer, Place, Question, Verdict};
    use checkrein_policy::{Policy, Variables, decide};

    use super::*;

    fn source(rules: &[(&str, &str, &str)]) -> PolicySource {
        let rule = |(id, decision, path): &(&str, &str, &str)| {
            format!(
                "\n[[rule]]\nid = \"{id}\"\ndecision = \"{decision}\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"{path}\"]\n"
            )
        };
        let text = format!("version = 1\n{}", rules.iter().map(rule).collect::<String>());
        PolicySource { layer: Layer::Project, file: "policy.toml".to_owned(), text, only_tightens: false }
    }

    fn verdicts(sources: &[PolicySource]) -> [Verdict; 3] {
        let place = Place { root: "/p".to_owned(), cwd: "/p".to_owned(), ..Place::default() };
        let policy = Policy::load(sources, &Variables::new(&place, &Identity::default())).unwrap();
        PATHS.map(|path| {
            let mut facts = Facts::default();
            facts.add(Question::RealPath { path: path.to_owned() }, Some(path.into()));
            decide(&policy, &Foreseen { effects: vec![Effect::write(path)], ..Foreseen::default() }, &facts).verdict
        })
    }

    const PATHS: [&str; 3] = ["/p/a", "/p/b", "/p/c"];

    /// Over every pair of small policies: never looser than either of them, exactly the new one where only tightened, and the
    /// same again when it is looked at once more.
    #[test]
    fn what_holds_is_never_looser_than_before_or_now() {
        let words = ["", "allow", "ask", "deny"];
        let policies: Vec<PolicySource> = (0..16)
            .map(|number| {
                let rules = [("r0", words[number % 4], PATHS[0]), ("r1", words[number / 4], PATHS[1])];
                source(&rules.into_iter().filter(|(_, word, _)| !word.is_empty()).collect::<Vec<_>>())
            })
            .collect();
        let alone: Vec<_> = policies.iter().map(|policy| verdicts(std::slice::from_ref(policy))).collect();
        for (old, new) in (0..16).flat_map(|old| (0..16).map(move |new| (old, new))) {
            let merged = merge(&[&policies[old]], Some(&policies[new])).unwrap();
            let waits = merged.differences.iter().any(|one| one.counts == Counts::WithYourWord);
            let held = verdicts(&merged.sources);
            for at in 0..PATHS.len() {
                let strict = alone[old][at].max(alone[new][at]);
                assert_eq!(held[at], strict, "{}\n{}\n{}", PATHS[at], policies[old].text, policies[new].text);
                assert!(waits || held[at] == alone[new][at]);
            }
            let again: Vec<&PolicySource> = merged.sources.iter().collect();
            let again = merge(&again, Some(&policies[new])).unwrap();
            assert!(again.differences.iter().all(|one| one.counts == Counts::WithYourWord), "{:?}", again.differences);
            assert_eq!(again.sources, merged.sources, "what was taken over once is not taken over again");
        }
    }

    /// A policy that is gone, or that a person did not trust before, or that is new altogether.
    #[test]
    fn whole_files_come_and_go() {
        let own = source(&[("a", "allow", "/p/a"), ("b", "deny", "/p/b")]);
        let strict = [Verdict::Ask, Verdict::Deny, Verdict::Ask];
        assert_eq!(verdicts(&merge(&[&own], None).unwrap().sources), strict, "gone");
        assert_eq!(verdicts(&merge(&[], Some(&own)).unwrap().sources), strict, "new");
        let found = PolicySource { only_tightens: true, ..own.clone() };
        assert_eq!(merge(&[&found], Some(&own)).unwrap().sources, std::slice::from_ref(&found), "trusted");
        assert_eq!(merge(&[&own], Some(&found)).unwrap().sources, [found], "not trusted any more");
        let header = |text: &str| PolicySource { text: format!("{text}\n{}", own.text), ..own.clone() };
        let closed = header("default = \"deny\"");
        assert_eq!(verdicts(&merge(&[&own], Some(&closed)).unwrap().sources)[2], Verdict::Deny);
        let opened = merge(&[&closed], Some(&own)).unwrap();
        assert_eq!((verdicts(&opened.sources)[2], opened.differences.len()), (Verdict::Deny, 1));
        let inline = PolicySource { text: "version = 1\nrule = [{ id = \"a\" }]\n".to_owned(), ..own.clone() };
        assert!(merge(&[&own], Some(&inline)).is_err());
    }
}
