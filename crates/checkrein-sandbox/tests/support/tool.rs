//! A tool that runs whatever program it is told to, under the effects it is told: what is tested is how programs run, so
//! that nothing here decides whether they do.

use std::path::PathBuf;

use checkrein_contract::{BoxFuture, Code, Effect, Facts, Foreseen, Place, Run};
use checkrein_gate::{Approved, CommandSpec, Denial, Failure, Rendered, RunContext, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What to run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    argv: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default = "ten_minutes")]
    timeout_ms: u64,
    #[serde(default = "sixty_four")]
    keep_bytes: usize,
    /// What the call is granted; that it runs a program nobody knows, where nothing is said.
    #[serde(default)]
    effects: Vec<Value>,
}

fn ten_minutes() -> u64 {
    600_000
}

fn sixty_four() -> usize {
    64
}

/// How it ended, with the streams as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ended {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exhausted: Option<String>,
    pub(crate) cancelled: bool,
    pub(crate) stdout: String,
    pub(crate) stdout_total: u64,
    pub(crate) stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spilled: Option<PathBuf>,
    /// What was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) denied: Vec<Denial>,
}

pub(crate) struct RunProgram;

impl Tool for RunProgram {
    type Input = Program;
    type Output = Ended;

    const NAME: &'static str = "run_program";
    const DESCRIPTION: &'static str = "Runs a program.";

    fn timeout_ms(&self, _input: &Program) -> u64 {
        600_000
    }

    fn runs_programs(&self, _input: &Self::Input) -> bool {
        true
    }

    fn effects(&self, input: &Program, _place: &Place, _facts: &Facts) -> Foreseen {
        if !input.effects.is_empty() {
            let effects = input.effects.iter().map(|effect| serde_json::from_value(effect.clone()).unwrap());
            return Foreseen::of(effects.collect());
        }
        let program = input.argv.first().cloned().unwrap_or_default();
        Foreseen::of(vec![Effect::Run(Run { program, argv: input.argv.clone(), ..Run::default() })])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Program,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Ended, Failure>> {
        Box::pin(async move {
            let spec = CommandSpec {
                argv: input.argv,
                cwd: input.cwd.unwrap_or_else(|| context.place.cwd.clone()).into(),
                folder_given: false,
                env: vec![("ADDED".to_owned(), "by the tool".to_owned())],
                input: String::new(),
                timeout_ms: input.timeout_ms,
                keep_bytes: input.keep_bytes,
                spill: Some((context.spill.path("out"), context.spill.path("err"))),
            };
            let ran = context.sandbox.run(approved, spec, context.cancel).await;
            let ran = ran.map_err(|error| Failure::new(Code::SandboxUnavailable, error.to_string()))?;
            Ok(Ended {
                exit: ran.exit,
                signal: ran.signal,
                timed_out: ran.timed_out,
                exhausted: ran.exhausted,
                cancelled: ran.cancelled,
                stdout: String::from_utf8_lossy(&ran.stdout.tail).into_owned(),
                stdout_total: ran.stdout.total,
                stderr: String::from_utf8_lossy(&ran.stderr.tail).into_owned(),
                spilled: ran.stdout.spilled,
                denied: ran.denied,
            })
        })
    }

    fn render(&self, _input: &Program, output: &Ended) -> Rendered {
        Rendered::whole(serde_json::to_string(output).unwrap())
    }

    fn examples() -> Vec<Value> {
        vec![json!({"argv": ["true"]})]
    }
}
