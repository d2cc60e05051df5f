//! A cassette, read and checked: every row is one, keys fit their requests, and rows of a lane follow each other.

use std::collections::BTreeMap;

use checkrein_contract::Lane;
use serde_json::{Map, Value};

use super::request::{changed, key};
use super::row::{Exchange, Header, Row, ToolExchange, VERSION};

/// A recorded cassette.
#[derive(Clone, Debug)]
pub struct Cassette {
    header: Header,
    lanes: BTreeMap<Lane, Vec<Line>>,
    tools: Vec<ToolExchange>,
}

/// An attempt, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Line of the file, from 1.
    pub(crate) line: usize,
    pub(crate) exchange: Exchange,
}

impl Cassette {
    /// Reads a cassette.
    ///
    /// # Errors
    /// What is wrong with it, with the line.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut header = None;
        let mut lanes: BTreeMap<Lane, Vec<Line>> = BTreeMap::new();
        let mut tools = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let line = index + 1;
            let row = row(line, text)?;
            match row {
                Row::Cassette(_) if header.is_some() => return Err(format!("line {line}: a cassette begins once")),
                Row::Cassette(first) => header = Some(first),
                _ if header.is_none() => return Err("line 1: no cassette begins like this".to_owned()),
                Row::Tool(tool) => tools.push(tool),
                Row::Model(exchange) => {
                    let rows = lanes.entry(exchange.lane.clone()).or_default();
                    if exchange.n != rows.len() + 1 {
                        let (lane, n) = (&exchange.lane, rows.len() + 1);
                        return Err(format!(
                            "line {line}: row {} of lane {lane} stands where row {n} has to",
                            exchange.n
                        ));
                    }
                    rows.push(Line { line, exchange: *exchange });
                }
            }
        }
        let header = header.ok_or("the file is empty")?;
        let cassette = Self { header, lanes, tools };
        cassette.keys_fit()?;
        Ok(cassette)
    }

    /// One without rows.
    pub(crate) fn new(header: Header) -> Self {
        Self { header, lanes: BTreeMap::new(), tools: Vec::new() }
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many attempts are recorded, and how many calls.
    pub fn size(&self) -> (usize, usize) {
        (self.lanes.values().map(Vec::len).sum(), self.tools.len())
    }

    /// The rows of a lane.
    pub(crate) fn lane(&self, lane: &Lane) -> &[Line] {
        self.lanes.get(lane).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn lanes(&self) -> impl Iterator<Item = (&Lane, &[Line])> {
        self.lanes.iter().map(|(lane, rows)| (lane, rows.as_slice()))
    }

    pub(crate) fn tools(&self) -> &[ToolExchange] {
        &self.tools
    }

    pub(crate) fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    /// Adds a row behind those that are there.
    pub(crate) fn push(&mut self, exchange: Exchange) {
        let rows = self.lanes.entry(exchange.lane.clone()).or_default();
        rows.push(Line { line: 0, exchange });
    }

    /// Keeps only so many rows of a lane.
    pub(crate) fn cut(&mut self, lane: &Lane, rows: usize) {
        if let Some(all) = self.lanes.get_mut(lane) {
            all.truncate(rows);
        }
    }

    pub(crate) fn push_tool(&mut self, tool: ToolExchange) {
        self.tools.push(tool);
    }

    /// Gives each row of a lane to `look`, with its whole request, until it gives something back.
    pub(crate) fn walk<T>(
        &self,
        lane: &Lane,
        mut look: impl FnMut(&Line, &Map<String, Value>) -> Option<T>,
    ) -> Option<T> {
        let mut request = None;
        for line in self.lane(lane) {
            // Rows that can not be put together were refused when the file was read.
            let whole = changed(request.take(), &line.exchange.request)?;
            if let Some(found) = look(line, &whole) {
                return Some(found);
            }
            request = Some(whole);
        }
        None
    }

    /// The rows of a lane with their whole requests.
    pub(crate) fn requests(&self, lane: &Lane) -> Vec<(&Line, Map<String, Value>)> {
        let mut rows = Vec::new();
        let all = self.lane(lane);
        self.walk::<()>(lane, |line, request| {
            rows.extend(all.get(line.exchange.n - 1).map(|line| (line, request.clone())));
            None
        });
        rows
    }

    /// What came of the calls whose results a row shows first, or again where it is written whole.
    pub(crate) fn calls(&self, lane: &Lane, index: usize) -> Vec<&ToolExchange> {
        let shown = self.lane(lane).get(index).map(|line| calls_shown(&line.exchange)).unwrap_or_default();
        self.tools.iter().filter(|tool| tool.lane == *lane && shown.contains(&tool.call.as_str())).collect()
    }

    /// The request of a row, from 0.
    pub(crate) fn request(&self, lane: &Lane, index: usize) -> Option<Map<String, Value>> {
        self.walk(lane, |line, request| (line.exchange.n == index + 1).then(|| request.clone()))
    }

    fn keys_fit(&self) -> Result<(), String> {
        for (lane, rows) in self.lanes() {
            let mut seen = 0;
            let wrong = self.walk(lane, |line, request| {
                seen += 1;
                (key(lane, request) != line.exchange.key).then_some(line.line)
            });
            if let Some(line) = wrong {
                return Err(format!("line {line}: the key is not that of this request: the row was changed by hand"));
            }
            if let Some(row) = rows.get(seen) {
                return Err(format!("line {}: the request has more than one that is not there", row.line));
            }
        }
        Ok(())
    }

    /// The cassette as its file holds it: the first line, then lane by lane, the calls of a request before it.
    pub fn text(&self) -> String {
        let mut out = line_of(&Row::Cassette(self.header.clone()));
        for (lane, rows) in self.lanes() {
            let mut tools: Vec<&ToolExchange> = self.tools.iter().filter(|tool| tool.lane == *lane).collect();
            for line in rows {
                let shown = calls_shown(&line.exchange);
                let (now, later): (Vec<_>, Vec<_>) =
                    tools.into_iter().partition(|tool| shown.contains(&tool.call.as_str()));
                tools = later;
                out.extend(now.into_iter().map(|tool| line_of(&Row::Tool(tool.clone()))));
                out.push_str(&line_of(&Row::Model(Box::new(line.exchange.clone()))));
            }
            out.extend(tools.into_iter().map(|tool| line_of(&Row::Tool(tool.clone()))));
        }
        out
    }
}

/// The calls whose results a row shows for the first time, or again where it is written whole.
pub(crate) fn calls_shown(exchange: &Exchange) -> Vec<&str> {
    let messages = match &exchange.request {
        super::row::Change::Whole { whole } => super::request::messages(whole),
        super::row::Change::More { more, .. } => more,
    };
    let results = messages.iter().filter_map(|message| message["results"].as_array()).flatten();
    results.filter_map(|result| result["call"].as_str()).collect()
}

fn row(line: usize, text: &str) -> Result<Row, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("line {line}: {error}"))?;
    let field = |name: &str| value.get(name).unwrap_or(&Value::Null);
    let version = field("version").as_u64().filter(|_| field("row") == "cassette");
    if let Some(other) = version.filter(|version| *version != u64::from(VERSION)) {
        return Err(format!("line {line}: version {other} is not known here; this program reads version {VERSION}"));
    }
    serde_json::from_value(value).map_err(|error| format!("line {line}: {error}"))
}

/// A row as a line. Keys in order, so that two recordings of the same thing are the same bytes.
pub(crate) fn line_of(row: &Row) -> String {
    let value = serde_json::to_value(row).unwrap_or_default();
    format!("{}\n", checkrein_contract::canonical_string(&value))
}
