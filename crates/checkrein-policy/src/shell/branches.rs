//! `if`, `case` and loops: every way through them, and what holds after each.

use checkrein_shell::{Arm, Script, Word};

use super::flow::Flow;
use super::state::{State, Variable};
use super::value::Field;
use super::walk::Walker;

impl Walker<'_> {
    pub(super) fn branches(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) {
        let mut output = Flow::Nothing;
        let mut ends: Option<State> = None;
        for (condition, body) in arms {
            self.script(condition);
            let failed = {
                let mut failed = self.state.clone();
                if let Some(otherwise) = failed.otherwise.take() {
                    failed.folders = otherwise.folders;
                }
                failed
            };
            self.state.otherwise = None;
            self.script(body);
            output = output.or(std::mem::replace(&mut self.output, Flow::Nothing));
            let end = std::mem::replace(&mut self.state, failed);
            match &mut ends {
                Some(ends) => ends.merge(&end),
                None => ends = Some(end),
            }
        }
        if let Some(body) = otherwise {
            self.script(body);
            output = output.or(std::mem::replace(&mut self.output, Flow::Nothing));
        }
        if let Some(ends) = ends {
            self.state.merge(&ends);
        }
        self.output = output;
    }

    /// Any number of rounds: until nothing new is learned, or what still changes is taken for unknown.
    pub(super) fn repeat(&mut self, round: &mut dyn FnMut(&mut Self)) {
        self.in_loop(|walker| {
            for turn in 0..3 {
                let before = walker.state.clone();
                round(walker);
                walker.settle();
                walker.round_ended();
                walker.state.merge(&before);
                if walker.state == before {
                    break;
                }
                if turn == 1 {
                    walker.state.widen(&before);
                }
            }
        });
        self.output = Flow::any(self.output.is_downloaded());
    }

    pub(super) fn each(&mut self, name: &str, words: Option<&[Word]>, body: &Script, select: bool) {
        let ways = match words {
            Some(words) => self.ways(words),
            None => vec![self.arguments()],
        };
        self.one_of(&ways, |walker, fields| walker.rounds(name, fields, body, select));
    }

    fn rounds(&mut self, name: &str, fields: &[Field], body: &Script, select: bool) {
        let before = self.state.clone();
        // Each word has its turn; a word that stands for many is one round for all of them.
        self.in_loop(|walker| {
            for field in fields.iter().take(64) {
                let value = Variable::one(field.text.clone());
                walker.assign(name, value);
                walker.script(body);
                walker.settle();
                walker.round_ended();
            }
        });
        if fields.is_empty() {
            self.assign(name, Variable::unknown());
        }
        if fields.len() > 64 || fields.iter().any(|field| field.many) || select {
            if fields.len() > 64 {
                self.state.variables.insert(name.to_owned(), Variable::unknown());
            }
            if select {
                self.state.variables.insert("REPLY".to_owned(), Variable::unknown());
            }
            self.repeat(&mut |walker| walker.script(body));
            self.state.merge(&before);
        }
        self.output = Flow::any(self.output.is_downloaded());
    }

    pub(super) fn case(&mut self, word: &Word, arms: &[Arm]) {
        _ = self.single(word);
        let before = self.state.clone();
        let mut ends = before.clone();
        let mut output = Flow::Nothing;
        let mut falls: Option<State> = None;
        for arm in arms {
            self.state = before.clone();
            if let Some(falls) = falls.take() {
                self.state.merge(&falls);
            }
            for pattern in &arm.patterns {
                _ = self.single(pattern);
            }
            self.script(&arm.body);
            self.settle();
            output = output.or(std::mem::replace(&mut self.output, Flow::Nothing));
            if arm.falls_through {
                falls = Some(self.state.clone());
            }
            ends.merge(&self.state);
        }
        self.state = ends;
        self.output = output;
    }
}
