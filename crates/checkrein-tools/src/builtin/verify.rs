//! `verify`: a check of the finished work, asked for by the harness alone and never on offer to a model. It runs a
//! program through the sandbox, or looks into one file; it changes nothing by itself.

use checkrein_contract::{BoxFuture, CallKind, Check, Code, Effect, Facts, Foreseen, Place, canonical_string};
use checkrein_gate::{Approved, CommandSpec, Failure, Rendered, RunContext, Tool};
use checkrein_policy::{Models, Scene, paths, shell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::files::{Folders, MAX_WHOLE_BYTES, Spot, whole};
use crate::off_thread::off_thread;
use crate::program::{Stream, ending, run};
use crate::target::Target;

/// Time limit of a check that runs a program, milliseconds.
const TIMEOUT_MS: u64 = 300_000;
/// What the harness's own limit leaves beyond the sandbox's, milliseconds.
const MARGIN_MS: u64 = 10_000;
/// Bytes of what a failed check printed that are shown; the end of it, where test programs say what failed.
const MAX_DETAIL_BYTES: usize = 4_000;
/// Longest value that a message quotes, characters.
const MAX_QUOTED: usize = 200;

/// The tool.
pub(crate) struct Verify {
    pub(crate) models: Models,
}

/// One of the forms of a check: `run`, or `file` with `contains`, or `json` with `pointer` and `equals`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A program with its arguments, that must end with exit code 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    run: Option<Vec<String>>,
    /// A text file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The text that the file must hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contains: Option<String>,
    /// A JSON file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    /// A place in the JSON file, as a JSON Pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    /// The value that must stand there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    equals: Option<Value>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    passed: bool,
    detail: String,
    cut: bool,
}

impl Input {
    /// The check; `None` for a mixture of forms or half of one.
    fn check(&self) -> Option<Check> {
        let Self { run, file, contains, json, pointer, equals } = self;
        Some(match (run, file, contains, json, pointer, equals) {
            (Some(run), None, None, None, None, None) if !run.is_empty() => Check::Run { run: run.clone() },
            (None, Some(file), Some(text), None, None, None) => {
                Check::File { file: file.clone(), contains: text.clone() }
            }
            (None, None, None, Some(json), Some(pointer), Some(equals)) => {
                Check::Json { json: json.clone(), pointer: pointer.clone(), equals: equals.clone() }
            }
            _ => return None,
        })
    }

    /// The check in words.
    fn words(&self) -> String {
        match self.check() {
            Some(Check::Run { run }) => run.join(" "),
            Some(Check::File { file, contains }) => format!("{file} contains {}", quoted(&json!(contains))),
            Some(Check::Json { json, pointer, equals }) => format!("{json} {pointer} equals {}", quoted(&equals)),
            None => "no check".to_owned(),
        }
    }
}

impl Tool for Verify {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "verify";
    const DESCRIPTION: &'static str = "\
        Check the work: a program ends with exit code 0, a file contains a text, or a JSON file holds a value. For \
        the harness only.";

    fn kind(&self, input: &Input) -> CallKind {
        // A check is made to be repeated: it runs again in every round, and so it does after a crash.
        if input.run.is_none() { CallKind::Pure } else { CallKind::Idempotent }
    }

    fn timeout_ms(&self, _input: &Input) -> u64 {
        TIMEOUT_MS + MARGIN_MS
    }

    fn runs_programs(&self, input: &Input) -> bool {
        input.run.is_some()
    }

    fn effects(&self, input: &Input, place: &Place, facts: &Facts) -> Foreseen {
        Foreseen::of(vec![match input.check() {
            Some(Check::Run { run }) => {
                return shell::foresee_words(&run, Scene { place, facts, models: &self.models });
            }
            Some(Check::File { file: path, .. } | Check::Json { json: path, .. }) => {
                Effect::read(in_workspace(&path, place))
            }
            None => Effect::Unknown { what: "a check that has none of the known forms".to_owned() },
        }])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Input,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            match input.check() {
                Some(Check::Run { run }) => run_program(approved, run, &context).await,
                Some(Check::File { file, contains }) => {
                    look_into(approved, &file, &context, move |content| {
                        let text = std::str::from_utf8(content).map_err(|_| "it is not text".to_owned())?;
                        if text.contains(&contains) { Ok(()) } else { Err("the text is not in it".to_owned()) }
                    })
                    .await
                }
                Some(Check::Json { json, pointer, equals }) => {
                    look_into(approved, &json, &context, move |content| holds(content, &pointer, &equals)).await
                }
                None => {
                    let message = "a check is `run`, or `file` and `contains`, or `json`, `pointer` and `equals`";
                    Err(Failure::new(Code::InvalidArgs, message))
                }
            }
        })
    }

    fn render(&self, input: &Input, output: &Output) -> Rendered {
        let words = input.words();
        let text =
            if output.passed { format!("passed: {words}") } else { format!("failed: {words}: {}", output.detail) };
        Rendered { text, cut: output.cut, failed: (!output.passed).then_some(Code::VerifyFailed) }
    }

    fn examples() -> Vec<Value> {
        vec![
            json!({"run": ["cargo", "test", "--quiet"]}),
            json!({"file": "out.txt", "contains": "done"}),
            json!({"json": "out.json", "pointer": "/count", "equals": 3}),
        ]
    }
}

