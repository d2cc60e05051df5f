//! A tool whose runs fail when the plan says so; everything else it leaves to the tool itself.

use std::sync::Arc;

use checkrein_contract::{BoxFuture, CallKind, Code, Facts, Foreseen, Place};
use checkrein_gate::{AnyTool, Approved, Concurrency, Definition, Failure, RunContext, Shown};
use serde_json::Value;

use super::{Armed, Point};

pub(super) struct FaultyTool {
    pub(super) inner: Arc<dyn AnyTool>,
    pub(super) faults: Armed,
}

fn failure() -> Failure {
    Failure::new(Code::ToolFailed, "it fails on purpose")
}

impl AnyTool for FaultyTool {
    fn definition(&self) -> &Definition {
        self.inner.definition()
    }

    fn kind(&self, args: &Value) -> CallKind {
        self.inner.kind(args)
    }

    fn concurrency(&self, args: &Value) -> Concurrency {
        self.inner.concurrency(args)
    }

    fn timeout_ms(&self, args: &Value) -> u64 {
        self.inner.timeout_ms(args)
    }

    fn max_text_bytes(&self) -> usize {
        self.inner.max_text_bytes()
    }

    fn looks(&self) -> bool {
        self.inner.looks()
    }

    fn runs_programs(&self, args: &Value) -> bool {
        self.inner.runs_programs(args)
    }

    fn effects(&self, args: &Value, place: &Place, facts: &Facts) -> Foreseen {
        self.inner.effects(args, place, facts)
    }

    fn files(&self, args: &Value, place: &Place) -> Vec<String> {
        self.inner.files(args, place)
    }

    fn run<'a>(&'a self, approved: &'a Approved, context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let name = &self.inner.definition().name;
            let before = self.faults.strikes(&Point::Before(name.clone()));
            let after = self.faults.strikes(&Point::After(name.clone()));
            if before {
                return Err(failure());
            }
            let value = self.inner.run(approved, context).await?;
            if after { Err(failure()) } else { Ok(value) }
        })
    }

    fn render(&self, args: &Value, value: &Value) -> Result<Shown, String> {
        self.inner.render(args, value)
    }
}
