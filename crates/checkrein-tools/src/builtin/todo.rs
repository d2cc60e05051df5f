//! `todo`: the plan of the work, as the model keeps it. It touches nothing; the journal has each version as the call's
//! result, and a person sees how far the work is.

use checkrein_contract::{BoxFuture, CallKind, Facts, Foreseen, Place};
use checkrein_gate::{Approved, Failure, Rendered, RunContext, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::printable::one_line;

/// The tool.
pub(crate) struct Todo;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The whole plan, in order: it replaces the one before.
    #[schemars(length(max = 50))]
    items: Vec<Item>,
}

/// One step of the plan.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// What is to be done, in a few words.
    #[schemars(length(min = 1, max = 200))]
    text: String,
    /// How far it is.
    #[serde(default)]
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    #[default]
    Open,
    Doing,
    Done,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    items: Vec<Item>,
}

impl Tool for Todo {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "todo";
    const LOOKS: bool = true;
    const DESCRIPTION: &'static str = "\
        Write down the plan of work that has several steps, and keep it true: give the whole list each time, with what \
        is open, what you are doing and what is done. Not for work of one step.";

    fn kind(&self, _input: &Input) -> CallKind {
        CallKind::Pure
    }

    fn effects(&self, _input: &Input, _place: &Place, _facts: &Facts) -> Foreseen {
        Foreseen::default()
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        input: Input,
        _context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move { Ok(Output { items: input.items }) })
    }

    fn render(&self, _input: &Input, output: &Output) -> Rendered {
        let done = output.items.iter().filter(|item| item.state == State::Done).count();
        let mut text = format!("{done} of {} done", output.items.len());
        for item in &output.items {
            let mark = match item.state {
                State::Open => "[ ]",
                State::Doing => "[>]",
                State::Done => "[x]",
            };
            text.push_str(&format!("\n{mark} {}", one_line(&item.text)));
        }
        Rendered::whole(text)
    }

    fn examples() -> Vec<Value> {
        vec![json!({"items": [{"text": "find the bug", "state": "done"}, {"text": "mend it"}]})]
    }
}
