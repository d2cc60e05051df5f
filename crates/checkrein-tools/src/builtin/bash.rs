//! `bash`: a fresh shell for one command line. What it prints is bounded; how it ended is always said.

use std::convert::Infallible;

use checkrein_contract::{BoxFuture, Code, Facts, Foreseen, Place, SECRET_VARIABLE, secrets_named, with_secrets};
use checkrein_gate::{Approved, CommandSpec, Connected, Denial, Failure, Rendered, RunContext, Tool};
use checkrein_policy::{Models, Scene, shell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::needs::{self, Need};
use crate::program::{KEEP_BYTES, Stream, ending, refusals, run};

/// Time limit that a call has by itself, seconds.
const DEFAULT_SECONDS: u64 = 120;
/// What the harness's own limit leaves beyond the sandbox's, milliseconds: time for the group to end and for the rest
/// of the output, so that the sandbox's limit strikes first and its facts are not lost.
const MARGIN_MS: u64 = 10_000;

/// The tool.
pub(crate) struct Bash {
    pub(crate) models: Models,
    /// The secrets that a command line may name.
    pub(crate) secrets: Vec<String>,
}

/// The command line as bash gets it: a secret is in a variable of this one call.
fn with_variables(command: &str) -> String {
    let text = with_secrets(command, |name| Ok::<_, Infallible>(format!("${{{SECRET_VARIABLE}{name}}}")));
    match text {
        Ok(text) => text,
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The command line. One plain command is decided faster than a chain.
    #[schemars(length(min = 1))]
    command: String,
    /// Seconds after which it is ended.
    #[serde(default = "two_minutes")]
    #[schemars(range(min = 1, max = 600))]
    timeout_s: u64,
    /// What was refused to this command before and is really needed. Each is judged anew; a person may be asked.
    #[serde(default)]
    #[schemars(length(max = 16))]
    needs: Vec<Need>,
}

fn two_minutes() -> u64 {
    DEFAULT_SECONDS
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    timed_out: bool,
    /// What ran out, so that processes of it were ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exhausted: Option<String>,
    stdout: Stream,
    stderr: Stream,
    /// What the sandbox refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    denied: Vec<Denial>,
    /// Connections that it made to the outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    connected: Vec<Connected>,
}

impl Tool for Bash {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "bash";
    const LOOKS: bool = true;
    const DESCRIPTION: &'static str = "\
        Run a command line in a new bash, in the working directory. Nothing is kept between calls: no `cd`, no \
        variables. There is no standard input, so nothing may ask. Everything it started is ended with the call, \
        background processes too. Of long output the end is shown; the whole goes to a file. To read, search or \
        change files, use the tools for that.";
    /// Two streams of 64,000 bytes, which may grow when control characters are made visible.
    const MAX_TEXT_BYTES: usize = 200_000;

    fn timeout_ms(&self, input: &Input) -> u64 {
        input.timeout_s.saturating_mul(1_000).saturating_add(MARGIN_MS)
    }

    fn runs_programs(&self, _input: &Input) -> bool {
        true
    }

    fn effects(&self, input: &Input, place: &Place, facts: &Facts) -> Foreseen {
        let mut foreseen =
            shell::foresee(&with_variables(&input.command), Scene { place, facts, models: &self.models });
        needs::add(&mut foreseen, &input.needs, place);
        foreseen
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Input,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            if input.command.contains('\0') {
                return Err(Failure::new(Code::InvalidArgs, "`/command` holds a NUL character, which no shell takes"));
            }
            let named = secrets_named(&input.command);
            if let Some(unknown) = named.iter().find(|name| !self.secrets.contains(name)) {
                let known = if self.secrets.is_empty() { "none".to_owned() } else { self.secrets.join(", ") };
                let message = format!("the task has no secret `{unknown}` for command lines; it has: {known}");
                return Err(Failure::new(Code::InvalidArgs, message));
            }
            let id = &approved.call().id;
            let command = with_variables(&input.command);
            let variable = |name| (format!("{SECRET_VARIABLE}{name}"), format!("${{secret:{name}}}"));
            let argv = ["bash", "--noprofile", "--norc", "-c", command.as_str()];
            let spec = CommandSpec {
                argv: argv.map(str::to_owned).to_vec(),
                cwd: context.place.cwd.clone().into(),
                folder_given: false,
                env: named.iter().map(variable).collect(),
                input: String::new(),
                timeout_ms: input.timeout_s.saturating_mul(1_000),
                keep_bytes: KEEP_BYTES,
                spill: Some((
                    context.spill.path(&format!("{id}-stdout.txt")),
                    context.spill.path(&format!("{id}-stderr.txt")),
                )),
            };
            let ran = run(approved, spec, &context).await?;
            Ok(Output {
                exit: ran.exit,
                signal: ran.signal,
                timed_out: ran.timed_out,
                exhausted: ran.exhausted,
                stdout: Stream::of(ran.stdout, KEEP_BYTES),
                stderr: Stream::of(ran.stderr, KEEP_BYTES),
                denied: ran.denied,
                connected: ran.connected,
            })
        })
    }

    fn render(&self, input: &Input, output: &Output) -> Rendered {
        let mut text = output.stdout.text.clone();
        let line_break = |text: &mut String| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        };
        if output.stderr.total > 0 {
            line_break(&mut text);
            text.push_str("[stderr]\n");
            text.push_str(&output.stderr.text);
        }
        line_break(&mut text);
        let mut facts = output.stdout.facts("stdout");
        facts.extend(output.stderr.facts("stderr"));
        facts.extend(refusals(&output.denied));
        if output.timed_out {
            facts.push(format!("timed out: it was ended after {} s", input.timeout_s));
        }
        if let Some(what) = &output.exhausted {
            facts.push(format!("{what} ran out, so processes of this call were ended"));
        }
        let cut = output.stdout.missing > 0 || output.stderr.missing > 0;
        let silent = output.stdout.total == 0 && output.stderr.total == 0;
        match ending(output.exit, output.signal) {
            Some(ending) => facts.push(ending),
            // A clean end is worth a word where the text alone could be read another way.
            None if silent => facts.push("no output; exit code 0".to_owned()),
            None if !facts.is_empty() => facts.push("exit code 0".to_owned()),
            None => {}
        }
        text.push_str(&facts.iter().map(|fact| format!("[{fact}]")).collect::<Vec<_>>().join("\n"));
        Rendered { text, cut, failed: None }
    }

    fn examples() -> Vec<Value> {
        vec![
            json!({"command": "cargo test --quiet"}),
            json!({"command": "make", "timeout_s": 600, "needs": [{"kind": "write", "target": "build/log"}]}),
        ]
    }
}
