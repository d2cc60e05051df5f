//! What is wrong with a cassette, or could be: everything that can be told from the file alone.

use checkrein_contract::Lane;
use serde_json::{Map, Value};

use super::answer::Asked;
use super::file::{Cassette, Line};
use super::player::flaw;
use super::row::{Body, Change, Outcome};
use super::{Scrub, request};

/// Something that a person has to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Line of the file, from 1.
    pub line: usize,
    /// What it is.
    pub what: String,
}

impl Cassette {
    /// Everything that is wrong: answers that read as something else by now, rows that nothing leads to, and secrets. `text` is
    /// the file that the cassette was read from.
    pub fn flaws(&self, text: &str, scrub: &dyn Scrub) -> Vec<Flaw> {
        let mut flaws = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            if scrub.hide(value.clone()) != value {
                flaws.push(Flaw { line: index + 1, what: "a secret, or the place of a person, is in it".to_owned() });
            }
        }
        for (lane, rows) in self.lanes() {
            self.walk::<()>(lane, |line, request| {
                if let Some(what) = flaw(line, &Asked::of(request)) {
                    flaws.push(Flaw { line: line.line, what });
                }
                None
            });
            for (index, row) in rows.iter().enumerate() {
                let Outcome::Reply(_) = row.exchange.outcome else { continue };
                let last = index + 1 == rows.len();
                if !last && !self.leads_on(lane, index) {
                    let what = "no later request knows this reply: nothing would ask for it again".to_owned();
                    flaws.push(Flaw { line: row.line, what });
                }
            }
        }
        flaws.sort_by_key(|flaw| flaw.line);
        flaws
    }

    /// Whether the request behind a reply knows of it: it has one reply more, or its beginning was made anew.
    fn leads_on(&self, lane: &Lane, index: usize) -> bool {
        let moved = |row: &Line| matches!(row.exchange.request, Change::Whole { .. });
        if self.lane(lane).get(index + 1).is_some_and(moved) {
            return true;
        }
        let (Some(this), Some(next)) = (self.request(lane, index), self.request(lane, index + 1)) else { return false };
        let assistants = |request: &Map<String, Value>| {
            request::messages(request).iter().filter(|message| message["role"] == "assistant").count()
        };
        assistants(&next) > assistants(&this) || this == next
    }

    /// How many answers are not there byte for byte because a secret lay across their pieces.
    pub fn withheld(&self) -> usize {
        let rows = self.lanes().flat_map(|(_, rows)| rows);
        rows.filter(|row| row.exchange.answer.as_ref().is_some_and(|answer| answer.body == Body::Withheld)).count()
    }

    /// Requests whose beginning is not that of the request before them: what a provider had kept of that one is of no use.
    pub fn prefix_moves(&self) -> usize {
        let whole = |row: &&Line| matches!(row.exchange.request, Change::Whole { .. });
        self.lanes().map(|(_, rows)| rows.iter().skip(1).filter(whole).count()).sum()
    }
}