/// The path of a check, which starts from the workspace and not from the working directory.
fn in_workspace(path: &str, place: &Place) -> String {
    paths::absolute(path, &Place { cwd: place.root.clone(), ..place.clone() })
}

async fn run_program(approved: &Approved, argv: Vec<String>, context: &RunContext<'_>) -> Result<Output, Failure> {
    let id = &approved.call().id;
    let spec = CommandSpec {
        argv,
        cwd: context.place.root.clone().into(),
        folder_given: false,
        env: Vec::new(),
        input: String::new(),
        timeout_ms: TIMEOUT_MS,
        keep_bytes: MAX_DETAIL_BYTES,
        spill: Some((context.spill.path(&format!("{id}-stdout.txt")), context.spill.path(&format!("{id}-stderr.txt")))),
    };
    let ran = run(approved, spec, context).await?;
    let timed_out = ran.timed_out.then(|| format!("it was ended after {} s", TIMEOUT_MS / 1_000));
    let Some(why) = timed_out.or_else(|| ending(ran.exit, ran.signal)) else {
        return Ok(Output { passed: true, detail: String::new(), cut: false });
    };
    // Where both streams say something, each gets its half.
    let both = ran.stdout.total > 0 && ran.stderr.total > 0;
    let most = if both { MAX_DETAIL_BYTES / 2 } else { MAX_DETAIL_BYTES };
    let streams = [("stdout", Stream::of(ran.stdout, most)), ("stderr", Stream::of(ran.stderr, most))];
    let mut detail = why;
    let mut cut = false;
    for (name, stream) in streams.iter().filter(|(_, stream)| stream.total > 0) {
        cut |= stream.missing > 0;
        for fact in stream.facts(name) {
            detail.push_str(&format!("\n[{fact}]"));
        }
        detail.push('\n');
        detail.push_str(stream.text.trim_end());
    }
    Ok(Output { passed: false, detail, cut })
}

/// Holds a file's content against a check. A file that is not there fails the check, not the call.
async fn look_into(
    approved: &Approved,
    path: &str,
    context: &RunContext<'_>,
    holds: impl FnOnce(&[u8]) -> Result<(), String> + Send + 'static,
) -> Result<Output, Failure> {
    let Target { real, shown, .. } = Target::at(in_workspace(path, context.place), approved, context.place);
    let held = off_thread(context.cancel, move |stop: &CancellationToken| {
        let opened = Spot::find(&real, &shown, Folders::MustExist).and_then(|spot| spot.open());
        let content = match opened.and_then(|mut opened| whole(&mut opened, &shown, stop)) {
            Ok((Some(content), _)) => content,
            Ok((None, _)) => return Ok(Err(format!("it is larger than {MAX_WHOLE_BYTES} bytes"))),
            Err(failure) if failure.code == Code::Cancelled => return Err(failure),
            Err(failure) => return Ok(Err(failure.message)),
        };
        Ok(holds(&content))
    });
    Ok(match held.await? {
        Ok(()) => Output { passed: true, detail: String::new(), cut: false },
        Err(why) => Output { passed: false, detail: why, cut: false },
    })
}

fn holds(content: &[u8], pointer: &str, equals: &Value) -> Result<(), String> {
    let value: Value = serde_json::from_slice(content).map_err(|error| format!("it is not JSON: {error}"))?;
    match value.pointer(pointer) {
        Some(found) if canonical_string(found) == canonical_string(equals) => Ok(()),
        Some(found) => Err(format!("it is {}", quoted(found))),
        None => Err("nothing stands there".to_owned()),
    }
}

fn quoted(value: &Value) -> String {
    let text = canonical_string(value);
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
