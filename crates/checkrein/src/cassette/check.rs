//! Cassettes held against what is there now: which are too old, were recorded of something else, or hold what they must not.

use std::path::{Path, PathBuf};

use checkrein_contract::SessionOpened;
use checkrein_gate::DETECTORS;
use checkrein_providers::{Cassette, Header, PARSER};

use super::origin::{digests, task_in};
use super::scrub_of;
use crate::HarnessError;
use crate::secrets::redactor_of;
use crate::setup::{Harness, RunOptions};
use crate::task::{Task, from_words, read};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// How homes of people begin, here and on other systems.
const HOMES: [&str; 3] = ["/home/", "/Users/", "C:\\Users\\"];

/// What was found out about one cassette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub file: PathBuf,
    /// Bytes.
    pub bytes: usize,
    /// Attempts and calls that are recorded.
    pub rows: (usize, usize),
    /// Days since it was recorded.
    pub days: Option<u64>,
    /// Requests whose beginning moved, so that a provider had to read all of it again.
    pub prefix_moves: usize,
    /// Answers whose bytes are withheld.
    pub withheld: usize,
    /// That answers were kept under new keys: when, and which tools were described otherwise.
    pub rekeyed: Vec<String>,
    /// What it was recorded of that is not so any more.
    pub stale: Vec<String>,
    /// What is wrong with it.
    pub wrong: Vec<String>,
}

/// The cassettes in a folder and those below, or the file itself.
///
/// # Errors
/// [`HarnessError::Unreadable`] when a folder can not be looked into.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, HarnessError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let fail = |error: std::io::Error| crate::task::unreadable(path, &error);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fail)? {
        entries.push(entry.map_err(fail)?.path());
    }
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            found.extend(find(&entry)?);
        } else if entry.extension().is_some_and(|ending| ending == "jsonl") && begins_as_one(&entry) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// Other things are written in lines of JSON too.
fn begins_as_one(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let first = text.lines().next().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    first.is_some_and(|first| first["row"] == "cassette")
}

/// Holds one cassette against what is there now; older than `most_days` is stale.
pub fn check(harness: &Harness, file: &Path, most_days: u64) -> Report {
    let mut report = Report {
        file: file.to_path_buf(),
        bytes: 0,
        rows: (0, 0),
        days: None,
        prefix_moves: 0,
        withheld: 0,
        rekeyed: Vec::new(),
        stale: Vec::new(),
        wrong: Vec::new(),
    };
    let read = read(file).and_then(|text| {
        let cassette = Cassette::read(&text).map_err(HarnessError::Task)?;
        Ok((text, cassette))
    });
    let (text, cassette) = match read {
        Ok(read) => read,
        Err(error) => {
            report.wrong.push(error.to_string());
            return report;
        }
    };
    report.bytes = text.len();
    report.rows = cassette.size();
    report.prefix_moves = cassette.prefix_moves();
    report.withheld = cassette.withheld();
    let rekeyed = cassette.header().rekeyed.iter();
    report.rekeyed =
        rekeyed.map(|re| format!("at {}, for other words or schemas of {}", re.at, re.tools.join(", "))).collect();
    report.age(harness, cassette.header(), most_days);
    report.task(harness, &cassette, &text);
    for (index, line) in text.lines().enumerate() {
        if let Some(home) = HOMES.iter().find(|home| names_a_home(line, home)) {
            report.wrong.push(format!("line {}: somebody's home, {home}..., is in it", index + 1));
        }
    }
    report
}

/// Whether a path in a home is named: the beginning alone is not one.
fn names_a_home(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let rest = line.get(at + home.len()..).unwrap_or_default();
        rest.starts_with(|c: char| c.is_alphanumeric())
    })
}

/// What a session of this task would begin with.
fn begun(harness: &Harness, task: &Task, model: &str) -> Result<SessionOpened, HarnessError> {
    let session = harness.machine().session_id();
    Ok(harness.prepare(task, &RunOptions::default(), &session, model.to_owned())?.opened)
}

impl Report {
    fn age(&mut self, harness: &Harness, header: &Header, most_days: u64) {
        let now = harness.machine().clock(false).now_ms();
        self.days = header.recorded_ms().map(|at| now.saturating_sub(at) / DAY_MS);
        match self.days {
            Some(days) if days > most_days => self.stale.push(format!("it is {days} days old")),
            Some(_) => {}
            None => self.wrong.push(format!("`{}` is no time", header.recorded_at)),
        }
        let ours = env!("CARGO_PKG_VERSION");
        let versions =
            [("harness", header.harness.as_str(), ours), ("detectors", header.detectors.as_str(), DETECTORS)];
        for (what, then, now) in versions.into_iter().filter(|(_, then, now)| then != now) {
            self.stale.push(format!("{what} {then} recorded it, and this is {now}"));
        }
        if header.parser != PARSER {
            self.stale
                .push(format!("version {} of what reads the streams recorded it, and this is {PARSER}", header.parser));
        }
    }

    fn task(&mut self, harness: &Harness, cassette: &Cassette, text: &str) {
        let header = cassette.header();
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let now = task_in(&header.task, folder, &harness.folder).and_then(|task| {
            let opened = begun(harness, &task, &header.model)?;
            Ok((digests(&task, &opened)?, opened))
        });
        let opened = match now {
            Ok((now, opened)) => {
                let then = &header.digests;
                let parts = [
                    ("task.toml", &then.config, &now.config),
                    ("the tools", &then.tools, &now.tools),
                    ("the policy", &then.policy, &now.policy),
                    ("the instructions", &then.system, &now.system),
                ];
                let other = parts.into_iter().filter(|(_, then, now)| then != now).map(|(what, ..)| what);
                self.stale.extend(other.map(|what| format!("{what} changed since")));
                Ok(opened)
            }
            Err(error) => {
                self.stale.push(format!("its task: {error}"));
                // Secrets and this person's places are looked for in any case.
                from_words("-", &harness.folder).and_then(|task| begun(harness, &task, &header.model))
            }
        };
        let redactor = redactor_of(&harness.host());
        match opened.and_then(|opened| Ok(scrub_of(&opened, &redactor?))) {
            Ok(scrub) => {
                let flaws = cassette.flaws(text, &*scrub);
                self.wrong.extend(flaws.into_iter().map(|flaw| format!("line {}: {}", flaw.line, flaw.what)));
            }
            Err(error) => self.wrong.push(format!("it can not be looked through: {error}")),
        }
    }
}
