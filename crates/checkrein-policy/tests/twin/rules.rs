//! Each kind of rule: how much of an effect it covers. Part of what shows R12.

use std::net::IpAddr;

use checkrein_contract::{Connect, Deed, Effect, EffectWord, Facts, Question, Run, Tree, Verdict};
use serde_json::Value;

use crate::description::{Condition, Host, Kind, Rule, Running};
use crate::judging::held;
use crate::names::{WORLD, is_within, like, matches, shell_matches};

/// How much of an effect a rule covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Covered {
    Broken,
    Nothing,
    /// Something that lies inside what is walked over.
    WalkedOver,
    /// Some of its names.
    Part,
    Everything,
}

fn all_or_nothing(hit: bool) -> Covered {
    if hit { Covered::Everything } else { Covered::Nothing }
}

/// How much of an effect (of the rule's word) a rule covers.
pub(crate) fn covers(rule: &Rule, effect: &Effect, facts: &Facts) -> Covered {
    let allows = rule.verdict == Verdict::Allow;
    match (&rule.kind, effect) {
        (Kind::Anything, _) => Covered::Everything,
        (Kind::Path { paths, except, content }, _) => {
            let filled = |texts: &[&str]| {
                let mut texts: Vec<String> = texts.iter().map(|text| text.replace("{root}", ROOT)).collect();
                if rule.word == EffectWord::Read {
                    // Listing a folder is part of reading what is in it.
                    let folders = texts.iter().filter_map(|text| text.strip_suffix("/**"));
                    let folders: Vec<String> =
                        folders.map(|folder| if folder.is_empty() { "/" } else { folder }.to_owned()).collect();
                    texts.extend(folders);
                }
                texts
            };
            let (paths, except) = (filled(paths), filled(except));
            if paths.iter().chain(&except).any(|text| text.contains("{identity")) {
                return Covered::Broken;
            }
            let rule = Paths { paths, except, content: *content, allows, facts };
            rule.covers(effect)
        }
        (Kind::Words { words, exact, running }, Effect::Run(run)) => {
            all_or_nothing(fits(running, run, allows) && has_words(words, *exact, run, allows, facts))
        }
        (Kind::Program { names, running }, Effect::Run(run)) => {
            let base = run.program.rsplit('/').next().unwrap_or_default();
            let named =
                |name: &str| names.is_empty() || names.iter().any(|wanted| is_program(wanted, name, facts, allows));
            let named = if allows { named(&run.program) } else { named(&run.program) || named(base) };
            all_or_nothing(named && fits(running, run, allows))
        }
        (Kind::Host(host), Effect::Connect(to)) => all_or_nothing(may_connect(host, to, allows, facts)),
        (Kind::Tool { tool, server, conditions }, Effect::Tool { tool: called, server: of, args }) => {
            let is = |wanted: &str, name: &str| if allows { wanted == name } else { like(wanted, name) };
            // A rule without `server` speaks of the host's own tools only.
            let same_server = match (server, of) {
                (None, None) => true,
                (Some(wanted), Some(server)) => is(wanted, server),
                _ => false,
            };
            if !same_server || tool.is_some_and(|tool| !is(tool, called)) {
                return Covered::Nothing;
            }
            for (argument, condition) in conditions {
                match holds(argument, condition, args, allows) {
                    None => return Covered::Broken,
                    Some(false) => return Covered::Nothing,
                    Some(true) => {}
                }
            }
            Covered::Everything
        }
        _ => Covered::Nothing,
    }
}

/// The project of every case.
pub(crate) const ROOT: &str = "/p";

struct Paths<'a> {
    paths: Vec<String>,
    except: Vec<String>,
    content: bool,
    allows: bool,
    facts: &'a Facts,
}

