//! Writes a cassette: attempt by attempt while a session runs, so that what was recorded is there whatever happens next. The
//! same session gives the same bytes, also where its lanes ran side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_contract::{CallId, CallKind, Lane, Message, ModelReply, ModelRequest, ProviderError, digest_json};
use serde_json::{Map, Value, json};

use super::answer::{self, Asked};
use super::file::{Cassette, calls_shown, line_of};
use super::request::{Keeper, change, key};
use super::row::{Credential, Exchange, Header, Outcome, Row, ToolExchange};
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
    keeper: Keeper,
    /// The last request of each lane.
    last: BTreeMap<Lane, Map<String, Value>>,
    /// The calls that are written down.
    known: BTreeSet<(Lane, CallId)>,
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
        Ok(Self::of(path, Cassette::new(header), String::new(), scrub, kind_of))
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
                Ok(Self::of(path, cassette, text, scrub, kind_of))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::begin(path, header, scrub, kind_of),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    fn of(path: &Path, cassette: Cassette, written: String, scrub: Arc<dyn Scrub>, kind_of: KindOf) -> Self {
        let known = cassette.tools().iter().map(|tool| (tool.lane.clone(), tool.call.clone())).collect();
        let keeper = Keeper::new(Arc::clone(&scrub));
        Self { path: path.to_path_buf(), cassette, written, scrub, keeper, last: BTreeMap::new(), known, kind_of }
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
        let cut = self.cassette.lane(lane).len() > attempt.known;
        if cut {
            self.cassette.cut(lane, attempt.known);
            self.last.remove(lane);
        }
        let request = self.keeper.kept(attempt.request);
        let key = key(lane, &request);
        let rows = self.cassette.lane(lane);
        let before = match (self.last.remove(lane), rows.len().checked_sub(1)) {
            (None, Some(last)) => self.cassette.request(lane, last),
            (before, _) => before,
        };
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
        let named = self.answered(attempt.tape);
        // Behind what is there, where nothing before it has changed: the usual case, whose cost must not grow with the session.
        let shown = calls_shown(&exchange);
        let whole = cut
            || named
            || self.written.is_empty()
            || self.cassette.lanes().any(|(other, _)| other > lane)
            || tools.iter().any(|tool| !shown.contains(&tool.call.as_str()));
        let more = (!whole).then(|| {
            let rows = tools.iter().cloned().map(Row::Tool).chain([Row::Model(Box::new(exchange.clone()))]);
            rows.map(|row| line_of(&row)).collect::<String>()
        });
        for tool in tools {
            self.known.insert((tool.lane.clone(), tool.call.clone()));
            self.cassette.push_tool(tool);
        }
        self.cassette.push(exchange);
        self.last.insert(lane.clone(), request);
        match more {
            Some(more) => self.append(&more),
            None => self.write(),
        }
    }

    /// Notes the name that a server gave its model; whether it is a new one.
    fn answered(&mut self, tape: Option<&Tape>) -> bool {
        let Some(name) = tape.and_then(answer::answered) else { return false };
        let answered = &mut self.cassette.header_mut().answered;
        if answered.contains(&name) {
            return false;
        }
        answered.push(name);
        answered.sort();
        true
    }

    /// The calls that a request shows the results of, but for those that are written down.
    fn tools(&self, request: &ModelRequest) -> Vec<ToolExchange> {
        let messages = || request.messages.iter().map(|message| &**message);
        let results = messages().flat_map(|message| match message {
            Message::Tool { results } => results.as_slice(),
            Message::User { .. } | Message::Assistant { .. } => &[],
        });
        let is_new = |call: &CallId| !self.known.contains(&(request.lane.clone(), call.clone()));
        let args_of = |call: &CallId| {
            messages().find_map(|message| match message {
                Message::Assistant { calls, .. } => calls.iter().find(|made| made.id == *call).map(|made| &made.args),
                Message::User { .. } | Message::Tool { .. } => None,
            })
        };
        let found = results.filter(|result| is_new(&result.call)).map(|result| {
            let args = args_of(&result.call).cloned().unwrap_or_default();
            let kind = (self.kind_of)(&result.tool, &args);
            let text = json!([result.text, result.is_error]);
            ToolExchange {
                lane: request.lane.clone(),
                call: result.call.clone(),
                tool: result.tool.clone(),
                args: digest_json(&self.scrub.hide(args)),
                kind,
                result: digest_json(&self.scrub.hide(text)),
                failed: result.is_error,
            }
        });
        found.collect()
    }

    fn append(&mut self, more: &str) -> io::Result<()> {
        let done =
            OpenOptions::new().append(true).open(&self.path).and_then(|mut file| file.write_all(more.as_bytes()));
        match done {
            Ok(()) => self.written.push_str(more),
            // A part of it may be there: the next time all of it is written anew.
            Err(_) => self.written.clear(),
        }
        done
    }

    fn write(&mut self) -> io::Result<()> {
        let text = self.cassette.text();
        let mut name = self.path.file_name().unwrap_or_default().to_os_string();
        name.push(".part");
        let beside = self.path.with_file_name(name);
        File::create(&beside)?.write_all(text.as_bytes())?;
        std::fs::rename(beside, &self.path)?;
        self.written = text;
        Ok(())
    }
}
