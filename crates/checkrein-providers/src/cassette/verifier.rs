//! The provider that asks a model and holds what it answers against what is recorded. The session gets what the model says now;
//! what is different is said when it is over.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{
    BoxFuture, Delta, Lane, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, first_difference,
};
use serde_json::{Map, Value};

use super::changes::{of, told_by, turn, without_model};
use super::file::{Cassette, Line};
use super::miss::first;
use super::position::Position;
use super::recorder::{Came, Live};
use super::request::{Keeper, key};
use super::row::Outcome;
use super::unused::{answers, differences};
use super::{Scrub, reply};

/// A model that is asked, beside what was recorded of it.
///
/// The same request gives the same row; another one is held against the row that stands next on its lane. Attempts that failed
/// and were repeated are no part of it, neither now nor then.
pub struct Verifier {
    live: Live,
    /// As the session records it.
    model: String,
    cassette: Arc<Cassette>,
    /// The file, for errors.
    name: String,
    scrub: Arc<dyn Scrub>,
    keeper: Keeper,
}

impl Verifier {
    /// Holds what this model answers against this cassette; `name` is what errors call it.
    pub fn new(live: Live, model: &str, cassette: Arc<Cassette>, name: &str, scrub: Arc<dyn Scrub>) -> Self {
        let keeper = Keeper::new(Arc::clone(&scrub));
        Self { live, model: model.to_owned(), cassette, name: name.to_owned(), scrub, keeper }
    }

    async fn ask(&self, request: &ModelRequest, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) -> Came {
        let (mut position, inner) = Position::read(&request.provider).map_err(|message| ProviderError {
            fault: ProviderFault::CassetteBroken,
            message: format!("{}: the recorded position can not be read: {message}", self.name),
            retry_after_ms: None,
            provider: request.provider.clone(),
        })?;
        let asked = ModelRequest { provider: inner, ..request.clone() };
        let came = self.live.provider().complete(&asked, on_delta).await;
        if !came.as_ref().is_err_and(ProviderError::can_retry) {
            self.held_against(&asked, &came, &mut position);
        }
        match came {
            Ok(reply) => Ok(ModelReply { provider: position.with(reply.provider), ..reply }),
            Err(error) => Err(ProviderError { provider: position.with(error.provider), ..error }),
        }
    }

    fn held_against(&self, request: &ModelRequest, came: &Came, position: &mut Position) {
        let lane = &request.lane;
        let asked = self.keeper.kept(request);
        let wanted = key(lane, &asked);
        let rows = self.cassette.lane(lane);
        let open =
            || rows.iter().enumerate().filter(|(index, row)| !position.is_used(*index) && answers(&row.exchange));
        let found = open().find(|(_, row)| row.exchange.key == wanted).or_else(|| open().next());
        let Some((index, row)) = found else {
            return position.parts(format!("{}: nothing is recorded for it", turn(lane, position.rows())));
        };
        let other = if row.exchange.key == wanted { None } else { self.other_request(lane, index, &asked) };
        let difference = other.or_else(|| self.other_reply(row, came));
        position.use_row(index);
        if let Some(difference) = difference {
            position.parts(format!("{}: {difference}", turn(lane, index)));
        }
    }

    /// Another model is no difference by itself.
    fn other_request(&self, lane: &Lane, index: usize, asked: &Map<String, Value>) -> Option<String> {
        let recorded = without_model(self.cassette.request(lane, index)?);
        first(&recorded, &without_model(asked.clone())).map(|difference| format!("request {}", of(&difference)))
    }

    fn other_reply(&self, row: &Line, came: &Came) -> Option<String> {
        let now = reply::kept(came, "", &*self.scrub);
        let difference = first_difference(&said(&row.exchange.outcome), &said(&now));
        difference.map(|difference| format!("reply {}", of(&difference)))
    }
}

/// What a model said. How many tokens its server counts is nothing that it says.
fn said(outcome: &Outcome) -> Value {
    let mut value = told_by(outcome);
    if let Some(Value::Object(reply)) = value.get_mut("reply") {
        reply.remove("usage");
    }
    value
}

impl Provider for Verifier {
    fn model(&self) -> &str {
        &self.model
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Came> {
        Box::pin(self.ask(request, on_delta))
    }

    fn close(&self, provider: &Value) -> Result<(), ProviderError> {
        self.live.provider().close(&Position::inner(provider))
    }

    fn ended(&self, lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
        self.live.provider().ended(&Position::inner_of(lanes))?;
        differences(&self.cassette, &self.name, lanes)
    }

    fn delegate(&self, number: u32) -> Option<Arc<dyn Provider>> {
        let Live::Other(other) = &self.live else { return None };
        let live = Live::Other(other.delegate(number)?);
        let (cassette, scrub) = (Arc::clone(&self.cassette), Arc::clone(&self.scrub));
        Some(Arc::new(Self::new(live, &self.model, cassette, &self.name, scrub)))
    }

    fn virtual_time(&self) -> bool {
        self.live.provider().virtual_time()
    }
}
