//! Finds command lines in files of five kinds. It takes whole commands only: what a block or a make file would still fill
//! in, and lines that are part of a longer construct, are left out.

use std::path::Path;

use serde_json::Value;

/// Finds the command lines of a text.
pub(super) type Reader = fn(&str) -> Vec<String>;

/// What reads a file, by its name.
pub(super) fn reader(path: &Path) -> Option<(&'static str, Reader)> {
    let name = path.file_name()?.to_str()?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let in_ci = || {
        path.components().any(|part| matches!(part.as_os_str().to_str(), Some(".github" | "workflows" | ".circleci")))
    };
    match (name, ending) {
        ("package.json", _) => Some(("package.json", package_json)),
        ("Makefile" | "makefile" | "GNUmakefile", _) | (_, "mk") => Some(("make file", make_file)),
        (_, "sh" | "bash") => Some(("script", script)),
        (".gitlab-ci.yml" | ".travis.yml" | ".appveyor.yml", _) => Some(("CI", ci)),
        (_, "yml" | "yaml") if in_ci() => Some(("CI", ci)),
        (_, "md" | "markdown") => Some(("code block", code_blocks)),
        _ => None,
    }
}

/// The scripts of a package.
fn package_json(text: &str) -> Vec<String> {
    let Ok(Value::Object(package)) = serde_json::from_str(text) else { return Vec::new() };
    let Some(Value::Object(scripts)) = package.get("scripts") else { return Vec::new() };
    scripts.values().filter_map(Value::as_str).filter_map(whole).collect()
}

/// The recipes of a make file that hold no variable of make's.
fn make_file(text: &str) -> Vec<String> {
    let recipes = join(text.lines()).into_iter().filter(|line| line.starts_with('\t'));
    let plain = recipes.filter_map(|line| {
        let line = line.trim_start().trim_start_matches(['@', '-', '+']).to_owned();
        let shell = line.replace("$$", "\u{0}");
        (!shell.contains('$')).then(|| shell.replace('\u{0}', "$"))
    });
    plain.filter_map(|line| whole(&line)).collect()
}

/// What stands at the margin of a script and is a command by itself.
fn script(text: &str) -> Vec<String> {
    let lines = statements(text.lines());
    lines.into_iter().filter(|line| !line.starts_with([' ', '\t'])).filter_map(|line| whole(&line)).collect()
}

/// Lines that stand by themselves: those that go on are joined; documents, arrays and words of several lines are left out.
fn statements<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut until: Option<Until> = None;
    let mut found = Vec::new();
    for line in join(lines) {
        match &until {
            Some(end) => {
                if end.is_reached(&line) {
                    until = None;
                }
            }
            None => {
                until = Until::of(&line);
                if until.is_none() {
                    found.push(line);
                }
            }
        }
    }
    found
}

/// What ends a construct of several lines.
enum Until {
    Line(String),
    Quote(char),
    Bracket,
}

impl Until {
    fn of(line: &str) -> Option<Self> {
        if line.trim_start().starts_with('#') {
            return None;
        }
        if let Some((_, behind)) = line.split_once("<<").filter(|(_, behind)| !behind.starts_with('<')) {
            let word = behind.trim_start_matches(['-', ' ', '\'', '"', '\\']).chars();
            let word: String = word.take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            return (!word.is_empty()).then_some(Self::Line(word));
        }
        let odd = |quote: &char| is_odd(line, *quote);
        let quote = ['\'', '"'].into_iter().find(odd).map(Self::Quote);
        quote.or_else(|| line.ends_with('(').then_some(Self::Bracket))
    }

    fn is_reached(&self, line: &str) -> bool {
        match self {
            Self::Line(word) => line.trim() == word,
            Self::Quote(quote) => is_odd(line, *quote),
            Self::Bracket => line.trim_start().starts_with(')'),
        }
    }
}

fn is_odd(line: &str, quote: char) -> bool {
    line.chars().filter(|c| *c == quote).count() % 2 == 1
}

/// What CI runs: `run: line`, and the lines below `run: |`; list items below `script:`.
fn ci(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside: Option<(usize, bool)> = None;
    let mut block: Vec<&str> = Vec::new();
    for line in text.lines().chain(["end:"]) {
        let indent = line.len() - line.trim_start().len();
        if let Some((column, list)) = inside {
            if line.trim().is_empty() || indent > column || list && indent == column && line.trim().starts_with("- ") {
                block.push(if list {
                    line.trim().trim_start_matches("- ").trim_matches(['"', '\''])
                } else {
                    line.trim()
                });
                continue;
            }
            found.extend(statements(block.drain(..)).iter().filter_map(|line| whole(line)));
            inside = None;
        }
        let key = line.trim_start().trim_start_matches("- ");
        if let Some(command) = key.strip_prefix("run:").map(str::trim) {
            if matches!(command, "|" | "|-" | "|+") {
                inside = Some((indent, false));
            } else if !command.starts_with(['>', '"', '\'']) {
                found.extend(whole(command));
            }
        } else if ["script:", "before_script:", "install:"].contains(&key.trim_end()) {
            inside = Some((indent, true));
        }
    }
    found.retain(|line| !line.contains("${{"));
    found
}

