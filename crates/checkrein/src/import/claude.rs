//! The `permissions` of Claude Code's settings.

use serde_json::Value;

use super::{Found, Rule, list, quoted};

const LISTS: [(&str, &str); 3] = [("deny", "deny"), ("ask", "ask"), ("allow", "allow")];

pub(super) fn read(text: &str, personal: bool) -> Result<Found, String> {
    let settings: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut found = Found::default();
    let Some(permissions) = settings.get("permissions") else { return Ok(found) };
    let permissions = permissions.as_object().ok_or("`permissions` is no object")?;
    for (key, decision) in LISTS {
        let Some(rules) = permissions.get(key) else { continue };
        for rule in rules.as_array().ok_or_else(|| format!("`permissions.{key}` is no list"))? {
            match rule.as_str() {
                Some(rule) => one(rule, decision, personal, &mut found),
                None => found.leave(&rule.to_string(), "it is no text"),
            }
        }
    }
    for (key, value) in permissions {
        match key.as_str() {
            "allow" | "ask" | "deny" => {}
            "additionalDirectories" => found.leave(
                &format!("additionalDirectories {value}"),
                "what lies outside the project is the floor's matter; a rule can allow reading there",
            ),
            key => found.leave(&format!("{key} {value}"), "there is no such setting here"),
        }
    }
    Ok(found)
}

/// `Tool`, or `Tool(what)`.
fn one(rule: &str, decision: &'static str, personal: bool, found: &mut Found) {
    let (tool, inside) = match rule.split_once('(') {
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(inside) => (tool, Some(inside)),
            None => return found.leave(rule, "the bracket is not closed"),
        },
        None => (rule, None),
    };
    let body = match (tool, inside) {
        ("Bash", Some(command)) => words(command),
        ("Bash", None) => Ok("effect = \"run\"\n".to_owned()),
        ("Read", inside) => Ok(paths("read", inside, decision, personal)),
        ("Write" | "MultiEdit" | "NotebookEdit", Some(_)) => Err("a path counts nothing there; write it as Edit(...)"),
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", inside) => Ok(paths("write", inside, decision, personal)),
        ("WebFetch", Some(inside)) => match inside.strip_prefix("domain:") {
            Some(host) => Ok(format!("effect = \"connect\"\nhosts = {}\n", list(&[host]))),
            None => Err("only `domain:` is known"),
        },
        ("WebFetch", None) => Ok("effect = \"connect\"\n".to_owned()),
        ("Glob" | "Grep" | "LS" | "NotebookRead", None) => Ok(paths("read", None, decision, personal)),
        (name, None) if name.starts_with("mcp__") => mcp(name),
        (name, None) if name.chars().all(char::is_alphanumeric) && !name.is_empty() => {
            Ok(format!("effect = \"tool\"\ntool = {}\n", quoted(name)))
        }
        _ => Err("rules here have no such condition"),
    };
    match body {
        Ok(body) => found.rules.push(Rule { decision, reason: format!("was {rule} ({decision})"), body }),
        Err(why) => found.leave(&format!("{rule} ({decision})"), why),
    }
}

/// `npm run build`, `npm run test:*`, `npm run test *`.
fn words(command: &str) -> Result<String, &'static str> {
    let prefix = command.strip_suffix(":*").or_else(|| command.strip_suffix(" *"));
    let text = prefix.unwrap_or(command);
    if text.contains('*') {
        return Err("a `*` inside a command matches text; name the words it stands for");
    }
    if text.contains(['|', '&', ';', '<', '>', '$', '`', '"', '\'', '\\', '(', '#', '\n']) {
        return Err("it is more than the words of one command; each of its commands needs a rule of its own");
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return Err("it names no command");
    }
    let exact = if prefix.is_none() { "exact = true\n" } else { "" };
    Ok(format!("effect = \"run\"\nwords = {}\n{exact}", list(&words)))
}

/// Patterns as gitignore has them: `//abs`, `~/home`, `/from the settings' place`, `./here`, `name`.
fn paths(effect: &str, inside: Option<&str>, decision: &str, personal: bool) -> String {
    let pattern = match inside {
        None => "/**".to_owned(),
        Some(path) => {
            let path = path.trim();
            if let Some(rest) = path.strip_prefix("//") {
                format!("/{rest}")
            } else if let Some(rest) = path.strip_prefix("~/") {
                format!("{{home}}/{rest}")
            } else if let Some(rest) = path.strip_prefix('/') {
                if personal { format!("{{home}}/.claude/{rest}") } else { format!("{{root}}/{rest}") }
            } else {
                let bare = path.strip_prefix("./").unwrap_or(path);
                match (bare.contains('/'), decision) {
                    (true, "allow") => format!("{{root}}/{bare}"),
                    (false, "allow") => format!("{{root}}/**/{bare}"),
                    (false, _) => format!("**/{bare}"),
                    // What asks and denies holds at any depth.
                    (true, _) => format!("{{root}}/**/{bare}"),
                }
            }
        }
    };
    let mut patterns = vec![pattern.trim_end_matches('/').to_owned()];
    if let Some(one) = patterns.first().filter(|one| !one.ends_with("**")).cloned() {
        // A folder stands for all in it.
        patterns.push(format!("{one}/**"));
        if let Some(top) = one.strip_prefix("{root}/**/") {
            patterns.extend([format!("{{root}}/{top}"), format!("{{root}}/{top}/**")]);
        }
    } else if let Some(top) = patterns.first().and_then(|one| one.strip_prefix("{root}/**/")).map(str::to_owned) {
        patterns.push(format!("{{root}}/{top}"));
    }
    format!("effect = \"{effect}\"\npaths = {}\n", list(&patterns))
}

/// `mcp__SERVER`, `mcp__SERVER__*`, `mcp__SERVER__TOOL`.
fn mcp(name: &str) -> Result<String, &'static str> {
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    match rest.split_once("__") {
        None if rest.contains('*') => Err("rules here name a server"),
        None | Some((_, "*")) => {
            let server = rest.trim_end_matches("__*");
            Ok(format!("effect = \"tool\"\nserver = {}\n", quoted(server)))
        }
        Some((_, tool)) if tool.contains('*') => Err("a `*` inside a name matches text; name the tools"),
        Some((server, tool)) => {
            Ok(format!("effect = \"tool\"\nserver = {}\ntool = {}\n", quoted(server), quoted(tool)))
        }
    }
}
