//! `read`: a text file in numbered lines, a part at a time. It changes nothing, and remembers which version was seen.

use checkrein_contract::{BoxFuture, CallKind, Code, Effect, Facts, Foreseen, Place, Presentation, SeenFile};
use checkrein_gate::{Approved, Concurrency, Failure, Rendered, RunContext, Tool};
use checkrein_policy::paths;
use encoding_rs::{Decoder, Encoding, UTF_8};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::files::{BINARY_PREFIX, Folders, Spot, not_text, stream};
use crate::lines::{Lines, MAX_BYTES, MAX_LINE_CHARS, Window, numbered};
use crate::next_call::{count, next_call, whole_line};
use crate::off_thread::off_thread;
use crate::target::{Target, seen};

/// Lines of one result, also as the default.
const MAX_LINES: u64 = 2_000;

/// The tool.
pub(crate) struct Read;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The file, relative to the project or absolute.
    #[schemars(length(min = 1))]
    file_path: String,
    /// Number of the first line to show.
    #[serde(default = "first_line")]
    #[schemars(range(min = 1))]
    offset: u64,
    /// How many lines to show.
    #[serde(default = "most_lines")]
    #[schemars(range(min = 1, max = 2000))]
    limit: u64,
}

fn first_line() -> u64 {
    1
}

fn most_lines() -> u64 {
    MAX_LINES
}

/// Why the lines end where they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    CutBySize,
    MoreLines,
    EndOfFile,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    real_path: String,
    version: String,
    lines: Vec<String>,
    total: u64,
    ending: Ending,
    cut_lines: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_cut: Option<u64>,
    lossy: bool,
    /// The encoding that the file's mark names, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

impl Tool for Read {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "read";
    const LOOKS: bool = true;
    const DESCRIPTION: &'static str = "\
        Read a text file as numbered lines (`N: text`; the prefix is not part of the file). A long file comes in \
        parts: the last line of a result says whether there is more and gives the exact next call. Read a file \
        before changing it; a version that was not read can not be changed. Not for folders or binary files.";

    fn kind(&self, _input: &Input) -> CallKind {
        CallKind::Pure
    }

    fn concurrency(&self, _input: &Input) -> Concurrency {
        Concurrency::Parallel
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
            off_thread(context.cancel, move |stop| read(&input, target, stop)).await
        })
    }

    fn render(&self, input: &Input, output: &Output) -> Rendered {
        let mut text = String::new();
        for (number, line) in (input.offset..).zip(&output.lines) {
            text.push_str(&numbered(number, line));
            text.push('\n');
        }
        if let Some(first) = output.first_cut {
            let lines = count(output.cut_lines, "line", "lines");
            let whole = whole_line(&input.file_path, first);
            text.push_str(&format!("[{lines} cut at {MAX_LINE_CHARS} characters; line {first} whole: {whole}]\n"));
        }
        if output.lossy {
            text.push_str("[bytes that are no UTF-8 are shown as \u{fffd}]\n");
        }
        if let Some(encoding) = &output.encoding {
            text.push_str(&format!("[the file is {encoding}, which only a program can change]\n"));
        }
        text.push_str(&footer(input, output));
        Rendered { text, cut: output.ending != Ending::EndOfFile || output.cut_lines > 0, failed: None }
    }

    fn present(&self, input: &Input, output: &Output) -> Option<Presentation> {
        let last = (input.offset + output.lines.len() as u64).saturating_sub(1);
        let text = match output.ending {
            Ending::EndOfFile if output.total == 0 => "empty".to_owned(),
            Ending::EndOfFile if input.offset == 1 => count(output.total, "line", "lines"),
            _ => format!("lines {}-{last} of {}", input.offset, output.total),
        };
        Some(Presentation::Line { text })
    }

    fn sources(&self, _input: &Input, output: &Output) -> Vec<String> {
        vec![output.path.clone()]
    }

    fn seen(&self, output: &Output) -> Vec<SeenFile> {
        seen(&output.real_path, &output.version)
    }

    fn examples() -> Vec<Value> {
        vec![json!({"file_path": "src/main.rs"}), json!({"file_path": "src/main.rs", "offset": 2001, "limit": 100})]
    }
}

