//! Command tools: any program as a tool, from a manifest. Arguments are words, never a shell string; what the program
//! says is checked before it counts as a result.

use std::path::PathBuf;
use std::sync::Arc;

use checkrein_contract::{BoxFuture, CallKind, Code, Facts, Foreseen, Place};
use checkrein_gate::{
    AnyTool, Approved, Captured, CommandSpec, Concurrency, Definition, Failure, Rendered, RunContext, RunOutput, Shown,
};
use checkrein_policy::{Manifest, Models, Scene, paths};
use serde_json::{Value, json};

use crate::printable;
use crate::program::{ending, run};

/// Bytes of standard output that are taken as the value. A megabyte: more is a file, and belongs into one.
const MAX_OUTPUT_BYTES: usize = 1_000_000;
/// Bytes of standard error that a failure quotes; the end of it. Below what the gate lets a message have.
const MAX_ERROR_BYTES: usize = 1_500;
/// What the harness's own limit leaves beyond the sandbox's, milliseconds.
const MARGIN_MS: u64 = 10_000;
/// The variable with the call's idempotency key: the same for every attempt at this call, and for no other call.
const KEY: &str = "CHECKREIN_IDEMPOTENCY_KEY";

/// A program as a tool.
pub struct CommandTool {
    manifest: Manifest,
    folder: PathBuf,
    models: Models,
    definition: Definition,
    /// What the program finds on standard input.
    input: String,
    /// It is the person's, of no task: it runs where its manifest lies, not where the model works.
    of_person: bool,
}

impl CommandTool {
    /// A tool from its manifest. A program written as `./NAME` is the one in `folder`, which is the task's and not the
    /// workspace that the model may write to.
    #[expect(clippy::new_ret_no_self, reason = "a command tool is only ever used through the registry")]
    pub fn new(manifest: Manifest, folder: PathBuf, models: Models) -> Arc<dyn AnyTool> {
        Self::made(manifest, folder, models, String::new(), false)
    }

    /// A tool of the person's own: its program runs in `folder`, and finds this on standard input.
    pub fn of_person(manifest: Manifest, folder: PathBuf, models: Models, input: String) -> Arc<dyn AnyTool> {
        Self::made(manifest, folder, models, input, true)
    }

    fn made(manifest: Manifest, folder: PathBuf, models: Models, input: String, of_person: bool) -> Arc<dyn AnyTool> {
        let definition = Definition {
            name: manifest.name.clone(),
            description: manifest.description.clone(),
            parameters: manifest.schema(),
            // Whatever JSON the program says; its manifest knows no more.
            output: if manifest.json_output { json!({}) } else { json!({ "type": "string" }) },
            implementation: json!({
                "argv": manifest.argv,
                "env": manifest.env,
                "kind": manifest.kind,
                "timeout_s": manifest.timeout_s,
                "folder": folder.to_string_lossy(),
            }),
            host_only: false,
        };
        Arc::new(Self { manifest, folder, models, definition, input, of_person })
    }

    fn command(&self, approved: &Approved, context: &RunContext<'_>) -> Result<CommandSpec, Failure> {
        let mut argv =
            self.manifest.command(&approved.call().args, context.identity, approved.key().as_str()).map_err(
                |name| Failure::new(Code::InvalidArgs, format!("`{name}` has no value, and the program needs it")),
            )?;
        match argv.first_mut() {
            Some(program) => {
                if let Some(own) = self.own_program(program) {
                    *program = own;
                }
            }
            None => {
                let message = format!("`{}` names no program to run", self.manifest.name);
                return Err(Failure::new(Code::ToolFailed, message));
            }
        }
        if argv.iter().any(|word| word.contains('\0')) {
            return Err(Failure::new(Code::InvalidArgs, "an argument holds a NUL character, which no program takes"));
        }
        Ok(CommandSpec {
            argv,
            cwd: self.works_in(context.place).into(),
            folder_given: self.of_person,
            env: self
                .manifest
                .env
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .chain([(KEY.to_owned(), approved.key().as_str().to_owned())])
                .collect(),
            input: self.input.clone(),
            timeout_ms: self.manifest.timeout_s.saturating_mul(1_000),
            keep_bytes: MAX_OUTPUT_BYTES,
            spill: None,
        })
    }

    /// The path of a program that lies beside the manifest; `None` for every other.
    fn own_program(&self, word: &str) -> Option<String> {
        let inside = word.strip_prefix("./")?;
        Some(self.folder.join(inside).to_string_lossy().into_owned())
    }

    /// Where its program runs, and a relative word of its command is looked for.
    fn works_in(&self, place: &Place) -> String {
        if self.of_person { self.folder.to_string_lossy().into_owned() } else { place.root.clone() }
    }

