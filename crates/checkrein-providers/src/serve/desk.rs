//! Who asked for what, and where each session stands in the script: the only state of a server.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use checkrein_contract::{Provider as _, ProviderError};
use serde_json::{Value, json};

use super::frames::{Frames, Plan};
use super::{Asked, DIALECTS, Dialect, Exchange, Fault, Route, Served, Speech};
use crate::script::{Delivery, ScriptProvider};

/// Status of an answer to a request that no step answers. Clients do not try such a request again.
const EXHAUSTED: u16 = 400;

/// A request, as it came.
pub(super) struct Letter<'h> {
    pub(super) method: &'h str,
    pub(super) path: &'h str,
    pub(super) query: &'h str,
    pub(super) has_header: &'h dyn Fn(&str) -> bool,
    /// Or why it could not be read.
    pub(super) body: Result<&'h [u8], String>,
}

/// An answer, ready to be sent.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    /// How long to wait before the next attempt, seconds.
    pub(super) wait_s: Option<u64>,
    pub(super) plan: Plan,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream; charset=utf-8";

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, content_type: JSON, wait_s: None, plan: Plan::of(body.to_string()) }
    }
}

/// Where a session stands.
#[derive(Debug, Default)]
struct Standing {
    /// In the script.
    position: Value,
    requests: u64,
    exhausted: Option<ProviderError>,
}

#[derive(Debug, Default)]
struct Ledger {
    requests: u64,
    sessions: BTreeMap<String, Standing>,
}

/// The desk.
pub(super) struct Desk {
    script: ScriptProvider,
    /// What the list of models calls it.
    name: String,
    faults: Vec<Fault>,
    ledger: Mutex<Ledger>,
    watch: Box<dyn Fn(&Exchange) + Send + Sync>,
}

impl Desk {
    pub(super) fn new(
        script: ScriptProvider,
        name: &str,
        faults: Vec<Fault>,
        watch: Box<dyn Fn(&Exchange) + Send + Sync>,
    ) -> Self {
        Self { script, name: name.to_owned(), faults, ledger: Mutex::default(), watch }
    }

    /// Answers one request.
    pub(super) fn answer(&self, letter: Letter<'_>) -> Answer {
        let Letter { method, path, query, has_header, body } = letter;
        let mut ledger = self.ledger();
        ledger.requests += 1;
        let mut exchange = Exchange {
            number: ledger.requests,
            wire: None,
            session: String::new(),
            asked: format!("{method} {path}"),
            model: String::new(),
            stream: false,
            status: 200,
            step: None,
            line: None,
            faults: Vec::new(),
            refused: None,
        };
        let routed = DIALECTS.iter().find_map(|dialect| Some((*dialect, dialect.route(path, query)?)));
        let answer = match (method, routed) {
            ("GET", None) => self.list(path, has_header),
            ("POST", Some((dialect, route))) => {
                exchange.wire = Some(dialect.kind());
                exchange.session = route.session.to_owned();
                Some(self.reply(&mut ledger, dialect, &route, body, &mut exchange))
            }
            _ => None,
        };
        let answer = answer.unwrap_or_else(|| {
            let message = format!("{method} {path} is nothing that is served here");
            exchange.refused = Some(message.clone());
            Answer::json(404, &json!({ "type": "error", "error": { "type": "not_found_error", "message": message } }))
        });
        exchange.status = answer.status;
        (self.watch)(&exchange);
        answer
    }

    /// The list of the models, as the client that asks expects it. All vendors have it in one place: a header tells.
    fn list(&self, path: &str, has_header: &dyn Fn(&str) -> bool) -> Option<Answer> {
        ["/v1/models", "/v1beta/models"].iter().find(|end| path.ends_with(*end))?;
        let dialect = DIALECTS.iter().find(|dialect| dialect.header().is_none_or(has_header))?;
        Some(Answer::json(200, &dialect.models(&self.name)))
    }

