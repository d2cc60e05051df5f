//! Attempts as data: one block for each in the files of `attempts/`, read and nothing else. Running them is for `run`.
//!
//! A block begins with the name in brackets. Then come lines `word: text`; a text of several lines follows indented by two
//! blanks. See `WORDS` for the words. Lines that begin with `#` between blocks are for people.

use serde::{Deserialize, Serialize};

/// What a block may say.
const WORDS: &[&str] = &[
    "tries", "setup", "runs", "did", "shows", "after", "users", "needs", "grant", "limits", "plain", "terminal",
    "races", "direct", "gap", "seconds",
];

/// One way out, tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    /// The file it is from.
    pub(crate) kind: String,
    pub(crate) name: String,
    /// What is tried, in words.
    pub(crate) tries: String,
    /// Run outside beforehand.
    pub(crate) setup: String,
    /// Run by bash in the project: the attempt.
    pub(crate) runs: String,
    /// Run outside afterwards: it exits with 0 when the attempt succeeded. Or:
    pub(crate) did: String,
    /// what the attempt then prints; `MARK` is what every secret of this world holds.
    pub(crate) shows: String,
    /// Run outside at the very end, whatever happened.
    pub(crate) after: String,
    /// Only root can do this, even outside.
    pub(crate) root_only: bool,
    /// Run outside before all: where it fails, this machine lacks what the attempt needs.
    pub(crate) needs: String,
    pub(crate) grant: Grant,
    /// Smaller limits than usual: names and numbers.
    pub(crate) limits: Vec<(String, u64)>,
    /// Outside it runs without even the bounds of an unconfined run.
    pub(crate) plain: bool,
    /// It has a terminal that it could type into.
    pub(crate) terminal: bool,
    /// The words are run as they are, without a shell; places in front of paths are put in.
    pub(crate) direct: bool,
    /// It wins or loses by chance where notices alone hold it.
    pub(crate) races: bool,
    /// It is not contained, and why that is so.
    pub(crate) gap: String,
    /// How long it may take inside; to be stopped by the limit is no failure of the sandbox where this is given.
    pub(crate) seconds: Option<u64>,
}

/// What its call is granted besides reading the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Grant {
    /// To write below `out`.
    #[default]
    Out,
    /// To write everything in the project that no rule keeps.
    Project,
    /// To write everything in the project, as the call itself says.
    Tree,
    /// To write one file, `notes.txt`.
    File,
    /// To connect to 127.0.0.1, as a person allowed.
    Connect,
    /// This effect on this path, as a person allowed: it begins with `OUT`, `ROOT` or `HOME`.
    Effect(String, String),
}

impl Attempt {
    /// It is no attempt but ordinary work, which has to succeed inside as well.
    pub(crate) fn is_work(&self) -> bool {
        self.kind == "work"
    }

    /// How it is called in the suite and in the table.
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// Reads one file.
pub(crate) fn parse(kind: &str, text: &str) -> Result<Vec<Attempt>, String> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut word = String::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("{kind}.txt:{}: {what}: {line}", index + 1);
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            attempts.push(Attempt { kind: kind.to_owned(), name: name.to_owned(), ..Attempt::default() });
            word.clear();
        } else if let Some(more) = line.strip_prefix("  ") {
            let attempt = attempts.last_mut().ok_or_else(|| wrong("before the first block"))?;
            attempt.add(&word, more).map_err(|what| wrong(&what))?;
        } else if line.trim().is_empty() || line.starts_with('#') {
            word.clear();
        } else {
            let (said, rest) = line.split_once(':').ok_or_else(|| wrong("no word"))?;
            if !WORDS.contains(&said) {
                return Err(wrong("an unknown word"));
            }
            said.clone_into(&mut word);
            let attempt = attempts.last_mut().ok_or_else(|| wrong("before the first block"))?;
            if !rest.trim().is_empty() {
                attempt.add(&word, rest.trim()).map_err(|what| wrong(&what))?;
            }
        }
    }
    for attempt in &attempts {
        if attempt.tries.is_empty() || attempt.runs.is_empty() || (attempt.did.is_empty() == attempt.shows.is_empty()) {
            return Err(format!("{}: it needs `tries`, `runs`, and one of `did` and `shows`", attempt.title()));
        }
    }
    Ok(attempts)
}

impl Attempt {
    fn add(&mut self, word: &str, text: &str) -> Result<(), String> {
        let text_of = match word {
            "tries" => &mut self.tries,
            "setup" => &mut self.setup,
            "runs" => &mut self.runs,
            "did" => &mut self.did,
            "shows" => &mut self.shows,
            "after" => &mut self.after,
            "needs" => &mut self.needs,
            "gap" => &mut self.gap,
            _ => return self.set(word, text),
        };
        if !text_of.is_empty() {
            text_of.push('\n');
        }
        text_of.push_str(text);
        Ok(())
    }

    fn set(&mut self, word: &str, text: &str) -> Result<(), String> {
        match (word, text) {
            ("users", "root") => self.root_only = true,
            ("grant", "project") => self.grant = Grant::Project,
            ("grant", "tree") => self.grant = Grant::Tree,
            ("grant", "file") => self.grant = Grant::File,
            ("grant", "connect") => self.grant = Grant::Connect,
            ("grant", text) => {
                let (effect, path) = text.split_once(' ').ok_or("no path")?;
                self.grant = Grant::Effect(effect.to_owned(), path.to_owned());
            }
            ("plain", "yes") => self.plain = true,
            ("terminal", "yes") => self.terminal = true,
            ("races", "yes") => self.races = true,
            ("direct", "yes") => self.direct = true,
            ("seconds", text) => self.seconds = Some(text.parse().map_err(|_| "no number".to_owned())?),
            ("limits", text) => {
                for limit in text.split_whitespace() {
                    let (name, number) = limit.split_once('=').ok_or("no limit")?;
                    self.limits.push((name.to_owned(), number.parse().map_err(|_| "no number".to_owned())?));
                }
            }
            _ => return Err("not understood".to_owned()),
        }
        Ok(())
    }
}
