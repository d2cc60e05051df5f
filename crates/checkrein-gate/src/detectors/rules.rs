//! Rules for shapes: those of gitleaks and our own, a line each in the `.txt` files beside this one.
//!
//! A rule is tried where one of its keywords stands, from there on, and never as a search: a text without keywords costs one
//! walk over its bytes. Patterns are compiled when a keyword of theirs is met first.

use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

use super::known::begun;
use super::tail::{Tail, is_token};
use super::{Look, private_key, value};
use crate::redact::MARKER;

/// Bytes from a keyword on that a rule looks at. The longest pattern takes 500; a value that reaches the end of this
/// is one that goes on.
pub(crate) const WINDOW: usize = 640;
/// Most bytes before its keyword where a secret begins.
pub(crate) const MOST_BACK: usize = 36;
/// Bytes before its keyword that a rule may look at: a name that says what is no secret stands there.
pub(crate) const CONTEXT: usize = 64;

const TABLES: [&str; 2] = [include_str!("gitleaks.txt"), include_str!("ours.txt")];

/// What a rule's match has in it, which says when later bytes make no difference any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A name, an operator, a value; no blank in the value.
    Assigned,
    /// No blank.
    Token,
    /// No line end.
    Line,
}

pub(crate) struct Rule {
    pub(crate) name: Arc<str>,
    kind: Kind,
    back: usize,
    entropy: f64,
    flags: &'static str,
    pattern: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

pub(crate) struct Rules {
    pub(crate) rules: Vec<Rule>,
    /// In lower case, as often as rules have them; the last is that of private keys.
    keywords: Vec<&'static str>,
    /// Length of the longest, bytes.
    longest: usize,
    finds: Option<AhoCorasick>,
    /// The rule of each keyword.
    of: Vec<usize>,
}

/// All rules, read at the first use.
pub(crate) fn all() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(Rules::read);
    &RULES
}

impl Rules {
    fn read() -> Self {
        let mut read = Self { rules: Vec::new(), keywords: Vec::new(), longest: 0, finds: None, of: Vec::new() };
        let lines = TABLES.iter().flat_map(|table| table.lines());
        for (rule, keywords) in lines.filter_map(Rule::read) {
            for keyword in keywords.split(',') {
                read.keywords.push(keyword);
                read.of.push(read.rules.len());
            }
            read.rules.push(rule);
        }
        read.keywords.push(private_key::KEYWORD);
        read.longest = read.keywords.iter().map(|keyword| keyword.len()).max().unwrap_or(0);
        let builder = &mut AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA));
        read.finds = builder.build(&read.keywords).ok();
        read
    }

    /// Every place where a keyword stands, from `from` on, with what is seen there.
    pub(crate) fn looks<'a>(
        &'a self,
        text: &'a [u8],
        from: usize,
        last: bool,
    ) -> impl Iterator<Item = (usize, Look)> + 'a {
        let rest = text.get(from..).unwrap_or_default();
        let found = self.finds.iter().flat_map(move |finds| finds.find_overlapping_iter(rest));
        found.filter_map(move |hit| {
            let (at, end) = (from + hit.start(), from + hit.end());
            match self.of.get(hit.pattern().as_usize()) {
                Some(rule) => self.rules.get(*rule).map(|rule| (at, rule.look(text, at, end, last))),
                None => Some((at, private_key::look(text, at, last))),
            }
        })
    }

    /// Where the end of a text may be the beginning of a keyword.
    pub(crate) fn begins(&self, text: &[u8]) -> usize {
        begun(text, self.longest, |rest| {
            let begins = |keyword: &str| {
                keyword.as_bytes().get(..rest.len()).is_some_and(|head| head.eq_ignore_ascii_case(rest))
            };
            self.keywords.iter().any(|keyword| begins(keyword))
        })
    }
}

impl Rule {
    fn read(line: &'static str) -> Option<(Self, &'static str)> {
        let mut fields = line.split('\t');
        let mut field = || fields.next();
        let (name, kind, back, entropy, flags, keywords, pattern) =
            (field()?, field()?, field()?, field()?, field()?, field()?, field()?);
        let kind = match kind {
            "A" => Kind::Assigned,
            "T" => Kind::Token,
            _ => Kind::Line,
        };
        let (back, entropy) = (back.parse().ok()?, entropy.parse().ok()?);
        Some((Self { name: name.into(), kind, back, entropy, flags, pattern, compiled: OnceLock::new() }, keywords))
    }

    fn is(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    #[cfg(test)]
    pub(super) fn pattern(&self) -> &'static str {
        self.pattern
    }

