//! Effects of a tool as templates over its arguments.
//!
//! `{name}` is an argument, `{a|b}` the first of two that is there, `{name?}` one that may be absent (then there is no
//! effect), `{list.*.name}` one in each object of a list. A list stands for each of its members.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use checkrein_contract::{Connect, Effect, Facts, Foreseen, Identity, PathStyle, Place, Question, Tree};
use checkrein_toml::{FileError, Source, Spanned};
use serde_json::{Map, Value};

use super::Parameter;
use super::patch::{self, Change};
use crate::url::{self, Url};
use crate::{Scene, paths, shell};

/// One effect as a template.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEffect {
    pub(super) word: TemplateWord,
    pub(super) target: String,
    args: BTreeMap<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateWord {
    Tool,
    Read,
    List,
    Write,
    Delete,
    Connect,
    /// The argument is a URL.
    Url,
    /// The argument is a git reference: no option, and `REV:path` reads the path.
    Reference,
    /// The argument is a bash command line.
    Bash,
    /// The argument is a pattern of paths whose names are looked up, below `cwd`.
    Glob,
    /// The argument is a file or folder (the working directory, where it is absent) that is searched as ripgrep does:
    /// all but ignored files; `names` may narrow them.
    Search,
    /// The argument is a patch (`*** Begin Patch`).
    Patch,
    /// One of the arguments asks to leave the sandbox.
    Leaves,
}

const TEMPLATE_WORDS: [(&str, TemplateWord); 13] = [
    ("tool", TemplateWord::Tool),
    ("read", TemplateWord::Read),
    ("list", TemplateWord::List),
    ("write", TemplateWord::Write),
    ("delete", TemplateWord::Delete),
    ("connect", TemplateWord::Connect),
    ("url", TemplateWord::Url),
    ("reference", TemplateWord::Reference),
    ("bash", TemplateWord::Bash),
    ("glob", TemplateWord::Glob),
    ("search", TemplateWord::Search),
    ("patch", TemplateWord::Patch),
    ("leaves_sandbox", TemplateWord::Leaves),
];

/// The tool a template speaks for.
#[derive(Clone, Copy)]
pub(super) struct Speaker<'a> {
    pub(super) server: Option<&'a str>,
    pub(super) tool: &'a str,
    pub(super) args: &'a Value,
}

/// A value that a template needs and does not get.
pub(super) struct Missing(pub(super) String);

impl ToolEffect {
    pub(super) fn foresee(&self, speaker: Speaker<'_>, scene: Scene<'_>) -> Result<Foreseen, Missing> {
        if self.word == TemplateWord::Tool {
            return self.acts(speaker).map(|effect| Foreseen::of(vec![effect]));
        }
        let mut all = Foreseen::default();
        if self.word == TemplateWord::Leaves {
            let asks =
                self.target.split('|').find(|name| speaker.args.get(*name).is_some_and(|value| leaves(name, value)));
            let what = asks.map(|name| format!("`{name}` asks to leave the sandbox"));
            all.effects.extend(what.map(Effect::unknown));
            return Ok(all);
        }
        let mut values = targets(&self.target, speaker.args)?;
        if values.is_empty() && self.word == TemplateWord::Search {
            values.push(Value::from("."));
        }
        for value in values {
            let Value::String(text) = &value else {
                let what = format!("`{}` was given {value} where a text is expected", speaker.tool);
                all.effects.push(Effect::unknown(what));
                continue;
            };
            if let Some((before, _)) = text.split_once('\0') {
                // What ends at the NUL for one program goes on for another.
                all.effects.push(Effect::unknown(format!("`{}` was given a text with a NUL in it", speaker.tool)));
                let one = self.one(before, speaker, scene)?;
                all.effects.extend(one.effects);
                all.questions.extend(one.questions);
                continue;
            }
            let one = self.one(text, speaker, scene)?;
            all.effects.extend(one.effects);
            all.questions.extend(one.questions);
            all.parts.extend(one.parts);
        }
        Ok(all)
    }

