//! Tools: typed for those who write them, erased for the gate.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use checkrein_contract::{
    BoxFuture, CallKind, Code, Digest, Effect, Facts, Foreseen, Identity, Place, Presentation, SeenFile, ToolSpec,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Sandbox, Spill};
use crate::Approved;
use crate::schema;

/// Longest text of a result where a tool says nothing else, bytes: the 50 KiB that `read` shows, with room for what
/// frames it.
const MAX_TEXT_BYTES: usize = 64_000;

/// Whether a call may overlap with its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// A barrier: nothing else runs beside it. The default, also for whatever does not say.
    #[default]
    Exclusive,
    /// It may overlap with other parallel calls next to it.
    Parallel,
}

/// A call that failed. What the model reads is the message, its code and the code's remedy.
#[derive(Debug)]
pub struct Failure {
    /// Stable code.
    pub code: Code,
    /// For the model: short, no secrets, no host paths.
    pub message: String,
    /// For the operator.
    pub cause: Option<Box<dyn StdError + Send + Sync>>,
    /// File versions that the call saw all the same, such as a file that is not there.
    pub seen: Vec<SeenFile>,
}

impl Failure {
    /// A failure without a cause.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), cause: None, seen: Vec::new() }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds a file version that was seen.
    #[must_use]
    pub fn having_seen(mut self, seen: SeenFile) -> Self {
        self.seen.push(seen);
        self
    }

    /// Message and causes in one line, for the operator.
    pub fn chain(&self) -> String {
        self.causes().map_or_else(|| self.message.clone(), |causes| format!("{}: {causes}", self.message))
    }

    /// The causes behind the message in one line, where there are any.
    pub fn causes(&self) -> Option<String> {
        let mut cause = self.cause.as_ref().map(|cause| &**cause as &dyn StdError);
        let mut texts = Vec::new();
        while let Some(error) = cause {
            texts.push(error.to_string());
            cause = error.source();
        }
        (!texts.is_empty()).then(|| texts.join(": "))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// What the model reads of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Something was left out; the text says what, how much, and the exact call that gets the rest.
    pub cut: bool,
    /// The call ran and says by its value that it failed (a check that did not pass).
    pub failed: Option<Code>,
}

impl Rendered {
    /// A text with nothing left out.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// What a tool may use while it runs.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// Where.
    pub place: &'a Place,
    /// On whose behalf.
    pub identity: &'a Identity,
    /// To run programs.
    pub sandbox: &'a dyn Sandbox,
    /// For what does not fit.
    pub spill: &'a dyn Spill,
    /// File versions this session has seen, by absolute real path; `None` for "seen to be absent".
    pub seen: &'a BTreeMap<String, Option<Digest>>,
    /// Fires when the run is cancelled.
    pub cancel: &'a CancellationToken,
}

/// A tool with typed input and output: an input type, a list entry, and this.
///
/// The schema that models see is generated from `Input`; what the model sends is validated against it before any method
/// here is called. `Output` is checked the same way on the way back.
pub trait Tool: Send + Sync + 'static {
    /// Arguments. A doc comment on a field is its description.
    type Input: DeserializeOwned + JsonSchema + Send + Sync;
    /// The value. It stays out of the journal; `render` makes the text of it.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + Sync;

    /// Name on offer.
    const NAME: &'static str;
    /// What it does, for the model. Each clause prevents a failure.
    const DESCRIPTION: &'static str;
    /// Longest text of a result, bytes. A longer one loses its middle, which is kept in a file.
    const MAX_TEXT_BYTES: usize = MAX_TEXT_BYTES;
    /// It is of use where nothing may be changed. No permission comes from it, only a place on offer.
    const LOOKS: bool = false;

    /// What may be repeated after a crash.
    fn kind(&self, _input: &Self::Input) -> CallKind {
        CallKind::Once
    }

