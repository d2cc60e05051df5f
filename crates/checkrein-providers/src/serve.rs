//! A script as a server of models: the other end of the four wires, on loopback, for programs that others wrote.
//!
//! A request is read into the harness's own messages, the script says to it what it would say in process, and the reply is
//! written as the vendor writes it. It must not reach any network, and it keeps nothing but where each session stands.
//!
//! - A wire is known by the end of the path. What stands before it names a session: `/a/v1/messages` and `/b/v1/messages`
//!   have a position each in the same script, `/v1/messages` is the session without a name.
//! - Times and ids are the same in every run: nothing here looks at a clock. Only what a script says takes time does.
//! - Keys are neither wanted nor looked at.

mod anthropic;
mod chat;
mod desk;
mod fault;
mod frames;
mod gemini;
mod http;
mod openai;
mod responses;
#[cfg(test)]
mod round_trip;
mod talk;

use std::io;
use std::net::SocketAddr;

use checkrein_contract::{ModelRequest, ProviderError, RawCall, StopReason, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use self::frames::Frames;
use crate::script::{Ids, ScriptProvider, Spoken};

pub use self::fault::Fault;
pub use self::http::Server;

/// The wires, as servers speak them.
const DIALECTS: &[&dyn Dialect] = &[&anthropic::Anthropic, &gemini::Gemini, &responses::Responses, &chat::Chat];

/// How one vendor's server is asked, and how it answers.
trait Dialect: Sync {
    /// As the wire of the client is called.
    fn kind(&self) -> &'static str;

    /// What its clients add to the address of a server.
    fn base_path(&self) -> &'static str;

    /// How a program is pointed at a server that is here.
    fn told(&self, base: &str) -> String;

    /// A header that every client of it sends and no other; nothing, where there is none.
    fn header(&self) -> Option<&'static str>;

    /// Whether a request with this path is asked in it, and for what.
    fn route<'p>(&self, path: &'p str, query: &str) -> Option<Route<'p>>;

    /// Reads a request.
    ///
    /// # Errors
    /// Why the vendor would refuse it, for whoever wrote it.
    fn read(&self, body: &Value, route: &Route<'_>) -> Result<Asked, String>;

    /// A whole reply.
    fn whole(&self, reply: &Speech) -> Value;

    /// The reply as a stream of events. A reply that breaks off is written as if it ended where it does.
    fn stream(&self, reply: &Speech, frames: &mut Frames);

    /// An error. `wait_s` is how long to wait before the next attempt.
    fn error(&self, status: u16, message: &str, wait_s: Option<u64>) -> Value;

    /// The list of the models, with the one that there is.
    fn models(&self, name: &str) -> Value;
}

/// What a path says.
#[derive(Debug, PartialEq, Eq)]
struct Route<'p> {
    /// What stands before the wire's own part of the path.
    session: &'p str,
    /// The model, where the path names it.
    model: Option<&'p str>,
    /// Whether a stream of events is wanted, where the path says it.
    stream: Option<bool>,
}

impl<'p> Route<'p> {
    /// The route of a path that ends in one of these.
    fn ending(path: &'p str, ends: &[&str]) -> Option<Self> {
        let session = ends.iter().find_map(|end| path.strip_suffix(end))?;
        Some(Self { session, model: None, stream: None })
    }
}

/// What a request asks for.
#[derive(Debug)]
struct Asked {
    request: ModelRequest,
    stream: bool,
    /// The count of tokens is wanted in a stream.
    counted: bool,
}

/// A reply on its way out.
#[derive(Debug)]
struct Speech {
    model: String,
    /// Which request of its session it answers, from 1: what ids are made of.
    number: u64,
    /// The text as it is streamed, as far as it gets.
    pieces: Vec<String>,
    calls: Vec<SpokenCall>,
    stop: StopReason,
    usage: Usage,
    counted: bool,
}

#[derive(Debug)]
struct SpokenCall {
    id: String,
    tool: String,
    /// As the script has them; not always JSON.
    arguments: String,
}

