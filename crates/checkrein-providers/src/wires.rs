//! The wires: how requests and replies look on the way to a vendor's server and back. One file each; what they share is
//! one POST and one stream of events. A wire must not retry, judge or run anything.
//!
//! # What holds on every wire
//!
//! - A stream without its terminal reason is [`Broken`](ProviderFault::Broken), never a reply.
//! - Calls carry the harness's own ids, so that an id which a vendor repeats, leaves out or uses again does no harm.
//! - Arguments are passed on as text, whatever they are.
//! - What a vendor wants back (reasoning, signatures) is recorded with its reply and goes back in its place.
//! - A key comes in once, when a model is opened, and leaves in a header of its requests only.

mod anthropic;
mod chat;
mod fault;
mod fit;
mod gemini;
mod responses;
mod slots;
mod tape;
mod transport;

use checkrein_contract::{
    BoxFuture, Delta, Message, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, ToolSpec,
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

pub(crate) use self::fault::by_status;
pub(crate) use self::tape::{SharedTape, Tape, reread};
pub use self::transport::Patience;

use self::fit::{Accepts, fit};
use self::transport::{Events, Key, Transport, failed};

/// The wires.
const WIRES: &[&dyn Wire] = &[&anthropic::Anthropic, &chat::Chat, &responses::Responses, &gemini::Gemini];

/// The version of what reads the streams. It is raised when the same bytes come to mean another reply, so that a cassette
/// says under which they were read.
pub const PARSER: u32 = 1;

/// The kinds of models that are reached over a network, as in `KIND:NAME`, and how each is written whole.
pub fn wire_kinds() -> impl Iterator<Item = (&'static str, String)> {
    WIRES.iter().map(|wire| (wire.about().kind, wire.about().form()))
}

/// The variable that holds the key of a kind of model; `None` where there is no such kind.
pub fn key_variable(kind: &str) -> Option<&'static str> {
    WIRES.iter().map(|wire| wire.about()).find(|about| about.kind == kind).map(|about| about.key_variable)
}

/// How many times as much as others a token of a request costs, at most, that a kind of model keeps for a later one. From the
/// pages of prices named in `models.toml`: Anthropic (five minutes, which our marks ask for) and OpenAI ask for a quarter more;
/// servers in front of them hand that on. `None`: no more than others, or nothing at all.
pub fn cache_write_times(kind: &str) -> Option<f64> {
    WIRES.iter().map(|wire| wire.about()).find(|about| about.kind == kind).and_then(|about| about.cache_write)
}

/// What is known of a wire before anything is sent.
struct About {
    /// As in `KIND:NAME`.
    kind: &'static str,
    address: Address,
    /// The variable that holds the key.
    key_variable: &'static str,
    /// The header that carries the key, and what stands before it.
    key_header: (&'static str, &'static str),
    /// Headers of every request.
    headers: &'static [(&'static str, &'static str)],
    accepts: Accepts,
    /// See [`cache_write_times`].
    cache_write: Option<f64>,
}

impl About {
    fn form(&self) -> String {
        match self.address {
            Address::Vendor { .. } => format!("{}:NAME", self.kind),
            Address::InName => format!("{}:URL#NAME", self.kind),
        }
    }
}

/// Where a wire leads to.
enum Address {
    /// To a vendor, unless this variable, which the vendor's own clients have too, names another address. A key is needed.
    Vendor { address: &'static str, variable: &'static str },
    /// To where the model's name says: `KIND:URL#NAME`. A server of one's own needs no key.
    InName,
}

/// How one vendor's requests and replies look.
trait Wire: Send + Sync {
    fn about(&self) -> &'static About;

    /// Where a request goes to, behind the address.
    fn path(&self, name: &str) -> String;

    /// A request.
    fn body(&self, name: &str, request: &ModelRequest, tools: Vec<ToolSpec>) -> Value;

    /// What puts a reply together.
    fn reader(&self) -> Box<dyn Reader>;
}

