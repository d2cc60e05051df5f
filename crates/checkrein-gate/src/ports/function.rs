//! A typed tool from a name, a description and an async function: for tools whose effect is their own business.

use std::fmt::Display;
use std::future::Future;

use checkrein_contract::{BoxFuture, CallKind, Code, Effect, Facts, Foreseen, Place};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AnyTool, Concurrency, Definition, Failure, Rendered, RunContext, Shown, input_schema, output_schema};
use crate::Approved;

/// The time limit of the harness where nobody says another one, milliseconds.
const TIMEOUT_MS: u64 = 120_000;

/// What such a tool does.
type Body<I> = Box<dyn Fn(I) -> BoxFuture<'static, Result<Value, Failure>> + Send + Sync>;

/// A tool made of a function; see [`tool`].
pub struct FunctionTool<I> {
    definition: Definition,
    kind: CallKind,
    timeout_ms: u64,
    run: Body<I>,
}

/// A typed tool from a function. The schema that models see is generated from `I`, and what a model sends is validated
/// against it before the function is called.
///
/// Policies judge it by its name and its arguments (`effect = "tool"`, `where.amount = { max = 50 }`), so it must do nothing
/// that they could not know from these. A tool that reads files, starts programs or connects to hosts implements
/// [`Tool`](super::Tool), which says so call by call.
///
/// The model reads the value as JSON, or as it is where it is a string. An error is `TOOL_FAILED` with the error's text,
/// which the model reads as well: keep it short, and free of secrets.
///
/// It may run once: after a crash nobody repeats what may have happened. See [`FunctionTool::pure`] and
/// [`FunctionTool::idempotent`].
///
/// ```
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Order {
///     /// The order's number, such as o-17.
///     order: String,
/// }
///
/// let find_order = checkrein_gate::tool("find_order", "Looks an order up.", |input: Order| async move {
///     match input.order.as_str() {
///         "o-17" => Ok("delivered on Monday"),
///         _ => Err("there is no such order"),
///     }
/// })
/// .pure();
/// # use checkrein_gate::AnyTool as _;
/// assert_eq!(find_order.definition().parameters["properties"]["order"]["type"], "string");
/// ```
pub fn tool<I, O, E, F, R>(name: impl Into<String>, description: impl Into<String>, run: F) -> FunctionTool<I>
where
    I: DeserializeOwned + JsonSchema,
    O: Serialize + JsonSchema,
    E: Display,
    F: Fn(I) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, E>> + Send + 'static,
{
    let definition = Definition {
        name: name.into(),
        description: description.into(),
        parameters: input_schema::<I>(),
        output: output_schema::<O>(),
        implementation: Value::Null,
        host_only: false,
    };
    let run: Body<I> = Box::new(move |input: I| {
        let running = run(input);
        Box::pin(async move {
            let value = running.await.map_err(|error| Failure::new(Code::ToolFailed, error.to_string()))?;
            serde_json::to_value(&value).map_err(|error| {
                Failure::new(Code::InvalidToolOutput, "the tool's value can not be written as JSON").because(error)
            })
        })
    });
    FunctionTool { definition, kind: CallKind::Once, timeout_ms: TIMEOUT_MS, run }
}

impl<I> FunctionTool<I> {
    /// It only looks: it may be repeated after a crash, and overlap with its neighbours.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.kind = CallKind::Pure;
        self
    }

    /// Doing it twice is doing it once: it may be repeated after a crash.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.kind = CallKind::Idempotent;
        self
    }

    /// Another time limit of the harness, milliseconds; two minutes otherwise.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }
}

impl<I: DeserializeOwned> AnyTool for FunctionTool<I> {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self, _args: &Value) -> CallKind {
        self.kind
    }

    fn concurrency(&self, _args: &Value) -> Concurrency {
        if self.kind == CallKind::Pure { Concurrency::Parallel } else { Concurrency::Exclusive }
    }

    fn timeout_ms(&self, _args: &Value) -> u64 {
        self.timeout_ms
    }

    fn looks(&self) -> bool {
        self.kind == CallKind::Pure
    }

    fn runs_programs(&self, _args: &Value) -> bool {
        false
    }

    fn effects(&self, args: &Value, _place: &Place, _facts: &Facts) -> Foreseen {
        Foreseen::of(vec![Effect::Tool { tool: self.definition.name.clone(), server: None, args: args.clone() }])
    }

    fn run<'a>(&'a self, approved: &'a Approved, _context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        match I::deserialize(&approved.call().args) {
            Ok(input) => (self.run)(input),
            Err(error) => {
                let failure = Failure::new(Code::InvalidArgs, "the arguments fit the schema but not the tool");
                Box::pin(async move { Err(failure.because(error)) })
            }
        }
    }

    fn render(&self, _args: &Value, value: &Value) -> Result<Shown, String> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Ok(Shown { rendered: Rendered::whole(text), ..Shown::default() })
    }
}
