//! The `.rules` files of Codex: Starlark, of which the calls with plain values are read. A file that computes its rules is
//! listed line by line.

use super::{Found, Rule, list};

/// Rules that one pattern with alternatives may become.
const MOST_RULES: usize = 64;

/// A value of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    List(Vec<Value>),
}

pub(super) fn read(text: &str) -> Result<Found, String> {
    let mut found = Found::default();
    let mut reader = Reader { text, at: 0 };
    loop {
        reader.blank();
        let begin = reader.at;
        if reader.rest().is_empty() {
            return Ok(found);
        }
        // What stands further in belongs to an `if`, a `for` or a function, and nothing is run here.
        let outermost = begin == 0 || text.get(..begin).is_some_and(|before| before.ends_with('\n'));
        match reader.call().filter(|_| outermost && reader.ends_line()) {
            Some((name, arguments)) => call(&name, &arguments, &mut found),
            None => {
                reader.at = begin;
                let left = reader.line_or_text();
                found.leave(left.trim(), "it is not a call with plain values");
            }
        }
    }
}

fn call(name: &str, arguments: &[(String, Value)], found: &mut Found) {
    let text = |key: &str| {
        let value = arguments.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        value.and_then(|value| if let Value::Text(text) = value { Some(text.as_str()) } else { None })
    };
    let shown = || {
        let all: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={}", show(value))).collect();
        format!("{name}({})", all.join(", "))
    };
    let decision = match text("decision") {
        None | Some("allow") => "allow",
        Some("prompt") => "ask",
        Some("forbidden" | "deny") => "deny",
        Some(_) => return found.leave(&shown(), "the decision is none that is known"),
    };
    let reason = text("justification").map_or_else(|| format!("was {}", shown()), str::to_owned);
    match name {
        "prefix_rule" => {
            let pattern = arguments.iter().find(|(name, _)| name == "pattern").map(|(_, value)| value);
            let Some(Value::List(parts)) = pattern else { return found.leave(&shown(), "it has no pattern") };
            match expanded(parts) {
                Some(commands) => found.rules.extend(commands.into_iter().map(|words| Rule {
                    decision,
                    reason: reason.clone(),
                    body: format!("effect = \"run\"\nwords = {}\n", list(&words)),
                })),
                None => found.leave(&shown(), "the pattern stands for too many commands, or is none"),
            }
        }
        "network_rule" => match (text("host"), text("protocol")) {
            (Some(host), Some(scheme @ ("http" | "https"))) => found.rules.push(Rule {
                decision,
                reason,
                body: format!("effect = \"connect\"\nhosts = {}\nschemes = {}\n", list(&[host]), list(&[scheme])),
            }),
            _ => found.leave(&shown(), "only http and https have rules here"),
        },
        _ => found.leave(&shown(), "there is nothing like it here"),
    }
}

/// Every command that a pattern with alternatives stands for.
fn expanded(parts: &[Value]) -> Option<Vec<Vec<String>>> {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    for part in parts {
        let choices: Vec<String> = match part {
            Value::Text(word) => vec![word.clone()],
            Value::List(words) => {
                let words =
                    words.iter().map(|word| if let Value::Text(word) = word { Some(word.clone()) } else { None });
                words.collect::<Option<_>>()?
            }
        };
        let longer = commands
            .iter()
            .flat_map(|command| choices.iter().map(|word| [command.as_slice(), std::slice::from_ref(word)].concat()));
        commands = longer.collect();
        if commands.is_empty() || commands.len() > MOST_RULES {
            return None;
        }
    }
    (!parts.is_empty()).then_some(commands)
}

fn show(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::List(values) => format!("[{}]", values.iter().map(show).collect::<Vec<_>>().join(", ")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Blanks, line breaks and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let bare = rest.trim_start();
            self.at += rest.len() - bare.len();
            if !bare.starts_with('#') {
                return;
            }
            self.line();
        }
    }

    fn line(&mut self) -> &'t str {
        let rest = self.rest();
        let (line, used) = rest.split_once('\n').map_or((rest, rest.len()), |(line, _)| (line, line.len() + 1));
        self.at += used;
        line
    }

    /// Nothing but blanks and a comment follows on this line.
    fn ends_line(&self) -> bool {
        let line = self.rest().lines().next().unwrap_or_default().trim_start();
        line.is_empty() || line.starts_with('#')
    }

    /// The line; with a text in three quotes that begins on it, to the line on which that ends.
    fn line_or_text(&mut self) -> &'t str {
        let begin = self.at;
        let mut line = self.line();
        for quotes in ["\"\"\"", "'''"] {
            if line.matches(quotes).count() % 2 == 1 {
                loop {
                    line = self.line();
                    if line.contains(quotes) || self.rest().is_empty() {
                        break;
                    }
                }
            }
        }
        self.text.get(begin..self.at).unwrap_or_default()
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        self.blank();
        self.rest().starts_with(wanted).then(|| self.at += wanted.len_utf8())
    }

    fn name(&mut self) -> Option<String> {
        self.blank();
        let rest = self.rest();
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(rest.len());
        let name = rest.get(..end).filter(|name| !name.is_empty())?;
        self.at += end;
        Some(name.to_owned())
    }

    /// `name(key = value, ...)`.
    fn call(&mut self) -> Option<(String, Vec<(String, Value)>)> {
        let name = self.name()?;
        self.take('(')?;
        let mut arguments = Vec::new();
        while self.take(')').is_none() {
            let key = self.name()?;
            self.take('=')?;
            arguments.push((key, self.value()?));
            if self.take(',').is_none() {
                self.take(')')?;
                break;
            }
        }
        Some((name, arguments))
    }

    fn value(&mut self) -> Option<Value> {
        if self.take('[').is_some() {
            let mut values = Vec::new();
            while self.take(']').is_none() {
                values.push(self.value()?);
                if self.take(',').is_none() {
                    self.take(']')?;
                    break;
                }
            }
            return Some(Value::List(values));
        }
        self.blank();
        let quote = self.rest().chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        self.at += 1;
        let mut text = String::new();
        loop {
            let letter = self.rest().chars().next()?;
            self.at += letter.len_utf8();
            match letter {
                '\n' => return None,
                '\\' => {
                    let escaped = self.rest().chars().next()?;
                    self.at += escaped.len_utf8();
                    text.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        '\\' | '"' | '\'' => escaped,
                        _ => return None,
                    });
                }
                letter if letter == quote => return Some(Value::Text(text)),
                letter => text.push(letter),
            }
        }
    }
}