/// The shell blocks of a page; of a console only what stands behind the prompt.
fn code_blocks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<Vec<&str>> = None;
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut block, fence) {
            (None, Some(language)) => {
                let language = language.trim().trim_start_matches('{').trim_end_matches('}');
                let name = language.split([' ', ',']).next().unwrap_or_default().trim_start_matches('.');
                let shell = matches!(name, "sh" | "bash" | "shell" | "console" | "shell-session" | "zsh" | "terminal");
                block = Some(if shell { vec![name] } else { Vec::new() });
            }
            (Some(lines), Some(_)) => {
                found.extend(commands_of(lines));
                block = None;
            }
            (Some(lines), None) if !lines.is_empty() => lines.push(line.trim()),
            _ => {}
        }
    }
    found
}

fn commands_of(lines: &[&str]) -> Vec<String> {
    let Some((language, lines)) = lines.split_first() else { return Vec::new() };
    let joined = statements(lines.iter().copied());
    let prompts = matches!(*language, "console" | "shell-session") || joined.iter().any(|line| line.starts_with("$ "));
    let commands = joined.iter().filter_map(|line| if prompts { line.strip_prefix("$ ") } else { Some(line.as_str()) });
    commands.filter_map(whole).collect()
}

/// Lines with those that go on joined.
fn join<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        match joined.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(line.trim_start()),
            None => joined.push(line.to_owned()),
        }
        goes_on = line.ends_with('\\');
        if let Some(last) = joined.last_mut().filter(|_| goes_on) {
            last.pop();
        }
    }
    joined
}

/// Words that only part of a command begins or ends with.
const PARTS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select",
    "{", "}", "(", ")", ";;",
];

/// The line, where it is a whole command and no placeholder.
fn whole(line: &str) -> Option<String> {
    let line = line.trim();
    let words = || line.split_whitespace();
    let ends = |word: Option<&str>| word.is_some_and(|word| PARTS.contains(&word.trim_end_matches(';')));
    let (first, last) = (words().next()?, words().next_back()?);
    let complete_for = matches!(first, "for" | "while" | "until") && line.ends_with("done");
    let complete_if = first == "if" && line.ends_with("fi");
    if !complete_for && !complete_if && (ends(Some(first)) || ends(Some(last))) {
        return None;
    }
    let open = line.ends_with(['|', '&', '(', '{', '\\']) && !line.ends_with(" &") || first.ends_with(')');
    let starts = line.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || "./~$\"'[:_!".contains(c));
    let quotes = |quote| is_odd(line, quote);
    let placeholder = line.contains("...") || line.contains('…') || line.contains("{{") || placeholder(line);
    let prose = first.ends_with([':', ',']) || first.ends_with("()");
    (starts && !open && !quotes('"') && !quotes('\'') && !quotes('`') && !placeholder && !prose)
        .then(|| line.to_owned())
}

/// `<name>` as people write what is to be filled in.
fn placeholder(line: &str) -> bool {
    line.split('<').skip(1).any(|behind| {
        let name: String = behind.chars().take_while(|c| *c != '>').collect();
        behind.chars().nth(name.chars().count()) == Some('>')
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || "-_ .:/|".contains(c))
            && name.trim() == name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_gives_whole_commands() {
        assert_eq!(package_json(r#"{"scripts": {"a": "b c", "d": 1}}"#), ["b c"]);
        assert_eq!(make_file("x:\n\t@echo $$HOME\n\techo $(X)\n\tls \\\n\t  -l\nls\n"), ["echo $HOME", "ls -l"]);
        assert_eq!(
            script("ls\n  cd x\ncat <<E\nrm x\nE\nif a; then\nfi\nif a; then b; fi\n"),
            ["ls", "if a; then b; fi"]
        );
        let text =
            "jobs:\n  - run: make\n  - run: |\n      a\n      b ${{ x }}\n    env: c\nscript:\n  - \"d e\"\nf: g\n";
        assert_eq!(ci(text), ["make", "a", "d e"]);
        let text =
            "```sh\na\n# c\nb \\\n c\n```\n```console\n$ d\nout\n```\n```rust\nlet\n```\n```bash\ne <file>\n```\n";
        assert_eq!(code_blocks(text), ["a", "b c", "d"]);
    }

    #[test]
    fn what_is_to_be_filled_in_is_no_command() {
        assert_eq!(whole("git checkout <branch>"), None);
        assert_eq!(whole("sort <in >out"), Some("sort <in >out".to_owned()));
        assert_eq!(whole("for x in a; do b; done"), Some("for x in a; do b; done".to_owned()));
        assert_eq!(whole("for x in a; do"), None);
        assert_eq!(whole("echo \"a"), None);
    }
}