    /// Whether these very arguments may overlap with neighbours.
    fn concurrency(&self, _input: &Self::Input) -> Concurrency {
        Concurrency::Exclusive
    }

    /// The time limit of the harness, milliseconds. Two minutes unless the tool knows better.
    fn timeout_ms(&self, _input: &Self::Input) -> u64 {
        120_000
    }

    /// Whether these arguments start programs: then it needs a sandbox that confines, or somebody's word that it may do
    /// without.
    fn runs_programs(&self, _input: &Self::Input) -> bool {
        false
    }

    /// What the call would do, with what was found out so far. Pure. It may be called several times, with more facts each
    /// time: a question that it wants answered goes into [`Foreseen::questions`].
    fn effects(&self, input: &Self::Input, place: &Place, facts: &Facts) -> Foreseen;

    /// Does it.
    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Self::Input,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Self::Output, Failure>>;

    /// The text for the model. Pure: same input and output, same text.
    fn render(&self, input: &Self::Input, output: &Self::Output) -> Rendered;

    /// What a person is shown beside it. Pure.
    fn present(&self, _input: &Self::Input, _output: &Self::Output) -> Option<Presentation> {
        None
    }

    /// Where the result comes from, for citations. Pure.
    fn sources(&self, _input: &Self::Input, _output: &Self::Output) -> Vec<String> {
        Vec::new()
    }

    /// File versions that the call saw or made. Pure.
    fn seen(&self, _output: &Self::Output) -> Vec<SeenFile> {
        Vec::new()
    }

    /// Arguments that are valid, for the conformance suite and the generated catalogue.
    fn examples() -> Vec<Value>;
}

/// What is known of a tool without calling it. Only three fields of it ever reach a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Name on offer.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// JSON Schema of the value.
    pub output: Value,
    /// What else decides what a call does, such as the program behind a command tool: a change of it is a change of the
    /// tool. Null where the code of this program is all.
    pub implementation: Value,
    /// Not on offer to models: only the harness itself calls it.
    pub host_only: bool,
}

impl Definition {
    /// The projection: exactly what a model is told.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name.clone(), description: self.description.clone(), parameters: self.parameters.clone() }
    }

    /// Digest of everything a person approves when they approve a call of this tool.
    pub fn digest(&self) -> Digest {
        checkrein_contract::digest_json(&serde_json::json!({
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "output": self.output,
            "implementation": self.implementation,
        }))
    }
}

/// A tool, erased. Arguments were validated against `parameters` before any method but [`AnyTool::definition`] is called;
/// where they do not fit all the same, each method takes its strictest answer.
pub trait AnyTool: Send + Sync {
    /// What it is.
    fn definition(&self) -> &Definition;
    /// What may be repeated.
    fn kind(&self, args: &Value) -> CallKind;
    /// Whether it may overlap.
    fn concurrency(&self, args: &Value) -> Concurrency;
    /// The harness's time limit, milliseconds.
    fn timeout_ms(&self, args: &Value) -> u64;
    /// Longest text of a result, bytes.
    fn max_text_bytes(&self) -> usize {
        MAX_TEXT_BYTES
    }
    /// Whether it is of use where nothing may be changed.
    fn looks(&self) -> bool {
        false
    }
    /// Whether it starts programs.
    fn runs_programs(&self, args: &Value) -> bool;
    /// What it would do, with what was found out so far; see [`Tool::effects`].
    fn effects(&self, args: &Value, place: &Place, facts: &Facts) -> Foreseen;
    /// Files whose content decides what it does, besides those that its effects name, such as the program behind a command
    /// tool: absolute paths. A yes to the call is for what they hold.
    fn files(&self, _args: &Value, _place: &Place) -> Vec<String> {
        Vec::new()
    }
    /// Does it.
    fn run<'a>(&'a self, approved: &'a Approved, context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>>;
    /// The text for the model.
    ///
    /// # Errors
    /// Why the value can not be read; such a value is `INVALID_TOOL_OUTPUT`.
    fn render(&self, args: &Value, value: &Value) -> Result<Shown, String>;
}