/// Whether there is more of a reply to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    More,
    Done,
}

/// Puts a reply together, event by event.
trait Reader: Send {
    /// Takes an event.
    fn read(&mut self, event: &Value, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Result<Flow, ProviderError>;

    /// The last event of a stream where it is no JSON; nothing, where all are.
    fn last_words(&self) -> Option<&'static str> {
        None
    }

    /// The reply, if it is whole. What the vendor wants back is in its `provider`.
    fn finish(self: Box<Self>) -> Result<ModelReply, ProviderError>;
}

/// A model behind a wire.
pub struct WireProvider {
    model: String,
    name: String,
    wire: &'static dyn Wire,
    transport: Transport,
}

impl WireProvider {
    /// Opens `KIND:NAME`, such as `anthropic:NAME`. Nothing is sent yet. `variable` reads the environment.
    ///
    /// # Errors
    /// What is wrong with the model's name or what variable has to be set, for the operator.
    pub fn open(model: &str, variable: impl Fn(&str) -> Option<String>, patience: Patience) -> Result<Self, String> {
        let (kind, name) = model.split_once(':').unwrap_or((model, ""));
        let wire = WIRES.iter().copied().find(|wire| wire.about().kind == kind);
        let wire = wire.ok_or_else(|| format!("model `{model}`: `{kind}` is none of the wires"))?;
        let about = wire.about();
        let wrong = |why: String| format!("model `{model}`: {why}");
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let key = set(about.key_variable).and_then(|text| Key::new(&text));
        let (address, name) = match about.address {
            Address::Vendor { address, variable } => {
                if key.is_none() {
                    return Err(wrong(format!("set {} to your key", about.key_variable)));
                }
                (set(variable).unwrap_or_else(|| address.to_owned()), name)
            }
            Address::InName => {
                let (address, name) = name.rsplit_once('#').unwrap_or((name, ""));
                (address.to_owned(), name)
            }
        };
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(wrong(format!("write `{}`, with the name as the vendor has it", about.form())));
        }
        let fixed = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut headers: HeaderMap = about.headers.iter().map(fixed).collect();
        if let Some(key) = &key {
            let (header, prefix) = about.key_header;
            headers
                .extend([key.header(header, prefix).map_err(|why| wrong(format!("{}: {why}", about.key_variable)))?]);
        }
        let transport = Transport::new(address.trim(), key, headers, patience).map_err(wrong)?;
        Ok(Self { model: model.to_owned(), name: name.to_owned(), wire, transport })
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        tape: Option<&SharedTape>,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<ModelReply, ProviderError> {
        let (tools, losses) = Losses::of(self.wire, &request.tools, is_first(request));
        let body = self.wire.body(&self.name, request, tools);
        let events = self.transport.post(&self.wire.path(&self.name), &body, tape).await?;
        read(self.wire, events, on_delta).await.map(|reply| losses.told(reply))
    }

