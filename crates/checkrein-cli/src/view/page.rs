//! The page that `show` writes: a column of times, a column of who or what, and the text. Folded where it is long.

use std::io::Write;

use anstyle::{AnsiColor, Style};

use super::phrases::printable;
use super::width::{columns, wrapped};

pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(super) const RED: Style = AnsiColor::Red.on_default();
const PLAIN: Style = Style::new();

/// Width of the column of times.
const TIME: usize = 8;
/// Width of the column of who or what.
pub(super) const LABEL: usize = 9;
/// Columns in front of prose, and what is kept free behind it for what stands further in.
const ASIDE: usize = 24;
/// Longest line of what a tool brought, characters.
const LINE: usize = 160;
/// What is further in by this is told of a sub-session.
const INDENT: usize = 4;

/// How a text is laid out.
#[derive(Clone, Copy)]
pub(super) enum Text {
    /// Words for people: broken at blanks, the beginning says most.
    Prose,
    /// What a tool brought: lines as they are, the end says most.
    Output,
    /// A diff.
    Diff,
    /// One line that is laid out already.
    Ready,
}

/// One row of a page.
pub(super) struct Row {
    label: String,
    style: Style,
    text: String,
    layout: Text,
}

impl Row {
    pub(super) fn new(label: &str, style: Style, text: impl Into<String>, layout: Text) -> Self {
        Self { label: label.to_owned(), style, text: text.into(), layout }
    }

    /// The head of a call; the text may hold styles, and nothing else that steers a terminal.
    pub(super) fn call(id: &str, text: impl Into<String>) -> Self {
        Self::new(id, DIM, text, Text::Ready)
    }

    pub(super) fn prose(label: &str, style: Style, text: impl Into<String>) -> Self {
        Self::new(label, style, text, Text::Prose)
    }
}

/// The page.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
    full: bool,
    depth: usize,
    columns: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn Write, full: bool) -> Self {
        Self { out, full, depth: 0, columns: columns() }
    }

    /// Nothing is folded.
    pub(super) fn full(&self) -> bool {
        self.full
    }

    /// What happened inside of another page is told.
    pub(super) fn is_inside(&self) -> bool {
        self.depth > 0
    }

    /// A page for what happened inside of this.
    pub(super) fn inside(&mut self) -> Page<'_> {
        Page {
            out: &mut *self.out,
            full: self.full,
            depth: self.depth + 1,
            columns: self.columns.saturating_sub(INDENT),
        }
    }

    /// A line of the head.
    pub(super) fn head(&mut self, line: &str) {
        _ = writeln!(self.out, "{:indent$}{line}", "", indent = self.depth * INDENT);
    }

    /// A named line of the head.
    pub(super) fn fact(&mut self, name: &str, value: &str) {
        self.head(&format!("  {DIM}{name:<9}{DIM:#}  {}", printable(value)));
    }

    /// A row that begins something new, at this time.
    pub(super) fn block(&mut self, time: &str, row: &Row) {
        _ = writeln!(self.out);
        self.lay(time, row);
    }

    /// A row that belongs to the one before.
    pub(super) fn row(&mut self, row: &Row) {
        self.lay("", row);
    }

    fn lay(&mut self, time: &str, row: &Row) {
        let lines = self.lines(row);
        let indent = self.depth * INDENT;
        let style = row.style;
        for (index, line) in lines.iter().enumerate() {
            let (time, label) = if index == 0 { (time, row.label.as_str()) } else { ("", "") };
            let lead = if label.is_empty() {
                format!("{:1$}", "", indent + TIME + LABEL + 4)
            } else {
                let label = if line.is_empty() { label.to_owned() } else { format!("{label:<LABEL$}") };
                format!("{:indent$}{DIM}{time:>TIME$}{DIM:#}  {style}{label}{style:#}  ", "")
            };
            // No blanks at the end of a line.
            _ = if line.is_empty() {
                writeln!(self.out, "{}", lead.trim_end())
            } else {
                writeln!(self.out, "{lead}{line}")
            };
        }
    }

    fn lines(&self, row: &Row) -> Vec<String> {
        if matches!(row.layout, Text::Ready) {
            return vec![row.text.clone()];
        }
        let text = printable_lines(row.text.trim_end());
        let (all, first, last): (Vec<String>, usize, usize) = match row.layout {
            Text::Prose => (text.iter().flat_map(|line| self.broken(line)).collect(), 8, 2),
            Text::Output => (text.iter().map(|line| self.short(line)).collect(), 2, 6),
            Text::Diff | Text::Ready => (text, 30, 0),
        };
        let styled = |line: &String| {
            let style = match (row.layout, line.chars().next()) {
                (Text::Diff, Some('+')) => GREEN,
                (Text::Diff, Some('-')) => RED,
                (Text::Diff | Text::Output, _) => DIM,
                (Text::Prose | Text::Ready, _) => PLAIN,
            };
            if line.is_empty() { String::new() } else { format!("{style}{line}{style:#}") }
        };
        // One line is not worth a line that says it is left out.
        let hidden = all.len().saturating_sub(first + last);
        if self.full || hidden < 2 {
            return all.iter().map(styled).collect();
        }
        let note = format!("{DIM}\u{2026} {hidden} lines, --full to see{DIM:#}");
        let (head, tail) = (all.iter().take(first), all.iter().skip(first + hidden));
        head.map(styled).chain([note]).chain(tail.map(styled)).collect()
    }

    fn broken(&self, line: &str) -> Vec<String> {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        wrapped(line, self.columns.saturating_sub(ASIDE), &indent)
    }

    fn short(&self, line: &str) -> String {
        match line.char_indices().nth(LINE) {
            Some((end, _)) if !self.full => format!("{}\u{2026}", line.get(..end).unwrap_or_default()),
            _ => line.to_owned(),
        }
    }
}

