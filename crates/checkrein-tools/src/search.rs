//! Searching text in files with ripgrep's own parts, in process and under limits: matches, bytes a line, bytes of a
//! result, bytes read, time. What a limit leaves out is counted, not lost in silence.

use std::fs::File;
use std::io::{self, Read};
use std::time::Instant;

use checkrein_contract::Code;
use checkrein_gate::Failure;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::files::{Folders, Spot};
use crate::off_thread::go_on;

/// Matches in one result.
pub(crate) const MAX_MATCHES: usize = 250;
/// Bytes of one line that are shown.
pub(crate) const MAX_LINE_BYTES: usize = 2_000;
/// Bytes of one result, as `read` has them.
pub(crate) const MAX_BYTES: usize = 51_200;
/// Bytes that one search reads. A gigabyte: more is data, not a project.
pub(crate) const MAX_READ_BYTES: u64 = 1_000_000_000;
/// Bytes of a row besides path and text: number, colons, line break.
const ROW: usize = 24;
/// Longest line that is searched, bytes; a file with a longer one counts as unreadable.
const MAX_HEAP: usize = 8 * 1024 * 1024;

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Found {
    /// The path as the model knows it.
    pub(crate) path: String,
    /// Its number, from 1.
    pub(crate) line: u64,
    /// Its text, cut where it is long.
    pub(crate) text: String,
}

/// What a search brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub(crate) found: Vec<Found>,
    /// Matching lines beyond those.
    pub(crate) more: u64,
    /// Path and number of the first of them.
    pub(crate) next: Option<(String, u64)>,
    /// Lines that were cut.
    pub(crate) cut_lines: u64,
    /// Path and number of the first of them.
    pub(crate) first_cut: Option<(String, u64)>,
    /// Files that are no text.
    pub(crate) binary: u64,
    /// Files that could not be opened or read.
    pub(crate) unreadable: u64,
    /// Files that were not searched because a limit was reached, and which.
    pub(crate) unsearched: u64,
    pub(crate) stopped: Option<&'static str>,
}

/// Until when, and how many bytes, a search may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) until: Instant,
    pub(crate) bytes: u64,
}

/// A file to search: its real path, and the path as the model knows it.
pub(crate) type Candidate = (String, String);

/// Reads a regular expression.
///
/// # Errors
/// `SEARCH_INVALID_PATTERN` with the place of the mistake.
pub(crate) fn expression(pattern: &str) -> Result<RegexMatcher, Failure> {
    RegexMatcherBuilder::new().multi_line(true).crlf(true).build(pattern).map_err(|error| {
        // Before that comes a drawing of the pattern as the library sees it.
        let whole = error.to_string();
        let why = whole.rsplit("error: ").next().unwrap_or(&whole);
        Failure::new(Code::SearchInvalidPattern, format!("`{pattern}` is no pattern for a line: {why}"))
    })
}

/// Searches files in the order they are given, until a limit is reached.
pub(crate) fn search(
    files: &[Candidate],
    matcher: &RegexMatcher,
    limits: Limits,
    stop: &CancellationToken,
) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_HEAP))
        .line_number(true)
        .line_terminator(LineTerminator::crlf())
        .build();
    let mut left = Left { limits, stop, reached: None };
    let mut bytes_left = MAX_BYTES;
    for (number, (real, shown)) in files.iter().enumerate() {
        go_on(stop)?;
        left.look();
        if left.reached.is_some() {
            findings.unsearched = (files.len() - number) as u64;
            break;
        }
        let file = match Spot::find(real, shown, Folders::MustExist).and_then(|spot| spot.open()) {
            Ok(opened) => opened.file,
            Err(_) => {
                findings.unreadable += 1;
                continue;
            }
        };
        let room = MAX_MATCHES.saturating_sub(findings.found.len());
        let mut lines = InFile { path: shown, found: Vec::new(), more: 0, next: None, room, binary: false };
        let searched = searcher.search_reader(matcher, Limited { file, left: &mut left }, &mut lines);
        if lines.binary {
            findings.binary += 1;
            continue;
        }
        if searched.is_err() && left.reached.is_none() {
            findings.unreadable += 1;
        }
        findings.take(lines, &mut bytes_left);
        if left.reached.is_some() {
            // The file that was being read counts among those that were not searched to their end.
            findings.unsearched = (files.len() - number) as u64;
            break;
        }
    }
    go_on(stop)?;
    findings.stopped = left.reached;
    Ok(findings)
}