    /// Answers a request, and writes down how the answer came.
    pub(crate) async fn taped(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> (Result<ModelReply, ProviderError>, Tape) {
        let shared = SharedTape::default();
        let reply = self.answer(request, Some(&shared), on_delta).await;
        let mut tape = shared.lock().map(|tape| tape.clone()).unwrap_or_default();
        let clean = self.transport.without_key(tape.bytes());
        if clean != tape.bytes() {
            tape.pieces = vec![clean];
        }
        (reply, tape)
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        tape: Option<&SharedTape>,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<ModelReply, ProviderError> {
        let reply = self.exchange(request, tape, on_delta).await;
        reply.map_err(|error| self.transport.told(self.wire.about().kind, error, &request.provider))
    }

    /// Whether requests carry a key.
    pub(crate) fn has_key(&self) -> bool {
        self.transport.has_key()
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.transport.is_here()
    }
}

/// Reads a reply.
async fn read(
    wire: &'static dyn Wire,
    mut events: Events,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) -> Result<ModelReply, ProviderError> {
    let mut reader = wire.reader();
    while let Some(data) = events.next().await? {
        if reader.last_words() == Some(data.trim()) {
            break;
        }
        let event: Value = serde_json::from_str(&data)
            .map_err(|why| failed(ProviderFault::Broken, format!("an event is not JSON: {why}")))?;
        if reader.read(&event, on_delta)? == Flow::Done {
            break;
        }
    }
    events.close();
    reader.finish()
}

/// Whether no reply came before a request.
pub(crate) fn is_first(request: &ModelRequest) -> bool {
    !request.messages.iter().any(|message| matches!(**message, Message::Assistant { .. }))
}

/// What a wire could not be told in its schemas. The journal says it with the first reply.
struct Losses(Vec<String>);

impl Losses {
    /// The tools as the wire takes them, and what is lost.
    fn of(wire: &dyn Wire, tools: &[ToolSpec], first: bool) -> (Vec<ToolSpec>, Self) {
        let mut lost = Vec::new();
        let fitted = tools.iter().map(|tool| fit(tool, &wire.about().accepts, &mut lost)).collect();
        (fitted, Self(if first { lost } else { Vec::new() }))
    }

    fn told(self, mut reply: ModelReply) -> ModelReply {
        if !self.0.is_empty() {
            reply.provider = with_losses(reply.provider, &self.0);
        }
        reply
    }
}

fn with_losses(provider: Value, lost: &[String]) -> Value {
    let mut map = match provider {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.insert("schemas".to_owned(), json!(lost));
    Value::Object(map)
}

impl Provider for WireProvider {
    fn model(&self) -> &str {
        &self.model
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(self.answer(request, None, on_delta))
    }
}

/// The stream ended where it must not.
fn broke_off(what: &str) -> ProviderError {
    failed(ProviderFault::Broken, format!("the stream ended {what}"))
}

/// The model ended for a reason that is no end.
fn stopped_with(reason: &str) -> ProviderError {
    failed(ProviderFault::Refused, format!("the model stopped with `{reason}`"))
}

/// Where roles have to alternate: messages of one role that follow each other are one, and an empty one is none.
fn alternate(messages: impl Iterator<Item = (&'static str, Vec<Value>)>) -> Vec<(&'static str, Vec<Value>)> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for (role, parts) in messages {
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ if parts.is_empty() => {}
            _ => turns.push((role, parts)),
        }
    }
    turns
}

/// A text at this place of an event; empty where there is none.
pub(crate) fn text_at<'a>(event: &'a Value, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number at this place of an event.
pub(crate) fn number_at(event: &Value, pointer: &str) -> Option<u64> {
    event.pointer(pointer).and_then(Value::as_u64)
}

/// What is at this place of an event; null where there is nothing.
pub(crate) fn at<'a>(event: &'a Value, pointer: &str) -> &'a Value {
    event.pointer(pointer).unwrap_or(&Value::Null)
}

/// A turn of a conversation, with its parts.
fn turn(role: &str, name: &str, parts: Vec<Value>) -> Value {
    let mut turn = json!({ "role": role });
    put(&mut turn, name, Value::Array(parts));
    turn
}

/// Sets a field of an object. `json!` would copy a value that is put into it, and a conversation is put into its body in every
/// turn.
pub(crate) fn put(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(key.to_owned(), value);
    }
}

/// The text in a field of an object goes on.
fn append(object: &mut Map<String, Value>, key: &str, piece: &str) {
    match object.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => _ = object.insert(key.to_owned(), json!(piece)),
    }
}

/// A request as a wire sends it, for tests of the other end: behind the address, and what.
#[cfg(test)]
pub(crate) fn sent(kind: &str, name: &str, request: &ModelRequest) -> (String, Value) {
    let wire = WIRES.iter().find(|wire| wire.about().kind == kind).expect("a wire");
    let tools = request.tools.iter().map(|tool| fit(tool, &wire.about().accepts, &mut Vec::new())).collect();
    (wire.path(name), wire.body(name, request, tools))
}