/// Line by line, so that line ends stay.
fn printable_lines(text: &str) -> Vec<String> {
    if text.is_empty() { vec![String::new()] } else { text.lines().map(printable).collect() }
}

/// Time since the beginning, in the two units that say most.
pub(super) fn since(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{:02}", seconds % 60),
        (0, _) => format!("{hours}h {minutes:02}m"),
        _ => format!("{days}d {hours:02}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(full: bool, row: &Row) -> String {
        let mut out = Vec::new();
        Page::new(&mut out, full).row(row);
        anstream::adapter::strip_str(std::str::from_utf8(&out).expect("UTF-8")).to_string()
    }

    #[test]
    fn long_texts_are_folded_and_say_so() {
        let text = (1..=20).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
        let row = Row::new("result", PLAIN, text, Text::Output);
        let folded = printed(false, &row);
        let bare: Vec<&str> = folded.lines().map(str::trim).collect();
        assert_eq!(bare, ["result     1", "2", "\u{2026} 12 lines, --full to see", "15", "16", "17", "18", "19", "20"]);
        assert_eq!(printed(true, &row).lines().count(), 20);
        let nine = (1..=9).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(printed(false, &Row::new("result", PLAIN, nine, Text::Output)).lines().count(), 9);
        let long = printed(false, &Row::new("result", PLAIN, "x".repeat(500), Text::Output));
        assert!(long.trim_end().ends_with("x\u{2026}") && long.len() < 200, "{long}");
    }

    #[test]
    fn prose_is_broken_at_blanks_and_can_not_steer_a_terminal() {
        let text = format!("  {}\n\u{1b}[31mred", "word ".repeat(40));
        let printed = printed(false, &Row::prose("model", PLAIN, text));
        let lines: Vec<&str> = printed.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= columns()), "{printed}");
        assert!(lines[0].contains("model        word word") && lines[1].ends_with("word word"), "{printed}");
        assert!(lines[lines.len() - 1].ends_with("\\u{1b}[31mred"), "{printed}");
    }

    #[test]
    fn times_are_told_in_two_units() {
        let times = [0, 59_999, 65_000, 3_600_000, 7_385_000, 86_400_000, 200_000_000];
        let told: Vec<_> = times.into_iter().map(since).collect();
        assert_eq!(told, ["0:00", "0:59", "1:05", "1h 00m", "2h 03m", "1d 00h", "2d 07h"]);
    }
}