    fn acts(&self, speaker: Speaker<'_>) -> Result<Effect, Missing> {
        let tool = if self.target == "*" { speaker.tool.to_owned() } else { self.target.clone() };
        let mut filled = Map::new();
        for (name, template) in &self.args {
            filled.insert(name.clone(), fill_value(template, speaker.args).map_err(Missing)?);
        }
        let args = if self.args.is_empty() { speaker.args.clone() } else { Value::Object(filled) };
        Ok(Effect::Tool { tool, server: speaker.server.map(str::to_owned), args })
    }

    /// The folder below which a pattern is looked up.
    fn glob(&self, pattern: &str, speaker: Speaker<'_>, place: &Place) -> Effect {
        let end = pattern.find(['*', '?', '[', '{', '(', '!', '+', '@']).unwrap_or(pattern.len());
        let (fixed, rest) = pattern.split_at(end);
        // A step back, another root among alternatives, or dots that are spelled otherwise.
        let roots = ["{/", ",/", "|/", "(/"].iter().any(|mark| rest.contains(mark));
        if rest.contains("..") || pattern.contains('\\') || rest.contains("[.") || roots {
            return Effect::unknown(format!("where the pattern `{pattern}` looks is not known"));
        }
        let folder = fixed.rsplit_once('/').map_or("", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let cwd = self.args.get("cwd").and_then(|cwd| fill_value(cwd, speaker.args).ok());
        if cwd.as_ref().is_some_and(|cwd| !cwd.is_string() && !cwd.is_null()) {
            return Effect::unknown(format!("`{}` was given a folder that is no text", speaker.tool));
        }
        let cwd =
            cwd.as_ref().and_then(Value::as_str).map_or_else(|| place.cwd.clone(), |cwd| paths::absolute(cwd, place));
        Effect::List { path: paths::absolute(folder, &Place { cwd, ..place.clone() }), deep: true, glob: false }
    }

    fn one(&self, text: &str, speaker: Speaker<'_>, scene: Scene<'_>) -> Result<Foreseen, Missing> {
        // A server works in the project, wherever the shell may stand.
        let rooted = Place { cwd: scene.place.root.clone(), ..scene.place.clone() };
        let place = if speaker.server.is_some() { &rooted } else { scene.place };
        let asked = RefCell::new(Vec::new());
        let path = || walked(&path_of(text), place, scene.facts, &asked);
        let effect = match self.word {
            TemplateWord::Bash => {
                let cwd = self.args.get("cwd").and_then(|cwd| fill_value(cwd, speaker.args).ok());
                let Some(cwd) = cwd.as_ref().and_then(Value::as_str) else { return Ok(shell::foresee(text, scene)) };
                let cwd = paths::absolute(cwd, scene.place);
                let place = Place { cwd, ..scene.place.clone() };
                return Ok(shell::foresee(text, Scene { place: &place, ..scene }));
            }
            TemplateWord::Read => Effect::read(path()),
            TemplateWord::List => Effect::list(path()),
            TemplateWord::Write => Effect::write(path()),
            TemplateWord::Delete => Effect::delete(path(), true),
            TemplateWord::Connect => {
                let (host, port) = text.rsplit_once(':').unwrap_or((text, "443"));
                let Ok(port) = port.parse() else { return Err(Missing(format!("a port in {text}"))) };
                Effect::Connect(Connect { host: host.to_ascii_lowercase(), port, ..Connect::default() })
            }
            TemplateWord::Url => {
                let connect = Url::parse(text).map_or_else(|_| url::refused(), |url| url.connect());
                let method = self.args.get("method").and_then(|method| fill_value(method, speaker.args).ok());
                let method = method.and_then(|method| method.as_str().map(str::to_ascii_uppercase));
                let via = speaker.server.map(str::to_owned);
                let connect = Effect::Connect(Connect { method, via, ..connect });
                // A file behind a URL is a file.
                if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
                    return Ok(Foreseen::of(vec![connect, Effect::read(path())]));
                }
                connect
            }
            TemplateWord::Reference if text.starts_with('-') => {
                Effect::unknown(format!("`{text}` is an option where `{}` takes a reference", speaker.tool))
            }
            TemplateWord::Reference => match text.split_once(':') {
                Some((_, path)) if !path.is_empty() => Effect::read(paths::absolute(path, place)),
                _ => return Ok(Foreseen::default()),
            },
            TemplateWord::Glob => self.glob(text, speaker, place),
            TemplateWord::Search => {
                let names = self.args.get("names").and_then(|names| fill_value(names, speaker.args).ok());
                let names = names.as_ref().and_then(Value::as_str).map(str::to_owned);
                // Hidden files are searched, and what is asked for by name although it is ignored. Several names in one
                // text stand for all.
                let skips_ignored = names.is_none();
                let one = names.filter(|names| !names.contains([' ', ',', '{', '!']));
                let tree = Tree { root: path(), names: one.into_iter().collect(), skips_ignored, ..Tree::default() };
                Effect::ReadTree(tree)
            }
            TemplateWord::Patch => return Ok(patched(text, place, scene.facts)),
            TemplateWord::Tool | TemplateWord::Leaves => {
                return self.acts(speaker).map(|effect| Foreseen::of(vec![effect]));
            }
        };
        let mut foreseen = Foreseen::of(vec![effect]);
        foreseen.questions.extend(asked.into_inner());
        Ok(foreseen)
    }
}

