//! Where a session stands in a script: the only thing that changes from request to request. It travels in the request
//! and in the reply, so it must stay small and must not hold anything that the model said or saw.

use std::sync::Arc;

use checkrein_contract::Message;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Guard, Repeat, Step};

/// The position; steps are counted from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    /// The cursor.
    at: usize,
    /// How often the step at the cursor has answered.
    times: u32,
    /// Steps of open runs that were passed over.
    passed: Vec<usize>,
    /// Repeating steps that were left before they answered as often as they should.
    #[serde(default)]
    short: Vec<usize>,
    /// Branches of the choice at the cursor that may still answer: their conditions did not hold when an earlier branch
    /// answered.
    #[serde(default)]
    later: Vec<usize>,
}

impl Position {
    /// Reads what a session brought back; null is the beginning.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        if value.is_null() {
            return Ok(Self::default());
        }
        Self::deserialize(value).map_err(|error| error.to_string())
    }

    /// The form that travels.
    pub(super) fn to_value(&self) -> Value {
        let mut value = json!({ "at": self.at, "times": self.times, "passed": self.passed });
        if let Value::Object(map) = &mut value {
            for (name, steps) in [("short", &self.short), ("later", &self.later)] {
                if !steps.is_empty() {
                    map.insert(name.to_owned(), json!(steps));
                }
            }
        }
        value
    }

    /// Moves to the step that answers a request with these messages.
    ///
    /// # Errors
    /// The steps whose conditions did not hold, when no step is left.
    pub(super) fn seek<'s>(&mut self, steps: &'s [Step], messages: &[Arc<Message>]) -> Result<&'s Step, Vec<&'s Step>> {
        if let Some(step) = self.seek_later(steps, messages) {
            return Ok(step);
        }
        let mut refused = Vec::new();
        while let Some(step) = steps.get(self.at) {
            match &step.guard {
                Guard::When(condition) if !condition.holds(messages) => {
                    refused.push(step);
                    self.leave(step);
                }
                Guard::Plain | Guard::When(_) | Guard::Else => return Ok(step),
            }
        }
        Err(refused)
    }

    /// A branch that may still answer in the choice at the cursor; its `else` where the script ends with the choice.
    fn seek_later<'s>(&mut self, steps: &'s [Step], messages: &[Arc<Message>]) -> Option<&'s Step> {
        let later = std::mem::take(&mut self.later);
        let run = later.first().and_then(|index| steps.get(*index)).and_then(|step| step.run)?;
        let holds =
            |index: &&usize| matches!(steps.get(**index).map(|s| &s.guard), Some(Guard::When(c)) if c.holds(messages));
        self.at = match later.iter().find(holds) {
            Some(index) => *index,
            None if run.end < steps.len() => run.end,
            None => run.end.saturating_sub(1),
        };
        steps.get(self.at).filter(|_| self.at < run.end)
    }

    /// Leaves a step whose condition does not hold.
    fn leave(&mut self, step: &Step) {
        let standing = self.times > 0;
        let choice = step.run.filter(|run| run.choice);
        if standing && step.repeat != Repeat::Forever {
            self.short.push(self.at);
        } else if !standing && choice.is_none() {
            self.passed.push(self.at);
        }
        self.at = match choice {
            Some(run) if standing => run.end,
            _ => self.at + 1,
        };
        self.times = 0;
    }

    /// Counts an answer of the step at the cursor to a request with these messages.
    pub(super) fn answered(&mut self, steps: &[Step], step: &Step, messages: &[Arc<Message>]) {
        self.times = self.times.saturating_add(1);
        if let Repeat::Times(times) = step.repeat
            && self.times >= times
        {
            let open = |index: &usize| match steps.get(*index).map(|step| &step.guard) {
                Some(Guard::When(condition)) => !condition.holds(messages),
                Some(Guard::Plain | Guard::Else) | None => false,
            };
            match step.run {
                Some(run) if run.choice => {
                    self.later = (self.at + 1..run.end).filter(open).collect();
                    self.at = run.end;
                }
                _ => self.at += 1,
            }
            self.times = 0;
        }
    }

    /// The steps that count as unused if the session ends here, in order.
    pub(super) fn unused<'s>(&self, steps: &'s [Step]) -> Vec<&'s Step> {
        let from = match steps.get(self.at) {
            Some(step) if step.repeat == Repeat::Forever && self.times > 0 => steps.len(),
            _ => self.at,
        };
        let unused = |(index, step): (usize, &'s Step)| {
            let passed = || self.passed.contains(&index) && !self.used_in_run(step, steps);
            (index >= from || self.short.contains(&index) || passed()).then_some(step)
        };
        steps.iter().enumerate().filter_map(unused).collect()
    }

    fn used_in_run(&self, step: &Step, steps: &[Step]) -> bool {
        let Some(run) = step.run else { return false };
        (run.first..run.end).any(|index| {
            if index == self.at {
                return self.times > 0 && steps.get(index).is_some_and(|step| step.repeat == Repeat::Forever);
            }
            index < self.at && !self.passed.contains(&index) && !self.short.contains(&index)
        })
    }
}
