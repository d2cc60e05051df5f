//! A tape: the answer to one request as its bytes came, and the same reply out of it again, however it is cut. It must not
//! hold what was sent: a key leaves in a header, and no header of a request is written down.

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use checkrein_contract::{Delta, ModelReply, ProviderError, ToolSpec};
use futures_util::FutureExt as _;
use futures_util::stream;
use serde_json::Value;

use super::transport::{Events, named, refused};
use super::{Losses, WIRES, Wire, read};

/// A tape while it is written.
pub(crate) type SharedTape = Arc<Mutex<Tape>>;

/// The answer to one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tape {
    /// The status; 0 where there was no answer at all.
    pub(crate) status: u16,
    /// It is a stream of events.
    pub(crate) streams: bool,
    /// How long its headers ask us to wait, milliseconds.
    pub(crate) wait_ms: Option<u64>,
    /// Its bytes, cut as they came.
    pub(crate) pieces: Vec<Vec<u8>>,
    /// Why nothing more came, where that was not its end.
    pub(crate) broke: Option<String>,
}

impl Tape {
    /// All bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    /// The same bytes, cut into pieces of these sizes, over and over.
    pub(crate) fn cut(&self, sizes: &[usize]) -> Self {
        let bytes = self.bytes();
        let mut rest = bytes.as_slice();
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).clamp(1, rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        Self { pieces, ..self.clone() }
    }
}

/// What the wire of this model makes of a tape, without a network. `tools` are those of the request, `first` says that no
/// reply came before. `None` where the model has no wire.
pub(crate) fn reread(
    model: &str,
    tools: &[ToolSpec],
    first: bool,
    tape: &Tape,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) -> Option<Result<ModelReply, ProviderError>> {
    let kind = model.split_once(':')?.0;
    let wire = WIRES.iter().copied().find(|wire| wire.about().kind == kind)?;
    let reply = if tape.streams {
        streamed(wire, tape, on_delta)
    } else {
        Err(refused(tape.status, tape.wait_ms, &tape.bytes()))
    };
    Some(
        reply
            .map(|reply| Losses::of(wire, tools, first).1.told(reply))
            .map_err(|error| named(wire.about().kind, error, &Value::Null)),
    )
}

fn streamed(
    wire: &'static dyn Wire,
    tape: &Tape,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) -> Result<ModelReply, ProviderError> {
    let pieces: Vec<io::Result<Bytes>> = tape
        .pieces
        .iter()
        .map(|piece| Ok(Bytes::from(piece.clone())))
        .chain(tape.broke.iter().map(|why| Err(io::Error::other(why.clone()))))
        .collect();
    // Everything is there, so that nothing is ever waited for.
    read(wire, Events::of(stream::iter(pieces)), on_delta)
        .now_or_never()
        .unwrap_or_else(|| Err(super::broke_off("before it was there")))
}