    /// Compiled as Go reads it, from whose world most patterns come: classes are ASCII.
    pub(crate) fn compiled(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&format!(r"\A(?:{})", self.pattern)).unicode(false).build().ok();
        self.compiled.get_or_init(compile).as_ref()
    }

    /// What is at a keyword that stands from `at` to `end`.
    fn look(&self, text: &[u8], at: usize, end: usize, last: bool) -> Look {
        let Some(start) = at.checked_sub(self.back) else { return Look::Nothing };
        let before = start.checked_sub(1).and_then(|index| text.get(index));
        if self.is('b') && before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            return Look::Nothing;
        }
        if (self.is('b') || self.is('w')) && behind_marker(text, start) {
            return Look::Nothing;
        }
        // `${secret:NAME}` is a name, which is no secret.
        if text.get(..start).is_some_and(|before| before.ends_with(b"${")) {
            return Look::Nothing;
        }
        let rest = text.get(start..).unwrap_or_default();
        let window = rest.get(..WINDOW).unwrap_or(rest);
        if !last && rest.len() < WINDOW {
            match self.decided(text, end) {
                Some(true) => {}
                Some(false) => return Look::Nothing,
                None => return Look::Undecided,
            }
        } else if self.kind == Kind::Assigned && operator(text, end) == Some(None) {
            return Look::Nothing;
        }
        let Some(pattern) = self.compiled().filter(|pattern| pattern.is_match(window)) else { return Look::Nothing };
        let Some(groups) = pattern.captures(window) else { return Look::Nothing };
        let Some(secret) = groups.iter().skip(1).flatten().next().or_else(|| groups.get(0)) else {
            return Look::Nothing;
        };
        let range = start + secret.start()..start + secret.end();
        if !self.takes(text, start, range.clone()) {
            return Look::Nothing;
        }
        let goes_on = self.is('o') || secret.end() == WINDOW;
        let tail = goes_on.then_some(Tail::Token);
        Look::Secret { range, name: Arc::clone(&self.name), tail }
    }

    /// Whether what comes behind the text makes no difference any more; `Some(false)`: nothing can be here.
    fn decided(&self, text: &[u8], end: usize) -> Option<bool> {
        let rest = text.get(end..).unwrap_or_default();
        match self.kind {
            Kind::Token => rest.iter().any(u8::is_ascii_whitespace).then_some(true),
            Kind::Line => rest.contains(&b'\n').then_some(true),
            Kind::Assigned => match operator(text, end)? {
                None => Some(false),
                Some(at) => {
                    let value = text.get(at + MOST_BEFORE_VALUE..).unwrap_or_default();
                    value.iter().any(u8::is_ascii_whitespace).then_some(true)
                }
            },
        }
    }

    /// Whether a value of the right shape is taken for a secret.
    fn takes(&self, text: &[u8], start: usize, range: std::ops::Range<usize>) -> bool {
        // What was taken out here belonged to the value, which was none then.
        if text.get(range.end..).is_some_and(|behind| behind.starts_with(MARKER.as_bytes())) {
            return false;
        }
        let secret = text.get(range.clone()).unwrap_or_default();
        if self.is('n') && !secret.iter().any(u8::is_ascii_digit) {
            return false;
        }
        if self.entropy > 0.0 && super::entropy::entropy(secret) <= self.entropy {
            return false;
        }
        if value::is_placeholder(secret) || self.is('d') && value::is_digest(secret) {
            return false;
        }
        if self.is('w') {
            // The name as a whole, which may begin before the keyword.
            let named = |byte: &u8| is_token(*byte);
            let head = text.get(start.saturating_sub(CONTEXT)..start).unwrap_or_default();
            let name = head.iter().rev().take_while(|byte| named(byte)).count();
            let whole = text.get(start - name..range.end).unwrap_or_default();
            return !value::is_usual(secret) && !value::is_no_secret_name(whole);
        }
        true
    }
}

/// Whether the name in front of a place begins where a secret was taken out: it went on before that, and meant nothing then.
/// So a text that was redacted is left as it is the next time.
fn behind_marker(text: &[u8], at: usize) -> bool {
    let head = text.get(at.saturating_sub(CONTEXT)..at).unwrap_or_default();
    let name = head.iter().rev().take_while(|byte| is_token(**byte)).count();
    let Some(marker) = head.get(..head.len() - name).and_then(|head| head.strip_suffix(b"]")) else { return false };
    let open = marker.iter().rposition(|byte| *byte == b'[');
    open.and_then(|open| marker.get(open..)).is_some_and(|marker| marker.starts_with(MARKER.as_bytes()))
}

/// Bytes between the beginning of an operator and a value.
const MOST_BEFORE_VALUE: usize = 12;
/// Bytes between a keyword and its operator: the rest of the name, blanks and quotes.
const MOST_BEFORE_OPERATOR: usize = 48;

/// Where the operator behind a name begins. `Some(None)`: there is none. `None`: it may still come.
fn operator(text: &[u8], end: usize) -> Option<Option<usize>> {
    let rest = text.get(end..).unwrap_or_default();
    for (index, byte) in rest.iter().take(MOST_BEFORE_OPERATOR).enumerate() {
        match byte {
            b'=' | b'>' | b':' | b'|' | b'?' | b',' => return Some(Some(end + index)),
            b'_' | b'.' | b'\'' | b'"' | b'-' | b'\\' => {}
            byte if byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() => {}
            _ => return Some(None),
        }
    }
    if rest.len() >= MOST_BEFORE_OPERATOR { Some(None) } else { None }
}