impl Paths<'_> {
    fn hit(&self, path: &str) -> bool {
        self.one_place(&[path.to_owned()])
    }

    /// A place with several names: one of them is enough to be meant, and one is enough to be left out.
    fn one_place(&self, names: &[String]) -> bool {
        let folds = self.facts.folds_case();
        let any = |texts: &[String]| names.iter().any(|name| texts.iter().any(|text| matches(text, name, folds)));
        any(&self.paths) && !any(&self.except)
    }

    /// The names of a place: its own, and the one it has as a part of the project.
    fn called(&self, path: &str) -> Vec<String> {
        match self.facts.real_path(ROOT) {
            Some(real) if is_within(path, real) => vec![path.to_owned(), format!("{ROOT}{}", &path[real.len()..])],
            _ => vec![path.to_owned()],
        }
    }

    /// The places that a path stands for: what is written, and what that really is.
    fn places(&self, written: &str) -> Vec<String> {
        std::iter::once(written).chain(self.facts.real_path(written)).map(str::to_owned).collect()
    }

    fn named(&self, written: &str) -> Covered {
        let hits: Vec<bool> = self.places(written).iter().map(|place| self.one_place(&self.called(place))).collect();
        match (hits.iter().any(|hit| *hit), hits.iter().all(|hit| *hit)) {
            (_, true) => Covered::Everything,
            (true, false) => Covered::Part,
            (false, _) => Covered::Nothing,
        }
    }

    /// A pattern of the shell, on which an effect is: the paths of a small world stand for all paths.
    ///
    /// Where it is only asked whether the two can meet, a class of letters in the rule is taken for any letter, and
    /// what lies below a folder (on either side) for the folder as well.
    fn pattern(&self, pattern: &str, reads: bool) -> Covered {
        let folds = self.facts.folds_case();
        let all: Vec<String> = WORLD.iter().filter(|path| shell_matches(pattern, path, folds)).cloned().collect();
        let meets = |texts: &[String]| {
            let mut texts: Vec<String> = texts.iter().map(|text| text.replace("[ab]", "?")).collect();
            let folders = texts.iter().filter_map(|text| text.strip_suffix("/**")).map(str::to_owned);
            texts.extend(folders.collect::<Vec<_>>());
            let top = pattern.strip_suffix("/**").map(str::to_owned);
            all.iter().chain(&top).any(|path| texts.iter().any(|text| matches(text, path, folds)))
        };
        // A `?` or `[..]` of a rule matches less than the shell's `*` may.
        let wide = Paths {
            paths: self.paths.iter().filter(|text| !text.contains(['?', '['])).cloned().collect(),
            except: self.except.clone(),
            ..*self
        };
        let every = all.iter().all(|path| wide.hit(path));
        // To ask or deny, a match is enough whose name no rule spells out.
        let ordinary = self.hit(&pattern.replace("**", "w").replace('*', "w"));
        match (self.allows, reads) {
            (true, _) => all_or_nothing(every && !meets(&self.except)),
            // What it matches was looked up, and each of it is an effect of its own.
            (false, true) if ordinary => Covered::WalkedOver,
            (false, true) => Covered::Nothing,
            (false, false) if ordinary => Covered::Part,
            (false, false) => {
                let excepted = |path: &String| self.except.iter().any(|text| matches(text, path, folds));
                let met = meets(&self.paths) && !all.iter().all(excepted);
                if met { Covered::WalkedOver } else { Covered::Nothing }
            }
        }
    }

    /// A folder with everything below it.
    fn tree(&self, root: &str, holds: &[String]) -> Covered {
        let top = self.named(root);
        let places = self.places(root);
        let below = |root: &str, path: &str| self.one_place(&self.called(&format!("{root}/{path}")));
        // What no rule spells out, as deep as no rule does.
        let ordinary = |root: &String| ["w", "w/w", &["w"; 24].join("/")].iter().all(|path| below(root, path));
        if self.allows {
            let everything = places.iter().all(|root| {
                let inside = WORLD.iter().filter(|path| *path != root && is_within(path, root));
                let all = inside.clone().all(|path| self.one_place(&self.called(path)));
                let folds = self.facts.folds_case();
                let excepted = self.called(root).iter().any(|root| {
                    let inside = WORLD.iter().filter(|path| is_within(path, root));
                    inside.clone().any(|path| self.except.iter().any(|text| matches(text, path, folds)))
                });
                all && ordinary(root) && !excepted
            });
            return all_or_nothing(top == Covered::Everything && everything);
        }
        if top != Covered::Nothing || places.iter().any(ordinary) {
            return Covered::Part;
        }
        let walked = holds.iter().any(|file| self.named(file) != Covered::Nothing);
        if walked { Covered::WalkedOver } else { Covered::Nothing }
    }

    fn covers(&self, effect: &Effect) -> Covered {
        let path = effect.path().expect("it has a path");
        let found = |tree: &Tree| held(tree, self.facts).unwrap_or_default();
        match effect {
            Effect::List { .. } if self.content => Covered::Nothing,
            _ if effect.is_glob() => self.pattern(path, effect.word() == EffectWord::Read),
            // The reader leaves out by itself what is denied inside.
            Effect::ReadTree(tree) => self.tree(path, &if tree.asks_each { Vec::new() } else { found(tree) }),
            Effect::List { deep: true, .. } => self.tree(path, &[]),
            Effect::Delete { recursive: true, .. } if self.named(path) == Covered::Nothing && !self.allows => {
                self.tree(path, &found(&Tree { root: path.to_owned(), ..Tree::default() }))
            }
            _ => self.named(path),
        }
    }
}

