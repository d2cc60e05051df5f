//! The provider that asks a model and writes down what it answers. It never serves what was recorded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use checkrein_contract::{BoxFuture, Delta, Lane, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault};
use serde_json::Value;

use super::position::Position;
use super::row::{AnsweredBy, Credential};
use super::writer::{Attempt, CassetteWriter};
use crate::WireProvider;

/// A model that can be asked.
#[derive(Clone)]
pub enum Live {
    /// Behind a wire: its answers are kept byte for byte.
    Wire(Arc<WireProvider>),
    /// Any other.
    Other(Arc<dyn Provider>),
}

impl Live {
    /// It as a provider.
    pub fn provider(&self) -> Arc<dyn Provider> {
        match self {
            Self::Wire(wire) => Arc::clone(wire) as Arc<dyn Provider>,
            Self::Other(other) => Arc::clone(other),
        }
    }

    /// Who answers.
    pub fn server(&self) -> AnsweredBy {
        match self {
            Self::Wire(wire) if wire.is_here() => AnsweredBy::Loopback,
            Self::Wire(_) => AnsweredBy::Remote,
            Self::Other(_) => AnsweredBy::None,
        }
    }

    fn credential(&self, status: u16) -> Credential {
        match self {
            Self::Wire(wire) if wire.has_key() => {
                if matches!(status, 401 | 403) {
                    Credential::Invalid
                } else {
                    Credential::Present
                }
            }
            Self::Wire(_) | Self::Other(_) => Credential::Absent,
        }
    }
}

/// A model that is recorded.
pub struct Recorder {
    live: Live,
    writer: Arc<Mutex<CassetteWriter>>,
    model: String,
}

/// How an attempt came out, for what is recorded without a model: from a journal.
pub type Came = Result<ModelReply, ProviderError>;

impl Recorder {
    /// Records what this model answers.
    pub fn new(live: Live, writer: CassetteWriter) -> Self {
        let model = writer.model().to_owned();
        Self { live, writer: Arc::new(Mutex::new(writer)), model }
    }

    async fn record(&self, request: &ModelRequest, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Came {
        let fail = |why: String| failed(why, &request.provider);
        let (before, inner) = Position::read(&request.provider).map_err(fail)?;
        let asked = ModelRequest { provider: inner, ..request.clone() };
        let mut said = String::new();
        let mut heard = |delta: Delta<'_>| {
            match delta {
                Delta::Text(piece) => said.push_str(piece),
                Delta::Void => said.clear(),
            }
            on_delta(delta);
        };
        let (came, tape) = match &self.live {
            Live::Wire(wire) => {
                let (came, tape) = wire.taped(&asked, &mut heard).await;
                (came, Some(tape))
            }
            Live::Other(other) => (other.complete(&asked, &mut heard).await, None),
        };
        let credential = self.live.credential(tape.as_ref().map_or(0, |tape| tape.status));
        let known = before.rows();
        let attempt = Attempt { request: &asked, known, came: &came, said: &said, tape: tape.as_ref(), credential };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.attempt(&attempt).map_err(|error| fail(format!("the cassette can not be written: {error}")))?;
        let position = Position::behind(writer.rows(&request.lane));
        match came {
            Ok(reply) => Ok(ModelReply { provider: position.with(reply.provider), ..reply }),
            Err(error) => Err(ProviderError { provider: position.with(error.provider), ..error }),
        }
    }
}

fn failed(message: String, provider: &Value) -> ProviderError {
    ProviderError { fault: ProviderFault::Refused, message, retry_after_ms: None, provider: provider.clone() }
}

impl Provider for Recorder {
    fn model(&self) -> &str {
        &self.model
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Came> {
        Box::pin(self.record(request, on_delta))
    }

    fn close(&self, provider: &Value) -> Result<(), ProviderError> {
        let (_, inner) = Position::read(provider).map_err(|why| failed(why, provider))?;
        self.live.provider().close(&inner)
    }

    fn ended(&self, lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
        self.live.provider().ended(&Position::inner_of(lanes))
    }

    fn delegate(&self, number: u32) -> Option<Arc<dyn Provider>> {
        let Live::Other(other) = &self.live else { return None };
        let live = Live::Other(other.delegate(number)?);
        Some(Arc::new(Self { live, writer: Arc::clone(&self.writer), model: self.model.clone() }))
    }

    fn virtual_time(&self) -> bool {
        self.live.provider().virtual_time()
    }
}

impl CassetteWriter {
    /// Writes an attempt of which only the journal knows.
    ///
    /// # Errors
    /// Why nothing was written.
    pub fn from_journal(&mut self, request: &ModelRequest, came: &Came) -> std::io::Result<()> {
        let said = "";
        let known = usize::MAX;
        self.attempt(&Attempt { request, known, came, said, tape: None, credential: Credential::Unknown })
    }

    /// How far a lane has come that was recorded: what a provider hands back says it.
    pub fn without_position(provider: &Value) -> Value {
        Position::inner(provider)
    }
}
