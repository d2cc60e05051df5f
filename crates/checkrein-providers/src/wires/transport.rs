//! HTTP and server-sent events, shared by the wires: one POST, and the events of its answer. It must not know what the
//! events mean, and it lets the key out in the header of the request only.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use checkrein_contract::{ProviderError, ProviderFault};
use futures_util::FutureExt as _;
use futures_util::stream::{Stream, StreamExt as _, try_unfold};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url, redirect};
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};

use super::fault;
use super::tape::{SharedTape, Tape};

/// Longest answer, bytes. The longest replies of today's models are some 130,000 tokens; with each token in an event of its
/// own that is about 40 MB.
const MOST_BYTES: usize = 64 << 20;
/// As much of the text of an error as is read, bytes.
const MOST_ERROR_BYTES: usize = 64 << 10;
const USER_AGENT: &str = concat!("checkrein/", env!("CARGO_PKG_VERSION"));

/// How long nothing may happen.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until a connection is made.
    pub connect: Duration,
    /// Between two pieces of an answer, and before the first.
    pub idle: Duration,
}

impl Default for Patience {
    /// A connection is made within 15 seconds. A model that thinks may be silent for minutes where its server sends no
    /// pings: five of them.
    fn default() -> Self {
        Self { connect: Duration::from_secs(15), idle: Duration::from_secs(300) }
    }
}

