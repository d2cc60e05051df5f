//! The tools of the world: one that looks, one that posts once, one that can use a key, one that a person is asked about,
//! one that is never allowed. What they do is counted by the world.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use checkrein::contract::{BoxFuture, CallKind, Code, Effect, Facts, Foreseen, Place};
use checkrein::gate::{AnyTool, Approved, Concurrency, Definition, Failure, Rendered, RunContext, Shown, input_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::doing::{How, huge};
use crate::plan::{Kind, Op};
use crate::world::World;

/// The time limit of each, milliseconds.
const LIMIT_MS: u64 = 20_000;

/// Name, what may be repeated, and whether calls may overlap.
const TOOLS: &[(&str, CallKind, Concurrency)] = &[
    ("look", CallKind::Pure, Concurrency::Parallel),
    ("post", CallKind::Once, Concurrency::Exclusive),
    ("put", CallKind::Idempotent, Concurrency::Parallel),
    ("pay", CallKind::Once, Concurrency::Exclusive),
    ("wipe", CallKind::Once, Concurrency::Parallel),
];

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What it is about.
    word: String,
    /// How it behaves.
    #[serde(default)]
    how: How,
}

/// All of them.
pub(crate) fn all(world: &Arc<World>) -> Vec<Arc<dyn AnyTool>> {
    let tool = |&(name, kind, concurrency): &(&str, CallKind, Concurrency)| -> Arc<dyn AnyTool> {
        let definition = Definition {
            name: name.to_owned(),
            description: format!("Does `{name}` in the books."),
            parameters: input_schema::<Input>(),
            output: json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"], "additionalProperties": false }),
            implementation: Value::Null,
            host_only: false,
        };
        Arc::new(Act { world: Arc::clone(world), definition, kind, concurrency })
    };
    TOOLS.iter().map(tool).collect()
}

struct Act {
    world: Arc<World>,
    definition: Definition,
    kind: CallKind,
    concurrency: Concurrency,
}

impl AnyTool for Act {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self, _args: &Value) -> CallKind {
        self.kind
    }

    fn concurrency(&self, _args: &Value) -> Concurrency {
        self.concurrency
    }

    fn timeout_ms(&self, _args: &Value) -> u64 {
        LIMIT_MS
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

    fn run<'a>(&'a self, approved: &'a Approved, context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let fault = self.world.meet(Op::Tool);
            if fault == Some(Kind::CrashBefore) {
                return self.world.crash_waiting().await;
            }
            self.world.runs(approved);
            let input = Input::deserialize(&approved.call().args).map_err(|error| {
                self.world.violation(format!("unchecked arguments reached a tool: {error}"));
                Failure::new(Code::ToolFailed, "unchecked arguments")
            })?;
            self.world.mark(&format!("tool/{}", input.how.name()));
            let result = self.act(approved, input, context).await;
            if fault == Some(Kind::CrashAfter) {
                return self.world.crash_waiting().await;
            }
            result
        })
    }

    fn render(&self, _args: &Value, value: &Value) -> Result<Shown, String> {
        let text = value["text"].as_str().ok_or("no text")?;
        Ok(Shown { rendered: Rendered::whole(text), ..Shown::default() })
    }
}

impl Act {
    async fn act(&self, approved: &Approved, input: Input, context: RunContext<'_>) -> Result<Value, Failure> {
        let done = || {
            if self.kind != CallKind::Pure {
                self.world.effect(approved);
            }
        };
        let failed = Failure::new(Code::ToolFailed, format!("no {} of `{}`", self.definition.name, input.word));
        match input.how {
            How::Well => done(),
            How::Slow => {
                tokio::time::sleep(Duration::from_secs(8)).await; // no wait: the clock is paused
                done();
            }
            How::Fails => return Err(failed),
            How::FailsAfter => {
                done();
                return Err(failed);
            }
            How::Breaks => resume_unwind(Box::new("the tool broke")),
            How::Hangs => {
                context.cancel.cancelled().await;
                return Err(Failure::new(Code::Cancelled, "the run was cancelled"));
            }
            How::Late => {
                if self.kind != CallKind::Pure {
                    self.world.effect_at(self.world.now() + 2 * LIMIT_MS, approved);
                }
                return std::future::pending().await;
            }
            How::Huge => {
                done();
                return Ok(json!({ "text": huge(&input.word) }));
            }
            How::Odd => {
                done();
                return Ok(json!({ "text": 7 }));
            }
        }
        Ok(json!({ "text": format!("{} of `{}` is done", self.definition.name, input.word) }))
    }
}
