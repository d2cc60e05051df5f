//! `edit`: replaces exact text in a file that was read. All edits of a call happen, or none does.

use checkrein_contract::{BoxFuture, Code, Digest, Effect, Facts, Foreseen, Place, Presentation, SeenFile};
use checkrein_gate::{Approved, Failure, Rendered, RunContext, Tool};
use checkrein_policy::paths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::atomic::replace;
use crate::diff::unified;
use crate::files::{Folders, MAX_WHOLE_BYTES, Spot, not_text, whole};
use crate::next_call::count;
use crate::observed::Known;
use crate::off_thread::off_thread;
use crate::printable::one_line;
use crate::replacing::{Replacement, Text};
use crate::target::{Target, seen};

/// The tool.
pub(crate) struct Edit;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The file, relative to the project or absolute.
    #[schemars(length(min = 1))]
    file_path: String,
    /// Replacements, each applied to the result of the one before.
    #[schemars(length(min = 1, max = 100))]
    edits: Vec<One>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct One {
    /// The exact text to replace, without line number prefixes. It must occur once, so give enough around it.
    old: String,
    /// What stands there instead.
    new: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    real_path: String,
    version: String,
    edits: u64,
    replacements: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for Edit {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "\
        Replace exact text in a file that was read in this session. All edits of a call are made or none is. Text is \
        compared literally, with its blanks; line ends do not matter and are kept. If the file changed since it was \
        read, nothing is changed.";

    fn effects(&self, input: &Input, place: &Place, _facts: &Facts) -> Foreseen {
        let path = paths::absolute(&input.file_path, place);
        Foreseen::of(vec![Effect::read(path.clone()), Effect::write(path)])
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
            off_thread(context.cancel, move |stop| edit(&input.edits, target, &known, stop)).await
        })
    }

    fn render(&self, _input: &Input, output: &Output) -> Rendered {
        let edits = count(output.edits, "edit", "edits");
        let replacements = count(output.replacements, "replacement", "replacements");
        Rendered::whole(format!("edited {}: {edits}, {replacements}", one_line(&output.path)))
    }

    fn present(&self, _input: &Input, output: &Output) -> Option<Presentation> {
        let text = output.diff.clone()?;
        Some(Presentation::Diff { path: output.path.clone(), text })
    }

    fn seen(&self, output: &Output) -> Vec<SeenFile> {
        seen(&output.real_path, &output.version)
    }

    fn examples() -> Vec<Value> {
        vec![json!({"file_path": "src/main.rs", "edits": [
            {"old": "let x = 1;", "new": "let x = 2;"},
            {"old": "x", "new": "y", "replace_all": true},
        ]})]
    }
}

fn edit(edits: &[One], target: Target, known: &Known, stop: &CancellationToken) -> Result<Output, Failure> {
    let Target { real, shown, .. } = target;
    let spot = Spot::find(&real, &shown, Folders::MustExist)?;
    let mut opened = spot.open()?;
    let (content, version) = whole(&mut opened, &shown, stop)?;
    known.check(Some(&version), &shown)?;
    let Some(content) = content else {
        let message = format!("`{shown}` is larger than {MAX_WHOLE_BYTES} bytes");
        return Err(Failure::new(Code::FsTooLarge, message));
    };
    let old = String::from_utf8(content).ok().filter(|text| !text.contains('\0')).ok_or_else(|| not_text(&shown))?;
    let mut text = Text::new(old.clone());
    let mut replacements = 0;
    for (index, one) in edits.iter().enumerate() {
        let wanted = Replacement { old: &one.old, new: &one.new, all: one.replace_all };
        replacements += text.replace(wanted, &format!("/edits/{index}"), &shown)?;
    }
    let new = text.into_content();
    if new == old {
        return Err(Failure::new(Code::EditEmpty, format!("all edits together leave `{shown}` as it was")));
    }
    if new.len() as u64 > MAX_WHOLE_BYTES {
        let message = format!("`{shown}` would become larger than {MAX_WHOLE_BYTES} bytes");
        return Err(Failure::new(Code::FsTooLarge, message));
    }
    replace(&spot, new.as_bytes(), Some(&opened.stat), stop)?;
    Ok(Output {
        diff: unified(&shown, &old, &new),
        path: shown,
        real_path: real,
        version: Digest::of(new.as_bytes()).as_str().to_owned(),
        edits: edits.len() as u64,
        replacements,
    })
}
