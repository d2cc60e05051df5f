//! Writes a cassette: attempt by attempt while a session runs, so that what was recorded is there whatever happens next. The
//! same session gives the same bytes, also where its lanes ran side by side.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_contract::{CallKind, Lane, Message, ModelReply, ModelRequest, ProviderError, digest_json};
use serde_json::{Map, Value, json};

use super::answer::{self, Asked};
use super::file::Cassette;
use super::request::{change, kept, key};
use super::row::{Credential, Exchange, Header, Outcome, ToolExchange};
use super::{Scrub, reply};
use crate::wires::Tape;

/// What kind of call a tool makes of these arguments; `None` where there is no such tool.
pub type KindOf = Arc<dyn Fn(&str, &Value) -> Option<CallKind> + Send + Sync>;

/// A cassette that is being recorded.
pub struct CassetteWriter {
    path: PathBuf,
    cassette: Cassette,
    /// What lies in the file.
    written: String,
    scrub: Arc<dyn Scrub>,
    kind_of: KindOf,
}

/// What came of one attempt.
pub(crate) struct Attempt<'a> {
    pub(crate) request: &'a ModelRequest,
    /// How many rows of its lane the session knows of. What comes behind them was lost with a process, before its journal
    /// had it.
    pub(crate) known: usize,
    pub(crate) came: &'a Result<ModelReply, ProviderError>,
    /// What was seen of it.
    pub(crate) said: &'a str,
    pub(crate) tape: Option<&'a Tape>,
    pub(crate) credential: Credential,
}

impl CassetteWriter {
    /// A new cassette. There is a file when the first attempt is over.
    ///
    /// # Errors
    /// Where there is one already: what was recorded is never overwritten.
    pub fn begin(path: &Path, header: Header, scrub: Arc<dyn Scrub>, kind_of: KindOf) -> Result<Self, String> {
        if path.exists() {
            return Err(format!(
                "{} is there already; `checkrein cassette refresh` records it anew, or name another file",
                path.display()
            ));
        }
        let cassette = Cassette::new(header);
        Ok(Self { path: path.to_path_buf(), cassette, written: String::new(), scrub, kind_of })
    }

    /// Goes on with a cassette that another process began, or begins it where that one had recorded nothing yet.
    ///
    /// # Errors
    /// Why the file is none that can be gone on with.
    pub fn resume(path: &Path, header: Header, scrub: Arc<dyn Scrub>, kind_of: KindOf) -> Result<Self, String> {
        let fail = |why: String| format!("{}: {why}", path.display());
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let cassette = Cassette::read(&text).map_err(fail)?;
                Ok(Self { path: path.to_path_buf(), cassette, written: text, scrub, kind_of })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::begin(path, header, scrub, kind_of),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    /// The model that is recorded.
    pub fn model(&self) -> &str {
        &self.cassette.header().model
    }

    /// Rows of a lane.
    pub(crate) fn rows(&self, lane: &Lane) -> usize {
        self.cassette.lane(lane).len()
    }

    /// Writes what came of an attempt, and before it what came of the calls that the request tells of.
    ///
    /// # Errors
    /// Why nothing was written.
    pub(crate) fn attempt(&mut self, attempt: &Attempt<'_>) -> io::Result<()> {
        let lane = &attempt.request.lane;
        self.cassette.cut(lane, attempt.known);
        let request = kept(attempt.request, &*self.scrub);
        let key = key(lane, &request);
        let rows = self.cassette.lane(lane);
        let before = rows.len().checked_sub(1).and_then(|last| self.cassette.request(lane, last));
        let failed =
            rows.last().filter(|row| row.exchange.key == key && matches!(row.exchange.outcome, Outcome::Failed(_)));
        let outcome = reply::kept(attempt.came, if attempt.came.is_err() { attempt.said } else { "" }, &*self.scrub);
        let asked = Asked::of(&request);
        let exchange = Exchange {
            lane: lane.clone(),
            n: rows.len() + 1,
            attempt: failed.map_or(1, |row| row.exchange.attempt + 1),
            key,
            request: change(before.as_ref(), &request),
            credential: attempt.credential,
            answer: attempt.tape.and_then(|tape| answer::kept(tape, &outcome, &asked, &*self.scrub)),
            outcome,
        };
        let tools = self.tools(attempt.request);
        tools.into_iter().for_each(|tool| self.cassette.push_tool(tool));
        self.cassette.push(exchange);
        if let Some(name) = attempt.tape.and_then(answer::answered) {
            let answered = &mut self.cassette.header_mut().answered;
            if !answered.contains(&name) {
                answered.push(name);
                answered.sort();
            }
        }
        self.write()
    }

    /// The calls that a request shows the results of, but for those that are written down.
    fn tools(&self, request: &ModelRequest) -> Vec<ToolExchange> {
        let known = |call: &str| {
            self.cassette.tools().iter().any(|tool| tool.lane == request.lane && tool.call.as_str() == call)
        };
        let mut args: Map<String, Value> = Map::new();
        let mut found = Vec::new();
        for message in &request.messages {
            match &**message {
                Message::Assistant { calls, .. } => {
                    args.extend(calls.iter().map(|call| (call.id.to_string(), call.args.clone())));
                }
                Message::Tool { results } => {
                    for result in results.iter().filter(|result| !known(result.call.as_str())) {
                        let args = args.get(result.call.as_str()).cloned().unwrap_or_default();
                        let kind = (self.kind_of)(&result.tool, &args);
                        let text = json!([result.text, result.is_error]);
                        found.push(ToolExchange {
                            lane: request.lane.clone(),
                            call: result.call.clone(),
                            tool: result.tool.clone(),
                            args: digest_json(&self.scrub.hide(args)),
                            kind,
                            result: digest_json(&self.scrub.hide(text)),
                            failed: result.is_error,
                        });
                    }
                }
                Message::User { .. } => {}
            }
        }
        found
    }

    fn write(&mut self) -> io::Result<()> {
        let text = self.cassette.text();
        match text.strip_prefix(&self.written).filter(|_| !self.written.is_empty()) {
            // The usual case: behind what is there.
            Some(more) => OpenOptions::new().append(true).open(&self.path)?.write_all(more.as_bytes())?,
            None => {
                let mut name = self.path.file_name().unwrap_or_default().to_os_string();
                name.push(".part");
                let beside = self.path.with_file_name(name);
                File::create(&beside)?.write_all(text.as_bytes())?;
                std::fs::rename(beside, &self.path)?;
            }
        }
        self.written = text;
        Ok(())
    }
}