impl Speech {
    fn new(asked: &Asked, number: u64, spoken: &Spoken) -> Self {
        let id = |n: usize| match spoken.delivery.ids {
            Ids::Own => format!("call_{number}_{}", n + 1),
            Ids::Same => "call_same".to_owned(),
            Ids::Empty => String::new(),
        };
        let call = |(n, RawCall { tool, arguments }): (usize, &RawCall)| SpokenCall {
            id: id(n),
            tool: tool.clone(),
            arguments: arguments.clone(),
        };
        Self {
            model: asked.request.model.clone(),
            number,
            pieces: spoken.pieces().map(str::to_owned).collect(),
            calls: spoken.calls.iter().enumerate().map(call).collect(),
            stop: spoken.stop(),
            usage: spoken.usage.unwrap_or_else(|| estimated(&asked.request, spoken)),
            counted: asked.counted,
        }
    }

    fn text(&self) -> String {
        self.pieces.concat()
    }

    fn total(&self) -> u64 {
        self.usage.input.saturating_add(self.usage.output)
    }
}

impl SpokenCall {
    /// The arguments as a value: what they are as JSON, or the text.
    fn value(&self) -> Value {
        serde_json::from_str(&self.arguments).unwrap_or_else(|_| json!(self.arguments))
    }

    /// The arguments in the pieces of a stream: two, so that whoever reads them has to put them together.
    fn pieces(&self) -> [&str; 2] {
        let (first, second) = self.arguments.split_at(self.arguments.floor_char_boundary(self.arguments.len() / 2));
        [first, second]
    }
}

/// Servers always count; where a script does not say, it is estimated as the harness does.
fn estimated(request: &ModelRequest, spoken: &Spoken) -> Usage {
    use checkrein_contract::{estimate_message, estimate_spec, estimate_text};
    let messages = request.messages.iter().map(|message| estimate_message(message));
    let tools = request.tools.iter().map(estimate_spec);
    let calls = spoken.calls.iter().map(|call| estimate_text(&call.tool) + estimate_text(&call.arguments));
    Usage {
        input: estimate_text(&request.system).saturating_add(messages.chain(tools).sum()),
        output: estimate_text(&spoken.text).saturating_add(calls.sum()),
        estimated: true,
        ..Usage::default()
    }
}

/// A request as it was answered, for a log.
#[derive(Clone, Debug, Serialize)]
pub struct Exchange {
    /// Which request of the server, from 1.
    pub number: u64,
    /// The wire; `None` where the path is of none.
    pub wire: Option<&'static str>,
    /// The session: what stands before the wire's part of the path.
    pub session: String,
    /// Method and path.
    pub asked: String,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// A stream was asked for.
    pub stream: bool,
    /// The status of the answer.
    pub status: u16,
    /// The step that answered, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Its line in the script, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The faults on top of the script that struck it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// Why the request was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What came of serving.
#[derive(Debug)]
pub struct Served {
    /// How many requests were answered, of whatever kind.
    pub requests: u64,
    /// Requests that no step answered, and steps that no request reached, session by session.
    pub complaints: Vec<ProviderError>,
}

/// How programs of one wire are pointed at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The kind of the wire, as in `KIND:NAME`.
    pub wire: &'static str,
    /// The address that its clients want.
    pub address: String,
    /// What to set or to write.
    pub told: String,
}

fn bases(address: &str) -> Vec<Base> {
    let base = |dialect: &&dyn Dialect| {
        let address = format!("{address}{}", dialect.base_path());
        Base { wire: dialect.kind(), told: dialect.told(&address), address }
    };
    DIALECTS.iter().map(base).collect()
}

/// An address that is reached from this machine only.
fn loopback(address: SocketAddr) -> io::Result<SocketAddr> {
    if address.ip().is_loopback() {
        return Ok(address);
    }
    let why = format!("{address} is not on loopback: a script is served to this machine only, such as 127.0.0.1:0");
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// What can be wrong with a script that is to be served.
fn servable(script: &ScriptProvider) -> io::Result<()> {
    if script.delegates() {
        let why = "steps with `sub` can not be served: over a wire nobody says which session asks";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(())
}