fn fits(running: &Running, run: &Run, allows: bool) -> bool {
    let set = |pair: &String| running.env.iter().any(|name| pair.split('=').next() == Some(name));
    let env = if allows { run.env.iter().all(set) } else { running.env.is_empty() || run.env.iter().any(set) };
    let never = run.deeds.contains(&Deed::Downloaded) || run.deeds.contains(&Deed::Multiplies);
    env && !(allows && never)
        && running.modelled.is_none_or(|modelled| modelled == run.modelled)
        && (!running.read_only || run.modelled && run.deeds.is_empty())
        && (running.does.is_empty() || running.does.iter().any(|deed| run.deeds.contains(deed)))
        && (!running.informational || run.informational)
}

fn is_program(wanted: &str, name: &str, facts: &Facts, allows: bool) -> bool {
    let exactly = |wanted: &str, name: &str| {
        let (before, after) = wanted.split_once('*').unwrap_or((wanted, ""));
        let any = wanted.contains('*');
        if any {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        } else {
            wanted == name
        }
    };
    // An allow covers a bare name.
    if allows && name.contains('/') {
        return false;
    }
    exactly(wanted, name) || !allows && facts.folds_case() && exactly(&wanted.to_lowercase(), &name.to_lowercase())
}

/// `rm -rf` and `git push --force` as their models write them: path, options.
type Modelled = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

const MODELLED: [Modelled; 3] = [
    (&["rm", "-rf"], &["rm"], &["--recursive", "--force"]),
    (&["git", "push"], &["git", "push"], &[]),
    (&["git", "push", "-f"], &["git", "push"], &["--force"]),
];

fn has_words(words: &[&str], exact: bool, run: &Run, allows: bool, facts: &Facts) -> bool {
    let base = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let folded = |name: String| if facts.folds_case() { name.to_lowercase() } else { name };
    let (program, rest) = words.split_first().expect("there is a program");
    let same = if allows { run.program == *program } else { folded(base(&run.program)) == folded(base(program)) };
    if !same {
        return false;
    }
    let model = MODELLED.iter().find(|(written, ..)| *written == words);
    if let (Some((_, path, options)), false) = (model, run.words.is_empty()) {
        return same_deed(path, options, exact, run, allows);
    }
    let given = &run.argv[1..];
    match (allows, exact) {
        (true, true) => given == rest,
        (true, false) => given.len() >= rest.len() && given.iter().zip(rest).all(|(given, word)| given == word),
        (false, _) => rest.iter().all(|word| given.iter().any(|given| given == word)),
    }
}

fn same_deed(path: &[&str], options: &[&str], exact: bool, run: &Run, allows: bool) -> bool {
    let end = run.words.iter().position(|word| word == "--").unwrap_or(run.words.len());
    let operands = run.words.len().saturating_sub(end + 1);
    let head = &run.words[..end];
    let sub: Vec<&String> = head[1..].iter().filter(|word| !word.starts_with('-')).collect();
    let same_path = sub.len() + 1 >= path.len() && sub.iter().zip(&path[1..]).all(|(given, word)| *given == word);
    let has =
        |option: &&str| head.iter().any(|word| word == option || !allows && word.split('=').next() == Some(option));
    let steered = run.steered_by.iter().all(|option| options.contains(&option.as_str()));
    same_path && options.iter().all(has) && (!allows || steered && !(exact && operands > 0))
}