/// The absolute path behind an argument, as the kernel walks it; what has to be known for that is asked.
fn walked(written: &str, place: &Place, facts: &Facts, asked: &RefCell<Vec<Question>>) -> String {
    if place.paths != PathStyle::Posix || !written.contains("..") {
        return paths::absolute(written, place);
    }
    let whole = match written.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", place.home),
        None if written.starts_with('/') => written.to_owned(),
        None => format!("{}/{written}", place.cwd),
    };
    paths::physical(&whole, |at| {
        let question = Question::RealPath { path: at.to_owned() };
        let known = facts.text(&question).map(str::to_owned);
        asked.borrow_mut().push(question);
        known
    })
}

/// What a patch does to each of its files.
fn patched(text: &str, place: &Place, facts: &Facts) -> Foreseen {
    let asked = RefCell::new(Vec::new());
    // `~` is a name like any other here.
    let at = |path: &str| match paths::is_absolute(path, place.paths) {
        true => walked(path, place, facts, &asked),
        false => walked(&format!("./{path}"), place, facts, &asked),
    };
    let effects: Vec<Effect> = patch::changes(text)
        .into_iter()
        .map(|change| match change {
            Change::Write(path) => Effect::write(at(path)),
            Change::Delete(path) => Effect::delete(at(path), false),
        })
        .collect();
    if effects.is_empty() {
        return Foreseen::of(vec![Effect::unknown("a patch without a file in it")]);
    }
    let mut foreseen = Foreseen::of(effects);
    foreseen.questions.extend(asked.into_inner());
    foreseen
}

/// Whether an argument asks to leave the sandbox: `true` and the like, or `false` for one that is named after the sandbox.
fn leaves(name: &str, value: &Value) -> bool {
    let text = match value {
        Value::String(text) => text.to_ascii_lowercase(),
        other => other.to_string(),
    };
    let off = matches!(
        text.as_str(),
        "false" | "off" | "no" | "none" | "0" | "disabled" | "danger-full-access" | "null" | ""
    );
    if name.starts_with("sandbox") {
        return (off && text != "null" && !text.is_empty())
            || text.contains("escalated")
            || text.contains("unsandboxed");
    }
    !off
}

/// A path argument; written as a `file:` URL it is the path that the URL names.
pub(crate) fn path_of(text: &str) -> String {
    let Some(rest) = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")).and(text.get(5..)) else {
        return text.to_owned();
    };
    let rest = match rest.strip_prefix("//") {
        Some(authority) => authority.find('/').and_then(|at| authority.get(at..)).unwrap_or("/"),
        None => rest,
    };
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest;
    while let Some((before, code)) = left.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match code.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                left = code.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                left = code;
            }
        }
    }
    bytes.extend_from_slice(left.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The values of a target. A template that is one name may have several, or none where it is optional.
fn targets(template: &str, args: &Value) -> Result<Vec<Value>, Missing> {
    let name =
        template.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).filter(|name| !name.contains(['{', '}']));
    let Some(name) = name else {
        return fill_text(template, args, None).map(|text| vec![Value::String(text)]).map_err(Missing);
    };
    let bare = name.strip_suffix('?');
    let mut values = Vec::new();
    for path in bare.unwrap_or(name).split('|') {
        collect(path, args, &mut values);
        if !values.is_empty() {
            return Ok(values);
        }
    }
    if bare.is_some() { Ok(values) } else { Err(Missing(name.to_owned())) }
}

