//! The provider that answers from a cassette, strictly: no network, no guess. What is not recorded is an error, and so is
//! what is recorded and not asked for. Leniently, for a person who looks for what changed, a request that is not recorded gets
//! the answer of the row that stands next, and the session fails at its end instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{BoxFuture, Delta, Lane, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault};
use serde_json::Value;

use super::answer::{Asked, fits, reread_as_it_came, reread_otherwise, words};
use super::changes::turn;
use super::file::{Cassette, Line};
use super::position::Position;
use super::request::{Keeper, key};
use super::row::{Body, Outcome};
use super::unused::differences;
use super::{Scrub, miss, reply};

/// A model whose answers are recorded.
pub struct CassettePlayer {
    cassette: Arc<Cassette>,
    /// The file, for errors.
    name: String,
    lane: Lane,
    scrub: Arc<dyn Scrub>,
    keeper: Arc<Keeper>,
    lenient: bool,
}

impl CassettePlayer {
    /// Plays this cassette; `name` is what errors call it.
    pub fn new(cassette: Arc<Cassette>, name: &str, scrub: Arc<dyn Scrub>) -> Self {
        let keeper = Arc::new(Keeper::new(Arc::clone(&scrub)));
        Self { cassette, name: name.to_owned(), lane: Lane::main(), scrub, keeper, lenient: false }
    }

    /// Plays it leniently.
    #[must_use]
    pub fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }

    fn answer(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<ModelReply, ProviderError> {
        let (mut position, _) = self.position(&request.provider)?;
        let asked = self.keeper.kept(request);
        let wanted = key(&request.lane, &asked);
        let rows = self.cassette.lane(&request.lane);
        let unused = |(index, line): &(usize, &Line)| !position.is_used(*index) && line.exchange.key == wanted;
        let (index, line) = match rows.iter().enumerate().find(unused) {
            Some(found) => found,
            None => {
                let why = miss::miss(&self.cassette, &request.lane, &position, &asked);
                let next = rows.iter().enumerate().find(|(index, _)| self.lenient && !position.is_used(*index));
                let Some((index, line)) = next else {
                    return Err(self.failed(ProviderFault::CassetteMiss, &why, &request.provider));
                };
                position.parts(format!("{}: {why}", turn(&request.lane, index)));
                (index, line)
            }
        };
        self.reads_the_same(line, &Asked::of(&asked), &request.provider)?;
        position.use_row(index);
        self.serve(line, &Asked::of(&asked), &position, on_delta)
    }

    /// The bytes that came must still be what was made of them, cut as they came and otherwise.
    fn reads_the_same(&self, line: &Line, asked: &Asked, provider: &Value) -> Result<(), ProviderError> {
        match flaw(line, asked) {
            None => Ok(()),
            Some(why) => {
                let why = format!("row {} of lane {} (line {}): {why}", line.exchange.n, line.exchange.lane, line.line);
                Err(self.failed(ProviderFault::CassetteBroken, &why, provider))
            }
        }
    }

    fn serve(
        &self,
        line: &Line,
        asked: &Asked,
        position: &Position,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<ModelReply, ProviderError> {
        let whole = match &line.exchange.outcome {
            Outcome::Reply(kept) => words(&kept.blocks),
            Outcome::Failed(kept) => kept.said.clone(),
        };
        let told = reply::shown_text(&whole, &*self.scrub);
        // What was streamed is streamed again as it came, unless the name of a place could lie across two pieces of it.
        let streamed = told == whole
            && line.exchange.answer.as_ref().is_some_and(|answer| reread_as_it_came(answer, asked, on_delta).is_some());
        if !streamed {
            told.split_inclusive(char::is_whitespace).for_each(|piece| on_delta(Delta::Text(piece)));
        }
        match &line.exchange.outcome {
            Outcome::Reply(kept) => {
                let reply = reply::shown(kept, &*self.scrub);
                Ok(ModelReply { provider: position.with(reply.provider), ..reply })
            }
            Outcome::Failed(kept) => Err(ProviderError {
                fault: kept.fault,
                message: reply::shown_text(&kept.message, &*self.scrub),
                retry_after_ms: kept.retry_after_ms,
                provider: position.with(self.scrub.show(kept.provider.clone())),
            }),
        }
    }

    fn position(&self, provider: &Value) -> Result<(Position, Value), ProviderError> {
        Position::read(provider).map_err(|why| {
            let why = format!("the recorded position can not be read: {why}");
            self.failed(ProviderFault::CassetteBroken, &why, provider)
        })
    }

    fn failed(&self, fault: ProviderFault, why: &str, provider: &Value) -> ProviderError {
        let message = format!("{}: {why}", self.name);
        ProviderError { fault, message, retry_after_ms: None, provider: provider.clone() }
    }
}

/// Why the bytes of a row are not its reply any more.
pub(crate) fn flaw(line: &Line, asked: &Asked) -> Option<String> {
    let answer = line.exchange.answer.as_ref().filter(|answer| answer.body != Body::Withheld)?;
    if answer.pieces.iter().sum::<usize>() != super::answer::bytes(&answer.body).map_or(0, |bytes| bytes.len()) {
        return Some("the lengths of the pieces are not that of the answer".to_owned());
    }
    let ways =
        [("", reread_as_it_came(answer, asked, &mut |_| {})), (", cut otherwise,", reread_otherwise(answer, asked))];
    ways.into_iter().find_map(|(how, read)| match read {
        Some(read) if fits(&read, &line.exchange.outcome) => None,
        Some(Ok(_)) => {
            Some(format!("the bytes of the answer{how} read as another reply than the one that is recorded"))
        }
        Some(Err(error)) => Some(format!("the bytes of the answer{how} read as this: {error}")),
        None => Some(format!("no wire reads the answers of `{}`", asked.model)),
    })
}

impl Provider for CassettePlayer {
    fn model(&self) -> &str {
        &self.cassette.header().model
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async move { self.answer(request, on_delta) })
    }

    fn close(&self, provider: &Value) -> Result<(), ProviderError> {
        let (position, _) = self.position(provider)?;
        if self.lenient {
            return Ok(());
        }
        match self.cassette.unused(&self.lane, &position) {
            Some(why) => Err(self.failed(ProviderFault::CassetteUnused, &why, provider)),
            None => Ok(()),
        }
    }

    fn ended(&self, lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
        if self.lenient {
            return differences(&self.cassette, &self.name, lanes);
        }
        let mut never = self.cassette.lanes().map(|(lane, _)| lane).filter(|lane| !lanes.contains_key(lane));
        match never.find_map(|lane| self.cassette.unused(lane, &Position::default())) {
            Some(why) => Err(self.failed(ProviderFault::CassetteUnused, &why, &Value::Null)),
            None => Ok(()),
        }
    }

    fn delegate(&self, number: u32) -> Option<Arc<dyn Provider>> {
        let (cassette, scrub) = (Arc::clone(&self.cassette), Arc::clone(&self.scrub));
        let keeper = Arc::clone(&self.keeper);
        let (name, lane, lenient) = (self.name.clone(), self.lane.child(number), self.lenient);
        Some(Arc::new(Self { cassette, name, lane, scrub, keeper, lenient }))
    }

    fn virtual_time(&self) -> bool {
        true
    }
}
