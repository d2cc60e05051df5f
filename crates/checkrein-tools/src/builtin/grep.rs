//! `grep`: finds lines by a regular expression, in process. It starts no program, and opens nothing that the policy
//! withholds.

use std::time::{Duration, Instant};

use checkrein_contract::{BoxFuture, CallKind, Effect, Facts, Foreseen, Place, Tree};
use checkrein_gate::{Approved, Failure, Rendered, RunContext, Tool};
use checkrein_policy::paths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::next_call::{count, next_call, whole_line};
use crate::off_thread::off_thread;
use crate::pattern::Pattern;
use crate::printable::one_line;
use crate::search::{Found, Limits, MAX_LINE_BYTES, MAX_READ_BYTES, expression, search};
use crate::target::Target;
use crate::walk::{MAX_ENTRIES, Search, Unseen, files};

/// Time for one search, seconds.
const MAX_SECONDS: u64 = 20;

/// The tool.
pub(crate) struct Grep;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A regular expression that is searched in each line. Escape `( ) [ ] { } . * + ? | \ ^ $` to find them.
    #[schemars(length(min = 1))]
    pattern: String,
    /// The folder or file to search, relative to the project or absolute.
    #[serde(default = "here")]
    path: String,
    /// Search only files with such names: `*.rs`, `src/**/*.toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    include: Option<String>,
}

fn here() -> String {
    ".".to_owned()
}

/// A line by its place.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct At {
    path: String,
    line: u64,
}

impl At {
    fn of(at: Option<(String, u64)>) -> Option<Self> {
        at.map(|(path, line)| Self { path, line })
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    found: Vec<Found>,
    more: u64,
    /// The first line that is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<At>,
    cut_lines: u64,
    /// The first line that was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_cut: Option<At>,
    binary: u64,
    /// Files that were not searched to their end, because a limit was reached.
    unsearched: u64,
    unseen: Unseen,
}

impl Tool for Grep {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "grep";
    const LOOKS: bool = true;
    const DESCRIPTION: &'static str = "\
        Find lines that match a regular expression, as `path:line: text`, sorted by path. Hidden, ignored and binary \
        files are not searched, so no result does not mean that it is nowhere. To find files by name, use `glob`.";

    fn kind(&self, _input: &Input) -> CallKind {
        CallKind::Pure
    }

    fn effects(&self, input: &Input, place: &Place, _facts: &Facts) -> Foreseen {
        let root = paths::absolute(&input.path, place);
        Foreseen::of(vec![Effect::ReadTree(Tree { root, asks_each: true, ..Tree::default() })])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Input,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let matcher = expression(&input.pattern)?;
            let target = Target::of(&input.path, approved, &context);
            let until = Instant::now() + Duration::from_secs(MAX_SECONDS);
            let wanted = Search {
                root: target.real.clone(),
                project: context.place.root.clone(),
                shown: target.shown.clone(),
                pattern: input.include.as_deref().map(Pattern::parse).transpose()?,
                file_is_fine: true,
                until,
                most: MAX_ENTRIES,
            };
            let (files, mut unseen) = files(wanted, approved.grant(), &context).await?;
            let limits = Limits { until, bytes: MAX_READ_BYTES };
            let shown = |real: String| (real.clone(), target.shown_within(&real, context.place));
            let targets: Vec<_> = files.into_iter().map(shown).collect();
            let findings = off_thread(context.cancel, move |stop| search(&targets, &matcher, limits, stop)).await?;
            unseen.unreadable += findings.unreadable;
            unseen.stopped = unseen.stopped.or(findings.stopped.map(str::to_owned));
            Ok(Output {
                found: findings.found,
                more: findings.more,
                next: At::of(findings.next),
                cut_lines: findings.cut_lines,
                first_cut: At::of(findings.first_cut),
                binary: findings.binary,
                unsearched: findings.unsearched,
                unseen,
            })
        })
    }

    fn render(&self, _input: &Input, output: &Output) -> Rendered {
        let rows = output
            .found
            .iter()
            .map(|found| format!("{}:{}: {}\n", one_line(&found.path), found.line, one_line(&found.text)));
        let mut text: String = rows.collect();
        let shown = output.found.len() as u64;
        let mut facts = vec![match &output.next {
            Some(next) => {
                let all = shown + output.more;
                let call = next_call("read", &json!({ "file_path": next.path, "offset": next.line }));
                let narrow = "narrow `pattern`, `path` or `include`, or go on at the next one";
                format!("cut: {shown} of {all} matching lines shown, {} more; {narrow}: {call}", output.more)
            }
            None if shown == 0 => "no line matches; hidden, ignored and binary files are not searched".to_owned(),
            None => format!("end: {}", count(shown, "matching line", "matching lines")),
        }];
        if let Some(first) = &output.first_cut {
            let lines = count(output.cut_lines, "line", "lines");
            let whole = whole_line(&first.path, first.line);
            facts.push(format!("{lines} cut at {MAX_LINE_BYTES} bytes; the first of them whole: {whole}"));
        }
        if output.binary > 0 {
            facts.push(format!("{} skipped", count(output.binary, "binary file", "binary files")));
        }
        if output.unsearched > 0 {
            facts.push(format!("{} not searched to the end", count(output.unsearched, "file", "files")));
        }
        facts.extend(output.unseen.facts());
        text.push_str(&facts.iter().map(|fact| format!("[{fact}]")).collect::<Vec<_>>().join("\n"));
        Rendered { text, cut: output.more > 0 || output.cut_lines > 0 || output.unseen.stopped.is_some(), failed: None }
    }

    fn sources(&self, _input: &Input, output: &Output) -> Vec<String> {
        let mut sources: Vec<String> = output.found.iter().map(|found| found.path.clone()).collect();
        sources.dedup();
        sources
    }

    fn examples() -> Vec<Value> {
        vec![json!({"pattern": "fn main"}), json!({"pattern": "TODO", "path": "src", "include": "*.rs"})]
    }
}
