//! Black-box tests of the scripted model, through its port alone. They must not look inside a position except where its
//! form is what is tested.

mod answers;
mod loading;
mod order;
mod quotes;
mod unused;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use checkrein_contract::{
    CallId, Delta, Lane, Message, ModelReply, ModelRequest, Provider, ProviderError, ResultPart, ToolChoice,
};
use checkrein_providers::{Script, ScriptProvider};
use checkrein_toml::Source;
use serde_json::Value;

/// What a harness would keep of a session with a script: the conversation and the position.
struct Session {
    provider: ScriptProvider,
    request: ModelRequest,
    deltas: Vec<String>,
}

impl Session {
    /// A session with a script whose version line is left out.
    fn new(steps: &str) -> Self {
        let text = format!("version = 1\n{steps}");
        let script = Script::load(Source { file: "script.toml", text: &text }).unwrap();
        let request = ModelRequest {
            model: "script:script.toml".to_owned(),
            system: String::new(),
            tools: Vec::new(),
            messages: Vec::new(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: 100,
            lane: Lane::main(),
            provider: Value::Null,
        };
        let provider = ScriptProvider::new(script, "script.toml");
        Self { provider, request, deltas: Vec::new() }.user("please")
    }

    fn user(mut self, text: &str) -> Self {
        self.request.messages.push(Arc::new(Message::User { text: text.to_owned(), harness: false }));
        self
    }

    fn show(&mut self, tool: &str, text: &str) {
        self.show_all(&[(tool, text, false)]);
    }

    /// One message with several results: tool, text, whether it is an error.
    fn show_all(&mut self, results: &[(&str, &str, bool)]) {
        let results = results
            .iter()
            .map(|(tool, text, is_error)| ResultPart {
                call: CallId::new("c1-1"),
                tool: (*tool).to_owned(),
                text: (*text).to_owned(),
                is_error: *is_error,
            })
            .collect();
        self.request.messages.push(Arc::new(Message::Tool { results }));
    }

    /// Sends the next request and takes the position back, as the harness does after success and failure alike.
    fn next(&mut self) -> Result<ModelReply, ProviderError> {
        let mut deltas = Vec::new();
        let mut on_delta = |delta: Delta<'_>| match delta {
            Delta::Text(text) => deltas.push(text.to_owned()),
            Delta::Void => deltas.clear(),
        };
        let result = ready(self.provider.complete(&self.request, &mut on_delta));
        self.deltas = deltas;
        self.request.provider = match &result {
            Ok(reply) => reply.provider.clone(),
            Err(error) => error.provider.clone(),
        };
        result
    }

    /// The text of the next reply, or the code and message of the error.
    fn says(&mut self) -> String {
        self.next().map_or_else(|error| format!("{}: {error}", error.code()), |reply| reply.text)
    }

    /// What closing says: nothing, or the code and message.
    fn close(&self) -> String {
        let closed = self.provider.close(&self.request.provider);
        closed.map_or_else(|error| format!("{}: {error}", error.code()), |()| String::new())
    }
}

/// The value of a future that never waits.
fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a script never waits"),
    }
}
