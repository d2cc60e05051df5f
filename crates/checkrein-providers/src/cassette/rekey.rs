//! Answers that are kept under new keys: nothing but the words and schemas of tools is another in the requests. Whether the
//! model would answer the same is not known, so the cassette says that it was done.

use std::collections::{BTreeMap, BTreeSet};

use checkrein_contract::{Digest, Lane};
use serde_json::{Map, Value};

use super::answer::Asked;
use super::file::Cassette;
use super::player::flaw;
use super::request::{change, key};
use super::row::{Exchange, ReKeyed};

impl Cassette {
    /// The first request of a lane.
    pub fn first_request(&self, lane: &Lane) -> Option<Map<String, Value>> {
        self.request(lane, 0)
    }

    /// This cassette for tools as they are now, by their names; `digest` is that of all of them, `at` the time.
    ///
    /// # Errors
    /// Why the answers can not be those to the new requests: a tool is not there any more, or the bytes of an answer read as
    /// another one with the new schemas.
    pub fn re_keyed(&self, tools: &BTreeMap<String, Value>, digest: Digest, at: String) -> Result<Self, String> {
        let mut changed = BTreeSet::new();
        let mut made = Self::new(self.header().clone());
        for (lane, _) in self.lanes() {
            let mut before = None;
            for (line, mut request) in self.requests(lane) {
                for spec in request.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
                    let name = spec["name"].as_str().unwrap_or_default().to_owned();
                    let now = tools.get(&name).ok_or_else(|| format!("the tool `{name}` is not there any more"))?;
                    if spec != now {
                        *spec = now.clone();
                        changed.insert(name);
                    }
                }
                let exchange = Exchange {
                    key: key(lane, &request),
                    request: change(before.as_ref(), &request),
                    ..line.exchange.clone()
                };
                made.push(exchange);
                before = Some(request);
            }
        }
        self.tools().iter().for_each(|tool| made.push_tool(tool.clone()));
        if !changed.is_empty() {
            made.header_mut().digests.tools = digest;
            made.header_mut().rekeyed.push(ReKeyed { at, tools: changed.into_iter().collect() });
        }
        let made = Self::read(&made.text())?;
        for (lane, _) in made.lanes() {
            let wrong = made.walk(lane, |line, request| flaw(line, &Asked::of(request)).map(|what| (line.line, what)));
            if let Some((line, what)) = wrong {
                return Err(format!("line {line}: {what}"));
            }
        }
        Ok(made)
    }
}