/// Everything that is made of a value, in one go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// For the model.
    pub rendered: Rendered,
    /// For people.
    pub presentation: Option<Presentation>,
    /// For citations.
    pub sources: Vec<String>,
    /// For the session.
    pub seen: Vec<SeenFile>,
}

/// A typed tool, erased.
pub struct Typed<T: Tool> {
    tool: T,
    definition: Definition,
}

impl<T: Tool> Typed<T> {
    /// Wraps a tool; its schemas are generated here, once.
    pub fn new(tool: T) -> Self {
        let definition = Definition {
            name: T::NAME.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            parameters: input_schema::<T::Input>(),
            output: output_schema::<T::Output>(),
            implementation: Value::Null,
            host_only: false,
        };
        Self { tool, definition }
    }

    /// The same tool, for the harness only.
    #[must_use]
    pub fn host_only(mut self) -> Self {
        self.definition.host_only = true;
        self
    }

    /// As the registry takes it.
    pub fn shared(self) -> Arc<dyn AnyTool> {
        Arc::new(self)
    }

    fn input(args: &Value) -> Result<T::Input, Failure> {
        T::Input::deserialize(args).map_err(|error| {
            Failure::new(Code::InvalidArgs, "the arguments fit the schema but not the tool").because(error)
        })
    }
}

impl<T: Tool> AnyTool for Typed<T> {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self, args: &Value) -> CallKind {
        Self::input(args).map_or(CallKind::Once, |input| self.tool.kind(&input))
    }

    fn concurrency(&self, args: &Value) -> Concurrency {
        Self::input(args).map_or(Concurrency::Exclusive, |input| self.tool.concurrency(&input))
    }

    fn timeout_ms(&self, args: &Value) -> u64 {
        Self::input(args).map_or(0, |input| self.tool.timeout_ms(&input))
    }

    fn max_text_bytes(&self) -> usize {
        T::MAX_TEXT_BYTES
    }

    fn looks(&self) -> bool {
        T::LOOKS
    }

    fn runs_programs(&self, args: &Value) -> bool {
        Self::input(args).map_or(true, |input| self.tool.runs_programs(&input))
    }

    fn effects(&self, args: &Value, place: &Place, facts: &Facts) -> Foreseen {
        match Self::input(args) {
            Ok(input) => self.tool.effects(&input, place, facts),
            Err(failure) => Foreseen::of(vec![Effect::unknown(failure.message)]),
        }
    }

    fn run<'a>(&'a self, approved: &'a Approved, context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let input = Self::input(&approved.call().args)?;
            let output = self.tool.run(approved, input, context).await?;
            serde_json::to_value(&output).map_err(|error| {
                Failure::new(Code::InvalidToolOutput, "the tool's value can not be written as JSON").because(error)
            })
        })
    }

    fn render(&self, args: &Value, value: &Value) -> Result<Shown, String> {
        let input = Self::input(args).map_err(|failure| failure.chain())?;
        let output = T::Output::deserialize(value).map_err(|error| error.to_string())?;
        Ok(Shown {
            rendered: self.tool.render(&input, &output),
            presentation: self.tool.present(&input, &output),
            sources: self.tool.sources(&input, &output),
            seen: self.tool.seen(&output),
        })
    }
}

/// The schema of an input type, as models see it.
pub fn input_schema<T: JsonSchema>() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_deserialize();
    schema::tidy_up(
        generator.with(|s| s.inline_subschemas = true).into_generator().into_root_schema_for::<T>().to_value(),
    )
}

/// The schema of an output type.
pub fn output_schema<T: JsonSchema>() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    schema::tidy_up(
        generator.with(|s| s.inline_subschemas = true).into_generator().into_root_schema_for::<T>().to_value(),
    )
}
