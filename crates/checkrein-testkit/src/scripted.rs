//! A model that says what a test tells it, and keeps what it was sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use checkrein::providers::{Script, ScriptProvider};
use checkrein_contract::{BoxFuture, Delta, Lane, ModelReply, ModelRequest, Provider, ProviderError};
use serde_json::{Value, json};

/// How sessions name the model.
const NAME: &str = "scripted";

/// A scripted model, written in code. It needs no key and no network, and its time is virtual.
///
/// Each step answers one request, in order. A request that no step answers, and a step that no request reaches, end the
/// session as `failed`: what a test does not expect does not pass unseen. The steps are those of a script file, so that
/// [`Scripted::step`] takes whatever such a file may say: conditions, quotes of results, broken streams.
///
/// ```
/// use checkrein_testkit::Scripted;
/// use serde_json::json;
///
/// let model = Scripted::new()
///     .calls("find_order", json!({ "order": "o-1" }))
///     .step(json!({ "when": { "tool_result": "find_order", "contains": "delivered" }, "text": "It is there." }))
///     .step(json!({ "else": true, "text": "It is on its way." }));
/// assert!(model.requests().is_empty());
/// ```
#[derive(Clone, Default)]
pub struct Scripted {
    steps: Vec<Value>,
    script: Arc<OnceLock<ScriptProvider>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Scripted {
    /// A model without a step.
    pub fn new() -> Self {
        Self::default()
    }

    /// It answers with this text.
    #[must_use]
    pub fn says(self, text: &str) -> Self {
        self.step(json!({ "text": text }))
    }

    /// It calls a tool.
    #[must_use]
    pub fn calls(self, tool: &str, args: Value) -> Self {
        self.step(json!({ "calls": [{ "tool": tool, "args": args }] }))
    }

    /// It calls several tools in one reply.
    #[must_use]
    pub fn calls_all<'a>(self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls: Vec<Value> = calls.into_iter().map(|(tool, args)| json!({ "tool": tool, "args": args })).collect();
        self.step(json!({ "calls": calls }))
    }

    /// It calls a tool with arguments that are whatever text this is.
    #[must_use]
    pub fn garbles(self, tool: &str, arguments: &str) -> Self {
        self.step(json!({ "calls": [{ "tool": tool, "raw": arguments }] }))
    }

    /// The request fails with this status; 429 and 5xx are tried again, and the next step answers then.
    #[must_use]
    pub fn fails(self, status: u16) -> Self {
        self.step(json!({ "error": { "status": status } }))
    }

    /// Any step of the script format.
    #[must_use]
    pub fn step(mut self, step: Value) -> Self {
        self.steps.push(step);
        // A copy that was asked already keeps its own script.
        self.script = Arc::default();
        self
    }

    /// All requests so far, as they were sent: whole, in order, retries included. Nothing that happens later changes them.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn script(&self) -> &ScriptProvider {
        self.script.get_or_init(|| match Script::of_steps(&self.steps) {
            Ok(script) => ScriptProvider::new(script, NAME),
            Err(error) => panic!("the scripted model: {error}"),
        })
    }
}

/// A model that is asked through [`Scripted`], for a sub-session.
struct Part {
    inner: Arc<dyn Provider>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

fn ask<'a>(
    inner: &'a dyn Provider,
    requests: &Mutex<Vec<ModelRequest>>,
    request: &'a ModelRequest,
    on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    inner.complete(request, on_delta)
}

impl Provider for Scripted {
    fn model(&self) -> &str {
        self.script().model()
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        ask(self.script(), &self.requests, request, on_delta)
    }

    fn close(&self, provider: &Value) -> Result<(), ProviderError> {
        self.script().close(provider)
    }

    fn ended(&self, lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
        self.script().ended(lanes)
    }

    fn delegate(&self, number: u32) -> Option<Arc<dyn Provider>> {
        let inner = self.script().delegate(number)?;
        Some(Arc::new(Part { inner, requests: Arc::clone(&self.requests) }))
    }

    fn virtual_time(&self) -> bool {
        true
    }
}

impl Provider for Part {
    fn model(&self) -> &str {
        self.inner.model()
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        ask(&*self.inner, &self.requests, request, on_delta)
    }

    fn close(&self, provider: &Value) -> Result<(), ProviderError> {
        self.inner.close(provider)
    }

    fn virtual_time(&self) -> bool {
        self.inner.virtual_time()
    }
}
