//! What a request shows, put together message by message as the harness has it. It holds requests to what all four vendors
//! ask of them: each result answers a call, and each call has its result before somebody says something else.

use std::sync::Arc;

use checkrein_contract::{CallId, Message, ResultPart, ToolCallPart};
use serde_json::Value;

use crate::wires::{at, text_at};

/// The conversation so far.
#[derive(Debug, Default)]
pub(super) struct Talk {
    messages: Vec<Message>,
    /// Calls without a result.
    open: Vec<ToolCallPart>,
}

impl Talk {
    /// Words of the person.
    pub(super) fn user(&mut self, text: &str) -> Result<(), String> {
        self.answered()?;
        self.messages.push(Message::User { text: text.to_owned(), harness: false });
        Ok(())
    }

    /// Words of the model; they go on in its reply, if one was begun.
    pub(super) fn said(&mut self, text: &str) -> Result<(), String> {
        if !matches!(self.messages.last(), Some(Message::Assistant { .. })) {
            self.answered()?;
        }
        self.reply(|all, _| all.push_str(text));
        Ok(())
    }

    /// A call of the model.
    pub(super) fn call(&mut self, id: &str, tool: &str, args: Value) -> Result<(), String> {
        if tool.is_empty() {
            return Err("a call without the name of its tool".to_owned());
        }
        let call = ToolCallPart { id: CallId::new(id), tool: tool.to_owned(), args };
        self.open.push(call.clone());
        self.reply(|_, calls| calls.push(call));
        Ok(())
    }

    /// The result of the first open call with this id.
    pub(super) fn result(&mut self, id: &str, text: String, is_error: bool) -> Result<(), String> {
        let which = self.open.iter().position(|call| call.id.as_str() == id);
        self.close(which.ok_or_else(|| format!("a result for `{id}`, which is no open call"))?, text, is_error);
        Ok(())
    }

    /// The result of the first open call of this tool, with this id if it has one.
    pub(super) fn result_of(&mut self, tool: &str, id: &str, text: String, is_error: bool) -> Result<(), String> {
        let exact = |call: &ToolCallPart| call.tool == tool && call.id.as_str() == id;
        let which = self.open.iter().position(exact).or_else(|| self.open.iter().position(|call| call.tool == tool));
        self.close(which.ok_or_else(|| format!("a result of `{tool}`, which has no open call"))?, text, is_error);
        Ok(())
    }

    /// The messages.
    pub(super) fn finish(self) -> Result<Vec<Arc<Message>>, String> {
        self.answered()?;
        if self.messages.is_empty() {
            return Err("there is no message".to_owned());
        }
        Ok(self.messages.into_iter().map(Arc::new).collect())
    }

    fn answered(&self) -> Result<(), String> {
        match self.open.first() {
            None => Ok(()),
            Some(call) => Err(format!("the call `{}` of `{}` has no result", call.id, call.tool)),
        }
    }

    fn close(&mut self, which: usize, text: String, is_error: bool) {
        let call = self.open.remove(which);
        let part = ResultPart { call: call.id, tool: call.tool, text, is_error };
        match self.messages.last_mut() {
            Some(Message::Tool { results }) => results.push(part),
            _ => self.messages.push(Message::Tool { results: vec![part] }),
        }
    }

    /// Adds to the reply that goes on, or to a new one.
    fn reply(&mut self, add: impl FnOnce(&mut String, &mut Vec<ToolCallPart>)) {
        if let Some(Message::Assistant { text, calls, .. }) = self.messages.last_mut() {
            return add(text, calls);
        }
        let (mut text, mut calls) = (String::new(), Vec::new());
        add(&mut text, &mut calls);
        self.messages.push(Message::Assistant { text, calls, provider: Value::Null });
    }
}

/// The texts of a content: itself, or its parts. A part that is no text is named, so that nothing is lost in silence.
pub(super) fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => Vec::new(),
    }
}

fn part(part: &Value) -> String {
    match at(part, "/text").as_str().or_else(|| part.as_str()) {
        Some(text) => text.to_owned(),
        None => format!("[{}]", text_at(part, "/type")),
    }
}

/// Arguments as a wire has them in text.
pub(super) fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()))
}

/// A list at this place of a request; empty where there is none.
pub(super) fn list<'b>(body: &'b Value, pointer: &str) -> &'b [Value] {
    at(body, pointer).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A text that a request must have.
pub(super) fn needed(body: &Value, key: &str) -> Result<String, String> {
    let text = body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| format!("{key}: a text is required"))
}

/// A ceiling of tokens, where one is given.
pub(super) fn ceiling(body: &Value, pointer: &str) -> Result<Option<u32>, String> {
    match at(body, pointer) {
        Value::Null => Ok(None),
        value => match value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) {
            Some(tokens) => Ok(Some(tokens)),
            None => Err(format!("{value} is no ceiling of tokens: a whole number from 1 on is required")),
        },
    }
}