impl Findings {
    /// Takes the matches of a file as long as they fit. Once one does not fit, none after it is shown: a result is a
    /// beginning, without holes.
    fn take(&mut self, lines: InFile<'_>, room: &mut usize) {
        for (line, cut) in lines.found {
            let size = line.path.len() + line.text.len() + ROW;
            if size > *room {
                *room = 0;
                self.more += 1;
                self.next.get_or_insert((line.path, line.line));
                continue;
            }
            *room -= size;
            if cut {
                self.cut_lines += 1;
                self.first_cut.get_or_insert((line.path.clone(), line.line));
            }
            self.found.push(line);
        }
        if let Some(next) = lines.next {
            self.next.get_or_insert((lines.path.to_owned(), next));
        }
        self.more += lines.more;
    }
}

/// What one file brings.
struct InFile<'a> {
    path: &'a str,
    /// Each with whether it was cut.
    found: Vec<(Found, bool)>,
    more: u64,
    /// Number of the first line that is not kept.
    next: Option<u64>,
    /// Matches that may still be kept.
    room: usize,
    binary: bool,
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let line = matched.line_number().unwrap_or(0);
        if self.found.len() >= self.room {
            self.more += 1;
            self.next.get_or_insert(line);
            return Ok(true);
        }
        let (text, cut) = shown(matched.bytes());
        self.found.push((Found { path: self.path.to_owned(), line, text }, cut));
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// A line without its end, at most [`MAX_LINE_BYTES`] of it.
fn shown(line: &[u8]) -> (String, bool) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    if text.len() <= MAX_LINE_BYTES {
        return (text.into_owned(), false);
    }
    let end = text.floor_char_boundary(MAX_LINE_BYTES);
    let kept = text.get(..end).unwrap_or_default();
    (format!("{kept} [cut at {MAX_LINE_BYTES} bytes, {} more]", text.len() - end), true)
}

/// How much of a search is left.
struct Left<'a> {
    limits: Limits,
    stop: &'a CancellationToken,
    reached: Option<&'static str>,
}

impl Left<'_> {
    fn look(&mut self) {
        if self.limits.bytes == 0 {
            self.reached = Some("the bytes that one search reads were used up");
        } else if Instant::now() >= self.limits.until {
            self.reached = Some("the time for a search was over");
        }
    }
}

/// A file that can be read until a limit is reached.
struct Limited<'a, 'b> {
    file: File,
    left: &'a mut Left<'b>,
}

impl Read for Limited<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.left.look();
        if self.left.reached.is_some() || self.left.stop.is_cancelled() {
            return Err(io::Error::other("a limit was reached"));
        }
        let count = self.file.read(buffer)?;
        self.left.limits.bytes = self.left.limits.bytes.saturating_sub(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn searched(contents: &[&str], limits: Limits) -> Findings {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut targets = Vec::new();
        for (number, content) in contents.iter().enumerate() {
            let path = root.join(number.to_string());
            std::fs::write(&path, content).unwrap();
            targets.push((path.to_str().unwrap().to_owned(), number.to_string()));
        }
        search(&targets, &expression("x").unwrap(), limits, &CancellationToken::new()).unwrap()
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3_600)
    }

    /// Shows R72: time and bytes are limits too, and what was not searched is counted.
    #[test]
    fn a_search_ends_at_its_limits() {
        let all = searched(&["x\n", "x\n"], Limits { until: later(), bytes: 1_000 });
        assert_eq!((all.found.len(), all.unsearched, all.stopped), (2, 0, None));
        let late = searched(&["x\n", "x\n"], Limits { until: Instant::now(), bytes: 1_000 });
        assert_eq!((late.found.len(), late.unsearched), (0, 2));
        assert_eq!(late.stopped, Some("the time for a search was over"));
        let much = searched(&["x\n", "x\n"], Limits { until: later(), bytes: 2 });
        assert_eq!((much.unsearched, much.stopped), (2, Some("the bytes that one search reads were used up")));
    }

    #[test]
    fn a_line_that_is_too_long_to_search_is_no_silent_gap() {
        let long = format!("x\n{}", "y".repeat(MAX_HEAP * 2));
        let findings = searched(&[&long, "x\n"], Limits { until: later(), bytes: u64::MAX });
        assert_eq!((findings.found.len(), findings.unreadable), (2, 1));
    }
}
