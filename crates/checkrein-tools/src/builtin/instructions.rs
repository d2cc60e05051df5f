//! `instructions`: the beginning of an instruction file of the project, asked for by the harness alone and never on offer to a
//! model. It is judged like every read, so that a file which a model may not read is not read for it either.

use checkrein_contract::{BoxFuture, CallKind, Effect, Facts, Foreseen, Place, SeenFile};
use checkrein_gate::{Approved, Failure, Rendered, RunContext, Tool};
use checkrein_policy::paths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::files::{BINARY_PREFIX, Folders, Spot, not_text, stream};
use crate::off_thread::off_thread;
use crate::target::{Target, seen};

/// The tool.
pub(crate) struct Instructions;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The file, absolute.
    file_path: String,
    /// How much of it is shown, bytes.
    max_bytes: usize,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    real_path: String,
    version: String,
    text: String,
    /// Bytes that are not shown.
    missing: u64,
}

impl Tool for Instructions {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "instructions";
    const LOOKS: bool = true;
    const DESCRIPTION: &'static str = "Show the beginning of an instruction file. For the harness only.";

    fn kind(&self, _input: &Input) -> CallKind {
        CallKind::Pure
    }

    fn effects(&self, input: &Input, place: &Place, _facts: &Facts) -> Foreseen {
        Foreseen::of(vec![Effect::read(paths::absolute(&input.file_path, place))])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Input,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let target = Target::of(&input.file_path, approved, &context);
            off_thread(context.cancel, move |stop| begin(input.max_bytes, target, stop)).await
        })
    }

    fn render(&self, _input: &Input, output: &Output) -> Rendered {
        let digest = output.version.get(..12).unwrap_or_default();
        let mut text = format!("{} (sha256 {digest}):\n{}", output.path, output.text.trim_end());
        if output.missing > 0 {
            let Output { missing, path, .. } = output;
            text.push_str(&format!("\n[{missing} more bytes are not shown; read {path} where they are needed]"));
        }
        Rendered { text, cut: output.missing > 0, failed: None }
    }

    fn sources(&self, _input: &Input, output: &Output) -> Vec<String> {
        vec![output.path.clone()]
    }

    fn seen(&self, output: &Output) -> Vec<SeenFile> {
        seen(&output.real_path, &output.version)
    }

    fn examples() -> Vec<Value> {
        vec![json!({"file_path": "/srv/project/AGENTS.md", "max_bytes": 16384})]
    }
}

fn begin(most: usize, target: Target, stop: &CancellationToken) -> Result<Output, Failure> {
    let Target { real, shown, .. } = target;
    let mut opened = Spot::find(&real, &shown, Folders::MustExist).and_then(|spot| spot.open())?;
    let mut content: Vec<u8> = Vec::new();
    let mut total = 0_u64;
    let version = stream(&mut opened, &shown, stop, |offset, piece| {
        let looked_at = BINARY_PREFIX.saturating_sub(usize::try_from(offset).unwrap_or(usize::MAX)).min(piece.len());
        if piece.get(..looked_at).is_some_and(|prefix| prefix.contains(&0)) {
            return Err(not_text(&shown));
        }
        let room = most.saturating_sub(content.len()).min(piece.len());
        content.extend_from_slice(piece.get(..room).unwrap_or_default());
        total = total.saturating_add(piece.len() as u64);
        Ok(())
    })?;
    // Half a character at the cut is left out.
    let whole = match std::str::from_utf8(&content) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => content.len(),
    };
    content.truncate(whole);
    let missing = total.saturating_sub(content.len() as u64);
    let text = String::from_utf8_lossy(&content).into_owned();
    Ok(Output { path: shown, real_path: real, version: version.as_str().to_owned(), text, missing })
}
