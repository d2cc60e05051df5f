//! `ask_user`: puts a question to the person and waits for the answer, for as long as it takes.

use checkrein_contract::{CallId, Code};
use checkrein_gate::input_schema;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{SessionReply, SessionTool};
use crate::State;

pub(super) struct AskUser;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The question, complete in itself: the person may read it days later.
    question: String,
}

impl SessionTool for AskUser {
    fn name(&self) -> &'static str {
        "ask_user"
    }

    fn description(&self) -> &'static str {
        "Ask the person a question when a requirement is missing or unclear, instead of guessing. The run waits for the \
         answer. Do not use it to ask for permission: permission is asked for by itself."
    }

    fn parameters(&self) -> Value {
        input_schema::<Input>()
    }

    fn asks(&self) -> bool {
        true
    }

    fn answer(&self, call: &CallId, args: &Value, state: &State) -> SessionReply {
        let Ok(input) = Input::deserialize(args) else {
            return SessionReply::Failed { code: Code::InvalidArgs, message: "`question` is required".to_owned() };
        };
        match state.input_for(call) {
            Some(answer) => SessionReply::Result { text: format!("The person answered: {answer}"), change: None },
            None => SessionReply::AskPerson { question: input.question },
        }
    }
}
