//! What holds in a session whatever a request shows: said again, from the state, where the messages that said it are put
//! away.

use crate::state::State;

/// How many of the things that can grow without end are named.
const NAMED: usize = 24;

impl State {
    /// A line for each thing that holds.
    pub(crate) fn standing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let identity: Vec<String> =
            self.opened.identity.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        if !identity.is_empty() {
            lines.push(format!("This session acts on behalf of {}.", identity.join(", ")));
        }
        for (question, answer) in &self.answers {
            lines.push(format!("Asked {question:?}, the person answered: {answer}"));
        }
        for skill in self.opened.skills.iter().filter(|skill| self.loaded.contains(&skill.name)) {
            lines.push(format!("The skill {} is loaded. Its instructions:\n{}", skill.name, skill.body));
        }
        if !self.refusals.is_empty() {
            let newest = self.refusals.iter().rev().take(NAMED).map(|(tool, reason)| format!("{tool} ({reason})"));
            let newest: Vec<String> = newest.collect();
            lines.push(format!(
                "The rules are what they were. Refused so far, and asking again changes nothing: {}.",
                newest.join("; ")
            ));
        }
        let root = format!("{}/", self.opened.place.root.trim_end_matches('/'));
        let seen: Vec<&str> =
            self.seen.keys().map(|path| path.strip_prefix(&root).unwrap_or(path)).take(NAMED + 1).collect();
        if !seen.is_empty() {
            let more = if seen.len() > NAMED { " and others" } else { "" };
            let named: Vec<&str> = seen.into_iter().take(NAMED).collect();
            lines.push(format!(
                "Files whose versions are known, so that they may be edited while nobody else changes them: {}{more}.",
                named.join(", ")
            ));
        }
        lines
    }
}