pub(crate) fn collect(path: &str, value: &Value, out: &mut Vec<Value>) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let members: Vec<&Value> = match (first, value) {
        ("*", Value::Array(all)) => all.iter().collect(),
        (_, Value::Object(map)) => map.get(first).into_iter().collect(),
        _ => Vec::new(),
    };
    for member in members {
        match (rest, member) {
            (Some(rest), member) => collect(rest, member, out),
            (None, Value::Array(all)) => out.extend(all.iter().cloned()),
            (None, Value::Null) => {}
            (None, one) => out.push(one.clone()),
        }
    }
}

pub(super) fn read_effect(
    source: Source<'_>,
    effect: &Spanned<BTreeMap<String, Value>>,
    closed: bool,
    params: &BTreeMap<String, Parameter>,
) -> Result<ToolEffect, FileError> {
    let at = effect.span().start;
    let table = effect.get_ref();
    let mut found =
        TEMPLATE_WORDS.iter().filter_map(|(key, word)| Some((*key, *word, table.get(*key)?))).collect::<Vec<_>>();
    let (Some((key, word, target)), true) = (found.pop(), found.is_empty()) else {
        let known = TEMPLATE_WORDS.map(|(key, _)| key).join(", ");
        return Err(source.error(at, format!("an effect has exactly one of: {known}")));
    };
    let Some(target) = target.as_str() else {
        return Err(source.error(at, format!("`{key}` must be a string")));
    };
    let args: BTreeMap<_, _> =
        table.iter().filter(|(name, _)| *name != key).map(|(name, value)| (name.clone(), value.clone())).collect();
    let fits = |name: &str| match word {
        TemplateWord::Url => name == "method",
        TemplateWord::Bash | TemplateWord::Glob => name == "cwd",
        TemplateWord::Search => name == "names",
        _ => false,
    };
    let extra = args.keys().find(|name| !fits(name));
    if word != TemplateWord::Tool
        && let Some(extra) = extra
    {
        return Err(source.error(at, format!("`{extra}` says nothing beside `{key}`; only `tool` takes arguments")));
    }
    let mut names: BTreeSet<&str> = template_names(target).collect();
    names.extend(args.values().filter_map(Value::as_str).flat_map(template_names));
    for name in names.into_iter().filter(|_| closed) {
        let bare = name.strip_suffix('?').unwrap_or(name);
        let known = |name: &str| params.contains_key(name.split('.').next().unwrap_or(name));
        if !bare.split('|').all(known) {
            let message = format!("an effect uses `{{{name}}}`, which is no parameter");
            return Err(source.unknown(at, message, name, params.keys().map(String::as_str)));
        }
    }
    Ok(ToolEffect { word, target: target.to_owned(), args })
}

/// The names in braces of a template.
pub(super) fn template_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

fn lookup<'a>(names: &str, args: &'a Value) -> Option<&'a Value> {
    names.strip_suffix('?').unwrap_or(names).split('|').find_map(|name| args.get(name))
}

/// A template that is one name keeps the value's type.
fn fill_value(template: &Value, args: &Value) -> Result<Value, String> {
    let Value::String(text) = template else { return Ok(template.clone()) };
    if let Some(name) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).filter(|n| !n.contains(['{', '}'])) {
        return lookup(name, args).cloned().ok_or_else(|| name.to_owned());
    }
    fill_text(text, args, None).map(Value::String)
}

pub(super) fn fill_text(template: &str, args: &Value, identity: Option<&Identity>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        let from_identity =
            identity.zip(name.strip_prefix("identity.")).and_then(|(identity, name)| identity.get(name));
        match (from_identity, lookup(name, args)) {
            (Some(text), _) => out.push_str(text),
            (None, Some(Value::String(text))) => out.push_str(text),
            (None, Some(value)) => out.push_str(&value.to_string()),
            (None, None) => return Err(name.to_owned()),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}