fn read(input: &Input, target: Target, stop: &CancellationToken) -> Result<Output, Failure> {
    let Target { real, shown, .. } = target;
    let opened = Spot::find(&real, &shown, Folders::MustExist).and_then(|spot| spot.open());
    let mut opened = opened.map_err(|failure| match failure.code {
        // Seen to be absent: the model may now create it, or create it again.
        Code::FsNotFound => failure.having_seen(SeenFile { path: real.clone(), version: None }),
        _ => failure,
    })?;
    let mut lines = Lines::new(input.offset, input.limit);
    let mut decoded = Decoded::default();
    let version = stream(&mut opened, &shown, stop, |offset, piece| {
        if decoded.begins(offset, piece) {
            return decoded.take(piece, false, &mut lines).then_some(()).ok_or_else(|| not_text(&shown));
        }
        let looked_at = BINARY_PREFIX.saturating_sub(usize::try_from(offset).unwrap_or(usize::MAX)).min(piece.len());
        if piece.get(..looked_at).is_some_and(|prefix| prefix.contains(&0)) {
            return Err(not_text(&shown));
        }
        lines.take(piece);
        Ok(())
    })?;
    decoded.take(&[], true, &mut lines);
    let Window { lines, total, full, cut_lines, first_cut, lossy } = lines.finish();
    if input.offset > total.max(1) {
        let message = format!("`{shown}` has {}; there is no line {}", count(total, "line", "lines"), input.offset);
        return Err(Failure::new(Code::ReadPastEnd, message));
    }
    let last = input.offset - 1 + lines.len() as u64;
    let ending = match (full, last < total) {
        (true, _) => Ending::CutBySize,
        (false, true) => Ending::MoreLines,
        (false, false) => Ending::EndOfFile,
    };
    let version = version.as_str().to_owned();
    Ok(Output {
        path: shown,
        real_path: real,
        version,
        lines,
        total,
        ending,
        cut_lines,
        first_cut,
        lossy: lossy || decoded.lossy,
        encoding: decoded.name(),
    })
}

/// A file in an encoding other than UTF-8, as its mark at the beginning says (UTF-16, as some editors write).
#[derive(Default)]
struct Decoded {
    decoder: Option<Decoder>,
    lossy: bool,
}

impl Decoded {
    /// Whether the file is of this kind: seen at its first piece.
    fn begins(&mut self, offset: u64, piece: &[u8]) -> bool {
        if offset == 0 {
            let marked = Encoding::for_bom(piece).filter(|(encoding, _)| *encoding != UTF_8);
            self.decoder = marked.map(|(encoding, _)| encoding.new_decoder_with_bom_removal());
        }
        self.decoder.is_some()
    }

    /// Hands a piece on as UTF-8; `false` when it is no text all the same.
    fn take(&mut self, piece: &[u8], last: bool, lines: &mut Lines) -> bool {
        let Some(decoder) = &mut self.decoder else { return true };
        let mut text = String::with_capacity(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(0));
        let (_, _, lossy) = decoder.decode_to_string(piece, &mut text, last);
        self.lossy |= lossy;
        lines.take(text.as_bytes());
        !text.contains('\0')
    }

    fn name(&self) -> Option<String> {
        self.decoder.as_ref().map(|decoder| decoder.encoding().name().to_owned())
    }
}

/// The last line of every result: what was shown, and how it goes on.
fn footer(input: &Input, output: &Output) -> String {
    let (first, total) = (input.offset, output.total);
    let last = (first + output.lines.len() as u64).saturating_sub(1);
    let mut next = json!({ "file_path": input.file_path, "offset": last + 1 });
    if let (true, Some(next)) = (input.limit != MAX_LINES, next.as_object_mut()) {
        next.insert("limit".to_owned(), json!(input.limit));
    }
    let rest = format!("{} more: {}", total.saturating_sub(last), next_call(Read::NAME, &next));
    match output.ending {
        Ending::CutBySize => {
            format!("[cut by size: lines {first}-{last} of {total} fit into {MAX_BYTES} bytes; {rest}]")
        }
        Ending::MoreLines => format!("[lines {first}-{last} of {total}; {rest}]"),
        Ending::EndOfFile if total == 0 => "[end of file: it is empty]".to_owned(),
        Ending::EndOfFile => format!("[end of file: {}]", count(total, "line", "lines")),
    }
}