/// A key. It is never printed.
#[derive(Clone)]
pub(super) struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A key as a variable holds it: line ends around it do not count.
    pub(super) fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The header `name: prefix key`.
    pub(super) fn header(&self, name: &'static str, prefix: &str) -> Result<(HeaderName, HeaderValue), String> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0))
            .map_err(|_| "the key holds characters that no key has; set it anew".to_owned())?;
        value.set_sensitive(true);
        Ok((HeaderName::from_static(name), value))
    }

    /// The text without the key, in case a server repeats it.
    pub(super) fn out_of(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

/// Where requests go to.
#[derive(Debug)]
pub(super) struct Transport {
    client: Client,
    /// Without a slash at its end.
    address: String,
    key: Option<Key>,
}

impl Transport {
    /// A client for this address: https, or http on this very machine.
    ///
    /// # Errors
    /// Why the address is not taken, for the operator.
    pub(super) fn new(address: &str, key: Option<Key>, headers: HeaderMap, patience: Patience) -> Result<Self, String> {
        static TLS: Once = Once::new();
        // Fails when the host of this library has chosen one already, which serves as well.
        TLS.call_once(|| _ = rustls::crypto::ring::default_provider().install_default());
        let url = Url::parse(address).map_err(|why| format!("`{address}` is no address: {why}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a user or a password is not taken; keys come from the environment".to_owned());
        }
        if url.query().is_some() {
            return Err(format!("`{address}` has a query, where the path of a request has to follow"));
        }
        if url.fragment().is_some() {
            return Err(format!("`{address}` has a fragment, where the path of a request has to follow"));
        }
        let here = is_here(url.host_str().unwrap_or_default());
        match url.scheme() {
            "https" => {}
            "http" if here => {}
            _ => return Err(format!("`{address}`: write https (http is for servers on this very machine)")),
        }
        // What a server sends on to would get the key too, so nothing is followed.
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .https_only(url.scheme() == "https")
            .connect_timeout(patience.connect)
            .read_timeout(patience.idle)
            .user_agent(USER_AGENT)
            .default_headers(headers)
            .build()
            .map_err(|error| cause(&error))?;
        Ok(Self { client, address: url.as_str().trim_end_matches('/').to_owned(), key })
    }

    /// Sends a request and waits for the beginning of its answer.
    pub(super) async fn post(
        &self,
        path: &str,
        body: &Value,
        tape: Option<&SharedTape>,
    ) -> Result<Events, ProviderError> {
        let body = serde_json::to_vec(body).map_err(|error| failed(ProviderFault::Refused, error.to_string()))?;
        let request = self.client.post(format!("{}{path}", self.address));
        let request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream").body(body);
        let response = request.send().await.map_err(|error| {
            let what = if error.is_connect() { "no connection" } else { "no answer" };
            failed(ProviderFault::Server, format!("{what}: {}", cause(&error)))
        })?;
        let type_ = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let streams = type_.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
        let streams = response.status().is_success() && streams;
        let (status, wait_ms) = (response.status().as_u16(), fault::retry_after_ms(response.headers()));
        on(tape, |tape| *tape = Tape { status, streams, wait_ms, ..Tape::default() });
        if streams {
            return Ok(Events::of(pieces(response, tape.cloned())));
        }
        Err(refusal(response, status, wait_ms, tape).await)
    }

    /// Whether requests carry a key.
    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// The bytes without the key, in case a server repeats it.
    pub(super) fn without_key(&self, bytes: Vec<u8>) -> Vec<u8> {
        match (&self.key, std::str::from_utf8(&bytes)) {
            (Some(key), Ok(text)) if text.contains(&key.0) => key.out_of(text).into_bytes(),
            _ => bytes,
        }
    }

    /// Whether the address is on this machine.
    pub(super) fn is_here(&self) -> bool {
        Url::parse(&self.address).is_ok_and(|url| url.host_str().is_some_and(is_here))
    }

    /// An error, ready to be recorded: with the name of the wire, bounded, and without the key.
    pub(super) fn told(&self, wire: &str, error: ProviderError, provider: &Value) -> ProviderError {
        let message = self.key.as_ref().map_or_else(|| error.message.clone(), |key| key.out_of(&error.message));
        named(wire, ProviderError { message, ..error }, provider)
    }
}

/// Whether a host is this very machine.
fn is_here(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Writes something down, where something is written down.
fn on(tape: Option<&SharedTape>, write: impl FnOnce(&mut Tape)) {
    if let Some(mut tape) = tape.and_then(|tape| tape.lock().ok()) {
        write(&mut tape);
    }
}

/// The pieces of an answer as they come.
fn pieces(response: Response, tape: Option<SharedTape>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    try_unfold((response, 0_usize, tape), |(mut response, seen, tape)| async move {
        let piece = match response.chunk().await {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(None),
            Err(error) => {
                on(tape.as_ref(), |tape| tape.broke = Some(cause(&error)));
                return Err(io::Error::other(error));
            }
        };
        let seen = seen.saturating_add(piece.len());
        if seen > MOST_BYTES {
            let why = format!("the answer is larger than {MOST_BYTES} bytes");
            on(tape.as_ref(), |tape| tape.broke = Some(why.clone()));
            return Err(io::Error::other(why));
        }
        on(tape.as_ref(), |tape| tape.pieces.push(piece.to_vec()));
        Ok(Some((piece, (response, seen, tape))))
    })
}

/// What an answer says that is no stream.
async fn refusal(
    mut response: Response,
    status: u16,
    wait_ms: Option<u64>,
    tape: Option<&SharedTape>,
) -> ProviderError {
    let mut body = Vec::new();
    // An error whose text breaks off is still this error.
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > MOST_ERROR_BYTES {
            body.truncate(MOST_ERROR_BYTES);
            break;
        }
    }
    on(tape, |tape| tape.pieces.push(body.clone()));
    refused(status, wait_ms, &body)
}

/// The error in an answer that is no stream.
pub(super) fn refused(status: u16, wait_ms: Option<u64>, body: &[u8]) -> ProviderError {
    if (300..400).contains(&status) {
        let message = "the server sends on to another address, which is not followed; name that address".to_owned();
        return failed(ProviderFault::Refused, message);
    }
    let mut error = fault::of_answer(status, &String::from_utf8_lossy(body));
    error.retry_after_ms = wait_ms.or(error.retry_after_ms);
    error
}

/// An error with the name of its wire, bounded.
pub(super) fn named(wire: &str, error: ProviderError, provider: &Value) -> ProviderError {
    let message = format!("{wire}: {}", fault::bounded(&error.message));
    ProviderError { message, provider: provider.clone(), ..error }
}

/// The events of an answer.
pub(super) struct Events {
    stream: Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>,
}

impl Events {
    /// The events in these bytes, however they are cut.
    pub(super) fn of(bytes: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        Self { stream: Box::pin(SseByteStream::new(Box::pin(bytes))) }
    }

    /// The data of the next event that has some; `None` when the stream has ended as HTTP ends it.
    pub(super) async fn next(&mut self) -> Result<Option<String>, ProviderError> {
        while let Some(event) = self.stream.next().await {
            match event {
                Ok(Sse { data: Some(data), .. }) if !data.is_empty() => return Ok(Some(data)),
                Ok(_) => {}
                Err(error) => {
                    return Err(failed(ProviderFault::Broken, format!("the stream broke off: {}", cause(&error))));
                }
            }
        }
        Ok(None)
    }

    /// Takes the end of a stream of which nothing more is wanted, if it is there already: then its connection serves the
    /// next request too.
    pub(super) fn close(mut self) {
        _ = self.stream.next().now_or_never();
    }
}

/// An error, not yet [`told`](Transport::told).
pub(super) fn failed(fault: ProviderFault, message: String) -> ProviderError {
    ProviderError { fault, message, retry_after_ms: None, provider: Value::Null }
}

/// The innermost cause says most: a certificate that is not trusted, a connection that was refused.
fn cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
