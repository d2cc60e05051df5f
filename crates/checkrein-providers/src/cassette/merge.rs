//! Turns of one recording put into another. Keys cascade: whatever a turn says is in every request behind it, so turns that
//! say something else are taken all together or not at all.

use std::collections::BTreeSet;

use checkrein_contract::Lane;

use super::changes::{changes, turn};
use super::file::Cassette;
use super::request::change;
use super::row::Exchange;

impl Cassette {
    /// This cassette with these turns, by their names, as `other` has them, and with those that follow from them. Gives back
    /// which were taken.
    ///
    /// # Errors
    /// The name of a turn that is not different.
    pub fn with_turns_of(&self, other: &Self, turns: &[String]) -> Result<(Self, Vec<String>), String> {
        let changes = changes(self, other);
        if let Some(name) = turns.iter().find(|name| !changes.turns.iter().any(|turn| turn.name == **name)) {
            let known: Vec<&str> = changes.turns.iter().map(|turn| turn.name.as_str()).collect();
            return Err(format!("`{name}` is no turn that is different; those are {}", known.join(", ")));
        }
        let named = |name: &String| turns.contains(name);
        let tied = changes.turns.iter().any(|turn| turn.tied && named(&turn.name));
        let taken: BTreeSet<&str> = changes
            .turns
            .iter()
            .filter(|turn| named(&turn.name) || tied && turn.tied)
            .map(|turn| turn.name.as_str())
            .collect();
        let header = if tied { other.header() } else { self.header() };
        let mut merged = Self::new(header.clone());
        let lanes: BTreeSet<&Lane> = self.lanes().chain(other.lanes()).map(|(lane, _)| lane).collect();
        for lane in lanes {
            merged.take_lane(lane, [self, other], |name| taken.contains(name));
        }
        let merged = Self::read(&merged.text())?;
        Ok((merged, taken.into_iter().map(str::to_owned).collect()))
    }

    fn take_lane(&mut self, lane: &Lane, [ours, other]: [&Self; 2], takes: impl Fn(&str) -> bool) {
        let rows = [ours.requests(lane), other.requests(lane)];
        let mut before = None;
        for index in 0..rows[0].len().max(rows[1].len()) {
            let (from, rows) = if takes(&turn(lane, index)) { (other, &rows[1]) } else { (ours, &rows[0]) };
            let Some((line, request)) = rows.get(index) else { continue };
            for call in from.calls(lane, index) {
                if !self.tools().iter().any(|tool| (&tool.lane, &tool.call) == (&call.lane, &call.call)) {
                    self.push_tool(call.clone());
                }
            }
            let n = self.lane(lane).len() + 1;
            self.push(Exchange { n, request: change(before, request), ..line.exchange.clone() });
            before = Some(request);
        }
    }
}
