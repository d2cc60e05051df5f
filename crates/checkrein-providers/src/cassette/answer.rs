//! Answers byte for byte: from a tape to a row, and back to what the wire makes of it.

use checkrein_contract::{Delta, ModelReply, ProviderError, ToolSpec, Usage};
use serde_json::{Map, Value};

use super::Scrub;
use super::request::messages;
use super::row::{Answer, Block, Body, Outcome};
use super::{reply, row};
use crate::wires::{Tape, reread};

/// Sizes that cut events, lines and characters of an answer apart, bytes.
const ODD: &[usize] = &[1, 2, 3, 5, 7, 11, 13, 64, 1, 4099];
/// Where the names of models stand in the events of the wires.
const ANSWERED: &[&str] = &["/model", "/message/model", "/response/model", "/modelVersion"];

/// What a wire needs to know of a request to read the answer to it.
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) tools: Vec<ToolSpec>,
    /// No reply came before.
    pub(crate) first: bool,
}

impl Asked {
    pub(crate) fn of(request: &Map<String, Value>) -> Self {
        let text = |field: &str| request.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let tools = request.get("tools").cloned().unwrap_or_default();
        Self {
            model: text("model"),
            tools: serde_json::from_value(tools).unwrap_or_default(),
            first: !messages(request).iter().any(|message| message["role"] == "assistant"),
        }
    }
}

/// The answer as a row keeps it. Where it would read as anything but the outcome that is kept, a secret lay across its pieces,
/// and its bytes are withheld.
pub(crate) fn kept(tape: &Tape, outcome: &Outcome, asked: &Asked, scrub: &dyn Scrub) -> Option<Answer> {
    if tape.status == 0 {
        return None;
    }
    let mut tape = tape.clone();
    let (pieces, body) = match String::from_utf8(tape.bytes()) {
        Ok(text) => {
            let clean = reply::hidden_text(&text, scrub);
            if clean != text {
                // The old lengths mean nothing any more: an event is a piece.
                tape.pieces = clean.split_inclusive("\n\n").map(|event| event.as_bytes().to_vec()).collect();
            }
            (lengths(&tape), Body::Text(clean))
        }
        Err(error) => (lengths(&tape), Body::Hex(error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect())),
    };
    let broke = tape.broke.as_ref().map(|why| reply::hidden_text(why, scrub));
    let answer = Answer { status: tape.status, streams: tape.streams, wait_ms: tape.wait_ms, broke, pieces, body };
    let same = read(&answer, asked, ODD, &mut |_| {}).is_some_and(|read| fits(&read, outcome));
    Some(if same { answer } else { Answer { pieces: Vec::new(), body: Body::Withheld, ..answer } })
}

fn lengths(tape: &Tape) -> Vec<usize> {
    tape.pieces.iter().map(Vec::len).collect()
}

/// What the wire makes of an answer, cut as it came. Nothing where its bytes were withheld or the model has no wire.
pub(crate) fn reread_as_it_came(
    answer: &Answer,
    asked: &Asked,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) -> Option<Result<ModelReply, ProviderError>> {
    read(answer, asked, &answer.pieces, on_delta)
}

/// The same, cut otherwise.
pub(crate) fn reread_otherwise(answer: &Answer, asked: &Asked) -> Option<Result<ModelReply, ProviderError>> {
    read(answer, asked, ODD, &mut |_| {})
}

fn read(
    answer: &Answer,
    asked: &Asked,
    sizes: &[usize],
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) -> Option<Result<ModelReply, ProviderError>> {
    let whole = Tape {
        status: answer.status,
        streams: answer.streams,
        wait_ms: answer.wait_ms,
        pieces: vec![bytes(&answer.body)?],
        broke: answer.broke.clone(),
    };
    reread(&asked.model, &asked.tools, asked.first, &whole.cut(sizes), on_delta)
}

/// The bytes of a body; nothing where they are withheld or not what they say.
pub(crate) fn bytes(body: &Body) -> Option<Vec<u8>> {
    match body {
        Body::Text(text) => Some(text.clone().into_bytes()),
        Body::Hex(digits) => {
            let pair = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
            (0..digits.len()).step_by(2).map(pair).collect()
        }
        Body::Withheld => None,
    }
}

/// Whether what was read is what was recorded. Nothing is taken out of what was read: a secret that it holds is one that the
/// bytes would give away.
pub(crate) fn fits(read: &Result<ModelReply, ProviderError>, outcome: &Outcome) -> bool {
    match (reply::kept(read, "", &AsItIs), outcome) {
        (Outcome::Reply(read), Outcome::Reply(kept)) => {
            // Left out as a whole where it held a secret, which is not there to be found any more.
            let provider = if kept.provider.is_null() { Value::Null } else { read.provider };
            // What a server keeps was not counted apart, once.
            let counted = kept.usage.is_some_and(|usage| usage.written > 0);
            let usage = read.usage.map(|usage| if counted { usage } else { Usage { written: 0, ..usage } });
            row::Reply { provider, usage, ..read } == *kept
        }
        (Outcome::Failed(read), Outcome::Failed(kept)) => {
            (read.fault, &read.message, read.retry_after_ms) == (kept.fault, &kept.message, kept.retry_after_ms)
        }
        _ => false,
    }
}

/// Takes nothing out.
struct AsItIs;

impl Scrub for AsItIs {
    fn hide(&self, value: Value) -> Value {
        value
    }

    fn show(&self, value: Value) -> Value {
        value
    }
}

/// The name that the server gave its model.
pub(crate) fn answered(tape: &Tape) -> Option<String> {
    let bytes = tape.bytes();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().filter_map(|line| line.strip_prefix("data:")).find_map(|data| {
        let event: Value = serde_json::from_str(data.trim()).ok()?;
        ANSWERED.iter().find_map(|at| Some(event.pointer(at)?.as_str()?.to_owned()))
    })
}

/// The text of a reply, for what is told of it.
pub(crate) fn words(blocks: &[Block]) -> String {
    let words = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Call { .. } => None,
    });
    words.collect()
}