fn may_connect(rule: &Host, to: &Connect, allows: bool, facts: &Facts) -> bool {
    let host = |wanted: &str| match wanted.strip_prefix("*.") {
        Some(parent) => to.host.len() > parent.len() + 1 && to.host.ends_with(&format!(".{parent}")),
        None => wanted == "*" && (!allows || !to.host.is_empty()) || wanted == to.host,
    };
    let scheme = to.scheme.as_deref();
    let path = |prefix: &str| {
        let prefix = prefix.trim_end_matches('*').trim_end_matches('/');
        to.path.as_deref().map_or(!allows, |path| path == prefix || path.starts_with(&format!("{prefix}/")))
    };
    let method = to.method.as_deref().unwrap_or("GET");
    let opener = if allows {
        rule.server == to.via.as_deref()
    } else {
        rule.server.is_none_or(|s| to.via.as_deref() == Some(s))
    };
    let methods = match &rule.methods {
        Some(methods) => methods.contains(&method),
        None => !allows || matches!(method, "GET" | "HEAD"),
    };
    opener
        && methods
        && !(allows && to.user_info)
        && rule.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|wanted| host(wanted)))
        && rule.schemes.as_ref().is_none_or(|schemes| scheme.is_some_and(|scheme| schemes.contains(&scheme)))
        && rule.not_schemes.as_ref().is_none_or(|schemes| scheme.is_some_and(|scheme| !schemes.contains(&scheme)))
        && rule.ports.as_ref().is_none_or(|ports| ports.contains(&to.port))
        && rule.url_paths.as_ref().is_none_or(|paths| paths.iter().any(|prefix| path(prefix)))
        && rule.addresses.as_ref().is_none_or(|kinds| has_address(kinds, &to.host, allows, facts))
}

fn has_address(kinds: &[&str], host: &str, allows: bool, facts: &Facts) -> bool {
    let kind = |address: &str| match address.parse::<IpAddr>().ok() {
        Some(IpAddr::V4(address)) if address.is_loopback() => "loopback",
        Some(IpAddr::V4(address)) if address.is_private() => "private",
        Some(IpAddr::V4(address)) if address.is_link_local() => "link-local",
        Some(IpAddr::V6(address)) if address.is_loopback() => "loopback",
        _ => "public",
    };
    let is = |address: &str| kinds.contains(&kind(address));
    if host == "localhost" && kinds.contains(&"loopback") || is(host) {
        return true;
    }
    let known = facts.list(&Question::Addresses { host: host.to_owned() }).unwrap_or_default();
    // Of several addresses any is enough for a deny; an allow covers all.
    if allows {
        !known.is_empty() && known.iter().all(|address| is(address))
    } else {
        known.iter().any(|address| is(address))
    }
}

/// Whether a condition holds; `None` where it can not be evaluated.
fn holds(argument: &str, condition: &Condition, args: &Value, allows: bool) -> Option<bool> {
    if !argument.contains('.') {
        return one_holds(condition, args.get(argument));
    }
    let plain = argument.trim_end_matches('?');
    let values = reach(&plain.split('.').collect::<Vec<_>>(), args);
    if values.is_empty() {
        return Some(argument.ends_with('?'));
    }
    let each: Option<Vec<bool>> = values.iter().map(|value| one_holds(condition, Some(value))).collect();
    // An allow speaks of calls in which it is so everywhere, the others of those in which it is so anywhere.
    each.map(|each| if allows { each.iter().all(|holds| *holds) } else { each.iter().any(|holds| *holds) })
}

fn reach(keys: &[&str], value: &Value) -> Vec<Value> {
    match (keys, value) {
        ([], Value::Array(all)) => all.clone(),
        ([], Value::Null) => Vec::new(),
        ([], one) => vec![one.clone()],
        (["*", more @ ..], Value::Array(all)) => all.iter().flat_map(|one| reach(more, one)).collect(),
        ([key, more @ ..], Value::Object(map)) => map.get(*key).map(|one| reach(more, one)).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn one_holds(condition: &Condition, value: Option<&Value>) -> Option<bool> {
    if matches!(condition, Condition::Broken) {
        return None;
    }
    let Some(value) = value else { return Some(false) };
    let (text, number) = (value.as_str(), value.as_f64());
    Some(match condition {
        Condition::Broken => return None,
        Condition::Number(wanted) => number == Some(*wanted),
        Condition::Text(wanted) => text == Some(wanted),
        Condition::OneOf(wanted) => text.is_some_and(|text| wanted.contains(&text)),
        Condition::Within(min, max) => {
            number.is_some_and(|number| min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max))
        }
        Condition::Pattern => text.is_some_and(|text| {
            text == "a" || text.len() == 3 && text.starts_with("ab") && text.ends_with(|c: char| c.is_ascii_digit())
        }),
        Condition::Path(wanted) => text.is_some_and(|text| absolute(text) == *wanted),
    })
}

/// A path from the project, without dots.
fn absolute(text: &str) -> String {
    let whole = if text.starts_with('/') { text.to_owned() } else { format!("{ROOT}/{text}") };
    let mut names: Vec<&str> = Vec::new();
    for name in whole.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}
