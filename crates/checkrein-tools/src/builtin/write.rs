//! `write`: a whole file, new or in place of a version that was read. Never half a file, and never over unseen work.

use checkrein_contract::{BoxFuture, Code, Digest, Effect, Facts, Foreseen, Place, Presentation, SeenFile};
use checkrein_gate::{Approved, Failure, Rendered, RunContext, Tool};
use checkrein_policy::paths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::atomic::replace;
use crate::diff::unified;
use crate::files::{Folders, Spot, whole};
use crate::next_call::count;
use crate::observed::Known;
use crate::off_thread::off_thread;
use crate::printable::one_line;
use crate::target::{Target, seen};

/// The tool.
pub(crate) struct Write;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The file, relative to the project or absolute. Missing folders are made.
    #[schemars(length(min = 1))]
    file_path: String,
    /// The whole new content.
    content: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    real_path: String,
    version: String,
    created: bool,
    lines: u64,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for Write {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = "\
        Write a whole text file. To change a part of a file, use `edit`. A file that exists must have been read in \
        this session, and not have changed since; otherwise nothing is written. Content is written exactly as given, \
        so end it with a line break.";

    fn effects(&self, input: &Input, place: &Place, _facts: &Facts) -> Foreseen {
        Foreseen::of(vec![Effect::write(paths::absolute(&input.file_path, place))])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Input,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let target = Target::of(&input.file_path, approved, &context);
            let known = Known::of(&target.real, &context);
            off_thread(context.cancel, move |stop| write(&input.content, target, &known, stop)).await
        })
    }

    fn render(&self, _input: &Input, output: &Output) -> Rendered {
        let verb = if output.created { "created" } else { "wrote" };
        let (lines, bytes) = (count(output.lines, "line", "lines"), count(output.bytes, "byte", "bytes"));
        Rendered::whole(format!("{verb} {}: {lines}, {bytes}", one_line(&output.path)))
    }

    fn present(&self, _input: &Input, output: &Output) -> Option<Presentation> {
        let text = output.diff.clone()?;
        Some(Presentation::Diff { path: output.path.clone(), text })
    }

    fn seen(&self, output: &Output) -> Vec<SeenFile> {
        seen(&output.real_path, &output.version)
    }

    fn examples() -> Vec<Value> {
        vec![json!({"file_path": "notes/plan.md", "content": "# Plan\n"})]
    }
}

fn write(content: &str, target: Target, known: &Known, stop: &CancellationToken) -> Result<Output, Failure> {
    let Target { real, shown, .. } = target;
    // A file that was read and is gone may not be written, so no folders are made for it either.
    let folders = if matches!(known, Known::Version(_)) { Folders::MustExist } else { Folders::MakeMissing };
    let spot = Spot::find(&real, &shown, folders).map_err(|failure| match known.check(None, &shown) {
        Err(stale) if failure.code == Code::FsNotFound => stale,
        _ => failure,
    })?;
    let (before, old) = match spot.open_if_there()? {
        None => {
            known.check(None, &shown)?;
            (None, Some(Vec::new()))
        }
        Some(mut opened) => {
            let (old, version) = whole(&mut opened, &shown, stop)?;
            known.check(Some(&version), &shown)?;
            (Some(opened.stat), old)
        }
    };
    replace(&spot, content.as_bytes(), before.as_ref(), stop)?;
    let old = old.and_then(|old| String::from_utf8(old).ok());
    Ok(Output {
        diff: old.and_then(|old| unified(&shown, &old, content)),
        path: shown,
        real_path: real,
        version: Digest::of(content.as_bytes()).as_str().to_owned(),
        created: before.is_none(),
        lines: content.lines().count() as u64,
        bytes: content.len() as u64,
    })
}