    fn value(&self, output: RunOutput) -> Result<Value, Failure> {
        let name = &self.manifest.name;
        if output.timed_out {
            let message = format!("`{name}` was ended after its limit of {} s", self.manifest.timeout_s);
            return Err(self.broken_off(Code::ToolTimeout, message));
        }
        if let Some(ending) = ending(output.exit, output.signal) {
            let message = failed(name, &ending, &output);
            return Err(match output.exit {
                Some(_) => Failure::new(Code::ToolFailed, message),
                // It said nothing of how far it came.
                None => self.broken_off(Code::ToolFailed, message),
            });
        }
        let Captured { tail, total, .. } = output.stdout;
        if total > tail.len() as u64 {
            let message = format!("`{name}` printed {total} bytes; a result has at most {MAX_OUTPUT_BYTES}");
            return Err(self.unreadable(message));
        }
        if !self.manifest.json_output {
            return Ok(Value::String(printable::tail(&tail, total, usize::MAX).text));
        }
        serde_json::from_slice(&tail).map_err(|error| {
            let what = if tail.is_empty() { "it printed nothing".to_owned() } else { error.to_string() };
            self.unreadable(format!("`{name}` must print one JSON value: {what}"))
        })
    }

    /// A program that did not come to its end. It is gone; what it had asked another machine for is not.
    fn broken_off(&self, code: Code, message: String) -> Failure {
        match self.manifest.kind {
            CallKind::Pure => Failure::new(code, message),
            CallKind::Idempotent | CallKind::Once => {
                Failure::new(Code::ToolOutcomeUnknown, format!("{message}, and may have taken effect"))
            }
        }
    }

    /// A result that can not be read, of a program that ended well: whoever reads this must not take it for work undone.
    fn unreadable(&self, message: String) -> Failure {
        let done = match self.manifest.kind {
            CallKind::Pure => "",
            CallKind::Idempotent | CallKind::Once => ". It ended without an error, so what it does may be done already",
        };
        Failure::new(Code::InvalidToolOutput, format!("{message}{done}"))
    }
}

/// What went wrong, in the program's own words: the `error` of the JSON it printed, else the end of standard error.
fn failed(name: &str, ending: &str, output: &RunOutput) -> String {
    let said = serde_json::from_slice(&output.stdout.tail).ok().and_then(|value: Value| match value.get("error")? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    });
    let said = said.unwrap_or_else(|| String::from_utf8_lossy(&output.stderr.tail).into_owned());
    let said = printable::tail(said.as_bytes(), said.len() as u64, MAX_ERROR_BYTES);
    let cut = if said.missing > 0 { format!(" [{} bytes left out]", said.missing) } else { String::new() };
    match said.text.trim() {
        "" => format!("`{name}`: {ending}"),
        text => format!("`{name}`: {ending}:{cut} {text}"),
    }
}

impl AnyTool for CommandTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self, _args: &Value) -> CallKind {
        self.manifest.kind
    }

    fn concurrency(&self, _args: &Value) -> Concurrency {
        if self.manifest.parallel { Concurrency::Parallel } else { Concurrency::Exclusive }
    }

    fn timeout_ms(&self, _args: &Value) -> u64 {
        self.manifest.timeout_s.saturating_mul(1_000).saturating_add(MARGIN_MS)
    }

    fn looks(&self) -> bool {
        self.manifest.kind == CallKind::Pure
    }

    fn runs_programs(&self, _args: &Value) -> bool {
        true
    }

    fn effects(&self, args: &Value, place: &Place, facts: &Facts) -> Foreseen {
        self.manifest.foresee(None, &self.manifest.name, args, Scene { place, facts, models: &self.models })
    }

    fn files(&self, _args: &Value, place: &Place) -> Vec<String> {
        // The program, unless it is one of the system, and whatever the manifest names as a file:
        // `["python3", "pay.py", "{sum}"]`. A word that is no file is one that is not there, then as now.
        let workspace = Place { cwd: self.works_in(place), ..place.clone() };
        let words = self.manifest.argv.as_deref().unwrap_or_default().iter().enumerate();
        let files = words.filter_map(|(index, word)| match self.own_program(word) {
            _ if word.is_empty() || word.starts_with('-') || word.contains(['{', '\0']) => None,
            Some(own) if index == 0 => Some(own),
            None if index == 0 && !word.contains('/') => None,
            Some(_) | None => Some(paths::absolute(word, &workspace)),
        });
        files.collect()
    }

    fn run<'a>(&'a self, approved: &'a Approved, context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let spec = self.command(approved, &context)?;
            self.value(run(approved, spec, &context).await?)
        })
    }

    fn render(&self, _args: &Value, value: &Value) -> Result<Shown, String> {
        let text = match value {
            Value::String(text) if !self.manifest.json_output => text.clone(),
            other => other.to_string(),
        };
        // The gate cuts what is too long, and keeps the whole.
        Ok(Shown { rendered: Rendered::whole(text), ..Shown::default() })
    }
}
