//! Ways past commands: an `&&` chain that ends early, `break`, `continue` and `return`, and what a function keeps to itself.
//! What is known afterwards is what holds on every way that may have been taken.

use std::collections::{BTreeMap, BTreeSet};

use checkrein_shell::{Kind, Part, Pipeline, Value};

use super::state::{State, Variable};
use super::value::{Field, Text};
use super::walk::Walker;

/// Where the loops and functions that are running may be left from, and what holds longer than a command.
#[derive(Default)]
pub(super) struct Leaving {
    /// For each loop around, what held where `break` or `continue` left it.
    loops: Vec<Option<State>>,
    /// For each function around, what held where `return` left it.
    returns: Vec<Option<State>>,
    /// For each function around, what its own variables were before.
    locals: Vec<BTreeMap<String, Option<Variable>>>,
    /// Variables that can not be set any more.
    fixed: BTreeSet<String>,
    /// What runs when the shell ends.
    traps: Vec<Text>,
}

fn add(known: &mut Option<State>, state: &State) {
    match known {
        Some(known) => known.merge(state),
        None => *known = Some(state.clone()),
    }
}

/// Whether a pipeline may fail: `x=1` does not.
pub(super) fn may_fail(pipeline: &Pipeline) -> bool {
    let [only] = pipeline.stages.as_slice() else { return true };
    let Kind::Simple(simple) = &only.kind else { return true };
    let plain = |part: &Part| matches!(part, Part::Bare(_) | Part::Quoted(_));
    pipeline.negated
        || !simple.words.is_empty()
        || !only.redirects.is_empty()
        || !simple
            .assignments
            .iter()
            .all(|assignment| matches!(&assignment.value, Value::Word(word) if word.parts.iter().all(plain)))
}

impl Walker<'_> {
    /// Either what was done since then was done, or something before it failed. Where the shell stands in that case is kept
    /// account of elsewhere.
    pub(super) fn or_not(&mut self, before: State) {
        let folders = self.state.folders.clone();
        self.state.merge(&State { folders, otherwise: None, ..before });
    }

    /// Rounds of a loop.
    pub(super) fn in_loop(&mut self, rounds: impl FnOnce(&mut Self)) {
        self.leaving.loops.push(None);
        rounds(self);
        self.round_ended();
        self.leaving.loops.pop();
    }

    /// A round may have ended early, this one or one before it.
    pub(super) fn round_ended(&mut self) {
        if let Some(Some(left)) = self.leaving.loops.last() {
            let left = left.clone();
            self.state.merge(&left);
        }
    }

    /// The body of a function: what it returns from early, and what it gives back.
    pub(super) fn in_function(&mut self, body: impl FnOnce(&mut Self)) {
        let loops = std::mem::take(&mut self.leaving.loops);
        self.leaving.returns.push(None);
        self.leaving.locals.push(BTreeMap::new());
        body(self);
        if let Some(left) = self.leaving.returns.pop().flatten() {
            self.state.merge(&left);
        }
        for (name, before) in self.leaving.locals.pop().unwrap_or_default() {
            // Whether it was made the function's own on the way taken is not looked at: it is what it was, or what it became.
            let mut after = self.state.clone();
            match before {
                Some(before) => after.variables.insert(name, before),
                None => after.variables.remove(&name),
            };
            self.state.merge(&after);
        }
        self.leaving.loops = loops;
    }

    /// `return`, `break`, `continue`: what follows in the same body may not run.
    pub(super) fn leave(&mut self, name: &str, arguments: &[Field]) {
        self.built_in(name, arguments, &[]);
        if name == "return" {
            if let Some(function) = self.leaving.returns.last_mut() {
                add(function, &self.state);
            }
            return;
        }
        // `break 2` leaves more than one loop; how many is not always known.
        let count = if arguments.is_empty() { 1 } else { self.leaving.loops.len() };
        for around in self.leaving.loops.iter_mut().rev().take(count) {
            add(around, &self.state);
        }
    }

    pub(super) fn is_in_function(&self) -> bool {
        !self.leaving.locals.is_empty()
    }

    /// A variable becomes the function's own.
    pub(super) fn own_variable(&mut self, name: &str) {
        let before = self.state.variables.get(name).cloned();
        if let Some(own) = self.leaving.locals.last_mut() {
            own.entry(name.to_owned()).or_insert(before);
        }
    }

    /// A variable can not be set any more: whether something that sets it works, and what follows then, is not known.
    pub(super) fn fix_variable(&mut self, name: &str) {
        self.leaving.fixed.insert(name.to_owned());
    }

    pub(super) fn is_fixed(&self, name: &str) -> bool {
        self.leaving.fixed.contains(name)
    }

    /// Something runs when the shell ends, with what is known then.
    pub(super) fn at_the_end(&mut self, action: &Text) {
        self.leaving.traps.push(action.clone());
    }

    /// The end of the script.
    pub(super) fn end(&mut self) {
        for action in std::mem::take(&mut self.leaving.traps) {
            let before = self.state.clone();
            self.text(&action.as_script());
            self.state = before;
        }
    }
}