    fn reply(
        &self,
        ledger: &mut Ledger,
        dialect: &dyn Dialect,
        route: &Route<'_>,
        body: Result<&[u8], String>,
        exchange: &mut Exchange,
    ) -> Answer {
        let read = body.and_then(|bytes| serde_json::from_slice(bytes).map_err(|why| format!("no JSON: {why}")));
        let mut asked = match read.and_then(|body: Value| dialect.read(&body, route)) {
            Ok(asked) => asked,
            Err(why) => return refused(dialect, 400, why, exchange),
        };
        exchange.model.clone_from(&asked.request.model);
        exchange.stream = asked.stream;
        let standing = ledger.sessions.entry(route.session.to_owned()).or_default();
        standing.requests += 1;
        let number = standing.requests;
        let faults: Vec<&Fault> = self.faults.iter().filter(|fault| fault.strikes(number)).collect();
        exchange.faults = faults.iter().map(ToString::to_string).collect();
        if let Some((status, wait_ms)) = faults.iter().find_map(|fault| fault.error) {
            return failing(dialect, status, &format!("a fault that was asked for: status {status}"), wait_ms);
        }
        asked.request.provider = standing.position.clone();
        let answered = match self.script.say(&asked.request) {
            Ok(answered) => answered,
            Err(error) => {
                let why = format!("{}: {error}", error.code());
                standing.exhausted.get_or_insert(error);
                return refused(dialect, EXHAUSTED, why, exchange);
            }
        };
        (exchange.step, exchange.line) = (Some(answered.step), Some(answered.line));
        if !faults.iter().any(|fault| fault.cuts()) {
            standing.position = answered.position;
        }
        match answered.said {
            Err((status, wait_ms)) => {
                failing(dialect, status, &format!("the script answers with status {status}"), wait_ms)
            }
            Ok(mut spoken) => {
                faults.iter().rev().for_each(|fault| fault.worsen(&mut spoken.delivery));
                written(dialect, &asked, &Speech::new(&asked, number, &spoken), &spoken.delivery)
            }
        }
    }

    /// What came of it all, if nothing more is asked.
    pub(super) fn close(&self) -> Served {
        let mut ledger = self.ledger();
        if ledger.sessions.is_empty() {
            ledger.sessions.entry(String::new()).or_default();
        }
        let mut complaints = Vec::new();
        for (session, standing) in &ledger.sessions {
            let unused = self.script.close(&standing.position).err();
            // A session that asked for more than there is has no business with what is left.
            if let Some(mut error) = standing.exhausted.clone().or(unused) {
                if !session.is_empty() {
                    error.message = format!("session {session}: {}", error.message);
                }
                complaints.push(error);
            }
        }
        Served { requests: ledger.requests, complaints }
    }

    /// What holds also where a thread died that wrote: each field is set at once.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn written(dialect: &dyn Dialect, asked: &Asked, speech: &Speech, delivery: &Delivery) -> Answer {
    let (content_type, plan) = if asked.stream {
        let mut frames = Frames::default();
        dialect.stream(speech, &mut frames);
        (EVENTS, Plan::stream(frames, delivery))
    } else {
        (JSON, Plan::whole(dialect.whole(speech).to_string(), delivery))
    };
    Answer { status: 200, content_type, wait_s: None, plan }
}

/// An error that a script or a fault asks for.
fn failing(dialect: &dyn Dialect, status: u16, message: &str, wait_ms: Option<u64>) -> Answer {
    let wait_s = wait_ms.map(|ms| ms / 1000);
    Answer { wait_s, ..Answer::json(status, &dialect.error(status, message, wait_s)) }
}

/// A request that is wrong.
fn refused(dialect: &dyn Dialect, status: u16, why: String, exchange: &mut Exchange) -> Answer {
    let answer = Answer::json(status, &dialect.error(status, &why, None));
    exchange.refused = Some(why);
    answer
}
